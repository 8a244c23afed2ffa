"""Merkle trees in the form of RFC 9162: roots, inclusion and consistency.

The log's trees hash with keccak256, its tiles with SHA-256.
"""

from collections.abc import Callable, Sequence
from typing import TypeAlias

from ..errors import Refused
from .hashing import EMPTY, keccak

TreeHash: TypeAlias = Callable[[bytes], bytes]


def node(left: bytes, right: bytes, hashed: TreeHash = keccak) -> bytes:
    """Hash of a node with two children."""
    return hashed(b"\1" + left + right)


def root_of(leaves: Sequence[bytes], hashed: TreeHash = keccak) -> bytes:
    """Root over leaves; without leaves the hash of the empty input."""
    layer = list(leaves)
    if not layer:
        return hashed(b"")
    while len(layer) > 1:
        lone = layer[-1:] if len(layer) % 2 else []
        layer = [node(layer[i], layer[i + 1], hashed) for i in range(0, len(layer) - 1, 2)] + lone
    return layer[0]


class _Words:
    """Words of a proof, each used once and in order."""

    def __init__(self, words: Sequence[bytes]) -> None:
        self._words = iter(words)

    def take(self) -> bytes:
        word = next(self._words, None)
        if word is None:
            raise Refused("the proof is too short")
        return word

    def end(self) -> None:
        if next(self._words, None) is not None:
            raise Refused("the proof is too long")


def check_inclusion(
    root: bytes,
    count: int,
    indices: Sequence[int],
    leaves: Sequence[bytes],
    proof: Sequence[bytes],
    hashed: TreeHash = keccak,
) -> None:
    """Verifies leaves at these indices in a tree of `count` leaves: a path for one, a multiproof for several.

    Raises:
        Refused: the proof is invalid, or has the wrong length.
    """
    if not indices or len(indices) != len(leaves):
        raise Refused("a proof of inclusion has one leaf for each index, and at least one")
    if any(one >= other for one, other in zip(indices, indices[1:])) or indices[0] < 0 or indices[-1] >= count:
        raise Refused("indices rise strictly and lie below the count")
    words = _Words(proof)
    layer, width = list(zip(indices, leaves)), count
    while width > 1:
        layer, width = _above(layer, width, words, hashed), (width + 1) // 2
    words.end()
    if layer[0][1] != root:
        raise Refused("the proof leads to another root")


def _above(layer: list[tuple[int, bytes]], width: int, words: _Words, hashed: TreeHash) -> list[tuple[int, bytes]]:
    above = []
    at = 0
    while at < len(layer):
        index, hash_ = layer[at]
        at += 1
        if index % 2:
            parent = node(words.take(), hash_, hashed)
        elif index + 1 == width:
            parent = hash_
        elif at < len(layer) and layer[at][0] == index + 1:
            parent = node(hash_, layer[at][1], hashed)
            at += 1
        else:
            parent = node(hash_, words.take(), hashed)
        above.append((index // 2, parent))
    return above


def check_consistency(
    first_size: int,
    second_size: int,
    first: bytes,
    second: bytes,
    proof: Sequence[bytes],
    hashed: TreeHash = keccak,
) -> None:
    """Verifies that the log tree with the first root is a prefix of the one with the second root. Sizes are in batches.

    Raises:
        Refused: the proof is invalid, or has the wrong length.
    """
    if not 1 <= first_size <= second_size:
        raise Refused("sizes are at least 1 and do not fall")
    if first_size == second_size:
        if proof:
            raise Refused("the proof is too long")
        if first != second:
            raise Refused("equal sizes have equal roots")
        return
    words = [first, *proof] if first_size & (first_size - 1) == 0 else list(proof)
    if not words:
        raise Refused("the proof is too short")
    f, s = first_size - 1, second_size - 1
    while f % 2:
        f, s = f >> 1, s >> 1
    a = b = words[0]
    for word in words[1:]:
        if s == 0:
            raise Refused("the proof is too long")
        if f % 2 or f == s:
            a, b = node(word, a, hashed), node(word, b, hashed)
            while f % 2 == 0 and f:
                f, s = f >> 1, s >> 1
        else:
            b = node(b, word, hashed)
        f, s = f >> 1, s >> 1
    if s:
        raise Refused("the proof is too short")
    if (a, b) != (first, second):
        raise Refused("the proof leads to other roots")


def fold_peaks(peaks: Sequence[bytes]) -> bytes:
    """Root over complete subtrees, largest first."""
    if not peaks:
        return EMPTY
    root = peaks[-1]
    for peak in reversed(peaks[:-1]):
        root = node(peak, root)
    return root
