//! Nodes over many leaves and branches together. A builder that takes them one by one hashes one node after the other; here
//! the nodes of one height are hashed side by side.

use alloy_trie::Nibbles;

use super::PATH_NIBBLES;
use super::branch::{NodePath, StoredBranch};
use super::encoding::{LEAF_FLAG, NodeBatch, nibble_at, shared_nibbles};
use super::update::TrieLeaf;
use crate::Hash;

/// A part of the state that is known whole.
#[derive(Clone, Copy)]
pub(super) struct TriePart {
    /// The path of a leaf, or the first path under a branch.
    pub(super) path: Hash,
    /// keccak256 of the leaf's entry, or the hash of the branch.
    pub(super) value: Hash,
    /// Nibbles that lead to the branch; all 64 for a leaf.
    pub(super) depth: usize,
    /// Whether the branch, or one under it, is stored.
    pub(super) is_stored: bool,
}

impl TriePart {
    pub(super) fn leaf(path: &Hash, value: &Hash) -> Self {
        Self {
            path: *path,
            value: *value,
            depth: PATH_NIBBLES,
            is_stored: false,
        }
    }

    pub(super) fn is_leaf(&self) -> bool {
        self.depth == PATH_NIBBLES
    }

    pub(super) fn place(&self) -> NodePath {
        NodePath(Nibbles::unpack_array(&self.path.0).slice(..self.depth))
    }

    /// Appends its node to those of a place above it: a leaf, or the extension that leads to a branch.
    fn push_short(&self, place: usize, nodes: &mut NodeBatch) {
        let flag = if self.is_leaf() { LEAF_FLAG } else { 0 };
        nodes.push_short(&self.path, place..self.depth, flag, &self.value);
    }

    /// The last path of the part.
    pub(super) fn last(&self) -> Hash {
        if self.is_leaf() {
            self.path
        } else {
            self.place().last()
        }
    }
}

/// A node of a tree.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum TreeNode {
    /// By its place in the list of parts.
    Part(usize),
    /// By its place in the list of branches that were made.
    Branch(usize),
}

/// The top of a tree.
#[derive(Clone, Copy)]
struct TreeTop {
    node: TreeNode,
    /// Where the node above looks for it.
    place: usize,
}

/// A branch over several parts.
pub(super) struct GrownBranch {
    /// A part under it.
    part: usize,
    depth: usize,
    /// Where the node above looks for it: its own depth, or less if an extension leads to it.
    place: usize,
    /// How many branches are below it on the longest way.
    height: usize,
    nodes: [Option<TreeNode>; 16],
    children: [Hash; 16],
    tree_mask: u16,
    hash_mask: u16,
    parent: Option<(usize, u8)>,
    hash: Hash,
}

impl GrownBranch {
    /// Whether it, or a branch under it, is stored.
    pub(super) fn is_stored(&self) -> bool {
        self.tree_mask | self.hash_mask != 0
    }

    pub(super) fn hash(&self) -> &Hash {
        &self.hash
    }

    fn state_mask(&self) -> u16 {
        let children = self.nodes.iter().zip(0..);
        children.fold(0, |mask, (child, digit)| {
            mask | u16::from(child.is_some()) << digit
        })
    }

    fn stored(&self) -> StoredBranch {
        let state_mask = self.state_mask();
        // An extension leads to the stored branch under a child that is none itself.
        let hash_mask = state_mask & !(self.tree_mask & !self.hash_mask);
        let hashes = self.children.iter().zip(0..);
        let hashes = hashes.filter(|(_, digit)| hash_mask >> digit & 1 == 1);
        StoredBranch {
            state_mask,
            tree_mask: self.tree_mask,
            hash_mask,
            hashes: hashes.map(|(hash, _)| *hash).collect(),
        }
    }
}

/// Trees over parts that follow one another.
pub(super) struct TrieForest {
    parts: Vec<TriePart>,
    /// The branch above each part, and its nibble there.
    parents: Vec<Option<(usize, u8)>>,
    branches: Vec<GrownBranch>,
    tops: Vec<TreeTop>,
}

impl TrieForest {
    /// Trees over parts whose paths rise, as few as their neighbours allow: `before` is a path of the part of the state
    /// before them, `after` one of the part that follows them. Each tree is below the topmost place.
    pub(super) fn between(
        parts: Vec<TriePart>,
        before: Option<&Hash>,
        after: Option<&Hash>,
    ) -> Self {
        let mut forest = Self::new(parts);
        let mut begin = 0;
        let mut before = before.copied();
        while let Some(first) = forest.parts.get(begin).map(|part| part.path) {
            // Nothing around the tree shares that many nibbles.
            let shared =
                |other: Option<&Hash>| other.map_or(0, |other| shared_nibbles(&first, other));
            let place = shared(before.as_ref()).max(shared(after)) + 1;
            begin = forest.grow_tree(begin, place);
            before = Some(forest.parts[begin - 1].path);
        }
        forest.hash_nodes();
        forest
    }

