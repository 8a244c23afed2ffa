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

use self::nodes::Cluster;
use self::report::{Figures, Join, Reads, Run, Subject};
use crate::drive::{Driven, End, fill, measure};
use crate::error::Result;
use crate::fleet::{Fleet, Size};
use crate::requests::{Plan, Shape};
use crate::server::{Bench, Server};
use crate::turns::{SETTLE, Turns};

const NODES: usize = 3;

/// What to measure, and for how long.
#[derive(clap::Args, Serialize)]
pub(crate) struct Options {
    #[command(flatten)]
    #[serde(skip)]
    bench: Bench,
    /// The NATS server's program.
    #[arg(long, default_value = "nats-server")]
    nats: PathBuf,
    #[command(flatten)]
    size: Size,
    #[command(flatten)]
    #[serde(flatten)]
    turns: Turns,
    /// Actions in the log when another node joins.
    #[arg(long, default_value_t = 1_000_000)]
    join_actions: u64,
}

/// Measures both in turns, then reads, then the joining node.
pub(crate) async fn run(options: &Options) -> Result<()> {
    let scratch = options.bench.scratch()?;
    let program = &options.bench.server;
    let single = Server::start(program, &scratch.path().join("single"))?;
    let place = scratch.path().join("cluster");
    let mut cluster = Cluster::start(program, &options.nats, &place, NODES).await?;
    let leader = cluster.leader().await?;
    print(&format!(
        "making {} organizations, {} objects, twice\n",
        options.size.organizations, options.size.objects
    ))?;
    let alone = Arc::new(Fleet::make(&single, options.size).await?);
    let shared = Arc::new(Fleet::make(&cluster.nodes[leader], options.size).await?);

    let load_average_before = load_average();
    let edge = cluster.start_edge().await?;
    let servers = Servers {
        single: &single,
        cluster: &cluster,
        edge: &edge,
        leader,
    };
    let mut runs = Vec::new();
    for shape in [Shape::Batch, Shape::Single] {
        let plan = Arc::new(Plan::new(&shared, shape));
        let mut plans = vec![
            (Subject::One, Arc::new(Plan::new(&alone, shape))),
            (Subject::Three, Arc::clone(&plan)),
        ];
        if shape == Shape::Single {
            plans.push((Subject::Edge, plan));
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
    let figures = Figures { runs, reads, join };
    report::write(options, load_average_before, figures)
}

/// Servers that receive the requests.
struct Servers<'a> {
    single: &'a Server,
    cluster: &'a Cluster,
    edge: &'a Server,
    leader: usize,
}

impl Servers<'_> {
    async fn measure(&self, subject: Subject, plan: &Arc<Plan>, end: End) -> Result<Run> {
        let server = match subject {
            Subject::One => self.single,
            Subject::Three => &self.cluster.nodes[self.leader],
            Subject::Edge => self.edge,
        };
        let before = (self.cluster.used(self.leader), self.cluster.passed().await?);
        let driven = measure(server, plan, end).await?;
        let used = self.cluster.used(self.leader).since(before.0);
        let passed = self.cluster.passed().await? - before.1;
        let all = driven.acknowledged;
        if subject == Subject::Edge && passed < all {
            let why = format!("the edge passed on only {passed} of {all} requests");
            return Err(why.into());
        }
        Ok(Run::new(subject, plan.shape, &driven, used))
    }
}

/// Reads objects through one node, and through all of them.
async fn reads(
    options: &Options,
    cluster: &Cluster,
    fleet: &Arc<Fleet>,
    leader: usize,
) -> Result<Vec<Reads>> {
    let all: Vec<String> = cluster.nodes.iter().map(|node| node.url.clone()).collect();
    let one = vec![all[leader].clone()];
    let mut measured = Vec::new();
    for _ in 0..options.turns.runs {
        for urls in [&one, &all] {
            tokio::time::sleep(SETTLE).await;
            let per_second = reads::measure(urls, fleet, options.turns.duration()).await?;
            measured.push(Reads {
                nodes: urls.len(),
                per_second,
            });
        }
    }
    Ok(measured)
}

/// Fills the log, then starts an empty node.
async fn join(
    options: &Options,
    cluster: &mut Cluster,
    fleet: &Arc<Fleet>,
    leader: usize,
) -> Result<Join> {
    let plan = Arc::new(Plan::new(fleet, Shape::Batch));
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
    Ok(Join { actions, seconds })
}

impl Run {
    fn new(subject: Subject, shape: Shape, driven: &Driven, used: nodes::Used) -> Self {
        let actions = (driven.acknowledged * shape.actions() as u64).max(1) as f64;
        let us = |time: Duration| time.as_secs_f64() * 1e6 / actions;
        let (leader_us, followers_us, servers_us) = match subject {
            Subject::One => (driven.server_us_an_action, 0.0, 0.0),
            _ => (us(used.leader), us(used.followers), us(used.servers)),
        };
        let is_edge = subject == Subject::Edge;
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
