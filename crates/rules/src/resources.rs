//! Actions on resources other than objects: the decision shared by actors and fold.

mod api_key;
pub mod dispute;
mod email;
pub mod file;
mod organization;
pub mod registration;
mod sequencer_key;
pub mod template;
mod wallet;
pub mod webhook;

pub use wallet::key_addition;

use kedge_protocol::Id;
use kedge_protocol::action::Kind;
use kedge_protocol::limits::{KEYS_MAX, WEBHOOKS_MAX};
use kedge_protocol::resource::{DisputeMatter, Organization, Template, Wallet};
use serde::Deserialize;

use crate::kinds::{ActionSubject, RightsChange, spec};
use crate::refusal::Refusal;
use crate::resource_state::ResourceState;
use crate::sequencer::VersionKey;
use crate::text;
use crate::world::{ActionInput, Caller, CountedResource, OPERATOR, World};

/// Effects of an action.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RuleDecision {
    /// The resources after it, its own first.
    pub images: Vec<ResourceState>,
    /// Names that must not exist yet.
    pub claims: Vec<VersionKey>,
    /// Names that become free.
    pub releases: Vec<VersionKey>,
    /// Keys that it read without owning them, with the versions seen.
    pub reads: Vec<(VersionKey, u64)>,
}

impl RuleDecision {
    fn of(images: Vec<ResourceState>) -> Self {
        Self {
            images,
            claims: Vec::new(),
            releases: Vec::new(),
            reads: Vec::new(),
        }
    }
}

/// Id of the resource that an action changes; `None` if it makes one.
pub fn base_id(kind: &Kind, target: &str) -> Result<Option<Id>, Refusal> {
    match spec(kind).acts_on {
        ActionSubject::Resource(prefix) => Id::parse_as(prefix, target)
            .map(Some)
            .map_err(|_| Refusal::not_found(prefix.noun(), target)),
        ActionSubject::Nothing | ActionSubject::Object(_) => Ok(None),
    }
}

/// The wallet whose rights an action changes.
pub fn rights_subject(kind: &Kind, caller: &Caller, payload: &str) -> Option<Id> {
    match spec(kind).rights_of {
        RightsChange::Nobody => None,
        RightsChange::Caller => Some(caller.wallet_id),
        RightsChange::Member => text::read(payload)
            .ok()
            .map(|MemberPayload { wallet_id }| wallet_id),
    }
}

/// Part of a payload about a member; its rule reads the rest.
#[derive(Deserialize)]
struct MemberPayload {
    wallet_id: Id,
}

/// Decides an action. `base` is the current version of the resource [`base_id`].
pub fn decide<W: World>(
    world: &W,
    caller: &Caller,
    base: Option<&ResourceState>,
    input: &ActionInput<'_>,
) -> Result<RuleDecision, Refusal> {
    if input.kind.is_system() && caller.wallet_id != OPERATOR {
        return Err(Refusal::Forbidden(
            "only the operator's key may sign this".into(),
        ));
    }
    let one = |image: ResourceState| Ok(RuleDecision::of(vec![image]));
    match input.kind {
        Kind::TemplateCreate => template_create(world, caller, input),
        Kind::TemplateUpdate => template_update(world, caller, of(base, input)?, input),
        Kind::TemplateVariations => template_variations(caller, of(base, input)?, input),
        Kind::WalletUpdate => wallet_update(world, caller, of(base, input)?, input),
        Kind::WalletKeyAdd => wallet_key_add(world, caller, of(base, input)?, input),
        Kind::WalletKeyRemove => one(wallet::remove_key(caller, of(base, input)?, input)?.into()),
        Kind::OrgInvite => org_invite(caller, of(base, input)?, input),
        Kind::OrgRole => org_role(world, caller, of(base, input)?, input),
        Kind::OrgInvitationRevoke => org_revoke(world, caller, of(base, input)?, input),
        Kind::OrgMemberRemove => org_member_remove(world, caller, of(base, input)?, input),
        Kind::KeyCreate => key_create(world, caller, input),
        Kind::KeyRotate => one(api_key::rotate(caller, of(base, input)?, input)?.into()),
        Kind::KeyDelete => one(api_key::delete(caller, of(base, input)?, input)?.into()),
        Kind::WebhookCreate => webhook_create(world, caller, input),
        Kind::WebhookUpdate => one(webhook::update(caller, of(base, input)?, input)?.into()),
        Kind::WebhookRotate => one(webhook::rotate(caller, of(base, input)?, input)?.into()),
        Kind::WebhookDelete => one(webhook::delete(caller, of(base, input)?, input)?.into()),
        Kind::FileCreate => one(file::create(caller, input)?.into()),
        Kind::SystemTier => one(organization::set_tier(of(base, input)?, input)?.into()),
        Kind::SystemWebhookOff => one(webhook::switch_off(of(base, input)?, input)?.into()),
        Kind::SystemVerdict => system_verdict(world, caller, input),
        Kind::SystemSequencerKey => one(sequencer_key::name(world, input)?.into()),
        // Other functions decide registrations and objects.
        Kind::WalletRegister
        | Kind::Mint
        | Kind::Update
        | Kind::Transfer
        | Kind::Lock
        | Kind::Unlock
        | Kind::Burn
        | Kind::SetAttributes
        | Kind::DeleteAttributes
        | Kind::Emit
        | Kind::Custom(_) => Err(Refusal::wrong_way(input.kind)),
    }
}

