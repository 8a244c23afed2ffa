//! Ethereum side of the service: a JSON-RPC client, bindings of the contracts, transactions until finality, and an
//! embedded chain for development.
//!
//! **Architecture invariant:** only this crate knows ethers-core and revm. Other crates call it with the protocol's
//! types (`Hash`, `Address`, `Signature`); ethers-core's types appear only in the RPC client's raw methods, which no
//! other crate needs.

pub mod contract;
mod convert;
pub mod embedded;
pub mod metric_definitions;
pub mod responder;
pub mod rpc;
pub mod sender;
pub mod transaction;
