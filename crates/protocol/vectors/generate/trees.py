"""Gives the contents of trees.json: trees, paths, multiproofs and consistency proofs of many sizes."""

import hashing as h
from merkle import Tree, verify_consistency, verify_multiproof, verify_path

BATCH_SIZES = [*range(1, 34), 63, 64, 65, 100, 127, 128, 129, 200, 255, 256, 257, 333, 499, 500]
LOG_SIZE_MAX = 70


def leaves(count: int) -> list[bytes]:
    return [h.H(b"\x00" + h.u64(index)) for index in range(count)]


def log_leaves(count: int) -> list[bytes]:
    return [h.H(b"\x00" + h.H(h.u64(index))) for index in range(count)]


def texts(nodes: list[bytes]) -> list[str]:
    return [h.hx(node) for node in nodes]


def digest_of(proofs: list[list[bytes]]) -> str:
    """One hash over all the proofs, each behind its length: an exhaustive check in 32 bytes."""
    return h.hx(h.H(b"".join(h.u32(len(proof)) + b"".join(proof) for proof in proofs)))


def index_sets(size: int) -> list[list[int]]:
    """Index sets that meet every branch: ends, halves, strides, runs, all."""
    half, last = size // 2, size - 1
    sets = [
        list(range(size)),
        [0, last],
        list(range(0, size, 2)),
        list(range(1, size, 2)),
        list(range(half)),
        list(range(half, size)),
        [last - 1, last],
        [index for index in range(size) if index * 7919 % 11 < 3],
    ]
    unique: list[list[int]] = []
    for indices in sets:
        rising = sorted({index for index in indices if 0 <= index < size})
        if rising and rising not in unique:
            unique.append(rising)
    return unique


