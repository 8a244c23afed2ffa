//! What the store says of itself: its format, its domain, the log's head.

use bincode::{BorrowDecode, Encode};
use kedge_protocol::eip712::Domain;
use kedge_protocol::{Address, Hash};

/// The version of all keys, rows and rules of the log together; another one is another store.
pub(crate) const FORMAT_VERSION: u64 = 5;

/// Logs of stores up to this version began a new organization with the integrity of its first wallet.
pub(crate) const FORMAT_SHARED_INTEGRITY: u64 = 3;

pub(crate) const FORMAT_KEY: &[u8] = b"format";
pub(crate) const DOMAIN_KEY: &[u8] = b"domain";
/// The sequencer's key from batch 0 on.
pub(crate) const FIRST_KEY_KEY: &[u8] = b"first_key";
pub(crate) const HEAD_KEY: &[u8] = b"head";
/// The sequence up to which every action is in the table of ids.
pub(crate) const INDEXED_KEY: &[u8] = b"indexed";
pub(crate) const OPERATORS_KEY: &[u8] = b"operators";
/// The place of the last event besides the log.
pub(crate) const EVENTS_KEY: &[u8] = b"events";

/// Where the log ends.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LogHead {
    /// How many batches there are.
    pub batches: u64,
    /// The last action's sequence; 0 before the first.
    pub sequence: u64,
    /// The hash chain's head; the domain separator before the first action.
    pub head: Hash,
    /// When the last batch was sealed, milliseconds; 0 before the first.
    pub last_sealed_at_ms: u64,
}

impl LogHead {
    /// The head of a log without actions.
    pub fn empty(domain: &Domain) -> Self {
        Self {
            batches: 0,
            sequence: 0,
            head: domain.separator(),
            last_sealed_at_ms: 0,
        }
    }
}

#[derive(Encode, BorrowDecode)]
pub(crate) struct HeadRow {
    batches: u64,
    sequence: u64,
    head: [u8; 32],
    last_sealed_at_ms: u64,
}

impl From<&LogHead> for HeadRow {
    fn from(head: &LogHead) -> Self {
        Self {
            batches: head.batches,
            sequence: head.sequence,
            head: head.head.0,
            last_sealed_at_ms: head.last_sealed_at_ms,
        }
    }
}

impl From<HeadRow> for LogHead {
    fn from(row: HeadRow) -> Self {
        Self {
            batches: row.batches,
            sequence: row.sequence,
            head: Hash(row.head),
            last_sealed_at_ms: row.last_sealed_at_ms,
        }
    }
}

#[derive(Encode, BorrowDecode)]
pub(crate) struct DomainRow {
    chain_id: u64,
    verifying_contract: [u8; 20],
}

impl From<&Domain> for DomainRow {
    fn from(domain: &Domain) -> Self {
        Self {
            chain_id: domain.chain_id,
            verifying_contract: domain.verifying_contract.0,
        }
    }
}

impl From<DomainRow> for Domain {
    fn from(row: DomainRow) -> Self {
        Self {
            chain_id: row.chain_id,
            verifying_contract: Address(row.verifying_contract),
        }
    }
}
