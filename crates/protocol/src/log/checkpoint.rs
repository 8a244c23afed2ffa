//! Checkpoints: the signed states of the log that are anchored on the chain (layers 3 and 5).

use std::sync::LazyLock;

use serde::{Deserialize, Serialize};

use crate::eip712::{self, word};
use crate::hash::{Hash, keccak, keccak_parts};
use crate::ids::{Id, Prefix};
use crate::json::object;
use crate::signature::{Signature, SigningKey};

/// The EIP-712 type of a checkpoint.
pub const CHECKPOINT_TYPE: &str = "Checkpoint(uint64 batches,uint64 sequence,bytes32 head,bytes32 history,bytes32 state,uint64 issuedAt)";

static CHECKPOINT_TYPEHASH: LazyLock<Hash> = LazyLock::new(|| keccak(CHECKPOINT_TYPE.as_bytes()));

/// The state of the log after some number of batches.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Checkpoint {
    /// How many batches the log holds.
    pub batches: u64,
    /// The sequence of the last action.
    pub sequence: u64,
    /// The hash chain's head.
    pub head: Hash,
    /// The root of the log tree over all the batches.
    pub history: Hash,
    /// The root of the state after `sequence`; zero where the checkpoint has none.
    pub state: Hash,
    /// When it was issued, milliseconds.
    pub issued_at_ms: u64,
}

impl Checkpoint {
    /// hashStruct(Checkpoint).
    pub fn hash(&self) -> Hash {
        keccak_parts(&[
            &CHECKPOINT_TYPEHASH.0,
            &word(self.batches),
            &word(self.sequence),
            &self.head.0,
            &self.history.0,
            &self.state.0,
            &word(self.issued_at_ms),
        ])
    }

    /// The digest that the sequencer signs.
    pub fn digest(&self, domain_separator: &Hash) -> Hash {
        eip712::digest(domain_separator, &self.hash())
    }

    /// The identifier of the anchor of this checkpoint.
    pub fn anchor_id(&self) -> Id {
        Id::of_hash(Prefix::Anchor, &self.hash())
    }

    /// Signs the checkpoint.
    pub fn sign(self, domain_separator: &Hash, key: &SigningKey) -> SignedCheckpoint {
        let signature = key.sign(&self.digest(domain_separator));
        SignedCheckpoint {
            checkpoint: self,
            signature,
        }
    }
}

/// A checkpoint and the sequencer's signature over its EIP-712 digest.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct SignedCheckpoint {
    /// What is signed.
    #[serde(deserialize_with = "object")]
    pub checkpoint: Checkpoint,
    /// The sequencer's signature.
    pub signature: Signature,
}
