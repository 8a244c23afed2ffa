//! Receipts: signed proofs of inclusion that come with an answer and can be checked immediately, offline. Versioned
//! JSON.

use serde::{Deserialize, Serialize};

use crate::address::Address;
use crate::batch::{BatchHeader, SignedBatch};
use crate::chain::{self, LogLeaf};
use crate::eip712::Domain;
use crate::hash::Hash;
use crate::json::{object, objects};
use crate::limits::BATCH_ACTIONS_MAX;
use crate::merkle::{ProofError, verify_proof};
use crate::sequencer_keys::BatchKeys;
use crate::signature::SignatureError;

/// The receipt format's version.
pub const RECEIPT_VERSION: u32 = 1;

/// Why a receipt is invalid.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ReceiptError {
    /// Written by a newer program.
    #[error("receipt version {0} is unknown; this program reads version {RECEIPT_VERSION}")]
    Version(u32),
    /// The receipt is for a different log than expected.
    #[error("the receipt is of another log: its domain is not the expected one")]
    OtherDomain,
    /// The sequencer's signature recovers to no key.
    #[error("the batch header: {0}")]
    Signature(#[from] SignatureError),
    /// Another key signed the header.
    #[error("the batch header was signed by {found}, not by the sequencer {expected}")]
    OtherSequencer {
        /// The key that was expected.
        expected: Address,
        /// The key that signed.
        found: Address,
    },
    /// No batch can have the header's count.
    #[error("a batch holds 1 to {BATCH_ACTIONS_MAX} actions, not {0}")]
    Count(u32),
    /// Sequence and leaf index do not fit the header.
    #[error("sequence {sequence} is not leaf {leaf_index} of batch {batch}")]
    Place {
        /// The claimed sequence.
        sequence: u64,
        /// The claimed leaf index.
        leaf_index: u32,
        /// The batch's number.
        batch: u64,
    },
    /// A leaf's time is after the header's.
    #[error("the action's time is after the batch was sealed")]
    Time,
    /// The integrity does not follow from the previous one and the content.
    #[error("the integrity does not follow from the previous one and the content")]
    Integrity,
    /// The content is not the one that the holder expects.
    #[error("the content is not that of the action")]
    Content,
    /// The path does not lead to the header's root.
    #[error("the path to the batch root: {0}")]
    Path(#[from] ProofError),
    /// A receipt for many actions covers a different number of them.
    #[error("the receipt covers {receipt} actions, the request had {request} that were done")]
    ActionCount {
        /// Number of actions in the receipt.
        receipt: usize,
        /// Number of given contents.
        request: usize,
    },
    /// A receipt for many actions lists one twice, or not in the request's order.
    #[error("the receipt's actions are not in the request's order, each once")]
    Order,
}

/// What a leaf is made of, and the integrity before it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct ReceiptLeaf {
    /// The action's place in the log.
    pub sequence: u64,
    /// When it was placed, milliseconds.
    pub timestamp_ms: u64,
    /// The action's content.
    pub content: Hash,
    /// The resource's integrity before it.
    pub previous_integrity: Hash,
    /// The resource's integrity after it.
    pub integrity: Hash,
}

impl ReceiptLeaf {
    /// The leaf hash; fails if the integrity does not follow.
    pub fn hash(&self) -> Result<Hash, ReceiptError> {
        if chain::next_integrity(&self.previous_integrity, &self.content) != self.integrity {
            return Err(ReceiptError::Integrity);
        }
        Ok(LogLeaf {
            sequence: self.sequence,
            timestamp_ms: self.timestamp_ms,
            content: self.content,
            integrity: self.integrity,
        }
        .hash())
    }
}

/// The receipt of one action.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Receipt {
    /// The format's version.
    pub version: u32,
    /// The log's domain.
    #[serde(deserialize_with = "object")]
    pub domain: Domain,
    /// The opened leaf.
    #[serde(deserialize_with = "object")]
    pub leaf: ReceiptLeaf,
    /// Its index among the batch's leaves.
    pub leaf_index: u32,
    /// The path from the leaf to the batch root, bottom up.
    pub path: Vec<Hash>,
    /// The signed header.
    #[serde(deserialize_with = "object")]
    pub batch: SignedBatch,
}

impl Receipt {
    /// Makes all offline checks: the sequencer signed a batch with this leaf at this index, and the leaf hashes to the
    /// stated values.
    pub fn verify(&self, domain: &Domain, sequencer: &impl BatchKeys) -> Result<(), ReceiptError> {
        check_version(self.version)?;
        check_domain(&self.domain, domain)?;
        check_header(&self.batch, domain, sequencer)?;
        check_place(
            &self.batch.header,
            self.leaf.sequence,
            self.leaf.timestamp_ms,
            self.leaf_index,
        )?;
        verify_proof(
            &self.batch.header.root,
            u64::from(self.batch.header.count),
            &[u64::from(self.leaf_index)],
            &[self.leaf.hash()?],
            &self.path,
        )?;
        Ok(())
    }
}

