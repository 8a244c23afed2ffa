//! Anchors: checkpoints before, on and after their way to the chain.

use bincode::{BorrowDecode, Encode};
use kedge_protocol::checkpoint::{Checkpoint, SignedCheckpoint};
use kedge_protocol::signature::Signature;
use kedge_protocol::{Address, Hash, Id, Prefix};

use super::{id, kind_key};
use crate::codec::CodecError;

/// The progress of an anchor.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum AnchorStatus {
    /// Stored; nothing was sent yet.
    Pending,
    /// A transaction was sent.
    Submitted,
    /// A block holds it.
    Confirmed,
    /// A block that cannot be undone holds it.
    Finalized,
    /// Given up; a later anchor covers its batches.
    Failed,
}

/// An anchor.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct AnchorRow {
    /// Its number, from 0.
    pub number: u64,
    /// The identifier made from the checkpoint.
    pub id: Id,
    /// The checkpoint to be anchored.
    pub checkpoint: SignedCheckpoint,
    /// The first batch that no earlier anchor covers.
    pub first_batch: u64,
    /// The consistency proof from the last anchored history to this one.
    pub proof: Vec<Hash>,
    /// Its progress.
    pub status: AnchorStatus,
    /// The contract that anchors it.
    pub contract: Address,
    /// Every transaction that was sent for it, oldest first.
    pub tx_hashes: Vec<Hash>,
    /// What the sender noted before it sent, in its own format.
    pub tx: Vec<u8>,
    /// The block that holds it.
    pub block_number: Option<u64>,
    /// That block's hash.
    pub block_hash: Option<Hash>,
    /// How many times it was sent.
    pub attempts: u32,
    /// When the checkpoint was issued, milliseconds.
    pub issued_at_ms: u64,
}

impl AnchorRow {
    /// The last batch that it covers; `None` for a checkpoint of the empty log.
    pub fn last_batch(&self) -> Option<u64> {
        self.checkpoint.checkpoint.batches.checked_sub(1)
    }
}

#[derive(Encode, BorrowDecode)]
pub(crate) struct StoredAnchor<'a> {
    id: [u8; 16],
    batches: u64,
    sequence: u64,
    head: [u8; 32],
    history: [u8; 32],
    state: [u8; 32],
    issued_at_ms: u64,
    signature: [u8; 65],
    first_batch: u64,
    proof: Vec<[u8; 32]>,
    status: u8,
    contract: [u8; 20],
    tx_hashes: Vec<[u8; 32]>,
    tx: &'a [u8],
    block_number: Option<u64>,
    block_hash: Option<[u8; 32]>,
    attempts: u32,
    row_issued_at_ms: u64,
}

impl<'a> From<&'a AnchorRow> for StoredAnchor<'a> {
    fn from(row: &'a AnchorRow) -> Self {
        let checkpoint = &row.checkpoint.checkpoint;
        Self {
            id: row.id.bytes,
            batches: checkpoint.batches,
            sequence: checkpoint.sequence,
            head: checkpoint.head.0,
            history: checkpoint.history.0,
            state: checkpoint.state.0,
            issued_at_ms: checkpoint.issued_at_ms,
            signature: row.checkpoint.signature.0,
            first_batch: row.first_batch,
            proof: row.proof.iter().map(|hash| hash.0).collect(),
            status: match row.status {
                AnchorStatus::Pending => 1,
                AnchorStatus::Submitted => 2,
                AnchorStatus::Confirmed => 3,
                AnchorStatus::Finalized => 4,
                AnchorStatus::Failed => 5,
            },
            contract: row.contract.0,
            tx_hashes: row.tx_hashes.iter().map(|hash| hash.0).collect(),
            tx: &row.tx,
            block_number: row.block_number,
            block_hash: row.block_hash.map(|hash| hash.0),
            attempts: row.attempts,
            row_issued_at_ms: row.issued_at_ms,
        }
    }
}

impl StoredAnchor<'_> {
    pub(crate) fn into_anchor(self, number: u64) -> Result<AnchorRow, CodecError> {
        Ok(AnchorRow {
            number,
            id: id(Prefix::Anchor, self.id),
            checkpoint: SignedCheckpoint {
                checkpoint: Checkpoint {
                    batches: self.batches,
                    sequence: self.sequence,
                    head: Hash(self.head),
                    history: Hash(self.history),
                    state: Hash(self.state),
                    issued_at_ms: self.issued_at_ms,
                },
                signature: Signature(self.signature),
            },
            first_batch: self.first_batch,
            proof: self.proof.into_iter().map(Hash).collect(),
            status: match self.status {
                1 => AnchorStatus::Pending,
                2 => AnchorStatus::Submitted,
                3 => AnchorStatus::Confirmed,
                4 => AnchorStatus::Finalized,
                5 => AnchorStatus::Failed,
                other => return Err(CodecError::Number(other, "status of an anchor")),
            },
            contract: Address(self.contract),
            tx_hashes: self.tx_hashes.into_iter().map(Hash).collect(),
            tx: self.tx.to_vec(),
            block_number: self.block_number,
            block_hash: self.block_hash.map(Hash),
            attempts: self.attempts,
            issued_at_ms: self.row_issued_at_ms,
        })
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

/// The place of an anchor among those that hold as many batches or fewer.
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
