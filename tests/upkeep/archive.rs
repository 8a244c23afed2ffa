//! Segments that are archived while the server runs, what it answers then, and how they come back.

use std::path::Path;
use std::process::Output;

use serde_json::{Value, json};

use crate::drill::{back_up, has_sealed, json_of, load, restore, sealed};
use crate::made::{Made, done, every_file, kedge, refused};
use crate::support::server::Setup;
use crate::support::{Rng, eventually};

fn archive(setup: &Setup, to: &Path, which: &[&str]) -> Output {
    let socket = setup.data().join("admin.sock");
    let arguments = [&["archive", "--json"], which, &["--socket"]].concat();
    kedge(&arguments, &[&socket, to])
}

/// The code and the message with which an export from the first batch on is refused.
async fn export_refused(made: &Made) -> (String, String) {
    let refused = made.client.export(0, None).await.unwrap_err();
    (refused.code().unwrap().to_owned(), refused.to_string())
}

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
    let limit = std::time::Duration::from_secs(30);
    eventually("everything is anchored", limit, || async {
        let (_, ready) = server.readiness().await;
        (ready["anchoring"]["lag_batches"] == json!(0)).then_some(())
    })
    .await;
    let before = sealed(&log);
    let oldest = before.keys().next().unwrap().clone();

    // What is in the way, or in the wrong place, changes nothing.
    assert_eq!(
        archive(&made.setup, &at("archive"), &[]).status.code(),
        Some(2)
    );
    let error = refused(&archive(&made.setup, &log, &["--keep-segments", "1"]));
    assert!(error.contains("lies in the data directory"), "{error}");
    std::fs::create_dir(at("occupied")).unwrap();
    std::fs::write(at("occupied").join(&oldest), b"something else").unwrap();
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

    // Reads say where it is; writes and newer reads go on, also after a crash.
    let place = at("archive").display().to_string();
    let mut server = server;
    for _ in 0..2 {
        let error = made.account.action(first).await.unwrap_err();
        assert_eq!(error.code(), Some("GONE"));
        for part in [&format!("sequences up to {last} are archived"), &place] {
            assert!(error.to_string().contains(part), "{error}");
        }
        let (code, message) = export_refused(&made).await;
        assert!(code == "GONE" && message.contains(&place), "{message}");
        made.mint(2).await;
        for known in made.ledger.after(last) {
            made.account.action(known.id).await.unwrap();
        }
        assert_eq!(server.readiness().await.0, 200);
        server.kill();
        server = made.setup.start();
    }
    let from = list["segments"][count - 1]["last_batch"].as_u64().unwrap() + 1;
    let mut export = made.client.export(from, None).await.unwrap();
    while export.line().await.unwrap().is_some() {}

    // A backup holds what is here, and the list; a restore needs the archive.
    let backup = json_of(&back_up(&made.setup, &at("backup"), None));
    assert!(
        backup["archived_in"].as_str().unwrap().contains(&place),
        "{backup}"
    );
    json_of(&back_up(&made.setup, &at("second"), Some(&at("backup"))));
    server.stop();
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

    // What needs the log from its beginning says what is missing.
    done(&kedge(&["verify", "log"], &[&log]));
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

    // Copied back, it is all there.
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
