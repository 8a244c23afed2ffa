//! Verifying keys of Groth16.

use ark_bn254::{Bn254, Fr};
use ark_groth16::{PreparedVerifyingKey, prepare_verifying_key};
use kedge_protocol::Hash;
use kedge_protocol::hash::keccak;
use serde::{Deserialize, Serialize};

use super::{Groth16, Groth16Proof};
use crate::points::{
    G1Json, G2Json, PointError, g1_of_texts, g1_texts, g1_words, g2_of_texts, g2_texts, g2_words,
    number,
};

/// Why a verifying key is rejected.
#[derive(Debug, thiserror::Error)]
pub enum VerifyingKeyError {
    /// Not JSON in snarkjs' format.
    #[error("not a verification key of snarkjs: {0}")]
    Json(#[from] serde_json::Error),
    /// The key is for another proof system or curve.
    #[error("the key must be for groth16 on bn128, not {protocol} on {curve}")]
    System { protocol: String, curve: String },
    /// The number of points does not match the stated number of inputs.
    #[error("the key states {said} public inputs but has points for {found}")]
    Inputs {
        /// Stated number of inputs.
        said: usize,
        /// Number of points, without the constant's.
        found: usize,
    },
    /// A part is not a point.
    #[error("the key's {part}: {error}")]
    Point {
        part: &'static str,
        error: PointError,
    },
    /// Gamma equals delta: any seen proof then allows to forge proofs of anything.
    #[error("nobody contributed to the key: its gamma and delta are equal, so anybody can forge")]
    NoContribution,
}

/// A verifying key, ready to check proofs.
#[derive(Clone)]
pub struct VerifyingKey {
    prepared: PreparedVerifyingKey<Bn254>,
    hash: Hash,
}

/// snarkjs' `verification_key.json`.
#[derive(Serialize, Deserialize)]
struct VerificationKeyJson {
    protocol: String,
    curve: String,
    #[serde(rename = "nPublic")]
    inputs: usize,
    vk_alpha_1: G1Json,
    vk_beta_2: G2Json,
    vk_gamma_2: G2Json,
    vk_delta_2: G2Json,
    #[serde(rename = "IC")]
    points: Vec<G1Json>,
}

impl VerifyingKey {
    pub(super) fn new(key: &ark_groth16::VerifyingKey<Bn254>) -> Result<Self, VerifyingKeyError> {
        if key.gamma_g2 == key.delta_g2 {
            return Err(VerifyingKeyError::NoContribution);
        }
        let words: Vec<u8> = words(key).iter().flat_map(|word| word.0).collect();
        Ok(Self {
            prepared: prepare_verifying_key(key),
            hash: keccak(&words),
        })
    }

    /// Reads the output of `snarkjs zkey export verificationkey`.
    pub fn of_snarkjs(json: &str) -> Result<Self, VerifyingKeyError> {
        let texts: VerificationKeyJson = serde_json::from_str(json)?;
        if texts.protocol != "groth16" || texts.curve != "bn128" {
            return Err(VerifyingKeyError::System {
                protocol: texts.protocol,
                curve: texts.curve,
            });
        }
        if texts.points.len() != texts.inputs.saturating_add(1) {
            return Err(VerifyingKeyError::Inputs {
                said: texts.inputs,
                found: texts.points.len().saturating_sub(1),
            });
        }
        let at = |part| move |error| VerifyingKeyError::Point { part, error };
        let points = texts.points.iter().map(g1_of_texts);
        Self::new(&ark_groth16::VerifyingKey {
            alpha_g1: g1_of_texts(&texts.vk_alpha_1).map_err(at("alpha"))?,
            beta_g2: g2_of_texts(&texts.vk_beta_2).map_err(at("beta"))?,
            gamma_g2: g2_of_texts(&texts.vk_gamma_2).map_err(at("gamma"))?,
            delta_g2: g2_of_texts(&texts.vk_delta_2).map_err(at("delta"))?,
            gamma_abc_g1: points
                .collect::<Result<_, _>>()
                .map_err(at("points of inputs"))?,
        })
    }

    /// Writes the JSON that snarkjs reads.
    pub fn to_snarkjs(&self) -> Result<String, serde_json::Error> {
        let key = &self.prepared.vk;
        let texts = VerificationKeyJson {
            protocol: "groth16".to_owned(),
            curve: "bn128".to_owned(),
            inputs: self.inputs(),
            vk_alpha_1: g1_texts(&key.alpha_g1),
            vk_beta_2: g2_texts(&key.beta_g2),
            vk_gamma_2: g2_texts(&key.gamma_g2),
            vk_delta_2: g2_texts(&key.delta_g2),
            points: key.gamma_abc_g1.iter().map(g1_texts).collect(),
        };
        serde_json::to_string_pretty(&texts)
    }

    /// Constructor words of the contract `Groth16Verifier`.
    pub fn words(&self) -> Vec<Hash> {
        words(&self.prepared.vk)
    }

    /// keccak256 over [`Self::words`]: the contract's `keyHash()`.
    pub fn hash(&self) -> Hash {
        self.hash
    }

    /// Number of public inputs.
    pub fn inputs(&self) -> usize {
        self.prepared.vk.gamma_abc_g1.len().saturating_sub(1)
    }

    /// Whether the proof holds for these public inputs. False for a wrong number of inputs, or an input that is not
    /// below the field's order.
    pub fn verify(&self, proof: &Groth16Proof, inputs: &[Hash]) -> bool {
        if inputs.len() != self.inputs() {
            return false;
        }
        let inputs: Result<Vec<Fr>, _> = inputs.iter().map(number).collect();
        inputs.is_ok_and(|inputs| {
            Groth16::verify_proof(&self.prepared, proof.inner(), &inputs).unwrap_or(false)
        })
    }
}

fn words(key: &ark_groth16::VerifyingKey<Bn254>) -> Vec<Hash> {
    let mut words = g1_words(&key.alpha_g1).to_vec();
    for point in [&key.beta_g2, &key.gamma_g2, &key.delta_g2] {
        words.extend(g2_words(point));
    }
    for point in &key.gamma_abc_g1 {
        words.extend(g1_words(point));
    }
    words
}
