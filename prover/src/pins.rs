//! What the claim circuit is, by hash: who checks a ceremony rebuilds the file and compares.

use kedge_protocol::Hash;
use kedge_protocol::hash::{keccak, sha256};
use serde::{Deserialize, Serialize};

use crate::circuit::Constraints;

/// The circuit's `.r1cs` file, described.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Pins {
    /// Constraints.
    pub constraints: usize,
    /// Wires, the constant one and the public inputs included.
    pub wires: usize,
    /// Public inputs.
    pub public_inputs: usize,
    /// SHA-256 of the file.
    pub sha256: Hash,
    /// keccak256 of the file.
    pub keccak256: Hash,
}

impl Pins {
    /// Those of a file.
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
