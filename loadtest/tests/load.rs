//! Short runs of the real program against the real server; their reports must be true.

#![allow(clippy::unwrap_used, reason = "a test file: a panic is the failure")]

#[path = "load/rotation.rs"]
mod rotation;

use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use kedge_load::server::HttpProgram;
use serde_json::Value;
use tempfile::TempDir;

/// For one organization with one object: wallet, API key, template, the object, and its first update.
const SETUP_ACTIONS: u64 = 5;
const PATIENCE: Duration = Duration::from_mins(1);

/// `KEDGE_BIN`, or the server built next to this program.
fn server_program() -> PathBuf {
    let neighbour = || Path::new(env!("CARGO_BIN_EXE_kedge-load")).with_file_name("kedge");
    let named = std::env::var_os("KEDGE_BIN").map(PathBuf::from);
    assert!(
        named.as_ref().is_none_or(|program| program.is_absolute()),
        "KEDGE_BIN must be an absolute path, not {named:?}"
    );
    let program = named.unwrap_or_else(neighbour);
    assert!(
        program.is_file(),
        "{} is missing: cargo build --package kedge, or set KEDGE_BIN",
        program.display()
    );
    program
}

/// A command without the caller's environment settings.
fn command(program: &Path) -> Command {
    let mut command = Command::new(program);
    let names = std::env::vars_os().map(|(name, _)| name);
    for name in names.filter(|name| name.to_string_lossy().starts_with("KEDGE_")) {
        command.env_remove(name);
    }
    command
}

/// A development server with its data in this directory, not started yet.
fn serve(directory: &Path) -> Command {
    let mut command = command(&server_program());
    command
        .args(["serve", "--dev", "--listen", "127.0.0.1:0", "--data"])
        .arg(directory.join("data"))
        .args(["--set", "rate_limits=off", "--set", "log_filter=warn"])
        .args(["--set", "organization_share_percent=100"])
        .args(["--set", "checkpoint_interval_s=1"])
        .args(["--set", "embedded_chain_listen=127.0.0.1:0"])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null());
    command
}

/// A server, killed on drop.
struct Server {
    program: HttpProgram,
    authority: String,
    directory: TempDir,
}

impl Server {
    fn start() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let program = HttpProgram::start(&mut serve(directory.path()), PATIENCE);
        let program = program.unwrap().unwrap();
        Self {
            authority: program.url.strip_prefix("http://").unwrap().to_owned(),
            program,
            directory,
        }
    }

    /// Last sequence of the log.
    fn sequence(&self) -> u64 {
        let mut stream = TcpStream::connect(&self.authority).unwrap();
        let request =
            "GET /batches?order=desc&limit=1 HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n";
        stream.write_all(request.as_bytes()).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        let (_, body) = answer.split_once("\r\n\r\n").unwrap();
        let value: Value = serde_json::from_str(body).unwrap();
        let batches = value["items"].as_array().unwrap();
        let newest = batches.first();
        newest.map_or(0, |batch| batch["last_sequence"].as_u64().unwrap())
    }

    fn signal(&self, signal: &str) {
        let id = self.program.pid().to_string();
        assert!(
            Command::new("kill")
                .args([signal, &id])
                .status()
                .unwrap()
                .success()
        );
    }

    fn load(&self, arguments: &str) -> Command {
        let mut command = load(arguments);
        command.args(["--url", &format!("http://{}", self.authority)]);
        command
            .arg("--json")
            .arg(self.directory.path().join("report.json"));
        command
    }

    fn report(&self) -> Value {
        read_json(&self.directory.path().join("report.json"))
    }
}

fn load(arguments: &str) -> Command {
    let mut command = command(Path::new(env!("CARGO_BIN_EXE_kedge-load")));
    command.args(arguments.split(' ')).stdin(Stdio::null());
    command
}

