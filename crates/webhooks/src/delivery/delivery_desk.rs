//! Deliveries of one webhook: reading events, pending deliveries, and pauses.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use kedge_actors::Engine;
use kedge_actors::fair::FairQueue;
use kedge_protocol::Id;
use kedge_protocol::event::{EventPosition, EventType};
use kedge_protocol::limits::{WEBHOOK_DELIVERIES_KEPT, WEBHOOK_PENDING_MAX};
use kedge_protocol::resource::Webhook;
use kedge_replay::events::{EventFilter, EventSpan};
use kedge_rules::event::Event;
use kedge_storage::{
    DeliveryPause, DeliveryRow, DeliveryStatus, OutboxRow, RowPage, SideWrite, StoreReadError,
    StoreSnapshot,
};
use tokio::task::JoinSet;

use super::WebhookOptions;
use super::activation::switched_on;
use super::attempts::AttemptResult;
use super::messages::RedeliverError;
use super::orders::{OrderReceiver, RedeliveryOrder, WorkerOrder};
use super::pending_writes::{NewDelivery, PendingWrites};
use super::worker::{WebhookWorker, WorkerNext};
use super::worker_error::WorkerError;

/// Events of one read.
pub(super) const PIECE_EVENTS: usize = 64;
/// Bytes of events of one read.
pub(super) const PIECE_BYTES: usize = 256 * 1024;
/// Events examined in one read.
const PIECE_ROWS: usize = 4_096;
/// How many sequences the position may advance without being stored, if no event was wanted.
const UNSTORED_SEQUENCES_MAX: u64 = 10_000;

/// Delivery that has not ended.
pub(super) struct PendingDelivery {
    pub(super) row: DeliveryRow,
    pub(super) under_way: bool,
    /// The event, if it was just read.
    pub(super) event: Option<Event>,
}

/// The events that a webhook wants.
fn filter(webhook: &Webhook) -> EventFilter {
    let all = webhook.events.iter().any(|name| name == "*");
    let types = EventType::ALL.iter().copied();
    let named = types.filter(|of| webhook.events.iter().any(|name| name == of.text()));
    EventFilter {
        types: if all { Vec::new() } else { named.collect() },
        ..EventFilter::default()
    }
}

/// Sequence at which a webhook that has sent nothing yet begins to read: that of the action that switched it on, or
/// created it if it is off.
fn first_wanted(snapshot: &StoreSnapshot, webhook: &Webhook) -> Result<u64, StoreReadError> {
    let created = webhook.trace.created_sequence;
    if !webhook.active {
        return Ok(created);
    }
    Ok(switched_on(snapshot, webhook, 0)?.since.unwrap_or(created))
}

/// State of a webhook's deliveries.
pub(super) struct DeliveryDesk {
    pub(super) id: Id,
    pub(super) engine: Engine,
    pub(super) options: Arc<WebhookOptions>,
    pub(super) attempts: Arc<FairQueue<Id>>,
    pub(super) outbox: OutboxRow,
    /// Sequence of the last action on the webhook at which it was seen on, until it pauses. The switch-on is searched
    /// only among later actions, because the position may stand still for days while there are many changes.
    on_at: u64,
    stored: EventPosition,
    pub(super) waiting: BTreeMap<u64, PendingDelivery>,
    /// Ended deliveries kept for inspection, oldest first.
    pub(super) ended: VecDeque<(u64, Id)>,
    pub(super) under_way: JoinSet<AttemptResult>,
    pub(super) unstored: PendingWrites,
    /// Whether the last attempt failed: until one succeeds, only one runs at a time.
    pub(super) failing: bool,
}

impl DeliveryDesk {
    /// Loads the stored state.
    pub(super) fn load(
        worker: &WebhookWorker,
        webhook: &Webhook,
        snapshot: &StoreSnapshot,
    ) -> Result<Self, StoreReadError> {
        let outbox = match snapshot.outbox(webhook.id)? {
            Some(outbox) => outbox,
            None => OutboxRow {
                position: EventPosition::start_of(first_wanted(snapshot, webhook)?),
                next_number: 0,
                rest: None,
            },
        };
        let mut desk = Self {
            id: webhook.id,
            engine: worker.engine.clone(),
            options: Arc::clone(&worker.options),
            attempts: Arc::clone(&worker.attempts),
            on_at: 0,
            stored: outbox.position,
            outbox,
            waiting: BTreeMap::new(),
            ended: VecDeque::new(),
            under_way: JoinSet::new(),
            unstored: PendingWrites::default(),
            failing: false,
        };
        let all = RowPage {
            after: None,
            descending: false,
            limit: usize::MAX,
        };
        for row in snapshot.deliveries(webhook.id, all)? {
            match row.status {
                DeliveryStatus::Pending => desk.wait(row, None),
                _ => desk.ended.push_back((row.number, row.id)),
            }
        }
        Ok(desk)
    }

