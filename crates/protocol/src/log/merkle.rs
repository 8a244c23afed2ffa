//! Merkle trees in the shape of RFC 9162: leaf = H(0x00 ‖ entry), node = H(0x01 ‖ left ‖ right), and a lone node moves
//! up unchanged. H is keccak256 in batches and in the log tree, SHA-256 in the tree that witnesses cosign
//! ([`crate::tlog`]). `rs_merkle` makes a batch's multiproofs; one strict function checks proofs for trees of any size.

use std::sync::OnceLock;

use rs_merkle::{Hasher, MerkleTree};

use crate::hash::{Hash, Sha256Stream, keccak, keccak_parts, sha256};
use crate::lanes::keccak_each;

/// The hash function of a tree.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum TreeHash {
    /// keccak256: batches, and the log tree that is anchored.
    #[default]
    Keccak,
    /// SHA-256: the tree of RFC 6962 over the same headers, which C2SP's programs read.
    Sha256,
}

impl TreeHash {
    /// H(0x00 ‖ entry).
    pub fn leaf(self, entry: &[u8]) -> Hash {
        match self {
            Self::Keccak => keccak_parts(&[&[0], entry]),
            Self::Sha256 => {
                let mut stream = Sha256Stream::default();
                stream.update(&[0]);
                stream.update(entry);
                stream.finish()
            }
        }
    }

    /// H(0x01 ‖ left ‖ right).
    pub fn node(self, left: &Hash, right: &Hash) -> Hash {
        let preimage = node_preimage(left, right);
        match self {
            Self::Keccak => keccak(&preimage),
            Self::Sha256 => sha256(&preimage),
        }
    }

    /// The root of a tree without leaves: H of nothing.
    pub fn empty_root(self) -> Hash {
        match self {
            Self::Keccak => keccak(b""),
            Self::Sha256 => sha256(b""),
        }
    }
}

/// keccak(0x01 ‖ left ‖ right).
pub fn node(left: &Hash, right: &Hash) -> Hash {
    TreeHash::Keccak.node(left, right)
}

fn node_preimage(left: &Hash, right: &Hash) -> [u8; 65] {
    let mut preimage = [1; 65];
    preimage[1..33].copy_from_slice(&left.0);
    preimage[33..].copy_from_slice(&right.0);
    preimage
}

/// The root of a tree without leaves: keccak of nothing.
pub fn empty_root() -> Hash {
    TreeHash::Keccak.empty_root()
}

/// The node rule in the form that `rs_merkle` expects. Leaves arrive hashed, so `hash` is never called.
#[derive(Clone)]
struct NodeRule;

impl Hasher for NodeRule {
    type Hash = Hash;

    fn hash(data: &[u8]) -> Hash {
        keccak(data)
    }

    fn concat_and_hash(left: &Hash, right: Option<&Hash>) -> Hash {
        right.map_or(*left, |right| node(left, right))
    }
}

/// The tree over one batch's leaves. Its layers are built when the root or a path is first requested, the nodes
/// of a layer in parallel; multiproofs come from `rs_merkle`.
pub struct BatchTree {
    leaves: Box<[Hash]>,
    above: OnceLock<Vec<Vec<Hash>>>,
    multiproofs: OnceLock<MerkleTree<NodeRule>>,
}

/// The layers above the leaves (at least one leaf); the last layer is only the root.
fn layers_above(leaves: &[Hash]) -> Vec<Vec<Hash>> {
    let mut layers: Vec<Vec<Hash>> = Vec::new();
    let mut preimages = Vec::with_capacity(leaves.len() / 2);
    loop {
        let below = layers.last().map_or(leaves, Vec::as_slice);
        if below.len() == 1 {
            return layers;
        }
        let (pairs, lone) = below.as_chunks::<2>();
        preimages.clear();
        preimages.extend(pairs.iter().map(|[left, right]| node_preimage(left, right)));
        let mut layer = Vec::with_capacity(below.len().div_ceil(2));
        keccak_each(&preimages, &mut layer);
        layer.extend_from_slice(lone);
        layers.push(layer);
    }
}

