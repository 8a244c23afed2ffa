//! Edges between nodes that do not answer and hostile callers. A node is skipped for its own behaviour, never for what
//! a caller sends.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;

use crate::edge::Edge;
use crate::support::http;
use crate::support::server::Setup;

/// How long a hostile caller keeps its connection.
const HELD: Duration = Duration::from_millis(100);

/// Serves as a node that reports ready, and answers nothing else.
async fn say_only_ready(mut stream: TcpStream) {
    let mut asked = Vec::new();
    while stream.read_buf(&mut asked).await.unwrap_or(0) > 0 {
        if asked.starts_with(b"GET /readyz ") && asked.ends_with(b"\r\n\r\n") {
            asked.clear();
            let ready = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}";
            stream.write_all(ready).await.unwrap();
        }
    }
}

// Holds invariant 204.
#[tokio::test(flavor = "multi_thread")]
async fn a_leader_that_never_answers_holds_nobody_for_ever() {
    let silent = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", silent.local_addr().unwrap());
    tokio::spawn(async move {
        while let Ok((stream, _)) = silent.accept().await {
            tokio::spawn(say_only_ready(stream));
        }
    });
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("edge.log");
    let limits = ["request_timeout_s=1", "body_timeout_s=1"];
    let edge = Edge::start_for(&[url], &log, "edge1", &limits).await;
    let answer = http::post(edge.port, "/webhooks/any/test", &[], "{}").await;
    assert_eq!(answer.status, 503, "{}", answer.body);
    assert!(
        answer.body.contains("outcome of this request is unknown"),
        "{}",
        answer.body
    );
}

/// Requests that callers without credentials can send.
fn harmful() -> Vec<Vec<u8>> {
    let search = "POST /objects/search HTTP/1.1\r\nhost: a\r\ncontent-type: application/json\r\n";
    let change = "POST /sessions HTTP/1.1\r\nhost: a\r\ncontent-type: application/json\r\n";
    let many = (0..99).map(|n| format!("x-{n}: 1\r\n"));
    let many = many.collect::<Vec<_>>().concat();
    let long = "a".repeat(30_000);
    let mut all: Vec<String> = [
        "OPTIONS * HTTP/1.1\r\nhost: a\r\n\r\n",
        "GET * HTTP/1.1\r\nhost: a\r\n\r\n",
        "CONNECT other:80 HTTP/1.1\r\nhost: other:80\r\n\r\n",
        "GET http://other/batches HTTP/1.1\r\nhost: other\r\n\r\n",
        "GET /batches HTTP/1.1\r\nhost: a\r\nconnection: upgrade\r\nupgrade: h2c\r\n\r\n",
        "GET /batches HTTP/1.0\r\n\r\n",
        "GET /batches HTTP/1.1\r\nhost: a\r\ncontent-length: 5\r\n\r\nab",
        "TRACE / HTTP/1.1\r\nhost: a\r\n\r\n",
    ]
    .map(str::to_owned)
    .to_vec();
    for head in [search, change] {
        all.extend([
            format!("{head}transfer-encoding: chunked\r\n\r\nzz\r\n"),
            format!("{head}transfer-encoding: chunked\r\n\r\n5\r\nab"),
            format!(
                "{head}content-length: 9\r\ntransfer-encoding: chunked\r\n\r\n2\r\nab\r\n0\r\n\r\n"
            ),
            format!("{head}content-length: 100\r\n\r\n{{"),
            format!("{head}content-length: 100000\r\n\r\n{{"),
            format!("{head}content-length: 1000000000\r\n\r\n{{"),
            format!("{head}expect: 100-continue\r\ncontent-length: 70000\r\n\r\n"),
        ]);
    }
    all.push(format!("GET /batches HTTP/1.1\r\nhost: a\r\n{many}\r\n"));
    all.push(format!("GET /batches?a={long} HTTP/1.1\r\nhost: a\r\n\r\n"));
    let mut all: Vec<Vec<u8>> = all.into_iter().map(String::into_bytes).collect();
    all.push(b"GET /batches?\xff\xfe HTTP/1.1\r\nhost: a\r\n\r\n".to_vec());
    all
}

async fn send(port: u16, bytes: &[u8]) {
    let Ok(mut stream) = TcpStream::connect(("127.0.0.1", port)).await else {
        return;
    };
    // Ignored: the connection ends soon either way.
    let _sent = stream.write_all(bytes).await;
    let mut answer = Vec::new();
    let _read = tokio::time::timeout(HELD, stream.read_to_end(&mut answer)).await;
}

// Holds invariant 243.
#[tokio::test(flavor = "multi_thread")]
async fn what_callers_send_takes_no_node_out_of_service() {
    let folder = tempfile::tempdir().unwrap();
    let setup = Setup::development(&folder.path().join("node"))
        .set("trusted_proxies", r#"["127.0.0.0/8"]"#);
    let server = setup.start();
    let log = folder.path().join("edge.log");
    let urls = [setup.url()];
    let edge = Edge::start_for(&urls, &log, "edge1", &["connections_per_address=1000"]).await;
    let port = edge.port;
    let is_over = Arc::new(AtomicBool::new(false));
    let over = Arc::clone(&is_over);
    let sending = tokio::spawn(async move {
        let harmful = harmful();
        let mut rounds = 0;
        while !over.load(Ordering::Relaxed) {
            let mut sending = JoinSet::new();
            for bytes in harmful.clone() {
                sending.spawn(async move { send(port, &bytes).await });
            }
            sending.join_all().await;
            rounds += 1;
        }
        rounds
    });
    for read in 0..60 {
        let answer = http::get(port, "/batches").await;
        assert_eq!(answer.status, 200, "read {read}: {}", answer.body);
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    is_over.store(true, Ordering::Relaxed);
    let rounds = sending.await.unwrap();
    assert!(rounds >= 5, "{rounds} rounds");
    let ready = http::get(port, "/readyz").await;
    assert_eq!(ready.status, 200, "{}", ready.body);
    assert_eq!(
        http::get(setup.port(), "/readyz").await.status,
        200,
        "the node itself"
    );
    server.stop();
}
