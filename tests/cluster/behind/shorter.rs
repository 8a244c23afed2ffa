//! Nodes that start with less of the log than was anchored: an older copy of their data, or none. They read the rest
//! from the stream, and can lead like others.

use std::fs;
use std::time::Duration;

use crate::nodes::{Cluster, ready};
use crate::signed::Signer;
use crate::support::program::kedge;
use crate::support::{Rng, copy_directory, eventually};

const LIMIT: Duration = Duration::from_secs(30);

/// Runs `kedge admin …` against a node; returns whether it succeeded, and its output.
fn admin(cluster: &Cluster, index: usize, arguments: &[&str]) -> (bool, String) {
    let socket = cluster.nodes[index].setup.data().join("admin.sock");
    let output = kedge()
        .arg("admin")
        .args(arguments)
        .arg("--socket")
        .arg(socket)
        .output()
        .unwrap();
    let text = [output.stdout, output.stderr].concat();
    let text = String::from_utf8_lossy(&text).into_owned();
    (output.status.success(), text)
}

/// Makes some changes, which the leader anchors.
async fn change_and_anchor(cluster: &Cluster, signer: &mut Signer) {
    let leader = cluster.leader().await;
    for _ in 0..10 {
        let answer = signer.mint().send(cluster.nodes[leader].setup.port()).await;
        assert_eq!(answer.status, 201, "{}", answer.body);
    }
    let (worked, text) = admin(cluster, leader, &["anchor-now"]);
    assert!(worked && text.contains("block_number"), "{text}");
}

/// Waits until a node is ready; shows the reason if it never is.
async fn becomes_ready(cluster: &Cluster, index: usize) {
    let is_ready = || async {
        let ready = ready(&cluster.nodes[index].setup).await?;
        eprintln!("{}: {}", ready["status"], ready["reason"]);
        (ready["status"] == "ready").then_some(())
    };
    eventually("the node is ready", LIMIT, is_ready).await;
}

// Holds invariant 233.
#[tokio::test(flavor = "multi_thread")]
async fn a_node_that_starts_with_less_than_was_anchored_catches_up_and_leads() {
    let mut rng = Rng::seeded("cluster-shorter");
    let mut cluster = Cluster::start(2).await;
    let mut signer = Signer::register(&cluster, &mut rng).await;
    change_and_anchor(&cluster, &mut signer).await;
    let leader = cluster.leader().await;
    let follower = 1 - leader;
    let data = cluster.nodes[follower].setup.data().to_owned();
    let kept = data.with_extension("kept");
    cluster.nodes[follower].server.take().unwrap().stop();
    copy_directory(&data, &kept);
    cluster.nodes[follower].start();
    becomes_ready(&cluster, follower).await;
    change_and_anchor(&cluster, &mut signer).await;

    // An older copy of its data.
    cluster.nodes[follower].kill();
    fs::remove_dir_all(&data).unwrap();
    copy_directory(&kept, &data);
    cluster.nodes[follower].start();
    becomes_ready(&cluster, follower).await;

    // Only its keys.
    cluster.nodes[follower].kill();
    for folder in ["log", "store"] {
        fs::remove_dir_all(data.join(folder)).unwrap();
    }
    fs::remove_file(data.with_extension("high-water")).unwrap();
    cluster.nodes[follower].start();
    becomes_ready(&cluster, follower).await;

    // It reports its role and its frames.
    let (worked, text) = admin(&cluster, follower, &["recover"]);
    assert!(worked && text.contains("batches_on_chain"), "{text}");
    let (worked, text) = admin(&cluster, follower, &["anchor-now"]);
    assert!(
        !worked && text.contains("this node follows the log"),
        "{text}"
    );

    // The other one is lost, and returns only once this one leads: leading must not depend on it.
    cluster.nodes[leader].kill();
    let leads = || async {
        let ready = ready(&cluster.nodes[follower].setup).await?;
        (ready["cluster"]["role"] == "leader").then_some(())
    };
    eventually("the node leads", LIMIT, leads).await;
    cluster.nodes[leader].start();
    let (request, port) = (signer.mint(), cluster.nodes[follower].setup.port());
    let accepts = || async { (request.send(port).await.status == 201).then_some(()) };
    eventually("it accepts changes", LIMIT, accepts).await;
    becomes_ready(&cluster, leader).await;
    cluster.stop();
}
