//! One measure: the connections, each sending its next request when the last one is answered.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use bytes::Bytes;
use hdrhistogram::Histogram;
use hyper::StatusCode;
use kedge_client::Envelope;
use kedge_protocol::Hash;
use tokio::task::JoinSet;

use crate::connection::{Answer, Connection};
use crate::error::{Error, Result};
use crate::machine::{CoresUsed, Usage};
use crate::options::Options;
use crate::progress;
use crate::sampler::Sampler;
use crate::workload::{Signed, Turn};

/// Latencies up to a minute are told apart, to three digits.
const LATENCY_US_MAX: u64 = 60_000_000;
/// What a connection waits after it was told that there is too much under way.
const PAUSE: Duration = Duration::from_millis(10);
/// Connections that break in a row before their worker gives up.
const BROKEN_MAX: u32 = 5;

/// An answer that is to be verified, and what it takes to rebuild its request.
pub(crate) struct Sample {
    pub(crate) index: usize,
    pub(crate) seed: Hash,
    pub(crate) body: Bytes,
}

/// What was counted.
pub(crate) struct Tally {
    /// Microseconds from sending to the answer's last byte, of successes inside the measure.
    pub(crate) latency_us: Histogram<u64>,
    /// Successes in each second of the measure.
    pub(crate) per_second: Vec<u64>,
    /// Bytes of their answers.
    pub(crate) answer_bytes: u64,
    /// Successes, warm-up and the last ones included.
    pub(crate) acknowledged: u64,
    /// Everything else, by code, warm-up included.
    pub(crate) errors: BTreeMap<String, u64>,
    /// Requests of which nobody knows whether they were carried out.
    pub(crate) unknown: u64,
    /// Requests that were signed between sending.
    pub(crate) signed_on_the_fly: u64,
    pub(crate) samples: Vec<Sample>,
}

impl Tally {
    fn new(seconds: u64) -> Result<Self> {
        Ok(Self {
            latency_us: Histogram::new_with_bounds(1, LATENCY_US_MAX, 3)
                .map_err(|error| Error::Broken(error.to_string()))?,
            per_second: vec![0; seconds as usize],
            answer_bytes: 0,
            acknowledged: 0,
            errors: BTreeMap::new(),
            unknown: 0,
            signed_on_the_fly: 0,
            samples: Vec::new(),
        })
    }

    fn add(&mut self, other: Self) -> Result<()> {
        self.latency_us
            .add(&other.latency_us)
            .map_err(|error| Error::Broken(error.to_string()))?;
        for (sum, count) in self.per_second.iter_mut().zip(other.per_second) {
            *sum += count;
        }
        for (code, count) in other.errors {
            *self.errors.entry(code).or_default() += count;
        }
        self.answer_bytes += other.answer_bytes;
        self.acknowledged += other.acknowledged;
        self.unknown += other.unknown;
        self.signed_on_the_fly += other.signed_on_the_fly;
        self.samples.extend(other.samples);
        Ok(())
    }

    fn error(&mut self, code: String) {
        *self.errors.entry(code).or_default() += 1;
    }
}

/// What all connections share.
struct Shared {
    turn: Arc<Turn>,
    prepared: Vec<Signed>,
    authority: String,
    next: AtomicUsize,
    /// For the progress line.
    answered: AtomicU64,
    sampler: Sampler,
    measure_from: Instant,
    end: Instant,
    duration_s: u64,
}

/// Signs requests beforehand, on all threads that will send.
pub(crate) fn prepare(turn: &Turn, options: &Options) -> Result<Vec<Signed>> {
    let count = options.prepared();
    let bar = progress::bar("requests signed", count);
    let share = count.div_ceil(options.threads);
    let parts: Vec<Result<Vec<Signed>>> = thread::scope(|scope| {
        let threads: Vec<_> = (0..options.threads)
            .map(|thread| {
                let range = (thread * share).min(count)..((thread + 1) * share).min(count);
                let bar = &bar;
                scope.spawn(move || {
                    range
                        .map(|index| {
                            if index % 100 == 0 {
                                bar.inc(100);
                            }
                            turn.sign(index)
                        })
                        .collect()
                })
            })
            .collect();
        let joined = threads.into_iter().map(|thread| {
            let broken = |_| Err(Error::Broken("a signing thread panicked".to_owned()));
            thread.join().unwrap_or_else(broken)
        });
        joined.collect()
    });
    bar.finish_and_clear();
    let mut prepared = Vec::with_capacity(count);
    for part in parts {
        prepared.extend(part?);
    }
    Ok(prepared)
}

