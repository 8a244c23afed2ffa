//! Records of evidence: headers, checkpoints and leaves, tied to the operator.

use serde::{Deserialize, Deserializer, Serialize, de::Error};

use crate::Hash;
use crate::batch::{BatchHeader, SignedBatch};
use crate::chain::LogLeaf;
use crate::checkpoint::{Checkpoint, SignedCheckpoint};
use crate::json::object;
use crate::limits::{BATCH_ACTIONS_MAX, EVIDENCE_PATH_MAX};
use crate::signature::Signature;

/// Why the operator is responsible for a header.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum HeaderStatus {
    /// The sequencer signed the header.
    Signed(#[serde(deserialize_with = "object")] HeaderSignature),
    /// An anchored history holds the header.
    Anchored(#[serde(deserialize_with = "object")] AnchoredPath),
}

/// The sequencer's signature over a header.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HeaderSignature {
    /// Over the header's EIP-712 digest.
    pub signature: Signature,
    /// The key's place in the anchor contract's list.
    pub key_index: u32,
}

/// A header's path to an anchored history.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AnchoredPath {
    /// The checkpoint's batch count.
    pub batches: u64,
    /// Inclusion path to that checkpoint's history.
    #[serde(deserialize_with = "path")]
    pub path: Vec<Hash>,
}

/// A header that the operator is responsible for.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HeaderEvidence {
    /// The batch header.
    #[serde(deserialize_with = "object")]
    pub header: BatchHeader,
    /// The signature or the anchored path.
    pub standing: HeaderStatus,
}

impl HeaderEvidence {
    /// A header that the key at `key_index` of the contract's list signed.
    pub fn signed(batch: &SignedBatch, key_index: u32) -> Self {
        Self {
            header: batch.header,
            standing: HeaderStatus::Signed(HeaderSignature {
                signature: batch.signature,
                key_index,
            }),
        }
    }

    /// A header that the anchored history over `batches` holds.
    pub fn anchored(header: BatchHeader, batches: u64, path: Vec<Hash>) -> Self {
        Self {
            header,
            standing: HeaderStatus::Anchored(AnchoredPath { batches, path }),
        }
    }
}

/// A checkpoint that the sequencer signed, anchored or not.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CheckpointEvidence {
    /// The checkpoint that was signed.
    #[serde(deserialize_with = "object")]
    pub checkpoint: Checkpoint,
    /// Over its EIP-712 digest.
    pub signature: Signature,
    /// The key's place in the anchor contract's list.
    pub key_index: u32,
}

impl CheckpointEvidence {
    /// A checkpoint that the key at `key_index` of the contract's list signed.
    pub fn of(signed: &SignedCheckpoint, key_index: u32) -> Self {
        Self {
            checkpoint: signed.checkpoint,
            signature: signed.signature,
            key_index,
        }
    }
}

/// An opened leaf of a batch that the operator is responsible for.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LeafEvidence {
    /// The leaf's preimage.
    #[serde(deserialize_with = "object")]
    pub leaf: LogLeaf,
    /// Its place in the batch, from 0.
    pub index: u32,
    /// Inclusion path to the batch's root.
    #[serde(deserialize_with = "path")]
    pub path: Vec<Hash>,
    /// The header of the batch.
    #[serde(deserialize_with = "object")]
    pub batch: HeaderEvidence,
}

/// Serde: a path or a consistency proof, bounded by the longest possible one.
pub(super) fn path<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<Hash>, D::Error> {
    at_most(EVIDENCE_PATH_MAX, "hashes of a path", deserializer)
}

/// Serde: the leaves of a batch.
pub(super) fn leaves<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<Hash>, D::Error> {
    at_most(BATCH_ACTIONS_MAX, "leaves of a batch", deserializer)
}

// The text's size is checked before parsing, so the count can be checked afterwards.
fn at_most<'de, D: Deserializer<'de>>(
    most: usize,
    what: &str,
    deserializer: D,
) -> Result<Vec<Hash>, D::Error> {
    let hashes = Vec::<Hash>::deserialize(deserializer)?;
    if hashes.len() > most {
        return Err(D::Error::custom(format_args!(
            "{} {what}; the limit is {most}",
            hashes.len()
        )));
    }
    Ok(hashes)
}
