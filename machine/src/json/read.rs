//! The one strict reader of JSON from outside, and what is wrong with a text that it refuses.
//!
//! Others read JSON in their own ways, for a reason: files of evidence and claims ([`kedge_protocol`] is below this
//! crate; their types know every member, so none is read past unseen), answers of servers and nodes (a later version
//! may add members), and what this system wrote itself (the store's rows, the operator's commands).

use kedge_protocol::json::Object;
use serde::de::{Deserialize, DeserializeOwned};
use serde_json::Value;
use serde_path_to_error::{Path, Segment};

use super::{JsonError, check};
use crate::pointer::escape;
use crate::refusal::FieldError;

/// Why a text was not read.
#[derive(Debug)]
pub enum ReadError {
    /// It is not acceptable JSON.
    Json(JsonError),
    /// A member is `unknown`, `required` or of the wrong `type`. The message is the library's.
    Member(FieldError),
    /// As [`Self::Member`], but the library calls the text malformed there: a list is too long, or a number stands for
    /// a name.
    Form(JsonError, FieldError),
}

impl From<JsonError> for ReadError {
    fn from(error: JsonError) -> Self {
        Self::Json(error)
    }
}

/// Reads an object from a text that [`check`] accepts. `T` refuses members that it does not know.
///
/// # Errors
/// If the text is not acceptable, or a member is wrong.
pub fn read<'a, T: Deserialize<'a>>(text: &'a str) -> Result<T, ReadError> {
    check(text)?;
    read_accepted(text)
}

/// As [`read`], for a text that was checked before, or whose parts are checked later.
///
/// # Errors
/// If a member is wrong.
pub fn read_accepted<'a, T: Deserialize<'a>>(text: &'a str) -> Result<T, ReadError> {
    let failed = match serde_json::from_str(text) {
        Ok(Object(value)) => return Ok(value),
        Err(error) => error,
    };
    // Malformed JSON has no member that could be wrong.
    check(text)?;
    // Keeping the path costs time, so only a text that is refused is read with it.
    let deserializer = &mut serde_json::Deserializer::from_str(text);
    match serde_path_to_error::deserialize::<_, Object<T>>(deserializer) {
        Ok(_) => Err(JsonError::from(failed).into()),
        Err(error) if failed.is_data() => Err(ReadError::Member(member(&error))),
        Err(error) => Err(ReadError::Form(failed.into(), member(&error))),
    }
}

/// Reads members that were already parsed.
pub(crate) fn read_value<T: DeserializeOwned>(value: Value) -> Result<T, ReadError> {
    serde_path_to_error::deserialize(value).map_err(|error| ReadError::Member(member(&error)))
}

/// The member that is wrong. The library names it in backticks, and ends with how far it read.
fn member(error: &serde_path_to_error::Error<serde_json::Error>) -> FieldError {
    let message = error.inner().to_string();
    let message = message
        .rsplit_once(" at line ")
        .map_or(message.as_str(), |(message, _)| message);
    let name = message.split('`').nth(1).unwrap_or_default();
    let mut pointer = pointer_of(error.path());
    let step = format!("/{}", escape(name));
    if message.starts_with("missing field") {
        FieldError::new(&(pointer + &step), "required", "is required")
    } else if message.starts_with("unknown field") {
        // The path of a tagged enum's member ends at the enum.
        if !pointer.ends_with(&step) {
            pointer += &step;
        }
        FieldError::new(&pointer, "unknown", FieldError::UNKNOWN)
    } else {
        // A list that ends too early is wrong at its last element.
        if let Some((length, _)) = message
            .strip_prefix("invalid length ")
            .and_then(|rest| rest.split_once(','))
        {
            let length: usize = length.parse().unwrap_or_default();
            pointer += &format!("/{}", length.saturating_sub(1));
        }
        FieldError::new(&pointer, "type", message)
    }
}

fn pointer_of(path: &Path) -> String {
    path.iter()
        .map(|segment| match segment {
            Segment::Seq { index } => format!("/{index}"),
            Segment::Map { key } => format!("/{}", escape(key)),
            Segment::Enum { variant } => format!("/{}", escape(variant)),
            Segment::Unknown => String::new(),
        })
        .collect()
}
