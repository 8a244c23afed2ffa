//! A node: a machine with clock and disk, and its process. Each process has a separate runtime, so it can be killed at
//! any moment, and can stand still while the others continue.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use kedge_cluster::node::ReplicaRole;
use kedge_runtime::env::Env;
use kedge_runtime::env::simulated::{CrashLoss, DiskFault};
use kedge_storage::{LogPosition, StoreMode};
use parking_lot::Mutex;
use tokio::runtime::{Builder, Runtime};
use tokio::time::{Instant, advance, sleep_until};

use super::anchoring::{NodeDataLoss, SharedContract};
use super::callers::{CallerTarget, NodesCallers};
use super::process::{NodeProcess, NodeSettings, NodeStartError, begin};
use super::servers::SimulatedServers;
use crate::directory::{EarlierLog, RunDirectory};
use crate::faults;
use crate::machine::SimulatedMachine;
use crate::plan::Violation;
use crate::random::SimulationRandom;
use crate::schedule::SeededSchedule;

/// Time limit of a regular end.
const ENDS_WITHIN: Duration = Duration::from_mins(1);
/// Time that a process has to stop deciding and writing, with some margin: `WRITING_MIN` of the engine.
const STOPS_WITHIN_MS: u64 = 6_000;
/// Delay of its steps within that time that excuses a process for not stopping.
const SLOW_MS_MIN: u64 = 3_000;
/// Interval at which this delay is noted.
const SLOW_NOTED_MS: u64 = 100;
/// Callers of each node.
const CALLERS: u64 = 4;

/// State of a process.
enum ProcessStage {
    Begins,
    Runs(NodeProcess),
    Failed(NodeStartError),
    /// Ended, in order or not.
    Ended(bool),
}

struct NodeLife {
    runtime: Runtime,
    /// Start, by the clock of its runtime, and by that of the run.
    begun: Instant,
    begun_ms: u64,
    stage: Arc<Mutex<ProcessStage>>,
    /// Whether it has a reason to fail.
    excused: bool,
    has_callers: bool,
    /// End of the last standstill, by the clock of the run.
    stood_until_ms: u64,
    slow: SlowSteps,
}

/// Recent totals of the commit path's delay: time, and total.
#[derive(Default)]
struct SlowSteps(VecDeque<(u64, u64)>);

impl SlowSteps {
    fn note(&mut self, now_ms: u64, slow_ms: u64) {
        if self
            .0
            .back()
            .is_none_or(|(at_ms, _)| at_ms + SLOW_NOTED_MS <= now_ms)
        {
            self.0.push_back((now_ms, slow_ms));
        }
        while self
            .0
            .front()
            .is_some_and(|(at_ms, _)| at_ms + STOPS_WITHIN_MS < now_ms)
        {
            self.0.pop_front();
        }
    }

    /// Delay within the time that a process has to stop.
    fn of_late(&self) -> u64 {
        let first = self.0.front().map_or(0, |(_, slow_ms)| *slow_ms);
        self.0.back().map_or(0, |(_, slow_ms)| slow_ms - first)
    }
}

pub(super) struct SimulatedMember {
    pub(super) number: usize,
    pub(super) machine: SimulatedMachine,
    pub(super) schedule: Arc<SeededSchedule>,
    place: RunDirectory,
    random: SimulationRandom,
    setting: NodeSettings,
    servers: Arc<Mutex<SimulatedServers>>,
    callers: Arc<NodesCallers>,
    contract: Option<Arc<SharedContract>>,
    /// An older copy of its log.
    copy: Option<EarlierLog>,
    life: Option<NodeLife>,
    begins_at_ms: u64,
    stands_until_ms: u64,
    pub(super) lives: u64,
}

/// Forced end of a process.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum NodeCrash {
    /// The process is killed.
    Kill,
    /// The machine loses its power, with this effect on the disk.
    Power(CrashLoss),
}

fn runtime() -> Result<Runtime, Violation> {
    let mut builder = Builder::new_current_thread();
    let built = builder.enable_time().start_paused(true).build();
    built.map_err(|error| Violation::new("the runtime", error))
}

