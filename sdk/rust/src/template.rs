//! Templates: what objects are made from.

use kedge_protocol::resource::Who;
use kedge_protocol::{Hash, Id};
use serde::{Deserialize, Serialize};
use serde_json::Map;

use crate::types::Properties;

/// A rule of a template: who may do a kind of action.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct ActionRule {
    /// A kind of the action bus, or one of the template's own, which begins with `x.`.
    pub kind: String,
    /// Who may do it.
    pub who: Who,
    /// JSON Schema of the payload; only for the template's own kinds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub schema: Option<Properties>,
}

/// A template to be created.
#[derive(Clone, PartialEq, Debug, Default, Serialize)]
pub struct NewTemplate {
    /// Unique in the organization.
    pub name: String,
    /// What it is for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// The initial properties of its objects.
    #[serde(skip_serializing_if = "Map::is_empty")]
    pub properties: Properties,
    /// JSON Schema 2020-12 that its objects' properties must fulfil.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub schema: Option<Properties>,
    /// The most objects there may be.
    #[serde(skip_serializing_if = "Option::is_none", with = "decimal")]
    pub max_supply: Option<u64>,
    /// Who may do what, where it differs from the default.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub actions: Vec<ActionRule>,
    /// Whether every organization may read it.
    pub public_access: bool,
}

/// A change of a template that has no live objects; `None` keeps the current value.
#[derive(Clone, PartialEq, Debug, Default, Serialize)]
pub struct TemplateChange {
    /// Unique in the organization.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// What it is for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// The initial properties of its objects.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub properties: Option<Properties>,
    /// JSON Schema 2020-12 that its objects' properties must fulfil.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub schema: Option<Properties>,
    /// Who may do what, where it differs from the default.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub actions: Option<Vec<ActionRule>>,
    /// Whether every organization may read it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub public_access: Option<bool>,
}

/// A template.
#[derive(Clone, PartialEq, Debug, Deserialize)]
pub struct Template {
    /// Its identifier.
    pub id: Id,
    /// The organization that issues its objects.
    pub organization_id: Id,
    /// Unique in the organization.
    pub name: String,
    /// What it is for.
    pub description: String,
    /// The initial properties of its objects.
    pub properties: Properties,
    /// JSON Schema 2020-12 that its objects' properties must fulfil.
    #[serde(default)]
    pub schema: Option<Properties>,
    /// The most objects there may be; `None` for no limit.
    #[serde(default, with = "decimal")]
    pub max_supply: Option<u64>,
    /// How many were minted.
    pub minted_count: u64,
    /// Who may do what, where it differs from the default.
    pub actions: Vec<ActionRule>,
    /// Whether every organization may read it.
    pub public_access: bool,
    /// How many variations it has.
    pub variation_count: u64,
    /// How many actions it is the result of.
    pub version: u64,
    /// The hash over those actions.
    pub integrity_hash: Hash,
    /// The last action's sequence.
    pub sequence: u64,
    /// RFC 3339.
    pub created_at: String,
    /// RFC 3339.
    pub updated_at: String,
}

/// Numbers that can exceed 2^53 are sent as decimal texts.
mod decimal {
    use serde::de::Error as _;
    use serde::{Deserialize, Deserializer, Serializer};

    #[expect(clippy::ref_option, reason = "the shape that serde wants")]
    pub(super) fn serialize<S: Serializer>(
        number: &Option<u64>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        match number {
            Some(number) => serializer.collect_str(number),
            None => serializer.serialize_none(),
        }
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Option<u64>, D::Error> {
        let text = Option::<String>::deserialize(deserializer)?;
        text.map(|text| text.parse().map_err(D::Error::custom))
            .transpose()
    }
}
