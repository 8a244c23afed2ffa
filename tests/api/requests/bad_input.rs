//! Wrong input is refused with the code for its fault, and changes nothing.

use bytes::Bytes;
use http_body_util::Full;
use hyper::Request;
use kedge_client::sign::unix_now_s;
use kedge_protocol::Address;
use kedge_protocol::eip712::Domain;
use serde_json::json;

use crate::harness::{Answer, Caller, Server, Signed, Terms, bus_members, signature};

/// The text that each request signs, the text that it sends, and its refusal.
fn wrongly_signed<'a>(
    domain: &Domain,
    good: impl Fn() -> Terms,
    body: &'a str,
) -> [(Terms, &'a str, u16, &'a str); 8] {
    let other_chain = Domain {
        chain_id: 1,
        ..*domain
    };
    let other_contract = Domain {
        verifying_contract: Address([7; 20]),
        ..*domain
    };
    let in_domain = |domain| Terms { domain, ..good() };
    let until = |deadline_s| Terms {
        deadline_s,
        ..good()
    };
    let with_nonce = |nonce| Terms { nonce, ..good() };
    let atomic = Terms {
        atomic: true,
        ..good()
    };
    let other_body = r#"{"properties": {"a": 2}}"#;
    let now_s = unix_now_s();
    [
        (in_domain(other_chain), body, 401, "SIGNATURE_INVALID"),
        (in_domain(other_contract), body, 401, "SIGNATURE_INVALID"),
        (atomic, body, 401, "SIGNATURE_INVALID"),
        (good(), other_body, 401, "SIGNATURE_INVALID"),
        (until(now_s - 1), body, 401, "DEADLINE_EXPIRED"),
        (until(now_s + 90_000), body, 400, "VALIDATION_ERROR"),
        (with_nonce(1), body, 409, "NONCE_REUSED"),
        (with_nonce(1 << 40), body, 409, "NONCE_REUSED"),
    ]
}

#[tokio::test]
async fn signatures_that_are_not_right() {
    let server = Server::start().await;
    let ann = Caller::register(&server, "ann@example.com").await;
    let bob = Caller::register(&server, "bob@example.com").await;
    let template_id = ann.new_template(&server, "ticket").await;
    let object_id = ann.new_object(&server, &template_id).await;
    let before = server.sequence().await;

    let path = format!("/objects/{object_id}");
    let body = r#"{"properties": {"a": 1}}"#;
    let send = |key: &Caller, terms: Terms, sent: &'static str| {
        let mut headers = signature(&key.key, &terms, &[("update", &object_id, body)]);
        headers.push(ann.bearer());
        let (server, path) = (&server, &path);
        async move { server.call("PATCH", path, &headers, sent).await }
    };
    let good = || ann.terms(&server);
    for (terms, sent, status, code) in wrongly_signed(&server.domain, good, body) {
        let answer = send(&ann, terms, sent).await;
        answer.refused(status, code);
        if code == "NONCE_REUSED" {
            assert_eq!(answer.header("x-nonce-highest"), "3");
        }
    }
    // Bob's signature is valid, but not for Ann's wallet.
    send(&bob, bob.terms(&server), body)
        .await
        .refused(403, "FORBIDDEN");
    let unsigned = server.call("PATCH", &path, &[ann.bearer()], body).await;
    unsigned.refused(401, "SIGNATURE_REQUIRED");
    let headers = signature(&ann.key, &good(), &[("update", &object_id, body)]);
    server
        .call("PATCH", &path, &headers, body)
        .await
        .refused(401, "UNAUTHENTICATED");
    assert_eq!(server.sequence().await, before);

    // Replays of a request that was done, and of one that was refused as a whole.
    let terms = good();
    send(&ann, terms, body).await.expect(200);
    send(&ann, terms, body).await.refused(409, "NONCE_REUSED");
    let lock: [Signed<'_>; 1] = [("unlock", &object_id, "{}")];
    let mut headers = signature(&ann.key, &good(), &lock);
    headers.push(ann.bearer());
    let action = bus_members(&lock);
    let first = server
        .call("POST", "/ebus/actions", &headers, &action)
        .await;
    first.refused(422, "STATE_VIOLATION");
    let again = server
        .call("POST", "/ebus/actions", &headers, &action)
        .await;
    again.refused(409, "NONCE_REUSED");
}

