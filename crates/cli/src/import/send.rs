//! Sending of batches with bounded concurrency, and the recording of their outcomes.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};
use kedge_client::{
    Account, AttemptStore, NewAction, OnceBatch, OnceResult, ServerRefusal, SigningAttempt,
};
use kedge_protocol::action::Kind;
use kedge_protocol::{Hash, Id};
use parking_lot::Mutex;
use serde_json::value::RawValue;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::task::{JoinError, JoinSet};

use super::batches::{ImportBatch, ImportBatcher, ImportRecord};
use super::check::{ImportCheckResult, fault_of_places};
use super::journal::{ImportProgressEntry, ImportProgressFile};
use super::progress::ImportProgress;
use super::records::ImportRecordReader;
use super::rejections::RejectionLog;
use super::shape::{RecordFault, RecordShape};
use crate::output::{CliResult, CommandFailure, print_error, refuse};

/// Limit of attempts at a record that the server could not decide.
const TRIES_MAX: u32 = 5;
/// Error code of a refusal that does not concern the record.
const UNAVAILABLE: &str = "UNAVAILABLE";
/// Waits of at least this length are reported, one per `NOTICE_EVERY`.
const NOTICE_FROM: Duration = Duration::from_secs(2);
const NOTICE_EVERY: Duration = Duration::from_secs(30);

/// Settings for sending batches.
pub(super) struct ImportSender {
    pub(super) account: Account,
    pub(super) template: Id,
    pub(super) records_max: usize,
    pub(super) batches_max: usize,
    pub(super) deadline_ahead: Duration,
    pub(super) patience: Duration,
    /// Whether a refused record ends the import.
    pub(super) stops: bool,
}

type ImportBatchResponse = (u64, Result<Vec<OnceResult>, kedge_client::ClientError>);

/// Batches in flight.
struct ImportBatchQueue {
    tasks: JoinSet<ImportBatchResponse>,
    batches: HashMap<u64, ImportBatch>,
    interrupts: Signal,
}

/// Events that end the wait for batches in flight.
enum ImportWakeup {
    Sent(Box<ImportBatchResponse>),
    Interrupted,
    Nothing,
}

impl ImportBatchQueue {
    async fn next(&mut self) -> CliResult<ImportWakeup> {
        let joined: Option<Result<ImportBatchResponse, JoinError>> = tokio::select! {
            joined = self.tasks.join_next() => joined,
            _ = self.interrupts.recv() => return Ok(ImportWakeup::Interrupted),
        };
        match joined {
            None => Ok(ImportWakeup::Nothing),
            Some(Ok(sent)) => Ok(ImportWakeup::Sent(Box::new(sent))),
            Some(Err(error)) => refuse(format!("sending a batch failed: {error}")),
        }
    }
}

impl ImportSender {
    /// Sends all records that are not minted yet. Returns the reason of an early end.
    pub(super) async fn run(
        &self,
        reader: &ImportRecordReader<'_>,
        checked: &ImportCheckResult,
        progress: &mut ImportProgress,
        rejected: &mut RejectionLog,
    ) -> CliResult<Option<String>> {
        let open = progress.past.open.values();
        let attempts = open.flat_map(|batch| &batch.attempts);
        self.account.reserve_nonces(attempts);
        let bar = bar(checked.records, progress.past.totals.minted);
        let notices = Arc::new(WaitNotices::default());
        let mut former = ImportBatcher::new(reader, checked, progress, self.records_max)?;
        let mut in_flight = ImportBatchQueue {
            tasks: JoinSet::new(),
            batches: HashMap::new(),
            interrupts: signal(SignalKind::interrupt())?,
        };
        let mut stop: Option<String> = None;
        loop {
            while stop.is_none() && in_flight.tasks.len() < self.batches_max {
                let Some(batch) = former.next()? else { break };
                self.spawn(&mut in_flight, batch, progress, &notices)?;
            }
            match in_flight.next().await? {
                ImportWakeup::Nothing => break,
                ImportWakeup::Interrupted if stop.is_some() => break,
                ImportWakeup::Interrupted => {
                    print_error("interrupted; waiting for the batches in flight");
                    stop = Some("the import was interrupted; run it again to continue".to_owned());
                }
                ImportWakeup::Sent(sent) => {
                    let (number, results) = *sent;
                    let Some(batch) = in_flight.batches.remove(&number) else {
                        continue;
                    };
                    match results {
                        Ok(results) => {
                            let left = settle(batch, results, progress, rejected, reader.shape)?;
                            bar.set_position(progress.past.totals.minted);
                            left.again.into_iter().for_each(|r| former.put_back(r));
                            if self.stops && left.refused > 0 && stop.is_none() {
                                stop = Some(
                                    "the server refused records; run the import again when the \
                                     cause is gone, or with --on-error skip"
                                        .to_owned(),
                                );
                            }
                        }
                        Err(error) => {
                            let why = format!("{error}; run the import again to continue");
                            stop.get_or_insert(why);
                        }
                    }
                }
            }
        }
        bar.finish_and_clear();
        Ok(stop)
    }

