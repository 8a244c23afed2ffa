//! Items of the API's answers, held against the entries that their proofs show.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde::de::Error;
use serde_json::value::RawValue;
use serde_json::{Deserializer, Map, Value};

use super::check::StateStatement;
use super::shown::{StateTexts, differing_members, members_of};
use crate::Id;
use crate::json::{JsonObject, distinct_or_null};
use crate::resource::Who;
use crate::state::entry::{EntryFields, EntryRule, StateEntry};

/// Members of entries that items show in another form.
const SHOWN_OTHERWISE: [&str; 5] = [
    "integrity",
    "properties_hash",
    "schema_hash",
    "name_hash",
    "rules",
];

/// Why an item is not what its proof shows.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum StateItemError {
    /// It is no JSON object, or a name occurs twice in it.
    #[error("the item is malformed: {0}")]
    Form(String),
    /// The proof is of absence.
    #[error("the answer shows {0}, and proves that the log had made nothing under it")]
    Absent(Id),
    /// An entry of a type that no request with `prove=true` shows.
    #[error("{0} is no object, template or variation: give its proof without the item")]
    Type(Id),
    /// Members that differ from the entry or that the item lacks.
    #[error("{} of the item {key} differ from its proven entry", .members.join(", "))]
    Differs {
        /// The id that the proof is of.
        key: Id,
        /// Such as `version` and `properties`.
        members: Vec<String>,
    },
}

/// A rule of a template, as an item shows it.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ItemRule<'a> {
    kind: String,
    who: Who,
    #[serde(borrow, default)]
    schema: Option<&'a RawValue>,
}

impl StateStatement {
    /// Compares an object, a template or a variation that an answer shows with the entry and its texts. `texts` are the
    /// proof's own, which the proof's check has compared with the entry. Returns the names of the members that nothing
    /// proves, such as `created_at`, in order.
    ///
    /// # Errors
    /// [`StateItemError`]: the item is not what the proof shows, or lacks some of it.
    pub fn check_item(
        &self,
        item: &RawValue,
        texts: &StateTexts,
    ) -> Result<Vec<String>, StateItemError> {
        let form = |error: serde_json::Error| StateItemError::Form(error.to_string());
        let members = distinct_members(item.get()).map_err(form)?;
        let spelled = spelled_members(item.get()).map_err(form)?;
        let key = self.key;
        let entry = self.entry.as_ref().ok_or(StateItemError::Absent(key))?;
        let own = item_members(key, entry);
        let by_texts = texts_hold(&spelled, entry, texts).ok_or(StateItemError::Type(key))?;
        let mut unproven: Vec<String> = members.keys().cloned().collect();
        unproven.retain(|name| {
            let is_text = by_texts.iter().any(|(text, _)| text == name);
            !own.contains_key(name) && !is_text && name != "state_proof"
        });
        let stated = members.into_iter();
        let stated = stated.filter(|(name, _)| own.contains_key(name)).collect();
        let mut differing = differing_members(&stated, &own);
        let wrong = by_texts.iter().filter(|(_, holds)| !holds);
        differing.extend(wrong.map(|(name, _)| (*name).to_owned()));
        if differing.is_empty() {
            unproven.sort_unstable();
            Ok(unproven)
        } else {
            let members = differing;
            Err(StateItemError::Differs { key, members })
        }
    }
}

/// The members of a JSON object; no name occurs twice in it, at any depth.
fn distinct_members(text: &str) -> serde_json::Result<Map<String, Value>> {
    let read = distinct_or_null(&mut Deserializer::from_str(text))?;
    read.ok_or_else(|| serde_json::Error::custom("expected a JSON object"))
}

/// The members that the item has to show as the entry has them.
fn item_members(key: Id, entry: &StateEntry) -> Map<String, Value> {
    let mut own = members_of(entry);
    own.retain(|name, _| !SHOWN_OTHERWISE.contains(&name.as_str()));
    own.insert("id".to_owned(), key.to_string().into());
    if matches!(entry.fields, EntryFields::Variation(_)) {
        // Nothing changes a variation, and its items do not show these.
        own.retain(|name, _| name != "version" && name != "sequence");
    } else {
        own.insert(
            "integrity_hash".to_owned(),
            entry.integrity.to_string().into(),
        );
    }
    own
}

/// The members of the item that texts prove, and whether each is what its text says; `None` for another type.
fn texts_hold(
    item: &BTreeMap<String, &RawValue>,
    entry: &StateEntry,
    texts: &StateTexts,
) -> Option<Vec<(&'static str, bool)>> {
    let shown = |name: &str| item.get(name).copied();
    let properties = is_text(shown("properties"), texts.properties.as_deref());
    let mut held = vec![("properties", properties)];
    match &entry.fields {
        EntryFields::Object(_) => {}
        EntryFields::Variation(_) => {
            let name = shown("name").and_then(|name| serde_json::from_str(name.get()).ok());
            let holds = name.is_some_and(|name: String| texts.name == Some(name));
            held.push(("name", holds));
        }
        EntryFields::Template(template) => {
            let schema = is_text(shown("schema"), texts.schema.as_deref());
            let rules = rules_hold(shown("actions"), &template.rules, texts.rules.as_deref());
            held.extend([("schema", schema), ("actions", rules)]);
        }
        _ => return None,
    }
    Some(held)
}

