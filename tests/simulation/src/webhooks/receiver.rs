//! Simulated receivers: accepted messages, answers, and observations.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use kedge_actors::Engine;
use kedge_protocol::Id;
use kedge_protocol::event::EventPosition;
use kedge_protocol::resource::Webhook;
use kedge_rules::event::Event;
use kedge_runtime::env::Env;
use kedge_storage::{DeliveryRow, DeliveryStatus};
use kedge_webhooks::delivery::{
    DeliveryFuture, DeliveryRequest, DeliveryTransport, DeliveryVerdict,
};
use parking_lot::Mutex;

use super::rates::WebhookFaultRates;
use crate::machine::SimulatedMachine;
use crate::plan::Violation;
use crate::random::SimulationRandom;
use crate::schedule::SeededSchedule;

/// Time limit of a receiver.
const TIMEOUT_MS: u64 = 100;

/// Sequences that a webhook must not send: the log got them while it was off, and known to be.
pub(super) struct ForbiddenRange {
    /// Time since which it was off.
    pub(super) since_ms: u64,
    pub(super) after: u64,
    pub(super) until: u64,
}

/// A process's handling of one delivery.
#[derive(Clone, Copy, Default)]
struct DeliveryCourse {
    /// Failed attempts in the store at the process's first attempt.
    known: u32,
    failed: u32,
    is_delivered: bool,
}

/// State shared by all receivers, over all processes of a run.
pub(super) struct SimulatedReceivers {
    random: SimulationRandom,
    pub(super) rates: WebhookFaultRates,
    /// Number of attempts of each delivery.
    pub(super) attempts_max: u32,
    /// Accepted messages, by delivery.
    pub(super) taken: BTreeMap<Id, (Id, Event)>,
    /// Deliveries whose acceptance has reached the server.
    pub(super) confirmed: BTreeSet<Id>,
    /// Deliveries answered as gone, where the answer has reached the server.
    gone: BTreeSet<Id>,
    /// Number of attempts, by delivery.
    pub(super) attempts: BTreeMap<Id, u32>,
    /// The current process's deliveries.
    courses: BTreeMap<Id, DeliveryCourse>,
    /// Attempted events of each object, by webhook.
    tried: BTreeMap<(Id, Id), BTreeMap<EventPosition, Id>>,
    /// Events that webhooks must not send.
    pub(super) forbidden: BTreeMap<Id, Vec<ForbiddenRange>>,
    away_until_ms: u64,
    pub(super) violation: Option<Violation>,
}

/// A receiver's reaction to a message.
#[derive(Clone, Copy, PartialEq, Eq)]
enum ReceiverAnswer {
    Takes,
    Refuses,
    AsksForTime,
    Hangs,
    Away,
    Lost,
    Gone,
}

impl ReceiverAnswer {
    fn takes(self) -> bool {
        matches!(self, Self::Takes | Self::Lost)
    }

    fn verdict(self) -> DeliveryVerdict {
        let failed = |status, error: &str, retry_after_ms| DeliveryVerdict::Failed {
            status,
            error: error.to_owned(),
            retry_after_ms,
        };
        match self {
            Self::Takes => DeliveryVerdict::Delivered { status: 204 },
            Self::Refuses => failed(Some(500), "the receiver answered 500", None),
            Self::AsksForTime => failed(Some(503), "the receiver answered 503", Some(1_500)),
            Self::Hangs => failed(None, "no answer within 2 s", None),
            Self::Away => failed(None, "the receiver could not be connected to", None),
            Self::Lost => failed(None, "the connection broke off before the answer", None),
            Self::Gone => DeliveryVerdict::Gone,
        }
    }
}

impl SimulatedReceivers {
    pub(super) fn new(
        random: SimulationRandom,
        rates: WebhookFaultRates,
        attempts_max: u32,
    ) -> Self {
        Self {
            random,
            rates,
            attempts_max,
            taken: BTreeMap::new(),
            confirmed: BTreeSet::new(),
            gone: BTreeSet::new(),
            attempts: BTreeMap::new(),
            courses: BTreeMap::new(),
            tried: BTreeMap::new(),
            forbidden: BTreeMap::new(),
            away_until_ms: 0,
            violation: None,
        }
    }

    /// Starts a process, which knows only the store.
    pub(super) fn begin(&mut self) {
        self.courses.clear();
    }

    /// Ends all faults.
    pub(super) fn calm_down(&mut self) {
        self.rates = WebhookFaultRates::default();
        self.away_until_ms = 0;
    }

    fn report(&mut self, what: &str, parcel: &DeliveryRequest) {
        let about = format!("{} of {}", parcel.event.position, parcel.webhook.id);
        self.violation.get_or_insert(Violation::new(what, about));
    }

    /// Draws the reaction to the next message, and its delays there and back.
    fn draw(&mut self, now_ms: u64) -> (ReceiverAnswer, [Duration; 2]) {
        let (rates, random) = (&self.rates, &mut self.random);
        if random.chance(rates.away) {
            self.away_until_ms = now_ms + random.below(300);
        }
        let mut way = || {
            let more = if random.chance(rates.slow) {
                random.below(60)
            } else {
                0
            };
            Duration::from_millis(random.below(4) + more)
        };
        let ways = [way(), way()];
        let answer = if now_ms < self.away_until_ms {
            ReceiverAnswer::Away
        } else if random.chance(rates.hangs) {
            return (
                ReceiverAnswer::Hangs,
                [Duration::from_millis(TIMEOUT_MS / 2); 2],
            );
        } else if random.chance(rates.gone) {
            ReceiverAnswer::Gone
        } else if random.chance(rates.refuses) {
            ReceiverAnswer::Refuses
        } else if random.chance(rates.asks_for_time) {
            ReceiverAnswer::AsksForTime
        } else if random.chance(rates.lost) {
            ReceiverAnswer::Lost
        } else {
            ReceiverAnswer::Takes
        };
        (answer, ways)
    }

