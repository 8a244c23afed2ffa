//! Actions on templates and their variations.

use std::fmt;

use kedge_protocol::action::Kind;
use kedge_protocol::json::JsonObject;
use kedge_protocol::limits::{
    OBJECT_PROPERTIES_BYTES_MAX, SCHEMA_BYTES_MAX, TEMPLATE_RULES_MAX, VARIATIONS_MAX,
};
use kedge_protocol::resource::{ActionRule, ResourceTrace, Template, Variation, Who};
use kedge_protocol::{Id, Prefix};
use serde::de::{self, Unexpected, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;

use crate::index::IndexedPaths;
use crate::json::JsonMembers;
use crate::refusal::Refusal;
use crate::resource_state::ResourceState;
use crate::rights;
use crate::rule::{RuleContext, RuleDecision};
use crate::schema::SchemaBudget;
use crate::sequencer::VersionKey;
use crate::text::{self, PayloadProblems};
use crate::world::{ActionInput, Caller, PastWorld, World};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct TemplateCreatePayload<'a> {
    name: String,
    #[serde(default)]
    description: String,
    #[serde(borrow)]
    properties: Option<&'a RawValue>,
    #[serde(borrow)]
    schema: Option<&'a RawValue>,
    #[serde(default, deserialize_with = "whole")]
    max_supply: Option<u64>,
    #[serde(borrow, default)]
    actions: Vec<JsonObject<RulePayload<'a>>>,
    #[serde(default)]
    public_access: bool,
}

/// A whole number that may exceed 2^53: a number, or a decimal text for clients without exact numbers.
fn whole<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<u64>, D::Error> {
    struct WholeNumberVisitor;

    impl Visitor<'_> for WholeNumberVisitor {
        type Value = Option<u64>;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("a whole number up to 18446744073709551615, or its decimal text")
        }

        fn visit_u64<E>(self, number: u64) -> Result<Self::Value, E> {
            Ok(Some(number))
        }

        fn visit_str<E: de::Error>(self, text: &str) -> Result<Self::Value, E> {
            let is_plain = text.bytes().all(|byte| byte.is_ascii_digit())
                && (text.len() == 1 || !text.starts_with('0'));
            let number = text.parse().ok().filter(|_| is_plain);
            number
                .map(Some)
                .ok_or_else(|| E::invalid_value(Unexpected::Str(text), &self))
        }

        fn visit_unit<E>(self) -> Result<Self::Value, E> {
            Ok(None)
        }
    }

    deserializer.deserialize_any(WholeNumberVisitor)
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RulePayload<'a> {
    kind: String,
    who: Who,
    #[serde(borrow)]
    schema: Option<&'a RawValue>,
}

/// Decides an action on a template.
pub(super) fn decide<W: World>(context: &RuleContext<'_, W>) -> Result<RuleDecision, Refusal> {
    let (world, caller, input) = context.parts();
    let name = |of: &Template| VersionKey::template_name(of.organization_id, &of.name);
    match input.kind {
        Kind::TemplateCreate => {
            let made = create(world, caller, input)?;
            let claim = name(&made);
            Ok(RuleDecision::one(made).claiming([claim]))
        }
        Kind::TemplateUpdate => {
            let before: &Template = context.base()?;
            let after = update(world, caller, before, input)?;
            let is_renamed = after.name != before.name;
            let claim = is_renamed.then(|| name(&after));
            let release = is_renamed.then(|| name(before));
            Ok(RuleDecision::one(after).claiming(claim).releasing(release))
        }
        Kind::TemplateVariations => {
            let (after, variations) = add_variations(caller, context.base()?, input)?;
            let variations = variations.into_iter().map(ResourceState::from);
            let images = std::iter::once(after.into()).chain(variations);
            Ok(RuleDecision::of(images.collect()))
        }
        other => Err(Refusal::wrong_way(other)),
    }
}

/// Creates a template in the caller's organization.
pub fn create<W: World>(
    world: &W,
    caller: &Caller,
    input: &ActionInput<'_>,
) -> Result<Template, Refusal> {
    if !rights::may_administer(caller.role) {
        return Err(Refusal::Forbidden(
            "only owners and admins of the organization may create templates".into(),
        ));
    }
    let payload: TemplateCreatePayload<'_> = text::read(input.payload)?;
    let mut problems = PayloadProblems::default();
    problems.name("/name", &payload.name);
    problems.description("/description", &payload.description);
    let properties = problems.object("/properties", payload.properties);
    if properties.len() > OBJECT_PROPERTIES_BYTES_MAX {
        return Err(Refusal::ObjectTooLarge {
            bytes: properties.len(),
        });
    }
    let schema = properties_schema(payload.schema, input, &mut problems);
    if payload.max_supply == Some(0) {
        problems.add(
            "/max_supply",
            "range",
            "must be at least 1, or absent for no bound",
        );
    }
    let actions = rules(&payload.actions, input, &mut problems);
    problems.finish()?;
    check_name_free(world, caller.organization_id, &payload.name)?;
    Ok(Template {
        id: Id::made_by(Prefix::Template, input.content, 0),
        organization_id: caller.organization_id,
        name: payload.name,
        description: payload.description,
        properties,
        schema,
        max_supply: payload.max_supply,
        actions,
        public_access: payload.public_access,
        variation_count: 0,
        trace: ResourceTrace::NEW.next(input.content),
    })
}

