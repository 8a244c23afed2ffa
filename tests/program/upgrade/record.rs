//! Records a state of a program, for all later versions. Not run with the other tests.

use std::path::Path;
use std::time::Duration;

use serde_json::{Value, json};

use super::life::{OWNER, account, live, setup};
use super::state::{ANSWERS, Answers, pack};
use crate::support::connect;
use crate::support::http;
use crate::support::server::Setup;

/// The recorded lists, each on one page.
const LISTS: [&str; 10] = [
    "/organizations/me/members",
    "/organizations/me/invitations",
    "/templates",
    "/objects",
    "/api-keys",
    "/webhooks",
    "/files",
    "/ebus/actions",
    "/ebus/events",
    "/disputes",
];
/// Public paths, and paths about the caller.
const SINGLES: [&str; 6] = [
    "/wallets/me",
    "/organizations/me",
    "/sequencer-keys",
    "/batches?limit=1000",
    "/anchors?limit=1000",
    "/export?from=0",
];

/// The owner's answers from these paths.
pub(crate) async fn answers(setup: &Setup, paths: &[String]) -> Answers {
    let owner = account(&connect(&setup.url()).await, OWNER).await;
    let header = format!("Authorization: Bearer {}", owner.access_token().unwrap());
    let mut answers = Answers::new();
    for path in paths {
        let answer = http::get_with(setup.port(), path, &header).await;
        let body = if path.starts_with("/export") {
            lines(&answer.body)
        } else {
            serde_json::from_str(&answer.body).unwrap_or(json!(answer.body))
        };
        answers.insert(
            path.clone(),
            json!({ "status": answer.status, "body": body }),
        );
    }
    answers
}

/// The lines of an export except the last: the checkpoint is signed for each export. Chunk sizes are left out.
fn lines(body: &str) -> Value {
    let mut lines: Vec<&str> = body.lines().filter(|line| line.starts_with('{')).collect();
    lines.pop();
    json!(lines)
}

/// All recorded paths: the lists, and the resources in them.
async fn paths(setup: &Setup) -> Vec<String> {
    let lists: Vec<String> = LISTS
        .iter()
        .map(|path| format!("{path}?limit=1000"))
        .collect();
    let listed = answers(setup, &lists).await;
    let mut paths: Vec<String> = SINGLES.iter().map(|path| (*path).to_owned()).collect();
    for (list, answer) in &listed {
        assert_eq!(answer["status"], 200, "{list}: {answer}");
        assert_eq!(answer["body"]["has_more"], json!(false), "{list}");
        let path = list.split('?').next().unwrap();
        let items = answer["body"]["items"].as_array().unwrap();
        // The last ones are the most varied; a state does not need a thousand similar ones.
        let ids = items.iter().take(60).filter_map(|item| item["id"].as_str());
        for id in ids {
            match path {
                "/ebus/actions" => paths.push(format!("{path}/{id}/proof")),
                "/templates" => {
                    paths.push(format!("{path}/{id}"));
                    paths.push(format!("{path}/{id}/variations"));
                }
                "/objects" => {
                    paths.push(format!("{path}/{id}"));
                    paths.push(format!("{path}/{id}/history"));
                }
                "/files" => paths.push(format!("{path}/{id}/content")),
                _ => {}
            }
        }
    }
    paths.extend(lists);
    paths
}

/// Removes files that are no part of the data.
fn clean(data: &Path) {
    for name in ["LOCK", "LOG"] {
        let _may_be_gone = std::fs::remove_file(data.join("store").join(name));
    }
    for entry in std::fs::read_dir(data.join("store")).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap();
        if name.starts_with("LOG.old") {
            std::fs::remove_file(&path).unwrap();
        }
    }
    let _may_be_gone = std::fs::remove_file(data.join("admin.sock"));
}

/// Time for an orderly stop.
const STOPPED_WITHIN: Duration = Duration::from_secs(15);

/// Records two states of the program that `KEDGE_BIN` names: one that was stopped, and one that was killed.
/// `KEDGE_STATE` is the prefix of their names.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "it records a state for later programs: tests/program/upgrade/README.md"]
async fn record_a_state() {
    let name = std::env::var("KEDGE_STATE").expect("KEDGE_STATE names the state");
    for (end, is_killed) in [("stopped", false), ("killed", true)] {
        let directory = tempfile::tempdir().unwrap();
        let data = directory.path().join("data");
        let setup = setup(&data);
        let server = setup.start();
        live(&setup, &server).await;
        let read = answers(&setup, &paths(&setup).await).await;
        if is_killed {
            server.kill();
        } else {
            // Its store may have an earlier format, which this program does not compare.
            let was_running = server.stop_and_kill(STOPPED_WITHIN);
            assert!(
                !was_running,
                "the server did not stop in {STOPPED_WITHIN:?}"
            );
        }
        clean(&data);
        let text = serde_json::to_string(&read).unwrap();
        std::fs::write(directory.path().join(ANSWERS), text).unwrap();
        std::fs::remove_file(directory.path().join("data.log")).unwrap();
        pack(&format!("{name}-{end}"), directory.path());
    }
}
