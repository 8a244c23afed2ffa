//! Anchoring: one actor brings the log's checkpoints to the contract on Ethereum, and follows what the chain says.
//!
//! - `actor`: at every interval, anchors what is new. `state` is what it holds, `rows` what it stores.
//! - `commands`: what the server and its operator ask of the actor. `checkpoint`: what is anchored.
//! - `adopting`: anchors that somebody else sent. `doubt`: a chain that contradicts the log.
//! - `anchored`: what a node that follows knows of the chain. `seen`: what it saw of it.
//! - `bond_answers`: answers to what the bond asks of the operator.
//! - `contract_keys`: the sequencer's keys according to the contract. `node`: whether the node answers.
//! - `outcome`: what became of an anchor that was asked for. `trouble`: what stands in the way.

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
mod seen;
mod state;
#[cfg(test)]
pub(crate) mod tests;
mod trouble;

pub use actor::AnchorOptions;
pub use checkpoint::CheckpointError;
pub use doubt::contradiction;
pub use outcome::AnchorOutcome;
pub(crate) use seen::SeenAnchors;
pub use seen::{Anchored, AnchoredOnChain, Answers};
pub(crate) use trouble::AnchorTrouble;
