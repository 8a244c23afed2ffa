//! Refusals before the body was read: a caller that is still sending gets the answer, and knows whether the connection
//! stays open.

use std::time::Duration;

use bytes::Bytes;
use http_body_util::{BodyExt as _, Full};
use hyper::Request;
use kedge_client::sign::unix_now_s;
use serde_json::{Value, json};
use tokio::io::AsyncWriteExt;

use super::{Raw, ask, connect_from, connect_http2, http2_request, post, read_answer};
use crate::harness::{Caller, Server};

const TIMES: usize = 20;

/// A request that is refused before its body is read.
struct Refusal {
    method: &'static str,
    path: &'static str,
    fields: Vec<(&'static str, String)>,
    status: u16,
    code: &'static str,
}

async fn refusals(server: &Server, ann: &Caller) -> Vec<Refusal> {
    let token = |text: &str| ("authorization", format!("Bearer {text}"));
    let expired = ann.token_until(server, unix_now_s() - 60).await;
    let json = ("content-type", "application/json".to_owned());
    let text = ("content-type", "text/plain".to_owned());
    let of = |method, path, fields: &[&(&'static str, String)], status, code| Refusal {
        method,
        path,
        fields: fields.iter().map(|field| (*field).clone()).collect(),
        status,
        code,
    };
    let (good, bad, expired) = (token(&ann.token), token("e30.e30.AAAA"), token(&expired));
    vec![
        of("POST", "/files", &[&json], 401, "UNAUTHENTICATED"),
        of("POST", "/objects", &[&json, &bad], 401, "UNAUTHENTICATED"),
        of("POST", "/objects", &[&json, &expired], 401, "TOKEN_EXPIRED"),
        of(
            "POST",
            "/objects",
            &[&json, &good],
            401,
            "SIGNATURE_REQUIRED",
        ),
        of("POST", "/nothing", &[&json], 404, "RESOURCE_NOT_FOUND"),
        of(
            "PUT",
            "/objects",
            &[&json, &good],
            405,
            "METHOD_NOT_ALLOWED",
        ),
        of(
            "POST",
            "/objects/search",
            &[&text, &good],
            415,
            "UNSUPPORTED_MEDIA_TYPE",
        ),
        of(
            "POST",
            "/objects/search?nothing=1",
            &[&json, &good],
            400,
            "VALIDATION_ERROR",
        ),
        of("POST", "/wallets/login", &[&json], 413, "PAYLOAD_TOO_LARGE"),
    ]
}

fn head(method: &str, path: &str, fields: &[(&str, String)], length: usize) -> String {
    let fields: String = fields.iter().fold(String::new(), |text, (name, value)| {
        text + &format!("{name}: {value}\r\n")
    });
    format!("{method} {path} HTTP/1.1\r\nHost: a\r\nContent-Length: {length}\r\n{fields}\r\n")
}

// Holds invariant 121.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn whoever_sends_in_two_writes_gets_the_answer_and_keeps_the_connection() {
    let server = Server::start().await;
    let ann = Caller::register(&server, "ann@example.com").await;
    for refusal in refusals(&server, &ann).await {
        let path = refusal.path;
        for length in [20_000, 2_000_000] {
            let mut stream = connect_from(&server, 1).await;
            for time in 0..TIMES {
                let head = head(refusal.method, path, &refusal.fields, length);
                stream.write_all(head.as_bytes()).await.unwrap();
                tokio::time::sleep(Duration::from_millis(2)).await;
                // If the server had closed the connection by now, it would reset it.
                let body = vec![b' '; length];
                let sent = stream.write_all(&body).await;
                sent.unwrap_or_else(|error| panic!("{path} {time}: {error}"));
                let answer = read_answer(&mut stream).await;
                answer.refused(refusal.status, refusal.code);
                assert!(!answer.closes());
            }
        }
    }
    let v2 = head("POST", "/v2/user/profile", &[], 5_000);
    let mut stream = connect_from(&server, 1).await;
    for _ in 0..TIMES {
        stream.write_all(v2.as_bytes()).await.unwrap();
        tokio::time::sleep(Duration::from_millis(2)).await;
        stream.write_all(&[b' '; 5_000]).await.unwrap();
        assert_eq!(read_answer(&mut stream).await.status(), 301);
    }
}

// Holds invariant 121.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn whoever_sends_more_than_is_read_gets_the_answer_and_sees_that_the_connection_ends() {
    const LENGTH: usize = 40_000_000;
    let server = Server::start().await;
    for _ in 0..3 {
        let mut stream = connect_from(&server, 1).await;
        let head = head("POST", "/nothing", &[], LENGTH);
        stream.write_all(head.as_bytes()).await.unwrap();
        let piece = vec![b' '; 1_000_000];
        for _ in 0..LENGTH / piece.len() {
            stream.write_all(&piece).await.unwrap();
        }
        let answer = read_answer(&mut stream).await;
        answer.refused(404, "RESOURCE_NOT_FOUND");
        assert!(answer.closes());
    }
    // A caller that sent `Expect` does not have to send the body.
    let expects = [
        ("Expect", "100-continue".to_owned()),
        ("Content-Length", "9000".to_owned()),
    ];
    let answer = ask(
        &mut connect_from(&server, 1).await,
        &post("/objects", &expects),
    )
    .await;
    answer.refused(401, "UNAUTHENTICATED");
    assert!(answer.closes());
}

