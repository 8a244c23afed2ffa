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
    /// An anchored action whose request was not signed by its signer, or came too late: it can be
    /// challenged.
    Unauthorised(Box<Challenge>),
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
