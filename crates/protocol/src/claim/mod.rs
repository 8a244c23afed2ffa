//! Claim files (layer 4): one self-contained JSON file that discloses chosen words of one action of the log, and
//! nothing else of it. This module checks everything of a claim except its proof, which `kedge-prover` makes and
//! checks. So the rules and the plain client read claims without depending on `prover`.

mod statement;

use serde::{Deserialize, Serialize};

use crate::batch::SignedBatch;
use crate::chain::LogLeaf;
use crate::eip712::Domain;
use crate::hash::{keccak, sha256};
use crate::json::{JsonObject, object, object_or_absent, object_or_null, value_or_absent};
use crate::limits::CLAIM_BYTES_MAX;
use crate::proof::{AnchorProof, BatchPath, ProofFileError};
use crate::receipt::ReceiptError;
use crate::{Address, BatchKeys, Hash, Id, Prefix};

pub use statement::{
    ClaimBinding, ClaimOpening, ClaimStatement, DisclosureMask, INPUTS, WORDS_DISCLOSABLE,
};

/// The value of a claim file's member `format`.
pub const CLAIM_FORMAT: &str = "kedge.claim";
/// The format's version.
pub const CLAIM_VERSION: u32 = 1;

/// Why a text is not a claim file.
#[derive(Debug, thiserror::Error)]
pub enum ClaimTextError {
    /// Longer than [`CLAIM_BYTES_MAX`].
    #[error(
        "the file has {0} bytes; a claim has at most {CLAIM_BYTES_MAX}: show only the hash of a longer text"
    )]
    TooLong(usize),
    /// The text is not the JSON of a claim file.
    #[error("not a claim file: {0}")]
    Json(#[from] serde_json::Error),
}

/// Why a claim file is invalid, regardless of its proof.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ClaimFileError {
    /// The file has another `format`.
    #[error("format {0:?} is not a claim; it must be {CLAIM_FORMAT:?}")]
    Format(String),
    /// A newer program wrote the file.
    #[error("claim version {0} is unknown; this program reads version {CLAIM_VERSION}")]
    Version(u32),
    /// The claim is about a different log than expected.
    #[error("the claim is about another log: its domain is not the expected one")]
    OtherDomain,
    /// The claim was proved with a different key.
    #[error("the claim was proved for the key {found}, not for {expected}")]
    OtherKey {
        /// The key to check with.
        expected: Hash,
        /// The key that the file names.
        found: Hash,
    },
    /// A disclosed text does not match its hash.
    #[error("the disclosed {0} does not match the hash next to it")]
    Text(&'static str),
    /// A public input does not match the claim; the number is its index.
    #[error("public input {0} does not match the claim")]
    Input(usize),
    /// The leaf, its path or the batch header is wrong.
    #[error(transparent)]
    Receipt(#[from] ReceiptError),
    /// The path to the anchored history is wrong.
    #[error("the anchor: {0}")]
    Anchor(ProofFileError),
}

/// The opened leaf of a claim, as in the log.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ClaimLeaf {
    /// The action's sequence.
    pub sequence: u64,
    /// When the action was placed, Unix milliseconds.
    pub timestamp_ms: u64,
    /// The action's content.
    pub content: Hash,
    /// The resource's integrity after the action.
    pub integrity: Hash,
}

impl ClaimLeaf {
    fn hash(&self) -> Hash {
        LogLeaf {
            sequence: self.sequence,
            timestamp_ms: self.timestamp_ms,
            content: self.content,
            integrity: self.integrity,
        }
        .hash()
    }
}

/// A disclosed text. The proof covers its hash; the text is for readers.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DisclosedText {
    /// keccak256 of the text.
    pub hash: Hash,
    /// The text; absent if the claimant does not disclose it.
    #[serde(
        default,
        deserialize_with = "value_or_absent",
        skip_serializing_if = "Option::is_none"
    )]
    pub text: Option<String>,
}

