//! What answers state besides their resource: the outcome of a spent nonce, the signer of a signature, the state that a
//! condition names, exact numbers, lists in the requested order.

use http_body_util::Full;
use hyper::Request;
use serde_json::{Value, json};

use crate::harness::{Answer, Caller, Server, signature};

/// Sends the same signed request, with additional headers.
async fn lock(server: &Server, caller: &Caller, nonce: u64, object: &str) -> Answer {
    let mut terms = caller.terms(server);
    terms.nonce = nonce;
    let mut headers = signature(&caller.key, &terms, &[("lock", object, "{}")]);
    headers.push(caller.bearer());
    let body = format!(r#"{{"action_type":"lock","object_id":"{object}","payload":{{}}}}"#);
    server.call("POST", "/ebus/actions", &headers, &body).await
}

fn reason(answer: &Answer) -> (&Value, &Value) {
    answer.refused(409, "NONCE_REUSED");
    (
        &answer.body["body"]["reason"],
        &answer.body["body"]["sequence"],
    )
}

// Holds invariant 136.
#[tokio::test]
async fn a_spent_nonce_says_what_came_of_it() {
    let mut server = Server::start().await;
    let ann = Caller::register(&server, "ann@example.com").await;
    let template = ann.new_template(&server, "ticket").await;
    let object = ann.new_object(&server, &template).await;
    let done = lock(&server, &ann, 100, &object).await.expect(201);
    let again = lock(&server, &ann, 100, &object).await;
    assert_eq!(reason(&again), (&json!("done"), &done.body["sequence"]));
    assert_eq!(again.header("x-nonce-highest"), "100");

    // For a request with several actions, the first action that was done is named.
    let mut terms = ann.terms(&server);
    terms.nonce = 101;
    let actions = [
        ("lock", object.as_str(), "{}"),
        ("unlock", object.as_str(), "{}"),
    ];
    let mut headers = signature(&ann.key, &terms, &actions);
    headers.push(ann.bearer());
    let body = format!(
        r#"{{"actions":[{}]}}"#,
        crate::harness::bus_members(&actions)
    );
    let path = "/ebus/actions/batch";
    let batch = server.call("POST", path, &headers, &body).await.expect(200);
    let again = server.call("POST", path, &headers, &body).await;
    let unlocked = &batch.body["results"][1]["sequence"];
    assert!(unlocked.is_u64(), "{}", batch.body);
    assert_eq!(reason(&again), (&json!("done"), unlocked));

    // A request that was refused as a whole reports that none of it was done or will be.
    lock(&server, &ann, 102, &object).await.expect(201);
    let mut terms = ann.terms(&server);
    terms.nonce = 103;
    let mut headers = signature(&ann.key, &terms, &[("lock", &object, "{}")]);
    headers.push(ann.bearer());
    let body = format!(r#"{{"action_type":"lock","object_id":"{object}","payload":{{}}}}"#);
    let send = || server.call("POST", "/ebus/actions", &headers, &body);
    send().await.refused(422, "STATE_VIOLATION");
    assert_eq!(reason(&send().await), (&json!("refused"), &Value::Null));
    let far = lock(&server, &ann, u64::MAX, &object).await;
    assert_eq!(reason(&far), (&json!("refused"), &Value::Null));

    // Below the window the outcome is unknown. Inside it the position is known, also after a restart.
    lock(&server, &ann, 3_000, &object)
        .await
        .refused(422, "STATE_VIOLATION");
    let unlock = json!({ "action_type": "unlock", "object_id": object, "payload": {} });
    let mut terms = ann.terms(&server);
    terms.nonce = 3_000;
    let mut headers = signature(&ann.key, &terms, &[("unlock", &object, "{}")]);
    headers.push(ann.bearer());
    let body = unlock.to_string();
    let done = server
        .call("POST", "/ebus/actions", &headers, &body)
        .await
        .expect(201);
    let old = lock(&server, &ann, 100, &object).await;
    assert_eq!(reason(&old), (&Value::Null, &Value::Null));
    assert_eq!(server.terminate(), Some(0));
    let mut server = server.restart().await;
    let again = server.call("POST", "/ebus/actions", &headers, &body).await;
    assert_eq!(reason(&again), (&json!("done"), &done.body["sequence"]));
    assert_eq!(server.terminate(), Some(0));
    assert!(server.verify_data().status.success());
}

// Holds invariant 136.
#[tokio::test]
async fn a_strangers_registration_is_not_told_where_a_nonce_was_spent() {
    let server = Server::start().await;
    let ann = Caller::register(&server, "ann@example.com").await;
    let body = ann.registration("again@example.com").to_string();
    let payload =
        kedge_protocol::payload::digest_text(&kedge_protocol::hash::sha256(body.as_bytes()));
    let mut terms = ann.terms(&server);
    terms.nonce = 1;
    let headers = signature(&ann.key, &terms, &[("wallet.register", "", &payload)]);
    let again = server
        .call("POST", "/wallets/register", &headers, &body)
        .await;
    assert_eq!(reason(&again), (&json!("done"), &Value::Null));
}

#[tokio::test]
async fn a_wrong_signature_names_whose_it_is() {
    let server = Server::start().await;
    let ann = Caller::register(&server, "ann@example.com").await;
    let bob = Caller::register(&server, "bob@example.com").await;
    let body = r#"{"name":"ticket"}"#;
    let mut headers = signature(
        &bob.key,
        &bob.terms(&server),
        &[("template.create", "", body)],
    );
    headers.retain(|(name, _)| *name != "x-signature-address");
    headers.push(("x-signature-address", ann.key.address().to_string()));
    headers.push(ann.bearer());
    let answer = server.call("POST", "/templates", &headers, body).await;
    answer.refused(401, "SIGNATURE_INVALID");
    let recovered = answer.body["body"]["recovered"].as_str().unwrap();
    assert_eq!(recovered.len(), 42);
    // The signer's address is signed too, so the recovered address is neither signer's.
    assert!(recovered != ann.key.address().to_string());
}

// Holds invariant 137.
#[tokio::test]
async fn if_match_is_held_to_or_refused() {
    let server = Server::start().await;
    let ann = Caller::register(&server, "ann@example.com").await;
    let template = ann.new_template(&server, "ticket").await;
    let object = ann.new_object(&server, &template).await;
    let tag = ("if-match", "\"1.0000000000000000\"".to_owned());
    let mut headers = signature(&ann.key, &ann.terms(&server), &[("lock", &object, "{}")]);
    headers.extend([ann.bearer(), tag.clone()]);
    let body = format!(r#"{{"action_type":"lock","object_id":"{object}","payload":{{}}}}"#);
    let answer = server.call("POST", "/ebus/actions", &headers, &body).await;
    answer.refused(400, "VALIDATION_ERROR");
    let message = answer.body["body"]["message"].as_str().unwrap();
    assert!(message.contains("If-Match"), "{message}");
    let read = server
        .get(&format!("/objects/{object}"), Some(&ann.token))
        .await;
    assert_eq!(read.body["status"], "active");
    for path in ["/objects", "/organizations/me", "/batches", "/healthz"] {
        let headers = [ann.bearer(), tag.clone()];
        let answer = server.call("GET", path, &headers, "").await;
        answer.refused(400, "VALIDATION_ERROR");
    }
}

#[tokio::test]
async fn an_organization_has_a_tag() {
    let server = Server::start_with(&["rate_limits=on"]).await;
    let ann = Caller::register(&server, "ann@example.com").await;
    let get = async |more: &[(&'static str, String)]| {
        let headers = [&[ann.bearer()], more].concat();
        server.call("GET", "/organizations/me", &headers, "").await
    };
    // A minute may end between two requests, but not three times in succession.
    let mut known = get(&[]).await.expect(200);
    for tries in 0..3 {
        let tag = known.header("etag").to_owned();
        assert!(tag.starts_with('"') && tag.len() > 20, "{tag}");
        let again = get(&[("if-none-match", tag.clone())]).await;
        if again.status == 304 {
            // It cost nothing, so the next answer is the same again.
            let again = get(&[("if-none-match", tag.clone())]).await;
            assert!([200, 304].contains(&again.status));
            break;
        }
        assert!(tries < 2, "never the same");
        known = again;
    }
    // A counted request and a change of a role change the answer.
    let before = get(&[]).await.expect(200);
    server.get("/objects", Some(&ann.token)).await.expect(200);
    let after = get(&[("if-none-match", before.header("etag").to_owned())]).await;
    assert_ne!(after.expect(200).header("etag"), before.header("etag"));
}

#[tokio::test]
async fn numbers_above_two_to_the_fifty_third_are_texts() {
    let server = Server::start().await;
    let ann = Caller::register(&server, "ann@example.com").await;
    let cases = [
        ("9007199254740993", "9007199254740993"),
        ("\"9007199254740993\"", "9007199254740993"),
        ("18446744073709551615", "18446744073709551615"),
        ("\"18446744073709551615\"", "18446744073709551615"),
        ("7", "7"),
    ];
    for (i, (sent, shown)) in cases.into_iter().enumerate() {
        let body = format!(r#"{{"name":"template {i}","max_supply":{sent}}}"#);
        let request = ("POST", "/templates");
        let kind = ("template.create", "");
        let made = ann.change(&server, request, kind, &body).await.expect(201);
        assert_eq!(made.body["max_supply"], shown);
        let path = format!("/templates/{}", made.body["id"].as_str().unwrap());
        let read = server.get(&path, Some(&ann.token)).await.expect(200);
        assert_eq!(read.body["max_supply"], shown);
    }
    for bad in [
        "0",
        "\"0\"",
        "\"07\"",
        "\"\"",
        "\"1e3\"",
        "-1",
        "1.5",
        "18446744073709551616",
        "\"18446744073709551616\"",
        "true",
    ] {
        let body = format!(r#"{{"name":"bad","max_supply":{bad}}}"#);
        let request = ("POST", "/templates");
        let refused = ann
            .change(&server, request, ("template.create", ""), &body)
            .await;
        refused.refused(400, "VALIDATION_ERROR");
        assert_eq!(
            refused.body["body"]["errors"][0]["pointer"], "/max_supply",
            "{bad}"
        );
    }
}

// Holds invariant 137.
#[tokio::test]
async fn a_history_goes_either_way() {
    let server = Server::start().await;
    let ann = Caller::register(&server, "ann@example.com").await;
    let template = ann.new_template(&server, "ticket").await;
    let object = ann.new_object(&server, &template).await;
    for n in 0..6 {
        let payload = format!(r#"{{"n":{n}}}"#);
        ann.action(&server, ("emit", &object, &payload))
            .await
            .expect(201);
    }
    let path = format!("/objects/{object}/history");
    let all = async |query: &str| {
        let (mut versions, mut cursor) = (Vec::new(), String::new());
        loop {
            let path = format!("{path}?limit=3{query}{cursor}");
            let page = server.get(&path, Some(&ann.token)).await.expect(200).body;
            let items = page["items"].as_array().unwrap().iter();
            versions.extend(items.map(|item| item["object_version"].as_u64().unwrap()));
            match page["cursor"].as_str() {
                Some(next) => cursor = format!("&cursor={next}"),
                None => return versions,
            }
        }
    };
    let rising: Vec<u64> = (1..=7).collect();
    let falling: Vec<u64> = (1..=7).rev().collect();
    assert_eq!(all("").await, falling);
    assert_eq!(all("&order=desc").await, falling);
    assert_eq!(all("&order=asc").await, rising);
    let offset = server
        .get(&format!("{path}?order=asc&offset=5"), Some(&ann.token))
        .await;
    assert_eq!(offset.body["items"][0]["object_version"], 6);
}

#[tokio::test]
async fn the_document_is_compressed_for_who_accepts_it() {
    let server = Server::start().await;
    let get = async |headers: &[(&str, &str)]| {
        let mut request = Request::get(format!("{}/openapi.json", server.url));
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        server.fetch(request.body(Full::default()).unwrap()).await
    };
    let (plain, document) = get(&[]).await;
    let (zipped, bytes) = get(&[("accept-encoding", "br, gzip")]).await;
    assert!(!plain.headers.contains_key("content-encoding"));
    assert_eq!(zipped.headers["content-encoding"], "gzip");
    for parts in [&plain, &zipped] {
        assert_eq!(parts.headers["vary"], "Accept-Encoding");
        assert_eq!(parts.headers["content-type"], "application/json");
    }
    // RFC 1952, 2.3.1, and the length in its trailer.
    assert_eq!(bytes[..3], [0x1f, 0x8b, 8]);
    let (_, length) = bytes.split_last_chunk::<4>().unwrap();
    assert_eq!(u32::from_le_bytes(*length) as usize, document.len());
    assert!(bytes.len() * 5 < document.len(), "{}", bytes.len());
    let (_, same) = get(&[("accept-encoding", "gzip")]).await;
    assert_eq!(bytes, same);
    // Each coding has a separate tag.
    let tag = zipped.headers["etag"].to_str().unwrap();
    assert_ne!(plain.headers["etag"], tag);
    let (known, nothing) = get(&[("accept-encoding", "gzip"), ("if-none-match", tag)]).await;
    assert_eq!((known.status.as_u16(), nothing.len()), (304, 0));
    let (other, _) = get(&[("if-none-match", tag)]).await;
    assert_eq!(other.status.as_u16(), 200);
}
