//! Fast path for batches in their usual form: no escapes in names and targets, no unknown members. One pass over the
//! text finds all ranges. Anything else takes the slow path, which also reports errors.

use std::ops::Range;

use kedge_protocol::action::Kind;
use kedge_protocol::limits::{BATCH_ACTIONS_MAX, PAYLOAD_BYTES_MAX};
use kedge_rules::json::{ListPart, walk_list};

use super::SignedActionText;

/// Bytes of a short action, which determine the initial capacity.
const ACTION_BYTES: usize = 128;

/// The actions of a body, and whether all or none are to be done.
pub(super) fn batch(text: &str) -> Option<(Vec<SignedActionText>, bool)> {
    let room = (text.len() / ACTION_BYTES + 1).min(BATCH_ACTIONS_MAX);
    let mut actions = Vec::with_capacity(room);
    let mut atomic = None;
    walk_list(text, "actions", |part| match part {
        ListPart::Item(members) => {
            actions.push(action(text, members)?);
            (actions.len() <= BATCH_ACTIONS_MAX).then_some(())
        }
        ListPart::Other("atomic", value) if atomic.is_none() => {
            atomic = Some(match value {
                "true" => true,
                "false" => false,
                _ => return None,
            });
            Some(())
        }
        ListPart::Other(..) => None,
    })?;
    Some((actions, atomic.unwrap_or(false)))
}

fn action(text: &str, members: &[(&str, &str)]) -> Option<SignedActionText> {
    let (mut kind, mut object, mut template, mut payload) = (None, None, None, None);
    for (name, value) in members {
        let member = match *name {
            "action_type" => &mut kind,
            "object_id" => &mut object,
            "template_id" => &mut template,
            "payload" => &mut payload,
            _ => return None,
        };
        if member.replace(*value).is_some() {
            return None;
        }
    }
    let kind = Kind::of_text(string(kind?)?).filter(Kind::is_bus)?;
    let (target, other) = if kind == Kind::Mint {
        (template, object)
    } else {
        (object, template)
    };
    let payload = payload.filter(|payload| payload.len() <= PAYLOAD_BYTES_MAX)?;
    other.is_none().then_some(SignedActionText {
        target: range(text, string(target?)?)?,
        payload: range(text, payload)?,
        disclosed: None,
        kind,
    })
}

/// The value of a string without escapes.
fn string(value: &str) -> Option<&str> {
    let value = value.strip_prefix('"')?.strip_suffix('"')?;
    (!value.contains('\\')).then_some(value)
}

/// The position of a part in its text.
fn range(text: &str, part: &str) -> Option<Range<usize>> {
    let start = (part.as_ptr() as usize).checked_sub(text.as_ptr() as usize)?;
    Some(start..start + part.len())
}
