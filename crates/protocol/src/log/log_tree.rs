//! The tree over all batches: an append-only RFC 9162 tree. Complete subtrees are stored as they fill up, so that any
//! root, path or consistency proof takes O(log n) reads. The same code makes the proofs of the SHA-256 tree.

use crate::hash::Hash;
use crate::merkle::{TreeHash, empty_root, node};

/// The log tree's leaf for a batch: keccak(0x00 ‖ batch_hash).
pub fn leaf(batch_hash: &Hash) -> Hash {
    TreeHash::Keccak.leaf(&batch_hash.0)
}

/// A source of stored nodes: the root of the complete subtree over leaves `index << level .. (index + 1) << level`.
pub trait TreeNodes {
    /// Error of reading a node.
    type Error;

    /// The tree's hash function.
    const HASH: TreeHash = TreeHash::Keccak;

    /// Reads a node that was created when its last leaf was appended.
    fn node(&self, level: u32, index: u64) -> Result<Hash, Self::Error>;
}

/// A node that an append created, to be stored.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct NewNode {
    /// 0 for a leaf.
    pub level: u32,
    /// Its index among the nodes of the level.
    pub index: u64,
    /// Its hash.
    pub hash: Hash,
}

/// The growing edge of the tree: the roots of its complete subtrees, largest first.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct TreeFrontier {
    size: u64,
    peaks: Vec<Hash>,
}

impl TreeFrontier {
    /// The edge of a stored tree of `size` leaves.
    pub fn load<N: TreeNodes>(size: u64, nodes: &N) -> Result<Self, N::Error> {
        let mut peaks = Vec::new();
        for level in (0..u64::BITS).rev() {
            if size >> level & 1 == 1 {
                peaks.push(nodes.node(level, (size >> level) - 1)?);
            }
        }
        Ok(Self { size, peaks })
    }

    /// The edge of a tree of `size` leaves whose complete subtrees have these roots, largest first; `None` if
    /// the number of roots does not fit the size.
    pub fn of_peaks(size: u64, peaks: Vec<Hash>) -> Option<Self> {
        (peaks.len() == size.count_ones() as usize).then_some(Self { size, peaks })
    }

    /// The roots of the complete subtrees, largest first.
    pub fn peaks(&self) -> &[Hash] {
        &self.peaks
    }

    /// The number of leaves.
    pub fn size(&self) -> u64 {
        self.size
    }

    /// The root; keccak of nothing if the tree is empty.
    pub fn root(&self) -> Hash {
        self.peaks
            .iter()
            .rev()
            .copied()
            .reduce(|right, left| node(&left, &right))
            .unwrap_or_else(empty_root)
    }

    /// Appends a leaf hash and returns the nodes that it completed, lowest first.
    pub fn append(&mut self, leaf: Hash) -> Vec<NewNode> {
        let mut made = vec![NewNode {
            level: 0,
            index: self.size,
            hash: leaf,
        }];
        let mut hash = leaf;
        for level in 0..self.size.trailing_ones() {
            let left = self
                .peaks
                .pop()
                .expect("one peak for each set bit of the size");
            hash = node(&left, &hash);
            made.push(NewNode {
                level: level + 1,
                index: self.size >> (level + 1),
                hash,
            });
        }
        self.peaks.push(hash);
        self.size += 1;
        made
    }
}

/// The largest power of two below `size` (which is above one).
fn split(size: u64) -> u64 {
    1 << (u64::BITS - 1 - (size - 1).leading_zeros())
}

/// The root over leaves `start..end`, which must be a range that RFC 9162 splits off.
fn range_root<N: TreeNodes>(nodes: &N, start: u64, end: u64) -> Result<Hash, N::Error> {
    let size = end - start;
    if size.is_power_of_two() {
        let level = size.trailing_zeros();
        return nodes.node(level, start >> level);
    }
    let middle = start + split(size);
    Ok(N::HASH.node(
        &range_root(nodes, start, middle)?,
        &range_root(nodes, middle, end)?,
    ))
}

/// The root of the tree of the first `size` leaves.
pub fn root<N: TreeNodes>(nodes: &N, size: u64) -> Result<Hash, N::Error> {
    if size == 0 {
        Ok(N::HASH.empty_root())
    } else {
        range_root(nodes, 0, size)
    }
}

/// The inclusion path of leaf `index` in the tree of `size` leaves, bottom up (RFC 9162, 2.1.3.1).
pub fn inclusion_path<N: TreeNodes>(
    nodes: &N,
    index: u64,
    size: u64,
) -> Result<Vec<Hash>, N::Error> {
    assert!(index < size, "the leaf must be in the tree");
    let (mut start, mut end) = (0, size);
    let mut path = Vec::new();
    while end - start > 1 {
        let middle = start + split(end - start);
        if index < middle {
            path.push(range_root(nodes, middle, end)?);
            end = middle;
        } else {
            path.push(range_root(nodes, start, middle)?);
            start = middle;
        }
    }
    path.reverse();
    Ok(path)
}

/// The proof that the tree of `to` leaves extends the one of `from` (RFC 9162, 2.1.4.1);
/// `1 <= from <= to`.
pub fn consistency_path<N: TreeNodes>(
    nodes: &N,
    from: u64,
    to: u64,
) -> Result<Vec<Hash>, N::Error> {
    assert!(0 < from && from <= to, "sizes must not fall");
    let (mut start, mut end) = (0, to);
    let mut path = Vec::new();
    // If the subtree that ends at `from` begins at zero, the verifier has it already.
    while end != from {
        let middle = start + split(end - start);
        if from <= middle {
            path.push(range_root(nodes, middle, end)?);
            end = middle;
        } else {
            path.push(range_root(nodes, start, middle)?);
            start = middle;
        }
    }
    if start != 0 {
        path.push(range_root(nodes, start, end)?);
    }
    path.reverse();
    Ok(path)
}
