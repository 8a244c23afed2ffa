//! The comparison of a proven entry with a replayed one, by field and text.

use kedge_protocol::state::{StateEntry, StateTexts};
use serde::Serialize;
use serde_json::{Map, Value};

use super::replayed_resource::ReplayedResource;

/// A field or text that the replay gives otherwise than the proof.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct FieldDifference {
    /// Such as `status` or `texts.properties`.
    pub name: String,
    /// The proof's value.
    pub proven: Value,
    /// The value that the history gives.
    pub replayed: Value,
}

/// What was compared, and what differs.
#[derive(Clone, PartialEq, Default, Debug)]
pub struct HistoryComparison {
    /// The fields that both have.
    pub fields: Vec<String>,
    /// The texts that both have.
    pub texts: Vec<String>,
    /// What differs, in the order of the names.
    pub differences: Vec<FieldDifference>,
}

impl HistoryComparison {
    /// Compares a proven entry and its texts with the replayed ones. A text that the proof lacks is compared by its hash
    /// in the entry alone.
    pub fn of(entry: &StateEntry, texts: &StateTexts, replayed: &ReplayedResource) -> Self {
        let mut compared = Self::default();
        let (proven, own) = (members(entry), members(&replayed.entry));
        for name in names(&proven, &own) {
            if replayed.unshown.iter().any(|field| field.name == name) {
                continue;
            }
            compared.compare(name, &proven, &own, "");
            compared.fields.push(name.clone());
        }
        let (proven, own) = (members(texts), members(&replayed.texts));
        for name in proven.keys() {
            compared.compare(name, &proven, &own, "texts.");
            compared.texts.push(name.clone());
        }
        compared
    }

    fn compare(
        &mut self,
        name: &String,
        proven: &Map<String, Value>,
        own: &Map<String, Value>,
        under: &str,
    ) {
        let value = |of: &Map<String, Value>| of.get(name).cloned().unwrap_or(Value::Null);
        let (proven, replayed) = (value(proven), value(own));
        if proven != replayed {
            self.differences.push(FieldDifference {
                name: format!("{under}{name}"),
                proven,
                replayed,
            });
        }
    }
}

/// The members of a struct.
fn members(of: &impl Serialize) -> Map<String, Value> {
    match serde_json::to_value(of) {
        Ok(Value::Object(members)) => members,
        // Entries and texts are structs of texts and numbers, which have no other form.
        Ok(_) | Err(_) => Map::new(),
    }
}

/// The names that either has, each once: those of the first one, then the rest.
fn names<'a>(first: &'a Map<String, Value>, second: &'a Map<String, Value>) -> Vec<&'a String> {
    let rest = second.keys().filter(|name| !first.contains_key(*name));
    first.keys().chain(rest).collect()
}
