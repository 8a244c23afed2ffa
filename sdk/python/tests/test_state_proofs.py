"""State proofs: answers that hold, and every change of one that must be refused."""

import copy
import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from kedge import BrokenTrie, KeySigner, MalformedEntry, ProofMissing, Refused, SequencerKey, WrongSigner
from kedge.protocol.entries import ObjectEntry, TemplateEntry, WalletEntry
from kedge.protocol.hashing import ZERO, from_hex, hex_text, keccak, text_hash
from kedge.protocol.trie import EMPTY_ROOT
from kedge.verify import StateShown, verify_state_proof, verify_state_proofs

from forged import TRUST
from states import (
    ABSENT,
    ENTRIES,
    NAME,
    OBJECT,
    OTHER_OBJECT,
    PROPERTIES,
    SCAN_SCHEMA,
    SCHEMA,
    TEMPLATE,
    VARIATION,
    WALLET,
    StateTrie,
    anchor,
    entry,
    object_entry,
)
from vectors import read

STATE = StateTrie(ENTRIES)
Change = Callable[[dict[str, Any]], None]


def changed(answer: dict[str, Any], change: Change) -> dict[str, Any]:
    made = copy.deepcopy(answer)
    change(made)
    return made


def test_an_object_is_shown_with_its_texts() -> None:
    shown = verify_state_proof(json.dumps(STATE.answer(OBJECT)), TRUST, OBJECT)
    assert isinstance(shown.entry, ObjectEntry)
    assert (shown.key, shown.entry.serial, shown.entry.status, shown.entry.variation_id) == (OBJECT, 1, "active", VARIATION)
    assert shown.texts == {"properties": PROPERTIES} and shown.entry_bytes == ENTRIES[OBJECT]
    assert (shown.checkpoint, shown.anchored) == (STATE.checkpoint, False)


def test_other_types_are_shown() -> None:
    template = verify_state_proof(STATE.answer(TEMPLATE), TRUST)
    assert isinstance(template.entry, TemplateEntry) and template.entry.max_supply == 100
    assert template.texts == {"properties": PROPERTIES, "schema": SCHEMA} and template.rule_schemas == ("", SCAN_SCHEMA)
    assert verify_state_proof(STATE.answer(VARIATION), TRUST).texts == {"name": NAME, "properties": "{}"}
    wallet = verify_state_proof(STATE.answer(WALLET), TRUST)
    assert isinstance(wallet.entry, WalletEntry) and wallet.entry.role == "owner" and wallet.texts == {}


def test_every_type_of_the_vectors_is_shown() -> None:
    (case,) = (case for case in read("state")["cases"] if case["name"] == "one of each type")
    state = StateTrie({one["key"]: from_hex(one["entry"]) for one in case["present"]}, sequence=2000)
    assert hex_text(state.checkpoint.state) == case["root"]
    for one in case["present"]:
        assert [hex_text(node) for node in state.nodes(one["key"])] == one["nodes"]
        shown = verify_state_proof({**state.answer(one["key"]), "texts": {}}, TRUST, one["key"])
        assert shown.entry is not None and shown.entry.PREFIX == one["key"][:3]
    assert len(case["present"]) == 15


def test_absence_is_shown() -> None:
    shown = verify_state_proof(STATE.answer(ABSENT), TRUST)
    assert (shown.entry, shown.entry_bytes, shown.texts) == (None, b"", {})
    for name in STATE.answer(ABSENT):
        with pytest.raises(Refused):
            verify_state_proof({other: member for other, member in STATE.answer(ABSENT).items() if other != name}, TRUST)
    empty = StateTrie({})
    assert empty.checkpoint.state == EMPTY_ROOT and empty.answer(ABSENT)["nodes"] == []
    assert verify_state_proof(empty.answer(ABSENT), TRUST).entry is None


def test_an_absent_entry_has_no_fields_and_no_texts() -> None:
    spoiled: list[dict[str, Any]] = [{"fields": {"version": 1}}, {"fields": {}}, {"texts": {"properties": "{}"}}]
    for members in spoiled:
        refuses({**STATE.answer(ABSENT), **members}, Refused, "fields or texts of an absent entry")


def test_schemas_of_rules_have_their_hashes() -> None:
    good = STATE.answer(TEMPLATE)
    for rules, match in ([SCAN_SCHEMA, ""], "the schema of transfer"), (["", SCHEMA], "the schema of x.scan"), ([""], "more or fewer schemas"), ([""] * 3, "more or fewer schemas"):
        refuses({**good, "texts": {**good["texts"], "rules": rules}}, Refused, match)
    refuses({**good, "texts": {**good["texts"], "schema": ""}}, Refused, "the text of schema")
    refuses({**good, "texts": {**good["texts"], "schema": None}}, Refused, "no text")
    without = {name: text for name, text in good["texts"].items() if name != "rules"}
    assert verify_state_proof({**good, "texts": without}, TRUST).rule_schemas is None


