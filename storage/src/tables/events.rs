//! Rows of events outside the log: failures, and progress of anchors. Events that follow from the log are not stored.

use kedge_protocol::Id;
use kedge_protocol::event::{EventPosition, EventType};

use super::row::stored;
use crate::codec::CodecError;

/// An event outside the log.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct EventRow {
    pub id: Id,
    pub event_type: EventType,
    /// Time of the event, Unix milliseconds.
    pub timestamp_ms: u64,
    /// The receiving organization; `None`: all.
    pub organization_id: Option<Id>,
    /// The object concerned.
    pub object_id: Option<Id>,
    /// The template concerned.
    pub template_id: Option<Id>,
    /// Further data: a JSON object.
    pub data: String,
}

// The key holds the organization. The row begins with its number among that organization's events.
stored! {
    EventRow (not organization_id = None) {
        id: Event,
        event_type,
        timestamp_ms,
        object_id: Object,
        template_id: Template,
        data,
    }
}

const POSITION_BYTES: usize = 12;
const KEY_BYTES: usize = 16 + POSITION_BYTES;

/// Scope of events: an organization, or zero for all.
pub(crate) fn scope(organization: Option<Id>) -> [u8; 16] {
    organization.map_or([0; 16], |id| id.bytes)
}

/// Scope ‖ position.
pub(crate) fn event_key(organization: Option<Id>, position: EventPosition) -> [u8; KEY_BYTES] {
    let mut key = [0; KEY_BYTES];
    key[..16].copy_from_slice(&scope(organization));
    key[16..].copy_from_slice(&position_bytes(position));
    key
}

/// The position of an event's key.
pub(crate) fn position_of(key: &[u8]) -> Result<EventPosition, CodecError> {
    let place = key
        .split_at_checked(16)
        .and_then(|(_, place)| place.try_into().ok())
        .ok_or_else(|| CodecError::bytes("an event's key has the wrong length"))?;
    Ok(read_position(place))
}

pub(crate) fn position_bytes(position: EventPosition) -> [u8; POSITION_BYTES] {
    let mut bytes = [0; POSITION_BYTES];
    bytes[..8].copy_from_slice(&position.sequence.to_be_bytes());
    bytes[8..].copy_from_slice(&position.index.to_be_bytes());
    bytes
}

pub(crate) fn read_position(bytes: [u8; POSITION_BYTES]) -> EventPosition {
    let number = bytes
        .iter()
        .fold(0u128, |number, byte| number << 8 | u128::from(*byte));
    EventPosition {
        sequence: (number >> 32) as u64,
        index: number as u32,
    }
}
