//! The leader is disconnected from the engine; and the stream is tampered with.

use std::time::{Duration, Instant};

use async_nats::jetstream;
use async_nats::jetstream::message::StreamMessage;

use crate::FAILOVER_LIMIT;
use crate::engine::STREAM;
use crate::link::Link;
use crate::load::Load;
use crate::nodes::{Cluster, ready};
use crate::signed::Signer;
use crate::support::{Rng, eventually, http};

const NOTICED_LIMIT: Duration = Duration::from_secs(20);

/// A cluster whose nodes each have separate links to the servers.
pub(crate) async fn linked() -> (Cluster, Vec<Link>) {
    let mut links = Vec::new();
    let cluster = Cluster::start_with(3, |setup, nats| {
        let link = Link::to(&nats.urls());
        let setup = setup.set("cluster_servers", format!("{:?}", link.urls()));
        links.push(link);
        setup
    });
    let cluster = cluster.await;
    (cluster, links)
}

// Holds invariants 181, 186.
#[tokio::test(flavor = "multi_thread")]
async fn a_leader_that_is_cut_off_is_fenced_and_a_broken_stream_is_not_followed() {
    let mut rng = Rng::seeded("cluster-cut");
    let (cluster, links) = linked().await;
    let mut signer = Signer::register(&cluster, &mut rng).await;
    let mut load = Load::start(&cluster, &mut rng, 2).await;
    load.keys.push(signer.key.clone());
    load.progress(30).await;

    let leader = cluster.leader().await;
    links[leader].cut();
    let begun = Instant::now();
    let another = || async {
        for (index, node) in cluster.nodes.iter().enumerate() {
            let ready = ready(&node.setup).await;
            let leads = ready.is_some_and(|ready| ready["cluster"]["role"] == "leader");
            if index != leader && leads {
                return Some(());
            }
        }
        None
    };
    eventually("another node leads", Duration::from_secs(30), another).await;
    eprintln!(
        "the leader was cut off: another led after {:?}",
        begun.elapsed()
    );
    assert!(begun.elapsed() < FAILOVER_LIMIT, "{:?}", begun.elapsed());
    load.progress(20).await;
    let cut_off = cluster.nodes[leader].server.as_ref().unwrap();
    let not_ready = || async { (cut_off.readiness().await.0 == 503).then_some(()) };
    eventually("it is not ready", FAILOVER_LIMIT, not_ready).await;
    let answer = signer.mint().send(cluster.nodes[leader].setup.port()).await;
    assert_eq!(answer.status, 503, "{}", answer.body);
    links[leader].heal();
    let follows = || async {
        let ready = ready(&cluster.nodes[leader].setup).await?;
        (ready["cluster"]["role"] == "follower" && ready["status"] == "ready").then_some(())
    };
    eventually("it follows", NOTICED_LIMIT, follows).await;
    load.progress(20).await;
    load.pause().await;
    cluster.wait_for(load.last_sequence()).await;
    cluster.wait_for_one_head().await;

    let readers = load.readers(&cluster).await;
    let cluster = a_message_that_is_no_frame(cluster, &mut signer).await;
    load.check_by(&readers, &cluster).await;
}

/// An outsider publishes to the log's subject.
async fn a_message_that_is_no_frame(mut cluster: Cluster, signer: &mut Signer) -> Cluster {
    let leader = cluster.leader().await;
    let before = cluster.heads().await;
    let client = async_nats::connect(cluster.nats.urls()).await.unwrap();
    let stranger = jetstream::new(client);
    let published = stranger.publish("kedge.kedge.frames", "forged".into());
    let forged = published.await.unwrap().await.unwrap();
    // The stream began with the log, so its places are the frames' numbers.
    let broken = format!("frame {} ", forged.sequence);
    // The leader notices at its next frame.
    for node in &cluster.nodes {
        let begun = Instant::now();
        let answer = signer.mint().send(node.setup.port()).await;
        assert_eq!(answer.status, 503, "{}", answer.body);
        eprintln!("{}: refused after {:?}", node.name, begun.elapsed());
    }
    all_stand_still(&cluster, &broken).await;
    assert_eq!(cluster.heads().await, before, "another history is served");
    // A restart does not forget it.
    let node = &mut cluster.nodes[(leader + 1) % 3];
    node.kill();
    node.server = Some(node.setup.begin());
    let up = || async { ready(&node.setup).await };
    eventually("it answers", NOTICED_LIMIT, up).await;
    all_stand_still(&cluster, &broken).await;
    assert_eq!(cluster.heads().await, before, "another history is served");
    cluster
}

async fn all_stand_still(cluster: &Cluster, broken: &str) {
    for node in &cluster.nodes {
        let server = node.server.as_ref().unwrap();
        let stands = || async {
            let (status, ready) = server.readiness().await;
            let problem = ready["cluster"]["problem"].as_str()?;
            (status == 503 && problem.contains(broken)).then(|| problem.to_owned())
        };
        let what = format!("{} names {broken}", node.name);
        let problem = eventually(&what, NOTICED_LIMIT, stands).await;
        eprintln!("{}: {problem}", node.name);
        assert_eq!(http::get(node.setup.port(), "/batches").await.status, 200);
    }
}

