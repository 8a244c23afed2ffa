//! The next root, from the stored branches and the leaves next to what changed. The walk enters only branches
//! above a changed path; every other branch gives its stored hash. Entries never leave the state, so a branch stays one.

use super::branch::{NodePath, StoredBranch};
use super::build::{PathOrderError, StateRootBuilder};
use super::node::nibble;
use crate::Hash;

/// A leaf: its path and keccak256 of its entry.
pub(super) type TrieLeaf = (Hash, Hash);

/// The stored branches of a state.
pub trait StateNodes {
    /// Why a branch could not be read.
    type Error;

    /// The branch at this place, if one is stored there.
    fn branch(&self, path: &NodePath) -> Result<Option<StoredBranch>, Self::Error>;
}

/// The leaves of a state: before the changes or after them, which makes no difference.
pub trait StateLeaves {
    /// Why leaves could not be read.
    type Error;

    /// Calls `each` with the path and the value of every leaf from `first` to `last`, both included, in the order of
    /// their paths.
    fn leaves(
        &self,
        first: &Hash,
        last: &Hash,
        each: &mut dyn FnMut(&Hash, &Hash),
    ) -> Result<(), Self::Error>;
}

/// A state after changes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct StateUpdate {
    /// The root.
    pub root: Hash,
    /// The branches to store in place of earlier ones, in the order of their paths. None is ever deleted.
    pub branches: Vec<(NodePath, StoredBranch)>,
}

/// Why no root was made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum StateTrieError<E> {
    /// Branches or leaves could not be read.
    #[error("{0}")]
    Read(E),
    /// Paths do not rise: those of the changes, or those of the leaves that were read.
    #[error(transparent)]
    Order(#[from] PathOrderError),
}

/// # Errors
/// A path is not above the one before it.
pub(super) fn require_rising<'a>(
    paths: impl Iterator<Item = &'a Hash>,
) -> Result<(), PathOrderError> {
    let mut last: Option<&Hash> = None;
    for path in paths {
        if last.is_some_and(|last| path <= last) {
            return Err(PathOrderError(*path));
        }
        last = Some(path);
    }
    Ok(())
}

/// The state after `changes`: paths, strictly rising, with the values that the entries there have now. Without stored
/// branches the root is made from all leaves.
///
/// # Errors
/// Branches or leaves could not be read, or paths do not rise.
pub fn update_state<N: StateNodes, L: StateLeaves<Error = N::Error>>(
    nodes: &N,
    leaves: &L,
    changes: &[(Hash, Hash)],
) -> Result<StateUpdate, StateTrieError<N::Error>> {
    let mut walk = TrieWalk {
        nodes,
        leaves,
        out: StateRootBuilder::keeping_branches(),
    };
    walk.whole(changes)?;
    let (root, branches) = walk.out.finish();
    Ok(StateUpdate { root, branches })
}

struct TrieWalk<'a, N, L> {
    nodes: &'a N,
    leaves: &'a L,
    out: StateRootBuilder,
}

/// Children of a branch that stand side by side and are made from their leaves, which one scan reads.
struct LeafRun {
    first: NodePath,
    last: NodePath,
    /// The touched paths under them, as a range.
    touched: std::ops::Range<usize>,
    /// Whether the state holds leaves there.
    holds_leaves: bool,
}

impl<N: StateNodes, L: StateLeaves<Error = N::Error>> TrieWalk<'_, N, L> {
    fn whole(&mut self, touched: &[TrieLeaf]) -> Result<(), StateTrieError<N::Error>> {
        require_rising(touched.iter().map(|(path, _)| path))?;
        self.subtree(&NodePath::default(), touched)
    }

    /// Adds everything under a place. The recursion is as deep as the path is long, at most 64.
    fn subtree(
        &mut self,
        place: &NodePath,
        touched: &[TrieLeaf],
    ) -> Result<(), StateTrieError<N::Error>> {
        let branch = self.nodes.branch(place).map_err(StateTrieError::Read)?;
        // Paths are hashes, so a place without stored branches under it has only a few leaves: one scan costs less than one
        // for each part whose hash is not known.
        let is_known = |branch: &StoredBranch| branch.hash_mask == branch.state_mask;
        let is_read = |branch: &StoredBranch| branch.tree_mask != 0 || is_known(branch);
        let Some(branch) = branch.filter(is_read) else {
            let run = LeafRun {
                first: *place,
                last: *place,
                touched: 0..touched.len(),
                holds_leaves: true,
            };
            return self.leaves_of(&run, touched);
        };
        let mut run: Option<LeafRun> = None;
        let mut begin = 0;
        for digit in 0..16 {
            let after = &touched[begin..];
            let own =
                after.partition_point(|(path, _)| nibble(&path.0, place.depth()) <= Some(digit));
            let own = begin..begin + own;
            begin = own.end;
            let child = place.child(digit);
            if own.is_empty() && !branch.has_child(digit) {
                continue;
            }
            let unchanged = branch.hash_of(digit).filter(|_| own.is_empty());
            if let Some(hash) = unchanged {
                self.end_run(&mut run, touched)?;
                self.out
                    .add_branch(&child, hash, branch.stores_under(digit))?;
            } else if branch.stores_under(digit) {
                self.end_run(&mut run, touched)?;
                self.subtree(&child, &touched[own])?;
            } else {
                let holds_leaves = branch.has_child(digit);
                run = Some(match run.take() {
                    None => LeafRun {
                        first: child,
                        last: child,
                        touched: own,
                        holds_leaves,
                    },
                    Some(run) => LeafRun {
                        last: child,
                        touched: run.touched.start..own.end,
                        holds_leaves: run.holds_leaves || holds_leaves,
                        ..run
                    },
                });
            }
        }
        self.end_run(&mut run, touched)
    }

    fn end_run(
        &mut self,
        run: &mut Option<LeafRun>,
        touched: &[TrieLeaf],
    ) -> Result<(), StateTrieError<N::Error>> {
        match run.take() {
            Some(run) => self.leaves_of(&run, touched),
            None => Ok(()),
        }
    }

    /// Adds the leaves of a run, with the values that they have now.
    fn leaves_of(
        &mut self,
        run: &LeafRun,
        touched: &[TrieLeaf],
    ) -> Result<(), StateTrieError<N::Error>> {
        let (out, mut order) = (&mut self.out, Ok(()));
        let mut add = |path: &Hash, value: &Hash| {
            if order.is_ok() {
                order = out.add_leaf(path, value);
            }
        };
        let mut waiting = touched[run.touched.clone()].iter().peekable();
        if run.holds_leaves {
            let (first, last) = (run.first.first(), run.last.last());
            let read = self.leaves.leaves(&first, &last, &mut |path, value| {
                while let Some((touched, value)) = waiting.next_if(|(touched, _)| touched < path) {
                    add(touched, value);
                }
                let now = waiting.next_if(|(touched, _)| touched == path);
                add(path, now.map_or(value, |(_, value)| value));
            });
            read.map_err(StateTrieError::Read)?;
        }
        for (path, value) in waiting {
            add(path, value);
        }
        Ok(order?)
    }
}
