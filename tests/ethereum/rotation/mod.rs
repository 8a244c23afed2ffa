//! Rotation of the sequencer's key, on the real server with Anvil: three times under load, with restarts, anchors and
//! disputes across the rotations, and every verifier at the end. Also the cases in which nothing is signed.

mod claims;
mod files;

use std::path::{Path, PathBuf};
use std::process::Output;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use kedge_client::types::AnchorStage;
use kedge_client::{Account, Client, ListQuery, NewObject, RetryPolicy};
use kedge_devchain::insecure_development_keys;
use kedge_protocol::eip712::Domain;
use kedge_protocol::evidence::EvidenceFile;
use kedge_protocol::hash::to_hex;
use kedge_protocol::receipt::Receipt;
use kedge_protocol::signature::SigningKey;
use kedge_protocol::{Address, Id, KeyActivation, SequencerKeys};
use serde_json::{Value, json};

use crate::support::anvil::{Anvil, CHAIN_ID, deploy_anchor};
use crate::support::equivocation::equivocation;
use crate::support::server::{Server, Setup};
use crate::support::{PASSWORD, Rng, connect, eventually, free_port, http, register, template};
use files::Files;

/// How long a step may take on a busy machine.
const LIMIT: Duration = Duration::from_mins(2);
/// Batches between a rotation's command and its first batch.
const AHEAD: u64 = 30;

fn key(byte: u8) -> SigningKey {
    SigningKey::from_bytes(&[byte; 32]).unwrap()
}

fn hex(key: &SigningKey) -> String {
    to_hex(&key.to_bytes())
}

/// The sequencer's keys in these tests, in order.
fn keys() -> [SigningKey; 4] {
    [0x5a, 0x5b, 0x5c, 0x5d].map(key)
}

/// A server on Anvil whose keys are rotated.
struct Rotated {
    setup: Setup,
    rpc_url: String,
    contract: Address,
}

impl Rotated {
    async fn new(folder: &Path, anvil: &Anvil) -> Self {
        let contract = deploy_anchor(&anvil.rpc(), keys()[0].address()).await;
        let setup = Setup::new(&folder.join("data"))
            .set("chain_rpc_url", format!("{:?}", anvil.url()))
            .set("chain_id", CHAIN_ID)
            .set("chain_contract", format!("\"{contract}\""))
            .set("chain_confirmations", 1)
            .set("anchor_interval_s", 2)
            .environment("KEDGE_OPERATOR_KEY", hex(&key(0x0b)))
            .environment(
                "KEDGE_ANCHOR_KEY",
                hex(&insecure_development_keys()[1].clone()),
            );
        Self {
            setup,
            rpc_url: anvil.url(),
            contract,
        }
    }

    /// The server's setup with the current key, or with that and the next one.
    fn holding(&self, now: &SigningKey, next: Option<&SigningKey>) -> Setup {
        let setup = self
            .setup
            .clone()
            .environment("KEDGE_SEQUENCER_KEY", hex(now));
        match next {
            Some(next) => setup.environment("KEDGE_NEXT_SEQUENCER_KEY", hex(next)),
            None => setup,
        }
    }

    fn socket(&self) -> PathBuf {
        self.setup.data().join("admin.sock")
    }

    fn contract_command(&self, command: &str, more: &[&str]) -> Result<Value, String> {
        let contract = self.contract.to_string();
        let mut arguments = vec!["contract", command, "--contract", &contract];
        arguments.extend(["--rpc", &self.rpc_url, "--json"]);
        arguments.extend(more);
        let output = kedge(&arguments);
        if output.status.success() {
            Ok(serde_json::from_slice(&output.stdout).unwrap())
        } else {
            Err(String::from_utf8_lossy(&output.stderr).into_owned())
        }
    }

    fn rotate(&self, to: &SigningKey, from_batch: u64) -> Result<Value, String> {
        let (to, from_batch) = (to.address().to_string(), from_batch.to_string());
        let socket = self.socket();
        let socket = socket.to_str().unwrap();
        let more = [
            "--key",
            to.as_str(),
            "--from-batch",
            from_batch.as_str(),
            "--socket",
            socket,
        ];
        self.contract_command("rotate", &more)
    }

    /// Rotates to a key far enough ahead of the load; returns its first batch.
    async fn rotate_ahead(&self, to: &SigningKey, load: &Load) -> (u64, Value) {
        let mut ahead = AHEAD;
        loop {
            load.reaches(load.batches()).await;
            let from_batch = load.batches() + ahead;
            match self.rotate(to, from_batch) {
                Ok(reported) => return (from_batch, reported),
                Err(reported) => assert!(is_too_late(&reported), "{reported}"),
            }
            ahead *= 3;
        }
    }

    /// The command line's option for the log's domain.
    fn domain(&self) -> String {
        format!("{CHAIN_ID}:{}", self.contract)
    }
}

