//! Field errors: an error at one place of the body.

use kedge_rules::FieldError;
use schemars::JsonSchema;
use serde::Serialize;

/// What is wrong at one place of the body.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "FieldError")]
pub struct FieldProblem<'a> {
    /// RFC 6901 pointer into the body; empty for the whole.
    pointer: &'a str,
    /// What is wrong, for programs.
    code: &'a str,
    /// What to do about it.
    message: &'a str,
}

impl<'a> From<&'a FieldError> for FieldProblem<'a> {
    fn from(field: &'a FieldError) -> Self {
        Self {
            pointer: &field.pointer,
            code: &field.code,
            message: &field.message,
        }
    }
}
