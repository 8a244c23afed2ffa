//! What each kind of action is to the rules and to the engine: a row for each. The match has no default, so that a new
//! kind does not compile without its row, and a new change of objects not without its rule.

use kedge_protocol::Prefix;
use kedge_protocol::action::Kind;
use kedge_protocol::event::EventType;
use kedge_protocol::resource::Who;

/// What a kind of action is.
#[derive(Clone, Copy, Debug)]
pub struct KindSpec {
    /// What it acts on.
    pub acts_on: ActsOn,
    /// Who may do it with objects of a template that does not state it; `None` if nobody may.
    pub by_default: Option<Who>,
    /// Which roles of an organization may do it, whatever it acts on.
    pub for_role: ForRole,
    /// Whose rights it changes.
    pub rights_of: RightsOf,
    /// It changes what other decisions look up without naming a read: it is decided with no earlier request in flight,
    /// and nothing is decided on it before it is committed.
    pub is_exclusive: bool,
    /// What its event is called.
    pub event: EventType,
}

/// What a kind of action acts on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ActsOn {
    /// Nothing that exists: it makes a resource.
    Nothing,
    /// An object, with this change.
    Object(Change),
    /// Another resource with ids of this prefix.
    Resource(Prefix),
}

/// What happens to an object.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Change {
    /// Its properties are merged with a patch.
    Update,
    /// Some properties are set.
    SetAttributes,
    /// Some properties are deleted.
    DeleteAttributes,
    /// It gets another owner.
    Transfer,
    /// It is locked.
    Lock,
    /// It is unlocked.
    Unlock,
    /// It ends.
    Burn,
    /// Only its version grows.
    State,
}

/// Which roles may do something. Rules that depend on more than a role, such as an object's owner, are not among these.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ForRole {
    /// Every role.
    Any,
    /// Owners and admins.
    Admins,
    /// Owners and admins; only owners where the payload's `role` is `owner`.
    AdminsAndOwnersOfOwners,
}

/// Whose rights an action changes. No request of that wallet is in flight at the same time as the action, so that every
/// request is placed with the rights that it was admitted with.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RightsOf {
    /// Nobody's.
    Nobody,
    /// The caller's.
    Caller,
    /// Those of the member that the payload's `wallet_id` names.
    Member,
}

/// A kind that makes a resource.
const MAKES: KindSpec = KindSpec {
    acts_on: ActsOn::Nothing,
    by_default: None,
    for_role: ForRole::Any,
    rights_of: RightsOf::Nobody,
    is_exclusive: false,
    event: EventType::ActionExecuted,
};

const fn makes(event: EventType) -> KindSpec {
    KindSpec { event, ..MAKES }
}

/// A kind that changes an object.
const fn changes(change: Change, event: EventType) -> KindSpec {
    KindSpec {
        acts_on: ActsOn::Object(change),
        by_default: Some(Who::Owner),
        event,
        ..MAKES
    }
}

/// A kind that changes another resource.
const fn on(prefix: Prefix) -> KindSpec {
    KindSpec {
        acts_on: ActsOn::Resource(prefix),
        ..MAKES
    }
}

const fn on_rights(prefix: Prefix, rights_of: RightsOf) -> KindSpec {
    KindSpec {
        rights_of,
        ..on(prefix)
    }
}

/// A kind for owners and admins.
const fn for_admins(of: KindSpec) -> KindSpec {
    KindSpec {
        for_role: ForRole::Admins,
        ..of
    }
}

/// A kind that gives a role, which only owners may give if it is theirs.
const fn for_givers(of: KindSpec) -> KindSpec {
    KindSpec {
        for_role: ForRole::AdminsAndOwnersOfOwners,
        ..of
    }
}

/// The row of a kind.
pub fn spec(kind: &Kind) -> KindSpec {
    match kind {
        Kind::WalletRegister => makes(EventType::WalletRegistered),
        Kind::WalletUpdate | Kind::WalletKeyAdd | Kind::WalletKeyRemove => {
            on_rights(Prefix::Wallet, RightsOf::Caller)
        }
        Kind::KeyCreate | Kind::WebhookCreate => for_admins(MAKES),
        Kind::SystemVerdict => MAKES,
        Kind::KeyDelete | Kind::KeyRotate => for_admins(on(Prefix::Key)),
        Kind::TemplateCreate => for_admins(makes(EventType::TemplateCreated)),
        Kind::TemplateUpdate => KindSpec {
            is_exclusive: true,
            ..for_admins(on(Prefix::Template))
        },
        Kind::TemplateVariations => KindSpec {
            event: EventType::VariationCreated,
            ..for_admins(on(Prefix::Template))
        },
        Kind::Mint => KindSpec {
            by_default: Some(Who::Issuer),
            ..makes(EventType::ObjectCreated)
        },
        Kind::Update => changes(Change::Update, EventType::ObjectUpdated),
        Kind::SetAttributes => changes(Change::SetAttributes, EventType::ObjectUpdated),
        Kind::DeleteAttributes => changes(Change::DeleteAttributes, EventType::ObjectUpdated),
        Kind::Transfer => changes(Change::Transfer, EventType::ObjectTransferred),
        Kind::Lock => changes(Change::Lock, EventType::ObjectLocked),
        Kind::Unlock => changes(Change::Unlock, EventType::ObjectUnlocked),
        Kind::Burn => changes(Change::Burn, EventType::ObjectBurned),
        Kind::Emit => changes(Change::State, EventType::ActionExecuted),
        Kind::Custom(_) => KindSpec {
            by_default: None,
            ..changes(Change::State, EventType::ActionExecuted)
        },
        Kind::FileCreate => makes(EventType::FileCreated),
        Kind::WebhookUpdate | Kind::WebhookDelete | Kind::WebhookRotate => {
            for_admins(on(Prefix::Webhook))
        }
        Kind::SystemWebhookOff => on(Prefix::Webhook),
        Kind::SystemTier => on(Prefix::Organization),
        Kind::OrgInvite => for_givers(on(Prefix::Organization)),
        Kind::OrgInvitationRevoke => for_admins(on(Prefix::Organization)),
        Kind::OrgRole => for_givers(on_rights(Prefix::Organization, RightsOf::Member)),
        Kind::OrgMemberRemove => for_admins(on_rights(Prefix::Organization, RightsOf::Member)),
        Kind::SystemSequencerKey => KindSpec {
            is_exclusive: true,
            ..MAKES
        },
    }
}
