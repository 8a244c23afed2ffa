//! Servers of the engine are killed and return, and a node loses its data.

use std::time::{Duration, Instant};

use serde_json::Value;

use crate::load::Load;
use crate::nodes::{Cluster, Node, ready};
use crate::signed::Signer;
use crate::support::{PASSWORD, Rng, connect, eventually, http};

/// The log's stream.
pub(crate) const STREAM: &str = "KEDGE_kedge";
/// The bucket of the lease and the nodes.
pub(crate) const BUCKET: &str = "KV_KEDGE_kedge";
/// NATS servers elect a new leader of a stream 4 to 9 seconds after the last one was lost.
const ELECTION_LIMIT: Duration = Duration::from_secs(15);
/// Longest time until a write is answered that was in flight when the quorum was lost, and a later write.
const FIRST_ANSWER_LIMIT: Duration = Duration::from_secs(8);
const ANSWER_LIMIT: Duration = Duration::from_secs(3);
const STOP_LIMIT: Duration = Duration::from_secs(20);
const NOTICED_LIMIT: Duration = Duration::from_secs(15);

// Holds invariants 180, 186.
#[tokio::test(flavor = "multi_thread")]
async fn the_log_outlives_the_servers_that_carry_it() {
    let mut rng = Rng::seeded("cluster-engine");
    let mut cluster = Cluster::start(3).await;
    let mut signer = Signer::register(&cluster, &mut rng).await;
    let mut load = Load::start(&cluster, &mut rng, 2).await;
    load.keys.push(signer.key.clone());
    load.progress(30).await;

    // The server that leads the stream.
    let leads = cluster.nats.leader_of(STREAM).unwrap();
    cluster.nats.server(leads).kill();
    load.longest_pause();
    load.progress(30).await;
    let pause = load.longest_pause();
    eprintln!("the stream's leader was killed: writes paused for {pause:?}");
    assert!(pause < ELECTION_LIMIT, "{pause:?}");
    start_servers(&mut cluster, &[leads]);
    cluster.wait_until_ready().await;

    // First a quorum of the servers, then all.
    let first = usize::try_from(rng.below(3)).unwrap();
    for lost in [vec![first, (first + 1) % 3], vec![0, 1, 2]] {
        for server in &lost {
            cluster.nats.server(*server).kill();
        }
        without_quorum(&cluster, &mut signer).await;
        let stopped = if lost.len() == 3 {
            Some(leader_stops(&mut cluster).await)
        } else {
            None
        };
        let begun = Instant::now();
        start_servers(&mut cluster, &lost);
        load.progress(30).await;
        eprintln!(
            "{} servers came back: writes continued after {:?}",
            lost.len(),
            begun.elapsed()
        );
        if let Some(stopped) = stopped {
            cluster.nodes[stopped].start();
        }
        cluster.wait_until_ready().await;
    }
    load.pause().await;
    a_node_without_data_joins(&mut cluster, load.last_sequence()).await;
    load.resume();
    load.progress(10).await;
    load.check(&cluster).await;
    cluster.stop();
}

// Holds invariant 206.
/// Kills the server that leads the stream again and again: measures the election of another leader, and the pause of
/// writes (`ELECTIONS`, 6). The last two are asked to end.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "measures, and takes minutes; `make night` runs it"]
async fn writes_continue_soon_after_the_servers_have_elected() {
    let mut rng = Rng::seeded("cluster-elections");
    let mut cluster = Cluster::start(3).await;
    let signer = Signer::register(&cluster, &mut rng).await;
    let mut load = Load::start(&cluster, &mut rng, 2).await;
    load.keys.push(signer.key.clone());
    let rounds = std::env::var("ELECTIONS").map_or(6, |text| text.parse().unwrap());
    for round in 0..rounds + 2 {
        load.progress(30).await;
        let bucket = cluster.nats.leader_of(BUCKET);
        let leads = cluster.nats.leader_of(STREAM).unwrap();
        load.longest_pause();
        let begun = Instant::now();
        if round < rounds {
            cluster.nats.server(leads).kill();
        } else {
            cluster.nats.server(leads).retire(round == rounds);
        }
        let elected = || async {
            let now = cluster.nats.leader_of(STREAM)?;
            (now != leads).then(|| begun.elapsed())
        };
        let elected = eventually("a leader is elected", NOTICED_LIMIT, elected).await;
        load.progress(30).await;
        let pause = load.longest_pause();
        let both = if bucket == Some(leads) {
            ", and the bucket"
        } else {
            ""
        };
        eprintln!(
            "{round}: it led the stream{both}: elected after {elected:?}, paused for {pause:?}"
        );
        cluster.nats.server(leads).kill();
        start_servers(&mut cluster, &[leads]);
        cluster.wait_until_ready().await;
    }
    load.check(&cluster).await;
    cluster.stop();
}

