"""States of a log that the tests make: entries, their trie by PyPI's `trie`, and answers with proofs of them."""

from collections.abc import Mapping
from typing import Any

import rlp
from kedge.protocol.entries import decode_entry
from kedge.protocol.hashing import hex_text, keccak, text_hash
from kedge.protocol.typed import Checkpoint
from trie.hexary import HexaryTrie

from forged import CONTRACT, shown, signed

ORGANIZATION = "org_35rx61b9m631xvdezsjp7mjky6"
TEMPLATE = "tpl_73q654v8rt29ymqqke8c1kysnt"
VARIATION = "var_2cjh45w311nsp43kgxzsxpqype"
OBJECT, OTHER_OBJECT = "obj_13abd7507hvv63nkrvn17bjhe9", "obj_4ja2ws2bq93nnmdrhjk52sxkbe"
WALLET, OTHER_WALLET = "wal_30rncgywqeya9fjn2tzgmbyrya", "wal_06z3xemetzd5v93dpgceg7q97z"
ABSENT = "obj_2enpephrjz2faj0y99bvwk13a4"
ADDRESS, OTHER_ADDRESS = b"\x11" * 20, b"\x22" * 20
PROPERTIES, SCHEMA, SCAN_SCHEMA, NAME = '{"seat":"Ä1","price":12.50}', '{"type":"object"}', '{"x":1}', "nörth"
INTEGRITY = bytes(range(1, 33))


def entry(*items: Any, version: int = 1, sequence: int = 5, integrity: bytes = INTEGRITY) -> bytes:
    """The encoding of an entry; texts as ASCII, numbers as RLP has them."""
    return bytes(rlp.encode([1, version, sequence, integrity, *(_item(item) for item in items)]))


def _item(item: Any) -> Any:
    if isinstance(item, list):
        return [_item(each) for each in item]
    return item.encode() if isinstance(item, str) else item


def object_entry(**changes: Any) -> bytes:
    """An object's entry, or another one with some changes."""
    values = {
        "org": ORGANIZATION, "tpl": TEMPLATE, "var": VARIATION, "serial": 1, "owner": WALLET, "address": ADDRESS,
        "status": 0, "properties": text_hash(PROPERTIES), "version": 1, "sequence": 5, "integrity": INTEGRITY, **changes,
    }  # fmt: skip
    common = {name: values.pop(name) for name in ("version", "sequence", "integrity")}
    return entry(*values.values(), **common)


def template_entry(**changes: Any) -> bytes:
    """A template's entry, or another one with some changes."""
    rules = [["transfer", 2, text_hash("")], ["x.scan", 1, text_hash(SCAN_SCHEMA)]]
    values = {
        "org": ORGANIZATION, "public": 1, "max": [100], "minted": 3, "burned": 1, "variations": 1,
        "properties": text_hash(PROPERTIES), "schema": text_hash(SCHEMA), "rules": rules,
        "version": 2, "sequence": 4, "integrity": INTEGRITY[::-1], **changes,
    }  # fmt: skip
    common = {name: values.pop(name) for name in ("version", "sequence", "integrity")}
    return entry(*values.values(), **common)


def wallet_entry(**changes: Any) -> bytes:
    """A wallet's entry, or another one with some changes."""
    values = {"org": ORGANIZATION, "address": ADDRESS, "role": 0, "keys": [ADDRESS], "version": 1, "sequence": 1, "integrity": keccak(b"w"), **changes}
    common = {name: values.pop(name) for name in ("version", "sequence", "integrity")}
    return entry(*values.values(), **common)


ENTRIES: dict[str, bytes] = {
    OBJECT: object_entry(),
    OTHER_OBJECT: object_entry(serial=2, version=2, sequence=9, status=1, integrity=keccak(b"o")),
    TEMPLATE: template_entry(),
    VARIATION: entry(ORGANIZATION, TEMPLATE, 0, text_hash(NAME), text_hash("{}"), integrity=keccak(b"v")),
    WALLET: wallet_entry(),
}
TEXTS: dict[str, Any] = {
    "obj": {"properties": PROPERTIES},
    "tpl": {"properties": PROPERTIES, "schema": SCHEMA, "rules": ["", SCAN_SCHEMA]},
    "var": {"name": NAME, "properties": "{}"},
}


class StateTrie:
    """The trie of some entries, and the signed checkpoint over it."""

    def __init__(self, entries: Mapping[str, bytes], sequence: int = 20, batches: int = 7) -> None:
        self.entries = dict(entries)
        self.trie: Any = HexaryTrie(db={})
        for key, value in self.entries.items():
            self.trie[keccak(key.encode())] = keccak(value)
        self.checkpoint = Checkpoint(batches, sequence, keccak(b"head"), keccak(b"history"), bytes(self.trie.root_hash), 1000)

    def nodes(self, key: str) -> list[bytes]:
        proof = self.trie.get_proof(keccak(key.encode()))
        return [bytes(rlp.encode(node)) for node in proof if node]

    def signed(self, checkpoint: Checkpoint | None = None) -> dict[str, Any]:
        made = checkpoint or self.checkpoint
        return {"checkpoint": shown(made), "signature": signed(made)}

    def stated(self, key: str) -> dict[str, Any]:
        """The members that a proof of one id has wherever it stands."""
        value = self.entries.get(key)
        if value is None:
            return {"key": key, "present": False, "entry": "0x", "fields": None, "texts": {}}
        fields = decode_entry(key, value, 2**64 - 1).stated()
        return {"key": key, "present": True, "entry": hex_text(value), "fields": fields, "texts": TEXTS.get(key[:3], {})}

    def answer(self, key: str) -> dict[str, Any]:
        """The answer of `GET /state/{id}`."""
        nodes = [hex_text(node) for node in self.nodes(key)]
        return {**self.stated(key), "nodes": nodes, "checkpoint": self.signed(), "anchor": None}

    def answers(self, keys: list[str]) -> dict[str, Any]:
        """The member `state_proofs` of a list."""
        common: dict[bytes, int] = {}
        proofs = []
        for key in keys:
            places = [common.setdefault(node, len(common)) for node in self.nodes(key)]
            proofs.append({**self.stated(key), "nodes": places})
        return {"checkpoint": self.signed(), "anchor": None, "nodes": [hex_text(node) for node in common], "proofs": proofs}


def anchor(checkpoint: Mapping[str, Any]) -> dict[str, Any]:
    """The anchor of a signed checkpoint."""
    return {"checkpoint": checkpoint, "path": [], "contract": CONTRACT, "transaction_hash": hex_text(keccak(b"t")), "block_number": 9}