/// Report of a run, which must succeed, against a server started by the harness.
fn run_with_server(arguments: &str) -> Value {
    let directory = tempfile::tempdir().unwrap();
    let json = directory.path().join("report.json");
    let output = load(arguments)
        .arg("--server")
        .arg(server_program())
        .args(["--server-set", "checkpoint_interval_s=1"])
        .arg("--json")
        .arg(&json)
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", text(&output));
    read_json(&json)
}

fn read_json(path: &Path) -> Value {
    serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap()
}

fn text(output: &Output) -> String {
    let (out, error) = (&output.stdout, &output.stderr);
    format!(
        "{}{}",
        String::from_utf8_lossy(out),
        String::from_utf8_lossy(error)
    )
}

// Holds invariant 61.
#[test]
fn two_processes_give_one_report_and_it_is_true() {
    let server = Server::start();
    let page = server.directory.path().join("report.html");
    let output = server
        .load("batch-updates --organizations 2 --objects 2 --batch 10 --processes 2 --connections 2 --threads 1 --warm-up-s 1 --duration-s 2 --prepared 20 --verify all")
        .arg("--html")
        .arg(&page)
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", text(&output));
    assert!(
        output.stderr.is_empty(),
        "quiet where there is no terminal: {}",
        text(&output)
    );
    let report = server.report();
    let run = &report["runs"][0];
    let acknowledged = run["acknowledged"].as_u64().unwrap();
    // The server confirms it.
    assert_eq!(server.sequence(), 2 * SETUP_ACTIONS + acknowledged);
    assert_eq!(run["log"]["log_grew_by"], acknowledged);
    assert_eq!(
        run["receipts_verified"].as_u64().unwrap() * 10,
        acknowledged
    );
    assert!(run["log"]["headers_found"].as_u64().unwrap() > 0);
    assert_eq!(run["problems"], Value::Array(Vec::new()));
    // The seconds add up to the total, except for the last answers.
    let requests = run["requests"].as_u64().unwrap();
    assert!(requests > 0 && run["actions"] == requests * 10);
    let seconds = run["seconds"].as_array().unwrap();
    let counted: u64 = seconds
        .iter()
        .map(|second| second["requests"].as_u64().unwrap())
        .sum();
    assert!(
        counted > 0 && counted <= requests,
        "{counted} of {requests}"
    );
    let signed = |name: &str| run[name].as_u64().unwrap();
    assert_eq!(signed("signed_beforehand"), 20);
    assert_eq!(signed("signed_on_the_fly"), acknowledged / 10 - 20);

    let page = std::fs::read_to_string(page).unwrap();
    assert!(page.matches("<svg").count() >= 4);
    let own = format!("http://{}", server.authority);
    let outside = page
        .replace("http://www.w3.org/2000/svg", "")
        .replace(&own, "");
    for bad in ["http", "<script", "src=", "@import", "url("] {
        assert!(!outside.contains(bad), "the page holds {bad}");
    }
}

#[test]
fn a_missed_target_is_named_and_the_exit_status_tells() {
    let server = Server::start();
    let run = "single-updates --organizations 1 --objects 1 --connections 2 --threads 1 --warm-up-s 0 --duration-s 1 --prepared 10";
    let output = server
        .load(run)
        .args([
            "--target",
            "requests_per_s>=1000000000",
            "--target",
            "errors<=0",
        ])
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{}", text(&output));
    assert!(
        said.contains("requests_per_s>=1000000000") && !said.contains("errors"),
        "{said}"
    );
    let report = server.report();
    assert_eq!(report["passed"], false);
    let met: Vec<&Value> = report["targets"]
        .as_array()
        .unwrap()
        .iter()
        .map(|t| &t["met"])
        .collect();
    assert_eq!(met, [false, true]);

    let output = server
        .load(run)
        .args(["--target", "requests_per_s>=1"])
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", text(&output));
}

