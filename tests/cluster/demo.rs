//! `kedge demo` against a cluster: the leader is lost, and everything acknowledged is still there.

use std::process::Output;

use serde_json::Value;

use crate::nodes::Cluster;
use crate::support::program::kedge;

const OBJECTS: &str = "20";

/// Runs the demo at a node; `{node}.pid` files name the processes.
async fn demo(cluster: &Cluster, node: usize, kill: &str) -> Output {
    let url = cluster.nodes[node].url();
    let sockets = cluster.nodes[node].setup.data().with_file_name("{node}");
    let save = sockets.with_file_name("proof.json");
    let mut demo = kedge();
    demo.args(["demo", "--json", "--objects", OBJECTS, "--url", &url]);
    demo.args(["--rpc", &cluster.rpc(), "--kill-leader-with", kill]);
    demo.arg("--socket").arg(sockets.join("admin.sock"));
    demo.arg("--save").arg(save);
    tokio::task::spawn_blocking(move || demo.output().unwrap())
        .await
        .unwrap()
}

fn error_of(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[tokio::test(flavor = "multi_thread")]
async fn the_demo_loses_the_leader_and_nothing_else() {
    let cluster = Cluster::start_with(3, |setup, _| setup.set("chain_confirmations", 1)).await;
    let folder = cluster.nodes[0].setup.data().with_file_name("pids");
    std::fs::create_dir_all(&folder).unwrap();
    for node in &cluster.nodes {
        let id = node.server.as_ref().unwrap().id().to_string();
        std::fs::write(folder.join(format!("{}.pid", node.name)), id).unwrap();
    }
    let leader = cluster.leader().await;
    // A command that fails is an error, and so is one that kills no process.
    let output = demo(&cluster, leader, "echo no such node; false").await;
    assert!(!output.status.success());
    assert!(
        error_of(&output).contains("--kill-leader-with"),
        "{}",
        error_of(&output)
    );

    // Starts at the node that is then killed.
    let kill = format!("kill -9 $(cat {}/{{node}}.pid)", folder.display());
    let output = demo(&cluster, leader, &kill).await;
    assert!(output.status.success(), "{}", error_of(&output));
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    let proven = report["proven"].as_array().unwrap();
    let nothing_lost = proven.iter().find(|row| row["what"] == "nothing was lost");
    let how = nothing_lost.unwrap()["how"].as_str().unwrap();
    eprintln!("{how}");
    let name = &cluster.nodes[leader].name;
    assert!(
        how.starts_with(&format!("{name} was killed and node")),
        "{how}"
    );
    // 20 mints, 20 updates in a batch, 16 single ones, 16 transfers, a template, three variations in one request, and
    // the requests around the loss; the answer to one of these may get lost with the leader.
    let count = how
        .split("all ")
        .nth(1)
        .and_then(|text| text.split(' ').next());
    let count: u64 = count.unwrap().parse().unwrap();
    assert!(count >= 20 + 20 + 16 + 16 + 1 + 1 + 10, "{how}");
    assert!(
        proven.iter().any(|row| row["what"] == "on the chain"),
        "{report}"
    );
    // The killed one is gone, and the others continue.
    assert_ne!(cluster.leader_among(leader).await, leader);
}
