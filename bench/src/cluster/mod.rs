//! Several nodes that share a log against a single one: in turns, on one machine, on the same cores. Single changes
//! also go through an edge. At the end an empty node joins, which shows the speed of a follower.

mod nodes;
mod reads;
mod report;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use kedge_load::figures::print;
use kedge_load::machine::load_average;
use serde::Serialize;

use self::nodes::BenchCluster;
use self::report::{ClusterFigures, ClusterJoin, ClusterReads, ClusterRun, ClusterSubject};
use crate::error::BenchResult;
use crate::fleet::{BenchFleet, FleetSize};
use crate::generator::{DriveEnd, DriveFigures, fill, measure};
use crate::requests::{RequestPlan, RequestShape};
use crate::rounds::{RoundOptions, SETTLE};
use crate::server::{BenchOptions, BenchServer};

const NODES: usize = 3;

/// What to measure, and for how long.
#[derive(clap::Args, Serialize)]
pub(crate) struct ClusterBenchOptions {
    #[command(flatten)]
    #[serde(skip)]
    bench: BenchOptions,
    /// The NATS server's program.
    #[arg(long, default_value = "nats-server")]
    nats: PathBuf,
    #[command(flatten)]
    size: FleetSize,
    #[command(flatten)]
    #[serde(flatten)]
    turns: RoundOptions,
    /// Actions in the log when another node joins.
    #[arg(long, default_value_t = 1_000_000)]
    join_actions: u64,
}

/// Measures both in turns, then reads, then the joining node.
pub(crate) async fn run(options: &ClusterBenchOptions) -> BenchResult<()> {
    let scratch = options.bench.scratch()?;
    let program = &options.bench.server;
    let single = BenchServer::start(program, &scratch.path().join("single"))?;
    let place = scratch.path().join("cluster");
    let mut cluster = BenchCluster::start(program, &options.nats, &place, NODES).await?;
    let leader = cluster.leader().await?;
    print(&format!(
        "making {} organizations, {} objects, twice\n",
        options.size.organizations, options.size.objects
    ))?;
    let alone = Arc::new(BenchFleet::make(&single, options.size).await?);
    let shared = Arc::new(BenchFleet::make(&cluster.nodes[leader], options.size).await?);

    let load_average_before = load_average();
    let edge = cluster.start_edge().await?;
    let servers = ClusterBenchServers {
        single: &single,
        cluster: &cluster,
        edge: &edge,
        leader,
    };
    let mut runs = Vec::new();
    for shape in [RequestShape::Batch, RequestShape::Single] {
        let plan = Arc::new(RequestPlan::new(&shared, shape));
        let mut plans = vec![
            (
                ClusterSubject::One,
                Arc::new(RequestPlan::new(&alone, shape)),
            ),
            (ClusterSubject::Three, Arc::clone(&plan)),
        ];
        if shape == RequestShape::Single {
            plans.push((ClusterSubject::Edge, plan));
        }
        for at in options.turns.order(plans.len()) {
            let (subject, plan) = &plans[at];
            tokio::time::sleep(SETTLE).await;
            let run = servers.measure(*subject, plan, options.turns.end()).await?;
            print(&report::line(&run))?;
            runs.push(run);
        }
    }
    edge.stop()?;
    if cluster.leader().await? != leader {
        return Err("another node took over during the measurement".into());
    }
    let reads = reads(options, &cluster, &shared, leader).await?;
    single.stop()?;
    let join = join(options, &mut cluster, &shared, leader).await?;
    let figures = ClusterFigures { runs, reads, join };
    report::write(options, load_average_before, figures)
}

/// Servers that receive the requests.
struct ClusterBenchServers<'a> {
    single: &'a BenchServer,
    cluster: &'a BenchCluster,
    edge: &'a BenchServer,
    leader: usize,
}

impl ClusterBenchServers<'_> {
    async fn measure(
        &self,
        subject: ClusterSubject,
        plan: &Arc<RequestPlan>,
        end: DriveEnd,
    ) -> BenchResult<ClusterRun> {
        let server = match subject {
            ClusterSubject::One => self.single,
            ClusterSubject::Three => &self.cluster.nodes[self.leader],
            ClusterSubject::Edge => self.edge,
        };
        let before = (self.cluster.used(self.leader), self.cluster.passed().await?);
        let driven = measure(server, plan, end).await?;
        let used = self.cluster.used(self.leader).since(before.0);
        let passed = self.cluster.passed().await? - before.1;
        let all = driven.acknowledged;
        if subject == ClusterSubject::Edge && passed < all {
            let why = format!("the edge passed on only {passed} of {all} requests");
            return Err(why.into());
        }
        Ok(ClusterRun::new(subject, plan.shape, &driven, used))
    }
}

/// Reads objects through one node, and through all of them.
async fn reads(
    options: &ClusterBenchOptions,
    cluster: &BenchCluster,
    fleet: &Arc<BenchFleet>,
    leader: usize,
) -> BenchResult<Vec<ClusterReads>> {
    let all: Vec<String> = cluster.nodes.iter().map(|node| node.url.clone()).collect();
    let one = vec![all[leader].clone()];
    let mut measured = Vec::new();
    for _ in 0..options.turns.runs {
        for urls in [&one, &all] {
            tokio::time::sleep(SETTLE).await;
            let per_second = reads::measure(urls, fleet, options.turns.duration()).await?;
            measured.push(ClusterReads {
                nodes: urls.len(),
                per_second,
            });
        }
    }
    Ok(measured)
}

/// Fills the log, then starts an empty node.
async fn join(
    options: &ClusterBenchOptions,
    cluster: &mut BenchCluster,
    fleet: &Arc<BenchFleet>,
    leader: usize,
) -> BenchResult<ClusterJoin> {
    let plan = Arc::new(RequestPlan::new(fleet, RequestShape::Batch));
    fill(&cluster.nodes[leader], &plan, options.join_actions).await?;
    tokio::time::sleep(SETTLE).await;
    let actions = cluster.nodes[leader].sequence().await?;
    let begun = Instant::now();
    let newcomer = cluster.start_node()?;
    newcomer.ready().await?;
    let seconds = begun.elapsed().as_secs_f64();
    let held = newcomer.sequence().await?;
    cluster.nodes.push(newcomer);
    if held != actions {
        return Err(format!("the node was ready with {held} of {actions} actions").into());
    }
    Ok(ClusterJoin { actions, seconds })
}

impl ClusterRun {
    fn new(
        subject: ClusterSubject,
        shape: RequestShape,
        driven: &DriveFigures,
        used: nodes::ClusterCpuTime,
    ) -> Self {
        let actions = (driven.acknowledged * shape.actions() as u64).max(1) as f64;
        let us = |time: Duration| time.as_secs_f64() * 1e6 / actions;
        let (leader_us, followers_us, servers_us) = match subject {
            ClusterSubject::One => (driven.server_us_an_action, 0.0, 0.0),
            _ => (us(used.leader), us(used.followers), us(used.servers)),
        };
        let is_edge = subject == ClusterSubject::Edge;
        let edge_us = if is_edge {
            driven.server_us_an_action
        } else {
            0.0
        };
        Self {
            subject,
            shape,
            per_second: driven.actions_per_second,
            p50_ms: driven.latency_ms.p50,
            p99_ms: driven.latency_ms.p99,
            leader_us,
            followers_us,
            servers_us,
            edge_us,
        }
    }
}
