//! Errors in a payload, with their places.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

/// An error at one place of a payload.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct FieldError {
    /// RFC 6901 pointer to the place; empty for the whole payload.
    pub pointer: String,
    /// Machine-readable code: `required`, `type`, `unknown`, `range`, `format`, `duplicate`, `syntax`, `schema`
    /// (everything else).
    pub code: Cow<'static, str>,
    /// Instruction for the caller.
    pub message: String,
}

impl FieldError {
    /// Message for an unknown member, shared by all readers.
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

    /// One sentence for all errors.
    pub fn message_of(fields: &[Self]) -> String {
        match fields {
            [only] if only.pointer.is_empty() => format!("the body {}", only.message),
            [only] => format!("{} {}", only.pointer, only.message),
            many => format!("{} places in the request are not valid", many.len()),
        }
    }
}
