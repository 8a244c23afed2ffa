//! Bodies of requests that the rules read, described for the document.

use crate::views::scalars::IdText;

#[derive(schemars::JsonSchema)]
#[schemars(deny_unknown_fields)]
#[expect(dead_code, reason = "the body is read by the rules; this describes it")]
pub(super) struct ObjectBody {
    #[schemars(with = "IdText")]
    template_id: String,
    variation_id: Option<String>,
    properties: Option<serde_json::Map<String, serde_json::Value>>,
    /// A wallet's id or address; the caller's own if absent.
    to: Option<String>,
}

#[derive(schemars::JsonSchema)]
#[schemars(deny_unknown_fields)]
#[expect(dead_code, reason = "the body is read by the rules; this describes it")]
pub(super) struct ObjectPatch {
    /// RFC 7396 merge patch of the properties.
    properties: Option<serde_json::Map<String, serde_json::Value>>,
}

#[derive(schemars::JsonSchema)]
#[schemars(deny_unknown_fields)]
#[expect(dead_code, reason = "the body is read by the rules; this describes it")]
pub(super) struct TransferBody {
    /// A wallet's id or address.
    to: String,
}
