//! An impatient supervisor: SIGTERM, and SIGKILL a moment later.

use std::time::Duration;

use super::made::Made;
use crate::support::Rng;
use crate::support::server::Setup;

/// Number of such stops.
const STOPS: u64 = 30;

// Holds invariant 84.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_kill_during_an_orderly_stop_loses_nothing() {
    let mut rng = Rng::seeded("cut stop");
    let directory = tempfile::tempdir().unwrap();
    let setup = Setup::development(&directory.path().join("data"));
    let mut server = setup.start();
    let made = Made::running(setup, &mut rng).await;
    let mut cut = 0;
    for stop in 0..STOPS {
        made.mint(10).await;
        // An idle machine stops within a few milliseconds; a busy one takes long.
        let grace = Duration::from_millis(rng.below(61));
        let stopped = tokio::task::spawn_blocking(move || server.stop_and_kill(grace));
        cut += u64::from(stopped.await.unwrap());
        server = made.setup.start();
        let (status, ready) = server.readiness().await;
        assert_eq!(status, 200, "after stop {stop}: {ready}");
        // Looked up by id, because a stop writes the index of actions.
        let account = &made.account;
        made.ledger.check_some(account, || rng.next(), 30).await;
    }
    let accounts = std::slice::from_ref(&made.account);
    for action in made.ledger.check_log(accounts).await {
        made.account.action(action.id).await.unwrap();
    }
    server.stop();
    made.verify();
    eprintln!("{cut} of {STOPS} stops were cut short");
    assert!(cut > 0, "no stop was cut short");
}
