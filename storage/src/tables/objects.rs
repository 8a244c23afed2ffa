//! Objects and the lists that hold them. The table `milestones` keeps an object once more at every 1,000th of its
//! versions, the last two of them. So rebuilding it as it once stood never takes more than 1,000 actions.

use kedge_protocol::limits::OBJECT_HISTORY_MAX;
use kedge_protocol::resource::{Object, ObjectStatus, Trace};
use kedge_protocol::{Id, Prefix};

use super::row::{Row, numbered, stored};
use super::{id, list_key};
use crate::codec::{self, CodecError};

numbered! { ObjectStatus, "status of an object" { Active = 1, Locked = 2, Burned = 3 } }

// The trace follows in its own row: an object gets the one that it is stored with when it is placed.
stored! {
    Object (not id = id(Prefix::Object, [0; 16]), trace = Trace::NEW) {
        organization_id: Organization,
        template_id: Template,
        variation_id: Variation,
        owner_id: Wallet,
        owner_address,
        properties,
        status,
    }
}

/// An object as stored, under its id, with the trace that it has once it is placed.
pub(crate) fn object_row<'a>(
    object: &'a Object,
    trace: &'a Trace,
) -> (Row<&'a Object>, Row<&'a Trace>) {
    (Row(object), Row(trace))
}

/// Reads an object's row.
pub(crate) fn read_object(key: [u8; 16], bytes: &[u8]) -> Result<Object, CodecError> {
    let (Row(object), Row(trace)) = codec::decode::<(Row<Object>, Row<Trace>)>(bytes)?;
    Ok(Object {
        id: id(Prefix::Object, key),
        trace,
        ..object
    })
}

/// Id ‖ turn. An object is kept once more at each version that is a multiple of its listed
/// history; with two turns the last two are there, and whatever the history lists comes less than
/// one history after one of them.
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
