//! Actions on webhooks. Signing secrets are made elsewhere: the log never holds one.

use kedge_protocol::action::Kind;
use kedge_protocol::event::EventType;
use kedge_protocol::limits::{URL_BYTES_MAX, WEBHOOK_EVENTS_MAX, WEBHOOKS_MAX};
use kedge_protocol::resource::{ResourceTrace, Webhook};
use kedge_protocol::{Id, Prefix};
use serde::Deserialize;

use super::api_key::overlap_s;
use crate::refusal::Refusal;
use crate::rights::may_administer;
use crate::rule::{RuleContext, RuleDecision};
use crate::text::{self, PayloadProblems};
use crate::world::{ActionInput, Caller, CountedResource, World};

/// Decides an action on a webhook.
pub(super) fn decide<W: World>(context: &RuleContext<'_, W>) -> Result<RuleDecision, Refusal> {
    let (_, caller, input) = context.parts();
    let webhook = match input.kind {
        Kind::WebhookCreate => {
            let made = create(caller, input)?;
            return context.one_more(made, CountedResource::Webhooks, WEBHOOKS_MAX, "webhooks");
        }
        Kind::WebhookUpdate => update(caller, context.base()?, input)?,
        Kind::WebhookRotate => rotate(caller, context.base()?, input)?,
        Kind::WebhookDelete => delete(caller, context.base()?, input)?,
        Kind::SystemWebhookOff => switch_off(context.base()?, input)?,
        other => return Err(Refusal::wrong_way(other)),
    };
    Ok(RuleDecision::one(webhook))
}

