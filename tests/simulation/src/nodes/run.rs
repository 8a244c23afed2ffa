//! A whole cluster run: the nodes take turns of a few milliseconds, and their messages to the servers arrive in a later
//! turn.

use std::fmt;
use std::sync::Arc;

use kedge_runtime::env::simulated::DiskFault;
use parking_lot::Mutex;

use super::anchoring::NodesAnchoring;
use super::callers::{CallerTarget, NodesCallers};
use super::node::{NodeCrash, SimulatedMember};
use super::process::NodeSettings;
use super::rates::{ClusterFault, ClusterFaultRates, trouble};
use super::servers::SimulatedServers;
use super::watch::NodesWatch;
use crate::client;
use crate::directory::SEQUENCER;
use crate::faults;
use crate::plan::{SimulationPlan, Violation};
use crate::random::{RunTrace, SimulationRandom};
use crate::schedule::{self, SeededSchedule};

/// Length of a node's turn, milliseconds.
const TURN_MS: u64 = 2;
/// Interval of fault injection, milliseconds.
const LOOK_MS: u64 = 20;
/// Time after which faults stop, whatever the nodes have done.
const LONGEST_MS: u64 = 90_000;
/// Time that the right state must last: a leader that is handing over still leads for a while.
const STAYS_MS: u64 = 3_000;
/// Time limit for reaching the right state after all faults, milliseconds.
const RIGHT_WITHIN_MS: u64 = 60_000;

/// Statistics of a cluster run without findings.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NodesReport {
    /// Seed of the run.
    pub seed: u64,
    /// Number of nodes.
    pub nodes: u64,
    /// Number of steps taken.
    pub steps: u64,
    /// Simulated milliseconds.
    pub passed_ms: u64,
    /// Number of processes of all nodes.
    pub processes: u64,
    /// Number of faults of nodes and servers.
    pub troubles: u64,
    /// The last term.
    pub terms: u64,
    /// Number of frames in the stream.
    pub frames: u64,
    /// Requests answered as done.
    pub done: u64,
    /// Milliseconds from the last fault until the right state.
    pub right_after_ms: u64,
    /// Hash of the run's steps.
    pub trace: RunTrace,
}

impl fmt::Display for NodesReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "seed {}: {} nodes, {} steps in {} ms, {} processes, {} troubles, {} terms, {} frames, {} requests done, right after {} ms, trace {:016x}",
            self.seed,
            self.nodes,
            self.steps,
            self.passed_ms,
            self.processes,
            self.troubles,
            self.terms,
            self.frames,
            self.done,
            self.right_after_ms,
            self.trace.hash()
        )
    }
}

struct NodesRun {
    plan: SimulationPlan,
    rates: ClusterFaultRates,
    disk: faults::CoreFaultRates,
    random: SimulationRandom,
    servers: Arc<Mutex<SimulatedServers>>,
    callers: Arc<NodesCallers>,
    nodes: Vec<SimulatedMember>,
    anchoring: Option<NodesAnchoring>,
    watch: NodesWatch,
    now_ms: u64,
    troubles: u64,
}

/// Runs a plan with several nodes.
///
/// # Errors
/// The property found broken.
pub fn run_nodes(plan: &SimulationPlan) -> Result<NodesReport, Violation> {
    schedule::silence();
    let mut run = NodesRun::new(*plan)?;
    while run.steps() < plan.steps && run.now_ms < LONGEST_MS {
        if run.now_ms.is_multiple_of(LOOK_MS) {
            run.trouble();
            run.anchor()?;
        }
        run.turn()?;
    }
    run.finish()
}

impl NodesRun {
    /// Draws the choices of a seed.
    fn new(plan: SimulationPlan) -> Result<Self, Violation> {
        let mut random = SimulationRandom::new(plan.seed, 13);
        let count = 2 + random.below(2) as usize;
        let setting = NodeSettings::of(&mut random, count);
        let rates = (
            ClusterFaultRates::of(plan.seed),
            faults::CoreFaultRates::of(plan.seed),
        );
        Self::with(plan, random, (count, setting), rates)
    }

    /// Creates so many nodes with these settings and faults.
    fn with(
        plan: SimulationPlan,
        mut random: SimulationRandom,
        (count, setting): (usize, NodeSettings),
        (rates, disk): (ClusterFaultRates, faults::CoreFaultRates),
    ) -> Result<Self, Violation> {
        let servers = SimulatedServers::new(plan.seed, rates.clone(), count);
        let servers = Arc::new(Mutex::new(servers));
        let callers = NodesCallers::new(&client::key(SEQUENCER)?, &servers, &mut random)?;
        let callers = Arc::new(callers);
        let anchoring = NodesAnchoring::of(plan.seed);
        let contract = || {
            anchoring
                .as_ref()
                .map(|anchoring| Arc::clone(&anchoring.contract))
        };
        let nodes = (0..count).map(|number| {
            let of_node = plan.seed.wrapping_add(number as u64 + 1);
            let schedule = Arc::new(SeededSchedule::new(of_node, disk.clone()));
            let random = SimulationRandom::new(of_node, 14);
            SimulatedMember::new(
                number,
                (schedule, random),
                setting.clone(),
                &servers,
                (&callers, contract()),
            )
        });
        Ok(Self {
            nodes: nodes.collect::<Result<_, _>>()?,
            anchoring,
            plan,
            rates,
            disk,
            random,
            servers,
            callers,
            watch: NodesWatch::default(),
            now_ms: 0,
            troubles: 0,
        })
    }

