//! Metadata of the store: its format, its domain, the log's head.

use kedge_protocol::batch::BatchHeader;
use kedge_protocol::eip712::Domain;
use kedge_protocol::{Address, Hash};

use super::row::stored;
use crate::codec::{self, CodecError};

/// Last version whose stores held their log as rows.
pub(crate) const FORMAT_LOG_IN_STORE: u64 = 5;

pub(crate) const FORMAT_KEY: &[u8] = b"format";
pub(crate) const DOMAIN_KEY: &[u8] = b"domain";
/// The sequencer's key from batch 0 on.
pub(crate) const FIRST_KEY_KEY: &[u8] = b"first_key";
pub(crate) const HEAD_KEY: &[u8] = b"head";
/// The last frame whose rows are applied.
pub(crate) const APPLIED_KEY: &[u8] = b"applied";
pub(crate) const OPERATORS_KEY: &[u8] = b"operators";
/// The position of the last event outside the log.
pub(crate) const EVENTS_KEY: &[u8] = b"events";
/// The number of batches from which on checkpoints have a root of the state.
pub(crate) const ROOTS_FROM_KEY: &[u8] = b"roots_from";
/// The number of batches after which the last root of the state is due.
pub(crate) const ROOT_DUE_KEY: &[u8] = b"root_due";

/// Rows of this table that side entries of the log hold. The others follow from the log, or are about this copy of the
/// state.
pub(crate) const SIDE_KEYS: [&[u8]; 5] = [
    FIRST_KEY_KEY,
    OPERATORS_KEY,
    EVENTS_KEY,
    ROOTS_FROM_KEY,
    ROOT_DUE_KEY,
];

/// The last frame of the log whose rows a state holds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct AppliedFrame {
    /// Number; 0 if there is none.
    pub(crate) frame: u64,
    /// Hash: a state made from another log does not pass for one of this log.
    pub(crate) hash: Hash,
}

impl AppliedFrame {
    pub(crate) fn to_row(self) -> [u8; 40] {
        let mut row = [0; 40];
        row[..8].copy_from_slice(&self.frame.to_be_bytes());
        row[8..].copy_from_slice(&self.hash.0);
        row
    }

    pub(crate) fn of_row(row: &[u8]) -> Result<Self, CodecError> {
        let row: [u8; 40] = codec::array(row)?;
        let (frame, hash) = row.split_at(8);
        Ok(Self {
            frame: codec::number(frame)?,
            hash: Hash(codec::array(hash)?),
        })
    }
}

impl From<&kedge_log::LogPosition> for AppliedFrame {
    fn from(position: &kedge_log::LogPosition) -> Self {
        Self {
            frame: position.frame,
            hash: position.hash,
        }
    }
}

/// The addresses that sign for the operator, in order.
pub(crate) fn read_operators(bytes: &[u8]) -> Result<Vec<Address>, CodecError> {
    let (addresses, rest) = bytes.as_chunks::<20>();
    if rest.is_empty() {
        Ok(addresses.iter().map(|bytes| Address(*bytes)).collect())
    } else {
        Err(CodecError::bytes("the operator's addresses are cut off"))
    }
}

/// Head of the log.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LogHead {
    /// Number of batches.
    pub batches: u64,
    /// The last action's sequence; 0 before the first.
    pub sequence: u64,
    /// The hash chain's head; the domain separator before the first action.
    pub head: Hash,
    /// Sealing time of the last batch, Unix milliseconds; 0 before the first.
    pub last_sealed_at_ms: u64,
}

impl LogHead {
    /// The head of a log without actions.
    pub fn empty(domain: &Domain) -> Self {
        Self::empty_of(domain.separator())
    }

    /// The head of a log without actions whose domain has this separator.
    pub(crate) fn empty_of(separator: Hash) -> Self {
        Self {
            batches: 0,
            sequence: 0,
            head: separator,
            last_sealed_at_ms: 0,
        }
    }

    /// The head after a last batch with this header. An unchecked header may name any numbers.
    pub fn after(header: &BatchHeader) -> Self {
        let next_sequence = header
            .first_sequence
            .saturating_add(u64::from(header.count));
        Self {
            batches: header.number.saturating_add(1),
            sequence: next_sequence.saturating_sub(1),
            head: header.head,
            last_sealed_at_ms: header.sealed_at_ms,
        }
    }
}

stored! { LogHead { batches, sequence, head, last_sealed_at_ms } }
stored! { Domain { chain_id, verifying_contract } }
