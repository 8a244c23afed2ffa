//! Connections: unread answers, connections without requests, and one address that takes all connections.

use std::time::{Duration, Instant};

use http_body_util::Full;
use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use super::{ask, connect_from, connect_http2, http2_request, login, read_answer};
use crate::capacity::limits::{free_port, metric};
use crate::harness::{Caller, Server};

const MIB: u64 = 1 << 20;
const HEALTH: &str = "GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n";
const HALF: &str = "GET /healthz HTTP/1.1\r\n";

// Holds invariant 118.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn answers_that_nobody_takes_have_a_bound_and_an_end() {
    const ANSWERS: usize = 80;
    const SHARE: u64 = 8 * MIB;
    let share = format!("answer_bytes_per_caller={SHARE}");
    let server = Server::start_with(&[&share, "write_timeout_s=15"]).await;
    let ann = Caller::register(&server, "ann@example.com").await;
    let template = ann.new_template(&server, "ticket").await;
    for _ in 0..40 {
        let properties = json!({ "text": "x".repeat(50_000) });
        let body = json!({ "template_id": template, "properties": properties });
        ann.mint(&server, &body).await.expect(201);
    }
    let path = "/objects?limit=100";
    let whole = server.get(path, Some(&ann.token)).await.expect(200);
    let bytes = whole.body.to_string().len() as u64;
    assert!(bytes > 2_000_000);
    let before = server.memory_bytes();
    let (mut sender, mut ended) = connect_http2(&server, 0).await;
    let (mut given, mut refused) = (Vec::new(), 0);
    for _ in 0..ANSWERS {
        sender.ready().await.unwrap();
        let request = http2_request(&server, "GET", path, &ann.token);
        let response = sender.send_request(request.body(Full::default()).unwrap());
        let response = response.await.unwrap();
        match response.status().as_u16() {
            200 => given.push(response),
            429 => refused += 1,
            other => panic!("{other}"),
        }
    }
    assert!(refused > 0 && !given.is_empty(), "{refused} refused");
    let grown = server.memory_bytes().saturating_sub(before);
    assert!(
        grown < SHARE + 48 * MIB,
        "{grown} bytes for {ANSWERS} answers of {bytes}"
    );
    // They stay unread, so the connection ends, and everything they held is released.
    let end = tokio::time::timeout(Duration::from_mins(1), &mut ended).await;
    end.expect("the server closes the connection").unwrap();
    drop(given);
    let (mut sender, _ended) = connect_http2(&server, 1 << 20).await;
    let request = http2_request(&server, "GET", path, &ann.token);
    let response = sender.send_request(request.body(Full::default()).unwrap());
    assert_eq!(response.await.unwrap().status(), 200);
}

// Holds invariant 119.
#[tokio::test]
async fn a_connection_that_asks_nothing_is_closed() {
    let server = Server::start_with(&["idle_timeout_s=2"]).await;
    // Registers first: later its client might reuse a connection that is just being closed.
    let ann = Caller::register(&server, "ann@example.com").await;
    let (mut sender, mut ended) = connect_http2(&server, 1 << 20).await;
    let request = http2_request(&server, "GET", "/version", "");
    let response = sender.send_request(request.body(Full::default()).unwrap());
    assert_eq!(response.await.unwrap().status(), 200);
    let end = tokio::time::timeout(Duration::from_secs(10), &mut ended).await;
    end.expect("an idle connection ends").unwrap();
    // A connection with a request stays open, however long the request takes.
    let (mut sender, mut ended) = connect_http2(&server, 1 << 20).await;
    let request = http2_request(&server, "GET", "/ebus/events/stream", &ann.token);
    let stream = sender.send_request(request.body(Full::default()).unwrap());
    let stream = stream.await.unwrap();
    assert_eq!(stream.status(), 200);
    let end = tokio::time::timeout(Duration::from_secs(6), &mut ended).await;
    assert!(end.is_err(), "an event stream is a request");
}

/// Takes all twenty connections, two from each address, so that no address has more than another.
async fn hold_all_evenly(server: &Server) -> Vec<TcpStream> {
    let mut open = Vec::new();
    for host in 20..30 {
        for _ in 0..2 {
            let mut stream = connect_from(server, host).await;
            stream.write_all(HALF.as_bytes()).await.unwrap();
            open.push(stream);
        }
    }
    open
}

/// Whether the server closes the connection within 300 ms.
async fn is_closed(stream: &mut TcpStream) -> bool {
    let mut byte = [0; 1];
    let read = tokio::time::timeout(Duration::from_millis(300), stream.read(&mut byte));
    matches!(read.await, Ok(Ok(0) | Err(_)))
}

