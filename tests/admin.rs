//! The operator's commands, as a person gives them: the real binary on the real socket.

#![allow(clippy::unwrap_used, reason = "a test file: a panic is the failure")]

mod support;

use std::path::Path;
use std::process::Output;

use kedge_protocol::Id;
use kedge_protocol::resource::{CustomLimits, Tier};
use kedge_storage::{Store, StoreOptions};

use support::program::kedge;
use support::server::Setup;
use support::{Rng, connect, register};

fn admin(data: &Path, arguments: &[&str]) -> Output {
    kedge()
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

    let reported = done(&admin(setup.data(), &["tier", &text, "developer"]));
    assert!(
        reported.contains("developer") && reported.contains(&text),
        "{reported}"
    );
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

    // Replaying the log, including the operator's actions, reproduces the state to the byte.
    kedge_upkeep::verify::store(&setup.store(), domain, sequencer, |_| ()).unwrap();
    let options = StoreOptions {
        high_water_path: Some(setup.high_water()),
        access: kedge_storage::Access::Read,
        ..StoreOptions::of_store(&setup.store(), domain, sequencer)
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

#[test]
fn a_key_that_forges_claims_stops_the_start() {
    let directory = tempfile::tempdir().unwrap();
    let setup = Setup::development(&directory.path().join("data"));
    let path = directory.path().join("verification_key.json");
    let text = kedge_prover::keys::dev_insecure().to_snarkjs().unwrap();
    std::fs::write(&path, &text).unwrap();
    let named = setup.set("claims_key_file", path.display());
    named.start().stop();

    let of_worth = Setup::development(&directory.path().join("worth"));
    let of_worth = of_worth
        .set("claims_key_file", path.display())
        .set("chain_id", 1);
    let (status, reported) = of_worth.start_refused();
    assert!(!status.success());
    for part in [
        "claims_key_file",
        "DEV-INSECURE",
        "verification key of a ceremony",
    ] {
        assert!(reported.contains(part), "{part}: {reported}");
    }

    // The key of another circuit: one public input less.
    let mut other: serde_json::Value = serde_json::from_str(&text).unwrap();
    other["nPublic"] = 12.into();
    other["IC"].as_array_mut().unwrap().pop();
    std::fs::write(&path, other.to_string()).unwrap();
    let (status, reported) = named.start_refused();
    assert!(!status.success());
    assert!(reported.contains("12 public inputs"), "{reported}");
}