def test_a_text_that_the_server_no_longer_has_is_absent() -> None:
    for key in (OBJECT, TEMPLATE, VARIATION):
        shown = verify_state_proof({**STATE.answer(key), "texts": {}}, TRUST)
        assert shown.entry is not None and (shown.texts, shown.rule_schemas) == ({}, None)


def test_an_anchor_is_of_the_same_checkpoint() -> None:
    answer = STATE.answer(OBJECT)
    again = STATE.signed(replace(STATE.checkpoint, issued_at_ms=2000))
    own = anchor(STATE.signed())
    for same in (own, {**own, "transaction_hash": None, "block_number": None}, anchor(again)):
        assert verify_state_proof({**answer, "anchor": same}, TRUST).anchored
    later = STATE.signed(replace(STATE.checkpoint, batches=8))
    other = STATE.signed(replace(STATE.checkpoint, state=keccak(b"s")))
    forged = {**again, "signature": STATE.signed()["signature"]}
    spoiled: list[Any] = [anchor(one) for one in (later, other, forged)]
    spoiled += [{name: member for name, member in own.items() if name != left_out} for left_out in own]
    for wrong in (*spoiled, {**own, "path": [hex_text(ZERO)]}, {}, 1):
        with pytest.raises(Refused):
            verify_state_proof({**answer, "anchor": wrong}, TRUST)


def test_the_checkpoint_is_signed_by_the_key_of_its_last_batch() -> None:
    stranger = KeySigner(b"\x09" * 32)
    rotated = TRUST.with_key(SequencerKey(from_hex(stranger.address), 7))
    # Seven batches: the last one has the number 6, which the first key signs.
    assert verify_state_proof(STATE.answer(OBJECT), rotated).entry is not None
    with pytest.raises(WrongSigner, match="the checkpoint was signed by"):
        verify_state_proof(StateTrie(ENTRIES, batches=8).answer(OBJECT), rotated)
    with pytest.raises(WrongSigner):
        verify_state_proof(STATE.answer(OBJECT), replace(TRUST, domain=replace(TRUST.domain, chain_id=1)))


def refuses(answer: Any, kind: type[Refused], match: str, key: str | None = None) -> None:
    with pytest.raises(kind, match=match) as found:
        verify_state_proof(answer, TRUST, key)
    assert type(found.value) is kind


def resigned(answer: dict[str, Any], **changes: Any) -> dict[str, Any]:
    """The answer with another checkpoint, well signed."""
    return {**answer, "checkpoint": STATE.signed(replace(STATE.checkpoint, **changes))}


