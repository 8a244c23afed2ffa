//! One thing that is wrong with a payload, by its place.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

/// One thing that is wrong with a payload.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct FieldError {
    /// RFC 6901 pointer to the place in the payload; empty for the whole.
    pub pointer: String,
    /// Machine-readable: `required`, `type`, `unknown`, `range`, `format`, `duplicate`, `syntax`, `schema` (everything
    /// else).
    pub code: Cow<'static, str>,
    /// What to do about it.
    pub message: String,
}

impl FieldError {
    /// What to do about a member that nothing reads. Every place that refuses one uses these words.
    pub const UNKNOWN: &'static str = "is not known here; remove it";

    pub(crate) fn new(
        pointer: &str,
        code: impl Into<Cow<'static, str>>,
        message: impl Into<String>,
    ) -> Self {
        Self {
            pointer: pointer.to_owned(),
            code: code.into(),
            message: message.into(),
        }
    }

    /// One sentence for everything that is wrong.
    pub fn message_of(fields: &[Self]) -> String {
        match fields {
            [only] if only.pointer.is_empty() => format!("the body {}", only.message),
            [only] => format!("{} {}", only.pointer, only.message),
            many => format!("{} places in the request are not valid", many.len()),
        }
    }
}
