//! Branch nodes as they are stored between two roots.

use alloy_trie::{BranchNodeCompact, Nibbles, TrieMask};

use super::PATH_NIBBLES;
use crate::Hash;

/// The place of a node: the nibbles from the root to it, at most 64.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug, Default)]
pub struct NodePath(pub(super) Nibbles);

impl NodePath {
    /// One byte a nibble, so that the order of the bytes is that of the trie.
    pub fn to_bytes(&self) -> Vec<u8> {
        self.0.to_vec()
    }

    /// Reads [`Self::to_bytes`]; `None` for more than 64 bytes, or one above 15.
    pub fn of_bytes(bytes: &[u8]) -> Option<Self> {
        let is_path = bytes.len() <= PATH_NIBBLES && bytes.iter().all(|nibble| *nibble < 16);
        is_path.then(|| Self(Nibbles::from_nibbles(bytes)))
    }

    /// The first path under the node.
    pub(super) fn first(&self) -> Hash {
        self.filled(0)
    }

    /// The last path under the node.
    pub(super) fn last(&self) -> Hash {
        self.filled(15)
    }

    fn filled(&self, nibble: u8) -> Hash {
        let mut path = [nibble << 4 | nibble; PATH_NIBBLES / 2];
        for (i, own) in self.0.iter().enumerate() {
            let shift = if i % 2 == 0 { 4 } else { 0 };
            path[i / 2] = path[i / 2] & !(15 << shift) | own << shift;
        }
        Hash(path)
    }

    pub(super) fn child(&self, nibble: u8) -> Self {
        let mut path = self.0;
        path.push(nibble);
        Self(path)
    }

    /// How many nibbles lead to the node: 0 for the topmost one.
    pub fn depth(&self) -> usize {
        self.0.len()
    }
}

/// A branch node as it is stored: which children it has, and the hashes of their nodes, so that a change under one child
/// reads nothing of the others. Leaves stay in their own tables. A branch of which no child is a branch is not stored; it is
/// made from its leaves.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct StoredBranch {
    /// Bit n: there is a child at nibble n.
    pub state_mask: u16,
    /// Bit n: a branch at or under child n is stored.
    pub tree_mask: u16,
    /// Bit n: the hash of the node at child n is in `hashes`. If `tree_mask` has the bit too, that node is a stored branch.
    /// Hashes may be left out, and older programs stored those of branches alone: such a child is made from its leaves.
    pub hash_mask: u16,
    /// The hashes of the children in `hash_mask`, in their order.
    pub hashes: Vec<Hash>,
}

const MASKS_BYTES: usize = 6;

impl StoredBranch {
    /// The three masks, big-endian, and the hashes.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(MASKS_BYTES + 32 * self.hashes.len());
        for mask in [self.state_mask, self.tree_mask, self.hash_mask] {
            bytes.extend(mask.to_be_bytes());
        }
        for hash in &self.hashes {
            bytes.extend(hash.0);
        }
        bytes
    }

    /// Reads [`Self::to_bytes`]; `None` for bytes that no branch gives.
    pub fn of_bytes(bytes: &[u8]) -> Option<Self> {
        let (masks, hashes) = bytes.split_at_checked(MASKS_BYTES)?;
        let mask = |place: usize| u16::from_be_bytes([masks[place], masks[place + 1]]);
        let (hashes, rest) = hashes.as_chunks::<32>();
        let branch = Self {
            state_mask: mask(0),
            tree_mask: mask(2),
            hash_mask: mask(4),
            hashes: hashes.iter().copied().map(Hash).collect(),
        };
        let is_branch = rest.is_empty()
            && branch.state_mask.count_ones() >= 2
            && (branch.tree_mask | branch.hash_mask) & !branch.state_mask == 0
            && branch.hash_mask.count_ones() as usize == branch.hashes.len();
        is_branch.then_some(branch)
    }

    pub(super) fn has_child(&self, nibble: u8) -> bool {
        self.state_mask >> nibble & 1 == 1
    }

    /// Whether a branch at or under the child is stored.
    pub(super) fn stores_under(&self, nibble: u8) -> bool {
        self.tree_mask >> nibble & 1 == 1
    }

    /// The hash of the node at a child, if it is stored.
    pub(super) fn hash_of(&self, nibble: u8) -> Option<&Hash> {
        if self.hash_mask >> nibble & 1 == 0 {
            return None;
        }
        let before = self.hash_mask & ((1 << nibble) - 1);
        self.hashes.get(before.count_ones() as usize)
    }

    pub(super) fn of(node: &BranchNodeCompact) -> Self {
        let mask = |mask: TrieMask| mask.get();
        Self {
            state_mask: mask(node.state_mask),
            tree_mask: mask(node.tree_mask),
            hash_mask: mask(node.hash_mask),
            hashes: node.hashes.iter().map(|hash| Hash(hash.0)).collect(),
        }
    }
}
