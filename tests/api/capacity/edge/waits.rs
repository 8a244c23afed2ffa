//! Time-outs of a connection: for its first byte, for the rest of a head, and for its next request. A proxy that keeps
//! connections never meets one that the server is just closing.

use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::Request;
use hyper_util::client::legacy::Client;
use hyper_util::rt::{TokioExecutor, TokioTimer};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::task::JoinSet;

use super::{ask, connect_from, login};
use crate::harness::Server;

const VERSION: &str = "GET /version HTTP/1.1\r\nHost: a\r\n\r\n";
/// How late a connection may end.
const MARGIN: Duration = Duration::from_secs(4);

/// The time until the server closes the connection.
async fn until_closed(stream: &mut TcpStream) -> Duration {
    let begun = Instant::now();
    let mut rest = Vec::new();
    let reading = tokio::time::timeout(Duration::from_secs(30), stream.read_to_end(&mut rest));
    // A reset ends it too.
    let _however = reading.await.expect("the server closes");
    begun.elapsed()
}

/// Sends a head byte by byte, three in a second, until the server closes.
async fn trickle(stream: &mut TcpStream) -> Duration {
    let begun = Instant::now();
    let head = VERSION.replace("\r\n\r\n", "\r\nX-Filler: ");
    for byte in head.bytes().chain(std::iter::repeat(b'x')) {
        let sent = stream.write_all(&[byte]).await;
        let mut space = [0; 1];
        let wait = Duration::from_millis(300);
        let read = tokio::time::timeout(wait, stream.read(&mut space)).await;
        if sent.is_err() || read.is_ok() {
            break;
        }
    }
    begun.elapsed()
}

// Holds invariant 223.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn each_wait_of_a_connection_has_its_own_time() {
    let options = [
        "header_timeout_s=1",
        "idle_timeout_s=5",
        "proxy_idle_timeout_s=9",
        "trusted_proxies=[\"127.0.0.2/32\"]",
    ];
    let server = Server::start_with(&options).await;
    let second = Duration::from_secs(1);
    let silent = async { until_closed(&mut connect_from(&server, 1).await).await };
    let slow = async {
        let mut stream = connect_from(&server, 1).await;
        stream.write_all(&VERSION.as_bytes()[..20]).await.unwrap();
        until_closed(&mut stream).await
    };
    let trickling = async { trickle(&mut connect_from(&server, 1).await).await };
    let later = async {
        let mut stream = connect_from(&server, 1).await;
        ask(&mut stream, VERSION).await;
        tokio::time::sleep(2 * second).await;
        trickle(&mut stream).await
    };
    let waiting = async {
        let mut stream = connect_from(&server, 1).await;
        let answer = ask(&mut stream, VERSION).await;
        assert_eq!(answer.header("keep-alive"), Some("timeout=5"), "{answer:?}");
        // Longer than a head may take, then a POST, which clients do not repeat.
        tokio::time::sleep(Duration::from_millis(3_500)).await;
        let answer = ask(&mut stream, &login("ann@example.com")).await;
        answer.refused(401, "CREDENTIALS_INVALID");
        let waited = until_closed(&mut stream).await;
        assert!(waited >= 5 * second, "closed after {waited:?}");
        waited
    };
    let proxys = async {
        let mut stream = connect_from(&server, 2).await;
        let answer = ask(&mut stream, VERSION).await;
        assert_eq!(answer.header("keep-alive"), Some("timeout=9"));
        tokio::time::sleep(8 * second).await;
        let answer = ask(&mut stream, VERSION).await;
        assert_eq!(answer.status(), 200);
    };
    let (silent, slow, trickling, later, waiting, ()) =
        tokio::join!(silent, slow, trickling, later, waiting, proxys);
    for (what, took) in [
        ("nothing", silent),
        ("half a head", slow),
        ("a head that trickles", trickling),
        ("the next head, which trickles", later),
    ] {
        let expected = second.mul_f32(0.9)..second + MARGIN;
        assert!(expected.contains(&took), "{what}: {took:?}");
    }
    assert!(waiting < 6 * second + MARGIN, "{waiting:?}");
}

