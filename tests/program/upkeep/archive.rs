//! Archiving of segments while the server runs, its answers afterwards, and restoring the segments.

use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::Output;
use std::time::Duration;

use kedge_client::Client;
use kedge_config::secrets;
use kedge_protocol::hash::to_hex;
use kedge_protocol::{Address, Id};
use serde_json::{Value, json};

use super::drill::{back_up, has_sealed, json_of, load, restore, sealed};
use super::made::{Made, done, every_file, kedge, refused};
use crate::support::equivocation::equivocation;
use crate::support::server::{Server, Setup};
use crate::support::{Rng, eventually, http};

pub(crate) fn archive(setup: &Setup, to: &Path, which: &[&str]) -> Output {
    let socket = setup.data().join("admin.sock");
    let arguments = [&["archive", "--json"], which, &["--socket"]].concat();
    kedge(&arguments, &[&socket, to])
}

pub(crate) async fn anchored(server: &Server) {
    let limit = Duration::from_secs(30);
    eventually("everything is anchored", limit, || async {
        let (_, ready) = server.readiness().await;
        (ready["anchoring"]["lag_batches"] == json!(0)).then_some(())
    })
    .await;
}

/// Reads of archived data say so, and where the local data begins. Only the operator learns the place of the archive.
async fn is_archived(made: &Made, (first, last, batch): (Id, u64, u64), place: &str) {
    let action = made.account.action(first).await.unwrap_err();
    let export = made.client.export(0, None).await.unwrap_err();
    for error in [action, export] {
        let kedge_client::ClientError::Refused(refused) = &error else {
            panic!("{error}");
        };
        assert_eq!((refused.code.as_str(), refused.status), ("GONE", 410));
        let expected = format!("sequences up to {last} are archived");
        assert!(refused.message().contains(&expected), "{error}");
        assert_eq!(refused.body["minimum_sequence"], json!(last + 1));
        assert_eq!(refused.body["minimum_batch"], json!(batch));
        let text = serde_json::to_string(refused).unwrap();
        assert!(
            !text.contains(place) && !text.contains("archive\""),
            "{text}"
        );
    }
}

/// Checks that an obstacle or a wrong place changes nothing.
fn obstacles_change_nothing(made: &Made, directory: &Path, oldest: &str) {
    let at = |name: &str| directory.join(name);
    assert_eq!(
        archive(&made.setup, &at("archive"), &[]).status.code(),
        Some(2)
    );
    let error = refused(&archive(
        &made.setup,
        &at("data/log"),
        &["--keep-segments", "1"],
    ));
    assert!(error.contains("lies in the data directory"), "{error}");
    std::fs::create_dir(at("occupied")).unwrap();
    std::fs::write(at("occupied").join(oldest), b"something else").unwrap();
    let error = refused(&archive(
        &made.setup,
        &at("occupied"),
        &["--keep-segments", "1"],
    ));
    assert!(error.contains("Nothing was removed"), "{error}");
    let none = json_of(&archive(
        &made.setup,
        &at("archive"),
        &["--before-sequence", "2"],
    ));
    assert_eq!(
        (&none["segments"], &none["last_sequence"]),
        (&json!(0), &Value::Null)
    );
}

/// A backup holds the local files and the list; a restore needs the archive.
fn a_restore_needs_the_archive(directory: &Path, backup: &Value) {
    let at = |name: &str| directory.join(name);
    let place = at("archive").display().to_string();
    assert!(
        backup["archived_in"].as_str().unwrap().contains(&place),
        "{backup}"
    );
    let error = refused(&restore(&at("second"), &at("restored"), &[]));
    assert!(
        error.contains(&place) && error.contains("--archive"),
        "{error}"
    );
    let restored = json_of(&restore(
        &at("second"),
        &at("restored"),
        &["--archive", &place],
    ));
    assert_eq!(restored["head"], backup["head"]);
    assert_eq!(restored["actions"], restored["sequence"]);
    done(&kedge(&["verify", "data", "--dev"], &[&at("restored")]));
}

