//! Bodies of requests about API keys.

#![expect(
    dead_code,
    reason = "the rules read bodies from the signed text; these types describe them"
)]

use kedge_http::scalars::NameInput;
use kedge_protocol::limits::{KEY_PERMISSIONS_MAX, ROTATION_OVERLAP_S_MAX};
use kedge_protocol::resource::Area;
use schemars::JsonSchema;

/// What an API key may do with one kind of resource.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields)]
#[schemars(rename = "WantedPermission")]
struct PermissionBody {
    /// The resource.
    resource: Area,
    /// The kinds of access; each is false if absent.
    crud: CrudBody,
}

#[derive(JsonSchema)]
#[schemars(deny_unknown_fields)]
#[expect(clippy::struct_excessive_bools, reason = "the members of a body")]
#[schemars(rename = "WantedCrud")]
struct CrudBody {
    /// Create.
    #[schemars(default)]
    create: bool,
    /// Read.
    #[schemars(default)]
    read: bool,
    /// Update.
    #[schemars(default)]
    update: bool,
    /// Delete.
    #[schemars(default)]
    delete: bool,
}

/// An API key to create.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct KeyBody {
    /// A name to recognise it by; not unique.
    name: NameInput,
    /// Each resource at most once; anything not granted is refused.
    #[schemars(length(min = 1, max = KEY_PERMISSIONS_MAX))]
    permissions: Vec<PermissionBody>,
    /// When the key expires, RFC 3339; it must be in the future.
    #[schemars(extend("format" = "date-time"))]
    expires_at: Option<String>,
}

/// The options of a new secret.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct RotateBody {
    /// How long the previous secret stays valid, seconds: a day if absent, at most a week.
    #[schemars(range(max = ROTATION_OVERLAP_S_MAX))]
    overlap_s: Option<u64>,
}
