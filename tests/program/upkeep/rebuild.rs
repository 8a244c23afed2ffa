//! Damaged tables, and a lost store: the log rebuilds all of it.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use kedge_client::{NewApiKey, NewInvitation, NewVariation, Properties, TemplateChange};
use kedge_protocol::resource::{Area, Crud, Permission};
use kedge_storage::{Store, StoreOpenError, StoreOptions, Table};

use super::made::{Made, done, every_file, kedge, refused};
use crate::support::{Rng, copy_directory};

/// Tables that must be the same afterwards: all except the store's own metadata, and what each copy makes of the rows.
pub(super) fn tables() -> Vec<Table> {
    let all = Table::ALL.iter().copied();
    let is_compared = |table: &Table| *table != Table::Meta && !table.is_of_copy();
    all.filter(is_compared).collect()
}

/// A log with a row in most tables.
async fn varied(data: &Path, rng: &mut Rng) -> Made {
    let made = Made::stopped(data, rng).await;
    let server = made.setup.start();
    let account = &made.account;
    let object = made.ledger.after(0)[0].resource;
    let properties = serde_json::json!({"changed": true});
    let changed = account
        .update(object, properties.as_object().unwrap())
        .await;
    made.ledger.changed(&changed.unwrap());
    let key = NewApiKey {
        name: "one".to_owned(),
        permissions: vec![Permission {
            resource: Area::Objects,
            crud: Crud {
                read: true,
                ..Crud::default()
            },
        }],
        expires_at: None,
    };
    account.create_api_key(&key).await.unwrap();
    let organization = account.me().await.unwrap().organization_id;
    let invitation = NewInvitation::default();
    account.invite(organization, &invitation).await.unwrap();
    account.upload("file.txt", b"content").await.unwrap();
    let change = TemplateChange {
        name: Some("renamed".to_owned()),
        ..TemplateChange::default()
    };
    // A template without minted objects: it may change.
    let other = crate::support::template(account, "other").await;
    account.update_template(other, &change).await.unwrap();
    let variation = NewVariation {
        name: "first".to_owned(),
        properties: Properties::default(),
    };
    account
        .create_variations(made.template, &[variation])
        .await
        .unwrap();
    made.mint(20).await;
    server.stop();
    // Moves all of it into table files.
    made.settle();
    made
}

/// The table files of each table, from a start's report about a copy that lacks one.
fn files_of(made: &Made) -> BTreeMap<String, Vec<PathBuf>> {
    let mut found: BTreeMap<String, Vec<PathBuf>> = BTreeMap::new();
    for path in every_file(&made.setup.store()).into_keys() {
        if path.extension().is_none_or(|end| end != "sst") {
            continue;
        }
        let scratch = tempfile::tempdir().unwrap();
        let copied = scratch.path().join("store");
        copy_directory(&made.setup.store(), &copied);
        std::fs::remove_file(copied.join(path.file_name().unwrap())).unwrap();
        let options = StoreOptions {
            path: copied,
            access: kedge_storage::StoreAccess::Read,
            ..made.options()
        };
        let error = Store::open(options).unwrap_err();
        assert!(
            matches!(error, StoreOpenError::Incomplete { .. }),
            "{error}"
        );
        let text = error.to_string();
        let (_, rest) = text.split_once("(table ").unwrap();
        let (table, _) = rest.split_once(')').unwrap();
        found.entry(table.to_owned()).or_default().push(path);
    }
    found
}

fn rebuild(data: &Path, arguments: &[&str]) -> std::process::Output {
    kedge(&[&["rebuild", "--dev"], arguments].concat(), &[data])
}

// Holds invariant 86.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_table_is_made_again() {
    let mut rng = Rng::seeded("rebuild");
    let directory = tempfile::tempdir().unwrap();
    let data = directory.path().join("data");
    let made = varied(&data, &mut rng).await;
    let before = made.rows(&tables());
    let files = files_of(&made);
    // Files are removed, cut off, and overwritten, in turn.
    let mut damaged = 0;
    for table in Table::ALL {
        for file in files.get(table.name()).into_iter().flatten() {
            let length = std::fs::metadata(file).unwrap().len();
            match damaged % 3 {
                0 => std::fs::remove_file(file).unwrap(),
                1 => std::fs::write(file, b"short").unwrap(),
                _ => std::fs::write(file, vec![0xa5; usize::try_from(length).unwrap()]).unwrap(),
            }
            damaged += 1;
        }
    }
    assert!(damaged >= 12, "{damaged}: {files:?}");
    let (status, reported) = made.setup.start_refused();
    assert!(!status.success());
    assert!(reported.contains("kedge rebuild"), "{reported}");

    let reported = done(&rebuild(&data, &[]));
    assert!(
        reported.contains("valid") && reported.contains("store.damaged"),
        "{reported}"
    );
    assert_eq!(made.rows(&tables()), before);
    assert!(data.join("store.damaged").is_dir() && !data.join("store.rebuild").exists());

    let server = made.setup.start();
    let account = &made.account;
    made.ledger.check_some(account, || rng.next(), 60).await;
    for known in made.ledger.after(0) {
        account.action(known.id).await.unwrap();
    }
    // Sessions are kept: the account is still logged in.
    made.account.refresh().await.unwrap();
    made.mint(3).await;
    server.stop();
    made.verify();
}

