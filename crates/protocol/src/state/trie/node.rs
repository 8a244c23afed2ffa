//! Nodes of a proof, read in their one form.

use alloy_rlp::Header;

use super::PATH_NIBBLES;
use crate::Hash;

/// Children of a branch.
const BRANCH_WIDTH: usize = 16;
/// Bytes below which a trie with longer values would hold a node inside its parent.
const NODE_BYTES_MIN: usize = 32;

/// Why bytes are not a node of the state's trie.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum NodeProblem {
    /// Not canonical RLP.
    #[error("{0}")]
    Rlp(#[from] alloy_rlp::Error),
    /// Below 32 bytes.
    #[error("is shorter than 32 bytes")]
    Short,
    /// Bytes after the node's list, or a list of neither 2 nor 17 items.
    #[error("is neither a list of 2 nor of 17 items")]
    Shape,
    /// A path with an unknown flag, a pad that is not zero, or another length than its place needs.
    #[error("has a path of another form or length")]
    Path,
    /// A child or a value that is not a hash.
    #[error("holds a child or a value that is not a hash")]
    NotAHash,
    /// A branch with fewer than two children, or with a value.
    #[error("is a branch with fewer than two children, or with a value")]
    Branch,
    /// An extension that leads to another node than a branch.
    #[error("follows an extension and is no branch")]
    AfterExtension,
}

/// Nibbles in a node, in Ethereum's compact form.
#[derive(Clone, Copy)]
pub(super) struct CompactPath<'a> {
    bytes: &'a [u8],
    /// Whether the first byte's low half is the first nibble.
    is_odd: bool,
}

impl CompactPath<'_> {
    pub(super) fn len(&self) -> usize {
        2 * (self.bytes.len() - 1) + usize::from(self.is_odd)
    }

    /// Whether the nibbles are those of `path` from `depth` on.
    pub(super) fn continues(&self, path: &Hash, depth: usize) -> bool {
        (0..self.len()).all(|i| {
            let place = i + 2 - usize::from(self.is_odd);
            nibble(self.bytes, place) == nibble(&path.0, depth + i)
        })
    }
}

/// The nibble at `place`, high half first.
pub(super) fn nibble(bytes: &[u8], place: usize) -> Option<u8> {
    let byte = bytes.get(place / 2)?;
    Some(if place.is_multiple_of(2) {
        byte >> 4
    } else {
        byte & 15
    })
}

/// A node at a place in the trie.
pub(super) enum ReadNode<'a> {
    /// The child on the way along the path.
    Branch(Option<Hash>),
    Extension(CompactPath<'a>, Hash),
    Leaf(CompactPath<'a>, Hash),
}

impl<'a> ReadNode<'a> {
    /// Reads the node that stands after `depth` nibbles of `path`.
    pub(super) fn read(bytes: &'a [u8], path: &Hash, depth: usize) -> Result<Self, NodeProblem> {
        if bytes.len() < NODE_BYTES_MIN {
            return Err(NodeProblem::Short);
        }
        let mut rest = bytes;
        let mut list = Header::decode_bytes(&mut rest, true)?;
        if !rest.is_empty() {
            return Err(NodeProblem::Shape);
        }
        let mut items: [&[u8]; BRANCH_WIDTH + 1] = [&[]; BRANCH_WIDTH + 1];
        let mut count = 0;
        while !list.is_empty() {
            let item = items.get_mut(count).ok_or(NodeProblem::Shape)?;
            *item = Header::decode_bytes(&mut list, false)?;
            count += 1;
        }
        match count {
            2 => Self::short(items[0], items[1], depth),
            17 => Self::branch(&items, path, depth),
            _ => Err(NodeProblem::Shape),
        }
    }

    fn branch(
        items: &[&[u8]; BRANCH_WIDTH + 1],
        path: &Hash,
        depth: usize,
    ) -> Result<Self, NodeProblem> {
        let (mut count, mut own) = (0, None);
        let digit = nibble(&path.0, depth).ok_or(NodeProblem::Path)?;
        for (place, item) in items[..BRANCH_WIDTH].iter().enumerate() {
            if !item.is_empty() {
                let child = hash(item)?;
                own = own.or((place == usize::from(digit)).then_some(child));
                count += 1;
            }
        }
        if count < 2 || !items[BRANCH_WIDTH].is_empty() {
            return Err(NodeProblem::Branch);
        }
        Ok(Self::Branch(own))
    }

    /// A leaf or an extension.
    fn short(path: &'a [u8], item: &[u8], depth: usize) -> Result<Self, NodeProblem> {
        let flag = nibble(path, 0).ok_or(NodeProblem::Path)?;
        let is_odd = flag & 1 == 1;
        if flag > 3 || (!is_odd && nibble(path, 1) != Some(0)) {
            return Err(NodeProblem::Path);
        }
        let path = CompactPath {
            bytes: path,
            is_odd,
        };
        let end = depth + path.len();
        let item = hash(item)?;
        if flag >= 2 {
            let is_whole = end == PATH_NIBBLES;
            return is_whole
                .then_some(Self::Leaf(path, item))
                .ok_or(NodeProblem::Path);
        }
        // The branch that follows needs a nibble.
        let leads_on = path.len() > 0 && end < PATH_NIBBLES;
        leads_on
            .then_some(Self::Extension(path, item))
            .ok_or(NodeProblem::Path)
    }
}

fn hash(item: &[u8]) -> Result<Hash, NodeProblem> {
    let bytes = item.try_into().map_err(|_| NodeProblem::NotAHash)?;
    Ok(Hash(bytes))
}
