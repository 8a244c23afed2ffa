//! Roots from all leaves in the order of their paths, in memory that does not grow with them.

use alloy_trie::{HashBuilder, Nibbles};

use super::branch::{NodePath, StoredBranch};
use crate::Hash;

/// A leaf does not follow the last one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the path {0} does not follow the one before it")]
pub struct PathOrderError(pub Hash);

/// Makes the root of a state from its leaves, which arrive in the order of their paths.
#[derive(Default)]
pub struct StateRootBuilder {
    pub(super) builder: HashBuilder,
}

impl StateRootBuilder {
    /// Makes the branches to store as well, for [`Self::take_branches`].
    pub fn keeping_branches() -> Self {
        Self {
            builder: HashBuilder::default().with_updates(true),
        }
    }

    /// Adds the leaf of the next entry: its path, and keccak256 of its RLP.
    ///
    /// # Errors
    /// The path is not above the last one.
    pub fn add_leaf(&mut self, path: &Hash, value: &Hash) -> Result<(), PathOrderError> {
        let key = Nibbles::unpack_array(&path.0);
        self.require_order(&key, path)?;
        self.builder.add_leaf_unchecked(key, &value.0);
        Ok(())
    }

    /// Adds an unchanged branch, whose leaves are left out.
    pub(super) fn add_branch(
        &mut self,
        path: &NodePath,
        hash: &Hash,
        is_stored: bool,
    ) -> Result<(), PathOrderError> {
        self.require_order(&path.0, &path.first())?;
        self.builder.add_branch(path.0, hash.0.into(), is_stored);
        Ok(())
    }

    fn require_order(&self, next: &Nibbles, path: &Hash) -> Result<(), PathOrderError> {
        let last = &self.builder.key;
        if last.is_empty() || next > last {
            Ok(())
        } else {
            Err(PathOrderError(*path))
        }
    }

    /// Takes the branches that are complete, in the order of their paths. A caller with many leaves takes them from
    /// time to time, so that they do not gather in memory.
    pub fn take_branches(&mut self) -> Vec<(NodePath, StoredBranch)> {
        let complete = self.builder.updated_branch_nodes.as_mut();
        let mut branches: Vec<_> = complete
            .into_iter()
            .flat_map(|complete| complete.drain())
            .map(|(path, node)| (NodePath(path), StoredBranch::of(&node)))
            .collect();
        branches.sort_unstable_by_key(|(path, _)| *path);
        branches
    }

    /// The root over all leaves, and the branches that were not taken yet.
    pub fn finish(mut self) -> (Hash, Vec<(NodePath, StoredBranch)>) {
        let root = Hash(self.builder.root().0);
        (root, self.take_branches())
    }
}
