//! Stores that must not simply be gone on with: older ones, other logs', changed ones.

#![allow(clippy::unwrap_used, reason = "a test file: a panic is the failure")]

mod support;

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use kedge_client::{Account, BatchMode, Client, Error, NewAction, NewObject};
use kedge_protocol::Id;
use kedge_storage::{Group, Options, Store};
use serde_json::{Value, json};

use support::ledger::Ledger;
use support::program::kedge;
use support::server::Setup;
use support::{Rng, connect, copy_directory, http, register, template};

/// A server's first life: some actions, and a clean stop.
struct Made {
    setup: Setup,
    client: Client,
    account: Account,
    template: Id,
    ledger: Ledger,
}

async fn made(directory: &tempfile::TempDir, rng: &mut Rng) -> Made {
    let setup = Setup::development(&directory.path().join("data"));
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
    /// Mints one by one, so that each has a batch of its own, and then a batch.
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

    fn open_store(&self) -> Store {
        let options = Options {
            path: self.setup.store(),
            domain: self.client.domain(),
            sequencer: self.client.sequencer(),
            high_water_path: Some(self.setup.high_water()),
            block_cache_bytes: 16 << 20,
            memtable_bytes: 16 << 20,
            wal_bytes_max: 32 << 20,
            read_only: false,
        };
        Store::open(options).unwrap()
    }

    fn verify(&self) -> Result<kedge::verify::Summary, kedge::verify::VerifyError> {
        let (domain, sequencer) = (self.client.domain(), self.client.sequencer());
        kedge::verify::store(&self.setup.store(), domain, sequencer, |_| ())
    }
}

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
    let (status, ready) = server.readiness().await;
    assert_eq!(
        (status, &ready["mode"]),
        (503, &json!("read_only")),
        "{ready}"
    );
    let port = setup.metrics_port();
    assert!(http::metric(port, "kedge_storage_read_only", &[]).await > 0.5);
    let reason = ready["reason"].as_str().unwrap();
    let why = format!("it holds {old_batches} batches, but the headers of {batches} were signed");
    assert!(reason.starts_with(&why), "{reason}");
    assert!(
        reason.contains(&setup.high_water().display().to_string()),
        "{reason}"
    );

    // Reading goes on: what the old store holds is served, with its receipts.
    assert_eq!(ready["sequence"], json!(old_sequence));
    let first = made.ledger.after(0)[0];
    let found = account.action(first.id).await.unwrap();
    assert_eq!((found.sequence, found.leaf), (first.sequence, first.leaf));
    // Writing does not, in any way.
    let mint = NewAction::mint(made.template, &NewObject::default()).unwrap();
    let refusals = [
        account.act(&mint).await.unwrap_err(),
        account
            .batch(&[mint], BatchMode::Independent)
            .await
            .unwrap_err(),
        account
            .mint(made.template, &NewObject::default())
            .await
            .unwrap_err(),
    ];
    for refusal in refusals {
        let Error::Refused(envelope) = &refusal else {
            panic!("{refusal}");
        };
        assert_eq!(
            (envelope.status, envelope.code.as_str()),
            (503, "UNAVAILABLE")
        );
        assert!(envelope.message().contains(&why), "{envelope}");
    }
    server.stop();

    // With the newest copy back, everything goes on.
    std::fs::remove_dir_all(setup.data()).unwrap();
    std::fs::rename(&newest, setup.data()).unwrap();
    let server = setup.start();
    made.mint(1).await;
    made.ledger.check_log(std::slice::from_ref(account)).await;
    server.stop();
    made.verify().unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn another_contract_and_another_key_are_refused() {
    let mut rng = Rng::seeded("other log");
    let directory = tempfile::tempdir().unwrap();
    let made = made(&directory, &mut rng).await;
    let setup = &made.setup;

    // Where the contract is forgotten, the start deploys a new one: another log.
    let contract_file = setup.data().join("contract");
    let contract = std::fs::read_to_string(&contract_file).unwrap();
    std::fs::remove_file(&contract_file).unwrap();
    let (status, told) = setup.start_refused();
    assert!(!status.success());
    assert!(told.contains(contract.trim()), "{told}");
    assert!(
        told.contains("this data directory holds the log of chain"),
        "{told}"
    );
    std::fs::write(&contract_file, contract).unwrap();

    // A server with another key cannot go on with this log: it says which one can.
    let other = format!("0x{}", "7e".repeat(32));
    let (status, told) = setup
        .clone()
        .environment("KEDGE_SEQUENCER_KEY", other)
        .start_refused();
    assert!(!status.success());
    let wanted = made.client.sequencer().to_string();
    assert!(
        told.contains(&wanted) && told.contains("next batch"),
        "{told}"
    );

    let server = setup.start();
    made.mint(1).await;
    server.stop();
    made.verify().unwrap();
}

