//! Reads of disputes by subject, secrets, and the operator's addresses.

use kedge_protocol::resource::Dispute;
use kedge_protocol::{Address, Hash, Id, Prefix};

use crate::codec;
use crate::snapshot::{StoreReadError, StoreSnapshot};
use crate::tables::records::{SecretRow, secret_key};
use crate::tables::{Table, claim_key, evidence_key, id, meta};

impl StoreSnapshot {
    /// The newest dispute that an organization raised with this evidence.
    pub fn dispute_of_evidence(
        &self,
        organization: Id,
        digest: &Hash,
    ) -> Result<Option<Dispute>, StoreReadError> {
        match self.lookup(&evidence_key(&organization, digest))? {
            None => Ok(None),
            Some(key) => self.resource(id(Prefix::Dispute, key)),
        }
    }

    /// The dispute of the claim with this context.
    pub fn dispute_of_claim(&self, context: &Hash) -> Result<Option<Dispute>, StoreReadError> {
        match self.lookup(&claim_key(context))? {
            None => Ok(None),
            Some(key) => self.resource(id(Prefix::Dispute, key)),
        }
    }

    /// The secret of an API key or webhook.
    pub fn secret(&self, of: Id) -> Result<Option<SecretRow>, StoreReadError> {
        self.get(Table::Secrets, &secret_key(&of), |bytes| {
            codec::decode(bytes)
        })
    }

    /// When an API key was last used, Unix milliseconds, as far as recorded.
    pub fn key_used(&self, key: Id) -> Result<Option<u64>, StoreReadError> {
        self.get_number(Table::KeyUses, &key.bytes)
    }

    /// The addresses whose keys sign for the operator.
    pub fn operators(&self) -> Result<Vec<Address>, StoreReadError> {
        let found = self.get(Table::Meta, meta::OPERATORS_KEY, meta::read_operators)?;
        Ok(found.unwrap_or_default())
    }
}
