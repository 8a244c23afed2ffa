//! The range of every numeric option: both ends are accepted, one past each is refused, and the refusal names the
//! option and the range.

use kedge_client::{Client, NewObject, RetryPolicy};
use kedge_config::{Config, OptionRange, ranges};

use crate::refused;
use crate::support::program::kedge;
use crate::support::server::Setup;
use crate::support::{Rng, register, template};

/// One row for each option; all numbers of a list have the same range.
fn rows() -> Vec<OptionRange> {
    let mut rows = ranges(&Config::default());
    rows.dedup_by_key(|range| range.option);
    rows
}

/// A number in the option's form.
fn text(range: &OptionRange, number: impl std::fmt::Display) -> String {
    let defaults = toml::Table::try_from(Config::default()).unwrap();
    if defaults[range.option].is_array() {
        format!("[{number}]")
    } else {
        number.to_string()
    }
}

// Holds invariant 142.
#[test]
fn every_option_that_is_a_number_has_a_range() {
    let defaults = toml::Table::try_from(Config::default()).unwrap();
    let rows = rows();
    for (option, value) in &defaults {
        let numbers = match value {
            toml::Value::Array(items) => items.iter().any(toml::Value::is_integer),
            other => other.is_integer(),
        };
        let ranged = rows.iter().any(|range| range.option == option);
        assert_eq!(numbers, ranged, "{option}");
    }
    for range in ranges(&Config::default()) {
        assert!(range.least < range.most, "{range:?}");
        assert!(
            (range.least..=range.most).contains(&range.value),
            "{range:?}"
        );
    }
}

// Holds invariant 142.
#[test]
fn one_past_each_end_is_refused_with_the_option_and_its_range() {
    let directory = tempfile::tempdir().unwrap();
    let data = directory.path().join("data");
    for range in rows() {
        let (option, least, most) = (range.option, range.least, range.most);
        let below = range.least.checked_sub(1);
        let below = below.map_or("-1".to_owned(), |below| below.to_string());
        let beyond = (most + 1).to_string();
        for bad in [
            below.as_str(),
            &beyond,
            "-7",
            "1.5",
            "\"many\"",
            "99999999999999999999",
        ] {
            let mut serve = kedge();
            serve.args(["serve", "--dev", "--data"]).arg(&data);
            serve.args(["--set", &format!("{option}={}", text(&range, bad))]);
            let reported = refused(&mut serve, 1);
            let named = format!("option {option}: must be {least} to {most}");
            assert!(reported.contains(&named), "{option}={bad}: {reported}");
        }
    }
    assert!(!data.exists(), "a refused configuration made something");
}

/// Starts a server with all options at one end of their ranges, and uses an account.
async fn works(setup: Setup, end: impl Fn(&OptionRange) -> u64) {
    let mut rng = Rng::seeded("ranges");
    // The last setting wins: the setup has set some options before.
    let setup = rows().iter().fold(setup, |setup, range| {
        setup.set(range.option, text(range, end(range)))
    });
    let server = setup.start();
    // A request that waits longer than a millisecond counts as overload: on a busy machine many are refused first.
    let patient = RetryPolicy {
        attempts_max: 1_000,
        on_unavailable: true,
        wait_ms_max: 100,
        ..RetryPolicy::default()
    };
    let client = Client::builder(setup.url()).retry(patient);
    let client = client.connect().await.unwrap();
    let account = register(&client, rng.key()).await;
    let template = template(&account, "ends").await;
    let minted = account.mint(template, &NewObject::default()).await.unwrap();
    let found = account.object(minted.resource.id).await.unwrap();
    assert_eq!(found, minted.resource);
    drop((account, client));
    server.stop();
    let server = setup.start();
    server.stop();
}

// Holds invariant 142.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_works_with_the_least_of_everything() {
    let directory = tempfile::tempdir().unwrap();
    let setup = Setup::development(&directory.path().join("data"));
    works(setup, |range| range.least).await;
}

// Holds invariant 142.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_works_with_the_most_of_everything() {
    let directory = tempfile::tempdir().unwrap();
    let setup = Setup::development(&directory.path().join("data"));
    works(setup, |range| range.most).await;
}
