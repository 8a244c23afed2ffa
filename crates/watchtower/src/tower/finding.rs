//! What a watchtower reports.

use kedge_protocol::Hash;
use kedge_protocol::batch::SignedBatch;
use kedge_protocol::evidence::{Evidence, LeafEvidence};
use serde::{Deserialize, Serialize};

/// Why an item is not a statement of this log's sequencer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("it is not signed by a key of this log's contract")]
pub struct NotSigned;

/// A provable fault, or a breach that a demand or a challenge can be based on.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Finding {
    /// A fault.
    Fault(Box<Evidence>),
    /// A signed header that neither the served nor the anchored log holds: its anchoring can be demanded.
    Missing(Box<SignedBatch>),
    /// A signed, served header that no checkpoint holds although it is overdue: its anchoring can be demanded.
    Overdue(Box<SignedBatch>),
    /// An anchored batch whose leaves the operator withholds: they can be demanded.
    Withheld(Withheld),
    /// An anchored action whose request was not signed by its signer, or came too late: it can be challenged.
    Unauthorised(Box<Challenge>),
}

impl Finding {
    /// The text for its kind, in files and for people.
    pub fn text(&self) -> &'static str {
        match self {
            Self::Fault(evidence) => evidence.fault().text(),
            Self::Missing(_) => "missing_batch",
            Self::Overdue(_) => "overdue_batch",
            Self::Withheld(_) => "withheld_leaves",
            Self::Unauthorised(_) => "unauthorised_action",
        }
    }
}

/// The contents of a demand for leaves.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Withheld {
    /// The batch.
    pub number: u64,
    /// A batch count whose checkpoint holds it.
    pub anchored_batches: u64,
}

/// The contents of a challenge.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Challenge {
    /// The action.
    pub action: LeafEvidence,
    /// A batch count whose checkpoint holds its batch.
    pub anchored_batches: u64,
    /// From the batch to that checkpoint's history.
    pub batch_path: Vec<Hash>,
}
