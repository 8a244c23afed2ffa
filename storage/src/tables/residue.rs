//! What a repeated request's answer needs besides the log: resources as an action left them, and refusals.

use bincode::{BorrowDecode, Encode};
use kedge_protocol::resource::{
    ApiKey, File, Invitation, Object, Organization, Template, Variation, Wallet, Webhook,
};

use super::accounts::{OrganizationRow, WalletRow};
use super::objects::ObjectRow;
use super::records::{ApiKeyRow, FileRow, InvitationRow, WebhookRow};
use super::templates::{TemplateRow, VariationRow};
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
    /// Its bytes.
    pub fn encode(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        codec::encode_into(&mut bytes, self);
        bytes
    }

    /// Reads what [`Self::encode`] wrote.
    pub fn decode(bytes: &'a [u8]) -> Result<Self, CodecError> {
        codec::decode(bytes)
    }
}

/// A resource as its row.
#[derive(Encode, BorrowDecode)]
pub struct Resource<'a> {
    id: [u8; 16],
    row: Row<'a>,
}

/// The order is permanent: it numbers the variants.
#[derive(Encode, BorrowDecode)]
enum Row<'a> {
    Object(ObjectRow<'a>),
    Wallet(WalletRow<'a>),
    Template(TemplateRow<'a>),
    Variation(VariationRow<'a>),
    ApiKey(ApiKeyRow<'a>),
    Webhook(WebhookRow<'a>),
    File(FileRow<'a>),
    Invitation(InvitationRow<'a>),
    Organization(OrganizationRow<'a>),
}

macro_rules! rows {
    ($($name:ident),*) => {
        $(impl<'a> From<&'a $name> for Resource<'a> {
            fn from(resource: &'a $name) -> Self {
                Self {
                    id: resource.id.bytes,
                    row: Row::$name(resource.into()),
                }
            }
        })*
    };
}
rows!(
    Wallet,
    Template,
    Variation,
    ApiKey,
    Webhook,
    File,
    Invitation,
    Organization
);

impl<'a> From<&'a Object> for Resource<'a> {
    fn from(object: &'a Object) -> Self {
        Self {
            id: object.id.bytes,
            row: Row::Object(ObjectRow::placed(object, &object.trace)),
        }
    }
}

impl Resource<'_> {
    /// The resource, in whatever holds one of each.
    pub fn read<T>(self) -> Result<T, CodecError>
    where
        T: From<Object>
            + From<Wallet>
            + From<Template>
            + From<Variation>
            + From<ApiKey>
            + From<Webhook>
            + From<File>
            + From<Invitation>
            + From<Organization>,
    {
        let id = self.id;
        Ok(match self.row {
            Row::Object(row) => row.into_object(id)?.into(),
            Row::Wallet(row) => row.into_wallet(id)?.into(),
            Row::Template(row) => row.into_template(id)?.into(),
            Row::Variation(row) => row.into_variation(id).into(),
            Row::ApiKey(row) => row.into_key(id)?.into(),
            Row::Webhook(row) => row.into_webhook(id).into(),
            Row::File(row) => row.into_file(id).into(),
            Row::Invitation(row) => row.into_invitation(id)?.into(),
            Row::Organization(row) => row.into_organization(id)?.into(),
        })
    }
}
