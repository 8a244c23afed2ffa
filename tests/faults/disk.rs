//! A disk that fills up under load: a clear 503, no loss of acknowledged data, and the server continues once there is
//! room.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use kedge_client::{Account, Client, ClientError, NewObject, RetryPolicy};
use kedge_protocol::Id;
use tokio::task::JoinSet;

use crate::support::faults::{Faults, OnCall};
use crate::support::ledger::Ledger;
use crate::support::server::Setup;
use crate::support::small_disk::{fill, lacking, on_a_small_disk, small_disk};
use crate::support::{PASSWORD, Rng, connect, eventually, http, register, template};

const WORKERS: usize = 30;

// Holds invariant 140.
#[test]
fn only_the_kernel_excuses_a_test_from_its_disk() {
    assert_eq!(
        lacking(Path::new("/nowhere")),
        Some("the kernel has no mount namespaces")
    );
    let failed = std::panic::catch_unwind(|| on_a_small_disk("no_such_test"));
    let excused = lacking(Path::new("/proc")).is_some();
    assert_eq!(
        failed.is_err(),
        !excused,
        "a disk that nothing ran on passed"
    );
    // Answer of a kernel that gives namespaces only to root.
    let proc = tempfile::tempdir().unwrap();
    for file in [
        "self/ns/mnt",
        "self/ns/user",
        "sys/user/max_user_namespaces",
    ] {
        let file = proc.path().join(file);
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(file, "0\n").unwrap();
    }
    let root = rustix::process::geteuid().is_root();
    assert_eq!(lacking(proc.path()).is_none(), root);
}

// Holds invariant 15.
#[test]
fn a_disk_that_fills_up_slowly() {
    on_a_small_disk("disk::filled_to_the_reserve");
}

// Holds invariant 15.
#[test]
fn a_disk_that_is_full_at_once() {
    on_a_small_disk("disk::filled_to_the_brim");
}

// Holds invariant 227.
#[test]
fn a_start_on_a_disk_without_a_free_byte() {
    on_a_small_disk("disk::started_on_a_full_disk");
}

// Holds invariant 135.
#[test]
fn logins_while_the_disk_is_full() {
    on_a_small_disk("disk::logged_in_on_a_full_disk");
}

struct Load {
    account: Account,
    template: Id,
    text_bytes: usize,
    ledger: Ledger,
    full: AtomicUsize,
    broken: AtomicUsize,
    ended: AtomicBool,
}

impl Load {
    async fn mint(&self) -> Result<(), ClientError> {
        let properties = serde_json::json!({ "text": "x".repeat(self.text_bytes) });
        let object = NewObject {
            properties: properties.as_object().unwrap().clone(),
            ..NewObject::default()
        };
        let minted = self.account.mint(self.template, &object).await?;
        self.ledger.changed(&minted);
        Ok(())
    }

    async fn work(self: Arc<Self>) {
        while !self.ended.load(Ordering::SeqCst) {
            match self.mint().await {
                Ok(()) => {}
                Err(ClientError::Refused(envelope)) => {
                    let reported = (envelope.status, envelope.code.as_str());
                    assert_eq!(reported, (503, "UNAVAILABLE"), "{envelope}");
                    if envelope.message().contains("disk is full") {
                        self.full.fetch_add(1, Ordering::SeqCst);
                    }
                    tokio::time::sleep(Duration::from_millis(20)).await;
                }
                // The server may end when a write fails, and acknowledges nothing then.
                Err(ClientError::Transport(_)) => {
                    self.broken.fetch_add(1, Ordering::SeqCst);
                    tokio::time::sleep(Duration::from_millis(20)).await;
                }
                Err(error) => panic!("{error}"),
            }
        }
    }
}

struct Small {
    filler: PathBuf,
    load: Arc<Load>,
    workers: JoinSet<()>,
}

impl Small {
    /// Starts a server under load on the small disk.
    async fn start(setup: &Setup, filler: PathBuf, text_bytes: usize) -> Self {
        let mut rng = Rng::seeded("disk");
        let client = connect(&setup.url()).await;
        let account = register(&client, rng.key()).await;
        let load = Arc::new(Load {
            template: template(&account, "disk").await,
            account,
            text_bytes,
            ledger: Ledger::default(),
            full: AtomicUsize::new(0),
            broken: AtomicUsize::new(0),
            ended: AtomicBool::new(false),
        });
        let mut workers = JoinSet::new();
        for _ in 0..WORKERS {
            workers.spawn(Arc::clone(&load).work());
        }
        let small = Self {
            filler,
            load,
            workers,
        };
        small.more_is_acknowledged().await;
        small
    }

