//! Options that bound waiting requests, reached while the disk stands still.

use std::time::{Duration, Instant};

use kedge_client::{Account, BatchMode, ClientError, NewAction, NewObject};
use kedge_protocol::Id;

use crate::support::faults::OnCall;
use crate::support::server::Setup;
use crate::support::{Rng, connect, eventually, http, register, template};

const PATIENCE: Duration = Duration::from_secs(20);

fn code_and_outcome(error: &ClientError) -> (u16, String) {
    let ClientError::Refused(envelope) = error else {
        panic!("{error}");
    };
    let outcome = envelope.body["outcome"].as_str().unwrap_or_default();
    (envelope.status, outcome.to_owned())
}

// Holds invariant 147.
/// A signed request that the disk delays is answered after the configured seconds: not earlier, and much earlier than
/// by default.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_request_waits_as_long_as_the_option_says() {
    for timeout_s in [1, 4] {
        let mut rng = Rng::seeded("request_timeout_s");
        let directory = tempfile::tempdir().unwrap();
        let (setup, faults) = crate::setup(directory.path());
        let setup = setup.set("request_timeout_s", timeout_s);
        let server = setup.start();
        let client = connect(&setup.url()).await;
        let account = register(&client, rng.key()).await;
        let of = template(&account, "held up").await;
        faults.stall(OnCall::Fdatasync, "/log/");
        let begun = Instant::now();
        let error = account.mint(of, &NewObject::default()).await.unwrap_err();
        let waited = begun.elapsed();
        assert!(faults.met() > 0, "the disk did not stall");
        faults.lift();
        assert_eq!(code_and_outcome(&error), (503, "unknown".to_owned()));
        let (least, most) = (timeout_s, timeout_s + 2);
        let bounds = Duration::from_secs(least)..Duration::from_secs(most);
        assert!(bounds.contains(&waited), "{timeout_s} s: {waited:?}");
        server.stop();
        crate::verify(&setup, &client);
    }
}

/// Sends a batch of `count` mints without waiting for it.
fn begin(
    account: &Account,
    of: Id,
    count: usize,
) -> tokio::task::JoinHandle<Result<usize, ClientError>> {
    let mint = NewAction::mint(of, &NewObject::default()).unwrap();
    let (account, actions) = (account.clone(), vec![mint; count]);
    tokio::spawn(async move {
        let outcome = account.batch(&actions, BatchMode::Atomic).await?;
        Ok(outcome.done().count())
    })
}

async fn in_flight(setup: &Setup, count: f64) {
    let metric = || async {
        let found = http::metric(setup.metrics_port(), "kedge_requests_under_way", &[]).await;
        ((found - count).abs() < 0.1).then_some(())
    };
    eventually("so many requests are in flight", PATIENCE, metric).await;
}

// Holds invariant 147.
/// Exactly as many actions are in flight as configured; one more is refused, from any sender.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn as_many_actions_are_in_flight_as_the_option_says() {
    let mut rng = Rng::seeded("actions_max");
    let directory = tempfile::tempdir().unwrap();
    let (setup, faults) = crate::setup(directory.path());
    let setup = setup.set("actions_max", 500).set("request_timeout_s", 60);
    let server = setup.start();
    let client = connect(&setup.url()).await;
    let (ann, bob) = (
        register(&client, rng.key()).await,
        register(&client, rng.key()).await,
    );
    let (of_ann, of_bob) = (template(&ann, "ann's").await, template(&bob, "bob's").await);
    let refused = async |count| {
        let refused = begin(&bob, of_bob, count).await.unwrap().unwrap_err();
        let nothing = (503, "nothing_done".to_owned());
        assert_eq!(code_and_outcome(&refused), nothing, "{count}");
    };

    faults.stall(OnCall::Fdatasync, "/log/");
    let most = begin(&ann, of_ann, 300);
    in_flight(&setup, 1.0).await;
    refused(201).await;
    let rest = begin(&bob, of_bob, 200);
    in_flight(&setup, 2.0).await;
    refused(1).await;
    faults.lift();
    assert_eq!(most.await.unwrap().unwrap(), 300);
    assert_eq!(rest.await.unwrap().unwrap(), 200);
    in_flight(&setup, 0.0).await;
    assert_eq!(begin(&bob, of_bob, 500).await.unwrap().unwrap(), 500);
    server.stop();
    crate::verify(&setup, &client);
}
