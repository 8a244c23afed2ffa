//! Schemas of the API's request bodies, with the same error texts as templates' schemas.

use jsonschema::Validator;
use serde_json::Value;

use super::compile;
use super::errors::first;
use crate::refusal::FieldError;

/// The schema of a request's body from the API's document. It is part of the program, so it may be recursive; the
/// caller bounds the value.
pub struct BodySchema(Validator);

impl BodySchema {
    /// Compiles a schema; `None` if it is invalid.
    pub fn new(schema: &Value) -> Option<Self> {
        compile(schema).ok().map(Self)
    }

    /// Errors of a value, with their places. A failed alternative has no place and is left out.
    pub fn faults(&self, value: &Value) -> Vec<FieldError> {
        let mut fields = first(self.0.iter_errors(value));
        fields.retain(|field| field.code != "schema");
        fields
    }
}
