//! The drill: a server is backed up twice, killed, and restored as of an earlier sequence.

use std::collections::BTreeMap;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use kedge_client::{Account, BatchMode, Client, ListQuery, NewAction, NewObject, Registration};
use kedge_protocol::export::{ExportChecker, ExportLine};
use kedge_protocol::time::rfc3339;
use serde_json::{Value, json};

use super::made::{Made, done, every_file, kedge, refused};
use crate::support::server::Setup;
use crate::support::{Rng, checkpoint_over, copy_directory, eventually};

const ACCEPT: &str = "--accept-missing-high-water-mark";

pub(crate) fn back_up(setup: &Setup, to: &Path, since: Option<&Path>) -> std::process::Output {
    let socket = setup.data().join("admin.sock");
    let mut arguments = vec!["backup", "--json"];
    if let Some(since) = since {
        arguments.extend(["--since", since.to_str().unwrap()]);
    }
    arguments.push("--socket");
    kedge(&arguments, &[&socket, to])
}

pub(crate) fn restore(from: &Path, to: &Path, more: &[&str]) -> std::process::Output {
    let arguments = [&["restore", "--json"], more, &["--data"]].concat();
    kedge(&arguments, &[to, from])
}

pub(crate) fn json_of(output: &std::process::Output) -> Value {
    serde_json::from_str(&done(output)).unwrap()
}

/// Sends enough actions to close segments, some of them in separate batches.
pub(crate) async fn load(made: &Made, rounds: usize) {
    for _ in 0..rounds {
        let mut object = NewObject::default();
        let text = "the quick brown fox jumps over the lazy dog ".repeat(8);
        object.properties.insert("text".to_owned(), json!(text));
        let mint = NewAction::mint(made.template, &object).unwrap();
        let outcome = made
            .account
            .batch(&vec![mint; 250], BatchMode::Atomic)
            .await;
        made.ledger.batch(&outcome.unwrap());
        made.mint(2).await;
    }
}

pub(crate) fn sealed(log: &Path) -> BTreeMap<String, PathBuf> {
    let entries = std::fs::read_dir(log).unwrap();
    let paths = entries.map(|entry| entry.unwrap().path());
    let sealed = paths.filter(|path| path.extension().is_some_and(|end| end == "seg"));
    let named = |path: PathBuf| {
        (
            path.file_name().unwrap().to_string_lossy().into_owned(),
            path,
        )
    };
    sealed.map(named).collect()
}

pub(crate) async fn has_sealed(setup: &Setup, count: usize) {
    let log = setup.data().join("log");
    let probe = || async { (sealed(&log).len() >= count).then_some(()) };
    eventually("segments are sealed", Duration::from_secs(30), probe).await;
}

/// The lines of an export that ends after the account's newest action.
async fn whole_export(client: &Client, account: &Account) -> Vec<String> {
    let newest = ListQuery {
        descending: true,
        ..ListQuery::default()
    };
    let newest = account.actions(&newest).next().await.unwrap();
    let sequence = newest.unwrap().sequence;
    checkpoint_over(client, sequence).await;
    export(client, account).await
}

/// The lines of an export up to the newest checkpoint, with the account's own requests, checked as an outsider would.
async fn export(client: &Client, account: &Account) -> Vec<String> {
    let token = account.access_token().unwrap();
    let mut export = client.export(0, Some(&token)).await.unwrap();
    let mut checker = ExportChecker::new(client.domain(), client.sequencer());
    let mut lines = Vec::new();
    while let Some(line) = export.line().await.unwrap() {
        let line = String::from_utf8(line.to_vec()).unwrap();
        checker.line(&line).unwrap();
        lines.push(line);
    }
    checker.finish().unwrap();
    lines
}

/// An export's batches: each one's last sequence and sealing time.
fn batches(lines: &[String]) -> Vec<(u64, u64)> {
    let batch = |line: &String| match serde_json::from_str(line).unwrap() {
        ExportLine::Batch(line) => {
            let header = line.batch.header;
            Some((header.last_sequence(), header.sealed_at_ms))
        }
        _ => None,
    };
    lines.iter().filter_map(batch).collect()
}

