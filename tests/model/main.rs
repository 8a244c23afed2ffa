//! Random histories by concurrent clients, with kill -9 in between, against a small oracle that predicts every answer,
//! state, history, event and proof. Also a hundred clients on the same things.
//!
//! `KEDGE_MODEL_SEED` sets the seed, `KEDGE_MODEL_STEPS` the number of requests.

#![allow(clippy::unwrap_used, reason = "a test file: a panic is the failure")]

mod clients;
mod compare;
mod followers;
mod oracle;
mod parallel;
mod plan;
mod replay;
#[path = "../support/mod.rs"]
mod support;
mod wire;

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use kedge_protocol::chain::next_head;
use tokio::task::JoinSet;

use clients::Clients;
use followers::Follower;
use oracle::State;
use replay::{Replay, Trust};
use support::program::kedge;
use support::server::{Server, Setup};
use support::{Rng, connect};

/// Requests of all clients together, unless the environment sets another number.
const STEPS: u64 = 7_500;
/// Approximate number of requests between two kills.
const STEPS_A_LIFE: u64 = 450;
/// Tasks that use one wallet's key in parallel.
const TASKS_A_WALLET: usize = 3;

fn number(name: &str) -> Option<u64> {
    let text = std::env::var(name).ok()?;
    Some(
        text.parse()
            .unwrap_or_else(|error| panic!("{name}={text}: {error}")),
    )
}

/// Kills the server at random moments with requests in flight, and restarts it on the same store, until the clients are
/// done.
async fn live(
    setup: &Setup,
    mut server: Server,
    clients: &Clients,
    steps: u64,
    rng: &mut Rng,
) -> Server {
    let mut next = STEPS_A_LIFE / 2 + rng.below(STEPS_A_LIFE);
    let mut kills = 0;
    loop {
        let begun = clients.begun.load(Ordering::SeqCst);
        if begun >= steps {
            eprintln!("{kills} kills");
            assert!(kills > 0 || steps < 2 * STEPS_A_LIFE);
            return server;
        }
        if begun >= next && clients.in_flight.load(Ordering::SeqCst) > 0 {
            server.kill();
            clients.wire.killed();
            kills += 1;
            let setup = setup.clone();
            server = tokio::task::spawn_blocking(move || setup.start())
                .await
                .unwrap();
            next =
                clients.begun.load(Ordering::SeqCst) + STEPS_A_LIFE / 2 + rng.below(STEPS_A_LIFE);
        }
        tokio::time::sleep(Duration::from_micros(100 + rng.below(900))).await;
    }
}

// Holds invariants 56, 149.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn random_histories_are_the_oracles() {
    let begun = Instant::now();
    let steps = number("KEDGE_MODEL_STEPS").unwrap_or(STEPS);
    let mut rng = Rng::from_variable("model", "KEDGE_MODEL_SEED");
    let directory = tempfile::tempdir().unwrap();
    let setup = Setup::development(&directory.path().join("data"))
        .set("anchor_interval_s", 1)
        .set("access_token_s", 24 * 60 * 60);
    let server = setup.start();
    let client = connect(&setup.url()).await;
    let trust = Trust {
        domain: client.domain(),
        sequencer: client.sequencer(),
    };
    let separator = trust.domain.separator();
    let clients = Arc::new(Clients::register(setup.url(), separator, &mut rng).await);
    let base = clients.wire.seen();
    let wallets = clients.known.lock().unwrap().wallets.clone();
    let organizations = [&wallets[0], &wallets[2]].map(|wallet| wallet.organization.clone());
    let followers = [0, 2].map(|owner| Follower::start(Arc::clone(&clients), owner));

    let mut working = JoinSet::new();
    for caller in (0..wallets.len())
        .cycle()
        .take(wallets.len() * TASKS_A_WALLET)
    {
        working.spawn(Arc::clone(&clients).work(caller, steps, rng.fork()));
    }
    let server = live(&setup, server, &clients, steps, &mut rng).await;
    while let Some(ended) = working.join_next().await {
        ended.unwrap();
    }
    let worked = begun.elapsed();

    let exchanges = std::mem::take(&mut *clients.exchanges.lock().unwrap());
    let readings = std::mem::take(&mut *clients.readings.lock().unwrap());
    let last = compare::last_sequence(&clients).await;
    let (leaves, served_head) = compare::leaves(&clients, last).await;
    let state = State {
        wallets,
        ..State::default()
    };
    let replayed = Replay::new(trust, state, base, &exchanges).run(&readings, leaves.len() as u64);
    let base_index = usize::try_from(base).unwrap();
    let reported: Vec<_> = replayed.log.iter().map(|logged| logged.leaf).collect();
    assert_eq!(
        reported,
        leaves[base_index..],
        "the log's leaves are those that were acknowledged"
    );
    let head = leaves[..base_index].iter().fold(separator, next_head_of);
    assert_eq!(replay::check_heads(&replayed.log, head), served_head);

    compare::objects(&clients, &replayed).await;
    compare::templates(&clients, &replayed).await;
    for (organization, follower) in organizations.iter().zip(followers) {
        let of = (organization.as_str(), base);
        let streamed = compare::events(&clients, &replayed, of, follower, &mut rng).await;
        compare::failures(&replayed, &exchanges, organization, &streamed);
    }
    compare::proofs(&clients, &replayed, trust, &mut rng).await;

    server.stop();
    let summary =
        kedge_upkeep::verify::store(&setup.store(), trust.domain, trust.sequencer, |_| ()).unwrap();
    assert_eq!(summary.actions, leaves.len() as u64);
    support::honest::is_never_convicted(&setup.store(), trust.domain, trust.sequencer);
    let (stored, applied) = support::cuts::open(&setup.store(), trust.domain, trust.sequencer);
    let cuts = applied.some_cuts(20, |end| rng.below(end));
    applied.check(&stored, &[cuts]);
    let reported = kedge()
        .args(["verify", "data", "--dev"])
        .arg(setup.data())
        .output()
        .unwrap();
    assert!(
        reported.status.success(),
        "{}",
        String::from_utf8_lossy(&reported.stderr)
    );
    let (lost, lost_but_done) = (&clients.lost, &clients.lost_but_done);
    eprintln!(
        "{}\n{} actions in the log, {} refusals and {} reads foretold, {} answers lost, {} of them of what was done; \
         {worked:?} of {:?} at work",
        compare::summary(&exchanges),
        replayed.log.len(),
        replayed.refusals,
        replayed.readings,
        lost.load(Ordering::SeqCst),
        lost_but_done.load(Ordering::SeqCst),
        begun.elapsed()
    );
}

fn next_head_of(head: kedge_protocol::Hash, leaf: &kedge_protocol::Hash) -> kedge_protocol::Hash {
    next_head(&head, leaf)
}
