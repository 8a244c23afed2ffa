//! The strict reader of JSON from outside, with errors that point to the wrong member.
//!
//! Other readers exist for a reason: files of evidence and claims ([`kedge_protocol`] is below this crate; their types
//! know every member, so none is ignored), answers of servers and nodes (a later version may add members), and JSON
//! written by this system (the store's rows, the operator's commands).

use kedge_protocol::json::JsonObject;
use serde::de::{Deserialize, DeserializeOwned};
use serde_json::Value;
use serde_path_to_error::{Path, Segment};

use super::{JsonError, check};
use crate::field_error::FieldError;
use crate::pointer::escape;

/// Why a text was not read.
#[derive(Debug)]
pub enum JsonReadError {
    /// The text is not acceptable JSON.
    Json(JsonError),
    /// A member is `unknown`, `required` or of the wrong `type`. The message is serde's.
    Member(FieldError),
    /// Like [`Self::Member`], but serde reports a syntax error there: a list is too long, or a number stands for a
    /// name.
    Form(JsonError, FieldError),
}

impl From<JsonError> for JsonReadError {
    fn from(error: JsonError) -> Self {
        Self::Json(error)
    }
}

/// Reads an object from a text that [`check`] accepts. `T` refuses unknown members.
///
/// # Errors
/// The text is not acceptable, or a member is wrong.
pub fn read<'a, T: Deserialize<'a>>(text: &'a str) -> Result<T, JsonReadError> {
    check(text)?;
    read_accepted(text)
}

/// [`read`] for a text that was checked before, or whose parts are checked later.
///
/// # Errors
/// A member is wrong.
pub fn read_accepted<'a, T: Deserialize<'a>>(text: &'a str) -> Result<T, JsonReadError> {
    let failed = match serde_json::from_str(text) {
        Ok(JsonObject(value)) => return Ok(value),
        Err(error) => error,
    };
    // Malformed JSON has no member that could be wrong.
    check(text)?;
    // Tracking the path costs time, so only a refused text is read with it.
    let deserializer = &mut serde_json::Deserializer::from_str(text);
    match serde_path_to_error::deserialize::<_, JsonObject<T>>(deserializer) {
        Ok(_) => Err(JsonError::from(failed).into()),
        Err(error) if failed.is_data() => Err(JsonReadError::Member(member(&error))),
        Err(error) => Err(JsonReadError::Form(failed.into(), member(&error))),
    }
}

/// Reads members that were already parsed.
pub(crate) fn read_value<T: DeserializeOwned>(value: Value) -> Result<T, JsonReadError> {
    serde_path_to_error::deserialize(value).map_err(|error| JsonReadError::Member(member(&error)))
}

/// The wrong member. Serde's message names it in backticks, and ends with its position in the text.
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
        // For a tagged enum's member, the path ends at the enum.
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

#[cfg(test)]
mod tests {
    use serde::Deserialize;

    use super::*;

    #[derive(Deserialize, PartialEq, Debug)]
    #[serde(deny_unknown_fields)]
    struct Outer {
        number: u8,
        #[serde(
            rename = "a/b~c",
            default,
            deserialize_with = "kedge_protocol::json::objects"
        )]
        list: Vec<Inner>,
        pair: Option<(u8, u8)>,
        choice: Option<Choice>,
    }

    #[derive(Deserialize, PartialEq, Debug)]
    #[serde(deny_unknown_fields)]
    struct Inner {
        word: String,
    }

    #[derive(Deserialize, PartialEq, Debug)]
    #[serde(rename_all = "snake_case", deny_unknown_fields)]
    enum Choice {
        One { word: String },
        Other,
    }

    fn wrong(text: &str) -> (String, String, String) {
        match read::<Outer>(text) {
            Err(JsonReadError::Member(field)) => {
                (field.pointer, field.code.into_owned(), field.message)
            }
            other => panic!("{text}: {other:?}"),
        }
    }

    #[test]
    fn a_member_that_is_wrong_is_pointed_to() {
        for (text, pointer, code) in [
            ("{}", "/number", "required"),
            (r#"{"number":"1"}"#, "/number", "type"),
            (r#"{"number":256}"#, "/number", "type"),
            (r#"{"number":1,"x/y~z":2}"#, "/x~1y~0z", "unknown"),
            (
                r#"{"number":1,"a/b~c":[{"word":"a"},{}]}"#,
                "/a~1b~0c/1/word",
                "required",
            ),
            (
                r#"{"number":1,"a/b~c":[{"word":1}]}"#,
                "/a~1b~0c/0/word",
                "type",
            ),
            (r#"{"number":1,"a/b~c":[["a"]]}"#, "/a~1b~0c/0", "type"),
            (
                r#"{"number":1,"a/b~c":[{"word":"a","words":1}]}"#,
                "/a~1b~0c/0/words",
                "unknown",
            ),
            (r#"{"number":1,"pair":[]}"#, "/pair/0", "type"),
            (r#"{"number":1,"pair":[1]}"#, "/pair/0", "type"),
            (r#"{"number":1,"pair":[1,"2"]}"#, "/pair/1", "type"),
            (
                r#"{"number":1,"choice":{"one":{"word":"a","more":1}}}"#,
                "/choice/one/more",
                "unknown",
            ),
            (
                r#"{"number":1,"choice":{"one":{}}}"#,
                "/choice/one/word",
                "required",
            ),
            ("[1]", "", "type"),
            ("1", "", "type"),
        ] {
            let found = wrong(text);
            assert_eq!(
                (found.0.as_str(), found.1.as_str()),
                (pointer, code),
                "{text}"
            );
            assert!(!found.2.contains(" at line "), "{found:?}");
        }
        assert_eq!(wrong("{}").2, "is required");
        assert_eq!(wrong(r#"{"number":1,"x":2}"#).2, FieldError::UNKNOWN);
        // Serde reports a list that is too long, and a number for a name, as malformed.
        for (text, pointer) in [
            (r#"{"number":1,"pair":[1,2,3]}"#, "/pair"),
            (r#"{"number":1,"choice":5}"#, "/choice"),
        ] {
            match read::<Outer>(text) {
                Err(JsonReadError::Form(_, field)) => assert_eq!(field.pointer, pointer),
                other => panic!("{text}: {other:?}"),
            }
        }
    }

    #[test]
    fn a_text_is_read_if_it_is_acceptable() {
        let text = r#" {"number":1,"a/b~c":[{"word":"a"}],"pair":[1,2],"choice":"other"} "#;
        let expected = Outer {
            number: 1,
            list: vec![Inner {
                word: "a".to_owned(),
            }],
            pair: Some((1, 2)),
            choice: Some(Choice::Other),
        };
        assert_eq!(read::<Outer>(text).unwrap(), expected);
        assert_eq!(read_accepted::<Outer>(text).unwrap(), expected);
        let value = serde_json::from_str(text).unwrap();
        assert_eq!(read_value::<Outer>(value).unwrap(), expected);
        for bad in [
            "",
            "{",
            r#"{"number":1}x"#,
            r#"{"number":1,"number":1}"#,
            "{'number':1}",
        ] {
            assert!(
                matches!(read::<Outer>(bad), Err(JsonReadError::Json(_))),
                "{bad}"
            );
        }
        for bad in ["", "{", r#"{"number":1}x"#] {
            assert!(
                matches!(read_accepted::<Outer>(bad), Err(JsonReadError::Json(_))),
                "{bad}"
            );
        }
    }
}
