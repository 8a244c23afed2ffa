//! `kedge-load`: load generator and checker. It drives a server like its clients, counts the server's work by second,
//! and checks its answers: receipts offline, and that each acknowledged action is in the log once. Accounts are created
//! with the SDK; prepared bytes go over its own connections; the log is read back at the end. The parts that other
//! benches share are public.

pub mod accounts;
pub mod bodies;
mod checks;
pub mod connection;
pub mod error;
pub mod figures;
mod fleet;
mod load;
pub mod machine;
mod measure;
pub mod operator;
mod options;
mod progress;
mod report;
pub mod server;
mod setup;
pub mod threads;

use std::io::Write as _;
use std::process::ExitCode;

use clap::Parser as _;

use crate::error::{LoadtestError, LoadtestResult};
use crate::load::processes;
use crate::measure::LoadBench;
use crate::options::RunOptions;
use crate::report::{LoadReport, LoadRun, html};

/// Runs the command line: a load run, or one of its processes. Exit status 2 for a usage error, 1 for a failed step,
/// check or target.
pub fn run() -> ExitCode {
    let is_worker = std::env::args_os()
        .nth(1)
        .is_some_and(|first| first == processes::WORKER);
    let done = if is_worker {
        processes::worker().map(|()| true)
    } else {
        carry_out(RunOptions::parse())
    };
    match done {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            let usage = matches!(error, LoadtestError::Usage(_));
            // There is nowhere left to report it.
            let _ = writeln!(std::io::stderr(), "kedge-load: {error}");
            ExitCode::from(if usage { 2 } else { 1 })
        }
    }
}

/// Sets up, runs and reports. Returns whether all checks and targets passed.
fn carry_out(options: RunOptions) -> LoadtestResult<bool> {
    options.check()?;
    let mut bench = LoadBench::new(options.clone())?;
    let runs = (0..options.runs)
        .map(|_| bench.run())
        .collect::<LoadtestResult<Vec<LoadRun>>>()?;
    let report = LoadReport::new(options, runs);
    figures::write_json(&report, report.options.json.as_deref())?;
    if let Some(path) = &report.options.html {
        figures::write_text(&html::page(&report)?, Some(path))?;
    }
    figures::print(&report.table())?;
    for missed in report.targets.iter().filter(|target| !target.met) {
        let target = &missed.target;
        // The table has reported it too.
        let _ = writeln!(std::io::stderr(), "kedge-load: missed the target {target}");
    }
    Ok(report.passed)
}
