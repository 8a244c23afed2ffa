//! Pages of other origins: which may call, and which parts of answers they may read.

use crate::ask::{Ask, Got, send};
use crate::check::every_answer;
use crate::harness::Server;
use crate::row::NOBODY;

const APP: &str = "https://app.example.com";

async fn asked(server: &Server, method: &str, path: &str, origin: &str) -> Got {
    let mut ask = Ask::get(path).with("origin", origin);
    if method == "OPTIONS" {
        ask = ask.with("access-control-request-method", "PATCH").with(
            "access-control-request-headers",
            "authorization,x-signature",
        );
    }
    let got = send(server, method, &ask, &[]).await;
    every_answer(&got);
    got
}

#[track_caller]
fn readable(got: &Got, origin: &str) {
    assert_eq!(
        got.header("access-control-allow-origin"),
        origin,
        "{}",
        got.reported()
    );
    let exposed: Vec<&str> = got
        .header("access-control-expose-headers")
        .split(", ")
        .collect();
    for name in [
        "X-Request-Id",
        "X-RateLimit-Limit",
        "X-RateLimit-Remaining",
        "X-RateLimit-Reset",
        "RateLimit",
        "RateLimit-Policy",
        "X-Sequence",
        "X-Nonce-Highest",
        "ETag",
        "Retry-After",
        "Idempotent-Replayed",
        "Link",
        "Location",
    ] {
        assert!(exposed.contains(&name), "{name}: {exposed:?}");
    }
}

#[track_caller]
fn hidden(got: &Got) {
    assert!(
        got.headers.get("access-control-allow-origin").is_none(),
        "{}",
        got.reported()
    );
    assert!(
        got.headers.get("access-control-allow-methods").is_none(),
        "{}",
        got.reported()
    );
}

// Holds invariant 55.
#[tokio::test]
async fn pages_of_listed_origins_may_call_and_read() {
    let option = format!("cors_origins=[{APP:?}, \"http://localhost:5173\"]");
    let server = Server::start_with(&[&option]).await;
    let object = format!("/objects/obj_{NOBODY}");
    let preflight = asked(&server, "OPTIONS", &object, APP).await;
    assert_eq!(preflight.status, 204, "{}", preflight.reported());
    readable(&preflight, APP);
    let methods = preflight.header("access-control-allow-methods");
    assert!(
        methods.contains("PATCH") && methods.contains("GET"),
        "{methods}"
    );
    let sent = preflight.header("access-control-allow-headers");
    for name in [
        "Authorization",
        "X-Api-Key",
        "X-Signature-Salt",
        "Idempotency-Key",
        "If-Match",
    ] {
        assert!(sent.contains(name), "{name}: {sent}");
    }
    assert!(preflight.headers.get("access-control-max-age").is_some());
    // Refusals can be read too, and caches keep each origin's answers apart.
    for (path, status) in [("/healthz", 200), (object.as_str(), 401), ("/moons", 404)] {
        let got = asked(&server, "GET", path, APP).await;
        assert_eq!(got.status, status);
        readable(&got, APP);
        assert_eq!(got.header("vary"), "Origin");
        for other in [
            "https://evil.example.com",
            "null",
            "https://app.example.com.evil.com",
        ] {
            let got = asked(&server, "GET", path, other).await;
            assert_eq!(got.status, status);
            hidden(&got);
            assert_eq!(got.header("vary"), "Origin");
        }
    }
    let evil = asked(&server, "OPTIONS", &object, "https://evil.example.com").await;
    assert_eq!(evil.status, 405);
    hidden(&evil);
    assert_eq!(asked(&server, "OPTIONS", "/moons", APP).await.status, 404);
}

#[tokio::test]
async fn by_default_no_page_may_and_a_star_lets_all() {
    let server = Server::start().await;
    hidden(&asked(&server, "OPTIONS", "/objects", APP).await);
    let got = asked(&server, "GET", "/healthz", APP).await;
    hidden(&got);
    assert!(got.headers.get("vary").is_none());
    let open = Server::start_with(&["cors_origins=[\"*\"]"]).await;
    let preflight = asked(&open, "OPTIONS", "/objects", "https://any.example").await;
    assert_eq!(preflight.status, 204);
    readable(&preflight, "*");
    readable(
        &asked(&open, "GET", "/healthz", "https://any.example").await,
        "*",
    );
}
