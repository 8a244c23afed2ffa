//! The server killed at any moment, with hundreds of requests in flight: everything acknowledged is there, once and in
//! place, and the whole store verifies.

mod moments;

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use kedge_client::{Account, BatchMode, Client, ClientError, NewAction, NewObject, Properties};
use kedge_protocol::Id;
use serde_json::json;
use tokio::task::JoinSet;

use crate::support::ledger::Ledger;
use crate::support::server::{Server, Setup};
use crate::support::{Rng, checkpoint_over, connect, http, register, template};

/// Number of kills, unless `KEDGE_KILLS` sets another.
const KILLS: u32 = 20;
const STOPS: u32 = 10;
/// Clients, each with one request at a time.
const WORKERS: usize = 400;
/// Least number of requests in flight, and inside the server, at a kill.
const IN_FLIGHT_MIN: usize = 200;
/// Kills between verifications of the whole store in the state that the kill left.
const VERIFY_EVERY: u32 = 5;
/// Length of the server's pause, in which requests accumulate.
const HOLD: Duration = Duration::from_millis(300);
/// How long requests may take to reach the server, however slow the machine.
const PATIENCE: Duration = Duration::from_secs(30);

/// State that the workers share during one life of the server.
struct Load {
    accounts: Vec<Account>,
    template: Id,
    objects: Vec<Id>,
    ledger: Arc<Ledger>,
    in_flight: AtomicUsize,
    killed: AtomicBool,
}

fn properties(rng: &mut Rng) -> Properties {
    let value =
        json!({ "count": rng.below(1_000), "text": "x".repeat(1 + rng.below(200) as usize) });
    value.as_object().unwrap().clone()
}

impl Load {
    /// Any action of the bus, allowed or not.
    fn action(&self, rng: &mut Rng, to: &Account) -> NewAction {
        let object = rng.pick(&self.objects);
        match rng.below(10) {
            0 => NewAction::transfer(object, &to.address().to_string()),
            1 | 2 => {
                let object = NewObject {
                    properties: properties(rng),
                    ..NewObject::default()
                };
                NewAction::mint(self.template, &object)
            }
            _ => NewAction::update(object, &properties(rng)),
        }
        .unwrap()
    }

    async fn request(&self, rng: &mut Rng) -> Result<(), ClientError> {
        let account = rng.pick(&self.accounts);
        let other = rng.pick(&self.accounts);
        match rng.below(8) {
            0 => {
                let minted = account.mint(self.template, &NewObject::default()).await?;
                self.ledger.changed(&minted);
            }
            1 => {
                let object = rng.pick(&self.objects);
                let patched = account.update(object, &properties(rng)).await?;
                self.ledger.changed(&patched);
            }
            2 | 3 => {
                let actions: Vec<NewAction> = (0..=rng.below(30))
                    .map(|_| self.action(rng, &other))
                    .collect();
                let mode = rng.pick(&[BatchMode::Independent, BatchMode::Atomic]);
                self.ledger.batch(&account.batch(&actions, mode).await?);
            }
            _ => {
                let action = self.action(rng, &other);
                self.ledger.action(&account.act(&action).await?);
            }
        }
        Ok(())
    }

    /// Sends one request after the other until the server has ended.
    async fn work(self: Arc<Self>, mut rng: Rng) {
        // Objects change owners all the time, so these refusals are expected.
        let refusals = ["FORBIDDEN", "RESOURCE_NOT_FOUND", "STATE_VIOLATION"];
        loop {
            self.in_flight.fetch_add(1, Ordering::SeqCst);
            let outcome = self.request(&mut rng).await;
            self.in_flight.fetch_sub(1, Ordering::SeqCst);
            match outcome {
                Ok(()) => {}
                Err(error) if error.code().is_some_and(|code| refusals.contains(&code)) => {}
                Err(error) if self.killed.load(Ordering::SeqCst) && is_end(&error) => return,
                // On a busy machine the server refuses some requests, and does nothing for them.
                Err(error) if is_refused_whole(&error) => {}
                Err(error) => panic!("an unexpected answer under load: {error}"),
            }
        }
    }
}

/// Whether the server reports that it is overloaded and that nothing was done.
fn is_refused_whole(error: &ClientError) -> bool {
    matches!(error, ClientError::Refused(envelope) if envelope.status == 503 && envelope.message().contains("at its limit"))
}

/// Errors that a caller may get from a server that ends.
fn is_end(error: &ClientError) -> bool {
    matches!(error, ClientError::Transport(_)) || error.code() == Some("UNAVAILABLE")
}

