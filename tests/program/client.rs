//! `kedge login` and the commands of a client: the real program against a real server.

use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;
use std::process::Command;
use std::time::{Duration, Instant};

use base64::Engine as _;
use kedge_client::NewTemplate;
use kedge_protocol::signature::SigningKey;
use serde_json::{Value, json};

use crate::import::Place;
use crate::support::program::kedge;
use crate::support::{PASSWORD, connect, register};
use crate::{done, done_json, ran, refused};

fn ticket() -> NewTemplate {
    NewTemplate {
        name: "ticket".to_owned(),
        ..NewTemplate::default()
    }
}

fn profiles(place: &Place) -> PathBuf {
    place.path("config").join("profiles.json")
}

fn command(place: &Place, args: &[&str]) -> Command {
    let mut command = kedge();
    command.args(args);
    command.env("KEDGE_CONFIG_HOME", place.path("config"));
    command
}

fn login(place: &Place) -> Command {
    login_at(place, &place.setup.url())
}

fn login_at(place: &Place, url: &str) -> Command {
    let email = format!("{}@example.com", place.account.address()).to_lowercase();
    let mut login = command(place, &["login", "--email", &email]);
    login.args(["--url", url]);
    login.arg("--key-file").arg(place.path("key"));
    login.env("KEDGE_PASSWORD", PASSWORD);
    login
}

/// The error of a command with `--json`, which prints it to standard output alone.
#[track_caller]
fn error(command: &mut Command, code: i32) -> Value {
    let (ended, printed, error) = ran(command.arg("--json"));
    assert_eq!((ended, error.as_str()), (Some(code), ""), "{printed}");
    let shown: Value = serde_json::from_str(&printed).unwrap();
    shown["error"].clone()
}

