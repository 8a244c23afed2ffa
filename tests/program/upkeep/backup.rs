//! Copies of a running server, and the limits of a restored copy.

use std::path::{Path, PathBuf};
use std::process::Output;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use kedge_client::NewObject;
use serde_json::Value;

use super::made::{Made, done, every_file, kedge, refused};
use crate::support::server::{Server, Setup};
use crate::support::{Rng, copy_directory, http};

const ACCEPT: &str = "--accept-missing-high-water-mark";

fn back_up(setup: &Setup, to: &Path) -> Output {
    let socket = setup.data().join("admin.sock");
    kedge(&["backup", "--json", "--socket"], &[&socket, to])
}

fn restore(from: &Path, to: &Path) -> Output {
    kedge(&["restore", "--json", "--data"], &[to, from])
}

/// Makes backups while others write; each holds what was acknowledged before it.
async fn backups_under_load(made: &Arc<Made>, directory: &Path) -> Vec<(PathBuf, Value)> {
    let is_over = Arc::new(AtomicBool::new(false));
    let writers: Vec<_> = (0..4)
        .map(|_| {
            let (made, is_over) = (Arc::clone(made), Arc::clone(&is_over));
            tokio::spawn(async move {
                while !is_over.load(Ordering::Relaxed) {
                    made.mint(3).await;
                }
            })
        })
        .collect();
    let mut backups = Vec::new();
    for number in 0..4 {
        tokio::time::sleep(std::time::Duration::from_millis(200)).await;
        let acknowledged = made.ledger.last_sequence();
        let to = directory.join(format!("backup-{number}"));
        let (setup, target) = (made.setup.clone(), to.clone());
        let output = tokio::task::spawn_blocking(move || back_up(&setup, &target));
        let reported: Value = serde_json::from_str(&done(&output.await.unwrap())).unwrap();
        assert!(
            reported["sequence"].as_u64().unwrap() >= acknowledged,
            "{reported}"
        );
        backups.push((to, reported));
    }
    is_over.store(true, Ordering::Relaxed);
    for writer in writers {
        writer.await.unwrap();
    }
    backups
}

/// Starts the server of a restored backup: it has the reported data, and stays read-only until its operator confirms
/// it.
async fn restored_read_only(from: &Path, reported: &Value, setup: &Setup) -> Server {
    let restored: Value = serde_json::from_str(&done(&restore(from, setup.data()))).unwrap();
    assert_eq!(restored["head"], reported["head"]);
    assert!(
        restored["next"].as_str().unwrap().contains("read-only"),
        "{restored}"
    );
    let server = setup.start();
    let (status, ready) = server.readiness().await;
    assert_eq!(
        (status, &ready["sequence"]),
        (503, &reported["sequence"]),
        "{ready}"
    );
    let why = ready["reason"].as_str().unwrap();
    assert!(why.contains("is missing") && why.contains(ACCEPT), "{why}");
    server
}

