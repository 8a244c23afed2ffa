//! Entries: what the state holds of one resource, as an RLP list whose form follows from the prefix of the resource's
//! id: format 1, version, sequence and integrity, then the fields of the type.

mod decode;
mod encode;
mod resource_entries;

use serde::Serialize;

use crate::resource::{ObjectStatus, Role, Who};
use crate::{Address, Hash, Id, Prefix};

pub use decode::{EntryError, EntryProblem};

/// The first number of each entry. Another encoding has another number.
pub const ENTRY_FORMAT: u64 = 1;

/// The entry of one resource at a checkpoint. Its serde form is the entry for people; [`Self::encode`] writes the bytes
/// whose hash the trie holds.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct StateEntry {
    /// Number of actions on the resource, from 1; never above `sequence`.
    pub version: u64,
    /// Sequence of the last of them, from 1.
    pub sequence: u64,
    /// The resource's integrity after that action; never zero.
    pub integrity: Hash,
    /// The fields of the resource's type.
    #[serde(flatten)]
    pub fields: EntryFields,
}

/// The fields of an entry, by the type of the resource.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
#[serde(untagged)]
pub enum EntryFields {
    /// An object (`obj`).
    Object(ObjectEntry),
    /// A wallet (`wal`).
    Wallet(WalletEntry),
    /// An organization (`org`), which has no further fields.
    Organization {},
    /// A template (`tpl`).
    Template(TemplateEntry),
    /// A variation (`var`).
    Variation(VariationEntry),
    /// An API key (`key`).
    ApiKey(ApiKeyEntry),
    /// A webhook (`whk`).
    Webhook(WebhookEntry),
    /// A file (`fil`).
    File(FileEntry),
    /// A dispute (`dsp`).
    Dispute(DisputeEntry),
    /// A sequencer key that the log names, under the id of the action that named it (`act`).
    SequencerKey(NamedKeyEntry),
}

/// Fields of an object.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
pub struct ObjectEntry {
    /// The organization that issued it.
    pub organization_id: Id,
    /// The template that it was minted from.
    pub template_id: Id,
    /// The variation, if the mint named one.
    pub variation_id: Option<Id>,
    /// The template's count of minted objects with this one included; from 1.
    pub serial: u64,
    /// The wallet that owns it.
    pub owner_id: Id,
    /// The address that registered the owner's wallet, whatever keys that wallet has now.
    pub owner_address: Address,
    /// What may be done with it.
    pub status: ObjectStatus,
    /// keccak256 of the text of its properties.
    pub properties_hash: Hash,
}

/// Fields of a wallet.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct WalletEntry {
    /// Its organization.
    pub organization_id: Id,
    /// The address that registered it.
    pub address: Address,
    /// Its role in the organization. It changes without the wallet's version.
    pub role: Role,
    /// The keys that sign for it, strictly ascending; empty once the wallet is removed.
    pub keys: Vec<Address>,
}

/// Fields of a template.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct TemplateEntry {
    /// The organization that issues its objects.
    pub organization_id: Id,
    /// Whether every organization may read it and its objects.
    pub public_access: bool,
    /// How many objects may ever be minted; `None` is no bound.
    #[serde(serialize_with = "decimal_or_null")]
    pub max_supply: Option<u64>,
    /// How many objects were minted. It changes without the template's version.
    pub minted_count: u64,
    /// How many of them were burned. It changes without the template's version.
    pub burned_count: u64,
    /// How many variations it has.
    pub variation_count: u64,
    /// keccak256 of the text of its properties.
    pub properties_hash: Hash,
    /// keccak256 of the text of its schema, or of the empty text.
    pub schema_hash: Hash,
    /// Its rules, in the template's order.
    pub rules: Vec<EntryRule>,
}

/// A rule of a template: who may request a kind of action.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct EntryRule {
    /// The kind's text.
    pub kind: String,
    /// The wallets that the rule allows.
    pub who: Who,
    /// keccak256 of the text of the payload's schema, or of the empty text.
    pub schema_hash: Hash,
}

/// Fields of a variation.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
pub struct VariationEntry {
    /// The organization of its template.
    pub organization_id: Id,
    /// Its template.
    pub template_id: Id,
    /// Its number among the template's variations, from 0.
    pub index: u64,
    /// keccak256 of its name in UTF-8, not normalised.
    pub name_hash: Hash,
    /// keccak256 of the text of its properties.
    pub properties_hash: Hash,
}

/// Fields of an API key.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
pub struct ApiKeyEntry {
    /// Its organization.
    pub organization_id: Id,
    /// Whether it was deleted.
    pub deleted: bool,
}

/// Fields of a webhook.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
pub struct WebhookEntry {
    /// Its organization.
    pub organization_id: Id,
    /// Whether events are sent to it.
    pub active: bool,
    /// Whether it was deleted.
    pub deleted: bool,
}

/// Fields of a file.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
pub struct FileEntry {
    /// Its organization.
    pub organization_id: Id,
    /// The wallet that stored it.
    pub wallet_id: Id,
    /// SHA-256 of its bytes.
    pub sha256: Hash,
    /// Its size in bytes.
    pub size_bytes: u64,
}

/// Fields of a dispute.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
pub struct DisputeEntry {
    /// The organization that submitted it.
    pub organization_id: Id,
    /// What it is about; an id of any prefix.
    pub subject_id: Id,
}

/// Fields of a sequencer key.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
pub struct NamedKeyEntry {
    /// The key.
    pub address: Address,
    /// The first batch that it signs.
    pub from_batch: u64,
}

impl EntryFields {
    /// The prefix of the ids whose entries have these fields.
    pub fn prefix(&self) -> Prefix {
        match self {
            Self::Object(_) => Prefix::Object,
            Self::Wallet(_) => Prefix::Wallet,
            Self::Organization {} => Prefix::Organization,
            Self::Template(_) => Prefix::Template,
            Self::Variation(_) => Prefix::Variation,
            Self::ApiKey(_) => Prefix::Key,
            Self::Webhook(_) => Prefix::Webhook,
            Self::File(_) => Prefix::File,
            Self::Dispute(_) => Prefix::Dispute,
            Self::SequencerKey(_) => Prefix::Action,
        }
    }
}

/// Whether ids with this prefix can have an entry. `act` stands for sequencer keys alone: any other action has none.
pub fn has_entries(prefix: Prefix) -> bool {
    match prefix {
        Prefix::Object
        | Prefix::Wallet
        | Prefix::Organization
        | Prefix::Template
        | Prefix::Variation
        | Prefix::Key
        | Prefix::Webhook
        | Prefix::File
        | Prefix::Dispute
        | Prefix::Action => true,
        Prefix::Batch | Prefix::Anchor | Prefix::Event | Prefix::Delivery => false,
    }
}

/// A supply is decimal text wherever the API shows it.
#[expect(clippy::ref_option, reason = "serde passes a reference to the field")]
fn decimal_or_null<S: serde::Serializer>(
    number: &Option<u64>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    match number {
        Some(number) => serializer.collect_str(number),
        None => serializer.serialize_none(),
    }
}
