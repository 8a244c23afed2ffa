//! A wrong clock: nothing is written under it, and everything works again once it is right.

use std::path::Path;
use std::process::Output;
use std::time::{Duration, SystemTime};

use kedge_client::{Account, Client, ClientError, ListQuery, NewObject, RetryPolicy};
use kedge_devchain::insecure_development_keys;
use kedge_protocol::hash::to_hex;
use kedge_protocol::signature::SigningKey;
use kedge_protocol::time::rfc3339;
use kedge_protocol::{Address, Id};

use crate::support::anvil::{Anvil, CHAIN_ID, deploy_anchor};
use crate::support::faults::Faults;
use crate::support::server::{Server, Setup};
use crate::support::{
    PASSWORD, Rng, checkpoint_over, connect, free_port, http, register, template,
};

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

fn reported(output: &Output) -> String {
    let (out, error) = (&output.stdout, &output.stderr);
    format!(
        "{}{}",
        String::from_utf8_lossy(out),
        String::from_utf8_lossy(error)
    )
}

/// Checks that writes are refused, reads work, and the server states the reason.
async fn check_refused(setup: &Setup, server: &Server, account: &Account, of: Id) {
    let before = server.readiness().await.1["sequence"].clone();
    let refused = account.mint(of, &NewObject::default()).await.unwrap_err();
    let ClientError::Refused(envelope) = &refused else {
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
        !tier.status.success() && reported(&tier).contains("clock"),
        "{}",
        reported(&tier)
    );
    // The token is still valid, and a login works.
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

/// Checks that writes are accepted, and that nothing in the log is from the future.
async fn check_taken(server: &Server, account: &Account, of: Id) {
    account.mint(of, &NewObject::default()).await.unwrap();
    let (status, ready) = server.readiness().await;
    assert_eq!(status, 200, "{ready}");
    let sequence = ready["sequence"].as_u64().unwrap();
    let signed = checkpoint_over(account.client(), sequence).await;
    let checkpoint = signed.checkpoint;
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

// Holds invariant 97.
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

/// A server with a node, and faults that affect only the server.
struct OnNode {
    anvil: Anvil,
    contract: Address,
    faults: Faults,
    setup: Setup,
}

impl OnNode {
    async fn new(directory: &Path) -> Self {
        let anvil = Anvil::start(free_port(), &directory.join("anvil.json")).await;
        let sequencer = SigningKey::from_bytes(&[0x5e; 32]).unwrap();
        let contract = deploy_anchor(&anvil.rpc(), sequencer.address()).await;
        let faults = Faults::new(directory);
        let setup = Setup::new(&directory.join("data"))
            .set("chain_rpc_url", format!("{:?}", anvil.url()))
            .set("chain_id", CHAIN_ID)
            .set("chain_contract", format!("\"{contract}\""))
            // No anchor during the test.
            .set("anchor_interval_s", 86_400)
            .environment("KEDGE_SEQUENCER_KEY", to_hex(&sequencer.to_bytes()))
            .environment("KEDGE_OPERATOR_KEY", to_hex(&[0x0b; 32]))
            .environment(
                "KEDGE_ANCHOR_KEY",
                to_hex(&insecure_development_keys()[1].to_bytes()),
            );
        Self {
            anvil,
            contract,
            setup: faults.under(setup),
            faults,
        }
    }

    /// The same server with a node that does not answer.
    fn alone(&self) -> Setup {
        let nobody = format!("http://127.0.0.1:{}", free_port());
        self.setup
            .clone()
            .set("chain_rpc_url", format!("{nobody:?}"))
    }

    /// A client whose signatures are still valid half a day later.
    async fn client(&self) -> Client {
        Client::builder(self.setup.url())
            .retry(RetryPolicy::never())
            .deadline_ahead(Duration::from_hours(14))
            .connect()
            .await
            .unwrap()
    }
}

// Holds invariant 97.
/// A node's newest block contradicts a clock that is ahead, both at a start and while the server
/// runs.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_start_with_a_wrong_clock_writes_nothing() {
    let directory = tempfile::tempdir().unwrap();
    let node = OnNode::new(directory.path()).await;
    let (setup, faults) = (&node.setup, &node.faults);
    let server = setup.start();
    let client = connect(&setup.url()).await;
    assert_eq!(client.domain().verifying_contract, node.contract);
    let account = register(&client, Rng::seeded("clock at a start").key()).await;
    let of = template(&account, "clock").await;
    check_taken(&server, &account, of).await;
    faults.clock_ahead_ms(DAY_MS);
    check_refused(setup, &server, &account, of).await;
    server.stop();
    for wrong_ms in [2 * HOUR_MS, DAY_MS, 10 * 365 * DAY_MS] {
        faults.clock_ahead_ms(wrong_ms);
        let server = setup.start();
        check_refused(setup, &server, &account, of).await;
        server.stop();
        faults.clock_ahead_ms(0);
        let server = setup.start();
        check_taken(&server, &account, of).await;
        server.stop();
    }
    crate::verify(setup, &client);
}

// Holds invariant 98.
/// The log's last entry is thirteen hours old: only the node's newest block confirms a clock that is right.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_node_confirms_the_clock_of_an_idle_log() {
    let directory = tempfile::tempdir().unwrap();
    let node = OnNode::new(directory.path()).await;
    // The log's past: the server's clock was thirteen hours behind the node's.
    node.faults.clock_ahead_ms(-13 * HOUR_MS);
    let server = node.setup.start();
    let client = connect(&node.setup.url()).await;
    let account = register(&client, Rng::seeded("a node and an idle log").key()).await;
    let of = template(&account, "idle").await;
    server.stop();

    node.faults.clock_ahead_ms(0);
    let server = node.alone().start();
    let email = format!("{}@example.com", account.address()).to_lowercase();
    account.login(&email, PASSWORD).await.unwrap();
    check_refused(&node.alone(), &server, &account, of).await;
    server.stop();
    node.faults.clock_ahead_ms(2 * HOUR_MS);
    let server = node.setup.start();
    account.login(&email, PASSWORD).await.unwrap();
    check_refused(&node.setup, &server, &account, of).await;
    // The clock is set right; the next check of it and of the node is enough.
    node.faults.clock_ahead_ms(0);
    account.login(&email, PASSWORD).await.unwrap();
    check_taken(&server, &account, of).await;
    server.stop();
    let server = node.setup.start();
    check_taken(&server, &account, of).await;
    server.stop();
    crate::verify(&node.setup, &client);
    node.anvil.stop();
}

