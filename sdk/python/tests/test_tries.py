"""The trie against PyPI's `trie` and `rlp`: random tries, changed proofs, and inputs that an attacker would choose."""

import random
import time

import pytest
import rlp
from kedge.errors import BrokenTrie, Refused
from kedge.protocol.hashing import ZERO, keccak
from kedge.protocol.rlp import DEPTH_MAX, RlpItem, decode_rlp
from kedge.protocol.trie import EMPTY_ROOT, check_value, is_broken, nibbles_of, proven_value, read_node
from trie.hexary import HexaryTrie

MUTATIONS = 1000
SIZES = [1, 2, 3, 5, 16, 17, 60, 200, 350, 500]


def made(count: int, seed: int) -> tuple[HexaryTrie, dict[bytes, bytes]]:
    """A random trie, and what it holds by key."""
    dice = random.Random(seed)
    held = {b"obj_%d_%d" % (seed, number): dice.randbytes(32) for number in range(count)}
    trie = HexaryTrie(db={})
    for key, value in held.items():
        trie[keccak(key)] = value
    return trie, held


def nodes_of(trie: HexaryTrie, key: bytes) -> list[bytes]:
    return [bytes(rlp.encode(node)) for node in trie.get_proof(keccak(key)) if node]  # type: ignore[no-untyped-call]


def theirs(root: bytes, key: bytes, nodes: list[bytes]) -> bytes:
    """What PyPI's `trie` reads out of a proof."""
    return bytes(HexaryTrie.get_from_proof(root, keccak(key), [rlp.decode(node) for node in nodes]))  # type: ignore[no-untyped-call]


def test_both_accept_each_others_proofs() -> None:
    proofs = 0
    for seed, count in enumerate(SIZES):
        trie, held = made(count, seed)
        root = bytes(trie.root_hash)
        dice = random.Random(seed)
        for key in dice.sample(sorted(held), min(count, 40)):
            nodes = nodes_of(trie, key)
            assert proven_value(root, key, nodes) == held[key] == theirs(root, key, nodes)
            check_value(root, key, held[key], nodes)
            with pytest.raises(Refused):
                check_value(root, key, None, nodes)
            proofs += 1
        for number in range(40):
            absent = b"obj_none_%d" % number
            nodes = nodes_of(trie, absent)
            assert proven_value(root, absent, nodes) is None and theirs(root, absent, nodes) == b""
            with pytest.raises(Refused):
                check_value(root, absent, ZERO, nodes)
            proofs += 1
    assert proofs == sum(min(count, 40) + 40 for count in SIZES)


def mutated(nodes: list[bytes], dice: random.Random) -> list[bytes]:
    """A proof with one change: of a bit, of a node's length, or of the nodes' number or order."""
    changed = list(nodes)
    at = dice.randrange(len(nodes))
    node = nodes[at]
    how = dice.randrange(6)
    if how == 0:
        place = dice.randrange(len(node))
        changed[at] = node[:place] + bytes([node[place] ^ 1 << dice.randrange(8)]) + node[place + 1 :]
    elif how == 1:
        changed[at] = node[: dice.randrange(len(node))]
    elif how == 2:
        changed[at] = node + dice.randbytes(1)
    elif how == 3:
        del changed[at]
    elif how == 4:
        changed.insert(dice.randrange(len(nodes) + 1), node)
    else:
        changed.append(dice.randbytes(dice.randrange(1, 600)))
    return changed


def test_changed_proofs_are_refused() -> None:
    dice = random.Random(7)
    trie, held = made(300, 99)
    root, keys = bytes(trie.root_hash), sorted(held)
    refused = 0
    while refused < MUTATIONS:
        key = dice.choice(keys) if refused % 2 else b"obj_none_%d" % dice.randrange(1000)
        nodes = mutated(nodes_of(trie, key), dice)
        with pytest.raises(Refused):
            proven_value(root, key, nodes)
            pytest.fail(f"accepted: {key!r} {nodes}")
        refused += 1
    # A proof of another key, or under another root, shows nothing either.
    for key, other in zip(keys[:50], keys[50:]):
        nodes = nodes_of(trie, other)
        try:
            assert proven_value(root, key, nodes) != held[key]
        except Refused:
            pass
        with pytest.raises(Refused):
            proven_value(keccak(root), key, nodes_of(trie, key))


