//! Schemas of the API's own bodies: all that is wrong with a body, in the words of templates' schemas.

use jsonschema::Validator;
use serde_json::Value;

use super::compile;
use super::errors::first;
use crate::refusal::FieldError;

/// The schema of a request's body, as the API's document has it. It comes with the program, so it may refer in circles;
/// whoever asks bounds the value.
pub struct BodySchema(Validator);

impl BodySchema {
    /// Compiles a schema; `None` if it is none.
    pub fn new(schema: &Value) -> Option<Self> {
        compile(schema).ok().map(Self)
    }

    /// What is wrong with a value and where. An alternative that does not fit names no place, so it is left out.
    pub fn faults(&self, value: &Value) -> Vec<FieldError> {
        let mut fields = first(self.0.iter_errors(value));
        fields.retain(|field| field.code != "schema");
        fields
    }
}
