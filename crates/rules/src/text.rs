//! Checks shared by several payloads: names, descriptions, JSON objects.

use std::borrow::Cow;

use kedge_protocol::limits::{DESCRIPTION_CHARS_MAX, NAME_CHARS_MAX};

use crate::json::{self, JsonMembers};
use crate::refusal::{FieldError, Refusal};

/// Collects all errors of a payload, so that the caller sees them together.
#[derive(Default)]
pub(crate) struct PayloadProblems(Vec<FieldError>);

impl PayloadProblems {
    pub(crate) fn add(
        &mut self,
        pointer: &str,
        code: impl Into<Cow<'static, str>>,
        message: impl Into<String>,
    ) {
        self.0.push(FieldError::new(pointer, code, message));
    }

    /// Adds the errors of the value at `pointer`.
    pub(crate) fn under(&mut self, pointer: &str, fields: Vec<FieldError>) {
        self.0.extend(fields.into_iter().map(|mut field| {
            field.pointer.insert_str(0, pointer);
            field
        }));
    }

    pub(crate) fn name(&mut self, pointer: &str, name: &str) {
        let chars = name.chars().count();
        if name.trim().is_empty() {
            self.add(pointer, "required", "must not be empty");
        } else if chars > NAME_CHARS_MAX {
            let message = format!("has {chars} characters; the limit is {NAME_CHARS_MAX}");
            self.add(pointer, "range", message);
        } else if name.chars().any(char::is_control) {
            self.add(pointer, "format", "must not hold control characters");
        }
    }

    pub(crate) fn description(&mut self, pointer: &str, description: &str) {
        let chars = description.chars().count();
        if chars > DESCRIPTION_CHARS_MAX {
            let message = format!("has {chars} characters; the limit is {DESCRIPTION_CHARS_MAX}");
            self.add(pointer, "range", message);
        }
    }

    /// A JSON object as compact text; `{}` if it is absent or wrong.
    pub(crate) fn object(
        &mut self,
        pointer: &str,
        raw: Option<&serde_json::value::RawValue>,
    ) -> String {
        let Some(raw) = raw else { return "{}".into() };
        if JsonMembers::of(raw.get()).is_none() {
            self.add(pointer, "type", "must be a JSON object");
            return "{}".into();
        }
        json::compact(raw.get()).into_owned()
    }

    pub(crate) fn finish(self) -> Result<(), Refusal> {
        if self.0.is_empty() {
            Ok(())
        } else {
            Err(Refusal::Invalid(self.0))
        }
    }
}

/// Reads a payload into a type that refuses unknown fields.
pub(crate) fn read<'a, T: serde::Deserialize<'a>>(payload: &'a str) -> Result<T, Refusal> {
    json::check(payload).map_err(json::JsonReadError::from)?;
    // serde also reads a struct from an array of its members. Here that would be another text with the same meaning.
    if !payload.trim_start().starts_with('{') {
        return Err(Refusal::field("", "type", "must be a JSON object"));
    }
    Ok(json::read_accepted(payload)?)
}

/// Checks a payload that must be empty: no text, or an empty object.
pub(crate) fn empty(payload: &str) -> Result<(), Refusal> {
    #[derive(serde::Deserialize)]
    #[serde(deny_unknown_fields)]
    struct AbsentPayload {}

    if !payload.is_empty() {
        let AbsentPayload {} = read(payload)?;
    }
    Ok(())
}