// Holds invariant 61.
/// A closed loop notices a stalled server once for each connection; an open loop notices it in every request due
/// meanwhile.
#[test]
fn an_open_loop_counts_the_time_that_a_server_stands_still() {
    const STILL: Duration = Duration::from_millis(1_500);
    let server = Server::start();
    let mut load = server
        .load("single-updates --organizations 1 --objects 1 --rate 50 --connections 4 --threads 1 --warm-up-s 0 --duration-s 4")
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    let begun = Instant::now();
    while server.sequence() <= SETUP_ACTIONS {
        assert!(begun.elapsed() < PATIENCE, "the load does not begin");
        std::thread::sleep(Duration::from_millis(10));
    }
    server.signal("-STOP");
    std::thread::sleep(STILL);
    server.signal("-CONT");
    assert!(load.wait().unwrap().success());
    let report = server.report();
    let run = &report["runs"][0];
    let latency = |name: &str| run["latency_ms"][name].as_f64().unwrap();
    assert!(latency("max") >= 1_400.0, "{run}");
    // 75 of 200 requests were due meanwhile; the twentieth of these waited 1.1 s.
    assert!(latency("p90") >= 900.0, "{run}");
    assert_eq!(run["log"]["log_grew_by"], 200);
    assert_eq!(run["never_begun"], 0);
}

/// A free organization has 100 requests a minute, some of which the setup has used.
#[test]
fn limits_are_honoured_where_they_stand() {
    let report = run_with_server(
        "single-updates --organizations 1 --objects 1 --connections 4 --threads 1 --warm-up-s 0 --duration-s 3 --prepared 0 --limits honour",
    );
    let run = &report["runs"][0];
    assert!(run["limited"].as_u64().unwrap() > 0, "{run}");
    // At most two windows.
    assert!(run["acknowledged"].as_u64().unwrap() <= 200);
    assert_eq!(run["refused"], Value::Object(serde_json::Map::new()));
}

#[test]
fn an_operators_tier_holds_with_streams_and_webhooks_beside_it() {
    let report = run_with_server(
        "single-updates --organizations 2 --objects 4 --rate 220 --connections 8 --threads 1 --warm-up-s 0 --duration-s 2 --readers 2 --webhooks 1 --limits operator --auth both",
    );
    let run = &report["runs"][0];
    // A free organization has 100 requests a minute: 220 each do not fit into two minutes.
    assert_eq!(
        (&run["acknowledged"], &run["limited"]),
        (&Value::from(440), &Value::from(0))
    );
    assert_eq!(run["refused"], Value::Object(serde_json::Map::new()));
    let streams = &run["streams"];
    assert_eq!(
        (&streams["gaps"], &streams["duplicates"]),
        (&Value::from(0), &Value::from(0))
    );
    assert!(streams["events"].as_u64().unwrap() >= 440);
    let deliveries = &run["deliveries"];
    assert_eq!(
        (&deliveries["missing"], &deliveries["refused"]),
        (&Value::from(0), &Value::from(0))
    );
    assert!(deliveries["delivered"].as_u64().unwrap() >= 220);
    let last = run["seconds"].as_array().unwrap().last().unwrap();
    assert!(last["server_resident_mib"].as_f64().unwrap() > 1.0);
    assert!(last["data_mib"].as_f64().unwrap() > 0.0);
}

/// Runs a second of a scenario against a new server, and checks properties of all scenarios.
fn scenario(arguments: &str) -> Value {
    let small =
        "--connections 4 --threads 1 --warm-up-s 0 --duration-s 1 --prepared 50 --verify all";
    let report = run_with_server(&format!("{arguments} {small}"));
    let run = report["runs"][0].clone();
    assert_eq!(report["passed"], true, "{report}");
    assert_eq!(
        run["errors"],
        Value::Object(serde_json::Map::new()),
        "{run}"
    );
    assert_eq!(run["problems"], Value::Array(Vec::new()), "{run}");
    assert!(count(&run, "requests") > 0, "{run}");
    // The log holds all acknowledged actions, and no others.
    let grown = run["log"]["log_grew_by"].as_u64().unwrap();
    let (acknowledged, unknown) = (count(&run, "acknowledged"), count(&run, "unknown"));
    assert!(
        acknowledged <= grown && grown <= acknowledged + unknown,
        "{run}"
    );
    run
}