def test_every_change_of_an_answer_is_refused() -> None:
    good = STATE.answer(OBJECT)
    nodes = good["nodes"]
    other = STATE.answer(OTHER_OBJECT)
    table: list[tuple[Any, str]] = [
        ({**good, "nodes": nodes[:-1]}, "ends before the path does"),
        ({**good, "nodes": []}, "ends before the path does"),
        ({**good, "nodes": nodes + nodes[-1:]}, "nodes follow the end"),
        ({**good, "nodes": nodes[::-1]}, "is not the one that the root names"),
        ({**good, "nodes": [*nodes[:-1], nodes[-1][:-2] + "00"]}, "is not the one that its parent names"),
        ({**good, "nodes": [nodes[0] + "00", *nodes[1:]]}, "is not the one that the root names"),
        ({**good, "nodes": ["0x0", *nodes]}, "no bytes in hexadecimal digits"),
        ({**good, "nodes": [1]}, "no text"),
        ({**good, "nodes": other["nodes"]}, "node 1 of the proof is not the one that its parent names"),
        ({**good, "entry": other["entry"], "fields": other["fields"]}, "hash of another entry"),
        ({**good, "entry": "0x"}, "contradict"),
        ({**good, "entry": None}, "entry: no text"),
        ({**good, "present": False}, "contradict"),
        ({**good, "present": False, "entry": "0x", "fields": None, "texts": {}}, "not its absence"),
        ({**good, "present": 1}, "neither true nor false"),
        ({**good, "key": OBJECT.upper()}, "no id"),
        ({**good, "key": OBJECT + " "}, "no id"),
        ({**good, "key": "obj_ä"}, "no id"),
        ({**good, "key": "bat_1y4fm1c01sb55372afcnzse3c9"}, "holds nothing under ids that begin with bat"),
        ({**good, "key": "evt_1y4fm1c01sb55372afcnzse3c9"}, "holds nothing under ids that begin with evt"),
        ({**good, "texts": None}, "texts is no object"),
        ({**good, "nodes": nodes * 65}, "too long"),
        ({**good, "texts": {"properties": PROPERTIES.replace("12.50", "12.5")}}, "its entry holds"),
        ({**good, "texts": {"properties": "\ud800"}}, "half a character"),
        ({**good, "texts": {"properties": json.loads(PROPERTIES)}}, "no text"),
        ({**good, "texts": {"properties": PROPERTIES, "schema": ""}}, "texts of schema"),
        ({**good, "texts": {"properties": PROPERTIES, "surplus": ""}}, "unknown member"),
        ({**good, "fields": {**good["fields"], "serial": 2}}, "differs from its entry in serial"),
        ({**good, "fields": {**good["fields"], "serial": True}}, "differs from its entry in serial"),
        ({**good, "fields": {**good["fields"], "status": "locked"}}, "differs from its entry in status"),
        ({**good, "fields": {**good["fields"], "surplus": 1}}, "differs from its entry in surplus"),
        ({**good, "fields": {"serial": 1}}, "differs from its entry in version"),
        ({**good, "fields": None}, "differs from its entry"),
        ({**good, "fields": []}, "differs from its entry"),
        ({**good, "surplus": 1}, "unknown member"),
        ({name: member for name, member in good.items() if name != "anchor"}, "lacks anchor"),
        ({name: member for name, member in good.items() if name != "nodes"}, "lacks nodes"),
        ({name: member for name, member in good.items() if name != "fields"}, "lacks fields"),
        (resigned(good, state=ZERO), "no root of the state"),
        (resigned(good, batches=0), "of an empty log"),
        (resigned(good, state=EMPTY_ROOT), "the empty trie has no nodes"),
        ({**resigned(good, state=EMPTY_ROOT), "nodes": []}, "holds nothing under this key"),
        ({**resigned(good, state=EMPTY_ROOT), "nodes": ["0x80"]}, "the empty trie has no nodes"),
        ("[]", "is no object"),
        ("{", "no JSON"),
        (None, "is no object"),
    ]
    for answer, match in table:
        refuses(answer, Refused, match)
    assert len(table) == 46
    verify_state_proof(good, TRUST)
    unsigned = changed(good, lambda made: made["checkpoint"]["checkpoint"].update(sequence=21))
    refuses(unsigned, WrongSigner, "the checkpoint was signed by")
    refuses(good, ProofMissing, "not about", OTHER_OBJECT)
    for fields in ({"serial": "1"}, {"owner_address": good["fields"]["owner_address"].lower()}):
        verify_state_proof({**good, "fields": {**good["fields"], **fields}}, TRUST)
    refuses({**good, "fields": {**good["fields"], "integrity": good["fields"]["integrity"].upper().replace("X", "x")}}, Refused, "in integrity")


def test_an_entry_above_its_checkpoint_is_malformed() -> None:
    refuses(StateTrie(ENTRIES, sequence=4).answer(OBJECT), MalformedEntry, "a sequence above its checkpoint's")
    verify_state_proof(StateTrie(ENTRIES, sequence=5).answer(OBJECT), TRUST)


# A valid proof of a malformed entry is refused, and each rule has its message.
@pytest.mark.parametrize(
    ("key", "made", "match"),
    [
        (OBJECT, object_entry(serial=2**64), "serial: no number of 64 bits"),
        (OBJECT, object_entry(status=3), "status: 3 is not below 3"),
        (OBJECT, object_entry(owner="wal_é"), "owner_id: no id"),
        (OBJECT, object_entry(owner=OBJECT), "owner_id: no id that begins with wal"),
        (OBJECT, object_entry(owner="wal_80rncgywqeya9fjn2tzgmbyrya"), "owner_id: no id"),
        (OBJECT, object_entry(owner=[]), "owner_id: no id"),
        (OBJECT, object_entry(serial=[1]), "serial: no number"),
        (OBJECT, object_entry(var=TEMPLATE), "variation_id: no id"),
        (WALLET, b"", "contradict"),
        (WALLET, b"\xc0", "is no list of 8 items"),
        (WALLET, b"\x01", "is no list of 8 items"),
        (WALLET, b"\xc1" * 5000 + b"\xc0", "no canonical RLP"),
        (WALLET, b"\xff" * 9, "no canonical RLP"),
        (VARIATION, entry("org_35rx61b9m631xvdezsjp7mjky6", TEMPLATE, 0, text_hash(NAME), text_hash("{}"), version=2), "a version above 1"),
        ("org_35rx61b9m631xvdezsjp7mjky6", entry(1), "is no list of 4 items"),
        ("key_42ak1jka98a3vdaeex6xqmg5qe", entry("org_35rx61b9m631xvdezsjp7mjky6", 2), "deleted: 2 is not below 2"),
        ("dsp_0rngz76gzg2t4grm8ejfwka9gh", entry("org_35rx61b9m631xvdezsjp7mjky6", "xxx_0rngz76gzg2t4grm8ejfwka9gh"), "subject_id: no id"),
    ],
)
def test_a_malformed_entry_has_its_message(key: str, made: bytes, match: str) -> None:
    state = StateTrie(ENTRIES)
    state.trie[keccak(key.encode())] = keccak(made)
    state.checkpoint = replace(state.checkpoint, state=bytes(state.trie.root_hash))
    answer = {**state.answer(key), "entry": hex_text(made), "present": True, "fields": {}, "texts": {}}
    refuses(answer, Refused if match == "contradict" else MalformedEntry, match)


