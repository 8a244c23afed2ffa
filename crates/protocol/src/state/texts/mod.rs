//! The texts of properties: which bytes an action leaves, so that everybody hashes the same ones. Values keep the text
//! that was sent, without the white space between tokens.
//!
//! Each function takes time in proportion to its input, and the logarithm of the number of names in it. Members are
//! found by an index, and every text is walked once. Nesting is bounded by [`JSON_DEPTH_MAX`], as in requests.

mod walk;

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use crate::limits::JSON_DEPTH_MAX;

use walk::MemberWalk;

/// Why a text is refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TextError {
    /// Not JSON.
    #[error("the text is not JSON: {0}")]
    Syntax(String),
    /// An object is expected.
    #[error("the text must be a JSON object")]
    NotAnObject,
    /// Nested too deeply.
    #[error("the text is nested more than {JSON_DEPTH_MAX} levels deep")]
    Depth,
    /// A name that is changed appears twice in one object.
    #[error("{0:?} appears twice")]
    Duplicate(String),
}

/// *Tidy*: removes space, tab, LF and CR outside strings, and changes nothing else.
pub fn tidy(text: &str) -> Cow<'_, str> {
    let mut in_string = false;
    let mut escaped = false;
    let mut is_loose = |byte: u8| {
        if in_string {
            let ends = byte == b'"' && !escaped;
            escaped = byte == b'\\' && !escaped;
            in_string = !ends;
            return false;
        }
        in_string = byte == b'"';
        matches!(byte, b' ' | b'\t' | b'\n' | b'\r')
    };
    let Some(first) = text.bytes().position(&mut is_loose) else {
        return Cow::Borrowed(text);
    };
    let mut out = String::with_capacity(text.len());
    out.push_str(&text[..first]);
    // White space is ASCII, so cutting it out splits no character.
    let mut start = first + 1;
    for (i, byte) in text.bytes().enumerate().skip(first + 1) {
        if is_loose(byte) {
            out.push_str(&text[start..i]);
            start = i + 1;
        }
    }
    out.push_str(&text[start..]);
    Cow::Owned(out)
}

/// *Merge*: the object `target` after the merge patch `patch` (RFC 7396). Members of the target keep their places; the
/// patch's other members follow in its order.
///
/// # Errors
/// A text is no JSON object, is nested too deeply, or names a changed member twice.
pub fn merge(target: &str, patch: &str) -> Result<String, TextError> {
    check_object(target)?;
    check_object(patch)?;
    merge_checked(target, patch)
}

/// The properties after `set_attributes` with these names, decoded, and values as they were sent. `null` is a value;
/// nothing is merged.
///
/// # Errors
/// A text is not acceptable JSON, the properties are no object, or a name appears twice.
pub fn set_attributes(properties: &str, changes: &[(&str, &str)]) -> Result<String, TextError> {
    check_object(properties)?;
    let mut places = BTreeMap::new();
    for (place, (name, value)) in changes.iter().enumerate() {
        check(value)?;
        if places.insert(*name, place).is_some() {
            return Err(TextError::Duplicate((*name).to_owned()));
        }
    }
    let mut used = vec![false; changes.len()];
    let mut out = ObjectText::default();
    let mut walk = MemberWalk::of(properties);
    walk.members(&mut |walk, key| {
        let old = walk.value()?;
        let value = match places.get(key.decoded()) {
            Some(&place) => {
                take(&mut used[place], key.decoded())?;
                changes[place].1
            }
            None => old,
        };
        out.member(&key.written(), value);
        Ok(())
    })?;
    for ((name, value), used) in changes.iter().zip(used) {
        if !used {
            out.member(&quoted(name), value);
        }
    }
    Ok(out.finish())
}

/// The properties after `delete_attributes` with these names, decoded. A name that is not there changes nothing.
///
/// # Errors
/// The properties are no acceptable JSON object.
pub fn delete_attributes(properties: &str, names: &[&str]) -> Result<String, TextError> {
    check_object(properties)?;
    let names: BTreeSet<&str> = names.iter().copied().collect();
    let mut out = ObjectText::default();
    let mut walk = MemberWalk::of(properties);
    walk.members(&mut |walk, key| {
        let value = walk.value()?;
        if !names.contains(key.decoded()) {
            out.member(&key.written(), value);
        }
        Ok(())
    })?;
    Ok(out.finish())
}

/// The properties that a mint gives an object: the template's, merged with those of the variation that the mint names,
/// merged with the mint's unless these are `{}` or absent.
///
/// # Errors
/// A text is no JSON object, is nested too deeply, or names a changed member twice.
pub fn mint_properties(
    template: &str,
    variation: Option<&str>,
    own: Option<&str>,
) -> Result<String, TextError> {
    check_object(template)?;
    let mut text = tidy(template).into_owned();
    if let Some(variation) = variation {
        check_object(variation)?;
        text = merge_checked(&text, variation)?;
    }
    if let Some(own) = own {
        check_object(own)?;
        if tidy(own) != "{}" {
            text = merge_checked(&text, own)?;
        }
    }
    Ok(text)
}

