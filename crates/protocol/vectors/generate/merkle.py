"""RFC 9162 trees by the recursive definition of its section 2.1, and proofs over them.

The recursion is deliberate: the project walks layers, so an error in one is not in both.
"""

from functools import lru_cache

from hashing import H


class Tree:
    """A tree over ready-made leaf hashes; prefixes of it share one cache."""

    def __init__(self, leaves: list[bytes]):
        self.leaves = leaves
        self._node = lru_cache(maxsize=None)(self._compute)

    def _compute(self, low: int, high: int) -> bytes:
        if high - low == 1:
            return self.leaves[low]
        middle = low + split(high - low)
        return H(b"\x01" + self._node(low, middle) + self._node(middle, high))

    def root(self, size: int | None = None) -> bytes:
        size = len(self.leaves) if size is None else size
        return self._node(0, size) if size else H(b"")

    def path(self, index: int, size: int | None = None) -> list[bytes]:
        """RFC 9162 section 2.1.3.1: from the leaf upwards."""
        return self._path(index, 0, len(self.leaves) if size is None else size)

    def _path(self, index: int, low: int, high: int) -> list[bytes]:
        if high - low == 1:
            return []
        middle = low + split(high - low)
        if index < middle:
            return self._path(index, low, middle) + [self._node(middle, high)]
        return self._path(index, middle, high) + [self._node(low, middle)]

    def consistency(self, first: int, second: int) -> list[bytes]:
        """RFC 9162 section 2.1.4.1; empty when first is 0 or equal to second."""
        return self._subproof(first, 0, second, True) if 0 < first < second else []

    def _subproof(self, first: int, low: int, high: int, whole: bool) -> list[bytes]:
        if first == high:
            return [] if whole else [self._node(low, high)]
        middle = low + split(high - low)
        if first <= middle:
            return self._subproof(first, low, middle, whole) + [self._node(middle, high)]
        return self._subproof(first, middle, high, False) + [self._node(low, middle)]

    def multiproof(self, indices: list[int], size: int | None = None) -> list[bytes]:
        """The nodes that the named leaves need: lowest layer first, left to right in a layer."""
        size = len(self.leaves) if size is None else size
        assert indices == sorted(set(indices)) and indices and indices[-1] < size
        proof, known, width, layer = [], set(indices), size, 0
        while width > 1:
            for sibling in sorted({place ^ 1 for place in known} - known):
                if sibling < width:
                    low = sibling << layer
                    proof.append(self._node(low, min(size, low + (1 << layer))))
            known = {place >> 1 for place in known}
            width, layer = (width + 1) // 2, layer + 1
        return proof


def split(size: int) -> int:
    """The largest power of two below size."""
    return 1 << ((size - 1).bit_length() - 1)


def verify_path(root: bytes, size: int, index: int, leaf: bytes, proof: list[bytes]) -> bool:
    """RFC 9162 section 2.1.3.2."""
    if not 0 <= index < size:
        return False
    place, last, node = index, size - 1, leaf
    for sibling in proof:
        if last == 0:
            return False
        if place & 1 or place == last:
            node = H(b"\x01" + sibling + node)
            while not place & 1 and place:
                place, last = place >> 1, last >> 1
        else:
            node = H(b"\x01" + node + sibling)
        place, last = place >> 1, last >> 1
    return last == 0 and node == root


def verify_consistency(first: int, second: int, old: bytes, new: bytes, proof: list[bytes]) -> bool:
    """RFC 9162 section 2.1.4.2, with the empty tree as a start."""
    if first > second:
        return False
    if first == second:
        return not proof and old == new
    if first == 0:
        return not proof and old == H(b"")
    if not proof:
        return False
    nodes = [old, *proof] if first & (first - 1) == 0 else list(proof)
    place, last = first - 1, second - 1
    while place & 1:
        place, last = place >> 1, last >> 1
    left = whole = nodes[0]
    for node in nodes[1:]:
        if last == 0:
            return False
        if place & 1 or place == last:
            left, whole = H(b"\x01" + node + left), H(b"\x01" + node + whole)
            while not place & 1 and place:
                place, last = place >> 1, last >> 1
        else:
            whole = H(b"\x01" + whole + node)
        place, last = place >> 1, last >> 1
    return last == 0 and left == old and whole == new


def verify_multiproof(root: bytes, size: int, indices: list[int], leaves: list[bytes], proof: list[bytes]) -> bool:
    if not indices or len(indices) != len(leaves) or indices != sorted(set(indices)):
        return False
    if indices[0] < 0 or indices[-1] >= size:
        return False
    rest = iter(proof)
    known, width = dict(zip(indices, leaves)), size
    while width > 1:
        above: dict[int, bytes] = {}
        for place in sorted({place >> 1 for place in known}):
            pair = [known.get(2 * place), known.get(2 * place + 1)]
            for side in (0, 1):
                if pair[side] is None and 2 * place + side < width:
                    pair[side] = next(rest, None)
                    if pair[side] is None:
                        return False
            left, right = pair
            above[place] = left if right is None else H(b"\x01" + left + right)
        known, width = above, (width + 1) // 2
    return next(rest, None) is None and known[0] == root
