//! What people read of an entry: its members, and the texts whose hashes it holds. The entry binds both.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::hash::keccak;
use crate::json::value_or_absent;
use crate::resource::{Object, Template, Variation};
use crate::state::entry::{EntryFields, StateEntry};
use crate::{Address, Hash};

/// The texts whose hashes an entry holds, as the log has them. A text that the server no longer has is absent.
#[derive(Clone, PartialEq, Eq, Default, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct StateTexts {
    /// Properties of an object, a template or a variation.
    #[serde(
        default,
        deserialize_with = "value_or_absent",
        skip_serializing_if = "Option::is_none"
    )]
    pub properties: Option<String>,
    /// Schema of a template; empty where there is none.
    #[serde(
        default,
        deserialize_with = "value_or_absent",
        skip_serializing_if = "Option::is_none"
    )]
    pub schema: Option<String>,
    /// Name of a variation.
    #[serde(
        default,
        deserialize_with = "value_or_absent",
        skip_serializing_if = "Option::is_none"
    )]
    pub name: Option<String>,
    /// Schemas of a template's rules, in the template's order; empty where a rule has none.
    #[serde(
        default,
        deserialize_with = "value_or_absent",
        skip_serializing_if = "Option::is_none"
    )]
    pub rules: Option<Vec<String>>,
}

impl StateTexts {
    /// The texts of an object.
    pub fn of_object(object: &Object) -> Self {
        Self {
            properties: Some(object.properties.clone()),
            ..Self::default()
        }
    }

    /// The texts of a template.
    pub fn of_template(template: &Template) -> Self {
        let rules = template.actions.iter();
        let rules = rules.map(|rule| rule.schema.clone().unwrap_or_default());
        Self {
            properties: Some(template.properties.clone()),
            schema: Some(template.schema.clone().unwrap_or_default()),
            rules: Some(rules.collect()),
            name: None,
        }
    }

    /// The texts of a variation.
    pub fn of_variation(variation: &Variation) -> Self {
        Self {
            properties: Some(variation.properties.clone()),
            name: Some(variation.name.clone()),
            ..Self::default()
        }
    }

    /// Whether there is no text.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// The names of texts that the entry does not hold.
    pub fn differing(&self, entry: &StateEntry) -> Vec<String> {
        let hashes = EntryHashes::of(&entry.fields);
        let rules = self.rules.as_ref().is_some_and(|rules| {
            let rules: Vec<Hash> = rules.iter().map(|rule| keccak(rule.as_bytes())).collect();
            hashes.rules != Some(rules)
        });
        let differs = |text: &Option<String>, hash: Option<Hash>| {
            let text = text.as_ref().map(|text| keccak(text.as_bytes()));
            text.is_some() && text != hash
        };
        let texts = [
            ("properties", differs(&self.properties, hashes.properties)),
            ("schema", differs(&self.schema, hashes.schema)),
            ("name", differs(&self.name, hashes.name)),
            ("rules", rules),
        ];
        let differing = texts.iter().filter(|(_, differs)| *differs);
        differing.map(|(name, _)| (*name).to_owned()).collect()
    }
}

/// Hashes of the texts of an entry's type.
#[derive(Default)]
struct EntryHashes {
    properties: Option<Hash>,
    schema: Option<Hash>,
    name: Option<Hash>,
    rules: Option<Vec<Hash>>,
}

impl EntryHashes {
    fn of(fields: &EntryFields) -> Self {
        match fields {
            EntryFields::Object(object) => Self {
                properties: Some(object.properties_hash),
                ..Self::default()
            },
            EntryFields::Template(template) => Self {
                properties: Some(template.properties_hash),
                schema: Some(template.schema_hash),
                name: None,
                rules: Some(template.rules.iter().map(|rule| rule.schema_hash).collect()),
            },
            EntryFields::Variation(variation) => Self {
                properties: Some(variation.properties_hash),
                name: Some(variation.name_hash),
                ..Self::default()
            },
            EntryFields::Wallet(_)
            | EntryFields::Organization {}
            | EntryFields::ApiKey(_)
            | EntryFields::Webhook(_)
            | EntryFields::File(_)
            | EntryFields::Dispute(_)
            | EntryFields::SequencerKey(_) => Self::default(),
        }
    }
}

/// The members of an entry in JSON.
pub(super) fn members_of(entry: &StateEntry) -> Map<String, Value> {
    match serde_json::to_value(entry) {
        Ok(Value::Object(members)) => members,
        // An entry is a struct of texts and numbers, which has no other form.
        Ok(_) | Err(_) => Map::new(),
    }
}

/// The names of the members that only one of both has, or that differ, in order.
pub(super) fn differing_members(
    shown: &Map<String, Value>,
    own: &Map<String, Value>,
) -> Vec<String> {
    let differs = |name: &&String| match (shown.get(*name), own.get(*name)) {
        (Some(shown), Some(own)) => !is_same(shown, own),
        _ => true,
    };
    let mut names: Vec<&String> = own.keys().chain(shown.keys()).filter(differs).collect();
    names.sort_unstable();
    names.dedup();
    names.into_iter().cloned().collect()
}

/// Whether a shown value has the meaning of the entry's: a number also as decimal text, an address with or without its
/// checksum.
fn is_same(shown: &Value, own: &Value) -> bool {
    match (shown, own) {
        (Value::String(text), Value::Number(number))
        | (Value::Number(number), Value::String(text)) => *text == number.to_string(),
        (Value::String(shown), Value::String(own)) => {
            let address = |text: &String| text.parse::<Address>().ok();
            shown == own || address(own).is_some_and(|own| address(shown) == Some(own))
        }
        (Value::Array(shown), Value::Array(own)) => {
            let same = || {
                shown
                    .iter()
                    .zip(own)
                    .all(|(shown, own)| is_same(shown, own))
            };
            shown.len() == own.len() && same()
        }
        (Value::Object(shown), Value::Object(own)) => differing_members(shown, own).is_empty(),
        (shown, own) => shown == own,
    }
}
