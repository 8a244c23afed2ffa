//! The server's own log, and the places of its files.

use serde_json::Value;

use crate::done_json;
use crate::support::http;
use crate::support::program::kedge;
use crate::support::server::Setup;

#[test]
fn the_log_is_for_people_or_for_programs_and_says_as_much_as_asked() {
    let directory = tempfile::tempdir().unwrap();
    let lines = |name: &str, options: &[(&str, &str)]| {
        let setup = Setup::development(&directory.path().join(name));
        let setup = options
            .iter()
            .fold(setup, |setup, (option, value)| setup.set(option, value));
        setup.start().stop();
        let log = setup.log();
        log.lines().map(str::to_owned).collect::<Vec<_>>()
    };
    let people = lines("people", &[]);
    // A file is not a terminal.
    assert!(people.iter().all(|line| !line.contains('\u{1b}')));
    assert!(
        people
            .iter()
            .any(|line| line.contains("INFO") && line.contains("stopping"))
    );
    let programs = lines("programs", &[("log_format", "json")]);
    assert!(!programs.is_empty());
    let read = programs.iter().map(|line| {
        let line: Value =
            serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"));
        assert!(
            line["timestamp"].is_string() && line["target"].is_string(),
            "{line}"
        );
        line
    });
    assert!(
        read.into_iter()
            .any(|line| line["level"] == "INFO" && line["message"] == "stopping")
    );

    let quiet = lines("quiet", &[("log_filter", "error")]);
    assert!(quiet.is_empty(), "{quiet:#?}");
    let chosen = lines("chosen", &[("log_filter", "\"error,kedge=debug\"")]);
    assert!(
        chosen.iter().any(|line| line.contains("stopping")),
        "{chosen:#?}"
    );
    let (status, reported) = Setup::development(&directory.path().join("loud"))
        .set("log_filter", "kedge=loud")
        .start_refused();
    assert_eq!(status.code(), Some(1));
    assert!(reported.contains("option log_filter"), "{reported}");
}

/// The store, the mark and the operator's socket are each at their configured place.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn things_are_kept_where_options_say() {
    let directory = tempfile::tempdir().unwrap();
    let at = |name: &str| directory.path().join(name);
    std::fs::create_dir(at("marks")).unwrap();
    let setup = Setup::development(&at("data"))
        .set(
            "high_water_path",
            format!("\"{}\"", at("marks/mark").display()),
        )
        .set(
            "admin_socket",
            format!("\"{}\"", at("operator.sock").display()),
        )
        .set("public_url", "\"https://log.example\"");
    let server = setup.start();
    let status = |socket: &str| {
        let mut status = kedge();
        status
            .args(["admin", "status", "--json", "--socket"])
            .arg(at(socket));
        status
    };
    done_json(&mut status("operator.sock"));
    crate::refused(&mut status("data/admin.sock"), 1);
    let client = crate::support::connect(&setup.url()).await;
    let mut rng = crate::support::Rng::seeded("places");
    let account = crate::support::register(&client, rng.key()).await;
    // The tokens' issuer is the public URL.
    let token = account.access_token().unwrap();
    let claims = token.split('.').nth(1).unwrap();
    let claims = base64::Engine::decode(&base64::engine::general_purpose::URL_SAFE_NO_PAD, claims);
    let claims: Value = serde_json::from_slice(&claims.unwrap()).unwrap();
    assert_eq!(claims["iss"], "https://log.example");
    let metrics = http::get(setup.metrics_port(), "/metrics").await;
    assert_eq!(metrics.status, 200);
    server.stop();
    assert!(std::fs::metadata(at("marks/mark")).unwrap().len() > 0);
    assert!(!at("data.high-water").exists());
    assert!(setup.store().join("CURRENT").exists());

    let inside = setup.clone().set(
        "high_water_path",
        format!("\"{}\"", at("data/mark").display()),
    );
    let (_, reported) = inside.start_refused();
    assert!(
        reported.contains("option high_water_path") && reported.contains("outside data_dir"),
        "{reported}"
    );
}
