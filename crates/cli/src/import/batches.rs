//! Batches of records: those of earlier attempts, with unchanged records, then new ones.

use std::collections::{BTreeMap, VecDeque};

use kedge_protocol::Hash;
use kedge_protocol::hash::Sha256Stream;

use super::check::{ImportCheckResult, ImportRecordSet};
use super::progress::{ImportProgress, UnsettledBatch};
use super::records::{ImportRecordReader, InputRecord, RecordSource, RecordStream};
use crate::output::{CliResult, CommandFailure};

/// Limit of a batch's payload bytes, well below the largest body.
const BATCH_BYTES_MAX: usize = 4 * 1024 * 1024;

/// A record to mint.
pub(super) struct ImportRecord {
    pub(super) ordinal: u64,
    pub(super) line: u64,
    pub(super) key: Option<String>,
    pub(super) payload: String,
    pub(super) source: RecordSource,
    /// Number of undecided attempts.
    pub(super) tries: u32,
}

/// Records to send together.
pub(super) struct ImportBatch {
    pub(super) number: u64,
    pub(super) records: Vec<ImportRecord>,
    /// Set if an earlier attempt exists.
    pub(super) open: Option<UnsettledBatch>,
}

impl ImportBatch {
    /// Its records' ordinals, as first and last of each range.
    pub(super) fn ranges(&self) -> Vec<(u64, u64)> {
        let mut ranges: Vec<(u64, u64)> = Vec::new();
        for record in &self.records {
            match ranges.last_mut() {
                Some((_, last)) if *last + 1 == record.ordinal => *last = record.ordinal,
                _ => ranges.push((record.ordinal, record.ordinal)),
            }
        }
        ranges
    }

    /// Hash of its payloads.
    pub(super) fn payloads(&self) -> Hash {
        let mut hash = Sha256Stream::default();
        for record in &self.records {
            hash.update(record.payload.as_bytes());
            hash.update(b"\n");
        }
        hash.finish()
    }
}

/// Reads the input again and forms batches.
pub(super) struct ImportBatcher<'a> {
    reader: &'a ImportRecordReader<'a>,
    checked: &'a ImportCheckResult,
    records: Option<RecordStream<'a>>,
    minted: ImportRecordSet,
    open: BTreeMap<u64, (UnsettledBatch, Vec<ImportRecord>)>,
    ready: VecDeque<ImportBatch>,
    forming: Vec<ImportRecord>,
    forming_bytes: usize,
    again: Vec<ImportRecord>,
    next_batch: u64,
    records_max: usize,
}

impl<'a> ImportBatcher<'a> {
    pub(super) fn new(
        reader: &'a ImportRecordReader<'a>,
        checked: &'a ImportCheckResult,
        progress: &ImportProgress,
        records_max: usize,
    ) -> CliResult<Self> {
        let open = progress.past.open.iter();
        Ok(Self {
            reader,
            checked,
            records: Some(reader.records()?),
            minted: progress.past.minted.clone(),
            open: open
                .map(|(number, batch)| (*number, (batch.clone(), Vec::new())))
                .collect(),
            ready: VecDeque::new(),
            forming: Vec::new(),
            forming_bytes: 0,
            again: Vec::new(),
            next_batch: progress.past.next_batch,
            records_max,
        })
    }

    /// Queues a record for a later batch.
    pub(super) fn put_back(&mut self, record: ImportRecord) {
        self.again.push(record);
    }

    /// The next batch; `None` if none is ready.
    pub(super) fn next(&mut self) -> CliResult<Option<ImportBatch>> {
        loop {
            if let Some(batch) = self.ready.pop_front() {
                return Ok(Some(batch));
            }
            if let Some(records) = &mut self.records {
                match records.next()? {
                    Some(item) => self.place(item)?,
                    None => self.end_input()?,
                }
                continue;
            }
            let again = self.again.len().min(self.records_max);
            let again: Vec<ImportRecord> = self.again.drain(..again).collect();
            if again.is_empty() {
                return Ok(None);
            }
            for record in again {
                self.add(record);
            }
            self.close();
        }
    }

    fn place(&mut self, item: InputRecord) -> CliResult<()> {
        let ordinal = item.ordinal;
        if self.minted.contains(ordinal) || self.checked.bad.contains(ordinal) {
            return Ok(());
        }
        let mint = item.mint.map_err(|_| self.changed())?;
        let payload = self.reader.rules.payload(&mint, self.reader.shape);
        let record = ImportRecord {
            ordinal,
            line: item.line,
            key: mint.key,
            payload: payload.map_err(|_| self.changed())?,
            source: item.source,
            tries: 0,
        };
        let mut open = self.open.iter_mut();
        let Some((&number, (batch, records))) =
            open.find(|(_, (batch, _))| batch.contains(ordinal))
        else {
            self.add(record);
            return Ok(());
        };
        records.push(record);
        if records.len() as u64 == batch.count()
            && let Some((open, records)) = self.open.remove(&number)
        {
            let batch = ImportBatch {
                number,
                records,
                open: Some(open),
            };
            let payloads = batch.open.as_ref().map(|open| open.payloads);
            if payloads != Some(batch.payloads()) {
                return Err(self.unlike(number));
            }
            self.ready.push_back(batch);
        }
        Ok(())
    }

    fn add(&mut self, record: ImportRecord) {
        let bytes = record.payload.len();
        if self.forming_bytes + bytes > BATCH_BYTES_MAX {
            self.close();
        }
        self.forming_bytes += bytes;
        self.forming.push(record);
        if self.forming.len() >= self.records_max {
            self.close();
        }
    }

    fn close(&mut self) {
        if self.forming.is_empty() {
            return;
        }
        self.forming_bytes = 0;
        self.ready.push_back(ImportBatch {
            number: self.next_batch,
            records: std::mem::take(&mut self.forming),
            open: None,
        });
        self.next_batch += 1;
    }

    fn end_input(&mut self) -> CliResult<()> {
        let seen = self.records.take().map(|records| records.seen());
        if seen.is_some_and(|seen| seen.sha256() != self.checked.sha256) {
            return Err(self.changed());
        }
        self.close();
        match self.open.keys().next() {
            None => Ok(()),
            Some(number) => Err(self.unlike(*number)),
        }
    }

    fn changed(&self) -> CommandFailure {
        let input = self.reader.input;
        input.failed(
            "the file changed while it was imported; put the old content back and run again",
        )
    }

    fn unlike(&self, number: u64) -> CommandFailure {
        let input = self.reader.input;
        input.failed(format!(
            "batch {number} was sent with other contents than its records have now, as when the template's schema or \
             the program has changed; run the import with what it began with"
        ))
    }
}
