//! Reads of wallets, organizations, and their rows outside the log.

use kedge_protocol::resource::{Organization, Wallet};
use kedge_protocol::{Address, Hash, Id, Prefix};

use super::RowPage;
use crate::codec::{self, CodecError};
use crate::snapshot::{StoreReadError, StoreSnapshot};
use crate::tables::accounts::{SessionRow, UsageRow, family_key, session_key};
use crate::tables::records::IdempotencyRow;
use crate::tables::row::{BincodeRow, StoredResource};
use crate::tables::{Table, expiry, kind_key, lookup};

fn cut_off() -> CodecError {
    CodecError::bytes("the row ends too early")
}

impl StoreSnapshot {
    pub fn wallet(&self, id: Id) -> Result<Option<Wallet>, StoreReadError> {
        self.resource(id)
    }

    fn wallet_by(&self, kind: u8, key: &[u8]) -> Result<Option<Wallet>, StoreReadError> {
        match self.lookup(&kind_key(kind, key))? {
            Some(id) => self.get(Table::Wallets, &id, |bytes| Wallet::read(id, bytes)),
            None => Ok(None),
        }
    }

    /// The wallet that logs in with this e-mail address (lower case).
    pub fn wallet_by_email(&self, email: &str) -> Result<Option<Wallet>, StoreReadError> {
        self.wallet_by(lookup::WALLET_EMAIL, email.as_bytes())
    }

    /// The wallet of a signing address, present or former.
    pub fn wallet_by_address(&self, address: Address) -> Result<Option<Wallet>, StoreReadError> {
        self.wallet_by(lookup::WALLET_ADDRESS, &address.0)
    }

    /// A page of an organization's wallets; the cursor is the creation sequence.
    pub fn wallets(&self, organization: Id, page: RowPage) -> Result<Vec<Wallet>, StoreReadError> {
        self.listed(organization, page)
    }

    pub fn organization(&self, id: Id) -> Result<Option<Organization>, StoreReadError> {
        self.resource(id)
    }

    /// A wallet's password hash, in PHC form.
    pub fn password_hash(&self, wallet: Id) -> Result<Option<String>, StoreReadError> {
        let (table, prefix) = (Table::Credentials, Prefix::Wallet);
        self.by_id(table, prefix, wallet, |_, bytes| {
            String::from_utf8(bytes.to_vec())
                .map_err(|_| CodecError::bytes("a password hash is not text"))
        })
    }

    /// A refresh token's row.
    pub fn session(&self, token_hash: [u8; 32]) -> Result<Option<SessionRow>, StoreReadError> {
        self.get(Table::Sessions, &session_key(&token_hash), |bytes| {
            let (_, row) = expiry(bytes).ok_or_else(cut_off)?;
            codec::decode(row).map(|BincodeRow(session)| session)
        })
    }

    /// Whether all sessions of a login were ended.
    pub fn family_revoked(&self, family: [u8; 16]) -> Result<bool, StoreReadError> {
        let found = self.get(Table::Sessions, &family_key(&family), |_| Ok(()))?;
        Ok(found.is_some())
    }

    /// The outcome of a request with this idempotency key; it may have expired.
    pub fn idempotency(&self, key: [u8; 32]) -> Result<Option<IdempotencyRow>, StoreReadError> {
        self.get(Table::Idempotency, &key, |bytes| {
            let (_, row) = expiry(bytes).ok_or_else(cut_off)?;
            codec::decode(row)
        })
    }

    /// How many requests an organization sent on its last active day, as far as stored.
    pub fn usage(&self, organization: Id) -> Result<Option<UsageRow>, StoreReadError> {
        let (table, prefix) = (Table::Usage, Prefix::Organization);
        self.by_id(table, prefix, organization, |_, bytes| {
            codec::decode::<UsageRow>(bytes)
        })
    }

    /// The deadline (Unix seconds) of a request that failed as a whole, by its signed digest; it may have passed.
    pub fn refused(&self, digest: Hash) -> Result<Option<u64>, StoreReadError> {
        self.get_number(Table::Refused, &digest.0)
    }
}
