//! One process: it opens its predecessor's store, is checked, and takes requests until it ends.

use std::sync::Arc;
use std::time::Duration;

use kedge_actors::{Engine, EngineOptions};
use kedge_protocol::Id;
use kedge_replay::catch_up::open_store;
use kedge_runtime::env::Env;
use kedge_runtime::env::simulated::DiskFault;
use kedge_runtime::executor::EngineRuntime;
use kedge_storage::{Store, StoreMode};
use tokio::time::Instant;

use crate::anchoring::SimulatedAnchoring;
use crate::audit;
use crate::client;
use crate::directory::SEQUENCER;
use crate::faults::{self, MachineFault};
use crate::model::LogModel;
use crate::options::options;
use crate::plan::Violation;
use crate::random::SimulationRandom;
use crate::run::SimulationRun;

/// Interval of fault injection.
const LOOK: Duration = Duration::from_millis(5);
/// Time limit of a regular end.
const ENDS_WITHIN: Duration = Duration::from_mins(1);
/// Failure of a process that had to end while the chain contradicted its store; it has this long to end.
const GIVEN_UP: &str = "so what was placed is given up";
const GIVES_UP_WITHIN: Duration = Duration::from_secs(10);

/// End of a process.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum ProcessEnd {
    /// Power failure.
    Power,
    Killed,
    /// Failed, for this reason.
    Failed(String),
    /// Ended in order.
    Ended,
}

impl SimulationRun {
    /// Runs a process. The last one meets no faults, and must carry out everything.
    pub(crate) async fn process(&mut self, is_last: bool) -> Result<ProcessEnd, Violation> {
        self.excused = false;
        self.schedule.begin();
        self.callers.close(false);
        if !is_last && self.random.chance(self.rates.recovery) {
            self.excused = true;
            let at = 1 + self.random.below(24);
            let fault = match self.random.below(2) {
                0 => DiskFault::Stop,
                _ => faults::error(&mut self.random),
            };
            self.machine.disk.fail(at, fault);
        }
        let store = match open_store(self.place.options()?) {
            Ok(store) => Arc::new(store),
            Err(error) => return self.failed("the store does not open", &error.to_string()),
        };
        let model = match self.check(&store, is_last) {
            Ok(model) => model,
            Err(violation) if self.machine.disk.stopped() => return self.failed("", &violation.0),
            Err(violation) => return Err(violation),
        };
        self.callers.learn(model.objects(), model.templates());
        let engine = match Engine::start(self.options()?, store).await {
            Ok(engine) => engine,
            Err(error) => return self.failed("the engine does not start", &error.to_string()),
        };
        if let Some(anchoring) = &self.anchoring
            && let Err(error) = anchoring.begin(&engine).await?
        {
            return self.failed("anchoring does not start", &error.to_string());
        }
        if let Some(webhooks) = &mut self.webhooks {
            let callers = (!is_last).then_some(&self.callers);
            if let Err(error) = webhooks.begin(&engine, callers).await {
                return self.failed("webhooks do not start", &error.to_string());
            }
        }
        if is_last {
            return self.finish(&engine, &model).await;
        }
        if self.kills.chance(self.rates.early) {
            let is_dark = self.kills.chance(5_000);
            return Ok(if is_dark {
                ProcessEnd::Power
            } else {
                ProcessEnd::Killed
            });
        }
        if let Some(sides) = &mut self.sides {
            sides.begin(&engine);
        }
        for number in 0..self.callers_each * self.signers {
            let random = SimulationRandom::new(self.random.next(), number);
            let signer = (number % self.signers) as usize;
            let callers = Arc::clone(&self.callers);
            tokio::spawn(callers.call(engine.clone(), signer, random));
        }
        self.run_on(&engine).await
    }

    /// Handles a failure, which needs a reason.
    pub(crate) fn failed(&mut self, what: &str, why: &str) -> Result<ProcessEnd, Violation> {
        if self.machine.disk.stopped() {
            return Ok(ProcessEnd::Power);
        }
        if self.excused || self.schedule.take_panicked() {
            return Ok(ProcessEnd::Failed(why.to_owned()));
        }
        Err(Violation::new(&format!("without a reason, {what}"), why))
    }

    /// Checks the predecessor's data.
    fn check(&mut self, store: &Store, is_last: bool) -> Result<LogModel, Violation> {
        if let StoreMode::ReadOnly(why) = store.mode() {
            return Err(Violation::new("the store accepts nothing", why));
        }
        let snapshot = store.snapshot();
        let head = snapshot.head();
        let head = head.map_err(|error| Violation::new("there is no head", error))?;
        let mut first = [0; 8];
        first.copy_from_slice(&head.head.0[..8]);
        let numbers = [head.sequence, head.batches, u64::from_be_bytes(first)];
        self.schedule.note("opened", &numbers);
        if let Some(copy) = &mut self.copy {
            copy.batches.get_or_insert(head.batches);
        }
        let model = {
            let mut ledger = self.callers.ledger.lock();
            // The next reader sees it, so it must stay, whatever happens before the first write.
            ledger.saw(&head)?;
            audit::audit(&snapshot, &ledger)?
        };
        let key = client::key(SEQUENCER)?;
        let made = is_last.then(|| self.place.made()).transpose()?;
        audit::verify(&snapshot, &key, made.as_deref())?;
        if let Some(anchoring) = &self.anchoring {
            anchoring.check(&snapshot)?;
        }
        if let Some(webhooks) = &self.webhooks {
            webhooks.check(&snapshot, &model.webhooks)?;
        }
        if let Some(sides) = &self.sides {
            sides.check(&snapshot)?;
        }
        self.tell(&format!(
            "a process begins at sequence {} of {} batches",
            head.sequence, head.batches
        ));
        Ok(model)
    }

