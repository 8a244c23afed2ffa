//! `kedge verify` of a log's segments: intact ones verify, alone and with trusted keys; every fault is named, and the
//! command ends with 1.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

use kedge_config::secrets;
use kedge_log::env::RealEnv;
use kedge_log::{FileLog, Frame, KeyId, Log, LogOptions, ReleaseMark, SideEntry, SideKeys};
use kedge_protocol::eip712::Domain;
use kedge_protocol::signature::SigningKey;
use kedge_protocol::{Address, Hash};
use serde_json::json;
use tempfile::TempDir;

use crate::support::program::kedge;
use crate::{done, done_json, refused};

/// The domain, the sequencer's key and the key of side entries of `crates/log/testdata`.
const DOMAIN: Domain = Domain {
    chain_id: 31337,
    verifying_contract: Address([7; 20]),
};
const SEQUENCER: [u8; 32] = [1; 32];
const SIDE_KEY: ([u8; 32], KeyId) = ([9; 32], 3);
/// The number of frames in those segments.
const FRAMES: u64 = 8;

/// A copy of the segments recorded for each format: one sealed, one raw.
fn segments() -> TempDir {
    let directory = tempfile::tempdir().unwrap();
    let from = Path::new(env!("CARGO_MANIFEST_DIR")).join("crates/log/testdata/format-1");
    for file in std::fs::read_dir(from).unwrap() {
        let file = file.unwrap();
        std::fs::copy(file.path(), directory.path().join(file.file_name())).unwrap();
    }
    directory
}

/// The same, followed by more segments; returns the files in log order.
fn longer() -> (TempDir, Vec<PathBuf>) {
    let directory = segments();
    let keys = SideKeys::one(SIDE_KEY.1, SIDE_KEY.0);
    let options = LogOptions {
        segment_bytes: 6 * 4096,
        ..LogOptions::default()
    };
    let opened = FileLog::open(
        Arc::new(RealEnv),
        directory.path(),
        DOMAIN.separator(),
        &keys,
        ReleaseMark::default(),
        options,
    );
    let (mut log, _) = opened.unwrap();
    for number in 0..12u8 {
        let mut frame = Frame::new();
        frame.push_side(SideEntry {
            table: 1,
            key: vec![number],
            value: Some(vec![number; 100]),
        });
        log.append(&frame).unwrap();
        log.durability().sync().unwrap();
    }
    drop(log);
    let files = std::fs::read_dir(directory.path()).unwrap();
    let mut files: Vec<PathBuf> = files.map(|file| file.unwrap().path()).collect();
    files.sort();
    assert!(files.len() >= 4, "{files:?}");
    (directory, files)
}

fn verify(directory: &Path) -> Command {
    let mut command = kedge();
    command.args(["verify", "log"]).arg(directory);
    command
}

fn trusting(directory: &Path, domain: Domain, sequencer: Address) -> Command {
    let Domain {
        chain_id,
        verifying_contract,
    } = domain;
    let mut command = verify(directory);
    command.arg("--domain");
    command.arg(format!("{chain_id}:{verifying_contract}"));
    command.args(["--sequencer", &sequencer.to_string()]);
    command
}

fn sequencer() -> Address {
    SigningKey::from_bytes(&SEQUENCER).unwrap().address()
}

fn name(path: &Path) -> &str {
    path.file_name().unwrap().to_str().unwrap()
}

fn flip(path: &Path, at: usize) {
    let mut bytes = std::fs::read(path).unwrap();
    bytes[at] ^= 1;
    std::fs::write(path, bytes).unwrap();
}

/// A file with a key for side entries.
fn key_file(directory: &TempDir, key: [u8; 32]) -> PathBuf {
    let path = directory.path().join("side.key");
    secrets::write_32(&path, &key).unwrap();
    path
}

#[test]
fn segments_that_hold_are_verified_by_themselves() {
    let directory = segments();
    let shown = done_json(verify(directory.path()).arg("--json"));
    for (member, value) in [
        ("valid", json!(true)),
        ("log", json!(DOMAIN.separator())),
        ("first_frame", json!(1)),
        ("frames", json!(FRAMES)),
        ("batches", json!(7)),
        ("requests", json!(14)),
        ("actions", json!(35)),
        ("side_entries", json!(0)),
        ("signed_by", json!(sequencer())),
        ("last_frame", json!(FRAMES)),
    ] {
        assert_eq!(shown[member], value, "{member} of {shown}");
    }
    let unchecked = shown["not_checked"].as_str().unwrap();
    for what in [
        "signatures of requests",
        "to be trusted",
        "side entries hold",
    ] {
        assert!(unchecked.contains(what), "{unchecked}");
    }
    let text = done(&mut verify(directory.path()));
    assert!(text.contains("valid") && text.contains("yes"), "{text}");
}

