//! Anchor intents, and their state as stored before anything is sent.

use kedge_protocol::Hash;
use kedge_protocol::checkpoint::SignedCheckpoint;
use serde::{Deserialize, Serialize};

use crate::transaction::Fees;

/// A checkpoint to anchor, with the contract's other inputs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AnchorIntent {
    /// The checkpoint and the sequencer's signature.
    pub signed: SignedCheckpoint,
    /// Batch count of the contract's checkpoint that `proof` extends.
    pub extends_batches: u64,
    /// RFC 9162 consistency proof; empty when `extends_batches` is 0.
    pub proof: Vec<Hash>,
}

impl AnchorIntent {
    /// Number of anchored batches, which identifies the intent.
    pub fn batches(&self) -> u64 {
        self.signed.checkpoint.batches
    }
}

/// A transaction that may anchor the checkpoint.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AnchorAttempt {
    pub tx_hash: Hash,
    /// Set if this sender made the transaction; `None` if it was found through the contract.
    pub own: Option<AttemptParameters>,
    /// Time of sending or finding.
    pub at_ms: u64,
}

/// The parameters to rebuild a transaction byte for byte.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct AttemptParameters {
    pub nonce: u64,
    pub gas_limit: u64,
    /// Its fee caps.
    pub fees: Fees,
}

/// A transaction's position in the chain.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Inclusion {
    pub tx_hash: Hash,
    pub block_number: u64,
    pub block_hash: Hash,
    pub gas_used: u64,
    /// Batch count of the anchored checkpoint: the intent's, or more.
    pub covers_batches: u64,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum IntentOutcome {
    /// Its inclusion is final.
    Finalized,
    /// Given up; a new intent may succeed.
    Failed { reason: String },
}

/// An intent and its history, with which a restart continues.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StoredIntent {
    pub intent: AnchorIntent,
    /// All transactions, oldest first; each is stored before it is sent.
    pub attempts: Vec<AnchorAttempt>,
    /// Position in the chain, as last seen.
    pub inclusion: Option<Inclusion>,
    /// Kept until it has been reported.
    pub outcome: Option<IntentOutcome>,
}

impl StoredIntent {
    pub(super) fn new(intent: AnchorIntent) -> Self {
        Self {
            intent,
            attempts: Vec::new(),
            inclusion: None,
            outcome: None,
        }
    }

    /// This sender's last transaction.
    pub(super) fn last_own(&self) -> Option<(&AnchorAttempt, AttemptParameters)> {
        let mut attempts = self.attempts.iter().rev();
        attempts.find_map(|attempt| Some((attempt, attempt.own?)))
    }
}