    fn options(&mut self) -> Result<EngineOptions, Violation> {
        let running = EngineRuntime::Tasks(Arc::clone(&self.schedule) as _);
        Ok(EngineOptions {
            contract: self
                .anchoring
                .as_ref()
                .map(|_| SimulatedAnchoring::contract()),
            data_path: self.place.path().to_owned(),
            disk_reserve_bytes: 8 << 10,
            ..options(&mut self.random, &self.machine, running, 4)?
        })
    }

    /// Injects faults until the process ends.
    async fn run_on(&mut self, engine: &Engine) -> Result<ProcessEnd, Violation> {
        let mut failure = engine.failure();
        let mut full_until = None;
        loop {
            tokio::select! {
                biased;
                Some(why) = failure.wait() => {
                    self.schedule.freeze();
                    tokio::time::sleep(LOOK).await;
                    return self.failed("the engine failed", &why);
                }
                () = tokio::time::sleep(LOOK) => {}
            }
            if let Some(violation) = self.callers.violation() {
                return Err(violation);
            }
            let head = engine.published().head;
            self.callers.ledger.lock().saw(&head)?;
            let looked = self.look(engine);
            // A machine that stopped reads nothing.
            if self.machine.disk.stopped() {
                return Ok(ProcessEnd::Power);
            }
            looked?;
            if self.is_over() {
                return Ok(ProcessEnd::Killed);
            }
            let now = self.machine.now();
            if full_until.is_some_and(|until| until <= now) {
                full_until = None;
                self.machine.disk.set_room(None);
            }
            let Some(trouble) = faults::trouble(&self.rates, &mut self.random) else {
                continue;
            };
            self.tell(&format!("{trouble:?}"));
            match trouble {
                MachineFault::Disk(at, fault) => {
                    self.excused |= fault != DiskFault::Short;
                    self.machine.disk.fail(at, fault);
                }
                MachineFault::Kill => return Ok(ProcessEnd::Killed),
                MachineFault::End => return self.end(engine).await,
                MachineFault::Full(time, bytes) => {
                    let room = self.machine.disk.used() + bytes as usize;
                    self.machine.disk.set_room(Some(room));
                    full_until = Some(now + time);
                }
                // An empty log accepts any clock, whose time then counts as right.
                MachineFault::Clock(_) | MachineFault::ClockStops if head.sequence == 0 => {}
                MachineFault::Clock(ahead_ms) => self.machine.set_ahead(ahead_ms),
                MachineFault::ClockStops => self.machine.stop_clock(),
            }
        }
    }

    /// Checks what runs next to the path of a commit.
    fn look(&mut self, engine: &Engine) -> Result<(), Violation> {
        if let Some(anchoring) = &mut self.anchoring {
            anchoring.look(engine)?;
        }
        if let Some(webhooks) = &mut self.webhooks {
            webhooks.look(engine)?;
        }
        Ok(())
    }

    /// Ends in order: everything with a sequence is durable.
    async fn end(&mut self, engine: &Engine) -> Result<ProcessEnd, Violation> {
        self.machine.disk.set_room(None);
        self.callers.close(true);
        let asked_at = Instant::now();
        if engine.shutdown(ENDS_WITHIN).await {
            return Ok(ProcessEnd::Ended);
        }
        let why = engine.failure().reason().unwrap_or_default();
        // While the chain contradicts the store, pending actions are given up, and soon. The other parts of a failed
        // process stand still.
        let took = self.schedule.frozen_at().unwrap_or_else(Instant::now) - asked_at;
        if self.anchoring.is_some() && why.contains(GIVEN_UP) && took < GIVES_UP_WITHIN {
            return Ok(ProcessEnd::Killed);
        }
        self.failed("the engine does not end", &why)
    }

    /// Finishes without faults: everything is carried out, and the process ends in order.
    async fn finish(&mut self, engine: &Engine, model: &LogModel) -> Result<ProcessEnd, Violation> {
        let now_ms = self.machine.unix_ms();
        // The clock may have shown anything before, so the operator confirms the time.
        let confirmed = engine.time().confirm(now_ms);
        confirmed.map_err(|by_ms| Violation::new("the clock is not believed", by_ms))?;
        let templates = model.templates();
        let left: Vec<(Id, u64)> = templates
            .filter_map(|template| Some((template, model.left(template)?)))
            .collect();
        if let Some(anchoring) = &self.anchoring {
            anchoring.settle(engine).await?;
        }
        self.callers.finish(engine, &left).await?;
        if let Some(anchoring) = &mut self.anchoring {
            anchoring.finish(engine).await?;
        }
        if let Some(webhooks) = &self.webhooks {
            webhooks
                .finish(engine, &self.callers, &model.webhooks)
                .await?;
        }
        self.end(engine).await
    }
}