def test_rlp_agrees_with_pypis() -> None:
    dice = random.Random(3)

    def item(depth: int) -> RlpItem:
        if depth and dice.random() < 0.4:
            return [item(depth - 1) for _ in range(dice.randrange(5))]
        return dice.randbytes(dice.choice([0, 1, 1, 2, 20, 32, 54, 55, 56, 57, 255, 256, 300]))

    accepted = 0
    for _ in range(2000):
        value = item(3)
        data = bytes(rlp.encode(value))
        assert decode_rlp(data) == value
        place = dice.randrange(len(data))
        changed = data[:place] + dice.randbytes(1) + data[place + 1 :]
        try:
            expected = rlp.decode(changed, strict=True)
            # PyPI's reader accepts a list's surplus in some forms; the encoding decides.
            good = bytes(rlp.encode(expected)) == changed
        except rlp.DecodingError:
            good = False
        try:
            decode_rlp(changed)
        except Refused:
            assert not good, changed.hex()
        else:
            accepted += 1
            assert good, changed.hex()
    assert 200 < accepted < 2000


@pytest.mark.parametrize(
    "data",
    [
        b"", b"\x80\x80", b"\x81\x7f", b"\x81", b"\xb8\x37" + bytes(55), b"\xb9\x00\x38" + bytes(56), b"\xb8", b"\xb8\x00", b"\xbf" + b"\xff" * 8,
        b"\xf8\x01\x80", b"\xf9\x00\x38" + bytes(56), b"\xff" + b"\xff" * 8 + b"x", b"\xc1", b"\xc2\x80", b"\xc1\x81\x80", b"\xc2\xc2\x80",
        b"\xc1" * DEPTH_MAX + b"\xc0", b"\xc1" * 100_000,
    ],
    ids=lambda data: data[:8].hex() or "nothing",
)  # fmt: skip
def test_rlp_of_another_form_is_refused(data: bytes) -> None:
    with pytest.raises(Refused):
        decode_rlp(data)


def test_rlp_is_read_in_linear_time() -> None:
    big = bytes(rlp.encode([b"x"] * 400_000))
    begun = time.process_time()
    assert len(decode_rlp(big)) == 400_000
    # Deep lists, each as long as what is left, would be copied at every level by a careless reader.
    with pytest.raises(Refused):
        decode_rlp(_deep(2_000_000))
    assert time.process_time() - begun < 5


def _deep(size: int) -> bytes:
    data = bytes(size)
    for _ in range(DEPTH_MAX + 1):
        data = b"\xfa" + len(data).to_bytes(3, "big") + data
    return data


LEAF_VALUE = keccak(b"value")


def branch(*children: bytes, value: bytes = b"") -> bytes:
    return bytes(rlp.encode([*children, *[b""] * (16 - len(children)), value]))


def short(path: str, value: bytes) -> bytes:
    """A leaf or an extension whose path is given with its flag."""
    return bytes(rlp.encode([bytes.fromhex(path), value]))


CHILD, OTHER = keccak(b"child"), keccak(b"other")
LEAF = short("20" + "ab" * 32, LEAF_VALUE)


