//! Operator commands over the operator's socket, run with the real binary.

use std::path::Path;
use std::process::Output;

use kedge_protocol::Id;
use kedge_protocol::resource::{CustomLimits, Tier};
use kedge_storage::{Store, StoreOptions};

use crate::support::program::kedge;
use crate::support::server::Setup;
use crate::support::{Rng, connect, register};

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

// Holds invariant 17.
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
        access: kedge_storage::StoreAccess::Read,
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

// Holds invariant 79.
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

fn tiers_of(setup: &Setup, nearest: &str) -> serde_json::Value {
    let arguments = ["tiers", "--json", "--nearest", nearest];
    serde_json::from_str(&done(&admin(setup.data(), &arguments))).unwrap()
}

/// The number of organizations in each tier.
fn counted(view: &serde_json::Value) -> Vec<(&str, u64)> {
    let tiers = view["tiers"].as_array().unwrap().iter();
    tiers
        .map(|tier| {
            let count = tier["organizations"].as_u64().unwrap();
            (tier["tier"].as_str().unwrap(), count)
        })
        .collect()
}

/// Checks that the organization that exceeded its one request a day is shown first.
fn is_nearest(view: &serde_json::Value, organization: Id) {
    let nearest = view["nearest"].as_array().unwrap();
    assert_eq!(nearest.len(), 1);
    let shown = |member: &str| nearest[0][member].as_str().unwrap().to_owned();
    let named = ["organization_id", "tier", "policy"].map(shown);
    let expected = [organization.to_string().as_str(), "custom", "tier-day"].map(str::to_owned);
    assert_eq!(named, expected);
    assert!(
        nearest[0]["used"].as_u64() >= Some(1) && nearest[0]["limit"] == 1,
        "{nearest:?}"
    );
}

/// Checks that a new log is one raw segment.
fn is_raw(log: &serde_json::Value) {
    let segments = ["raw", "sealed", "archived"].map(|form| log[form]["segments"].as_u64());
    assert_eq!(segments, [Some(1), Some(0), Some(0)]);
    assert_eq!(log["archived"]["place"], serde_json::Value::Null);
    assert!(log["raw"]["bytes"].as_u64() > Some(0));
}

/// Checks that the tables for people show the same.
fn is_shown(setup: &Setup) {
    let text = done(&admin(setup.data(), &["tiers"]));
    let mut lines = text.lines().map(|line| line.split_whitespace());
    let expected = "developer 1 500 50000 53687091200 99 USD per month".split(' ');
    assert!(lines.any(|line| line.eq(expected.clone())), "{text}");
    assert!(text.contains("3 organizations, counted "), "{text}");
    let refused = admin(setup.data(), &["tiers", "--nearest", "101"]);
    let error = String::from_utf8_lossy(&refused.stderr);
    assert_eq!(refused.status.code(), Some(1), "{error}");
    assert!(error.contains("at most 100"), "{error}");
}

// Holds invariant 202.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn tiers_are_counted_and_who_is_nearest_to_a_limit_comes_first() {
    let mut rng = Rng::seeded("counted tiers");
    let directory = tempfile::tempdir().unwrap();
    let setup = Setup::development(&directory.path().join("data"));
    let server = setup.start();
    let client = connect(&setup.url()).await;
    let mut organizations = Vec::new();
    for _ in 0..3 {
        let account = register(&client, rng.key()).await;
        organizations.push(account.me().await.unwrap().organization_id);
    }
    let [first, second] = [0, 1].map(|index: usize| organizations[index].to_string());
    done(&admin(setup.data(), &["tier", &first, "developer"]));
    let expected = [
        ("free", 2),
        ("developer", 1),
        ("enterprise", 0),
        ("custom", 0),
    ];
    assert_eq!(counted(&tiers_of(&setup, "10")), expected);
    // Setting a tier counts again, even right after the last count.
    let custom = ["tier", &second, "custom", "--requests-per-day", "1"];
    done(&admin(setup.data(), &custom));
    let view = tiers_of(&setup, "1");
    let expected = [
        ("free", 1),
        ("developer", 1),
        ("enterprise", 0),
        ("custom", 1),
    ];
    assert_eq!(counted(&view), expected);
    assert_eq!(view["organizations"], 3);
    assert_eq!(view["all_counted"], true);
    assert_eq!(view["tiers"][0]["limits"]["requests_per_day"], 1_000);
    assert_eq!(view["tiers"][3]["limits"], serde_json::Value::Null);
    is_nearest(&view, organizations[1]);
    is_raw(&view["log"]);
    is_shown(&setup);
    server.stop();
}
