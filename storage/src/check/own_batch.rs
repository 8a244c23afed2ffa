//! Checks of a batch alone: everything that needs only its header's statements about the log before it. So several
//! threads can check batches concurrently.

use std::sync::Arc;

use kedge_log::StoredFrame;
use kedge_log::frame::FrameError;
use kedge_log::packed::PackedRequest;
use kedge_protocol::action::ActionHashes;
use kedge_protocol::batch::SignedBatch;
use kedge_protocol::chain::{LogLeaf, next_head};
use kedge_protocol::limits::BATCH_ACTIONS_MAX;
use kedge_protocol::merkle::BatchTree;
use kedge_protocol::record::RequestRecord;
use kedge_protocol::{BatchKeys, Hash, SequencerKeys};
use self_cell::self_cell;

use super::{StoreFault, ensure};
use crate::read::bad_request;
use crate::snapshot::{StoreReadError, StoreSnapshot};

/// Keys and options of a check.
#[derive(Clone, Debug)]
pub(crate) struct BatchTerms {
    /// The separator of the log's EIP-712 domain.
    pub(crate) separator: Hash,
    /// The keys of the headers, by batch.
    pub(crate) keys: Arc<SequencerKeys>,
    /// Whether requests' signatures are checked too.
    pub(crate) request_signatures: bool,
}

self_cell!(
    /// A row of the log with the request borrowed from it.
    struct HeldRequest {
        owner: Vec<u8>,
        #[covariant]
        dependent: RequestRecord,
    }
);

/// A checked request with its leaves.
pub(crate) struct OwnRequest {
    held: HeldRequest,
    pub(crate) leaves: Vec<LogLeaf>,
}

impl OwnRequest {
    pub(crate) fn record(&self) -> &RequestRecord<'_> {
        self.held.borrow_dependent()
    }
}

/// Result of checking one batch.
pub(crate) struct OwnBatch {
    pub(crate) batch: SignedBatch,
    /// The requests before the first fault.
    pub(crate) requests: Vec<OwnRequest>,
    /// The fault after them, if there is one.
    pub(crate) end: Result<(), StoreFault>,
}

/// Reads batches and checks each alone. Fast in order, because it keeps the last frame.
pub(crate) struct BatchReader<'a> {
    snapshot: &'a StoreSnapshot,
    terms: BatchTerms,
    frame: Option<HeldFrame>,
}

/// Parts of a frame that are used repeatedly.
struct HeldFrame {
    frame: StoredFrame,
    batches: Vec<SignedBatch>,
    leaves: Vec<Hash>,
}

impl HeldFrame {
    fn of(frame: StoredFrame) -> Result<Self, StoreReadError> {
        let bad = |error: FrameError| {
            let number = frame.header().number;
            StoreReadError::Log(format!("frame {number}: {error}"))
        };
        frame.check_digests().map_err(bad)?;
        Ok(Self {
            batches: frame.batches().map_err(bad)?,
            leaves: frame.leaves().map_err(bad)?,
            frame,
        })
    }

    /// A batch of the frame, with its leaves.
    fn batch(&self, number: u64) -> Option<(SignedBatch, &[Hash])> {
        let header = self.frame.header();
        let index = number.checked_sub(header.first_batch)?;
        let batch = *self.batches.get(index as usize)?;
        let first = batch
            .header
            .first_sequence
            .checked_sub(header.first_sequence)? as usize;
        let leaves = self
            .leaves
            .get(first..first + batch.header.count as usize)?;
        Some((batch, leaves))
    }
}

impl<'a> BatchReader<'a> {
    pub(crate) fn new(snapshot: &'a StoreSnapshot, terms: BatchTerms) -> Self {
        Self {
            snapshot,
            terms,
            frame: None,
        }
    }

    /// Reads and checks a batch. An error means that not even its header could be read.
    pub(crate) fn batch(&mut self, number: u64) -> Result<OwnBatch, StoreReadError> {
        let is_held = |held: &HeldFrame| held.batch(number).is_some();
        if !self.frame.as_ref().is_some_and(is_held) {
            let found = self.snapshot.in_log(|log| log.frame_of_batch(number))?;
            let found = found.ok_or_else(|| self.snapshot.no_batch(number))?;
            self.frame = Some(HeldFrame::of(found)?);
        }
        let held = self
            .frame
            .as_ref()
            .ok_or_else(|| self.snapshot.no_batch(number))?;
        let found = held.batch(number);
        let (batch, leaves) = found.ok_or_else(|| self.snapshot.no_batch(number))?;
        let mut requests = Vec::new();
        let end = self.check(&held.frame, &batch, leaves, &mut requests);
        Ok(OwnBatch {
            batch,
            requests,
            end,
        })
    }

