//! `kedge-load`: drives a server as clients would, counts what it does in a second, and checks its answers: receipts
//! offline, and that each acknowledged action is in the log, once. It makes accounts with `client`, sends prepared
//! bytes over its own connections, and reads the log back at the end. What other benches need too is public: accounts,
//! connections, figures, the machine, payloads, and a server for a measurement.

pub mod accounts;
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
pub mod texts;

use std::io::Write as _;
use std::process::ExitCode;

use clap::Parser as _;

use crate::error::{Error, Result};
use crate::load::processes;
use crate::measure::Bench;
use crate::options::RunOptions;
use crate::report::{Report, Run, html};

/// Runs the command line: a load run, or one of its processes. A usage error ends with status 2; a failed step, check
/// or target with 1.
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
            let usage = matches!(error, Error::Usage(_));
            // There is nowhere left to report it.
            let _ = writeln!(std::io::stderr(), "kedge-load: {error}");
            ExitCode::from(if usage { 2 } else { 1 })
        }
    }
}

/// Sets up, runs, reports; returns whether all checks and targets held.
fn carry_out(options: RunOptions) -> Result<bool> {
    options.check()?;
    let mut bench = Bench::new(options.clone())?;
    let runs = (0..options.runs)
        .map(|_| bench.run())
        .collect::<Result<Vec<Run>>>()?;
    let report = Report::new(options, runs);
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
