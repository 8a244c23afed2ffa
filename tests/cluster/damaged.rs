//! The stream's files on one NATS server are damaged while it runs: bytes flipped, cut off, or the file gone. No node
//! serves another history. At worst writes stop with the frame named, and the stream is rebuilt from a node's log.

use std::fs::{self, File};
use std::os::unix::fs::FileExt as _;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use kedge_log::LogReader;
use kedge_log::env::RealEnv;

use serde_json::Value;

use crate::engine::{STREAM, lose_data};
use crate::load::Load;
use crate::nodes::{Cluster, ready};
use crate::signed::Signer;
use crate::support::program::kedge;
use crate::support::{Rng, eventually};

const SETTLED_LIMIT: Duration = Duration::from_mins(1);
/// Longest time until writes continue: a server was restarted, and the stream may need another leader.
const CONTINUES_LIMIT: Duration = Duration::from_secs(25);
const POLL: Duration = Duration::from_millis(100);

/// The kind of damage to a file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Damage {
    Flipped,
    CutOff,
    Gone,
}

impl Damage {
    fn do_to(self, file: &PathBuf) {
        let length = fs::metadata(file).unwrap().len();
        match self {
            Self::Gone => fs::remove_file(file).unwrap(),
            Self::CutOff => {
                let file = File::options().write(true).open(file).unwrap();
                file.set_len(length / 2).unwrap();
            }
            Self::Flipped => {
                let file = File::options().read(true).write(true).open(file).unwrap();
                // In the middle of the frames, and in one of the last.
                for at in [length / 2, length - length / 20] {
                    let mut byte = [0];
                    file.read_exact_at(&mut byte, at).unwrap();
                    file.write_all_at(&[byte[0] ^ 0x55], at).unwrap();
                }
            }
        }
    }
}

/// The files that hold the stream's messages on a server.
fn blocks(cluster: &Cluster, server: usize) -> Vec<PathBuf> {
    let folder = format!("engine{server}/jetstream/$G/streams/{STREAM}/msgs");
    let folder = cluster.nats.folder().join(folder);
    let files = fs::read_dir(folder)
        .unwrap()
        .map(|file| file.unwrap().path());
    let mut blocks: Vec<PathBuf> = files
        .filter(|path| path.extension().is_some_and(|ending| ending == "blk"))
        .collect();
    blocks.sort();
    assert!(!blocks.is_empty());
    blocks
}

/// The frame that a node reports as broken, with the reason.
fn broken(ready: &Value) -> Option<String> {
    let cluster = &ready["cluster"];
    let reasons = [&cluster["problem"], &cluster["stalled"]];
    let mut named = reasons.into_iter().filter_map(Value::as_str);
    let named = named.find(|reason| reason.contains("frame") && reason.contains("stream"));
    named.map(str::to_owned)
}

/// The broken frames that the nodes report.
async fn problems(cluster: &Cluster) -> Vec<String> {
    let mut problems = Vec::new();
    for node in &cluster.nodes {
        let ready = ready(&node.setup).await;
        let problem = ready.as_ref().and_then(broken);
        problems.extend(problem.map(|problem| format!("{}: {problem}", node.name)));
    }
    problems
}

/// Prints the stream's state on nodes and servers.
async fn state(cluster: &Cluster) {
    for node in &cluster.nodes {
        let ready = ready(&node.setup).await.unwrap_or_default();
        eprintln!("{}: {} {}", node.name, ready["reason"], ready["cluster"]);
    }
    eprintln!("{}", cluster.nats.stream_states(STREAM));
}

/// Damages a server's files, and makes it read them again.
async fn damage(cluster: &mut Cluster, load: &Load, server: usize, damage: Damage) {
    load.progress(30).await;
    for block in blocks(cluster, server) {
        damage.do_to(&block);
    }
    // It still holds some of it in memory.
    load.progress(10).await;
    cluster.nats.server(server).kill();
    cluster.nats.server(server).start();
    tokio::task::block_in_place(|| cluster.nats.server(server).wait_until_healthy());
}

/// Whether writes continue. If not, a node must name the broken frame.
async fn continues(cluster: &Cluster, load: &Load) -> bool {
    let begun = Instant::now();
    let before = load.acknowledged();
    while begun.elapsed() < CONTINUES_LIMIT {
        if load.acknowledged() > before + 50 && begun.elapsed() > CONTINUES_LIMIT / 5 {
            return true;
        }
        tokio::time::sleep(POLL).await;
    }
    let written = load.acknowledged() - before;
    eprintln!("{written} writes in {CONTINUES_LIMIT:?}");
    state(cluster).await;
    let named = || async {
        let problems = problems(cluster).await;
        (!problems.is_empty()).then_some(problems)
    };
    let named = eventually("a node names what is broken", SETTLED_LIMIT, named).await;
    eprintln!("writes stopped: {named:?}");
    false
}