/// Whether shown rules are the entry's, with the schemas of the texts.
fn rules_hold(shown: Option<&RawValue>, own: &[EntryRule], schemas: Option<&[String]>) -> bool {
    let shown = shown.and_then(|rules| serde_json::from_str(rules.get()).ok());
    let (Some(shown), Some(schemas)) = (shown, schemas) else {
        return false;
    };
    let shown: Vec<JsonObject<ItemRule<'_>>> = shown;
    let mut rules = shown.iter().zip(own).zip(schemas);
    (shown.len(), own.len()) == (own.len(), schemas.len())
        && rules.all(|((JsonObject(rule), own), schema)| {
            (&rule.kind, rule.who) == (&own.kind, own.who) && is_text(rule.schema, Some(schema))
        })
}

/// Whether a shown value is the JSON of a text: null or absent where the text is empty.
fn is_text(shown: Option<&RawValue>, text: Option<&str>) -> bool {
    let shown = shown.map_or("null", RawValue::get);
    match text {
        None => false,
        Some("") => shown == "null",
        // The text has to have one meaning, too.
        Some(text) => distinct_members(text).is_ok() && is_same_json(shown, text),
    }
}

/// Whether two texts are the same JSON but for whitespace, the order of members and the spelling of strings. Numbers have
/// the same digits: 12.50 is not 12.5.
fn is_same_json(one: &str, other: &str) -> bool {
    let (one, other) = (one.trim(), other.trim());
    match (one.as_bytes().first(), other.as_bytes().first()) {
        (Some(b'{'), Some(b'{')) => {
            let (Ok(one), Ok(other)) = (spelled_members(one), spelled_members(other)) else {
                return false;
            };
            let holds = |(name, value): (&String, &&RawValue)| {
                let own = other.get(name);
                own.is_some_and(|own| is_same_json(value.get(), own.get()))
            };
            one.len() == other.len() && one.iter().all(holds)
        }
        (Some(b'['), Some(b'[')) => {
            let (Ok(one), Ok(other)) = (spelled_values(one), spelled_values(other)) else {
                return false;
            };
            let mut pairs = one.iter().zip(&other);
            one.len() == other.len()
                && pairs.all(|(value, own)| is_same_json(value.get(), own.get()))
        }
        (Some(b'"'), Some(b'"')) => {
            let read = serde_json::from_str::<String>;
            matches!((read(one), read(other)), (Ok(one), Ok(other)) if one == other)
        }
        _ => one == other,
    }
}

fn spelled_members(text: &str) -> serde_json::Result<BTreeMap<String, &RawValue>> {
    serde_json::from_str(text)
}

fn spelled_values(text: &str) -> serde_json::Result<Vec<&RawValue>> {
    serde_json::from_str(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_json_has_the_same_numbers_members_and_texts() {
        for (one, other) in [
            ("{}", " { } "),
            (
                r#"{"a":1,"b":[true,null]}"#,
                r#"{ "b": [true, null], "a": 1 }"#,
            ),
            (r#"{"\u0061":"\u00e9"}"#, r#"{"a":"é"}"#),
        ] {
            assert!(is_same_json(one, other), "{one} {other}");
        }
        for (one, other) in [
            (r#"{"a":12.50}"#, r#"{"a":12.5}"#),
            (
                r#"{"a":18446744073709551617}"#,
                r#"{"a":18446744073709551616}"#,
            ),
            (r#"{"a":1}"#, r#"{"a":"1"}"#),
            (r#"{"a":1}"#, r#"{"a":1,"b":1}"#),
            (r#"{"a":1,"b":1}"#, r#"{"a":1}"#),
            (r#"{"a":null}"#, r#"{"b":null}"#),
            (r#"{"a":[1]}"#, r#"{"a":[1,1]}"#),
            (r#"{"a":[1,2]}"#, r#"{"a":[2,1]}"#),
            (r#"{"a":{}}"#, r#"{"a":[]}"#),
        ] {
            assert!(!is_same_json(one, other), "{one} {other}");
        }
    }

    #[test]
    fn a_name_that_occurs_twice_has_no_meaning() {
        for text in [r#"{"a":1,"a":1}"#, r#"{"a":{"b":1,"b":1}}"#, "null", "[]"] {
            assert!(distinct_members(text).is_err(), "{text}");
        }
        let own = r#"{"a":1,"a":2}"#;
        let shown: &RawValue = serde_json::from_str(r#"{"a":2}"#).unwrap();
        assert!(!is_text(Some(shown), Some(own)));
    }
}
