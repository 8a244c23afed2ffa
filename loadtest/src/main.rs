//! `kedge-load`: drives a server as clients would, counts what it does in a second, and checks
//! what it answered: a sample of the receipts offline, their actions in the log, and that the log
//! grew by exactly what was acknowledged.

mod check;
mod connection;
mod error;
mod machine;
mod options;
mod progress;
mod report;
mod run;
mod sampler;
mod setup;
mod workload;

use std::io::Write as _;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use clap::Parser as _;
use kedge_client::Client;
use tokio::runtime::Runtime;

use crate::error::{Error, Result};
use crate::options::Options;
use crate::report::{Latency, Report, Run};
use crate::workload::{Turn, Workload};

fn main() -> ExitCode {
    match carry_out(Options::parse()) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            let usage = matches!(error, Error::Usage(_));
            // There is nowhere left to tell it.
            let _ = writeln!(std::io::stderr(), "kedge-load: {error}");
            ExitCode::from(if usage { 2 } else { 1 })
        }
    }
}

/// Sets up, runs, reports; tells whether everything held.
fn carry_out(options: Options) -> Result<bool> {
    options.check()?;
    let authority = connection::authority(&options.url)?;
    let runtime = Runtime::new().map_err(Error::io("starting a runtime"))?;
    let (client, workload) = runtime.block_on(set_up(&options, &authority))?;
    let workload = Arc::new(workload);
    let runs = (0..options.runs)
        .map(|_| run_once(&runtime, &client, &workload, &authority, &options))
        .collect::<Result<Vec<Run>>>()?;
    let report = Report::new(options, runs);
    if let Some(path) = &report.options.json {
        let text = serde_json::to_string_pretty(&report)
            .map_err(|error| Error::Broken(error.to_string()))?;
        std::fs::write(path, text + "\n").map_err(Error::io(path.display().to_string()))?;
    }
    let mut stdout = std::io::stdout().lock();
    stdout
        .write_all(report.table().as_bytes())
        .map_err(Error::io("standard output"))?;
    Ok(report.passed)
}

async fn set_up(options: &Options, authority: &str) -> Result<(Client, Workload)> {
    let client = Client::builder(&options.url).connect().await;
    let client = client.map_err(Error::at("asking for the domain"))?;
    let organizations = Arc::new(setup::organizations(&client, options).await?);
    let separator = *client.domain_separator();
    let workload = Workload::new(organizations, separator, authority, options)?;
    Ok((client, workload))
}

fn run_once(
    runtime: &Runtime,
    client: &Client,
    workload: &Arc<Workload>,
    authority: &str,
    options: &Options,
) -> Result<Run> {
    let sessions = runtime.block_on(setup::sessions(&workload.organizations, authority))?;
    let turn = Arc::new(Turn::new(Arc::clone(workload), sessions));
    let prepared = run::prepare(&turn, options)?;
    let signed_beforehand = prepared.len();
    let sequence_before = runtime.block_on(newest_sequence(client))?;
    let (started_at, load_average_before) = (now(), machine::load_average());
    let (tally, cores_used) = run::measure(&turn, prepared, authority, options)?;
    let load_average_after = machine::load_average();
    let server_resident_mib = options.server_pid.map(machine::resident_mib);
    let log_grew_by = runtime.block_on(newest_sequence(client))? - sequence_before;

    let actions_each = options.actions_a_request() as u64;
    let acknowledged = tally.acknowledged * actions_each;
    let checks = check::samples(client, &turn, &tally.samples, options.scenario);
    let mut findings = runtime.block_on(checks);
    let unknown = tally.unknown * actions_each;
    findings
        .problems
        .extend(check::growth(log_grew_by, acknowledged, unknown));

    let requests: u64 = tally.per_second.iter().sum();
    let requests_per_second = requests as f64 / options.duration_s as f64;
    Ok(Run {
        started_at,
        load_average_before,
        load_average_after,
        cores_used,
        server_resident_mib,
        actions_per_second: requests_per_second * actions_each as f64,
        requests_per_second,
        latency_ms: Latency::of(&tally.latency_us),
        requests,
        actions: requests * actions_each,
        actions_by_second: tally.per_second.iter().map(|n| n * actions_each).collect(),
        answer_bytes_mean: tally.answer_bytes / requests.max(1),
        signed_beforehand,
        signed_on_the_fly: tally.signed_on_the_fly,
        errors: tally.errors,
        acknowledged,
        log_grew_by,
        receipts_verified: findings.receipts_verified,
        actions_found_in_log: findings.actions_found,
        problems: findings.problems,
    })
}

async fn newest_sequence(client: &Client) -> Result<u64> {
    let checkpoint = client.checkpoint().await;
    let checkpoint = checkpoint.map_err(Error::at("the newest checkpoint"))?;
    Ok(checkpoint.checkpoint.sequence)
}

/// RFC 3339.
fn now() -> String {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    kedge_protocol::time::rfc3339(since.map_or(0, |since| since.as_millis() as u64))
}
