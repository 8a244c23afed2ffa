//! Stores that must not simply be continued: older ones, other logs', changed ones.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use kedge_client::{Account, BatchMode, Client, ClientError, NewAction, NewObject, Properties};
use kedge_log::env::RealEnv;
use kedge_log::{FileLog, Frame, Log as _, LogReader};
use kedge_protocol::batch::SignedBatch;
use kedge_protocol::chain::{LogLeaf, next_head};
use kedge_protocol::merkle::BatchTree;
use kedge_protocol::record::RequestRecord;
use kedge_protocol::signature::SigningKey;
use kedge_protocol::{Hash, Id};
use kedge_storage::{HighWater, ReleasedHead, Store, StoreOptions, WriteGroup};
use serde_json::{Value, json};

use crate::support::ledger::Ledger;
use crate::support::program::kedge;
use crate::support::server::Setup;
use crate::support::{Rng, connect, copy_directory, http, register, template};

/// A server's first life: some actions, and an orderly stop.
struct Made {
    setup: Setup,
    client: Client,
    account: Account,
    template: Id,
    ledger: Ledger,
}

async fn made(directory: &tempfile::TempDir, rng: &mut Rng) -> Made {
    made_by(Setup::development(&directory.path().join("data")), rng).await
}

async fn made_by(setup: Setup, rng: &mut Rng) -> Made {
    let server = setup.start();
    let client = connect(&setup.url()).await;
    let account = register(&client, rng.key()).await;
    let template = template(&account, "made").await;
    let made = Made {
        setup,
        client,
        account,
        template,
        ledger: Ledger::default(),
    };
    made.mint(10).await;
    server.stop();
    made
}

impl Made {
    /// Mints one by one, so that each has its own batch, and then a batch.
    async fn mint(&self, count: usize) {
        for _ in 0..count {
            let minted = self
                .account
                .mint(self.template, &NewObject::default())
                .await;
            self.ledger.changed(&minted.unwrap());
        }
        let mint = NewAction::mint(self.template, &NewObject::default()).unwrap();
        let outcome = self
            .account
            .batch(&vec![mint; count], BatchMode::Atomic)
            .await;
        self.ledger.batch(&outcome.unwrap());
    }

    /// Checks that writes of every form are refused.
    async fn writes_are_refused(&self, why: &str) {
        let mint = NewAction::mint(self.template, &NewObject::default()).unwrap();
        let alone = self.account.act(&mint).await.unwrap_err();
        let batch = self.account.batch(&[mint], BatchMode::Independent).await;
        let object = self
            .account
            .mint(self.template, &NewObject::default())
            .await;
        for refusal in [alone, batch.unwrap_err(), object.unwrap_err()] {
            let ClientError::Refused(envelope) = &refusal else {
                panic!("{refusal}");
            };
            assert_eq!(
                (envelope.status, envelope.code.as_str()),
                (503, "UNAVAILABLE")
            );
            assert!(envelope.message().contains(why), "{envelope}");
        }
    }

    fn open_store(&self) -> Store {
        let options = StoreOptions {
            high_water_path: Some(self.setup.high_water()),
            side_keys: kedge_upkeep::side_keys::read(&self.setup.data().join("keys")).unwrap(),
            ..StoreOptions::of_store(
                &self.setup.store(),
                self.client.domain(),
                self.client.sequencer(),
            )
        };
        kedge_replay::catch_up::open_store(options).unwrap()
    }

    fn verify(
        &self,
    ) -> Result<kedge_upkeep::verify::StoreVerifySummary, kedge_upkeep::verify::VerifyError> {
        let (domain, sequencer) = (self.client.domain(), self.client.sequencer());
        kedge_upkeep::verify::store(&self.setup.store(), domain, sequencer, |_| ())
    }
}

