//! The trie over all entries: an Ethereum Merkle-Patricia trie (yellow paper, appendix D) with keccak256, whose keys and
//! values are hashes. So each path has 64 nibbles, each value 32 bytes, and no node is shorter than 32 bytes.
//!
//! `alloy-trie` joins the parts of a root; the many nodes next to the leaves are made here, so that they are hashed side
//! by side. Reading is strict and our own: a proof has one form, and `alloy-trie` also reads nodes that no honest trie
//! holds (a branch with one child, a pad that is not zero, a node inside its parent).

mod branch;
mod build;
mod encoding;
mod forest;
mod node;
mod proof;
mod prover;
mod update;

use crate::hash::keccak;
use crate::{Hash, Id};

pub(crate) use proof::{hex, hex_list, verify_nodes};

pub use branch::{NodePath, StoredBranch};
pub use build::{PathOrderError, StateRootBuilder};
pub use node::NodeProblem;
pub use proof::{StateProof, StateProofError, breaks_trie};
pub use prover::{
    PathProof, ProvenPlace, ProvenPlaces, StateProofNodes, prove_state, prove_state_at,
};
pub use update::{StateLeaves, StateNodes, StateTrieError, StateUpdate, update_state};

/// Nibbles of a path.
pub const PATH_NIBBLES: usize = 64;

/// The root of a state without entries: keccak256 of the RLP of an empty text.
pub const EMPTY_STATE_ROOT: Hash = Hash([
    0x56, 0xe8, 0x1f, 0x17, 0x1b, 0xcc, 0x55, 0xa6, 0xff, 0x83, 0x45, 0xe6, 0x92, 0xc0, 0xf8, 0x6e,
    0x5b, 0x48, 0xe0, 0x1b, 0x99, 0x6c, 0xad, 0xc0, 0x01, 0x62, 0x2f, 0xb5, 0xe3, 0x63, 0xb4, 0x21,
]);

/// The path of a resource's entry: keccak256 of the id in ASCII.
pub fn state_path(id: &Id) -> Hash {
    keccak(&id.text_bytes())
}
