//! Input that is not HTTP is refused in the service's own form.

use http_body_util::Full;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use super::{ask, connect_from, connect_http2, http2_request, read_answer};
use crate::harness::{Caller, Server};

// Holds invariant 122.
#[tokio::test]
async fn what_cannot_be_parsed_is_refused_like_everything_else() {
    let server = Server::start().await;
    let long = format!(
        "GET / HTTP/1.1\r\nHost: a\r\nX-Long: {}\r\n\r\n",
        "y".repeat(40_000)
    );
    let many = format!(
        "GET / HTTP/1.1\r\nHost: a\r\n{}\r\n",
        "X-Filler: y\r\n".repeat(200)
    );
    let bad = "VALIDATION_ERROR";
    let large = "HEADERS_TOO_LARGE";
    let cases = [
        ("GET / HTTP/1.1 what\r\nHost: a\r\n\r\n", 400, bad),
        ("\u{1}\u{2}\u{3}\r\n\r\n", 400, bad),
        ("GET /a b HTTP/1.1\r\nHost: a\r\n\r\n", 400, bad),
        ("GET / HTTP/3.7\r\nHost: a\r\n\r\n", 400, bad),
        ("GET / HTTP/1.1\r\nHost: a\r\nBad Name: x\r\n\r\n", 400, bad),
        (
            "GET / HTTP/1.1\r\nHost: a\r\nContent-Length: -1\r\n\r\n",
            400,
            bad,
        ),
        ("GET /healthz HTTP/1.1\r\n\r\n", 400, bad),
        (
            "GET /healthz HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n",
            400,
            bad,
        ),
        ("GET /healthz HTTP/1.1\r\nHost: a b/c\r\n\r\n", 400, bad),
        ("GET /healthz HTTP/1.1\r\nHost: a@b\r\n\r\n", 400, bad),
        (&long, 431, large),
        (&many, 431, large),
    ];
    for (request, status, code) in cases {
        let answer = ask(&mut connect_from(&server, 1).await, request).await;
        answer.refused(status, code);
        assert_eq!(answer.header("content-type"), Some("application/json"));
        assert_eq!(answer.header("x-content-type-options"), Some("nosniff"));
        assert!(answer.header("date").is_some() && answer.header("x-sequence").is_some());
    }
    // HTTP/1.0 needs no Host.
    let old = ask(
        &mut connect_from(&server, 1).await,
        "GET /healthz HTTP/1.0\r\n\r\n",
    )
    .await;
    assert_eq!(old.status(), 200);
}

// Holds invariant 122.
#[tokio::test]
async fn a_host_names_the_same_as_a_target_with_a_host() {
    let server = Server::start().await;
    for (target, rest, status) in [
        ("http://a/healthz", "1.1\r\nHost: a", 200),
        ("http://A:80/healthz", "1.1\r\nHost: a", 200),
        ("http://a/healthz", "1.0", 200),
        ("http://a/healthz", "1.1\r\nHost: b", 400),
        ("http://a:8080/healthz", "1.1\r\nHost: a", 400),
        ("http://a/healthz", "1.1\r\nHost:", 400),
        ("http://a@b/healthz", "1.1\r\nHost: b", 400),
        ("http://a@b/healthz", "1.0", 400),
    ] {
        let request = format!("GET {target} HTTP/{rest}\r\n\r\n");
        let answer = ask(&mut connect_from(&server, 1).await, &request).await;
        assert_eq!(answer.status(), status, "{request}");
    }
}

