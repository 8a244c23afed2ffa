//! Actions on API keys. Secrets are made elsewhere: the log never holds one.

use kedge_protocol::action::Kind;
use kedge_protocol::limits::{
    KEY_PERMISSIONS_MAX, KEYS_MAX, ROTATION_OVERLAP_S_DEFAULT, ROTATION_OVERLAP_S_MAX,
};
use kedge_protocol::resource::{ApiKey, Permission, ResourceTrace};
use kedge_protocol::time::parse_rfc3339;
use kedge_protocol::{Id, Prefix};
use serde::Deserialize;

use crate::refusal::Refusal;
use crate::rights::may_administer;
use crate::rule::{RuleContext, RuleDecision};
use crate::text::{self, PayloadProblems};
use crate::world::{ActionInput, Caller, CountedResource, World};

/// Decides an action on an API key.
pub(super) fn decide<W: World>(context: &RuleContext<'_, W>) -> Result<RuleDecision, Refusal> {
    let (_, caller, input) = context.parts();
    let key = match input.kind {
        Kind::KeyCreate => {
            let made = create(caller, input)?;
            return context.one_more(made, CountedResource::ApiKeys, KEYS_MAX, "API keys");
        }
        Kind::KeyRotate => rotate(caller, context.base()?, input)?,
        Kind::KeyDelete => delete(caller, context.base()?, input)?,
        other => return Err(Refusal::wrong_way(other)),
    };
    Ok(RuleDecision::one(key))
}

fn administers(caller: &Caller) -> Result<(), Refusal> {
    if may_administer(caller.role) {
        return Ok(());
    }
    Err(Refusal::Forbidden(
        "only owners and admins of the organization may manage API keys".into(),
    ))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ApiKeyPayload {
    name: String,
    #[serde(deserialize_with = "kedge_protocol::json::objects")]
    permissions: Vec<Permission>,
    expires_at: Option<String>,
}

/// Creates a key of the caller's organization.
fn create(caller: &Caller, input: &ActionInput<'_>) -> Result<ApiKey, Refusal> {
    administers(caller)?;
    let payload: ApiKeyPayload = text::read(input.payload)?;
    let mut problems = PayloadProblems::default();
    problems.name("/name", &payload.name);
    let permissions = payload.permissions;
    if permissions.is_empty() || permissions.len() > KEY_PERMISSIONS_MAX {
        let message = format!("must hold 1 to {KEY_PERMISSIONS_MAX} permissions");
        problems.add("/permissions", "range", message);
    }
    for (i, permission) in permissions.iter().enumerate() {
        let earlier = permissions[..i].iter();
        if earlier
            .clone()
            .any(|other| other.resource == permission.resource)
        {
            let pointer = format!("/permissions/{i}/resource");
            problems.add(&pointer, "duplicate", "appears twice");
        }
    }
    let expires_at_ms = match payload.expires_at.as_deref() {
        None => None,
        Some(time) => {
            let time = parse_rfc3339(time);
            if time.is_none() {
                problems.add("/expires_at", "format", "must be an RFC 3339 UTC time");
            }
            time
        }
    };
    problems.finish()?;
    Ok(ApiKey {
        id: Id::made_by(Prefix::Key, input.content, 0),
        organization_id: caller.organization_id,
        wallet_id: caller.wallet_id,
        name: payload.name,
        permissions,
        expires_at_ms,
        rotations: 0,
        overlap_s: 0,
        deleted: false,
        trace: ResourceTrace::NEW.next(input.content),
    })
}

/// Checks that the key belongs to the caller's organization and is live.
fn live(caller: &Caller, key: &ApiKey, input: &ActionInput<'_>) -> Result<(), Refusal> {
    if key.organization_id != caller.organization_id || key.deleted {
        return Err(Refusal::not_found("api_key", input.target));
    }
    administers(caller)
}

/// Seconds for which the previous secret stays valid after a rotation, from its payload.
pub(crate) fn overlap_s(payload: &str) -> Result<u64, Refusal> {
    #[derive(Deserialize)]
    #[serde(deny_unknown_fields)]
    struct RotatePayload {
        overlap_s: Option<u64>,
    }

    if payload.is_empty() {
        return Ok(ROTATION_OVERLAP_S_DEFAULT);
    }
    let payload: RotatePayload = text::read(payload)?;
    let overlap_s = payload.overlap_s.unwrap_or(ROTATION_OVERLAP_S_DEFAULT);
    if overlap_s > ROTATION_OVERLAP_S_MAX {
        let message = format!("must be at most {ROTATION_OVERLAP_S_MAX} seconds");
        return Err(Refusal::field("/overlap_s", "range", message));
    }
    Ok(overlap_s)
}

/// Counts a rotation of the key's secret.
fn rotate(caller: &Caller, key: &ApiKey, input: &ActionInput<'_>) -> Result<ApiKey, Refusal> {
    live(caller, key, input)?;
    Ok(ApiKey {
        rotations: key.rotations + 1,
        overlap_s: overlap_s(input.payload)?,
        trace: key.trace.next(input.content),
        ..key.clone()
    })
}

fn delete(caller: &Caller, key: &ApiKey, input: &ActionInput<'_>) -> Result<ApiKey, Refusal> {
    live(caller, key, input)?;
    text::empty(input.payload)?;
    Ok(ApiKey {
        deleted: true,
        trace: key.trace.next(input.content),
        ..key.clone()
    })
}