/// Runs the program as the contract's owner.
fn kedge(arguments: &[&str]) -> Output {
    crate::support::program::kedge()
        .args(arguments)
        .env("KEDGE_SIGNING_KEY", hex(&insecure_development_keys()[0]))
        .output()
        .unwrap()
}

/// Whether the server or the contract was already past the named batch.
fn is_too_late(reported: &str) -> bool {
    reported.contains("/from_batch") || reported.contains("a later batch than")
}

/// An account that writes all the time, and keeps every receipt.
struct Load {
    stop: Arc<AtomicBool>,
    receipts: Arc<Mutex<Vec<Receipt>>>,
    task: tokio::task::JoinHandle<()>,
}

impl Load {
    fn begin(account: Account, template: Id) -> Self {
        let (stop, receipts) = <(Arc<AtomicBool>, Arc<Mutex<Vec<Receipt>>>)>::default();
        let (ends, kept) = (Arc::clone(&stop), Arc::clone(&receipts));
        let task = tokio::spawn(async move {
            while !ends.load(Ordering::Relaxed) {
                // A pause keeps the log short enough for the slowest verifier.
                tokio::time::sleep(Duration::from_millis(60)).await;
                match account.mint(template, &NewObject::default()).await {
                    // The client checked the receipt with the keys it knows or has learned.
                    Ok(minted) => kept.lock().unwrap().extend(minted.receipt),
                    Err(kedge_client::ClientError::Verification(error)) => panic!("{error}"),
                    // The server is restarting, or signs nothing for a moment.
                    Err(_) => tokio::time::sleep(Duration::from_millis(50)).await,
                }
            }
        });
        Self {
            stop,
            receipts,
            task,
        }
    }

    fn batches(&self) -> u64 {
        let receipts = self.receipts.lock().unwrap();
        let last = receipts.last().map(|receipt| receipt.batch.header.number);
        last.map_or(0, |number| number + 1)
    }

    async fn reaches(&self, batches: u64) {
        let reached = || async { (self.batches() > batches).then_some(()) };
        eventually("the load goes past the batch", LIMIT, reached).await;
    }

    async fn end(self) -> Vec<Receipt> {
        self.stop.store(true, Ordering::Relaxed);
        self.task.await.unwrap();
        std::mem::take(&mut self.receipts.lock().unwrap())
    }
}

/// A client that trusts only the first key, and learns the others from the log.
async fn pinned(setup: &Setup, domain: Domain) -> Client {
    Client::builder(setup.url())
        .pin(domain, keys()[0].address())
        .retry(RetryPolicy::never())
        .connect()
        .await
        .unwrap()
}

/// Anchors until everything so far is final.
async fn anchored(client: &Client, batches: u64) {
    let is_final = || async {
        let anchors = client.anchors(&ListQuery::default()).collect(1_000).await;
        let anchors = anchors.unwrap_or_default();
        let mut ended = anchors.iter().rev();
        let last = ended.find(|anchor| anchor.status == AnchorStage::Finalized);
        last.filter(|last| last.last_batch >= batches).map(|_| ())
    };
    eventually("the anchors are final", LIMIT, is_final).await;
}

