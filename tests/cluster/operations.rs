//! An operator's work on a cluster: hand-overs, stops, status, and starts that are refused.

use std::collections::BTreeMap;
use std::fs;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::feeds;
use crate::load::Load;
use crate::nodes::{Cluster, Node, ready};
use crate::signed::Signer;
use crate::support::program::kedge;
use crate::support::{Rng, eventually, http};

/// Far above the target of 0.5 seconds, which a busy machine misses.
const HAND_OVER_LIMIT: Duration = Duration::from_secs(5);
/// Memory that a node may gain by leading once more, in addition to the load's own.
const MEMORY_LIMIT_MIB: usize = 64;
const STOP_LIMIT: Duration = Duration::from_secs(20);

/// Runs `kedge cluster …` against a node; returns its JSON.
fn command(node: &Node, arguments: &[&str]) -> Value {
    let output = kedge()
        .arg("cluster")
        .args(arguments)
        .args(["--json", "--socket"])
        .arg(node.setup.data().join("admin.sock"))
        .output()
        .unwrap();
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{arguments:?}: {error}");
    serde_json::from_slice(&output.stdout).unwrap()
}

// Holds invariants 180, 205.
#[tokio::test(flavor = "multi_thread")]
async fn operators_move_the_leadership_and_nobody_loses_anything() {
    let mut rng = Rng::seeded("cluster-operations");
    let networks = r#"["127.0.0.0/8"]"#;
    let cluster = Cluster::start_with(3, |setup, _| {
        setup
            .set("webhook_allowed_networks", networks)
            .set("webhook_retry_schedule_s", "[0,1,1,1,1,1,1,1]")
    });
    let mut cluster = cluster.await;
    let mut signer = Signer::register(&cluster, &mut rng).await;
    let mut load = Load::start(&cluster, &mut rng, 2).await;
    load.keys.push(signer.key.clone());
    load.progress(30).await;

    status_names_all(&cluster).await;
    for node in &cluster.nodes {
        keys_of_one_node_are_refused(node);
    }
    hand_overs(&cluster, &load).await;
    feeds::survive_the_leader(&mut cluster, &mut signer, &load).await;
    an_answer_is_given_again(&mut cluster, &mut signer, &load).await;
    stops(&mut cluster, &load).await;
    a_read_only_node_says_so(&mut cluster).await;
    // Its clients do not follow redirects.
    load.pause().await;
    redirects(&mut cluster, &mut signer).await;
    load.resume();
    starts_that_are_refused(&cluster).await;
    load.check(&cluster).await;
    cluster.stop();
}

/// Checks that a key which only one node has is refused: it would stop all others at the first frame that it seals.
fn keys_of_one_node_are_refused(node: &Node) {
    let keys = || {
        fs::read_dir(node.setup.data().join("keys"))
            .unwrap()
            .count()
    };
    let before = keys();
    let socket = node.setup.data().join("admin.sock");
    let output = kedge()
        .args(["admin", "rotate-side-key", "--socket"])
        .arg(socket)
        .output()
        .unwrap();
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(
        !output.status.success() && error.contains("Keys of several nodes"),
        "{error}"
    );
    assert_eq!(keys(), before);
}

async fn status_names_all(cluster: &Cluster) {
    let leader = cluster.leader().await;
    let term = ready(&cluster.nodes[leader].setup).await.unwrap()["cluster"]["term"].clone();
    for node in &cluster.nodes {
        let all = || async {
            let status = command(node, &["status"]);
            assert_eq!(status["leader"], cluster.nodes[leader].name.as_str());
            assert_eq!(status["term"], term);
            let shown = cluster.nodes.iter().enumerate().all(|(index, other)| {
                let one = &status["nodes"][&other.name];
                let role = if index == leader {
                    "leader"
                } else {
                    "follower"
                };
                one["role"] == role && one["term"] == term && one["frame"].is_u64()
            });
            shown.then_some(())
        };
        eventually("the status names all nodes", Duration::from_secs(10), all).await;
    }
}

