//! The messages between the actors of the pipeline.

use std::sync::Arc;

use kedge_protocol::{Address, Id};
use ractor::ActorRef;

use super::unit::{Grant, Part, Unit};

/// Messages to the directory.
pub(crate) enum DirectoryMessage {
    /// A new request, to be admitted by its organization's actor.
    Request(Box<Unit>),
    /// An admitted request that mints of another organization's bounded templates.
    Reserve { organization: Id, unit: Box<Unit> },
    /// An admitted request, to be decided, again if it was stale.
    Dispatch(Arc<Unit>),
    /// A request that went stale too often, or that changes what others look up. It is decided with no earlier request
    /// in flight.
    DispatchAlone(Arc<Unit>),
    /// The sequencer answers [`SequencerMessage::Flush`].
    Flushed,
    /// An organization's actor answers [`OrganizationMessage::Retire`].
    Retired { id: Option<Id>, idle: bool },
}

/// Messages to an organization's actor.
pub(crate) enum OrganizationMessage {
    /// Admit a request of one of its wallets.
    Admit(Box<Unit>),
    /// Reserve supply of its templates for a request that was admitted.
    Reserve(Box<Unit>),
    /// Decide an action on one of its resources, or a registration.
    Decide(Part),
    /// A unit was refused after it was decided.
    Drop { ticket: u64 },
    /// A request of one of its wallets, or one that reserved supply, has ended.
    Settle(Settlement),
    /// A request that waits here has ended: its caller no longer waits.
    Sweep,
    /// End if nothing is in flight, and report whether it did.
    Retire,
}

/// How a unit ended, for the organization's actor.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Settlement {
    /// The signer.
    pub(crate) signer: Address,
    /// The nonce.
    pub(crate) nonce: u64,
    /// The wallet that asked.
    pub(crate) wallet: Option<Id>,
    /// The wallet whose rights it was to change.
    pub(crate) subject: Option<Id>,
    /// True if the nonce was spent.
    pub(crate) spent: bool,
    /// The mints that were reserved.
    pub(crate) grants: Vec<Grant>,
    /// The mints that were done.
    pub(crate) minted: Vec<Grant>,
}

/// Messages to a shard.
pub(crate) enum ShardMessage {
    /// Decide these actions of a unit, in order.
    Decide { part: Part, indices: Vec<u16> },
    /// A unit was refused after it was decided.
    Drop { ticket: u64, unit: Arc<Unit> },
}

/// Messages to the sequencer.
pub(crate) enum SequencerMessage {
    /// All parts of a unit have reported.
    Propose { ticket: u64, unit: Arc<Unit> },
    /// Report when every unit up to this ticket is committed or refused.
    Flush { ticket: u64 },
    /// The actors that decide, and the one that redispatches stale units; sent once, before any unit.
    Wire {
        directory: ActorRef<DirectoryMessage>,
        shards: Vec<ActorRef<ShardMessage>>,
    },
}