// Holds invariants 156, 157.
#[tokio::test(flavor = "multi_thread", worker_threads = 3)]
async fn a_killed_server_is_restored_as_it_stood_at_a_sequence() {
    let mut rng = Rng::seeded("drill");
    let directory = tempfile::tempdir().unwrap();
    let at = |name: &str| directory.path().join(name);
    let setup = Setup::development(&at("data")).set("anchor_interval_s", 1);
    let server = setup.start();
    let made = Made::running(setup, &mut rng).await;
    made.account.upload("kept.txt", b"kept").await.unwrap();
    load(&made, 6).await;
    has_sealed(&made.setup, 1).await;
    // A checkpoint that every later cut keeps: a server that signs nothing ends its export there.
    whole_export(&made.client, &made.account).await;
    let first = json_of(&back_up(&made.setup, &at("first"), None));
    assert_eq!(first["bytes"], first["new_bytes"]);

    let sealed_first = sealed(&at("first/data/log")).len();
    load(&made, 12).await;
    has_sealed(&made.setup, sealed_first + 1).await;
    let second = json_of(&back_up(&made.setup, &at("second"), Some(&at("first"))));
    check_links(&at("first"), &at("second"), &second);
    let original = whole_export(&made.client, &made.account).await;
    // Everything after the second backup is lost with the machine.
    made.mint(2).await;
    server.kill();

    // The middle of a batch between the two backups: the log is cut before that batch.
    let ends = batches(&original);
    let ends_after = |sequence: u64| ends.partition_point(|end| end.0 <= sequence);
    let sequences = [&first, &second].map(|backup| backup["sequence"].as_u64().unwrap());
    let middle = ends_after(u64::midpoint(sequences[0], sequences[1]));
    let is_long = |index: &usize| ends[*index].0 - ends[*index - 1].0 > 100;
    let long = (middle..ends.len()).find(is_long);
    let wanted = ends[long.unwrap()].0 - 1;
    // The lost machine's mark exists; its directory does not.
    let mark = made.setup.high_water();
    std::fs::rename(at("data"), at("lost")).unwrap();
    std::fs::rename(&mark, at("mark")).unwrap();
    let arguments = ["--to-sequence", &wanted.to_string()];
    let restored = json_of(&restore(&at("second"), &at("data"), &arguments));
    let sequence = restored["sequence"].as_u64().unwrap();
    let left_out = restored["actions_left_out"].as_u64().unwrap();
    assert!(
        sequence <= wanted && ends.iter().any(|end| end.0 == sequence),
        "{restored}"
    );
    assert_eq!(left_out, second["sequence"].as_u64().unwrap() - sequence);
    let next = restored["next"].as_str().unwrap();
    assert!(next.contains("read-only"), "{next}");
    done(&kedge(&["verify", "data", "--dev"], &[&at("data")]));
    done(&kedge(&["verify", "log"], &[&at("data/log")]));

    // Without any mark it accepts no writes; with the lost server's mark it accepts none under any flags.
    let log_before = every_file(&at("data/log"));
    for (has_mark, flags) in [(false, &[][..]), (true, &[][..]), (true, &[ACCEPT][..])] {
        let mut setup = made.setup.clone();
        if has_mark {
            std::fs::copy(at("mark"), &mark).unwrap();
        }
        for flag in flags {
            setup = setup.flag(flag);
        }
        let server = setup.start();
        let ready = server.read_only().await;
        assert_eq!(ready["sequence"], json!(sequence));
        let client = crate::support::connect(&setup.url()).await;
        let found = export(&client, &made.account).await;
        // All lines except the final signed checkpoint are the original's first lines.
        let (_, lines) = found.split_last().unwrap();
        assert_eq!(lines, &original[..lines.len()]);
        // A server that signs nothing ends its export at the last checkpoint before the cut.
        let count = batches(&found).len();
        assert!(count > 0 && count <= ends_after(sequence), "{count}");
        let late = client.account(rng.key());
        let registration = Registration {
            email: "late@example.com".to_owned(),
            password: "correct horse battery staple".to_owned(),
            nickname: None,
            organization_name: None,
        };
        let refused = late.register(&registration).await.unwrap_err();
        assert_eq!(refused.code(), Some("UNAVAILABLE"));
        server.kill();
    }
    assert!(
        every_file(&at("data/log")) == log_before,
        "the log was changed"
    );

    // A time cuts at the same point: between two batches with different sealing times.
    let index = ends_after(sequence) - 1;
    let later = ends[index..]
        .iter()
        .find(|end| end.1 > ends[index].1)
        .unwrap();
    let time = rfc3339(later.1 - 1);
    let restored = json_of(&restore(&at("second"), &at("timed"), &["--to-time", &time]));
    let last = ends
        .iter()
        .take_while(|end| end.1 < later.1)
        .last()
        .unwrap();
    assert_eq!(restored["sequence"], json!(last.0));
}

