//! Checks an export line by line, with memory for one batch.

use super::{BatchLine, EXPORT_VERSION, ExportLine, LogLine, RequestLine};
use crate::chain::next_head;
use crate::checkpoint::{Checkpoint, SignedCheckpoint};
use crate::eip712::Domain;
use crate::log_tree::{self, TreeFrontier};
use crate::merkle::BatchTree;
use crate::receipt::check_header;
use crate::record::RequestRecord;
use crate::{BatchKeys, Hash, Id, SequencerKeys, possession};

/// A failed check and its place.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("line {line}, at sequence {sequence}: {what}")]
pub struct ExportError {
    /// The number of the line, from 1.
    pub line: u64,
    /// The affected sequence, or the last one before it.
    pub sequence: u64,
    /// The failed check.
    pub what: String,
}

/// Kind of a checked line.
#[derive(Debug)]
pub enum ExportLineKind {
    /// The first line.
    Log(LogLine),
    /// A batch.
    Batch,
    /// A request whose signature and leaves hold.
    Request(RequestRecord<'static>),
    /// The last line.
    Checkpoint,
}

/// Result of a valid export.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ExportSummary {
    /// The number of its first batch.
    pub from: u64,
    /// Number of batches.
    pub batches: u64,
    /// Number of actions in those batches.
    pub actions: u64,
    /// Number of requests whose signatures and leaves were checked.
    pub requests: u64,
    /// Number of actions in those requests.
    pub opened: u64,
    /// Number of keys that joined a wallet without their consent: possible in a log that is older than the rule.
    pub additions_without_consent: u64,
    /// The state of the log, as the sequencer signed it.
    pub checkpoint: SignedCheckpoint,
}

/// Streaming checker of an export.
pub struct ExportChecker {
    domain: Domain,
    separator: Hash,
    keys: SequencerKeys,
    line: u64,
    log: Option<LogLine>,
    frontier: TreeFrontier,
    head: Hash,
    sequence: u64,
    sealed_at_ms: u64,
    /// The leaves of the batch being read.
    leaves: Vec<Hash>,
    /// The last sequence of the requests so far.
    opened_to: u64,
    placed_at_ms: u64,
    requests: u64,
    opened: u64,
    additions_without_consent: u64,
    actions: u64,
    checkpoint: Option<SignedCheckpoint>,
}

impl ExportChecker {
    /// A checker with the trusted domain and keys.
    pub fn new(domain: Domain, keys: impl Into<SequencerKeys>) -> Self {
        let separator = domain.separator();
        Self {
            domain,
            separator,
            keys: keys.into(),
            line: 0,
            log: None,
            frontier: TreeFrontier::default(),
            head: separator,
            sequence: 0,
            sealed_at_ms: 0,
            leaves: Vec::new(),
            opened_to: 0,
            placed_at_ms: 0,
            requests: 0,
            opened: 0,
            additions_without_consent: 0,
            actions: 0,
            checkpoint: None,
        }
    }

    fn wrong(&self, sequence: u64, what: impl Into<String>) -> ExportError {
        ExportError {
            line: self.line,
            sequence,
            what: what.into(),
        }
    }

    fn ensure(&self, holds: bool, what: &str) -> Result<(), ExportError> {
        if holds {
            Ok(())
        } else {
            Err(self.wrong(self.sequence, what))
        }
    }

    /// Checks the next line.
    pub fn line(&mut self, text: &str) -> Result<ExportLineKind, ExportError> {
        self.line += 1;
        let line: ExportLine = serde_json::from_str(text).map_err(|error| {
            self.wrong(self.sequence, format!("not a line of an export: {error}"))
        })?;
        self.ensure(
            self.checkpoint.is_none(),
            "nothing may follow the checkpoint",
        )?;
        self.ensure(
            self.log.is_none() == matches!(line, ExportLine::Log(_)),
            "the line that describes the log must be the first line and no other",
        )?;
        match line {
            ExportLine::Log(log) => self.log(log).map(ExportLineKind::Log),
            ExportLine::Batch(batch) => self.batch(batch).map(|()| ExportLineKind::Batch),
            ExportLine::Request(request) => self.request(*request).map(ExportLineKind::Request),
            ExportLine::Checkpoint(signed) => {
                self.checkpoint(signed).map(|()| ExportLineKind::Checkpoint)
            }
        }
    }

    /// Number of the log's batches, including those before the export.
    pub fn batches(&self) -> u64 {
        self.frontier.size()
    }

    /// The last sequence, the head and the history so far.
    pub fn reached(&self) -> (u64, Hash, Hash) {
        (self.sequence, self.head, self.frontier.root())
    }

    /// Ends the check: the last line must have been the checkpoint.
    pub fn finish(self) -> Result<ExportSummary, ExportError> {
        let (Some(log), Some(checkpoint)) = (&self.log, self.checkpoint) else {
            return Err(self.wrong(self.sequence, "the export ends before its checkpoint"));
        };
        Ok(ExportSummary {
            from: log.from,
            batches: self.frontier.size() - log.from,
            actions: self.actions,
            requests: self.requests,
            opened: self.opened,
            additions_without_consent: self.additions_without_consent,
            checkpoint,
        })
    }