// Holds invariant 122.
/// A chunked message has no other coding, because a proxy may read such a body differently.
#[tokio::test]
async fn the_only_coding_of_a_message_is_chunked() {
    let server = Server::start().await;
    let ask_with = async |fields: &str| {
        let request = format!("GET /healthz HTTP/1.1\r\nHost: a\r\n{fields}\r\n0\r\n\r\n");
        ask(&mut connect_from(&server, 1).await, &request).await
    };
    for coding in ["chunked", "Chunked", " chunked\t"] {
        let answer = ask_with(&format!("Transfer-Encoding:{coding}\r\n")).await;
        assert_eq!(answer.status(), 200, "{coding}");
    }
    for codings in [
        "Transfer-Encoding: gzip, chunked\r\n",
        "Transfer-Encoding: chunked, chunked\r\n",
        "Transfer-Encoding: , chunked\r\n",
        "Transfer-Encoding: identity, chunked\r\n",
        "Transfer-Encoding: gzip\r\nTransfer-Encoding: chunked\r\n",
        "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n",
        "Transfer-Encoding: chunked, gzip\r\n",
    ] {
        let answer = ask_with(codings).await;
        answer.refused(400, "VALIDATION_ERROR");
        assert!(answer.closes(), "{codings}: {answer:?}");
    }
}

// Holds invariant 226.
/// A page in a browser can read why its request could not be parsed, like any other refusal.
#[tokio::test]
async fn a_page_may_read_the_refusal_of_what_cannot_be_parsed() {
    const A: &str = "https://a.example";
    const B: &str = "https://b.example";
    let one = Server::start_with(&[&format!("cors_origins=[\"{A}\"]")]).await;
    let two = Server::start_with(&[&format!("cors_origins=[\"{A}\", \"{B}\"]")]).await;
    let all = Server::start_with(&["cors_origins=[\"*\"]"]).await;
    let none = Server::start().await;
    let bad = |origin: &str| {
        format!("GET /healthz HTTP/1.1\r\nHost: a\r\nOrigin: {origin}\r\nBad Name: x\r\n\r\n")
    };
    let large = |origin: &str| {
        let long = "y".repeat(40_000);
        format!("GET / HTTP/1.1\r\nHost: a\r\nOrigin: {origin}\r\nX-Long: {long}\r\n\r\n")
    };
    for (server, origin, allowed) in [
        (&one, A, Some(A)),
        (&two, B, Some(B)),
        (&two, "https://c.example", None),
        (&all, B, Some("*")),
        (&none, A, None),
    ] {
        for request in [bad(origin), large(origin)] {
            let answer = ask(&mut connect_from(server, 1).await, &request).await;
            assert!([400, 431].contains(&answer.status()), "{answer:?}");
            let header = answer.header("access-control-allow-origin");
            assert_eq!(header, allowed, "{origin}: {answer:?}");
            let exposed = answer.header("access-control-expose-headers");
            assert_eq!(exposed.is_some(), allowed.is_some());
        }
    }
    let vary = ask(&mut connect_from(&two, 1).await, &bad(A)).await;
    assert_eq!(vary.header("vary"), Some("Origin"));
}

// Holds invariant 122.
#[tokio::test]
async fn a_field_that_decides_who_asks_or_for_what_occurs_once() {
    let server = Server::start().await;
    let ann = Caller::register(&server, "ann@example.com").await;
    let bob = Caller::register(&server, "bob@example.com").await;
    let (name, of_ann) = ann.bearer();
    let (_, of_bob) = bob.bearer();
    let twice = [
        ("authorization", of_ann.as_str(), of_bob.as_str()),
        ("content-type", "application/json", "text/plain"),
        ("origin", "https://a.example", "https://b.example"),
        ("if-range", "\"a\"", "\"b\""),
        ("last-event-id", "1.0", "2.0"),
    ];
    let (mut http2, _ended) = connect_http2(&server, 1 << 20).await;
    for (field, one, other) in twice {
        let request = format!(
            "GET /wallets/me HTTP/1.1\r\nHost: a\r\n{name}: {of_ann}\r\n{field}: {one}\r\n{field}: {other}\r\n\r\n"
        );
        let answer = ask(&mut connect_from(&server, 1).await, &request).await;
        answer.refused(400, "VALIDATION_ERROR");
        let message = answer.body.to_string();
        assert!(message.contains(field), "{message}");
        let request = http2_request(&server, "GET", "/wallets/me", "")
            .header(field, one)
            .header(field, other);
        let response = http2.send_request(request.body(Full::default()).unwrap());
        assert_eq!(response.await.unwrap().status(), 400, "{field}");
    }
    // Fields that are lists may occur as often as they like.
    let request = format!(
        "GET /wallets/me HTTP/1.1\r\nHost: a\r\n{name}: {of_ann}\r\nAccept: text/html\r\nAccept: application/json\r\n\r\n"
    );
    let answer = ask(&mut connect_from(&server, 1).await, &request).await;
    assert_eq!(answer.status(), 200);
}