/// Hands the leadership round twice under load. Every connection is answered, and nothing is left over.
async fn hand_overs(cluster: &Cluster, load: &Load) {
    let mut before = None;
    let unanswered = load.unanswered();
    for round in 0..6 {
        let leader = cluster.leader().await;
        let next = &cluster.nodes[(leader + 1) % 3];
        let has_led = &cluster.nodes[leader];
        if round == 0 {
            shows(has_led, &["kedge_anchor_lag_batches"], |lag| lag > 0.5).await;
        }
        load.longest_pause();
        let begun = Instant::now();
        let handed = command(&cluster.nodes[leader], &["hand-over", "--to", &next.name]);
        assert_eq!(handed["successor"], next.name.as_str());
        let leads = || async {
            let ready = ready(&next.setup).await?;
            (ready["cluster"]["role"] == "leader").then_some(())
        };
        eventually("the named node leads", Duration::from_secs(10), leads).await;
        let took = begun.elapsed();
        load.progress(20).await;
        let pause = load.longest_pause();
        eprintln!("handed over in {took:?}; longest time without an acknowledged write: {pause:?}");
        assert!(pause < HAND_OVER_LIMIT, "{pause:?}");
        cluster.wait_until_ready().await;
        shows(has_led, &OF_LEADERS, |value| value < 0.5).await;
        // Each node has led once by then.
        if round == 2 {
            before = Some(held(cluster));
        }
    }
    assert_eq!(
        load.unanswered(),
        unanswered,
        "a connection was not answered"
    );
    let (before, after) = (before.unwrap(), held(cluster));
    eprintln!("held before and after three hand-overs: {before:?} {after:?}");
    for (before, after) in before.iter().zip(&after) {
        for (name, count) in &after.threads {
            let known = before.threads.get(name).copied().unwrap_or_default();
            // Each node led once more; one of them leads now.
            assert!(*count <= known + 1, "{name}: {known} to {count} threads");
        }
        let grown = after.memory_mib.saturating_sub(before.memory_mib);
        assert!(grown < MEMORY_LIMIT_MIB, "{before:?} {after:?}");
        assert!(after.sockets <= before.sockets + 8, "{before:?} {after:?}");
    }
}

/// Gauges that only a leader measures.
const OF_LEADERS: [&str; 5] = [
    "kedge_anchor_lag_batches",
    "kedge_anchor_lag_seconds",
    "kedge_anchor_intents_open",
    "kedge_bond_look_failures",
    "kedge_cluster_stalled",
];

/// Waits until a node's metrics satisfy `holds`.
async fn shows(node: &Node, names: &[&str], holds: impl Fn(f64) -> bool) {
    for name in names {
        let shown = || async {
            let value = http::metric(node.setup.metrics_port(), name, &[]).await;
            holds(value).then_some(())
        };
        let what = format!("{} shows {name} as it should", node.name);
        eventually(&what, Duration::from_secs(30), shown).await;
    }
}

/// A node whose store is read-only takes no part, and does not report itself as a single server.
async fn a_read_only_node_says_so(cluster: &mut Cluster) {
    let leader = cluster.leader().await;
    let node = &mut cluster.nodes[(leader + 1) % 3];
    node.server.take().unwrap().stop();
    let mark = node.setup.data().with_extension("high-water");
    let kept = fs::read(&mark).unwrap();
    fs::remove_file(&mark).unwrap();
    node.server = Some(node.setup.begin());
    let read_only = || async {
        let ready = ready(&node.setup).await?;
        (ready["mode"] == "read_only" && ready["cluster"].is_null()).then_some(())
    };
    eventually("it is read-only", Duration::from_secs(30), read_only).await;
    let status = command(node, &["status"]);
    let problem = status["problem"].as_str().unwrap();
    assert!(
        status["role"] == "none" && problem.contains("read-only"),
        "{status}"
    );
    let output = kedge()
        .args(["cluster", "hand-over", "--socket"])
        .arg(node.setup.data().join("admin.sock"))
        .output()
        .unwrap();
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(
        error.contains("takes no part in the cluster: its store is read-only"),
        "{error}"
    );
    keys_of_one_node_are_refused(node);
    node.kill();
    fs::write(&mark, kept).unwrap();
    node.start();
    cluster.wait_until_ready().await;
}

/// A process's threads, sockets and memory.
#[derive(Debug)]
struct Held {
    threads: BTreeMap<String, usize>,
    sockets: usize,
    memory_mib: usize,
}

