//! Bodies of requests about members and invitations.

#![expect(
    dead_code,
    reason = "the rules read bodies from the signed text; these types describe them"
)]

use kedge_http::scalars::WalletId;
use kedge_protocol::limits::{EMAIL_BYTES_MAX, INVITATION_S_MAX};
use kedge_protocol::resource::Role;
use schemars::JsonSchema;

/// A member's new role.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields)]
#[schemars(rename = "RoleBody")]
pub struct MemberRoleBody {
    /// The member, as in the path: the signed body must name them.
    wallet_id: WalletId,
    /// The new role.
    role: Role,
}

/// An invitation to create.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct InviteBody {
    /// The only e-mail address that may use it; any if absent.
    #[schemars(extend("format" = "email"), length(max = EMAIL_BYTES_MAX))]
    email: Option<String>,
    /// The role of the wallet that joins; member if absent.
    role: Option<Role>,
    /// How long the invitation is valid, seconds; a week if absent.
    #[schemars(range(min = 1, max = INVITATION_S_MAX))]
    expires_in_s: Option<u64>,
}