def batch_tree(tree: Tree, size: int) -> dict:
    listed = sorted({0, size // 2, size - 1})
    sets = index_sets(size)
    proofs = [tree.multiproof(indices, size) for indices in sets]
    for indices, proof in zip(sets, proofs):
        chosen = [tree.leaves[index] for index in indices]
        assert verify_multiproof(tree.root(size), size, indices, chosen, proof)
    # Long sets are told by how they are made (README.md); only short ones stand here in full.
    shown = [i for i, indices in enumerate(sets) if len(indices) <= 12 and len(proofs[i]) <= 20]
    return {
        "size": size,
        "root": h.hx(tree.root(size)),
        "paths": {str(index): texts(tree.path(index, size)) for index in listed},
        "all_paths": digest_of([tree.path(index, size) for index in range(size)]),
        "multiproofs": [{"indices": sets[i], "proof": texts(proofs[i])} for i in shown if size <= 40],
        "all_multiproofs": digest_of(proofs),
    }


def log_tree(tree: Tree, size: int) -> dict:
    for index in range(size):
        assert verify_path(tree.root(size), size, index, tree.leaves[index], tree.path(index, size))
    for first in range(1, size + 1):
        proof = tree.consistency(first, size)
        assert verify_consistency(first, size, tree.root(first), tree.root(size), proof)
    listed = range(1, size + 1) if size <= 12 else (1, size // 2, size - 1)
    return {
        "size": size,
        "root": h.hx(tree.root(size)),
        "last_path": texts(tree.path(size - 1, size)) if size else [],
        "all_paths": digest_of([tree.path(index, size) for index in range(size)]),
        "consistency": {str(first): texts(tree.consistency(first, size)) for first in listed if size},
        "all_consistency": digest_of([tree.consistency(first, size) for first in range(1, size + 1)]),
    }


def refused_paths(tree: Tree) -> list[dict]:
    size, index = 13, 9
    path, leaf, stranger = tree.path(index, size), tree.leaves[index], tree.leaves[40]
    last = tree.path(12, size)
    cases = [
        ("the index of a neighbour", size, 8, leaf, path),
        ("the mirrored index", size, 3, leaf, path),
        ("index equal to the size", size, 13, leaf, path),
        ("index past the size", size, 2**63, leaf, path),
        ("a size of zero", 0, 0, tree.root(size), []),
        ("a size of one for a real path", 1, 0, leaf, path),
        ("a smaller size of the same height", 10, 9, leaf, path),
        ("twice the size", 26, index, leaf, path),
        ("another leaf", size, index, stranger, path),
        ("the root as its own leaf", size, 0, tree.root(size), []),
        ("an inner node as a leaf", 7, 4, tree.path(8, size)[0], path[1:]),
        ("the first hash missing", size, index, leaf, path[1:]),
        ("the last hash missing", size, index, leaf, path[:-1]),
        ("a hash too many", size, index, leaf, [*path, stranger]),
        ("the first hash twice", size, index, leaf, [path[0], *path]),
        ("the order turned round", size, index, leaf, path[::-1]),
        ("a changed hash", size, index, leaf, [*path[:-1], stranger]),
        ("the path of the last leaf, padded", size, 12, tree.leaves[12], [tree.leaves[12], *last]),
        ("no hash at all", size, index, leaf, []),
    ]
    for why, count, at, node, proof in cases:
        assert not verify_path(tree.root(size), count, at, node, proof), why
        assert not verify_multiproof(tree.root(size), count, [at], [node], proof), why
    return [
        {"why": why, "root": h.hx(tree.root(size)), "size": count, "index": str(at), "leaf": h.hx(node), "proof": texts(proof)}
        for why, count, at, node, proof in cases
    ]


def refused_multiproofs(tree: Tree) -> list[dict]:
    size, good = 11, [2, 3, 7, 10]
    proof = tree.multiproof(good, size)
    chosen = [tree.leaves[index] for index in good]
    swapped = [chosen[1], chosen[0], *chosen[2:]]
    cases = [
        ("no index", size, [], [], [tree.root(size)]),
        ("no index and no hash", size, [], [], []),
        ("a leaf less than indices", size, good, chosen[:-1], proof),
        ("a leaf more than indices", size, good, [*chosen, chosen[0]], proof),
        ("an index twice", size, [2, 2, 7, 10], [chosen[0], chosen[0], *chosen[2:]], proof),
        ("falling indices", size, good[::-1], chosen[::-1], proof),
        ("two indices exchanged", size, [3, 2, 7, 10], swapped, proof),
        ("an index equal to the size", size, [2, 3, 7, 11], chosen, proof),
        ("leaves exchanged", size, good, swapped, proof),
        ("a changed leaf", size, good, [*chosen[:-1], tree.leaves[40]], proof),
        ("a hash missing", size, good, chosen, proof[:-1]),
        ("a hash too many", size, good, chosen, [*proof, tree.leaves[40]]),
        ("hashes exchanged", size, good, chosen, [proof[1], proof[0], *proof[2:]]),
        ("another size of the same height", 12, good, chosen, proof),
        ("all leaves and one hash more", size, list(range(size)), tree.leaves[:size], [tree.leaves[0]]),
    ]
    for why, count, indices, nodes, hashes in cases:
        assert not verify_multiproof(tree.root(size), count, indices, nodes, hashes), why
    return [
        {"why": why, "root": h.hx(tree.root(size)), "size": count, "indices": indices, "leaves": texts(nodes), "proof": texts(hashes)}
        for why, count, indices, nodes, hashes in cases
    ]


def refused_consistency(tree: Tree) -> list[dict]:
    past = Tree([*tree.leaves[:5], tree.leaves[40], *tree.leaves[6:]])
    a, b = tree.root(7), tree.root(20)
    proof, power = tree.consistency(7, 20), tree.consistency(8, 20)
    eight = tree.root(8)
    cases = [
        ("a rewritten past", 7, 20, past.root(7), b, proof),
        ("a rewritten past with its own proof", 7, 20, a, past.root(20), past.consistency(7, 20)),
        ("a log that shrank", 20, 7, b, a, proof),
        ("a log that shrank to nothing", 7, 0, a, h.H(b""), []),
        ("equal sizes, other roots", 20, 20, b, past.root(20), []),
        ("equal sizes and a hash", 20, 20, b, b, [tree.leaves[0]]),
        ("from nothing, with a hash", 0, 20, h.H(b""), b, [b]),
        ("from nothing, with a root of something", 0, 20, a, b, []),
        ("growth without a proof", 7, 20, a, b, []),
        ("growth of a full tree without a proof", 8, 20, eight, b, []),
        ("the first hash missing", 7, 20, a, b, proof[1:]),
        ("the last hash missing", 7, 20, a, b, proof[:-1]),
        ("a hash too many", 7, 20, a, b, [*proof, tree.leaves[0]]),
        ("hashes exchanged", 7, 20, a, b, [proof[1], proof[0], *proof[2:]]),
        ("a full tree's own root sent along", 8, 20, eight, b, [eight, *power]),
        ("another first size", 6, 20, a, b, proof),
        ("another second size", 7, 40, a, b, proof),
        ("the new root as the old one", 7, 20, b, b, proof),
        ("roots exchanged", 7, 20, b, a, proof),
    ]
    for why, first, second, old, new, hashes in cases:
        assert not verify_consistency(first, second, old, new, hashes), why
    return [
        {"why": why, "from": first, "to": second, "first": h.hx(old), "second": h.hx(new), "proof": texts(hashes)}
        for why, first, second, old, new, hashes in cases
    ]


def tree_vectors() -> dict:
    batch, log = Tree(leaves(max(BATCH_SIZES))), Tree(log_leaves(LOG_SIZE_MAX))
    return {
        "about": "RFC 9162 trees with keccak by the recursive definition. See README.md.",
        "batch_leaf": "leaf i = H(0x00 ‖ u64 i)",
        "log_leaf": "leaf i = H(0x00 ‖ batch_hash i), batch_hash i = H(u64 i)",
        "batch_trees": [batch_tree(batch, size) for size in BATCH_SIZES],
        "log_trees": [log_tree(log, size) for size in range(LOG_SIZE_MAX + 1)],
        "must_refuse": {
            "leaves": "leaf i = H(0x00 ‖ u64 i)",
            "paths": refused_paths(batch),
            "multiproofs": refused_multiproofs(batch),
            "consistency": refused_consistency(batch),
        },
    }