    /// One tree for each set of leaves that share `place` nibbles.
    pub(super) fn at(leaves: &[TrieLeaf], place: usize) -> Self {
        let parts = leaves.iter();
        let parts = parts.map(|(path, value)| TriePart::leaf(path, value));
        let mut forest = Self::new(parts.collect());
        let mut begin = 0;
        while begin < forest.parts.len() {
            begin = forest.grow_tree(begin, place);
        }
        forest.hash_nodes();
        forest
    }

    fn new(parts: Vec<TriePart>) -> Self {
        Self {
            parents: vec![None; parts.len()],
            branches: Vec::new(),
            tops: Vec::new(),
            parts,
        }
    }

    /// Bytes in memory, about.
    pub(super) fn byte_len(&self) -> usize {
        size_of_val(self.parts.as_slice())
            + size_of_val(self.parents.as_slice())
            + size_of_val(self.branches.as_slice())
            + size_of_val(self.tops.as_slice())
    }

    /// The tops of the trees, in the order of their paths.
    pub(super) fn tops(&self) -> impl Iterator<Item = TreeNode> {
        self.tops.iter().map(|top| top.node)
    }

    pub(super) fn part(&self, place: usize) -> &TriePart {
        &self.parts[place]
    }

    pub(super) fn branch(&self, place: usize) -> &GrownBranch {
        &self.branches[place]
    }

    pub(super) fn path_of(&self, branch: &GrownBranch) -> NodePath {
        let path = Nibbles::unpack_array(&self.parts[branch.part].path.0);
        NodePath(path.slice(..branch.depth))
    }

    /// The branches to store.
    pub(super) fn stored(&self) -> impl Iterator<Item = (NodePath, StoredBranch)> {
        let stored = self.branches.iter().filter(|branch| branch.is_stored());
        stored.map(|branch| (self.path_of(branch), branch.stored()))
    }

    /// For each tree a path in it, and the hash of the node that stands at the tree's place.
    pub(super) fn top_hashes(&self) -> impl Iterator<Item = (&Hash, Hash)> {
        let mut nodes = NodeBatch::default();
        for top in &self.tops {
            self.push_top(*top, &mut nodes);
        }
        let hashes = nodes.hashes().into_iter();
        let paths = self.tops.iter().map(|top| self.path_in(top.node));
        paths.zip(hashes)
    }

    /// A path under a node.
    fn path_in(&self, node: TreeNode) -> &Hash {
        match node {
            TreeNode::Part(part) => &self.parts[part].path,
            TreeNode::Branch(branch) => &self.parts[self.branches[branch].part].path,
        }
    }

    /// The node at the place of a tree over leaves.
    fn push_top(&self, TreeTop { node, place }: TreeTop, nodes: &mut NodeBatch) {
        match node {
            TreeNode::Part(part) => self.parts[part].push_short(place, nodes),
            TreeNode::Branch(branch) => {
                let branch = &self.branches[branch];
                if branch.depth == place {
                    nodes.push_branch(&branch.children, branch.state_mask());
                } else {
                    let path = &self.parts[branch.part].path;
                    nodes.push_short(path, place..branch.depth, 0, &branch.hash);
                }
            }
        }
    }

    /// Appends the nodes of the proof of `path` from the place of its tree on. Returns the value of its leaf; `None` if there is
    /// none.
    pub(super) fn prove(&self, path: &Hash, proof: &mut Vec<Vec<u8>>) -> Option<Hash> {
        let shares = |top: &&TreeTop| shared_nibbles(self.path_in(top.node), path) >= top.place;
        let mut next = self.tops.iter().find(shares).copied();
        let mut nodes = NodeBatch::default();
        let mut value = None;
        while let Some(top) = next.take() {
            self.push_top(top, &mut nodes);
            match top.node {
                TreeNode::Part(part) => {
                    let part = &self.parts[part];
                    value = (part.path == *path).then_some(part.value);
                }
                TreeNode::Branch(place) => next = self.under(top, place, path),
            }
        }
        proof.extend(nodes.nodes().map(<[u8]>::to_vec));
        value
    }

    /// What stands under a branch, or under the extension that leads to it, on the way to `path`.
    fn under(&self, top: TreeTop, place: usize, path: &Hash) -> Option<TreeTop> {
        let branch = &self.branches[place];
        if branch.depth > top.place {
            // After the extension comes its branch, if the path leads there.
            let leads_on = shared_nibbles(self.path_in(top.node), path) >= branch.depth;
            return leads_on.then_some(TreeTop {
                place: branch.depth,
                ..top
            });
        }
        let child = branch.nodes[usize::from(nibble_at(path, branch.depth))];
        child.map(|node| TreeTop {
            node,
            place: branch.depth + 1,
        })
    }

