//! Wallets, organizations, and what is kept about them outside the log: password hashes, sessions.

use bincode::{BorrowDecode, Encode};
use kedge_protocol::resource::{CustomLimits, Organization, Role, Tier, Wallet};
use kedge_protocol::{Address, Id, Prefix};

use super::objects::TraceRow;
use super::{id, kind_key};
use crate::codec::CodecError;

/// The permanent number of a role.
pub(crate) fn role_number(role: Role) -> u8 {
    match role {
        Role::Owner => 1,
        Role::Admin => 2,
        Role::Member => 3,
    }
}

pub(crate) fn role_of_number(number: u8) -> Result<Role, CodecError> {
    match number {
        1 => Ok(Role::Owner),
        2 => Ok(Role::Admin),
        3 => Ok(Role::Member),
        other => Err(CodecError::Number(other, "role of a wallet")),
    }
}

/// The limits of a custom tier, in the order of [`CustomLimits`].
type LimitsRow = [Option<u64>; 8];

fn limits_row(limits: &CustomLimits) -> LimitsRow {
    [
        limits.requests_per_minute,
        limits.requests_per_day,
        limits.object_writes_per_minute,
        limits.action_batches_per_minute,
        limits.file_uploads_per_minute,
        limits.template_writes_per_minute,
        limits.list_reads_per_minute,
        limits.log_bytes,
    ]
}

fn limits(row: LimitsRow) -> CustomLimits {
    let [
        minute,
        day,
        objects,
        batches,
        files,
        templates,
        lists,
        log_bytes,
    ] = row;
    CustomLimits {
        log_bytes,
        requests_per_minute: minute,
        requests_per_day: day,
        object_writes_per_minute: objects,
        action_batches_per_minute: batches,
        file_uploads_per_minute: files,
        template_writes_per_minute: templates,
        list_reads_per_minute: lists,
    }
}

/// [`Wallet`] as stored, under its id.
#[derive(Encode, BorrowDecode)]
pub(crate) struct WalletRow<'a> {
    organization_id: [u8; 16],
    role: u8,
    nickname: Option<&'a str>,
    email: &'a str,
    address: [u8; 20],
    keys: Vec<[u8; 20]>,
    trace: TraceRow,
}

impl<'a> From<&'a Wallet> for WalletRow<'a> {
    fn from(wallet: &'a Wallet) -> Self {
        Self {
            organization_id: wallet.organization_id.bytes,
            role: role_number(wallet.role),
            nickname: wallet.nickname.as_deref(),
            email: &wallet.email,
            address: wallet.address.0,
            keys: wallet.keys.iter().map(|key| key.0).collect(),
            trace: TraceRow::from(&wallet.trace),
        }
    }
}

impl WalletRow<'_> {
    pub(crate) fn into_wallet(self, key: [u8; 16]) -> Result<Wallet, CodecError> {
        Ok(Wallet {
            id: id(Prefix::Wallet, key),
            organization_id: id(Prefix::Organization, self.organization_id),
            role: role_of_number(self.role)?,
            nickname: self.nickname.map(str::to_owned),
            email: self.email.to_owned(),
            address: Address(self.address),
            keys: self.keys.into_iter().map(Address).collect(),
            trace: self.trace.into(),
        })
    }
}

/// [`Organization`] as stored, under its id.
#[derive(Encode, BorrowDecode)]
pub(crate) struct OrganizationRow<'a> {
    name: &'a str,
    tier: u8,
    limits: Option<LimitsRow>,
    trace: TraceRow,
}

impl<'a> From<&'a Organization> for OrganizationRow<'a> {
    fn from(organization: &'a Organization) -> Self {
        Self {
            name: &organization.name,
            tier: match organization.tier {
                Tier::Free => 1,
                Tier::Developer => 2,
                Tier::Enterprise => 3,
                Tier::Custom(_) => 4,
            },
            limits: match &organization.tier {
                Tier::Custom(limits) => Some(limits_row(limits)),
                _ => None,
            },
            trace: TraceRow::from(&organization.trace),
        }
    }
}

impl OrganizationRow<'_> {
    pub(crate) fn into_organization(self, key: [u8; 16]) -> Result<Organization, CodecError> {
        Ok(Organization {
            id: id(Prefix::Organization, key),
            name: self.name.to_owned(),
            tier: match (self.tier, self.limits) {
                (1, None) => Tier::Free,
                (2, None) => Tier::Developer,
                (3, None) => Tier::Enterprise,
                (4, Some(row)) => Tier::Custom(limits(row)),
                (other, _) => return Err(CodecError::Number(other, "tier")),
            },
            trace: self.trace.into(),
        })
    }
}

/// A refresh token that was issued.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SessionRow {
    /// The wallet it belongs to.
    pub wallet_id: Id,
    /// The login that it comes from; one reuse ends all of its tokens.
    pub family: [u8; 16],
    /// Unix seconds.
    pub expires_at_s: u64,
    /// It was exchanged for a new one.
    pub used: bool,
}

#[derive(Encode, BorrowDecode)]
pub(crate) struct StoredSession {
    wallet_id: [u8; 16],
    family: [u8; 16],
    expires_at_s: u64,
    used: bool,
}

impl From<&SessionRow> for StoredSession {
    fn from(row: &SessionRow) -> Self {
        Self {
            wallet_id: row.wallet_id.bytes,
            family: row.family,
            expires_at_s: row.expires_at_s,
            used: row.used,
        }
    }
}

impl From<StoredSession> for SessionRow {
    fn from(row: StoredSession) -> Self {
        Self {
            wallet_id: id(Prefix::Wallet, row.wallet_id),
            family: row.family,
            expires_at_s: row.expires_at_s,
            used: row.used,
        }
    }
}

/// How many requests an organization sent on a day.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Encode, BorrowDecode)]
pub struct Usage {
    /// The UTC day: days since 1970-01-01.
    pub day: u64,
    /// How many requests.
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