// Holds invariants 89, 155, 157.
/// Backups during writes, each restored and compared with the writes acknowledged before it.
#[tokio::test(flavor = "multi_thread", worker_threads = 3)]
async fn a_backup_of_a_running_server_is_whole_and_signs_nothing_by_itself() {
    let mut rng = Rng::seeded("backup");
    let directory = tempfile::tempdir().unwrap();
    let setup = Setup::development(&directory.path().join("data")).set("anchor_interval_s", 1);
    let server = setup.start();
    let made = Arc::new(Made::running(setup, &mut rng).await);
    let uploaded = made
        .account
        .upload("kept.txt", b"kept")
        .await
        .unwrap()
        .resource;
    let backups = backups_under_load(&made, directory.path()).await;
    let keys = http::get(made.setup.port(), "/.well-known/jwks.json")
        .await
        .json();
    server.stop();

    for (number, (from, reported)) in backups.iter().enumerate() {
        let data = directory.path().join(format!("restored-{number}"));
        let setup = Setup::development(&data);
        let server = restored_read_only(from, reported, &setup).await;
        let found = http::get(setup.port(), "/.well-known/jwks.json");
        assert_eq!(found.await.json(), keys);
        server.stop();
        let content = hex(uploaded.sha256.0);
        let content = data.join("files").join(&content[..2]).join(&content[2..]);
        assert_eq!(std::fs::read(content).unwrap(), b"kept");
    }

    // With the lost machine's mark it stays read-only, under any flags.
    let (from, reported) = &backups[0];
    let data = directory.path().join("restored-0");
    let setup = Setup::development(&data);
    std::fs::copy(made.setup.high_water(), setup.high_water()).unwrap();
    let server = setup.clone().flag(ACCEPT).start();
    let (status, ready) = server.readiness().await;
    assert_eq!(status, 503, "{ready}");
    let why = ready["reason"].as_str().unwrap();
    assert!(
        why.starts_with(&format!("it holds {} batches", reported["batches"])),
        "{why}"
    );
    server.stop();

    // The chain shows the same: an older copy with the newest chain.
    let older = directory.path().join("older");
    done(&restore(from, &older));
    std::fs::copy(
        made.setup.data().join("chain.journal"),
        older.join("chain.journal"),
    )
    .unwrap();
    let server = Setup::development(&older).flag(ACCEPT).start();
    server.read_only().await;
    server.stop();

    // An operator confirms the copy, and the server continues where the backup ends.
    let moved = directory.path().join("moved");
    done(&restore(from, &moved));
    let setup = Setup::development(&moved);
    let server = setup.clone().flag(ACCEPT).start();
    let client = crate::support::connect(&setup.url()).await;
    crate::support::register(&client, rng.key()).await;
    server.stop();
    let (domain, sequencer) = (made.client.domain(), made.client.sequencer());
    kedge_upkeep::verify::store(&setup.store(), domain, sequencer, |_| ()).unwrap();
}

fn hex(bytes: [u8; 32]) -> String {
    kedge_protocol::hash::to_hex(&bytes)[2..].to_owned()
}

// Holds invariant 89.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_no_whole_backup_is_not_made_and_not_restored() {
    let mut rng = Rng::seeded("no backup");
    let directory = tempfile::tempdir().unwrap();
    let setup = Setup::development(&directory.path().join("data"));
    let server = setup.start();
    let made = Made::running(setup, &mut rng).await;
    let occupied = directory.path().join("occupied");
    std::fs::create_dir(&occupied).unwrap();
    std::fs::write(occupied.join("mine"), b"").unwrap();
    let error = refused(&back_up(&made.setup, &occupied));
    assert!(error.contains("not empty"), "{error}");
    let inside = made.setup.data().join("backup");
    let error = refused(&back_up(&made.setup, &inside));
    assert!(error.contains("lies in the data directory"), "{error}");
    assert!(!inside.exists());

    let backup = directory.path().join("backup");
    done(&back_up(&made.setup, &backup));
    made.account
        .mint(made.template, &NewObject::default())
        .await
        .unwrap();
    server.stop();
    let target = directory.path().join("target");
    let error = refused(&restore(&backup, &occupied));
    assert!(error.contains("not empty"), "{error}");
    // Every file is checked: damage to any of them is found.
    let files: Vec<_> = every_file(&backup.join("data")).into_keys().collect();
    assert!(
        files
            .iter()
            .any(|file| file.starts_with(backup.join("data/log")))
    );
    assert!(
        files
            .iter()
            .any(|file| file.ends_with("keys/sequencer.key"))
    );
    for file in files {
        let spoilt = directory.path().join("spoilt");
        copy_directory(&backup, &spoilt);
        let path = spoilt.join(file.strip_prefix(&backup).unwrap());
        let mut bytes = std::fs::read(&path).unwrap();
        match bytes.last_mut() {
            Some(last) => *last ^= 1,
            None => bytes.push(1),
        }
        std::fs::write(&path, bytes).unwrap();
        let error = refused(&restore(&spoilt, &target));
        assert!(error.contains("the backup is damaged"), "{file:?}: {error}");
        std::fs::remove_file(&path).unwrap();
        refused(&restore(&spoilt, &target));
        assert!(!target.exists(), "{file:?}");
        std::fs::remove_dir_all(&spoilt).unwrap();
    }
    std::fs::remove_file(backup.join("BACKUP.json")).unwrap();
    let error = refused(&restore(&backup, &target));
    assert!(error.contains("not a complete backup"), "{error}");
}
