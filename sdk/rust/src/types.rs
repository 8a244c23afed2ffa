//! The content of the server's answers. Members that are not listed are ignored, so that a newer server can add some.

use kedge_protocol::batch::{BatchHeader, SignedBatch};
use kedge_protocol::checkpoint::{Checkpoint, SignedCheckpoint};
use kedge_protocol::eip712::Domain;
use kedge_protocol::receipt::Receipt;
use kedge_protocol::resource::{ObjectStatus, Role};
use kedge_protocol::signature::Signature;
use kedge_protocol::{Address, Hash, Id};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

pub use crate::template::{ActionRule, NewTemplate, Template, TemplateChange};

/// A JSON object.
pub type Properties = Map<String, Value>;

/// The state of a signing key's nonces.
#[derive(Clone, PartialEq, Debug, Deserialize)]
pub struct NonceState {
    /// The key's address.
    pub address: Address,
    /// The highest spent nonce; 0 before the first.
    #[serde(with = "kedge_protocol::proof::decimal")]
    pub highest: u64,
}

/// A wallet: an account and its signing keys.
#[derive(Clone, PartialEq, Debug, Deserialize)]
pub struct Wallet {
    /// Its identifier.
    pub id: Id,
    /// Its organization.
    pub organization_id: Id,
    /// What it may do there.
    pub role: Role,
    /// A display name.
    pub nickname: Option<String>,
    /// The login address.
    pub email: String,
    /// The address that it was registered with.
    pub address: Address,
    /// The addresses that may sign for it; only shown to the wallet itself.
    #[serde(default)]
    pub keys: Vec<Address>,
    /// Their nonces; only shown to the wallet itself.
    #[serde(default)]
    pub nonces: Vec<NonceState>,
    /// RFC 3339.
    pub created_at: String,
    /// RFC 3339.
    pub updated_at: String,
}

/// A file's description.
#[derive(Clone, PartialEq, Debug, Deserialize)]
pub struct StoredFile {
    /// Its identifier.
    pub id: Id,
    /// Its organization.
    pub organization_id: Id,
    /// The wallet that uploaded it.
    pub wallet_id: Id,
    /// Its name.
    pub name: String,
    /// SHA-256 of its bytes.
    pub sha256: Hash,
    /// The number of its bytes.
    pub size_bytes: u64,
    /// The media type detected from the bytes.
    pub media_type: String,
    /// RFC 3339.
    pub created_at: String,
}

/// The tokens of a login, a refresh or a registration.
#[derive(Clone, Deserialize)]
pub(crate) struct TokenPair {
    pub(crate) access_token: String,
    pub(crate) refresh_token: String,
}

#[derive(Deserialize)]
pub(crate) struct LoginAnswer {
    pub(crate) wallet: Wallet,
    #[serde(flatten)]
    pub(crate) tokens: TokenPair,
}

/// A resource after a signed request, with the proof that the request was done.
#[derive(Clone, PartialEq, Debug, Deserialize)]
pub struct Changed<T> {
    /// The resource.
    #[serde(flatten)]
    pub resource: T,
    /// The action that changed it.
    pub action_id: Id,
    /// Its receipt. Always present if receipts are verified.
    #[serde(default)]
    pub receipt: Option<Receipt>,
}

/// A variation to be created.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct NewVariation {
    /// Unique in the template.
    pub name: String,
    /// Merged over the template's.
    pub properties: Properties,
}

/// A variation of a template.
#[derive(Clone, PartialEq, Debug, Deserialize)]
pub struct Variation {
    /// Its identifier.
    pub id: Id,
    /// Its template.
    pub template_id: Id,
    /// The template's organization.
    pub organization_id: Id,
    /// Unique in the template.
    pub name: String,
    /// Merged over the template's.
    pub properties: Properties,
    /// Its number among the template's variations, from 0.
    pub index: u64,
    /// RFC 3339.
    pub created_at: String,
}

/// The variations that one request created, in order.
#[derive(Clone, PartialEq, Debug, Deserialize)]
pub struct MadeVariations {
    /// The variations.
    pub items: Vec<Variation>,
}

