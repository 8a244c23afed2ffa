//! Findings of a watchtower.

use kedge_protocol::Hash;
use kedge_protocol::batch::SignedBatch;
use kedge_protocol::evidence::{Evidence, LeafEvidence};
use serde::{Deserialize, Serialize};

/// The item is not signed by this log's sequencer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("it is not signed by a key of this log's contract")]
pub struct UnsignedItem;

/// A provable fault, or a breach that justifies a demand or a challenge.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Finding {
    Fault(Box<Evidence>),
    /// A signed header that is neither in the served nor in the anchored log; its anchoring can be demanded.
    Missing(Box<SignedBatch>),
    /// A signed, served and overdue header without a checkpoint; its anchoring can be demanded.
    Overdue(Box<SignedBatch>),
    /// An anchored batch with withheld leaves, which can be demanded.
    Withheld(WithheldLeaves),
    /// An anchored action without its signer's signature, or after its deadline; can be challenged.
    Unauthorised(Box<ActionChallenge>),
}

impl Finding {
    /// Name of the kind, in files and for people.
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

/// Content of a demand for leaves.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct WithheldLeaves {
    pub number: u64,
    /// Batch count of a checkpoint that holds it.
    pub anchored_batches: u64,
}

/// Content of a challenge.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct ActionChallenge {
    pub action: LeafEvidence,
    /// Batch count of a checkpoint that holds its batch.
    pub anchored_batches: u64,
    /// Path from the batch to that checkpoint's history.
    pub batch_path: Vec<Hash>,
}