fn count(run: &Value, name: &str) -> u64 {
    run[name]
        .as_u64()
        .unwrap_or_else(|| panic!("{name}: {run}"))
}

/// Requests of ten actions each.
fn of_tens(arguments: &str) {
    let run = scenario(&format!(
        "{arguments} --organizations 2 --objects 40 --batch 10"
    ));
    let acknowledged = count(&run, "acknowledged");
    assert!(acknowledged > 0 && acknowledged.is_multiple_of(10), "{run}");
    assert_eq!(count(&run, "receipts_verified") * 10, acknowledged);
    assert_eq!(count(&run, "reads"), 0);
}

#[test]
fn mints_are_sent_in_batches() {
    of_tens("batch-mints");
    of_tens("batch-mints --max-supply");
}

#[test]
fn transfers_are_sent_in_batches() {
    of_tens("batch-transfers");
}

#[test]
fn reads_are_mixed_with_changes() {
    let run = scenario("mixed --organizations 2 --objects 40 --reads-percent 75");
    let (reads, changes) = (count(&run, "reads"), count(&run, "acknowledged"));
    let share = reads as f64 / (reads + changes) as f64;
    assert!(
        (0.65..0.85).contains(&share),
        "{reads} reads, {changes} changes"
    );
}

/// All connections change one object: without a condition none loses, with one the losers retry.
#[test]
fn everybody_changes_one_object() {
    let run = scenario("hot-object --organizations 4 --objects 4");
    assert!(count(&run, "acknowledged") > 0);
    assert_eq!(count(&run, "conflicts"), 0);
    let run = scenario("hot-object --organizations 4 --objects 4 --if-match");
    assert!(count(&run, "acknowledged") > 0);
    assert!(count(&run, "conflicts") > 0, "{run}");
}

#[test]
fn reads_leave_the_log_alone_and_cold_ones_come_once() {
    let run = scenario("reads --organizations 2 --objects 40");
    assert_eq!(count(&run, "reads"), count(&run, "requests"));
    assert_eq!(run["log"]["log_grew_by"], 0);
    let run = scenario("reads --organizations 2 --objects 40 --cold");
    assert_eq!(count(&run, "reads"), 40, "each object once");
}

#[test]
fn proof_files_are_read() {
    let run = scenario("proof-files --organizations 2 --objects 40 --batches 2");
    assert_eq!(count(&run, "reads"), count(&run, "requests"));
    assert_eq!(run["log"]["log_grew_by"], 0);
    // Larger than an object: it has leaf, path, header and action.
    assert!(count(&run, "answer_bytes_mean") > 1_000, "{run}");
}

#[test]
fn more_comes_than_can_be_done_and_what_was_done_is_in_the_log() {
    for of in ["single-updates", "batch-updates"] {
        let run = scenario(&format!(
            "overload --of {of} --organizations 2 --objects 40 --batch 10 --top-s 1"
        ));
        let figure = |name: &str| run[name].as_f64().unwrap();
        let top = figure("top_requests_per_second");
        assert!(figure("offered_per_second") > 9.0 * top, "{run}");
        assert!(top > 0.0 && count(&run, "acknowledged") > 0, "{run}");
    }
}

#[test]
fn live_objects_are_weighed() {
    let run = scenario("actors-memory --organizations 2 --objects 400 --batch 50");
    let more = &run["more"];
    assert_eq!(more["objects_touched"], 400.0, "{more}");
    assert_eq!(count(&run, "acknowledged"), 2 * 400, "twice each");
    assert!(
        more["resident_after_first_mib"].as_f64().unwrap() > 1.0,
        "{more}"
    );
}
