//! A whole run: successive processes, with disk faults in between.

use std::fmt;
use std::sync::Arc;

use kedge_replay::catch_up::open_store;
use kedge_runtime::env::Env;
use kedge_storage::StoreMode;
use tokio::runtime::{Builder, Runtime};

use crate::anchoring::SimulatedAnchoring;
use crate::client;
use crate::directory::{EarlierLog, RunDirectory, SEQUENCER};
use crate::faults::{self, CoreFaultRates};
use crate::machine::SimulatedMachine;
use crate::plan::{SimulationPlan, Violation};
use crate::process::ProcessEnd;
use crate::random::{RunTrace, SimulationRandom};
use crate::schedule::{self, SeededSchedule};
use crate::side_writes::SimulatedLogins;
use crate::webhooks::SimulatedWebhooks;
use crate::workload::ProcessCallers;

/// Time after which faults stop, milliseconds: a process that does not believe its clock accepts nothing and takes
/// hardly any steps.
const LONGEST_MS: u64 = 300_000;

/// Statistics of a run without findings.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SimulationReport {
    /// Seed of the run.
    pub seed: u64,
    /// Number of steps taken.
    pub steps: u64,
    /// Number of processes, including the last one.
    pub processes: u64,
    /// Number of processes that lost their power, were killed, failed, and ended in order.
    pub ends: [u64; 4],
    /// Requests answered as done.
    pub done: u64,
    /// Actions in the log.
    pub actions: u64,
    /// Number of checkpoints accepted by the contract, in any block, and of transactions sent by the server.
    pub anchors: [u64; 2],
    /// Number of cases opened in any block, of transactions that answered one, and of cases that expired because of
    /// faults.
    pub cases: [u64; 3],
    /// Number of accepted webhook messages, and of attempts.
    pub messages: [u64; 2],
    /// Hash of the run's steps.
    pub trace: RunTrace,
}

impl fmt::Display for SimulationReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [power, killed, failed, ended] = self.ends;
        write!(
            f,
            "seed {}: {} steps, {} processes (power {power}, killed {killed}, failed {failed}, ended {ended}), {} requests done, {} actions acknowledged, anchors {:?}, cases {:?}, messages {:?}, trace {:016x}",
            self.seed,
            self.steps,
            self.processes,
            self.done,
            self.actions,
            self.anchors,
            self.cases,
            self.messages,
            self.trace.hash()
        )
    }
}

/// State of a run.
pub(crate) struct SimulationRun {
    pub(crate) plan: SimulationPlan,
    pub(crate) rates: CoreFaultRates,
    pub(crate) random: SimulationRandom,
    /// Chooses the processes that are killed before any work, and those killed within a disk operation.
    pub(crate) kills: SimulationRandom,
    pub(crate) machine: SimulatedMachine,
    pub(crate) schedule: Arc<SeededSchedule>,
    pub(crate) callers: Arc<ProcessCallers>,
    pub(crate) anchoring: Option<SimulatedAnchoring>,
    pub(crate) webhooks: Option<SimulatedWebhooks>,
    pub(crate) sides: Option<SimulatedLogins>,
    pub(crate) place: RunDirectory,
    pub(crate) copy: Option<EarlierLog>,
    pub(crate) signers: u64,
    pub(crate) callers_each: u64,
    /// Whether the current process has a reason to fail.
    pub(crate) excused: bool,
    processes: u64,
    ends: [u64; 4],
}

/// Runs a plan.
///
/// # Errors
/// The property found broken.
pub fn run(plan: &SimulationPlan) -> Result<SimulationReport, Violation> {
    schedule::silence();
    let mut run = SimulationRun::new(*plan)?;
    loop {
        let is_last = run.is_over();
        let end = run.one(is_last)?;
        run.tell(&format!("it ends: {end:?}"));
        if is_last {
            // One more process checks the last one's data.
            run.one(true)?;
            return Ok(run.report());
        }
        run.between(&end)?;
    }
}

fn runtime() -> Result<Runtime, Violation> {
    let mut builder = Builder::new_current_thread();
    let built = builder.enable_time().start_paused(true).build();
    built.map_err(|error| Violation::new("the runtime", error))
}

