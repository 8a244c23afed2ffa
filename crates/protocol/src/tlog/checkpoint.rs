//! What the sequencer signs for a note: both trees over the same batches. A false SHA-256 root is evidence by it, as a
//! false history is.

use std::sync::LazyLock;

use serde::{Deserialize, Serialize};

use crate::eip712::{self, word};
use crate::hash::{Hash, keccak, keccak_parts};
use crate::json::object;
use crate::signature::{Signature, SigningKey};

/// The EIP-712 type of [`TlogCheckpoint`].
pub const TLOG_CHECKPOINT_TYPE: &str =
    "TlogCheckpoint(uint64 batches,bytes32 root,bytes32 history)";

static TLOG_CHECKPOINT_TYPEHASH: LazyLock<Hash> =
    LazyLock::new(|| keccak(TLOG_CHECKPOINT_TYPE.as_bytes()));

/// The roots of both trees over the first batches of a log.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TlogCheckpoint {
    /// How many batches the trees hold.
    pub batches: u64,
    /// The root of the SHA-256 tree over the headers' encodings.
    pub root: Hash,
    /// The root of the log tree over the batch hashes.
    pub history: Hash,
}

impl TlogCheckpoint {
    /// hashStruct(TlogCheckpoint).
    pub fn hash(&self) -> Hash {
        keccak_parts(&[
            &TLOG_CHECKPOINT_TYPEHASH.0,
            &word(self.batches),
            &self.root.0,
            &self.history.0,
        ])
    }

    /// The digest that the sequencer signs.
    pub fn digest(&self, domain_separator: &Hash) -> Hash {
        eip712::digest(domain_separator, &self.hash())
    }

    /// Signs the checkpoint, with the key of its last batch.
    pub fn sign(self, domain_separator: &Hash, key: &SigningKey) -> SignedTlogCheckpoint {
        let signature = key.sign(&self.digest(domain_separator));
        SignedTlogCheckpoint {
            checkpoint: self,
            signature,
        }
    }
}

/// Both roots, and the signature of the sequencer key of the last batch over their EIP-712 digest.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SignedTlogCheckpoint {
    /// What is signed.
    #[serde(deserialize_with = "object")]
    pub checkpoint: TlogCheckpoint,
    /// The sequencer's signature; never a delegate's.
    pub signature: Signature,
}
