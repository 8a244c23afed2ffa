//! Lost syncs are noticed: a server whose disk forgets everything after the last sync of each file keeps everything
//! that it acknowledged; and after any failed call to the disk, the server ends or reports it, and starts again.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use kedge_client::{Account, BatchMode, Client, NewAction, NewObject, RetryPolicy};
use kedge_protocol::Id;
use tokio::task::JoinSet;

use crate::support::faults::{Faults, OnCall, With};
use crate::support::ledger::Ledger;
use crate::support::losses::Losses;
use crate::support::server::Setup;
use crate::support::{Rng, register, template};

/// Number of power cuts.
const LOSSES: usize = 20;
const WORKERS: usize = 12;

struct Load {
    account: Account,
    template: Id,
    ledger: Ledger,
    over: AtomicBool,
}

impl Load {
    async fn new(setup: &Setup, rng: &mut Rng) -> Arc<Self> {
        let client = Client::builder(setup.url())
            .retry(RetryPolicy::never())
            .timeout_ms(20_000)
            .connect();
        let account = register(&client.await.unwrap(), rng.key()).await;
        let template = template(&account, "lost").await;
        Arc::new(Self {
            account,
            template,
            ledger: Ledger::default(),
            over: AtomicBool::new(false),
        })
    }

    /// Sends one request after the other, until the test ends or one fails.
    async fn work(self: Arc<Self>, mut rng: Rng) {
        while !self.over.load(Ordering::Relaxed) {
            let mint = NewAction::mint(self.template, &NewObject::default()).unwrap();
            let mints = vec![mint; 1 + rng.below(20) as usize];
            match self.account.batch(&mints, BatchMode::Atomic).await {
                Ok(outcome) => self.ledger.batch(&outcome),
                Err(_) => return,
            }
        }
    }

    fn workers(self: &Arc<Self>, rng: &mut Rng) -> JoinSet<()> {
        self.over.store(false, Ordering::Relaxed);
        let mut workers = JoinSet::new();
        for _ in 0..WORKERS {
            workers.spawn(Arc::clone(self).work(rng.fork()));
        }
        workers
    }
}

// Holds invariants 152, 161.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_loss_of_power_takes_nothing_that_was_acknowledged() {
    let mut rng = Rng::seeded("losses of power");
    let directory = tempfile::tempdir().unwrap();
    let faults = Faults::new(directory.path());
    let losses = Losses::new(directory.path());
    let data = directory.path().join("data");
    // Rows reach the disk often, so that the power is also cut during that.
    let setup = Setup::development(&data)
        .set("anchor_interval_s", 1)
        .set("replay_bytes_max", 1 << 20);
    let setup = losses.under(&faults, setup);
    let mut server = setup.start();
    let load = Load::new(&setup, &mut rng).await;
    let mut lost = 0;
    for round in 1..=LOSSES {
        let before = load.ledger.last_sequence();
        let mut workers = load.workers(&mut rng);
        tokio::time::sleep(Duration::from_millis(50 + rng.below(500))).await;
        load.over.store(true, Ordering::Relaxed);
        server.kill();
        while workers.join_next().await.is_some() {}
        lost += losses.lose(&data);
        server = setup.start();
        let (status, ready) = server.readiness().await;
        assert_eq!(status, 200, "after loss {round}: {ready}");
        load.ledger
            .check_leaves(load.account.client(), before)
            .await;
    }
    assert!(
        lost > LOSSES,
        "only {lost} writes were lost: the test does nothing"
    );
    let accounts = std::slice::from_ref(&load.account);
    load.ledger.check_log(accounts).await;
    server.stop();
    crate::verify(&setup, load.account.client());
}

// Holds invariant 153.
/// Fails each kind of call on each kind of file, at a random call.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn whatever_call_fails_the_server_ends_or_says_so_and_starts_again() {
    let mut rng = Rng::seeded("failing calls");
    let directory = tempfile::tempdir().unwrap();
    let faults = Faults::new(directory.path());
    let data = directory.path().join("data");
    let setup = Setup::development(&data)
        .set("anchor_interval_s", 1)
        .set("replay_bytes_max", 1 << 20);
    let setup = faults.under(setup);
    let mut server = setup.start();
    let load = Load::new(&setup, &mut rng).await;
    let cases = [
        (OnCall::Pwrite, "/log/0"),
        (OnCall::Pwrite, "/log/spare"),
        (OnCall::Fdatasync, "/log/"),
        (OnCall::Write, ".sst"),
        (OnCall::Fdatasync, ".sst"),
        (OnCall::Write, "MANIFEST"),
        (OnCall::Pwrite, ".high-water"),
    ];
    let mut met = 0;
    for (call, path) in cases {
        for with in [With::Error, With::NoSpace, With::Half] {
            if with == With::Half && call == OnCall::Fdatasync {
                continue;
            }
            let before = load.ledger.last_sequence();
            faults.fail_with(with, rng.below(4), call, path);
            let mut workers = load.workers(&mut rng);
            let begun = Instant::now();
            // Long enough for new segments and flushed rows.
            while faults.met() == 0 && begun.elapsed() < Duration::from_secs(6) {
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
            met += u32::from(faults.met() > 0);
            tokio::time::sleep(Duration::from_millis(100)).await;
            load.over.store(true, Ordering::Relaxed);
            faults.lift();
            let ended = server.ended(Duration::from_secs(3));
            match ended {
                Some(status) => {
                    assert_eq!(status.code(), Some(1), "{call:?} {path} {with:?}");
                    assert!(setup.log().contains("the engine has failed"));
                }
                None => server.kill(),
            }
            while workers.join_next().await.is_some() {}
            server = setup.start();
            let (status, ready) = server.readiness().await;
            assert_eq!(status, 200, "{call:?} {path} {with:?}: {ready}");
            load.ledger
                .check_leaves(load.account.client(), before)
                .await;
        }
    }
    assert!(
        met >= 14,
        "only {met} faults were met: the test does nothing"
    );
    let accounts = std::slice::from_ref(&load.account);
    load.ledger.check_log(accounts).await;
    server.stop();
    crate::verify(&setup, load.account.client());
}
