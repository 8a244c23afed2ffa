//! The operator's commands, as a person gives them: the real binary on the real socket.

#![allow(clippy::unwrap_used, reason = "a test file: a panic is the failure")]

mod support;

use std::path::Path;
use std::process::{Command, Output};

use kedge_protocol::Id;
use kedge_protocol::resource::{CustomLimits, Tier};
use kedge_storage::{Options, Store};

use support::server::Setup;
use support::{Rng, connect, register};

fn admin(data: &Path, arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_kedge"))
        .arg("admin")
        .args(arguments)
        .arg("--socket")
        .arg(data.join("admin.sock"))
        .output()
        .unwrap()
}

#[track_caller]
fn done(output: &Output) -> String {
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{error}");
    String::from_utf8(output.stdout.clone()).unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn tiers_are_set_in_the_log() {
    let mut rng = Rng::seeded("tiers");
    let directory = tempfile::tempdir().unwrap();
    let setup = Setup::development(&directory.path().join("data"));
    let server = setup.start();
    let client = connect(&setup.url()).await;
    let account = register(&client, rng.key()).await;
    let organization: Id = account.me().await.unwrap().organization_id;
    let text = organization.to_string();

    let told = done(&admin(setup.data(), &["tier", &text, "developer"]));
    assert!(told.contains("developer") && told.contains(&text), "{told}");
    let limit = ["tier", &text, "custom", "--requests-per-minute", "700"];
    done(&admin(setup.data(), &limit));
    let nobody = Id::made_by(organization.prefix, &kedge_protocol::Hash::ZERO, 0).to_string();
    for (arguments, why) in [
        (["tier", &text, "gold"], "gold"),
        (["tier", &nobody, "free"], "organization"),
        (["tier", "org_x", "free"], "an identifier has"),
    ] {
        let output = admin(setup.data(), &arguments);
        let error = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{arguments:?}: {error}");
        assert!(error.contains(why), "{arguments:?}: {error}");
    }
    let (domain, sequencer) = (client.domain(), client.sequencer());
    server.stop();

    // The replay of the log, the operator's actions with it, makes the state to the byte.
    kedge::verify::store(&setup.store(), domain, sequencer, |_| ()).unwrap();
    let options = Options {
        path: setup.store(),
        domain,
        sequencer,
        high_water_path: Some(setup.high_water()),
        block_cache_bytes: 16 << 20,
        memtable_bytes: 16 << 20,
        wal_bytes_max: 32 << 20,
        read_only: true,
    };
    let store = Store::open(options).unwrap();
    let stored = store
        .snapshot()
        .organization(organization)
        .unwrap()
        .unwrap();
    let limits = CustomLimits {
        requests_per_minute: Some(700),
        ..CustomLimits::default()
    };
    assert_eq!(
        (stored.tier, stored.trace.version),
        (Tier::Custom(limits), 3)
    );
}
