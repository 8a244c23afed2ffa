//! Parts of a repeated request's answer that are not in the log: resources after an action, and refusals.

use std::borrow::Cow;

use bincode::{BorrowDecode, Encode};
use kedge_protocol::Prefix;

use super::row::StoredResource;
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
    /// The prefix of its id.
    pub fn prefix(&self) -> Result<Prefix, CodecError> {
        Prefix::of_number(self.prefix).ok_or_else(|| self.unknown())
    }

    /// The error for a prefix without a resource.
    pub fn unknown(&self) -> CodecError {
        CodecError::Number(self.prefix, "kind of a resource")
    }

    /// Reads it as a resource of this type.
    pub fn read<T: StoredResource>(&self) -> Result<T, CodecError> {
        T::read(self.id, &self.row)
    }
}

impl<T: StoredResource> From<&T> for ResourceRow<'_> {
    fn from(resource: &T) -> Self {
        let mut row = Vec::new();
        resource.write(&mut row);
        Self {
            prefix: resource.id().prefix as u8,
            id: resource.id().bytes,
            row: Cow::Owned(row),
        }
    }
}
