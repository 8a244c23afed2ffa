//! What a repeated request's answer needs besides the log: resources as an action left them, and refusals.

use std::borrow::Cow;

use bincode::{BorrowDecode, Encode};
use kedge_protocol::resource::{
    ApiKey, File, Invitation, Object, Organization, Template, Variation, Wallet, Webhook,
};
use kedge_protocol::{Id, Prefix};

use super::objects::{object_row, read_object};
use super::row::{self, Row};
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
    pub resources: Vec<Resource<'a>>,
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
pub struct Resource<'a> {
    /// The number of its id's prefix.
    prefix: u8,
    id: [u8; 16],
    row: Cow<'a, [u8]>,
}

impl Resource<'_> {
    fn new(id: &Id, row: &impl Encode) -> Self {
        let mut bytes = Vec::new();
        codec::encode_into(&mut bytes, row);
        Self {
            prefix: id.prefix as u8,
            id: id.bytes,
            row: Cow::Owned(bytes),
        }
    }
}

impl From<&Object> for Resource<'_> {
    fn from(object: &Object) -> Self {
        Self::new(&object.id, &object_row(object, &object.trace))
    }
}

macro_rules! resources {
    ($($name:ident),* $(,)?) => {
        $(impl From<&$name> for Resource<'_> {
            fn from(resource: &$name) -> Self {
                Self::new(&resource.id, &Row(resource))
            }
        })*

        impl Resource<'_> {
            /// The resource, in whatever holds one of each.
            pub fn read<T>(self) -> Result<T, CodecError>
            where
                T: From<Object> $(+ From<$name>)*,
            {
                match Prefix::of_number(self.prefix) {
                    Some(Prefix::Object) => read_object(self.id, &self.row).map(T::from),
                    $(Some(prefix) if prefix == <$name as row::Resource>::PREFIX => {
                        <$name as row::Resource>::read(self.id, &self.row).map(T::from)
                    })*
                    _ => Err(CodecError::Number(self.prefix, "kind of a resource")),
                }
            }
        }
    };
}
resources!(
    Wallet,
    Template,
    Variation,
    ApiKey,
    Webhook,
    File,
    Invitation,
    Organization,
);
