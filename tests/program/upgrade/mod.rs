//! Data directories of earlier versions, opened by this one: everything reads as recorded, and the log continues.
//! `tests/program/upgrade/README.md` says how to record a directory.

mod life;
mod record;
mod state;

use std::collections::BTreeMap;
use std::path::Path;
use std::time::{Duration, Instant};

use kedge_client::{NewObject, Properties};
use kedge_protocol::Hash;
use kedge_protocol::checkpoint::Checkpoint;
use kedge_protocol::resource::ObjectStatus;
use serde_json::{Value, json};

use crate::support::connect;
use crate::support::program::kedge;
use crate::support::server::{Server, Setup};
use life::{OWNER, account};
use state::{State, all, unpack};

/// States whose store has an older format: their rows are rebuilt from the log first, as docs/operations/running.md says.
const REBUILT_FIRST: &[&str] = &[];

/// Runs a command of the program, which must succeed.
#[track_caller]
fn done(arguments: &[&str], paths: &[&Path]) -> String {
    let output = kedge().args(arguments).args(paths).output().unwrap();
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "kedge {arguments:?}: {error}");
    String::from_utf8(output.stdout).unwrap()
}

/// An answer without its transient parts: the use of limits, and the last use of a key.
fn lasting(answer: &Value) -> Value {
    match answer {
        Value::Object(members) => {
            let kept = members.iter().filter(|(name, _)| {
                !["forecast", "usage", "last_used_at"].contains(&name.as_str())
            });
            let kept = kept.map(|(name, value)| (name.clone(), lasting(value)));
            Value::Object(kept.collect())
        }
        Value::Array(items) => Value::Array(items.iter().map(lasting).collect()),
        other => other.clone(),
    }
}

/// Members that programs after the oldest recording added to answers.
const ADDED: [&str; 2] = ["serial", "burned_count"];

/// A present answer without the added members that its recording lacks.
fn without_added(answer: &Value, recorded: &Value) -> Value {
    match (answer, recorded) {
        (Value::Object(members), Value::Object(before)) => {
            let kept = members
                .iter()
                .filter(|(name, _)| before.contains_key(*name) || !ADDED.contains(&name.as_str()));
            let kept = kept.map(|(name, value)| {
                let before = before.get(name).unwrap_or(&Value::Null);
                (name.clone(), without_added(value, before))
            });
            Value::Object(kept.collect())
        }
        (Value::Array(items), Value::Array(before)) => {
            let before = before.iter().chain(std::iter::repeat(&Value::Null));
            let items = items.iter().zip(before);
            Value::Array(
                items
                    .map(|(item, before)| without_added(item, before))
                    .collect(),
            )
        }
        (other, _) => other.clone(),
    }
}

/// Compares answers with those of the recording.
async fn reads_as_recorded(state: &State, setup: &Setup) {
    let now = record::answers(setup, &state.paths()).await;
    for (path, recorded) in &state.answers {
        let found = &now[path];
        assert_eq!(
            lasting(&without_added(found, recorded)),
            lasting(recorded),
            "{}: GET {path} is not what it was",
            state.name
        );
    }
}

/// Changes existing resources and adds new ones.
async fn continues(setup: &Setup) {
    let owner = account(&connect(&setup.url()).await, OWNER).await;
    let templates = owner.templates(&kedge_client::ListQuery::default());
    let templates = templates.collect(100).await.unwrap();
    let plain = templates.iter().find(|one| one.name == "plain").unwrap();
    let minted = owner.mint(plain.id, &NewObject::default()).await.unwrap();
    let objects = owner.objects(&kedge_client::ListQuery::default());
    let objects = objects.collect(1_000).await.unwrap();
    let old = objects.iter().find(|object| {
        object.template_id == plain.id
            && object.id != minted.resource.id
            && object.status == ObjectStatus::Active
    });
    let mut properties = Properties::new();
    properties.insert("after".to_owned(), json!("the upgrade"));
    let old = old.unwrap().id;
    let updated = owner.update(old, &properties).await.unwrap();
    assert_eq!(updated.resource.properties["after"], "the upgrade");
}

/// Checks that a rebuild yields the same rows, and that a copy of the running server can be restored.
fn is_kept_and_copied(server: Server, setup: &Setup, directory: &Path) {
    let at = |name: &str| directory.join(name);
    let data = setup.data();
    let socket = data.join("admin.sock");
    done(&["backup", "--socket"], &[&socket, &at("backup")]);
    // An orderly stop also compares the store's rows with those that its log makes.
    server.stop();
    done(&["verify", "data", "--dev"], &[data]);
    done(&["verify", "log", "--signatures"], &[&data.join("log")]);
    done(&["restore", "--data"], &[&at("restored"), &at("backup")]);
    done(&["verify", "data", "--dev"], &[&at("restored")]);
    done(&["rebuild", "--dev"], &[data]);
    crate::support::remade::check(data);
    done(&["verify", "data", "--dev"], &[data]);
}

/// The checkpoints that a client was shown and keeps: their states, by the number of their batches.
#[derive(Default)]
struct ShownStates(BTreeMap<u64, Hash>);

impl ShownStates {
    /// Asks for the newest checkpoint. No number may ever get another state.
    async fn ask(&mut self, setup: &Setup) -> Checkpoint {
        let client = connect(&setup.url()).await;
        let checkpoint = client.checkpoint().await.unwrap().checkpoint;
        let shown = *self.0.entry(checkpoint.batches).or_insert(checkpoint.state);
        assert_eq!(shown, checkpoint.state, "two states of {checkpoint:?}");
        checkpoint
    }

    /// Asks until the newest checkpoint has a root of the state.
    async fn ask_until_rooted(&mut self, setup: &Setup) {
        let begun = Instant::now();
        while self.ask(setup).await.state == Hash::ZERO {
            assert!(begun.elapsed() < PATIENCE, "no checkpoint gets a root");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }
}

/// Patience with the first root.
const PATIENCE: Duration = Duration::from_mins(1);

// Holds invariants 250, 256, 257.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_earlier_state_is_read_continued_and_copied() {
    let names = all();
    assert!(names.len() >= 2, "{names:?}");
    for name in names {
        let directory = tempfile::tempdir().unwrap();
        let state = unpack(&name, directory.path());
        let setup = life::setup(&directory.path().join("data"));
        if REBUILT_FIRST.contains(&name.as_str()) {
            done(&["rebuild", "--dev"], &[setup.data()]);
        }
        let server = setup.start();
        let (status, ready) = server.readiness().await;
        assert_eq!(status, 200, "{name}: {ready}");
        let mut shown = ShownStates::default();
        let before = shown.ask(&setup).await;
        assert_eq!(
            before.state,
            Hash::ZERO,
            "what was signed before the upgrade has no root"
        );
        reads_as_recorded(&state, &setup).await;
        assert_eq!(shown.ask(&setup).await.batches, before.batches);
        continues(&setup).await;
        shown.ask_until_rooted(&setup).await;
        is_kept_and_copied(server, &setup, directory.path());
        // Starts once more, from the rebuilt store.
        let server = setup.start();
        shown.ask(&setup).await;
        continues(&setup).await;
        shown.ask_until_rooted(&setup).await;
        server.stop();
    }
}