impl SimulatedMember {
    pub(super) fn new(
        number: usize,
        (schedule, random): (Arc<SeededSchedule>, SimulationRandom),
        setting: NodeSettings,
        servers: &Arc<Mutex<SimulatedServers>>,
        (callers, contract): (&Arc<NodesCallers>, Option<Arc<SharedContract>>),
    ) -> Result<Self, Violation> {
        let machine = SimulatedMachine::new();
        Ok(Self {
            number,
            place: RunDirectory::new(machine.clone())?,
            machine,
            schedule,
            random,
            setting,
            servers: Arc::clone(servers),
            callers: Arc::clone(callers),
            contract,
            copy: None,
            life: None,
            begins_at_ms: 0,
            stands_until_ms: 0,
            lives: 0,
        })
    }

    /// Runs the process until `now_ms`, or starts it.
    pub(super) fn run_to(&mut self, now_ms: u64) -> Result<(), Violation> {
        if self.life.is_none() && now_ms >= self.begins_at_ms {
            self.begin(now_ms)?;
        }
        let Some(life) = &mut self.life else {
            return Ok(());
        };
        if now_ms < self.stands_until_ms {
            return Ok(());
        }
        let target = life.begun + Duration::from_millis(now_ms - life.begun_ms);
        let stood = self.stands_until_ms > 0;
        self.stands_until_ms = 0;
        if stood {
            life.stood_until_ms = now_ms;
        }
        life.runtime.block_on(async {
            if stood {
                // Its clock ran meanwhile.
                advance(target.saturating_duration_since(Instant::now())).await;
            }
            sleep_until(target).await;
        });
        self.look(now_ms)
    }

    fn begin(&mut self, now_ms: u64) -> Result<(), Violation> {
        self.lives += 1;
        self.schedule.begin();
        let runtime = runtime()?;
        let stage = Arc::new(Mutex::new(ProcessStage::Begins));
        let begun = runtime.block_on(async {
            self.machine.begin_at(Duration::from_millis(now_ms));
            Instant::now()
        });
        let options = NodeSettings::engine(&mut self.random, &self.machine, &self.schedule)?;
        let store = self.place.options()?;
        let process = begin(
            self.setting.clone(),
            (self.number, Arc::clone(&self.servers)),
            (options, store),
            (Arc::clone(&self.callers), self.contract.clone()),
        );
        let becomes = Arc::clone(&stage);
        runtime.spawn(async move {
            let begun = process.await;
            *becomes.lock() = match begun {
                Ok(running) => ProcessStage::Runs(running),
                Err(failed) => ProcessStage::Failed(failed),
            };
        });
        self.life = Some(NodeLife {
            runtime,
            begun,
            begun_ms: now_ms,
            stage,
            excused: false,
            has_callers: false,
            stood_until_ms: 0,
            slow: SlowSteps::default(),
        });
        Ok(())
    }

