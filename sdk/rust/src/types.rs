//! Contents of the server's answers. Unknown members are ignored, so that a newer server can add some.

use kedge_protocol::batch::{BatchHeader, SignedBatch};
use kedge_protocol::checkpoint::{Checkpoint, SignedCheckpoint};
use kedge_protocol::eip712::Domain;
use kedge_protocol::receipt::Receipt;
use kedge_protocol::resource::{ObjectStatus, Role};
use kedge_protocol::signature::Signature;
use kedge_protocol::{Address, Hash, Id};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

pub use crate::template::{NewTemplate, TemplateActionRule, TemplateChange, TemplateResource};

/// Properties of an object or template: a JSON object.
pub type Properties = Map<String, Value>;

/// Nonces of a signing key.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct NonceState {
    /// Address of the key.
    pub address: Address,
    /// Highest spent nonce; 0 before the first.
    #[serde(with = "kedge_protocol::proof::decimal")]
    pub highest: u64,
}

/// A wallet: a member of an organization, with signing keys.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct WalletResource {
    /// Its identifier.
    pub id: Id,
    /// Its organization.
    pub organization_id: Id,
    /// Role in the organization.
    pub role: Role,
    /// A display name.
    pub nickname: Option<String>,
    /// E-mail address for logging in.
    pub email: String,
    /// Address of the key that it was registered with.
    pub address: Address,
    /// Addresses of the signing keys; shown only to the wallet itself.
    #[serde(default)]
    pub keys: Vec<Address>,
    /// Nonces of these keys; shown only to the wallet itself.
    #[serde(default)]
    pub nonces: Vec<NonceState>,
    /// Creation time, RFC 3339.
    pub created_at: String,
    /// Time of the last change, RFC 3339.
    pub updated_at: String,
}

/// Description of an uploaded file.
#[derive(Clone, PartialEq, Debug, Deserialize)]
pub struct StoredFile {
    /// Its identifier.
    pub id: Id,
    /// Its organization.
    pub organization_id: Id,
    /// The wallet that uploaded the file.
    pub wallet_id: Id,
    /// Its name.
    pub name: String,
    /// SHA-256 of the content.
    pub sha256: Hash,
    /// Size in bytes.
    pub size_bytes: u64,
    /// Media type detected from the content.
    pub media_type: String,
    /// Upload time, RFC 3339.
    pub created_at: String,
}

/// The tokens of a login. A process that has them acts for the wallet, within what the key signs.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TokenPair {
    /// Sent with each request; it expires soon.
    pub access_token: String,
    /// Exchanged for a new pair, once. Empty if the access token came alone.
    pub refresh_token: String,
}

impl std::fmt::Debug for TokenPair {
    /// Omits the tokens.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("TokenPair(…)")
    }
}

#[derive(Deserialize)]
pub(crate) struct LoginAnswer {
    pub(crate) wallet: WalletResource,
    #[serde(flatten)]
    pub(crate) tokens: TokenPair,
}

/// A resource after a signed request, with the proof that the request was done.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct ChangedResource<T> {
    /// State of the resource.
    #[serde(flatten)]
    pub resource: T,
    /// The action that changed it.
    pub action_id: Id,
    /// Receipt of the action; always present if receipts are verified.
    #[serde(default)]
    pub receipt: Option<Receipt>,
}

/// A new variation.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct NewVariation {
    /// Unique in the template.
    pub name: String,
    /// Properties merged over the template's.
    pub properties: Properties,
}

/// A variation of a template.
#[derive(Clone, PartialEq, Debug, Deserialize)]
pub struct VariationResource {
    /// Its identifier.
    pub id: Id,
    /// The template of the variation.
    pub template_id: Id,
    /// Organization of the template.
    pub organization_id: Id,
    /// Unique in the template.
    pub name: String,
    /// Properties merged over the template's.
    pub properties: Properties,
    /// Number among the template's variations, from 0.
    pub index: u64,
    /// Creation time, RFC 3339.
    pub created_at: String,
}

/// The variations that a request created, in order.
#[derive(Clone, PartialEq, Debug, Deserialize)]
pub struct CreatedVariations {
    /// The variations, in request order.
    pub items: Vec<VariationResource>,
}

/// A new object.
#[derive(Clone, PartialEq, Debug, Default, Serialize)]
pub struct NewObject {
    /// One of the template's variations.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub variation_id: Option<Id>,
    /// Properties merged over those of template and variation.
    #[serde(skip_serializing_if = "Map::is_empty")]
    pub properties: Properties,
    /// Recipient, by wallet id or address; the caller if `None`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub to: Option<String>,
}

/// An object, minted from a template.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct ObjectResource {
    /// Its identifier.
    pub id: Id,
    /// The issuing organization.
    pub organization_id: Id,
    /// Its template.
    pub template_id: Id,
    /// Its variation.
    pub variation_id: Option<Id>,
    /// Its number among the objects of its template, from 1, in the order of their mints.
    pub serial: u64,
    /// The owning wallet.
    pub owner_id: Id,
    /// Address of the owning wallet.
    pub owner_address: Address,
    /// Its properties.
    pub properties: Properties,
    /// Status, which limits the actions on the object.
    pub status: ObjectStatus,
    /// Number of actions on the object.
    pub version: u64,
    /// Hash over these actions.
    pub integrity_hash: Hash,
    /// Sequence of the last action.
    pub sequence: u64,
    /// Creation time, RFC 3339.
    pub created_at: String,
    /// Time of the last change, RFC 3339.
    pub updated_at: String,
}

