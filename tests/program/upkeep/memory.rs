//! Memory of a check, a backup and a rebuild: it stays within its bound, however long the log is.

use std::path::Path;
use std::process::{Child, Stdio};
use std::time::Duration;

use kedge_client::{BatchMode, NewAction, NewObject};

use super::made::Made;
use crate::support::program::kedge;
use crate::support::server::Setup;
use crate::support::{Rng, copy_directory};

/// Actions of the shorter log and of the longer one.
const SHORT: u64 = 100_000;
const LONG: u64 = 4 * SHORT;
/// The memory bound of each command.
const MEMORY: [&str; 2] = ["--memory", "128MiB"];
/// Bytes that an action may add. The newest ids of actions and the window of the log that is compared with the indexes
/// grow up to their bounds; a resource in memory would take several hundred bytes.
const GROWTH_BYTES: u64 = 160;

/// The largest resident memory of a process, in KiB, while it runs.
fn peak_kib(child: &Child) -> Option<u64> {
    let status = std::fs::read_to_string(format!("/proc/{}/status", child.id())).ok()?;
    let line = status.lines().find(|line| line.starts_with("VmHWM:"))?;
    line.split_whitespace().nth(1)?.parse().ok()
}

/// Runs a command, which must succeed; returns its largest resident memory in bytes.
fn peak_of(arguments: &[&str], paths: &[&Path]) -> u64 {
    let mut child = kedge()
        .args(arguments)
        .args(MEMORY)
        .args(paths)
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    let mut peak = 0;
    let status = loop {
        peak = peak_kib(&child).unwrap_or(0).max(peak);
        if let Some(status) = child.try_wait().unwrap() {
            break status;
        }
        std::thread::sleep(Duration::from_millis(5));
    };
    assert!(status.success(), "kedge {arguments:?}");
    peak * 1024
}

/// The peak of each command on the present log. The server is started again.
fn peaks(made: &Made, server: &mut Option<crate::support::server::Server>, to: &Path) -> [u64; 3] {
    let at = |name: &str| to.join(name);
    std::fs::create_dir(to).unwrap();
    let socket = made.setup.data().join("admin.sock");
    let backup = peak_of(
        &["backup"],
        &[Path::new("--socket"), &socket, &at("backup")],
    );
    server.take().unwrap().kill();
    copy_directory(made.setup.data(), &at("data"));
    *server = Some(made.setup.start());
    let rebuild = peak_of(&["rebuild", "--dev"], &[&at("data")]);
    let verify = peak_of(&["verify", "data", "--dev"], &[&at("data")]);
    std::fs::remove_dir_all(to).unwrap();
    [backup, rebuild, verify]
}

// Holds invariant 242.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn memory_does_not_grow_with_the_log() {
    let mut rng = Rng::seeded("memory");
    let directory = tempfile::tempdir().unwrap();
    let at = |name: &str| directory.path().join(name);
    let setup = Setup::development(&at("data")).set("compare_groups_every", 1_000_000);
    let mut server = Some(setup.start());
    let made = Made::running(setup, &mut rng).await;
    let mint = NewAction::mint(made.template, &NewObject::default()).unwrap();
    let mints = vec![mint; 500];
    let mut found = Vec::new();
    let mut actions = 0;
    for (length, name) in [(SHORT, "short"), (LONG, "long")] {
        while actions < length {
            let outcome = made.account.batch(&mints, BatchMode::Independent).await;
            actions += outcome.unwrap().done().count() as u64;
        }
        found.push(peaks(&made, &mut server, &at(name)));
    }
    server.unwrap().kill();
    for (place, command) in ["backup", "rebuild", "verify data"].iter().enumerate() {
        let grown = found[1][place].saturating_sub(found[0][place]);
        let an_action = grown / (LONG - SHORT);
        let mib = [found[0][place], found[1][place]].map(|bytes| bytes >> 20);
        eprintln!("{command}: {mib:?} MiB, {an_action} bytes an action");
        assert!(
            an_action < GROWTH_BYTES,
            "{command} takes {mib:?} MiB for {SHORT} and {LONG} actions: {an_action} bytes an action"
        );
    }
}
