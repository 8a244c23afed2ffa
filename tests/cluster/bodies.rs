//! Bodies of changes on a follower: without credentials it accepts no large ones, and it counts the callers of the
//! others.

use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::nodes::Cluster;
use crate::signed::Signer;
use crate::support::Rng;

/// Requests of an address in a minute.
const LIMIT: usize = 40;

/// Sends a POST with these fields; returns the head of the first answer.
async fn answered(port: u16, fields: &str, body: &str) -> String {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).await.unwrap();
    let text = format!(
        "POST /objects HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\n{fields}\r\n{body}"
    );
    stream.write_all(text.as_bytes()).await.unwrap();
    let reading = async {
        let mut answer = Vec::new();
        while !answer.windows(4).any(|four| four == b"\r\n\r\n") {
            let count = stream.read_buf(&mut answer).await.unwrap();
            assert_ne!(count, 0, "{}", String::from_utf8_lossy(&answer));
        }
        String::from_utf8_lossy(&answer).into_owned()
    };
    let read = tokio::time::timeout(Duration::from_secs(20), reading);
    read.await.expect("an answer in time")
}

fn status(answer: &str) -> u16 {
    answer.split(' ').nth(1).unwrap().parse().unwrap()
}

// Holds invariants 115, 116.
#[tokio::test(flavor = "multi_thread")]
async fn a_node_that_follows_asks_for_no_large_body_without_credentials() {
    let cluster = Cluster::start_with(2, |setup, _| {
        setup
            .set("rate_limits", "on")
            .set("address_requests_per_minute", LIMIT)
    })
    .await;
    let signer = Signer::register(&cluster, &mut Rng::seeded("bodies")).await;
    let leader = cluster.leader().await;
    for (node, is_leader) in [(leader, true), (1 - leader, false)] {
        let port = cluster.nodes[node].setup.port();
        let fields = |credentials: &str, bytes: usize| {
            format!("{credentials}Content-Length: {bytes}\r\nExpect: 100-continue\r\n")
        };
        for credentials in ["", "Authorization: Bearer none\r\n", "X-Api-Key: none\r\n"] {
            let answer = answered(port, &fields(credentials, 1 << 20), "").await;
            assert_eq!(status(&answer), 401, "{is_leader}, {credentials}: {answer}");
        }
        if !is_leader {
            let bearer = format!("Authorization: Bearer {}\r\n", signer.token);
            let answer = answered(port, &fields(&bearer, 1 << 20), "").await;
            assert_eq!(status(&answer), 100, "{answer}");
            // A short one may be forwarded, because this node may not know the newest credentials. It counts.
            let mut statuses = Vec::new();
            for _ in 0..2 * LIMIT {
                let answer = answered(port, "Content-Length: 2\r\n", "{}").await;
                statuses.push(status(&answer));
            }
            assert_eq!(statuses.first(), Some(&401), "{statuses:?}");
            assert!(statuses.contains(&429), "{statuses:?}");
        }
    }
}
