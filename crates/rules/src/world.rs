//! What a decision may look up, and who asks.

use std::cell::{Cell, RefCell};
use std::collections::BTreeSet;
use std::sync::Arc;

use kedge_protocol::action::Kind;
use kedge_protocol::limits::{REQUEST_READ_BYTES_MAX, REQUEST_STEPS_MAX};
use kedge_protocol::resource::{Invitation, Organization, Role, Trace, Variation, Wallet};
use kedge_protocol::{Address, Hash, Id, Prefix};

use crate::compiled::TemplateRules;
use crate::refusal::Refusal;

/// Who requests an action.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Caller {
    /// The wallet.
    pub wallet_id: Id,
    /// Its organization.
    pub organization_id: Id,
    /// Its role there.
    pub role: Role,
    /// The wallet's own address.
    pub address: Address,
}

impl Caller {
    /// The operator, who acts on an organization without belonging to it.
    pub const fn operator(organization_id: Id, address: Address) -> Self {
        Self {
            wallet_id: OPERATOR,
            organization_id,
            role: Role::Owner,
            address,
        }
    }
}

/// Used in records instead of a wallet: the operator has none.
pub const OPERATOR: Id = Id {
    prefix: Prefix::Wallet,
    bytes: [0; 16],
};

/// A wallet that can be given something.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Recipient {
    /// The wallet.
    pub wallet_id: Id,
    /// Its address.
    pub address: Address,
}

/// The things of which an organization may have only so many.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Counted {
    /// API keys.
    ApiKeys,
    /// Webhooks.
    Webhooks,
}

/// How many things of one kind an organization has.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Held {
    /// Those that were not ended.
    pub live: usize,
    /// All that were ever made.
    pub made: u64,
}

/// The position of an action that names a key of the sequencer.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct KeyPlace {
    /// The number of the batch that holds the action.
    pub batch: u64,
    /// The first batch of the last key that the log names; 0 while there is only its first key.
    pub last_from_batch: u64,
    /// How many keys the log names so far, besides its first.
    pub named: usize,
}

/// One action, as signed.
#[derive(Clone, Copy, Debug)]
pub struct Input<'a> {
    /// What it does.
    pub kind: &'a Kind,
    /// The target's text.
    pub target: &'a str,
    /// The payload's text: what was signed or, if that is a digest, what may be disclosed of it.
    pub payload: &'a str,
    /// The payload's text as it was signed.
    pub signed: &'a str,
    /// The action's content.
    pub content: &'a Hash,
    /// The integrity that follows from this content, if it was hashed already.
    pub link: Option<Link>,
    /// What its request may still take. None in a replay: what is in the log was allowed once.
    pub allowance: Option<&'a Allowance>,
}

/// What one request may take, in steps: one for each byte of the objects that it leaves, and those of schemas that are
/// compiled and checked. However short a request is, it holds up those of others no longer than that, and takes no more memory. Objects
/// that are read for it count apart, because what is refused leaves nothing.
#[derive(Debug)]
pub struct Allowance {
    left: Cell<u64>,
    unread: Cell<u64>,
    /// What steps were taken for that are taken once.
    taken_for: RefCell<BTreeSet<Id>>,
}

impl Default for Allowance {
    fn default() -> Self {
        Self {
            left: Cell::new(REQUEST_STEPS_MAX),
            unread: Cell::new(REQUEST_READ_BYTES_MAX),
            taken_for: RefCell::default(),
        }
    }
}

impl Allowance {
    /// Takes some steps, or refuses.
    pub fn take(&self, steps: u64) -> Result<(), Refusal> {
        let Some(left) = self.left.get().checked_sub(steps) else {
            return Err(Refusal::State(
                "the objects that the request leaves are too large together, or their templates' schemas take too \
                 long to check or to prepare; send fewer actions at one time"
                    .into(),
            ));
        };
        self.left.set(left);
        Ok(())
    }