/// Checks that unchanged files are hard links, and that only their owner has access.
fn check_links(first: &Path, second: &Path, printed: &Value) {
    let inode = |path: &Path| std::fs::metadata(path).unwrap().ino();
    let (older, newer) = (
        sealed(&first.join("data/log")),
        sealed(&second.join("data/log")),
    );
    assert!(
        !older.is_empty() && newer.len() > older.len(),
        "{older:?} {newer:?}"
    );
    for (name, path) in &newer {
        let links = std::fs::metadata(path).unwrap().nlink();
        match older.get(name) {
            Some(older) => assert_eq!(inode(older), inode(path)),
            None => assert_eq!(links, 1, "{name}"),
        }
    }
    let contents = every_file(&first.join("data/files"));
    assert_eq!(contents.len(), 1);
    for path in contents.keys() {
        let inside = path.strip_prefix(first).unwrap();
        assert_eq!(inode(path), inode(&second.join(inside)));
    }
    let all = every_file(&second.join("data"));
    let bytes: usize = all.values().map(Vec::len).sum();
    let linked = all.keys().map(|path| std::fs::metadata(path).unwrap());
    let linked: u64 = linked
        .filter(|file| file.nlink() > 1)
        .map(|file| file.size())
        .sum();
    assert_eq!(printed["bytes"], json!(bytes));
    assert_eq!(printed["new_bytes"], json!(bytes as u64 - linked));
    for path in all
        .keys()
        .map(PathBuf::as_path)
        .chain([&*second.join("BACKUP.json")])
    {
        let mode = std::fs::metadata(path).unwrap().mode() & 0o777;
        assert_eq!(mode & 0o077, 0, "{} {mode:o}", path.display());
        let folder = std::fs::metadata(path.parent().unwrap()).unwrap().mode() & 0o777;
        assert_eq!(folder, 0o700, "{}", path.display());
    }
}

