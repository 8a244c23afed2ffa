//! Three nodes of one log, as processes, on three NATS servers: nodes and servers are killed, paused, disconnected and
//! asked to hand over while clients write to all nodes. Acknowledged writes are on every node, once and in place.

#![allow(clippy::unwrap_used, reason = "a test file: a panic is the failure")]

mod bodies;
#[allow(dead_code, reason = "shared with the tests of tracing on one node")]
#[path = "../program/tracing/collector.rs"]
mod collector;
mod cut;
mod damaged;
mod demo;
mod edge;
mod engine;
mod failovers;
mod feeds;
mod full_disk;
#[path = "behind/lagging.rs"]
mod lagging;
mod limits;
mod link;
mod load;
mod lonely_edge;
#[path = "../../crates/cluster/tests/support/nats.rs"]
mod nats;
mod network;
mod nodes;
mod older_stream;
mod operations;
mod outside;
mod rights;
#[path = "behind/shorter.rs"]
mod shorter;
mod signed;
mod splits;
#[path = "../support/mod.rs"]
mod support;
mod traced;
mod troubles;
mod versions;

use std::time::{Duration, Instant};

use kedge_client::NewObject;
use serde_json::json;

use load::Load;
use nodes::{Cluster, ready};
use signed::Signer;
use support::{Rng, connect, eventually, free_port, register, template};

/// Clients per node.
const CLIENTS: usize = 4;
/// Longest time until writes continue after the leader was lost.
pub(crate) const FAILOVER_LIMIT: Duration = Duration::from_secs(5);

// Holds invariant 180.
#[tokio::test(flavor = "multi_thread")]
async fn writes_go_on_when_the_leader_is_lost_and_nothing_acknowledged_is() {
    let mut rng = Rng::seeded("cluster");
    let mut cluster = Cluster::start(3).await;
    let mut signer = Signer::register(&cluster, &mut rng).await;
    let mut load = Load::start(&cluster, &mut rng, CLIENTS).await;
    load.keys.push(signer.key.clone());
    load.progress(50).await;
    let mut times = Vec::new();

    // Killed, twice: each time it returns as a follower.
    for _ in 0..2 {
        let leader = cluster.leader().await;
        cluster.nodes[leader].kill();
        times.push(load.progress(20).await);
        cluster.nodes[leader].start();
        cluster.wait_until_ready().await;
    }

    // Paused for longer than its lease: it is fenced, and follows.
    let leader = cluster.leader().await;
    let paused = cluster.nodes[leader].server.as_ref().unwrap();
    paused.freeze(true);
    let begun = Instant::now();
    let follower = cluster.nodes[(leader + 1) % 3].setup.port();
    let request = signer.mint();
    let forwarded = tokio::spawn(async move { (request.send(follower).await, begun.elapsed()) });
    let others = |index: usize| index != leader;
    let led = || async {
        for (index, node) in cluster.nodes.iter().enumerate() {
            if others(index)
                && let Some(ready) = ready(&node.setup).await
                && ready["cluster"]["role"] == "leader"
            {
                return Some(());
            }
        }
        None
    };
    eventually("another node leads", Duration::from_secs(30), led).await;
    times.push(begun.elapsed());
    load.progress(20).await;
    // The paused leader owes an answer that has no caller any more.
    let (answer, after) = forwarded.await.unwrap();
    eprintln!("paused: another answer after {after:?}: {}", answer.body);
    assert!([201, 503].contains(&answer.status), "{}", answer.body);
    assert!(after < FAILOVER_LIMIT, "{after:?}");
    paused.freeze(false);
    let follows = || async {
        let ready = ready(&cluster.nodes[leader].setup).await?;
        (ready["cluster"]["role"] == "follower" && ready["status"] == "ready").then_some(())
    };
    eventually(
        "the fenced leader follows",
        Duration::from_secs(30),
        follows,
    )
    .await;
    load.progress(50).await;

    // An orderly stop hands over first.
    let leader = cluster.leader().await;
    let begun = Instant::now();
    cluster.nodes[leader].server.take().unwrap().stop();
    eprintln!("stopped in {:?}", begun.elapsed());
    load.progress(20).await;
    cluster.nodes[leader].start();
    cluster.wait_until_ready().await;

    eprintln!("failovers: {times:?}");
    for time in &times {
        assert!(*time <= FAILOVER_LIMIT, "{times:?}");
    }
    load.check(&cluster).await;
    cluster.stop();
}

// Holds invariant 182.
#[tokio::test(flavor = "multi_thread")]
async fn every_node_serves_reads_and_takes_writes() {
    let mut rng = Rng::seeded("cluster-reads");
    let cluster = Cluster::start(3).await;
    let load = Load::start(&cluster, &mut rng, CLIENTS).await;
    load.progress(30).await;
    let leader = cluster.leader().await;
    let term = ready(&cluster.nodes[leader].setup).await.unwrap()["cluster"]["term"].clone();
    for (index, node) in cluster.nodes.iter().enumerate() {
        let answer = support::http::get(node.setup.port(), "/batches").await;
        assert_eq!(answer.status, 200);
        let role = if index == leader {
            "leader"
        } else {
            "follower"
        };
        let head = answer.head.to_lowercase();
        assert!(head.contains(&format!("x-kedge-role: {role}")), "{head}");
        assert!(
            head.contains(&format!("x-kedge-term: {term}\r\n")),
            "{head}"
        );
    }
    let follower = (leader + 1) % 3;
    let account = cluster.account(follower, &load.keys[0]).await;
    let template = template(&account, "by a follower").await;
    let properties = json!({ "a": 1 }).as_object().unwrap().clone();
    let object = NewObject {
        properties,
        ..NewObject::default()
    };
    let minted = account.mint(template, &object).await.unwrap();
    cluster.wait_for(minted.resource.sequence).await;
    for index in 0..3 {
        let account = cluster.account(index, &load.keys[0]).await;
        let read = account.object(minted.resource.id).await.unwrap();
        assert_eq!(read.version, 1);
    }
    load.check(&cluster).await;
}

// Holds invariant 182.
#[tokio::test(flavor = "multi_thread")]
async fn a_file_that_one_node_accepted_is_served_by_the_others_after_it_is_gone() {
    let mut rng = Rng::seeded("cluster-files");
    let mut cluster = Cluster::start(3).await;
    let key = rng.key();
    let leader = cluster.leader().await;
    let client = connect(&cluster.nodes[leader].url()).await;
    let account = register(&client, key.clone()).await;
    let content = vec![7_u8; 300_000];
    let file = account.upload("seven.bin", &content).await.unwrap();
    cluster.nodes[leader].kill();
    std::fs::remove_dir_all(cluster.nodes[leader].setup.data().join("files")).unwrap();
    let other = cluster.leader().await;
    let account = cluster.account(other, &key).await;
    let read = account.download(&file.resource).await.unwrap();
    assert!(read == content, "{} bytes", read.len());
}
