//! Deliveries of webhooks: how far each webhook has read its organization's events, and which of them are being
//! delivered, or were lately.

use bincode::{BorrowDecode, Encode};
use kedge_protocol::event::{EventType, Position};
use kedge_protocol::{Id, Prefix};

use super::{id, kind_key};
use crate::codec::CodecError;

/// The progress of a delivery.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum DeliveryStatus {
    /// Another attempt will be made.
    Pending,
    /// The receiver accepted it.
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
    /// What the event reports.
    pub event_type: EventType,
    /// The event's place.
    pub position: Position,
    /// The object that the event is about.
    pub object_id: Option<Id>,
    /// Its progress.
    pub status: DeliveryStatus,
    /// Attempts in total.
    pub attempts: u32,
    /// Attempts since it was last requested: the place in the schedule.
    pub tries: u32,
    /// It was requested again: it is no longer ordered.
    pub redelivery: bool,
    /// The HTTP status of the last answer.
    pub response_status: Option<u16>,
    /// Why the last attempt failed.
    pub error: Option<String>,
    /// When it was queued, milliseconds.
    pub created_at_ms: u64,
    /// When the last attempt began, milliseconds.
    pub last_attempt_at_ms: Option<u64>,
    /// When the next attempt is due, milliseconds; set while it is pending.
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
    /// It is switched off; what happens meanwhile is not reported later.
    Off,
    /// Its receiver is gone and it could not be switched off; it continues once it is changed from this version.
    Gone {
        /// The webhook's version at that time.
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::codec::{decode, encode_into};

    fn row(status: DeliveryStatus) -> DeliveryRow {
        DeliveryRow {
            webhook_id: id(Prefix::Webhook, [1; 16]),
            number: 7,
            id: id(Prefix::Delivery, [2; 16]),
            event_id: id(Prefix::Event, [3; 16]),
            event_type: EventType::ObjectLocked,
            position: Position {
                sequence: 1 << 40,
                index: 501,
            },
            object_id: Some(id(Prefix::Object, [4; 16])),
            status,
            attempts: 12,
            tries: 2,
            redelivery: true,
            response_status: Some(503),
            error: Some("the receiver answered 503".to_owned()),
            created_at_ms: 1,
            last_attempt_at_ms: Some(2),
            next_attempt_at_ms: None,
        }
    }

    #[test]
    fn deliveries_and_places_read_back() {
        let statuses = [
            DeliveryStatus::Pending,
            DeliveryStatus::Delivered,
            DeliveryStatus::Failed,
        ];
        for status in statuses {
            let (row, mut bytes) = (row(status), Vec::new());
            encode_into(&mut bytes, &StoredDelivery::from(&row));
            let read = decode::<StoredDelivery<'_>>(&bytes).unwrap();
            assert_eq!(read.into_delivery(row.webhook_id, 7), Ok(row));
        }
        for rest in [None, Some(Rest::Off), Some(Rest::Gone { version: 9 })] {
            let position = Position::start_of(5);
            let row = OutboxRow {
                position,
                next_number: 8,
                rest,
            };
            let mut bytes = Vec::new();
            encode_into(&mut bytes, &StoredOutbox::from(&row));
            assert_eq!(
                decode::<StoredOutbox>(&bytes).unwrap().into_outbox(),
                Ok(row)
            );
        }
    }

    #[test]
    fn keys_of_one_webhook_stand_together_in_order() {
        let webhook = id(Prefix::Webhook, [9; 16]);
        let keys = [
            delivery_key(&webhook, 1),
            delivery_key(&webhook, 255),
            delivery_key(&webhook, 256),
        ];
        assert!(keys.is_sorted());
        let prefix = deliveries_prefix(&webhook);
        assert!(keys.iter().all(|key| key.starts_with(&prefix)));
        assert!(!outbox_key(&webhook).starts_with(&prefix));
        let delivery = id(Prefix::Delivery, [2; 16]);
        assert!(!number_key(&webhook, &delivery).starts_with(&prefix));
    }
}
