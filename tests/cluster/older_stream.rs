//! The NATS servers return with older disks, so the stream lacks acknowledged frames. The node that was away has no
//! more than that stream, so it could lead there and sign the numbers of acknowledged batches again.

use std::fs;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::engine::lose_data;
use crate::nats::Servers;
use crate::nodes::{Cluster, Node, ready};
use crate::signed::Signer;
use crate::support::program::kedge;
use crate::support::server::Setup;
use crate::support::{Rng, copy_directory, eventually, http};

const LIMIT: Duration = Duration::from_secs(40);
/// Time without any accepted write: longer than a node waits before it reports the stream as broken.
const STILL: Duration = Duration::from_secs(14);
const POLL: Duration = Duration::from_millis(20);
/// The pause between refused writes; more of them would meet a limit.
const WRITTEN_EVERY: Duration = Duration::from_millis(250);
/// Writes that the older stream lacks.
const WRITES: usize = 12;

fn disk(cluster: &Cluster, server: usize) -> PathBuf {
    cluster.nats.folder().join(format!("engine{server}"))
}

fn kept(cluster: &Cluster, server: usize) -> PathBuf {
    cluster.nats.folder().join(format!("kept{server}"))
}

/// Stops all NATS servers, changes each one's disk, and starts them again.
fn with_disks(cluster: &mut Cluster, change: impl Fn(&Cluster, usize)) {
    for server in 0..3 {
        cluster.nats.server(server).kill();
    }
    for server in 0..3 {
        change(cluster, server);
        cluster.nats.server(server).start();
    }
    tokio::task::block_in_place(|| cluster.nats.wait_until_ready());
}

/// The ids of objects whose mints were acknowledged.
async fn acknowledged(cluster: &Cluster, signer: &mut Signer) -> Vec<String> {
    let mut ids = Vec::new();
    while ids.len() < WRITES {
        let port = cluster.nodes[cluster.leader().await].setup.port();
        let minted = signer.mint().send(port).await;
        assert!([201, 503].contains(&minted.status), "{}", minted.body);
        if minted.status == 201 {
            ids.push(minted.json()["id"].as_str().unwrap().to_owned());
        }
    }
    ids
}

fn head(ready: &Value) -> Value {
    json!([ready["sequence"], ready["batches"], ready["head"]])
}

/// Checks that no write is accepted, and that the nodes with the longer log stay not ready and keep their frames.
async fn stands_still(cluster: &Cluster, signer: &mut Signer, (longer, kept): (&[usize], &Value)) {
    let begun = Instant::now();
    let watch = async {
        while begun.elapsed() < STILL {
            for index in longer {
                if let Some(ready) = ready(&cluster.nodes[*index].setup).await {
                    assert_eq!(ready["status"], "not_ready", "{ready}");
                    // A node that waits for the servers does not know its head yet.
                    if ready["cluster"].is_object() {
                        assert_eq!(head(&ready), *kept, "{ready}");
                    }
                }
            }
            tokio::time::sleep(POLL).await;
        }
    };
    let write = async {
        while begun.elapsed() < STILL {
            for node in cluster.nodes.iter().filter(|node| node.runs()) {
                if let Some(answer) = signer.mint().try_send(node.setup.port()).await {
                    assert_eq!(answer.status, 503, "{}: {}", node.name, answer.body);
                }
            }
            tokio::time::sleep(WRITTEN_EVERY).await;
        }
    };
    tokio::join!(watch, write);
}

/// Waits until a node is not ready for a reason that contains all of these parts.
async fn names(node: &Node, parts: &[&str]) {
    let named = || async {
        let ready = ready(&node.setup).await?;
        let reason = ready["reason"].as_str()?.to_owned();
        parts.iter().all(|part| reason.contains(part)).then_some(())
    };
    eventually(&format!("{} names {parts:?}", node.name), LIMIT, named).await;
}

async fn leads(node: &Node) {
    let leads = || async {
        let ready = ready(&node.setup).await?;
        (ready["cluster"]["role"] == "leader").then_some(())
    };
    eventually(&format!("{} leads", node.name), LIMIT, leads).await;
}

