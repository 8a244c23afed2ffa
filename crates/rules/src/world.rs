//! Lookups of decisions, and the requester of an action.

use std::cell::{Cell, RefCell};
use std::collections::BTreeSet;
use std::sync::Arc;

use kedge_protocol::action::Kind;
use kedge_protocol::limits::{REQUEST_READ_BYTES_MAX, REQUEST_STEPS_MAX};
pub use kedge_protocol::registry::CountedResource;
use kedge_protocol::resource::{Invitation, Organization, ResourceTrace, Role, Variation, Wallet};
use kedge_protocol::{Address, Hash, Id, Prefix};

use crate::refusal::Refusal;
use crate::template_rules::TemplateRules;

/// The requester of an action.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Caller {
    pub wallet_id: Id,
    pub organization_id: Id,
    /// Role in the organization.
    pub role: Role,
    /// Address that registered the wallet.
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

/// Stands for the operator, which has no wallet, in records.
pub const OPERATOR: Id = Id {
    prefix: Prefix::Wallet,
    bytes: [0; 16],
};

/// A wallet as the recipient of an object.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RecipientWallet {
    pub wallet_id: Id,
    pub address: Address,
}

/// Number of resources of one type in an organization.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct ResourceCount {
    /// Those not ended.
    pub live: usize,
    /// All ever made.
    pub made: u64,
}

/// Position of an action that names a key of the sequencer.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct KeyPosition {
    /// Number of the batch that holds the action.
    pub batch: u64,
    /// First batch of the last key that the log names; 0 while there is only its first key.
    pub last_from_batch: u64,
    /// Number of keys that the log names so far, without its first.
    pub named: usize,
}

/// One action, as signed.
#[derive(Clone, Copy, Debug)]
pub struct ActionInput<'a> {
    pub kind: &'a Kind,
    pub target: &'a str,
    /// The signed payload or, if that is a digest, its disclosed members.
    pub payload: &'a str,
    /// The payload's text as it was signed.
    pub signed: &'a str,
    pub content: &'a Hash,
    /// The resource's next integrity, if it was hashed already.
    pub link: Option<IntegrityLink>,
    /// Remaining steps of the request. `None` in a replay: logged actions were within the limits once.
    pub allowance: Option<&'a StepAllowance>,
}

/// Steps that one request may take: one for each byte of the objects that it changes, and those of compiling and
/// checking schemas. The limit bounds how long a request of any length delays others, and its memory. Objects read for
/// it count separately, because a refused action leaves no object.
#[derive(Debug)]
pub struct StepAllowance {
    left: Cell<u64>,
    unread: Cell<u64>,
    /// Resources whose one-time steps were taken.
    taken_for: RefCell<BTreeSet<Id>>,
}

impl Default for StepAllowance {
    fn default() -> Self {
        Self {
            left: Cell::new(REQUEST_STEPS_MAX),
            unread: Cell::new(REQUEST_READ_BYTES_MAX),
            taken_for: RefCell::default(),
        }
    }
}

impl StepAllowance {
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

    /// Takes the steps of a resource on the first call for it, or refuses.
    pub fn take_once(&self, resource: Id, steps: impl FnOnce() -> u64) -> Result<(), Refusal> {
        if self.taken_for.borrow().contains(&resource) {
            return Ok(());
        }
        self.take(steps())?;
        self.taken_for.borrow_mut().insert(resource);
        Ok(())
    }

    /// Refuses to read one more object once the objects read so far are too large together.
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

/// A precomputed step of a resource's integrity.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct IntegrityLink {
    pub previous: Hash,
    pub next: Hash,
}

impl ActionInput<'_> {
    /// Takes steps of the request's allowance, or refuses.
    pub(crate) fn take(&self, steps: u64) -> Result<(), Refusal> {
        self.allowance
            .map_or(Ok(()), |allowance| allowance.take(steps))
    }

    /// The trace of a resource with this action appended.
    #[must_use]
    pub fn extend(&self, trace: &ResourceTrace) -> ResourceTrace {
        match self.link {
            Some(link) if link.previous == trace.integrity => trace.linked(link.next),
            _ => trace.next(self.content),
        }
    }
}

/// A read failed, so the action was not judged.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct StateUnavailable;

impl From<StateUnavailable> for Refusal {
    fn from(_: StateUnavailable) -> Self {
        Self::Unavailable
    }
}

