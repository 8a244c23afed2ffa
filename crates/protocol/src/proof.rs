//! Proof files: one self-contained JSON file from an action's words to a root that Ethereum holds.

use serde::{Deserialize, Serialize};

use crate::action::{ActionWords, RequestHead};
use crate::address::Address;
use crate::batch::{BatchHeader, SignedBatch};
use crate::chain;
use crate::checkpoint::SignedCheckpoint;
use crate::eip712::Domain;
use crate::hash::{Hash, keccak};
use crate::json::{object, object_or_absent, object_or_null};
use crate::limits::BATCH_ACTIONS_MAX;
use crate::log_tree;
use crate::merkle::{ProofError, verify_proof};
use crate::receipt::{ReceiptError, ReceiptLeaf, check_header, check_place};
use crate::sequencer_keys::BatchKeys;
use crate::signature::{Signature, SignatureError};

/// The proof file format's version.
pub const PROOF_VERSION: u32 = 1;

/// Why a proof file is invalid.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ProofFileError {
    /// Written by a newer program.
    #[error("proof file version {0} is unknown; this program reads version {PROOF_VERSION}")]
    Version(u32),
    /// The opened words do not hash to the leaf's content.
    #[error("the action's words do not hash to the leaf's content")]
    Content,
    /// The leaf, its path or the batch header is wrong.
    #[error(transparent)]
    Receipt(#[from] ReceiptError),
    /// The path from the batch to the anchored history is wrong.
    #[error("the path from the batch to the anchored history: {0}")]
    History(ProofError),
    /// The checkpoint's signature is invalid.
    #[error("the checkpoint's signature: {0}")]
    Checkpoint(SignatureError),
    /// Another key signed the checkpoint.
    #[error("the checkpoint was signed by {found}, not by the sequencer {expected}")]
    OtherSequencer {
        /// The key that was expected.
        expected: Address,
        /// The key that signed.
        found: Address,
    },
    /// The checkpoint does not reach the batch, or not its last action.
    #[error("the checkpoint does not cover the batch")]
    NotCovered,
    /// The file is for a different chain or contract than expected.
    #[error("the proof is of another log: its domain is not the expected one")]
    OtherDomain,
    /// The request's signature or the action's place in the request is wrong.
    #[error("authorship: {0}")]
    Authorship(&'static str),
}

/// The opened action: the five words that its content is made of.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct OpenedAction {
    /// The kind's text.
    pub kind: String,
    /// The target's text; may be empty.
    pub target: String,
    /// The payload's exact text.
    pub payload: String,
    /// The address that signed.
    pub signer: Address,
    /// keccak(keccak(signature) ‖ salt).
    pub authority: Hash,
}

/// The leaf's position in its batch.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct BatchPath {
    /// The leaf's index among the batch's leaves.
    pub leaf_index: u32,
    /// From the leaf to the batch root, bottom up.
    pub path: Vec<Hash>,
}

impl BatchPath {
    /// Checks that the sequencer signed the batch, that a leaf with this sequence and time (Unix milliseconds) has its
    /// place there, and that the path leads from its hash, which is computed last, to the batch's root.
    pub fn verify(
        &self,
        batch: &SignedBatch,
        domain: &Domain,
        sequencer: &impl BatchKeys,
        (sequence, timestamp_ms): (u64, u64),
        leaf: impl FnOnce() -> Result<Hash, ReceiptError>,
    ) -> Result<(), ReceiptError> {
        let header = &batch.header;
        check_header(batch, domain, sequencer)?;
        check_place(header, sequence, timestamp_ms, self.leaf_index)?;
        verify_proof(
            &header.root,
            u64::from(header.count),
            &[u64::from(self.leaf_index)],
            &[leaf()?],
            &self.path,
        )?;
        Ok(())
    }
}