/// Checks that a text is JSON, and not nested too deeply. Names that no change concerns may repeat.
fn check(text: &str) -> Result<(), TextError> {
    let read: Result<serde::de::IgnoredAny, _> = serde_json::from_str(text);
    read.map_err(|error| TextError::Syntax(error.to_string()))?;
    if walk::depth(text) > JSON_DEPTH_MAX {
        return Err(TextError::Depth);
    }
    Ok(())
}

fn check_object(text: &str) -> Result<(), TextError> {
    check(text)?;
    if MemberWalk::of(text).is_at_object() {
        Ok(())
    } else {
        Err(TextError::NotAnObject)
    }
}

/// The effect of a patch on one value.
enum TextPatch<'a> {
    /// Replaces the value; `null` leaves it out.
    Value(&'a str),
    /// Merges into the value.
    Members(Vec<(walk::MemberKey<'a>, TextPatch<'a>)>),
}

fn merge_checked(target: &str, patch: &str) -> Result<String, TextError> {
    let TextPatch::Members(changes) = read_patch(&mut MemberWalk::of(patch))? else {
        return Err(TextError::NotAnObject);
    };
    let mut out = ObjectText::default();
    merge_members(&mut out, Some(&mut MemberWalk::of(target)), &changes)?;
    Ok(out.finish())
}

fn read_patch<'a>(walk: &mut MemberWalk<'a>) -> Result<TextPatch<'a>, TextError> {
    if !walk.is_at_object() {
        return walk.value().map(TextPatch::Value);
    }
    let mut members = Vec::new();
    walk.members(&mut |walk, key| {
        let change = read_patch(walk)?;
        members.push((key, change));
        Ok(())
    })?;
    Ok(TextPatch::Members(members))
}

/// Merges `changes` into the object at the target's position, or into an empty one, and writes its members to `out`.
fn merge_members(
    out: &mut ObjectText,
    target: Option<&mut MemberWalk<'_>>,
    changes: &[(walk::MemberKey<'_>, TextPatch<'_>)],
) -> Result<(), TextError> {
    let mut places = BTreeMap::new();
    for (place, (key, _)) in changes.iter().enumerate() {
        if places.insert(key.decoded(), place).is_some() {
            return Err(TextError::Duplicate(key.decoded().to_owned()));
        }
    }
    let mut used = vec![false; changes.len()];
    if let Some(target) = target {
        target.members(&mut |target, key| {
            let Some(&place) = places.get(key.decoded()) else {
                let value = target.value()?;
                out.member(&key.written(), value);
                return Ok(());
            };
            take(&mut used[place], key.decoded())?;
            match &changes[place].1 {
                TextPatch::Members(inner) if target.is_at_object() => {
                    out.open(&key.written());
                    merge_members(out, Some(target), inner)?;
                    out.close();
                }
                change => {
                    target.value()?;
                    write_change(out, &key.written(), change)?;
                }
            }
            Ok(())
        })?;
    }
    for ((key, change), used) in changes.iter().zip(used) {
        if !used {
            write_change(out, &key.written(), change)?;
        }
    }
    Ok(())
}

/// Writes a member that a patch makes of nothing, or of a value that is no object.
fn write_change(out: &mut ObjectText, key: &str, change: &TextPatch<'_>) -> Result<(), TextError> {
    match change {
        TextPatch::Value("null") => {}
        TextPatch::Value(value) => out.member(key, value),
        TextPatch::Members(inner) => {
            out.open(key);
            merge_members(out, None, inner)?;
            out.close();
        }
    }
    Ok(())
}

/// Marks a change as used. A target that has its name twice has no one meaning.
fn take(used: &mut bool, name: &str) -> Result<(), TextError> {
    if std::mem::replace(used, true) {
        return Err(TextError::Duplicate(name.to_owned()));
    }
    Ok(())
}

/// An object as it is written. Keys arrive with their quotes, values as they were sent.
struct ObjectText(String);

impl Default for ObjectText {
    fn default() -> Self {
        Self("{".to_owned())
    }
}

impl ObjectText {
    fn key(&mut self, key: &str) {
        if !self.0.ends_with('{') {
            self.0.push(',');
        }
        self.0.push_str(key);
        self.0.push(':');
    }

    fn member(&mut self, key: &str, value: &str) {
        self.key(key);
        self.0.push_str(&tidy(value));
    }

    fn open(&mut self, key: &str) {
        self.key(key);
        self.0.push('{');
    }

    fn close(&mut self) {
        self.0.push('}');
    }

    fn finish(mut self) -> String {
        self.close();
        self.0
    }
}

