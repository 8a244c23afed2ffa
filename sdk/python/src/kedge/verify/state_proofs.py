"""State proofs: the entry of one id after a signed checkpoint's last action."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

from ..errors import ProofMissing, Refused
from ..protocol.entries import ObjectEntry, StateEntry, TemplateEntry, VariationEntry, check_key, decode_entry
from ..protocol.hashing import ZERO, hex_text, keccak, text_hash
from ..protocol.trie import PATH_NIBBLES, check_value
from ..protocol.typed import Checkpoint
from .forms import check_checkpoint, signed_checkpoint
from .reading import Members, address, flag, list_of, null_or, octets, refuse_unless, shape, text, u32, u64, value_of, word, words
from .trust import Trust

PROOFS_MAX: Final = 100
"""Limit on the proofs of one list."""
NODES_MAX: Final = PATH_NIBBLES + 1
"""Limit on the nodes of one proof: a branch for each nibble of the path, and a leaf."""


def _anything(value: Any) -> Any:
    return value


_ANCHOR = shape(
    "anchor",
    {"checkpoint": signed_checkpoint, "path": words, "contract": address, "transaction_hash": null_or(word), "block_number": null_or(u64)},
)
_TEXTS = shape("texts", {}, {"properties": text, "schema": text, "name": text, "rules": list_of(text)})
_ENTRY: Final = {"key": text, "present": flag, "entry": octets, "fields": _anything, "texts": _TEXTS}
_SIGNED: Final = {"checkpoint": signed_checkpoint, "anchor": null_or(_ANCHOR)}
_PROOF = shape("state proof", {**_ENTRY, "nodes": list_of(octets, NODES_MAX), **_SIGNED})
_LISTED = shape("proof", {**_ENTRY, "nodes": list_of(u32, NODES_MAX)})
_PROOFS = shape("state proofs", {**_SIGNED, "nodes": list_of(octets), "proofs": list_of(_LISTED, PROOFS_MAX)})
_ADDRESS_CHARS: Final = 42
# The texts of each type, and the attributes of its entry that hold their hashes.
TEXT_HASHES: Final[Mapping[type[StateEntry], Mapping[str, str]]] = {
    ObjectEntry: {"properties": "properties_hash"},
    TemplateEntry: {"properties": "properties_hash", "schema": "schema_hash"},
    VariationEntry: {"name": "name_hash", "properties": "properties_hash"},
}


@dataclass(frozen=True)
class StateShown:
    """Facts shown by a valid state proof: after the checkpoint's last action, this was the id's entry.

    Attributes:
        key: the id.
        entry: its entry; None if the log had made nothing under this id.
        entry_bytes: the entry's encoding, empty if there is none.
        texts: the texts whose hashes the entry holds: `properties` of an object; `properties` and `schema` of a template,
            the schema empty if there is none; `name` and `properties` of a variation. One that the server no longer has
            is absent.
        rule_schemas: the schemas of a template's rules, in their order and empty where there is none; None if the proof
            did not bring them.
        checkpoint: the signed checkpoint.
        anchored: whether the checkpoint is anchored, according to the server. Only the contract confirms it.
    """

    key: str
    entry: StateEntry | None
    entry_bytes: bytes
    texts: Mapping[str, str]
    rule_schemas: tuple[str, ...] | None
    checkpoint: Checkpoint
    anchored: bool


@dataclass(frozen=True)
class ProvenBytes:
    """An entry's bytes that a signed checkpoint's root holds under a key, not yet read; empty bytes for absence."""

    key: str
    entry: bytes
    checkpoint: Checkpoint
    anchored: bool
    stated: Members = field(repr=False)


def verify_state_proof(answer: Any, trust: Trust, key: str | None = None) -> StateShown:
    """Verifies a state proof and returns what it shows.

    Args:
        answer: the text or value of `GET /objects/{id}/state-proof` and of an item's `state_proof`.
        trust: the log's domain and keys.
        key: the id that the proof has to be about, if the caller asked for one.

    Raises:
        WrongSigner: the checkpoint was signed by another key than the one valid for its last batch.
        ProofMissing: the proof is about another id.
        BrokenTrie: the state's trie is broken, which is evidence of a fault.
        MalformedEntry: the proof is valid, and its entry breaks a rule, which is evidence of a fault.
        Refused: the proof is invalid for another reason.
    """
    proven = prove_bytes(answer, trust)
    if key is not None and proven.key != key:
        raise ProofMissing(f"the proof is about {proven.key[:40]}, not about {key}")
    return _shown(proven)


def verify_state_proofs(answer: Any, trust: Trust, keys: Sequence[str] | None = None) -> tuple[StateShown, ...]:
    """Verifies the proofs of a list, which share one checkpoint and their common nodes, and returns what they show.

    Args:
        answer: the text or value of a list's `state_proofs`.
        trust: the log's domain and keys.
        keys: the ids that the proofs have to be about, in this order.

    Raises:
        ProofMissing: a proof is missing, or about another id.
        Refused: a proof is invalid, with the subclasses of `verify_state_proof`.
    """
    return prove_list(answer, trust, keys)[1]


def prove_list(answer: Any, trust: Trust, keys: Sequence[str] | None = None) -> tuple[Checkpoint, tuple[StateShown, ...]]:
    """Verifies the proofs of a list as `verify_state_proofs` does. Also returns their checkpoint, which an empty list has too."""
    read = _PROOFS(value_of(answer))
    found = [proof["key"] for proof in read["proofs"]]
    if keys is not None and found != list(keys):
        raise ProofMissing(f"the list has proofs of {len(found)} ids, which are not the {len(keys)} of its items, in their order")
    checkpoint, anchored = _checkpoint(read, trust)
    nodes: list[bytes] = read["nodes"]
    refuse_unless(len(set(nodes)) == len(nodes), "a common node occurs twice")
    used = 0
    proven = []
    for proof in read["proofs"]:
        for index in proof["nodes"]:
            refuse_unless(index < len(nodes), "a proof names a node that the list lacks")
            refuse_unless(index <= used, "the common nodes are not in the order of their first use")
            used = max(used, index + 1)
        proven.append(_proven(proof, [nodes[index] for index in proof["nodes"]], checkpoint, anchored))
    refuse_unless(used == len(nodes), "no proof uses one of the common nodes")
    return checkpoint, tuple(_shown(one) for one in proven)


def prove_bytes(answer: Any, trust: Trust) -> ProvenBytes:
    """Verifies a state proof's signature and nodes, and leaves its entry unread: as evidence, an entry may be malformed.

    Raises:
        Refused: the proof is invalid.
    """
    read = _PROOF(value_of(answer))
    return _proven(read, read["nodes"], *_checkpoint(read, trust))


def _checkpoint(read: Members, trust: Trust) -> tuple[Checkpoint, bool]:
    checkpoint, anchor = check_checkpoint(read["checkpoint"], trust), read["anchor"]
    refuse_unless(checkpoint.batches > 0, "the checkpoint is of an empty log")
    refuse_unless(checkpoint.state != ZERO, "the checkpoint has no root of the state")
    if anchor is None:
        return checkpoint, False
    # It may have been signed again, at another time.
    anchored = check_checkpoint(anchor["checkpoint"], trust)
    refuse_unless(replace(anchored, issued_at_ms=checkpoint.issued_at_ms) == checkpoint, "the anchored checkpoint is another one than the proof's")
    refuse_unless(not anchor["path"], "a checkpoint's own anchor has no path")
    return checkpoint, True


def _proven(read: Members, nodes: Sequence[bytes], checkpoint: Checkpoint, anchored: bool) -> ProvenBytes:
    key, entry = read["key"], read["entry"]
    check_key(key)
    refuse_unless(read["present"] == bool(entry), "`present` and `entry` contradict each other")
    check_value(checkpoint.state, key.encode(), keccak(entry) if entry else None, nodes)
    return ProvenBytes(key, entry, checkpoint, anchored, read)


def _shown(proven: ProvenBytes) -> StateShown:
    fields, texts = proven.stated["fields"], proven.stated["texts"]
    if not proven.entry:
        refuse_unless(not proven.key.startswith("act_"), "few actions name a key of the sequencer: absence under an action's id shows nothing")
        refuse_unless(fields is None and not texts, "fields or texts of an absent entry")
        return StateShown(proven.key, None, b"", {}, None, proven.checkpoint, proven.anchored)
    entry = decode_entry(proven.key, proven.entry, proven.checkpoint.sequence)
    differing = differing_members(fields, entry.stated())
    refuse_unless(not differing, f"`fields` of {proven.key} differs from its entry in {', '.join(differing)}")
    shown, schemas = _check_texts(proven.key, texts, entry)
    return StateShown(proven.key, entry, proven.entry, shown, schemas, proven.checkpoint, proven.anchored)


def differing_members(stated: Any, own: Mapping[str, Any]) -> tuple[str, ...]:
    """Names of the members that two objects do not have in common."""
    if not isinstance(stated, dict):
        return tuple(own)
    names = [*own, *(name for name in stated if name not in own)]
    return tuple(name for name in names if name not in own or name not in stated or not agrees(stated[name], own[name]))


def agrees(stated: Any, own: Any) -> bool:
    """Whether a stated JSON value is an entry's value: numbers also as decimal text, addresses also without checksum."""
    if own is None or isinstance(own, bool):
        return stated is own
    if isinstance(own, int):
        return (type(stated) is int and stated == own) or (isinstance(stated, str) and stated == str(own))
    if isinstance(own, list):
        return isinstance(stated, list) and len(stated) == len(own) and all(map(agrees, stated, own))
    if isinstance(own, dict):
        return isinstance(stated, dict) and not differing_members(stated, own)
    is_address = own.startswith("0x") and len(own) == _ADDRESS_CHARS
    return isinstance(stated, str) and (stated == own or (is_address and stated == own.lower()))


