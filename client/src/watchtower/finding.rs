//! What a watchtower reports.

use kedge_protocol::Hash;
use kedge_protocol::batch::SignedBatch;
use kedge_protocol::evidence::{Evidence, LeafEvidence};
use serde::{Deserialize, Serialize};

/// Why something that was shown is no statement of this log's sequencer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("it is not signed by a key of this log's contract")]
pub struct NotSigned;

/// A fault that can be proven, or a header that the log should hold and does not.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Finding {
    /// A fault.
    Fault(Box<Evidence>),
    /// A signed header that neither the served nor the anchored log holds: its anchoring can be demanded.
    Missing(Box<SignedBatch>),
    /// A signed header that was served, and that no checkpoint holds for too long: its anchoring can be
    /// demanded.
    Overdue(Box<SignedBatch>),
    /// An anchored batch whose leaves the operator does not give: they can be demanded.
    Withheld(Withheld),
    /// An anchored action whose request was not signed by its signer, or came too late: it can be
    /// challenged.
    Unauthorised(Box<Challenge>),
}

impl Finding {
    /// The text that stands for its kind in files and for people.
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

/// What a demand for leaves is made of.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Withheld {
    /// The batch.
    pub number: u64,
    /// Names a checkpoint that holds it.
    pub anchored_batches: u64,
}

/// What a challenge is made of.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Challenge {
    /// The action.
    pub action: LeafEvidence,
    /// Names a checkpoint that holds its batch.
    pub anchored_batches: u64,
    /// From the batch to that checkpoint's history.
    pub batch_path: Vec<Hash>,
}
