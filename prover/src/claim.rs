//! Claim files: one self-contained JSON file that shows chosen words of one action of the log, and
//! nothing else of it.

use kedge_protocol::batch::SignedBatch;
use kedge_protocol::chain::Leaf;
use kedge_protocol::eip712::Domain;
use kedge_protocol::hash::keccak;
use kedge_protocol::json::{object, object_or_absent, object_or_null, value_or_absent};
use kedge_protocol::proof::{AnchorProof, BatchPath, ProofFile, ProofFileError};
use kedge_protocol::receipt::ReceiptError;
use kedge_protocol::{Address, Hash};
use serde::{Deserialize, Serialize};

use crate::circuit::{ClaimCircuit, Constraints};
use crate::groth16::{Proof, ProofParts, ProveError, ProvingKey, VerifyingKey};
use crate::points::PointError;
use crate::statement::{Binding, INPUTS, Mask, Opening, Statement, WORDS_DISCLOSABLE};

/// What the member `format` of a claim file says.
pub const CLAIM_FORMAT: &str = "kedge.claim";
/// The format's version.
pub const CLAIM_VERSION: u32 = 1;

/// Why a claim does not hold.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ClaimError {
    /// Another kind of file.
    #[error("format {0:?} is no claim; a claim's is {CLAIM_FORMAT:?}")]
    Format(String),
    /// Written by a newer program.
    #[error("claim version {0} is not known here; this program reads version {CLAIM_VERSION}")]
    Version(u32),
    /// The claim is about another log than it should be.
    #[error("the claim is about another log: its domain is not the expected one")]
    OtherDomain,
    /// The claim was proved with another key.
    #[error("the claim was proved for the key {found}, not for {expected}")]
    OtherKey {
        /// The key to check with.
        expected: Hash,
        /// The key that the file names.
        found: Hash,
    },
    /// A text is not what its hash says.
    #[error("the disclosed {0} does not have the hash that stands beside it")]
    Text(&'static str),
    /// The public inputs are not those of the claim.
    #[error("public input {0} is not what the claim says")]
    Input(usize),
    /// The leaf, its path or the batch header.
    #[error(transparent)]
    Receipt(#[from] ReceiptError),
    /// The path to the anchored history.
    #[error("the anchor: {0}")]
    Anchor(ProofFileError),
    /// The proof's numbers are no points.
    #[error("the proof: {0}")]
    Point(#[from] PointError),
    /// The proof holds for something else, or for nothing.
    #[error("the proof does not hold for this claim")]
    ProofRefused,
}

/// A leaf of the log: what every claim opens.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ClaimLeaf {
    /// The action's place in the log.
    pub sequence: u64,
    /// When it was placed, milliseconds.
    pub timestamp_ms: u64,
    /// The action's content.
    pub content: Hash,
    /// The resource's integrity with the action.
    pub integrity: Hash,
}

impl ClaimLeaf {
    fn hash(&self) -> Hash {
        Leaf {
            sequence: self.sequence,
            timestamp_ms: self.timestamp_ms,
            content: self.content,
            integrity: self.integrity,
        }
        .hash()
    }
}

/// A disclosed text: its hash is what the proof shows, the text is for readers.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DisclosedText {
    /// keccak256 of the text.
    pub hash: Hash,
    /// The text, where the claimant shows it.
    #[serde(
        default,
        deserialize_with = "value_or_absent",
        skip_serializing_if = "Option::is_none"
    )]
    pub text: Option<String>,
}

/// What is disclosed; what is absent stays hidden.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Disclosed {
    /// What was done.
    #[serde(
        default,
        deserialize_with = "object_or_absent",
        skip_serializing_if = "Option::is_none"
    )]
    pub kind: Option<DisclosedText>,
    /// To what.
    #[serde(
        default,
        deserialize_with = "object_or_absent",
        skip_serializing_if = "Option::is_none"
    )]
    pub target: Option<DisclosedText>,
    /// How.
    #[serde(
        default,
        deserialize_with = "object_or_absent",
        skip_serializing_if = "Option::is_none"
    )]
    pub payload: Option<DisclosedText>,
    /// By whom.
    #[serde(
        default,
        deserialize_with = "value_or_absent",
        skip_serializing_if = "Option::is_none"
    )]
    pub signer: Option<Address>,
}

impl Disclosed {
    /// The words, in the order of the mask; `None` where hidden.
    fn words(&self) -> [Option<Hash>; WORDS_DISCLOSABLE] {
        let hash = |text: &Option<DisclosedText>| text.as_ref().map(|text| text.hash);
        [
            hash(&self.kind),
            hash(&self.target),
            hash(&self.payload),
            self.signer.map(|signer| Hash(signer.to_word())),
        ]
    }

    /// Which words are disclosed.
    pub fn mask(&self) -> Mask {
        let set =
            |mask, (place, word): (usize, &Option<Hash>)| mask | u8::from(word.is_some()) << place;
        let bits = self.words().iter().enumerate().fold(0, set);
        Mask::new(bits).unwrap_or_default()
    }

    fn check_texts(&self) -> Result<(), ClaimError> {
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
                return Err(ClaimError::Text(name));
            }
        }
        Ok(())
    }
}