    /// Finds the branches over the parts from `begin` on that share `place` nibbles: one wherever the common beginning of
    /// two neighbours ends. Returns where the next tree begins.
    fn grow_tree(&mut self, begin: usize, place: usize) -> usize {
        let mut open: Vec<usize> = Vec::new();
        let mut node = TreeNode::Part(begin);
        let mut next = begin + 1;
        while let Some(part) = self.parts.get(next) {
            let depth = shared_nibbles(&self.parts[next - 1].path, &part.path);
            if depth < place {
                break;
            }
            while let Some(top) = open.pop_if(|top| self.branches[*top].depth > depth) {
                self.attach(node, top, next - 1);
                node = TreeNode::Branch(top);
            }
            let top = open.last().copied();
            let top = top.filter(|top| self.branches[*top].depth == depth);
            let top = top.unwrap_or_else(|| {
                open.push(self.branches.len());
                self.open_branch(next, depth, place)
            });
            self.attach(node, top, next - 1);
            node = TreeNode::Part(next);
            next += 1;
        }
        while let Some(top) = open.pop() {
            self.attach(node, top, next - 1);
            node = TreeNode::Branch(top);
        }
        self.tops.push(TreeTop { node, place });
        next
    }

    fn open_branch(&mut self, part: usize, depth: usize, place: usize) -> usize {
        self.branches.push(GrownBranch {
            part,
            depth,
            place,
            height: 0,
            nodes: [None; 16],
            children: [Hash::ZERO; 16],
            tree_mask: 0,
            hash_mask: 0,
            parent: None,
            hash: Hash::ZERO,
        });
        self.branches.len() - 1
    }

    /// Puts a complete node, with `part` under it, below a branch.
    fn attach(&mut self, node: TreeNode, top: usize, part: usize) {
        let depth = self.branches[top].depth;
        let digit = nibble_at(&self.parts[part].path, depth);
        let bit = 1 << digit;
        self.branches[top].nodes[usize::from(digit)] = Some(node);
        let (child_depth, is_stored) = match node {
            TreeNode::Part(part) => {
                self.parents[part] = Some((top, digit));
                let part = &self.parts[part];
                (part.depth, part.is_stored)
            }
            TreeNode::Branch(child) => {
                let child = &mut self.branches[child];
                child.parent = Some((top, digit));
                child.place = depth + 1;
                let (height, child_depth, is_stored) =
                    (child.height + 1, child.depth, child.is_stored());
                let top = &mut self.branches[top];
                top.height = top.height.max(height);
                (child_depth, is_stored)
            }
        };
        // An extension hides its branch from the one above it.
        let is_branch = child_depth == depth + 1 && child_depth < PATH_NIBBLES;
        let top = &mut self.branches[top];
        top.hash_mask |= if is_branch { bit } else { 0 };
        top.tree_mask |= if is_stored { bit } else { 0 };
    }

    fn hash_nodes(&mut self) {
        let mut nodes = NodeBatch::default();
        let mut owners = Vec::new();
        for (part, parent) in self.parts.iter().zip(&self.parents) {
            let Some((top, digit)) = *parent else {
                continue;
            };
            let place = self.branches[top].depth + 1;
            if part.is_leaf() || part.depth > place {
                part.push_short(place, &mut nodes);
                owners.push((top, digit));
            } else {
                self.branches[top].children[usize::from(digit)] = part.value;
            }
        }
        for ((top, digit), hash) in owners.drain(..).zip(nodes.hashes()) {
            self.branches[top].children[usize::from(digit)] = hash;
        }
        // Nodes of about one size are hashed side by side.
        let size = |branch: &GrownBranch| branch.state_mask().count_ones();
        let order = self.branches.iter().zip(0..);
        let mut order: Vec<_> = order
            .map(|(branch, place)| (branch.height, size(branch), place))
            .collect();
        order.sort_unstable();
        for level in order.chunk_by(|(one, ..), (other, ..)| one == other) {
            nodes.clear();
            for (_, _, place) in level {
                let branch = &self.branches[*place];
                nodes.push_branch(&branch.children, branch.state_mask());
            }
            for ((_, _, place), hash) in level.iter().zip(nodes.hashes()) {
                self.branches[*place].hash = hash;
            }
            self.link(level.iter().map(|(_, _, place)| *place), &mut nodes);
        }
    }

    /// Puts the hashes of branches into those above them, through extensions where the two are not neighbours.
    fn link(&mut self, level: impl Iterator<Item = usize>, nodes: &mut NodeBatch) {
        nodes.clear();
        let mut owners = Vec::new();
        for branch in level {
            let branch = &self.branches[branch];
            let Some((top, digit)) = branch.parent else {
                continue;
            };
            let (hash, place) = (branch.hash, branch.place);
            if place == branch.depth {
                self.branches[top].children[usize::from(digit)] = hash;
            } else {
                let path = &self.parts[branch.part].path;
                nodes.push_short(path, place..branch.depth, 0, &hash);
                owners.push((top, digit));
            }
        }
        for ((top, digit), hash) in owners.into_iter().zip(nodes.hashes()) {
            self.branches[top].children[usize::from(digit)] = hash;
        }
    }
}
