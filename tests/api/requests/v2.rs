//! Callers of v2: where they are redirected, what the answers state, and that there are no other redirects.

use std::io::{BufRead, BufReader, Read};
use std::process::{Command, Stdio};

use serde_json::{Value, json};

use crate::harness::{Answer, Caller, PASSWORD, Server};
use crate::program::kedge;

/// Unix time of 2026-01-01.
const DEPRECATION: &str = "@1767225600";
const SUNSET: &str = "Tue, 30 Jun 2026 23:59:59 GMT";

#[track_caller]
fn announces_the_end(answer: &Answer, successor: &str) {
    assert_eq!(answer.header("deprecation"), DEPRECATION);
    assert_eq!(answer.header("sunset"), SUNSET);
    let link = format!("<{successor}>; rel=\"successor-version\"");
    assert_eq!(answer.header("link"), link);
    only_a_message(answer);
}

/// Checks for v2's envelope, with the headers of every answer.
#[track_caller]
fn only_a_message(answer: &Answer) {
    let members: Vec<&String> = answer.body.as_object().unwrap().keys().collect();
    assert_eq!(members, ["message"], "{}", answer.body);
    assert_eq!(answer.header("content-type"), "application/json");
    assert_ne!(answer.header("x-request-id"), "");
    assert_ne!(answer.header("x-sequence"), "");
    assert_eq!(answer.header("x-content-type-options"), "nosniff");
}

#[tokio::test]
async fn renamed_paths_lead_to_their_successors() {
    let server = Server::start().await;
    let cases = [
        ("GET", "/user/profile", "/wallets/me"),
        ("POST", "/user/login", "/wallets/login"),
        ("POST", "/user/register", "/wallets/register"),
        ("POST", "/user/token/refresh", "/wallets/token/refresh"),
        ("GET", "/assets", "/objects"),
        ("GET", "/assets/obj_1", "/objects/obj_1"),
        ("POST", "/assets/obj_1/actions", "/ebus/actions"),
        ("POST", "/assets/obj_1/transfer", "/objects/obj_1/transfer"),
        ("GET", "/templates", "/templates"),
        ("GET", "/activity", "/ebus/events"),
        ("DELETE", "/user/some/thing", "/wallets/some/thing"),
        ("PATCH", "/assets/obj_1/some", "/objects/obj_1/some"),
        (
            "GET",
            "/templates/tpl_1/variations",
            "/templates/tpl_1/variations",
        ),
        ("HEAD", "/user/profile", "/wallets/me"),
    ];
    // Bytes of the query that a parser might normalise.
    let query = "?offset=20&limit=10&q=%2Fa%20b+c&&x=%zz";
    for (method, path, successor) in cases {
        for query in ["", query] {
            let answer = server
                .call(method, &format!("/v2{path}{query}"), &[], "")
                .await;
            assert_eq!(answer.status, 301, "{method} {path}");
            assert_eq!(answer.header("location"), format!("{successor}{query}"));
            if method == "HEAD" {
                assert_eq!(answer.body, Value::Null);
            } else {
                announces_the_end(&answer, successor);
            }
        }
    }
    let actions = server.call("POST", "/v2/assets/o/actions", &[], "").await;
    let message = actions.body["message"].as_str().unwrap();
    assert!(
        message.contains("object_id"),
        "what is lost is reported: {message}"
    );
}

// Holds invariant 35.
#[tokio::test]
async fn what_v2_does_not_have_is_refused_in_its_own_words() {
    let server = Server::start().await;
    let cases = [
        ("GET", "/v2", 404),
        ("GET", "/v2/", 400),
        ("GET", "/v2/user", 404),
        ("GET", "/v2/nothing", 404),
        ("GET", "/v2/objects", 404),
        ("POST", "/v2/activity", 405),
        ("GET", "/v2//evil.example", 400),
        ("GET", "/v2/assets//evil.example", 400),
        ("GET", "/v2/assets/%2F%2Fevil.example", 400),
        ("GET", "/v2/assets/%5C%5Cevil.example", 400),
        ("GET", "/v2/assets/..", 400),
        ("GET", "/v2/assets/%2e%2e/x", 400),
        ("GET", "/v2/templates/../../evil.example", 400),
        ("GET", "/v2/assets/%0d%0aLocation:x", 400),
    ];
    for (method, path, status) in cases {
        // Problem details exist only in v3.
        let accept = [("accept", "application/problem+json".to_owned())];
        let answer = server.call(method, path, &accept, "").await;
        assert_eq!(answer.status, status, "{path}: {}", answer.body);
        assert_eq!(answer.header("location"), "", "{path}");
        only_a_message(&answer);
        if status == 405 {
            assert_eq!(answer.header("allow"), "GET, HEAD");
        }
    }
    server
        .get("//v2/user/profile", None)
        .await
        .refused(404, "RESOURCE_NOT_FOUND");
}

