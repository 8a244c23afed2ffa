//! A network that splits, slows down or loses packets, between three nodes and three NATS servers. Writes continue where
//! an up-to-date node reaches a quorum; nobody ever serves another history.

use std::time::{Duration, Instant};

use crate::engine::STREAM;
use crate::link::Flow;
use crate::load::Load;
use crate::network::Network;
use crate::nodes::{Cluster, ready};
use crate::signed::Signer;
use crate::support::{Rng, eventually};
use crate::versions::Versions;

/// NATS servers elect a new leader of a stream 4 to 9 seconds after the last one was lost.
const ELECTION_LIMIT: Duration = Duration::from_secs(30);
/// The objective is 5 seconds. A machine that does other work may miss it, so each pause is printed, and more than this is
/// a failure.
const PAUSE_MAX: Duration = Duration::from_secs(20);
const HEALED_LIMIT: Duration = Duration::from_secs(40);
/// How long a fault lasts that leaves everybody connected.
const LASTING: Duration = Duration::from_secs(6);
/// A network over land: 200 ms to a server, and as much back.
const FAR: Duration = Duration::from_millis(200);

/// What the tests here share.
struct Split {
    cluster: Cluster,
    network: Network,
    load: Load,
    versions: Versions,
}

impl Split {
    async fn start(name: &str) -> Self {
        let mut rng = Rng::seeded(name);
        let (cluster, network) = Network::start().await;
        let signer = Signer::register(&cluster, &mut rng).await;
        let mut load = Load::start(&cluster, &mut rng, 2).await;
        load.keys.push(signer.key.clone());
        let versions = Versions::start(&cluster, signer, &mut rng).await;
        load.progress(30).await;
        Self {
            cluster,
            network,
            load,
            versions,
        }
    }

    /// The leader, the others, and the servers: the stream's leader last.
    async fn places(&self) -> (usize, [usize; 2], [usize; 3]) {
        let leader = self.cluster.leader().await;
        let stream = || async { self.cluster.nats.leader_of(STREAM) };
        let stream = eventually("the stream is led", ELECTION_LIMIT, stream).await;
        let others = [(leader + 1) % 3, (leader + 2) % 3];
        (leader, others, [(stream + 1) % 3, (stream + 2) % 3, stream])
    }

    /// Waits until one of these nodes leads.
    async fn led_by(&self, nodes: &[usize]) {
        let leads = || async {
            for node in nodes {
                let ready = ready(&self.cluster.nodes[*node].setup).await;
                if ready.is_some_and(|ready| ready["cluster"]["role"] == "leader") {
                    return Some(());
                }
            }
            None
        };
        eventually("one of them leads", HEALED_LIMIT, leads).await;
    }

    /// Writes continue during a fault; returns how long none was acknowledged.
    async fn continues(&self, what: &str, limit: Duration) {
        self.load.progress(20).await;
        let pause = self.load.longest_pause();
        eprintln!("{what}: no acknowledged write for {pause:?}");
        assert!(pause < limit, "{what}: {pause:?}");
    }

    async fn heal(&self) {
        self.network.heal();
        let begun = Instant::now();
        let all = || async {
            for node in &self.cluster.nodes {
                let ready = ready(&node.setup).await?;
                let is_ready = ready["status"] == "ready";
                (is_ready && !ready["cluster"]["leader"].is_null()).then_some(())?;
            }
            Some(())
        };
        eventually("all nodes are ready again", HEALED_LIMIT, all).await;
        eprintln!("healed: all nodes were ready after {:?}", begun.elapsed());
        self.load.progress(20).await;
        self.load.longest_pause();
    }

    async fn end(self) {
        self.versions.check().await;
        self.load.check(&self.cluster).await;
        self.cluster.stop();
    }

    /// The leader keeps one server, and that one has no quorum.
    async fn leader_with_a_minority(&self) {
        let (leader, others, [minority, second, stream]) = self.places().await;
        // It is connected there before.
        let cut = Flow::CUT;
        self.network.set_nodes(&[leader], &[second, stream], cut);
        tokio::time::sleep(LASTING / 2).await;
        self.load.progress(20).await;
        let (leader_now, ..) = self.places().await;
        if leader_now != leader {
            eprintln!("it was replaced while it changed servers");
        }
        self.load.longest_pause();
        self.network.set_server(minority, cut);
        self.network.set_nodes(&others, &[minority], cut);
        self.led_by(&others).await;
        self.continues("the leader kept a minority", PAUSE_MAX)
            .await;
        self.heal().await;
    }

