//! The Ethereum side of the service: a JSON-RPC client, the binding of the anchor contract, transactions and their life
//! until finality, and a small embedded chain for development.
//!
//! **Architecture invariant:** only this crate knows ethers-core and revm; what other crates call is in the protocol's
//! own types (`Hash`, `Address`, `Signature`). Only the RPC client's raw methods show ethers-core's shapes, and nothing
//! outside needs those.

pub mod contract;
mod convert;
pub mod embedded;
pub mod metric_definitions;
pub mod responder;
pub mod rpc;
pub mod sender;
pub mod transaction;
