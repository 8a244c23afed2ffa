//! The batches of the log, recomputed from their requests. Opening does it for the last ones, `verify` for all. What a
//! batch states about itself is checked separately ([`own`]), by several threads if need be; a [`Walk`] then joins
//! batch to batch.

pub(crate) mod own;

use kedge_protocol::batch::SignedBatch;
use kedge_protocol::chain::Leaf;
use kedge_protocol::eip712::Domain;
use kedge_protocol::log_tree::{self, Frontier, Nodes as _};
use kedge_protocol::record::RequestRecord;

use self::own::OwnBatch;
use crate::snapshot::{ReadError, Snapshot};
use crate::tables::Table;
use crate::tables::meta::LogHead;

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
            Self::Wrong { sequence, .. } => Some(*sequence),
            Self::Unreadable { first_sequence, .. } => Some(*first_sequence),
            Self::Table(_) | Self::Ids(_) | Self::Rows { .. } => None,
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

/// Joins batches that were checked individually, in order, to the log before them.
pub(crate) struct Walk<'a> {
    snapshot: &'a Snapshot,
    /// The log before the next batch.
    pub(crate) head: LogHead,
    /// The log tree before the next batch.
    tree: Frontier,
    last_timestamp_ms: u64,
}

impl<'a> Walk<'a> {
    /// Begins before batch `number`.
    pub(crate) fn begin(
        snapshot: &'a Snapshot,
        domain: &Domain,
        number: u64,
    ) -> Result<Self, Fault> {
        let head = match number.checked_sub(1) {
            None => LogHead::empty(domain),
            Some(before) => {
                let batch = snapshot.batch(before)?;
                LogHead::after(&batch.ok_or_else(|| snapshot.no_batch(before))?.header)
            }
        };
        Ok(Self {
            snapshot,
            head,
            tree: Frontier::load(number, snapshot)?,
            last_timestamp_ms: 0,
        })
    }

    /// Joins the next batch as it was read; `each` sees every request of it, and its leaves.
    pub(crate) fn join(
        &mut self,
        read: Result<OwnBatch, ReadError>,
        mut each: impl FnMut(&RequestRecord<'_>, &[Leaf]) -> Result<(), Fault>,
    ) -> Result<(), Fault> {
        let first = self.head.sequence + 1;
        let own = read.map_err(|source| Fault::Unreadable {
            first_sequence: first,
            last_sequence: first,
            source,
        })?;
        self.header(&own.batch)?;
        for request in &own.requests {
            let record = request.record();
            ensure(
                record.timestamp_ms >= self.last_timestamp_ms,
                record.first_sequence,
                "the request's time is before the previous request's",
            )?;
            self.last_timestamp_ms = record.timestamp_ms;
            each(record, &request.leaves)?;
        }
        own.end?;
        self.append(&own.batch)?;
        self.head = LogHead::after(&own.batch.header);
        Ok(())
    }

    fn header(&self, batch: &SignedBatch) -> Result<(), Fault> {
        let header = &batch.header;
        let first = self.head.sequence + 1;
        let holds = |holds, what| ensure(holds, first, what);
        holds(
            header.first_sequence == first,
            "the batch does not begin where the previous one ends",
        )?;
        holds(
            header.previous_head == self.head.head,
            "the batch does not extend the previous head",
        )?;
        holds(
            header.sealed_at_ms >= self.head.last_sealed_at_ms,
            "the batch was sealed before the previous one",
        )?;
        holds(
            header.history == self.tree.root(),
            "the header's history is not the root over the earlier batches",
        )
    }

    /// Appends the batch to the log tree; the store must hold every node that this makes.
    fn append(&mut self, batch: &SignedBatch) -> Result<(), Fault> {
        let first = batch.header.first_sequence;
        let made = self.tree.append(log_tree::leaf(&batch.header.hash()));
        for node in made {
            let stored = self.snapshot.node(node.level, node.index)?;
            ensure(
                stored == node.hash,
                first,
                "a stored node of the log tree does not match the batches",
            )?;
        }
        Ok(())
    }
}
