//! Answers that show templates and their variations.

use kedge_http::scalars::{DecimalText, HashText, RawJsonObject, ResourceIdText, TimeText};
use kedge_protocol::receipt::Receipt;
use kedge_protocol::resource::{Template, Variation, Who};
use kedge_storage::{StoreReadError, StoreSnapshot};
use schemars::JsonSchema;
use serde::Serialize;

use crate::api::state::views::StateProofView;

/// A rule of a template.
#[derive(Debug, Serialize, JsonSchema)]
pub struct RuleView {
    /// The kind of action.
    pub kind: String,
    /// Who may do it.
    pub who: Who,
    /// JSON Schema of its payload; only custom kinds have one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub schema: Option<RawJsonObject<'static>>,
}

/// A template.
#[derive(Debug, Serialize, JsonSchema)]
pub struct TemplateView {
    /// Its id.
    pub id: ResourceIdText,
    /// The organization that issues its objects.
    pub organization_id: ResourceIdText,
    /// Its name, unique in the organization.
    pub name: String,
    /// What it is for.
    pub description: String,
    /// The initial properties of its objects.
    pub properties: RawJsonObject<'static>,
    /// JSON Schema that its objects' properties must satisfy.
    pub schema: Option<RawJsonObject<'static>>,
    /// How many objects may ever be minted.
    pub max_supply: Option<DecimalText>,
    /// How many have been minted.
    pub minted_count: u64,
    /// How many of these have been burned. Answers to changes do not say it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub burned_count: Option<u64>,
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
    pub created_at: TimeText,
    /// When it was last changed.
    pub updated_at: TimeText,
    /// The proof of this state, if it was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub state_proof: Option<Box<StateProofView>>,
}

impl TemplateView {
    /// A template as it is in a snapshot.
    pub fn read(template: Template, snapshot: &StoreSnapshot) -> Result<Self, StoreReadError> {
        let minted = snapshot.minted(template.id)?;
        let burned = snapshot.burned(template.id)?;
        Ok(Self {
            burned_count: Some(burned),
            ..Self::of(template, minted)
        })
    }

    /// A template from which `minted_count` objects were minted.
    pub fn of(template: Template, minted_count: u64) -> Self {
        let rules = template.actions.into_iter().map(|rule| RuleView {
            kind: rule.kind.text().to_owned(),
            who: rule.who,
            schema: rule.schema.map(Into::into),
        });
        Self {
            id: ResourceIdText(template.id),
            organization_id: ResourceIdText(template.organization_id),
            name: template.name,
            description: template.description,
            properties: template.properties.into(),
            schema: template.schema.map(Into::into),
            max_supply: template.max_supply.map(DecimalText),
            minted_count,
            burned_count: None,
            actions: rules.collect(),
            public_access: template.public_access,
            variation_count: template.variation_count,
            version: template.trace.version,
            integrity_hash: HashText(template.trace.integrity),
            sequence: template.trace.sequence,
            created_at: TimeText(template.trace.created_at_ms),
            updated_at: TimeText(template.trace.updated_at_ms),
            state_proof: None,
        }
    }
}

/// A variation of a template.
#[derive(Debug, Serialize, JsonSchema)]
pub struct VariationView {
    /// Its id.
    pub id: ResourceIdText,
    /// Its template.
    pub template_id: ResourceIdText,
    /// The template's organization.
    pub organization_id: ResourceIdText,
    /// Its name.
    pub name: String,
    /// Merged over the template's properties.
    pub properties: RawJsonObject<'static>,
    /// Its number among the template's variations, from 0.
    pub index: u64,
    /// When it was created.
    pub created_at: TimeText,
}

impl From<Variation> for VariationView {
    fn from(variation: Variation) -> Self {
        Self {
            id: ResourceIdText(variation.id),
            template_id: ResourceIdText(variation.template_id),
            organization_id: ResourceIdText(variation.organization_id),
            name: variation.name,
            properties: variation.properties.into(),
            index: variation.index,
            created_at: TimeText(variation.created_at_ms),
        }
    }
}

/// Newly made variations, and their template after that.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "VariationsMade")]
pub struct VariationsView {
    /// The new variations, in request order.
    pub items: Vec<VariationView>,
    /// The template afterwards.
    pub template: TemplateView,
    /// The action that did so.
    pub action_id: ResourceIdText,
    /// Proof that the log holds the action.
    pub receipt: Receipt,
}