fn check_name_free<W: World>(world: &W, organization: Id, name: &str) -> Result<(), Refusal> {
    if world.template_name_taken(organization, name)? {
        return Err(Refusal::Conflict(
            format!("the organization already has a template named {name:?}").into(),
        ));
    }
    Ok(())
}

/// A JSON Schema as compact text. It applies to the merged properties: the template's properties and those of a
/// variation need not conform to it by themselves. Its regular expressions use up a part of `room`.
fn schema(
    pointer: &str,
    raw: Option<&RawValue>,
    room: &mut SchemaBudget,
    problems: &mut PayloadProblems,
) -> Option<String> {
    let raw = raw?;
    let text = problems.object(pointer, Some(raw));
    if text.len() > SCHEMA_BYTES_MAX {
        let message = format!("must have at most {SCHEMA_BYTES_MAX} bytes");
        problems.add(pointer, "range", message);
    } else if let Err(wrong) = crate::schema::check_within(&text, room) {
        problems.under(pointer, wrong);
    }
    Some(text)
}

/// Limits for a template's schemas. A log has none, because its schemas were accepted once.
fn room(input: &ActionInput<'_>) -> SchemaBudget {
    match input.allowance {
        Some(_) => SchemaBudget::of_a_request(),
        None => SchemaBudget::of_the_log(),
    }
}

/// The schema of the properties and its indexed places.
fn properties_schema(
    raw: Option<&RawValue>,
    input: &ActionInput<'_>,
    problems: &mut PayloadProblems,
) -> Option<String> {
    let text = schema("/schema", raw, &mut room(input), problems)?;
    if let Err(problem) = IndexedPaths::of_schema(&text) {
        let pointer = format!("/schema{}", problem.pointer);
        problems.add(&pointer, problem.code, problem.message);
    }
    Some(text)
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct TemplateUpdatePayload<'a> {
    name: Option<String>,
    description: Option<String>,
    #[serde(borrow)]
    properties: Option<&'a RawValue>,
    #[serde(borrow)]
    schema: Option<&'a RawValue>,
    #[serde(borrow)]
    actions: Option<Vec<JsonObject<RulePayload<'a>>>>,
    public_access: Option<bool>,
}

/// The places that a template's schema marks, in order.
fn indexed(template: &Template) -> Option<IndexedPaths> {
    let schema = template.schema.as_deref()?;
    let indexed = IndexedPaths::of_schema(schema).ok()?;
    (!indexed.is_empty()).then_some(indexed)
}

/// Initial properties of objects, from the payload of an action on their template; `None` if it does not state them.
pub fn beginning(kind: &Kind, payload: &str) -> Option<String> {
    #[derive(Deserialize)]
    struct InitialProperties<'a> {
        #[serde(borrow)]
        properties: Option<&'a RawValue>,
    }

    let read: Option<InitialProperties<'_>> = serde_json::from_str(payload).ok();
    let properties = read.and_then(|read| read.properties);
    match kind {
        Kind::TemplateCreate => Some(PayloadProblems::default().object("", properties)),
        Kind::TemplateUpdate => {
            properties.map(|raw| PayloadProblems::default().object("", Some(raw)))
        }
        _ => None,
    }
}

/// Changes a template that has no live objects. Burned objects still count against its supply.
pub fn update<W: World>(
    world: &W,
    caller: &Caller,
    template: &Template,
    input: &ActionInput<'_>,
) -> Result<Template, Refusal> {
    if !rights::sees_template(template, caller) {
        return Err(Refusal::not_found("template", input.target));
    }
    if !rights::is_issuer(template, caller) {
        return Err(Refusal::Forbidden(
            "only owners and admins of the template's organization may change it".into(),
        ));
    }
    let payload: TemplateUpdatePayload<'_> = text::read(input.payload)?;
    let mut problems = PayloadProblems::default();
    let mut next = Template {
        trace: template.trace.next(input.content),
        ..template.clone()
    };
    if let Some(name) = payload.name {
        problems.name("/name", &name);
        next.name = name;
    }
    if let Some(description) = payload.description {
        problems.description("/description", &description);
        next.description = description;
    }
    if payload.properties.is_some() {
        next.properties = problems.object("/properties", payload.properties);
    }
    if payload.schema.is_some() {
        next.schema = properties_schema(payload.schema, input, &mut problems);
    }
    if let Some(actions) = payload.actions {
        next.actions = rules(&actions, input, &mut problems);
    }
    next.public_access = payload.public_access.unwrap_or(next.public_access);
    problems.finish()?;
    if next.properties.len() > OBJECT_PROPERTIES_BYTES_MAX {
        return Err(Refusal::ObjectTooLarge {
            bytes: next.properties.len(),
        });
    }
    let minted = world.minted(template.id)?;
    if minted > world.burned(template.id)? {
        return Err(Refusal::State(
            "the template has live objects; make a variation of it instead".into(),
        ));
    }
    // Burned objects stay in the indexes.
    if minted > 0 && indexed(&next) != indexed(template) {
        return Err(Refusal::State(
            "objects were minted from the template: the places that its schema marks with x-index cannot change".into(),
        ));
    }
    if next.name != template.name {
        check_name_free(world, template.organization_id, &next.name)?;
    }
    Ok(next)
}