// Holds invariant 86.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_start_without_the_store_makes_the_same_rows() {
    let mut rng = Rng::seeded("no store");
    let directory = tempfile::tempdir().unwrap();
    let data = directory.path().join("data");
    let made = varied(&data, &mut rng).await;
    let before = made.rows(&tables());
    let log = every_file(&data.join("log"));
    std::fs::remove_dir_all(made.setup.store()).unwrap();
    made.settle();
    assert_eq!(made.rows(&tables()), before);
    assert!(every_file(&data.join("log")) == log, "the log was changed");

    // A server rebuilds it too, and continues as if nothing had been lost.
    std::fs::remove_dir_all(made.setup.store()).unwrap();
    let server = made.setup.start();
    let account = &made.account;
    made.ledger.check_some(account, || rng.next(), 60).await;
    made.account.refresh().await.unwrap();
    made.mint(3).await;
    server.stop();
    made.verify();

    // Without the keys of the side entries nothing is built, and the missing key is reported.
    std::fs::remove_dir_all(made.setup.store()).unwrap();
    let key = data.join("keys/side-entries-1.key");
    let away = directory.path().join("away.key");
    std::fs::rename(&key, &away).unwrap();
    let (status, reported) = made.setup.start_refused();
    assert!(!status.success());
    assert!(
        reported.contains("side-entries-1.key is lost"),
        "{reported}"
    );
    std::fs::rename(&away, &key).unwrap();
    made.settle();
    made.verify();
}

// Holds invariants 86, 154.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_store_and_a_log_that_do_not_belong_together_are_refused() {
    let mut rng = Rng::seeded("not together");
    let directory = tempfile::tempdir().unwrap();
    let data = directory.path().join("data");
    let made = varied(&data, &mut rng).await;
    let running = made.setup.start();
    let error = refused(&rebuild(&data, &[]));
    assert!(error.contains("stop the server"), "{error}");
    let older = directory.path().join("older");
    running.stop();
    copy_directory(&data.join("log"), &older);
    let running = made.setup.start();
    made.mint(5).await;
    running.stop();
    made.settle();
    let newest = directory.path().join("newest");
    for (log, says) in [
        (Some(&older), "frames are missing at its end"),
        (None, "there is no log in"),
    ] {
        std::fs::rename(data.join("log"), &newest).unwrap();
        if let Some(log) = log {
            copy_directory(log, &data.join("log"));
        }
        let bytes = every_file(&made.setup.store());
        let (status, reported) = made.setup.start_refused();
        assert!(!status.success());
        assert!(reported.contains(says), "{reported}");
        for (path, content) in bytes {
            let name = path.file_name().unwrap().to_string_lossy();
            let is_diary = name.starts_with("LOG");
            assert!(
                is_diary || std::fs::read(&path).unwrap() == content,
                "{path:?}"
            );
        }
        if log.is_some() {
            std::fs::remove_dir_all(data.join("log")).unwrap();
        }
        std::fs::rename(&newest, data.join("log")).unwrap();
    }
    let server = made.setup.start();
    made.mint(1).await;
    server.stop();
    made.verify();
}

// Holds invariant 86.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_interrupted_rebuild_starts_again() {
    let mut rng = Rng::seeded("interrupted");
    let directory = tempfile::tempdir().unwrap();
    let data = directory.path().join("data");
    let made = varied(&data, &mut rng).await;
    let before = made.rows(&tables());
    let mut cut = 0;
    for round in 0..12 {
        let mut child = crate::support::program::kedge()
            .args(["rebuild", "--dev"])
            .arg(&data)
            .stdout(std::process::Stdio::null())
            .stderr(std::process::Stdio::null())
            .spawn()
            .unwrap();
        std::thread::sleep(Duration::from_millis(10 + round * 15 + rng.below(10)));
        cut += u32::from(child.try_wait().unwrap().is_none());
        let _already_dead = child.kill();
        child.wait().unwrap();
        // At every moment a whole store exists under its name.
        assert_eq!(made.rows(&tables()), before, "round {round}");
    }
    assert!(cut > 0, "no rebuild was cut off");
    done(&rebuild(&data, &[]));
    assert_eq!(made.rows(&tables()), before);
    assert!(!data.join("store.rebuild").exists());
    let server = made.setup.start();
    made.mint(1).await;
    server.stop();
    made.verify();
}
