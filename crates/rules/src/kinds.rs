//! Properties of each kind of action for the rules and the engine: a row for each. The match has no default, so that a
//! new kind does not compile without its row, and a new change of objects not without its rule.

use kedge_protocol::Prefix;
use kedge_protocol::action::Kind;
use kedge_protocol::event::EventType;
use kedge_protocol::resource::Who;

/// Properties of a kind of action.
#[derive(Clone, Copy, Debug)]
pub struct KindSpec {
    pub acts_on: ActionSubject,
    /// Who may request it for objects of a template without a rule for it; `None` for no wallet.
    pub by_default: Option<Who>,
    /// Roles of an organization that may request it, whatever it acts on.
    pub for_role: RoleScope,
    pub rights_of: RightsChange,
    /// It changes state that other decisions read without recording the read. So it is decided with no earlier request
    /// in flight, and it blocks further decisions until it is committed.
    pub is_exclusive: bool,
    /// Type of its event.
    pub event: EventType,
}

/// Target of a kind of action.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ActionSubject {
    /// No existing resource: the action makes one.
    Nothing,
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
    Transfer,
    Lock,
    Unlock,
    Burn,
    /// Only increments its version.
    State,
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

/// The wallet whose rights an action changes. No request of that wallet is in flight at the same time as the action, so
/// that every request is placed with the rights with which it was admitted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RightsChange {
    /// No wallet.
    Nobody,
    Caller,
    /// The member that the payload's `wallet_id` names.
    Member,
}

/// A kind that makes a resource.
const MAKES: KindSpec = KindSpec {
    acts_on: ActionSubject::Nothing,
    by_default: None,
    for_role: RoleScope::Any,
    rights_of: RightsChange::Nobody,
    is_exclusive: false,
    event: EventType::ActionExecuted,
};

const fn makes(event: EventType) -> KindSpec {
    KindSpec { event, ..MAKES }
}

/// A kind that changes an object.
const fn changes(change: ObjectChange, event: EventType) -> KindSpec {
    KindSpec {
        acts_on: ActionSubject::Object(change),
        by_default: Some(Who::Owner),
        event,
        ..MAKES
    }
}

/// A kind that changes another resource.
const fn on(prefix: Prefix) -> KindSpec {
    KindSpec {
        acts_on: ActionSubject::Resource(prefix),
        ..MAKES
    }
}

const fn on_rights(prefix: Prefix, rights_of: RightsChange) -> KindSpec {
    KindSpec {
        rights_of,
        ..on(prefix)
    }
}

/// A kind for owners and admins.
const fn for_admins(of: KindSpec) -> KindSpec {
    KindSpec {
        for_role: RoleScope::Admins,
        ..of
    }
}

/// A kind that assigns a role; only owners may assign the owner's.
const fn for_givers(of: KindSpec) -> KindSpec {
    KindSpec {
        for_role: RoleScope::AdminsAndOwnersOfOwners,
        ..of
    }
}

pub fn spec(kind: &Kind) -> KindSpec {
    match kind {
        Kind::WalletRegister => makes(EventType::WalletRegistered),
        Kind::WalletUpdate | Kind::WalletKeyAdd | Kind::WalletKeyRemove => {
            on_rights(Prefix::Wallet, RightsChange::Caller)
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
        Kind::Update => changes(ObjectChange::Update, EventType::ObjectUpdated),
        Kind::SetAttributes => changes(ObjectChange::SetAttributes, EventType::ObjectUpdated),
        Kind::DeleteAttributes => changes(ObjectChange::DeleteAttributes, EventType::ObjectUpdated),
        Kind::Transfer => changes(ObjectChange::Transfer, EventType::ObjectTransferred),
        Kind::Lock => changes(ObjectChange::Lock, EventType::ObjectLocked),
        Kind::Unlock => changes(ObjectChange::Unlock, EventType::ObjectUnlocked),
        Kind::Burn => changes(ObjectChange::Burn, EventType::ObjectBurned),
        Kind::Emit => changes(ObjectChange::State, EventType::ActionExecuted),
        Kind::Custom(_) => KindSpec {
            by_default: None,
            ..changes(ObjectChange::State, EventType::ActionExecuted)
        },
        Kind::FileCreate => makes(EventType::FileCreated),
        Kind::WebhookUpdate | Kind::WebhookDelete | Kind::WebhookRotate => {
            for_admins(on(Prefix::Webhook))
        }
        Kind::SystemWebhookOff => on(Prefix::Webhook),
        Kind::SystemTier => on(Prefix::Organization),
        Kind::OrgInvite => for_givers(on(Prefix::Organization)),
        Kind::OrgInvitationRevoke => for_admins(on(Prefix::Organization)),
        Kind::OrgRole => for_givers(on_rights(Prefix::Organization, RightsChange::Member)),
        Kind::OrgMemberRemove => for_admins(on_rights(Prefix::Organization, RightsChange::Member)),
        Kind::SystemSequencerKey => KindSpec {
            is_exclusive: true,
            ..MAKES
        },
    }
}
