//! Delivery attempts: due deliveries, results of attempts, and repeated deliveries.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use kedge_protocol::Id;
use kedge_protocol::event::EventPosition;
use kedge_protocol::resource::Webhook;
use kedge_replay::events::{EventFilter, EventSpan};
use kedge_storage::{DeliveryPause, DeliveryRow, DeliveryStatus, SideWrite, StoreReadError};

use super::delivery_desk::{DeliveryDesk, PIECE_BYTES, PIECE_EVENTS, PendingDelivery};
use super::messages::{AlsoWritten, RedeliverError};
use super::worker_error::WorkerError;
use super::{DeliveryRequest, DeliveryVerdict};
use crate::metric_definitions as metric;

/// Concurrent attempts for one webhook with a healthy receiver.
const ATTEMPTS_MAX: usize = 8;

pub(super) struct AttemptResult {
    number: u64,
    began_ms: u64,
    verdict: DeliveryVerdict,
}

/// The position directly before another one: a read that starts after it begins at the other.
fn before(position: EventPosition) -> EventPosition {
    match position.index.checked_sub(1) {
        Some(index) => EventPosition { index, ..position },
        None => EventPosition::end_of(position.sequence.saturating_sub(1)),
    }
}

impl DeliveryDesk {
    /// Pending deliveries without an earlier pending one for the same object.
    fn turns(&self) -> impl Iterator<Item = &PendingDelivery> {
        let mut objects = HashSet::new();
        let ordered = move |waiting: &&PendingDelivery| {
            let object = waiting.row.object_id.filter(|_| !waiting.row.redelivery);
            object.is_none_or(|object| objects.insert(object)) && !waiting.under_way
        };
        self.waiting.values().filter(ordered)
    }

    /// How many more attempts may begin now.
    fn room(&self) -> usize {
        if self.unstored.is_full() {
            return 0;
        }
        let attempts_max = if self.failing { 1 } else { ATTEMPTS_MAX };
        attempts_max.saturating_sub(self.under_way.len())
    }

    /// Deliveries to begin now.
    fn due(&self, now_ms: u64) -> Vec<u64> {
        self.turns()
            .filter(|waiting| waiting.row.next_attempt_at_ms <= Some(now_ms))
            .take(self.room())
            .map(|waiting| waiting.row.number)
            .collect()
    }

    /// Time until the next attempt is due; `None` if none can begin.
    pub(super) fn due_in(&self) -> Option<Duration> {
        if self.room() == 0 {
            return None;
        }
        let due = self
            .turns()
            .filter_map(|waiting| waiting.row.next_attempt_at_ms);
        let now_ms = self.engine.now_ms();
        due.min()
            .map(|due_ms| Duration::from_millis(due_ms.saturating_sub(now_ms)))
    }

    /// Begins the due attempts.
    pub(super) fn begin(&mut self, webhook: &Arc<Webhook>) -> Result<(), WorkerError> {
        for number in self.due(self.engine.now_ms()) {
            let known = |waiting: &PendingDelivery| waiting.event.is_some();
            if !self.waiting.get(&number).is_some_and(known) {
                self.fetch(webhook, number)?;
            }
            let Some(waiting) = self.waiting.get_mut(&number) else {
                continue;
            };
            let Some(event) = waiting.event.take() else {
                let lost = DeliveryVerdict::Failed {
                    status: None,
                    error: "the event is no longer kept".to_owned(),
                    retry_after_ms: None,
                };
                self.end(number, &lost);
                continue;
            };
            waiting.under_way = true;
            let parcel = DeliveryRequest {
                webhook: Arc::clone(webhook),
                delivery_id: waiting.row.id,
                event,
            };
            let attempts = Arc::clone(&self.attempts);
            let organization = webhook.organization_id;
            let options = Arc::clone(&self.options);
            let engine = self.engine.clone();
            self.under_way.spawn(async move {
                // The permit always comes: every attempt ends.
                let _turn = attempts.take(organization).await;
                let began_ms = engine.now_ms();
                let verdict = options.courier.deliver(parcel).await;
                let took_ms = engine.now_ms().saturating_sub(began_ms);
                let outcome = match verdict {
                    DeliveryVerdict::Delivered { .. } => "delivered",
                    DeliveryVerdict::Failed { .. } => "failed",
                    DeliveryVerdict::Gone => "gone",
                };
                metrics::histogram!(metric::WEBHOOK_ATTEMPT_SECONDS, "outcome" => outcome)
                    .record(took_ms as f64 / 1_000.0);
                AttemptResult {
                    number,
                    began_ms,
                    verdict,
                }
            });
        }
        Ok(())
    }

