//! Short errors about a schema or a value, with pointers.

use jsonschema::ValidationError;
use jsonschema::error::ValidationErrorKind;
use kedge_protocol::limits::SCHEMA_ERRORS_MAX;
use serde_json::Value;

use super::unique;
use crate::pointer::escape;
use crate::refusal::FieldError;

/// Characters of a library's message that an error repeats.
pub(super) const MESSAGE_CHARS_MAX: usize = 300;

/// Limit of the library's reports that are formatted. Each may repeat a part of the schema.
const REPORTS_MAX: usize = 4 * SCHEMA_ERRORS_MAX;

/// The first errors, in an order independent of the library's.
pub(super) fn bounded(mut fields: Vec<FieldError>) -> Vec<FieldError> {
    fields.sort_by(|a, b| (&a.pointer, &a.message).cmp(&(&b.pointer, &b.message)));
    fields.dedup();
    fields.truncate(SCHEMA_ERRORS_MAX);
    fields
}

/// The first errors of the library, for the caller. Only these are formatted.
pub(super) fn first<'e>(errors: impl Iterator<Item = ValidationError<'e>>) -> Vec<FieldError> {
    let mut errors: Vec<ValidationError<'e>> = errors.collect();
    if errors.len() > REPORTS_MAX {
        errors.sort_by(|a, b| a.instance_path().as_str().cmp(b.instance_path().as_str()));
        errors.truncate(REPORTS_MAX);
    }
    bounded(errors.iter().flat_map(reported).collect())
}

/// The library's message, without the value.
pub(super) fn words(error: &ValidationError<'_>) -> String {
    let text = error.masked().to_string();
    match text.char_indices().nth(MESSAGE_CHARS_MAX) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}

/// Converts an error of the library. Missing and unknown members are reported at their own place.
fn reported(error: &ValidationError<'_>) -> Vec<FieldError> {
    use ValidationErrorKind as Kind;
    let path = error.instance_path().as_str();
    let member = |name: &str| format!("{path}/{}", escape(name));
    let code = match error.kind() {
        Kind::Required {
            property: Value::String(name),
        } => return vec![FieldError::new(&member(name), "required", "is required")],
        Kind::AdditionalProperties { unexpected } | Kind::UnevaluatedProperties { unexpected } => {
            let reported =
                |name: &String| FieldError::new(&member(name), "unknown", FieldError::UNKNOWN);
            return unexpected
                .iter()
                .take(SCHEMA_ERRORS_MAX)
                .map(reported)
                .collect();
        }
        Kind::Type { .. } => "type",
        Kind::Pattern { .. } | Kind::PropertyNames { .. } => "format",
        Kind::Minimum { .. }
        | Kind::Maximum { .. }
        | Kind::ExclusiveMinimum { .. }
        | Kind::ExclusiveMaximum { .. }
        | Kind::MinLength { .. }
        | Kind::MaxLength { .. }
        | Kind::MinItems { .. }
        | Kind::MaxItems { .. }
        | Kind::MinProperties { .. }
        | Kind::MaxProperties { .. }
        | Kind::MultipleOf { .. }
        | Kind::Enum { .. }
        | Kind::Constant { .. } => "range",
        Kind::UniqueItems => "duplicate",
        Kind::Custom { keyword, .. } if keyword == unique::KEYWORD => "duplicate",
        _ => "schema",
    };
    vec![FieldError::new(path, code, words(error))]
}
