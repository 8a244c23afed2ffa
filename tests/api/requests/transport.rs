//! Connections: slow callers, many callers, and the shutdown.

use std::time::{Duration, Instant};

use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::harness::{Caller, Server};

/// Sends bytes and returns what is received until the server closes.
async fn raw(server: &Server, bytes: &str) -> String {
    let mut stream = TcpStream::connect(server.address()).await.unwrap();
    stream.write_all(bytes.as_bytes()).await.unwrap();
    let mut answer = Vec::new();
    let reading = stream.read_to_end(&mut answer);
    let closed = tokio::time::timeout(Duration::from_secs(10), reading).await;
    closed.expect("the server closes").unwrap();
    String::from_utf8_lossy(&answer).into_owned()
}

#[tokio::test]
async fn slow_and_strange_callers_are_cut_off() {
    let options = ["header_timeout_s=1", "body_timeout_s=1"];
    let server = Server::start_with(&options).await;
    let begun = Instant::now();
    let (nothing, part, body) = tokio::join!(
        raw(&server, "P"),
        raw(&server, "GET /version HTTP/1.1\r\nHost: a\r\nX-"),
        raw(
            &server,
            "POST /wallets/login HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\n\
             Content-Length: 99\r\n\r\n{",
        ),
    );
    assert_eq!(nothing, "");
    assert!(
        part.is_empty() || part.starts_with("HTTP/1.1 408"),
        "{part}"
    );
    assert!(
        body.starts_with("HTTP/1.1 400") && body.contains("did not arrive"),
        "{body}"
    );
    assert!(begun.elapsed() < Duration::from_secs(8));
    let headers = "X-Filler: y\r\n".repeat(200);
    let many = raw(
        &server,
        &format!("GET / HTTP/1.1\r\nHost: a\r\n{headers}\r\n"),
    )
    .await;
    assert!(many.starts_with("HTTP/1.1 431"), "{many}");
}

#[tokio::test]
async fn above_the_bound_requests_are_told_to_come_back() {
    let server = Server::start_with(&["requests_max=1"]).await;
    let mut slow = TcpStream::connect(server.address()).await.unwrap();
    // It waits for a sequence that is never reached.
    let begun = "GET /batches?min_sequence=1000000 HTTP/1.1\r\nHost: a\r\n\r\n";
    slow.write_all(begun.as_bytes()).await.unwrap();
    tokio::time::sleep(Duration::from_millis(200)).await;
    let refused = server.get("/batches", None).await;
    refused.refused(503, "UNAVAILABLE");
    assert_eq!(refused.header("retry-after"), "1");
    // Health is answered even then.
    server.get("/healthz", None).await.expect(200);
}

#[tokio::test]
async fn a_stopping_server_finishes_what_it_has_begun_and_goes_on_after_a_restart() {
    let mut server = Server::start().await;
    let ann = Caller::register(&server, "ann@example.com").await;
    let mut begun = TcpStream::connect(server.address()).await.unwrap();
    let body = json!({ "email": "ann@example.com", "password": "wrong horse battery" }).to_string();
    let head = format!(
        "POST /wallets/login HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\n\
         Content-Length: {}\r\n\r\n",
        body.len()
    );
    begun.write_all(head.as_bytes()).await.unwrap();
    tokio::time::sleep(Duration::from_millis(200)).await;
    let sequence = server.sequence().await;
    let finishing = tokio::spawn(async move {
        tokio::time::sleep(Duration::from_millis(500)).await;
        begun.write_all(body.as_bytes()).await.unwrap();
        let mut answer = String::new();
        begun.read_to_string(&mut answer).await.unwrap();
        answer
    });
    let server_ended = tokio::task::spawn_blocking(move || {
        let code = server.terminate();
        (code, server)
    });
    let answer = finishing.await.unwrap();
    assert!(answer.starts_with("HTTP/1.1 401"), "{answer}");
    let (code, server) = server_ended.await.unwrap();
    assert_eq!(code, Some(0));

    let server = server.restart().await;
    assert_eq!(server.sequence().await, sequence);
    server
        .get("/wallets/me", Some(&ann.token))
        .await
        .expect(200);
}
