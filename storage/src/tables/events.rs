//! Events outside the log: what failed, and how anchors progressed. Events that follow from the log are not stored
//! again.

use bincode::{BorrowDecode, Encode};
use kedge_protocol::event::{EventType, Position};
use kedge_protocol::{Id, Prefix};

use super::id;
use crate::codec::CodecError;

/// An event outside the log.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct EventRow {
    /// Its identifier.
    pub id: Id,
    /// What it reports.
    pub event_type: EventType,
    /// When it happened, milliseconds.
    pub timestamp_ms: u64,
    /// The organization that receives it; `None`: all.
    pub organization_id: Option<Id>,
    /// The object that it is about.
    pub object_id: Option<Id>,
    /// The template that it is about.
    pub template_id: Option<Id>,
    /// Further data: a JSON object.
    pub data: String,
}

/// [`EventRow`] as stored; its key holds whose it is.
#[derive(Encode, BorrowDecode)]
pub(crate) struct StoredEvent<'a> {
    /// Its number among those of the same organization, from 0.
    pub(crate) number: u64,
    id: [u8; 16],
    event_type: u8,
    timestamp_ms: u64,
    object_id: Option<[u8; 16]>,
    template_id: Option<[u8; 16]>,
    data: &'a str,
}

impl<'a> StoredEvent<'a> {
    pub(crate) fn of(row: &'a EventRow, number: u64) -> Self {
        Self {
            number,
            id: row.id.bytes,
            event_type: row.event_type.number(),
            timestamp_ms: row.timestamp_ms,
            object_id: row.object_id.map(|id| id.bytes),
            template_id: row.template_id.map(|id| id.bytes),
            data: &row.data,
        }
    }

    pub(crate) fn into_row(self, organization_id: Option<Id>) -> Result<EventRow, CodecError> {
        let event_type = EventType::of_number(self.event_type)
            .ok_or(CodecError::Number(self.event_type, "type of an event"))?;
        Ok(EventRow {
            id: id(Prefix::Event, self.id),
            event_type,
            timestamp_ms: self.timestamp_ms,
            organization_id,
            object_id: self.object_id.map(|bytes| id(Prefix::Object, bytes)),
            template_id: self.template_id.map(|bytes| id(Prefix::Template, bytes)),
            data: self.data.to_owned(),
        })
    }
}

const POSITION_BYTES: usize = 12;
const KEY_BYTES: usize = 16 + POSITION_BYTES;

/// Whose events: an organization's, or everybody's.
pub(crate) fn scope(organization: Option<Id>) -> [u8; 16] {
    organization.map_or([0; 16], |id| id.bytes)
}

/// Scope ‖ position.
pub(crate) fn event_key(organization: Option<Id>, position: Position) -> [u8; KEY_BYTES] {
    let mut key = [0; KEY_BYTES];
    key[..16].copy_from_slice(&scope(organization));
    key[16..].copy_from_slice(&position_bytes(position));
    key
}

/// The position of an event's key.
pub(crate) fn position_of(key: &[u8]) -> Result<Position, CodecError> {
    let place = key
        .split_at_checked(16)
        .and_then(|(_, place)| place.try_into().ok())
        .ok_or_else(|| CodecError::bytes("an event's key has the wrong length"))?;
    Ok(read_position(place))
}

pub(crate) fn position_bytes(position: Position) -> [u8; POSITION_BYTES] {
    let mut bytes = [0; POSITION_BYTES];
    bytes[..8].copy_from_slice(&position.sequence.to_be_bytes());
    bytes[8..].copy_from_slice(&position.index.to_be_bytes());
    bytes
}

pub(crate) fn read_position(bytes: [u8; POSITION_BYTES]) -> Position {
    let number = bytes
        .iter()
        .fold(0u128, |number, byte| number << 8 | u128::from(*byte));
    Position {
        sequence: (number >> 32) as u64,
        index: number as u32,
    }
}
