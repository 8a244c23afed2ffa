//! Texts of requests: payloads, actions of the bus, and the constant parts of a head.

use std::io::Write as _;

use bytes::Bytes;
use kedge_protocol::action::{ActionWords, Kind, RequestHead};
use kedge_protocol::signature::Signature;
use kedge_protocol::{Hash, Id};

use crate::fleet::LoadOrganization;
use crate::options::RunOptions;

/// Number of alternating payloads, so that every update changes something.
pub const VARIANTS: usize = 2;
/// `obj_` and 26 digits.
const OBJECT_ID_BYTES: usize = 30;

/// Constant parts of an organization's request heads.
pub(crate) struct HeadTemplates {
    /// Head of a signed request, up to the length of its body.
    pub(crate) write: Vec<u8>,
    /// Head of a read, from after its path.
    pub(crate) read: Vec<u8>,
}

impl HeadTemplates {
    /// Builds the heads of an organization's requests.
    pub(crate) fn new(
        organization: &LoadOrganization,
        authority: &str,
        hot: Option<Id>,
        options: &RunOptions,
    ) -> Self {
        let credentials = organization.credentials();
        let address = organization.key.address();
        let line = match hot.filter(|_| options.if_match) {
            Some(object) => format!("PATCH /objects/{object}"),
            None if options.is_batch() => "POST /ebus/actions/batch".to_owned(),
            None => "POST /ebus/actions".to_owned(),
        };
        let prefer = if options.minimal {
            "prefer: return=minimal\r\n"
        } else {
            ""
        };
        let write = format!(
            "{line} HTTP/1.1\r\nhost: {authority}\r\n{credentials}content-type: application/json\r\n{prefer}x-signature-address: {address}\r\n"
        );
        let read = format!(" HTTP/1.1\r\nhost: {authority}\r\n{credentials}\r\n");
        Self {
            write: write.into_bytes(),
            read: read.into_bytes(),
        }
    }
}

/// Appends bytes in hexadecimal to a head.
fn push_hex(out: &mut Vec<u8>, bytes: &[u8]) {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    out.extend_from_slice(b"0x");
    for byte in bytes {
        let digits = [
            DIGITS[usize::from(byte >> 4)],
            DIGITS[usize::from(byte & 15)],
        ];
        out.extend_from_slice(&digits);
    }
}

/// Appends the varying lines of a signed request's head, without the final empty line.
pub fn push_signature(
    out: &mut Vec<u8>,
    head: &RequestHead,
    body_bytes: usize,
    seed: &Hash,
    signature: &Signature,
) {
    let (nonce, deadline_s) = (head.nonce, head.deadline_s);
    // Writing to a Vec cannot fail.
    let _ = write!(
        out,
        "content-length: {body_bytes}\r\nx-signature-nonce: {nonce}\r\nx-signature-deadline: {deadline_s}\r\nx-signature: "
    );
    push_hex(out, &signature.0);
    out.extend_from_slice(b"\r\nx-signature-salt: ");
    push_hex(out, seed.as_bytes());
    out.extend_from_slice(b"\r\n");
}

/// A payload that has `action_bytes` bytes together with its target.
pub fn payload(variant: usize, action_bytes: usize) -> String {
    let [state, place] = [["in transit", "8.5417"], ["at a depot", "7.4474"]][variant % VARIANTS];
    let text = |note: &str| {
        format!(
            r#"{{"properties":{{"state":"{state}","step":{variant},"place":{place},"note":"{note}"}}}}"#
        )
    };
    let filled = OBJECT_ID_BYTES + text("").len();
    text(&"n".repeat(action_bytes.saturating_sub(filled)))
}

/// Payloads of transfers: two for each organization.
pub(crate) fn transfers(organizations: &[LoadOrganization]) -> Vec<String> {
    let recipients = organizations.iter().flat_map(|o| o.recipients.iter());
    recipients
        .map(|address| format!(r#"{{"to":"{address}"}}"#))
        .collect()
}

/// A body of the action bus that is sent repeatedly, each time under a new signature.
pub struct BusBody {
    /// Bytes of the body.
    pub text: Bytes,
    /// Hashes of each action's texts.
    pub words: Vec<ActionWords>,
}

impl BusBody {
    /// The body for these targets and payloads: of the batch endpoint, or of a single action.
    pub fn new(kind: &Kind, actions: &[(Id, &str)], batch: bool) -> Self {
        let words = actions.iter().map(|(target, payload)| {
            ActionWords::of(kind, &target.to_string(), payload.as_bytes())
        });
        let texts = actions.iter().map(|action| bus_action(kind, action));
        let texts = texts.collect::<Vec<_>>().join(",");
        Self {
            words: words.collect(),
            text: if batch {
                format!(r#"{{"actions":[{texts}]}}"#).into()
            } else {
                texts.into()
            },
        }
    }
}

/// An action in the form of the bus.
fn bus_action(kind: &Kind, (target, payload): &(Id, &str)) -> String {
    let (text, member) = (
        kind.text(),
        if *kind == Kind::Mint {
            "template_id"
        } else {
            "object_id"
        },
    );
    format!(r#"{{"action_type":"{text}","{member}":"{target}","payload":{payload}}}"#)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn payloads_have_the_asked_length_and_differ() {
        let target = "obj_7h8rh8fgrh07gkqn56z16p8nc6";
        let texts: Vec<String> = (0..VARIANTS).map(|variant| payload(variant, 286)).collect();
        for text in &texts {
            assert_eq!(target.len() + text.len(), 286);
            assert!(serde_json::from_str::<serde_json::Value>(text).is_ok());
        }
        assert_ne!(texts[0], texts[1]);
    }
}
