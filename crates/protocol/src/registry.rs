//! The registry: every prefix of identifiers, every type of resource and every kind of action, in one row each. The
//! rows hold facts only; the layers above derive their code from them. Numbers and texts are permanent, because they
//! are stored or signed: new rows go to the end of their number range, and no row is ever reused.

use std::sync::LazyLock;

use serde::{Deserialize, Serialize};

use crate::code::Code::{self, Conflict, EmailTaken, ObjectTooLarge, StateViolation};
use crate::event_type::EventType;
use crate::hash::{Hash, keccak};
use crate::limits::KIND_BYTES_MAX;

macro_rules! prefixes {
    ($($(#[$doc:meta])* $name:ident = $text:literal, $noun:literal;)*) => {
        /// Kind of a thing with an identifier. The numbers are permanent: they are stored.
        #[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
        #[repr(u8)]
        pub enum Prefix { $($(#[$doc])* $name),* }

        impl Prefix {
            /// Every prefix, in the order of its stored number.
            pub const ALL: &'static [Self] = &[$(Self::$name),*];

            /// The text before the underscore.
            pub const fn text(self) -> &'static str {
                match self { $(Self::$name => $text),* }
            }

            /// The noun in refusals.
            pub const fn noun(self) -> &'static str {
                match self { $(Self::$name => $noun),* }
            }

            /// The prefix with this text.
            pub fn of_text(text: &str) -> Option<Self> {
                match text { $($text => Some(Self::$name),)* _ => None }
            }
        }
    };
}

prefixes! {
    /// A wallet.
    Wallet = "wal", "wallet";
    /// An organization.
    Organization = "org", "organization";
    /// An API key.
    Key = "key", "api_key";
    /// A template.
    Template = "tpl", "template";
    /// A variation of a template.
    Variation = "var", "variation";
    /// An object.
    Object = "obj", "object";
    /// An action.
    Action = "act", "action";
    /// A batch.
    Batch = "bat", "batch";
    /// An anchor.
    Anchor = "anc", "anchor";
    /// An event.
    Event = "evt", "event";
    /// A file.
    File = "fil", "file";
    /// A webhook.
    Webhook = "whk", "webhook";
    /// A webhook delivery.
    Delivery = "dlv", "delivery";
    /// A dispute.
    Dispute = "dsp", "dispute";
}

impl Prefix {
    /// The prefix with this stored number.
    pub fn of_number(number: u8) -> Option<Self> {
        Self::ALL.get(usize::from(number)).copied()
    }
}

/// Calls a macro with all types of resources, a row each:
///
/// - the type, and the prefix of its identifiers;
/// - `traced` if it has a [`ResourceTrace`](crate::resource::ResourceTrace), `once` if it is made and used once;
/// - `counted(…)` if the number that an organization may have is limited, and by what [`CountedResource`];
/// - `by_id` if later actions change it or rules look it up, `never` if nothing reads its state again;
/// - `shown` if the answer to a signed request shows it, else `hidden`;
/// - `secret` if it has a secret outside the log, whose previous one stays valid for `overlap_s`, else `plain`;
/// - `named` if more than its id and its list leads to its row, such as a name, else `unnamed`.
///
/// If several types share a prefix, only one of them is `by_id` and `shown`.
#[macro_export]
macro_rules! for_each_resource {
    ($callback:ident) => {
        $callback! {
            Object, Object, traced, uncounted, by_id, shown, plain, named;
            Wallet, Wallet, traced, uncounted, by_id, shown, plain, named;
            Organization, Organization, traced, uncounted, by_id, shown, plain, unnamed;
            Template, Template, traced, uncounted, by_id, shown, plain, named;
            ApiKey, Key, traced, counted(ApiKeys), by_id, shown, secret, unnamed;
            Webhook, Webhook, traced, counted(Webhooks), by_id, shown, secret, unnamed;
            FileRecord, File, traced, uncounted, never, shown, plain, unnamed;
            Dispute, Dispute, traced, uncounted, never, hidden, plain, named;
            SequencerKey, Action, traced, uncounted, never, hidden, plain, named;
            Variation, Variation, once, uncounted, never, shown, plain, named;
            Invitation, Action, once, uncounted, by_id, shown, plain, unnamed;
        }
    };
}

/// Types of resources whose number per organization is limited.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum CountedResource {
    /// API keys.
    ApiKeys,
    /// Webhooks.
    Webhooks,
}

/// Who may request a kind of action, and where.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ActionAudience {
    /// Callers with this role, by a dedicated endpoint: it changes a resource other than an object.
    Account(RoleScope),
    /// Callers, by the action bus: it is about an object. These wallets may request it, unless the object's template
    /// has a rule for it; `None` for no wallet.
    Bus(Option<Who>),
    /// The operator, with the operator's key.
    Operator,
}

/// Who may do something with a template's objects.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum Who {
    /// The object's owner.
    Owner,
    /// Owners and admins of the template's organization.
    Issuer,
    /// Any wallet.
    Anyone,
}

