//! What is to be anchored, and what is stored about it before anything is sent.

use kedge_protocol::Hash;
use kedge_protocol::checkpoint::SignedCheckpoint;
use serde::{Deserialize, Serialize};

use crate::transaction::Fees;

/// A checkpoint to anchor, with everything that the contract requires.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AnchorIntent {
    /// The checkpoint and the sequencer's signature.
    pub signed: SignedCheckpoint,
    /// The contract's last checkpoint that `proof` starts from (its `batches`).
    pub extends_batches: u64,
    /// RFC 9162 consistency proof; empty when `extends_batches` is 0.
    pub proof: Vec<Hash>,
}

impl AnchorIntent {
    /// How many batches it anchors; this number also identifies the intent.
    pub fn batches(&self) -> u64 {
        self.signed.checkpoint.batches
    }
}

/// One transaction that may anchor the checkpoint.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Attempt {
    /// Its hash.
    pub tx_hash: Hash,
    /// Set if this sender made it; `None` for a transaction found through the contract.
    pub own: Option<OwnAttempt>,
    /// When it was first sent or found, in milliseconds.
    pub at_ms: u64,
}

/// What this sender needs to rebuild a transaction, to the byte.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct OwnAttempt {
    /// The sender's nonce.
    pub nonce: u64,
    /// The gas limit.
    pub gas_limit: u64,
    /// What it offers.
    pub fees: Fees,
}

/// A transaction's place in the chain.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Inclusion {
    /// The transaction.
    pub tx_hash: Hash,
    /// The block's height.
    pub block_number: u64,
    /// The block's hash.
    pub block_hash: Hash,
    /// The gas that it used.
    pub gas_used: u64,
    /// The `batches` of the checkpoint that it carried: the intent's, or more.
    pub covers_batches: u64,
}

/// How an intent ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Outcome {
    /// Its inclusion is final.
    Finalized,
    /// It will not be sent again; a new intent may do better.
    Failed {
        /// The reason, for people.
        reason: String,
    },
}

/// An intent and its history: what the store keeps and a restart continues with.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StoredIntent {
    /// What to anchor.
    pub intent: AnchorIntent,
    /// Every transaction, oldest first; stored before it is sent.
    pub attempts: Vec<Attempt>,
    /// Its place in the chain, as last seen.
    pub inclusion: Option<Inclusion>,
    /// Its end; kept until it has been reported.
    pub outcome: Option<Outcome>,
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

    /// The last transaction that this sender made for it.
    pub(super) fn last_own(&self) -> Option<(&Attempt, OwnAttempt)> {
        let mut attempts = self.attempts.iter().rev();
        attempts.find_map(|attempt| Some((attempt, attempt.own?)))
    }
}