    fn check(
        &self,
        frame: &StoredFrame,
        batch: &SignedBatch,
        leaves: &[Hash],
        requests: &mut Vec<OwnRequest>,
    ) -> Result<(), StoreFault> {
        let header = &batch.header;
        let first = header.first_sequence;
        self.header(batch)?;
        self.requests(frame, batch, leaves, requests)?;
        let head = leaves
            .iter()
            .fold(header.previous_head, |head, leaf| next_head(&head, leaf));
        ensure(
            head == header.head,
            first,
            "the leaves do not lead to the header's head",
        )?;
        ensure(
            BatchTree::new(leaves).root() == header.root,
            first,
            "the leaves do not lead to the header's root",
        )
    }

    fn header(&self, batch: &SignedBatch) -> Result<(), StoreFault> {
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

    /// Checks the requests of a batch: consecutive without a gap, each with its leaves.
    fn requests(
        &self,
        frame: &StoredFrame,
        batch: &SignedBatch,
        leaves: &[Hash],
        requests: &mut Vec<OwnRequest>,
    ) -> Result<(), StoreFault> {
        let first = batch.header.first_sequence;
        let last = batch.header.last_sequence();
        let mut next = first;
        let packed = frame.packed().map_err(|error| StoreFault::Unreadable {
            first_sequence: first,
            last_sequence: last,
            source: StoreReadError::Log(error.to_string()),
        })?;
        for bytes in packed {
            if next > last {
                break;
            }
            let held = HeldRequest::try_new(bytes.to_vec(), |bytes| {
                PackedRequest::read(bytes)?.into_record()
            });
            let held = held.map_err(|error| StoreFault::Unreadable {
                first_sequence: next,
                last_sequence: last,
                source: bad_request(next)(error),
            })?;
            let record = held.borrow_dependent();
            if record.last_sequence() < first {
                continue;
            }
            placed_right(record, batch, next)?;
            let hashes = record.hashes();
            let place = (next - first) as usize;
            let found = leaves_of(record, &hashes, &leaves[place..])?;
            if self.terms.request_signatures {
                record
                    .verify_signature_over(&self.terms.separator, &hashes)
                    .map_err(|error| StoreFault::Signature {
                        sequence: next,
                        what: error.to_string(),
                    })?;
            }
            next = record.last_sequence() + 1;
            requests.push(OwnRequest {
                held,
                leaves: found,
            });
        }
        ensure(next > last, next, "the log has no request here")
    }
}

/// Checks that a request is the one that begins at `next`, within its batch's bounds.
fn placed_right(
    record: &RequestRecord<'_>,
    batch: &SignedBatch,
    next: u64,
) -> Result<(), StoreFault> {
    let header = &batch.header;
    let holds = |holds, what| ensure(holds, next, what);
    holds(record.first_sequence == next, "the log has no request here")?;
    holds(
        record.last_sequence() <= header.last_sequence() && record.batch_number == header.number,
        "the request crosses the edge of its batch",
    )?;
    holds(
        u64::from(record.first_leaf_index) == next - header.first_sequence,
        "the request does not name its own leaf",
    )?;
    holds(
        record.timestamp_ms <= header.sealed_at_ms
            && record.timestamp_ms <= record.head.deadline_s.saturating_mul(1000),
        "the request's time is after its batch or its deadline",
    )
}

/// Checks a request's actions against the batch's leaves from the first one on; returns their leaf contents.
fn leaves_of(
    record: &RequestRecord<'_>,
    hashes: &[ActionHashes],
    leaves: &[Hash],
) -> Result<Vec<LogLeaf>, StoreFault> {
    let placed = record.placed(hashes);
    let found = LogLeaf::hash_each(&placed);
    for ((found, leaf), sequence) in found.iter().zip(leaves).zip(record.first_sequence..) {
        ensure(
            found == leaf,
            sequence,
            "the stored action does not hash to its leaf",
        )?;
    }
    Ok(placed)
}
