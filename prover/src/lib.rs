//! Zero-knowledge claims (layer 4): the circuit, its keys, proofs, and the claim files that carry them.
//! `docs/PROTOCOL.md` says what a claim is; `docs/adr/0009-the-claim-circuit.md` why it is made so.

pub mod calldata;
pub mod circuit;
pub mod claim;
pub mod groth16;
pub mod keys;
pub mod pins;
mod points;
