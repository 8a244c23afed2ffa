//! Bodies of requests about objects.

#![expect(
    dead_code,
    reason = "the rules read bodies from the signed text; these types describe them"
)]

use kedge_http::scalars::{AddressInput, TemplateId, VariationId, WalletId};
use schemars::JsonSchema;
use serde_json::Value;

pub(in crate::api) type PropertiesBody = serde_json::Map<String, Value>;

#[derive(JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct ObjectBody {
    /// The template that the object is made from.
    template_id: TemplateId,
    /// One of the template's variations.
    variation_id: Option<VariationId>,
    /// Merged over the properties of template and variation.
    properties: Option<PropertiesBody>,
    /// The new object's owner; the caller if absent.
    to: Option<RecipientInput>,
}

#[derive(JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct ObjectPatch {
    /// RFC 7396 merge patch of the properties.
    properties: Option<PropertiesBody>,
}

#[derive(JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct TransferBody {
    /// The new owner.
    to: RecipientInput,
}

/// A wallet, by id or by address.
#[derive(JsonSchema)]
#[schemars(untagged)]
#[schemars(rename = "Recipient")]
pub(in crate::api) enum RecipientInput {
    Wallet(WalletId),
    Address(AddressInput),
}
