//! API keys, webhooks, files, disputes, invitations, secrets, the operator's addresses.

use kedge_protocol::resource::{ApiKey, Dispute, File, Invitation, Webhook};
use kedge_protocol::{Address, Hash, Id, Prefix};

use super::Page;
use crate::codec;
use crate::snapshot::{ReadError, Snapshot};
use crate::tables::records::{SecretRow, secret_key};
use crate::tables::{Table, claim_key, evidence_key, id, lookup, meta};

impl Snapshot {
    /// An API key, even if it was ended.
    pub fn api_key(&self, id: Id) -> Result<Option<ApiKey>, ReadError> {
        self.resource(id)
    }

    /// A page of an organization's API keys; the cursor is the creation sequence.
    pub fn api_keys(&self, organization: Id, page: Page) -> Result<Vec<ApiKey>, ReadError> {
        self.listed(lookup::KEYS_OF_ORGANIZATION, &organization, page)
    }

    /// A webhook, even if it was ended.
    pub fn webhook(&self, id: Id) -> Result<Option<Webhook>, ReadError> {
        self.resource(id)
    }

    /// A page of an organization's webhooks; the cursor is the creation sequence.
    pub fn webhooks(&self, organization: Id, page: Page) -> Result<Vec<Webhook>, ReadError> {
        self.listed(lookup::WEBHOOKS_OF_ORGANIZATION, &organization, page)
    }

    /// A file's description.
    pub fn file(&self, id: Id) -> Result<Option<File>, ReadError> {
        self.resource(id)
    }

    /// A page of an organization's files; the cursor is the creation sequence.
    pub fn files(&self, organization: Id, page: Page) -> Result<Vec<File>, ReadError> {
        self.listed(lookup::FILES_OF_ORGANIZATION, &organization, page)
    }

    /// Every file's description, in the order of their ids.
    pub fn every_file(&self) -> impl Iterator<Item = Result<File, ReadError>> {
        self.every()
    }

    /// A dispute.
    pub fn dispute(&self, id: Id) -> Result<Option<Dispute>, ReadError> {
        self.resource(id)
    }

    /// A page of an organization's disputes; the cursor is the creation sequence.
    pub fn disputes(&self, organization: Id, page: Page) -> Result<Vec<Dispute>, ReadError> {
        self.listed(lookup::DISPUTES_OF_ORGANIZATION, &organization, page)
    }

    /// The newest dispute that an organization brought with this evidence.
    pub fn dispute_of_evidence(
        &self,
        organization: Id,
        digest: &Hash,
    ) -> Result<Option<Dispute>, ReadError> {
        match self.lookup(&evidence_key(&organization, digest))? {
            None => Ok(None),
            Some(key) => self.dispute(id(Prefix::Dispute, key)),
        }
    }

    /// The dispute of the claim with this context.
    pub fn dispute_of_claim(&self, context: &Hash) -> Result<Option<Dispute>, ReadError> {
        match self.lookup(&claim_key(context))? {
            None => Ok(None),
            Some(key) => self.dispute(id(Prefix::Dispute, key)),
        }
    }

    /// An invitation, even if it was used.
    pub fn invitation(&self, id: Id) -> Result<Option<Invitation>, ReadError> {
        self.resource(id)
    }

    /// A page of an organization's invitations; the cursor is the creation sequence.
    pub fn invitations(&self, organization: Id, page: Page) -> Result<Vec<Invitation>, ReadError> {
        self.listed(lookup::INVITATIONS_OF_ORGANIZATION, &organization, page)
    }

    /// The secret of an API key or webhook.
    pub fn secret(&self, of: Id) -> Result<Option<SecretRow>, ReadError> {
        self.get(Table::Secrets, &secret_key(&of), |bytes| {
            codec::decode(bytes)
        })
    }

    /// When an API key was last used, Unix milliseconds, as far as that was recorded.
    pub fn key_used(&self, key: Id) -> Result<Option<u64>, ReadError> {
        self.get_number(Table::KeyUses, &key.bytes)
    }

    /// The addresses whose keys sign for the operator.
    pub fn operators(&self) -> Result<Vec<Address>, ReadError> {
        let found = self.get(Table::Meta, meta::OPERATORS_KEY, meta::read_operators)?;
        Ok(found.unwrap_or_default())
    }
}