fn start_servers(cluster: &mut Cluster, indexes: &[usize]) {
    for index in indexes {
        cluster.nats.server(*index).start();
    }
    tokio::task::block_in_place(|| cluster.nats.wait_until_ready());
}

/// Stops the leader while no server accepts its frames: it ends in order all the same.
async fn leader_stops(cluster: &mut Cluster) -> usize {
    let leader = cluster.leader().await;
    let begun = Instant::now();
    cluster.nodes[leader].server.take().unwrap().stop();
    eprintln!(
        "without a quorum, the leader stopped in {:?}",
        begun.elapsed()
    );
    assert!(begun.elapsed() < STOP_LIMIT, "{:?}", begun.elapsed());
    leader
}

/// Writes are soon refused, nodes report that they are not ready, and reads continue.
async fn without_quorum(cluster: &Cluster, signer: &mut Signer) {
    let mut times = Vec::new();
    for round in 0..2 {
        for node in &cluster.nodes {
            let begun = Instant::now();
            let answer = signer.mint().send(node.setup.port()).await;
            let took = begun.elapsed();
            times.push(took);
            assert_eq!(answer.status, 503, "{}: {}", node.name, answer.body);
            let head = answer.head.to_lowercase();
            assert!(head.contains("\r\nretry-after: "), "{head}");
            let limit = if round == 0 {
                FIRST_ANSWER_LIMIT
            } else {
                ANSWER_LIMIT
            };
            assert!(took < limit, "{}: {took:?}: {}", node.name, answer.body);
        }
    }
    eprintln!("without a quorum, writes were refused after {times:?}");
    for node in &cluster.nodes {
        let server = node.server.as_ref().unwrap();
        let not_ready = || async {
            let (status, ready) = server.readiness().await;
            (status == 503).then_some(ready)
        };
        let ready = eventually("every node is not ready", NOTICED_LIMIT, not_ready).await;
        eprintln!("{}: {}", node.name, ready["reason"]);
        let read = http::get(node.setup.port(), "/batches").await;
        assert_eq!(read.status, 200);
        // Sessions are stored too, but not in the log.
        let begun = Instant::now();
        let account = connect(&node.url()).await.account(signer.key.clone());
        let email = format!("{}@example.com", account.address()).to_lowercase();
        let refused = account
            .login(&email, PASSWORD)
            .await
            .unwrap_err()
            .to_string();
        assert!(refused.contains("503"), "{refused}");
        assert!(begun.elapsed() < ANSWER_LIMIT, "{:?}", begun.elapsed());
    }
}

/// Removes a node's data, except its keys.
pub(crate) fn lose_data(node: &Node) {
    for entry in std::fs::read_dir(node.setup.data()).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() && !path.ends_with("keys") {
            std::fs::remove_dir_all(path).unwrap();
        } else if path.is_file() {
            std::fs::remove_file(path).unwrap();
        }
    }
}

/// A follower loses its data, except its keys: it reads everything from the stream, and is not ready before.
async fn a_node_without_data_joins(cluster: &mut Cluster, sequence: u64) {
    let leader = cluster.leader().await;
    let node = &mut cluster.nodes[(leader + 1) % 3];
    node.kill();
    lose_data(node);
    node.server = Some(node.setup.begin());
    let mut shown: Vec<Value> = Vec::new();
    let begun = Instant::now();
    loop {
        if let Some(ready) = ready(&node.setup).await {
            let (status, is_ready) = (
                ready["sequence"].as_u64().unwrap(),
                ready["status"] == "ready",
            );
            assert!(!is_ready || status >= sequence, "{ready}");
            if shown.last() != Some(&ready["cluster"]) {
                shown.push(ready["cluster"].clone());
            }
            if is_ready {
                break;
            }
        }
        assert!(
            begun.elapsed() < Duration::from_mins(1),
            "{shown:?}\n{}",
            node.setup.log()
        );
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    eprintln!("joined in {:?}: {shown:?}", begun.elapsed());
    let progress = |shown: &Value| shown["stream_frame"].as_u64() > shown["frame"].as_u64();
    assert!(shown.iter().any(progress), "no progress shown: {shown:?}");
    cluster.wait_for_one_head().await;
}