// Holds invariants 103, 104, 105.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn three_rotations_under_load_leave_a_log_that_everybody_verifies() {
    let mut rng = Rng::seeded("rotation");
    let directory = tempfile::tempdir().unwrap();
    let anvil = Anvil::start(free_port(), &directory.path().join("anvil.json")).await;
    let rotated = Rotated::new(directory.path(), &anvil).await;
    let all = keys();

    let mut server = rotated.holding(&all[0], Some(&all[1])).start();
    let client = connect(&rotated.setup.url()).await;
    let domain = client.domain();
    let client = pinned(&rotated.setup, domain).await;
    let ann = register(&client, rng.key()).await;
    let made = template(&ann, "rotated").await;
    let load = Load::begin(ann.clone(), made);

    let mut list = vec![KeyActivation {
        key: all[0].address(),
        from_batch: 0,
    }];
    for turn in 1..all.len() {
        let (old, new) = (&all[turn - 1], &all[turn]);
        let (from_batch, reported) = rotated.rotate_ahead(new, &load).await;
        assert_eq!(reported["from_batch"], from_batch);
        // The same command finishes the rest; no key is named twice.
        let again = rotated.rotate(new, from_batch).unwrap();
        assert_eq!(again["sequence"], reported["sequence"]);
        assert_eq!(again["transaction_hash"], Value::Null);
        list.push(KeyActivation {
            key: new.address(),
            from_batch,
        });
        load.reaches(from_batch + 2).await;
        let recovered = |number: u64| {
            let client = client.clone();
            async move {
                let batch = client.batch(&number.to_string()).await.unwrap().signed();
                let digest = batch.header.digest(&domain.separator());
                batch.signature.recover(&digest).unwrap()
            }
        };
        assert_eq!(recovered(from_batch - 1).await, old.address());
        assert_eq!(recovered(from_batch).await, new.address());
        anchored(&client, from_batch).await;
        // From here on the old key is no longer needed: the next start holds the new one and its successor.
        if turn == 2 {
            server.kill();
        } else {
            server.stop();
        }
        server = rotated.holding(new, all.get(turn + 1)).start();
    }
    load.reaches(load.batches() + 3).await;
    let receipts = load.end().await;
    let keys = SequencerKeys::new(list).unwrap();
    assert_eq!(client.sequencer_keys(), keys, "learnt from the log alone");

    let batches = receipts.last().unwrap().batch.header.number;
    anchored(&client, batches).await;
    disputes(&rotated, &ann, &keys).await;
    endpoint(&rotated, &keys).await;
    let files = Files::write(directory.path(), &ann, &keys, &receipts).await;
    let ready = http::get(rotated.setup.port(), "/readyz").await.json();
    let next = ready["batches"].to_string();
    server.stop();
    files.check(&rotated);
    store(&rotated, domain, &keys);

    // All batches of the first keys are anchored, so the contract records where each ends.
    let closed = rotated
        .contract_command("close-key", &["--index", "0"])
        .unwrap();
    assert!(closed["closed_at"].as_u64().unwrap() > 0, "{closed}");
    let open = rotated
        .contract_command("close-key", &["--index", "3"])
        .unwrap_err();
    assert!(open.contains("still in use"), "{open}");

    // Neither past keys nor a future one can sign.
    for (present, wanted) in [(&all[0], &all[3]), (&key(0x77), &all[3])] {
        let (status, reported) = rotated.holding(present, None).start_refused();
        assert!(!status.success());
        for word in [next.as_str(), &wanted.address().to_string(), "next batch"] {
            assert!(reported.contains(word), "{word}: {reported}");
        }
    }
    anvil.stop();
}

/// Evidence is judged by the key of its batch: only the key that signs this number is convicted.
async fn disputes(rotated: &Rotated, ann: &Account, keys: &SequencerKeys) {
    let all = self::keys();
    let domain = ann.client().domain();
    let email = format!("{}@example.com", ann.address()).to_lowercase();
    ann.login(&email, PASSWORD).await.unwrap();
    let token = ann.access_token().unwrap();
    let headers = [("Authorization", format!("Bearer {token}"))];
    let port = rotated.setup.port();
    let bring = |file: EvidenceFile| {
        let (headers, body) = (&headers, file.normal_form().unwrap());
        async move { http::post(port, "/disputes", headers, &body).await }
    };
    for (index, entry) in (0..).zip(keys.entries()) {
        let from = entry.from_batch;
        let (own, before) = (&all[index as usize], from.wrapping_sub(1));
        let proven = bring(equivocation(domain, own, index, from)).await;
        assert_eq!(proven.status, 201, "{}", proven.body);
        if index > 0 {
            let early = bring(equivocation(domain, own, index, before)).await;
            assert_eq!(early.status, 422, "{}", early.body);
            let old = &all[index as usize - 1];
            let last = bring(equivocation(domain, old, index - 1, before)).await;
            assert_eq!(last.status, 201, "{}", last.body);
        }
    }
}

async fn endpoint(rotated: &Rotated, keys: &SequencerKeys) {
    let answer = http::get(rotated.setup.port(), "/sequencer-keys").await;
    assert_eq!(answer.status, 200);
    let answer = answer.json();
    let items = answer["items"].as_array().unwrap();
    assert_eq!(items.len(), keys.entries().len());
    for (i, (item, entry)) in items.iter().zip(keys.entries()).enumerate() {
        assert_eq!(item["key"], json!(entry.key));
        assert_eq!(item["from_batch"], entry.from_batch);
        assert_eq!(item["contract"], json!(rotated.contract), "{item}");
        assert_eq!(item["sequence"].is_null(), i == 0, "{item}");
    }
}

/// Verifies the store by replaying its log: it holds with the first key alone and with the whole list, but not with
/// another.
fn store(rotated: &Rotated, domain: Domain, keys: &SequencerKeys) {
    let path = rotated.setup.store();
    let verify =
        |keys: SequencerKeys| kedge_upkeep::verify::store(&path, domain, keys, |_| ()).map(|_| ());
    verify(keys.first().into()).unwrap();
    verify(keys.clone()).unwrap();
    let mut entries = keys.entries().to_vec();
    entries[2].key = key(0x77).address();
    let refused = verify(SequencerKeys::new(entries).unwrap()).unwrap_err();
    let reported = refused.to_string();
    assert!(reported.contains("key of its number"), "{reported}");
}

