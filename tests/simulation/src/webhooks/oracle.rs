//! Checks of webhooks against the receivers' messages and the log's events.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::sync::Arc;
use std::time::Duration;

use kedge_actors::{Engine, Principal};
use kedge_protocol::Id;
use kedge_protocol::event::{EventPosition, EventType};
use kedge_protocol::limits::WEBHOOK_DELIVERIES_KEPT;
use kedge_protocol::resource::Webhook;
use kedge_replay::events::{EventFilter, EventSpan};
use kedge_rules::event::Event;
use kedge_runtime::env::Env;
use kedge_storage::{DeliveryPause, DeliveryRow, DeliveryStatus, RowPage, StoreSnapshot};

use super::{SimulatedWebhooks, WebhookHistories, owner};
use crate::plan::Violation;
use crate::workload::ProcessCallers;

const LOOK: Duration = Duration::from_millis(50);
/// Time limit for delivering everything without faults: twice the delays with their spread, and the waits that
/// receivers requested.
const PATIENCE: Duration = Duration::from_secs(90);
/// Events per page.
const EVENTS_MAX: usize = 1_000;

pub(super) fn unread(error: impl std::fmt::Display) -> Violation {
    Violation::new("the store cannot be read", error)
}

fn all() -> RowPage {
    RowPage {
        after: None,
        descending: false,
        limit: usize::MAX,
    }
}

/// All events visible to an organization, by id.
fn all_events(
    snapshot: &StoreSnapshot,
    organization: Id,
) -> Result<BTreeMap<Id, Event>, Violation> {
    let mut found = BTreeMap::new();
    let mut after = None;
    loop {
        let span = EventSpan {
            after,
            until: None,
            descending: false,
            events_max: EVENTS_MAX,
            bytes_max: usize::MAX,
            rows_max: EVENTS_MAX,
        };
        let read =
            kedge_replay::events::read(snapshot, organization, &EventFilter::default(), span);
        let piece = read.map_err(unread)?;
        for event in piece.events {
            let (id, at_ms) = (event.id, event.timestamp_ms);
            // A block of the chain that leaves and returns within a millisecond is one event.
            let is_of_chain = [EventType::BatchAnchored, EventType::AnchorConfirmed];
            let twice = found.insert(id, event).filter(|event| {
                event.timestamp_ms != at_ms || !is_of_chain.contains(&event.event_type)
            });
            if let Some(event) = twice {
                let what = "two events have one id";
                return Err(Violation::new(what, format!("{} {id}", event.event_type)));
            }
        }
        if piece.ended {
            return Ok(found);
        }
        after = piece.reached;
    }
}

fn webhook(snapshot: &StoreSnapshot, id: Id) -> Result<Webhook, Violation> {
    let webhook = snapshot.resource(id).map_err(unread)?;
    webhook.ok_or_else(|| Violation::new("a webhook of the log is not in the store", id))
}

impl SimulatedWebhooks {
    /// Checks the store that a process left.
    pub(crate) fn check(
        &self,
        snapshot: &StoreSnapshot,
        histories: &WebhookHistories,
    ) -> Result<(), Violation> {
        let mut receivers = self.receivers.lock();
        if let Some(violation) = receivers.violation.take() {
            return Err(violation);
        }
        let mut events = BTreeMap::new();
        for id in histories.ids() {
            let of = webhook(snapshot, id)?;
            let organization = of.organization_id;
            if let Entry::Vacant(entry) = events.entry(organization) {
                entry.insert(all_events(snapshot, organization)?);
            }
            let rows = snapshot.deliveries(id, all()).map_err(unread)?;
            let made = snapshot.outbox(id).map_err(unread)?;
            let made = made.map_or(0, |outbox| outbox.next_number);
            // Only the newest are kept.
            let has_all = rows.len() as u64 == made || rows.len() >= WEBHOOK_DELIVERIES_KEPT;
            if !has_all && !of.deleted {
                let what = "a webhook's place is past deliveries that are not stored";
                let about = format!("{id}: {} of {made}", rows.len());
                return Err(Violation::new(what, about));
            }
            for row in rows {
                let is_confirmed = receivers.confirmed.contains(&row.id);
                if row.status == DeliveryStatus::Delivered && !is_confirmed {
                    let what = "what no receiver accepted counts as delivered";
                    return Err(Violation::new(what, row.id));
                }
                let attempts = receivers.attempts.get(&row.id).copied().unwrap_or_default();
                let is_given_up = row.status == DeliveryStatus::Failed
                    && row.response_status != Some(410)
                    && histories.was_always_on(id);
                if is_given_up && attempts.min(row.tries) < receivers.attempts_max {
                    let what = "a delivery is given up before its last attempt";
                    return Err(Violation::new(what, format!("{attempts} seen of {row:?}")));
                }
            }
        }
        for (from, event) in receivers.taken.values() {
            let organization = webhook(snapshot, *from)?.organization_id;
            let of_log = events.get(&organization);
            if of_log.and_then(|events| events.get(&event.id)) != Some(event) {
                let what = "what was sent is not in the log";
                return Err(Violation::new(what, event.position));
            }
        }
        Ok(())
    }