/// Which words to disclose, and how.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Choice {
    /// The words.
    pub mask: Mask,
    /// Hashes of texts alone, without the texts.
    pub hashes_only: bool,
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
    /// The sequencer's address.
    pub sequencer: Address,
    /// The action's leaf.
    #[serde(deserialize_with = "object")]
    pub leaf: ClaimLeaf,
    /// The leaf's place in the batch.
    #[serde(deserialize_with = "object")]
    pub inclusion: BatchPath,
    /// The signed header.
    #[serde(deserialize_with = "object")]
    pub batch: SignedBatch,
    /// The anchor; null where the action was not anchored when the claim was made.
    #[serde(deserialize_with = "object_or_null")]
    pub anchor: Option<AnchorProof>,
    /// What the proof is bound to.
    #[serde(deserialize_with = "object")]
    pub binding: Binding,
    /// What is disclosed.
    #[serde(deserialize_with = "object")]
    pub disclosed: Disclosed,
    /// keccak256 of the verifying key: which circuit and which keys.
    pub key_hash: Hash,
    /// The circuit's 13 public inputs.
    pub public_inputs: [Hash; INPUTS],
    /// The proof.
    #[serde(deserialize_with = "object")]
    pub proof: ProofParts,
}

/// What a claim shows when it holds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ClaimShown {
    /// The claim reaches a checkpoint; whether the chain holds that is the chain's to say.
    pub anchored: bool,
    /// Which words were disclosed.
    pub mask: Mask,
    /// What the proof is bound to; a contract takes each once.
    pub context: Hash,
}

impl ClaimFile {
    /// Proves a claim about the action of a proof file. The proof file must hold: check it before.
    pub fn prove(
        key: &ProvingKey,
        file: &ProofFile,
        choice: Choice,
        binding: Binding,
    ) -> Result<Self, ProveError> {
        let action = &file.action;
        let text = |place, text: &str| {
            choice.mask.discloses(place).then(|| DisclosedText {
                hash: keccak(text.as_bytes()),
                text: (!choice.hashes_only).then(|| text.to_owned()),
            })
        };
        let opening = Opening {
            disclosable: [
                keccak(action.kind.as_bytes()),
                keccak(action.target.as_bytes()),
                keccak(action.payload.as_bytes()),
                Hash(action.signer.to_word()),
            ],
            authority: action.authority,
        };
        if opening.content() != file.leaf.content {
            return Err(ProveError::OtherContent);
        }
        let context = binding.context(&file.domain.separator());
        let statement = Statement::of(&opening, choice.mask, context);
        let (constraints, wires) = Constraints::with_wires(ClaimCircuit::new(statement, opening))?;
        let proof = key.prove(&constraints, &wires)?;
        Ok(Self {
            format: CLAIM_FORMAT.to_owned(),
            version: CLAIM_VERSION,
            domain: file.domain,
            sequencer: file.sequencer,
            leaf: ClaimLeaf {
                sequence: file.leaf.sequence,
                timestamp_ms: file.leaf.timestamp_ms,
                content: file.leaf.content,
                integrity: file.leaf.integrity,
            },
            inclusion: file.inclusion.clone(),
            batch: file.batch,
            anchor: file.anchor.clone(),
            binding,
            disclosed: Disclosed {
                kind: text(0, &action.kind),
                target: text(1, &action.target),
                payload: text(2, &action.payload),
                signer: choice.mask.discloses(3).then_some(action.signer),
            },
            key_hash: key.verifying().hash(),
            public_inputs: statement.inputs(),
            proof: proof.parts(),
        })
    }

    /// The circuit's public side, from what the file says in words.
    pub fn statement(&self) -> Statement {
        Statement {
            content: self.leaf.content,
            mask: self.disclosed.mask(),
            words: self.disclosed.words().map(Option::unwrap_or_default),
            context: self.binding.context(&self.domain.separator()),
        }
    }

    /// Checks everything that can be checked offline, for a log, a sequencer and a verifying key that the
    /// caller trusts: not those that the file names. What costs little is checked first.
    pub fn verify(
        &self,
        domain: &Domain,
        sequencer: &Address,
        key: &VerifyingKey,
    ) -> Result<ClaimShown, ClaimError> {
        self.check_words(domain, key)?;
        let proof = Proof::of_parts(&self.proof)?;
        self.check_place(sequencer)?;
        if !key.verify(&proof, &self.public_inputs) {
            return Err(ClaimError::ProofRefused);
        }
        let statement = self.statement();
        Ok(ClaimShown {
            anchored: self.anchor.is_some(),
            mask: statement.mask,
            context: statement.context,
        })
    }

    /// What the file says of itself, and that its public inputs say the same.
    fn check_words(&self, domain: &Domain, key: &VerifyingKey) -> Result<(), ClaimError> {
        if self.format != CLAIM_FORMAT {
            return Err(ClaimError::Format(self.format.clone()));
        }
        if self.version != CLAIM_VERSION {
            return Err(ClaimError::Version(self.version));
        }
        if self.domain != *domain {
            return Err(ClaimError::OtherDomain);
        }
        if self.key_hash != key.hash() {
            return Err(ClaimError::OtherKey {
                expected: key.hash(),
                found: self.key_hash,
            });
        }
        self.disclosed.check_texts()?;
        let inputs = self.statement().inputs();
        let differs = |place: &usize| inputs[*place] != self.public_inputs[*place];
        match (0..INPUTS).find(differs) {
            Some(place) => Err(ClaimError::Input(place)),
            None => Ok(()),
        }
    }

    /// That the log holds the leaf.
    fn check_place(&self, sequencer: &Address) -> Result<(), ClaimError> {
        let placed = (self.leaf.sequence, self.leaf.timestamp_ms);
        let leaf = || Ok(self.leaf.hash());
        self.inclusion
            .verify(&self.batch, &self.domain, sequencer, placed, leaf)?;
        match &self.anchor {
            None => Ok(()),
            Some(anchor) => anchor
                .verify(&self.batch.header, &self.domain, sequencer)
                .map_err(ClaimError::Anchor),
        }
    }
}
