//! The resources that actions make and change, as the log's fold leaves them.

use serde::{Deserialize, Serialize};

use crate::action::Kind;
use crate::address::Address;
use crate::chain::next_integrity;
use crate::hash::Hash;
use crate::ids::Id;

/// What every resource carries: where it stands in its own history and in the log.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Trace {
    /// How many actions made it what it is; 1 after the first.
    pub version: u64,
    /// The hash over the contents of those actions.
    pub integrity: Hash,
    /// The sequence of the first.
    pub created_sequence: u64,
    /// The sequence of the last.
    pub sequence: u64,
    /// The time of the first, milliseconds.
    pub created_at_ms: u64,
    /// The time of the last, milliseconds.
    pub updated_at_ms: u64,
}

impl Trace {
    /// Before the first action.
    pub const NEW: Self = Self {
        version: 0,
        integrity: Hash::ZERO,
        created_sequence: 0,
        sequence: 0,
        created_at_ms: 0,
        updated_at_ms: 0,
    };

    /// With one more action of this content, whose place in the log is not known yet.
    #[must_use]
    pub fn next(&self, content: &Hash) -> Self {
        Self {
            version: self.version + 1,
            integrity: next_integrity(&self.integrity, content),
            ..*self
        }
    }

    /// Writes down the place in the log that its last action was given.
    pub fn place(&mut self, sequence: u64, timestamp_ms: u64) {
        if self.version == 1 {
            self.created_sequence = sequence;
            self.created_at_ms = timestamp_ms;
        }
        self.sequence = sequence;
        self.updated_at_ms = timestamp_ms;
    }
}

/// What a wallet may do in its organization.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum Role {
    /// Made the organization; everything.
    Owner,
    /// Everything but the owner's own rights.
    Admin,
    /// Acts with its own objects and as templates allow.
    Member,
}

/// An organization's subscription.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum Tier {
    /// 100 requests a minute, 1,000 a day.
    Free,
    /// 500 a minute, 50,000 a day.
    Developer,
    /// 5,000 a minute.
    Enterprise,
}

/// An organization: who the wallets, templates and limits belong to.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Organization {
    /// Its identifier.
    pub id: Id,
    /// Its name; not unique.
    pub name: String,
    /// Its subscription.
    pub tier: Tier,
    /// Its place in its history and the log.
    pub trace: Trace,
}

/// A wallet: a person's or a machine's account, with the keys that sign for it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Wallet {
    /// Its identifier.
    pub id: Id,
    /// The organization that it belongs to, for ever.
    pub organization_id: Id,
    /// What it may do there.
    pub role: Role,
    /// A name to show.
    pub nickname: Option<String>,
    /// The address for logging in, lower case; unique.
    pub email: String,
    /// The address that registered it.
    pub address: Address,
    /// The keys that sign for it now.
    pub keys: Vec<Address>,
    /// Its place in its history and the log.
    pub trace: Trace,
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

/// A rule of a template: this kind of action is allowed, to these.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ActionRule {
    /// A kind of the action bus.
    pub kind: Kind,
    /// Who may do it.
    pub who: Who,
}

/// A template: what objects are made from.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Template {
    /// Its identifier.
    pub id: Id,
    /// The organization that issues its objects.
    pub organization_id: Id,
    /// Its name, unique in the organization.
    pub name: String,
    /// What it is for.
    pub description: String,
    /// Properties that its objects begin with: compact JSON, an object.
    pub properties: String,
    /// How many objects may ever be minted.
    pub max_supply: Option<u64>,
    /// Who may do what, where the default does not fit.
    pub actions: Vec<ActionRule>,
    /// Readable, with its objects, by every organization.
    pub public_access: bool,
    /// How many variations it has.
    pub variation_count: u64,
    /// Its place in its history and the log.
    pub trace: Trace,
}

/// A variation: other beginning properties for objects of the same template.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Variation {
    /// Its identifier.
    pub id: Id,
    /// Its template.
    pub template_id: Id,
    /// The organization of the template.
    pub organization_id: Id,
    /// Its name, unique in the template.
    pub name: String,
    /// Merged over the template's properties: compact JSON, an object.
    pub properties: String,
    /// Its number among the template's variations, from 0.
    pub index: u64,
    /// The sequence of the action that made it.
    pub created_sequence: u64,
    /// The time of that action, milliseconds.
    pub created_at_ms: u64,
}

/// What may happen to an object now.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum ObjectStatus {
    /// Everything that its template allows.
    Active,
    /// Nothing but unlocking.
    Locked,
    /// Nothing, for good.
    Burned,
}

/// An object.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Object {
    /// Its identifier.
    pub id: Id,
    /// The organization that issued it.
    pub organization_id: Id,
    /// The template that it was made from.
    pub template_id: Id,
    /// The variation, if one was named.
    pub variation_id: Option<Id>,
    /// The wallet that owns it.
    pub owner_id: Id,
    /// That wallet's address.
    pub owner_address: Address,
    /// Its properties: compact JSON, an object.
    pub properties: String,
    /// What may happen to it.
    pub status: ObjectStatus,
    /// Its place in its history and the log.
    pub trace: Trace,
}