    /// Notes the result of an attempt; true if the webhook is to be checked again.
    pub(super) async fn finish(
        &mut self,
        webhook: &Arc<Webhook>,
        attempted: AttemptResult,
    ) -> Result<bool, WorkerError> {
        let AttemptResult {
            number,
            began_ms,
            verdict,
        } = attempted;
        self.failing = !matches!(verdict, DeliveryVerdict::Delivered { .. });
        let Some(waiting) = self.waiting.get_mut(&number) else {
            return Ok(false);
        };
        waiting.under_way = false;
        let row = &mut waiting.row;
        row.attempts += 1;
        row.tries += 1;
        row.last_attempt_at_ms = Some(began_ms);
        let schedule = &self.options.schedule;
        match &verdict {
            DeliveryVerdict::Delivered { .. } => self.end(number, &verdict),
            DeliveryVerdict::Failed {
                status,
                error,
                retry_after_ms,
            } => match schedule.delay_ms(&row.id, row.tries, *retry_after_ms) {
                Some(delay_ms) => {
                    row.response_status = *status;
                    row.error = Some(error.clone());
                    row.next_attempt_at_ms = Some(self.engine.now_ms() + delay_ms);
                    let write = SideWrite::Delivery(row.clone());
                    self.unstored.add_result([write]);
                }
                None => self.end(number, &verdict),
            },
            DeliveryVerdict::Gone => {
                self.end(number, &verdict);
                if !self.options.courier.switch_off(Arc::clone(webhook)).await {
                    let version = webhook.trace.version;
                    self.outbox.rest = Some(DeliveryPause::Gone { version });
                    // After the deliveries that are not stored yet, because the position is past their events.
                    let write = self.outbox_write();
                    self.unstored.add_new([write], Vec::new());
                }
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Ends a delivery.
    fn end(&mut self, number: u64, verdict: &DeliveryVerdict) {
        let Some(PendingDelivery { mut row, .. }) = self.waiting.remove(&number) else {
            return;
        };
        row.next_attempt_at_ms = None;
        (row.status, row.response_status, row.error) = match verdict {
            DeliveryVerdict::Delivered { status } => {
                (DeliveryStatus::Delivered, Some(*status), None)
            }
            DeliveryVerdict::Failed { status, error, .. } => {
                (DeliveryStatus::Failed, *status, Some(error.clone()))
            }
            DeliveryVerdict::Gone => {
                let error = "the receiver is gone (410); the webhook is switched off".to_owned();
                (DeliveryStatus::Failed, Some(410), Some(error))
            }
        };
        let status = match row.status {
            DeliveryStatus::Delivered => "delivered",
            _ => "failed",
        };
        metrics::counter!(metric::WEBHOOK_DELIVERIES, "status" => status).increment(1);
        self.ended.push_back((number, row.id));
        let mut writes = vec![SideWrite::Delivery(row)];
        writes.extend(self.prune());
        self.unstored.add_result(writes);
    }

    /// Reads a delivery's event again, together with the events of later deliveries that need theirs soon.
    fn fetch(&mut self, webhook: &Webhook, number: u64) -> Result<(), StoreReadError> {
        let Some(first) = self.waiting.get(&number) else {
            return Ok(());
        };
        let held = self.waiting.values().filter(|next| next.event.is_some());
        let room = PIECE_EVENTS.saturating_sub(held.count());
        let after = before(first.row.position);
        let read = |events_max| {
            let span = EventSpan {
                after: Some(after),
                until: None,
                descending: false,
                events_max,
                bytes_max: PIECE_BYTES,
                rows_max: events_max,
            };
            let published = self.engine.published();
            let snapshot = &published.snapshot;
            // All events, because the webhook may want others by now.
            kedge_replay::events::read(
                snapshot,
                webhook.organization_id,
                &EventFilter::default(),
                span,
            )
        };
        let piece = read(room.max(1))?;
        let later = self.waiting.range(number..).take(2 * PIECE_EVENTS);
        let numbers: HashMap<EventPosition, u64> = later
            .map(|(number, next)| (next.row.position, *number))
            .collect();
        for event in piece.events {
            let next = numbers.get(&event.position);
            if let Some(next) = next.and_then(|number| self.waiting.get_mut(number)) {
                next.event = Some(event);
            }
        }
        Ok(())
    }

    /// Makes a delivery due now, and restarts its schedule.
    pub(super) async fn redeliver(
        &mut self,
        delivery: Id,
        also: Option<AlsoWritten>,
    ) -> Result<Result<DeliveryRow, RedeliverError>, WorkerError> {
        let published = self.engine.published();
        let Some(stored) = published.snapshot.delivery(self.id, delivery)? else {
            return Ok(Err(RedeliverError::NotFound));
        };
        let number = stored.number;
        if let Some(waiting) = self
            .waiting
            .get(&number)
            .filter(|waiting| waiting.under_way)
        {
            let row = waiting.row.clone();
            if let Some(also) = also {
                let (write, _held) = also(&row);
                self.engine.side_writes(write.into_iter().collect()).await?;
            }
            return Ok(Ok(row));
        }
        let mut row = if let Some(waiting) = self.waiting.remove(&number) {
            waiting.row
        } else {
            self.ended.retain(|(ended, _)| *ended != number);
            // The order was kept at the first delivery; a repeated one is out of order anyway.
            DeliveryRow {
                redelivery: true,
                ..stored
            }
        };
        row.status = DeliveryStatus::Pending;
        row.tries = 0;
        row.next_attempt_at_ms = Some(self.engine.now_ms());
        self.wait(row.clone(), None);
        let (more, _held) = also.map(|also| also(&row)).unzip();
        let delivery = SideWrite::Delivery(row.clone());
        let writes = more.flatten().into_iter().chain([delivery]).collect();
        self.engine.side_writes(writes).await?;
        Ok(Ok(row))
    }
}