fn held(cluster: &Cluster) -> Vec<Held> {
    let one = |node: &Node| {
        let process = format!("/proc/{}", node.server.as_ref().unwrap().id());
        let mut threads = BTreeMap::new();
        for task in fs::read_dir(format!("{process}/task")).unwrap().flatten() {
            // A thread may have just ended.
            let name = fs::read_to_string(task.path().join("comm")).unwrap_or_default();
            let name = name.trim().trim_end_matches(|c: char| c.is_ascii_digit());
            // Tokio starts and ends threads for blocking work on demand.
            if !name.starts_with("tokio") {
                *threads.entry(name.to_owned()).or_default() += 1;
            }
        }
        let files = fs::read_dir(format!("{process}/fd")).unwrap().flatten();
        let targets = files.filter_map(|file| fs::read_link(file.path()).ok());
        let sockets = targets.filter(|target| !target.starts_with("/")).count();
        let statm = fs::read_to_string(format!("{process}/statm")).unwrap();
        let pages: usize = statm.split(' ').nth(1).unwrap().parse().unwrap();
        Held {
            threads,
            sockets,
            memory_mib: pages * 4 / 1024,
        }
    };
    cluster.nodes.iter().map(one).collect()
}

/// Repeats a request with an idempotency key at every node after the leader was lost.
async fn an_answer_is_given_again(cluster: &mut Cluster, signer: &mut Signer, load: &Load) {
    let leader = cluster.leader().await;
    let request = signer.mint_once("once");
    let first = request
        .send(cluster.nodes[(leader + 1) % 3].setup.port())
        .await;
    assert_eq!(first.status, 201, "{}", first.body);
    cluster.nodes[leader].kill();
    load.progress(5).await;
    cluster.nodes[leader].start();
    cluster.wait_until_ready().await;
    for node in &cluster.nodes {
        let again = request.send(node.setup.port()).await;
        assert_eq!(again.status, 201, "{}", again.body);
        assert!(
            again
                .head
                .to_lowercase()
                .contains("idempotent-replayed: true")
        );
        assert_eq!(again.json(), first.json(), "{}", node.name);
    }
}

/// Stops a follower and the leader: each ends with status 0, in time.
async fn stops(cluster: &mut Cluster, load: &Load) {
    let leader = cluster.leader().await;
    for index in [(leader + 1) % 3, leader] {
        load.longest_pause();
        let begun = Instant::now();
        cluster.nodes[index].server.take().unwrap().stop();
        let took = begun.elapsed();
        load.progress(10).await;
        let role = if index == leader {
            "leader"
        } else {
            "follower"
        };
        let pause = load.longest_pause();
        eprintln!("the {role} stopped in {took:?}; no acknowledged write for {pause:?}");
        assert!(took < STOP_LIMIT, "{role}: {took:?}");
        cluster.nodes[index].start();
        cluster.wait_until_ready().await;
    }
}

/// A node that redirects writes names the leader's URL.
async fn redirects(cluster: &mut Cluster, signer: &mut Signer) {
    let leader = cluster.leader().await;
    let node = &mut cluster.nodes[(leader + 1) % 3];
    node.server.take().unwrap().stop();
    let plain = node.setup.clone();
    node.setup = plain.clone().set("cluster_writes", "\"redirect\"");
    node.start();
    cluster.wait_until_ready().await;
    let leader = cluster.leader().await;
    let node = &cluster.nodes[(leader + 1) % 3];
    let request = signer.mint();
    let answer = request.send(node.setup.port()).await;
    assert_eq!(answer.status, 307, "{}", answer.body);
    let location = format!("location: {}/objects\r\n", cluster.nodes[leader].url());
    let head = answer.head.to_lowercase() + "\r\n";
    assert!(head.contains(&location), "{head}");
    let followed = request.send(cluster.nodes[leader].setup.port()).await;
    assert_eq!(followed.status, 201, "{}", followed.body);
    assert_eq!(http::get(node.setup.port(), "/batches").await.status, 200);
    let index = (leader + 1) % 3;
    cluster.nodes[index].server.take().unwrap().stop();
    cluster.nodes[index].setup = plain;
    cluster.nodes[index].start();
    cluster.wait_until_ready().await;
}

async fn starts_that_are_refused(cluster: &Cluster) {
    let newcomer = || cluster.newcomer("refused");
    let other = cluster.other_contract().await;
    let cases = [
        (
            newcomer(),
            vec!["cluster_node", "is required with cluster_servers"],
        ),
        (
            newcomer()
                .set("cluster_node", "\"node4\"")
                .set("chain_contract", format!("\"{other}\"")),
            vec!["is of another log", "another name"],
        ),
    ];
    for (setup, expected) in cases {
        let (status, text) = tokio::task::block_in_place(|| setup.start_refused());
        assert!(!status.success());
        eprintln!("{text}");
        for part in expected {
            assert!(text.contains(part), "{part:?} is not in {text}");
        }
    }
}
