//! Schemas of bodies that the rules parse from the signed text: described as exactly as a schema can, and never
//! constructed.

#![expect(
    dead_code,
    reason = "bodies are read elsewhere; these types describe them"
)]
#![expect(
    missing_docs,
    reason = "some types have no description: a doc comment would be part of the API's document"
)]

mod bus;
mod disputes;
mod others;
mod templates;

use schemars::JsonSchema;
use serde_json::Value;

use crate::scalars::{AddressInput, TemplateId, VariationId, WalletId};

pub use bus::{ActionBody, BatchBody, PreviewRequest};
pub use disputes::DisputeBody;
pub use others::{
    Content, InviteBody, KeyBody, Lines, RoleBody, RotateBody, SignerBody, UploadBody, WebhookBody,
    WebhookPatch,
};
pub use templates::{TemplateBody, TemplatePatch, VariationsBody};

type Properties = serde_json::Map<String, Value>;

#[derive(JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct ObjectBody {
    /// The template that the object is made from.
    template_id: TemplateId,
    /// One of the template's variations.
    variation_id: Option<VariationId>,
    /// Merged over the properties of template and variation.
    properties: Option<Properties>,
    /// The new object's owner; the caller if absent.
    to: Option<Recipient>,
}

#[derive(JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct ObjectPatch {
    /// RFC 7396 merge patch of the properties.
    properties: Option<Properties>,
}

#[derive(JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct TransferBody {
    /// The new owner.
    to: Recipient,
}

/// A wallet, by id or by address.
#[derive(JsonSchema)]
#[schemars(untagged)]
enum Recipient {
    Wallet(WalletId),
    Address(AddressInput),
}
