//! JSON as text. Payloads are signed as the exact text that was sent, so numbers and strings are never parsed and
//! rewritten: values move as slices of the text.

mod edits;
mod merge;
mod name_index;
mod read;
mod scan;

use std::borrow::Cow;
use std::collections::HashSet;
use std::fmt;

use kedge_protocol::limits::JSON_DEPTH_MAX;
use serde::de::{DeserializeSeed, Deserializer, Error as _, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;
use smallvec::SmallVec;

pub(crate) use edits::JsonEdits;
pub use merge::merge;
pub(crate) use merge::merge_only;
pub(crate) use name_index::NameIndex;
pub(crate) use read::read_value;
pub use read::{JsonReadError, read, read_accepted};
pub(crate) use scan::JsonScan;
pub use scan::{ListPart, walk_list};

/// Why a text is not acceptable JSON.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct JsonError(String);

impl From<serde_json::Error> for JsonError {
    fn from(error: serde_json::Error) -> Self {
        Self(error.to_string())
    }
}

/// Checks a text: JSON, not nested too deeply, no key twice in one object (RFC 8259, 4: names within an object should
/// be unique; here they must be).
pub fn check(text: &str) -> Result<(), JsonError> {
    if scan::accepts(text) {
        return Ok(());
    }
    check_with_serde(text)
}

fn check_with_serde(text: &str) -> Result<(), JsonError> {
    let mut deserializer = serde_json::Deserializer::from_str(text);
    StrictCheck { depth: 0 }.deserialize(&mut deserializer)?;
    deserializer.end()?;
    Ok(())
}

#[derive(Clone, Copy)]
struct StrictCheck {
    depth: usize,
}

impl StrictCheck {
    fn deeper<E: serde::de::Error>(self) -> Result<Self, E> {
        if self.depth == JSON_DEPTH_MAX {
            return Err(E::custom(format_args!(
                "nested more than {JSON_DEPTH_MAX} levels deep"
            )));
        }
        Ok(Self {
            depth: self.depth + 1,
        })
    }
}

impl<'de> DeserializeSeed<'de> for StrictCheck {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

/// Larger objects keep their seen keys in a set.
const LINEAR_KEYS_MAX: usize = 16;

impl<'de> Visitor<'de> for StrictCheck {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_bool<E>(self, _: bool) -> Result<(), E> {
        Ok(())
    }

    fn visit_i64<E>(self, _: i64) -> Result<(), E> {
        Ok(())
    }

    fn visit_u64<E>(self, _: u64) -> Result<(), E> {
        Ok(())
    }

    fn visit_f64<E>(self, _: f64) -> Result<(), E> {
        Ok(())
    }

    fn visit_str<E>(self, _: &str) -> Result<(), E> {
        Ok(())
    }

    fn visit_unit<E>(self) -> Result<(), E> {
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<(), A::Error> {
        let inner = self.deeper()?;
        while items.next_element_seed(inner)?.is_some() {}
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<(), A::Error> {
        let inner = self.deeper()?;
        let mut few: Vec<Cow<'de, str>> = Vec::new();
        let mut many: HashSet<Cow<'de, str>> = HashSet::new();
        while let Some(key) = members.next_key_seed(JsonKeySeed)? {
            let fresh = if few.len() < LINEAR_KEYS_MAX && many.is_empty() {
                let fresh = !few.contains(&key);
                few.push(key.clone());
                fresh
            } else {
                many.extend(few.drain(..));
                many.insert(key.clone())
            };
            if !fresh {
                return Err(A::Error::custom(format_args!("key {key:?} appears twice")));
            }
            members.next_value_seed(inner)?;
        }
        Ok(())
    }
}

struct JsonKeySeed;

impl<'de> DeserializeSeed<'de> for JsonKeySeed {
    type Value = Cow<'de, str>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_str(Self)
    }
}

impl<'de> Visitor<'de> for JsonKeySeed {
    type Value = Cow<'de, str>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a key")
    }

    fn visit_borrowed_str<E>(self, key: &'de str) -> Result<Self::Value, E> {
        Ok(Cow::Borrowed(key))
    }

    fn visit_str<E>(self, key: &str) -> Result<Self::Value, E> {
        Ok(Cow::Owned(key.to_owned()))
    }
}

/// A member of an object: its key, and its value as a slice of the object's text.
type JsonMember<'a> = (Cow<'a, str>, &'a str);

/// The members of an object in their order. Small objects need no heap allocation.
#[derive(Default)]
pub struct JsonMembers<'a>(pub SmallVec<[JsonMember<'a>; 8]>);

impl<'a> JsonMembers<'a> {
    /// Reads the members of a text that [`check`] accepted; `None` if it is no object.
    pub fn of(text: &'a str) -> Option<Self> {
        // Most values of a merge are no objects, and creating an error costs more than this test.
        if !text.trim_ascii_start().starts_with('{') {
            return None;
        }
        scan::members(text).or_else(|| Self::with_serde(text))
    }

    fn with_serde(text: &'a str) -> Option<Self> {
        let mut deserializer = serde_json::Deserializer::from_str(text);
        deserializer.deserialize_map(MembersVisitor).ok()
    }
}

struct MembersVisitor;

impl<'de> Visitor<'de> for MembersVisitor {
    type Value = JsonMembers<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut access: A) -> Result<Self::Value, A::Error> {
        let mut members = SmallVec::new();
        while let Some(key) = access.next_key_seed(JsonKeySeed)? {
            let value: &'de RawValue = access.next_value()?;
            members.push((key, value.get()));
        }
        Ok(JsonMembers(members))
    }
}

/// Removes white space between tokens.
pub fn compact(text: &str) -> Cow<'_, str> {
    // Any value but an object or array is one token.
    let is_token = matches!(
        text.as_bytes().first(),
        Some(b'"' | b'0'..=b'9' | b'-' | b't' | b'f' | b'n')
    );
    if is_token {
        return Cow::Borrowed(text.trim_ascii_end());
    }
    let mut in_string = false;
    let mut escaped = false;
    let is_loose = |byte: u8, in_string: &mut bool, escaped: &mut bool| {
        if *in_string {
            if *escaped {
                *escaped = false;
            } else if byte == b'\\' {
                *escaped = true;
            } else if byte == b'"' {
                *in_string = false;
            }
            return false;
        }
        *in_string = byte == b'"';
        matches!(byte, b' ' | b'\t' | b'\n' | b'\r')
    };
    let first = text
        .bytes()
        .position(|byte| is_loose(byte, &mut in_string, &mut escaped));
    let Some(first) = first else {
        return Cow::Borrowed(text);
    };
    // White space outside a string is ASCII, so cutting it out cannot split a character.
    let mut out = String::with_capacity(text.len());
    out.push_str(&text[..first]);
    let mut start = first + 1;
    for (i, byte) in text.bytes().enumerate().skip(first + 1) {
        if is_loose(byte, &mut in_string, &mut escaped) {
            out.push_str(&text[start..i]);
            start = i + 1;
        }
    }
    out.push_str(&text[start..]);
    Cow::Owned(out)
}

/// A string as JSON.
pub fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

#[cfg(test)]
mod tests;