    pub(super) fn wait(&mut self, row: DeliveryRow, event: Option<Event>) {
        let waiting = PendingDelivery {
            under_way: false,
            event,
            row,
        };
        self.waiting.insert(waiting.row.number, waiting);
    }

    pub(super) fn outbox_write(&mut self) -> SideWrite {
        self.stored = self.outbox.position;
        SideWrite::Outbox {
            webhook: self.id,
            row: self.outbox,
        }
    }

    /// Whether the webhook is to be served now. Stores where it resumes or pauses.
    pub(super) async fn goes_on(&mut self, webhook: &Webhook) -> Result<bool, WorkerError> {
        let goes_on = self.resume(webhook).await?;
        self.on_at = if goes_on { webhook.trace.sequence } else { 0 };
        Ok(goes_on)
    }

    async fn resume(&mut self, webhook: &Webhook) -> Result<bool, WorkerError> {
        match (webhook.active, self.outbox.rest) {
            (true, Some(DeliveryPause::Gone { version })) if version == webhook.trace.version => {
                Ok(false)
            }
            (true, rest) => {
                let at = self.outbox.position;
                let after = at.sequence.max(self.on_at);
                let on = switched_on(&self.engine.published().snapshot, webhook, after)?;
                if on.was_off || rest == Some(DeliveryPause::Off) {
                    let since = on.since.unwrap_or(webhook.trace.sequence);
                    self.outbox.position = at.max(EventPosition::start_of(since));
                }
                if rest.is_some() {
                    self.outbox.rest = None;
                    self.failing = false;
                    let write = self.outbox_write();
                    self.engine.side_write(write).await?;
                }
                Ok(true)
            }
            (false, Some(DeliveryPause::Off)) => Ok(false),
            (false, _) => {
                self.put_down().await?;
                Ok(false)
            }
        }
    }

    /// Gives up all pending deliveries, because the webhook is switched off.
    async fn put_down(&mut self) -> Result<(), WorkerError> {
        self.under_way.shutdown().await;
        self.outbox.rest = Some(DeliveryPause::Off);
        let mut writes = vec![self.outbox_write()];
        for (number, mut waiting) in std::mem::take(&mut self.waiting) {
            let row = &mut waiting.row;
            row.status = DeliveryStatus::Failed;
            row.next_attempt_at_ms = None;
            row.error
                .get_or_insert_with(|| "the webhook was switched off".to_owned());
            self.ended.push_back((number, row.id));
            writes.push(SideWrite::Delivery(waiting.row));
        }
        writes.extend(self.prune());
        Ok(self.engine.side_writes(writes).await?)
    }

    /// Writes that delete the oldest ended deliveries if there are too many.
    pub(super) fn prune(&mut self) -> Vec<SideWrite> {
        let surplus = self.ended.len().saturating_sub(WEBHOOK_DELIVERIES_KEPT);
        let oldest = self.ended.drain(..surplus);
        let webhook = self.id;
        oldest
            .map(|(number, delivery)| SideWrite::DeliveryGone {
                webhook,
                number,
                delivery,
            })
            .collect()
    }

    /// Waits while nothing is to be sent.
    pub(super) async fn rest(
        &mut self,
        webhook: &Webhook,
        orders: &mut OrderReceiver,
    ) -> Result<WorkerNext, WorkerError> {
        self.under_way.shutdown().await;
        for waiting in self.waiting.values_mut() {
            waiting.under_way = false;
        }
        if webhook.active {
            tracing::warn!(webhook = %self.id, "the webhook's receiver is gone; the webhook waits to be changed");
        }
        loop {
            match orders.next().await {
                None => return Ok(WorkerNext::End),
                Some(WorkerOrder::Changed) => return Ok(WorkerNext::Look),
                Some(WorkerOrder::Redeliver(refused)) => {
                    // The caller may be gone.
                    let _ = refused.reply.send(Err(RedeliverError::Off));
                }
            }
        }
    }

