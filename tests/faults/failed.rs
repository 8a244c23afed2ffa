//! A failing disk: the server ends within a second and reports what failed and where, with or without requests.

use std::path::Path;
use std::time::{Duration, Instant};

use kedge_client::{Account, NewObject};
use kedge_protocol::Id;

use crate::support::faults::{Faults, OnCall};
use crate::support::server::{Server, Setup};
use crate::support::{Rng, connect, http, register, template};

/// A server whose store fails ends within a second, given enough machine time: tests share the machine.
const LIMIT: Duration = Duration::from_secs(3);
/// The line that it logs.
const FAILED: &str = "the engine has failed";

struct Running {
    setup: Setup,
    faults: Faults,
    server: Server,
    account: Account,
    template: Id,
}

async fn start(directory: &Path, more: impl FnOnce(Setup) -> Setup) -> Running {
    let (setup, faults) = crate::setup(directory);
    let setup = more(setup);
    let server = setup.start();
    let client = connect(&setup.url()).await;
    let account = register(&client, Rng::seeded("a failing disk").key()).await;
    let template = template(&account, "failing").await;
    Running {
        setup,
        faults,
        server,
        account,
        template,
    }
}

impl Running {
    /// Sends a request that writes something; any answer will do.
    fn write(&self) -> tokio::task::JoinHandle<bool> {
        let (account, template) = (self.account.clone(), self.template);
        tokio::spawn(async move {
            let minted = account.mint(template, &NewObject::default()).await;
            minted.is_ok()
        })
    }

    /// Checks that the process ends by itself, with one log line that contains all of `says`, and is not ready before.
    async fn must_end(&mut self, says: &[&str]) {
        let begun = Instant::now();
        let status = loop {
            if let Some(status) = self.server.ended(Duration::from_millis(20)) {
                break status;
            }
            assert!(
                begun.elapsed() < LIMIT,
                "the server is still there:\n{}",
                self.setup.log()
            );
            if self.setup.log().contains(FAILED)
                && let Some(ready) = http::try_get(self.setup.port(), "/readyz").await
            {
                assert_eq!(ready.status, 503, "{}", ready.body);
            }
        };
        assert_eq!(status.code(), Some(1), "{}", self.setup.log());
        let log = self.setup.log();
        let lines: Vec<&str> = log.lines().filter(|line| line.contains("ERROR")).collect();
        let [line] = lines.as_slice() else {
            panic!("one line says what happened: {lines:#?}");
        };
        assert!(line.contains(FAILED), "{line}");
        for part in says {
            assert!(line.contains(part), "{part} is missing: {line}");
        }
    }

    /// Restarts the server without the fault, and checks that it works.
    async fn starts_again(self) {
        self.faults.lift();
        let server = self.setup.start();
        self.account
            .mint(self.template, &NewObject::default())
            .await
            .unwrap();
        server.stop();
        crate::verify(&self.setup, self.account.client());
    }
}

// Holds invariant 96.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_failed_write_or_sync_ends_the_process() {
    let cases = [
        (
            OnCall::Fdatasync,
            ".log",
            &["fdatasync", ".log", "Input/output error"][..],
        ),
        (OnCall::Pwrite, "/log/0", &[".log", "Input/output error"]),
        (
            OnCall::Pwrite,
            ".high-water",
            &["writing", ".high-water", "os error 5"],
        ),
    ];
    for (call, path, says) in cases {
        let directory = tempfile::tempdir().unwrap();
        let mut running = start(directory.path(), |setup| setup).await;
        running.faults.fail(call, path);
        let write = running.write();
        let answered = Instant::now();
        running.must_end(says).await;
        assert!(
            !write.await.unwrap(),
            "{call:?} failed, and the request was acknowledged"
        );
        assert!(answered.elapsed() < 2 * LIMIT);
        running.starts_again().await;
    }
}

// Holds invariant 96.
/// Day counts are stored a second later, so the failure comes after the last request.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_idle_server_notices_too() {
    let directory = tempfile::tempdir().unwrap();
    let mut running = start(directory.path(), |setup| setup.set("rate_limits", "on")).await;
    running.faults.fail(OnCall::Fdatasync, ".log");
    running.account.me().await.unwrap();
    // The count of this request is stored within a second.
    let begun = Instant::now();
    while running.faults.met() == 0 {
        assert!(
            begun.elapsed() < Duration::from_secs(3),
            "nothing was written"
        );
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    running
        .must_end(&["fdatasync", ".log", "Input/output error"])
        .await;
    running.starts_again().await;
}

// Holds invariant 96.
/// A failure of the store's background writes, which no request can meet.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_failure_in_the_background_is_noticed() {
    let directory = tempfile::tempdir().unwrap();
    let mut running = start(directory.path(), |setup| {
        setup.set("memtable_bytes", 1 << 20)
    })
    .await;
    running.faults.fail(OnCall::Fdatasync, ".sst");
    let properties = serde_json::json!({ "text": "x".repeat(100_000) });
    let object = NewObject {
        properties: properties.as_object().unwrap().clone(),
        ..NewObject::default()
    };
    let begun = Instant::now();
    while running.faults.met() == 0 {
        assert!(
            begun.elapsed() < Duration::from_secs(20),
            "no table file was written"
        );
        // The last mint may meet the failure.
        let _ = running.account.mint(running.template, &object).await;
    }
    running.must_end(&[".sst", "Input/output error"]).await;
    running.starts_again().await;
}

// Holds invariant 96.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_stop_does_not_hide_a_failure() {
    // The failure first, then SIGTERM; and the reverse, while the stop waits for requests.
    for stopped_first in [false, true] {
        let directory = tempfile::tempdir().unwrap();
        let mut running = start(directory.path(), |setup| setup).await;
        if stopped_first {
            running.faults.stall(OnCall::Fdatasync, ".log");
        } else {
            running.faults.fail(OnCall::Fdatasync, ".log");
        }
        let write = running.write();
        let begun = Instant::now();
        while running.faults.met() == 0 {
            assert!(
                begun.elapsed() < Duration::from_secs(5),
                "nothing was written"
            );
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
        running.server.terminate();
        if stopped_first {
            tokio::time::sleep(Duration::from_millis(300)).await;
            running.faults.fail_what_stalls();
        }
        running.must_end(&["fdatasync", ".log"]).await;
        assert!(!write.await.unwrap());
        running.starts_again().await;
    }
}
