//! Batch headers, their leaves, and the log tree's nodes.

use bincode::{BorrowDecode, Encode};
use kedge_protocol::Hash;
use kedge_protocol::batch::{BatchHeader, SignedBatch};
use kedge_protocol::signature::Signature;

use crate::codec::CodecError;

/// [`SignedBatch`] as stored, under its number.
#[derive(Encode, BorrowDecode)]
pub(crate) struct BatchRow {
    number: u64,
    first_sequence: u64,
    count: u32,
    previous_head: [u8; 32],
    head: [u8; 32],
    root: [u8; 32],
    history: [u8; 32],
    state: [u8; 32],
    sealed_at_ms: u64,
    signature: [u8; 65],
}

impl From<&SignedBatch> for BatchRow {
    fn from(batch: &SignedBatch) -> Self {
        let header = &batch.header;
        Self {
            number: header.number,
            first_sequence: header.first_sequence,
            count: header.count,
            previous_head: header.previous_head.0,
            head: header.head.0,
            root: header.root.0,
            history: header.history.0,
            state: header.state.0,
            sealed_at_ms: header.sealed_at_ms,
            signature: batch.signature.0,
        }
    }
}

impl From<BatchRow> for SignedBatch {
    fn from(row: BatchRow) -> Self {
        Self {
            header: BatchHeader {
                number: row.number,
                first_sequence: row.first_sequence,
                count: row.count,
                previous_head: Hash(row.previous_head),
                head: Hash(row.head),
                root: Hash(row.root),
                history: Hash(row.history),
                state: Hash(row.state),
                sealed_at_ms: row.sealed_at_ms,
            },
            signature: Signature(row.signature),
        }
    }
}

/// The leaf hashes of a batch, one after the other.
pub(crate) fn decode_leaves(bytes: &[u8]) -> Result<Vec<Hash>, CodecError> {
    let (hashes, rest) = bytes.as_chunks::<32>();
    if rest.is_empty() {
        Ok(hashes.iter().copied().map(Hash).collect())
    } else {
        Err(CodecError::bytes("the leaves are not whole hashes"))
    }
}

/// Level ‖ index.
pub(crate) fn node_key(level: u32, index: u64) -> [u8; 9] {
    let mut key = [0; 9];
    key[0] = u8::try_from(level).expect("a tree over u64-many leaves has 64 levels");
    key[1..].copy_from_slice(&index.to_be_bytes());
    key
}