fn change(place: &Place, change: impl FnOnce(&mut Value)) {
    let path = profiles(place);
    let mut all: Value = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
    change(&mut all["default"]);
    std::fs::write(&path, all.to_string()).unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_person_works_with_a_log_from_a_shell() {
    let (place, _server) = Place::start(ticket()).await;
    let own = |args: &[&str]| command(&place, args);
    let why = refused(&mut own(&["whoami"]), 2);
    assert!(why.contains("kedge login"), "{why}");
    let shown = done(&mut login(&place));
    assert!(shown.contains("wal_") && !shown.contains("eyJ"), "{shown}");
    let metadata = std::fs::metadata(profiles(&place)).unwrap();
    assert_eq!(metadata.permissions().mode() & 0o777, 0o600);
    let wallet = done_json(&mut own(&["whoami", "--json"]));
    assert_eq!(wallet["address"], json!(place.account.address()));

    let template = place.template.to_string();
    let mint = [
        "mint", &template, "--set", "seat=12", "-s", "row=A 7", "--json",
    ];
    let made = done_json(&mut own(&mint));
    assert_eq!(made["properties"], json!({"seat": 12, "row": "A 7"}));
    let id = made["id"].as_str().unwrap();
    let patch = place.write("patch.json", r#"{"row": null, "paid": false}"#);
    let patch = [
        "update",
        id,
        "--properties",
        patch.to_str().unwrap(),
        "-s",
        "paid=true",
    ];
    let shown = done(&mut own(&patch));
    assert!(
        shown.contains("act_") && shown.contains("verified"),
        "{shown}"
    );
    let object = done_json(&mut own(&["get", id]));
    assert_eq!(object["properties"], json!({"seat": 12, "paid": true}));
    let page = done_json(&mut own(&["call", "get", "/objects?limit=5"]));
    assert_eq!(page["items"][0], object);

    let client = connect(&place.setup.url()).await;
    let other = register(&client, SigningKey::from_bytes(&[0x23; 32]).unwrap()).await;
    let to = other.me().await.unwrap().id.to_string();
    let moved = done_json(&mut own(&["transfer", id, &to, "--json"]));
    assert_eq!(moved["owner_id"], json!(to));
    done(&mut own(&["logout"]));
    refused(&mut own(&["whoami"]), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_object_is_shown_with_its_proof() {
    let (place, _server) =
        Place::start_with(ticket(), |setup| setup.set("checkpoint_interval_s", "1")).await;
    done(&mut login(&place));
    let template = place.template.to_string();
    let made = done_json(&mut command(
        &place,
        &["mint", &template, "-s", "seat=12", "--json"],
    ));
    let id = made["id"].as_str().unwrap();
    let begun = Instant::now();
    let proven = loop {
        let (code, printed, why) = ran(&mut command(&place, &["get", id, "--prove"]));
        if code == Some(0) {
            break serde_json::from_str::<Value>(&printed).unwrap();
        }
        assert!(begun.elapsed() < Duration::from_mins(1), "{why}");
        std::thread::sleep(Duration::from_millis(100));
    };
    assert_eq!(proven["object"]["properties"], json!({"seat": 12}));
    assert!(
        proven["checkpoint"]["batches"].as_u64() > Some(0),
        "{proven}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn failures_are_json_too() {
    let (place, _server) = Place::start(ticket()).await;
    done(&mut login(&place));
    let own = |args: &[&str]| command(&place, args);
    let nothing = "obj_00000000000000000000000000";
    let refusal = error(&mut own(&["update", nothing, "-s", "paid=false"]), 1);
    assert_eq!(refusal["status"], json!(404), "{refusal}");
    assert_eq!(refusal["code"], "RESOURCE_NOT_FOUND");
    assert!(refusal["body"]["request_id"].is_string(), "{refusal}");
    for wrong in [
        &["update", nothing][..],
        &["call", "GET", "objects"],
        &["get", nothing, "--profile", "b"],
    ] {
        assert_eq!(error(&mut own(wrong), 2)["code"], "USAGE", "{wrong:?}");
    }
    let away = error(
        own(&["call", "GET", "/objects"]).env("KEDGE_CONFIG_HOME", "/proc/nowhere"),
        2,
    );
    assert_eq!(away["code"], "USAGE");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_profile_trusts_its_log_alone_and_continues_once_its_token_has_expired() {
    let (place, _server) = Place::start(ticket()).await;
    done(&mut login(&place));
    // Several commands find the token expired, and each exchanges it or continues with the new one.
    let engine = base64::engine::general_purpose::URL_SAFE_NO_PAD;
    let expired = format!("e30.{}.x", engine.encode(r#"{"exp": 1700000000}"#));
    change(&place, |profile| {
        profile["tokens"]["access_token"] = json!(expired);
    });
    let mut together: Vec<_> = (0..4)
        .map(|_| command(&place, &["whoami", "--json"]).spawn().unwrap())
        .collect();
    assert!(
        together
            .iter_mut()
            .all(|child| child.wait().unwrap().success())
    );

    // A token that the server alone finds expired: a command that is refused for another reason keeps the login.
    let later = format!("e30.{}.x", engine.encode(r#"{"exp": 9000000000}"#));
    change(&place, |profile| {
        profile["tokens"]["access_token"] = json!(later);
    });
    let refusal = error(&mut command(&place, &["whoami"]), 1);
    assert_eq!(refusal["status"], json!(401), "{refusal}");
    done(&mut login(&place));
    done(&mut command(&place, &["whoami"]));

    // Another log under the same address, and a login to it.
    change(&place, |profile| profile["domain"]["chain_id"] = json!(1));
    let found = error(&mut command(&place, &["whoami"]), 1);
    assert_eq!(found["code"], "NOT_VERIFIED", "{found}");
    refused(&mut login(&place), 1);
    refused(&mut login_at(&place, &format!("{}/", place.setup.url())), 1);
    let why = refused(&mut login_at(&place, "http://127.0.0.1:1"), 2);
    assert!(why.contains("kedge logout"), "{why}");
    std::fs::set_permissions(profiles(&place), Permissions::from_mode(0o644)).unwrap();
    let why = refused(&mut command(&place, &["whoami"]), 2);
    assert!(why.contains("chmod 600"), "{why}");
}
