//! Answers that show templates and their variations.

use kedge_http::scalars::{Decimal, HashText, IdText, RawObject, Time};
use kedge_protocol::receipt::Receipt;
use kedge_protocol::resource::{Template, Variation, Who};
use schemars::JsonSchema;
use serde::Serialize;

/// A rule of a template.
#[derive(Debug, Serialize, JsonSchema)]
pub struct RuleView {
    /// The kind of action.
    pub kind: String,
    /// Who may do it.
    pub who: Who,
    /// JSON Schema of its payload; only custom kinds have one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub schema: Option<RawObject<'static>>,
}

/// A template.
#[derive(Debug, Serialize, JsonSchema)]
pub struct TemplateView {
    /// Its id.
    pub id: IdText,
    /// The organization that issues its objects.
    pub organization_id: IdText,
    /// Its name, unique in the organization.
    pub name: String,
    /// What it is for.
    pub description: String,
    /// The initial properties of its objects.
    pub properties: RawObject<'static>,
    /// JSON Schema that its objects' properties must satisfy.
    pub schema: Option<RawObject<'static>>,
    /// How many objects may ever be minted.
    pub max_supply: Option<Decimal>,
    /// How many have been minted.
    pub minted_count: u64,
    /// Who may do what, if the default does not fit.
    pub actions: Vec<RuleView>,
    /// Every organization can read it and its objects.
    pub public_access: bool,
    /// How many variations it has.
    pub variation_count: u64,
    /// How many actions have created and changed it.
    pub version: u64,
    /// The hash over those actions.
    pub integrity_hash: HashText,
    /// The last one's sequence.
    pub sequence: u64,
    /// When it was created.
    pub created_at: Time,
    /// When it was last changed.
    pub updated_at: Time,
}

impl TemplateView {
    /// A template from which `minted_count` objects were minted.
    pub fn of(template: Template, minted_count: u64) -> Self {
        let rules = template.actions.into_iter().map(|rule| RuleView {
            kind: rule.kind.text().to_owned(),
            who: rule.who,
            schema: rule.schema.map(Into::into),
        });
        Self {
            id: IdText(template.id),
            organization_id: IdText(template.organization_id),
            name: template.name,
            description: template.description,
            properties: template.properties.into(),
            schema: template.schema.map(Into::into),
            max_supply: template.max_supply.map(Decimal),
            minted_count,
            actions: rules.collect(),
            public_access: template.public_access,
            variation_count: template.variation_count,
            version: template.trace.version,
            integrity_hash: HashText(template.trace.integrity),
            sequence: template.trace.sequence,
            created_at: Time(template.trace.created_at_ms),
            updated_at: Time(template.trace.updated_at_ms),
        }
    }
}

/// A variation of a template.
#[derive(Debug, Serialize, JsonSchema)]
pub struct VariationView {
    /// Its id.
    pub id: IdText,
    /// Its template.
    pub template_id: IdText,
    /// The template's organization.
    pub organization_id: IdText,
    /// Its name.
    pub name: String,
    /// Merged over the template's properties.
    pub properties: RawObject<'static>,
    /// Its number among the template's variations, from 0.
    pub index: u64,
    /// When it was created.
    pub created_at: Time,
}

impl From<Variation> for VariationView {
    fn from(variation: Variation) -> Self {
        Self {
            id: IdText(variation.id),
            template_id: IdText(variation.template_id),
            organization_id: IdText(variation.organization_id),
            name: variation.name,
            properties: variation.properties.into(),
            index: variation.index,
            created_at: Time(variation.created_at_ms),
        }
    }
}

/// Newly made variations, and their template after that.
#[derive(Debug, Serialize, JsonSchema)]
pub struct VariationsMade {
    /// The new variations, in request order.
    pub items: Vec<VariationView>,
    /// The template afterwards.
    pub template: TemplateView,
    /// The action that did so.
    pub action_id: IdText,
    /// Proof that the log holds the action.
    pub receipt: Receipt,
}
