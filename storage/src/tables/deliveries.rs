//! Rows of webhook deliveries: each webhook's position in its organization's events, and its pending and recent
//! deliveries.

use kedge_protocol::event::{EventPosition, EventType};
use kedge_protocol::{Id, Prefix};

use super::row::{numbered, stored, stored_as};
use super::{id, kind_key};
use crate::codec::CodecError;

/// Progress of a delivery.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum DeliveryStatus {
    /// Another attempt follows.
    Pending,
    /// The receiver accepted it.
    Delivered,
    /// Given up.
    Failed,
}

/// The delivery of one event to one webhook.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DeliveryRow {
    pub webhook_id: Id,
    /// Number among the webhook's deliveries, from 0, in the order of the events.
    pub number: u64,
    /// Identifier derived from event and webhook: the same at every attempt.
    pub id: Id,
    pub event_id: Id,
    /// The event's type.
    pub event_type: EventType,
    /// The event's position.
    pub position: EventPosition,
    /// The event's object.
    pub object_id: Option<Id>,
    pub status: DeliveryStatus,
    /// Total attempts.
    pub attempts: u32,
    /// Attempts since the last request for the delivery: the index in the schedule.
    pub tries: u32,
    /// True once it was requested again, which ends its order.
    pub redelivery: bool,
    /// HTTP status of the last answer.
    pub response_status: Option<u16>,
    /// Error of the last attempt.
    pub error: Option<String>,
    /// Time of queueing, Unix milliseconds.
    pub created_at_ms: u64,
    /// Start of the last attempt, Unix milliseconds.
    pub last_attempt_at_ms: Option<u64>,
    /// Time of the next attempt, Unix milliseconds; set while it is pending.
    pub next_attempt_at_ms: Option<u64>,
}

numbered! { DeliveryStatus, "status of a delivery" { Pending = 1, Delivered = 2, Failed = 3 } }

// The key holds the webhook and the number.
stored! {
    DeliveryRow (not webhook_id = id(Prefix::Webhook, [0; 16]), number = 0) {
        id: Delivery,
        event_id: Event,
        event_type,
        position,
        object_id: Object,
        status,
        attempts,
        tries,
        redelivery,
        response_status,
        error,
        created_at_ms,
        last_attempt_at_ms,
        next_attempt_at_ms,
    }
}

/// Reason why nothing is sent to a webhook.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum DeliveryPause {
    /// Switched off; later events are not reported.
    Off,
    /// Its receiver is gone and it could not be switched off; it resumes once it is changed from this version.
    Gone { version: u64 },
}

/// A webhook's position in its events.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct OutboxRow {
    /// Events up to here are in the deliveries, or were not wanted.
    pub position: EventPosition,
    /// Number of the next delivery.
    pub next_number: u64,
    /// Why nothing is sent now.
    pub rest: Option<DeliveryPause>,
}

// Number, and the version of a webhook whose receiver is gone.
stored_as! {
    Option<DeliveryPause> as (u8, u64),
    |rest| match *rest {
        None => (0, 0),
        Some(DeliveryPause::Off) => (1, 0),
        Some(DeliveryPause::Gone { version }) => (2, version),
    },
    |form| match form {
        (0, 0) => Ok(None),
        (1, 0) => Ok(Some(DeliveryPause::Off)),
        (2, version) => Ok(Some(DeliveryPause::Gone { version })),
        (other, _) => Err(CodecError::Number(other, "rest of a webhook")),
    },
}
stored! { OutboxRow { position, next_number, rest } }

const OUTBOX: u8 = 1;
const DELIVERY: u8 = 2;
const NUMBER_OF_ID: u8 = 3;

/// The key of a webhook's [`OutboxRow`].
pub(crate) fn outbox_key(webhook: &Id) -> Vec<u8> {
    kind_key(OUTBOX, &webhook.bytes)
}

/// First bytes of the keys of a webhook's deliveries; their numbers follow.
pub(crate) fn deliveries_prefix(webhook: &Id) -> Vec<u8> {
    kind_key(DELIVERY, &webhook.bytes)
}

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
    use crate::tables::row::BincodeRow;

    fn row(status: DeliveryStatus) -> DeliveryRow {
        DeliveryRow {
            webhook_id: id(Prefix::Webhook, [1; 16]),
            number: 7,
            id: id(Prefix::Delivery, [2; 16]),
            event_id: id(Prefix::Event, [3; 16]),
            event_type: EventType::ObjectLocked,
            position: EventPosition {
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

    /// Numbers outside the format are damage: otherwise two rows would read as one.
    #[test]
    fn a_webhook_that_is_not_gone_has_no_version() {
        for kind in [0_u8, 1] {
            let mut bytes = Vec::new();
            encode_into(&mut bytes, &(kind, 0_u64));
            assert!(decode::<BincodeRow<Option<DeliveryPause>>>(&bytes).is_ok());
            bytes.clear();
            encode_into(&mut bytes, &(kind, 7_u64));
            assert!(
                decode::<BincodeRow<Option<DeliveryPause>>>(&bytes).is_err(),
                "{kind}"
            );
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
            encode_into(&mut bytes, &BincodeRow(&row));
            let BincodeRow(read) = decode::<BincodeRow<DeliveryRow>>(&bytes).unwrap();
            let (webhook_id, number) = (row.webhook_id, row.number);
            assert_eq!(
                DeliveryRow {
                    webhook_id,
                    number,
                    ..read
                },
                row
            );
        }
        for rest in [
            None,
            Some(DeliveryPause::Off),
            Some(DeliveryPause::Gone { version: 9 }),
        ] {
            let position = EventPosition::start_of(5);
            let row = OutboxRow {
                position,
                next_number: 8,
                rest,
            };
            let mut bytes = Vec::new();
            encode_into(&mut bytes, &BincodeRow(&row));
            let BincodeRow(read) = decode::<BincodeRow<OutboxRow>>(&bytes).unwrap();
            assert_eq!(read, row);
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