    fn spawn(
        &self,
        in_flight: &mut ImportBatchQueue,
        batch: ImportBatch,
        progress: &ImportProgress,
        notices: &Arc<WaitNotices>,
    ) -> CliResult<()> {
        let number = batch.number;
        let actions = batch.records.iter().map(|record| {
            let payload = RawValue::from_string(record.payload.clone())?;
            let action = NewAction::new(Kind::Mint, self.template, &payload);
            action.map_err(CommandFailure::from)
        });
        let actions: Vec<NewAction> = actions.collect::<CliResult<_>>()?;
        let begin = match &batch.open {
            Some(_) => None,
            None => Some((batch.ranges(), batch.payloads())),
        };
        let earlier = match &batch.open {
            Some(open) => open.attempts.clone(),
            None => Vec::new(),
        };
        let keeper = BatchAttemptStore {
            journal: Arc::clone(&progress.journal),
            number,
            begin: Mutex::new(begin),
            notices: Arc::clone(notices),
        };
        let account = self.account.clone();
        let idempotency_key = format!("kedge-import-{}-{number}", progress.id);
        let (deadline_ahead, patience) = (self.deadline_ahead, self.patience);
        in_flight.tasks.spawn(async move {
            let batch = OnceBatch {
                actions: &actions,
                idempotency_key: &idempotency_key,
                earlier: &earlier,
                deadline_ahead,
                patience,
            };
            (number, account.batch_once(&batch, &keeper).await)
        });
        in_flight.batches.insert(number, batch);
        Ok(())
    }
}

/// Unfinished work after a batch.
struct ImportBatchRemainder {
    /// Records that the server did not decide.
    again: Vec<ImportRecord>,
    /// Number of refused records.
    refused: u64,
}

/// Records a batch's outcome.
fn settle(
    batch: ImportBatch,
    results: Vec<OnceResult>,
    progress: &mut ImportProgress,
    rejected: &mut RejectionLog,
    shape: &RecordShape,
) -> CliResult<ImportBatchRemainder> {
    let number = batch.number;
    let mut left = ImportBatchRemainder {
        again: Vec::new(),
        refused: 0,
    };
    let mut minted = Vec::new();
    for (mut record, result) in batch.records.into_iter().zip(results) {
        let undecided = match result {
            OnceResult::Done {
                object_id,
                sequence,
                ..
            } => {
                let ImportRecord { ordinal, line, .. } = record;
                minted.push((ordinal, line, record.key, object_id, sequence));
                continue;
            }
            OnceResult::NotDone => None,
            OnceResult::Refused(envelope) => Some(envelope),
        };
        record.tries += 1;
        let is_final = undecided
            .as_ref()
            .is_some_and(|envelope| envelope.code != UNAVAILABLE);
        if !is_final && record.tries < TRIES_MAX {
            left.again.push(record);
            continue;
        }
        let fault = match &undecided {
            Some(envelope) => fault_of(envelope, shape),
            None => RecordFault::new("was not minted, and the server's reason is lost"),
        };
        left.refused += 1;
        rejected.add(record.line, record.key.as_deref(), &fault, &record.source)?;
    }
    let entry = ImportProgressEntry::Done { number, minted };
    let written = progress.journal.append(&entry);
    written.map_err(|error| progress.journal.failed(error))?;
    progress.past.add(entry);
    Ok(left)
}

/// The server's reason for refusing a record. Its pointers refer to the whole request.
fn fault_of(envelope: &ServerRefusal, shape: &RecordShape) -> RecordFault {
    let errors = envelope.body.get("errors").and_then(|all| all.as_array());
    let place = |error: &serde_json::Value| {
        let text = |member: &str| error.get(member)?.as_str();
        let pointer = text("pointer")?;
        let own = pointer.find("/payload").map(|at| &pointer[at + 8..]);
        Some((
            own.unwrap_or(pointer).to_owned(),
            text("message")?.to_owned(),
        ))
    };
    let places: Vec<(String, String)> = errors.into_iter().flatten().filter_map(place).collect();
    let otherwise = format!("{}: {}", envelope.code, envelope.message());
    fault_of_places(&places, &otherwise, shape)
}

fn bar(records: u64, minted: u64) -> ProgressBar {
    let bar = ProgressBar::new(records).with_message("mint");
    let template = "{msg:<8} {bar:40} {pos:>10}/{len} {per_sec} {eta}";
    if let Ok(style) = ProgressStyle::with_template(template) {
        bar.set_style(style);
    }
    bar.with_position(minted)
}

/// Time of the last reported wait.
#[derive(Default)]
struct WaitNotices(Mutex<Option<Instant>>);

impl WaitNotices {
    fn waits(&self, wait: Duration, why: &str) {
        let mut last = self.0.lock();
        if wait < NOTICE_FROM || last.is_some_and(|last| last.elapsed() < NOTICE_EVERY) {
            return;
        }
        *last = Some(Instant::now());
        print_error(&format!("waits {} s: {why}", wait.as_secs()));
    }
}

/// The lines of a batch, and the digest of its records.
type BatchOpening = (Vec<(u64, u64)>, Hash);

/// Records the attempts at a batch in the progress file.
struct BatchAttemptStore {
    journal: Arc<ImportProgressFile>,
    number: u64,
    /// The file's entry for a new batch, until its first attempt.
    begin: Mutex<Option<BatchOpening>>,
    notices: Arc<WaitNotices>,
}

impl AttemptStore for BatchAttemptStore {
    fn keep(&self, attempt: &SigningAttempt) -> std::io::Result<()> {
        let (number, attempt) = (self.number, *attempt);
        let entry = match self.begin.lock().take() {
            Some((records, payloads)) => ImportProgressEntry::Batch {
                number,
                records,
                payloads,
                attempt,
            },
            None => ImportProgressEntry::Attempt { number, attempt },
        };
        self.journal.append(&entry)
    }

    fn waits(&self, wait: Duration, why: &str) {
        self.notices.waits(wait, why);
    }
}
