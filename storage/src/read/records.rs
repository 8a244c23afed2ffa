//! API keys, webhooks, files, disputes, invitations, secrets, the operator's addresses.

use kedge_protocol::resource::{ApiKey, Dispute, File, Invitation, Webhook};
use kedge_protocol::{Address, Hash, Id, Prefix};

use super::Page;
use crate::codec::{self, CodecError};
use crate::snapshot::{ReadError, Snapshot};
use crate::tables::records::{
    ApiKeyRow, DisputeRow, FileRow, InvitationRow, SecretRow, WebhookRow, secret_key,
};
use crate::tables::{Table, claim_key, evidence_key, id, lookup, meta};

fn api_key(id: [u8; 16], bytes: &[u8]) -> Result<ApiKey, CodecError> {
    codec::decode::<ApiKeyRow<'_>>(bytes)?.into_key(id)
}

pub(super) fn webhook(id: [u8; 16], bytes: &[u8]) -> Result<Webhook, CodecError> {
    Ok(codec::decode::<WebhookRow<'_>>(bytes)?.into_webhook(id))
}

fn file(id: [u8; 16], bytes: &[u8]) -> Result<File, CodecError> {
    Ok(codec::decode::<FileRow<'_>>(bytes)?.into_file(id))
}

fn dispute(id: [u8; 16], bytes: &[u8]) -> Result<Dispute, CodecError> {
    codec::decode::<DisputeRow<'_>>(bytes)?.into_dispute(id)
}

fn invitation(id: [u8; 16], bytes: &[u8]) -> Result<Invitation, CodecError> {
    codec::decode::<InvitationRow<'_>>(bytes)?.into_invitation(id)
}

impl Snapshot {
    /// An API key, even if it was ended.
    pub fn api_key(&self, id: Id) -> Result<Option<ApiKey>, ReadError> {
        self.by_id(Table::ApiKeys, Prefix::Key, id, api_key)
    }

    /// A page of an organization's API keys; the cursor is the creation sequence.
    pub fn api_keys(&self, organization: Id, page: Page) -> Result<Vec<ApiKey>, ReadError> {
        let kind = lookup::KEYS_OF_ORGANIZATION;
        let ids = self.list_ids(Table::Lookup, kind, &organization, page)?;
        self.listed(Table::ApiKeys, &ids, api_key)
    }

    /// A webhook, even if it was ended.
    pub fn webhook(&self, id: Id) -> Result<Option<Webhook>, ReadError> {
        self.by_id(Table::Webhooks, Prefix::Webhook, id, webhook)
    }

    /// A page of an organization's webhooks; the cursor is the creation sequence.
    pub fn webhooks(&self, organization: Id, page: Page) -> Result<Vec<Webhook>, ReadError> {
        let kind = lookup::WEBHOOKS_OF_ORGANIZATION;
        let ids = self.list_ids(Table::Lookup, kind, &organization, page)?;
        self.listed(Table::Webhooks, &ids, webhook)
    }

    /// A file's description.
    pub fn file(&self, id: Id) -> Result<Option<File>, ReadError> {
        self.by_id(Table::Files, Prefix::File, id, file)
    }

    /// A page of an organization's files; the cursor is the creation sequence.
    pub fn files(&self, organization: Id, page: Page) -> Result<Vec<File>, ReadError> {
        let kind = lookup::FILES_OF_ORGANIZATION;
        let ids = self.list_ids(Table::Lookup, kind, &organization, page)?;
        self.listed(Table::Files, &ids, file)
    }

    /// Every file's description, in the order of their ids.
    pub fn every_file(&self) -> impl Iterator<Item = Result<File, ReadError>> {
        self.raw_rows(Table::Files).map(|row| {
            let (key, value) = row?;
            codec::array(&key)
                .and_then(|id| file(id, &value))
                .map_err(ReadError::row(Table::Files, &key))
        })
    }

    /// A dispute.
    pub fn dispute(&self, id: Id) -> Result<Option<Dispute>, ReadError> {
        self.by_id(Table::Disputes, Prefix::Dispute, id, dispute)
    }

    /// A page of an organization's disputes; the cursor is the creation sequence.
    pub fn disputes(&self, organization: Id, page: Page) -> Result<Vec<Dispute>, ReadError> {
        let kind = lookup::DISPUTES_OF_ORGANIZATION;
        let ids = self.list_ids(Table::Lookup, kind, &organization, page)?;
        self.listed(Table::Disputes, &ids, dispute)
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
        self.by_id(Table::Invitations, Prefix::Action, id, invitation)
    }

    /// A page of an organization's invitations; the cursor is the creation sequence.
    pub fn invitations(&self, organization: Id, page: Page) -> Result<Vec<Invitation>, ReadError> {
        let kind = lookup::INVITATIONS_OF_ORGANIZATION;
        let ids = self.list_ids(Table::Lookup, kind, &organization, page)?;
        self.listed(Table::Invitations, &ids, invitation)
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
