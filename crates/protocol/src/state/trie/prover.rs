//! Proofs, from the stored branches on the way to a path and the leaves next to it.

use std::cell::RefCell;
use std::collections::HashMap;
use std::hash::BuildHasher;
use std::sync::Arc;

use super::EMPTY_STATE_ROOT;
use super::branch::{NodePath, StoredBranch};
use super::encoding::{NodeBatch, nibble_at};
use super::forest::TrieForest;
use super::update::{StateLeaves, StateNodes, StateTrieError, TrieLeaf, require_rising};
use crate::Hash;
use crate::hash::keccak;

/// Nodes of one proof, from the root on.
type ProofNodes = Vec<Vec<u8>>;

/// The proof of one path.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PathProof {
    /// Its nodes, from the root on.
    pub nodes: ProofNodes,
    /// keccak256 of the entry whose presence it shows; `None` if it shows absence.
    pub value: Option<Hash>,
}

/// Nodes of the proofs of several paths.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct StateProofNodes {
    /// The root that they lead to.
    pub root: Hash,
    /// For each path the nodes of its proof, of presence or of absence.
    pub nodes: Vec<ProofNodes>,
}

/// What stands at a place: a stored branch with the trees under it whose hashes it lacks, or a tree that is made from its
/// leaves.
pub struct ProvenPlace {
    hash: Hash,
    /// The branch and its node.
    branch: Option<(StoredBranch, Vec<u8>)>,
    forest: TrieForest,
}

impl ProvenPlace {
    /// Bytes in memory, about.
    pub fn byte_len(&self) -> usize {
        let branch = self.branch.as_ref().map_or(0, |(branch, node)| {
            size_of::<Hash>() * branch.hashes.len() + node.len()
        });
        size_of::<Self>() + branch + self.forest.byte_len()
    }

    /// A place without a stored branch, made from its leaves; `None` if there are none, except at the top.
    fn of_leaves<L: StateLeaves>(
        leaves: &L,
        place: &NodePath,
    ) -> Result<Option<Self>, StateTrieError<L::Error>> {
        let found = read_leaves(leaves, place, place)?;
        let forest = TrieForest::at(&found, place.depth());
        let top = forest.top_hashes().next().map(|(_, hash)| hash);
        let hash = top.or((place.depth() == 0).then_some(EMPTY_STATE_ROOT));
        Ok(hash.map(|hash| Self {
            hash,
            branch: None,
            forest,
        }))
    }
}

/// Places that were read, under their path and hash. The hash names everything under a place, so a place is right in every
/// state that has it.
pub trait ProvenPlaces {
    /// The place, if it is remembered.
    fn find(&self, path: &NodePath, hash: &Hash) -> Option<Arc<ProvenPlace>>;

    /// Remembers a place whose hash is `hash`.
    fn keep(&self, path: &NodePath, hash: &Hash, place: &Arc<ProvenPlace>);
}

/// Remembers every place.
impl<S: BuildHasher> ProvenPlaces for RefCell<HashMap<(NodePath, Hash), Arc<ProvenPlace>, S>> {
    fn find(&self, path: &NodePath, hash: &Hash) -> Option<Arc<ProvenPlace>> {
        self.borrow().get(&(*path, *hash)).cloned()
    }

    fn keep(&self, path: &NodePath, hash: &Hash, place: &Arc<ProvenPlace>) {
        self.borrow_mut().insert((*path, *hash), Arc::clone(place));
    }
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
    let top = NodePath::default();
    let Some(place) = read_place(nodes, leaves, &top)? else {
        return Ok(None);
    };
    let root = place.hash;
    let places = RefCell::new(HashMap::<_, _>::new());
    places.keep(&top, &root, &Arc::new(place));
    let proofs = prove_state_at(nodes, leaves, &root, paths, &places)?;
    Ok(proofs.map(|proofs| StateProofNodes {
        root,
        nodes: proofs.into_iter().map(|proof| proof.nodes).collect(),
    }))
}

/// The proof of each path in the state with this root; `None` if the branches and leaves do not give the root. A place in
/// `places` is not read again, so that the entries may be gone although there is a proof.
///
/// # Errors
/// Branches or leaves could not be read, or leaves do not rise.
pub fn prove_state_at<N: StateNodes, L: StateLeaves<Error = N::Error>, P: ProvenPlaces>(
    nodes: &N,
    leaves: &L,
    root: &Hash,
    paths: &[Hash],
    places: &P,
) -> Result<Option<Vec<PathProof>>, StateTrieError<N::Error>> {
    let prover = TrieProver {
        nodes,
        leaves,
        places,
    };
    let proofs = paths.iter().map(|path| prover.prove(root, path));
    proofs.collect()
}

struct TrieProver<'a, N, L, P> {
    nodes: &'a N,
    leaves: &'a L,
    places: &'a P,
}

impl<N: StateNodes, L: StateLeaves<Error = N::Error>, P: ProvenPlaces> TrieProver<'_, N, L, P> {
    fn prove(
        &self,
        root: &Hash,
        path: &Hash,
    ) -> Result<Option<PathProof>, StateTrieError<N::Error>> {
        let mut nodes = Vec::new();
        let mut place = NodePath::default();
        // What the node above says of the place.
        let (mut expected, mut is_stored) = (*root, true);
        loop {
            let Some(found) = self.place(&place, &expected, is_stored)? else {
                return Ok(None);
            };
            let digit = nibble_at(path, place.depth());
            let child = found.branch.as_ref().and_then(|(branch, node)| {
                nodes.push(node.clone());
                let hash = branch.hash_of(digit)?;
                Some((*hash, branch.stores_under(digit)))
            });
            let Some(next) = child else {
                let value = found.forest.prove(path, &mut nodes);
                return Ok(Some(PathProof { nodes, value }));
            };
            (expected, is_stored) = next;
            place = place.child(digit);
        }
    }

    /// The place, if the rows give its hash.
    fn place(
        &self,
        path: &NodePath,
        hash: &Hash,
        is_stored: bool,
    ) -> Result<Option<Arc<ProvenPlace>>, StateTrieError<N::Error>> {
        if !is_stored {
            let read = ProvenPlace::of_leaves(self.leaves, path)?;
            return Ok(read.filter(|read| read.hash == *hash).map(Arc::new));
        }
        if let Some(found) = self.places.find(path, hash) {
            return Ok(Some(found));
        }
        let read = read_place(self.nodes, self.leaves, path)?;
        let read = read.filter(|read| read.hash == *hash).map(Arc::new);
        if let Some(read) = &read {
            self.places.keep(path, hash, read);
        }
        Ok(read)
    }
}

fn read_place<N: StateNodes, L: StateLeaves<Error = N::Error>>(
    nodes: &N,
    leaves: &L,
    place: &NodePath,
) -> Result<Option<ProvenPlace>, StateTrieError<N::Error>> {
    let branch = nodes.branch(place).map_err(StateTrieError::Read)?;
    let Some(branch) = branch else {
        // Without a branch at the top, all is made from the leaves. Elsewhere the branch above says that there is one.
        let is_top = place.depth() == 0;
        return if is_top {
            ProvenPlace::of_leaves(leaves, place)
        } else {
            Ok(None)
        };
    };
    let mut children = [Hash::ZERO; 16];
    let (mut found, mut run) = (Vec::new(), None);
    for digit in 0..16 {
        if let Some(hash) = branch.hash_of(digit) {
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
    let mut state_mask = branch.hash_mask;
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