impl SimulationRun {
    fn new(plan: SimulationPlan) -> Result<Self, Violation> {
        let mut random = SimulationRandom::new(plan.seed, 3);
        let rates = CoreFaultRates::of(plan.seed);
        let machine = SimulatedMachine::new();
        let schedule = Arc::new(SeededSchedule::new(plan.seed, rates.clone()));
        let signers = 1 + random.below(4);
        let callers = ProcessCallers::new(
            &client::key(SEQUENCER)?,
            signers as u8,
            rates.clone(),
            (machine.clone(), Arc::clone(&schedule)),
        )?;
        Ok(Self {
            anchoring: SimulatedAnchoring::of(plan.seed, &machine, &schedule)?,
            webhooks: SimulatedWebhooks::of(plan.seed, &machine, &schedule),
            sides: SimulatedLogins::of(plan.seed, &schedule),
            place: RunDirectory::new(machine.clone())?,
            plan,
            rates,
            machine,
            schedule,
            callers: Arc::new(callers),
            copy: None,
            signers,
            callers_each: 1 + random.below(5),
            random,
            kills: SimulationRandom::new(plan.seed, 4),
            excused: false,
            processes: 0,
            ends: [0; 4],
        })
    }

    /// Whether faults have to stop.
    pub(crate) fn is_over(&self) -> bool {
        self.schedule.steps() >= self.plan.steps || self.machine.passed_ms() >= LONGEST_MS
    }

    pub(crate) fn tell(&self, what: &str) {
        if self.plan.tell {
            eprintln!(
                "seed {} step {}: {what}",
                self.plan.seed,
                self.schedule.steps()
            );
        }
    }

    /// Runs a process on a new runtime, which ends with all of its tasks.
    fn one(&mut self, is_last: bool) -> Result<ProcessEnd, Violation> {
        self.processes += 1;
        if is_last {
            self.rates = CoreFaultRates::none();
            self.schedule.calm_down();
            self.machine.set_ahead(0);
            if let Some(anchoring) = &self.anchoring {
                anchoring.calm_down();
            }
            if let Some(webhooks) = &self.webhooks {
                webhooks.calm_down();
            }
        }
        let machine = self.machine.clone();
        let end = runtime()?.block_on(async {
            machine.begin();
            let end = self.process(is_last).await;
            self.schedule.note("ended", &[machine.passed_ms()]);
            machine.end();
            end
        })?;
        let number = match end {
            ProcessEnd::Power => 0,
            ProcessEnd::Killed => 1,
            ProcessEnd::Failed(_) => 2,
            ProcessEnd::Ended => 3,
        };
        self.ends[number] += 1;
        self.schedule.note("end", &[number as u64]);
        Ok(end)
    }

    /// Applies the faults between two processes.
    fn between(&mut self, end: &ProcessEnd) -> Result<(), Violation> {
        let random = &mut self.random;
        let lost_power = *end == ProcessEnd::Power && !self.kills.chance(self.rates.within);
        let is_dark = lost_power || random.chance(2_000);
        self.machine.disk.set_room(None);
        if is_dark {
            let loss = faults::loss(random);
            self.machine.disk.crash(loss);
            self.callers.ledger.lock().released = 0;
            self.tell(&format!("the power failed: {loss:?}"));
        } else {
            self.machine.disk.restart();
            self.older_copy()?;
        }
        if self.random.chance(self.rates.rows_lost) {
            self.place.lose_rows()?;
        } else if self.random.chance(self.rates.rows_old) {
            self.place.old_rows()?;
        }
        Ok(())
    }

    /// Starts with an older copy of the log, which lacks released batches: nothing may be signed then.
    fn older_copy(&mut self) -> Result<(), Violation> {
        let released = self.callers.ledger.lock().released;
        let Some(before) = &self.copy else {
            self.copy = Some(self.place.copy_log()?);
            return Ok(());
        };
        let is_older = before.batches.is_some_and(|batches| batches < released);
        if !is_older || !self.random.chance(self.rates.old_copy) {
            return Ok(());
        }
        self.tell("an older copy of the log is opened");
        let now = self.place.copy_log()?;
        self.place.put_log(before)?;
        let opened = runtime()?.block_on(async {
            let options = self.place.options()?;
            Ok(open_store(options).map(|store| store.mode()))
        })?;
        if let Ok(StoreMode::ReadWrite) = opened {
            let what = "an older copy of the log would be written to, batches";
            return Err(Violation::new(what, released));
        }
        self.machine.disk.restart();
        self.place.put_log(&now)?;
        self.copy = Some(now);
        Ok(())
    }

    fn report(&self) -> SimulationReport {
        let ledger = self.callers.ledger.lock();
        let (anchoring, webhooks) = (self.anchoring.as_ref(), self.webhooks.as_ref());
        SimulationReport {
            seed: self.plan.seed,
            steps: self.schedule.steps(),
            processes: self.processes,
            ends: self.ends,
            done: ledger.done,
            actions: ledger.acknowledged.len() as u64,
            anchors: anchoring
                .map(SimulatedAnchoring::counts)
                .unwrap_or_default(),
            cases: anchoring.map(SimulatedAnchoring::cases).unwrap_or_default(),
            messages: webhooks.map(SimulatedWebhooks::counts).unwrap_or_default(),
            trace: self.schedule.trace(),
        }
    }
}
