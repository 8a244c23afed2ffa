"""The sequencer's keys: pinned, and followed as the log names them."""

import json
from typing import Any

import pytest
from kedge import KeySigner, Refused, SequencerKey, Trust
from kedge.protocol.hashing import EMPTY, ZERO, hex_text, text_hash
from kedge.protocol.typed import Header, content_of, leaf_of, next_head, next_integrity
from kedge.verify import follow_key, read_json

CONTRACT = "0x5FbDB2315678afecb367f032d93F642f64180aa3"
FIRST, NEXT, OPERATOR = KeySigner(b"\1" * 32), KeySigner(b"\2" * 32), KeySigner(b"\3" * 32)
TRUST = Trust.of(31337, CONTRACT, FIRST.address)
AUTHORITY = bytes(range(32))


def naming(
    kind: str = "system.sequencer_key", target: str = NEXT.address, payload: str = '{"from_batch":5}', by: KeySigner = FIRST, number: int = 4
) -> dict[str, Any]:
    """The proof file of an action that names a key, in a batch of its own."""
    operator = bytes.fromhex(OPERATOR.address[2:])
    content = content_of(text_hash(kind), text_hash(target), text_hash(payload), operator, AUTHORITY)
    integrity = next_integrity(ZERO, content)
    leaf = leaf_of(9, 1000, content, integrity)
    header = Header(number, 9, 1, ZERO, next_head(ZERO, leaf), leaf, EMPTY, ZERO, 1000)
    hashes = ("previous_head", "head", "root", "history", "state")
    stated = {name: getattr(header, name) for name in ("number", "first_sequence", "count", *hashes, "sealed_at_ms")}
    return {
        "version": 1,
        "domain": {"chain_id": 31337, "verifying_contract": CONTRACT},
        "sequencer": by.address,
        "action": {"kind": kind, "target": target, "payload": payload, "signer": OPERATOR.address, "authority": hex_text(AUTHORITY)},
        "leaf": {
            "sequence": 9,
            "timestamp_ms": 1000,
            "content": hex_text(content),
            "previous_integrity": hex_text(ZERO),
            "integrity": hex_text(integrity),
        },
        "inclusion": {"leaf_index": 0, "path": []},
        "batch": {
            "header": {name: hex_text(value) if name in hashes else value for name, value in stated.items()},
            "signature": hex_text(by.sign_digest(TRUST.domain.digest(header.hash))),
        },
        "anchor": None,
    }


def test_a_key_that_the_log_names_is_followed() -> None:
    key = follow_key(json.dumps(naming()), TRUST)
    assert key == SequencerKey(bytes.fromhex(NEXT.address[2:]), 5)
    grown = TRUST.with_key(key)
    assert [grown.key_of(batch) for batch in (0, 4)] == [TRUST.key_of(0)] * 2
    assert grown.key_of(5) == grown.key_of(10**6) == key.address


@pytest.mark.parametrize(
    "changes",
    [
        {"kind": "system.tier"},
        {"target": NEXT.address.lower()},
        {"target": "nobody"},
        {"payload": '{"from_batch":4}'},
        {"payload": '{"from_batch":5,"from_batch":6}'},
        {"payload": "5"},
        {"by": NEXT},
        {"number": 5},
    ],
    ids=str,
)
def test_no_other_key_is(changes: dict[str, Any]) -> None:
    with pytest.raises(Refused):
        follow_key(naming(**changes), TRUST)


def test_the_next_key_is_above_the_last() -> None:
    grown = TRUST.with_key(SequencerKey(bytes.fromhex(OPERATOR.address[2:]), 5))
    with pytest.raises(Refused, match="not above that of the last key"):
        follow_key(naming(), grown)


def test_keys_are_in_order() -> None:
    for keys in ([], [(FIRST.address, 1)], [(FIRST.address, 0), (NEXT.address, 0)], [(FIRST.address, 0), (NEXT.address, 9), (FIRST.address, 8)]):
        with pytest.raises(ValueError):
            Trust.of(31337, CONTRACT, keys)
    with pytest.raises(Refused, match="checksum"):
        Trust.of(31337, CONTRACT.replace("F", "f", 1), FIRST.address)


def test_json_with_two_meanings_is_refused() -> None:
    assert read_json(' {"a":[1,true,null,"\\u00c4"]} \n') == {"a": [1, True, None, "Ä"]}
    assert read_json(str(2**64 - 1)) == 2**64 - 1
    assert read_json("[" * 64 + "]" * 64)
    bad: list[str | bytes] = [
        '{"a":1,"a":1}', "1e0", "1.0", "-1", "-0", "NaN", "Infinity", "01", "[1,]", "{} {}", "", "\ufeff{}", '"\\ud800"',
        "[" * 65 + "]" * 65, '{"a":1', "'a'", "1" * 21, b"\xff", '"\t"', "\x0b1",
    ]
    for text in bad:
        with pytest.raises(Refused):
            read_json(text)
            pytest.fail(f"accepted: {text!r}")
