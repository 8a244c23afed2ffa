//! Ethereum side of the service: a JSON-RPC client, bindings of the contracts, and transactions until finality.
//!
//! **Architecture invariant:** only this crate and `devchain` know ethers-core, and only `devchain` knows revm. Other
//! crates call it with the protocol's types (`Hash`, `Address`, `Signature`); ethers-core's types appear only in the RPC
//! client's raw methods, which no other crate needs.

pub mod contract;
mod convert;
pub mod metric_definitions;
pub mod responder;
pub mod rpc;
pub mod sender;
pub mod transaction;
