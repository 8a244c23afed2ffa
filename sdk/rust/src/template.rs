//! Templates, from which objects are minted.

use kedge_protocol::resource::Who;
use kedge_protocol::{Hash, Id};
use serde::{Deserialize, Serialize};
use serde_json::Map;

use crate::types::Properties;

/// A rule of a template: the right to do one kind of action.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct TemplateActionRule {
    /// A kind of the action bus, or a custom kind of the template, which begins with `x.`.
    pub kind: String,
    /// The wallets that may do it.
    pub who: Who,
    /// JSON Schema of the payload; only for custom kinds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub schema: Option<Properties>,
}

/// A new template.
#[derive(Clone, PartialEq, Debug, Default, Serialize)]
pub struct NewTemplate {
    /// Unique in the organization.
    pub name: String,
    /// Purpose of the template.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Initial properties of the objects.
    #[serde(skip_serializing_if = "Map::is_empty")]
    pub properties: Properties,
    /// JSON Schema 2020-12 of the objects' properties.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub schema: Option<Properties>,
    /// Limit on the number of objects.
    #[serde(skip_serializing_if = "Option::is_none", with = "decimal")]
    pub max_supply: Option<u64>,
    /// Rules that differ from the defaults.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub actions: Vec<TemplateActionRule>,
    /// Whether all organizations may read the template.
    pub public_access: bool,
}

/// A change of a template without live objects; `None` keeps the current value.
#[derive(Clone, PartialEq, Debug, Default, Serialize)]
pub struct TemplateChange {
    /// Unique in the organization.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Purpose of the template.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Initial properties of the objects.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub properties: Option<Properties>,
    /// JSON Schema 2020-12 of the objects' properties.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub schema: Option<Properties>,
    /// Rules that differ from the defaults.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub actions: Option<Vec<TemplateActionRule>>,
    /// Whether all organizations may read the template.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub public_access: Option<bool>,
}

/// A template.
#[derive(Clone, PartialEq, Debug, Deserialize)]
pub struct TemplateResource {
    /// Its identifier.
    pub id: Id,
    /// The issuing organization.
    pub organization_id: Id,
    /// Unique in the organization.
    pub name: String,
    /// Purpose of the template.
    pub description: String,
    /// Initial properties of the objects.
    pub properties: Properties,
    /// JSON Schema 2020-12 of the objects' properties.
    #[serde(default)]
    pub schema: Option<Properties>,
    /// Limit on the number of objects; `None` for no limit.
    #[serde(default, with = "decimal")]
    pub max_supply: Option<u64>,
    /// Number of objects minted so far.
    pub minted_count: u64,
    /// Number of these that are burned; `None` in answers to changes.
    #[serde(default)]
    pub burned_count: Option<u64>,
    /// Rules that differ from the defaults.
    pub actions: Vec<TemplateActionRule>,
    /// Whether all organizations may read the template.
    pub public_access: bool,
    /// Number of variations.
    pub variation_count: u64,
    /// Number of actions on the template.
    pub version: u64,
    /// Hash over these actions.
    pub integrity_hash: Hash,
    /// Sequence of the last action.
    pub sequence: u64,
    /// Creation time, RFC 3339.
    pub created_at: String,
    /// Time of the last change, RFC 3339.
    pub updated_at: String,
}

/// Serializes numbers as decimal texts, because they can exceed 2^53.
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