# Holds the one form of nodes at its edges: what is broken, and its neighbour that is not.
def test_the_one_form_of_nodes() -> None:
    good = [
        (LEAF, 0, False),
        (short("3" + "ab" * 31 + "a", LEAF_VALUE), 1, False),
        (short("20", LEAF_VALUE), 64, False),
        (short("00" + "ab" * 31, CHILD), 0, False),
        (short("1" + "ab" * 31 + "a", CHILD), 0, False),
        (branch(CHILD, OTHER), 63, True),
        (branch(CHILD, CHILD), 0, False),
        (branch(*[CHILD] * 16), 0, False),
    ]
    broken = [
        (LEAF, 1, False),
        (LEAF, 0, True),
        (short("20" + "ab" * 31, LEAF_VALUE), 0, False),
        (short("21" + "ab" * 32, LEAF_VALUE), 0, False),
        (short("40" + "ab" * 32, LEAF_VALUE), 0, False),
        (short("20" + "ab" * 32, b""), 0, False),
        (short("20" + "ab" * 32, LEAF_VALUE[:31]), 0, False),
        (short("", LEAF_VALUE), 0, False),
        (short("00", CHILD), 0, False),
        (short("01" + "ab" * 31, CHILD), 0, False),
        (short("00" + "ab" * 31, CHILD), 2, False),
        (short("00" + "ab" * 32, CHILD), 0, False),
        (short("00" + "ab" * 31, CHILD), 0, True),
        (short("00" + "ab" * 31, CHILD[:31]), 0, False),
        (branch(CHILD), 0, False),
        (branch(CHILD, OTHER, value=b"v"), 0, False),
        (branch(CHILD, OTHER[:31]), 0, False),
        (branch(CHILD, OTHER), 64, False),
        (bytes(rlp.encode([CHILD] * 16)), 0, False),
        (bytes(rlp.encode([CHILD] * 18)), 0, False),
        (bytes(rlp.encode([CHILD, OTHER, CHILD])), 0, False),
        (bytes(rlp.encode([[CHILD], OTHER])), 0, False),
        (bytes(rlp.encode([bytes.fromhex("20" + "ab" * 32), [LEAF_VALUE]])), 0, False),
        (bytes(rlp.encode(CHILD + OTHER)), 0, False),
        (LEAF + b"\x80", 0, False),
        (LEAF[:-1], 0, False),
        (bytes(31), 0, False),
        (b"\xf9\x02\x12" + bytes(530), 0, False),
    ]
    for node, depth, below in good:
        read_node(node, depth, below)
    for node, depth, below in broken:
        with pytest.raises(BrokenTrie):
            read_node(node, depth, below)
            pytest.fail(f"accepted: {node.hex()} {depth} {below}")
        if (depth, below) == (0, False):
            assert is_broken(keccak(node), [node])
    assert (len(good), len(broken)) == (8, 28)


def test_a_broken_trie_is_shown_by_its_last_node_alone() -> None:
    trie, held = made(50, 5)
    nodes = nodes_of(trie, min(held))
    root = bytes(trie.root_hash)
    # Honest nodes are no evidence, wherever they end, and nothing follows from a root that names no node.
    for count in range(len(nodes) + 1):
        assert not is_broken(root, nodes[:count])
    assert not is_broken(root, [*nodes, b"junk" * 10]) and not is_broken(root, [*nodes[:-1], b"junk" * 10])
    assert not is_broken(EMPTY_ROOT, [b"\x80"]) and not is_broken(ZERO, [b""]) and keccak(b"\x80") == EMPTY_ROOT
    # A leaf whose path is too short, below a branch; and an extension that leads to a leaf.
    leaf = short("20" + "ab" * 31, LEAF_VALUE)
    top = branch(keccak(leaf), CHILD)
    assert is_broken(keccak(top), [top, leaf]) and not is_broken(keccak(top), [top])
    assert not is_broken(keccak(top), [top, leaf, leaf]) and not is_broken(keccak(top), [leaf])
    end = short("20" + "ab" * 31, LEAF_VALUE)
    extension = short("00ab", keccak(end))
    assert is_broken(keccak(extension), [extension, end]) and not is_broken(keccak(extension), [extension])
    with pytest.raises(BrokenTrie, match="an extension leads to a branch alone"):
        proven_value(keccak(extension), _key_with(b"\xab"), [extension, end])


def _key_with(prefix: bytes) -> bytes:
    """A key whose path begins with these bytes."""
    return next(key for number in range(10**6) if keccak(key := b"%d" % number).startswith(prefix))


def test_an_absence_may_end_at_an_extension_of_another_path() -> None:
    key = _key_with(b"\xab")
    extension = short("00cd", CHILD)
    assert proven_value(keccak(extension), key, [extension]) is None
    follows = short("00ab", CHILD)
    with pytest.raises(Refused, match="ends before"):
        proven_value(keccak(follows), key, [follows])


def test_a_path_may_have_64_branches() -> None:
    """The deepest trie: a branch for each nibble, and a leaf without nibbles."""
    key = b"deep"
    node, nodes = short("20", LEAF_VALUE), []
    nodes.append(node)
    for nibble in reversed(nibbles_of(keccak(key))):
        children = [b""] * 16
        children[nibble], children[(nibble + 1) % 16] = keccak(nodes[-1]), OTHER
        nodes.append(branch(*children))
    nodes.reverse()
    assert len(nodes) == 65 and proven_value(keccak(nodes[0]), key, nodes) == LEAF_VALUE
    assert theirs(keccak(nodes[0]), key, nodes) == LEAF_VALUE
