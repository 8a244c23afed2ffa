//! Faults outside of the nodes: NATS servers that are away when a node starts, or that return without the stream; and
//! keys that differ from the other nodes'.

use std::fs;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::edge::Edge;
use crate::engine::STREAM;
use crate::nodes::{Cluster, Node, ready};
use crate::signed::Signer;
use crate::support::program::kedge;
use crate::support::{Rng, eventually, http};

const LIMIT: Duration = Duration::from_secs(40);
/// Longest time until a waiting start ends when it is asked to.
const STOP_LIMIT: Duration = Duration::from_secs(2);

/// Runs `kedge …` against a node's socket; returns whether it succeeded, and its output.
pub(crate) fn command(node: &Node, arguments: &[&str]) -> (bool, String) {
    let output = kedge()
        .args(arguments)
        .arg("--socket")
        .arg(node.setup.data().join("admin.sock"))
        .output()
        .unwrap();
    let text = [output.stdout, output.stderr].concat();
    (
        output.status.success(),
        String::from_utf8_lossy(&text).into_owned(),
    )
}

/// Waits until a node is not ready for a reason that contains this.
async fn names(node: &Node, part: &str) -> Value {
    let named = || async {
        let ready = ready(&node.setup).await?;
        let reason = ready["reason"].as_str().unwrap_or_default().to_owned();
        reason.contains(part).then_some(ready)
    };
    eventually(&format!("{} names {part:?}", node.name), LIMIT, named).await
}

// Holds invariants 236, 237, 243.
#[tokio::test(flavor = "multi_thread")]
async fn a_start_waits_for_the_servers_and_a_stream_that_is_gone_is_named() {
    let mut rng = Rng::seeded("cluster-outside");
    let mut cluster = Cluster::start(2).await;
    let mut signer = Signer::register(&cluster, &mut rng).await;
    let leader = cluster.leader().await;
    let minted = signer.mint().send(cluster.nodes[leader].setup.port()).await;
    assert_eq!(minted.status, 201, "{}", minted.body);
    let failures = http::metric(
        cluster.nodes[leader].setup.metrics_port(),
        "kedge_storage_commit_failures_total",
        &[],
    );
    assert!(failures.await < 0.5);

    // No server answers: the start waits, reports that, and ends as soon as it is asked to.
    let follower = 1 - leader;
    cluster.nodes[follower].server.take().unwrap().stop();
    for server in 0..3 {
        cluster.nats.server(server).kill();
    }
    let mut waiting = cluster.nodes[follower].setup.begin();
    let shown = names(&cluster.nodes[follower], "waits for the NATS servers").await;
    assert_eq!(shown["status"], "not_ready");
    let port = cluster.nodes[follower].setup.port();
    assert_eq!(http::get(port, "/healthz").await.status, 200);
    let refused = http::get(port, "/batches").await;
    assert_eq!(refused.status, 503, "{}", refused.body);
    let metrics = cluster.nodes[follower].setup.metrics_port();
    assert!(http::metric(metrics, "kedge_start_waits", &[]).await > 0.5);
    tokio::time::sleep(Duration::from_secs(8)).await;
    assert!(waiting.runs(), "it does not give up");
    let begun = Instant::now();
    waiting.terminate();
    let ended = waiting.ended(STOP_LIMIT);
    assert!(
        ended.is_some_and(|status| status.success()),
        "{ended:?} after {:?}",
        begun.elapsed()
    );
    cluster.nodes[follower].server = Some(cluster.nodes[follower].setup.begin());

    // They come back, and everything continues.
    for server in 0..3 {
        cluster.nats.server(server).start();
    }
    tokio::task::block_in_place(|| cluster.nats.wait_until_ready());
    cluster.wait_until_ready().await;

    comes_back_without_disks(&mut cluster).await;
}