/// Loads the server and kills it at a random moment, with requests in flight.
async fn load_and_kill(server: Server, load: Arc<Load>, metrics_port: u16, rng: &mut Rng) {
    load.killed.store(false, Ordering::SeqCst);
    load.in_flight.store(0, Ordering::SeqCst);
    let mut workers = JoinSet::new();
    for _ in 0..WORKERS {
        workers.spawn(Arc::clone(&load).work(rng.fork()));
    }
    tokio::time::sleep(Duration::from_millis(200 + rng.below(600))).await;
    // The server is faster than its clients. After a short pause it finds a request from each of them.
    let begun = Instant::now();
    let inside = loop {
        server.freeze(true);
        tokio::time::sleep(HOLD).await;
        let mut asked = std::pin::pin!(http::metric(
            metrics_port,
            "kedge_http_requests_in_flight",
            &[]
        ));
        // The query waits among the requests.
        let early = tokio::time::timeout(HOLD / 10, &mut asked).await;
        server.freeze(false);
        let inside = match early {
            Ok(inside) => inside,
            Err(_) => asked.await,
        };
        if inside as usize >= IN_FLIGHT_MIN || begun.elapsed() > PATIENCE {
            break inside as usize;
        }
    };
    let sent = load.in_flight.load(Ordering::SeqCst);
    load.killed.store(true, Ordering::SeqCst);
    server.kill();
    assert!(
        sent >= IN_FLIGHT_MIN && inside >= IN_FLIGHT_MIN,
        "only {sent} requests were in flight, {inside} of them in the server"
    );
    while let Some(ended) = workers.join_next().await {
        ended.unwrap();
    }
}

fn kills() -> u32 {
    let given = std::env::var("KEDGE_KILLS").ok();
    given.map_or(KILLS, |kills| kills.parse().unwrap())
}

/// Verifies the whole store as it is on the disk: every hash and signature, and the state against a
/// replay.
fn verify(setup: &Setup, client: &Client) -> kedge_upkeep::verify::StoreVerifySummary {
    let store = setup.store();
    crate::support::honest::is_never_convicted(&store, client.domain(), client.sequencer());
    kedge_upkeep::verify::store(&store, client.domain(), client.sequencer(), |_| ()).unwrap()
}

async fn prepare(setup: &Setup, rng: &mut Rng) -> Load {
    let client = connect(&setup.url()).await;
    let ledger = Arc::new(Ledger::default());
    let mut accounts = Vec::new();
    for _ in 0..4 {
        accounts.push(register(&client, rng.key()).await);
    }
    // Anyone may mint, so that every organization makes objects from one template.
    let anyone = kedge_client::NewTemplate {
        name: "anyone's".to_owned(),
        public_access: true,
        actions: vec![kedge_client::types::TemplateActionRule {
            kind: "mint".to_owned(),
            who: kedge_protocol::resource::Who::Anyone,
            schema: None,
        }],
        ..kedge_client::NewTemplate::default()
    };
    let template = accounts[0]
        .create_template(&anyone)
        .await
        .unwrap()
        .resource
        .id;
    let mut objects = Vec::new();
    for account in &accounts {
        let mints = vec![NewAction::mint(template, &NewObject::default()).unwrap(); 25];
        let outcome = account.batch(&mints, BatchMode::Atomic).await.unwrap();
        ledger.batch(&outcome);
        objects.extend(outcome.done().map(|done| done.object_id));
    }
    Load {
        accounts,
        template,
        objects,
        ledger,
        in_flight: AtomicUsize::new(0),
        killed: AtomicBool::new(false),
    }
}

// Holds invariants 1, 2, 108, 144, 149.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_acknowledged_action_survives_kill_9() {
    let begun = Instant::now();
    let kills = kills();
    let mut rng = Rng::seeded("kill -9");
    let directory = tempfile::tempdir().unwrap();
    // Anchors every second, so that kills also meet the anchors' own writes.
    let setup = Setup::development(&directory.path().join("data")).set("anchor_interval_s", 1);
    let mut server = setup.start();
    let load = Arc::new(prepare(&setup, &mut rng).await);
    let client = load.accounts[0].client().clone();
    let ledger = Arc::clone(&load.ledger);
    for kill in 1..=kills {
        let before = ledger.last_sequence();
        load_and_kill(server, Arc::clone(&load), setup.metrics_port(), &mut rng).await;
        assert!(
            ledger.last_sequence() > before,
            "nothing was acknowledged before kill {kill}"
        );
        if kill % VERIFY_EVERY == 0 {
            verify(&setup, &client);
        }
        server = setup.start();
        let (status, ready) = server.readiness().await;
        assert_eq!(status, 200, "after kill {kill}: {ready}");
        ledger.check_leaves(&client, before).await;
        let account = rng.pick(&load.accounts);
        ledger.check_some(&account, || rng.next(), 20).await;
    }
    let log = ledger.check_log(&load.accounts).await;
    server.stop();
    let summary = verify(&setup, &client);
    assert_eq!(summary.actions, log.len() as u64);
    let (stored, applied) =
        crate::support::cuts::open(&setup.store(), client.domain(), client.sequencer());
    let cuts = applied.some_cuts(20, |end| rng.below(end));
    applied.check(&stored, &[cuts]);
    assert!(summary.anchors > 0, "the kills met no anchor");
    eprintln!(
        "{kills} kills, {} actions acknowledged of {} in the log, {} batches, in {:?}",
        ledger.len(),
        log.len(),
        summary.batches,
        begun.elapsed()
    );
}