    /// Serves the webhook until it is changed.
    pub(super) async fn work(
        &mut self,
        webhook: &Arc<Webhook>,
        orders: &mut OrderReceiver,
    ) -> Result<WorkerNext, WorkerError> {
        // Listens first: later commits are reported, and earlier ones are read.
        let mut listener = self.engine.listen(webhook.organization_id);
        let filter = filter(webhook);
        loop {
            if self.stage(webhook, &filter).await? {
                break;
            }
            self.begin(webhook)?;
            self.unstored.begin(&self.engine);
            let has_room = self.has_room();
            let due_in = self.due_in();
            // Each round does all the work there is, so the order decides only the first step. It is fixed, for the
            // simulator.
            tokio::select! {
                biased;
                order = orders.next() => match order {
                    None => return Ok(WorkerNext::End),
                    Some(WorkerOrder::Changed) => break,
                    Some(WorkerOrder::Redeliver(RedeliveryOrder {
                        delivery,
                        also,
                        reply,
                    })) => {
                        self.store().await?;
                        let result = self.redeliver(delivery, also).await?;
                        let _ = reply.send(result);
                    }
                },
                Some(stored) = self.unstored.stored() => self.wait_for_all(stored?),
                Some(attempted) = self.under_way.join_next() => {
                    if self.finish(webhook, attempted?).await? {
                        break;
                    }
                }
                () = listener.changed(), if has_room => {}
                () = tokio::time::sleep(due_in.unwrap_or_default()), if due_in.is_some() => {}
            }
        }
        self.store().await?;
        Ok(WorkerNext::Look)
    }

    /// Stores everything that is not stored yet.
    async fn store(&mut self) -> Result<(), WorkerError> {
        loop {
            self.unstored.begin(&self.engine);
            match self.unstored.stored().await {
                None => return Ok(()),
                Some(stored) => self.wait_for_all(stored?),
            }
        }
    }

    fn wait_for_all(&mut self, new: Vec<NewDelivery>) {
        for NewDelivery { row, event } in new {
            // A long queue is not kept in memory.
            let event = Some(event).filter(|_| self.waiting.len() < PIECE_EVENTS);
            self.wait(row, event);
        }
    }

    /// Whether there is room for a whole read. Otherwise a full queue would read and store events one by one.
    fn has_room(&self) -> bool {
        let pending = self.waiting.len() + self.unstored.new_deliveries();
        pending + PIECE_EVENTS <= WEBHOOK_PENDING_MAX
    }

    /// Reads events and queues the wanted ones, until some were found: deliveries and position go into one commit, and
    /// the next events are read after it. True if the webhook has changed: it may want other events by now.
    async fn stage(
        &mut self,
        webhook: &Webhook,
        filter: &EventFilter,
    ) -> Result<bool, WorkerError> {
        while self.has_room() {
            let published = self.engine.published();
            let now = published.snapshot.resource::<Webhook>(self.id)?;
            if now.is_none_or(|now| now.trace.version != webhook.trace.version) {
                return Ok(true);
            }
            let at = self.outbox.position;
            let span = EventSpan {
                after: Some(at),
                until: None,
                descending: false,
                events_max: PIECE_EVENTS,
                bytes_max: PIECE_BYTES,
                rows_max: PIECE_ROWS,
            };
            let snapshot = &published.snapshot;
            let piece =
                kedge_replay::events::read(snapshot, webhook.organization_id, filter, span)?;
            self.outbox.position = if piece.ended {
                snapshot.last_position()?.max(at)
            } else {
                piece.reached.unwrap_or(at)
            };
            drop(published);
            let has_found = !piece.events.is_empty();
            self.queue(piece.events);
            if piece.ended || has_found {
                break;
            }
            tokio::task::yield_now().await;
        }
        Ok(false)
    }

    fn queue(&mut self, events: Vec<Event>) {
        let moved = self.outbox.position.sequence - self.stored.sequence;
        if events.is_empty() && moved < UNSTORED_SEQUENCES_MAX {
            return;
        }
        let now_ms = self.engine.now_ms();
        let first = self.outbox.next_number;
        let new = |(number, event): (u64, Event)| NewDelivery {
            row: self.new_row(number, &event, now_ms),
            event,
        };
        let new: Vec<NewDelivery> = (first..).zip(events).map(new).collect();
        self.outbox.next_number += new.len() as u64;
        let rows = new.iter().map(|new| SideWrite::Delivery(new.row.clone()));
        let writes: Vec<SideWrite> = [self.outbox_write()].into_iter().chain(rows).collect();
        self.unstored.add_new(writes, new);
    }

    fn new_row(&self, number: u64, event: &Event, now_ms: u64) -> DeliveryRow {
        let id = Id::of_delivery(&event.id, &self.id);
        let delay_ms = self.options.schedule.delay_ms(&id, 0, None);
        DeliveryRow {
            webhook_id: self.id,
            number,
            id,
            event_id: event.id,
            event_type: event.event_type,
            position: event.position,
            object_id: event.object_id,
            status: DeliveryStatus::Pending,
            attempts: 0,
            tries: 0,
            redelivery: false,
            response_status: None,
            error: None,
            created_at_ms: now_ms,
            last_attempt_at_ms: None,
            next_attempt_at_ms: Some(now_ms + delay_ms.unwrap_or(0)),
        }
    }
}
