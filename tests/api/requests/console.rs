//! The console's paths, on a program with the console and on one without; both answer in the service's form.

use bytes::Bytes;
use http_body_util::Full;
use hyper::Request;

use crate::harness::Server;

/// The status, the headers by name, and the text of an answer.
async fn fetch(server: &Server, method: &str, path: &str) -> (u16, hyper::HeaderMap, String) {
    accepting(server, (method, path), "*/*").await
}

async fn accepting(
    server: &Server,
    (method, path): (&str, &str),
    accepted: &str,
) -> (u16, hyper::HeaderMap, String) {
    let request = Request::builder()
        .method(method)
        .header("accept", accepted)
        .uri(format!("{}{path}", server.url))
        .body(Full::<Bytes>::default())
        .unwrap();
    let (parts, body) = server.fetch(request).await;
    let text = String::from_utf8_lossy(&body).into_owned();
    (parts.status.as_u16(), parts.headers, text)
}

#[tokio::test]
async fn the_console_or_how_to_get_it() {
    let server = Server::start().await;
    let (status, headers, text) = fetch(&server, "GET", "/console").await;
    let header = |name: &str| headers[name].to_str().unwrap().to_owned();
    assert_eq!(header("x-content-type-options"), "nosniff");
    assert_eq!(header("referrer-policy"), "no-referrer");
    assert!(headers.contains_key("x-request-id") && headers.contains_key("x-ratelimit-limit"));
    assert!(header("content-security-policy").starts_with("default-src 'none';"));
    assert!(header("content-security-policy").contains("frame-ancestors 'none'"));
    if status == 200 {
        assert_eq!(header("content-type"), "text/html; charset=utf-8");
        assert!(text.contains("/console/assets/"), "{text}");
        let (status, ..) = fetch(&server, "HEAD", "/console/").await;
        assert_eq!(status, 200);
        let (status, ..) = fetch(&server, "POST", "/console").await;
        assert_eq!(status, 405);
        let browser = "text/html,application/xhtml+xml;q=0.9,*/*;q=0.8";
        let (status, headers, _) = accepting(&server, ("GET", "/"), browser).await;
        assert_eq!(
            (status, &headers["location"]),
            (303, &"/console".parse().unwrap())
        );
    } else {
        assert_eq!(status, 404);
        assert!(text.contains("make run"), "{text}");
    }
    let (status, _, text) = fetch(&server, "GET", "/console/nothing.js").await;
    assert_eq!(status, 404);
    assert!(text.contains("RESOURCE_NOT_FOUND"), "{text}");
    // These requests do not count on a caller's limits.
    let (_, headers, _) = fetch(&server, "GET", "/console").await;
    assert_eq!(
        headers["x-ratelimit-limit"],
        headers["x-ratelimit-remaining"]
    );
    assert_eq!(fetch(&server, "GET", "/").await.0, 404);
}

#[tokio::test]
async fn an_operator_switches_it_off() {
    let server = Server::start_with(&["console=false"]).await;
    let (status, _, text) = fetch(&server, "GET", "/console").await;
    assert_eq!(status, 404);
    assert!(text.contains("the API has no such path"), "{text}");
    assert_eq!(accepting(&server, ("GET", "/"), "text/html").await.0, 404);
}
