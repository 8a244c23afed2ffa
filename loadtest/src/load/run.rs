//! Load of one process: threads with a share of the connections each. Their counts are collected once a second.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use kedge_protocol::Hash;
use parking_lot::Mutex;
use serde::{Deserialize, Serialize};
use tokio::sync::mpsc;
use tokio::task::LocalSet;

use crate::checks::receipts::{self, AnswerSample, ReceiptTrust};
use crate::checks::sequences::SequenceBitmap;
use crate::error::{LoadtestError, LoadtestResult};
use crate::load::interval::LoadInterval;
use crate::load::pace::LoadPace;
use crate::load::sampler::AnswerSampler;
use crate::load::sender;
use crate::load::workload::{PresignedHead, Workload};
use crate::options::{LimitsMode, VerifyMode};
use crate::threads::on_threads;

/// Limit on answers that wait for verification during the load; above it, senders wait.
const UNVERIFIED_MAX: usize = 64;
/// Limit on problems described in words.
const PROBLEMS_MAX: usize = 20;

/// Parameters of a phase of load.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct LoadPhase {
    pub(crate) warm_up_s: u64,
    pub(crate) duration_s: u64,
    /// Rate of an open loop, in requests a second.
    pub(crate) rate: Option<f64>,
    /// Limit on the number of requests.
    pub(crate) slots: Option<u64>,
    pub(crate) threads: usize,
    pub(crate) connections: usize,
    pub(crate) limits: LimitsMode,
    pub(crate) if_match: bool,
    /// Whether the server is expected to refuse or cut off requests. Latencies then count from sending, because earlier
    /// waits are waits for this program.
    pub(crate) overload: bool,
    pub(crate) verify: VerifyMode,
    pub(crate) samples: u32,
    /// Last sequence of the log before the phase.
    pub(crate) base: u64,
}

/// Results of a process.
#[derive(Clone, Default, Serialize, Deserialize)]
pub(crate) struct PhaseResult {
    pub(crate) places: SequenceBitmap,
    /// Actions of requests with an unknown outcome.
    pub(crate) unknown: u64,
    /// Acknowledged actions by organization.
    pub(crate) acknowledged_each: Vec<u64>,
    pub(crate) signed_on_the_fly: u64,
    pub(crate) receipts_verified: u64,
    /// Sequences and leaves proven by verified receipts.
    pub(crate) leaves: Vec<(u64, Hash)>,
    /// Numbers and hashes of the headers of verified receipts.
    pub(crate) headers: BTreeMap<u64, Hash>,
    pub(crate) problems: Vec<String>,
    pub(crate) problem_count: u64,
    /// Requests begun.
    pub(crate) slots: u64,
    /// Requests of an open loop that were due but never begun.
    pub(crate) never_begun: u64,
    /// Length of the measurement in seconds; shorter than requested if requests ran out.
    pub(crate) measured_s: f64,
}

impl PhaseResult {
    pub(crate) fn problem(&mut self, text: String) {
        self.problem_count += 1;
        if self.problems.len() < PROBLEMS_MAX {
            self.problems.push(text);
        }
    }

    /// Appends the results of another process and its organizations.
    pub(crate) fn merge(&mut self, other: Self) {
        self.merge_same(&other);
        self.acknowledged_each.extend(other.acknowledged_each);
    }

    fn merge_same(&mut self, other: &Self) {
        self.places.merge(&other.places);
        self.unknown += other.unknown;
        self.signed_on_the_fly += other.signed_on_the_fly;
        self.receipts_verified += other.receipts_verified;
        self.leaves.extend(&other.leaves);
        self.headers.extend(&other.headers);
        self.problem_count += other.problem_count;
        let room = PROBLEMS_MAX.saturating_sub(self.problems.len());
        self.problems
            .extend(other.problems.iter().take(room).cloned());
        self.slots += other.slots;
        self.never_begun += other.never_begun;
        self.measured_s = self.measured_s.max(other.measured_s);
    }

    /// Adds the results of a thread of the same process, or of an earlier phase.
    pub(crate) fn merge_organizations(&mut self, other: &Self) {
        self.merge_same(other);
        let longer = self
            .acknowledged_each
            .len()
            .max(other.acknowledged_each.len());
        self.acknowledged_each.resize(longer, 0);
        for (own, others) in self
            .acknowledged_each
            .iter_mut()
            .zip(&other.acknowledged_each)
        {
            *own += others;
        }
    }

    pub(crate) fn verified(
        &mut self,
        workload: &Workload,
        trust: &ReceiptTrust,
        sample: &AnswerSample,
    ) {
        match receipts::check(workload, trust, sample) {
            Ok(opened) => {
                self.receipts_verified += 1;
                self.leaves.extend(opened.leaves);
                let (number, hash) = opened.batch;
                if self
                    .headers
                    .insert(number, hash)
                    .is_some_and(|known| known != hash)
                {
                    self.problem(format!("two different signed headers of batch {number}"));
                }
            }
            Err(error) => self.problem(format!("request {}: {error}", sample.number)),
        }
    }
}

