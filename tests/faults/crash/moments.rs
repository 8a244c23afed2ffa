//! Kills without load: in the first start, in later ones with a log to recover, in an orderly stop, and idle.
//! Everything acknowledged is there each time, and the whole store verifies.

use std::path::Path;
use std::time::{Duration, Instant};

use kedge_client::{Account, BatchMode, NewAction, NewObject};
use kedge_protocol::Id;

use crate::support::ledger::Ledger;
use crate::support::program::kedge;
use crate::support::server::{Server, Setup};
use crate::support::{Rng, connect, register, template};

/// Kills of each kind.
const FIRST_STARTS: u64 = 8;
const STARTS: u64 = 8;
const STOPS: u64 = 10;
const IDLES: u64 = 3;
/// Servers that are stopped as soon as they report that they serve.
const STOPS_AT_ONCE: u64 = 8;
/// Objects in a batch that a recovery replays.
const BATCH: usize = 100;

/// Runs `kedge verify data`, which must find no fault.
fn verify(setup: &Setup, when: &str) {
    let output = kedge()
        .args(["verify", "data", "--dev"])
        .arg(setup.data())
        .output()
        .unwrap();
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{when}: {error}");
}

/// Starts the server; returns it and the time that took.
fn start_time(setup: &Setup) -> (Server, Duration) {
    let begun = Instant::now();
    (setup.start(), begun.elapsed())
}

/// Kills a start at a random moment, at most shortly after its end.
fn kill_a_start(setup: &Setup, usual: Duration, rng: &mut Rng) {
    let starting = setup.begin();
    let moment = rng.below(usual.as_micros() as u64 * 5 / 4);
    std::thread::sleep(Duration::from_micros(moment));
    starting.kill();
}

// Holds invariant 144.
/// A key file is complete or missing, the chain's journal is readable, the contract is recorded: the next start works.
#[test]
fn a_first_start_that_is_killed_is_no_obstacle_to_the_next() {
    let mut rng = Rng::seeded("kills in the first start");
    let directory = tempfile::tempdir().unwrap();
    let place = |name: &str| directory.path().join(name);
    let (server, usual) = start_time(&Setup::development(&place("usual")));
    server.stop();
    for kill in 0..FIRST_STARTS {
        let setup = Setup::development(&place(&format!("data-{kill}")));
        for _ in 0..2 {
            kill_a_start(&setup, usual, &mut rng);
        }
        setup.start().stop();
        verify(&setup, &format!("after kill {kill}"));
    }
}

// Holds invariant 77.
/// A server that is stopped right after it reports that it serves ends in order, with code 0.
#[test]
fn a_server_that_is_told_to_stop_at_once_ends_in_order() {
    let directory = tempfile::tempdir().unwrap();
    let setup = Setup::development(&directory.path().join("data"));
    for _ in 0..STOPS_AT_ONCE {
        setup.start().stop();
    }
    verify(&setup, "after stops at once");
}

/// An account whose acknowledged actions are all recorded here.
struct Life {
    setup: Setup,
    account: Account,
    template: Id,
    ledger: Ledger,
}

impl Life {
    async fn new(setup: Setup, rng: &mut Rng) -> Self {
        let client = connect(&setup.url()).await;
        let account = register(&client, rng.key()).await;
        Self {
            template: template(&account, "killed").await,
            setup,
            account,
            ledger: Ledger::default(),
        }
    }

    async fn mint(&self, batches: u64) {
        for _ in 0..batches {
            let object = NewObject::default();
            let single = self.account.mint(self.template, &object).await;
            self.ledger.changed(&single.unwrap());
            let mint = NewAction::mint(self.template, &NewObject::default()).unwrap();
            let mints = vec![mint; BATCH];
            let outcome = self.account.batch(&mints, BatchMode::Atomic).await;
            self.ledger.batch(&outcome.unwrap());
        }
    }

    /// Checks that exactly the acknowledged actions exist, and that more can be added.
    async fn check(&self, server: &Server, rng: &mut Rng, when: &str) {
        let (status, ready) = server.readiness().await;
        assert_eq!(status, 200, "{when}: {ready}");
        assert_eq!(ready["sequence"], self.ledger.last_sequence(), "{when}");
        let numbers = || rng.next();
        self.ledger.check_some(&self.account, numbers, 5).await;
    }

    /// Kills recoveries: a kill with actions in flight leaves a log to recover, and so does each of these.
    async fn kill_recoveries(&self, server: Server, rng: &mut Rng) -> Server {
        let mut server = server;
        for kill in 0..STARTS {
            self.mint(1 + rng.below(3)).await;
            server.kill();
            let (recovered, usual) = start_time(&self.setup);
            recovered.kill();
            for _ in 0..=rng.below(3) {
                kill_a_start(&self.setup, usual, rng);
            }
            if kill % 4 == 3 {
                verify(&self.setup, "a killed recovery");
            }
            server = self.setup.start();
            self.check(&server, rng, &format!("recovery {kill}")).await;
        }
        server
    }

    /// An orderly stop without enough time: a supervisor's SIGTERM, and SIGKILL soon after.
    async fn kill_stops(&self, server: Server, rng: &mut Rng) -> Server {
        let mut server = server;
        for kill in 0..STOPS {
            self.mint(1 + rng.below(2)).await;
            server.signal("-TERM");
            tokio::time::sleep(Duration::from_micros(rng.below(150_000))).await;
            server.kill();
            if kill % 4 == 3 {
                verify(&self.setup, "a killed stop");
            }
            server = self.setup.start();
            self.check(&server, rng, &format!("stop {kill}")).await;
        }
        server
    }

    /// Kills a server that only does its own upkeep.
    async fn kill_idle(&self, server: Server, rng: &mut Rng) -> Server {
        let mut server = server;
        for kill in 0..IDLES {
            self.mint(1).await;
            tokio::time::sleep(Duration::from_millis(rng.below(2_500))).await;
            server.kill();
            server = self.setup.start();
            self.check(&server, rng, &format!("idle {kill}")).await;
        }
        server
    }
}

fn development(data: &Path) -> Setup {
    // Anchors happen all the time, and table files are written after only a few bytes.
    Setup::development(data)
        .set("anchor_interval_s", 1)
        .set("memtable_bytes", 2 << 20)
}

// Holds invariant 144.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_kill_in_recovery_stop_or_idleness_loses_nothing() {
    let mut rng = Rng::seeded("kills without load");
    let directory = tempfile::tempdir().unwrap();
    let setup = development(&directory.path().join("data"));
    let server = setup.start();
    let life = Life::new(setup.clone(), &mut rng).await;
    life.mint(10).await;
    let server = life.kill_recoveries(server, &mut rng).await;
    let server = life.kill_stops(server, &mut rng).await;
    let server = life.kill_idle(server, &mut rng).await;
    let accounts = std::slice::from_ref(&life.account);
    life.ledger.check_log(accounts).await;
    server.stop();
    verify(&setup, "at the end");
}
