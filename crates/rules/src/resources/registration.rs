//! Registers a wallet, and its organization if that is new. A registration by an invitation depends on the inviter's
//! right, so it names the organization's version as read: the Sequencer finds it stale if an action on the organization
//! came first. Using an invitation and revoking it claim the same name.

use kedge_protocol::resource::{Invitation, Organization, ResourceTrace, Role, Tier, Wallet};
use kedge_protocol::{Address, Id, Prefix};
use serde::{Deserialize, Serialize};

use super::email::is_email;
pub use super::email::normal_email;
use super::organization::may_invite;
use crate::refusal::Refusal;
use crate::resource_state::ResourceState;
use crate::rule::RuleDecision;
use crate::sequencer::VersionKey;
use crate::text::{self, PayloadProblems};
use crate::world::{ActionInput, World};

/// The disclosed members of a registration: all but secrets.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RegistrationRecord {
    /// Login address, as given.
    pub email: String,
    /// A display name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nickname: Option<String>,
    /// The address that signs.
    pub address: Address,
    /// Name of the new organization.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub organization_name: Option<String>,
    /// Invitation to an existing organization.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub invitation: Option<Id>,
}

/// Makes a wallet, and its organization or the use of an invitation. `signer` must be the registered address.
pub fn register<W: World>(
    world: &W,
    signer: &Address,
    input: &ActionInput<'_>,
) -> Result<RuleDecision, Refusal> {
    let registration: RegistrationRecord = text::read(input.payload)?;
    let email = normal_email(&registration.email);
    check(&registration, &email, signer)?;
    if world.address_taken(registration.address)? {
        return Err(Refusal::Conflict(
            "the address already belongs to a wallet; an address belongs to one wallet for ever"
                .into(),
        ));
    }
    let mut claims = vec![
        VersionKey::email(&email),
        VersionKey::address(registration.address),
    ];
    let mut wallet = Wallet {
        id: Id::made_by(Prefix::Wallet, input.content, 0),
        organization_id: Id::made_by(Prefix::Organization, input.content, 1),
        role: Role::Owner,
        nickname: registration.nickname,
        email: email.clone(),
        address: registration.address,
        keys: vec![registration.address],
        trace: ResourceTrace::made_by(input.content, 0),
    };
    let mut reads = Vec::new();
    let second = if let Some(id) = registration.invitation {
        let (invitation, organization) = join(world, id, &mut wallet)?;
        claims.push(VersionKey::resource(id));
        reads.push(organization);
        ResourceState::Invitation(invitation)
    } else {
        let local_part = wallet.email.split('@').next().unwrap_or_default();
        ResourceState::Organization(Organization {
            id: wallet.organization_id,
            name: registration
                .organization_name
                .unwrap_or_else(|| local_part.to_owned()),
            tier: Tier::Free,
            trace: ResourceTrace::made_by(input.content, 1),
        })
    };
    // Only a caller who could register with another address may learn that this one is taken.
    if world.email_taken(&email)? {
        return Err(Refusal::EmailTaken);
    }
    Ok(RuleDecision {
        images: vec![ResourceState::Wallet(wallet), second],
        claims,
        releases: Vec::new(),
        reads,
    })
}

/// Checks the members of a registration.
fn check(registration: &RegistrationRecord, email: &str, signer: &Address) -> Result<(), Refusal> {
    let mut problems = PayloadProblems::default();
    if !is_email(email) {
        problems.add(
            "/email",
            "format",
            "must be an e-mail address such as ann@example.com",
        );
    }
    if let Some(nickname) = &registration.nickname {
        problems.name("/nickname", nickname);
    }
    if let Some(name) = &registration.organization_name {
        problems.name("/organization_name", name);
    }
    if registration.address != *signer {
        problems.add(
            "/address",
            "range",
            "must be the address that signs the request",
        );
    }
    problems.finish()
}

/// Adds a new wallet to the inviting organization. Returns the used invitation and the organization's version as read,
/// because every change of a role or membership is an action on the organization. The edge checks the invitation's
/// expiry, because there is no clock here.
fn join<W: World>(
    world: &W,
    id: Id,
    wallet: &mut Wallet,
) -> Result<(Invitation, (VersionKey, u64)), Refusal> {
    let unusable = |message: &'static str| Refusal::Forbidden(message.into());
    let other = "the invitation was used, or is for somebody else";
    // The version is read before the state that it covers, so that a change in between is noticed.
    let invitation = world.invitation(id)?.ok_or_else(|| unusable(other))?;
    let organization = world
        .organization(invitation.organization_id)?
        .ok_or_else(|| unusable(other))?;
    let invitation = world.invitation(id)?.ok_or_else(|| unusable(other))?;
    let is_for = invitation
        .email
        .as_ref()
        .is_none_or(|email| *email == wallet.email);
    if invitation.used_by.is_some() || !is_for {
        return Err(unusable(other));
    }
    if invitation.revoked {
        return Err(unusable("the invitation was revoked; ask for a new one"));
    }
    let inviter = world
        .member(invitation.invited_by)?
        .filter(|inviter| !inviter.is_removed());
    if inviter.is_none_or(|inviter| !may_invite(inviter.role, invitation.role)) {
        return Err(unusable(
            "the inviter may no longer invite to this role; ask for a new invitation",
        ));
    }
    wallet.organization_id = invitation.organization_id;
    wallet.role = invitation.role;
    let read = (
        VersionKey::resource(organization.id),
        organization.trace.version,
    );
    let used = Invitation {
        used_by: Some(wallet.id),
        ..invitation
    };
    Ok((used, read))
}