/// An object to be minted.
#[derive(Clone, PartialEq, Debug, Default, Serialize)]
pub struct NewObject {
    /// One of the template's variations.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub variation_id: Option<Id>,
    /// Merged over the properties of template and variation.
    #[serde(skip_serializing_if = "Map::is_empty")]
    pub properties: Properties,
    /// The recipient, by a wallet's id or address; the caller by default.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub to: Option<String>,
}

/// An object.
#[derive(Clone, PartialEq, Debug, Deserialize)]
pub struct Object {
    /// Its identifier.
    pub id: Id,
    /// The organization that issued it.
    pub organization_id: Id,
    /// Its template.
    pub template_id: Id,
    /// Its variation.
    pub variation_id: Option<Id>,
    /// The wallet that owns it.
    pub owner_id: Id,
    /// That wallet's address.
    pub owner_address: Address,
    /// Its properties.
    pub properties: Properties,
    /// What may be done with it.
    pub status: ObjectStatus,
    /// How many actions it is the result of.
    pub version: u64,
    /// The hash over those actions.
    pub integrity_hash: Hash,
    /// The last action's sequence.
    pub sequence: u64,
    /// RFC 3339.
    pub created_at: String,
    /// RFC 3339.
    pub updated_at: String,
}

/// An action of the log, as far as the caller may see it.
#[derive(Clone, PartialEq, Debug, Deserialize)]
pub struct Action {
    /// Its identifier.
    pub id: Id,
    /// Its place in the log.
    pub sequence: u64,
    /// Its kind's text.
    pub action_type: String,
    /// The object that it made or acted on.
    pub object_id: Option<Id>,
    /// The target's text, as signed.
    pub target: String,
    /// The resource whose integrity it extends.
    pub resource_id: Id,
    /// The payload's value; for a digest, a text.
    pub payload: Value,
    /// The address that signed.
    pub signer: Address,
    /// The request's nonce.
    #[serde(with = "kedge_protocol::proof::decimal")]
    pub nonce: u64,
    /// RFC 3339.
    pub timestamp: String,
    /// Its leaf hash.
    pub leaf: Hash,
    /// The log's head after it, if known.
    pub head: Option<Hash>,
    /// The batch that holds it.
    pub batch_id: Id,
    /// That batch's number.
    pub batch_number: u64,
    /// Its index among the batch's leaves.
    pub leaf_index: u32,
    /// The resource's version after it.
    pub object_version: u64,
    /// Its content.
    pub content: Hash,
    /// The resource's integrity before it.
    pub previous_integrity: Hash,
    /// Its receipt; a request of many actions has one receipt for all of them.
    #[serde(default)]
    pub receipt: Option<Receipt>,
}

/// The progress of a batch or its anchor.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum BatchStatus {
    /// Signed, but not on the chain.
    Sealed,
    /// A transaction that covers it is in flight.
    Anchoring,
    /// A block holds that transaction.
    Anchored,
    /// The block is final.
    Finalized,
    /// A status that this client does not know.
    #[serde(other)]
    Other,
}

/// A batch's header, in the server's form.
#[derive(Clone, PartialEq, Debug, Deserialize)]
pub struct Batch {
    /// Its identifier.
    pub id: Id,
    /// Its number.
    pub number: u64,
    /// The sequence of its first action.
    pub first_sequence: u64,
    /// The number of actions it holds.
    pub action_count: u32,
    /// The head before it.
    pub previous_head: Hash,
    /// The head after it.
    pub head: Hash,
    /// The root over its leaves.
    pub merkle_root: Hash,
    /// The root over the batches before it.
    pub history: Hash,
    /// Zero for now.
    pub state: Hash,
    /// When it was sealed, milliseconds.
    pub sealed_at_ms: u64,
    /// The sequencer's signature.
    pub signature: Signature,
    /// Its progress.
    pub status: BatchStatus,
    /// The anchor that covers it.
    pub anchor_id: Option<Id>,
}

