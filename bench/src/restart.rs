//! Time until a server with a large store is ready, after a regular stop and after a kill under load.

use std::sync::Arc;
use std::time::{Duration, Instant};

use kedge_load::figures::{RunSpread, grouped, table};
use kedge_load::machine::load_average;
use serde::Serialize;

use crate::error::BenchResult;
use crate::fleet::{BenchFleet, FleetSize};
use crate::generator::{DriveEnd, drive, fill};
use crate::report::BenchReport;
use crate::requests::{RequestPlan, RequestShape};
use crate::server::{BenchOptions, BenchServer};

/// How to fill the store, and how often to open it.
#[derive(clap::Args, Serialize)]
pub(crate) struct RestartOptions {
    #[command(flatten)]
    #[serde(skip)]
    bench: BenchOptions,
    #[command(flatten)]
    size: FleetSize,
    /// Actions in the store.
    #[arg(long, default_value_t = 10_000_000)]
    actions: u64,
    /// How often to measure each kind of start.
    #[arg(long, default_value_t = 5)]
    runs: usize,
    /// Seconds of load before the server is killed under it.
    #[arg(long, default_value_t = 3)]
    load_s: u64,
}

#[derive(Serialize)]
struct RestartFigures {
    /// Actions in the store at the end.
    actions: u64,
    /// Seconds from starting the program until `/readyz` returns 200.
    after_stop_s: Vec<f64>,
    after_kill_s: Vec<f64>,
}

/// Fills, then stops and restarts the server repeatedly.
pub(crate) async fn run(options: &RestartOptions) -> BenchResult<()> {
    let scratch = options.bench.scratch()?;
    let load_average_before = load_average();
    let data = scratch.path().join("data");
    let mut server = BenchServer::start(&options.bench.server, &data)?;
    let fleet = Arc::new(BenchFleet::make(&server, options.size).await?);
    let plan = Arc::new(RequestPlan::new(&fleet, RequestShape::Batch));
    fill(&server, &plan, options.actions).await?;
    let (mut after_stop_s, mut after_kill_s) = (Vec::new(), Vec::new());
    for _ in 0..options.runs {
        server.stop()?;
        let begun = Instant::now();
        server = BenchServer::start(&options.bench.server, &data)?;
        server.ready().await?;
        after_stop_s.push(begun.elapsed().as_secs_f64());
        kill_under_load(server, &plan, Duration::from_secs(options.load_s)).await?;
        let begun = Instant::now();
        server = BenchServer::start(&options.bench.server, &data)?;
        server.ready().await?;
        after_kill_s.push(begun.elapsed().as_secs_f64());
    }
    let actions = server.sequence().await?;
    server.stop()?;
    let figures = RestartFigures {
        actions,
        after_stop_s,
        after_kill_s,
    };
    let table = figures.table();
    let report = BenchReport::new("kedge-bench restart", options, load_average_before, figures);
    report.write(&table, options.bench.json.as_deref())
}

/// Kills the process while batches are in flight.
async fn kill_under_load(
    server: BenchServer,
    plan: &Arc<RequestPlan>,
    load: Duration,
) -> BenchResult<()> {
    let (url, pid, plan) = (server.url.clone(), server.pid(), Arc::clone(plan));
    let end = DriveEnd::Requests(usize::MAX);
    let driving = tokio::task::spawn_blocking(move || drive(&url, pid, &plan, end));
    tokio::time::sleep(load).await;
    server.kill()?;
    match driving.await? {
        Ok(_) => Err("the load ended before the server".into()),
        // The broken connections are intended.
        Err(_) => Ok(()),
    }
}

impl RestartFigures {
    fn table(&self) -> String {
        let row = |what: &str, seconds: &[f64]| {
            let spread = RunSpread::of(seconds.iter().copied());
            let range = format!("{:.2} to {:.2}", spread.lowest, spread.highest);
            vec![what.to_owned(), format!("{:.2}", spread.median), range]
        };
        let rows = [
            row("stopped in order", &self.after_stop_s),
            row("killed under load", &self.after_kill_s),
        ];
        format!(
            "\n{}\n{} actions in the store; seconds from starting the program to /readyz.\n",
            table(&["before the start", "ready after s", "spread"], &rows),
            grouped(self.actions as f64),
        )
    }
}