/// The resource of the action, as the type that the kind expects.
fn of<'a, T>(base: Option<&'a ResourceState>, input: &ActionInput<'_>) -> Result<&'a T, Refusal>
where
    &'a T: TryFrom<&'a ResourceState>,
{
    base.and_then(|base| base.try_into().ok())
        .ok_or_else(|| Refusal::wrong_way(input.kind))
}

fn template_create<W: World>(
    world: &W,
    caller: &Caller,
    input: &ActionInput<'_>,
) -> Result<RuleDecision, Refusal> {
    let made = template::create(world, caller, input)?;
    let claims = vec![VersionKey::template_name(made.organization_id, &made.name)];
    Ok(RuleDecision {
        claims,
        ..RuleDecision::of(vec![made.into()])
    })
}

fn template_update<W: World>(
    world: &W,
    caller: &Caller,
    before: &Template,
    input: &ActionInput<'_>,
) -> Result<RuleDecision, Refusal> {
    let after = template::update(world, caller, before, input)?;
    let is_renamed = after.name != before.name;
    let name = |of: &Template| VersionKey::template_name(before.organization_id, &of.name);
    Ok(RuleDecision {
        claims: is_renamed.then(|| name(&after)).into_iter().collect(),
        releases: is_renamed.then(|| name(before)).into_iter().collect(),
        ..RuleDecision::of(vec![after.into()])
    })
}

fn template_variations(
    caller: &Caller,
    before: &Template,
    input: &ActionInput<'_>,
) -> Result<RuleDecision, Refusal> {
    let (after, variations) = template::add_variations(caller, before, input)?;
    let variations = variations.into_iter().map(ResourceState::from);
    let images = std::iter::once(after.into()).chain(variations);
    Ok(RuleDecision::of(images.collect()))
}

fn wallet_update<W: World>(
    world: &W,
    caller: &Caller,
    before: &Wallet,
    input: &ActionInput<'_>,
) -> Result<RuleDecision, Refusal> {
    let after = wallet::update(world, caller, before, input)?;
    let is_moved = after.email != before.email;
    let email = |of: &Wallet| VersionKey::email(&of.email);
    Ok(RuleDecision {
        claims: is_moved.then(|| email(&after)).into_iter().collect(),
        releases: is_moved.then(|| email(before)).into_iter().collect(),
        ..RuleDecision::of(vec![after.into()])
    })
}

