//! Anchoring: one actor brings the log's checkpoints to the contract on Ethereum, and follows what the chain says.
//!
//! - `actor`: at every interval, anchors what is new.
//! - `commands`: what the server and its operator ask of the actor.
//! - `rows`: what is stored of anchors.
//! - `adopting`: anchors that somebody else sent. `doubt`: a chain that contradicts the log.
//! - `bond_answers`: answers to what the bond asks of the operator.
//! - `contract_keys`: the sequencer's keys according to the contract. `node`: whether the node answers.

pub(crate) mod actor;
mod adopting;
mod bond_answers;
mod commands;
mod contract_keys;
mod doubt;
mod node;
mod rows;

pub use actor::AnchorOptions;
pub use commands::{AnchorReport, CheckpointError, contradiction};
pub use node::NodeHealth;
