//! Claims from outside: files, keys, other programs.
//!
//! Needs `npm ci --prefix prover/snarkjs` once; `make test` does it.

mod claims;
mod contract_vectors;
mod guessing;
mod pins;
mod snarkjs;
mod spec_log;