fn wallet_key_add<W: World>(
    world: &W,
    caller: &Caller,
    before: &Wallet,
    input: &ActionInput<'_>,
) -> Result<RuleDecision, Refusal> {
    let after = wallet::add_key(world, caller, before, input)?;
    let added = after.keys.last().copied().unwrap_or(after.address);
    // If this wallet had it before, it was claimed then.
    let is_known = world.wallet_by_address(added)?.is_some();
    Ok(RuleDecision {
        claims: (!is_known)
            .then(|| VersionKey::address(added))
            .into_iter()
            .collect(),
        ..RuleDecision::of(vec![after.into()])
    })
}

fn org_invite(
    caller: &Caller,
    before: &Organization,
    input: &ActionInput<'_>,
) -> Result<RuleDecision, Refusal> {
    let (after, invitation) = organization::invite(caller, before, input)?;
    Ok(RuleDecision::of(vec![after.into(), invitation.into()]))
}

fn org_role<W: World>(
    world: &W,
    caller: &Caller,
    before: &Organization,
    input: &ActionInput<'_>,
) -> Result<RuleDecision, Refusal> {
    let (after, member) = organization::set_role(world, caller, before, input)?;
    Ok(RuleDecision::of(vec![after.into(), member.into()]))
}

fn org_revoke<W: World>(
    world: &W,
    caller: &Caller,
    before: &Organization,
    input: &ActionInput<'_>,
) -> Result<RuleDecision, Refusal> {
    let (after, invitation) = organization::revoke(world, caller, before, input)?;
    // Using and revoking it exclude each other.
    Ok(RuleDecision {
        claims: vec![VersionKey::resource(invitation.id)],
        ..RuleDecision::of(vec![after.into(), invitation.into()])
    })
}

fn org_member_remove<W: World>(
    world: &W,
    caller: &Caller,
    before: &Organization,
    input: &ActionInput<'_>,
) -> Result<RuleDecision, Refusal> {
    let (after, member) = organization::remove_member(world, caller, before, input)?;
    Ok(RuleDecision {
        releases: vec![VersionKey::email(&member.email)],
        ..RuleDecision::of(vec![after.into(), member.into()])
    })
}

fn key_create<W: World>(
    world: &W,
    caller: &Caller,
    input: &ActionInput<'_>,
) -> Result<RuleDecision, Refusal> {
    let made = api_key::create(caller, input)?;
    let place = place(
        world,
        caller,
        CountedResource::ApiKeys,
        KEYS_MAX,
        "API keys",
    )?;
    Ok(RuleDecision {
        claims: vec![place],
        ..RuleDecision::of(vec![made.into()])
    })
}

fn webhook_create<W: World>(
    world: &W,
    caller: &Caller,
    input: &ActionInput<'_>,
) -> Result<RuleDecision, Refusal> {
    let made = webhook::create(caller, input)?;
    let place = place(
        world,
        caller,
        CountedResource::Webhooks,
        WEBHOOKS_MAX,
        "webhooks",
    )?;
    Ok(RuleDecision {
        claims: vec![place],
        ..RuleDecision::of(vec![made.into()])
    })
}

fn system_verdict<W: World>(
    world: &W,
    caller: &Caller,
    input: &ActionInput<'_>,
) -> Result<RuleDecision, Refusal> {
    let made = dispute::decided(world, caller, input)?;
    let claims = match &made.matter {
        DisputeMatter::Claim { context } => vec![VersionKey::claim_context(context)],
        DisputeMatter::Fault { .. } => Vec::new(),
    };
    Ok(RuleDecision {
        claims,
        ..RuleDecision::of(vec![made.into()])
    })
}

/// Reserves one more resource of a limited type, if the organization may have it. Ended ones stay in its list and do
/// not count.
fn place<W: World>(
    world: &W,
    caller: &Caller,
    of: CountedResource,
    most: usize,
    called: &str,
) -> Result<VersionKey, Refusal> {
    let held = world.held(caller.organization_id, of)?;
    if held.live >= most {
        let message = format!("the organization has {most} {called}; end one first");
        return Err(Refusal::State(message.into()));
    }
    Ok(VersionKey::place(caller.organization_id, of, held.made))
}
