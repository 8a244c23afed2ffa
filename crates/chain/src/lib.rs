//! The Ethereum side of the service: a JSON-RPC client, the binding of the anchor contract, and transactions and their
//! life until finality.
//!
//! **Architecture invariant:** only this crate and `devchain` know ethers-core, and only `devchain` knows revm; what other crates call is in the protocol's
//! own types (`Hash`, `Address`, `Signature`). Only the RPC client's raw methods show ethers-core's shapes, and nothing
//! outside needs those.

pub mod contract;
mod convert;
pub mod metric_definitions;
pub mod responder;
pub mod rpc;
pub mod sender;
pub mod transaction;