// Holds invariant 13.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_store_older_than_the_released_headers_is_read_only_and_says_why() {
    let mut rng = Rng::seeded("older store");
    let directory = tempfile::tempdir().unwrap();
    let made = made(&directory, &mut rng).await;
    let (setup, account) = (&made.setup, &made.account);
    let old = directory.path().join("old");
    copy_directory(setup.data(), &old);
    let old_sequence = made.ledger.last_sequence();
    let old_batches = made.verify().unwrap().batches;

    let server = setup.start();
    made.mint(3).await;
    server.stop();
    let batches = made.verify().unwrap().batches;
    assert!(batches > old_batches);

    let newest = directory.path().join("newest");
    std::fs::rename(setup.data(), &newest).unwrap();
    copy_directory(&old, setup.data());
    let server = setup.start();
    let ready = server.read_only().await;
    let port = setup.metrics_port();
    assert!(http::metric(port, "kedge_storage_read_only", &[]).await > 0.5);
    let reason = ready["reason"].as_str().unwrap();
    let why = format!("it holds {old_batches} batches, but the headers of {batches} were signed");
    assert!(reason.starts_with(&why), "{reason}");
    // The log says where the mark is; callers are not shown that.
    let mark = setup.high_water().display().to_string();
    assert!(
        !reason.contains(&mark) && setup.log().contains(&mark),
        "{reason}"
    );

    // Reading continues: the contents of the old store are served, with their receipts.
    assert_eq!(ready["sequence"], json!(old_sequence));
    let first = made.ledger.after(0)[0];
    let found = account.action(first.id).await.unwrap();
    assert_eq!((found.sequence, found.leaf), (first.sequence, first.leaf));
    made.writes_are_refused(&why).await;
    server.stop();

    // Once the newest copy is restored, everything continues.
    std::fs::remove_dir_all(setup.data()).unwrap();
    std::fs::rename(&newest, setup.data()).unwrap();
    let server = setup.start();
    made.mint(1).await;
    made.ledger.check_log(std::slice::from_ref(account)).await;
    server.stop();
    made.verify().unwrap();
}

// Holds invariant 103.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn another_contract_and_another_key_are_refused() {
    let mut rng = Rng::seeded("other log");
    let directory = tempfile::tempdir().unwrap();
    let made = made(&directory, &mut rng).await;
    let setup = &made.setup;

    // If the contract's file is missing, the start deploys a new one, which means another log.
    let contract_file = setup.data().join("contract");
    let contract = std::fs::read_to_string(&contract_file).unwrap();
    std::fs::remove_file(&contract_file).unwrap();
    let (status, reported) = setup.start_refused();
    assert!(!status.success());
    assert!(reported.contains(contract.trim()), "{reported}");
    assert!(
        reported.contains("this data directory holds the log of chain"),
        "{reported}"
    );
    std::fs::write(&contract_file, contract).unwrap();

    // A server with another key cannot continue this log: it reports which key can.
    let other = format!("0x{}", "7e".repeat(32));
    let (status, reported) = setup
        .clone()
        .environment("KEDGE_SEQUENCER_KEY", other)
        .start_refused();
    assert!(!status.success());
    let wanted = made.client.sequencer().to_string();
    assert!(
        reported.contains(&wanted) && reported.contains("next batch"),
        "{reported}"
    );

    let server = setup.start();
    made.mint(1).await;
    server.stop();
    made.verify().unwrap();
}

/// The files of a folder and of the folders in it, with their contents.
fn every_byte(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut found = BTreeMap::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.append(&mut every_byte(&path));
        } else {
            found.insert(path.clone(), std::fs::read(path).unwrap());
        }
    }
    found
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn verify_names_the_sequence_of_a_changed_record() {
    let mut rng = Rng::seeded("changed record");
    let directory = tempfile::tempdir().unwrap();
    let made = made(&directory, &mut rng).await;
    made.verify().unwrap();

    // Far from the log's end, so its last batches are unchanged. A forger corrects every checksum.
    let all = made.ledger.after(0);
    let sequence = all[usize::try_from(rng.below(8)).unwrap()].sequence;
    let log = made.setup.data().join("log");
    forge(&made, sequence);

    let reported = kedge().args(["verify", "log"]).arg(&log).output().unwrap();
    assert!(!reported.status.success());
    let text = String::from_utf8(reported.stderr).unwrap();
    assert!(text.contains(&format!("sequence {sequence}")), "{text}");
    // The store knows the log it was made from, and no store is made from unsigned content.
    let (_, reported) = made.setup.start_refused();
    assert!(
        reported.contains("was built from another log"),
        "{reported}"
    );
    std::fs::remove_dir_all(made.setup.store()).unwrap();
    let (_, reported) = made.setup.start_refused();
    let refused = format!("of the log cannot be applied: sequence {sequence}:");
    assert!(reported.contains(&refused), "{reported}");
}

