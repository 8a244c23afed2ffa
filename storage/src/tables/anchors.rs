//! Rows of anchors: checkpoints on their way to the chain.

use kedge_protocol::checkpoint::SignedCheckpoint;
use kedge_protocol::{Address, Hash, Id};

use super::kind_key;
use super::row::{numbered, stored};

/// Progress of an anchor.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum AnchorProgress {
    /// Stored, not sent yet.
    Pending,
    /// A transaction was sent.
    Submitted,
    /// In a block.
    Confirmed,
    /// In a block that cannot be undone.
    Finalized,
    /// Given up; a later anchor covers its batches.
    Failed,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct AnchorRow {
    /// Consecutive number, from 0.
    pub number: u64,
    /// Identifier derived from the checkpoint.
    pub id: Id,
    /// The anchored checkpoint.
    pub checkpoint: SignedCheckpoint,
    /// The first batch that no earlier anchor covers.
    pub first_batch: u64,
    /// The consistency proof from the last anchored history to this one.
    pub proof: Vec<Hash>,
    pub status: AnchorProgress,
    /// The contract that anchors it.
    pub contract: Address,
    /// Hashes of all sent transactions; the one that counts is last.
    pub tx_hashes: Vec<Hash>,
    /// The sender's note about the transaction, in the sender's format.
    pub tx: Vec<u8>,
    pub block_number: Option<u64>,
    pub block_hash: Option<Hash>,
    /// Number of sends.
    pub attempts: u32,
    /// Time of the checkpoint, Unix milliseconds.
    pub issued_at_ms: u64,
}

impl AnchorRow {
    /// The last covered batch; `None` for a checkpoint of the empty log.
    pub fn last_batch(&self) -> Option<u64> {
        self.checkpoint.checkpoint.batches.checked_sub(1)
    }
}

numbered! {
    AnchorProgress, "status of an anchor" {
        Pending = 1,
        Submitted = 2,
        Confirmed = 3,
        Finalized = 4,
        Failed = 5,
    }
}

stored! {
    AnchorRow (not number = 0) {
        id: Anchor,
        checkpoint,
        first_batch,
        proof,
        status,
        contract,
        tx_hashes,
        tx,
        block_number,
        block_hash,
        attempts,
        issued_at_ms,
    }
}

const ROW: u8 = 1;
const NUMBER_OF_ID: u8 = 2;
const NUMBER_BY_BATCHES: u8 = 3;

/// The key of an anchor's row.
pub(crate) fn row_key(number: u64) -> Vec<u8> {
    kind_key(ROW, &number.to_be_bytes())
}

/// The key of an anchor's number by its id.
pub(crate) fn id_key(id: &Id) -> Vec<u8> {
    kind_key(NUMBER_OF_ID, &id.bytes)
}

/// Sort key of an anchor among those that cover as many batches or fewer.
pub(crate) fn batches_key(batches: u64, number: u64) -> [u8; 17] {
    let mut key = [NUMBER_BY_BATCHES; 17];
    key[1..9].copy_from_slice(&batches.to_be_bytes());
    key[9..].copy_from_slice(&number.to_be_bytes());
    key
}

/// The first byte of every row's key.
pub(crate) const ROWS: &[u8] = &[ROW];
/// The first byte of every [`batches_key`].
pub(crate) const BY_BATCHES: &[u8] = &[NUMBER_BY_BATCHES];
