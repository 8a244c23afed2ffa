//! The faults that a state's root shows, as predicates over what was proven: entries at signed checkpoints, and leaves
//! of the log with the words of their content. True convicts. Signatures, state proofs and the leaves' places are
//! checked before, by [`judge_state`](crate::evidence::judge_state).
//!
//! An honest log is never convicted, whichever entries and leaves of it are put together. Checkpoints are ordered by
//! their batches, never by their time, and a leaf is at or before a checkpoint by the checkpoint's sequence.

mod changes;
mod entries;
mod hands;
mod leaves;
mod shown;

pub use changes::{false_keys, false_owner, false_version, hidden_change};
pub use entries::{
    changed_constant, false_address, lone_step, malformed_state, oversupply, rewritten_state,
    twin_state, two_faced_state, unrooted_checkpoint,
};
pub use hands::{
    TrespassEvidence, foreign_hand, foreign_maker, foreign_mint, ghost_member, live_update,
    trespass,
};
pub use leaves::{FalseEntryEvidence, dead_hand, false_entry, missing_state, stale_state};
pub use shown::{HeldEntry, LeafWords, ShownEntry, ShownLeaf, StatePoint};