// Holds invariant 119.
#[tokio::test]
async fn one_address_has_its_share_and_health_is_answered_when_all_are_taken() {
    let options = [
        "connections_max=20",
        "connections_per_address=8",
        "header_timeout_s=60",
    ];
    let server = Server::start_with(&options).await;
    let mut open = Vec::new();
    let mut closed = 0;
    for _ in 0..10 {
        let mut stream = connect_from(&server, 2).await;
        stream.write_all(HALF.as_bytes()).await.unwrap();
        if is_closed(&mut stream).await {
            closed += 1;
        } else {
            open.push(stream);
        }
    }
    assert_eq!(closed, 2);
    drop(open);
    tokio::time::sleep(Duration::from_millis(300)).await;
    let open = hold_all_evenly(&server).await;
    for host in [5, 6, 7] {
        let answer = ask(&mut connect_from(&server, host).await, HEALTH).await;
        assert_eq!(answer.status(), 200);
        assert!(answer.closes(), "its place is for the next one");
    }
    let refused = ask(
        &mut connect_from(&server, 8).await,
        &login("ann@example.com"),
    )
    .await;
    refused.refused(503, "UNAVAILABLE");
    assert!(refused.header("retry-after").is_some());
    drop(open);
    tokio::time::sleep(Duration::from_millis(300)).await;
    let answer = ask(
        &mut connect_from(&server, 8).await,
        &login("ann@example.com"),
    )
    .await;
    answer.refused(401, "CREDENTIALS_INVALID");
}

// Holds invariant 119.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_few_addresses_that_hold_all_keep_nobody_out() {
    let options = [
        "connections_max=20",
        "connections_per_address=8",
        "header_timeout_s=60",
    ];
    let server = Server::start_with(&options).await;
    // The oldest has a request in flight: its body is incomplete.
    let login_of_ann = login("ann@example.com");
    let (begun, rest) = login_of_ann.split_at(login_of_ann.len() - 4);
    let mut working = connect_from(&server, 2).await;
    working.write_all(begun.as_bytes()).await.unwrap();
    tokio::time::sleep(Duration::from_millis(200)).await;
    let mut held = Vec::new();
    for host in [2, 3] {
        for _ in usize::from(host == 2)..8 {
            let mut stream = connect_from(&server, host).await;
            assert_eq!(ask(&mut stream, HEALTH).await.status(), 200);
            held.push(stream);
        }
    }
    for _ in 0..4 {
        held.push(connect_from(&server, 4).await);
    }
    let mut others = Vec::new();
    for host in 10..16 {
        let mut stream = connect_from(&server, host).await;
        let answer = ask(&mut stream, HEALTH).await;
        assert_eq!(answer.status(), 200);
        assert!(!answer.closes(), "its place is its own");
        others.push(stream);
    }
    working.write_all(rest.as_bytes()).await.unwrap();
    read_answer(&mut working)
        .await
        .refused(401, "CREDENTIALS_INVALID");
    let mut closed = Vec::new();
    for (number, stream) in held.iter_mut().enumerate() {
        if is_closed(stream).await {
            closed.push(number);
        }
    }
    // Connections of the two largest addresses were closed in turn, the longest idle of each first. One more was closed
    // in place of the one that was in use. A connection is idle since the server noted that its answer was written, and
    // two that follow each other may be noted in either order.
    let (of_one, of_other) = closed.split_at(closed.partition_point(|number| *number < 7));
    for (closed_ones, first) in [(of_one, 0), (of_other, 7)] {
        for (place, number) in closed_ones.iter().enumerate() {
            assert!(
                (place..=place + 1).contains(&(number - first)),
                "{closed:?}"
            );
        }
    }
    assert!(of_one.len().abs_diff(of_other.len()) <= 1, "{closed:?}");
    assert!((6..=7).contains(&closed.len()), "{closed:?}");
    for stream in &mut others {
        assert_eq!(ask(stream, HEALTH).await.status(), 200);
    }
}

// Holds invariant 119.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_silent_reserve_does_not_keep_health_out() {
    let options = ["connections_max=20", "header_timeout_s=60"];
    let server = Server::start_with(&options).await;
    let _open = hold_all_evenly(&server).await;
    let mut silent = Vec::new();
    for host in 40..56 {
        for _ in 0..4 {
            silent.push(connect_from(&server, host).await);
        }
    }
    let begun = Instant::now();
    for host in 60..70 {
        let answer = ask(&mut connect_from(&server, host).await, HEALTH).await;
        assert_eq!(answer.status(), 200);
    }
    let took = begun.elapsed();
    assert!(took < Duration::from_secs(3), "{took:?}");
    tokio::time::sleep(Duration::from_secs(3)).await;
    for stream in &mut silent {
        assert!(is_closed(stream).await, "it has a second");
    }
}

// Holds invariant 119.
#[tokio::test]
async fn a_scraper_that_sends_nothing_holds_up_no_other() {
    let port = free_port();
    let metrics = format!("metrics_listen=\"127.0.0.1:{port}\"");
    let _server = Server::start_with(&[&metrics]).await;
    let mut open = Vec::new();
    for _ in 0..8 {
        open.push(TcpStream::connect(("127.0.0.1", port)).await.unwrap());
    }
    let scraped = metric(port, r#"kedge_http_connections_ended_total{reason="idle"}"#);
    let scraped = tokio::time::timeout(Duration::from_secs(4), scraped).await;
    assert_eq!(scraped, Ok(0));
}
