"""Proofs of a real server's state, checked by PyPI's `trie`, which knows nothing of Kedge, and by this package: of 1,000
present ids and of 1,000 absent ones, and 1,000 changed proofs, which both refuse."""

import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import pytest
import rlp
from kedge import Batch, Kedge, Refused, Trust, operations
from kedge.protocol.hashing import from_hex, hex_text, keccak
from kedge.protocol.ids import id_of
from kedge.verify import verify_state_proof
from trie.hexary import HexaryTrie

from driven import email, registered
from server import Server

COUNT, BATCH, PAGE = 1000, 500, 100
TRIE: Any = HexaryTrie


@dataclass(frozen=True)
class Proof:
    """A state proof, with its bytes."""

    key: str
    entry: bytes
    nodes: tuple[bytes, ...]
    rest: dict[str, Any]

    def answer(self) -> dict[str, Any]:
        """As `GET /state/{id}` gives it."""
        return {**self.rest, "key": self.key, "present": bool(self.entry), "entry": hex_text(self.entry), "nodes": list(map(hex_text, self.nodes))}

    def holds(self) -> bool:
        """Whether `trie` finds what the proof states, under the root that the checkpoint states."""
        root = from_hex(self.rest["checkpoint"]["checkpoint"]["state"])
        try:
            found = TRIE.get_from_proof(root, keccak(self.key.encode()), [rlp.decode(node) for node in self.nodes])
        except Exception:  # It raises what it happens to meet.
            return False
        return bool(found == (keccak(self.entry) if self.entry else b""))


def proof_of(answer: Any, nodes: list[str]) -> Proof:
    rest = {name: answer[name] for name in ("fields", "texts", "checkpoint", "anchor")}
    return Proof(answer["key"], from_hex(answer["entry"]), tuple(map(from_hex, nodes)), rest)


def minted(client: Kedge) -> str:
    """A template with as many objects as this needs, all of which a checkpoint covers."""
    template = client.create_template({"name": email()})["id"]
    for first in range(0, COUNT, BATCH):
        batch = Batch(atomic=True)
        for number in range(first, first + BATCH):
            batch.mint(template, {"number": number})
        sequence = client.answer(operations.submit_batch(batch.body(), prefer="return=minimal")).sequence
    client.get_checkpoint(at_least=sequence, wait=60)
    return template


def listed(client: Kedge, template: str) -> Iterator[Proof]:
    """The proofs of the template's objects, from pages, each with its nodes."""
    cursor = None
    while True:
        page = client.list_objects(template_id=template, limit=PAGE, cursor=cursor, prove=True)
        common = page["state_proofs"]
        for one in common["proofs"]:
            answer = {**one, "checkpoint": common["checkpoint"], "anchor": common["anchor"]}
            yield proof_of(answer, [common["nodes"][place] for place in one["nodes"]])
        cursor = page["cursor"]
        if cursor is None:
            return


def absent(client: Kedge, chance: random.Random) -> Iterator[Proof]:
    for _ in range(COUNT):
        answer = client.get_state_proof(id_of("obj", chance.randbytes(16)))
        yield proof_of(answer, answer["nodes"])


def flipped(data: bytes, chance: random.Random) -> bytes:
    place = chance.randrange(len(data))
    return data[:place] + bytes([data[place] ^ (1 << chance.randrange(8))]) + data[place + 1 :]


def changes(chance: random.Random, present: list[Proof]) -> list[Callable[[Proof], Proof]]:
    """Changes of a proof, some of them to what others of `present` have."""

    def node(proof: Proof) -> Proof:
        place = chance.randrange(len(proof.nodes))
        return replace(proof, nodes=(*proof.nodes[:place], flipped(proof.nodes[place], chance), *proof.nodes[place + 1 :]))

    def entry(proof: Proof) -> Proof:
        return replace(proof, entry=flipped(proof.entry, chance) if proof.entry else b"\xc0")

    def key(proof: Proof) -> Proof:
        return replace(proof, key=next(other.key for other in chance.sample(present, 2) if other.key != proof.key))

    def left_out(proof: Proof) -> Proof:
        place = chance.randrange(len(proof.nodes))
        return replace(proof, nodes=proof.nodes[:place] + proof.nodes[place + 1 :])

    def foreign(proof: Proof) -> Proof:
        last = next(other.nodes[-1] for other in chance.sample(present, 2) if other.nodes[-1] != proof.nodes[-1])
        return replace(proof, nodes=(*proof.nodes[:-1], last))

    return [node, entry, key, left_out, foreign]


# Holds invariant 266.
def test_a_stranger_finds_what_the_proofs_state_and_nothing_else(server: Server) -> None:
    chance = random.Random(20261129)
    client = registered(Kedge, server.url)
    trust: Trust = client.trust()
    proofs = [*listed(client, minted(client)), *absent(client, chance)]
    assert [bool(one.entry) for one in proofs] == [True] * COUNT + [False] * COUNT
    assert len({one.key for one in proofs}) == 2 * COUNT
    for proof in proofs:
        assert proof.holds(), proof
        assert (verify_state_proof(proof.answer(), trust, proof.key).entry is not None) == bool(proof.entry)
    made = changes(chance, proofs[:COUNT])
    for number, proof in enumerate(chance.sample(proofs, COUNT)):
        changed = made[number % len(made)](proof)
        assert not changed.holds(), changed
        with pytest.raises(Refused):
            verify_state_proof(changed.answer(), trust, changed.key)
            pytest.fail(str(changed))
    client.close()