// Holds invariant 155.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_older_backup_must_be_whole_and_of_the_same_log() {
    let mut rng = Rng::seeded("older backup");
    let directory = tempfile::tempdir().unwrap();
    let at = |name: &str| directory.path().join(name);
    let setup = Setup::development(&at("data"));
    let server = setup.start();
    let made = Made::running(setup, &mut rng).await;
    made.account.upload("kept.txt", b"kept").await.unwrap();
    load(&made, 4).await;
    has_sealed(&made.setup, 1).await;
    done(&back_up(&made.setup, &at("first"), None));

    let error = refused(&back_up(&made.setup, &at("new"), Some(&at("nothing"))));
    assert!(error.contains("not a complete backup"), "{error}");
    copy_directory(&at("first"), &at("unfinished"));
    std::fs::remove_file(at("unfinished/BACKUP.json")).unwrap();
    let error = refused(&back_up(&made.setup, &at("new"), Some(&at("unfinished"))));
    assert!(error.contains("not a complete backup"), "{error}");

    // Another log: one of another contract, and one with only the same beginning.
    let other = Setup::development(&at("other"));
    let running = other.start();
    let other = Made::running(other, &mut rng).await;
    done(&back_up(&other.setup, &at("others"), None));
    running.stop();
    let list = std::fs::read_to_string(at("first/BACKUP.json")).unwrap();
    let mut parsed: Value = serde_json::from_str(&list).unwrap();
    parsed["head"] = json!(format!("0x{}", "5".repeat(64)));
    copy_directory(&at("first"), &at("forked"));
    std::fs::write(at("forked/BACKUP.json"), parsed.to_string()).unwrap();
    for name in ["others", "forked"] {
        let error = refused(&back_up(&made.setup, &at("new"), Some(&at(name))));
        assert!(error.contains("is not of this log"), "{name}: {error}");
    }
    assert!(!at("new").exists());

    // A damaged backup: the command notices that a file linked from it does not verify.
    for (number, folder) in ["log", "files"].into_iter().enumerate() {
        let damaged = at(&format!("damaged-{number}"));
        copy_directory(&at("first"), &damaged);
        let files = every_file(&damaged.join("data").join(folder));
        let is_linked =
            |path: &&PathBuf| folder == "files" || path.extension().is_some_and(|end| end == "seg");
        let path = files.keys().find(is_linked).unwrap();
        let mut bytes = files[path].clone();
        let middle = bytes.len() / 2;
        bytes[middle] ^= 1;
        std::fs::write(path, bytes).unwrap();
        let new = at(&format!("new-{number}"));
        let error = refused(&back_up(&made.setup, &new, Some(&damaged)));
        assert!(
            error.contains("is damaged") && error.contains("without --since"),
            "{error}"
        );
    }
    // A backup cut off by a crash is not a backup; the next one goes elsewhere.
    let error = refused(&back_up(&made.setup, &at("unfinished"), Some(&at("first"))));
    assert!(error.contains("not empty"), "{error}");
    done(&back_up(&made.setup, &at("new"), Some(&at("first"))));
    server.stop();
    done(&restore(&at("new"), &at("restored"), &[]));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_cut_elsewhere_than_in_the_log_is_refused() {
    let mut rng = Rng::seeded("no cut");
    let directory = tempfile::tempdir().unwrap();
    let at = |name: &str| directory.path().join(name);
    let setup = Setup::development(&at("data"));
    let server = setup.start();
    let made = Made::running(setup, &mut rng).await;
    let backup = json_of(&back_up(&made.setup, &at("backup"), None));
    server.stop();
    let last = backup["sequence"].as_u64().unwrap();
    let beyond = (last + 1).to_string();
    for (arguments, says) in [
        (
            ["--to-sequence", "0"],
            "first commit group with actions ends at sequence",
        ),
        (
            ["--to-sequence", &beyond],
            &*format!("the backup ends at sequence {last}"),
        ),
        (
            ["--to-time", "2001-01-01T00:00:00Z"],
            "first commit group with actions ends at",
        ),
        (
            ["--to-time", "2999-01-01T00:00:00Z"],
            "the backup was made at",
        ),
    ] {
        let error = refused(&restore(&at("backup"), &at("restored"), &arguments));
        assert!(error.contains(says), "{arguments:?}: {error}");
        assert!(!at("restored").exists());
    }
    let wrong = restore(&at("backup"), &at("restored"), &["--to-time", "noon"]);
    assert_eq!(wrong.status.code(), Some(2));
    // A cut at the last sequence leaves nothing out.
    let whole = json_of(&restore(
        &at("backup"),
        &at("restored"),
        &["--to-sequence", &last.to_string()],
    ));
    assert_eq!(
        (&whole["sequence"], &whole["actions_left_out"]),
        (&json!(last), &json!(0))
    );
    assert_eq!(whole["head"], backup["head"]);
}
