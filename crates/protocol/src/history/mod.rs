//! One resource's own history: the actions that lead to its proven entry, each with its signature and its place in the
//! log of the entry's checkpoint. `kedge verify object` checks them; the rules replay them.
//!
//! An entry's integrity is a hash over every action on its resource, in order. So actions that lead from nothing to
//! that integrity are all that there were, and none can be left out, put in or moved. Two things no history shows: that
//! the log holds no later action which the entry ignores (evidence of [stale state](crate::state::faults::stale_state)
//! does, for those who hold such an action), and what actions on other resources changed, such as a template's counts.
//!
//! - [`cover`]: the place of a batch in a checkpoint's log;
//! - [`trace`]: the actions that lead to an entry.

pub mod cover;
pub mod trace;

pub use cover::{CheckpointCover, ConsistencyProof, CoverError, consistency_sizes};
pub use trace::{HistoryError, PlacedProof, ProvenActions, ResourceHistory};