    fn steps(&self) -> u64 {
        self.nodes.iter().map(|node| node.schedule.steps()).sum()
    }

    fn tell(&self, what: &str) {
        if self.plan.tell {
            eprintln!("seed {} at {} ms: {what}", self.plan.seed, self.now_ms);
        }
    }

    /// Runs one turn of the servers and of each node.
    fn turn(&mut self) -> Result<(), Violation> {
        self.now_ms += TURN_MS;
        self.servers.lock().step(self.now_ms);
        for node in &mut self.nodes {
            node.run_to(self.now_ms)?;
        }
        let servers = self.servers.lock();
        self.watch.look(&self.nodes, &servers, self.now_ms)?;
        drop(servers);
        self.callers.violation().map_or(Ok(()), Err)
    }

    /// Injects a fault by chance.
    fn trouble(&mut self) {
        let nodes = self.nodes.len();
        self.disk_trouble();
        let Some(trouble) = trouble(&self.rates, &mut self.random, nodes) else {
            return;
        };
        self.troubles += 1;
        self.tell(&format!("{trouble:?}"));
        let now_ms = self.now_ms;
        let mut servers = self.servers.lock();
        match trouble {
            ClusterFault::Split(node, ms) => servers.split(node, now_ms + ms),
            ClusterFault::Stale(node, ms, back) => servers.make_stale(node, now_ms + ms, back),
            ClusterFault::NoBucket(ms) => servers.lose_bucket(now_ms + ms),
            ClusterFault::Outage(ms) => servers.go_out(now_ms + ms),
            ClusterFault::Pause(node, ms) => self.nodes[node].stand(now_ms + ms),
            ClusterFault::Kill(node) => {
                drop(servers);
                self.nodes[node].end(NodeCrash::Kill, now_ms);
            }
            ClusterFault::Power(node) => {
                drop(servers);
                let loss = faults::loss(&mut self.random);
                self.nodes[node].end(NodeCrash::Power(loss), now_ms);
            }
            ClusterFault::End(node) => self.nodes[node].ask_to_end(),
            ClusterFault::HandOver(node) => self.nodes[node].hand_over(),
            // An empty log accepts any clock, whose time then counts as right.
            ClusterFault::Clock(..) if servers.end().sequence == 0 => {}
            ClusterFault::Clock(node, ahead_ms) => self.nodes[node].machine.set_ahead(ahead_ms),
        }
    }

    /// Anchors the log, and takes a part of a node's data, if this run has such faults.
    fn anchor(&mut self) -> Result<(), Violation> {
        let Some(anchoring) = &mut self.anchoring else {
            return Ok(());
        };
        anchoring.anchor(&self.nodes)?;
        let lost = anchoring.loses(self.nodes.len());
        if let Some((node, lost)) = lost {
            self.troubles += 1;
            self.tell(&format!("node {node} loses data: {lost:?}"));
            self.nodes[node].lose(lost, self.now_ms)?;
        }
        Ok(())
    }

    /// Makes one of the next operations of a node's disk fail.
    fn disk_trouble(&mut self) {
        let random = &mut self.random;
        let node = random.below(self.nodes.len() as u64) as usize;
        let is_error = random.chance(self.disk.error / 4);
        if is_error || random.chance(self.disk.short) {
            let fault = if is_error {
                faults::error(random)
            } else {
                DiskFault::Short
            };
            let at = 1 + random.below(12);
            self.nodes[node].fail(at, fault);
            self.tell(&format!("{fault:?}"));
        }
    }

    /// Finishes without faults: the right state is reached, every signer can send requests, and all nodes end with one
    /// log.
    fn finish(mut self) -> Result<NodesReport, Violation> {
        self.tell("faults stop");
        let calm_ms = self.now_ms;
        self.servers.lock().calm_down();
        for node in &mut self.nodes {
            node.calm_down(self.now_ms);
        }
        self.callers.stop();
        let (leader, since_ms) = self.become_right()?;
        let right_after_ms = since_ms - calm_ms;
        self.tell("all is right");
        self.carry_out(leader)?;
        self.become_right()?;
        for node in &self.nodes {
            node.check_whole()?;
        }
        Ok(self.report(right_after_ms))
    }