/// What the sender of a request of many actions cannot know about one of them.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct ReceiptAction {
    /// The action's index in the request; failed actions count too.
    pub index: u32,
    /// Its place in the log.
    pub sequence: u64,
    /// When it was placed, milliseconds.
    pub timestamp_ms: u64,
    /// Its index among the batch's leaves.
    pub leaf_index: u32,
    /// The resource's integrity before it.
    pub previous_integrity: Hash,
}

/// The receipt for all the actions of a request that were done.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct BatchReceipt {
    /// The format's version.
    pub version: u32,
    /// The log's domain.
    #[serde(deserialize_with = "object")]
    pub domain: Domain,
    /// The signed header.
    #[serde(deserialize_with = "object")]
    pub batch: SignedBatch,
    /// The actions, in request order.
    #[serde(deserialize_with = "objects")]
    pub actions: Vec<ReceiptAction>,
    /// The hashes that lead from their leaves to the batch root: bottom layer first, left to right within a
    /// layer; empty if the actions are the whole batch.
    pub proof: Vec<Hash>,
}

impl BatchReceipt {
    /// Checks the receipt. `contents` are the contents of its actions, in order, as the sender computed them.
    pub fn verify(
        &self,
        domain: &Domain,
        sequencer: &impl BatchKeys,
        contents: &[Hash],
    ) -> Result<(), ReceiptError> {
        check_version(self.version)?;
        check_domain(&self.domain, domain)?;
        check_header(&self.batch, domain, sequencer)?;
        if contents.len() != self.actions.len() {
            return Err(ReceiptError::ActionCount {
                receipt: self.actions.len(),
                request: contents.len(),
            });
        }
        if self
            .actions
            .windows(2)
            .any(|pair| pair[0].index >= pair[1].index)
        {
            return Err(ReceiptError::Order);
        }
        let mut indices = Vec::with_capacity(contents.len());
        let mut leaves = Vec::with_capacity(contents.len());
        for (action, content) in self.actions.iter().zip(contents) {
            let header = &self.batch.header;
            check_place(
                header,
                action.sequence,
                action.timestamp_ms,
                action.leaf_index,
            )?;
            let leaf = LogLeaf {
                sequence: action.sequence,
                timestamp_ms: action.timestamp_ms,
                content: *content,
                integrity: chain::next_integrity(&action.previous_integrity, content),
            };
            indices.push(u64::from(action.leaf_index));
            leaves.push(leaf.hash());
        }
        let header = &self.batch.header;
        verify_proof(
            &header.root,
            u64::from(header.count),
            &indices,
            &leaves,
            &self.proof,
        )?;
        Ok(())
    }
}

fn check_version(version: u32) -> Result<(), ReceiptError> {
    if version == RECEIPT_VERSION {
        Ok(())
    } else {
        Err(ReceiptError::Version(version))
    }
}

fn check_domain(named: &Domain, expected: &Domain) -> Result<(), ReceiptError> {
    if named == expected {
        Ok(())
    } else {
        Err(ReceiptError::OtherDomain)
    }
}

/// Checks that the key for its number signed the header and that its count is possible for a batch.
pub fn check_header(
    batch: &SignedBatch,
    domain: &Domain,
    sequencer: &impl BatchKeys,
) -> Result<(), ReceiptError> {
    let count = batch.header.count;
    if count == 0 || count as usize > BATCH_ACTIONS_MAX {
        return Err(ReceiptError::Count(count));
    }
    let digest = batch.header.digest(&domain.separator());
    let found = batch.signature.recover(&digest)?;
    let expected = sequencer.key_of(batch.header.number);
    if found == expected {
        Ok(())
    } else {
        Err(ReceiptError::OtherSequencer { expected, found })
    }
}

/// Checks that a sequence, a time and a leaf index fit a header.
pub fn check_place(
    header: &BatchHeader,
    sequence: u64,
    timestamp_ms: u64,
    leaf_index: u32,
) -> Result<(), ReceiptError> {
    let expected = header.first_sequence.checked_add(u64::from(leaf_index));
    if leaf_index >= header.count || expected != Some(sequence) {
        return Err(ReceiptError::Place {
            sequence,
            leaf_index,
            batch: header.number,
        });
    }
    if timestamp_ms > header.sealed_at_ms {
        return Err(ReceiptError::Time);
    }
    Ok(())
}
