//! Batches, anchors, checkpoints and their proofs.

use kedge_http::scalars::{AddressText, HashText, ResourceIdText, SignatureText, TimeText};
use kedge_protocol::checkpoint::SignedCheckpoint;
use kedge_protocol::eip712::Domain;
use schemars::JsonSchema;
use serde::Serialize;

/// The status of a batch.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(rename = "BatchStatus")]
pub enum BatchStatusView {
    /// Signed and durable.
    Sealed,
    /// An anchor that covers it is in progress.
    Anchoring,
    /// A block holds that anchor.
    Anchored,
    /// A final block holds that anchor.
    Finalized,
}

/// A batch.
#[derive(Debug, Serialize, JsonSchema)]
pub struct BatchView {
    /// Its id.
    pub id: ResourceIdText,
    /// Its number, from 0.
    pub number: u64,
    /// The sequence of its first action.
    pub first_sequence: u64,
    /// The sequence of its last action.
    pub last_sequence: u64,
    /// How many actions it holds.
    pub action_count: u32,
    /// The log's head before it.
    pub previous_head: HashText,
    /// The log's head after it.
    pub head: HashText,
    /// The root of the tree over its leaves.
    pub merkle_root: HashText,
    /// The root of the log tree over all batches before it.
    pub history: HashText,
    /// Zero for now.
    pub state: HashText,
    /// When it was sealed.
    pub sealed_at: TimeText,
    /// The same in milliseconds, as signed.
    pub sealed_at_ms: u64,
    /// The sequencer's signature over the header.
    pub signature: SignatureText,
    /// Its status.
    pub status: BatchStatusView,
    /// The anchor that covers it.
    pub anchor_id: Option<ResourceIdText>,
}

/// The leaves of a batch.
#[derive(Debug, Serialize, JsonSchema)]
pub struct LeavesView {
    /// The batch.
    pub batch_id: ResourceIdText,
    /// Its number.
    pub number: u64,
    /// The sequence of the first leaf.
    pub first_sequence: u64,
    /// The leaves, in order.
    pub leaves: Vec<HashText>,
}

/// The status of an anchor.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(rename = "AnchorState")]
pub enum AnchorStatusView {
    /// Stored, not sent yet.
    Pending,
    /// Sent.
    Submitted,
    /// In a block.
    Confirmed,
    /// In a final block.
    Finalized,
    /// Given up; a later anchor covers its batches.
    Failed,
}

/// An anchor.
#[derive(Debug, Serialize, JsonSchema)]
pub struct AnchorView {
    /// Its id.
    pub id: ResourceIdText,
    /// Its number, from 0.
    pub number: u64,
    /// The root of the log tree that it anchors.
    pub root: HashText,
    /// How many batches the log held.
    pub batches: u64,
    /// The first batch that no earlier anchor covers.
    pub first_batch: u64,
    /// The last batch that it covers.
    pub last_batch: Option<u64>,
    /// The log's head.
    pub head: HashText,
    /// The last action's sequence.
    pub sequence: u64,
    /// Zero for now.
    pub state: HashText,
    /// When the checkpoint was issued.
    pub issued_at: TimeText,
    /// The same in milliseconds, as signed.
    pub issued_at_ms: u64,
    /// The sequencer's signature over the checkpoint.
    pub signature: SignatureText,
    /// Its status.
    pub status: AnchorStatusView,
    /// The contract.
    pub contract: AddressText,
    /// The consistency proof from the last anchored history.
    pub proof: Vec<HashText>,
    /// The newest transaction.
    pub tx_hash: Option<HashText>,
    /// The block that holds it.
    pub block_number: Option<u64>,
    /// How often it was sent.
    pub attempts: u32,
}

/// The newest signed head.
#[derive(Debug, Serialize, JsonSchema)]
pub struct CheckpointView {
    /// The signed data.
    pub checkpoint: kedge_protocol::checkpoint::Checkpoint,
    /// The sequencer's signature.
    pub signature: SignatureText,
    /// The log's domain.
    pub domain: Domain,
    /// The key that signed it: the key of its last batch.
    pub sequencer: AddressText,
}

impl CheckpointView {
    /// A signed checkpoint of a log.
    pub fn of(
        signed: &SignedCheckpoint,
        domain: &Domain,
        sequencer: kedge_protocol::Address,
    ) -> Self {
        Self {
            checkpoint: signed.checkpoint,
            signature: SignatureText(signed.signature),
            domain: *domain,
            sequencer: AddressText(sequencer),
        }
    }
}

/// Proof that one size of the log extends another (RFC 9162, 2.1.4).
#[derive(Debug, Serialize, JsonSchema)]
pub struct ConsistencyView {
    /// The smaller size, in batches.
    pub from: u64,
    /// The larger size.
    pub to: u64,
    /// The root at the smaller size.
    pub first_root: HashText,
    /// The root at the larger size.
    pub second_root: HashText,
    /// The proof.
    pub proof: Vec<HashText>,
}