// Holds invariant 181.
#[tokio::test(flavor = "multi_thread")]
async fn a_purged_stream_is_continued_by_those_who_hold_its_frames() {
    let mut rng = Rng::seeded("cluster-purged");
    let mut cluster = Cluster::start(3).await;
    let mut signer = Signer::register(&cluster, &mut rng).await;
    let mut load = Load::start(&cluster, &mut rng, 1).await;
    load.keys.push(signer.key.clone());
    load.progress(30).await;
    let leader = cluster.leader().await;
    let (late, other) = ((leader + 1) % 3, (leader + 2) % 3);
    cluster.nodes[late].kill();
    load.progress(30).await;
    load.pause().await;
    let client = async_nats::connect(cluster.nats.urls()).await.unwrap();
    let stream = jetstream::new(client).get_stream(STREAM).await.unwrap();
    stream.purge().await.unwrap();

    // The node that has everything continues.
    load.resume();
    load.progress(20).await;
    cluster.nodes[late].start();
    let server = cluster.nodes[late].server.as_ref().unwrap();
    let missing = || async {
        let (status, ready) = server.readiness().await;
        let problem = ready["cluster"]["problem"].as_str()?.to_owned();
        (status == 503).then_some(problem)
    };
    let problem = eventually("it names what it lacks", NOTICED_LIMIT, missing).await;
    eprintln!("{problem}");
    assert!(
        problem.contains("the stream begins with frame"),
        "{problem}"
    );
    load.progress(10).await;
    cluster.nodes[late].kill();
    load.pause().await;
    cluster.wait_for(load.last_sequence()).await;
    let readers = load.readers(&cluster).await;

    // No node leads on a stream whose end is unknown, and the node names the reason.
    stream.purge().await.unwrap();
    cluster.nodes[leader].kill();
    let server = cluster.nodes[other].server.as_ref().unwrap();
    let stuck = || async {
        let (status, ready) = server.readiness().await;
        let problem = ready["cluster"]["problem"].as_str()?.to_owned();
        (status == 503).then_some(problem)
    };
    let problem = eventually("it names the purged stream", NOTICED_LIMIT, stuck).await;
    eprintln!("{problem}");
    let answer = signer.mint().send(cluster.nodes[other].setup.port()).await;
    assert_eq!(answer.status, 503, "{}", answer.body);
    load.check_by(&readers, &cluster).await;
}

// Holds invariant 181.
/// The stream ends before what a node holds: no node follows it, and all follow again once it is whole, without a
/// restart.
#[tokio::test(flavor = "multi_thread")]
async fn a_stream_that_ends_early_for_a_while_is_followed_again() {
    let mut rng = Rng::seeded("cluster-short");
    let cluster = Cluster::start_with(3, |setup, _| setup.set("checkpoint_interval_s", "3600"));
    let cluster = cluster.await;
    let mut signer = Signer::register(&cluster, &mut rng).await;
    assert_eq!(
        signer
            .mint()
            .send(cluster.nodes[0].setup.port())
            .await
            .status,
        201
    );
    cluster.wait_for_one_head().await;
    // The frames of the first checkpoint come by themselves; after them nothing is published while the stream is copied.
    let port = cluster.nodes[cluster.leader().await].setup.port();
    let is_signed = || async { (http::get(port, "/checkpoint").await.status == 200).then_some(()) };
    eventually("the first checkpoint", NOTICED_LIMIT, is_signed).await;
    cluster.wait_for_one_head().await;
    let client = async_nats::connect(cluster.nats.urls()).await.unwrap();
    let stranger = jetstream::new(client);
    let mut stream = stranger.get_stream(STREAM).await.unwrap();
    let info = stream.info().await.unwrap().clone();
    let mut messages = Vec::new();
    for place in 1..=info.state.last_sequence {
        messages.push(stream.get_raw_message(place).await.unwrap());
    }
    let last = stream.info().await.unwrap().state.last_sequence;
    assert_eq!(last, info.state.last_sequence);
    stranger.delete_stream(STREAM).await.unwrap();
    stranger.create_stream(info.config).await.unwrap();
    let publish = async |message: &StreamMessage| {
        let (headers, payload) = (message.headers.clone(), message.payload.clone());
        let published = stranger.publish_with_headers("kedge.kedge.frames", headers, payload);
        published.await.unwrap().await.unwrap();
    };
    let (first, last) = messages.split_at(messages.len() - 2);
    for message in first {
        publish(message).await;
    }
    let leader = cluster.leader().await;
    let followers = || cluster.nodes.iter().enumerate();
    let followers = || followers().filter(|(index, _)| *index != leader);
    for (_, node) in followers() {
        let server = node.server.as_ref().unwrap();
        let short = || async {
            let (status, ready) = server.readiness().await;
            let problem = ready["cluster"]["problem"].as_str()?;
            (status == 503 && problem.contains("frames up to")).then_some(())
        };
        eventually("it names the short stream", 2 * NOTICED_LIMIT, short).await;
    }
    for message in last {
        publish(message).await;
    }
    cluster.wait_until_ready().await;
    assert_eq!(
        signer
            .mint()
            .send(cluster.nodes[0].setup.port())
            .await
            .status,
        201
    );
    cluster.wait_for_one_head().await;
}
