//! Batch headers (layer 3): the sequencer signs one for up to 500 actions.

use std::sync::LazyLock;

use serde::{Deserialize, Serialize};

use crate::eip712::{self, word};
use crate::hash::{Hash, keccak};
use crate::ids::{Id, Prefix};
use crate::json::object;
use crate::signature::{Signature, SigningKey};

/// The EIP-712 type of a batch header.
pub const BATCH_TYPE: &str = "Batch(uint64 number,uint64 firstSequence,uint32 count,bytes32 previousHead,bytes32 head,bytes32 root,bytes32 history,bytes32 state,uint64 sealedAt)";

/// Bytes of a header's [`encoding`](BatchHeader::encoding): ten words.
pub const BATCH_ENCODING_BYTES: usize = 320;

static BATCH_TYPEHASH: LazyLock<Hash> = LazyLock::new(|| keccak(BATCH_TYPE.as_bytes()));

/// The header of a batch.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct BatchHeader {
    /// The batch's number, from 0.
    pub number: u64,
    /// The sequence of its first action.
    pub first_sequence: u64,
    /// How many actions it holds: 1 to 500.
    pub count: u32,
    /// The log's head before its first action.
    pub previous_head: Hash,
    /// The log's head after its last action.
    pub head: Hash,
    /// The root of the tree over its leaves.
    pub root: Hash,
    /// The root of the log tree over all batches before it.
    pub history: Hash,
    /// Always zero: the root of the state stands in checkpoints.
    pub state: Hash,
    /// When it was sealed, milliseconds; never decreases, and no leaf's time is later.
    pub sealed_at_ms: u64,
}

impl BatchHeader {
    /// hashStruct(Batch): the batch's hash.
    pub fn hash(&self) -> Hash {
        keccak(&self.encoding())
    }

    /// The bytes that [`hash`](Self::hash) hashes: the typehash, then each field as a word of 32 bytes (EIP-712,
    /// `encodeData`).
    pub fn encoding(&self) -> [u8; BATCH_ENCODING_BYTES] {
        let words = [
            BATCH_TYPEHASH.0,
            word(self.number),
            word(self.first_sequence),
            word(u64::from(self.count)),
            self.previous_head.0,
            self.head.0,
            self.root.0,
            self.history.0,
            self.state.0,
            word(self.sealed_at_ms),
        ];
        let mut encoding = [0; BATCH_ENCODING_BYTES];
        for (bytes, word) in encoding.as_chunks_mut::<32>().0.iter_mut().zip(words) {
            *bytes = word;
        }
        encoding
    }

    /// The header with this [`encoding`](Self::encoding); `None` for bytes that no header has.
    pub fn of_encoding(encoding: &[u8; BATCH_ENCODING_BYTES]) -> Option<Self> {
        let words = encoding.as_chunks::<32>().0;
        let hash = |at: usize| Hash(words[at]);
        let number = |at: usize| {
            let (padding, bytes) = words[at].split_first_chunk::<24>()?;
            let is_padded = *padding == [0; 24];
            is_padded.then_some(u64::from_be_bytes(bytes.try_into().ok()?))
        };
        if hash(0) != *BATCH_TYPEHASH {
            return None;
        }
        Some(Self {
            number: number(1)?,
            first_sequence: number(2)?,
            count: number(3)?.try_into().ok()?,
            previous_head: hash(4),
            head: hash(5),
            root: hash(6),
            history: hash(7),
            state: hash(8),
            sealed_at_ms: number(9)?,
        })
    }

    /// The digest that the sequencer signs.
    pub fn digest(&self, domain_separator: &Hash) -> Hash {
        eip712::digest(domain_separator, &self.hash())
    }

    /// Sequence of the last action; the largest u64 for a header that no log can hold.
    pub fn last_sequence(&self) -> u64 {
        self.first_sequence
            .saturating_add(u64::from(self.count.saturating_sub(1)))
    }

    /// Signs the header.
    pub fn sign(self, domain_separator: &Hash, key: &SigningKey) -> SignedBatch {
        let signature = key.sign(&self.digest(domain_separator));
        SignedBatch {
            header: self,
            signature,
        }
    }
}

/// A header and the sequencer's signature over its EIP-712 digest.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct SignedBatch {
    /// What is signed.
    #[serde(deserialize_with = "object")]
    pub header: BatchHeader,
    /// The sequencer's signature.
    pub signature: Signature,
}

impl SignedBatch {
    /// The batch's identifier.
    pub fn id(&self) -> Id {
        Id::of_hash(Prefix::Batch, &self.header.hash())
    }
}
