//! The demo on a cluster: the leader is killed while actions are written through another node. Writes continue, and the
//! log holds every acknowledged action.
//!
//! The demo is a client and cannot kill a process of another machine, so the user passes a command for that.

use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use indicatif::ProgressBar;
use kedge_client::{Account, Client, ClientError, NewObject, RetryPolicy, node_part};
use serde_json::{Map, Value};

use super::super::admin;
use super::super::output::{CliResult, CommandFailure, refuse};
use super::acknowledgement::DemoAcknowledgement;
use super::report::{DemoMeasurement, DemoReport};
use super::steps::DemoObjects;
use super::{DemoArgs, PART_TIMEOUT_MS};

/// Placeholder of a node's name in commands and paths.
const NODE: &str = "{node}";
/// Numbers of actions before and after the loss, within a free organization's limits.
const BEFORE: usize = 5;
const AFTER: usize = 10;
/// Limit of attempts at a write while no node leads, a second apart.
const ATTEMPTS_MAX: u32 = 60;
const WAIT_MS_MAX: u64 = 1_000;
/// How long the nodes may take to agree on a leader.
const AGREED_MAX: Duration = Duration::from_secs(30);
/// Age after which a node's report counts as gone.
const SEEN_MAX_S: u64 = 4;
const POLL: Duration = Duration::from_millis(200);

/// Kills the leader. Returns the account at the node that accepted the writes.
pub(super) async fn run(
    shown: &DemoObjects,
    args: &DemoArgs,
    command: &str,
    report: &mut DemoReport,
) -> CliResult<Account> {
    let leader = leader(&args.url).await?;
    let url = another_node(args, &leader).await?;
    let client = patient(&url, args).await?;
    let account = shown.person.at(&client).await?;

    let spinner = ProgressBar::new_spinner().with_message("losing the leader");
    spinner.enable_steady_tick(Duration::from_millis(100));
    let mut measure = DemoMeasurement::new("mint around the loss");
    for _ in 0..BEFORE {
        mint(&account, shown, &mut measure, report).await?;
    }
    let lost = Instant::now();
    let command = command.replace(NODE, &leader);
    let killing = tokio::task::spawn_blocking(move || kill(&command));
    let mut paused = Duration::ZERO;
    let mut last = lost;
    let mut after = 0;
    // Early writes may still reach the dying leader.
    while after < AFTER || !killing.is_finished() {
        mint(&account, shown, &mut measure, report).await?;
        paused = paused.max(last.elapsed());
        last = Instant::now();
        after += usize::from(killing.is_finished());
    }
    killing.await??;
    let next = next_leader(&url, &leader).await?;
    spinner.finish_and_clear();
    report.measures.push(measure);

    let all = &report.acknowledged;
    DemoAcknowledgement::check_all(all, &client).await?;
    let how = format!(
        "{leader} was killed and {next} leads; no write was acknowledged for {:.1} s; all {} acknowledged actions \
         are at their places in the log of {url}",
        paused.as_secs_f64(),
        all.len(),
    );
    report.proven("nothing was lost", how);
    Ok(account)
}

/// The admin socket to use: in a cluster, `{node}` in its path is replaced by the leader's name.
pub(super) async fn socket(args: &DemoArgs, url: &str) -> CliResult<PathBuf> {
    let path = args.socket.to_string_lossy();
    if !path.contains(NODE) {
        return Ok(args.socket.clone());
    }
    let leader = leader(url).await?;
    Ok(path.replace(NODE, &leader).into())
}

/// The leader's name, which is safe in a command.
async fn leader(url: &str) -> CliResult<String> {
    let part = node_part(url, PART_TIMEOUT_MS).await?;
    let part = part.ok_or_else(|| CommandFailure::refused(format!("{url} is a single node")))?;
    let leader = part.leader.unwrap_or_default();
    let is_safe = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    if leader.is_empty() || !leader.chars().all(is_safe) {
        return refuse(format!("{url} does not know which node leads; try again"));
    }
    Ok(leader)
}

/// The URL of a running node that does not lead; preferably the requested one.
async fn another_node(args: &DemoArgs, leader: &str) -> CliResult<String> {
    let socket = args.socket.to_string_lossy().replace(NODE, leader);
    let status = admin::ask(socket.as_ref(), "cluster_status").await?;
    let none = Map::new();
    let nodes = status
        .get("nodes")
        .and_then(Value::as_object)
        .unwrap_or(&none);
    let others = nodes.iter().filter(|(name, node)| {
        let seen = node["seen_s"].as_u64().unwrap_or(u64::MAX);
        name.as_str() != leader && seen < SEEN_MAX_S
    });
    let urls: Vec<&str> = others
        .filter_map(|(_, node)| node["url"].as_str())
        .collect();
    let own = args.url.trim_end_matches('/');
    let preferred = urls.iter().find(|url| **url == own).or(urls.first());
    let found = preferred.ok_or_else(|| {
        CommandFailure::refused(
            "no other node runs, so nobody could replace the leader; start one first",
        )
    })?;
    Ok((*found).to_owned())
}

/// A client that repeats a request until its outcome is known. It trusts the first node's statements.
async fn patient(url: &str, args: &DemoArgs) -> CliResult<Client> {
    let first = super::connect(&args.url).await?;
    let retry = RetryPolicy {
        attempts_max: ATTEMPTS_MAX,
        on_unavailable: true,
        wait_ms_max: WAIT_MS_MAX,
        ..RetryPolicy::default()
    };
    let client = Client::builder(url)
        .pin(first.domain(), first.sequencer_keys())
        .retry(retry)
        .connect();
    Ok(client.await?)
}

async fn mint(
    account: &Account,
    shown: &DemoObjects,
    measure: &mut DemoMeasurement,
    report: &mut DemoReport,
) -> CliResult<()> {
    let object = NewObject::default();
    match measure.time(1, account.mint(shown.template, &object)).await {
        Ok(minted) => report
            .acknowledged
            .push(DemoAcknowledgement::single(&minted)?),
        // The action is in the log, but the answer with its receipt was lost with the leader.
        Err(ClientError::AlreadyDone { .. }) => {}
        Err(error) => return Err(error.into()),
    }
    Ok(())
}

fn kill(command: &str) -> CliResult<()> {
    let mut shell = Command::new("sh");
    let output = shell.arg("-c").arg(command).stdin(Stdio::null()).output()?;
    if output.status.success() {
        return Ok(());
    }
    let error = String::from_utf8_lossy(&output.stderr);
    refuse(format!(
        "--kill-leader-with: {command:?} ended with {}: {}",
        output.status,
        error.trim()
    ))
}

/// The node that leads after the killed one.
async fn next_leader(url: &str, killed: &str) -> CliResult<String> {
    let began = Instant::now();
    while began.elapsed() < AGREED_MAX {
        if let Ok(found) = leader(url).await
            && found != killed
        {
            return Ok(found);
        }
        tokio::time::sleep(POLL).await;
    }
    refuse(format!(
        "{killed} still leads: did the command of --kill-leader-with kill it?"
    ))
}
