//! Rows of objects and their lists. The table `milestones` keeps an object again at every 1,000th of its versions, the
//! last two of them. So rebuilding a past version never takes more than 1,000 actions.

use kedge_protocol::limits::OBJECT_HISTORY_MAX;
use kedge_protocol::resource::{Object, ObjectStatus, ResourceTrace};
use kedge_protocol::{Id, Prefix};

use super::row::{BincodeRow, StoredResource, numbered, stored};
use super::{Table, id, list_key};
use crate::codec::{self, CodecError};

numbered! { ObjectStatus, "status of an object" { Active = 1, Locked = 2, Burned = 3 } }

// The trace follows in a separate row: an object gets its stored trace when it is placed.
stored! {
    Object (not id = id(Prefix::Object, [0; 16]), trace = ResourceTrace::NEW) {
        organization_id: Organization,
        template_id: Template,
        variation_id: Variation,
        owner_id: Wallet,
        owner_address,
        properties,
        status,
    }
}

/// An object's stored row, with the trace that it has once it is placed.
pub(crate) fn object_row<'a>(
    object: &'a Object,
    trace: &'a ResourceTrace,
) -> (BincodeRow<&'a Object>, BincodeRow<&'a ResourceTrace>) {
    (BincodeRow(object), BincodeRow(trace))
}

impl StoredResource for Object {
    const TABLE: Table = Table::Objects;
    const PREFIX: Prefix = Prefix::Object;
    /// [`ObjectIndex`] lists objects.
    const LIST: Option<u8> = None;

    fn id(&self) -> Id {
        self.id
    }

    fn id_mut(&mut self) -> &mut Id {
        &mut self.id
    }

    fn list_place(&self) -> Option<(Id, u64)> {
        None
    }

    fn write(&self, out: &mut Vec<u8>) {
        codec::encode_into(out, &object_row(self, &self.trace));
    }

    fn read(key: [u8; 16], bytes: &[u8]) -> Result<Self, CodecError> {
        let (BincodeRow(object), BincodeRow(trace)) =
            codec::decode::<(BincodeRow<Self>, BincodeRow<ResourceTrace>)>(bytes)?;
        Ok(Self {
            id: id(Prefix::Object, key),
            trace,
            ..object
        })
    }
}

/// Id ‖ turn. An object is kept again at each version that is a multiple of its listed history; with two turns the last
/// two are there, and every listed version is less than one history after one of them.
pub(crate) fn milestone_key(id: &Id, version: u64) -> [u8; 17] {
    let mut key = [0; 17];
    key[..16].copy_from_slice(&id.bytes);
    key[16] = u8::from(!(version / OBJECT_HISTORY_MAX).is_multiple_of(2));
    key
}

/// An object's organization and template, fixed at the mint.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ObjectOrigin {
    /// The issuing organization.
    pub organization_id: Id,
    /// The template of the mint.
    pub template_id: Id,
}

/// A list of objects, in order of creation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ObjectIndex {
    /// Objects issued by an organization.
    Organization(Id),
    /// Objects of a template.
    Template(Id),
    /// Objects owned by a wallet.
    Owner(Id),
}

/// First byte of the lists of templates' objects.
pub(crate) const TEMPLATE_LISTS: u8 = 2;

impl ObjectIndex {
    /// The permanent kind byte, and the list's owner.
    pub(crate) fn place(&self) -> (u8, &Id) {
        match self {
            Self::Organization(id) => (1, id),
            Self::Template(id) => (TEMPLATE_LISTS, id),
            Self::Owner(id) => (3, id),
        }
    }

    pub(crate) fn key(&self, created_sequence: u64) -> [u8; 25] {
        let (kind, id) = self.place();
        list_key(kind, id, created_sequence)
    }
}

/// Row of an object in its template's list: id ‖ serial.
pub(crate) fn serial_row(id: &[u8; 16], serial: u64) -> [u8; 24] {
    let mut row = [0; 24];
    row[..16].copy_from_slice(id);
    row[16..].copy_from_slice(&serial.to_be_bytes());
    row
}

/// The serial in the row of a template's list.
pub(crate) fn serial_of_row(row: &[u8]) -> Result<u64, CodecError> {
    codec::number(row.get(16..).unwrap_or_default())
}
