//! A batch by itself: whatever of it needs nothing of the log but what its own header says of what
//! comes before. So several threads can check batches at one time.

use std::sync::Arc;

use kedge_protocol::action::ActionHashes;
use kedge_protocol::batch::SignedBatch;
use kedge_protocol::chain::{Leaf, next_head};
use kedge_protocol::limits::BATCH_ACTIONS_MAX;
use kedge_protocol::merkle::BatchTree;
use kedge_protocol::record::RequestRecord;
use kedge_protocol::{Hash, KeyOfBatch, SequencerKeys};
use self_cell::self_cell;

use super::{Fault, ensure, missing};
use crate::codec;
use crate::read::packed;
use crate::snapshot::{Cursor, ReadError, Snapshot};
use crate::tables::Table;

/// What batches are checked against.
#[derive(Clone, Debug)]
pub(crate) struct Terms {
    /// The separator of the log's domain.
    pub(crate) separator: Hash,
    /// Who signs which headers.
    pub(crate) keys: Arc<SequencerKeys>,
    /// Whether the signatures of requests are checked too.
    pub(crate) request_signatures: bool,
    /// How many batches the log has.
    pub(crate) batches: u64,
}

self_cell!(
    /// A row of the log, and the request that it holds, borrowed from it.
    struct HeldRequest {
        owner: Vec<u8>,
        #[covariant]
        dependent: RequestRecord,
    }
);

/// A request that was checked, with what its leaves are made of.
pub(crate) struct OwnRequest {
    held: HeldRequest,
    pub(crate) leaves: Vec<Leaf>,
}

impl OwnRequest {
    pub(crate) fn record(&self) -> &RequestRecord<'_> {
        self.held.borrow_dependent()
    }
}

/// A batch that was checked by itself.
pub(crate) struct OwnBatch {
    pub(crate) batch: SignedBatch,
    /// The requests up to the first that does not hold.
    pub(crate) requests: Vec<OwnRequest>,
    /// What does not hold behind them.
    pub(crate) end: Result<(), Fault>,
}

/// Reads batches and checks each by itself. Quick where they are asked for in order.
pub(crate) struct Reader<'a> {
    snapshot: &'a Snapshot,
    terms: Terms,
    log: Cursor<'a>,
    /// The sequence whose request the cursor stands at, where it was left at one.
    at: Option<u64>,
}

impl<'a> Reader<'a> {
    pub(crate) fn new(snapshot: &'a Snapshot, terms: Terms) -> Self {
        Self {
            snapshot,
            terms,
            log: snapshot.cursor(Table::Log),
            at: None,
        }
    }

    /// Reads and checks a batch. An error means that not even its header could be read.
    pub(crate) fn batch(&mut self, number: u64) -> Result<OwnBatch, ReadError> {
        let found = self.snapshot.batch(number)?;
        let batch = found.ok_or_else(|| missing(Table::Batches, number))?;
        let mut requests = Vec::new();
        let end = self.check(&batch, &mut requests);
        Ok(OwnBatch {
            batch,
            requests,
            end,
        })
    }

    fn check(&mut self, batch: &SignedBatch, requests: &mut Vec<OwnRequest>) -> Result<(), Fault> {
        let header = &batch.header;
        let first = header.first_sequence;
        let last = header.last_sequence();
        self.header(batch)?;
        let leaves = self
            .snapshot
            .leaves(header.number)
            .and_then(|found| found.ok_or_else(|| missing(Table::Leaves, header.number)))
            .map_err(|source| Fault::Unreadable {
                first_sequence: first,
                last_sequence: last,
                source,
            })?;
        ensure(
            leaves.len() == header.count as usize,
            first,
            "the batch has another count of leaves than its header says",
        )?;
        self.requests(batch, &leaves, requests)?;
        let head = leaves
            .iter()
            .fold(header.previous_head, |head, leaf| next_head(&head, leaf));
        ensure(
            head == header.head,
            first,
            "the leaves do not lead to the header's head",
        )?;
        ensure(
            BatchTree::new(&leaves).root() == header.root,
            first,
            "the leaves do not have the header's root",
        )?;
        self.nothing_between(batch)
    }