/// Checks that commands which need the log from its beginning report the missing part.
fn commands_report_what_is_missing(made: &Made, directory: &Path) {
    let at = |name: &str| directory.join(name);
    let place = at("archive").display().to_string();
    done(&kedge(&["verify", "log"], &[&at("data/log")]));
    let error = refused(&kedge(&["verify", "data", "--dev"], &[&at("data")]));
    assert!(
        error.contains("are archived") && error.contains(&place),
        "{error}"
    );
    let error = refused(&kedge(&["rebuild", "--dev"], &[&at("data")]));
    assert!(error.contains("ARCHIVED.json"), "{error}");
    std::fs::rename(made.setup.store(), at("store")).unwrap();
    let (status, error) = made.setup.start_refused();
    assert!(
        !status.success() && error.contains("ARCHIVED.json"),
        "{error}"
    );
    let _made_meanwhile = std::fs::remove_dir_all(made.setup.store());
    std::fs::rename(at("store"), made.setup.store()).unwrap();
}

// Holds invariants 158, 241.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn archived_segments_are_named_and_come_back() {
    let mut rng = Rng::seeded("archive");
    let directory = tempfile::tempdir().unwrap();
    let at = |name: &str| directory.path().join(name);
    let setup = Setup::development(&at("data")).set("anchor_interval_s", 1);
    let log = at("data/log");
    let server = setup.start();
    let made = Made::running(setup, &mut rng).await;
    load(&made, 16).await;
    has_sealed(&made.setup, 3).await;
    anchored(&server).await;
    let before = sealed(&log);
    let oldest = before.keys().next().unwrap().clone();

    obstacles_change_nothing(&made, directory.path(), &oldest);
    assert_eq!(sealed(&log), before);

    let first = made.ledger.after(0)[0].id;
    let done_now = json_of(&archive(
        &made.setup,
        &at("archive"),
        &["--keep-segments", "1"],
    ));
    let count = before.len() - 1;
    assert_eq!(done_now["segments"], json!(count));
    let last = done_now["last_sequence"].as_u64().unwrap();
    assert_eq!(sealed(&at("archive")).len(), count);
    assert_eq!(sealed(&log).len(), 1);
    let list: Value =
        serde_json::from_slice(&std::fs::read(log.join("ARCHIVED.json")).unwrap()).unwrap();
    assert_eq!(list["segments"][count - 1]["last_sequence"], json!(last));

    // Reads report it; writes and newer reads continue, even after a crash.
    let place = at("archive").display().to_string();
    let from = list["segments"][count - 1]["last_batch"].as_u64().unwrap() + 1;
    let mut server = server;
    for _ in 0..2 {
        is_archived(&made, (first, last, from), &place).await;
        made.mint(2).await;
        for known in made.ledger.after(last) {
            made.account.action(known.id).await.unwrap();
        }
        assert_eq!(server.readiness().await.0, 200);
        server.kill();
        server = made.setup.start();
    }
    let mut export = made.client.export(from, None).await.unwrap();
    while export.line().await.unwrap().is_some() {}

    let backup = json_of(&back_up(&made.setup, &at("backup"), None));
    json_of(&back_up(&made.setup, &at("second"), Some(&at("backup"))));
    server.stop();
    a_restore_needs_the_archive(directory.path(), &backup);
    commands_report_what_is_missing(&made, directory.path());

    // Once the segments are copied back, everything is there again.
    for (path, content) in every_file(&at("archive")) {
        std::fs::write(log.join(path.file_name().unwrap()), content).unwrap();
    }
    let server = made.setup.start();
    made.account.action(first).await.unwrap();
    made.ledger
        .check_log(std::slice::from_ref(&made.account))
        .await;
    made.mint(1).await;
    server.stop();
    made.verify();
}

/// Sends a command that the command line sends only together with others.
fn command(setup: &Setup, command: &Value) -> Value {
    let mut socket = UnixStream::connect(setup.data().join("admin.sock")).unwrap();
    socket.write_all(format!("{command}\n").as_bytes()).unwrap();
    let mut line = String::new();
    BufReader::new(socket).read_line(&mut line).unwrap();
    let answer: Value = serde_json::from_str(&line).unwrap();
    assert_eq!(answer["ok"], json!(true), "{answer}");
    answer
}

/// A client that trusts only the first key finds the new one by the proof file of the action that names it.
async fn key_is_followed(made: &Made, named: Address) {
    let (domain, first) = (made.client.domain(), made.client.sequencer());
    let pinned = Client::builder(made.setup.url()).pin(domain, first);
    let keys = pinned.connect().await.unwrap().sequencer_keys();
    assert_eq!(keys.entries().len(), 2);
    assert_eq!(keys.last().key, named);
}