    /// Waits until one node leads and all have the whole log. Returns the leader, and since when it leads.
    fn become_right(&mut self) -> Result<(usize, u64), Violation> {
        let until_ms = self.now_ms + RIGHT_WITHIN_MS;
        let mut since: Option<(usize, u64)> = None;
        while self.now_ms < until_ms {
            self.turn()?;
            since = self.is_right().map(|leader| match since {
                Some((before, since_ms)) if before == leader => (leader, since_ms),
                _ => (leader, self.now_ms),
            });
            if let Some((leader, since_ms)) = since
                && self.now_ms >= since_ms + STAYS_MS
            {
                return Ok((leader, since_ms));
            }
        }
        let nodes: Vec<_> = self.nodes.iter().map(SimulatedMember::describe).collect();
        let end = self.servers.lock().end();
        let about = format!("{} requests, {end:?}, {nodes:#?}", self.callers.in_flight());
        let what = "nothing is wrong any more, but the nodes do not come together";
        Err(Violation::new(what, about))
    }

    fn is_right(&self) -> Option<usize> {
        let end = self.servers.lock().end();
        let mut leader = None;
        for node in &self.nodes {
            let (leads, position) = node.standing()?;
            if position.frame != end.frame {
                return None;
            }
            if leads && leader.replace(node.number).is_some() {
                return None;
            }
        }
        leader.filter(|_| self.callers.in_flight() == 0)
    }

    /// Sends a request of every signer.
    fn carry_out(&mut self, leader: usize) -> Result<(), Violation> {
        let node = &self.nodes[leader];
        let Some(running) = node.running() else {
            return Err(Violation::new("the leader does not run", leader));
        };
        // The clock may have shown anything before, so the operator confirms the time.
        let confirmed = running.engine.time().confirm(node.unix_ms());
        confirmed.map_err(|by_ms| Violation::new("the clock is not believed", by_ms))?;
        let asked = CallerTarget {
            engine: running.engine,
            machine: node.machine.clone(),
            schedule: Arc::clone(&node.schedule),
            callers: Arc::clone(&self.callers),
        };
        let done = Arc::new(Mutex::new(None));
        let becomes = Arc::clone(&done);
        node.spawn(async move {
            *becomes.lock() = Some(asked.finish().await);
        });
        let until_ms = self.now_ms + RIGHT_WITHIN_MS;
        while self.now_ms < until_ms {
            self.turn()?;
            if let Some(done) = done.lock().take() {
                return done;
            }
        }
        let what = "nothing is wrong any more, but requests are not carried out by node";
        Err(Violation::new(what, leader))
    }

    fn report(&self, right_after_ms: u64) -> NodesReport {
        let servers = self.servers.lock();
        let mut trace = servers.trace();
        for node in &self.nodes {
            trace.note("node", &[node.schedule.trace().hash()]);
        }
        let end = servers.end();
        NodesReport {
            seed: self.plan.seed,
            nodes: self.nodes.len() as u64,
            steps: self.steps(),
            passed_ms: self.now_ms,
            processes: self.nodes.iter().map(|node| node.lives).sum(),
            troubles: self.troubles,
            terms: end.term,
            frames: end.frame,
            done: self.callers.ledger.lock().done,
            right_after_ms,
            trace,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    /// A run of two nodes without faults, whose leader waits for the other node's sync.
    fn quiet() -> NodesRun {
        let setting = NodeSettings {
            lease: Duration::from_secs(1),
            publish_timeout: Duration::from_secs(1),
            replicas_synced: 1,
        };
        let rates = (ClusterFaultRates::none(), faults::CoreFaultRates::none());
        NodesRun::with(
            SimulationPlan::of(1),
            SimulationRandom::new(1, 13),
            (2, setting),
            rates,
        )
        .unwrap()
    }

    #[test]
    fn a_follower_that_ended_before_it_reported_a_frame_reports_it_after_its_start() {
        let mut run = quiet();
        // One request is in flight, so no further frame shows the follower's position to the leader.
        let caught = |run: &NodesRun| {
            let leader = run.nodes.iter().position(SimulatedMember::leads)?;
            let follower = 1 - leader;
            let (running, other) = (run.nodes[leader].running()?, run.nodes[follower].running()?);
            let synced = running.replica.cluster().synced().borrow().clone();
            let reported = synced.get(&format!("node-{follower}"))?.frame;
            let frame = other.store.log_position()?.frame;
            let is_last = running.store.log_position()?.frame == frame;
            let waits = running.leading.stalled().is_some() && run.callers.in_flight() == 1;
            (waits && is_last && reported < frame).then_some(follower)
        };
        let follower = loop {
            run.turn().unwrap();
            assert!(run.now_ms < 60_000, "no follower was caught");
            if let Some(follower) = caught(&run) {
                break follower;
            }
        };
        // The follower has the frame, and ends before any node hears of it.
        for node in 0..2 {
            run.servers.lock().split(node, run.now_ms + 20);
        }
        run.nodes[follower].end(NodeCrash::Kill, run.now_ms);
        for _ in 0..20 {
            run.turn().unwrap();
        }
        run.finish().unwrap();
    }
}
