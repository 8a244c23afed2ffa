//! Faults that a check of the store or of its log finds.

use crate::snapshot::StoreReadError;
use crate::tables::Table;

/// Fault with its position.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum StoreFault {
    /// The log is wrong at this sequence.
    #[error("sequence {sequence}: {what}")]
    Wrong {
        /// The first bad sequence.
        sequence: u64,
        /// Description of the fault.
        what: String,
    },
    /// The request that begins at this sequence is not signed by its stated signer, in a log that is otherwise whole.
    #[error("sequence {sequence}: {what}")]
    Signature {
        /// The request's first sequence.
        sequence: u64,
        what: String,
    },
    /// These sequences, or rows that belong to them, cannot be read.
    #[error("sequences {first_sequence} to {last_sequence} cannot be read: {source}")]
    Unreadable {
        first_sequence: u64,
        last_sequence: u64,
        source: StoreReadError,
    },
    /// A table outside the log cannot be read.
    #[error(transparent)]
    Table(#[from] StoreReadError),
    /// The check's scratch files cannot be written or read.
    #[error("the check's own files: {0}")]
    Scratch(String),
    /// The files of action ids hold ids that the log does not explain.
    #[error("the ids of actions: {0}")]
    Ids(String),
    /// A table holds rows that the log does not explain.
    #[error("table {}: {what}", .table.name())]
    Rows { table: Table, what: String },
}

impl StoreFault {
    pub(crate) fn wrong(sequence: u64, what: impl Into<String>) -> Self {
        Self::Wrong {
            sequence,
            what: what.into(),
        }
    }

    /// The fault's first sequence, if it is in the log.
    pub(crate) fn sequence(&self) -> Option<u64> {
        match self {
            Self::Wrong { sequence, .. } | Self::Signature { sequence, .. } => Some(*sequence),
            Self::Unreadable { first_sequence, .. } => Some(*first_sequence),
            Self::Table(_) | Self::Scratch(_) | Self::Ids(_) | Self::Rows { .. } => None,
        }
    }
}

/// Returns a fault at `sequence` if `holds` is false.
pub(crate) fn ensure(holds: bool, sequence: u64, what: &str) -> Result<(), StoreFault> {
    if holds {
        Ok(())
    } else {
        Err(StoreFault::wrong(sequence, what))
    }
}
