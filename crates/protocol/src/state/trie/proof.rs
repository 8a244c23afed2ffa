//! State proofs: that the state holds an entry under a key, or none.

use serde::{Deserialize, Serialize};

use super::node::{NodeProblem, ReadNode};
use super::{EMPTY_STATE_ROOT, state_path};
use crate::Hash;
use crate::checkpoint::Checkpoint;
use crate::hash::keccak;
use crate::ids::{Id, Prefix};
use crate::state::entry::{EntryError, StateEntry, has_entries};

/// A proof that the state holds `entry` under `key`, or, if `entry` is empty, that it holds nothing there.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StateProof {
    /// The resource's id.
    pub key: Id,
    /// The entry's RLP; empty for absence.
    #[serde(with = "hex")]
    pub entry: Vec<u8>,
    /// The nodes from the root to the path's end, each of them used; none for an empty state.
    #[serde(with = "hex_list")]
    pub nodes: Vec<Vec<u8>>,
}

/// Why a state proof does not show what it claims.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum StateProofError {
    /// The checkpoint has no root.
    #[error("the checkpoint has no state root")]
    NoRoot,
    /// No resource with an entry has such an id.
    #[error("the state has no keys that begin with {0}_")]
    Key(&'static str),
    /// The id of an action is a key only for the entry of a sequencer key.
    #[error("the absence of an action's id says nothing: only sequencer keys have entries there")]
    AbsentAction,
    /// A node is not the one that the root, or the node before, names.
    #[error("node {0} is not the one that the node before it, or the root, names")]
    OtherNode(usize),
    /// A node has another form than the trie's nodes.
    #[error("node {index} {problem}")]
    Node {
        /// The node's place in the proof, from 0.
        index: usize,
        /// What is wrong with it.
        problem: NodeProblem,
    },
    /// The path does not end in the last node.
    #[error("the proof ends before its path does")]
    TooShort,
    /// Nodes are left over.
    #[error("the proof has nodes that no step uses")]
    TooLong,
    /// The state holds something else under the key, or nothing.
    #[error("the state does not hold this entry under the key")]
    OtherEntry,
    /// The state holds an entry under a key that is claimed to be absent.
    #[error("the state holds an entry under the key")]
    Present,
    /// The state holds a malformed entry, which is a fault of the sequencer.
    #[error(transparent)]
    Entry(#[from] EntryError),
}

impl StateProof {
    /// Checks that a state with this root holds the entry under the key, or nothing if the entry is empty. Whether the
    /// entry is well-formed is another question; [`Self::read`] asks both.
    ///
    /// # Errors
    /// The root is zero, the key can have no entry, or the nodes do not lead there in the one form.
    pub fn verify(&self, root: &Hash) -> Result<(), StateProofError> {
        require_held(root, &self.key, &self.entry, &self.nodes)
    }

    /// What the proof shows at a checkpoint, whose signature the caller checks: the entry of the key after the
    /// checkpoint's last action, or `None` if the log had not made the resource.
    ///
    /// # Errors
    /// The proof does not hold, the entry is malformed, or the absence is that of an action.
    pub fn read(&self, checkpoint: &Checkpoint) -> Result<Option<StateEntry>, StateProofError> {
        verify_nodes(&self.key, &self.entry, &self.nodes, checkpoint)
    }
}

/// [`StateProof::verify`] of nodes that are kept elsewhere.
fn require_held<N: AsRef<[u8]>>(
    root: &Hash,
    key: &Id,
    entry: &[u8],
    nodes: &[N],
) -> Result<(), StateProofError> {
    if !has_entries(key.prefix) {
        return Err(StateProofError::Key(key.prefix.text()));
    }
    let held = walk(root, &state_path(key), nodes)?;
    match (held, entry.is_empty()) {
        (None, true) => Ok(()),
        (Some(_), true) => Err(StateProofError::Present),
        (Some(value), false) if value == keccak(entry) => Ok(()),
        (_, false) => Err(StateProofError::OtherEntry),
    }
}

/// [`StateProof::read`] of nodes that are kept elsewhere.
pub(crate) fn verify_nodes<N: AsRef<[u8]>>(
    key: &Id,
    entry: &[u8],
    nodes: &[N],
    checkpoint: &Checkpoint,
) -> Result<Option<StateEntry>, StateProofError> {
    require_held(&checkpoint.state, key, entry, nodes)?;
    if !entry.is_empty() {
        let entry = StateEntry::decode(key, entry, checkpoint.sequence)?;
        return Ok(Some(entry));
    }
    if key.prefix == Prefix::Action {
        return Err(StateProofError::AbsentAction);
    }
    Ok(None)
}

/// Follows `path` from the root; returns the value at its end. Uses every node.
fn walk<N: AsRef<[u8]>>(
    root: &Hash,
    path: &Hash,
    nodes: &[N],
) -> Result<Option<Hash>, StateProofError> {
    if *root == Hash::ZERO {
        return Err(StateProofError::NoRoot);
    }
    if *root == EMPTY_STATE_ROOT {
        return if nodes.is_empty() {
            Ok(None)
        } else {
            Err(StateProofError::TooLong)
        };
    }
    let mut place = TriePlace {
        expected: *root,
        depth: 0,
        follows_extension: false,
    };
    for (index, node) in nodes.iter().enumerate() {
        let node = node.as_ref();
        if keccak(node) != place.expected {
            return Err(StateProofError::OtherNode(index));
        }
        let step = place.step(path, node);
        match step.map_err(|problem| StateProofError::Node { index, problem })? {
            NodeStep::Child(next) => place = next,
            NodeStep::End(_) if index + 1 < nodes.len() => return Err(StateProofError::TooLong),
            NodeStep::End(value) => return Ok(value),
        }
    }
    Err(StateProofError::TooShort)
}

/// Whether the nodes show that a trie with this root is broken: each is the one that the root or the node before names
/// on the way along `path`, and the last one alone has not the one form of a node at its place.
pub fn breaks_trie(root: &Hash, path: &Hash, nodes: &[Vec<u8>]) -> bool {
    let last = nodes.len().checked_sub(1);
    matches!(
        walk(root, path, nodes),
        Err(StateProofError::Node { index, .. }) if Some(index) == last
    )
}

/// A place on the way along a path.
struct TriePlace {
    /// The hash of the node that stands here.
    expected: Hash,
    /// Nibbles of the path before it.
    depth: usize,
    /// Whether the node before is an extension, so that only a branch may follow.
    follows_extension: bool,
}

/// Where a node leads along a path.
enum NodeStep {
    Child(TriePlace),
    /// The path ends here, with this value or with none.
    End(Option<Hash>),
}

impl TriePlace {
    fn step(&self, path: &Hash, node: &[u8]) -> Result<NodeStep, NodeProblem> {
        let depth = self.depth;
        let node = ReadNode::read(node, path, depth)?;
        if self.follows_extension && !matches!(node, ReadNode::Branch(_)) {
            return Err(NodeProblem::AfterExtension);
        }
        Ok(match node {
            ReadNode::Branch(Some(expected)) => NodeStep::Child(Self {
                expected,
                depth: depth + 1,
                follows_extension: false,
            }),
            ReadNode::Extension(nibbles, expected) if nibbles.continues(path, depth) => {
                NodeStep::Child(Self {
                    expected,
                    depth: depth + nibbles.len(),
                    follows_extension: true,
                })
            }
            ReadNode::Leaf(nibbles, value) if nibbles.continues(path, depth) => {
                NodeStep::End(Some(value))
            }
            ReadNode::Branch(None) | ReadNode::Extension(..) | ReadNode::Leaf(..) => {
                NodeStep::End(None)
            }
        })
    }
}

/// Serde: bytes as `0x` and hexadecimal digits.
pub(crate) mod hex {
    use std::borrow::Cow;

    use serde::{Deserialize, Deserializer, Serializer, de::Error};

    use crate::hash::to_hex;

    pub(crate) fn serialize<S: Serializer>(bytes: &[u8], serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&to_hex(bytes))
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Vec<u8>, D::Error> {
        read(&Cow::<'de, str>::deserialize(deserializer)?)
    }

    pub(super) fn read<E: Error>(text: &str) -> Result<Vec<u8>, E> {
        let digits = text.strip_prefix("0x");
        let digits = digits.ok_or_else(|| E::custom("must begin with 0x"))?;
        const_hex::decode(digits).map_err(E::custom)
    }
}

/// Serde: a list of bytes.
pub(crate) mod hex_list {
    use serde::{Deserialize, Deserializer, Serializer};

    use super::hex;
    use crate::hash::to_hex;

    pub(crate) fn serialize<S: Serializer>(
        list: &[Vec<u8>],
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(list.iter().map(|bytes| to_hex(bytes)))
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Vec<Vec<u8>>, D::Error> {
        let texts: Vec<String> = Vec::deserialize(deserializer)?;
        texts.iter().map(|text| hex::read(text)).collect()
    }
}

#[cfg(test)]
mod tests {
    use alloy_rlp::{Encodable, Header};

    use super::super::node::nibble;
    use super::*;

    /// A list of texts as RLP.
    fn list(items: &[&[u8]]) -> Vec<u8> {
        let payload_length = items.iter().map(Encodable::length).sum();
        let mut out = Vec::new();
        Header {
            list: true,
            payload_length,
        }
        .encode(&mut out);
        for item in items {
            item.encode(&mut out);
        }
        out
    }

    const PATH: Hash = Hash([0xab; 32]);

    /// The compact form of `PATH` from `depth` to `end`.
    fn compact(flag: u8, depth: usize, end: usize) -> Vec<u8> {
        let nibbles: Vec<u8> = (depth..end)
            .map(|place| nibble(&PATH.0, place).unwrap())
            .collect();
        let mut all = vec![flag | (nibbles.len() % 2) as u8];
        if nibbles.len().is_multiple_of(2) {
            all.push(0);
        }
        all.extend(nibbles);
        all.chunks(2).map(|pair| pair[0] << 4 | pair[1]).collect()
    }

    fn leaf(depth: usize) -> Vec<u8> {
        list(&[&compact(2, depth, 64), &[7; 32]])
    }

    fn extension(depth: usize, end: usize, child: &[u8]) -> Vec<u8> {
        list(&[&compact(0, depth, end), &keccak(child).0])
    }

    /// A branch on the way along `PATH`, with one more child.
    fn branch(depth: usize, child: &[u8]) -> Vec<u8> {
        let own = usize::from(nibble(&PATH.0, depth).unwrap());
        let child = keccak(child);
        let mut items: [&[u8]; 17] = [&[]; 17];
        items[own] = &child.0;
        items[own ^ 1] = &[9; 32];
        list(&items)
    }

    fn walked(nodes: &[Vec<u8>]) -> Result<Option<Hash>, StateProofError> {
        walk(&keccak(&nodes[0]), &PATH, nodes)
    }

    fn problem(nodes: &[Vec<u8>]) -> Option<NodeProblem> {
        let root = keccak(&nodes[0]);
        let Err(StateProofError::Node { index, problem }) = walked(nodes) else {
            assert!(!breaks_trie(&root, &PATH, nodes));
            return None;
        };
        assert_eq!(breaks_trie(&root, &PATH, nodes), index + 1 == nodes.len());
        Some(problem)
    }

    #[test]
    fn a_path_may_be_as_deep_as_it_is_long() {
        let value = Ok(Some(Hash([7; 32])));
        let mut node = leaf(64);
        let mut nodes = vec![node.clone()];
        for depth in (0..64).rev() {
            node = branch(depth, &node);
            nodes.insert(0, node.clone());
        }
        assert_eq!(nodes.len(), 65);
        assert_eq!(walked(&nodes), value);
        // A branch after the 64th nibble has no nibble to branch on.
        let mut deep = vec![branch(0, &leaf(1))];
        for depth in (0..64).rev() {
            deep.insert(0, branch(depth, &deep[0]));
        }
        assert_eq!(problem(&deep), Some(NodeProblem::Path));
    }

    #[test]
    fn a_path_fills_exactly_its_nibbles() {
        assert_eq!(walked(&[leaf(0)]), Ok(Some(Hash([7; 32]))));
        let wrong = [leaf(1), list(&[&compact(2, 0, 63), &[7; 32]])];
        for node in wrong {
            assert_eq!(problem(&[node]), Some(NodeProblem::Path));
        }
        let node = branch(0, &leaf(0));
        assert_eq!(problem(&[node, leaf(0)]), Some(NodeProblem::Path));
        let node = branch(0, &leaf(1));
        assert_eq!(problem(&[node.clone(), leaf(1)]), None);
        assert_eq!(walked(&[node]), Err(StateProofError::TooShort));
    }

    #[test]
    fn an_extension_leads_to_a_branch() {
        let below = branch(5, &leaf(6));
        let good = [extension(0, 5, &below), below.clone(), leaf(6)];
        assert_eq!(walked(&good), Ok(Some(Hash([7; 32]))));
        let to_leaf = [extension(0, 5, &leaf(5)), leaf(5)];
        assert_eq!(problem(&to_leaf), Some(NodeProblem::AfterExtension));
        let inner = extension(5, 6, &branch(6, &leaf(7)));
        let to_extension = [extension(0, 5, &inner), inner];
        assert_eq!(problem(&to_extension), Some(NodeProblem::AfterExtension));
        for (end, expected) in [
            (0, Some(NodeProblem::Path)),
            (63, None),
            (64, Some(NodeProblem::Path)),
        ] {
            assert_eq!(problem(&[extension(0, end, &below)]), expected, "{end}");
        }
        // A path that leaves the extension is absent: what follows is not looked at.
        let away = list(&[&[0x1c], &keccak(&below).0]);
        assert_eq!(walked(&[away]), Ok(None));
    }

    #[test]
    fn a_node_has_one_form() {
        let mut one_child: [&[u8]; 17] = [&[]; 17];
        one_child[3] = &[9; 32];
        let mut two = one_child;
        two[4] = &[8; 32];
        let mut with_value = two;
        with_value[16] = &[1];
        let mut short_child = two;
        short_child[5] = &[9; 31];
        let mut after = leaf(0);
        after.push(0x80);
        for (node, expected) in [
            (list(&two), None),
            (list(&one_child), Some(NodeProblem::Branch)),
            (list(&with_value), Some(NodeProblem::Branch)),
            (list(&short_child), Some(NodeProblem::NotAHash)),
            (
                list(&[&compact(2, 0, 64), &[7; 33]]),
                Some(NodeProblem::NotAHash),
            ),
            (
                list(&[&compact(2, 0, 64), &[7; 31]]),
                Some(NodeProblem::NotAHash),
            ),
            (
                list(&[&compact(4, 0, 64), &[7; 32]]),
                Some(NodeProblem::Path),
            ),
            (list(&[&[], &[7; 32]]), Some(NodeProblem::Path)),
            (list(&[&[7; 32]]), Some(NodeProblem::Shape)),
            (list(&[&[0x20], &[7; 32], &[]]), Some(NodeProblem::Shape)),
            (list(&[[7].as_slice(); 40]), Some(NodeProblem::Shape)),
            (list(&[&[0x20], &[7; 20]]), Some(NodeProblem::Short)),
            (after, Some(NodeProblem::Shape)),
        ] {
            assert_eq!(
                problem(std::slice::from_ref(&node)),
                expected,
                "{node:02x?}"
            );
        }
        // A child that is a list: a node inside its parent.
        let mut nested = list(&two);
        nested[2] = 0xc0;
        assert!(matches!(problem(&[nested]), Some(NodeProblem::Rlp(_))));
        // The text in place of a list, and a length that goes past the end.
        let mut text = Vec::new();
        [7_u8; 40].as_slice().encode(&mut text);
        assert!(matches!(problem(&[text]), Some(NodeProblem::Rlp(_))));
        let mut cut = leaf(0);
        cut.pop();
        assert!(matches!(problem(&[cut]), Some(NodeProblem::Rlp(_))));
    }

    #[test]
    fn only_the_last_node_breaks_a_trie() {
        let below = branch(1, &leaf(2));
        let nodes = [branch(0, &below), below, leaf(2)];
        let root = keccak(&nodes[0]);
        assert!(!breaks_trie(&root, &PATH, &nodes));
        assert!(!breaks_trie(&root, &PATH, &[]));
        let bad = leaf(1);
        let broken = [branch(0, &bad), list(&[&[0x60], &[7; 32]])];
        // The node is not the one that the branch names.
        assert!(!breaks_trie(&keccak(&broken[0]), &PATH, &broken));
        let bad = list(&[&[0x60], &[7; 32]]);
        let broken = [branch(0, &bad), bad.clone()];
        assert!(breaks_trie(&keccak(&broken[0]), &PATH, &broken));
        assert!(!breaks_trie(&Hash::ZERO, &PATH, &broken));
        let followed = [broken[0].clone(), bad.clone(), bad];
        assert!(!breaks_trie(&keccak(&followed[0]), &PATH, &followed));
    }
}