/// Repeats an action of a template's history; `before` is the template before it, `None` before its creation.
///
/// # Errors
/// The payload is not one of such an action.
pub fn again(
    before: Option<&Template>,
    caller: &Caller,
    input: &ActionInput<'_>,
) -> Result<Template, Refusal> {
    match (input.kind, before) {
        (Kind::TemplateCreate, None) => create(&PastWorld, caller, input),
        (Kind::TemplateUpdate, Some(before)) => update(&PastWorld, caller, before, input),
        (Kind::TemplateVariations, Some(before)) => {
            add_variations(caller, before, input).map(|(after, _)| after)
        }
        (other, _) => Err(Refusal::wrong_way(other)),
    }
}

fn rules(
    payload: &[JsonObject<RulePayload<'_>>],
    input: &ActionInput<'_>,
    problems: &mut PayloadProblems,
) -> Vec<ActionRule> {
    if payload.len() > TEMPLATE_RULES_MAX {
        problems.add(
            "/actions",
            "range",
            format!("must hold at most {TEMPLATE_RULES_MAX} rules"),
        );
        return Vec::new();
    }
    let mut rules: Vec<ActionRule> = Vec::with_capacity(payload.len());
    let mut room = room(input);
    for (i, JsonObject(rule)) in payload.iter().enumerate() {
        let pointer = format!("/actions/{i}/kind");
        match Kind::of_text(&rule.kind).filter(Kind::is_bus) {
            None => problems.add(
                &pointer,
                "format",
                "must be a kind of the action bus, or a custom one that begins with x.",
            ),
            Some(kind) if rules.iter().any(|rule| rule.kind == kind) => {
                problems.add(&pointer, "duplicate", "appears twice");
            }
            Some(kind) => {
                let pointer = format!("/actions/{i}/schema");
                if rule.schema.is_some() && !matches!(kind, Kind::Custom(_)) {
                    problems.add(&pointer, "unknown", "only a custom kind may have a schema");
                }
                rules.push(ActionRule {
                    kind,
                    who: rule.who,
                    schema: schema(&pointer, rule.schema, &mut room, problems),
                });
            }
        }
    }
    rules
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct VariationsPayload<'a> {
    #[serde(borrow)]
    variations: Vec<JsonObject<VariationPayload<'a>>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct VariationPayload<'a> {
    name: String,
    #[serde(borrow)]
    properties: Option<&'a RawValue>,
}

/// Creates variations of `template`, all or none. Returns the template after it, and the variations.
pub fn add_variations(
    caller: &Caller,
    template: &Template,
    input: &ActionInput<'_>,
) -> Result<(Template, Vec<Variation>), Refusal> {
    if !rights::sees_template(template, caller) {
        return Err(Refusal::not_found("template", input.target));
    }
    if !rights::is_issuer(template, caller) {
        return Err(Refusal::Forbidden(
            "only owners and admins of the template's organization may create variations".into(),
        ));
    }
    let bare = JsonMembers::of(input.payload)
        .is_some_and(|members| members.0.iter().all(|(key, _)| key != "variations"));
    let payloads = if bare {
        vec![JsonObject(text::read::<VariationPayload<'_>>(
            input.payload,
        )?)]
    } else {
        text::read::<VariationsPayload<'_>>(input.payload)?.variations
    };
    if payloads.is_empty() || payloads.len() > VARIATIONS_MAX {
        return Err(Refusal::field(
            "/variations",
            "range",
            format!("must hold 1 to {VARIATIONS_MAX} variations"),
        ));
    }
    let mut problems = PayloadProblems::default();
    let mut variations: Vec<Variation> = Vec::with_capacity(payloads.len());
    for (i, JsonObject(payload)) in payloads.into_iter().enumerate() {
        let base = if bare {
            String::new()
        } else {
            format!("/variations/{i}")
        };
        problems.name(&format!("{base}/name"), &payload.name);
        let properties = problems.object(&format!("{base}/properties"), payload.properties);
        if properties.len() > OBJECT_PROPERTIES_BYTES_MAX {
            return Err(Refusal::ObjectTooLarge {
                bytes: properties.len(),
            });
        }
        variations.push(Variation {
            id: Id::made_by(Prefix::Variation, input.content, i as u32),
            template_id: template.id,
            organization_id: template.organization_id,
            name: payload.name,
            properties,
            index: template.variation_count + i as u64,
            created_sequence: 0,
            created_at_ms: 0,
        });
    }
    problems.finish()?;
    let next = Template {
        variation_count: template.variation_count + variations.len() as u64,
        trace: template.trace.next(input.content),
        ..template.clone()
    };
    Ok((next, variations))
}