/// All NATS disks are lost: every node reports it, and an edge reads from nodes that are not ready.
async fn comes_back_without_disks(cluster: &mut Cluster) {
    let edge = Edge::start(cluster, "edge1").await;
    for server in 0..3 {
        cluster.nats.server(server).kill();
        fs::remove_dir_all(cluster.nats.folder().join(format!("engine{server}"))).unwrap();
    }
    for server in 0..3 {
        cluster.nats.server(server).start();
    }
    tokio::task::block_in_place(|| cluster.nats.wait_until_ready());
    for node in &cluster.nodes {
        names(node, "is gone from the NATS servers").await;
        let problem = || async {
            let ready = ready(&node.setup).await?;
            let problem = ready["cluster"]["problem"].as_str()?.to_owned();
            let is_named = problem.contains(STREAM) && problem.contains("kedge cluster reseed");
            is_named.then_some(())
        };
        eventually("the stream is the problem", LIMIT, problem).await;
        let metrics = node.setup.metrics_port();
        let broken = || async {
            let broken = http::metric(metrics, "kedge_cluster_broken", &[]).await;
            (broken > 0.5).then_some(())
        };
        eventually("it counts as broken", LIMIT, broken).await;
        let status = ready(&node.setup).await.unwrap();
        assert_eq!(status["status"], "not_ready");
    }
    assert_eq!(http::get(edge.port, "/readyz").await.status, 503);
    for _ in 0..10 {
        let read = http::get(edge.port, "/batches").await;
        assert_eq!(read.status, 200, "{}", read.body);
    }
    for node in &mut cluster.nodes {
        node.kill();
    }
}

/// Replaces the key in a file by its reversed digits.
fn turn_round(path: &std::path::Path) {
    let text = fs::read_to_string(path).unwrap();
    let digits = text.chars().rev().filter(char::is_ascii_hexdigit);
    let other: String = digits.take(64).collect();
    fs::write(path, format!("0x{other}\n")).unwrap();
}

// Holds invariants 234, 235.
#[tokio::test(flavor = "multi_thread")]
async fn a_node_with_other_keys_is_not_ready_and_does_not_lead() {
    let mut cluster = Cluster::start(2).await;
    let leader = cluster.leader().await;
    let follower = 1 - leader;
    let folder = cluster.nodes[follower].setup.data().join("keys");
    let token = |folder: &std::path::Path| folder.join("token-000001.key");
    let right = fs::read(token(&folder)).unwrap();
    cluster.nodes[follower].server.take().unwrap().stop();
    turn_round(&token(&folder));
    let invitation = fs::read(folder.join("invitation.key")).unwrap();
    fs::copy(folder.join("cursor.key"), folder.join("invitation.key")).unwrap();
    cluster.nodes[follower].server = Some(cluster.nodes[follower].setup.begin());
    let shown = names(&cluster.nodes[follower], "its keys are not those of").await;
    let reason = shown["reason"].as_str().unwrap();
    for part in ["invitation.key", "token key", &cluster.nodes[leader].name] {
        assert!(reason.contains(part), "{part} is not in {reason}");
    }
    let metrics = cluster.nodes[follower].setup.metrics_port();
    assert!(http::metric(metrics, "kedge_cluster_keys_differ", &[]).await > 1.5);
    let refused = command(&cluster.nodes[leader], &["cluster", "hand-over"]);
    assert!(!refused.0, "{}", refused.1);
    let name = cluster.nodes[follower].name.clone();
    let refused = command(
        &cluster.nodes[leader],
        &["cluster", "hand-over", "--to", &name],
    );
    assert!(
        !refused.0 && refused.1.contains("must not lead") && refused.1.contains("invitation.key"),
        "{}",
        refused.1
    );

    // The operator's commands report what they did not do.
    for (arguments, part) in [
        (vec!["cluster", "remove", name.as_str()], "Stop it first"),
        (vec!["cluster", "remove", "node9"], "no node is named node9"),
        (vec!["admin", "retire-token-key"], "name the one to retire"),
        (vec!["admin", "rotate-token-key"], "this node leads"),
    ] {
        let (worked, text) = command(&cluster.nodes[leader], &arguments);
        assert!(!worked && text.contains(part), "{arguments:?}: {text}");
    }

    // The leader is lost: this node does not take its place.
    cluster.nodes[leader].kill();
    tokio::time::sleep(Duration::from_secs(6)).await;
    let shown = ready(&cluster.nodes[follower].setup).await.unwrap();
    assert_eq!(shown["cluster"]["role"], "follower", "{shown}");
    cluster.nodes[leader].start();

    // With the right keys it is like any other.
    cluster.nodes[follower].kill();
    fs::write(token(&folder), right).unwrap();
    fs::write(folder.join("invitation.key"), invitation).unwrap();
    cluster.nodes[follower].start();
    cluster.wait_until_ready().await;
    let leader = cluster.leader().await;
    let next = cluster.nodes[1 - leader].name.clone();
    // It compares its keys within seconds.
    let handed = || async {
        let hand_over = ["cluster", "hand-over", "--to", &next];
        let (worked, text) = command(&cluster.nodes[leader], &hand_over);
        (worked && text.contains(&next)).then_some(())
    };
    eventually("leadership is handed over", LIMIT, handed).await;
    assert_eq!(cluster.leader().await, 1 - leader, "it has the lease");
    cluster.stop();
}