/// The operator's repair: rebuilds the stream from the longest log. The node that led without it gets a new copy.
async fn reseed(cluster: &mut Cluster, (from, late): (usize, usize)) {
    for node in &mut cluster.nodes {
        node.kill();
    }
    lose_data(&cluster.nodes[late]);
    let setup = &cluster.nodes[from].setup;
    let config = setup.data().with_extension("toml");
    fs::write(&config, setup.as_file()).unwrap();
    // The lease has to run out first.
    tokio::time::sleep(Duration::from_secs(2)).await;
    let mut command = kedge();
    command
        .args(["cluster", "reseed", "--force", "--json", "--config"])
        .arg(&config);
    let output = tokio::task::block_in_place(|| command.output().unwrap());
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{error}");
    for node in &mut cluster.nodes {
        node.server = Some(node.setup.begin());
    }
    cluster.wait_until_ready().await;
}

// Holds invariant 251.
#[tokio::test(flavor = "multi_thread")]
async fn an_older_stream_is_not_continued_while_a_node_holds_what_was_acknowledged() {
    let mut rng = Rng::seeded("cluster-older-stream");
    let set = |setup: Setup, _: &Servers| setup.set("cluster_replicas_synced", 1);
    let mut cluster = Cluster::start_with(3, set).await;
    let mut signer = Signer::register(&cluster, &mut rng).await;
    cluster.wait_for_one_head().await;
    let leader = cluster.leader().await;
    let late = (leader + 1) % 3;
    let longer = [leader, (leader + 2) % 3];
    cluster.nodes[late].server.take().unwrap().stop();
    with_disks(&mut cluster, |cluster, server| {
        copy_directory(&disk(cluster, server), &kept(cluster, server));
    });
    cluster.wait_until_ready().await;
    let ids = acknowledged(&cluster, &mut signer).await;
    cluster.wait_for_one_head().await;
    let held = cluster.heads().await[0].clone();
    for index in longer {
        cluster.nodes[index].kill();
    }
    with_disks(&mut cluster, |cluster, server| {
        fs::remove_dir_all(disk(cluster, server)).unwrap();
        copy_directory(&kept(cluster, server), &disk(cluster, server));
    });

    // No node leads while the nodes that hold more are there, and the one that could lead names them.
    for index in longer {
        cluster.nodes[index].server = Some(cluster.nodes[index].setup.begin());
    }
    let lost = ["the stream", "reseed"];
    for index in longer {
        names(&cluster.nodes[index], &lost).await;
    }
    cluster.nodes[late].server = Some(cluster.nodes[late].setup.begin());
    stands_still(&cluster, &mut signer, (&longer[..], &held)).await;
    let shown = ready(&cluster.nodes[late].setup).await.unwrap();
    assert_eq!(shown["cluster"]["role"], "follower", "{shown}");
    names(
        &cluster.nodes[late],
        &["the stream has lost frames", " holds "],
    )
    .await;

    // It leads while they are away. Once they return, it cannot count on them.
    for index in longer {
        cluster.nodes[index].kill();
    }
    leads(&cluster.nodes[late]).await;
    for index in longer {
        cluster.nodes[index].server = Some(cluster.nodes[index].setup.begin());
    }
    stands_still(&cluster, &mut signer, (&longer[..], &held)).await;
    for index in longer {
        names(&cluster.nodes[index], &lost).await;
    }

    reseed(&mut cluster, (longer[0], late)).await;
    let bearer = format!("Authorization: Bearer {}", signer.token);
    for node in &cluster.nodes {
        for id in &ids {
            let path = format!("/objects/{id}");
            let read = http::try_get_with(node.setup.port(), &path, &bearer).await;
            assert_eq!(read.unwrap().status, 200, "{}: {id}", node.name);
        }
    }
    let (request, port) = (signer.mint(), cluster.nodes[late].setup.port());
    let accepts = || async { (request.send(port).await.status == 201).then_some(()) };
    eventually("writes continue", LIMIT, accepts).await;
    cluster.stop();
}
