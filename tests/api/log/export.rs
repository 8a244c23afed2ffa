//! The export of a log of two organizations, checked by an outsider: whole, anchored, and with one byte changed
//! anywhere.

use std::path::{Path, PathBuf};
use std::process::Output;
use std::time::Duration;

use bytes::Bytes;
use http_body_util::Full;
use hyper::Request;
use kedge_protocol::export::{ExportChecker, ExportLine, ExportLineKind, ExportSummary};
use serde_json::{Value, json};

use crate::harness::{Caller, Server, Signed};

/// The lines of an export.
async fn export(server: &Server, query: &str, token: Option<&str>) -> Vec<String> {
    // It ends with a checkpoint, which is to cover all that was done.
    server.newest_checkpoint().await;
    let mut request = Request::get(format!("{}/export{query}", server.url));
    if let Some(token) = token {
        request = request.header("authorization", format!("Bearer {token}"));
    }
    let (parts, bytes) = server
        .fetch(request.body(Full::<Bytes>::default()).unwrap())
        .await;
    assert_eq!(parts.status, 200);
    assert_eq!(parts.headers["content-type"], "application/x-ndjson");
    let text = String::from_utf8(bytes.to_vec()).unwrap();
    assert!(text.ends_with('\n'));
    text.lines().map(str::to_owned).collect()
}

fn check(server: &Server, lines: &[String]) -> Result<ExportSummary, String> {
    let mut checker = ExportChecker::new(server.domain, server.sequencer);
    for line in lines {
        checker.line(line).map_err(|error| error.to_string())?;
    }
    checker.finish().map_err(|error| error.to_string())
}

fn kedge(arguments: &[&str]) -> Output {
    let mut command = crate::program::kedge();
    command.args(arguments).output().unwrap()
}

/// Runs `kedge verify export`; returns its report, or its objection.
fn verify(source: &str, trust: &[&str]) -> Result<Value, String> {
    let mut arguments = vec!["verify", "export", source, "--json"];
    arguments.extend_from_slice(trust);
    let output = kedge(&arguments);
    if output.status.success() {
        return Ok(serde_json::from_slice(&output.stdout).unwrap());
    }
    assert_eq!(output.status.code(), Some(1));
    Err(String::from_utf8(output.stderr).unwrap())
}

fn save(dir: &Path, name: &str, lines: &[String]) -> PathBuf {
    let path = dir.join(name);
    std::fs::write(&path, lines.join("\n") + "\n").unwrap();
    path
}

