//! Actions on organizations: invitations, roles, removal of members, the operator's tier. Everything that changes a
//! role or ends a membership is an action on the organization. A removed wallet has no keys, and its e-mail address
//! becomes free.

use kedge_protocol::action::Kind;
use kedge_protocol::limits::{INVITATION_S_DEFAULT, INVITATION_S_MAX};
use kedge_protocol::resource::{CustomLimits, Invitation, Organization, Role, Tier, Wallet};
use kedge_protocol::{Id, Prefix};
use serde::Deserialize;

use super::email::{is_email, normal_email};
use crate::json;
use crate::refusal::Refusal;
use crate::rights::may_administer;
use crate::rule::{RuleContext, RuleDecision};
use crate::sequencer::VersionKey;
use crate::text::{self, PayloadProblems};
use crate::world::{ActionInput, Caller, World};

/// Decides an action on an organization.
pub(super) fn decide<W: World>(context: &RuleContext<'_, W>) -> Result<RuleDecision, Refusal> {
    let (world, caller, input) = context.parts();
    let organization = context.base()?;
    Ok(match input.kind {
        Kind::OrgInvite => {
            let (after, invitation) = invite(caller, organization, input)?;
            RuleDecision::of(vec![after.into(), invitation.into()])
        }
        Kind::OrgRole => {
            let (after, member) = set_role(world, caller, organization, input)?;
            RuleDecision::of(vec![after.into(), member.into()])
        }
        Kind::OrgInvitationRevoke => {
            let (after, invitation) = revoke(world, caller, organization, input)?;
            // Using and revoking it exclude each other.
            let claim = VersionKey::resource(invitation.id);
            RuleDecision::of(vec![after.into(), invitation.into()]).claiming([claim])
        }
        Kind::OrgMemberRemove => {
            let (after, member) = remove_member(world, caller, organization, input)?;
            let release = VersionKey::email(&member.email);
            RuleDecision::of(vec![after.into(), member.into()]).releasing([release])
        }
        Kind::SystemTier => RuleDecision::one(set_tier(organization, input)?),
        other => return Err(Refusal::wrong_way(other)),
    })
}

/// Checks that the target is the caller's organization.
fn own(
    caller: &Caller,
    organization: &Organization,
    input: &ActionInput<'_>,
) -> Result<(), Refusal> {
    if organization.id == caller.organization_id {
        return Ok(());
    }
    Err(Refusal::not_found("organization", input.target))
}

fn administers(caller: &Caller, message: &'static str) -> Result<(), Refusal> {
    if may_administer(caller.role) {
        return Ok(());
    }
    Err(Refusal::Forbidden(message.into()))
}

/// Whether a wallet with one role may invite to another: no wallet grants more than it has.
pub(crate) fn may_invite(inviter: Role, role: Role) -> bool {
    may_administer(inviter) && (role != Role::Owner || inviter == Role::Owner)
}

