//! The fields of an entry, from the resource as a fold of the log leaves it. The store and replays make them alike.

use super::{
    ApiKeyEntry, DisputeEntry, EntryFields, EntryRule, FileEntry, NamedKeyEntry, ObjectEntry,
    StateEntry, TemplateEntry, VariationEntry, WalletEntry, WebhookEntry,
};
use crate::hash::keccak;
use crate::resource::{
    ActionRule, ApiKey, Dispute, FileRecord, Object, ResourceTrace, SequencerKey, Template,
    Variation, Wallet, Webhook,
};
use crate::{Address, Hash};

impl StateEntry {
    /// The entry of a resource with this trace.
    pub fn of_trace(trace: &ResourceTrace, fields: EntryFields) -> Self {
        Self {
            version: trace.version,
            sequence: trace.sequence,
            integrity: trace.integrity,
            fields,
        }
    }
}

impl ObjectEntry {
    /// `serial` is its number among the objects of its template, from 1; `owner_address` is the address that registered
    /// the owner's wallet.
    pub fn of(object: &Object, serial: u64, owner_address: Address) -> Self {
        Self {
            organization_id: object.organization_id,
            template_id: object.template_id,
            variation_id: object.variation_id,
            serial,
            owner_id: object.owner_id,
            owner_address,
            status: object.status,
            properties_hash: keccak(object.properties.as_bytes()),
        }
    }
}

impl WalletEntry {
    /// The keys in ascending order.
    pub fn of(wallet: &Wallet) -> Self {
        let mut keys = wallet.keys.clone();
        keys.sort_unstable();
        Self {
            organization_id: wallet.organization_id,
            address: wallet.address,
            role: wallet.role,
            keys,
        }
    }
}

impl TemplateEntry {
    /// The counts are those of its objects.
    pub fn of(template: &Template, minted_count: u64, burned_count: u64) -> Self {
        Self {
            organization_id: template.organization_id,
            public_access: template.public_access,
            max_supply: template.max_supply,
            minted_count,
            burned_count,
            variation_count: template.variation_count,
            properties_hash: keccak(template.properties.as_bytes()),
            schema_hash: hash_of_text(template.schema.as_deref()),
            rules: template.actions.iter().map(EntryRule::of).collect(),
        }
    }
}

impl EntryRule {
    /// A rule without a schema has the hash of the empty text.
    pub fn of(rule: &ActionRule) -> Self {
        Self {
            kind: rule.kind.text().to_owned(),
            who: rule.who,
            schema_hash: hash_of_text(rule.schema.as_deref()),
        }
    }
}

impl VariationEntry {
    /// The fields of a variation never change.
    pub fn of(variation: &Variation) -> Self {
        Self {
            organization_id: variation.organization_id,
            template_id: variation.template_id,
            index: variation.index,
            name_hash: keccak(variation.name.as_bytes()),
            properties_hash: keccak(variation.properties.as_bytes()),
        }
    }
}

impl ApiKeyEntry {
    /// Rights and secrets are not in it.
    pub fn of(key: &ApiKey) -> Self {
        Self {
            organization_id: key.organization_id,
            deleted: key.deleted,
        }
    }
}

impl WebhookEntry {
    /// URL and events are not in it.
    pub fn of(webhook: &Webhook) -> Self {
        Self {
            organization_id: webhook.organization_id,
            active: webhook.active,
            deleted: webhook.deleted,
        }
    }
}

impl FileEntry {
    /// Name and media type are not in it.
    pub fn of(file: &FileRecord) -> Self {
        Self {
            organization_id: file.organization_id,
            wallet_id: file.wallet_id,
            sha256: file.sha256,
            size_bytes: file.size_bytes,
        }
    }
}

impl DisputeEntry {
    /// The verdict is not in it.
    pub fn of(dispute: &Dispute) -> Self {
        Self {
            organization_id: dispute.organization_id,
            subject_id: dispute.subject_id,
        }
    }
}

impl NamedKeyEntry {
    /// The key that an action named.
    pub fn of(named: &SequencerKey) -> Self {
        Self {
            address: named.entry.key,
            from_batch: named.entry.from_batch,
        }
    }
}

/// A text that is absent hashes as the empty one.
fn hash_of_text(text: Option<&str>) -> Hash {
    keccak(text.unwrap_or_default().as_bytes())
}