/// The files of a folder, and what is in them.
fn every_byte(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let files = std::fs::read_dir(folder).unwrap();
    let paths = files.map(|file| file.unwrap().path());
    paths
        .map(|path| (path.clone(), std::fs::read(path).unwrap()))
        .collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn verify_names_the_sequence_of_a_changed_record() {
    let mut rng = Rng::seeded("changed record");
    let directory = tempfile::tempdir().unwrap();
    let made = made(&directory, &mut rng).await;
    made.verify().unwrap();

    // Far from the log's end: opening alone does not see it.
    let all = made.ledger.after(0);
    let sequence = all[usize::try_from(rng.below(8)).unwrap()].sequence;
    let store = made.open_store();
    let snapshot = store.snapshot();
    let mut record = snapshot.request_at(sequence).unwrap().unwrap();
    let contents: Vec<_> = record.actions.iter().map(|a| record.content(a)).collect();
    record.actions[0].payload = Cow::Borrowed(r#"{"properties":{"forged":true}}"#);
    let mut group = Group::new();
    group.put_request(&record, &contents);
    drop(store.commit(&group).unwrap());
    drop(snapshot);
    store.close().unwrap();

    let named = made.verify().unwrap_err().to_string();
    assert!(
        named.starts_with(&format!("sequence {sequence}:")),
        "{named}"
    );
    let told = kedge()
        .args(["verify", "data", "--dev"])
        .arg(made.setup.data())
        .output()
        .unwrap();
    assert!(!told.status.success());
    let text = String::from_utf8(told.stderr).unwrap();
    assert!(text.contains(&format!("sequence {sequence}:")), "{text}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn verify_finds_a_state_that_the_log_does_not_make() {
    let mut rng = Rng::seeded("changed state");
    let directory = tempfile::tempdir().unwrap();
    let made = made(&directory, &mut rng).await;
    let object = rng.pick(&made.ledger.after(0)).resource;
    let store = made.open_store();
    let mut forged = store.snapshot().object(object).unwrap().unwrap();
    forged.properties = r#"{"forged":true}"#.to_owned();
    let mut group = Group::new();
    group.put_object(&forged, None);
    drop(store.commit(&group).unwrap());
    store.close().unwrap();

    // What is asked for alone is checked, and what is not is told; nothing is written meanwhile.
    let bytes = every_byte(&made.setup.store());
    for (checks, not_checked) in [
        ("hashes", "signatures of requests, the rules and the state"),
        ("signatures", "the rules and the state"),
    ] {
        let told = kedge()
            .args(["verify", "data", "--dev", "--json", "--checks", checks])
            .arg(made.setup.data())
            .output()
            .unwrap();
        assert!(told.status.success(), "{told:?}");
        let told: Value = serde_json::from_slice(&told.stdout).unwrap();
        assert_eq!(told["not_checked"], not_checked);
        assert_eq!(told["actions"], made.ledger.last_sequence());
    }

    let named = made.verify().unwrap_err().to_string();
    assert!(every_byte(&made.setup.store()) == bytes);
    let key = kedge_protocol::hash::to_hex(&object.bytes);
    assert!(
        named.contains("not what a replay of the log makes"),
        "{named}"
    );
    assert!(
        named.contains(&format!("table objects: the rows under key {key}")),
        "{named}"
    );
}