/// State shared by all connections of a process.
pub(crate) struct LoadState {
    pub(crate) workload: Arc<Workload>,
    pub(crate) prepared: Vec<PresignedHead>,
    pub(crate) authority: String,
    pub(crate) phase: LoadPhase,
    pub(crate) pace: LoadPace,
    pub(crate) sampler: AnswerSampler,
    pub(crate) start: Instant,
    pub(crate) measure_from: Instant,
    pub(crate) end: Instant,
    /// End of each organization's wait, in milliseconds from the start.
    pub(crate) waits_until_ms: Vec<AtomicU64>,
    /// Whether a limit has refused a request. A server with limits off states limits too, so the headers alone do not
    /// show it.
    pub(crate) is_limited: AtomicBool,
    /// Channel of answers that are verified while the load runs.
    pub(crate) to_verify: Option<mpsc::Sender<AnswerSample>>,
}

/// Counts of one thread. Another thread takes the interval's counts once a second.
pub(crate) struct ThreadCounts {
    pub(crate) interval: Arc<Mutex<LoadInterval>>,
    pub(crate) part: RefCell<PhaseResult>,
    pub(crate) samples: RefCell<Vec<AnswerSample>>,
}

impl ThreadCounts {
    pub(crate) fn count(&self, count: impl FnOnce(&mut LoadInterval)) {
        count(&mut self.interval.lock());
    }
}

/// Runs warm-up and measurement until the last answer has arrived.
pub(crate) fn drive(
    workload: &Arc<Workload>,
    trust: &ReceiptTrust,
    prepared: Vec<PresignedHead>,
    authority: &str,
    phase: LoadPhase,
    report: &mut dyn FnMut(LoadInterval) -> LoadtestResult<()>,
) -> LoadtestResult<PhaseResult> {
    let start = Instant::now();
    let measure_from = start + Duration::from_secs(phase.warm_up_s);
    let duration = Duration::from_secs(phase.duration_s);
    let (sender, verifier) = if phase.verify == VerifyMode::All {
        let (sender, receiver) = mpsc::channel(UNVERIFIED_MAX);
        let (workload, trust) = (Arc::clone(workload), trust.clone());
        let verifier = thread::spawn(move || verify_all(&workload, &trust, receiver));
        (Some(sender), Some(verifier))
    } else {
        (None, None)
    };
    let slots = match (phase.slots, workload.slots_max()) {
        (None, limit) | (limit, None) => limit,
        (Some(one), Some(other)) => Some(one.min(other)),
    };
    let organizations = workload.organizations.iter();
    let load = Arc::new(LoadState {
        pace: LoadPace::new(start, measure_from + duration, phase.rate, slots),
        sampler: AnswerSampler::new(measure_from, duration, phase.samples),
        waits_until_ms: organizations.map(|_| AtomicU64::new(0)).collect(),
        workload: Arc::clone(workload),
        prepared,
        authority: authority.to_owned(),
        start,
        measure_from,
        end: measure_from + duration,
        is_limited: AtomicBool::new(false),
        to_verify: sender,
        phase,
    });
    let threads = spawn(&load);
    tick(&load, &threads, report)?;
    let mut part = PhaseResult {
        places: SequenceBitmap::new(load.phase.base),
        acknowledged_each: vec![0; load.workload.organizations.len()],
        ..PhaseResult::default()
    };
    let mut samples = Vec::new();
    let mut rest = LoadInterval::default();
    for (thread, interval) in threads {
        let broken = |_| Err(LoadtestError::broken("a sending thread panicked"));
        let (of_thread, kept) = thread.join().unwrap_or_else(broken)?;
        part.merge_organizations(&of_thread);
        samples.extend(kept);
        rest.merge(&interval.lock());
    }
    finish(&load, &mut part, &mut rest);
    report(rest)?;
    drop(load);
    if let Some(verifier) = verifier {
        let broken = |_| PhaseResult::default();
        part.merge_organizations(&verifier.join().unwrap_or_else(broken));
    }
    for sample in &samples {
        part.verified(workload, trust, sample);
    }
    Ok(part)
}

fn spawn(load: &Arc<LoadState>) -> Vec<LoadThread> {
    let (threads, connections) = (load.phase.threads, load.phase.connections);
    (0..threads)
        .map(|thread| {
            let share = connections / threads + usize::from(thread < connections % threads);
            let interval = Arc::new(Mutex::new(LoadInterval::default()));
            let (load, taken) = (Arc::clone(load), Arc::clone(&interval));
            (thread::spawn(move || work(&load, taken, share)), interval)
        })
        .collect()
}

type LoadThread = (
    JoinHandle<LoadtestResult<(PhaseResult, Vec<AnswerSample>)>>,
    Arc<Mutex<LoadInterval>>,
);

