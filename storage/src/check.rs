//! One batch of the log, recomputed from what its requests say. Opening does it for the last
//! batches, `verify` for all.

use kedge_protocol::action::ActionHashes;
use kedge_protocol::batch::SignedBatch;
use kedge_protocol::chain::next_head;
use kedge_protocol::eip712::Domain;
use kedge_protocol::limits::BATCH_ACTIONS_MAX;
use kedge_protocol::log_tree::{self, Frontier, Nodes};
use kedge_protocol::merkle::BatchTree;
use kedge_protocol::record::RequestRecord;
use kedge_protocol::{Address, Hash};

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
    /// A table holds other rows than the log explains.
    #[error("table {}: {what}", .table.name())]
    Rows {
        /// Which.
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
}

/// Gives a fault at `sequence` unless `holds`.
pub(crate) fn ensure(holds: bool, sequence: u64, what: &str) -> Result<(), Fault> {
    if holds {
        Ok(())
    } else {
        Err(Fault::wrong(sequence, what))
    }
}

/// Recomputes batches of a snapshot, one after the other.
pub(crate) struct Walk<'a> {
    pub(crate) snapshot: &'a Snapshot,
    pub(crate) separator: Hash,
    pub(crate) sequencer: Address,
    /// The log before the next batch.
    pub(crate) head: LogHead,
    /// The log tree before the next batch.
    pub(crate) tree: Frontier,
    last_timestamp_ms: u64,
}

impl<'a> Walk<'a> {
    /// Begins in front of batch `number`.
    pub(crate) fn begin(
        snapshot: &'a Snapshot,
        domain: &Domain,
        sequencer: Address,
        number: u64,
    ) -> Result<Self, Fault> {
        let head = match number.checked_sub(1) {
            None => LogHead::empty(domain),
            Some(before) => {
                let header = snapshot
                    .batch(before)?
                    .ok_or_else(|| missing(Table::Batches, before))?
                    .header;
                LogHead {
                    batches: number,
                    sequence: header
                        .first_sequence
                        .saturating_add(u64::from(header.count))
                        - 1,
                    head: header.head,
                    last_sealed_at_ms: header.sealed_at_ms,
                }
            }
        };
        Ok(Self {
            snapshot,
            separator: domain.separator(),
            sequencer,
            head,
            tree: Frontier::load(number, snapshot)?,
            last_timestamp_ms: 0,
        })
    }

