//! Bodies of the action bus. Payloads and targets stay where they are in the body: what is signed
//! is the exact text, and 500 actions need no copies.

use std::borrow::Cow;
use std::ops::Range;

use kedge_protocol::action::Kind;
use kedge_protocol::limits::{BATCH_ACTIONS_MAX, PAYLOAD_BYTES_MAX};
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;

use super::ActionText;
use crate::body::{self, Object};
use crate::error::{ApiError, Code};

/// A JSON string, borrowed where it has no escapes.
#[derive(Deserialize)]
#[serde(transparent)]
pub(crate) struct Text<'a>(#[serde(borrow)] pub(crate) Cow<'a, str>);

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Action<'a> {
    #[serde(borrow)]
    action_type: Text<'a>,
    #[serde(borrow, default, deserialize_with = "present")]
    object_id: Option<Text<'a>>,
    #[serde(borrow, default, deserialize_with = "present")]
    template_id: Option<Text<'a>>,
    #[serde(borrow, default, deserialize_with = "present")]
    payload: Option<&'a RawValue>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Batch<'a> {
    #[serde(borrow)]
    actions: Vec<Object<Action<'a>>>,
    #[serde(default)]
    atomic: bool,
}

/// A member that is there has a value: `null` is one too, and not the same as absence.
fn present<'de, D, T>(deserializer: D) -> Result<Option<T>, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de>,
{
    T::deserialize(deserializer).map(Some)
}

/// What a body of the bus says.
#[derive(Debug)]
pub struct BusBody {
    /// The body, with what it lacks written behind it.
    pub text: String,
    /// The actions, in order.
    pub actions: Vec<ActionText>,
    /// All or none.
    pub atomic: bool,
}

/// Ranges of actions before the body's text is taken over.
struct Ranges<'t> {
    text: &'t str,
    behind: String,
    empty_object: Option<Range<usize>>,
}

impl Ranges<'_> {
    fn within(&self, part: &str) -> Option<Range<usize>> {
        let start = (part.as_ptr() as usize).checked_sub(self.text.as_ptr() as usize)?;
        let end = start + part.len();
        (end <= self.text.len()).then_some(start..end)
    }

    fn append(&mut self, part: &str) -> Range<usize> {
        let start = self.text.len() + self.behind.len();
        self.behind.push_str(part);
        start..start + part.len()
    }

    /// The place of a string's value: in the body, or behind it where escapes had to be undone.
    fn of_text(&mut self, text: &Text<'_>) -> Range<usize> {
        match &text.0 {
            Cow::Borrowed(part) => match self.within(part) {
                Some(range) => range,
                None => self.append(part),
            },
            Cow::Owned(part) => self.append(part),
        }
    }

    fn of_payload(&mut self, payload: Option<&RawValue>) -> Range<usize> {
        let found = payload.map(|payload| (payload.get(), self.within(payload.get())));
        match found {
            Some((_, Some(range))) => range,
            Some((part, None)) => self.append(part),
            None => {
                if self.empty_object.is_none() {
                    self.empty_object = Some(self.append("{}"));
                }
                self.empty_object.clone().unwrap_or_default()
            }
        }
    }

    fn action(&mut self, action: &Action<'_>) -> Result<ActionText, ApiError> {
        let kind = Kind::of_text(&action.action_type.0)
            .filter(Kind::is_bus)
            .ok_or_else(|| {
                ApiError::field(
                    "/action_type",
                    "format",
                    "must be a kind of the action bus, or a template's own that begins with x.",
                )
            })?;
        let (wanted, other, names) = if kind == Kind::Mint {
            (
                &action.template_id,
                &action.object_id,
                ["/template_id", "/object_id"],
            )
        } else {
            (
                &action.object_id,
                &action.template_id,
                ["/object_id", "/template_id"],
            )
        };
        if other.is_some() {
            let message = format!("does not belong to {}; remove it", kind.text());
            return Err(ApiError::field(names[1], "unknown", message));
        }
        let target = wanted
            .as_ref()
            .ok_or_else(|| ApiError::field(names[0], "required", "is required"))?;
        let payload = self.of_payload(action.payload);
        if payload.len() > PAYLOAD_BYTES_MAX {
            let message = format!("is larger than {PAYLOAD_BYTES_MAX} bytes");
            return Err(ApiError {
                code: Code::PayloadTooLarge,
                ..ApiError::field("/payload", "range", message)
            });
        }
        Ok(ActionText {
            target: self.of_text(target),
            payload,
            disclosed: None,
            kind,
        })
    }
}

