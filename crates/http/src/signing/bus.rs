//! Bodies of the action bus. Payloads and targets stay in the body's text: the exact text is signed, and 500 actions
//! need no copies.

mod plain_batch;

use std::borrow::Cow;
use std::ops::Range;
use std::str::FromStr;

use kedge_protocol::Code;
use kedge_protocol::action::Kind;
use kedge_protocol::limits::{BATCH_ACTIONS_MAX, PAYLOAD_BYTES_MAX};
use kedge_protocol::{Address, Hash};
use kedge_rules::json;
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;

use super::{SignedActionText, SignedTexts};
use crate::body::{self, JsonObject};
use crate::error::{ApiError, ApiResult};

/// A JSON string, borrowed if it has no escapes.
#[derive(Deserialize)]
#[serde(transparent)]
pub struct JsonString<'a>(#[serde(borrow)] pub(crate) Cow<'a, str>);

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct BusActionInput<'a> {
    #[serde(borrow)]
    action_type: JsonString<'a>,
    #[serde(borrow, default, deserialize_with = "present")]
    object_id: Option<JsonString<'a>>,
    #[serde(borrow, default, deserialize_with = "present")]
    template_id: Option<JsonString<'a>>,
    #[serde(borrow, default, deserialize_with = "present")]
    payload: Option<&'a RawValue>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct BusBatchInput<'a> {
    #[serde(borrow)]
    actions: Vec<JsonObject<BusActionInput<'a>>>,
    #[serde(default)]
    atomic: bool,
}

/// A present member has a value: `null` is one, and differs from absence.
fn present<'de, D, T>(deserializer: D) -> Result<Option<T>, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de>,
{
    T::deserialize(deserializer).map(Some)
}

/// A preview request: one action, or several.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct PreviewInput<'a> {
    #[serde(borrow, default, deserialize_with = "present")]
    action_type: Option<JsonString<'a>>,
    #[serde(borrow, default, deserialize_with = "present")]
    object_id: Option<JsonString<'a>>,
    #[serde(borrow, default, deserialize_with = "present")]
    template_id: Option<JsonString<'a>>,
    #[serde(borrow, default, deserialize_with = "present")]
    payload: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "present")]
    actions: Option<Vec<JsonObject<BusActionInput<'a>>>>,
    #[serde(default, deserialize_with = "present")]
    atomic: Option<bool>,
    #[serde(borrow, default, deserialize_with = "present")]
    signer: Option<JsonString<'a>>,
    #[serde(borrow, default, deserialize_with = "present")]
    salt: Option<JsonString<'a>>,
}

/// Collects ranges of actions, before the body's text is moved.
struct ActionRanges<'t> {
    text: &'t str,
    appended: String,
    empty_object: Option<Range<usize>>,
}

impl<'t> ActionRanges<'t> {
    fn of(text: &'t str) -> Self {
        Self {
            text,
            appended: String::new(),
            empty_object: None,
        }
    }

    fn within(&self, part: &str) -> Option<Range<usize>> {
        let start = (part.as_ptr() as usize).checked_sub(self.text.as_ptr() as usize)?;
        let end = start + part.len();
        (end <= self.text.len()).then_some(start..end)
    }

    fn append(&mut self, part: &str) -> Range<usize> {
        let start = self.text.len() + self.appended.len();
        self.appended.push_str(part);
        start..start + part.len()
    }

