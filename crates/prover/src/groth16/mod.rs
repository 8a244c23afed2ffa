//! Groth16 over BN254 for any circuit: keys, proofs, and their external formats.

mod key;
mod proof;
mod qap;
pub mod r1cs;
mod setup;
pub mod zkey;

pub use crate::points::PointError;
pub use kedge_protocol::claim::ProofParts;
pub use key::{VerifyingKey, VerifyingKeyError};
pub use proof::{Groth16Proof, ProofPartError, ProveError, ProvingKey};

/// arkworks' Groth16 with snarkjs' reduction.
type Groth16 = ark_groth16::Groth16<ark_bn254::Bn254, qap::SnarkjsReduction>;
