//! Record of all answers and reads. No crash may lose, double or reorder them, and actions answered as not done may
//! never be in the log.

use std::collections::{BTreeMap, HashMap};

use kedge_actors::api::NonceOutcome;
use kedge_actors::{ActionOutcome, SubmissionError, SubmissionOutcome};
use kedge_protocol::checkpoint::Checkpoint;
use kedge_protocol::receipt::{BatchReceipt, RECEIPT_VERSION, ReceiptAction};
use kedge_protocol::record::RequestRecord;
use kedge_protocol::signature::SigningKey;
use kedge_protocol::{Address, Hash};
use kedge_storage::LogHead;
use parking_lot::Mutex;

use crate::client::{DOMAIN, ObjectCondition, SignedOrder};
use crate::plan::Violation;

/// A signed request, and its answers so far.
struct LedgerEntry {
    contents: Vec<Hash>,
    deadline_s: u64,
    only_if: Option<ObjectCondition>,
    /// Attempts with an unknown outcome.
    open: u64,
    /// Sequence of the first action, once an answer has stated it.
    done: Option<u64>,
    /// Whether it was refused as a whole; then it is never sent again.
    is_refused: bool,
}

/// The part of the answers that a log must hold.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum LedgerExtent {
    /// All of them.
    Whole,
    /// Those up to its end; other nodes may have more.
    Part,
}

/// All answers and reads of a run.
pub(crate) struct Ledger {
    key: Address,
    entries: HashMap<Hash, LedgerEntry>,
    /// Content hashes of actions answered as done, by sequence.
    pub(crate) acknowledged: BTreeMap<u64, Hash>,
    /// Hashes of headers in answers.
    headers: BTreeMap<u64, Hash>,
    /// Ends of the log seen by readers: head by number of batches.
    seen: BTreeMap<u64, Hash>,
    /// States of signed checkpoints that were ever readable, by their batches.
    states: Mutex<BTreeMap<u64, Hash>>,
    /// Nonces answered as spent, with the sequence.
    spent: Vec<(Address, u64, u64)>,
    /// Batches released since the last power failure, which also loses the mark in the page cache.
    pub(crate) released: u64,
    /// Requests answered as done.
    pub(crate) done: u64,
}

impl Ledger {
    /// Notes a signed checkpoint. No number of batches may have two states.
    pub(crate) fn note_state(&self, checkpoint: &Checkpoint) -> Result<(), Violation> {
        let mut states = self.states.lock();
        let first = *states.entry(checkpoint.batches).or_insert(checkpoint.state);
        if first == checkpoint.state {
            return Ok(());
        }
        Err(Violation::new(
            "two states were signed after as many batches",
            checkpoint.batches,
        ))
    }

    pub(crate) fn new(key: &SigningKey) -> Self {
        Self {
            key: key.address(),
            entries: HashMap::new(),
            acknowledged: BTreeMap::new(),
            headers: BTreeMap::new(),
            seen: BTreeMap::new(),
            states: Mutex::default(),
            spent: Vec::new(),
            released: 0,
            done: 0,
        }
    }

    /// Records an attempt.
    pub(crate) fn sent(&mut self, signed: &SignedOrder) {
        let entry = self.entries.entry(signed.digest());
        let entry = entry.or_insert_with(|| LedgerEntry {
            contents: signed.contents.clone(),
            deadline_s: signed.head().deadline_s,
            only_if: signed.only_if,
            open: 0,
            done: None,
            is_refused: false,
        });
        entry.open += 1;
    }

    /// Records the outcome of an attempt.
    pub(crate) fn heard(
        &mut self,
        signed: &SignedOrder,
        result: &Result<SubmissionOutcome, SubmissionError>,
    ) -> Result<(), Violation> {
        let head = signed.head();
        let Some(entry) = self.entries.get_mut(&signed.digest()) else {
            return Err(Violation::new(
                "an answer to a request that nobody sent",
                head.nonce,
            ));
        };
        match result {
            // The request may have been done, or may still be.
            Err(SubmissionError::Unknown) => Ok(()),
            Err(error) => {
                entry.open -= 1;
                if let SubmissionError::Nonce {
                    past: Some(NonceOutcome::Done { sequence: Some(at) }),
                    ..
                } = error
                {
                    self.spent.push((head.signer, head.nonce, *at));
                }
                Ok(())
            }
            Ok(committed) => {
                entry.open -= 1;
                entry.is_refused |= committed.placement.is_none();
                self.committed(signed, committed)
            }
        }
    }

    fn committed(
        &mut self,
        signed: &SignedOrder,
        committed: &SubmissionOutcome,
    ) -> Result<(), Violation> {
        let Some(placement) = &committed.placement else {
            return Ok(());
        };
        let (digest, header) = (signed.digest(), &placement.batch.signed.header);
        let receipt = receipt(committed, &signed.contents);
        let done: Vec<(u64, Hash)> = receipt.1;
        if let Some(receipt) = receipt.0 {
            let contents: Vec<Hash> = done.iter().map(|(_, content)| *content).collect();
            let checked = receipt.verify(&DOMAIN, &self.key, &contents);
            checked.map_err(|error| Violation::new("a receipt does not verify", error))?;
        }
        if let Some(entry) = self.entries.get_mut(&digest)
            && entry.done.replace(placement.first_sequence).is_some()
        {
            return Err(Violation::new(
                "a request was done twice",
                signed.head().nonce,
            ));
        }
        for (sequence, content) in done {
            if let Some(other) = self.acknowledged.insert(sequence, content)
                && other != content
            {
                return Err(Violation::new(
                    "two actions were answered with one sequence",
                    sequence,
                ));
            }
        }
        self.done += 1;
        self.released = self.released.max(header.number + 1);
        let before = self.headers.insert(header.number, header.hash());
        if before.is_some_and(|before| before != header.hash()) {
            return Err(Violation::new(
                "a batch number was signed twice",
                header.number,
            ));
        }
        Ok(())
    }