/// Warm-up and measure. Blocks until the last answer has come.
pub(crate) fn measure(
    turn: &Arc<Turn>,
    prepared: Vec<Signed>,
    authority: &str,
    options: &Options,
) -> Result<(Tally, CoresUsed)> {
    let measure_from = Instant::now() + Duration::from_secs(options.warm_up_s);
    let duration = Duration::from_secs(options.duration_s);
    let shared = Arc::new(Shared {
        turn: Arc::clone(turn),
        prepared,
        authority: authority.to_owned(),
        next: AtomicUsize::new(0),
        answered: AtomicU64::new(0),
        sampler: Sampler::new(measure_from, duration, options.samples),
        measure_from,
        end: measure_from + duration,
        duration_s: options.duration_s,
    });
    let (threads, connections) = (options.threads, options.connections());
    let workers: Vec<_> = (0..threads)
        .map(|thread| {
            let share = connections / threads + usize::from(thread < connections % threads);
            let shared = Arc::clone(&shared);
            thread::spawn(move || work(&shared, share))
        })
        .collect();
    let used = watch(&shared, options);
    let mut tally = Tally::new(options.duration_s)?;
    for worker in workers {
        let broken = |_| Err(Error::Broken("a sending thread panicked".to_owned()));
        tally.add(worker.join().unwrap_or_else(broken)?)?;
    }
    Ok((tally, used))
}

/// Shows how it goes, and takes the processors' time at both ends of the measure.
fn watch(shared: &Shared, options: &Options) -> CoresUsed {
    let spinner = progress::spinner("warming up".to_owned());
    thread::sleep(shared.measure_from - Instant::now());
    let before = Usage::now(options.server_pid);
    let answered_before = shared.answered.load(Ordering::Relaxed);
    while Instant::now() < shared.end {
        let rest = shared.end - Instant::now();
        thread::sleep(rest.min(Duration::from_millis(500)));
        let answered = shared.answered.load(Ordering::Relaxed) - answered_before;
        let seconds = shared.measure_from.elapsed().as_secs_f64();
        let rate = answered as f64 * options.actions_a_request() as f64 / seconds;
        spinner.set_message(format!("{rate:.0} actions/s"));
    }
    let used = Usage::now(options.server_pid).since(&before);
    spinner.finish_and_clear();
    used
}

/// One thread: a runtime of its own, and its share of the connections.
fn work(shared: &Arc<Shared>, connections: usize) -> Result<Tally> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(Error::io("starting a runtime"))?;
    runtime.block_on(async {
        let mut workers = JoinSet::new();
        for _ in 0..connections {
            workers.spawn(send(Arc::clone(shared)));
        }
        let mut tally = Tally::new(shared.duration_s)?;
        while let Some(joined) = workers.join_next().await {
            tally.add(joined.map_err(|error| Error::Broken(error.to_string()))??)?;
        }
        Ok(tally)
    })
}

/// One connection.
async fn send(shared: Arc<Shared>) -> Result<Tally> {
    let mut tally = Tally::new(shared.duration_s)?;
    let mut connection = Connection::open(&shared.authority).await?;
    let mut broken = 0;
    while Instant::now() < shared.end {
        let index = shared.next.fetch_add(1, Ordering::Relaxed);
        let signed = if let Some(signed) = shared.prepared.get(index) {
            *signed
        } else {
            tally.signed_on_the_fly += 1;
            shared.turn.sign(index)?
        };
        let request = shared.turn.request(index, &signed)?;
        let sent = Instant::now();
        let keep = shared.sampler.take(sent);
        match connection.exchange(request, keep).await {
            Ok(answer) if answer.status.is_success() => {
                broken = 0;
                shared.count(&mut tally, sent, &answer)?;
                if keep {
                    tally.samples.push(Sample {
                        index,
                        seed: signed.seed,
                        body: answer.body,
                    });
                }
            }
            Ok(answer) => refused(&mut tally, &answer).await,
            Err(error) => {
                tally.unknown += 1;
                tally.error(format!("no answer: {error}"));
                broken += 1;
                if broken == BROKEN_MAX {
                    return Ok(tally);
                }
                connection = Connection::open(&shared.authority).await?;
            }
        }
    }
    Ok(tally)
}

async fn refused(tally: &mut Tally, answer: &Answer) {
    let code = serde_json::from_slice::<Envelope>(&answer.body)
        .map_or_else(|_| answer.status.to_string(), |envelope| envelope.code);
    tally.error(code);
    let busy = [
        StatusCode::TOO_MANY_REQUESTS,
        StatusCode::SERVICE_UNAVAILABLE,
    ];
    if busy.contains(&answer.status) {
        tokio::time::sleep(PAUSE).await;
    }
}

impl Shared {
    fn count(&self, tally: &mut Tally, sent: Instant, answer: &Answer) -> Result<()> {
        let now = Instant::now();
        tally.acknowledged += 1;
        self.answered.fetch_add(1, Ordering::Relaxed);
        if now < self.measure_from || now >= self.end {
            return Ok(());
        }
        let second = (now - self.measure_from).as_secs() as usize;
        tally.per_second[second] += 1;
        tally.answer_bytes += answer.length as u64;
        let latency_us = (now - sent).as_micros() as u64;
        tally
            .latency_us
            .record(latency_us.clamp(1, LATENCY_US_MAX))
            .map_err(|error| Error::Broken(error.to_string()))
    }
}