#[tokio::test]
async fn bodies_that_are_not_right() {
    let server = Server::start().await;
    let ann = Caller::register(&server, "ann@example.com").await;
    let template_id = ann.new_template(&server, "ticket").await;
    let object_id = ann.new_object(&server, &template_id).await;
    let before = server.sequence().await;

    let deep = format!(
        r#"{{"properties": {{"a": {}1{}}}}}"#,
        "[".repeat(70),
        "]".repeat(70)
    );
    let cases = [
        ("{", 400, "MALFORMED_JSON"),
        (r#"{"properties": {"a": 1, "a": 2}}"#, 400, "MALFORMED_JSON"),
        (deep.as_str(), 400, "MALFORMED_JSON"),
        (r#"{"properties": {}} x"#, 400, "MALFORMED_JSON"),
        (r#"{"properties": 5}"#, 400, "VALIDATION_ERROR"),
        (r#"{"propertys": {}}"#, 400, "VALIDATION_ERROR"),
        ("[]", 400, "VALIDATION_ERROR"),
    ];
    let path = format!("/objects/{object_id}");
    for (body, status, code) in cases {
        let answer = ann
            .change(&server, ("PATCH", &path), ("update", &object_id), body)
            .await;
        answer.refused(status, code);
    }
    let unknown = r#"{"propertys": {}}"#;
    let answer = ann
        .change(&server, ("PATCH", &path), ("update", &object_id), unknown)
        .await;
    assert_eq!(answer.body["body"]["errors"][0]["pointer"], "/propertys");

    let mut headers = signature(
        &ann.key,
        &ann.terms(&server),
        &[("update", &object_id, "{}")],
    );
    headers.extend([ann.bearer(), ("content-type", "text/plain".to_owned())]);
    let answer = server.call("PATCH", &path, &headers, "").await;
    answer.refused(415, "UNSUPPORTED_MEDIA_TYPE");

    let missing = json!({ "properties": {} });
    ann.mint(&server, &missing)
        .await
        .refused(400, "VALIDATION_ERROR");
    let nowhere = json!({ "template_id": "tpl_00000000000000000000000000" });
    ann.mint(&server, &nowhere)
        .await
        .refused(404, "RESOURCE_NOT_FOUND");
    assert_eq!(server.sequence().await, before);
}

#[tokio::test]
async fn sizes_that_are_not_right() {
    let server = Server::start().await;
    let ann = Caller::register(&server, "ann@example.com").await;
    let template_id = ann.new_template(&server, "ticket").await;
    let object_id = ann.new_object(&server, &template_id).await;
    let path = format!("/objects/{object_id}");
    let patch = |bytes: usize| {
        // {"a":"…"} has eight bytes around its text.
        let text = "x".repeat(bytes - 8);
        let (server, ann, path, object_id) = (&server, &ann, &path, &object_id);
        async move {
            let body = format!(r#"{{"properties":{{"a":"{text}"}}}}"#);
            ann.change(server, ("PATCH", path), ("update", object_id), &body)
                .await
        }
    };
    let before = server.sequence().await;
    patch(1_048_577).await.refused(413, "OBJECT_TOO_LARGE");
    assert_eq!(server.sequence().await, before);
    patch(1_048_576).await.expect(200);
    let before = server.sequence().await;

    let lock: [Signed<'_>; 1] = [("lock", &object_id, "{}")];
    let batch = |count: usize| {
        let mut headers = signature(&ann.key, &ann.terms(&server), &lock);
        headers.push(ann.bearer());
        let members = vec![bus_members(&lock); count].join(",");
        let server = &server;
        async move {
            let body = format!(r#"{{"actions":[{members}]}}"#);
            server
                .call("POST", "/ebus/actions/batch", &headers, &body)
                .await
        }
    };
    let empty = batch(0).await;
    empty.refused(400, "VALIDATION_ERROR");
    assert_eq!(empty.body["body"]["errors"][0]["pointer"], "/actions");
    batch(501).await.refused(413, "BATCH_TOO_LARGE");

    let mut headers = signature(&ann.key, &ann.terms(&server), &lock);
    headers.push(ann.bearer());
    let huge = " ".repeat(16 * 1024 * 1024 + 1);
    let answer = server
        .call("POST", "/ebus/actions/batch", &headers, &huge)
        .await;
    answer.refused(413, "PAYLOAD_TOO_LARGE");
    assert_eq!(server.sequence().await, before);
}

#[tokio::test]
async fn bus_bodies_that_are_not_right() {
    let server = Server::start().await;
    let ann = Caller::register(&server, "ann@example.com").await;
    let template_id = ann.new_template(&server, "ticket").await;
    let object_id = ann.new_object(&server, &template_id).await;
    let before = server.sequence().await;
    let cases = [
        (
            r#"{"action_type": "explode", "object_id": "o"}"#,
            "/action_type",
        ),
        (
            r#"{"action_type": "template.create", "object_id": "o"}"#,
            "/action_type",
        ),
        (r#"{"action_type": 5, "object_id": "o"}"#, "/action_type"),
        (r#"{"action_type": "lock"}"#, "/object_id"),
        (r#"{"action_type": "mint", "object_id": "o"}"#, "/object_id"),
        (
            r#"{"action_type": "lock", "object_id": "o", "colour": 1}"#,
            "/colour",
        ),
    ];
    for (body, pointer) in cases {
        let action: [Signed<'_>; 1] = [("lock", &object_id, "{}")];
        let mut headers = signature(&ann.key, &ann.terms(&server), &action);
        headers.push(ann.bearer());
        let answer = server.call("POST", "/ebus/actions", &headers, body).await;
        answer.refused(400, "VALIDATION_ERROR");
        assert_eq!(
            answer.body["body"]["errors"][0]["pointer"], pointer,
            "{body}"
        );
    }
    let payload = ann
        .action(&server, ("lock", &object_id, r#"{"why": 1}"#))
        .await;
    payload.refused(400, "VALIDATION_ERROR");
    assert_eq!(payload.body["body"]["errors"][0]["pointer"], "/payload/why");
    let custom = ann.action(&server, ("x.redeem", &object_id, "{}")).await;
    custom.refused(403, "FORBIDDEN");
    assert_eq!(server.sequence().await, before);
}

// Holds invariant 231.
/// A PATCH takes a merge patch under its media type, and every answer that should says so.
#[tokio::test]
async fn a_merge_patch_is_taken_by_its_name() {
    let server = Server::start().await;
    let ann = Caller::register(&server, "ann@example.com").await;
    let template_id = ann.new_template(&server, "ticket").await;
    let object_id = ann.new_object(&server, &template_id).await;
    let path = format!("/objects/{object_id}");
    let stated = "application/merge-patch+json, application/json";
    for (version, media_type) in [
        (2, "application/merge-patch+json"),
        (3, "application/merge-patch+json; charset=utf-8"),
        (4, "application/vnd.kedge+json;charset=UTF-8"),
        (5, "application/json; charset=utf-8"),
    ] {
        let body = format!(r#"{{"properties":{{"n":{version}}}}}"#);
        let answer = patched(&server, &ann, &object_id, media_type, &body).await;
        let answer = answer.expect(200);
        assert_eq!(answer.body["version"], version, "{media_type}");
    }
    for media_type in ["application/json-patch+json", "text/plain"] {
        let answer = patched(&server, &ann, &object_id, media_type, "[]").await;
        answer.refused(415, "UNSUPPORTED_MEDIA_TYPE");
        assert_eq!(answer.header("accept-patch"), stated);
    }
    let read = server.get(&path, Some(&ann.token)).await.expect(200);
    assert_eq!(read.header("accept-patch"), stated);
    let asked = server.call("OPTIONS", &path, &[], "").await;
    asked.refused(405, "METHOD_NOT_ALLOWED");
    assert_eq!(asked.header("accept-patch"), stated);
    for other in ["/objects", "/templates?limit=1"] {
        let read = server.get(other, Some(&ann.token)).await.expect(200);
        assert!(!read.headers.contains_key("accept-patch"), "{other}");
    }
}

/// Sends a PATCH of an object under a media type.
async fn patched(
    server: &Server,
    caller: &Caller,
    object_id: &str,
    media_type: &str,
    body: &str,
) -> Answer {
    let mut headers = signature(
        &caller.key,
        &caller.terms(server),
        &[("update", object_id, body)],
    );
    headers.extend([caller.bearer(), ("content-type", media_type.to_owned())]);
    let path = format!("/objects/{object_id}");
    let mut request = Request::builder()
        .method("PATCH")
        .uri(format!("{}{path}", server.url));
    for (name, value) in &headers {
        request = request.header(*name, value);
    }
    let body = Full::new(Bytes::copy_from_slice(body.as_bytes()));
    server.send(request.body(body).unwrap()).await
}
