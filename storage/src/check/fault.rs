//! What a check of the store or of its log finds wrong.

use crate::snapshot::ReadError;
use crate::tables::Table;

/// What does not hold, and where.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Fault {
    /// Something at this sequence is not what it must be.
    #[error("sequence {sequence}: {what}")]
    Wrong {
        /// The first bad sequence.
        sequence: u64,
        /// What is wrong there.
        what: String,
    },
    /// The request that begins at this sequence is not signed by whom it names, in a log that is whole otherwise.
    #[error("sequence {sequence}: {what}")]
    Signature {
        /// The request's first sequence.
        sequence: u64,
        /// What is wrong with the signature.
        what: String,
    },
    /// These sequences, or what belongs to them, cannot be read.
    #[error("sequences {first_sequence} to {last_sequence} cannot be read: {source}")]
    Unreadable {
        /// The first.
        first_sequence: u64,
        /// The last.
        last_sequence: u64,
        /// Why.
        source: ReadError,
    },
    /// A table outside the log cannot be read.
    #[error(transparent)]
    Table(#[from] ReadError),
    /// What the check itself keeps on disk cannot be written or read.
    #[error("the check's own files: {0}")]
    Scratch(String),
    /// The files of action ids hold something that the log does not explain.
    #[error("the ids of actions: {0}")]
    Ids(String),
    /// A table holds rows that the log does not explain.
    #[error("table {}: {what}", .table.name())]
    Rows {
        /// Which table.
        table: Table,
        /// What is wrong with it.
        what: String,
    },
}

impl Fault {
    pub(crate) fn wrong(sequence: u64, what: impl Into<String>) -> Self {
        Self::Wrong {
            sequence,
            what: what.into(),
        }
    }

    /// The first sequence that it is about, if it is about the log itself.
    pub(crate) fn sequence(&self) -> Option<u64> {
        match self {
            Self::Wrong { sequence, .. } | Self::Signature { sequence, .. } => Some(*sequence),
            Self::Unreadable { first_sequence, .. } => Some(*first_sequence),
            Self::Table(_) | Self::Scratch(_) | Self::Ids(_) | Self::Rows { .. } => None,
        }
    }
}

/// Returns a fault at `sequence` unless `holds`.
pub(crate) fn ensure(holds: bool, sequence: u64, what: &str) -> Result<(), Fault> {
    if holds {
        Ok(())
    } else {
        Err(Fault::wrong(sequence, what))
    }
}