// Holds invariant 98.
/// A development server has no other source of time. It starts after any idle time and reports what it relies on; a
/// clock that is changed while it runs is treated differently.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_development_server_starts_after_any_idle_time() {
    const IDLE_MS: i64 = 400 * DAY_MS;
    let directory = tempfile::tempdir().unwrap();
    let (setup, faults) = crate::setup(directory.path());
    let server = setup.start();
    // Signed so that it stays valid for that time.
    let ahead_ms = u64::try_from(IDLE_MS + HOUR_MS).unwrap();
    let client = Client::builder(setup.url())
        .retry(RetryPolicy::never())
        .connect()
        .await
        .unwrap();
    let key = Rng::seeded("a development server").key();
    let account = register(&client, key.clone()).await;
    let of = template(&account, "idle").await;
    server.stop();
    let lines = || {
        let log = setup.log();
        let said = [
            "checking whether it advances",
            "advances steadily and is trusted",
        ];
        said.map(|words| log.lines().filter(|line| line.contains(words)).count())
    };
    assert_eq!(lines(), [0, 0]);

    faults.clock_ahead_ms(IDLE_MS);
    let server = setup.start();
    let later = Client::builder(setup.url())
        .retry(RetryPolicy::never())
        .deadline_ahead(Duration::from_millis(ahead_ms))
        .connect()
        .await
        .unwrap();
    let account = later.account(key);
    let email = format!("{}@example.com", account.address()).to_lowercase();
    account.login(&email, PASSWORD).await.unwrap();
    // Once the server reports that it listens, writes are accepted.
    account.mint(of, &NewObject::default()).await.unwrap();
    assert_eq!(server.readiness().await.0, 200);
    assert_eq!(lines(), [1, 1]);
    faults.clock_ahead_ms(IDLE_MS + DAY_MS);
    check_refused(&setup, &server, &account, of).await;
    faults.clock_ahead_ms(IDLE_MS);
    account.mint(of, &NewObject::default()).await.unwrap();
    server.stop();
    // Right after a stop there is nothing to check.
    setup.start().stop();
    assert_eq!(lines(), [1, 1]);
    // An implausible date stays refused.
    faults.clock_ahead_ms(20 * 365 * DAY_MS);
    let server = setup.start();
    check_refused(&setup, &server, &account, of).await;
    assert_eq!(lines(), [2, 1]);
    server.stop();
    crate::verify(&setup, &client);
}

// Holds invariant 98.
/// The log has been idle longer than the clock is trusted, and no node answers: only the operator can confirm the
/// clock.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_operator_confirms_the_clock_of_an_idle_log() {
    let directory = tempfile::tempdir().unwrap();
    let node = OnNode::new(directory.path()).await;
    let server = node.setup.start();
    let client = node.client().await;
    let account = register(&client, Rng::seeded("an idle log").key()).await;
    let of = template(&account, "idle").await;
    server.stop();
    // Thirteen hours later, as far as this server can tell.
    node.faults.clock_ahead_ms(13 * HOUR_MS);
    let setup = node.alone();
    let server = setup.start();
    check_refused(&setup, &server, &account, of).await;
    let right_ms = || now_ms() + 13 * HOUR_MS as u64;
    let wrong = admin(
        &setup,
        &["clock", "--confirm", &rfc3339(right_ms() + 600_000)],
    );
    assert!(
        !wrong.status.success() && reported(&wrong).contains("from the server's clock"),
        "{}",
        reported(&wrong)
    );
    check_refused(&setup, &server, &account, of).await;
    let shown = admin(&setup, &["clock"]);
    assert!(reported(&shown).contains("refused"), "{}", reported(&shown));
    let confirmed = admin(&setup, &["clock", "--confirm", &rfc3339(right_ms())]);
    assert!(confirmed.status.success(), "{}", reported(&confirmed));
    assert!(
        reported(&confirmed).contains("accepted"),
        "{}",
        reported(&confirmed)
    );
    let email = format!("{}@example.com", account.address()).to_lowercase();
    account.login(&email, PASSWORD).await.unwrap();
    account.mint(of, &NewObject::default()).await.unwrap();
    assert_eq!(server.readiness().await.0, 200);
    server.stop();
    crate::verify(&setup, &client);
}
