//! Webhooks: the production actor with its workers, and simulated receivers, in half of the seeds.
//!
//! - `receiver`: answers and observations of receivers. `rates`: fault rates.
//! - `owner`: creation, changes and deletion of webhooks. `history`: their history, from the log.
//! - `oracle`: the checks after each start and at the end.

mod history;
mod oracle;
mod owner;
mod rates;
mod receiver;

use std::collections::BTreeMap;
use std::sync::Arc;

use kedge_actors::{Engine, StartError};
use kedge_protocol::Id;
use kedge_runtime::env::Env;
use kedge_webhooks::delivery::{DeliveryService, RetrySchedule, WebhookOptions};
use parking_lot::Mutex;

use self::rates::WebhookFaultRates;
use self::receiver::{ForbiddenRange, Messenger, SimulatedReceivers};
use crate::machine::SimulatedMachine;
use crate::plan::Violation;
use crate::random::SimulationRandom;
use crate::schedule::SeededSchedule;
use crate::workload::ProcessCallers;

pub(crate) use history::WebhookHistories;

/// Delay before each attempt, seconds.
const DELAYS_S: &[u64] = &[0, 0, 0, 1, 0];
/// Time until a worker must know that its webhook is off, milliseconds.
const KNOWN_WITHIN_MS: u64 = 50;

/// Webhooks of a run, over all of its processes.
pub(crate) struct SimulatedWebhooks {
    receivers: Arc<Mutex<SimulatedReceivers>>,
    attempts_max: usize,
    /// Time since which a webhook is seen to be off.
    off: BTreeMap<Id, u64>,
    random: SimulationRandom,
    machine: SimulatedMachine,
    schedule: Arc<SeededSchedule>,
}

impl SimulatedWebhooks {
    /// The webhooks of a seed; `None` if its run has none.
    pub(crate) fn of(
        seed: u64,
        machine: &SimulatedMachine,
        schedule: &Arc<SeededSchedule>,
    ) -> Option<Self> {
        let mut random = SimulationRandom::new(seed, 30);
        if random.below(2) == 0 {
            return None;
        }
        let rates = WebhookFaultRates::of(&mut random);
        let attempts_max = DELAYS_S.len() as u32;
        let receivers =
            SimulatedReceivers::new(SimulationRandom::new(seed, 31), rates, attempts_max);
        Some(Self {
            receivers: Arc::new(Mutex::new(receivers)),
            attempts_max: 1 + random.below(12) as usize,
            off: BTreeMap::new(),
            random: SimulationRandom::new(seed, 32),
            machine: machine.clone(),
            schedule: Arc::clone(schedule),
        })
    }

    /// Number of accepted messages, and of attempts.
    pub(crate) fn counts(&self) -> [u64; 2] {
        let receivers = self.receivers.lock();
        let attempts = receivers.attempts.values().map(|count| u64::from(*count));
        [receivers.taken.len() as u64, attempts.sum()]
    }

    /// Ends all faults.
    pub(crate) fn calm_down(&self) {
        self.receivers.lock().calm_down();
    }

    /// Starts webhooks and their owners in a new process.
    pub(crate) async fn begin(
        &mut self,
        engine: &Engine,
        callers: Option<&Arc<ProcessCallers>>,
    ) -> Result<(), StartError> {
        self.receivers.lock().begin();
        let messenger = Messenger {
            engine: engine.clone(),
            receivers: Arc::clone(&self.receivers),
            machine: self.machine.clone(),
            schedule: Arc::clone(&self.schedule),
        };
        let options = WebhookOptions {
            schedule: RetrySchedule::new(DELAYS_S.to_vec()),
            attempts_max: self.attempts_max,
            attempts_share: self.attempts_max,
            courier: Arc::new(messenger),
            runtime: tokio::runtime::Handle::current(),
        };
        let deliveries = DeliveryService::new(engine.clone());
        deliveries.start(options).await?;
        if let Some(callers) = callers {
            let rates = self.receivers.lock().rates.clone();
            let random = SimulationRandom::new(self.random.next(), 33);
            let owner = owner::tend(Arc::clone(callers), engine.clone(), rates, random);
            tokio::spawn(owner);
        }
        Ok(())
    }

    /// Checks which webhooks are off now, and the receivers' observations.
    pub(crate) fn look(&mut self, engine: &Engine) -> Result<(), Violation> {
        let published = engine.published();
        let (now_ms, head) = (self.machine.passed_ms(), published.head.sequence);
        let mut receivers = self.receivers.lock();
        if let Some(violation) = receivers.violation.take() {
            return Err(violation);
        }
        for webhook in published.snapshot.every_webhook() {
            let webhook = webhook.map_err(oracle::unread)?;
            if webhook.active && !webhook.deleted {
                self.off.remove(&webhook.id);
                continue;
            }
            let since_ms = *self.off.entry(webhook.id).or_insert(now_ms);
            if now_ms < since_ms + KNOWN_WITHIN_MS {
                continue;
            }
            let spans = receivers.forbidden.entry(webhook.id).or_default();
            match spans.last_mut().filter(|span| span.since_ms == since_ms) {
                Some(span) => span.until = head,
                None => spans.push(ForbiddenRange {
                    since_ms,
                    after: head,
                    until: head,
                }),
            }
        }
        Ok(())
    }
}
