//! Actions on everything that is not an object: the one decision that the actors and the fold share.

use kedge_protocol::action::Kind;
use kedge_protocol::limits::{KEYS_MAX, WEBHOOKS_MAX};
use kedge_protocol::resource::DisputeMatter;
use kedge_protocol::{Id, Prefix};

use crate::image::Image;
use crate::refusal::Refusal;
use crate::sequencer::Key;
use crate::world::{Caller, Input, OPERATOR, World};
use crate::{api_key, dispute, file, organization, sequencer_key, template, wallet, webhook};

/// What an action would do.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Decision {
    /// The resources after it, the one acted on first.
    pub images: Vec<Image>,
    /// Names that must not exist yet.
    pub claims: Vec<Key>,
    /// Names that are given up.
    pub releases: Vec<Key>,
    /// What it read and no actor here owns, with the version that it saw.
    pub reads: Vec<(Key, u64)>,
}

impl Decision {
    fn of(images: Vec<Image>) -> Self {
        Self {
            images,
            claims: Vec::new(),
            releases: Vec::new(),
            reads: Vec::new(),
        }
    }
}

/// The resource that an action acts on; `None` if it makes one.
pub fn base_id(kind: &Kind, target: &str) -> Result<Option<Id>, Refusal> {
    let (prefix, resource) = match kind {
        Kind::TemplateUpdate | Kind::TemplateVariations => (Prefix::Template, "template"),
        Kind::WalletUpdate | Kind::WalletKeyAdd | Kind::WalletKeyRemove => {
            (Prefix::Wallet, "wallet")
        }
        Kind::KeyRotate | Kind::KeyDelete => (Prefix::Key, "api_key"),
        Kind::WebhookUpdate
        | Kind::WebhookRotate
        | Kind::WebhookDelete
        | Kind::SystemWebhookOff => (Prefix::Webhook, "webhook"),
        Kind::OrgInvite
        | Kind::OrgRole
        | Kind::OrgInvitationRevoke
        | Kind::OrgMemberRemove
        | Kind::SystemTier => (Prefix::Organization, "organization"),
        _ => return Ok(None),
    };
    Id::parse_as(prefix, target)
        .map(Some)
        .map_err(|_| Refusal::not_found(resource, target))
}

/// The wallet whose rights an action changes. Its requests and this one are never in flight at the same time, so that
/// every request is placed with the rights that it was admitted with.
pub fn rights_subject(kind: &Kind, caller: &Caller, payload: &str) -> Option<Id> {
    match kind {
        Kind::WalletKeyAdd | Kind::WalletKeyRemove | Kind::WalletUpdate => Some(caller.wallet_id),
        Kind::OrgRole => organization::role_subject(payload),
        Kind::OrgMemberRemove => organization::removal_subject(payload),
        _ => None,
    }
}