/// Roles that may request an action. Rules that depend on more than a role, such as an object's owner, are separate.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RoleScope {
    /// Every role.
    Any,
    /// Owners and admins.
    Admins,
    /// Owners and admins; only owners if the payload's `role` is `owner`.
    AdminsAndOwnersOfOwners,
}

/// Subject of a kind of action.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ActionSubject {
    /// No existing resource: the action makes one with ids of this prefix.
    New(Prefix),
    /// An object, with this change.
    Object(ObjectChange),
    /// Another resource with ids of this prefix.
    Resource(Prefix),
}

/// Change of an object.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ObjectChange {
    /// Merges a patch into its properties.
    Update,
    /// Sets some properties.
    SetAttributes,
    /// Deletes some properties.
    DeleteAttributes,
    /// Changes its owner.
    Transfer,
    /// Locks it.
    Lock,
    /// Unlocks it.
    Unlock,
    /// Ends it permanently.
    Burn,
    /// Only increments its version.
    State,
}

/// Other requests that wait while an action is in flight.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ActionIsolation {
    /// Only those for the same resource.
    Shared,
    /// The action changes the rights of its caller's wallet, whose other requests wait. So every request is placed with
    /// the rights with which it was admitted.
    Caller,
    /// The action changes the rights of the member that the payload's `wallet_id` names, whose requests wait.
    Member,
    /// All: the action changes state that other decisions read without recording the read. It is decided with no
    /// earlier request in flight, and blocks further decisions until it is committed.
    Exclusive,
}

/// Effect of a kind of action on credentials that were checked before it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CredentialEffect {
    /// They stay valid.
    Kept,
    /// It may change or end API keys or tokens, so each is checked again.
    Rechecked,
}

/// Facts about a kind of action.
#[derive(Clone, Copy, Debug)]
pub struct KindSpec {
    /// Who may request it, and where.
    pub audience: ActionAudience,
    /// What it acts on.
    pub acts_on: ActionSubject,
    /// Other requests that wait while it is in flight.
    pub isolation: ActionIsolation,
    /// Its effect on credentials.
    pub credentials: CredentialEffect,
    /// Type of its event.
    pub event: EventType,
    /// Codes with which the rules refuse it, besides those that every request can get.
    pub refusals: &'static [Code],
}

/// Refusals by the rules of an action on an object, or of a mint.
const ON_OBJECTS: &[Code] = &[Code::ResourceNotFound, StateViolation, ObjectTooLarge];