    /// Checks, after all faults, that everything subscribed is delivered, or was given up after all attempts.
    pub(crate) async fn finish(
        &self,
        engine: &Engine,
        callers: &ProcessCallers,
        histories: &WebhookHistories,
    ) -> Result<(), Violation> {
        self.wake(engine, callers, histories).await?;
        let until = self.machine.now() + PATIENCE;
        let last = engine
            .published()
            .snapshot
            .last_position()
            .map_err(unread)?;
        for id in histories.ids() {
            loop {
                let published = Arc::clone(&engine.published());
                let snapshot = &published.snapshot;
                let check = || self.check_sent(snapshot, id, last, histories);
                let sent = is_done(snapshot, id)?.then(check);
                if sent.as_ref().is_some_and(Result::is_ok) {
                    break;
                }
                if self.machine.now() > until {
                    sent.transpose()?;
                    let outbox = snapshot.outbox(id).map_err(unread)?;
                    let what = "nothing is wrong any more, but a webhook does not come to its end";
                    return Err(Violation::new(what, format!("{id}: {outbox:?}")));
                }
                tokio::time::sleep(LOOK).await;
            }
        }
        Ok(())
    }

    /// Changes the webhooks that rest because their receiver said that it is gone.
    async fn wake(
        &self,
        engine: &Engine,
        callers: &ProcessCallers,
        histories: &WebhookHistories,
    ) -> Result<(), Violation> {
        for id in histories.ids() {
            let published = Arc::clone(&engine.published());
            let of = webhook(&published.snapshot, id)?;
            let outbox = published.snapshot.outbox(id).map_err(unread)?;
            let rests = outbox.and_then(|outbox| outbox.rest);
            if of.deleted || !matches!(rests, Some(DeliveryPause::Gone { .. })) {
                continue;
            }
            for signer in 0..callers.count() {
                let asker = callers.asker(engine, signer)?;
                let is_owner = matches!(asker, Principal::Wallet { organization_id, .. } if organization_id == of.organization_id);
                if is_owner {
                    callers.must(engine, signer, owner::touch(id)).await?;
                }
            }
        }
        Ok(())
    }

    /// Checks that every event a webhook subscribed to, then and ever since, was accepted by its receiver or given up.
    fn check_sent(
        &self,
        snapshot: &StoreSnapshot,
        id: Id,
        last: EventPosition,
        histories: &WebhookHistories,
    ) -> Result<(), Violation> {
        let receivers = self.receivers.lock();
        let organization = webhook(snapshot, id)?.organization_id;
        let kept = snapshot.deliveries(id, all()).map_err(unread)?.len();
        for event in all_events(snapshot, organization)?.values() {
            let since = histories.wants_since(id, event.event_type);
            let is_wanted = since
                .is_some_and(|since| event.position > EventPosition::start_of(since))
                && event.position <= last;
            let delivery = Id::of_delivery(&event.id, &id);
            if !is_wanted || receivers.taken.contains_key(&delivery) {
                continue;
            }
            let row = snapshot.delivery(id, delivery).map_err(unread)?;
            let is_given_up = match row {
                Some(row) => row.status == DeliveryStatus::Failed,
                // Only the newest are kept.
                None => kept >= WEBHOOK_DELIVERIES_KEPT && receivers.may_be_given_up(delivery),
            };
            if !is_given_up {
                let what = "an event was never delivered, position";
                let about = format!("{} {} of {id}", event.position, event.event_type);
                return Err(Violation::new(what, about));
            }
        }
        Ok(())
    }
}

/// Whether a webhook has no waiting deliveries, and a deleted one has nothing left.
fn is_done(snapshot: &StoreSnapshot, id: Id) -> Result<bool, Violation> {
    let of = webhook(snapshot, id)?;
    let outbox = snapshot.outbox(id).map_err(unread)?;
    let rows = snapshot.deliveries(id, all()).map_err(unread)?;
    if of.deleted {
        return Ok(outbox.is_none() && rows.is_empty());
    }
    let is_off = outbox.and_then(|outbox| outbox.rest) == Some(DeliveryPause::Off);
    let waits = |row: &DeliveryRow| row.status == DeliveryStatus::Pending;
    Ok(is_off != of.active && !rows.iter().any(waits))
}
