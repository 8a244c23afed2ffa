//! Proofs, from the stored branches on the way to a path and the leaves next to it.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use super::EMPTY_STATE_ROOT;
use super::branch::{NodePath, StoredBranch};
use super::encoding::{NodeBatch, nibble_at};
use super::forest::TrieForest;
use super::update::{StateLeaves, StateNodes, StateTrieError, TrieLeaf, require_rising};
use crate::Hash;
use crate::hash::keccak;

/// Nodes of one proof, from the root on.
type ProofNodes = Vec<Vec<u8>>;

/// Nodes of the proofs of several paths.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct StateProofNodes {
    /// The root that they lead to.
    pub root: Hash,
    /// For each path the nodes of its proof, of presence or of absence.
    pub nodes: Vec<ProofNodes>,
}

/// The nodes of the proofs of `paths`, strictly rising, in a state without changes since its branches were stored; `None` if
/// the branches and leaves do not fit together, because some of them were dropped.
///
/// # Errors
/// Branches or leaves could not be read, or paths do not rise.
pub fn prove_state<N: StateNodes, L: StateLeaves<Error = N::Error>>(
    nodes: &N,
    leaves: &L,
    paths: &[Hash],
) -> Result<Option<StateProofNodes>, StateTrieError<N::Error>> {
    require_rising(paths.iter())?;
    let mut prover = TrieProver {
        nodes,
        leaves,
        places: HashMap::new(),
    };
    let Some(top) = prover.place(NodePath::default())? else {
        return Ok(None);
    };
    let root = top.hash;
    let proofs = paths.iter().map(|path| prover.prove(path));
    let nodes: Option<_> = proofs.collect::<Result<_, _>>()?;
    Ok(nodes.map(|nodes| StateProofNodes { root, nodes }))
}

/// What stands at a place: a stored branch with the trees under it that are made from their leaves, or one such tree.
struct ProvenPlace {
    hash: Hash,
    /// The branch and its node.
    branch: Option<(StoredBranch, Vec<u8>)>,
    forest: TrieForest,
}

struct TrieProver<'a, N, L> {
    nodes: &'a N,
    leaves: &'a L,
    /// The places that were passed, `None` where the rows do not fit together. Paths share the upper ones.
    places: HashMap<NodePath, Option<ProvenPlace>>,
}

impl<N: StateNodes, L: StateLeaves<Error = N::Error>> TrieProver<'_, N, L> {
    fn prove(&mut self, path: &Hash) -> Result<Option<ProofNodes>, StateTrieError<N::Error>> {
        let mut proof = Vec::new();
        let mut place = NodePath::default();
        // What the node above says.
        let mut expected: Option<Hash> = None;
        loop {
            let found = self.place(place)?;
            let found = found.filter(|found| expected.is_none_or(|hash| found.hash == hash));
            let Some(ProvenPlace { branch, forest, .. }) = found else {
                return Ok(None);
            };
            let digit = nibble_at(path, place.depth());
            let child = branch.as_ref().and_then(|(branch, node)| {
                proof.push(node.clone());
                hash_of_stored(branch, digit)
            });
            let Some(hash) = child else {
                forest.prove(path, &mut proof);
                return Ok(Some(proof));
            };
            expected = Some(*hash);
            place = place.child(digit);
        }
    }

    fn place(&mut self, place: NodePath) -> Result<Option<&ProvenPlace>, StateTrieError<N::Error>> {
        let found = match self.places.entry(place) {
            Entry::Occupied(found) => found.into_mut(),
            Entry::Vacant(free) => free.insert(read_place(self.nodes, self.leaves, &place)?),
        };
        Ok(found.as_ref())
    }
}

/// The hash of a child that is a stored branch. Other children are made from their leaves.
fn hash_of_stored(branch: &StoredBranch, digit: u8) -> Option<&Hash> {
    branch.hash_of(digit).filter(|_| branch.stores_under(digit))
}

fn read_place<N: StateNodes, L: StateLeaves<Error = N::Error>>(
    nodes: &N,
    leaves: &L,
    place: &NodePath,
) -> Result<Option<ProvenPlace>, StateTrieError<N::Error>> {
    let branch = nodes.branch(place).map_err(StateTrieError::Read)?;
    let Some(branch) = branch else {
        if place.depth() > 0 {
            // The branch above says that there is one.
            return Ok(None);
        }
        let found = read_leaves(leaves, place, place)?;
        let forest = TrieForest::at(&found, place.depth());
        let hash = forest.top_hashes().next().map(|(_, hash)| hash);
        return Ok(Some(ProvenPlace {
            hash: hash.unwrap_or(EMPTY_STATE_ROOT),
            branch: None,
            forest,
        }));
    };
    let mut children = [Hash::ZERO; 16];
    let (mut found, mut run) = (Vec::new(), None);
    for digit in 0..16 {
        if let Some(hash) = hash_of_stored(&branch, digit) {
            children[usize::from(digit)] = *hash;
            if let Some((first, last)) = run.take() {
                found.extend(read_leaves(leaves, &first, &last)?);
            }
        } else if branch.has_child(digit) {
            let child = place.child(digit);
            run = Some((run.map_or(child, |(first, _)| first), child));
        }
    }
    if let Some((first, last)) = run {
        found.extend(read_leaves(leaves, &first, &last)?);
    }
    let forest = TrieForest::at(&found, place.depth() + 1);
    let mut state_mask = branch.tree_mask & branch.hash_mask;
    for (path, hash) in forest.top_hashes() {
        let digit = nibble_at(path, place.depth());
        children[usize::from(digit)] = hash;
        state_mask |= 1 << digit;
    }
    if state_mask != branch.state_mask {
        return Ok(None);
    }
    let mut node = NodeBatch::default();
    node.push_branch(&children, state_mask);
    let node = node.into_bytes();
    Ok(Some(ProvenPlace {
        hash: keccak(&node),
        branch: Some((branch, node)),
        forest,
    }))
}

fn read_leaves<L: StateLeaves>(
    leaves: &L,
    first: &NodePath,
    last: &NodePath,
) -> Result<Vec<TrieLeaf>, StateTrieError<L::Error>> {
    let mut found = Vec::new();
    let read = leaves.leaves(&first.first(), &last.last(), &mut |path, value| {
        found.push((*path, *value));
    });
    read.map_err(StateTrieError::Read)?;
    require_rising(found.iter().map(|(path, _)| path))?;
    Ok(found)
}