/// The disclosed words of an action; absent ones stay hidden.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DisclosedWords {
    /// The action's kind.
    #[serde(
        default,
        deserialize_with = "object_or_absent",
        skip_serializing_if = "Option::is_none"
    )]
    pub kind: Option<DisclosedText>,
    /// Its target.
    #[serde(
        default,
        deserialize_with = "object_or_absent",
        skip_serializing_if = "Option::is_none"
    )]
    pub target: Option<DisclosedText>,
    /// Its payload.
    #[serde(
        default,
        deserialize_with = "object_or_absent",
        skip_serializing_if = "Option::is_none"
    )]
    pub payload: Option<DisclosedText>,
    /// Its signer.
    #[serde(
        default,
        deserialize_with = "value_or_absent",
        skip_serializing_if = "Option::is_none"
    )]
    pub signer: Option<Address>,
}

impl DisclosedWords {
    /// The words, in the mask's order; `None` where hidden.
    fn words(&self) -> [Option<Hash>; WORDS_DISCLOSABLE] {
        let hash = |text: &Option<DisclosedText>| text.as_ref().map(|text| text.hash);
        [
            hash(&self.kind),
            hash(&self.target),
            hash(&self.payload),
            self.signer.map(|signer| Hash(signer.to_word())),
        ]
    }

    /// The mask of the disclosed words.
    pub fn mask(&self) -> DisclosureMask {
        let set =
            |mask, (place, word): (usize, &Option<Hash>)| mask | u8::from(word.is_some()) << place;
        let bits = self.words().iter().enumerate().fold(0, set);
        DisclosureMask::new(bits).unwrap_or_default()
    }

    fn check_texts(&self) -> Result<(), ClaimFileError> {
        let named = [
            ("kind", &self.kind),
            ("target", &self.target),
            ("payload", &self.payload),
        ];
        for (name, disclosed) in named {
            if let Some(DisclosedText {
                hash,
                text: Some(text),
            }) = disclosed
                && keccak(text.as_bytes()) != *hash
            {
                return Err(ClaimFileError::Text(name));
            }
        }
        Ok(())
    }
}

/// The numbers of a proof in the contract's form, not checked to be curve points.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ProofParts {
    /// Point of G1: x, y.
    pub a: [Hash; 2],
    /// Point of G2: x imaginary, x real, y imaginary, y real.
    pub b: [Hash; 4],
    /// Point of G1: x, y.
    pub c: [Hash; 2],
}

/// A claim file.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ClaimFile {
    /// [`CLAIM_FORMAT`].
    pub format: String,
    /// [`CLAIM_VERSION`].
    pub version: u32,
    /// The log's domain.
    #[serde(deserialize_with = "object")]
    pub domain: Domain,
    /// The key that signed the batch, by its address.
    pub sequencer: Address,
    /// The action's leaf.
    #[serde(deserialize_with = "object")]
    pub leaf: ClaimLeaf,
    /// The path from the leaf to the batch's root.
    #[serde(deserialize_with = "object")]
    pub inclusion: BatchPath,
    /// The signed header.
    #[serde(deserialize_with = "object")]
    pub batch: SignedBatch,
    /// The anchor; null if the action was not anchored when the claim was made.
    #[serde(deserialize_with = "object_or_null")]
    pub anchor: Option<AnchorProof>,
    /// The contract, account and purpose that the proof is for.
    #[serde(deserialize_with = "object")]
    pub binding: ClaimBinding,
    /// The disclosed words.
    #[serde(deserialize_with = "object")]
    pub disclosed: DisclosedWords,
    /// keccak256 of the verifying key: identifies the circuit and the keys.
    pub key_hash: Hash,
    /// The circuit's 13 public inputs.
    pub public_inputs: [Hash; INPUTS],
    /// The proof of the public inputs.
    #[serde(deserialize_with = "object")]
    pub proof: ProofParts,
}

/// Result of a valid claim.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ClaimSummary {
    /// Whether the claim reaches a checkpoint; only the chain can confirm that checkpoint.
    pub anchored: bool,
    /// Which words were disclosed.
    pub mask: DisclosureMask,
    /// keccak of the binding with the log's domain; a contract accepts each once.
    pub context: Hash,
}

impl ClaimFile {
    /// Parses a file strictly: at most [`CLAIM_BYTES_MAX`] bytes, no unknown or repeated members. Makes no other
    /// checks.
    ///
    /// # Errors
    /// The text is not a claim file.
    pub fn parse(text: &str) -> Result<Self, ClaimTextError> {
        if text.len() > CLAIM_BYTES_MAX {
            return Err(ClaimTextError::TooLong(text.len()));
        }
        let JsonObject(file): JsonObject<Self> = serde_json::from_str(text)?;
        Ok(file)
    }

