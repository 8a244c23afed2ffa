//! Who calls: passwords, access tokens, refresh tokens.

pub mod bearer;
pub mod keys;
pub mod password;
pub mod session;

use kedge_protocol::Id;

/// A caller who showed an access token. A wallet belongs to its organization for ever, so the
/// token may say both.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Session {
    /// The wallet.
    pub wallet_id: Id,
    /// Its organization.
    pub organization_id: Id,
    /// When the token ends, Unix seconds.
    pub expires_at_s: u64,
}