    /// Takes some steps the first time that this is asked for a resource, or refuses.
    pub fn take_once(&self, resource: Id, steps: impl FnOnce() -> u64) -> Result<(), Refusal> {
        if self.taken_for.borrow().contains(&resource) {
            return Ok(());
        }
        self.take(steps())?;
        self.taken_for.borrow_mut().insert(resource);
        Ok(())
    }

    /// Refuses to read one more object once those that were read are too large together.
    pub fn before_read(&self) -> Result<(), Refusal> {
        if self.unread.get() == 0 {
            return Err(Refusal::State(
                "the objects that the request names are too large together; send fewer actions at one time".into(),
            ));
        }
        Ok(())
    }

    /// Counts the properties of an object that was read.
    pub fn count_read(&self, bytes: usize) {
        let left = self.unread.get().saturating_sub(bytes as u64);
        self.unread.set(left);
    }
}

/// A step of a resource's integrity, hashed beforehand.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Link {
    /// The integrity before.
    pub previous: Hash,
    /// The integrity after the action.
    pub next: Hash,
}

impl Input<'_> {
    /// Takes steps of its request's allowance, or refuses.
    pub(crate) fn take(&self, steps: u64) -> Result<(), Refusal> {
        self.allowance
            .map_or(Ok(()), |allowance| allowance.take(steps))
    }

    /// The trace of a resource with this action appended.
    #[must_use]
    pub fn extend(&self, trace: &Trace) -> Trace {
        match self.link {
            Some(link) if link.previous == trace.integrity => trace.linked(link.next),
            _ => trace.next(self.content),
        }
    }
}

/// A read failed; the action is neither right nor wrong.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Unavailable;

impl From<Unavailable> for Refusal {
    fn from(_: Unavailable) -> Self {
        Self::Unavailable
    }
}

/// What decisions look up besides the resource that they change. All of it is either final once it exists (a wallet's
/// address, a template's rules) or named in the decision's reads, so that the sequencer notices a change in between.
pub trait World {
    /// A wallet by its identifier.
    fn wallet(&self, id: Id) -> Result<Option<Recipient>, Unavailable>;
    /// A wallet by one of its addresses.
    fn wallet_by_address(&self, address: Address) -> Result<Option<Recipient>, Unavailable>;
    /// The whole wallet, as committed.
    fn member(&self, id: Id) -> Result<Option<Wallet>, Unavailable>;
    /// An organization, as committed.
    fn organization(&self, id: Id) -> Result<Option<Organization>, Unavailable>;
    /// An invitation.
    fn invitation(&self, id: Id) -> Result<Option<Invitation>, Unavailable>;
    /// How many objects of a template were minted, according to the committed state.
    fn minted(&self, template: Id) -> Result<u64, Unavailable>;
    /// How many of them were burned, according to the committed state.
    fn burned(&self, template: Id) -> Result<u64, Unavailable>;
    /// A template, with its schemas ready for use.
    fn template(&self, id: Id) -> Result<Option<Arc<TemplateRules>>, Unavailable>;
    /// A variation.
    fn variation(&self, id: Id) -> Result<Option<Arc<Variation>>, Unavailable>;
    /// True if a wallet has the e-mail address.
    fn email_taken(&self, email: &str) -> Result<bool, Unavailable>;
    /// True if a wallet has the address.
    fn address_taken(&self, address: Address) -> Result<bool, Unavailable>;
    /// How many things of a kind an organization has.
    fn held(&self, organization: Id, of: Counted) -> Result<Held, Unavailable>;
    /// True if the organization has a template with this name.
    fn template_name_taken(&self, organization: Id, name: &str) -> Result<bool, Unavailable>;
    /// The position of an action that names a key of the sequencer. Right only for what is decided alone, when
    /// everything before it is committed.
    fn key_place(&self) -> Result<KeyPlace, Unavailable>;
    /// True if a verdict on a claim with this context is in the log.
    fn claim_context_used(&self, context: &Hash) -> Result<bool, Unavailable>;
}
