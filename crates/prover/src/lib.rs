//! Zero-knowledge claims (layer 4): the circuit, its keys, proofs, and the claim files that carry them.
//! `docs/PROTOCOL.md` defines a claim; `docs/adr/0009-the-claim-circuit.md` explains the design.

pub mod calldata;
pub mod circuit;
pub mod claim;
pub mod groth16;
pub mod keys;
pub mod pins;
mod points;
