//! Anchoring: one actor brings the log's checkpoints to the contract on Ethereum and follows the chain.
//!
//! - `actor`: anchors the log's growth at every interval. `state`: its state. `rows`: its rows in the store.
//! - `commands`: requests of the server and its operator. `checkpoint`: the signed checkpoint that is anchored.
//! - `adoption`: anchors sent by other accounts. `chain_conflict`: a chain that contradicts the log.
//! - `anchor_watch`: the comparison on a node that follows. `anchor_source`: the contract's checkpoints as last read.
//! - `bond_answers`: answers to the bond's cases against the operator.
//! - `contract_keys`: the sequencer's keys according to the contract. `node`: whether the chain's node answers.
//! - `ordered_writes`: one write of rows after the other.
//! - `outcome`: the outcome of a requested anchor. `obstacles`: what stands in the way of anchors.

mod actor;
mod adoption;
mod anchor_source;
mod anchor_watch;
mod bond_answers;
mod chain_conflict;
mod checkpoint;
mod commands;
mod contract_keys;
mod demand_terms;
mod node;
mod obstacles;
mod ordered_writes;
mod outcome;
mod rows;
mod state;
mod state_answers;
#[cfg(test)]
pub(crate) mod tests;

pub use actor::AnchorOptions;
pub(crate) use anchor_source::SeenAnchors;
pub use anchor_source::{AnchorSource, CheckpointAnswers, ContractAnchorSource};
pub use chain_conflict::contradiction;
pub use checkpoint::CheckpointError;
pub(crate) use obstacles::AnchorObstacles;
pub use outcome::AnchorOutcome;
