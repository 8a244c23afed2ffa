"""The state's Merkle-Patricia trie: its nodes, and proofs of what it holds.

Keys are ids, their paths the 64 nibbles of keccak256; values are the hashes of entries. A proof has one form: the nodes
from the root to where the path ends, each used once, in this order.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from ..errors import BrokenTrie, Refused
from .hashing import ZERO, keccak
from .rlp import decode_rlp

EMPTY_ROOT: Final = keccak(b"\x80")
"""Root of a trie without entries, which has no nodes."""
PATH_NIBBLES: Final = 64
NODE_BYTES_MIN: Final = 32
NODE_BYTES_MAX: Final = 532
"""Size of a branch with 16 children, in bytes."""

_LEAF_FLAG, _ODD_FLAG = 2, 1


@dataclass(frozen=True)
class BranchNode:
    """A node with 16 places; an empty one has no hash."""

    children: tuple[bytes, ...]


@dataclass(frozen=True)
class ExtensionNode:
    """A node with nibbles that all paths below share, and the hash of a branch."""

    nibbles: bytes
    child: bytes


@dataclass(frozen=True)
class LeafNode:
    """A node with the rest of one path, and the hash of the entry there."""

    nibbles: bytes
    value: bytes


TrieNode = BranchNode | ExtensionNode | LeafNode


def read_node(node: bytes, depth: int, below_extension: bool) -> TrieNode:
    """Reads a node whose hash is known to be right.

    Args:
        node: its bytes.
        depth: the number of nibbles on the way from the root to the node.
        below_extension: whether its parent is an extension, which only a branch follows.

    Raises:
        BrokenTrie: the node does not have the one form.
    """
    if not NODE_BYTES_MIN <= len(node) <= NODE_BYTES_MAX:
        raise BrokenTrie(f"a node has {NODE_BYTES_MIN} to {NODE_BYTES_MAX} bytes, not {len(node)}")
    try:
        item = decode_rlp(node)
    except Refused as error:
        raise BrokenTrie(f"a node is no canonical RLP: {error}") from error
    items = [part for part in item if isinstance(part, bytes)] if isinstance(item, list) else []
    if len(items) != len(item) or len(items) not in (2, 17):
        raise BrokenTrie("a node is a list of 2 or of 17 strings")
    if len(items) == 17:
        return _branch(items, depth)
    if below_extension:
        raise BrokenTrie("an extension leads to a branch alone")
    return _path_node(items[0], items[1], depth)


def _branch(items: list[bytes], depth: int) -> BranchNode:
    children = tuple(items[:16])
    if items[16]:
        raise BrokenTrie("a branch has no value")
    if any(len(child) not in (0, 32) for child in children):
        raise BrokenTrie("a branch's children are hashes")
    if sum(map(bool, children)) < 2:
        raise BrokenTrie("a branch has at least two children")
    if depth >= PATH_NIBBLES:
        raise BrokenTrie(f"a branch is below {PATH_NIBBLES} nibbles")
    return BranchNode(children)


def _path_node(path: bytes, value: bytes, depth: int) -> ExtensionNode | LeafNode:
    if not path or path[0] >> 4 > _LEAF_FLAG | _ODD_FLAG:
        raise BrokenTrie("the flag of a node's path is 0 to 3")
    flag, nibbles = path[0] >> 4, nibbles_of(path)
    if flag & _ODD_FLAG == 0 and nibbles[1] != 0:
        raise BrokenTrie("the pad of a node's path is 0")
    nibbles = nibbles[1:] if flag & _ODD_FLAG else nibbles[2:]
    if len(value) != 32:
        raise BrokenTrie("a leaf or an extension leads to 32 bytes")
    if flag & _LEAF_FLAG:
        if depth + len(nibbles) != PATH_NIBBLES:
            raise BrokenTrie(f"the path to a leaf has {depth + len(nibbles)} nibbles, not {PATH_NIBBLES}")
        return LeafNode(nibbles, value)
    if not nibbles or depth + len(nibbles) >= PATH_NIBBLES:
        raise BrokenTrie("an extension has nibbles, and room for a branch below it")
    return ExtensionNode(nibbles, value)


def nibbles_of(data: bytes) -> bytes:
    """The halves of bytes, one a byte, the higher half first."""
    return bytes(half for byte in data for half in (byte >> 4, byte & 15))


def proven_value(root: bytes, key: bytes, nodes: Sequence[bytes]) -> bytes | None:
    """The value that a trie holds under a key, or None if a valid proof shows that it holds none.

    Args:
        root: the trie's root, from a signed checkpoint.
        key: the key, of which the path is the hash.
        nodes: the proof.

    Raises:
        Refused: the proof is invalid, or the root is zero.
        BrokenTrie: the trie itself is.
    """
    if root == ZERO:
        raise Refused("the checkpoint has no root of the state")
    if root == EMPTY_ROOT:
        if nodes:
            raise Refused("the empty trie has no nodes")
        return None
    path, expected, depth, below_extension = nibbles_of(keccak(key)), root, 0, False
    for index, node in enumerate(nodes):
        if keccak(node) != expected:
            raise Refused(f"node {index} of the proof is not the one that {'its parent' if index else 'the root'} names")
        read = read_node(node, depth, below_extension)
        value, child, length = _step(read, path[depth:])
        if child is None:
            if index + 1 < len(nodes):
                raise Refused("nodes follow the end of the path")
            return value
        expected, depth, below_extension = child, depth + length, isinstance(read, ExtensionNode)
    raise Refused("the proof ends before the path does")


def _step(node: TrieNode, path: bytes) -> tuple[bytes | None, bytes | None, int]:
    """The value if the path ends at the node, the hash of the next node if it does not, and the nibbles until there."""
    if isinstance(node, BranchNode):
        return None, node.children[path[0]] or None, 1
    if isinstance(node, LeafNode):
        return node.value if node.nibbles == path else None, None, 0
    follows = path.startswith(node.nibbles)
    return None, node.child if follows else None, len(node.nibbles)


def check_value(root: bytes, key: bytes, value: bytes | None, nodes: Sequence[bytes]) -> None:
    """Verifies that a trie holds this value under a key, or with None that it holds nothing.

    Raises:
        Refused: the proof is invalid, or shows something else.
        BrokenTrie: the trie itself is.
    """
    found = proven_value(root, key, nodes)
    if found is None and value is not None:
        raise Refused("the proof shows that the state holds nothing under this key")
    if found is not None and value is None:
        raise Refused("the proof shows an entry, not its absence")
    if found != value:
        raise Refused("the proof shows the hash of another entry")


def is_broken(root: bytes, nodes: Sequence[bytes]) -> bool:
    """Whether nodes that hashes link to a root end with one that does not have the one form.

    The root of the empty trie is the hash of a node with one byte, which an honest trie never has: nothing follows
    from it.
    """
    expected, depth, below_extension = {root} - {ZERO, EMPTY_ROOT}, 0, False
    for index, node in enumerate(nodes):
        if keccak(node) not in expected:
            return False
        try:
            read = read_node(node, depth, below_extension)
        except BrokenTrie:
            return index + 1 == len(nodes)
        if isinstance(read, BranchNode):
            expected, depth, below_extension = set(read.children), depth + 1, False
        elif isinstance(read, ExtensionNode):
            expected, depth, below_extension = {read.child}, depth + len(read.nibbles), True
        else:
            return False
    return False