/// Rewrites the log with another payload of one action.
fn forge(made: &Made, sequence: u64) {
    rewrite(made, |records, _| {
        let mut forged = records.iter_mut();
        if let Some(record) = forged.find(|record| record.first_sequence == sequence) {
            record.actions[0].payload = Cow::Borrowed(r#"{"properties":{"forged":true}}"#);
        }
    });
}

/// The batches of a frame, with their leaves.
type Batches = Vec<(SignedBatch, Vec<Hash>)>;

/// Rewrites the log with each frame's requests and batches changed.
fn rewrite(made: &Made, mut change: impl FnMut(&mut Vec<RequestRecord<'_>>, &mut Batches)) {
    let log = made.setup.data().join("log");
    let (keys, identity) = (
        kedge_upkeep::side_keys::read(&made.setup.data().join("keys")).unwrap(),
        made.client.domain().separator(),
    );
    let env = std::sync::Arc::new(RealEnv);
    let (reader, _) = LogReader::open(env.clone(), &log, None, 0).unwrap();
    let forged = log.with_file_name("forged");
    let opened = FileLog::open(
        env,
        &forged,
        identity,
        &keys,
        kedge_log::ReleaseMark::default(),
        kedge_log::LogOptions::default(),
    );
    let (mut writing, _) = opened.unwrap();
    for stored in reader.frames(1) {
        let stored = stored.unwrap();
        let requests = stored.requests().unwrap().into_iter();
        let records = requests.map(|request| request.into_record().unwrap());
        let mut records: Vec<_> = records.collect();
        let leaves = stored.leaves().unwrap();
        let mut rest = leaves.as_slice();
        let mut batches: Batches = Vec::new();
        for batch in stored.batches().unwrap() {
            let (own, others) = rest.split_at(batch.header.count as usize);
            batches.push((batch, own.to_vec()));
            rest = others;
        }
        change(&mut records, &mut batches);
        let mut frame = Frame::new();
        for record in &records {
            frame.push_request(record).unwrap();
        }
        for (batch, leaves) in &batches {
            frame.push_batch(batch, leaves).unwrap();
        }
        for entry in stored.side(&identity, &keys).unwrap() {
            frame.push_side(entry);
        }
        writing.append(&frame).unwrap();
    }
    writing.durability().sync().unwrap();
    drop(writing);
    std::fs::remove_dir_all(&log).unwrap();
    std::fs::rename(&forged, &log).unwrap();
}

/// Replaces the last request's signature by one of another key. Everything derived is as a sequencer would leave it
/// that checks no signatures.
fn unsign(made: &Made, key: &SigningKey) -> u64 {
    let sequencer = made.setup.data().join("keys/sequencer.key");
    let sequencer = kedge_config::secrets::development_key(&sequencer).unwrap();
    let separator = made.client.domain().separator();
    let last = made.verify().unwrap().batches - 1;
    let mut unsigned = 0;
    let mut released = None;
    rewrite(made, |records, batches| {
        let Some((batch, leaves)) = batches
            .iter_mut()
            .find(|(one, _)| one.header.number == last)
        else {
            return;
        };
        let record = records.last_mut().unwrap();
        let digest = record
            .head
            .digest(&separator, &record.action_hashes().unwrap());
        record.signature = key.sign(&digest);
        let own = LogLeaf::hash_each(&record.placed(&record.hashes()));
        let first = leaves.len() - own.len();
        leaves[first..].copy_from_slice(&own);
        let head = batch.header.previous_head;
        batch.header.head = leaves
            .iter()
            .fold(head, |head, leaf| next_head(&head, leaf));
        batch.header.root = BatchTree::new(leaves).root();
        *batch = batch.header.sign(&separator, &sequencer);
        unsigned = record.first_sequence;
        released = Some(ReleasedHead {
            batches: last + 1,
            head: batch.header.head,
        });
    });
    HighWater::put(&RealEnv, &made.setup.high_water(), released.unwrap()).unwrap();
    std::fs::remove_dir_all(made.setup.store()).unwrap();
    unsigned
}

// Holds invariant 203.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_unsigned_action_stops_no_start_and_is_never_anchored() {
    let mut rng = Rng::seeded("unsigned action");
    let directory = tempfile::tempdir().unwrap();
    let setup = Setup::development(&directory.path().join("data")).set("anchor_on_shutdown", false);
    let made = made_by(setup, &mut rng).await;
    // A change, because a mint's object would be named by its signature.
    let server = made.setup.start();
    let object = made.ledger.after(0)[0].resource;
    let changed = made.account.update(object, &Properties::new()).await;
    made.ledger.changed(&changed.unwrap());
    server.stop();
    let sequence = unsign(&made, &rng.key());
    let server = made.setup.start();
    let why = server.why_read_only().await;
    let named = format!("the request at sequence {sequence} is not signed by whom it names");
    assert!(why.starts_with(&named), "{why}");
    let port = made.setup.metrics_port();
    for metric in ["kedge_storage_read_only", "kedge_storage_unsigned_action"] {
        assert!(http::metric(port, metric, &[]).await > 0.5, "{metric}");
    }
    let first = made.ledger.after(0)[0];
    let read = made.account.action(first.id).await.unwrap();
    assert_eq!(read.sequence, first.sequence);
    let object = NewObject::default();
    let refused = made.account.mint(made.template, &object).await.unwrap_err();
    assert!(matches!(&refused, ClientError::Refused(envelope) if envelope.status == 503));
    let anchored = kedge()
        .args(["admin", "anchor-now", "--socket"])
        .arg(made.setup.data().join("admin.sock"))
        .output()
        .unwrap();
    assert!(!anchored.status.success(), "{anchored:?}");
    let anchors = http::get(made.setup.port(), "/anchors").await.json();
    assert_eq!(anchors["items"], json!([]));
    server.stop();
    // Verification names it too.
    let named = made.verify().unwrap_err().to_string();
    assert!(named.contains(&format!("sequence {sequence}")), "{named}");
}

// Holds invariants 3, 60.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn verify_finds_a_state_that_the_log_does_not_make() {
    let mut rng = Rng::seeded("changed state");
    let directory = tempfile::tempdir().unwrap();
    let made = made(&directory, &mut rng).await;
    let object = rng.pick(&made.ledger.after(0)).resource;
    let store = made.open_store();
    let mut forged = store.snapshot().object(object).unwrap().unwrap();
    forged.properties = r#"{"forged":true}"#.to_owned();
    let mut group = WriteGroup::new();
    group.put_object(&forged, &forged.trace, None);
    drop(store.commit(&group).unwrap());
    store.close().unwrap();

    // Only what is requested is checked, what is not is reported, and nothing is written meanwhile.
    let bytes = every_byte(&made.setup.store());
    for (checks, not_checked) in [
        ("hashes", "signatures of requests, the rules and the state"),
        ("signatures", "the rules and the state"),
    ] {
        let reported = kedge()
            .args(["verify", "data", "--dev", "--json", "--checks", checks])
            .arg(made.setup.data())
            .output()
            .unwrap();
        assert!(reported.status.success(), "{reported:?}");
        let reported: Value = serde_json::from_slice(&reported.stdout).unwrap();
        assert_eq!(reported["not_checked"], not_checked);
        assert_eq!(reported["actions"], made.ledger.last_sequence());
    }

    let named = made.verify().unwrap_err().to_string();
    assert!(every_byte(&made.setup.store()) == bytes);
    let key = kedge_protocol::hash::to_hex(&object.bytes);
    assert!(
        named.contains("differs from a replay of the log"),
        "{named}"
    );
    assert!(
        named.contains(&format!("table objects: the rows under key {key}")),
        "{named}"
    );
}