impl BatchTree {
    /// Builds the tree over leaf hashes in sequence order; there must be at least one.
    pub fn new(leaves: &[Hash]) -> Self {
        assert!(!leaves.is_empty(), "a batch holds at least one action");
        Self {
            leaves: leaves.into(),
            above: OnceLock::new(),
            multiproofs: OnceLock::new(),
        }
    }

    fn above(&self) -> &[Vec<Hash>] {
        self.above.get_or_init(|| layers_above(&self.leaves))
    }

    /// The root.
    pub fn root(&self) -> Hash {
        self.above().last().map_or(self.leaves[0], |layer| layer[0])
    }

    /// The number of leaves.
    pub fn count(&self) -> usize {
        self.leaves.len()
    }

    /// The leaves, in order.
    pub fn leaves(&self) -> &[Hash] {
        &self.leaves
    }

    /// The hashes that a verifier needs in addition to the leaves at `indices` (strictly increasing, below the count):
    /// bottom layer first, left to right within a layer.
    pub fn proof(&self, indices: &[usize]) -> Vec<Hash> {
        if indices.len() == self.leaves.len() {
            return Vec::new();
        }
        if let [index] = indices {
            return self.path(*index);
        }
        let tree = self
            .multiproofs
            .get_or_init(|| MerkleTree::from_leaves(&self.leaves));
        tree.proof(indices).proof_hashes().to_vec()
    }

    /// The path of one leaf: its sibling in each layer that has one, bottom up.
    fn path(&self, index: usize) -> Vec<Hash> {
        let below = std::iter::once(&*self.leaves);
        let layers = below.chain(self.above().iter().map(Vec::as_slice));
        layers
            .enumerate()
            .filter_map(|(height, layer)| layer.get((index >> height) ^ 1))
            .copied()
            .collect()
    }
}

/// Why a proof is rejected.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum ProofError {
    /// No leaf, or not as many leaves as indices.
    #[error("a proof needs at least one leaf, and one index for each")]
    Shape,
    /// Indices do not strictly increase, or lie past the end.
    #[error("leaf indices must rise strictly and lie below the leaf count")]
    Indices,
    /// A hash is missing.
    #[error("the proof has too few hashes")]
    TooShort,
    /// Hashes are left over.
    #[error("the proof has unused hashes")]
    TooLong,
    /// The proof leads to a different root.
    #[error("the proof leads to another root")]
    OtherRoot,
    /// The sizes of a consistency proof are impossible.
    #[error(
        "a consistency proof needs a first size of at least one and a second that is not smaller"
    )]
    Sizes,
}

/// The root that the leaves at `indices` and the hashes of a (multi)proof produce in a tree of `count` leaves.
/// A path is the proof for one index (RFC 9162, 2.1.3.2).
pub fn root_of_proof(
    count: u64,
    indices: &[u64],
    leaves: &[Hash],
    proof: &[Hash],
) -> Result<Hash, ProofError> {
    TreeHash::Keccak.root_of_proof(count, indices, leaves, proof)
}

/// Checks a (multi)proof against a root.
pub fn verify_proof(
    root: &Hash,
    count: u64,
    indices: &[u64],
    leaves: &[Hash],
    proof: &[Hash],
) -> Result<(), ProofError> {
    TreeHash::Keccak.verify_proof(root, count, indices, leaves, proof)
}

/// Checks that the tree of `to` leaves with root `second` extends the one of `from` leaves with
/// root `first` (RFC 9162, 2.1.4.2). Equal sizes need equal roots and an empty proof.
pub fn verify_consistency(
    from: u64,
    to: u64,
    first: &Hash,
    second: &Hash,
    proof: &[Hash],
) -> Result<(), ProofError> {
    TreeHash::Keccak.verify_consistency(from, to, first, second, proof)
}