    async fn more_is_acknowledged(&self) {
        let before = self.load.ledger.len();
        let more = || async { (self.load.ledger.len() > before + 20).then_some(()) };
        eventually("actions are acknowledged", Duration::from_secs(30), more).await;
    }

    async fn end(mut self) -> Arc<Load> {
        self.load.ended.store(true, Ordering::SeqCst);
        while let Some(ended) = self.workers.join_next().await {
            ended.unwrap();
        }
        let log = self
            .load
            .ledger
            .check_log(std::slice::from_ref(&self.load.account))
            .await;
        eprintln!(
            "{} acknowledged of {} in the log, {} reported that the disk is full, {} broken off",
            self.load.ledger.len(),
            log.len(),
            self.load.full.load(Ordering::SeqCst),
            self.load.broken.load(Ordering::SeqCst),
        );
        self.load
    }
}

fn setup() -> (Setup, PathBuf) {
    let place = small_disk();
    (
        Setup::development(&place.join("data")),
        place.join("filler"),
    )
}

fn verify(setup: &Setup, load: &Load) {
    let client = load.account.client();
    let (domain, sequencer) = (client.domain(), client.sequencer());
    kedge_upkeep::verify::store(&setup.store(), domain, sequencer, |_| ()).unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs a small disk; a_disk_that_fills_up_slowly runs it on one"]
async fn filled_to_the_reserve() {
    let (setup, filler) = setup();
    let mut server = setup.start();
    let small = Small::start(&setup, filler, 2_000).await;
    for _ in 0..2 {
        let reported = small.load.full.load(Ordering::SeqCst);
        fill(&small.filler, 200 << 20);
        let full =
            || async { (small.load.full.load(Ordering::SeqCst) > reported + 50).then_some(()) };
        eventually(
            "callers are reported that the disk is full",
            Duration::from_secs(10),
            full,
        )
        .await;
        let (status, ready) = server.readiness().await;
        assert_eq!(status, 503, "{ready}");
        assert!(
            ready["reason"].as_str().unwrap().contains("disk is full"),
            "{ready}"
        );
        assert!(
            (http::metric(setup.metrics_port(), "kedge_disk_full", &[]).await - 1.0).abs() < 0.1
        );
        let free_bytes = http::metric(setup.metrics_port(), "kedge_disk_free_bytes", &[]).await;
        assert!(free_bytes < 256.0 * 1_048_576.0, "{free_bytes}");
        // Writes are refused, and reads continue.
        let sequence = ready["sequence"].clone();
        tokio::time::sleep(Duration::from_millis(300)).await;
        assert_eq!(server.readiness().await.1["sequence"], sequence);
        small
            .load
            .account
            .template(small.load.template)
            .await
            .unwrap();

        std::fs::remove_file(&small.filler).unwrap();
        small.more_is_acknowledged().await;
        assert_eq!(server.readiness().await.0, 200);
    }
    assert!(server.runs());
    let load = small.end().await;
    assert_eq!(
        load.broken.load(Ordering::SeqCst),
        0,
        "the server never went away"
    );
    server.stop();
    verify(&setup, &load);
}

/// Another program takes all the space between two checks of the disk. The commit that meets this waits for space,
/// callers get an error that says so, and the server continues by itself.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs a small disk; a_disk_that_is_full_at_once runs it on one"]
async fn filled_to_the_brim() {
    let (setup, filler) = setup();
    // The server's own log file is on the full disk too, and its failed writes must not matter.
    let setup = setup.set("log_filter", "debug");
    let server = setup.start();
    let small = Small::start(&setup, filler, 600_000).await;
    fill(&small.filler, 0);
    let reported = || async {
        let full = small.load.full.load(Ordering::SeqCst);
        let broken = small.load.broken.load(Ordering::SeqCst);
        (full + broken > 100).then_some(())
    };
    eventually("callers are reported", Duration::from_secs(20), reported).await;
    tokio::time::sleep(Duration::from_secs(2)).await;
    std::fs::remove_file(&small.filler).unwrap();
    let before = small.load.ledger.len();
    let begun = Instant::now();
    while small.load.ledger.len() < before + 20 {
        assert!(
            begun.elapsed() < Duration::from_secs(40),
            "it does not go on"
        );
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    eprintln!("went on after {:?}", begun.elapsed());
    let load = small.end().await;
    // It kept trying, and reported that once per commit. RocksDB may need some seconds to notice the free space.
    let lines = |words: &str| {
        setup
            .log()
            .lines()
            .filter(|line| line.contains(words))
            .count()
    };
    let waits = || lines("the commit waits for room");
    // The line about the begin of a wait may have met the full disk; the line about its end has room.
    let ended = || async { (waits() <= lines("the waiting commit was written")).then_some(()) };
    eventually("every wait ends", Duration::from_secs(30), ended).await;
    assert!(waits() <= 3, "{} begin", waits());
    server.stop();
    verify(&setup, &load);
}

/// Reads need a token even while nothing can be written. So logins work on a disk without any space, including one in
/// flight when the space runs out. Their state is stored once there is space.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs a small disk; logins_while_the_disk_is_full runs it on one"]
async fn logged_in_on_a_full_disk() {
    let (setup, filler) = setup();
    // The fault's control file is on another disk.
    let place = tempfile::tempdir().unwrap();
    let faults = Faults::new(place.path());
    let setup = faults.under(setup);
    let server = setup.start();
    let client = Client::builder(setup.url())
        .retry(RetryPolicy::never())
        .timeout_ms(10_000)
        .connect();
    let client = client.await.unwrap();
    let account = register(&client, Rng::seeded("a login on a full disk").key()).await;
    let of = template(&account, "read").await;
    let email = format!("{}@example.com", account.address()).to_lowercase();

    faults.stall(OnCall::Pwrite, "/log/");
    let held_up = tokio::spawn({
        let (account, email) = (account.clone(), email.clone());
        async move { account.login(&email, PASSWORD).await }
    });
    let written = || async { (faults.met() > 0).then_some(()) };
    let limit = Duration::from_secs(10);
    eventually("the login is being written", limit, written).await;
    fill(&filler, 0);
    held_up.await.unwrap().unwrap();
    faults.lift();
    for _ in 0..3 {
        account.login(&email, PASSWORD).await.unwrap();
        account.template(of).await.unwrap();
    }
    let post = async |path: &str, body: serde_json::Value| {
        http::post(setup.port(), path, &[], &body.to_string()).await
    };
    let login = serde_json::json!({ "email": email, "password": PASSWORD });
    let token = post("/wallets/login", login).await.json()["refresh_token"].clone();
    let refresh = serde_json::json!({ "refresh_token": token });
    let exchange = async || post("/wallets/token/refresh", refresh.clone()).await.status;
    assert_eq!(exchange().await, 200);
    assert_eq!(server.readiness().await.0, 503);

    std::fs::remove_file(&filler).unwrap();
    let writes = || async {
        let minted = account.mint(of, &NewObject::default()).await;
        minted.is_ok().then_some(())
    };
    eventually("there is room again", Duration::from_secs(40), writes).await;
    account.login(&email, PASSWORD).await.unwrap();
    server.stop();
    // The use of a token while the disk was full is known after a restart.
    let server = setup.start();
    assert_eq!(exchange().await, 401);
    server.stop();
}

/// A start needs no free byte to serve reads, even of rows that only the log has.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs a small disk; a_start_on_a_disk_without_a_free_byte runs it on one"]
async fn started_on_a_full_disk() {
    let (setup, filler) = setup();
    let server = setup.start();
    let client = Client::builder(setup.url())
        .retry(RetryPolicy::never())
        .timeout_ms(10_000)
        .connect();
    let client = client.await.unwrap();
    let account = register(&client, Rng::seeded("a start on a full disk").key()).await;
    let of = template(&account, "read").await;
    let minted = account.mint(of, &NewObject::default()).await.unwrap();
    server.kill();
    fill(&filler, 0);

    let server = setup.start();
    let why = server.why_read_only().await;
    assert!(
        why.contains("full to the last byte") && why.contains("start again"),
        "{why}"
    );
    account.template(of).await.unwrap();
    account.object(minted.resource.id).await.unwrap();
    let refused = account.mint(of, &NewObject::default()).await;
    assert!(
        matches!(refused, Err(ClientError::Refused(_))),
        "{refused:?}"
    );
    server.stop();

    std::fs::remove_file(&filler).unwrap();
    let server = setup.start();
    account.mint(of, &NewObject::default()).await.unwrap();
    server.stop();
}