    /// Records an attempt, which must be in its order.
    fn attempt(&mut self, parcel: &DeliveryRequest, stored: impl Fn(Id) -> Option<DeliveryRow>) {
        let DeliveryRequest {
            webhook,
            delivery_id,
            event,
        } = parcel;
        let Some(row) = stored(*delivery_id) else {
            return self.report("a delivery is sent before it is stored", parcel);
        };
        if *delivery_id != Id::of_delivery(&event.id, &webhook.id) || row.event_id != event.id {
            self.report("a message has another id than its event gives", parcel);
        }
        let mut forbidden = self.forbidden.get(&webhook.id).into_iter().flatten();
        let at = event.position.sequence;
        if forbidden.any(|span| (span.after + 1..=span.until).contains(&at)) {
            self.report("what happened while a webhook was off is sent", parcel);
        }
        if webhook.deleted || !webhook.active {
            self.report("a webhook that is off sends", parcel);
        }
        let attempts = self.attempts.entry(*delivery_id).or_default();
        let is_first = *attempts == 0;
        *attempts += 1;
        let course = self.courses.entry(*delivery_id);
        course.or_insert(DeliveryCourse {
            known: row.tries,
            ..DeliveryCourse::default()
        });
        let Some(object) = event.object_id else {
            return;
        };
        let mut tried = self.tried.remove(&(webhook.id, object)).unwrap_or_default();
        let earlier = tried.range(..event.position).map(|(_, id)| *id);
        let is_open = |id: Id| {
            let is_over = self.courses.get(&id).is_some_and(|course| {
                course.is_delivered || course.known + course.failed >= self.attempts_max
            });
            let is_pending = |row: DeliveryRow| row.status == DeliveryStatus::Pending;
            !is_over && stored(id).is_some_and(is_pending)
        };
        if { earlier }.any(is_open) {
            self.report(
                "a later event of an object is tried before the earlier one ended",
                parcel,
            );
        }
        if is_first && tried.range(event.position..).next().is_some() {
            self.report(
                "an earlier event of an object is first tried after a later one",
                parcel,
            );
        }
        tried.insert(event.position, *delivery_id);
        self.tried.insert((webhook.id, object), tried);
    }

    /// Records that the server has learned the outcome of an attempt.
    fn heard(&mut self, delivery: Id, answer: ReceiverAnswer) {
        let course = self.courses.entry(delivery).or_default();
        if answer == ReceiverAnswer::Takes {
            course.is_delivered = true;
            self.confirmed.insert(delivery);
        } else {
            course.failed += 1;
        }
        if answer == ReceiverAnswer::Gone {
            self.gone.insert(delivery);
        }
    }

    /// Whether the server may have given a delivery up.
    pub(super) fn may_be_given_up(&self, delivery: Id) -> bool {
        let attempts = self.attempts.get(&delivery).copied().unwrap_or_default();
        attempts >= self.attempts_max || self.gone.contains(&delivery)
    }
}

/// Delivers messages to the receivers.
pub(super) struct Messenger {
    pub(super) engine: Engine,
    pub(super) receivers: Arc<Mutex<SimulatedReceivers>>,
    pub(super) machine: SimulatedMachine,
    pub(super) schedule: Arc<SeededSchedule>,
}

impl DeliveryTransport for Messenger {
    fn deliver(&self, parcel: DeliveryRequest) -> DeliveryFuture<DeliveryVerdict> {
        let published = self.engine.published();
        let (webhook, delivery) = (parcel.webhook.id, parcel.delivery_id);
        let stored = |id| published.snapshot.delivery(webhook, id).ok().flatten();
        let (answer, [there, back]) = {
            let mut receivers = self.receivers.lock();
            receivers.attempt(&parcel, stored);
            receivers.draw(self.machine.passed_ms())
        };
        if parcel.event.position.sequence > published.head.sequence {
            let what = "what is not committed is sent";
            self.receivers.lock().report(what, &parcel);
        }
        let sequence = parcel.event.position.sequence;
        self.schedule.note("message", &[sequence, answer as u64]);
        let receivers = Arc::clone(&self.receivers);
        Box::pin(async move {
            tokio::time::sleep(there).await;
            if answer.takes() {
                let mut receivers = receivers.lock();
                let taken = (webhook, parcel.event);
                let before = receivers.taken.insert(delivery, taken.clone());
                if before.is_some_and(|before| before != taken) {
                    let what = "one message id has two contents, of webhook";
                    receivers.violation = Some(Violation::new(what, webhook));
                }
            }
            tokio::time::sleep(back).await;
            receivers.lock().heard(delivery, answer);
            answer.verdict()
        })
    }

    /// The simulation has no operator key.
    fn switch_off(&self, _: Arc<Webhook>) -> DeliveryFuture<bool> {
        Box::pin(async { false })
    }
}