// Holds invariant 122.
#[tokio::test]
async fn over_http2_a_host_names_the_same_as_the_authority() {
    let server = Server::start().await;
    let (mut sender, _ended) = connect_http2(&server, 1 << 20).await;
    let authority = server.address();
    let port = authority.rsplit_once(':').unwrap().1;
    let cases = [
        (Some(authority.to_owned()), 200),
        (None, 200),
        (Some("other.example".to_owned()), 400),
        (Some(format!("127.0.0.1:1{port}")), 400),
        (Some("127.0.0.1".to_owned()), 400),
        (Some(format!("user@{authority}")), 400),
        (Some("not a host/".to_owned()), 400),
    ];
    for (host, status) in cases {
        let mut request = http2_request(&server, "GET", "/healthz", "");
        if let Some(host) = &host {
            request = request.header("host", host);
        }
        let response = sender.send_request(request.body(Full::default()).unwrap());
        assert_eq!(response.await.unwrap().status(), status, "{host:?}");
    }
    let uri = format!("http://user@{authority}/healthz");
    let request = hyper::Request::get(uri).body(Full::default()).unwrap();
    let response = sender.send_request(request).await.unwrap();
    assert_eq!(response.status(), 400);
}

// Holds invariant 122.
#[tokio::test]
async fn a_bad_request_after_good_ones_leaves_their_answers_as_they_are() {
    let server = Server::start().await;
    let mut stream = connect_from(&server, 1).await;
    let good = "GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n";
    let requests = format!("{good}{good}NO HTTP\r\n\r\n");
    stream.write_all(requests.as_bytes()).await.unwrap();
    let mut all = String::new();
    stream.read_to_string(&mut all).await.unwrap();
    assert_eq!(all.matches("HTTP/1.1 200").count(), 2, "{all}");
    assert_eq!(all.matches("HTTP/1.1 400").count(), 1, "{all}");
    assert!(all.trim_end().ends_with('}'), "{all}");
    // One request after the other, on a connection with pauses between them.
    let mut stream = connect_from(&server, 1).await;
    assert_eq!(ask(&mut stream, good).await.status(), 200);
    stream.write_all(b"NO HTTP\r\n\r\n").await.unwrap();
    read_answer(&mut stream)
        .await
        .refused(400, "VALIDATION_ERROR");
}

// Holds invariant 122.
#[tokio::test]
async fn headers_that_are_too_large_over_http2_are_refused_too() {
    let server = Server::start().await;
    let (mut sender, _ended) = connect_http2(&server, 1 << 20).await;
    for (count, bytes) in [(1, 40_000), (150, 10)] {
        let mut request = http2_request(&server, "GET", "/healthz", "");
        for number in 0..count {
            request = request.header(format!("x-filler-{number}"), "y".repeat(bytes));
        }
        let response = sender.send_request(request.body(Full::default()).unwrap());
        let response = response.await.unwrap();
        assert_eq!(response.status(), 431);
        assert!(response.headers().contains_key("x-request-id"));
        assert!(response.headers().contains_key("x-ratelimit-limit"));
    }
    // An oversized request is refused while it is parsed.
    let mut request = http2_request(&server, "GET", "/healthz", "");
    for _ in 0..2_500 {
        request = request.header("x", "y");
    }
    let response = sender.send_request(request.body(Full::default()).unwrap());
    let response = response.await.unwrap();
    assert_eq!(response.status(), 431);
    assert!(!response.headers().contains_key("x-request-id"));
    let request = http2_request(&server, "GET", "/healthz", "");
    let response = sender.send_request(request.body(Full::default()).unwrap());
    assert_eq!(response.await.unwrap().status(), 200);
}