    /// Checks whether the process has failed or ended, and what it shows.
    fn look(&mut self, now_ms: u64) -> Result<(), Violation> {
        let Some(life) = &mut self.life else {
            return Ok(());
        };
        life.slow.note(now_ms, self.schedule.slow_ms());
        let stage = Arc::clone(&life.stage);
        let why = match &*stage.lock() {
            ProcessStage::Begins => None,
            ProcessStage::Ended(true) => Some(String::new()),
            ProcessStage::Ended(false) => Some("it does not end in order".to_owned()),
            ProcessStage::Failed(NodeStartError::Wrong(_)) if self.machine.disk.stopped() => {
                Some(String::new())
            }
            ProcessStage::Failed(NodeStartError::Wrong(violation)) => return Err(violation.clone()),
            ProcessStage::Failed(NodeStartError::Not(why)) => Some(why.clone()),
            ProcessStage::Runs(running) => {
                let failed = running.engine.failure().reason();
                if failed.is_none() && !self.machine.disk.stopped() {
                    check(running, &self.servers.lock(), &self.callers)?;
                    if !life.has_callers {
                        life.has_callers = true;
                        self.schedule.note("begun", &[now_ms, self.lives]);
                        let asked = CallerTarget {
                            engine: running.engine.clone(),
                            machine: self.machine.clone(),
                            schedule: Arc::clone(&self.schedule),
                            callers: Arc::clone(&self.callers),
                        };
                        for number in 0..CALLERS {
                            let random = SimulationRandom::new(self.random.next(), number);
                            let signer = (number as usize) % self.callers.signers();
                            life.runtime
                                .spawn(asked.clone().call(signer, number, random));
                        }
                    }
                }
                failed
            }
        };
        let is_dark = self.machine.disk.stopped();
        if !is_dark && why.is_none() {
            return Ok(());
        }
        let why = why.unwrap_or_default();
        // A process that was delayed or stood still for most of the time may fail to stop writing in time: it ends, and
        // begins again as a follower.
        let stood_until_ms = life.stood_until_ms;
        let has_stood = stood_until_ms > 0 && now_ms < stood_until_ms + STOPS_WITHIN_MS;
        let is_slow = why.starts_with("the threads that write did not end")
            && (has_stood || life.slow.of_late() >= SLOW_MS_MIN);
        let has_panicked = self.schedule.take_panicked();
        let is_excused = is_dark || why.is_empty() || life.excused || is_slow || has_panicked;
        if !is_excused {
            let what = format!("without a reason, node {} failed", self.number);
            return Err(Violation::new(&what, why));
        }
        let end = if is_dark {
            NodeCrash::Power(faults::loss(&mut self.random))
        } else {
            NodeCrash::Kill
        };
        self.end(end, now_ms);
        Ok(())
    }

    /// Ends the process immediately. Another one begins after a while.
    pub(super) fn end(&mut self, how: NodeCrash, now_ms: u64) {
        let Some(life) = self.life.take() else {
            return;
        };
        self.schedule.note("ended", &[now_ms]);
        self.schedule.freeze();
        // Holders of the store end before its runtime, and all of them before the disk forgets.
        let last = std::mem::replace(&mut *life.stage.lock(), ProcessStage::Ended(true));
        {
            let _entered = life.runtime.enter();
            drop(last);
        }
        drop(life);
        match how {
            NodeCrash::Kill => self.machine.disk.restart(),
            NodeCrash::Power(loss) => self.machine.disk.crash(loss),
        }
        let short = self.random.below(3) > 0;
        let pause = self.random.below(if short { 300 } else { 8_000 });
        self.begins_at_ms = now_ms + 1 + pause;
        self.stands_until_ms = 0;
    }

    /// Kills the process; a part of its data is gone when the next one begins.
    pub(super) fn lose(&mut self, lost: NodeDataLoss, now_ms: u64) -> Result<(), Violation> {
        self.end(NodeCrash::Kill, now_ms);
        match (lost, self.copy.take()) {
            (NodeDataLoss::All, copy) => {
                self.copy = copy;
                self.place.lose_log()
            }
            (NodeDataLoss::NewerThanCopy, Some(copy)) => self.place.put_log(&copy),
            (NodeDataLoss::NewerThanCopy, None) => {
                self.copy = Some(self.place.copy_log()?);
                Ok(())
            }
        }
    }

    /// Makes the process stand still until `until_ms`.
    pub(super) fn stand(&mut self, until_ms: u64) {
        if self.life.is_some() {
            self.stands_until_ms = until_ms;
        }
    }

    /// Whether the process stands still.
    pub(super) fn stands(&self, now_ms: u64) -> bool {
        now_ms < self.stands_until_ms
    }

    /// Makes one of the next disk operations fail.
    pub(super) fn fail(&mut self, at: u64, fault: DiskFault) {
        if let Some(life) = &mut self.life {
            life.excused |= fault != DiskFault::Short;
            self.machine.disk.fail(at, fault);
        }
    }

    /// The parts of the process, while it runs.
    pub(super) fn running(&self) -> Option<NodeProcess> {
        let stage = self.life.as_ref()?.stage.lock();
        match &*stage {
            ProcessStage::Runs(running) => Some(running.clone()),
            _ => None,
        }
    }