fn next(organization: &Organization, input: &ActionInput<'_>) -> Organization {
    Organization {
        trace: organization.trace.next(input.content),
        ..organization.clone()
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct InvitePayload {
    email: Option<String>,
    role: Option<Role>,
    expires_in_s: Option<u64>,
}

/// Invites every holder of the code, or only the given e-mail address.
fn invite(
    caller: &Caller,
    organization: &Organization,
    input: &ActionInput<'_>,
) -> Result<(Organization, Invitation), Refusal> {
    own(caller, organization, input)?;
    administers(
        caller,
        "only owners and admins of the organization may invite",
    )?;
    let payload: InvitePayload = text::read(input.payload)?;
    let role = payload.role.unwrap_or(Role::Member);
    let lifetime_s = payload.expires_in_s.unwrap_or(INVITATION_S_DEFAULT);
    let email = payload.email.as_deref().map(normal_email);
    let mut problems = PayloadProblems::default();
    if email.as_ref().is_some_and(|email| !is_email(email)) {
        problems.add(
            "/email",
            "format",
            "must be an e-mail address such as ann@example.com",
        );
    }
    if lifetime_s == 0 || lifetime_s > INVITATION_S_MAX {
        let message = format!("must be 1 to {INVITATION_S_MAX} seconds");
        problems.add("/expires_in_s", "range", message);
    }
    problems.finish()?;
    if !may_invite(caller.role, role) {
        return Err(Refusal::Forbidden("only an owner may invite owners".into()));
    }
    let invitation = Invitation {
        id: Id::of_hash(Prefix::Action, input.content),
        organization_id: organization.id,
        invited_by: caller.wallet_id,
        role,
        email,
        lifetime_s,
        used_by: None,
        revoked: false,
        created_sequence: 0,
        created_at_ms: 0,
    };
    Ok((next(organization, input), invitation))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RolePayload {
    wallet_id: Id,
    role: Role,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RevokePayload {
    invitation_id: Id,
}

/// Revokes an unused invitation.
fn revoke<W: World>(
    world: &W,
    caller: &Caller,
    organization: &Organization,
    input: &ActionInput<'_>,
) -> Result<(Organization, Invitation), Refusal> {
    own(caller, organization, input)?;
    let RevokePayload { invitation_id } = text::read(input.payload)?;
    let invitation = world
        .invitation(invitation_id)?
        .filter(|invitation| invitation.organization_id == organization.id)
        .ok_or_else(|| Refusal::not_found("invitation", &invitation_id))?;
    administers(
        caller,
        "only owners and admins of the organization may revoke invitations",
    )?;
    if invitation.used_by.is_some() {
        return Err(Refusal::State(
            "the invitation was used; remove the member instead".into(),
        ));
    }
    if invitation.revoked {
        return Err(Refusal::State("the invitation is already revoked".into()));
    }
    let invitation = Invitation {
        revoked: true,
        ..invitation
    };
    Ok((next(organization, input), invitation))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RemovalPayload {
    wallet_id: Id,
}

/// Another member of the organization that was not removed.
fn member<W: World>(
    world: &W,
    caller: &Caller,
    organization: &Organization,
    id: Id,
) -> Result<Wallet, Refusal> {
    let member = world
        .member(id)?
        .filter(|wallet| wallet.organization_id == organization.id && !wallet.is_removed())
        .ok_or_else(|| Refusal::not_found("wallet", &id))?;
    administers(
        caller,
        "only owners and admins of the organization may manage members and their roles",
    )?;
    if member.id == caller.wallet_id {
        return Err(Refusal::Forbidden(
            "nobody may change their own membership; ask another owner or admin".into(),
        ));
    }
    Ok(member)
}

/// Ends a wallet's membership: it loses its keys, and its e-mail address becomes free. It keeps what it owns.
fn remove_member<W: World>(
    world: &W,
    caller: &Caller,
    organization: &Organization,
    input: &ActionInput<'_>,
) -> Result<(Organization, Wallet), Refusal> {
    own(caller, organization, input)?;
    let RemovalPayload { wallet_id } = text::read(input.payload)?;
    let member = member(world, caller, organization, wallet_id)?;
    if member.role == Role::Owner {
        return Err(Refusal::Forbidden(
            "an owner cannot be removed; another owner must change the role first".into(),
        ));
    }
    let member = Wallet {
        keys: Vec::new(),
        ..member
    };
    Ok((next(organization, input), member))
}

/// Sets a member's role. A wallet cannot change its own role, so an organization never loses its last owner.
fn set_role<W: World>(
    world: &W,
    caller: &Caller,
    organization: &Organization,
    input: &ActionInput<'_>,
) -> Result<(Organization, Wallet), Refusal> {
    own(caller, organization, input)?;
    let payload: RolePayload = text::read(input.payload)?;
    let member = member(world, caller, organization, payload.wallet_id)?;
    let touches_owner = member.role == Role::Owner || payload.role == Role::Owner;
    if touches_owner && caller.role != Role::Owner {
        return Err(Refusal::Forbidden(
            "only an owner may make owners or change an owner's role".into(),
        ));
    }
    let member = Wallet {
        role: payload.role,
        ..member
    };
    Ok((next(organization, input), member))
}

#[derive(Deserialize)]
struct TierPayload {
    tier: TierName,
    #[serde(flatten)]
    limits: serde_json::Map<String, serde_json::Value>,
}

#[derive(Deserialize, PartialEq)]
#[serde(rename_all = "snake_case")]
enum TierName {
    Free,
    Developer,
    Enterprise,
    Custom,
}

/// Sets the tier. A custom one comes with its limits; absent limits are unlimited.
fn set_tier(organization: &Organization, input: &ActionInput<'_>) -> Result<Organization, Refusal> {
    let payload: TierPayload = text::read(input.payload)?;
    let limits: CustomLimits = json::read_value(serde_json::Value::Object(payload.limits))?;
    if let Some(name) = limits.inexact() {
        return Err(Refusal::field(
            &format!("/{name}"),
            "range",
            "must be below 2^53: answers show limits as numbers",
        ));
    }
    let tier = match payload.tier {
        TierName::Custom => Tier::Custom(limits),
        _ if limits != CustomLimits::default() => {
            return Err(Refusal::field(
                "/tier",
                "range",
                "only the custom tier accepts limits",
            ));
        }
        TierName::Free => Tier::Free,
        TierName::Developer => Tier::Developer,
        TierName::Enterprise => Tier::Enterprise,
    };
    Ok(Organization {
        tier,
        ..next(organization, input)
    })
}
