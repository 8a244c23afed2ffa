//! Does an action cost more in a larger store? Compares a small and a large store of one server, in turns, with as many
//! actions each time.

use std::path::Path;
use std::process::Command;
use std::sync::Arc;

use kedge_load::figures::{RunSpread, grouped, table};
use kedge_load::machine::load_average;
use serde::Serialize;

use crate::error::BenchResult;
use crate::fleet::{BenchFleet, FleetSize};
use crate::generator::{DriveEnd, DriveFigures, fill, measure};
use crate::report::BenchReport;
use crate::requests::{RequestPlan, RequestShape};
use crate::server::{BenchOptions, BenchServer};

/// How the stores are filled and measured.
#[derive(clap::Args, Serialize)]
pub(crate) struct GrowthOptions {
    #[command(flatten)]
    #[serde(skip)]
    bench: BenchOptions,
    #[command(flatten)]
    size: FleetSize,
    /// Actions in the large store; the small one holds the mints and a first update of each object.
    #[arg(long, default_value_t = 10_000_000)]
    actions: u64,
    /// Actions of each measurement, with as many before it to warm up.
    #[arg(long, default_value_t = 300_000)]
    measured: u64,
    /// How often to measure each store.
    #[arg(long, default_value_t = 5)]
    runs: usize,
}

#[derive(Serialize)]
struct GrowthFigures {
    small_actions: u64,
    large_actions: u64,
    small: Vec<DriveFigures>,
    large: Vec<DriveFigures>,
}

/// Fills, then measures in turns.
pub(crate) async fn run(options: &GrowthOptions) -> BenchResult<()> {
    let scratch = options.bench.scratch()?;
    let load_average_before = load_average();
    let (small, large) = (scratch.path().join("small"), scratch.path().join("large"));
    let server = BenchServer::start(&options.bench.server, &large)?;
    let fleet = Arc::new(BenchFleet::make(&server, options.size).await?);
    let small_actions = server.sequence().await?;
    server.stop()?;
    copy(&large, &small)?;

    let plan = Arc::new(RequestPlan::new(&fleet, RequestShape::Batch));
    let server = BenchServer::start(&options.bench.server, &large)?;
    server.ready().await?;
    fill(&server, &plan, options.actions).await?;
    let large_actions = server.sequence().await?;
    server.stop()?;

    let (mut of_small, mut of_large) = (Vec::new(), Vec::new());
    for run in 0..options.runs {
        // A fresh copy each time, because the measurement makes a small store grow.
        let fresh = scratch.path().join(format!("fresh-{run}"));
        copy(&small, &fresh)?;
        of_small.push(once(options, &fresh, &plan).await?);
        std::fs::remove_dir_all(&fresh)?;
        of_large.push(once(options, &large, &plan).await?);
    }
    let figures = GrowthFigures {
        small_actions,
        large_actions,
        small: of_small,
        large: of_large,
    };
    let table = figures.table();
    let report = BenchReport::new("kedge-bench growth", options, load_average_before, figures);
    report.write(&table, options.bench.json.as_deref())
}

async fn once(
    options: &GrowthOptions,
    data: &Path,
    plan: &Arc<RequestPlan>,
) -> BenchResult<DriveFigures> {
    let server = BenchServer::start(&options.bench.server, data)?;
    server.ready().await?;
    let requests = options.measured.div_ceil(plan.shape.actions() as u64) as usize;
    measure(&server, plan, DriveEnd::Requests(requests)).await?;
    let driven = measure(&server, plan, DriveEnd::Requests(requests)).await?;
    server.stop()?;
    Ok(driven)
}

/// Copies a stopped server's directory, with the mark of released headers next to it.
fn copy(from: &Path, to: &Path) -> BenchResult<()> {
    let mark = |of: &Path| of.with_added_extension("high-water");
    let status = Command::new("cp").arg("-a").args([from, to]).status()?;
    if !status.success() {
        return Err(format!("{} could not be copied", from.display()).into());
    }
    std::fs::copy(mark(from), mark(to))?;
    Ok(())
}

impl GrowthFigures {
    fn table(&self) -> String {
        let of = |runs: &[DriveFigures]| {
            let rate = RunSpread::of(runs.iter().map(|run| run.actions_per_second));
            let cost = RunSpread::of(runs.iter().map(|run| run.server_us_an_action));
            (rate, cost)
        };
        let ((small_rate, small_cost), (large_rate, large_cost)) =
            (of(&self.small), of(&self.large));
        let row = |stored: u64, rate: &RunSpread, cost: &RunSpread| {
            let [median, range] = rate.reported();
            let range_us = format!("{:.2} to {:.2}", cost.lowest, cost.highest);
            let cost = format!("{:.2}", cost.median);
            vec![grouped(stored as f64), median, range, cost, range_us]
        };
        let head = [
            "actions stored",
            "actions a second",
            "spread",
            "µs of a core an action",
            "spread",
        ];
        let rows = [
            row(self.small_actions, &small_rate, &small_cost),
            row(self.large_actions, &large_rate, &large_cost),
        ];
        format!(
            "\n{}\nThe large store against the small one: {:.2} times the time, {:.2} times the processor time per action.\n",
            table(&head, &rows),
            small_rate.median / large_rate.median,
            large_cost.median / small_cost.median,
        )
    }
}