/// Takes the counts at each full second of warm-up and measurement.
fn tick(
    load: &LoadState,
    threads: &[LoadThread],
    report: &mut dyn FnMut(LoadInterval) -> LoadtestResult<()>,
) -> LoadtestResult<()> {
    let (warm_up, duration) = (load.phase.warm_up_s, load.phase.duration_s);
    for second in 1..=warm_up + duration {
        let time = load.start + Duration::from_secs(second);
        while Instant::now() < time {
            if threads.iter().all(|(thread, _)| thread.is_finished()) {
                return Ok(());
            }
            let rest = time.saturating_duration_since(Instant::now());
            thread::sleep(rest.min(Duration::from_millis(100)));
        }
        let mut taken = LoadInterval {
            second: second.cast_signed() - warm_up.cast_signed(),
            ..LoadInterval::default()
        };
        for (_, interval) in threads {
            let mut interval = interval.lock();
            taken.merge(&std::mem::take(&mut interval));
        }
        report(taken)?;
    }
    Ok(())
}

/// Counts an open loop's requests that were due but never begun, with their wait so far. Without them, latencies would
/// look better than they are.
fn finish(load: &LoadState, part: &mut PhaseResult, rest: &mut LoadInterval) {
    let now = Instant::now();
    part.slots = load.pace.begun();
    for due in load
        .pace
        .never_begun()
        .filter(|due| *due >= load.measure_from)
    {
        part.never_begun += 1;
        if !load.phase.overload {
            rest.record(now - due);
        }
    }
    let measured = now
        .min(load.end)
        .saturating_duration_since(load.measure_from);
    part.measured_s = measured.as_secs_f64();
    rest.second = load.phase.duration_s.cast_signed() + 1;
}

/// Runs one thread: a runtime with its share of the connections.
fn work(
    load: &Arc<LoadState>,
    interval: Arc<Mutex<LoadInterval>>,
    connections: usize,
) -> LoadtestResult<(PhaseResult, Vec<AnswerSample>)> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(LoadtestError::io("starting a runtime"))?;
    let local = Rc::new(ThreadCounts {
        interval,
        part: RefCell::new(PhaseResult {
            places: SequenceBitmap::new(load.phase.base),
            acknowledged_each: vec![0; load.workload.organizations.len()],
            ..PhaseResult::default()
        }),
        samples: RefCell::new(Vec::new()),
    });
    let set = LocalSet::new();
    let tasks: Vec<_> = (0..connections)
        .map(|_| set.spawn_local(sender::connection(Arc::clone(load), Rc::clone(&local))))
        .collect();
    runtime.block_on(set.run_until(async {
        for task in tasks {
            task.await.map_err(LoadtestError::broken)??;
        }
        Ok::<_, LoadtestError>(())
    }))?;
    let part = local.part.replace(PhaseResult::default());
    Ok((part, local.samples.take()))
}

fn verify_all(
    workload: &Workload,
    trust: &ReceiptTrust,
    mut samples: mpsc::Receiver<AnswerSample>,
) -> PhaseResult {
    let mut part = PhaseResult::default();
    while let Some(sample) = samples.blocking_recv() {
        part.verified(workload, trust, &sample);
        // The header replaces the leaves, because it contains their root.
        part.leaves.clear();
    }
    part
}

/// Signs requests beforehand, on all sending threads.
pub(crate) fn sign_beforehand(
    workload: &Workload,
    count: usize,
    threads: usize,
    progress: &indicatif::ProgressBar,
) -> LoadtestResult<Vec<PresignedHead>> {
    progress.set_length(count as u64);
    let prepared = on_threads(count, threads, |number| {
        if number % 100 == 0 {
            progress.inc(100);
        }
        workload.sign(number as u64)
    });
    progress.finish_and_clear();
    prepared
}

impl LoadState {
    /// Milliseconds since the start.
    pub(crate) fn now_ms(&self) -> u64 {
        self.start.elapsed().as_millis() as u64
    }

    /// Whether a request counts in the measurement; in an open loop its due time decides.
    pub(crate) fn is_measured(&self, due: Option<Instant>, answered: Instant) -> bool {
        let time = due.filter(|_| !self.phase.overload).unwrap_or(answered);
        time >= self.measure_from && time < self.end
    }

    /// Makes an organization wait this long before its next request.
    pub(crate) fn wait(&self, organization: usize, wait_s: u64) {
        let until_ms = self.now_ms() + wait_s * 1_000;
        self.waits_until_ms[organization].fetch_max(until_ms, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn problems_are_counted_and_the_first_are_told() {
        let mut part = PhaseResult::default();
        for number in 0..100 {
            part.problem(format!("problem {number}"));
        }
        let mut other = PhaseResult::default();
        other.problem("other".to_owned());
        part.merge(other);
        assert_eq!(
            (part.problem_count, part.problems.len()),
            (101, PROBLEMS_MAX)
        );
    }
}
