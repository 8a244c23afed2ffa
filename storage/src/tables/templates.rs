//! Templates and their variations.

use bincode::{BorrowDecode, Encode};
use kedge_protocol::Prefix;
use kedge_protocol::action::Kind;
use kedge_protocol::resource::{ActionRule, Template, Variation, Who};

use super::id;
use super::objects::TraceRow;
use crate::codec::CodecError;

#[derive(Encode, BorrowDecode)]
struct RuleRow<'a> {
    kind: &'a str,
    who: u8,
    schema: Option<&'a str>,
}

impl<'a> From<&'a ActionRule> for RuleRow<'a> {
    fn from(rule: &'a ActionRule) -> Self {
        Self {
            kind: rule.kind.text(),
            who: match rule.who {
                Who::Owner => 1,
                Who::Issuer => 2,
                Who::Anyone => 3,
            },
            schema: rule.schema.as_deref(),
        }
    }
}

impl TryFrom<RuleRow<'_>> for ActionRule {
    type Error = CodecError;

    fn try_from(row: RuleRow<'_>) -> Result<Self, CodecError> {
        Ok(Self {
            kind: Kind::of_text(row.kind)
                .ok_or_else(|| CodecError::bytes("a rule does not name a kind of action"))?,
            who: match row.who {
                1 => Who::Owner,
                2 => Who::Issuer,
                3 => Who::Anyone,
                other => return Err(CodecError::Number(other, "party of a rule")),
            },
            schema: row.schema.map(str::to_owned),
        })
    }
}

/// [`Template`] as stored, under its id.
#[derive(Encode, BorrowDecode)]
pub(crate) struct TemplateRow<'a> {
    organization_id: [u8; 16],
    name: &'a str,
    description: &'a str,
    properties: &'a str,
    schema: Option<&'a str>,
    max_supply: Option<u64>,
    actions: Vec<RuleRow<'a>>,
    public_access: bool,
    variation_count: u64,
    trace: TraceRow,
}

impl<'a> From<&'a Template> for TemplateRow<'a> {
    fn from(template: &'a Template) -> Self {
        Self {
            organization_id: template.organization_id.bytes,
            name: &template.name,
            description: &template.description,
            properties: &template.properties,
            schema: template.schema.as_deref(),
            max_supply: template.max_supply,
            actions: template.actions.iter().map(RuleRow::from).collect(),
            public_access: template.public_access,
            variation_count: template.variation_count,
            trace: TraceRow::from(&template.trace),
        }
    }
}

impl TemplateRow<'_> {
    pub(crate) fn into_template(self, key: [u8; 16]) -> Result<Template, CodecError> {
        Ok(Template {
            id: id(Prefix::Template, key),
            organization_id: id(Prefix::Organization, self.organization_id),
            name: self.name.to_owned(),
            description: self.description.to_owned(),
            properties: self.properties.to_owned(),
            schema: self.schema.map(str::to_owned),
            max_supply: self.max_supply,
            actions: self
                .actions
                .into_iter()
                .map(ActionRule::try_from)
                .collect::<Result<_, _>>()?,
            public_access: self.public_access,
            variation_count: self.variation_count,
            trace: self.trace.into(),
        })
    }
}

/// [`Variation`] as stored, under its id.
#[derive(Encode, BorrowDecode)]
pub(crate) struct VariationRow<'a> {
    template_id: [u8; 16],
    organization_id: [u8; 16],
    name: &'a str,
    properties: &'a str,
    index: u64,
    created_sequence: u64,
    created_at_ms: u64,
}

impl<'a> From<&'a Variation> for VariationRow<'a> {
    fn from(variation: &'a Variation) -> Self {
        Self {
            template_id: variation.template_id.bytes,
            organization_id: variation.organization_id.bytes,
            name: &variation.name,
            properties: &variation.properties,
            index: variation.index,
            created_sequence: variation.created_sequence,
            created_at_ms: variation.created_at_ms,
        }
    }
}

impl VariationRow<'_> {
    pub(crate) fn into_variation(self, key: [u8; 16]) -> Variation {
        Variation {
            id: id(Prefix::Variation, key),
            template_id: id(Prefix::Template, self.template_id),
            organization_id: id(Prefix::Organization, self.organization_id),
            name: self.name.to_owned(),
            properties: self.properties.to_owned(),
            index: self.index,
            created_sequence: self.created_sequence,
            created_at_ms: self.created_at_ms,
        }
    }
}
