//! Claims from outside the crate: files, keys, other programs.
//!
//! Needs `npm ci --prefix crates/prover/snarkjs` once; `make test` does it.

#![allow(clippy::unwrap_used, reason = "a test file: a panic is the failure")]

mod ceremony;
mod claims;
mod contract_vectors;
mod pins;
mod salt_secrecy;
mod snarkjs;
mod spec_log;