impl TreeHash {
    /// The root that the leaves at `indices` and the hashes of a (multi)proof produce in a tree of `count` leaves.
    /// A path is the proof for one index (RFC 9162, 2.1.3.2).
    pub fn root_of_proof(
        self,
        count: u64,
        indices: &[u64],
        leaves: &[Hash],
        proof: &[Hash],
    ) -> Result<Hash, ProofError> {
        if indices.is_empty() || indices.len() != leaves.len() {
            return Err(ProofError::Shape);
        }
        let rising = indices.windows(2).all(|pair| pair[0] < pair[1]);
        if !rising || indices.last().is_some_and(|&last| last >= count) {
            return Err(ProofError::Indices);
        }
        let mut layer: Vec<(u64, Hash)> = indices
            .iter()
            .copied()
            .zip(leaves.iter().copied())
            .collect();
        let mut width = count;
        let mut rest = proof.iter();
        while width > 1 {
            let mut above = Vec::with_capacity(layer.len());
            let mut nodes = layer.iter().copied().peekable();
            while let Some((index, hash)) = nodes.next() {
                let parent = if index % 2 == 1 {
                    self.node(rest.next().ok_or(ProofError::TooShort)?, &hash)
                } else if index + 1 == width {
                    hash
                } else if let Some((_, right)) = nodes.next_if(|&(next, _)| next == index + 1) {
                    self.node(&hash, &right)
                } else {
                    self.node(&hash, rest.next().ok_or(ProofError::TooShort)?)
                };
                above.push((index / 2, parent));
            }
            layer = above;
            width = width.div_ceil(2);
        }
        if rest.next().is_some() {
            return Err(ProofError::TooLong);
        }
        Ok(layer[0].1)
    }

    /// Checks a (multi)proof against a root.
    pub fn verify_proof(
        self,
        root: &Hash,
        count: u64,
        indices: &[u64],
        leaves: &[Hash],
        proof: &[Hash],
    ) -> Result<(), ProofError> {
        if self.root_of_proof(count, indices, leaves, proof)? == *root {
            Ok(())
        } else {
            Err(ProofError::OtherRoot)
        }
    }

    /// Checks that the tree of `to` leaves with root `second` extends the one of `from` leaves with
    /// root `first` (RFC 9162, 2.1.4.2). Equal sizes need equal roots and an empty proof.
    pub fn verify_consistency(
        self,
        from: u64,
        to: u64,
        first: &Hash,
        second: &Hash,
        proof: &[Hash],
    ) -> Result<(), ProofError> {
        if from == 0 || from > to {
            return Err(ProofError::Sizes);
        }
        if from == to {
            if !proof.is_empty() {
                return Err(ProofError::TooLong);
            }
            return if first == second {
                Ok(())
            } else {
                Err(ProofError::OtherRoot)
            };
        }
        let mut rest = proof.iter();
        let mut left = from - 1;
        let mut last = to - 1;
        // If the first tree is one whole subtree, it is the proof's first node and is not sent.
        let start = if from.is_power_of_two() {
            *first
        } else {
            *rest.next().ok_or(ProofError::TooShort)?
        };
        let shift = left.trailing_ones();
        left = left.checked_shr(shift).unwrap_or(0);
        last = last.checked_shr(shift).unwrap_or(0);
        let (mut old, mut new) = (start, start);
        for hash in rest {
            if last == 0 {
                return Err(ProofError::TooLong);
            }
            if left % 2 == 1 || left == last {
                old = self.node(hash, &old);
                new = self.node(hash, &new);
                while left.is_multiple_of(2) && left != 0 {
                    left >>= 1;
                    last >>= 1;
                }
            } else {
                new = self.node(&new, hash);
            }
            left >>= 1;
            last >>= 1;
        }
        if last != 0 {
            return Err(ProofError::TooShort);
        }
        if old == *first && new == *second {
            Ok(())
        } else {
            Err(ProofError::OtherRoot)
        }
    }
}