    /// A server is cut off from the other servers, and all nodes are connected to it.
    async fn all_on_a_lonely_server(&self) {
        let (_, _, [lonely, second, stream]) = self.places().await;
        self.network
            .set_nodes(&[0, 1, 2], &[second, stream], Flow::CUT);
        tokio::time::sleep(LASTING / 2).await;
        self.load.progress(20).await;
        self.load.longest_pause();
        self.network
            .set_nodes(&[0, 1, 2], &[second, stream], Flow::default());
        self.network.set_server(lonely, Flow::CUT);
        self.continues("all nodes were on a lonely server", PAUSE_MAX)
            .await;
        self.heal().await;
    }

    /// The stream's leader is cut off from the other servers and from all nodes.
    async fn without_the_streams_leader(&self) {
        let (_, _, [_, _, stream]) = self.places().await;
        self.load.longest_pause();
        self.network.set_server(stream, Flow::CUT);
        self.network.set_nodes(&[0, 1, 2], &[stream], Flow::CUT);
        self.continues("the stream's leader was cut off", ELECTION_LIMIT)
            .await;
        self.heal().await;
    }

    /// The nodes do not reach the stream's leader, but the other servers do.
    async fn away_from_the_streams_leader(&self) {
        let (_, _, [_, _, stream]) = self.places().await;
        self.load.longest_pause();
        self.network.set_nodes(&[0, 1, 2], &[stream], Flow::CUT);
        self.continues("the nodes were away from the stream's leader", PAUSE_MAX)
            .await;
        self.heal().await;
    }

    async fn a_follower_cut_off(&self) {
        let (_, [follower, _], _) = self.places().await;
        self.load.longest_pause();
        self.network.links[follower].cut();
        let server = self.cluster.nodes[follower].server.as_ref().unwrap();
        let not_ready = || async { (server.readiness().await.0 == 503).then_some(()) };
        eventually("it is not ready", ELECTION_LIMIT, not_ready).await;
        self.continues("a follower was cut off", PAUSE_MAX).await;
        self.heal().await;
    }

    /// The leader's bytes arrive in one direction alone.
    async fn one_direction(&self, is_heard: bool) {
        let (leader, others, _) = self.places().await;
        self.load.longest_pause();
        for way in &self.network.links[leader].ways {
            if is_heard {
                way.set_back(Flow::CUT);
            } else {
                way.set_towards(Flow::CUT);
            }
        }
        self.led_by(&others).await;
        let what = if is_heard {
            "the leader was heard and heard nothing"
        } else {
            "the leader heard and was not heard"
        };
        self.continues(what, PAUSE_MAX).await;
        self.heal().await;
    }

    /// Everything takes longer or gets lost, and nobody is cut off.
    async fn weather(&self, what: &str, flow: Flow, nodes: &[usize]) {
        self.load.longest_pause();
        self.network.set_nodes(nodes, &[0, 1, 2], flow);
        tokio::time::sleep(LASTING).await;
        self.continues(what, HEALED_LIMIT).await;
        self.heal().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_network_that_splits_leaves_one_log() {
    let split = Split::start("cluster-splits").await;
    split.leader_with_a_minority().await;
    split.all_on_a_lonely_server().await;
    split.one_direction(true).await;
    split.end().await;
}

/// Every split, and bad weather: `make night` runs it.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "takes minutes; `make night` runs it"]
async fn every_split_leaves_one_log() {
    let split = Split::start("cluster-splits-all").await;
    split.without_the_streams_leader().await;
    split.away_from_the_streams_leader().await;
    split.a_follower_cut_off().await;
    split.one_direction(false).await;
    split.one_direction(true).await;
    split.leader_with_a_minority().await;
    split.all_on_a_lonely_server().await;
    let all = [0, 1, 2];
    for lost in [5, 20, 60] {
        let what = format!("{lost} of 1,000 parts were lost");
        split.weather(&what, Flow::lossy(lost), &all).await;
    }
    let slow = Flow::slow(FAR);
    let leader = split.cluster.leader().await;
    split
        .weather("the leader's network was slow", slow, &[leader])
        .await;
    split
        .weather("every way was slow by 200 ms", slow, &all)
        .await;
    split.end().await;
}
