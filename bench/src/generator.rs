//! Closed-loop load generator: each connection sends its next request when the last one is answered.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use hdrhistogram::Histogram;
use kedge_load::connection::{LoadConnection, authority};
use kedge_load::figures::{grouped, print};
use kedge_load::machine::CpuTicks;
use kedge_load::threads::on_threads;
use serde::Serialize;
use tokio::task::JoinSet;

use crate::error::BenchResult;
use crate::requests::{BenchRequest, RequestPlan};
use crate::server::BenchServer;

/// Threads that sign and send.
const THREADS: usize = 2;
/// Latencies are recorded up to a minute, to three digits.
const LATENCY_US_MAX: u64 = 60_000_000;

/// End of a drive.
#[derive(Clone, Copy)]
pub(crate) enum DriveEnd {
    /// After this time; the warm-up does not count.
    After {
        warm_up: Duration,
        measure: Duration,
    },
    /// After this many requests.
    Requests(usize),
}

/// Results of a drive.
#[derive(Clone, Serialize)]
pub(crate) struct DriveFigures {
    pub(crate) seconds: f64,
    /// Successes during the measurement.
    pub(crate) requests: u64,
    pub(crate) actions_per_second: f64,
    pub(crate) latency_ms: DriveLatency,
    /// Successes, including the warm-up.
    pub(crate) acknowledged: u64,
    /// All other answers, by message.
    pub(crate) errors: BTreeMap<String, u64>,
    pub(crate) signed_on_the_fly: u64,
    /// Cores kept busy by the server, including the warm-up.
    pub(crate) server_cores: f64,
    pub(crate) generator_cores: f64,
    /// Microseconds of a server core per action.
    pub(crate) server_us_an_action: f64,
}

/// Milliseconds from sending a request to the last byte of its answer.
#[derive(Clone, Copy, Default, Serialize)]
pub(crate) struct DriveLatency {
    pub(crate) p50: f64,
    pub(crate) p99: f64,
    pub(crate) max: f64,
}

struct DriveTally {
    latency_us: Histogram<u64>,
    acknowledged: u64,
    errors: BTreeMap<String, u64>,
    signed_on_the_fly: u64,
}

impl DriveTally {
    fn new() -> BenchResult<Self> {
        Ok(Self {
            latency_us: Histogram::new_with_bounds(1, LATENCY_US_MAX, 3)?,
            acknowledged: 0,
            errors: BTreeMap::new(),
            signed_on_the_fly: 0,
        })
    }

    fn add(&mut self, other: Self) -> BenchResult<()> {
        self.latency_us.add(&other.latency_us)?;
        self.acknowledged += other.acknowledged;
        self.signed_on_the_fly += other.signed_on_the_fly;
        for (text, count) in other.errors {
            *self.errors.entry(text).or_default() += count;
        }
        Ok(())
    }
}

struct DriveState {
    authority: String,
    plan: Arc<RequestPlan>,
    prepared: Vec<BenchRequest>,
    next: AtomicUsize,
    /// Total number of requests to send.
    requests_max: usize,
    counted_from: Instant,
    until: Instant,
}

/// Signs, then sends. Blocks the thread.
pub(crate) fn drive(
    url: &str,
    pid: u32,
    plan: &Arc<RequestPlan>,
    end: DriveEnd,
) -> BenchResult<DriveFigures> {
    let (warm_up, measure, requests_max) = match end {
        DriveEnd::After { warm_up, measure } => (warm_up, measure, usize::MAX),
        DriveEnd::Requests(count) => (Duration::ZERO, Duration::from_hours(12), count),
    };
    let seconds = (warm_up + measure).as_secs() as usize;
    let prepare = (plan.shape.prepared_a_second() * seconds).min(requests_max);
    let prepared = match end {
        DriveEnd::After { .. } => sign(plan, prepare)?,
        // Filling is not measured.
        DriveEnd::Requests(_) => Vec::new(),
    };
    let begun = Instant::now();
    let usage = || CpuTicks::now(Some(pid), &[std::process::id()]);
    let before = usage();
    let shared = Arc::new(DriveState {
        authority: authority(url)?,
        plan: Arc::clone(plan),
        prepared,
        next: AtomicUsize::new(0),
        requests_max,
        counted_from: begun + warm_up,
        until: begun + warm_up + measure,
    });
    let connections = plan.shape.connections();
    let workers: Vec<_> = (0..THREADS)
        .map(|number| {
            let share = connections / THREADS + usize::from(number < connections % THREADS);
            let shared = Arc::clone(&shared);
            thread::spawn(move || work(&shared, share))
        })
        .collect();
    let mut tally = DriveTally::new()?;
    for worker in workers {
        tally.add(worker.join().map_err(|_| "a sending thread panicked")??)?;
    }
    let all = begun.elapsed().as_secs_f64();
    let cores = usage().since(&before);
    let server_cores = cores.server.unwrap_or_default();
    let seconds = match end {
        DriveEnd::After { measure, .. } => measure.as_secs_f64(),
        DriveEnd::Requests(_) => all,
    };
    let actions = |requests: u64| (requests * plan.shape.actions() as u64) as f64;
    let at = |quantile| tally.latency_us.value_at_quantile(quantile) as f64 / 1e3;
    let requests = tally.latency_us.len();
    Ok(DriveFigures {
        seconds,
        requests,
        actions_per_second: actions(requests) / seconds,
        latency_ms: DriveLatency {
            p50: at(0.5),
            p99: at(0.99),
            max: tally.latency_us.max() as f64 / 1e3,
        },
        acknowledged: tally.acknowledged,
        server_us_an_action: server_cores * all * 1e6 / actions(tally.acknowledged.max(1)),
        errors: tally.errors,
        signed_on_the_fly: tally.signed_on_the_fly,
        server_cores,
        generator_cores: cores.generator,
    })
}