    fn header(&self, batch: &SignedBatch) -> Result<(), Fault> {
        let header = &batch.header;
        let holds = |holds, what| ensure(holds, header.first_sequence, what);
        holds(
            (1..=BATCH_ACTIONS_MAX).contains(&(header.count as usize)),
            "the batch's count is not 1 to 500",
        )?;
        holds(header.state == Hash::ZERO, "the header's state is not zero")?;
        let signer = batch
            .signature
            .recover(&header.digest(&self.terms.separator));
        holds(
            signer == Ok(self.terms.keys.key_of(header.number)),
            "the header is not signed with the sequencer's key of its number",
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
        requests: &mut Vec<OwnRequest>,
    ) -> Result<(), Fault> {
        let first = batch.header.first_sequence;
        let last = batch.header.last_sequence();
        if self.at.take() != Some(first) {
            match batch.header.number {
                0 => self.log.seek_to_first(),
                _ => self.log.seek(&first.to_be_bytes()),
            }
        }
        let mut next = first;
        while next <= last {
            let held = self.request(next).map_err(|source| Fault::Unreadable {
                first_sequence: next,
                last_sequence: self.readable_after(batch.header.number, next, last),
                source,
            })?;
            let record = held.borrow_dependent();
            if record.first_sequence < next {
                return Err(self.too_many(record.first_sequence));
            }
            placed_right(record, batch, next)?;
            let hashes = record.hashes();
            let place = (next - first) as usize;
            let found = leaves_of(record, &hashes, &leaves[place..])?;
            if self.terms.request_signatures {
                record
                    .verify_signature_over(&self.terms.separator, &hashes)
                    .map_err(|error| Fault::wrong(next, error.to_string()))?;
            }
            next = record.last_sequence() + 1;
            requests.push(OwnRequest {
                held,
                leaves: found,
            });
        }
        self.at = Some(next);
        Ok(())
    }

    /// The request that the cursor stands at; `next` is the sequence that is looked for.
    fn request(&mut self, next: u64) -> Result<HeldRequest, ReadError> {
        let row = self.log.row()?;
        let (key, value) = row.ok_or_else(|| missing(Table::Log, next))?;
        let held = HeldRequest::try_new(value.to_vec(), |value| packed(key, value)?.into_record())
            .map_err(ReadError::row(Table::Log, key))?;
        self.log.advance();
        Ok(held)
    }

    /// Behind the batch's last request comes the next batch's first, or, in the last batch, nothing.
    fn nothing_between(&self, batch: &SignedBatch) -> Result<(), Fault> {
        let is_last = batch.header.number + 1 >= self.terms.batches;
        let row = match self.log.row() {
            Ok(row) => row,
            // The next batch begins with what cannot be read, and says so.
            Err(_) if !is_last => return Ok(()),
            Err(error) => return Err(error.into()),
        };
        let Some((key, _)) = row else {
            return Ok(());
        };
        let found = codec::number(key).map_err(ReadError::row(Table::Log, key))?;
        if is_last || found <= batch.header.last_sequence() {
            return Err(self.too_many(found));
        }
        Ok(())
    }

    fn too_many(&self, sequence: u64) -> Fault {
        let batches = self.terms.batches;
        Fault::Rows {
            table: Table::Log,
            what: format!("row {sequence} is no request of the {batches} batches"),
        }
    }

    /// The last sequence before one that can be read again, looking at the starts of batches.
    fn readable_after(&self, number: u64, bad: u64, batch_last: u64) -> u64 {
        let mut last = batch_last.max(bad);
        for number in number + 1.. {
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
}

/// Checks that a request is the one that begins at `next`, within its batch's bounds.
fn placed_right(record: &RequestRecord<'_>, batch: &SignedBatch, next: u64) -> Result<(), Fault> {
    let header = &batch.header;
    let holds = |holds, what| ensure(holds, next, what);
    holds(record.first_sequence == next, "the log has no request here")?;
    holds(
        record.last_sequence() <= header.last_sequence() && record.batch_number == header.number,
        "the request lies over the edge of its batch",
    )?;
    holds(
        u64::from(record.first_leaf_index) == next - header.first_sequence,
        "the request names another leaf than its own",
    )?;
    holds(
        record.timestamp_ms <= header.sealed_at_ms
            && record.timestamp_ms <= record.head.deadline_s.saturating_mul(1000),
        "the request's time passes its batch or its deadline",
    )
}

/// Checks a request's actions against the batch's leaves from its own on; gives what they are made
/// of.
fn leaves_of(
    record: &RequestRecord<'_>,
    hashes: &[ActionHashes],
    leaves: &[Hash],
) -> Result<Vec<Leaf>, Fault> {
    let placed = record.placed(hashes);
    let found = Leaf::hash_each(&placed);
    for ((found, leaf), sequence) in found.iter().zip(leaves).zip(record.first_sequence..) {
        ensure(
            found == leaf,
            sequence,
            "the stored action does not hash to its leaf",
        )?;
    }
    Ok(placed)
}