    /// Records an end of the log seen by a reader.
    pub(crate) fn saw(&mut self, head: &LogHead) -> Result<(), Violation> {
        match self.seen.insert(head.batches, head.head) {
            Some(before) if before != head.head => Err(Violation::new(
                "readers saw two heads after one batch",
                head.batches,
            )),
            _ => Ok(()),
        }
    }

    /// Checks a request of the log. Returns its condition.
    pub(crate) fn logged(
        &self,
        record: &RequestRecord<'_>,
    ) -> Result<Option<ObjectCondition>, Violation> {
        let at = record.first_sequence;
        let hashes = record.action_hashes();
        let hashes = hashes.map_err(|error| Violation::new("a record has no hashes", error))?;
        let digest = record.head.digest(&DOMAIN.separator(), &hashes);
        let Some(entry) = self.entries.get(&digest) else {
            return Err(Violation::new(
                "the log holds a request that nobody sent",
                at,
            ));
        };
        if entry.done.is_none() && entry.open == 0 {
            return Err(Violation::new(
                "the log holds a request that was answered as not done",
                at,
            ));
        }
        if entry.is_refused {
            return Err(Violation::new(
                "the log holds a request that was refused for good",
                at,
            ));
        }
        if entry.done.is_some_and(|done| done != at) {
            return Err(Violation::new(
                "a request has another sequence than it was answered with",
                at,
            ));
        }
        if record.timestamp_ms > entry.deadline_s.saturating_mul(1_000) {
            return Err(Violation::new(
                "a request was placed after its deadline",
                at,
            ));
        }
        for action in &record.actions {
            let signed = entry.contents.get(usize::from(action.index));
            if signed != Some(&record.content(action)) {
                return Err(Violation::new("an action is not what was signed", at));
            }
        }
        Ok(entry.only_if)
    }

    /// Checks the whole log against the answers: content hashes by sequence, header hashes and heads by number, and the
    /// sequence of each spent nonce.
    pub(crate) fn check(
        &self,
        contents: &[Hash],
        batches: &[(Hash, Hash)],
        nonces: &BTreeMap<(Address, u64), u64>,
        extent: LedgerExtent,
    ) -> Result<(), Violation> {
        let reaches =
            |number: u64, length: usize| extent == LedgerExtent::Whole || number < length as u64;
        let acknowledged = self.acknowledged.iter();
        let reached = |sequence: &u64| reaches(sequence - 1, contents.len());
        for (sequence, content) in acknowledged.filter(|(sequence, _)| reached(sequence)) {
            if contents.get(*sequence as usize - 1) != Some(content) {
                return Err(Violation::new(
                    "an acknowledged action is not in the log",
                    sequence,
                ));
            }
        }
        let headers = self.headers.iter();
        for (number, hash) in headers.filter(|(number, _)| reaches(**number, batches.len())) {
            if batches.get(*number as usize).map(|batch| &batch.0) != Some(hash) {
                return Err(Violation::new("a released batch is not in the log", number));
            }
        }
        let seen = self.seen.iter().filter(|(count, _)| **count > 0);
        for (count, head) in seen.filter(|(count, _)| reaches(**count - 1, batches.len())) {
            if batches.get(*count as usize - 1).map(|batch| &batch.1) != Some(head) {
                return Err(Violation::new("what readers saw is not in the log", count));
            }
        }
        let spent = self.spent.iter();
        for (signer, nonce, sequence) in spent.filter(|(_, _, sequence)| reached(sequence)) {
            if nonces.get(&(*signer, *nonce)) != Some(sequence) {
                return Err(Violation::new(
                    "a nonce was answered as spent elsewhere",
                    nonce,
                ));
            }
        }
        Ok(())
    }
}

/// The receipt of the completed actions, if any, and their content hashes by sequence.
fn receipt(
    committed: &SubmissionOutcome,
    contents: &[Hash],
) -> (Option<BatchReceipt>, Vec<(u64, Hash)>) {
    let (mut actions, mut done) = (Vec::new(), Vec::new());
    let Some(placement) = &committed.placement else {
        return (None, done);
    };
    for (index, outcome) in committed.actions.iter().enumerate() {
        if let ActionOutcome::Done(action) = outcome {
            let first = placement.batch.signed.header.first_sequence;
            done.push((action.sequence, contents[index]));
            actions.push(ReceiptAction {
                index: index as u32,
                sequence: action.sequence,
                timestamp_ms: placement.timestamp_ms,
                leaf_index: (action.sequence - first) as u32,
                previous_integrity: action.previous_integrity,
            });
        }
    }
    let receipt = BatchReceipt {
        version: RECEIPT_VERSION,
        domain: DOMAIN,
        batch: placement.batch.signed,
        actions,
        proof: placement.proof(),
    };
    (Some(receipt), done)
}