/// Decides an action. `base` is the present state of the resource that [`base_id`] names.
pub fn decide<W: World>(
    world: &W,
    caller: &Caller,
    base: Option<&Image>,
    input: &Input<'_>,
) -> Result<Decision, Refusal> {
    if input.kind.is_system() && caller.wallet_id != OPERATOR {
        return Err(Refusal::Forbidden(
            "only the operator's key may sign this".into(),
        ));
    }
    match (input.kind, base) {
        (Kind::TemplateCreate, None) => {
            let made = template::create(world, caller, input)?;
            let claims = vec![Key::template_name(made.organization_id, &made.name)];
            Ok(Decision {
                claims,
                ..Decision::of(vec![Image::Template(made)])
            })
        }
        (Kind::KeyCreate, None) => {
            let made = api_key::create(caller, input)?;
            let claims = vec![place(world, caller, Prefix::Key, KEYS_MAX, "API keys")?];
            Ok(Decision {
                claims,
                ..Decision::of(vec![Image::ApiKey(made)])
            })
        }
        (Kind::WebhookCreate, None) => {
            let made = webhook::create(caller, input)?;
            let claims = vec![place(
                world,
                caller,
                Prefix::Webhook,
                WEBHOOKS_MAX,
                "webhooks",
            )?];
            Ok(Decision {
                claims,
                ..Decision::of(vec![Image::Webhook(made)])
            })
        }
        (Kind::TemplateUpdate, Some(Image::Template(before))) => {
            let after = template::update(world, caller, before, input)?;
            let name = |name: &str| Key::template_name(before.organization_id, name);
            let renamed = after.name != before.name;
            let keys = |text| {
                if renamed {
                    vec![name(text)]
                } else {
                    Vec::new()
                }
            };
            Ok(Decision {
                claims: keys(&after.name),
                releases: keys(&before.name),
                ..Decision::of(vec![Image::Template(after)])
            })
        }
        (Kind::TemplateVariations, Some(Image::Template(before))) => {
            let (after, variations) = template::add_variations(caller, before, input)?;
            let variations = variations.into_iter().map(Image::Variation);
            let images = std::iter::once(Image::Template(after)).chain(variations);
            Ok(Decision::of(images.collect()))
        }
        (Kind::WalletUpdate, Some(Image::Wallet(before))) => {
            let after = wallet::update(world, caller, before, input)?;
            let moved = after.email != before.email;
            let keys = |email: &str| {
                if moved {
                    vec![Key::email(email)]
                } else {
                    Vec::new()
                }
            };
            Ok(Decision {
                claims: keys(&after.email),
                releases: keys(&before.email),
                ..Decision::of(vec![Image::Wallet(after)])
            })
        }
        (Kind::WalletKeyAdd, Some(Image::Wallet(before))) => {
            let after = wallet::add_key(world, caller, before, input)?;
            let added = after.keys.last().copied().unwrap_or(after.address);
            // If it was this wallet's before, it was claimed then.
            let known = world.wallet_by_address(added)?.is_some();
            let claims = if known {
                Vec::new()
            } else {
                vec![Key::address(added)]
            };
            Ok(Decision {
                claims,
                ..Decision::of(vec![Image::Wallet(after)])
            })
        }
        (Kind::WalletKeyRemove, Some(Image::Wallet(before))) => {
            let after = wallet::remove_key(caller, before, input)?;
            Ok(Decision::of(vec![Image::Wallet(after)]))
        }
        (Kind::OrgInvite, Some(Image::Organization(before))) => {
            let (after, invitation) = organization::invite(caller, before, input)?;
            let images = vec![Image::Organization(after), Image::Invitation(invitation)];
            Ok(Decision::of(images))
        }
        (Kind::OrgRole, Some(Image::Organization(before))) => {
            let (after, member) = organization::set_role(world, caller, before, input)?;
            let images = vec![Image::Organization(after), Image::Wallet(member)];
            Ok(Decision::of(images))
        }
        (Kind::OrgInvitationRevoke, Some(Image::Organization(before))) => {
            let (after, invitation) = organization::revoke(world, caller, before, input)?;
            // Using it and revoking it exclude each other.
            let claims = vec![Key::resource(invitation.id)];
            let images = vec![Image::Organization(after), Image::Invitation(invitation)];
            Ok(Decision {
                claims,
                ..Decision::of(images)
            })
        }
        (Kind::OrgMemberRemove, Some(Image::Organization(before))) => {
            let (after, member) = organization::remove_member(world, caller, before, input)?;
            let releases = vec![Key::email(&member.email)];
            let images = vec![Image::Organization(after), Image::Wallet(member)];
            Ok(Decision {
                releases,
                ..Decision::of(images)
            })
        }
        (Kind::SystemTier, Some(Image::Organization(before))) => {
            let after = organization::set_tier(before, input)?;
            Ok(Decision::of(vec![Image::Organization(after)]))
        }
        (Kind::SystemVerdict, None) => {
            let made = dispute::decided(world, caller, input)?;
            let claims = match &made.matter {
                DisputeMatter::Claim { context } => vec![Key::claim_context(context)],
                DisputeMatter::Fault { .. } => Vec::new(),
            };
            Ok(Decision {
                claims,
                ..Decision::of(vec![Image::Dispute(made)])
            })
        }
        (Kind::SystemSequencerKey, None) => {
            let named = sequencer_key::name(world, input)?;
            Ok(Decision::of(vec![Image::SequencerKey(named)]))
        }
        (kind, base) => decide_record(kind, base, caller, input).map(Decision::of),
    }
}

/// The place of one more thing of a kind, if the organization may have it. Ended ones stay in its list and do not
/// count.
fn place<W: World>(
    world: &W,
    caller: &Caller,
    of: Prefix,
    most: usize,
    called: &str,
) -> Result<Key, Refusal> {
    let held = world.held(caller.organization_id, of)?;
    if held.live >= most {
        let message = format!("the organization has {most} {called}; end one first");
        return Err(Refusal::State(message.into()));
    }
    Ok(Key::place(caller.organization_id, of, held.made))
}

/// Keys, webhooks and files: they depend on nothing else.
fn decide_record(
    kind: &Kind,
    base: Option<&Image>,
    caller: &Caller,
    input: &Input<'_>,
) -> Result<Vec<Image>, Refusal> {
    let image = match (kind, base) {
        (Kind::KeyRotate, Some(Image::ApiKey(key))) => {
            Image::ApiKey(api_key::rotate(caller, key, input)?)
        }
        (Kind::KeyDelete, Some(Image::ApiKey(key))) => {
            Image::ApiKey(api_key::delete(caller, key, input)?)
        }
        (Kind::WebhookUpdate, Some(Image::Webhook(before))) => {
            Image::Webhook(webhook::update(caller, before, input)?)
        }
        (Kind::WebhookRotate, Some(Image::Webhook(before))) => {
            Image::Webhook(webhook::rotate(caller, before, input)?)
        }
        (Kind::WebhookDelete, Some(Image::Webhook(before))) => {
            Image::Webhook(webhook::delete(caller, before, input)?)
        }
        (Kind::SystemWebhookOff, Some(Image::Webhook(before))) => {
            Image::Webhook(webhook::switch_off(before, input)?)
        }
        (Kind::FileCreate, None) => Image::File(file::create(caller, input)?),
        _ => {
            return Err(Refusal::Forbidden(
                format!("{} cannot be done this way", kind.text()).into(),
            ));
        }
    };
    Ok(vec![image])
}