/// The anchor that covers the batch. Absent from a file until the chain has finalized it.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct AnchorProof {
    /// The signed checkpoint.
    #[serde(deserialize_with = "object")]
    pub checkpoint: SignedCheckpoint,
    /// From the batch's leaf of the log tree to the checkpoint's history, bottom up.
    pub path: Vec<Hash>,
    /// The contract that holds the checkpoint.
    pub contract: Address,
    /// The transaction that anchored it; null if the chain held it already.
    #[serde(deserialize_with = "Option::deserialize")]
    pub transaction_hash: Option<Hash>,
    /// The block of that transaction.
    #[serde(deserialize_with = "Option::deserialize")]
    pub block_number: Option<u64>,
}

impl AnchorProof {
    /// Checks that the sequencer signed the checkpoint, and that it covers the whole batch with this header.
    pub fn verify(
        &self,
        header: &BatchHeader,
        domain: &Domain,
        sequencer: &impl BatchKeys,
    ) -> Result<(), ProofFileError> {
        let checkpoint = &self.checkpoint.checkpoint;
        let digest = checkpoint.digest(&domain.separator());
        let found = self
            .checkpoint
            .signature
            .recover(&digest)
            .map_err(ProofFileError::Checkpoint)?;
        let expected = sequencer.key_of_checkpoint(checkpoint.batches);
        if found != expected {
            return Err(ProofFileError::OtherSequencer { expected, found });
        }
        self.covers(header)
    }

    /// Checks that the checkpoint covers the whole batch with this header, without checking who signed it.
    pub fn covers(&self, header: &BatchHeader) -> Result<(), ProofFileError> {
        let checkpoint = &self.checkpoint.checkpoint;
        if header.number >= checkpoint.batches || header.last_sequence() > checkpoint.sequence {
            return Err(ProofFileError::NotCovered);
        }
        verify_proof(
            &checkpoint.history,
            checkpoint.batches,
            &[header.number],
            &[log_tree::leaf(&header.hash())],
            &self.path,
        )
        .map_err(ProofFileError::History)
    }
}

/// Proves that the signer signed. Not part of the default form, because a signature and the neighbours' hashes
/// are for those who hold the request.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Authorship {
    /// The request's signature.
    pub signature: Signature,
    /// The request's nonce, a decimal string.
    #[serde(with = "decimal")]
    #[cfg_attr(feature = "schema", schemars(with = "crate::schema::Decimal"))]
    pub nonce: u64,
    /// The request's deadline, Unix seconds.
    pub deadline: u64,
    /// Whether the request was all or none.
    pub atomic: bool,
    /// The action's index in the request.
    pub index: u32,
    /// The action's salt.
    pub salt: Hash,
    /// The action hashes of all the request's actions, in order.
    pub action_hashes: Vec<Hash>,
}

/// A proof file: docs/PROTOCOL.md explains how to check it.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct ProofFile {
    /// The format's version.
    pub version: u32,
    /// The log's domain.
    #[serde(deserialize_with = "object")]
    pub domain: Domain,
    /// The key that signed the batch, by its address.
    pub sequencer: Address,
    /// The opened action.
    #[serde(deserialize_with = "object")]
    pub action: OpenedAction,
    /// The leaf.
    #[serde(deserialize_with = "object")]
    pub leaf: ReceiptLeaf,
    /// The leaf's position in the batch.
    #[serde(deserialize_with = "object")]
    pub inclusion: BatchPath,
    /// The signed header.
    #[serde(deserialize_with = "object")]
    pub batch: SignedBatch,
    /// The anchor; null until the chain has finalized one that covers the batch.
    #[serde(deserialize_with = "object_or_null")]
    pub anchor: Option<AnchorProof>,
    /// Present only in the authorship form.
    #[serde(
        default,
        deserialize_with = "object_or_absent",
        skip_serializing_if = "Option::is_none"
    )]
    pub authorship: Option<Authorship>,
}

