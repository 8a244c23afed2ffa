//! Bodies for templates and variations.

#![expect(
    dead_code,
    reason = "the rules read bodies from the signed text; these types describe them"
)]

use kedge_http::scalars::{NameInput, WholeInput};
use kedge_protocol::limits::{DESCRIPTION_CHARS_MAX, TEMPLATE_RULES_MAX, VARIATIONS_MAX};
use kedge_protocol::resource::Who;
use schemars::JsonSchema;

use crate::api::bus::bodies::BusKind;
use crate::api::objects::bodies::PropertiesBody;

/// A template with its properties and rules.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct TemplateBody {
    /// Unique in the organization.
    name: NameInput,
    /// What it is for.
    #[schemars(default, length(max = DESCRIPTION_CHARS_MAX))]
    description: String,
    /// The initial properties of its objects.
    properties: Option<PropertiesBody>,
    /// JSON Schema 2020-12 that its objects' properties must satisfy: at most 64 KiB, `$ref` only within itself and
    /// without cycles, patterns without look-around. `format` is an annotation and checks nothing.
    schema: Option<PropertiesBody>,
    /// How many objects may ever be minted; no limit if absent. A number, or a decimal text as in answers.
    max_supply: Option<WholeInput>,
    /// Who may do what, if the default does not fit; each kind at most once.
    #[schemars(default, length(max = TEMPLATE_RULES_MAX))]
    actions: Vec<RuleBody>,
    /// Every organization can read it and its objects.
    #[schemars(default)]
    public_access: bool,
}

/// The changes to a template; the members are those of a new one, each replaced as a whole.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct TemplatePatch {
    /// Unique in the organization.
    name: Option<NameInput>,
    /// What it is for.
    #[schemars(length(max = DESCRIPTION_CHARS_MAX))]
    description: Option<String>,
    /// The initial properties of its objects.
    properties: Option<PropertiesBody>,
    /// JSON Schema 2020-12 that its objects' properties must satisfy.
    schema: Option<PropertiesBody>,
    /// Who may do what; each kind at most once.
    #[schemars(length(max = TEMPLATE_RULES_MAX))]
    actions: Option<Vec<RuleBody>>,
    /// Every organization can read it and its objects.
    public_access: Option<bool>,
}

/// Who may do a kind of action.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields)]
struct RuleBody {
    /// A kind of the action bus, or one of the template's own that begins with `x.`.
    kind: BusKind,
    /// Who may do it.
    who: Who,
    /// JSON Schema of its payload; only for custom kinds.
    schema: Option<PropertiesBody>,
}

/// Variations; a single variation without a list is accepted too.
#[derive(JsonSchema)]
#[schemars(untagged)]
pub enum VariationsBody {
    Many(ManyVariations),
    One(VariationBody),
}

#[derive(JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct ManyVariations {
    #[schemars(length(min = 1, max = VARIATIONS_MAX))]
    variations: Vec<VariationBody>,
}

#[derive(JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct VariationBody {
    /// Its name.
    name: NameInput,
    /// Merged over the template's properties.
    properties: Option<PropertiesBody>,
}