def _check_texts(key: str, stated: Members, entry: StateEntry) -> tuple[dict[str, str], tuple[str, ...] | None]:
    hashes = TEXT_HASHES.get(type(entry), {})
    shown = {name: stated[name] for name in hashes if name in stated}
    for name, shown_text in shown.items():
        _check_text(key, name, shown_text, getattr(entry, hashes[name]))
    schemas = None
    if "rules" in stated and isinstance(entry, TemplateEntry):
        schemas = tuple(stated["rules"])
        refuse_unless(len(schemas) == len(entry.rules), f"the proof of {key} has more or fewer schemas than the template has rules")
        for rule, schema in zip(entry.rules, schemas):
            _check_text(key, f"the schema of {rule.kind}", schema, rule.schema_hash)
    surplus = stated.keys() - hashes.keys() - ({"rules"} if isinstance(entry, TemplateEntry) else set())
    refuse_unless(not surplus, f"the proof of {key} has texts of {', '.join(sorted(surplus))}, which its entry does not hold")
    return shown, schemas


def _check_text(key: str, name: str, stated: str, expected: bytes) -> None:
    found = text_hash(stated)
    refuse_unless(found == expected, f"the text of {name} of {key} has the hash {hex_text(found)}, its entry holds {hex_text(expected)}")
