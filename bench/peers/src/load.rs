//! Closed-loop load.

use std::future::Future;
use std::time::{Duration, Instant};

use hdrhistogram::Histogram;
use tokio::task::JoinSet;

use crate::error::Result;
use crate::options::Options;

/// Latencies are recorded up to a minute, to three digits.
const LATENCY_US_MAX: u64 = 60_000_000;

/// A connection to a store.
pub(crate) trait Append: Send + 'static {
    /// Appends the next records. Returns when they are durable.
    fn append(&mut self) -> impl Future<Output = Result<()>> + Send;
}

pub(crate) struct Measured {
    records_per_second: f64,
    latency_us: Histogram<u64>,
}

impl Measured {
    /// One line of JSON.
    pub(crate) fn json(&self) -> serde_json::Value {
        let at = |quantile| self.latency_us.value_at_quantile(quantile) as f64 / 1e3;
        serde_json::json!({
            "records_per_second": self.records_per_second,
            "p50_ms": at(0.5),
            "p99_ms": at(0.99),
            "max_ms": self.latency_us.max() as f64 / 1e3,
        })
    }
}

pub(crate) async fn measure<A: Append>(options: &Options, connections: Vec<A>) -> Result<Measured> {
    let measured = Duration::from_secs(options.duration_s);
    let counted_from = Instant::now() + Duration::from_secs(options.warm_up_s);
    let until = counted_from + measured;
    let mut tasks = JoinSet::new();
    for connection in connections {
        tasks.spawn(one(connection, counted_from, until));
    }
    let mut all = Seen::new()?;
    while let Some(seen) = tasks.join_next().await {
        let seen = seen??;
        all.latency_us.add(seen.latency_us)?;
        all.groups += seen.groups;
    }
    Ok(Measured {
        records_per_second: all.groups * options.records as f64 / measured.as_secs_f64(),
        latency_us: all.latency_us,
    })
}

struct Seen {
    latency_us: Histogram<u64>,
    /// Number of groups; one in flight at either end of the measurement counts by its share inside.
    groups: f64,
}

impl Seen {
    fn new() -> Result<Self> {
        Ok(Self {
            latency_us: Histogram::new_with_bounds(1, LATENCY_US_MAX, 3)?,
            groups: 0.0,
        })
    }
}

async fn one<A: Append>(mut connection: A, counted_from: Instant, until: Instant) -> Result<Seen> {
    let mut seen = Seen::new()?;
    loop {
        let sent = Instant::now();
        if sent >= until {
            return Ok(seen);
        }
        connection.append().await?;
        let now = Instant::now();
        let inside = now
            .min(until)
            .saturating_duration_since(sent.max(counted_from));
        if inside.is_zero() {
            continue;
        }
        let took = now - sent;
        seen.groups += inside.as_secs_f64() / took.as_secs_f64();
        let took_us = took.as_micros() as u64;
        seen.latency_us.record(took_us.clamp(1, LATENCY_US_MAX))?;
    }
}
