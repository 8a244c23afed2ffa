//! Fingerprints of the claim circuit: to check a ceremony, rebuild the `.r1cs` file and compare.

use kedge_protocol::Hash;
use kedge_protocol::hash::{keccak, sha256};
use serde::{Deserialize, Serialize};

use crate::circuit::Constraints;

/// Fingerprints of the circuit's `.r1cs` file.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Pins {
    pub constraints: usize,
    /// Includes the constant one and the public inputs.
    pub wires: usize,
    pub public_inputs: usize,
    pub sha256: Hash,
    pub keccak256: Hash,
}

impl Pins {
    /// Computes the fingerprints of a file.
    pub fn of(file: &[u8], constraints: &Constraints) -> Self {
        Self {
            constraints: constraints.count(),
            wires: constraints.wires,
            public_inputs: constraints.inputs,
            sha256: sha256(file),
            keccak256: keccak(file),
        }
    }
}