#[test]
fn with_keys_and_signatures_only_the_rules_are_left() {
    let (directory, elsewhere) = (segments(), tempfile::tempdir().unwrap());
    let key = key_file(&elsewhere, SIDE_KEY.0);
    let mut command = trusting(directory.path(), DOMAIN, sequencer());
    command.args(["--json", "--signatures", "--key"]);
    command.arg(format!("{}:{}", SIDE_KEY.1, key.display()));
    let shown = done_json(&mut command);
    assert_eq!(shown["side_entries"], 12);
    assert_eq!(shown["not_checked"], "the rules and the state");
}

#[test]
fn a_flipped_byte_is_named() {
    let (directory, files) = longer();
    assert_eq!(
        done_json(verify(directory.path()).arg("--json"))["valid"],
        true
    );
    // The sealed segment's header and its blocks; the first frame of every raw one except the last.
    let raw = files[1..files.len() - 1]
        .iter()
        .map(|file| (file, 4096 + 60));
    for (file, at) in [(&files[0], 20), (&files[0], 200)].into_iter().chain(raw) {
        let whole = std::fs::read(file).unwrap();
        flip(file, at);
        let error = refused(&mut verify(directory.path()), 1);
        assert!(
            error.contains(name(file)) && error.contains("is damaged at byte"),
            "{error}"
        );
        std::fs::write(file, whole).unwrap();
    }
}

#[test]
fn a_missing_segment_is_named_and_missing_old_ones_are_reported() {
    let (directory, files) = longer();
    for (before, missing) in files.iter().zip(&files[1..files.len() - 1]) {
        let aside = missing.with_extension("aside");
        std::fs::rename(missing, &aside).unwrap();
        let error = refused(&mut verify(directory.path()), 1);
        assert!(
            error.contains(name(before)) && error.contains("are missing"),
            "{error}"
        );
        std::fs::rename(aside, missing).unwrap();
    }
    // Older segments may have been moved away: the present ones are checked, and the rest is reported.
    std::fs::remove_file(&files[0]).unwrap();
    let shown = done_json(verify(directory.path()).arg("--json"));
    assert_eq!(shown["first_frame"], 6, "{shown}");
    let unchecked = shown["not_checked"].as_str().unwrap();
    assert!(unchecked.contains("older segments are missing"), "{shown}");
}

#[test]
fn other_keys_and_other_logs_are_refused() {
    let (directory, elsewhere) = (segments(), tempfile::tempdir().unwrap());
    let other = Address([1; 20]);
    let error = refused(&mut trusting(directory.path(), DOMAIN, other), 1);
    let signed = format!("is signed by {}", sequencer());
    assert!(
        error.contains(&signed) && error.contains("batch 0"),
        "{error}"
    );

    let domain = Domain {
        chain_id: 1,
        ..DOMAIN
    };
    let error = refused(&mut trusting(directory.path(), domain, sequencer()), 1);
    let identity: Hash = DOMAIN.separator();
    assert!(error.contains(&identity.to_string()), "{error}");

    let key = key_file(&elsewhere, [8; 32]);
    let key = |id: KeyId| format!("{id}:{}", key.display());
    for id in [SIDE_KEY.1, SIDE_KEY.1 + 1] {
        let error = refused(verify(directory.path()).args(["--key", &key(id)]), 1);
        assert!(error.contains("frame 1"), "{error}");
    }
}

#[test]
fn wrong_usage_and_what_is_no_log() {
    let directory = segments();
    refused(verify(directory.path()).args(["--key", "3"]), 2);
    refused(
        verify(directory.path()).args(["--key", "3:/nowhere/key"]),
        2,
    );
    refused(verify(directory.path()).args(["--domain", "1:0x00"]), 2);
    let empty = tempfile::tempdir().unwrap();
    let error = refused(&mut verify(empty.path()), 1);
    assert!(error.contains("no log segment"), "{error}");
    refused(&mut verify(&empty.path().join("nowhere")), 1);
}
