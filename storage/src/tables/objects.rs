//! Objects and the lists that hold them. The table `milestones` keeps an object once more at every 1,000th of its
//! versions, the last two of them. So rebuilding it as it once stood never takes more than 1,000 actions.

use bincode::{BorrowDecode, Encode};
use kedge_protocol::limits::OBJECT_HISTORY_MAX;
use kedge_protocol::resource::{Object, ObjectStatus, Trace};
use kedge_protocol::{Address, Hash, Id, Prefix};

use super::{id, list_key};
use crate::codec::CodecError;

/// [`Trace`] as stored.
#[derive(Encode, BorrowDecode)]
pub(crate) struct TraceRow {
    version: u64,
    integrity: [u8; 32],
    created_sequence: u64,
    sequence: u64,
    created_at_ms: u64,
    updated_at_ms: u64,
}

impl From<&Trace> for TraceRow {
    fn from(trace: &Trace) -> Self {
        Self {
            version: trace.version,
            integrity: trace.integrity.0,
            created_sequence: trace.created_sequence,
            sequence: trace.sequence,
            created_at_ms: trace.created_at_ms,
            updated_at_ms: trace.updated_at_ms,
        }
    }
}

impl From<TraceRow> for Trace {
    fn from(row: TraceRow) -> Self {
        Self {
            version: row.version,
            integrity: Hash(row.integrity),
            created_sequence: row.created_sequence,
            sequence: row.sequence,
            created_at_ms: row.created_at_ms,
            updated_at_ms: row.updated_at_ms,
        }
    }
}

/// [`Object`] as stored, under its id.
#[derive(Encode, BorrowDecode)]
pub(crate) struct ObjectRow<'a> {
    organization_id: [u8; 16],
    template_id: [u8; 16],
    variation_id: Option<[u8; 16]>,
    owner_id: [u8; 16],
    owner_address: [u8; 20],
    properties: &'a str,
    status: u8,
    trace: TraceRow,
}

impl<'a> ObjectRow<'a> {
    /// An object that has this trace once it is placed.
    pub(crate) fn placed(object: &'a Object, trace: &Trace) -> Self {
        Self {
            organization_id: object.organization_id.bytes,
            template_id: object.template_id.bytes,
            variation_id: object.variation_id.map(|id| id.bytes),
            owner_id: object.owner_id.bytes,
            owner_address: object.owner_address.0,
            properties: &object.properties,
            status: match object.status {
                ObjectStatus::Active => 1,
                ObjectStatus::Locked => 2,
                ObjectStatus::Burned => 3,
            },
            trace: TraceRow::from(trace),
        }
    }
}

/// Id ‖ turn. An object is kept once more at each version that is a multiple of its listed
/// history; with two turns the last two are there, and whatever the history lists comes less than
/// one history behind one of them.
pub(crate) fn milestone_key(id: &Id, version: u64) -> [u8; 17] {
    let mut key = [0; 17];
    key[..16].copy_from_slice(&id.bytes);
    key[16] = u8::from(!(version / OBJECT_HISTORY_MAX).is_multiple_of(2));
    key
}

/// Where an object comes from; settled when it is minted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Origin {
    /// The organization that issued it.
    pub organization_id: Id,
    /// The template that it was made from.
    pub template_id: Id,
}

impl ObjectRow<'_> {
    pub(crate) fn origin(&self) -> Origin {
        Origin {
            organization_id: id(Prefix::Organization, self.organization_id),
            template_id: id(Prefix::Template, self.template_id),
        }
    }

    pub(crate) fn into_object(self, key: [u8; 16]) -> Result<Object, CodecError> {
        Ok(Object {
            id: id(Prefix::Object, key),
            organization_id: id(Prefix::Organization, self.organization_id),
            template_id: id(Prefix::Template, self.template_id),
            variation_id: self.variation_id.map(|bytes| id(Prefix::Variation, bytes)),
            owner_id: id(Prefix::Wallet, self.owner_id),
            owner_address: Address(self.owner_address),
            properties: self.properties.to_owned(),
            status: match self.status {
                1 => ObjectStatus::Active,
                2 => ObjectStatus::Locked,
                3 => ObjectStatus::Burned,
                other => return Err(CodecError::Number(other, "status of an object")),
            },
            trace: self.trace.into(),
        })
    }
}

/// A list of objects, in order of creation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ObjectIndex {
    /// Those that an organization issued.
    Organization(Id),
    /// Those of a template.
    Template(Id),
    /// Those that a wallet owns.
    Owner(Id),
}

impl ObjectIndex {
    /// The permanent kind byte, and whose list it is.
    pub(crate) fn place(&self) -> (u8, &Id) {
        match self {
            Self::Organization(id) => (1, id),
            Self::Template(id) => (2, id),
            Self::Owner(id) => (3, id),
        }
    }

    pub(crate) fn key(&self, created_sequence: u64) -> [u8; 25] {
        let (kind, id) = self.place();
        list_key(kind, id, created_sequence)
    }
}
