//! The state: the entries of all resources, under one root that a checkpoint signs (layer 3).
//!
//! The root is that of an Ethereum Merkle-Patricia trie. A resource's path is keccak256 of its id in ASCII; the value is
//! keccak256 of its [`StateEntry`] in RLP. The entry travels next to the proof, so a leaf never shows another
//! resource's fields. `vectors/state.json` and `vectors/state-faults.json` outrank every word here.
//!
//! - [`answer`]: a proof as the API gives it, and its checks;
//! - [`entry`]: the entry of each type of resource;
//! - [`faults`]: the faults that the root shows;
//! - [`trie`]: the root, its proofs, and how both are made.

pub mod answer;
pub mod entry;
pub mod faults;
pub mod trie;

pub use answer::{
    StateAnswer, StateAnswerError, StateAnswers, StateItemError, StateStatement, StateTexts,
};
pub use entry::{EntryError, EntryFields, StateEntry};
pub use trie::{EMPTY_STATE_ROOT, StateProof, StateProofError, state_path};