/// Drives a server on separate threads, outside this runtime. Any refusal is an error.
pub(crate) async fn measure(
    server: &BenchServer,
    plan: &Arc<RequestPlan>,
    end: DriveEnd,
) -> BenchResult<DriveFigures> {
    let (url, pid, plan) = (server.url.clone(), server.pid(), Arc::clone(plan));
    let driven = tokio::task::spawn_blocking(move || drive(&url, pid, &plan, end)).await??;
    match driven.errors.first_key_value() {
        None => Ok(driven),
        Some((text, count)) => Err(format!("{count} requests were refused: {text}").into()),
    }
}

/// Updates objects until the log holds this many actions.
pub(crate) async fn fill(
    server: &BenchServer,
    plan: &Arc<RequestPlan>,
    actions: u64,
) -> BenchResult<()> {
    let missing = actions.saturating_sub(server.sequence().await?);
    if missing == 0 {
        return Ok(());
    }
    let requests = missing.div_ceil(plan.shape.actions() as u64);
    print(&format!("writing {} actions: ", grouped(missing as f64)))?;
    let driven = measure(server, plan, DriveEnd::Requests(requests as usize)).await?;
    let (seconds, rate) = (driven.seconds, grouped(driven.actions_per_second));
    Ok(print(&format!("{seconds:.0} s, {rate} a second\n"))?)
}

fn sign(plan: &RequestPlan, count: usize) -> BenchResult<Vec<BenchRequest>> {
    let nonces: Vec<u64> = (0..count).map(|number| plan.nonce(number)).collect();
    on_threads(count, THREADS, |number| plan.sign(number, nonces[number]))
}

/// Runs one thread: a runtime with its share of the connections.
fn work(shared: &Arc<DriveState>, connections: usize) -> BenchResult<DriveTally> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    runtime.block_on(async {
        let mut workers = JoinSet::new();
        for _ in 0..connections {
            workers.spawn(send(Arc::clone(shared)));
        }
        let mut tally = DriveTally::new()?;
        while let Some(joined) = workers.join_next().await {
            tally.add(joined??)?;
        }
        Ok(tally)
    })
}

async fn send(shared: Arc<DriveState>) -> BenchResult<DriveTally> {
    let mut tally = DriveTally::new()?;
    let mut connection = LoadConnection::open(&shared.authority).await?;
    let mut head = Vec::new();
    while Instant::now() < shared.until {
        let number = shared.next.fetch_add(1, Ordering::Relaxed);
        if number >= shared.requests_max {
            break;
        }
        let fresh;
        let signed = if let Some(signed) = shared.prepared.get(number) {
            signed
        } else {
            tally.signed_on_the_fly += 1;
            fresh = shared.plan.sign(number, shared.plan.nonce(number))?;
            &fresh
        };
        shared.plan.write_head(&mut head, &shared.authority, signed);
        let sent = Instant::now();
        let answer = connection.exchange(&head, shared.plan.body(signed)).await?;
        let now = Instant::now();
        if !answer.status.is_success() {
            let text = String::from_utf8_lossy(answer.body);
            let text = text.chars().take(200).collect();
            *tally.errors.entry(text).or_default() += 1;
            continue;
        }
        tally.acknowledged += 1;
        if now >= shared.counted_from && now < shared.until {
            let latency_us = (now - sent).as_micros() as u64;
            let bounded = latency_us.clamp(1, LATENCY_US_MAX);
            tally.latency_us.record(bounded)?;
        }
    }
    Ok(tally)
}