/// Lookups of decisions, besides the resource that they change. All of it is either final once it exists (a wallet's
/// address, a template's rules) or named in the decision's reads, so that the sequencer notices a change in between.
pub trait World {
    fn wallet(&self, id: Id) -> Result<Option<RecipientWallet>, StateUnavailable>;
    /// A wallet by one of its addresses.
    fn wallet_by_address(
        &self,
        address: Address,
    ) -> Result<Option<RecipientWallet>, StateUnavailable>;
    /// The whole wallet, as committed.
    fn member(&self, id: Id) -> Result<Option<Wallet>, StateUnavailable>;
    /// An organization, as committed.
    fn organization(&self, id: Id) -> Result<Option<Organization>, StateUnavailable>;
    fn invitation(&self, id: Id) -> Result<Option<Invitation>, StateUnavailable>;
    /// Number of objects minted from a template, as committed.
    fn minted(&self, template: Id) -> Result<u64, StateUnavailable>;
    /// Number of objects burned of a template, as committed.
    fn burned(&self, template: Id) -> Result<u64, StateUnavailable>;
    /// A template, with its schemas ready for use.
    fn template(&self, id: Id) -> Result<Option<Arc<TemplateRules>>, StateUnavailable>;
    fn variation(&self, id: Id) -> Result<Option<Arc<Variation>>, StateUnavailable>;
    /// Whether a wallet has the e-mail address.
    fn email_taken(&self, email: &str) -> Result<bool, StateUnavailable>;
    /// Whether a wallet has the address.
    fn address_taken(&self, address: Address) -> Result<bool, StateUnavailable>;
    /// Number of resources of a type in an organization.
    fn held(
        &self,
        organization: Id,
        of: CountedResource,
    ) -> Result<ResourceCount, StateUnavailable>;
    /// Whether the organization has a template with this name.
    fn template_name_taken(&self, organization: Id, name: &str) -> Result<bool, StateUnavailable>;
    /// Position of an action that names a key of the sequencer. Valid only for an exclusive decision, after everything
    /// before it is committed.
    fn key_place(&self) -> Result<KeyPosition, StateUnavailable>;
    /// Whether the log holds a verdict on a claim with this context.
    fn claim_context_used(&self, context: &Hash) -> Result<bool, StateUnavailable>;
}

/// The world of an action that is repeated: its name was free, and no object stood in its way. It knows nothing else.
pub(crate) struct PastWorld;

impl World for PastWorld {
    fn wallet(&self, _: Id) -> Result<Option<RecipientWallet>, StateUnavailable> {
        Err(StateUnavailable)
    }

    fn wallet_by_address(&self, _: Address) -> Result<Option<RecipientWallet>, StateUnavailable> {
        Err(StateUnavailable)
    }

    fn member(&self, _: Id) -> Result<Option<Wallet>, StateUnavailable> {
        Err(StateUnavailable)
    }

    fn organization(&self, _: Id) -> Result<Option<Organization>, StateUnavailable> {
        Err(StateUnavailable)
    }

    fn invitation(&self, _: Id) -> Result<Option<Invitation>, StateUnavailable> {
        Err(StateUnavailable)
    }

    fn minted(&self, _: Id) -> Result<u64, StateUnavailable> {
        Ok(0)
    }

    fn burned(&self, _: Id) -> Result<u64, StateUnavailable> {
        Ok(0)
    }

    fn template(&self, _: Id) -> Result<Option<Arc<TemplateRules>>, StateUnavailable> {
        Err(StateUnavailable)
    }

    fn variation(&self, _: Id) -> Result<Option<Arc<Variation>>, StateUnavailable> {
        Err(StateUnavailable)
    }

    fn email_taken(&self, _: &str) -> Result<bool, StateUnavailable> {
        Err(StateUnavailable)
    }

    fn address_taken(&self, _: Address) -> Result<bool, StateUnavailable> {
        Err(StateUnavailable)
    }

    fn held(&self, _: Id, _: CountedResource) -> Result<ResourceCount, StateUnavailable> {
        Err(StateUnavailable)
    }

    fn template_name_taken(&self, _: Id, _: &str) -> Result<bool, StateUnavailable> {
        Ok(false)
    }

    fn key_place(&self) -> Result<KeyPosition, StateUnavailable> {
        Err(StateUnavailable)
    }

    fn claim_context_used(&self, _: &Hash) -> Result<bool, StateUnavailable> {
        Err(StateUnavailable)
    }
}