async fn reason(server: &Server) -> (u16, String) {
    let (status, ready) = server.readiness().await;
    let reason = ready["reason"].as_str().unwrap_or_default().to_owned();
    (status, reason)
}

async fn is_stopped(setup: &Setup) -> bool {
    http::metric(setup.metrics_port(), "kedge_signing_stopped", &[]).await > 0.5
}

// Holds invariants 99, 101, 102.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_batch_is_signed_with_its_key_or_not_at_all() {
    let mut rng = Rng::seeded("not signed");
    let directory = tempfile::tempdir().unwrap();
    let anvil = Anvil::start(free_port(), &directory.path().join("anvil.json")).await;
    let rotated = Rotated::new(directory.path(), &anvil).await;
    let [first, second, third, _] = keys();

    // A new log must begin with the key that the contract names.
    let setup = rotated.holding(&second, None);
    let server = setup.start();
    let (status, why) = reason(&server).await;
    assert_eq!(status, 503);
    for word in ["batch 0", &first.address().to_string()] {
        assert!(why.contains(word), "{why}");
    }
    assert!(is_stopped(&setup).await);
    server.stop();

    let setup = rotated.holding(&first, Some(&second));
    let server = setup.start();
    let client = connect(&setup.url()).await;
    let ann = register(&client, rng.key()).await;
    let made = template(&ann, "stopped").await;
    let mint = || async { ann.mint(made, &NewObject::default()).await };
    mint().await.unwrap();

    // Too early, and a key that is not held.
    let refused = rotated.rotate(&second, 1).unwrap_err();
    assert!(is_too_late(&refused), "{refused}");
    let refused = rotated.rotate(&third, 1_000).unwrap_err();
    assert!(refused.contains("does not hold"), "{refused}");

    // The log names a key that the contract does not: the server signs up to the batch before it and stops.
    let socket = rotated.socket();
    let named = admin(
        &socket,
        &json!({"command": "name_sequencer_key", "key": second.address(), "from_batch": 6}),
    )
    .await;
    assert_eq!(named["ok"], true, "{named}");
    let stopped = || async {
        let _minted = mint().await;
        let (status, why) = reason(&server).await;
        (status == 503).then_some(why)
    };
    let why = eventually("no batch is signed", LIMIT, stopped).await;
    for word in ["batch 6", &second.address().to_string(), "contract"] {
        assert!(why.contains(word), "{why}");
    }
    assert!(is_stopped(&setup).await);
    let batches = http::get(setup.port(), "/readyz").await.json()["batches"].clone();
    assert_eq!(batches, 6);

    // The same command finishes the rotation, and the server continues without a restart.
    rotated.rotate(&second, 6).unwrap();
    let signs = || async { mint().await.ok() };
    let minted = eventually("batches are signed again", LIMIT, signs).await;
    let header = minted.receipt.unwrap().batch;
    assert!(header.header.number >= 6);
    let digest = header.header.digest(&client.domain().separator());
    assert_eq!(header.signature.recover(&digest), Ok(second.address()));
    assert!(!is_stopped(&setup).await);
    server.stop();

    // The old key no longer signs, and the server reports which one is needed.
    let (status, reported) = rotated.holding(&first, None).start_refused();
    assert!(!status.success());
    assert!(
        reported.contains(&second.address().to_string()),
        "{reported}"
    );

    // The next key's batch comes before the server has the key: it signs its last batch and stops.
    let setup = rotated.holding(&second, Some(&third));
    let server = setup.start();
    let head = http::get(setup.port(), "/readyz").await.json()["batches"]
        .as_u64()
        .unwrap();
    rotated.rotate(&third, head + 3).unwrap();
    server.stop();
    let setup = rotated.holding(&second, None);
    let server = setup.start();
    let stopped = || async {
        let _minted = mint().await;
        let (status, why) = reason(&server).await;
        (status == 503).then_some(why)
    };
    let why = eventually("no batch is signed", LIMIT, stopped).await;
    assert!(why.contains(&third.address().to_string()), "{why}");
    server.stop();
    let domain = client.domain();
    kedge_upkeep::verify::store(&setup.store(), domain, first.address(), |_| ()).unwrap();

    // Pausing stops the anchors and nothing else.
    for (command, paused) in [("pause", true), ("unpause", false)] {
        let reported = rotated.contract_command(command, &[]).unwrap();
        assert_eq!(reported["paused"], paused);
    }
    anvil.stop();
}

/// One command over the operator's socket.
async fn admin(socket: &Path, command: &Value) -> Value {
    use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
    let stream = tokio::net::UnixStream::connect(socket).await.unwrap();
    let mut stream = BufReader::new(stream);
    let line = format!("{command}\n");
    stream.write_all(line.as_bytes()).await.unwrap();
    let mut answer = String::new();
    stream.read_line(&mut answer).await.unwrap();
    serde_json::from_str(&answer).unwrap()
}