/// Result of a valid proof file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ProofSummary {
    /// Whether the file reaches a checkpoint; only the chain can confirm that checkpoint.
    pub anchored: bool,
    /// Whether the signer's signature was checked.
    pub authorship: bool,
}

impl ProofFile {
    /// Makes all offline checks, for a log and sequencer keys that the caller trusts (from the contract or another
    /// source, not from the file).
    pub fn verify(
        &self,
        domain: &Domain,
        sequencer: &impl BatchKeys,
    ) -> Result<ProofSummary, ProofFileError> {
        if self.version != PROOF_VERSION {
            return Err(ProofFileError::Version(self.version));
        }
        if self.domain != *domain {
            return Err(ProofFileError::OtherDomain);
        }
        let words = self.check_content()?;
        self.check_inclusion(sequencer)?;
        if let Some(anchor) = &self.anchor {
            anchor.verify(&self.batch.header, &self.domain, sequencer)?;
        }
        if let Some(authorship) = &self.authorship {
            self.check_authorship(authorship, &words)?;
        }
        Ok(ProofSummary {
            anchored: self.anchor.is_some(),
            authorship: self.authorship.is_some(),
        })
    }

    fn check_content(&self) -> Result<ActionWords, ProofFileError> {
        let action = &self.action;
        // Any kind is accepted: the log decides which kinds exist, and their number grows.
        let words = ActionWords {
            kind: keccak(action.kind.as_bytes()),
            target: keccak(action.target.as_bytes()),
            payload: keccak(action.payload.as_bytes()),
        };
        if chain::content(&words, &action.signer, &action.authority) != self.leaf.content {
            return Err(ProofFileError::Content);
        }
        Ok(words)
    }

    fn check_inclusion(&self, sequencer: &impl BatchKeys) -> Result<(), ProofFileError> {
        let placed = (self.leaf.sequence, self.leaf.timestamp_ms);
        let leaf = || self.leaf.hash();
        self.inclusion
            .verify(&self.batch, &self.domain, sequencer, placed, leaf)?;
        Ok(())
    }

    fn check_authorship(
        &self,
        authorship: &Authorship,
        words: &ActionWords,
    ) -> Result<(), ProofFileError> {
        let fail = |why| Err(ProofFileError::Authorship(why));
        if authorship.action_hashes.len() > BATCH_ACTIONS_MAX {
            return fail("a request holds at most 500 actions");
        }
        let own = authorship.action_hashes.get(authorship.index as usize);
        if own != Some(&words.action_hash(&authorship.salt)) {
            return fail("the action is not at its index among the request's action hashes");
        }
        let signature_hash = keccak(&authorship.signature.0);
        if chain::authority_of_hash(&signature_hash, &authorship.salt) != self.action.authority {
            return fail("the authority is not made from this signature and salt");
        }
        let head = RequestHead {
            signer: self.action.signer,
            nonce: authorship.nonce,
            deadline_s: authorship.deadline,
            atomic: authorship.atomic,
        };
        let digest = head.digest(&self.domain.separator(), &authorship.action_hashes);
        if authorship.signature.recover(&digest) != Ok(head.signer) {
            return fail("the signature does not recover to the signer");
        }
        if self.leaf.timestamp_ms > head.deadline_s.saturating_mul(1000) {
            return fail("the action was placed after the request's deadline");
        }
        Ok(())
    }
}

/// Serde: a u64 as a decimal string, for numbers that can exceed 2^53.
pub mod decimal {
    use serde::{Deserialize, Deserializer, Serializer, de::Error};

    /// Writes the number as a string.
    pub fn serialize<S: Serializer>(number: &u64, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(number)
    }

    /// Reads the number from a string: only digits, no leading zeros.
    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u64, D::Error> {
        let text = String::deserialize(deserializer)?;
        let number: Option<u64> = text.parse().ok();
        number
            .filter(|number| number.to_string() == text)
            .ok_or_else(|| D::Error::custom("must be a decimal number in a string"))
    }
}