fn administers(caller: &Caller) -> Result<(), Refusal> {
    if may_administer(caller.role) {
        return Ok(());
    }
    Err(Refusal::Forbidden(
        "only owners and admins of the organization may manage webhooks".into(),
    ))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WebhookCreatePayload {
    url: String,
    events: Vec<String>,
    #[serde(default = "yes")]
    active: bool,
    #[serde(default)]
    description: String,
}

fn yes() -> bool {
    true
}

fn check_url(url: &str, problems: &mut PayloadProblems) {
    let rest = url
        .strip_prefix("https://")
        .or_else(|| url.strip_prefix("http://"));
    let authority = rest.and_then(|rest| rest.split(['/', '?']).next());
    let plain = url.bytes().all(|byte| byte.is_ascii_graphic()) && !url.contains('#');
    if url.len() > URL_BYTES_MAX {
        let message = format!("must have at most {URL_BYTES_MAX} bytes");
        problems.add("/url", "range", message);
    } else if !plain || authority.is_none_or(|host| host.is_empty() || host.contains('@')) {
        problems.add(
            "/url",
            "format",
            "must be an http or https URL with a host, without credentials or a fragment",
        );
    }
}

fn check_events(events: &[String], problems: &mut PayloadProblems) {
    if events.is_empty() || events.len() > WEBHOOK_EVENTS_MAX {
        let message = format!("must name 1 to {WEBHOOK_EVENTS_MAX} types, or \"*\" for all");
        problems.add("/events", "range", message);
    }
    for (i, event) in events.iter().enumerate() {
        let pointer = format!("/events/{i}");
        if event != "*" && EventType::of_text(event).is_none() {
            let known: Vec<&str> = EventType::ALL.iter().map(|known| known.text()).collect();
            let message = format!("must be one of {}, or *", known.join(", "));
            problems.add(&pointer, "format", message);
        } else if events[..i].contains(event) {
            problems.add(&pointer, "duplicate", "appears twice");
        }
    }
}

/// Creates a webhook of the caller's organization.
fn create(caller: &Caller, input: &ActionInput<'_>) -> Result<Webhook, Refusal> {
    administers(caller)?;
    let payload: WebhookCreatePayload = text::read(input.payload)?;
    let mut problems = PayloadProblems::default();
    check_url(&payload.url, &mut problems);
    check_events(&payload.events, &mut problems);
    problems.description("/description", &payload.description);
    problems.finish()?;
    Ok(Webhook {
        id: Id::made_by(Prefix::Webhook, input.content, 0),
        organization_id: caller.organization_id,
        url: payload.url,
        events: payload.events,
        active: payload.active,
        description: payload.description,
        rotations: 0,
        overlap_s: 0,
        deleted: false,
        trace: ResourceTrace::NEW.next(input.content),
    })
}

/// Checks that the webhook belongs to the caller's organization and is live.
fn live(caller: &Caller, webhook: &Webhook, input: &ActionInput<'_>) -> Result<(), Refusal> {
    if webhook.organization_id != caller.organization_id || webhook.deleted {
        return Err(Refusal::not_found("webhook", input.target));
    }
    administers(caller)
}

fn next(webhook: &Webhook, input: &ActionInput<'_>) -> Webhook {
    Webhook {
        trace: webhook.trace.next(input.content),
        ..webhook.clone()
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WebhookUpdatePayload {
    url: Option<String>,
    events: Option<Vec<String>>,
    active: Option<bool>,
    description: Option<String>,
}

/// Whether an action on a webhook switched it on or off; `None` if it changed neither. `payload` is the action's text.
pub fn switches(kind: &Kind, payload: &str) -> Option<bool> {
    #[derive(Deserialize)]
    struct WebhookSwitch {
        active: Option<bool>,
    }
    let stated = || serde_json::from_str::<WebhookSwitch>(payload).ok()?.active;
    match kind {
        Kind::WebhookCreate => Some(stated().unwrap_or_else(yes)),
        Kind::WebhookUpdate => stated(),
        Kind::WebhookDelete | Kind::SystemWebhookOff => Some(false),
        _ => None,
    }
}

/// Changes the given members.
fn update(caller: &Caller, webhook: &Webhook, input: &ActionInput<'_>) -> Result<Webhook, Refusal> {
    live(caller, webhook, input)?;
    let payload: WebhookUpdatePayload = text::read(input.payload)?;
    let mut problems = PayloadProblems::default();
    let mut next = next(webhook, input);
    if let Some(url) = payload.url {
        check_url(&url, &mut problems);
        next.url = url;
    }
    if let Some(events) = payload.events {
        check_events(&events, &mut problems);
        next.events = events;
    }
    if let Some(description) = payload.description {
        problems.description("/description", &description);
        next.description = description;
    }
    problems.finish()?;
    next.active = payload.active.unwrap_or(next.active);
    Ok(next)
}

/// Counts a rotation of the webhook's signing secret.
fn rotate(caller: &Caller, webhook: &Webhook, input: &ActionInput<'_>) -> Result<Webhook, Refusal> {
    live(caller, webhook, input)?;
    Ok(Webhook {
        rotations: webhook.rotations + 1,
        overlap_s: overlap_s(input.payload)?,
        ..next(webhook, input)
    })
}

fn delete(caller: &Caller, webhook: &Webhook, input: &ActionInput<'_>) -> Result<Webhook, Refusal> {
    live(caller, webhook, input)?;
    text::empty(input.payload)?;
    Ok(Webhook {
        active: false,
        deleted: true,
        ..next(webhook, input)
    })
}

/// Switches the webhook off: the operator's server requests this when the receiver reports that it is gone.
fn switch_off(webhook: &Webhook, input: &ActionInput<'_>) -> Result<Webhook, Refusal> {
    #[derive(Deserialize)]
    #[serde(deny_unknown_fields)]
    struct DeactivationPayload {
        #[serde(rename = "reason")]
        _reason: String,
    }

    if webhook.deleted || !webhook.active {
        return Err(Refusal::State("the webhook is not active".into()));
    }
    let _: DeactivationPayload = text::read(input.payload)?;
    Ok(Webhook {
        active: false,
        ..next(webhook, input)
    })
}
