//! Costs of distributed tracing: the same server with tracing off, with one request in a hundred traced, and with all
//! of them, in turns on one machine. The collector is a sink in this process, which only counts the spans.

mod report;
mod sink;

use std::path::Path;
use std::sync::Arc;

use kedge_load::figures::print;
use kedge_load::machine::load_average;
use serde::Serialize;

use self::report::{Figures, Run};
use self::sink::Sink;
use crate::drive::{End, measure};
use crate::error::Result;
use crate::fleet::{Fleet, Size};
use crate::requests::{Plan, Shape};
use crate::server::{Bench, Server};
use crate::turns::{SETTLE, Turns};

/// What to measure, and for how long.
#[derive(clap::Args, Serialize)]
pub(crate) struct Options {
    #[command(flatten)]
    #[serde(skip)]
    bench: Bench,
    #[command(flatten)]
    size: Size,
    #[command(flatten)]
    #[serde(flatten)]
    turns: Turns,
}

/// Share of traced requests.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
enum Traced {
    Nothing,
    OneInAHundred,
    Everything,
}

impl Traced {
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
struct Subject {
    traced: Traced,
    server: Server,
    fleet: Arc<Fleet>,
    sink: Sink,
}

impl Subject {
    async fn start(options: &Options, scratch: &Path, traced: Traced) -> Result<Self> {
        let sink = Sink::start().await?;
        let mut settings = Vec::new();
        if let Some(ratio) = traced.ratio() {
            settings.push(format!("tracing_endpoint=\"{}\"", sink.url));
            settings.push(format!("tracing_sample_ratio={ratio}"));
        }
        let data = scratch.join(format!("{traced:?}"));
        let server = Server::start_set(&options.bench.server, &data, &settings)?;
        let fleet = Arc::new(Fleet::make(&server, options.size).await?);
        Ok(Self {
            traced,
            server,
            fleet,
            sink,
        })
    }

    async fn measure(&self, plan: &Arc<Plan>, end: End) -> Result<Run> {
        tokio::time::sleep(SETTLE).await;
        let before = self.sink.spans();
        let driven = measure(&self.server, plan, end).await?;
        // The server sends spans at most a second after they end.
        tokio::time::sleep(SETTLE).await;
        let spans = self.sink.spans() - before;
        let is_right = match self.traced {
            Traced::Nothing => spans == 0,
            // By chance, none of a few requests may be traced.
            Traced::OneInAHundred => true,
            Traced::Everything => spans > driven.acknowledged,
        };
        if !is_right {
            let (traced, requests) = (self.traced, driven.acknowledged);
            return Err(format!("{traced:?}: {spans} spans of {requests} requests arrived").into());
        }
        Ok(Run {
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
pub(crate) async fn run(options: &Options) -> Result<()> {
    let scratch = options.bench.scratch()?;
    print(&format!(
        "making {} organizations, {} objects, three times\n",
        options.size.organizations, options.size.objects
    ))?;
    let mut subjects = Vec::new();
    for traced in Traced::ALL {
        subjects.push(Subject::start(options, scratch.path(), traced).await?);
    }
    let load_average_before = load_average();
    let mut runs = Vec::new();
    for shape in [Shape::Batch, Shape::Single] {
        let plan = |subject: &Subject| Arc::new(Plan::new(&subject.fleet, shape));
        let plans: Vec<Arc<Plan>> = subjects.iter().map(plan).collect();
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
    report::write(options, load_average_before, Figures { runs })
}