impl Batch {
    /// The header and its signature, in the protocol's form.
    pub fn signed(&self) -> SignedBatch {
        SignedBatch {
            header: BatchHeader {
                number: self.number,
                first_sequence: self.first_sequence,
                count: self.action_count,
                previous_head: self.previous_head,
                head: self.head,
                root: self.merkle_root,
                history: self.history,
                state: self.state,
                sealed_at_ms: self.sealed_at_ms,
            },
            signature: self.signature,
        }
    }
}

/// The leaves of a batch.
#[derive(Clone, PartialEq, Debug, Deserialize)]
pub struct BatchLeaves {
    /// The batch's number.
    pub number: u64,
    /// The sequence of the first leaf.
    pub first_sequence: u64,
    /// The leaf hashes, in sequence order.
    pub leaves: Vec<Hash>,
}

/// The progress of an anchor.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AnchorStatus {
    /// Not sent yet.
    Pending,
    /// Sent.
    Submitted,
    /// In a block.
    Confirmed,
    /// In a block that is final.
    Finalized,
    /// Given up.
    Failed,
    /// A status that this client does not know.
    #[serde(other)]
    Other,
}

/// An anchor: a checkpoint that is being or has been put on the chain.
#[derive(Clone, PartialEq, Debug, Deserialize)]
pub struct Anchor {
    /// Its identifier.
    pub id: Id,
    /// Its number, from 0.
    pub number: u64,
    /// The first batch that earlier anchors do not cover.
    pub first_batch: u64,
    /// The last batch that it covers.
    pub last_batch: u64,
    /// The log tree's root.
    pub root: Hash,
    /// The head after the last batch.
    pub head: Hash,
    /// The sequence of the last action.
    pub sequence: u64,
    /// Its progress.
    pub status: AnchorStatus,
    /// The transaction.
    pub tx_hash: Option<Hash>,
    /// Its block.
    pub block_number: Option<u64>,
    /// The contract.
    #[serde(default)]
    pub contract: Option<Address>,
}

/// The newest signed checkpoint.
#[derive(Clone, PartialEq, Debug, Deserialize)]
pub struct CheckpointAnswer {
    /// The checkpoint.
    pub checkpoint: Checkpoint,
    /// The sequencer's signature.
    pub signature: Signature,
}

impl CheckpointAnswer {
    /// In the protocol's form.
    pub fn signed(&self) -> SignedCheckpoint {
        SignedCheckpoint {
            checkpoint: self.checkpoint,
            signature: self.signature,
        }
    }
}

/// A proof that the log of `to` batches begins with the log of `from` batches.
#[derive(Clone, PartialEq, Debug, Deserialize)]
pub struct Consistency {
    /// The smaller size, in batches.
    pub from: u64,
    /// The larger size, in batches.
    pub to: u64,
    /// The smaller log's root.
    pub first_root: Hash,
    /// The larger log's root.
    pub second_root: Hash,
    /// RFC 9162, 2.1.4.
    pub proof: Vec<Hash>,
}

/// The content of `/.well-known/eip712-domain.json`.
#[derive(Clone, PartialEq, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct DomainDocument {
    /// The domain's name.
    pub name: String,
    /// The domain's version.
    pub version: String,
    /// A number, or a decimal string.
    pub chain_id: ChainId,
    /// The log's first anchor contract.
    pub verifying_contract: Address,
    /// The key that signs batches now.
    pub sequencer: Address,
}

/// An EIP-155 chain id as JSON may write it.
#[derive(Clone, PartialEq, Debug, Deserialize)]
#[serde(untagged)]
pub enum ChainId {
    /// As a number.
    Number(u64),
    /// As decimal text, for ids above 2^53.
    Text(String),
}

impl DomainDocument {
    /// The domain, if it is one of this protocol.
    pub fn domain(&self) -> Option<Domain> {
        use kedge_protocol::eip712::{DOMAIN_NAME, DOMAIN_VERSION};
        if self.name != DOMAIN_NAME || self.version != DOMAIN_VERSION {
            return None;
        }
        let chain_id = match &self.chain_id {
            ChainId::Number(number) => *number,
            ChainId::Text(text) => text.parse().ok()?,
        };
        Some(Domain {
            chain_id,
            verifying_contract: self.verifying_contract,
        })
    }
}
