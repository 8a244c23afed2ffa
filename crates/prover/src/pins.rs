//! The claim circuit, identified by hash: to check a ceremony, rebuild the file and compare.

use kedge_protocol::Hash;
use kedge_protocol::hash::{keccak, sha256};
use serde::{Deserialize, Serialize};

use crate::circuit::Constraints;

/// A description of the circuit's `.r1cs` file.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Pins {
    /// Constraints.
    pub constraints: usize,
    /// Wires, including the constant one and the public inputs.
    pub wires: usize,
    /// Public inputs.
    pub public_inputs: usize,
    /// SHA-256 of the file.
    pub sha256: Hash,
    /// keccak256 of the file.
    pub keccak256: Hash,
}

impl Pins {
    /// The pins of a file.
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