    /// The range of a string's value: in the body, or after it if escapes had to be undone.
    fn of_text(&mut self, text: &JsonString<'_>) -> Range<usize> {
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

    fn actions(
        &mut self,
        actions: &[JsonObject<BusActionInput<'_>>],
    ) -> ApiResult<Vec<SignedActionText>> {
        match actions.len() {
            0 => {
                let message = "must hold at least one action";
                return Err(ApiError::field("/actions", "range", message));
            }
            1..=BATCH_ACTIONS_MAX => {}
            count => {
                return Err(ApiError::new(
                    Code::BatchTooLarge,
                    format!("a batch holds at most {BATCH_ACTIONS_MAX} actions, not {count}"),
                ));
            }
        }
        let mut texts = Vec::with_capacity(actions.len());
        for (i, JsonObject(action)) in actions.iter().enumerate() {
            let read = self.action(action);
            texts.push(read.map_err(|error| error.under(&format!("/actions/{i}")))?);
        }
        Ok(texts)
    }

    fn action(&mut self, action: &BusActionInput<'_>) -> ApiResult<SignedActionText> {
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
        Ok(SignedActionText {
            target: self.of_text(target),
            payload,
            disclosed: None,
            kind,
        })
    }
}

/// Parses the body of one action.
pub fn single(text: String) -> ApiResult<SignedTexts> {
    let action: BusActionInput<'_> = body::parse(&text)?;
    let mut ranges = ActionRanges::of(&text);
    let actions = vec![ranges.action(&action)?];
    let appended = ranges.appended;
    Ok(SignedTexts {
        text: text + &appended,
        actions,
        atomic: false,
    })
}

/// A parsed preview request.
#[derive(Debug)]
pub struct PreviewBody {
    pub bus: SignedTexts,
    /// True for `actions`, false for a single action.
    pub many: bool,
    /// The assumed signer.
    pub signer: Option<Address>,
    pub salt_seed: Option<Hash>,
}

/// Parses the body of a preview.
pub fn preview(text: String) -> ApiResult<PreviewBody> {
    let preview: PreviewInput<'_> = body::parse(&text)?;
    let signer = parsed("/signer", preview.signer.as_ref())?;
    let salt_seed = parsed("/salt", preview.salt.as_ref())?;
    let many = preview.actions.is_some();
    let single = [
        ("/action_type", preview.action_type.is_some()),
        ("/object_id", preview.object_id.is_some()),
        ("/template_id", preview.template_id.is_some()),
        ("/payload", preview.payload.is_some()),
    ];
    let of_many = [("/atomic", preview.atomic.is_some())];
    let strange = if many { &single[..] } else { &of_many[..] };
    if let Some((pointer, _)) = strange.iter().find(|(_, there)| *there) {
        let message =
            "is not allowed here: send either one action, or several in `actions`; remove it";
        return Err(ApiError::field(pointer, "unknown", message));
    }
    let mut ranges = ActionRanges::of(&text);
    let actions = if let Some(actions) = &preview.actions {
        ranges.actions(actions)?
    } else {
        let action_type = preview
            .action_type
            .ok_or_else(|| ApiError::field("/action_type", "required", "is required"))?;
        vec![ranges.action(&BusActionInput {
            action_type,
            object_id: preview.object_id,
            template_id: preview.template_id,
            payload: preview.payload,
        })?]
    };
    let appended = ranges.appended;
    Ok(PreviewBody {
        bus: SignedTexts {
            atomic: preview.atomic.unwrap_or(false),
            text: text + &appended,
            actions,
        },
        many,
        signer,
        salt_seed,
    })
}

fn parsed<T: FromStr<Err: std::fmt::Display>>(
    pointer: &str,
    text: Option<&JsonString<'_>>,
) -> ApiResult<Option<T>> {
    let parsed = text.map(|text| text.0.parse()).transpose();
    parsed.map_err(|error: T::Err| ApiError::field(pointer, "format", format!("is wrong: {error}")))
}

/// Parses the body of a batch. Duplicate keys in payloads are checked with each action, so the text is read only once
/// here.
pub fn batch(text: String) -> ApiResult<SignedTexts> {
    match plain_batch::batch(&text) {
        Some((actions, atomic)) => Ok(SignedTexts {
            text,
            actions,
            atomic,
        }),
        None => any_batch(text),
    }
}

/// [`batch`] for unusual or wrong bodies.
fn any_batch(text: String) -> ApiResult<SignedTexts> {
    let batch: BusBatchInput<'_> = json::read_accepted(&text)?;
    let mut ranges = ActionRanges::of(&text);
    let actions = ranges.actions(&batch.actions)?;
    let (appended, atomic) = (ranges.appended, batch.atomic);
    Ok(SignedTexts {
        text: text + &appended,
        actions,
        atomic,
    })
}

#[cfg(test)]
mod tests {
    use crate::error::ErrorDetail;

    use super::*;

    fn texts(body: &SignedTexts) -> Vec<(&str, &str)> {
        let part = |range: &Range<usize>| &body.text[range.clone()];
        let of =
            |action: &SignedActionText| (part(&action.target), part(&action.payload)).to_owned();
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
            let ErrorDetail::Fields(fields) = &error.detail else {
                panic!("{error:?}")
            };
            assert_eq!(fields[0].pointer, pointer, "{action}");
        }
    }

    #[test]
    fn what_is_read_as_plain_is_read_the_same_in_any_way() {
        let parts = |body: &SignedTexts| format!("{:?}, {}", body.actions, body.text);
        let mut plain_ones = 0;
        let mut compare = |text: &str| {
            let Some((actions, atomic)) = plain_batch::batch(text) else {
                return;
            };
            plain_ones += 1;
            let any = any_batch(text.to_owned()).unwrap();
            assert_eq!(any.atomic, atomic, "{text}");
            let plain = SignedTexts {
                text: text.to_owned(),
                actions,
                atomic,
            };
            assert_eq!(parts(&plain), parts(&any), "{text}");
        };
        for text in [
            r#"{"actions":[{"action_type":"update","object_id":"obj_1","payload":{"properties":{"a":[1.0,"b"]}}}]}"#,
            r#" { "atomic" : true, "actions":[ {"payload" : {} , "template_id":"t","action_type":"mint"},
                {"action_type":"x.use","object_id":"o","payload":null}]}"#,
        ] {
            compare(text);
            // Each byte removed, duplicated, and replaced.
            for at in 0..text.len() {
                let (before, rest) = text.split_at(at);
                let (this, after) = rest.split_at(1);
                compare(&format!("{before}{after}"));
                compare(&format!("{before}{this}{this}{after}"));
                for other in ["\"", "\\", "{", "}", "[", "]", ",", ":", "0", "a", "\n"] {
                    compare(&format!("{before}{other}{after}"));
                }
            }
        }
        assert!(plain_ones > 300, "{plain_ones}");
        for odd in [
            r#"{"actions":[{"action_type":"lock","object_id":"o","payload":{}}],"atomic":true,"atomic":true}"#,
            r#"{"actions":[{"action_type":"lock","object_id":"o","object_id":"o","payload":{}}]}"#,
            r#"{"actions":[],"actions":[{"action_type":"lock","object_id":"o","payload":{}}]}"#,
            r#"{"actions":[{"action_type":"lock","object_id":"o\u0041","payload":{}}]}"#,
            r#"{"actions":[{"action_type":"lock","object_id":"o","payload":{},"salt":1}]}"#,
        ] {
            assert!(plain_batch::batch(odd).is_none(), "{odd}");
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
