//! Reports of the sender.

use kedge_protocol::Hash;
use serde::{Deserialize, Serialize};

use super::intent::{IntentOutcome, StoredIntent};

/// Progress of an anchor.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AnchorIntentStatus {
    /// Stored; no transaction sent.
    Pending,
    /// A transaction is in flight, or in a block that is not deep enough yet.
    Submitted,
    /// In a block with the required number of confirmations.
    Confirmed,
    /// In a block that the chain will not drop.
    Finalized,
    /// Given up; the note states why.
    Failed,
}

/// State of an intent, reported at each change and once after a restart.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct IntentUpdate {
    /// Batch count that identifies the intent.
    pub batches: u64,
    pub status: AnchorIntentStatus,
    /// The transaction in the chain, or else the last one sent.
    pub tx_hash: Option<Hash>,
    /// Set, like the following three, while the transaction is in a block.
    pub block_number: Option<u64>,
    pub block_hash: Option<Hash>,
    pub gas_used: Option<u64>,
    /// Batch count of the anchored checkpoint, while in a block: more than the intent's if another transaction was
    /// faster.
    pub covered_by_batches: Option<u64>,
    /// Number of transactions that this sender made.
    pub attempts: u32,
    /// Why it waits, was sent again, or failed.
    pub note: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AnchorSenderHealth {
    /// Failed steps since the last successful one.
    pub consecutive_failures: u32,
    pub last_error: Option<String>,
    /// Time of the next effective step; earlier calls return immediately.
    pub next_step_at_ms: u64,
    /// Intents without an outcome.
    pub open: Vec<IntentUpdate>,
}

pub(super) fn project(stored: &StoredIntent, confirmed: bool, note: Option<&str>) -> IntentUpdate {
    let inclusion = stored.inclusion;
    let (status, reason) = match &stored.outcome {
        Some(IntentOutcome::Finalized) => (AnchorIntentStatus::Finalized, None),
        Some(IntentOutcome::Failed { reason }) => {
            (AnchorIntentStatus::Failed, Some(reason.as_str()))
        }
        None if inclusion.is_some() && confirmed => (AnchorIntentStatus::Confirmed, None),
        None if stored.attempts.is_empty() => (AnchorIntentStatus::Pending, None),
        None => (AnchorIntentStatus::Submitted, None),
    };
    let last_sent = stored.attempts.last().map(|attempt| attempt.tx_hash);
    let own = stored
        .attempts
        .iter()
        .filter(|attempt| attempt.own.is_some());
    IntentUpdate {
        batches: stored.intent.batches(),
        status,
        tx_hash: inclusion.map(|inclusion| inclusion.tx_hash).or(last_sent),
        block_number: inclusion.map(|inclusion| inclusion.block_number),
        block_hash: inclusion.map(|inclusion| inclusion.block_hash),
        gas_used: inclusion.map(|inclusion| inclusion.gas_used),
        covered_by_batches: inclusion.map(|inclusion| inclusion.covers_batches),
        attempts: u32::try_from(own.count()).unwrap_or(u32::MAX),
        note: reason.or(note).map(str::to_owned),
    }
}
