//! Deliveries of webhooks: how far each webhook has read its organization's events, and what of
//! them is on its way, or was lately.

use bincode::{BorrowDecode, Encode};
use kedge_protocol::event::{EventType, Position};
use kedge_protocol::{Id, Prefix};

use super::{id, kind_key};
use crate::codec::CodecError;

/// How far a delivery has come.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum DeliveryStatus {
    /// Another attempt will be made.
    Pending,
    /// The receiver took it.
    Delivered,
    /// Given up.
    Failed,
}

/// The delivery of one event to one webhook.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DeliveryRow {
    /// The webhook.
    pub webhook_id: Id,
    /// Its number among the webhook's deliveries, from 0: the order of the events.
    pub number: u64,
    /// Its identifier, made from event and webhook: the same at every attempt.
    pub id: Id,
    /// The event.
    pub event_id: Id,
    /// What the event tells.
    pub event_type: EventType,
    /// Where the event stands.
    pub position: Position,
    /// The object that the event speaks of.
    pub object_id: Option<Id>,
    /// How far it has come.
    pub status: DeliveryStatus,
    /// Attempts in all.
    pub attempts: u32,
    /// Attempts since it was last asked for: the place in the schedule.
    pub tries: u32,
    /// It was asked for again: it keeps no order any more.
    pub redelivery: bool,
    /// The HTTP status of the last answer.
    pub response_status: Option<u16>,
    /// Why the last attempt failed.
    pub error: Option<String>,
    /// When it was queued, milliseconds.
    pub created_at_ms: u64,
    /// When the last attempt began, milliseconds.
    pub last_attempt_at_ms: Option<u64>,
    /// When the next attempt is due, milliseconds; while it is pending.
    pub next_attempt_at_ms: Option<u64>,
}

#[derive(Encode, BorrowDecode)]
pub(crate) struct StoredDelivery<'a> {
    id: [u8; 16],
    event_id: [u8; 16],
    event_type: u8,
    sequence: u64,
    index: u32,
    object_id: Option<[u8; 16]>,
    status: u8,
    attempts: u32,
    tries: u32,
    redelivery: bool,
    response_status: Option<u16>,
    error: Option<&'a str>,
    created_at_ms: u64,
    last_attempt_at_ms: Option<u64>,
    next_attempt_at_ms: Option<u64>,
}

impl<'a> From<&'a DeliveryRow> for StoredDelivery<'a> {
    fn from(row: &'a DeliveryRow) -> Self {
        Self {
            id: row.id.bytes,
            event_id: row.event_id.bytes,
            event_type: row.event_type.number(),
            sequence: row.position.sequence,
            index: row.position.index,
            object_id: row.object_id.map(|id| id.bytes),
            status: match row.status {
                DeliveryStatus::Pending => 1,
                DeliveryStatus::Delivered => 2,
                DeliveryStatus::Failed => 3,
            },
            attempts: row.attempts,
            tries: row.tries,
            redelivery: row.redelivery,
            response_status: row.response_status,
            error: row.error.as_deref(),
            created_at_ms: row.created_at_ms,
            last_attempt_at_ms: row.last_attempt_at_ms,
            next_attempt_at_ms: row.next_attempt_at_ms,
        }
    }
}

impl StoredDelivery<'_> {
    pub(crate) fn into_delivery(self, webhook: Id, number: u64) -> Result<DeliveryRow, CodecError> {
        Ok(DeliveryRow {
            webhook_id: webhook,
            number,
            id: id(Prefix::Delivery, self.id),
            event_id: id(Prefix::Event, self.event_id),
            event_type: EventType::of_number(self.event_type)
                .ok_or(CodecError::Number(self.event_type, "type of an event"))?,
            position: Position {
                sequence: self.sequence,
                index: self.index,
            },
            object_id: self.object_id.map(|bytes| id(Prefix::Object, bytes)),
            status: match self.status {
                1 => DeliveryStatus::Pending,
                2 => DeliveryStatus::Delivered,
                3 => DeliveryStatus::Failed,
                other => return Err(CodecError::Number(other, "status of a delivery")),
            },
            attempts: self.attempts,
            tries: self.tries,
            redelivery: self.redelivery,
            response_status: self.response_status,
            error: self.error.map(str::to_owned),
            created_at_ms: self.created_at_ms,
            last_attempt_at_ms: self.last_attempt_at_ms,
            next_attempt_at_ms: self.next_attempt_at_ms,
        })
    }
}

/// Why nothing is sent to a webhook.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Rest {
    /// It is switched off; what happens meanwhile is not told later.
    Off,
    /// Its receiver is gone and nobody could switch it off; it goes on once it is changed from this
    /// version.
    Gone {
        /// The webhook's version then.
        version: u64,
    },
}

/// How far a webhook has read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct OutboxRow {
    /// Everything up to here is in the deliveries, or was not wanted.
    pub position: Position,
    /// The next delivery's number.
    pub next_number: u64,
    /// Why nothing is sent now.
    pub rest: Option<Rest>,
}

#[derive(Encode, BorrowDecode)]
pub(crate) struct StoredOutbox {
    sequence: u64,
    index: u32,
    next_number: u64,
    rest: u8,
    version: u64,
}

impl From<&OutboxRow> for StoredOutbox {
    fn from(row: &OutboxRow) -> Self {
        let (rest, version) = match row.rest {
            None => (0, 0),
            Some(Rest::Off) => (1, 0),
            Some(Rest::Gone { version }) => (2, version),
        };
        Self {
            sequence: row.position.sequence,
            index: row.position.index,
            next_number: row.next_number,
            rest,
            version,
        }
    }
}

impl StoredOutbox {
    pub(crate) fn into_outbox(self) -> Result<OutboxRow, CodecError> {
        Ok(OutboxRow {
            position: Position {
                sequence: self.sequence,
                index: self.index,
            },
            next_number: self.next_number,
            rest: match self.rest {
                0 => None,
                1 => Some(Rest::Off),
                2 => Some(Rest::Gone {
                    version: self.version,
                }),
                other => return Err(CodecError::Number(other, "rest of a webhook")),
            },
        })
    }
}

const OUTBOX: u8 = 1;
const DELIVERY: u8 = 2;
const NUMBER_OF_ID: u8 = 3;

/// The key of a webhook's [`OutboxRow`].
pub(crate) fn outbox_key(webhook: &Id) -> Vec<u8> {
    kind_key(OUTBOX, &webhook.bytes)
}

/// The first bytes of the keys of a webhook's deliveries; their numbers follow.
pub(crate) fn deliveries_prefix(webhook: &Id) -> Vec<u8> {
    kind_key(DELIVERY, &webhook.bytes)
}

/// The key of a delivery.
pub(crate) fn delivery_key(webhook: &Id, number: u64) -> Vec<u8> {
    let mut key = deliveries_prefix(webhook);
    key.extend_from_slice(&number.to_be_bytes());
    key
}

/// The key of a delivery's number by its id.
pub(crate) fn number_key(webhook: &Id, delivery: &Id) -> Vec<u8> {
    let mut key = kind_key(NUMBER_OF_ID, &webhook.bytes);
    key.extend_from_slice(&delivery.bytes);
    key
}
