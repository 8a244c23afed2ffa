//! Rows of wallets and organizations, and their rows outside the log: password hashes, sessions.

use bincode::{BorrowDecode, Encode};
use kedge_protocol::Id;
use kedge_protocol::resource::{CustomLimits, Organization, Role, Tier, Wallet};

use super::kind_key;
use super::row::{numbered, resource, stored, stored_as};
use crate::codec::CodecError;

numbered! { Role, "role of a wallet" { Owner = 1, Admin = 2, Member = 3 } }

stored! {
    CustomLimits {
        requests_per_minute,
        requests_per_day,
        object_writes_per_minute,
        action_batches_per_minute,
        file_uploads_per_minute,
        template_writes_per_minute,
        list_reads_per_minute,
        log_bytes,
    }
}

// Number, and the limits of a custom tier.
stored_as! {
    Tier as (u8, Option<CustomLimits>),
    |tier| match *tier {
        Tier::Free => (1, None),
        Tier::Developer => (2, None),
        Tier::Enterprise => (3, None),
        Tier::Custom(limits) => (4, Some(limits)),
    },
    |form| match form {
        (1, None) => Ok(Tier::Free),
        (2, None) => Ok(Tier::Developer),
        (3, None) => Ok(Tier::Enterprise),
        (4, Some(limits)) => Ok(Tier::Custom(limits)),
        (other, _) => Err(CodecError::Number(other, "tier")),
    },
}

resource! {
    Wallet in Wallets, Wallet, listed in WALLETS_OF_ORGANIZATION by organization_id, trace.created_sequence {
        organization_id: Organization,
        role,
        nickname,
        email,
        address,
        keys,
        trace,
    }
}

resource! { Organization in Organizations, Organization { name, tier, trace } }

/// Issued refresh token.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SessionRow {
    pub wallet_id: Id,
    /// The login that issued it; one reuse ends all of its tokens.
    pub family: [u8; 16],
    /// Expiry, Unix seconds.
    pub expires_at_s: u64,
    /// True once it was exchanged for a new one.
    pub used: bool,
}

stored! { SessionRow { wallet_id: Wallet, family, expires_at_s, used } }

/// An organization's number of requests on one day.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Encode, BorrowDecode)]
pub struct UsageRow {
    /// The UTC day: days since 1970-01-01.
    pub day: u64,
    pub requests: u64,
}

const SESSION: u8 = 1;
const REVOKED_FAMILY: u8 = 2;

pub(crate) fn session_key(token_hash: &[u8; 32]) -> Vec<u8> {
    kind_key(SESSION, token_hash)
}

pub(crate) fn family_key(family: &[u8; 16]) -> Vec<u8> {
    kind_key(REVOKED_FAMILY, family)
}
