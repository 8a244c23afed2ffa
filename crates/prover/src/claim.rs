//! Claims: proofs of chosen words of an action, and the check of claim files.

use kedge_protocol::eip712::Domain;
use kedge_protocol::hash::keccak;
use kedge_protocol::proof::ProofFile;
use kedge_protocol::{BatchKeys, Hash};

use crate::circuit::{ClaimCircuit, Constraints};
use crate::groth16::{Groth16Proof, ProofPartError, ProveError, ProvingKey, VerifyingKey};

pub use kedge_protocol::claim::{
    CLAIM_FORMAT, CLAIM_VERSION, ClaimBinding, ClaimFile, ClaimFileError, ClaimLeaf, ClaimOpening,
    ClaimStatement, ClaimSummary, ClaimTextError, DisclosedText, DisclosedWords, DisclosureMask,
    INPUTS, WORDS_DISCLOSABLE,
};

/// Why a claim does not hold.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ClaimError {
    /// The file is invalid, regardless of its proof.
    #[error(transparent)]
    File(#[from] ClaimFileError),
    /// The proof's numbers are not points.
    #[error("the proof: {0}")]
    Point(#[from] ProofPartError),
    /// The proof does not match the public inputs.
    #[error("the proof does not hold for this claim")]
    ProofRefused,
}

/// The words to disclose, and their form.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct ClaimDisclosure {
    pub mask: DisclosureMask,
    /// Discloses only the hashes of texts, without the texts.
    pub hashes_only: bool,
}

/// Proves a claim about the action of a proof file, which must be verified before.
pub fn prove(
    key: &ProvingKey,
    file: &ProofFile,
    choice: ClaimDisclosure,
    binding: ClaimBinding,
) -> Result<ClaimFile, ProveError> {
    let action = &file.action;
    let opening = ClaimOpening {
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
    let statement = ClaimStatement::of(&opening, choice.mask, context);
    let (constraints, wires) = Constraints::with_wires(ClaimCircuit::new(statement, opening))?;
    let proof = key.prove(&constraints, &wires)?;
    Ok(ClaimFile {
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
        disclosed: disclosed(file, choice),
        key_hash: key.verifying().hash(),
        public_inputs: statement.inputs(),
        proof: proof.parts(),
    })
}

fn disclosed(file: &ProofFile, choice: ClaimDisclosure) -> DisclosedWords {
    let action = &file.action;
    let text = |place, text: &str| {
        choice.mask.discloses(place).then(|| DisclosedText {
            hash: keccak(text.as_bytes()),
            text: (!choice.hashes_only).then(|| text.to_owned()),
        })
    };
    DisclosedWords {
        kind: text(0, &action.kind),
        target: text(1, &action.target),
        payload: text(2, &action.payload),
        signer: choice.mask.discloses(3).then_some(action.signer),
    }
}

/// Runs all offline checks, against a log, a sequencer and a verifying key that the caller trusts (not the ones named
/// by the file). Cheap checks come first.
pub fn verify(
    claim: &ClaimFile,
    domain: &Domain,
    sequencer: &impl BatchKeys,
    key: &VerifyingKey,
) -> Result<ClaimSummary, ClaimError> {
    let shown = claim.check(domain, sequencer, &key.hash())?;
    verify_proof(claim, key)?;
    Ok(shown)
}

/// Checks only the proof against the file's public inputs, which [`ClaimFile::check`] omits.
pub fn verify_proof(claim: &ClaimFile, key: &VerifyingKey) -> Result<(), ClaimError> {
    let proof = Groth16Proof::of_parts(&claim.proof)?;
    if key.verify(&proof, &claim.public_inputs) {
        Ok(())
    } else {
        Err(ClaimError::ProofRefused)
    }
}
