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
    /// JSON Schema of the payload; for the template's own kinds alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub schema: Option<Properties>,
}

/// A template to be made.
#[derive(Clone, PartialEq, Debug, Default, Serialize)]
pub struct NewTemplate {
    /// Unique in the organization.
    pub name: String,
    /// What it is for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// What its objects begin with.
    #[serde(skip_serializing_if = "Map::is_empty")]
    pub properties: Properties,
    /// JSON Schema 2020-12 that its objects' properties fulfil.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub schema: Option<Properties>,
    /// How many objects there may be.
    #[serde(skip_serializing_if = "Option::is_none", with = "decimal")]
    pub max_supply: Option<u64>,
    /// Who may do what, where the default does not fit.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub actions: Vec<ActionRule>,
    /// Readable by every organization.
    pub public_access: bool,
}

/// What changes of a template that has no live objects; what is `None` stays.
#[derive(Clone, PartialEq, Debug, Default, Serialize)]
pub struct TemplateChange {
    /// Unique in the organization.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// What it is for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// What its objects begin with.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub properties: Option<Properties>,
    /// JSON Schema 2020-12 that its objects' properties fulfil.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub schema: Option<Properties>,
    /// Who may do what, where the default does not fit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub actions: Option<Vec<ActionRule>>,
    /// Readable by every organization.
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
    /// What its objects begin with.
    pub properties: Properties,
    /// JSON Schema 2020-12 that its objects' properties fulfil.
    #[serde(default)]
    pub schema: Option<Properties>,
    /// How many objects there may be; `None` for any number.
    #[serde(default, with = "decimal")]
    pub max_supply: Option<u64>,
    /// How many were minted.
    pub minted_count: u64,
    /// Who may do what, where the default does not fit.
    pub actions: Vec<ActionRule>,
    /// Readable by every organization.
    pub public_access: bool,
    /// How many variations it has.
    pub variation_count: u64,
    /// How many actions made it what it is.
    pub version: u64,
    /// The hash over them.
    pub integrity_hash: Hash,
    /// The last one's sequence.
    pub sequence: u64,
    /// RFC 3339.
    pub created_at: String,
    /// RFC 3339.
    pub updated_at: String,
}

/// Numbers that can pass 2^53 travel as decimal texts.
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
