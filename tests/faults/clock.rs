//! A clock that is wrong: nothing is written with it, and everything is well again once it is right.

use std::process::Output;
use std::time::{Duration, SystemTime};

use kedge_client::{Account, Client, Error, ListQuery, NewObject, RetryPolicy};
use kedge_protocol::Id;
use kedge_protocol::time::rfc3339;

use crate::support::server::{Server, Setup};
use crate::support::{PASSWORD, Rng, connect, http, register, template};

const HOUR_MS: i64 = 3_600_000;
const DAY_MS: i64 = 24 * HOUR_MS;

fn now_ms() -> u64 {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    since.unwrap().as_millis() as u64
}

fn admin(setup: &Setup, arguments: &[&str]) -> Output {
    crate::support::program::kedge()
        .arg("admin")
        .args(arguments)
        .arg("--socket")
        .arg(setup.data().join("admin.sock"))
        .output()
        .unwrap()
}

fn told(output: &Output) -> String {
    let (out, error) = (&output.stdout, &output.stderr);
    format!(
        "{}{}",
        String::from_utf8_lossy(out),
        String::from_utf8_lossy(error)
    )
}

/// Nobody writes, everybody reads, and the server says why.
async fn check_refused(setup: &Setup, server: &Server, account: &Account, of: Id) {
    let before = server.readiness().await.1["sequence"].clone();
    let refused = account.mint(of, &NewObject::default()).await.unwrap_err();
    let Error::Refused(envelope) = &refused else {
        panic!("{refused}");
    };
    assert_eq!(
        (envelope.status, envelope.code.as_str()),
        (503, "UNAVAILABLE"),
        "{envelope}"
    );
    assert!(envelope.message().contains("clock"), "{envelope}");
    assert_eq!(envelope.body["outcome"], "nothing_done", "{envelope}");
    let organization = account.me().await.unwrap().organization_id.to_string();
    let tier = admin(setup, &["tier", &organization, "enterprise"]);
    assert!(
        !tier.status.success() && told(&tier).contains("clock"),
        "{}",
        told(&tier)
    );
    // The token is as good as before, and a login works.
    account.template(of).await.unwrap();
    account
        .objects(&ListQuery::default())
        .collect(1_000)
        .await
        .unwrap();
    let email = format!("{}@example.com", account.address()).to_lowercase();
    account.login(&email, PASSWORD).await.unwrap();
    let (status, ready) = server.readiness().await;
    assert_eq!(status, 503, "{ready}");
    assert!(
        ready["reason"].as_str().unwrap().contains("clock"),
        "{ready}"
    );
    assert_eq!(ready["sequence"], before, "nothing was written");
    tokio::time::sleep(Duration::from_millis(1_200)).await;
    let out = http::metric(setup.metrics_port(), "kedge_clock_out_of_bounds", &[]).await;
    assert!((out - 1.0).abs() < 0.1, "{out}");
}

/// Writes are taken, and nothing in the log is of the future.
async fn check_taken(server: &Server, account: &Account, of: Id) {
    account.mint(of, &NewObject::default()).await.unwrap();
    let (status, ready) = server.readiness().await;
    assert_eq!(status, 200, "{ready}");
    let checkpoint = account.client().checkpoint().await.unwrap().checkpoint;
    assert!(
        checkpoint.issued_at_ms <= now_ms() + 1_000,
        "{checkpoint:?}"
    );
    for action in account
        .actions(&ListQuery::default())
        .collect(1_000)
        .await
        .unwrap()
    {
        let minute = rfc3339(now_ms() + 1_000);
        assert!(
            action.timestamp <= minute,
            "{} is after {minute}",
            action.timestamp
        );
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_wrong_clock_writes_nothing() {
    let directory = tempfile::tempdir().unwrap();
    let (setup, faults) = crate::setup(directory.path());
    let server = setup.start();
    let client = connect(&setup.url()).await;
    let account = register(&client, Rng::seeded("clock").key()).await;
    let of = template(&account, "clock").await;
    check_taken(&server, &account, of).await;
    for wrong_ms in [DAY_MS, 10 * 365 * DAY_MS, 2 * 60_000, -HOUR_MS] {
        faults.clock_ahead_ms(wrong_ms);
        check_refused(&setup, &server, &account, of).await;
        faults.clock_ahead_ms(0);
        check_taken(&server, &account, of).await;
    }
    server.stop();
    crate::verify(&setup, &client);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_start_with_a_wrong_clock_writes_nothing() {
    let directory = tempfile::tempdir().unwrap();
    let (setup, faults) = crate::setup(directory.path());
    let server = setup.start();
    let client = connect(&setup.url()).await;
    let account = register(&client, Rng::seeded("clock at a start").key()).await;
    let of = template(&account, "clock").await;
    server.stop();
    for wrong_ms in [DAY_MS, 10 * 365 * DAY_MS] {
        faults.clock_ahead_ms(wrong_ms);
        let server = setup.start();
        check_refused(&setup, &server, &account, of).await;
        server.stop();
        faults.clock_ahead_ms(0);
        let server = setup.start();
        check_taken(&server, &account, of).await;
        server.stop();
    }
    crate::verify(&setup, &client);
}

/// The log is older than the clock's word counts for, and no node answers: what remains is the operator's word.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_operator_confirms_the_clock_of_an_idle_log() {
    let directory = tempfile::tempdir().unwrap();
    let (setup, faults) = crate::setup(directory.path());
    let server = setup.start();
    // Signed so that it is still good half a day later.
    let client = Client::builder(setup.url())
        .retry(RetryPolicy::never())
        .deadline_ahead(Duration::from_hours(14))
        .connect()
        .await
        .unwrap();
    let account = register(&client, Rng::seeded("an idle log").key()).await;
    let of = template(&account, "idle").await;
    server.stop();
    // Thirteen hours later, as far as this server can see.
    faults.clock_ahead_ms(13 * HOUR_MS);
    let server = setup.start();
    check_refused(&setup, &server, &account, of).await;
    let right_ms = || now_ms() + 13 * HOUR_MS as u64;
    let wrong = admin(
        &setup,
        &["clock", "--confirm", &rfc3339(right_ms() + 600_000)],
    );
    assert!(
        !wrong.status.success() && told(&wrong).contains("from the server's clock"),
        "{}",
        told(&wrong)
    );
    check_refused(&setup, &server, &account, of).await;
    let shown = admin(&setup, &["clock"]);
    assert!(told(&shown).contains("refused"), "{}", told(&shown));
    let confirmed = admin(&setup, &["clock", "--confirm", &rfc3339(right_ms())]);
    assert!(confirmed.status.success(), "{}", told(&confirmed));
    assert!(told(&confirmed).contains("taken"), "{}", told(&confirmed));
    let email = format!("{}@example.com", account.address()).to_lowercase();
    account.login(&email, PASSWORD).await.unwrap();
    account.mint(of, &NewObject::default()).await.unwrap();
    assert_eq!(server.readiness().await.0, 200);
    server.stop();
    crate::verify(&setup, &client);
}