// Holds invariant 160.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_action_that_names_a_key_is_archived_and_still_shown() {
    let mut rng = Rng::seeded("archived key");
    let directory = tempfile::tempdir().unwrap();
    let at = |name: &str| directory.path().join(name);
    let next = rng.key();
    let setup = Setup::development(&at("data"))
        .set("anchor_interval_s", 1)
        .environment("KEDGE_NEXT_SEQUENCER_KEY", to_hex(&next.to_bytes()));
    let log = at("data/log");
    let server = setup.start();
    let made = Made::running(setup, &mut rng).await;
    let key = next.address();
    let naming = json!({ "command": "name_sequencer_key", "key": key, "from_batch": 1_000_000 });
    let named = command(&made.setup, &naming)["sequence"].as_u64().unwrap();
    load(&made, 16).await;
    has_sealed(&made.setup, 3).await;
    anchored(&server).await;
    let path = "/sequencer-keys";
    let before = http::get(made.setup.port(), path).await.json();
    key_is_followed(&made, key).await;

    let which = ["--keep-segments", "1"];
    let archived = json_of(&archive(&made.setup, &at("archive"), &which));
    assert!(archived["last_sequence"].as_u64().unwrap() > named);
    let list: Value =
        serde_json::from_slice(&std::fs::read(log.join("ARCHIVED.json")).unwrap()).unwrap();
    assert_eq!(list["key_proofs"][0]["leaf"]["sequence"], json!(named));
    let error = made.account.action(made.ledger.after(0)[0].id).await;
    assert_eq!(error.unwrap_err().code(), Some("GONE"));
    let now = || http::get(made.setup.port(), path);
    assert_eq!(now().await.json()["items"], before["items"]);

    // The same after a crash, after the next archiving, and from a backup.
    server.kill();
    let server = made.setup.start();
    assert_eq!(now().await.json()["items"], before["items"]);
    key_is_followed(&made, key).await;
    load(&made, 16).await;
    has_sealed(&made.setup, 2).await;
    anchored(&server).await;
    json_of(&archive(&made.setup, &at("archive"), &which));
    key_is_followed(&made, key).await;
    let side_key = at("data/keys").join(kedge_upkeep::side_keys::name(1));
    std::fs::rename(&side_key, at("side-key")).unwrap();
    let error = refused(&back_up(&made.setup, &at("lacking"), None));
    assert!(error.contains("sealed under key 1"), "{error}");
    std::fs::rename(at("side-key"), &side_key).unwrap();
    let backup = json_of(&back_up(&made.setup, &at("backup"), None));
    server.stop();
    let place = at("archive").display().to_string();
    let arguments = ["--archive", &place];
    let restored = json_of(&restore(&at("backup"), &at("restored"), &arguments));
    assert_eq!(restored["head"], backup["head"]);
}

// Holds invariant 19.
/// The answer to a dispute needs no part of the log, so its idempotency key repeats it even when the verdict is
/// archived.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_dispute_is_answered_again_when_its_verdict_is_archived() {
    let mut rng = Rng::seeded("archived dispute");
    let directory = tempfile::tempdir().unwrap();
    let at = |name: &str| directory.path().join(name);
    let setup = Setup::development(&at("data")).set("anchor_interval_s", 1);
    let server = setup.start();
    let made = Made::running(setup, &mut rng).await;
    let key = secrets::development_key(&at("data/keys/sequencer.key")).unwrap();
    let evidence = equivocation(made.client.domain(), &key, 0, 0);
    let evidence = serde_json::to_string(&evidence).unwrap();
    let token = made.account.access_token().unwrap();
    let headers = [
        ("Authorization", format!("Bearer {token}")),
        ("Idempotency-Key", "dispute-1".to_owned()),
    ];
    let port = made.setup.port();
    let bring = || http::post(port, "/disputes", &headers, &evidence);
    let first = bring().await;
    assert_eq!(first.status, 201, "{}", first.body);
    let sequence = first.json()["sequence"].as_u64().unwrap();
    load(&made, 16).await;
    has_sealed(&made.setup, 3).await;
    anchored(&server).await;
    let which = ["--keep-segments", "1"];
    let archived = json_of(&archive(&made.setup, &at("archive"), &which));
    assert!(archived["last_sequence"].as_u64().unwrap() > sequence);

    let again = bring().await;
    assert_eq!((again.status, &again.body), (201, &first.body));
    let head = again.head.to_ascii_lowercase();
    assert!(head.contains("idempotent-replayed: true"), "{head}");
    server.stop();
}