// Holds invariant 77.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_loaded_server_that_is_told_to_stop_ends_in_order() {
    let mut rng = Rng::seeded("stop");
    let directory = tempfile::tempdir().unwrap();
    // Shorter than the clients' own time limit, so that the server itself reports unfinished requests.
    let setup = Setup::development(&directory.path().join("data")).set("drain_timeout_s", 10);
    let mut server = setup.start();
    let load = Arc::new(prepare(&setup, &mut rng).await);
    for _ in 0..STOPS {
        load.killed.store(false, Ordering::SeqCst);
        let mut workers = JoinSet::new();
        for _ in 0..WORKERS / 10 {
            workers.spawn(Arc::clone(&load).work(rng.fork()));
        }
        tokio::time::sleep(Duration::from_millis(100 + rng.below(300))).await;
        load.killed.store(true, Ordering::SeqCst);
        tokio::task::spawn_blocking(move || server.stop())
            .await
            .unwrap();
        assert!(
            !setup.log().contains("still in flight"),
            "a request was never answered:\n{}",
            setup.log()
        );
        while let Some(ended) = workers.join_next().await {
            ended.unwrap();
        }
        server = setup.start();
    }
    load.ledger.check_log(&load.accounts).await;
    server.stop();
}

/// Cuts the file off at some byte of the frame that holds this action.
fn tear(log: &Path, sequence: u64, rng: &mut Rng) {
    let env = Arc::new(kedge_log::env::RealEnv);
    let (reader, _) = kedge_log::LogReader::open(env, log, None, 0).unwrap();
    let frames: Vec<_> = reader.frames(1).map(Result::unwrap).collect();
    let holds = |frame: &kedge_log::StoredFrame| frame.header().next_sequence() > sequence;
    let torn = frames.iter().position(holds).unwrap();
    // All of them are in one segment: its header, and each frame, begins at a page.
    let files: Vec<_> = std::fs::read_dir(log)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|end| end == "log"))
        .collect();
    let [segment] = files.as_slice() else {
        panic!("{files:?}");
    };
    let pages = |frame: &kedge_log::StoredFrame| frame.bytes().len().next_multiple_of(4096);
    let begin = 4096 + frames[..torn].iter().map(pages).sum::<usize>();
    let kept = begin + 1 + rng.below(frames[torn].bytes().len() as u64 - 1) as usize;
    let mut bytes = std::fs::read(segment).unwrap();
    bytes[kept..].fill(0);
    std::fs::write(segment, bytes).unwrap();
}

// Holds invariant 13.
/// A disk that lied: the last write was acknowledged and its header released, but the write is torn. Continuing would
/// sign that header's number again with other content.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_torn_last_write_whose_header_left_makes_the_store_read_only() {
    let mut rng = Rng::seeded("torn write");
    let directory = tempfile::tempdir().unwrap();
    let setup = Setup::development(&directory.path().join("data"));
    let server = setup.start();
    let client = connect(&setup.url()).await;
    let account = register(&client, rng.key()).await;
    let template = template(&account, "torn").await;
    let ledger = Ledger::default();
    let kept = account.mint(template, &NewObject::default()).await.unwrap();
    let lost = account.mint(template, &NewObject::default()).await.unwrap();
    ledger.changed(&kept);
    ledger.changed(&lost);
    let batches = lost.receipt.as_ref().unwrap().batch.header.number + 1;
    server.kill();
    tear(&setup.data().join("log"), lost.resource.sequence, &mut rng);

    let server = setup.start();
    let ready = server.read_only().await;
    let holds = format!(
        "it holds {} batches, but the headers of {batches} were signed and released",
        batches - 1
    );
    let reason = ready["reason"].as_str().unwrap();
    assert!(reason.starts_with(&holds), "{reason}");
    // Surviving data is served, lost data is not invented, and nothing new is accepted.
    let found = account.object(kept.resource.id).await.unwrap();
    assert_eq!(found, kept.resource);
    let gone = account.object(lost.resource.id).await.unwrap_err();
    assert_eq!(gone.code(), Some("RESOURCE_NOT_FOUND"));
    let refused = account
        .mint(template, &NewObject::default())
        .await
        .unwrap_err();
    let ClientError::Refused(envelope) = &refused else {
        panic!("{refused}");
    };
    assert_eq!(
        (envelope.status, envelope.code.as_str()),
        (503, "UNAVAILABLE")
    );
    assert!(envelope.message().contains(&holds), "{envelope}");
    server.kill();

    // The store itself is intact: an operator who is sure that no header was released removes the mark and confirms
    // that.
    assert_eq!(verify(&setup, &client).batches, batches - 1);
    std::fs::remove_file(setup.high_water()).unwrap();
    let accepting = setup.clone().flag("--accept-missing-high-water-mark");
    let server = accepting.start();
    let client = connect(&setup.url()).await;
    let newest = checkpoint_over(&client, kept.resource.sequence).await;
    assert_eq!(newest.checkpoint.batches, batches - 1);
    let (status, ready) = server.readiness().await;
    assert_eq!(status, 200, "{ready}");
    // The ledger of these tests notices a loss.
    let noticed = tokio::spawn(async move { ledger.check_log(&[account]).await }).await;
    assert!(noticed.is_err(), "a lost action was not noticed");
    server.stop();
}
