"""The state's vectors: entries, proofs and texts that the SDK must take, and those that it must refuse."""

import rlp
import pytest
from kedge.errors import MalformedEntry, Refused
from kedge.protocol.entries import ENTRY_PREFIXES, check_key, decode_entry
from kedge.protocol.hashing import from_hex, hex_text, keccak, text_hash
from kedge.protocol.texts import delete_members, merge_texts, mint_text, set_members, tidy_text
from kedge.protocol.trie import EMPTY_ROOT, check_value

from vectors import read, words

STATE = read("state")


# Holds invariant 253.
def test_every_case_of_the_state() -> None:
    assert hex_text(EMPTY_ROOT) == STATE["empty_root"]
    present = absent = 0
    types = set()
    for case in STATE["cases"]:
        root = from_hex(case["root"])
        for one in case["present"]:
            entry = from_hex(one["entry"])
            assert (hex_text(keccak(one["key"].encode())), hex_text(keccak(entry))) == (one["path"], one["value"])
            check_value(root, one["key"].encode(), keccak(entry), words(one["nodes"]))
            decoded = decode_entry(one["key"], entry, 2**64 - 1)
            types.add(decoded.PREFIX)
            assert decoded.PREFIX == one["key"][:3]
            with pytest.raises(Refused):
                check_value(root, one["key"].encode(), None, words(one["nodes"]))
            present += 1
        for one in case["absent"]:
            check_key(one["key"])
            check_value(root, one["key"].encode(), None, words(one["nodes"]))
            absent += 1
    assert (len(STATE["cases"]), present, absent) == (5, 22, 9)
    assert types == set(ENTRY_PREFIXES) and len(types) == 10


# Holds invariant 253.
def test_every_proof_to_refuse() -> None:
    for bad in STATE["must_refuse"]:
        entry = from_hex(bad["entry"])
        with pytest.raises(Refused):
            check_value(from_hex(bad["root"]), bad["key"].encode(), keccak(entry) if entry else None, words(bad["nodes"]))
            pytest.fail(bad["why"])
    assert len(STATE["must_refuse"]) == 18


# Holds invariant 253.
def test_every_malformed_entry() -> None:
    for bad in STATE["malformed"]:
        entry = from_hex(bad["entry"])
        check_value(from_hex(bad["root"]), bad["key"].encode(), keccak(entry), words(bad["nodes"]))
        with pytest.raises(MalformedEntry):
            decode_entry(bad["key"], entry, bad["checkpoint_sequence"])
            pytest.fail(bad["why"])
    assert len(STATE["malformed"]) == 25


# Holds invariant 253.
def test_every_text() -> None:
    made = {
        "tidy": lambda one: tidy_text(one["text"]),
        "merge": lambda one: merge_texts(one["text"], one["patch"]),
        "set": lambda one: set_members(one["text"], [(name, value) for name, value in one["changes"]]),
        "delete": lambda one: delete_members(one["text"], [name for name, _ in one["changes"]]),
        "mint": lambda one: mint_text(one["template"], one["variation"], one["own"]),
    }
    counts = dict.fromkeys(made, 0)
    for one in STATE["texts"]:
        text = made[one["do"]](one)
        assert (text, hex_text(text_hash(text))) == (one["gives"], one["hash"])
        counts[one["do"]] += 1
    assert counts == {"tidy": 6, "merge": 90, "set": 15, "delete": 17, "mint": 3} and sum(counts.values()) == 131
