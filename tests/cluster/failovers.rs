//! Many failovers under load, each of a kind that the seed chooses, with one report. `make failovers` runs hundreds;
//! five are part of every test run.

use std::io::Write as _;
use std::time::{Duration, Instant};

use serde_json::json;

use crate::load::Load;
use crate::network::Network;
use crate::nodes::Cluster;
use crate::signed::Signer;
use crate::support::Rng;
use crate::versions::Versions;

/// The variable with the number of failovers.
const COUNT: &str = "KEDGE_FAILOVERS";
const COUNT_DEFAULT: usize = 5;
/// The variable with the file to which each failover adds a line of JSON.
const REPORT: &str = "KEDGE_FAILOVERS_REPORT";
/// Longest pause. The objective is 5 seconds, which a busy machine may miss, so the report shows the pauses, and only
/// more than this fails.
const PAUSE_MAX: Duration = Duration::from_secs(20);

/// The way in which the leader is lost.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Loss {
    /// kill -9.
    Killed,
    /// Stopped for longer than its lease, then continued.
    Paused,
    /// Disconnected from all NATS servers.
    CutOff,
    Stopped,
}

const LOSSES: [Loss; 4] = [Loss::Killed, Loss::Paused, Loss::CutOff, Loss::Stopped];

impl Loss {
    /// Loses the leader, and waits until another node leads and writes continue.
    async fn happens(self, cluster: &mut Cluster, network: &Network, load: &Load) -> Duration {
        let leader = cluster.leader().await;
        load.progress(5).await;
        load.longest_pause();
        match self {
            Self::Killed => cluster.nodes[leader].kill(),
            Self::Paused => cluster.nodes[leader].server.as_ref().unwrap().freeze(true),
            Self::CutOff => network.links[leader].cut(),
            Self::Stopped => cluster.nodes[leader].server.take().unwrap().stop(),
        }
        cluster.leader_among(leader).await;
        load.progress(10).await;
        let pause = load.longest_pause();
        match self {
            Self::Killed | Self::Stopped => cluster.nodes[leader].start(),
            Self::Paused => cluster.nodes[leader].server.as_ref().unwrap().freeze(false),
            Self::CutOff => network.links[leader].heal(),
        }
        cluster.wait_until_ready().await;
        pause
    }
}

fn report(line: &serde_json::Value) {
    let Some(path) = std::env::var_os(REPORT) else {
        return;
    };
    let mut file = std::fs::File::options()
        .append(true)
        .create(true)
        .open(path)
        .unwrap();
    writeln!(file, "{line}").unwrap();
}

// Holds invariants 189, 190.
#[tokio::test(flavor = "multi_thread")]
async fn failovers_of_every_kind_lose_nothing() {
    let count = std::env::var(COUNT).map_or(COUNT_DEFAULT, |text| text.parse().unwrap());
    let mut rng = Rng::seeded("cluster-failovers");
    let (mut cluster, network) = Network::start().await;
    let signer = Signer::register(&cluster, &mut rng).await;
    let mut load = Load::start(&cluster, &mut rng, 2).await;
    load.keys.push(signer.key.clone());
    let versions = Versions::start(&cluster, signer, &mut rng).await;
    load.progress(20).await;
    let first = rng.below(4) as usize;
    let mut pauses = Vec::new();
    for number in 0..count {
        // Each kind once, then by the seed.
        let loss = if number < LOSSES.len() {
            LOSSES[(first + number) % LOSSES.len()]
        } else {
            rng.pick(&LOSSES)
        };
        let begun = Instant::now();
        let pause = loss.happens(&mut cluster, &network, &load).await;
        let took = begun.elapsed();
        eprintln!("{loss:?}: no acknowledged write for {pause:?}, all ready after {took:?}");
        assert!(pause < PAUSE_MAX, "{loss:?}: {pause:?}");
        pauses.push((loss, pause));
    }
    versions.check().await;
    let acknowledged = load.check(&cluster).await;
    cluster.stop();
    // Failovers count only after the check of all writes.
    for (loss, pause) in pauses {
        let loss = format!("{loss:?}");
        report(&json!({ "loss": loss, "pause_ms": pause.as_millis() as u64 }));
    }
    report(&json!({ "acknowledged": acknowledged, "lost": 0, "doubled": 0 }));
}