// Holds invariant 121.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn over_http2_every_refusal_arrives() {
    let server = Server::start().await;
    let ann = Caller::register(&server, "ann@example.com").await;
    let (mut sender, _ended) = connect_http2(&server, 1 << 20).await;
    for refusal in refusals(&server, &ann).await {
        let path = refusal.path;
        for length in [20_000, 1_000_000, 30_000_000] {
            let mut request = http2_request(&server, refusal.method, path, "");
            for (name, value) in &refusal.fields {
                request = request.header(*name, value);
            }
            let body = Full::new(Bytes::from(vec![b' '; length]));
            sender.ready().await.unwrap();
            let response = sender.send_request(request.body(body).unwrap()).await;
            let response = response.unwrap_or_else(|error| panic!("{path} {length}: {error:?}"));
            assert_eq!(response.status(), refusal.status, "{path} {length}");
            let body = response.into_body().collect().await.unwrap().to_bytes();
            let body: Value = serde_json::from_slice(&body).unwrap();
            assert_eq!(body["code"], refusal.code);
        }
    }
}

// Holds invariant 121.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_client_that_keeps_connections_gets_every_refusal() {
    let server = Server::start().await;
    let ann = Caller::register(&server, "ann@example.com").await;
    for refusal in refusals(&server, &ann).await {
        // If the body is too large for the server to read, the next request uses another connection.
        for length in [20_000, 2_000_000, 30_000_000] {
            let body = " ".repeat(length);
            let mut request = Request::builder()
                .method(refusal.method)
                .uri(format!("{}{}", server.url, refusal.path));
            for (name, value) in &refusal.fields {
                request = request.header(*name, value);
            }
            let request = request.body(Full::new(Bytes::from(body))).unwrap();
            let answer = server.send(request).await;
            answer.refused(refusal.status, refusal.code);
        }
    }
}

/// Sends a signed request whose answer must state the highest nonce, 2.
async fn send_signed(server: &Server, fields: Vec<(&'static str, String)>, body: &str) -> Raw {
    let mut fields = fields;
    fields.push(("Content-Length", body.len().to_string()));
    let request = post("/templates", &fields) + body;
    ask(&mut connect_from(server, 1).await, &request).await
}

// Holds invariant 123.
#[tokio::test]
async fn refusals_of_signed_requests_tell_the_highest_nonce_to_whom_it_concerns() {
    let server = Server::start().await;
    let ann = Caller::register(&server, "ann@example.com").await;
    let bob = Caller::register(&server, "bob@example.com").await;
    ann.new_template(&server, "ticket").await;
    let token = |of: &Caller| ("authorization", format!("Bearer {}", of.token));
    let good = json!({ "name": "other" }).to_string();
    let signed = |of: &Caller, by: &Caller| {
        let mut fields = by.false_signature(&server);
        fields.push(token(of));
        fields
    };
    // The signature is wrong, but the address is the caller's own.
    let wrong = send_signed(&server, signed(&ann, &ann), &good).await;
    wrong.refused(401, "SIGNATURE_INVALID");
    assert_eq!(wrong.header("x-nonce-highest"), Some("2"));
    let malformed = send_signed(&server, signed(&ann, &ann), "{").await;
    malformed.refused(400, "MALFORMED_JSON");
    assert_eq!(malformed.header("x-nonce-highest"), Some("2"));
    let mut late = signed(&ann, &ann);
    for (name, value) in &mut late {
        if *name == "x-signature-deadline" {
            *value = "1".to_owned();
        }
    }
    let late = send_signed(&server, late, &good).await;
    late.refused(401, "DEADLINE_EXPIRED");
    assert_eq!(late.header("x-nonce-highest"), Some("2"));
    // Another caller's address reveals nothing.
    for fields in [signed(&bob, &ann), ann.false_signature(&server)] {
        let foreign = send_signed(&server, fields, &good).await;
        assert_eq!(foreign.status(), 401);
        assert_eq!(foreign.header("x-nonce-highest"), None);
    }
}
