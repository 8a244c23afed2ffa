//! The next root and proofs, from the stored branches and the leaves next to what changed. The walk enters only branches
//! above a changed path; every other branch gives its stored hash. Entries never leave the state, so a branch stays one.

use std::collections::BTreeMap;

use alloy_trie::HashBuilder;
use alloy_trie::Nibbles;
use alloy_trie::proof::ProofRetainer;

use super::branch::{NodePath, StoredBranch};
use super::build::{PathOrderError, StateRootBuilder};
use super::node::nibble;
use super::{EMPTY_STATE_ROOT, PATH_NIBBLES};
use crate::Hash;

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

/// Nodes of the proofs of several paths.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct StateProofNodes {
    /// The root that they lead to.
    pub root: Hash,
    /// For each path the nodes of its proof, of presence or of absence.
    pub nodes: Vec<Vec<Vec<u8>>>,
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
    let touched = changes.iter().map(|(path, value)| PathTouch {
        path: *path,
        value: Some(*value),
    });
    let mut walk = TrieWalk {
        nodes,
        leaves,
        out: StateRootBuilder::keeping_branches(),
    };
    walk.whole(&touched.collect::<Vec<_>>())?;
    let (root, branches) = walk.out.finish();
    Ok(StateUpdate { root, branches })
}

/// The nodes of the proofs of `paths`, strictly rising, in a state without changes since its branches were stored.
///
/// # Errors
/// Branches or leaves could not be read, or paths do not rise.
pub fn prove_state<N: StateNodes, L: StateLeaves<Error = N::Error>>(
    nodes: &N,
    leaves: &L,
    paths: &[Hash],
) -> Result<StateProofNodes, StateTrieError<N::Error>> {
    let targets: Vec<Nibbles> = paths
        .iter()
        .map(|path| Nibbles::unpack_array(&path.0))
        .collect();
    let retainer = ProofRetainer::new(targets.clone());
    let mut walk = TrieWalk {
        nodes,
        leaves,
        out: StateRootBuilder {
            builder: HashBuilder::default().with_proof_retainer(retainer),
        },
    };
    let touched = paths.iter().map(|path| PathTouch {
        path: *path,
        value: None,
    });
    walk.whole(&touched.collect::<Vec<_>>())?;
    let root = Hash(walk.out.builder.root().0);
    let retained: BTreeMap<Nibbles, Vec<u8>> = walk
        .out
        .builder
        .take_proof_nodes()
        .into_inner()
        .into_iter()
        .map(|(path, node)| (path, node.to_vec()))
        .collect();
    let nodes_of = |target: &Nibbles| {
        let prefixes = (0..=PATH_NIBBLES).map(|length| target.slice(..length));
        let nodes = prefixes.filter_map(|prefix| retained.get(&prefix).cloned());
        nodes.collect::<Vec<_>>()
    };
    let nodes = if root == EMPTY_STATE_ROOT {
        vec![Vec::new(); targets.len()]
    } else {
        targets.iter().map(nodes_of).collect()
    };
    Ok(StateProofNodes { root, nodes })
}

/// A path that the walk follows to its end.
struct PathTouch {
    path: Hash,
    /// The value that it has now; `None` if the stored leaf, if any, is unchanged.
    value: Option<Hash>,
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
    fn whole(&mut self, touched: &[PathTouch]) -> Result<(), StateTrieError<N::Error>> {
        let falls = |pair: &&[PathTouch]| pair[0].path >= pair[1].path;
        if let Some(pair) = touched.windows(2).find(falls) {
            return Err(PathOrderError(pair[1].path).into());
        }
        self.subtree(&NodePath::default(), touched)
    }

    /// Adds everything under a place. The recursion is as deep as the path is long, at most 64.
    fn subtree(
        &mut self,
        place: &NodePath,
        touched: &[PathTouch],
    ) -> Result<(), StateTrieError<N::Error>> {
        let branch = self.nodes.branch(place).map_err(StateTrieError::Read)?;
        let Some(branch) = branch else {
            return self.leaves_of(
                &LeafRun {
                    first: *place,
                    last: *place,
                    touched: 0..touched.len(),
                    holds_leaves: true,
                },
                touched,
            );
        };
        let mut run: Option<LeafRun> = None;
        let mut begin = 0;
        for digit in 0..16 {
            let after = &touched[begin..];
            let own =
                after.partition_point(|touch| nibble(&touch.path.0, place.len()) <= Some(digit));
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
        touched: &[PathTouch],
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
        touched: &[PathTouch],
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
                while let Some(touch) = waiting.next_if(|touch| touch.path < *path) {
                    touch.value.iter().for_each(|value| add(&touch.path, value));
                }
                let touch = waiting.next_if(|touch| touch.path == *path);
                let now = touch.and_then(|touch| touch.value);
                add(path, &now.unwrap_or(*value));
            });
            read.map_err(StateTrieError::Read)?;
        }
        for touch in waiting {
            touch.value.iter().for_each(|value| add(&touch.path, value));
        }
        Ok(order?)
    }
}