    /// Runs a task on the node's runtime.
    pub(super) fn spawn(&self, work: impl Future<Output = ()> + Send + 'static) {
        if let Some(life) = &self.life {
            life.runtime.spawn(work);
        }
    }

    /// Asks the process to end in order.
    pub(super) fn ask_to_end(&self) {
        let (Some(life), Some(running)) = (&self.life, self.running()) else {
            return;
        };
        let stage = Arc::clone(&life.stage);
        life.runtime.spawn(async move {
            running.replica.stop().await;
            let has_ended = running.engine.shutdown(ENDS_WITHIN).await;
            drop(running);
            *stage.lock() = ProcessStage::Ended(has_ended);
        });
    }

    /// Asks the node to hand over leadership.
    pub(super) fn hand_over(&self) {
        if let Some(running) = self.running() {
            let replica = running.replica;
            self.spawn(async move {
                // The node may not be allowed to lead.
                let _ = replica.hand_over(None).await;
            });
        }
    }

    /// Whether the node leads, and the end of its log; `None` if it is blocked.
    pub(super) fn standing(&self) -> Option<(bool, LogPosition)> {
        let running = self.running()?;
        let standing = running.replica.standing();
        if standing.stalled.is_some() || standing.problem.is_some() {
            return None;
        }
        // It accepts changes, or would as a leader.
        let lacks = running.engine.lacks_anchored().ok()?;
        if lacks.is_some() || running.engine.mode() != StoreMode::ReadWrite {
            return None;
        }
        Some((self.leads(), running.store.log_position()?))
    }

    pub(super) fn leads(&self) -> bool {
        self.running().is_some_and(|running| {
            running.replica.standing().role == ReplicaRole::Leader && running.engine.leads()
        })
    }

    /// One line about the node's state.
    pub(super) fn describe(&self) -> String {
        match self.running() {
            Some(running) => {
                let standing = running.replica.standing();
                let position = running.store.log_position().map(|position| position.frame);
                let seen = running.engine.published().head.sequence;
                let synced = running.replica.cluster().synced().borrow().clone();
                let stalled = running.leading.stalled().is_some();
                format!(
                    "{:?} of term {}, frame {position:?}, sequence {seen}, others {synced:?}, its log waits: {stalled}, {:?}, {:?}, {:?}",
                    standing.role,
                    standing.term,
                    standing.stalled,
                    standing.problem,
                    standing.unfit
                )
            }
            None => "it does not run".to_owned(),
        }
    }

    /// Checks the complete log, which the node must hold.
    pub(super) fn check_whole(&self) -> Result<(), Violation> {
        let Some(running) = self.running() else {
            return Err(Violation::new("a node does not run", self.number));
        };
        let made = self.place.made()?;
        super::process::check_whole(&running, &self.servers, &self.callers, &made)
    }

    /// Ends all faults of the node.
    pub(super) fn calm_down(&mut self, now_ms: u64) {
        self.schedule.calm_down();
        self.machine.set_ahead(0);
        self.machine.disk.set_room(None);
        self.machine.disk.mend();
        self.stands_until_ms = self.stands_until_ms.min(now_ms);
        self.begins_at_ms = self.begins_at_ms.min(now_ms + 100);
    }

    /// Wall clock, milliseconds.
    pub(super) fn unix_ms(&self) -> u64 {
        let _entered = self.life.as_ref().map(|life| life.runtime.enter());
        self.machine.unix_ms()
    }
}

/// Checks a process: its log is a part of the stream, and no reader has seen another one.
fn check(
    running: &NodeProcess,
    servers: &SimulatedServers,
    callers: &NodesCallers,
) -> Result<(), Violation> {
    if let Some(position) = running.store.log_position()
        && position.frame > 0
    {
        let stream = servers.frame(position.frame);
        if stream.map(|(hash, _)| hash) != Some(position.hash) {
            let what = "a node's log ends with a frame that the stream does not hold";
            return Err(Violation::new(what, position.frame));
        }
    }
    callers.ledger.lock().saw(&running.engine.published().head)
}