def test_absence_under_an_actions_id_shows_nothing() -> None:
    with pytest.raises(Refused, match="shows nothing"):
        verify_state_proof(STATE.answer("act_0479rrex65eayrm9ddqtrvzkaw"), TRUST)


def test_a_broken_trie_is_named_as_such() -> None:
    long = b"\xf9\x02\x12" + bytes(530)
    for node in (long, b"\xc0" * 32, bytes(31), b"\xe1" + bytes(33)):
        answer = {**resigned(STATE.answer(OBJECT), state=keccak(node)), "nodes": [hex_text(node)]}
        refuses(answer, BrokenTrie, "a node")


KEYS = [OBJECT, TEMPLATE, OTHER_OBJECT]


def test_a_lists_proofs_share_their_nodes() -> None:
    answer = STATE.answers(KEYS)
    found = verify_state_proofs(json.dumps(answer), TRUST, KEYS)
    assert [one.key for one in found] == KEYS and all(isinstance(one, StateShown) for one in found)
    assert len(answer["nodes"]) < sum(len(proof["nodes"]) for proof in answer["proofs"])
    assert verify_state_proofs(STATE.answers([ABSENT]), TRUST)[0].entry is None
    nothing = {**STATE.answers([]), "nodes": []}
    assert verify_state_proofs(nothing, TRUST, []) == ()


def swapped(answer: dict[str, Any]) -> dict[str, Any]:
    """The same proofs, with two common nodes in each other's place."""
    first, second, *rest = answer["nodes"]
    places = {0: 1, 1: 0}
    proofs = [{**proof, "nodes": [places.get(place, place) for place in proof["nodes"]]} for proof in answer["proofs"]]
    return {**answer, "nodes": [second, first, *rest], "proofs": proofs}


def test_every_change_of_a_lists_proofs_is_refused() -> None:
    good = STATE.answers(KEYS)
    count = len(good["nodes"])

    def change(number: int, **members: Any) -> Change:
        return lambda made: made["proofs"][number].update(members)

    places = good["proofs"][0]["nodes"]
    table: list[tuple[dict[str, Any], type[Refused]]] = [
        (changed(good, change(0, nodes=[*places[:-1], count])), Refused),
        (changed(good, change(0, nodes=[*places[:-1], -1])), Refused),
        (changed(good, change(0, nodes=[*places, places[-1]])), Refused),
        (changed(good, change(0, nodes=places[::-1])), Refused),
        (changed(good, change(0, nodes=good["nodes"])), Refused),
        ({**good, "nodes": [*good["nodes"], hex_text(b"surplus")]}, Refused),
        ({**good, "nodes": [*good["nodes"], good["nodes"][0]]}, Refused),
        ({**changed(good, change(0, nodes=[count, *places[1:]])), "nodes": [*good["nodes"], good["nodes"][places[0]]]}, Refused),
        ({**good, "nodes": good["nodes"][::-1]}, Refused),
        (swapped(good), Refused),
        ({**good, "proofs": good["proofs"][:-1]}, ProofMissing),
        ({**good, "proofs": good["proofs"][::-1]}, ProofMissing),
        ({**good, "proofs": [good["proofs"][0]] * 101}, Refused),
        (changed(good, change(1, key=OBJECT)), ProofMissing),
        (changed(good, lambda made: made["checkpoint"]["checkpoint"].update(batches=6)), WrongSigner),
        ({**good, "checkpoint": STATE.signed(replace(STATE.checkpoint, state=ZERO))}, Refused),
        ({**good, "anchor": {**anchor(STATE.signed()), "path": [hex_text(ZERO)]}}, Refused),
    ]
    for answer, kind in table:
        with pytest.raises(Refused) as found:
            verify_state_proofs(answer, TRUST, KEYS)
        assert type(found.value) is kind
    assert len(table) == 17
    verify_state_proofs(good, TRUST, KEYS)