/// Reads the body of one action.
pub fn single(text: String) -> Result<BusBody, ApiError> {
    body::check(&text)?;
    let Object(action): Object<Action<'_>> =
        serde_json::from_str(&text).map_err(|error| body::of_serde(&text, &error))?;
    let mut ranges = Ranges {
        text: &text,
        behind: String::new(),
        empty_object: None,
    };
    let actions = vec![ranges.action(&action)?];
    let behind = ranges.behind;
    Ok(BusBody {
        text: text + &behind,
        actions,
        atomic: false,
    })
}

/// Reads the body of a batch. That no payload has a key twice is checked with each action, so the
/// text is read once here.
pub fn batch(text: String) -> Result<BusBody, ApiError> {
    let Object(batch): Object<Batch<'_>> =
        serde_json::from_str(&text).map_err(|error| body::of_serde(&text, &error))?;
    match batch.actions.len() {
        0 => {
            return Err(ApiError::field(
                "/actions",
                "range",
                "must hold at least one action",
            ));
        }
        1..=BATCH_ACTIONS_MAX => {}
        count => {
            return Err(ApiError::new(
                Code::BatchTooLarge,
                format!("a batch holds at most {BATCH_ACTIONS_MAX} actions, not {count}"),
            ));
        }
    }
    let mut ranges = Ranges {
        text: &text,
        behind: String::new(),
        empty_object: None,
    };
    let mut actions = Vec::with_capacity(batch.actions.len());
    for (i, Object(action)) in batch.actions.iter().enumerate() {
        let read = ranges.action(action);
        actions.push(read.map_err(|error| error.under(&format!("/actions/{i}")))?);
    }
    let (behind, atomic) = (ranges.behind, batch.atomic);
    Ok(BusBody {
        text: text + &behind,
        actions,
        atomic,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Detail;

    fn texts(body: &BusBody) -> Vec<(&str, &str)> {
        let part = |range: &Range<usize>| &body.text[range.clone()];
        let of = |action: &ActionText| (part(&action.target), part(&action.payload)).to_owned();
        body.actions.iter().map(of).collect()
    }

    #[test]
    fn texts_are_exact_slices() {
        let text = r#"{"actions": [
            {"action_type": "update", "object_id": "obj_1", "payload":  {"properties": {"a": 1.0} } },
            {"action_type": "lock", "object_id": "obj\u005f2"},
            {"action_type": "emit", "object_id": "obj_3", "payload": null},
            {"action_type": "mint", "template_id": "tpl_4"}], "atomic": true}"#;
        let body = batch(text.to_owned()).unwrap();
        assert!(body.atomic);
        let expected = [
            ("obj_1", r#"{"properties": {"a": 1.0} }"#),
            ("obj_2", "{}"),
            ("obj_3", "null"),
            ("tpl_4", "{}"),
        ];
        assert_eq!(texts(&body), expected);
        assert_eq!(body.actions[3].kind, Kind::Mint);
    }

    #[test]
    fn wrong_members_are_named() {
        let cases = [
            (
                r#"{"action_type": "explode", "object_id": "o"}"#,
                "/actions/0/action_type",
            ),
            (
                r#"{"action_type": "template.create", "object_id": "o"}"#,
                "/actions/0/action_type",
            ),
            (
                r#"{"action_type": "mint", "object_id": "o"}"#,
                "/actions/0/object_id",
            ),
            (r#"{"action_type": "lock"}"#, "/actions/0/object_id"),
            (
                r#"{"action_type": "lock", "object_id": 5}"#,
                "/actions/0/object_id",
            ),
            (
                r#"{"action_type": "lock", "object_id": "o", "salt": 1}"#,
                "/actions/0/salt",
            ),
            (r#"["lock", "o"]"#, "/actions/0"),
        ];
        for (action, pointer) in cases {
            let error = batch(format!(r#"{{"actions": [{action}]}}"#)).unwrap_err();
            let Detail::Fields(fields) = &error.detail else {
                panic!("{error:?}")
            };
            assert_eq!(fields[0].pointer, pointer, "{action}");
        }
    }

    #[test]
    fn a_batch_has_1_to_500_actions() {
        let of = |count: usize| {
            let action = r#"{"action_type":"lock","object_id":"o"}"#;
            batch(format!(
                r#"{{"actions":[{}]}}"#,
                vec![action; count].join(",")
            ))
        };
        assert_eq!(of(0).unwrap_err().code, Code::ValidationError);
        assert_eq!(of(500).unwrap().actions.len(), 500);
        assert_eq!(of(501).unwrap_err().code, Code::BatchTooLarge);
    }
}