    /// The file in its normal form: compact JSON, members in declared order.
    ///
    /// # Errors
    /// Never for a file that was parsed or built here.
    pub fn normal_form(&self) -> Result<String, serde_json::Error> {
        serde_json::to_string(self)
    }

    /// SHA-256 of a normal form: identifies a claim file.
    pub fn digest_of(normal_form: &str) -> Hash {
        sha256(normal_form.as_bytes())
    }

    /// Id of the claim's action.
    pub fn subject(&self) -> Id {
        Id::of_hash(Prefix::Action, &self.leaf.content)
    }

    /// The circuit's public side, from the file's readable members.
    pub fn statement(&self) -> ClaimStatement {
        ClaimStatement {
            content: self.leaf.content,
            mask: self.disclosed.mask(),
            words: self.disclosed.words().map(Option::unwrap_or_default),
            context: self.binding.context(&self.domain.separator()),
        }
    }

    /// Checks everything but the proof against the log, the sequencer and the verifying key (by its hash) that the
    /// caller trusts, not the ones named in the file. Cheap checks come first.
    ///
    /// # Errors
    /// The first check that fails.
    pub fn check(
        &self,
        domain: &Domain,
        sequencer: &impl BatchKeys,
        key_hash: &Hash,
    ) -> Result<ClaimSummary, ClaimFileError> {
        self.check_words(domain, key_hash)?;
        self.check_place(sequencer)?;
        Ok(self.shown())
    }

    /// Checks the file's consistency, for the log, the sequencer's key and the verifying key that it names. The caller
    /// decides whether to trust these, and who may have signed the checkpoint.
    ///
    /// # Errors
    /// The first check that fails.
    pub fn check_stated(&self) -> Result<ClaimSummary, ClaimFileError> {
        self.check_words(&self.domain, &self.key_hash)?;
        self.check_inclusion(&self.sequencer)?;
        if let Some(anchor) = &self.anchor {
            anchor
                .covers(&self.batch.header)
                .map_err(ClaimFileError::Anchor)?;
        }
        Ok(self.shown())
    }

    fn shown(&self) -> ClaimSummary {
        let statement = self.statement();
        ClaimSummary {
            anchored: self.anchor.is_some(),
            mask: statement.mask,
            context: statement.context,
        }
    }

    /// Checks the disclosed texts, and that the public inputs match them.
    fn check_words(&self, domain: &Domain, key_hash: &Hash) -> Result<(), ClaimFileError> {
        if self.format != CLAIM_FORMAT {
            return Err(ClaimFileError::Format(self.format.clone()));
        }
        if self.version != CLAIM_VERSION {
            return Err(ClaimFileError::Version(self.version));
        }
        if self.domain != *domain {
            return Err(ClaimFileError::OtherDomain);
        }
        if self.key_hash != *key_hash {
            return Err(ClaimFileError::OtherKey {
                expected: *key_hash,
                found: self.key_hash,
            });
        }
        self.disclosed.check_texts()?;
        let inputs = self.statement().inputs();
        let differs = |place: &usize| inputs[*place] != self.public_inputs[*place];
        match (0..INPUTS).find(differs) {
            Some(place) => Err(ClaimFileError::Input(place)),
            None => Ok(()),
        }
    }

    /// Checks that the log holds the leaf.
    fn check_place(&self, sequencer: &impl BatchKeys) -> Result<(), ClaimFileError> {
        self.check_inclusion(sequencer)?;
        match &self.anchor {
            None => Ok(()),
            Some(anchor) => anchor
                .verify(&self.batch.header, &self.domain, sequencer)
                .map_err(ClaimFileError::Anchor),
        }
    }

    fn check_inclusion(&self, sequencer: &impl BatchKeys) -> Result<(), ClaimFileError> {
        let placed = (self.leaf.sequence, self.leaf.timestamp_ms);
        let leaf = || Ok(self.leaf.hash());
        self.inclusion
            .verify(&self.batch, &self.domain, sequencer, placed, leaf)?;
        Ok(())
    }
}