/// An action of the log, as far as the caller may see it.
#[derive(Clone, PartialEq, Debug, Deserialize)]
pub struct ActionResource {
    /// Its identifier.
    pub id: Id,
    /// Position in the log.
    pub sequence: u64,
    /// Kind of the action.
    pub action_type: String,
    /// The object created or acted on.
    pub object_id: Option<Id>,
    /// Target, as signed.
    pub target: String,
    /// The resource whose version and integrity hash the action changes.
    pub resource_id: Id,
    /// Parsed payload; a text if the payload is a digest.
    pub payload: Value,
    /// Address of the signing key.
    pub signer: Address,
    /// Nonce of the request.
    #[serde(with = "kedge_protocol::proof::decimal")]
    pub nonce: u64,
    /// Time of the action, RFC 3339.
    pub timestamp: String,
    /// Leaf hash.
    pub leaf: Hash,
    /// Head of the log after the action, if known.
    pub head: Option<Hash>,
    /// The batch that holds the action.
    pub batch_id: Id,
    /// Number of that batch.
    pub batch_number: u64,
    /// Index among the batch's leaves.
    pub leaf_index: u32,
    /// Version of the resource after the action.
    pub object_version: u64,
    /// Content hash.
    pub content: Hash,
    /// Integrity hash of the resource before the action.
    pub previous_integrity: Hash,
    /// Receipt; shared by all actions of a request.
    #[serde(default)]
    pub receipt: Option<Receipt>,
}

/// Progress of a batch towards its anchor's finality.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum BatchProgress {
    /// Signed, but not on the chain.
    Sealed,
    /// An anchoring transaction is in flight.
    Anchoring,
    /// A block holds that transaction.
    Anchored,
    /// That block is final.
    Finalized,
    /// A status unknown to this client.
    #[serde(other)]
    Other,
}

/// Header of a batch, in the server's form.
#[derive(Clone, PartialEq, Debug, Deserialize)]
pub struct BatchResource {
    /// Its identifier.
    pub id: Id,
    /// Its number.
    pub number: u64,
    /// Sequence of the first action.
    pub first_sequence: u64,
    /// Number of actions.
    pub action_count: u32,
    /// Head of the log before the batch.
    pub previous_head: Hash,
    /// Head of the log after the batch.
    pub head: Hash,
    /// Merkle root of the leaves.
    pub merkle_root: Hash,
    /// Root of the tree over the earlier batches.
    pub history: Hash,
    /// Reserved; zero.
    pub state: Hash,
    /// Sealing time, milliseconds.
    pub sealed_at_ms: u64,
    /// Signature of the sequencer.
    pub signature: Signature,
    /// Progress of the batch.
    pub status: BatchProgress,
    /// The anchor that covers the batch.
    pub anchor_id: Option<Id>,
}

impl BatchResource {
    /// Header and signature in the protocol's form.
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
    /// Sequence of the first leaf.
    pub first_sequence: u64,
    /// Leaf hashes, in sequence order.
    pub leaves: Vec<Hash>,
}

/// Progress of an anchor.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AnchorStage {
    /// Not sent yet.
    Pending,
    /// Transaction sent.
    Submitted,
    /// Transaction in a block.
    Confirmed,
    /// Transaction in a final block.
    Finalized,
    /// Given up.
    Failed,
    /// A status unknown to this client.
    #[serde(other)]
    Other,
}

/// A checkpoint on the chain, or on its way there.
#[derive(Clone, PartialEq, Debug, Deserialize)]
pub struct AnchorResource {
    /// Its identifier.
    pub id: Id,
    /// Number, from 0.
    pub number: u64,
    /// First batch not covered by earlier anchors.
    pub first_batch: u64,
    /// Last batch covered.
    pub last_batch: u64,
    /// Root of the log tree.
    pub root: Hash,
    /// Head of the log after the last batch.
    pub head: Hash,
    /// Sequence of the last action.
    pub sequence: u64,
    /// Progress of the anchor.
    pub status: AnchorStage,
    /// Hash of the transaction.
    pub tx_hash: Option<Hash>,
    /// Block of the transaction.
    pub block_number: Option<u64>,
    /// Address of the contract.
    #[serde(default)]
    pub contract: Option<Address>,
}

/// The newest signed checkpoint.
#[derive(Clone, PartialEq, Debug, Deserialize)]
pub struct CheckpointAnswer {
    /// The checkpoint.
    pub checkpoint: Checkpoint,
    /// Signature of the sequencer.
    pub signature: Signature,
}

impl CheckpointAnswer {
    /// Checkpoint and signature in the protocol's form.
    pub fn signed(&self) -> SignedCheckpoint {
        SignedCheckpoint {
            checkpoint: self.checkpoint,
            signature: self.signature,
        }
    }
}

/// A proof that the log of `to` batches begins with the log of `from` batches.
#[derive(Clone, PartialEq, Debug, Deserialize)]
pub struct ConsistencyAnswer {
    /// Size of the smaller log, in batches.
    pub from: u64,
    /// Size of the larger log, in batches.
    pub to: u64,
    /// Root of the smaller log.
    pub first_root: Hash,
    /// Root of the larger log.
    pub second_root: Hash,
    /// Hashes of the proof (RFC 9162, 2.1.4).
    pub proof: Vec<Hash>,
}

/// Content of `/.well-known/eip712-domain.json`.
#[derive(Clone, PartialEq, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct DomainDocument {
    /// The domain's name.
    pub name: String,
    /// The domain's version.
    pub version: String,
    /// A number, or a decimal string.
    pub chain_id: ChainId,
    /// Address of the log's first anchor contract.
    pub verifying_contract: Address,
    /// Address of the current sequencer key.
    pub sequencer: Address,
}

/// EIP-155 chain id, in either JSON form.
#[derive(Clone, PartialEq, Debug, Deserialize)]
#[serde(untagged)]
pub enum ChainId {
    /// A JSON number.
    Number(u64),
    /// Decimal text, for ids above 2^53.
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