macro_rules! kinds {
    ($(
        $(#[$doc:meta])*
        $name:ident = $number:literal, $text:literal,
        $audience:ident $(($who:ident))?, $verb:ident($subject:ident),
        $isolation:ident, $credentials:ident, $event:ident, $refusals:expr;
    )*) => {
        /// Kind of an action. The numbers are permanent: they are stored.
        #[derive(Clone, PartialEq, Eq, Hash, Debug)]
        pub enum Kind {
            $($(#[$doc])* $name,)*
            /// A kind that a template defines; its text begins with `x.`.
            Custom(Box<str>),
        }

        impl Kind {
            /// Every kind except custom ones.
            pub const BUILT_IN: &'static [Self] = &[$(Self::$name),*];

            /// The text that is signed.
            pub fn text(&self) -> &str {
                match self { $(Self::$name => $text,)* Self::Custom(text) => text }
            }

            /// The permanent number; custom kinds have none.
            pub fn number(&self) -> Option<u8> {
                match self { $(Self::$name => Some($number),)* Self::Custom(_) => None }
            }

            /// The kind with this permanent number.
            pub fn of_number(number: u8) -> Option<Self> {
                match number { $($number => Some(Self::$name),)* _ => None }
            }

            /// Reads a kind; `None` if it is neither built in nor a well-formed custom one.
            pub fn of_text(text: &str) -> Option<Self> {
                match text {
                    $($text => Some(Self::$name),)*
                    _ if is_custom(text) => Some(Self::Custom(text.into())),
                    _ => None,
                }
            }

            /// The kind's row.
            pub fn spec(&self) -> &'static KindSpec {
                match self {
                    $(Self::$name => &KindSpec {
                        audience: kinds!(@audience $audience $(($who))?),
                        acts_on: kinds!(@subject $verb($subject)),
                        isolation: ActionIsolation::$isolation,
                        credentials: CredentialEffect::$credentials,
                        event: EventType::$event,
                        refusals: $refusals,
                    },)*
                    Self::Custom(_) => &KindSpec {
                        audience: ActionAudience::Bus(None),
                        acts_on: ActionSubject::Object(ObjectChange::State),
                        isolation: ActionIsolation::Shared,
                        credentials: CredentialEffect::Kept,
                        event: EventType::ActionExecuted,
                        refusals: ON_OBJECTS,
                    },
                }
            }

            /// keccak256 of the kind's text.
            pub fn hash(&self) -> Hash {
                static HASHES: LazyLock<Vec<Hash>> =
                    LazyLock::new(|| Kind::BUILT_IN.iter().map(|kind| keccak(kind.text().as_bytes())).collect());
                let mut position = 0;
                $(
                    if matches!(self, Self::$name) { return HASHES[position]; }
                    position += 1;
                )*
                let _ = position;
                keccak(self.text().as_bytes())
            }
        }
    };
    (@audience Account($roles:ident)) => { ActionAudience::Account(RoleScope::$roles) };
    (@audience Bus($who:ident)) => { ActionAudience::Bus(Some(Who::$who)) };
    (@audience Operator) => { ActionAudience::Operator };
    (@subject new($prefix:ident)) => { ActionSubject::New(Prefix::$prefix) };
    (@subject on($prefix:ident)) => { ActionSubject::Resource(Prefix::$prefix) };
    (@subject object($change:ident)) => { ActionSubject::Object(ObjectChange::$change) };
}

// Number, text, audience, subject, isolation, effect on credentials, event, refusals.
kinds! {
    /// Registers a wallet, and its organization if that is new.
    WalletRegister = 1, "wallet.register",
        Account(Any), new(Wallet), Shared, Kept, WalletRegistered, &[EmailTaken, Conflict];
    /// Changes the caller's wallet: its nickname and its login address.
    WalletUpdate = 2, "wallet.update",
        Account(Any), on(Wallet), Caller, Kept, ActionExecuted, &[EmailTaken];
    /// Adds a key that signs for the caller's wallet.
    WalletKeyAdd = 3, "wallet.key_add",
        Account(Any), on(Wallet), Caller, Kept, ActionExecuted, &[Conflict, StateViolation];
    /// Removes a key's right to sign.
    WalletKeyRemove = 4, "wallet.key_remove",
        Account(Any), on(Wallet), Caller, Kept, ActionExecuted, &[StateViolation];
    /// Creates an API key.
    KeyCreate = 5, "key.create",
        Account(Admins), new(Key), Shared, Rechecked, ActionExecuted, &[];
    /// Deletes an API key.
    KeyDelete = 6, "key.delete",
        Account(Admins), on(Key), Shared, Rechecked, ActionExecuted, &[];
    /// Replaces an API key's secret.
    KeyRotate = 7, "key.rotate",
        Account(Admins), on(Key), Shared, Rechecked, ActionExecuted, &[];
    /// Creates a template.
    TemplateCreate = 10, "template.create",
        Account(Admins), new(Template), Shared, Kept, TemplateCreated, &[Conflict, ObjectTooLarge];
    /// Changes a template that has no live objects.
    TemplateUpdate = 11, "template.update",
        Account(Admins), on(Template), Exclusive, Kept, ActionExecuted,
        &[Conflict, ObjectTooLarge, StateViolation];
    /// Creates variations of a template, all or none.
    TemplateVariations = 12, "template.variations",
        Account(Admins), on(Template), Shared, Kept, VariationCreated, &[ObjectTooLarge];
    /// Mints an object from a template.
    Mint = 20, "mint", Bus(Issuer), new(Object), Shared, Kept, ObjectCreated, ON_OBJECTS;
    /// Merges a patch into an object's properties (RFC 7396).
    Update = 21, "update", Bus(Owner), object(Update), Shared, Kept, ObjectUpdated, ON_OBJECTS;
    /// Transfers an object to another wallet.
    Transfer = 22, "transfer", Bus(Owner), object(Transfer), Shared, Kept, ObjectTransferred, ON_OBJECTS;
    /// Locks an object.
    Lock = 23, "lock", Bus(Owner), object(Lock), Shared, Kept, ObjectLocked, ON_OBJECTS;
    /// Unlocks an object.
    Unlock = 24, "unlock", Bus(Owner), object(Unlock), Shared, Kept, ObjectUnlocked, ON_OBJECTS;
    /// Burns an object permanently.
    Burn = 25, "burn", Bus(Owner), object(Burn), Shared, Kept, ObjectBurned, ON_OBJECTS;
    /// Sets top-level properties.
    SetAttributes = 26, "set_attributes", Bus(Owner), object(SetAttributes), Shared, Kept, ObjectUpdated, ON_OBJECTS;
    /// Deletes top-level properties.
    DeleteAttributes = 27, "delete_attributes",
        Bus(Owner), object(DeleteAttributes), Shared, Kept, ObjectUpdated, ON_OBJECTS;
    /// Records a statement about an object; its version grows, its properties stay.
    Emit = 28, "emit", Bus(Owner), object(State), Shared, Kept, ActionExecuted, ON_OBJECTS;
    /// Stores a file.
    FileCreate = 30, "file.create",
        Account(Any), new(File), Shared, Kept, FileCreated, &[];
    /// Creates a webhook.
    WebhookCreate = 40, "webhook.create",
        Account(Admins), new(Webhook), Shared, Kept, ActionExecuted, &[];
    /// Changes a webhook.
    WebhookUpdate = 41, "webhook.update",
        Account(Admins), on(Webhook), Shared, Kept, ActionExecuted, &[];
    /// Deletes a webhook.
    WebhookDelete = 42, "webhook.delete",
        Account(Admins), on(Webhook), Shared, Kept, ActionExecuted, &[];
    /// Replaces a webhook's signing secret.
    WebhookRotate = 43, "webhook.rotate",
        Account(Admins), on(Webhook), Shared, Kept, ActionExecuted, &[];
    /// Invites someone to an organization.
    OrgInvite = 50, "org.invite",
        Account(AdminsAndOwnersOfOwners), on(Organization), Shared, Kept, ActionExecuted, &[];
    /// Sets what a wallet may do in its organization.
    OrgRole = 51, "org.role",
        Account(AdminsAndOwnersOfOwners), on(Organization), Member, Kept, ActionExecuted, &[];
    /// Revokes an invitation.
    OrgInvitationRevoke = 52, "org.invitation_revoke",
        Account(Admins), on(Organization), Shared, Kept, ActionExecuted, &[StateViolation];
    /// Removes a wallet from its organization.
    OrgMemberRemove = 53, "org.member_remove",
        Account(Admins), on(Organization), Member, Rechecked, ActionExecuted, &[];
    /// The operator sets an organization's tier.
    SystemTier = 60, "system.tier",
        Operator, on(Organization), Shared, Kept, ActionExecuted, &[];
    /// The operator's server records the verdict of a dispute.
    SystemVerdict = 61, "system.verdict",
        Operator, new(Dispute), Shared, Kept, ActionExecuted, &[];
    /// The operator's server switches a webhook off.
    SystemWebhookOff = 62, "system.webhook_off",
        Operator, on(Webhook), Shared, Kept, ActionExecuted, &[];
    /// The operator names the key that signs batches from a given number on.
    SystemSequencerKey = 63, "system.sequencer_key",
        Operator, new(Action), Exclusive, Kept, ActionExecuted, &[];
}

fn is_custom(text: &str) -> bool {
    text.len() <= KIND_BYTES_MAX
        && text.strip_prefix("x.").is_some_and(|rest| {
            !rest.is_empty()
                && rest
                    .bytes()
                    .all(|byte| byte.is_ascii_alphanumeric() || b"._-".contains(&byte))
        })
}

impl Kind {
    /// True for the operator's own kinds, which the operator's key signs.
    pub fn is_system(&self) -> bool {
        self.spec().audience == ActionAudience::Operator
    }

    /// True for the kinds that the action bus accepts.
    pub fn is_bus(&self) -> bool {
        matches!(self.spec().audience, ActionAudience::Bus(_))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_read_back() {
        for kind in Kind::BUILT_IN {
            assert_eq!(Kind::of_text(kind.text()).as_ref(), Some(kind));
            let number = kind.number().unwrap();
            assert_eq!(Kind::of_number(number).as_ref(), Some(kind));
            assert_eq!(kind.hash(), keccak(kind.text().as_bytes()));
            // The text shows who may request the kind.
            let area = kind.text().split_once('.').map(|(area, _)| area);
            assert_eq!(kind.is_system(), area == Some("system"), "{kind:?}");
            assert_eq!(kind.is_bus(), area.is_none(), "{kind:?}");
        }
        let custom = Kind::of_text("x.redeem").unwrap();
        assert!(custom.is_bus() && !custom.is_system());
        assert_eq!(custom.hash(), keccak(b"x.redeem"));
        for bad in ["", "x.", "redeem", "x.a b", "wallet.unknown", "Mint"] {
            assert_eq!(Kind::of_text(bad), None, "{bad}");
        }
    }
}
