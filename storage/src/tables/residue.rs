//! Parts of a repeated request's answer that are not in the log: resources after an action, and refusals.

use std::borrow::Cow;

use bincode::{BorrowDecode, Encode};
use kedge_protocol::resource::Object;
use kedge_protocol::{Id, Prefix};

use super::objects::{object_row, read_object};
use super::row::{BincodeRow, StoredResource};
use crate::codec::{self, CodecError};

/// The content of [`IdempotencyRow::residue`](super::records::IdempotencyRow::residue) for a signed request.
#[derive(Encode, BorrowDecode)]
pub struct IdempotencyResidue<'a> {
    /// The id of the original request, for errors.
    pub request_id: &'a str,
    /// How many objects the template that the request acts on had minted.
    pub minted: u64,
    /// Refused actions: index, and reason in the rules' JSON.
    pub refusals: Vec<(u16, String)>,
    /// Resources that a single action changed, the one acted on first; not placed yet.
    pub resources: Vec<ResourceRow<'a>>,
}

impl<'a> IdempotencyResidue<'a> {
    /// Its bytes, followed by the sealed secret that the answer shows once; empty if there is none.
    pub fn encode(&self, sealed_secret: &[u8]) -> Vec<u8> {
        let mut bytes = Vec::new();
        codec::encode_into(&mut bytes, self);
        bytes.extend_from_slice(sealed_secret);
        bytes
    }

    /// Reads the bytes of [`Self::encode`].
    pub fn decode(bytes: &'a [u8]) -> Result<(Self, &'a [u8]), CodecError> {
        codec::decode_beginning(bytes)
    }
}

/// A resource in its stored form.
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

    /// The prefix of its id.
    pub fn prefix(&self) -> Result<Prefix, CodecError> {
        Prefix::of_number(self.prefix).ok_or_else(|| self.unknown())
    }

    /// The error for a prefix without a resource.
    pub fn unknown(&self) -> CodecError {
        CodecError::Number(self.prefix, "kind of a resource")
    }

    /// Reads it as an object.
    pub fn object(&self) -> Result<Object, CodecError> {
        read_object(self.id, &self.row)
    }

    /// Reads it as another resource.
    pub fn read<T: StoredResource>(&self) -> Result<T, CodecError> {
        T::read(self.id, &self.row)
    }
}

impl From<&Object> for ResourceRow<'_> {
    fn from(object: &Object) -> Self {
        Self::new(&object.id, &object_row(object, &object.trace))
    }
}

impl<T: StoredResource> From<&T> for ResourceRow<'_> {
    fn from(resource: &T) -> Self {
        Self::new(&resource.id(), &BincodeRow(resource))
    }
}