#[tokio::test]
async fn the_layer_can_be_closed_and_its_segment_named() {
    let gone = Server::start_with(&["v2_mode=gone", "v2_legacy_segment=cards"]).await;
    let answer = gone.call("GET", "/v2/cards/obj_1?x=1", &[], "").await;
    assert_eq!(answer.status, 410);
    assert_eq!(answer.header("location"), "");
    announces_the_end(&answer, "/objects/obj_1");
    let message = answer.body["message"].as_str().unwrap();
    assert!(message.contains("GET /objects/obj_1"), "{message}");
    let other = gone.call("GET", "/v2/assets/obj_1", &[], "").await;
    assert_eq!(other.status, 404);

    let off = Server::start_with(&["v2_mode=off"]).await;
    for path in ["/v2/user/profile", "/v2/assets", "/v2//x"] {
        let answer = off.call("GET", path, &[], "").await;
        assert_eq!(
            (answer.status, answer.header("sunset")),
            (404, ""),
            "{path}"
        );
        only_a_message(&answer);
    }
}

#[tokio::test]
async fn the_static_headers_of_v2_are_no_credentials() {
    let server = Server::start().await;
    let _ann = Caller::register(&server, "ann@example.com").await;
    let headers = [
        ("app-id", "kedge".to_owned()),
        ("app-secret", PASSWORD.to_owned()),
    ];
    for path in ["/wallets/me", "/objects", "/templates"] {
        let answer = server.call("GET", path, &headers, "").await;
        answer.refused(401, "UNAUTHENTICATED");
    }
}

/// Runs curl; returns its exit status and the body.
fn curl(arguments: &[&str]) -> (u16, Value) {
    let output = Command::new("curl")
        .args(["-s", "-S", "--max-time", "20", "-w", "\n%{http_code}"])
        .args(arguments)
        .output()
        .expect("curl is installed");
    let text = String::from_utf8(output.stdout).unwrap();
    let (body, status) = text.rsplit_once('\n').unwrap();
    let body = serde_json::from_str(body).unwrap_or(Value::Null);
    (status.parse().unwrap(), body)
}

#[tokio::test]
async fn curl_follows() {
    let server = Server::start().await;
    let ann = Caller::register(&server, "ann@example.com").await;
    let bearer = format!("Authorization: Bearer {}", ann.token);
    let profile = format!("{}/v2/user/profile", server.url);
    let (status, body) = curl(&["-L", "-H", &bearer, &profile]);
    assert_eq!((status, &body["id"]), (200, &json!(ann.wallet_id)));
    let (status, _) = curl(&["-H", &bearer, &profile]);
    assert_eq!(status, 301, "without -L it stays where it is");

    let login = json!({ "email": "ann@example.com", "password": PASSWORD }).to_string();
    let url = format!("{}/v2/user/login", server.url);
    let sent = ["-L", "--json", &login, &url];
    let (status, body) = curl(&sent);
    assert_eq!(
        (status, &body["code"]),
        (405, &json!("METHOD_NOT_ALLOWED")),
        "a POST becomes a GET on its way through a 301"
    );
    let (status, body) = curl(&[&["--post301"], sent.as_slice()].concat());
    assert_eq!(status, 200, "{body}");
    assert_eq!(body["wallet"]["id"], ann.wallet_id.as_str());
}

/// The server's first log lines with this option.
fn logged_at_start(option: &str) -> String {
    let dir = tempfile::tempdir().unwrap();
    let mut child = kedge()
        .args(["serve", "--dev", "--listen", "127.0.0.1:0", "--data"])
        .arg(dir.path().join("data"))
        .args(["--set", "embedded_chain_listen=\"127.0.0.1:0\""])
        .args(["--set", "log_filter=warn", "--set", option])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdout = BufReader::new(child.stdout.take().unwrap());
    let mut line = String::new();
    while !line.starts_with("listening on ") {
        line.clear();
        assert_ne!(stdout.read_line(&mut line).unwrap(), 0, "it did not start");
    }
    child.kill().unwrap();
    child.wait().unwrap();
    let mut logged = String::new();
    let mut stderr = child.stderr.take().unwrap();
    stderr.read_to_string(&mut logged).unwrap();
    logged
}

#[test]
fn a_start_after_the_date_says_so() {
    let logged = logged_at_start("v2_mode=redirect");
    assert!(logged.contains("due for removal"), "{logged}");
    let logged = logged_at_start("v2_mode=off");
    assert!(!logged.contains("due for removal"), "{logged}");
}
