//! Proofs and proving keys.

use ark_bn254::{Bn254, Fr};
use ark_ff::PrimeField as _;
use ark_relations::gr1cs::SynthesisError;
use kedge_protocol::Hash;
use kedge_protocol::claim::ProofParts;
use serde_json::json;

use super::{Groth16, VerifyingKey, VerifyingKeyError};
use crate::circuit::Constraints;
use crate::points::{PointError, g1, g1_texts, g1_words, g2, g2_texts, g2_words, word};

/// Part of a proof that is not a point.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("{part}: {error}")]
pub struct ProofPartError {
    /// `a`, `b` or `c`.
    pub part: &'static str,
    pub error: PointError,
}

/// Three curve points.
#[derive(Clone, PartialEq, Debug)]
pub struct Groth16Proof(ark_groth16::Proof<Bn254>);

impl Groth16Proof {
    /// Reads the contract's representation.
    pub fn of_parts(parts: &ProofParts) -> Result<Self, ProofPartError> {
        let at = |part| move |error| ProofPartError { part, error };
        Ok(Self(ark_groth16::Proof {
            a: g1(&parts.a).map_err(at("a"))?,
            b: g2(&parts.b).map_err(at("b"))?,
            c: g1(&parts.c).map_err(at("c"))?,
        }))
    }

    /// The contract's representation.
    pub fn parts(&self) -> ProofParts {
        ProofParts {
            a: g1_words(&self.0.a),
            b: g2_words(&self.0.b),
            c: g1_words(&self.0.c),
        }
    }

    /// snarkjs' `proof.json`.
    pub fn to_snarkjs(&self) -> serde_json::Value {
        json!({
            "protocol": "groth16",
            "curve": "bn128",
            "pi_a": g1_texts(&self.0.a),
            "pi_b": g2_texts(&self.0.b),
            "pi_c": g1_texts(&self.0.c),
        })
    }

    pub(super) fn inner(&self) -> &ark_groth16::Proof<Bn254> {
        &self.0
    }
}

/// Why no proof was produced.
#[derive(Debug, thiserror::Error)]
pub enum ProveError {
    /// The words belong to another action.
    #[error("the action's words do not hash to the leaf's content; check the proof file")]
    OtherContent,
    /// The key was made for a circuit of another size.
    #[error("the proving key is not for this circuit: {0}")]
    OtherCircuit(&'static str),
    /// The proof does not verify: a wrong key of the right size, or wires that break a constraint.
    #[error("the proof that was made does not verify: the proving key is not for this circuit")]
    NotVerified,
    /// The operating system provides no random bytes.
    #[error("no random bytes from the system: {0}")]
    Randomness(getrandom::Error),
    /// The circuit could not be built.
    #[error("the circuit: {0}")]
    Circuit(#[from] SynthesisError),
}

pub struct ProvingKey {
    inner: ark_groth16::ProvingKey<Bn254>,
    verifying: VerifyingKey,
}

impl ProvingKey {
    pub(super) fn new(inner: ark_groth16::ProvingKey<Bn254>) -> Result<Self, VerifyingKeyError> {
        let verifying = VerifyingKey::new(&inner.vk)?;
        Ok(Self { inner, verifying })
    }

    /// The matching verifying key.
    pub fn verifying(&self) -> &VerifyingKey {
        &self.verifying
    }

    /// Proves knowledge of a circuit's wires. Verifies the proof before returning it, because a key of another circuit
    /// yields invalid proofs.
    pub fn prove(
        &self,
        constraints: &Constraints,
        wires: &[Fr],
    ) -> Result<Groth16Proof, ProveError> {
        self.check_size(constraints, wires)?;
        let proof = Groth16::create_proof_with_reduction_and_matrices(
            &self.inner,
            blinding()?,
            blinding()?,
            &constraints.matrices,
            constraints.inputs + 1,
            constraints.count(),
            wires,
        )?;
        let proof = Groth16Proof(proof);
        let inputs: Vec<Hash> = wires[1..=constraints.inputs]
            .iter()
            .map(|&wire| word(wire))
            .collect();
        if !self.verifying.verify(&proof, &inputs) {
            return Err(ProveError::NotVerified);
        }
        Ok(proof)
    }

    fn check_size(&self, constraints: &Constraints, wires: &[Fr]) -> Result<(), ProveError> {
        let key = &self.inner;
        let rows = constraints.count() + constraints.inputs + 1;
        let fits = [
            (
                self.verifying.inputs() == constraints.inputs,
                "public inputs",
            ),
            (wires.len() == constraints.wires, "the witness' wires"),
            (key.a_query.len() == constraints.wires, "wires of A"),
            (key.b_g1_query.len() == constraints.wires, "wires of B"),
            (
                key.b_g2_query.len() == constraints.wires,
                "wires of B in G2",
            ),
            (
                key.l_query.len() + constraints.inputs + 1 == constraints.wires,
                "wires of C",
            ),
            (key.h_query.len() == rows.next_power_of_two(), "constraints"),
        ];
        match fits.into_iter().find(|(fits, _)| !fits) {
            Some((_, what)) => Err(ProveError::OtherCircuit(what)),
            None => Ok(()),
        }
    }
}

/// A random field element that hides the witness. 64 bytes keep the bias negligible.
fn blinding() -> Result<Fr, ProveError> {
    let mut bytes = [0; 64];
    getrandom::fill(&mut bytes).map_err(ProveError::Randomness)?;
    Ok(Fr::from_le_bytes_mod_order(&bytes))
}
