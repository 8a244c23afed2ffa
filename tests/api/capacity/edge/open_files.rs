//! A process with a low limit of open files: connections get what the log and the store do not need.

use std::time::Duration;

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use serde_json::json;
use tokio::net::TcpStream;

use super::{ask, connect_from};
use crate::capacity::limits::{free_port, metric};
use crate::harness::{Caller, Server, limited};
use crate::program::kedge;

// Holds invariant 224.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn idle_connections_leave_the_log_its_files() {
    let port = free_port();
    let listen = format!("metrics_listen=\"127.0.0.1:{port}\"");
    let server = Server::start_allowed(1_024, &[&listen]).await;
    let ann = Caller::register(&server, "ann@example.com").await;
    let template = ann.new_template(&server, "ticket").await;
    // The same limit applies to this process.
    let mut idle: Vec<TcpStream> = Vec::new();
    let maximum = getrlimit(Resource::Nofile).maximum;
    let all = Rlimit {
        current: maximum,
        maximum,
    };
    setrlimit(Resource::Nofile, all).unwrap();
    for number in 0..1_100_u32 {
        idle.push(connect_from(&server, 2 + (number % 9) as u8).await);
    }
    // The first segments of the log are small, so these open several.
    for _ in 0..30 {
        let properties = json!({ "text": "x".repeat(100_000) });
        let body = json!({ "template_id": template, "properties": properties });
        // The many new connections may delay others for a moment; a retry loses nothing.
        let mut minted = ann.mint(&server, &body).await;
        for _ in 0..50 {
            if minted.status != 503 {
                break;
            }
            tokio::time::sleep(Duration::from_millis(100)).await;
            minted = ann.mint(&server, &body).await;
        }
        minted.expect(201);
    }
    server.get("/readyz", None).await.expect(200);
    let closed = metric(port, "kedge_http_connections_ended_total{reason=\"files\"}").await;
    assert!(closed > 500, "{closed} connections were closed");
    drop(idle);
    let gone = tokio::time::timeout(Duration::from_secs(20), async {
        loop {
            let open = metric(port, "kedge_http_connections").await;
            if open < 100 {
                return;
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    });
    gone.await.expect("the idle ones are gone");
    let fresh = "GET /batches HTTP/1.1\r\nHost: a\r\n\r\n";
    let answer = ask(&mut connect_from(&server, 20).await, fresh).await;
    assert_eq!(answer.status(), 200);
}

// Holds invariant 224.
#[test]
fn a_server_that_may_open_too_few_files_says_so_and_does_not_start() {
    let dir = tempfile::tempdir().unwrap();
    let mut command = kedge();
    command
        .args(["serve", "--dev", "--listen", "127.0.0.1:0", "--data"])
        .arg(dir.path().join("data"));
    let refused = limited(&command, 64).output().unwrap();
    let said = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert!(!refused.status.success(), "{said}");
    assert!(
        said.contains("64 open files")
            && said.contains("ulimit -n")
            && said.contains("LimitNOFILE"),
        "{said}"
    );
    assert!(!dir.path().join("data").exists(), "nothing was made");
}