/// Two organizations' requests: registrations, a template, a batch with one action that fails, an
/// atomic batch, changes.
async fn work(server: &Server) -> (Caller, Caller) {
    let ann = Caller::register(server, "ann@example.com").await;
    let eve = Caller::register(server, "eve@example.com").await;
    for caller in [&ann, &eve] {
        let template_id = caller.new_template(server, "ticket").await;
        let object_id = caller.new_object(server, &template_id).await;
        let actions: [Signed<'_>; 3] = [
            ("update", &object_id, r#"{"properties": {"a": "ä \" \\"}}"#),
            ("unlock", &object_id, "{}"),
            ("lock", &object_id, "{ }"),
        ];
        let answer = caller.bus(server, &actions, false).await.expect(200);
        assert_eq!(
            answer.body["results"][1]["error"]["code"],
            "STATE_VIOLATION"
        );
        let mints: Vec<Signed<'_>> = vec![("mint", &template_id, "{}"); 300];
        caller.bus(server, &mints, true).await.expect(200);
    }
    (ann, eve)
}

/// Anchors now, and waits for finality.
async fn anchored(server: &Server) {
    let socket = server.dir.path().join("data/admin.sock");
    let anchored = kedge(&["admin", "anchor-now", "--socket", socket.to_str().unwrap()]);
    assert!(anchored.status.success(), "{anchored:?}");
    let finalized = async {
        loop {
            let anchors = server.get("/anchors", None).await.expect(200).body;
            if anchors["items"][0]["status"] == "finalized" {
                return;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    tokio::time::timeout(Duration::from_mins(1), finalized)
        .await
        .unwrap();
}

// Holds invariant 31.
#[tokio::test]
async fn a_stranger_reaches_the_heads_of_server_and_contract() {
    let mut server = Server::start().await;
    let rpc = server.rpc();
    let (ann, eve) = work(&server).await;
    anchored(&server).await;
    // The log continues after its newest anchor.
    ann.new_template(&server, "later").await;
    let reported = server.newest_checkpoint().await;

    let dir = tempfile::tempdir().unwrap();
    let contract = server.domain.verifying_contract.to_string();
    let trust = ["--rpc", rpc.as_str(), "--contract", contract.as_str()];
    for (name, token, opened) in [
        ("public", None, 0),
        ("ann", Some(&ann.token), 306),
        ("eve", Some(&eve.token), 305),
    ] {
        let lines = export(&server, "", token.map(String::as_str)).await;
        let path = save(dir.path(), name, &lines);
        let shown = verify(path.to_str().unwrap(), &trust).unwrap();
        assert_eq!(shown["head"], reported["checkpoint"]["head"]);
        assert_eq!(shown["history"], reported["checkpoint"]["history"]);
        assert_eq!(shown["sequence"], reported["checkpoint"]["sequence"]);
        assert_eq!(
            (&shown["actions_opened"], &shown["rules_replayed"]),
            (&json!(opened), &json!(false))
        );
        let on_chain = shown["anchored"].as_str().unwrap();
        assert!(on_chain.contains("finalized checkpoint"), "{on_chain}");
    }
    // Directly from the server, with a token from a file.
    let token = dir.path().join("token");
    std::fs::write(&token, &eve.token).unwrap();
    let trust = [
        "--url",
        &server.url,
        "--token-file",
        token.to_str().unwrap(),
    ];
    let shown = verify(&server.url, &trust).unwrap();
    assert_eq!(
        (&shown["valid"], &shown["actions_opened"]),
        (&json!(true), &json!(305))
    );

    // The part after a batch can be checked without the part before it; shortened logs are noticed.
    let batches = reported["checkpoint"]["batches"].as_u64().unwrap();
    for from in 0..=batches {
        let lines = export(&server, &format!("?from={from}"), Some(&eve.token)).await;
        let shown = check(&server, &lines).unwrap();
        assert_eq!((shown.from, shown.batches), (from, batches - from));
    }
    let path = format!("/export?from={}", batches + 1);
    server
        .get(&path, None)
        .await
        .refused(400, "VALIDATION_ERROR");
    server
        .get("/export", Some("not a token"))
        .await
        .refused(401, "UNAUTHENTICATED");
}

// Holds invariant 31.
#[tokio::test]
async fn one_changed_byte_is_named_by_its_line() {
    let server = Server::start().await;
    let (ann, _eve) = work(&server).await;
    let lines = export(&server, "?from=1", Some(&ann.token)).await;
    check(&server, &lines).unwrap();
    let kind = |line: &String| serde_json::from_str::<Value>(line).unwrap()["type"].clone();
    let place = |wanted: &str| lines.iter().rposition(|line| kind(line) == wanted).unwrap();
    for wanted in ["log", "batch", "request", "checkpoint"] {
        let at = place(wanted);
        let line = &lines[at];
        let value: Value = serde_json::from_str(line).unwrap();
        let mut changed = 0;
        // Change one digit of every signed or hashed value.
        for (start, _) in line.match_indices("\"0x").step_by(7) {
            let digit = start + 4;
            let mut bytes = line.clone().into_bytes();
            bytes[digit] = if bytes[digit] == b'0' { b'1' } else { b'0' };
            let mut bent = lines.clone();
            bent[at] = String::from_utf8(bytes).unwrap();
            // A log's peaks and head are bound by the next batch.
            let error = check(&server, &bent).unwrap_err();
            let named = [at + 1, at + 2].map(|line| format!("line {line}, at sequence "));
            let ok =
                error.starts_with(&named[0]) || (wanted == "log" && error.starts_with(&named[1]));
            assert!(ok, "{wanted}: {error}\n{value}");
            changed += 1;
        }
        assert!(changed > 0, "{wanted}");
        let mut without = lines.clone();
        without.remove(at);
        // An outsider cannot notice a request that was left out, because its leaves remain.
        assert_eq!(check(&server, &without).is_ok(), wanted == "request");
    }
    let request: Value = serde_json::from_str(&lines[place("request")]).unwrap();
    for (pointer, value) in [
        ("/nonce", json!("1")),
        ("/deadline", json!(4_000_000_000u64)),
        ("/atomic", json!(false)),
        ("/timestamp_ms", json!(1)),
        ("/first_sequence", json!(1)),
        ("/batch_number", json!(0)),
        ("/actions/0/payload", json!("{ }")),
        ("/actions/0/kind", json!("lock")),
        ("/actions/0/target", json!("")),
        ("/actions/0/index", json!(300)),
    ] {
        let mut bent = request.clone();
        let member = bent.pointer_mut(pointer).unwrap();
        assert_ne!(*member, value, "{pointer}");
        *member = value;
        let mut all = lines.clone();
        all[place("request")] = bent.to_string();
        let error = check(&server, &all).unwrap_err();
        assert!(
            error.starts_with(&format!("line {}, ", place("request") + 1)),
            "{pointer}: {error}"
        );
    }
}

#[tokio::test]
async fn the_rules_are_replayed_where_nothing_is_missing() {
    let server = Server::start().await;
    let ann = Caller::register(&server, "ann@example.com").await;
    let template_id = ann.new_template(&server, "ticket").await;
    let object_id = ann.new_object(&server, &template_id).await;
    ann.action(&server, ("lock", &object_id, "{}"))
        .await
        .expect(201);
    let lines = export(&server, "", Some(&ann.token)).await;
    let dir = tempfile::tempdir().unwrap();
    let path = save(dir.path(), "whole", &lines);
    let trust = ["--url", server.url.as_str()];
    let shown = verify(path.to_str().unwrap(), &trust).unwrap();
    assert_eq!(
        (&shown["rules_replayed"], &shown["requests_checked"]),
        (&json!(true), &json!(4))
    );

    // No hash covers an action's version, but the rules do.
    let at = lines
        .iter()
        .rposition(|line| line.contains("\"type\":\"request\""))
        .unwrap();
    let mut bent: Value = serde_json::from_str(&lines[at]).unwrap();
    bent["actions"][0]["version"] = json!(9);
    let mut all = lines.clone();
    all[at] = bent.to_string();
    assert!(check(&server, &all).is_ok());
    let path = save(dir.path(), "bent", &all);
    let refused = verify(path.to_str().unwrap(), &trust).unwrap_err();
    assert!(refused.contains("sequence 4"), "{refused}");

    let mut checker = ExportChecker::new(server.domain, server.sequencer);
    let checked: Vec<ExportLineKind> = lines
        .iter()
        .map(|line| checker.line(line).unwrap())
        .collect();
    let Some(ExportLineKind::Request(record)) = checked.into_iter().nth(2) else {
        panic!("a batch is followed by its requests")
    };
    let again = ExportLine::Request(Box::new(record.into()));
    assert_eq!(serde_json::to_string(&again).unwrap(), lines[2]);
    let cut = save(dir.path(), "cut", &lines[..lines.len() - 1]);
    let refused = verify(cut.to_str().unwrap(), &trust).unwrap_err();
    assert!(refused.contains("ends before its checkpoint"), "{refused}");
}
