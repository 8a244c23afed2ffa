//! Checks of the log's batches, recomputed from their requests. Opening checks the last ones, `verify` all. Each batch
//! is checked alone ([`own_batch`]), by several threads if need be; a [`BatchWalk`] then joins batch to batch.

mod fault;
pub(crate) mod own_batch;

use kedge_protocol::batch::SignedBatch;
use kedge_protocol::chain::LogLeaf;
use kedge_protocol::eip712::Domain;
use kedge_protocol::log_tree::{self, TreeFrontier, TreeNodes as _};
use kedge_protocol::record::RequestRecord;

use self::own_batch::OwnBatch;
use crate::snapshot::{StoreReadError, StoreSnapshot};
use crate::tables::meta::LogHead;

pub use fault::StoreFault;
pub(crate) use fault::ensure;

/// Walk that joins individually checked batches, in order, to the log before them.
pub(crate) struct BatchWalk<'a> {
    snapshot: &'a StoreSnapshot,
    /// The log's head before the next batch.
    pub(crate) head: LogHead,
    /// The log tree before the next batch.
    tree: TreeFrontier,
    last_timestamp_ms: u64,
}

impl<'a> BatchWalk<'a> {
    /// Begins before batch `number`.
    pub(crate) fn begin(
        snapshot: &'a StoreSnapshot,
        domain: &Domain,
        number: u64,
    ) -> Result<Self, StoreFault> {
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
            tree: TreeFrontier::load(number, snapshot)?,
            last_timestamp_ms: 0,
        })
    }

    /// Joins the next batch; `each` gets every request with its leaves.
    pub(crate) fn join(
        &mut self,
        read: Result<OwnBatch, StoreReadError>,
        mut each: impl FnMut(&RequestRecord<'_>, &[LogLeaf]) -> Result<(), StoreFault>,
    ) -> Result<(), StoreFault> {
        let first = self.head.sequence + 1;
        let own = read.map_err(|source| StoreFault::Unreadable {
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

    fn header(&self, batch: &SignedBatch) -> Result<(), StoreFault> {
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

    /// Appends the batch to the log tree; the store must hold every new node.
    fn append(&mut self, batch: &SignedBatch) -> Result<(), StoreFault> {
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