/// The last frame of a node that is stopped.
fn last_frame(cluster: &Cluster, node: usize) -> u64 {
    let log = cluster.nodes[node].setup.data().join("log");
    let opened = LogReader::open(std::sync::Arc::new(RealEnv), &log, None, 1 << 20);
    opened.unwrap().0.position().frame
}

/// The operator's repair: stops all nodes and rebuilds the stream from the longest log.
async fn reseed(cluster: &mut Cluster, load: &Load) {
    load.pause().await;
    for node in &mut cluster.nodes {
        node.kill();
    }
    let longest = (0..cluster.nodes.len()).max_by_key(|node| last_frame(cluster, *node));
    let longest = longest.unwrap();
    let setup = &cluster.nodes[longest].setup;
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
    eprintln!("made again: {}", String::from_utf8_lossy(&output.stdout));
    for node in &mut cluster.nodes {
        node.server = Some(node.setup.begin());
    }
    cluster.wait_until_ready().await;
    load.resume();
    load.progress(30).await;
}

/// A node without data reads the whole stream from any server. It gets the log, or names the frame.
async fn a_node_joins(cluster: &mut Cluster) -> bool {
    let leader = cluster.leader().await;
    let node = &mut cluster.nodes[(leader + 1) % 3];
    node.kill();
    lose_data(node);
    node.server = Some(node.setup.begin());
    let settled = || async {
        let ready = ready(&node.setup).await?;
        let problem = broken(&ready);
        (problem.is_some() || ready["status"] == "ready").then_some(problem)
    };
    let settled = async {
        let settled = eventually("it joins or names a frame", SETTLED_LIMIT * 2, settled);
        tokio::time::timeout(SETTLED_LIMIT, settled).await
    };
    match settled.await {
        Err(_) => {
            state(cluster).await;
            panic!("it neither joined nor named a frame within {SETTLED_LIMIT:?}");
        }
        Ok(None) => true,
        Ok(Some(problem)) => {
            eprintln!("the node that joined stopped: {problem}");
            false
        }
    }
}

async fn one(cluster: &mut Cluster, load: &Load, how: Damage, is_leader: bool) {
    let leader = || async { cluster.nats.leader_of(STREAM) };
    let leader = eventually("the stream is led", SETTLED_LIMIT, leader).await;
    let server = if is_leader { leader } else { (leader + 1) % 3 };
    let of = if is_leader { "leader" } else { "follower" };
    eprintln!("the files of the stream's {of} were {how:?}");
    damage(cluster, load, server, how).await;
    let is_whole = continues(cluster, load).await && a_node_joins(cluster).await;
    eprintln!(
        "{how:?} on the stream's {of}: {}",
        if is_whole {
            "nothing was noticed"
        } else {
            "made again"
        }
    );
    if !is_whole {
        reseed(cluster, load).await;
    }
    load.progress(20).await;
}

async fn damaged(name: &str, cases: &[(Damage, bool)]) {
    let mut rng = Rng::seeded(name);
    let filter = "\"info,kedge_cluster=debug\"";
    let mut cluster = Cluster::start_with(3, |setup, _| setup.set("log_filter", filter)).await;
    let signer = Signer::register(&cluster, &mut rng).await;
    let mut load = Load::start(&cluster, &mut rng, 2).await;
    load.keys.push(signer.key.clone());
    load.progress(100).await;
    for (how, is_leader) in cases {
        one(&mut cluster, &load, *how, *is_leader).await;
    }
    load.check(&cluster).await;
    cluster.stop();
}

// Holds invariants 192, 208.
#[tokio::test(flavor = "multi_thread")]
async fn a_damaged_stream_never_becomes_another_history() {
    damaged("cluster-damaged", &[(Damage::Flipped, true)]).await;
}

async fn every_damage(is_leader: bool) {
    for how in [Damage::CutOff, Damage::Gone, Damage::Flipped] {
        damaged(&format!("cluster-{how:?}-{is_leader}"), &[(how, is_leader)]).await;
    }
}

// Holds invariant 192.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "takes minutes; `make night` runs it"]
async fn no_damage_of_the_streams_leader_makes_another_history() {
    every_damage(true).await;
}

// Holds invariant 192.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "takes minutes; `make night` runs it"]
async fn no_damage_of_another_server_makes_another_history() {
    every_damage(false).await;
}
