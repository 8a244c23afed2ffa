//! Costs of distributed tracing: the same server with tracing off, with one request in a hundred traced, and with all
//! of them, in turns on one machine. The collector is a sink in this process, which only counts the spans.

mod report;
mod sink;

use std::path::Path;
use std::sync::Arc;

use kedge_load::figures::print;
use kedge_load::machine::load_average;
use serde::Serialize;

use self::report::{TracingFigures, TracingRun};
use self::sink::SpanSink;
use crate::error::BenchResult;
use crate::fleet::{BenchFleet, FleetSize};
use crate::generator::{DriveEnd, measure};
use crate::requests::{RequestPlan, RequestShape};
use crate::rounds::{RoundOptions, SETTLE};
use crate::server::{BenchOptions, BenchServer};

/// What to measure, and for how long.
#[derive(clap::Args, Serialize)]
pub(crate) struct TracingBenchOptions {
    #[command(flatten)]
    #[serde(skip)]
    bench: BenchOptions,
    #[command(flatten)]
    size: FleetSize,
    #[command(flatten)]
    #[serde(flatten)]
    turns: RoundOptions,
}

/// Share of traced requests.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
enum TracedShare {
    Nothing,
    OneInAHundred,
    Everything,
}

impl TracedShare {
    const ALL: [Self; 3] = [Self::Nothing, Self::OneInAHundred, Self::Everything];

    fn ratio(self) -> Option<&'static str> {
        match self {
            Self::Nothing => None,
            Self::OneInAHundred => Some("0.01"),
            Self::Everything => Some("1"),
        }
    }
}

/// A server, its organizations, and the collector of its spans.
struct TracingSubject {
    traced: TracedShare,
    server: BenchServer,
    fleet: Arc<BenchFleet>,
    sink: SpanSink,
}

impl TracingSubject {
    async fn start(
        options: &TracingBenchOptions,
        scratch: &Path,
        traced: TracedShare,
    ) -> BenchResult<Self> {
        let sink = SpanSink::start().await?;
        let mut settings = Vec::new();
        if let Some(ratio) = traced.ratio() {
            settings.push(format!("tracing_endpoint=\"{}\"", sink.url));
            settings.push(format!("tracing_sample_ratio={ratio}"));
        }
        let data = scratch.join(format!("{traced:?}"));
        let server = BenchServer::start_set(&options.bench.server, &data, &settings)?;
        let fleet = Arc::new(BenchFleet::make(&server, options.size).await?);
        Ok(Self {
            traced,
            server,
            fleet,
            sink,
        })
    }

    async fn measure(&self, plan: &Arc<RequestPlan>, end: DriveEnd) -> BenchResult<TracingRun> {
        tokio::time::sleep(SETTLE).await;
        let before = self.sink.spans();
        let driven = measure(&self.server, plan, end).await?;
        // The server sends spans at most a second after they end.
        tokio::time::sleep(SETTLE).await;
        let spans = self.sink.spans() - before;
        let is_right = match self.traced {
            TracedShare::Nothing => spans == 0,
            // By chance, none of a few requests may be traced.
            TracedShare::OneInAHundred => true,
            TracedShare::Everything => spans > driven.acknowledged,
        };
        if !is_right {
            let (traced, requests) = (self.traced, driven.acknowledged);
            return Err(format!("{traced:?}: {spans} spans of {requests} requests arrived").into());
        }
        Ok(TracingRun {
            traced: self.traced,
            shape: plan.shape,
            per_second: driven.actions_per_second,
            p50_ms: driven.latency_ms.p50,
            p99_ms: driven.latency_ms.p99,
            server_us: driven.server_us_an_action,
            spans_a_request: spans as f64 / driven.acknowledged.max(1) as f64,
        })
    }
}

/// Measures the three in turns.
pub(crate) async fn run(options: &TracingBenchOptions) -> BenchResult<()> {
    let scratch = options.bench.scratch()?;
    print(&format!(
        "making {} organizations, {} objects, three times\n",
        options.size.organizations, options.size.objects
    ))?;
    let mut subjects = Vec::new();
    for traced in TracedShare::ALL {
        subjects.push(TracingSubject::start(options, scratch.path(), traced).await?);
    }
    let load_average_before = load_average();
    let mut runs = Vec::new();
    for shape in [RequestShape::Batch, RequestShape::Single] {
        let plan = |subject: &TracingSubject| Arc::new(RequestPlan::new(&subject.fleet, shape));
        let plans: Vec<Arc<RequestPlan>> = subjects.iter().map(plan).collect();
        for at in options.turns.order(subjects.len()) {
            let end = options.turns.end();
            let run = subjects[at].measure(&plans[at], end).await?;
            print(&report::line(&run))?;
            runs.push(run);
        }
    }
    for subject in subjects {
        subject.server.stop()?;
    }
    report::write(options, load_average_before, TracingFigures { runs })
}