    /// Checks the next batch; `each` sees every request of it with the contents of its actions.
    pub(crate) fn batch(
        &mut self,
        mut each: impl FnMut(&RequestRecord<'_>, &[Hash]) -> Result<(), Fault>,
    ) -> Result<SignedBatch, Fault> {
        let number = self.head.batches;
        let first = self.head.sequence + 1;
        let unreadable = |last_sequence: u64| {
            move |source| Fault::Unreadable {
                first_sequence: first,
                last_sequence,
                source,
            }
        };
        let batch = self
            .snapshot
            .batch(number)
            .and_then(|found| found.ok_or_else(|| missing(Table::Batches, number)))
            .map_err(unreadable(first))?;
        self.header(&batch)?;
        let last = batch.header.last_sequence();
        let leaves = self
            .snapshot
            .leaves(number)
            .and_then(|found| found.ok_or_else(|| missing(Table::Leaves, number)))
            .map_err(unreadable(last))?;
        ensure(
            leaves.len() == batch.header.count as usize,
            first,
            "the batch has another count of leaves than its header says",
        )?;
        self.requests(&batch, &leaves, &mut each)?;
        let head = leaves
            .iter()
            .fold(self.head.head, |head, leaf| next_head(&head, leaf));
        ensure(
            head == batch.header.head,
            first,
            "the leaves do not lead to the header's head",
        )?;
        ensure(
            BatchTree::new(&leaves).root() == batch.header.root,
            first,
            "the leaves do not have the header's root",
        )?;
        self.append(&batch)?;
        self.head = LogHead {
            batches: number + 1,
            sequence: last,
            head,
            last_sealed_at_ms: batch.header.sealed_at_ms,
        };
        Ok(batch)
    }

    fn header(&self, batch: &SignedBatch) -> Result<(), Fault> {
        let header = &batch.header;
        let first = self.head.sequence + 1;
        let holds = |holds, what| ensure(holds, first, what);
        holds(
            (1..=BATCH_ACTIONS_MAX).contains(&(header.count as usize)),
            "the batch's count is not 1 to 500",
        )?;
        holds(
            header.first_sequence == first,
            "the batch does not begin behind the one before it",
        )?;
        holds(
            header.previous_head == self.head.head,
            "the batch does not extend the head before it",
        )?;
        holds(
            header.sealed_at_ms >= self.head.last_sealed_at_ms,
            "the batch was sealed before the one before it",
        )?;
        holds(header.state == Hash::ZERO, "the header's state is not zero")?;
        holds(
            header.history == self.tree.root(),
            "the header's history is not the root over the batches before it",
        )?;
        let signer = batch.signature.recover(&header.digest(&self.separator));
        holds(
            signer == Ok(self.sequencer),
            "the header is not signed by the sequencer",
        )?;
        let number = self.snapshot.batch_number(batch.id())?;
        holds(
            number == Some(header.number),
            "the batch's id does not lead to its number",
        )
    }

    /// The requests of a batch: one after the other without a gap, each giving its leaves.
    fn requests(
        &mut self,
        batch: &SignedBatch,
        leaves: &[Hash],
        each: &mut impl FnMut(&RequestRecord<'_>, &[Hash]) -> Result<(), Fault>,
    ) -> Result<(), Fault> {
        let first = batch.header.first_sequence;
        let last = batch.header.last_sequence();
        let mut next = first;
        let mut records = self.snapshot.requests_from(first);
        while next <= last {
            let read = records
                .next()
                .unwrap_or_else(|| Err(missing(Table::Log, next)));
            let record = read.map_err(|source| Fault::Unreadable {
                first_sequence: next,
                last_sequence: self.readable_after(next, last),
                source,
            })?;
            ensure(
                record.first_sequence == next,
                next,
                "the log has no request here",
            )?;
            let fits = record.last_sequence() <= last && record.batch_number == batch.header.number;
            ensure(fits, next, "the request lies over the edge of its batch")?;
            let place = next - first;
            ensure(
                u64::from(record.first_leaf_index) == place,
                next,
                "the request names another leaf than its own",
            )?;
            let until = batch.header.sealed_at_ms;
            let in_time = (self.last_timestamp_ms..=until).contains(&record.timestamp_ms)
                && record.timestamp_ms <= record.head.deadline_s.saturating_mul(1000);
            ensure(
                in_time,
                next,
                "the request's time falls, or passes its batch or its deadline",
            )?;
            self.last_timestamp_ms = record.timestamp_ms;
            let hashes = record.hashes();
            let contents = actions(&record, &hashes, &leaves[place as usize..])?;
            record
                .verify_signature_over(&self.separator, &hashes)
                .map_err(|error| Fault::wrong(next, error.to_string()))?;
            each(&record, &contents)?;
            next = record.last_sequence() + 1;
        }
        Ok(())
    }

    /// The last sequence before one that can be read again, looking at the starts of batches.
    fn readable_after(&self, bad: u64, batch_last: u64) -> u64 {
        let mut last = batch_last.max(bad);
        for number in self.head.batches + 1.. {
            let Ok(Some(batch)) = self.snapshot.batch(number) else {
                break;
            };
            if matches!(
                self.snapshot.request_at(batch.header.first_sequence),
                Ok(Some(_))
            ) {
                break;
            }
            last = batch.header.last_sequence();
        }
        last
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
                "a stored node of the log tree is not what the batches give",
            )?;
        }
        Ok(())
    }
}

/// Checks a request's actions against the batch's leaves from its own on; gives their contents.
fn actions(
    record: &RequestRecord<'_>,
    hashes: &[ActionHashes],
    leaves: &[Hash],
) -> Result<Vec<Hash>, Fault> {
    let found = record.leaves(hashes).into_iter().zip(leaves);
    for ((found, leaf), sequence) in found.zip(record.first_sequence..) {
        ensure(
            found == *leaf,
            sequence,
            "the stored action does not hash to its leaf",
        )?;
    }
    Ok(hashes.iter().map(|hashes| hashes.content).collect())
}

pub(crate) fn missing(table: Table, number: u64) -> ReadError {
    ReadError::Missing {
        table,
        what: format!("the row of {number}"),
    }
}
