//! Messages between the actors of the pipeline.

use std::sync::Arc;

use kedge_protocol::{Address, Id};
use ractor::ActorRef;

use super::proposal::{MintGrant, Proposal, ProposalPart};

pub(crate) enum DirectoryMessage {
    /// A new request, for admission by its organization's actor.
    Request(Box<Proposal>),
    /// An admitted request that mints of another organization's bounded templates.
    Reserve {
        organization: Id,
        unit: Box<Proposal>,
    },
    /// An admitted or stale request to decide.
    Dispatch(Arc<Proposal>),
    /// A request that went stale too often, or that changes other actors' look-ups. It is decided with no earlier
    /// request in flight.
    DispatchAlone(Arc<Proposal>),
    /// The sequencer's answer to [`SequencerMessage::Flush`].
    Flushed,
    /// An organization actor's answer to [`OrganizationMessage::Retire`].
    Retired { id: Option<Id>, idle: bool },
}

pub(crate) enum OrganizationMessage {
    /// Admit a request of one of its wallets.
    Admit(Box<Proposal>),
    /// Reserve supply of its templates for a request that was admitted.
    Reserve(Box<Proposal>),
    /// Decide an action on one of its resources, or a registration.
    Decide(ProposalPart),
    /// A proposal was refused after it was decided.
    Drop { ticket: u64 },
    /// A request of one of its wallets, or one that reserved supply, has ended.
    Settle(ProposalSettlement),
    /// A request that waits here has ended: its caller no longer waits.
    Sweep,
    /// End if nothing is in flight, and report whether it did.
    Retire,
}

/// Settlement of a finished proposal with the organization's actor.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ProposalSettlement {
    pub(crate) signer: Address,
    pub(crate) nonce: u64,
    /// The sender's wallet.
    pub(crate) wallet: Option<Id>,
    /// The wallet whose rights the request would change.
    pub(crate) subject: Option<Id>,
    /// Whether the nonce was spent.
    pub(crate) spent: bool,
    /// Reserved mints.
    pub(crate) grants: Vec<MintGrant>,
    /// Completed mints.
    pub(crate) minted: Vec<MintGrant>,
}

pub(crate) enum ShardMessage {
    /// Decide these actions of a proposal, in order.
    Decide {
        part: ProposalPart,
        indices: Vec<u16>,
    },
    /// A proposal was refused after it was decided.
    Drop { ticket: u64, unit: Arc<Proposal> },
}

pub(crate) enum SequencerMessage {
    /// All parts of a proposal have reported.
    Propose { ticket: u64, unit: Arc<Proposal> },
    /// Report when every proposal up to this ticket is committed or refused.
    Flush { ticket: u64 },
    /// The actors that decide, and the one that dispatches stale proposals again; sent once, before any proposal.
    Wire {
        directory: ActorRef<DirectoryMessage>,
        shards: Vec<ActorRef<ShardMessage>>,
    },
}