/// A decoded name as JSON: `\" \\ \b \t \n \f \r`, `\u00xx` for other characters below 0x20, all else as itself.
fn quoted(name: &str) -> String {
    serde_json::Value::from(name).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn nested(depth: usize) -> String {
        format!("{}1{}", "{\"a\":".repeat(depth), "}".repeat(depth))
    }

    #[test]
    fn nesting_is_bounded_as_in_requests() {
        let (deepest, deeper) = (nested(JSON_DEPTH_MAX), nested(JSON_DEPTH_MAX + 1));
        assert_eq!(merge(&deepest, &deepest), Ok(deepest.clone()));
        assert_eq!(merge("{}", &deeper), Err(TextError::Depth));
        assert_eq!(merge(&deeper, "{}"), Err(TextError::Depth));
        let lists = format!("{{\"a\":{}{}}}", "[".repeat(64), "]".repeat(64));
        assert_eq!(delete_attributes(&lists, &[]), Err(TextError::Depth));
        assert_eq!(
            set_attributes("{}", &[("a", &deeper)]),
            Err(TextError::Depth)
        );
        // Brackets in strings do not nest.
        let brackets = format!("{{\"a\":\"\\\"{}\"}}", "[{".repeat(100));
        assert_eq!(merge(&brackets, "{}"), Ok(brackets.clone()));
        let endless = "[".repeat(1_000_000);
        assert!(merge(&endless, "{}").is_err() && merge("{}", &endless).is_err());
    }

    #[test]
    fn only_objects_have_members() {
        for other in ["1", "null", "[]", "\"{}\"", " [ ] "] {
            assert_eq!(merge("{}", other), Err(TextError::NotAnObject), "{other}");
            assert_eq!(merge(other, "{}"), Err(TextError::NotAnObject), "{other}");
            assert_eq!(
                mint_properties("{}", None, Some(other)),
                Err(TextError::NotAnObject)
            );
        }
        for broken in [
            "",
            "{",
            "{\"a\"}",
            "{\"a\":}",
            "{\"a\":1,}",
            "{'a':1}",
            "{}x",
            "{\"a\":tru}",
        ] {
            assert!(
                matches!(merge(broken, "{}"), Err(TextError::Syntax(_))),
                "{broken}"
            );
            assert!(
                matches!(merge("{}", broken), Err(TextError::Syntax(_))),
                "{broken}"
            );
        }
        // Half a surrogate pair is no character, so it cannot be a name.
        assert!(matches!(
            merge("{\"\\ud800\":1}", "{}"),
            Err(TextError::Syntax(_))
        ));
    }

    #[test]
    fn a_changed_name_has_one_place() {
        let twice = |name: &str| Err(TextError::Duplicate(name.to_owned()));
        assert_eq!(merge("{}", "{\"a\":1,\"\\u0061\":2}"), twice("a"));
        assert_eq!(merge("{}", "{\"o\":{\"a\":1,\"a\":2}}"), twice("a"));
        assert_eq!(merge("{\"a\":1,\"\\u0061\":2}", "{\"a\":3}"), twice("a"));
        assert_eq!(set_attributes("{}", &[("a", "1"), ("a", "1")]), twice("a"));
        assert_eq!(
            set_attributes("{\"a\":1,\"a\":2}", &[("a", "3")]),
            twice("a")
        );
        let deleted = delete_attributes("{\"a\":1,\"b\":2}", &["a", "a"]);
        assert_eq!(deleted.as_deref(), Ok("{\"b\":2}"));
    }

    #[test]
    fn null_deletes_in_a_merge_and_is_a_value_elsewhere() {
        let merged = merge(
            "{\"a\":1,\"b\":null}",
            "{\"a\": null ,\"c\":null,\"d\":{\"e\":null}}",
        );
        assert_eq!(merged.as_deref(), Ok("{\"b\":null,\"d\":{}}"));
        let set = set_attributes("{\"a\":1}", &[("a", " null "), ("b", "null")]);
        assert_eq!(set.as_deref(), Ok("{\"a\":null,\"b\":null}"));
    }

    /// A hundred thousand names, none a prefix of few others: a search for each among all would take minutes.
    #[test]
    fn many_names_take_a_time_in_proportion() {
        let names: Vec<String> = (0..100_000).map(|i| format!("name{i}")).collect();
        let object = |value: &str| {
            let members: Vec<String> = names.iter().map(|n| format!("\"{n}\":{value}")).collect();
            format!("{{{}}}", members.join(","))
        };
        let begun = std::time::Instant::now();
        let target = object("{\"x\":1}");
        assert_eq!(merge(&target, &object("null")).as_deref(), Ok("{}"));
        assert_eq!(
            merge(&target, &object("{\"x\":2}")),
            Ok(object("{\"x\":2}"))
        );
        let changes: Vec<(&str, &str)> = names.iter().map(|name| (name.as_str(), "7")).collect();
        assert_eq!(set_attributes(&target, &changes), Ok(object("7")));
        let wanted: Vec<&str> = names.iter().map(String::as_str).collect();
        assert_eq!(delete_attributes(&target, &wanted).as_deref(), Ok("{}"));
        assert!(begun.elapsed().as_secs() < 20, "{:?}", begun.elapsed());
    }
}