    fn log(&mut self, log: LogLine) -> Result<LogLine, ExportError> {
        self.ensure(log.version == EXPORT_VERSION, "its version is unknown")?;
        self.ensure(log.domain == self.domain, "it is of another log")?;
        self.ensure(
            log.sequencer == self.keys.key_of(log.from),
            "it names another sequencer than the trusted one",
        )?;
        let named = log.sequencer_keys.as_ref();
        self.ensure(
            named.is_none_or(|named| self.keys.extends(named) || named.extends(&self.keys)),
            "it names other keys of the sequencer than the trusted ones",
        )?;
        let frontier = TreeFrontier::of_peaks(log.from, log.peaks.clone());
        self.frontier =
            frontier.ok_or_else(|| self.wrong(0, "its peaks do not match its batches"))?;
        self.ensure(
            log.from != 0 || (log.head == self.separator && log.sequence == 0),
            "a log begins at sequence 0, with its domain as head",
        )?;
        self.ensure(
            log.organization_id.is_some() || log.operators.is_empty(),
            "it names operators, but no organization",
        )?;
        self.head = log.head;
        self.sequence = log.sequence;
        self.opened_to = log.sequence;
        self.log = Some(log.clone());
        Ok(log)
    }

    fn batch(&mut self, BatchLine { batch, leaves }: BatchLine) -> Result<(), ExportError> {
        let header = &batch.header;
        let first = self.sequence.saturating_add(1);
        check_header(&batch, &self.domain, &self.keys)
            .map_err(|error| self.wrong(first, error.to_string()))?;
        let ensure = |holds: bool, what: &str| {
            if holds {
                Ok(())
            } else {
                Err(self.wrong(first, what))
            }
        };
        ensure(
            header.number == self.frontier.size() && header.first_sequence == first,
            "the batch does not follow the previous one",
        )?;
        ensure(
            header.previous_head == self.head,
            "the batch does not begin at the log's head",
        )?;
        ensure(
            header.history == self.frontier.root(),
            "the batch's history is not that of the batches before it",
        )?;
        ensure(header.state == Hash::ZERO, "the batch's state is not zero")?;
        ensure(
            header.sealed_at_ms >= self.sealed_at_ms,
            "the batch was sealed before the previous one",
        )?;
        ensure(
            header.count as usize == leaves.len(),
            "the batch does not have as many leaves as its header states",
        )?;
        ensure(
            BatchTree::new(&leaves).root() == header.root,
            "the batch's leaves do not lead to its root",
        )?;
        let head = leaves
            .iter()
            .fold(self.head, |head, leaf| next_head(&head, leaf));
        ensure(
            head == header.head,
            "the batch's leaves do not lead to its head",
        )?;
        self.frontier.append(log_tree::leaf(&header.hash()));
        self.head = head;
        self.sequence = header.last_sequence();
        self.sealed_at_ms = header.sealed_at_ms;
        self.actions += leaves.len() as u64;
        self.leaves = leaves;
        Ok(())
    }

    fn request(&mut self, line: RequestLine) -> Result<RequestRecord<'static>, ExportError> {
        let first = line.first_sequence;
        let ensure = |holds: bool, what: &str| {
            if holds {
                Ok(())
            } else {
                Err(self.wrong(first, what))
            }
        };
        let organization: Option<Id> = self.log.as_ref().and_then(|log| log.organization_id);
        ensure(
            organization == Some(line.organization_id),
            "the request is of another organization than the export",
        )?;
        // An export may state any numbers.
        let next = self.sequence.checked_add(1);
        let batch_first = next.and_then(|next| next.checked_sub(self.leaves.len() as u64));
        let index = batch_first.and_then(|batch_first| first.checked_sub(batch_first));
        let end = index.and_then(|index| (index as usize).checked_add(line.actions.len()));
        ensure(
            self.frontier.size().checked_sub(1) == Some(line.batch_number)
                && index == Some(u64::from(line.first_leaf_index))
                && end.is_some_and(|end| end <= self.leaves.len())
                && !line.actions.is_empty()
                && first > self.opened_to,
            "the request's place in its batch is not valid",
        )?;
        ensure(
            line.timestamp_ms >= self.placed_at_ms
                && line.timestamp_ms <= self.sealed_at_ms
                && line.timestamp_ms <= line.deadline.saturating_mul(1_000),
            "the request's time does not fit its batch, its deadline or the previous request",
        )?;
        let leaf_index = line.first_leaf_index as usize;
        let record = line.into_record();
        let record = record.ok_or_else(|| self.wrong(first, "an action's kind is unknown"))?;
        let hashes = record.hashes();
        record
            .verify_signature_over(&self.domain.separator(), &hashes)
            .map_err(|error| self.wrong(first, error.to_string()))?;
        let opened = record.leaves(&hashes).into_iter();
        for ((opened, leaf), sequence) in opened.zip(&self.leaves[leaf_index..]).zip(first..) {
            if opened != *leaf {
                return Err(self.wrong(sequence, "the action does not match its leaf"));
            }
        }
        let counted = possession::check_record(&self.separator, &record);
        self.additions_without_consent +=
            counted.map_err(|wrong| self.wrong(wrong.sequence, wrong.what))?;
        self.opened_to = record.last_sequence();
        self.placed_at_ms = record.timestamp_ms;
        self.requests += 1;
        self.opened += record.actions.len() as u64;
        Ok(record)
    }

    fn checkpoint(&mut self, signed: SignedCheckpoint) -> Result<(), ExportError> {
        let Checkpoint {
            batches,
            sequence,
            head,
            history,
            // The batches do not show the state; a fold of them does.
            state: _,
            issued_at_ms,
        } = signed.checkpoint;
        let found = signed
            .signature
            .recover(&signed.checkpoint.digest(&self.separator));
        self.ensure(
            found == Ok(self.keys.key_of_checkpoint(batches)),
            "the checkpoint is not signed with the key of its last batch",
        )?;
        self.ensure(
            batches == self.frontier.size()
                && sequence == self.sequence
                && head == self.head
                && history == self.frontier.root()
                && issued_at_ms >= self.sealed_at_ms,
            "the checkpoint does not match the batches",
        )?;
        self.checkpoint = Some(signed);
        Ok(())
    }
}
