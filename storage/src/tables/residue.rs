//! What a repeated request's answer needs besides the log: resources as an action left them, and refusals.

use std::borrow::Cow;

use bincode::{BorrowDecode, Encode};
use kedge_protocol::resource::Object;
use kedge_protocol::{Id, Prefix};

use super::objects::{object_row, read_object};
use super::row::{Resource, Row};
use crate::codec::{self, CodecError};

/// The content of [`IdempotencyRow::residue`](super::records::IdempotencyRow::residue) for a signed request.
#[derive(Encode, BorrowDecode)]
pub struct Residue<'a> {
    /// The id of the request that was carried out: errors name it.
    pub request_id: &'a str,
    /// How many objects had been made from the template that the request acts on.
    pub minted: u64,
    /// The actions that were refused: their index, and why, in the rules' JSON.
    pub refusals: Vec<(u16, String)>,
    /// What a single action made or changed, the resource acted on first; not placed yet.
    pub resources: Vec<ResourceRow<'a>>,
}

impl<'a> Residue<'a> {
    /// Its bytes, and after them a secret that the answer shows once, sealed; empty if there is none.
    pub fn encode(&self, sealed_secret: &[u8]) -> Vec<u8> {
        let mut bytes = Vec::new();
        codec::encode_into(&mut bytes, self);
        bytes.extend_from_slice(sealed_secret);
        bytes
    }

    /// Reads what [`Self::encode`] wrote.
    pub fn decode(bytes: &'a [u8]) -> Result<(Self, &'a [u8]), CodecError> {
        codec::decode_beginning(bytes)
    }
}

/// A resource as its row.
#[derive(Encode, BorrowDecode)]
pub struct ResourceRow<'a> {
    /// The number of its id's prefix.
    prefix: u8,
    id: [u8; 16],
    row: Cow<'a, [u8]>,
}

impl ResourceRow<'_> {
    fn new(id: &Id, row: &impl Encode) -> Self {
        let mut bytes = Vec::new();
        codec::encode_into(&mut bytes, row);
        Self {
            prefix: id.prefix as u8,
            id: id.bytes,
            row: Cow::Owned(bytes),
        }
    }

    /// What it is a resource of: the prefix of its id.
    pub fn prefix(&self) -> Result<Prefix, CodecError> {
        Prefix::of_number(self.prefix).ok_or_else(|| self.unknown())
    }

    /// The error of a prefix that no resource has.
    pub fn unknown(&self) -> CodecError {
        CodecError::Number(self.prefix, "kind of a resource")
    }

    /// The object that it is.
    pub fn object(&self) -> Result<Object, CodecError> {
        read_object(self.id, &self.row)
    }

    /// The resource that it is, of another type.
    pub fn read<T: Resource>(&self) -> Result<T, CodecError> {
        T::read(self.id, &self.row)
    }
}

impl From<&Object> for ResourceRow<'_> {
    fn from(object: &Object) -> Self {
        Self::new(&object.id, &object_row(object, &object.trace))
    }
}

impl<T: Resource> From<&T> for ResourceRow<'_> {
    fn from(resource: &T) -> Self {
        Self::new(&resource.id(), &Row(resource))
    }
}