// Holds invariant 119.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn over_http2_what_has_begun_has_its_time_too() {
    const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
    const SETTINGS: &[u8] = &[0, 0, 0, 4, 0, 0, 0, 0, 0];
    // GET / by http, without END_HEADERS.
    const HEADERS: &[u8] = &[0, 0, 3, 1, 1, 0, 0, 0, 1, 0x82, 0x84, 0x86];
    const HALF_PING: &[u8] = &[0, 0, 8, 6, 0, 0, 0, 0, 0, 1, 2];
    let server = Server::start_with(&["header_timeout_s=1"]).await;
    for (what, bytes) in [
        ("no settings", PREFACE.to_vec()),
        ("half a block", [PREFACE, SETTINGS, HEADERS].concat()),
        ("half a frame", [PREFACE, SETTINGS, HALF_PING].concat()),
    ] {
        let mut stream = connect_from(&server, 1).await;
        stream.write_all(&bytes).await.unwrap();
        let took = until_closed(&mut stream).await;
        let second = Duration::from_secs(1);
        let expected = second.mul_f32(0.9)..second + MARGIN;
        assert!(expected.contains(&took), "{what}: {took:?}");
    }
}

// Holds invariant 223.
#[tokio::test]
async fn a_connection_that_ends_is_not_promised() {
    let server = Server::start().await;
    for request in [
        VERSION.replace("Host: a", "Host: a\r\nConnection: close"),
        VERSION.replace("HTTP/1.1", "HTTP/1.0"),
        "nonsense\r\n\r\n".to_owned(),
    ] {
        let answer = ask(&mut connect_from(&server, 1).await, &request).await;
        assert_eq!(answer.header("keep-alive"), None, "{request}");
    }
    let answer = ask(&mut connect_from(&server, 1).await, VERSION).await;
    assert_eq!(answer.header("keep-alive"), Some("timeout=75"));
}

// Holds invariant 223.
/// A proxy with a pool of connections: it closes unused ones before the server does, and after its callers do. Each
/// change arrives when a connection has been idle almost as long as the proxy keeps it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_proxy_never_meets_a_connection_that_is_being_closed() {
    const KEPT: Duration = Duration::from_secs(3);
    const CALLERS: u64 = 12;
    let options = [
        "header_timeout_s=1",
        "idle_timeout_s=4",
        "trusted_proxies=[\"127.0.0.1/32\"]",
        "proxy_idle_timeout_s=4",
    ];
    let server = Server::start_with(&options).await;
    let server = Arc::new(server);
    let proxied = async |server: Arc<Server>, caller: u64| {
        let mut proxy = Client::builder(TokioExecutor::new());
        let proxy = proxy
            .pool_timer(TokioTimer::new())
            .pool_idle_timeout(KEPT)
            // A proxy never repeats a change.
            .retry_canceled_requests(false)
            .build_http::<Full<Bytes>>();
        for turn in 0..3 {
            let body = login("ann@example.com");
            let (_, body) = body.split_once("\r\n\r\n").unwrap();
            let request = Request::post(format!("{}/wallets/login", server.url))
                .header("content-type", "application/json")
                .header("x-forwarded-for", format!("192.0.2.{caller}"));
            let request = request.body(Full::from(body.to_owned())).unwrap();
            let answer = proxy.request(request).await;
            let answer = answer.unwrap_or_else(|error| panic!("caller {caller}, {turn}: {error}"));
            assert!([401, 429].contains(&answer.status().as_u16()));
            answer.into_body().collect().await.unwrap();
            let wait = KEPT.saturating_sub(Duration::from_millis(20 * caller));
            tokio::time::sleep(wait).await;
        }
    };
    let mut proxies = JoinSet::new();
    for caller in 0..CALLERS {
        proxies.spawn(proxied(Arc::clone(&server), caller));
    }
    proxies.join_all().await;
}
