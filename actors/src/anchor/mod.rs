//! Anchoring: one actor brings the log's checkpoints to the contract on Ethereum, and follows what the chain says.
//!
//! - `actor`: at every interval, anchors what is new. `state` is what it holds, `rows` what it stores.
//! - `commands`: what the server and its operator ask of the actor. `checkpoint`: what is anchored.
//! - `adopting`: anchors that somebody else sent. `doubt`: a chain that contradicts the log.
//! - `anchored`: what a node that follows knows of the chain.
//! - `bond_answers`: answers to what the bond asks of the operator.
//! - `contract_keys`: the sequencer's keys according to the contract. `node`: whether the node answers.
//! - `outcome`: what became of an anchor that was asked for.

mod actor;
mod adopting;
mod anchored;
mod bond_answers;
mod checkpoint;
mod commands;
mod contract_keys;
mod doubt;
mod node;
mod outcome;
mod rows;
mod state;
#[cfg(test)]
pub(crate) mod tests;

pub use actor::AnchorOptions;
pub(crate) use anchored::SeenAnchors;
pub use anchored::{Anchored, AnchoredOnChain, Answers};
pub use checkpoint::CheckpointError;
pub use doubt::contradiction;
pub use outcome::AnchorOutcome;
pub(crate) use outcome::AnchorTrouble;
