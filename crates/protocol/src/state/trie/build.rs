//! Roots from all leaves in the order of their paths, in memory that does not grow with them.

use alloy_trie::{HashBuilder, Nibbles};

use super::branch::{NodePath, StoredBranch};
use super::forest::{TreeNode, TrieForest, TriePart};
use crate::Hash;

/// A leaf does not follow the last one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the path {0} does not follow the one before it")]
pub struct PathOrderError(pub Hash);

/// Leaves and branches that wait for their neighbours, so that the nodes over them are hashed side by side.
const WAITING_PARTS: usize = if cfg!(test) { 3 } else { 1 << 11 };

/// Makes the root of a state from its leaves, which arrive in the order of their paths.
#[derive(Default)]
pub struct StateRootBuilder {
    builder: HashBuilder,
    waiting: Vec<TriePart>,
    /// The last path of the parts that wait no more.
    passed: Option<Hash>,
    /// The complete branches below those that the builder makes, if anyone asks for them.
    stored: Option<Vec<(NodePath, StoredBranch)>>,
}

impl StateRootBuilder {
    /// Makes the branches to store as well, for [`Self::take_branches`].
    pub fn keeping_branches() -> Self {
        Self {
            builder: HashBuilder::default().with_updates(true),
            stored: Some(Vec::new()),
            ..Self::default()
        }
    }

    /// Adds the leaf of the next entry: its path, and keccak256 of its RLP.
    ///
    /// # Errors
    /// The path is not above the last one.
    pub fn add_leaf(&mut self, path: &Hash, value: &Hash) -> Result<(), PathOrderError> {
        self.add(TriePart::leaf(path, value))
    }

    /// Adds an unchanged branch, whose leaves are left out.
    pub(super) fn add_branch(
        &mut self,
        path: &NodePath,
        hash: &Hash,
        is_stored: bool,
    ) -> Result<(), PathOrderError> {
        self.add(TriePart {
            path: path.first(),
            value: *hash,
            depth: path.depth(),
            is_stored,
        })
    }

    fn add(&mut self, part: TriePart) -> Result<(), PathOrderError> {
        if self.waiting.len() == WAITING_PARTS {
            self.grow(Some(&part.path));
        }
        let last = self.waiting.last().map(TriePart::last).or(self.passed);
        if last.is_some_and(|last| part.path <= last) {
            return Err(PathOrderError(part.path));
        }
        self.waiting.push(part);
        Ok(())
    }

    /// Gives the builder the trees of the waiting parts. Another one with the path `after` follows them.
    fn grow(&mut self, after: Option<&Hash>) {
        let Some(last) = self.waiting.last().map(TriePart::last) else {
            return;
        };
        let waiting = std::mem::take(&mut self.waiting);
        let forest = TrieForest::between(waiting, self.passed.as_ref(), after);
        for top in forest.tops() {
            let (place, hash, is_stored) = match top {
                TreeNode::Part(part) => {
                    let part = forest.part(part);
                    if part.is_leaf() {
                        let key = Nibbles::unpack_array(&part.path.0);
                        self.builder.add_leaf_unchecked(key, &part.value.0);
                        continue;
                    }
                    (part.place(), part.value, part.is_stored)
                }
                TreeNode::Branch(branch) => {
                    let branch = forest.branch(branch);
                    (forest.path_of(branch), *branch.hash(), branch.is_stored())
                }
            };
            self.builder.add_branch(place.0, hash.0.into(), is_stored);
        }
        if let Some(stored) = &mut self.stored {
            stored.extend(forest.stored());
        }
        self.passed = Some(last);
    }

    /// Takes the branches that are complete, in the order of their paths. A caller with many leaves takes them from
    /// time to time, so that they do not gather in memory.
    pub fn take_branches(&mut self) -> Vec<(NodePath, StoredBranch)> {
        let mut branches: Vec<_> = self.stored.as_mut().map(std::mem::take).unwrap_or_default();
        let complete = self.builder.updated_branch_nodes.as_mut();
        let complete = complete.into_iter().flat_map(|complete| complete.drain());
        branches.extend(complete.map(|(path, node)| (NodePath(path), StoredBranch::of(&node))));
        branches.sort_unstable_by_key(|(path, _)| *path);
        branches
    }

    /// The root over all leaves, and the branches that were not taken yet.
    pub fn finish(mut self) -> (Hash, Vec<(NodePath, StoredBranch)>) {
        self.grow(None);
        let root = Hash(self.builder.root().0);
        (root, self.take_branches())
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::hash::keccak;

    /// Paths of which many share their beginnings.
    fn path(seed: u64, number: u64) -> Hash {
        let mut path = keccak(&[seed.to_be_bytes(), number.to_be_bytes()].concat());
        let near = keccak(&[seed.to_be_bytes(), (number / 3).to_be_bytes()].concat());
        let shared = usize::from(path.0[31] % 6);
        path.0[..shared].copy_from_slice(&near.0[..shared]);
        path
    }

    #[test]
    fn parts_of_any_kind_in_any_group_give_the_root_of_all_leaves() {
        let mut branches_given = 0;
        for seed in 0..400 {
            let leaves: BTreeMap<Hash, Hash> = (0..seed % 90)
                .map(|number| (path(seed, number), keccak(&number.to_be_bytes())))
                .collect();
            let mut whole = HashBuilder::default().with_updates(true);
            for (path, value) in &leaves {
                whole.add_leaf(Nibbles::unpack_array(&path.0), &value.0);
            }
            let root = Hash(whole.root().0);
            let (_, updated) = whole.split();
            let made: BTreeMap<NodePath, StoredBranch> = updated
                .iter()
                .map(|(path, node)| (NodePath(*path), StoredBranch::of(node)))
                .collect();

            let mut builder = StateRootBuilder::keeping_branches();
            let mut after = Hash::ZERO;
            for (path, value) in &leaves {
                if *path < after {
                    continue;
                }
                // Some of the branches that are known whole stand for their leaves.
                let known = made.iter().find_map(|(place, branch)| {
                    let digit = (0..16).find(|digit| {
                        let child = place.child(*digit);
                        child.first() <= *path && *path <= child.last()
                    })?;
                    let hash = branch.hash_of(digit)?;
                    let is_taken = (path.0[30] ^ place.depth() as u8).is_multiple_of(3);
                    let child = place.child(digit);
                    let is_first = leaves.range(child.first()..).next() == Some((path, value));
                    (is_taken && is_first).then_some((child, *hash, branch.stores_under(digit)))
                });
                if let Some((place, hash, is_stored)) = known {
                    builder.add_branch(&place, &hash, is_stored).unwrap();
                    after = place.last();
                    branches_given += 1;
                } else {
                    builder.add_leaf(path, value).unwrap();
                }
            }
            let (found, stored) = builder.finish();
            assert_eq!(found, root, "seed {seed}");
            for (place, branch) in stored {
                let whole = &made[&place];
                let masks = |of: &StoredBranch| (of.state_mask, of.tree_mask);
                assert_eq!(masks(&branch), masks(whole), "seed {seed}");
                // The hashes of leaves are stored too, where the group of parts gives them.
                for digit in 0..16 {
                    let expected = whole.hash_of(digit);
                    assert!(expected.is_none() || branch.hash_of(digit) == expected);
                }
            }
        }
        assert!(branches_given > 1_000, "{branches_given}");
    }
}
