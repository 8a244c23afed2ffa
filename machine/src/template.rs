//! What actions do to templates and their variations.

use kedge_protocol::action::Kind;
use kedge_protocol::limits::{OBJECT_PROPERTIES_BYTES_MAX, TEMPLATE_RULES_MAX, VARIATIONS_MAX};
use kedge_protocol::resource::{ActionRule, Template, Trace, Variation, Who};
use kedge_protocol::{Id, Prefix};
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::json::Members;
use crate::refusal::Refusal;
use crate::rights;
use crate::text::{self, Problems};
use crate::world::{Caller, Input, World};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct CreatePayload<'a> {
    name: String,
    #[serde(default)]
    description: String,
    #[serde(borrow)]
    properties: Option<&'a RawValue>,
    max_supply: Option<u64>,
    #[serde(default)]
    actions: Vec<RulePayload>,
    #[serde(default)]
    public_access: bool,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RulePayload {
    kind: String,
    who: Who,
}

/// Makes a template in the caller's organization.
pub fn create<W: World>(
    world: &W,
    caller: &Caller,
    input: &Input<'_>,
) -> Result<Template, Refusal> {
    if !rights::may_administer(caller.role) {
        return Err(Refusal::Forbidden(
            "templates are made by owners and admins of the organization".into(),
        ));
    }
    let payload: CreatePayload<'_> = text::read(input.payload)?;
    let mut problems = Problems::default();
    problems.name("/name", &payload.name);
    problems.description("/description", &payload.description);
    let properties = problems.object("/properties", payload.properties);
    if properties.len() > OBJECT_PROPERTIES_BYTES_MAX {
        return Err(Refusal::ObjectTooLarge {
            bytes: properties.len(),
        });
    }
    if payload.max_supply == Some(0) {
        problems.add(
            "/max_supply",
            "range",
            "must be at least 1, or absent for no bound",
        );
    }
    let actions = rules(&payload.actions, &mut problems);
    problems.finish()?;
    if world.template_name_taken(caller.organization_id, &payload.name)? {
        return Err(Refusal::Conflict(
            format!(
                "the organization has a template named {:?} already",
                payload.name
            )
            .into(),
        ));
    }
    Ok(Template {
        id: Id::made_by(Prefix::Template, input.content, 0),
        organization_id: caller.organization_id,
        name: payload.name,
        description: payload.description,
        properties,
        max_supply: payload.max_supply,
        actions,
        public_access: payload.public_access,
        variation_count: 0,
        trace: Trace::NEW.next(input.content),
    })
}

fn rules(payload: &[RulePayload], problems: &mut Problems) -> Vec<ActionRule> {
    if payload.len() > TEMPLATE_RULES_MAX {
        problems.add(
            "/actions",
            "range",
            format!("at most {TEMPLATE_RULES_MAX} rules"),
        );
        return Vec::new();
    }
    let mut rules: Vec<ActionRule> = Vec::with_capacity(payload.len());
    for (i, rule) in payload.iter().enumerate() {
        let pointer = format!("/actions/{i}/kind");
        match Kind::of_text(&rule.kind).filter(Kind::is_bus) {
            None => problems.add(
                &pointer,
                "format",
                "must be a kind of the action bus, or a custom one that begins with x.",
            ),
            Some(kind) if rules.iter().any(|rule| rule.kind == kind) => {
                problems.add(&pointer, "duplicate", "stands twice");
            }
            Some(kind) => rules.push(ActionRule {
                kind,
                who: rule.who,
            }),
        }
    }
    rules
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct VariationsPayload<'a> {
    #[serde(borrow)]
    variations: Vec<VariationPayload<'a>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct VariationPayload<'a> {
    name: String,
    #[serde(borrow)]
    properties: Option<&'a RawValue>,
}

/// Makes variations of `template`, all or none; gives the template after it, and them.
pub fn add_variations(
    caller: &Caller,
    template: &Template,
    input: &Input<'_>,
) -> Result<(Template, Vec<Variation>), Refusal> {
    if !rights::sees_template(template, caller) {
        return Err(Refusal::not_found("template", input.target));
    }
    if !rights::is_issuer(template, caller) {
        return Err(Refusal::Forbidden(
            "variations are made by owners and admins of the template's organization".into(),
        ));
    }
    let bare = Members::of(input.payload)
        .is_some_and(|members| members.0.iter().all(|(key, _)| key != "variations"));
    let payloads = if bare {
        vec![text::read::<VariationPayload<'_>>(input.payload)?]
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
    let mut problems = Problems::default();
    let mut variations: Vec<Variation> = Vec::with_capacity(payloads.len());
    for (i, payload) in payloads.into_iter().enumerate() {
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
