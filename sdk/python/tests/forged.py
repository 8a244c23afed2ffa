"""Logs that a dishonest sequencer could sign: every signature is right, and what they state is up to the test."""

import json
from dataclasses import asdict, replace
from typing import Any

from kedge import KeySigner, Trust
from kedge.protocol.hashing import ZERO, hex_text, keccak
from kedge.protocol.trees import root_of
from kedge.protocol.typed import Checkpoint, Header, leaf_of, next_head, next_integrity
from kedge.signing import Action, Unsigned

CONTRACT = "0x5FbDB2315678afecb367f032d93F642f64180aa3"
SEQUENCER, SIGNER = KeySigner(b"\7" * 32), KeySigner(b"\x08" * 32)
TRUST = Trust.of(31337, CONTRACT, SEQUENCER.address)
DOMAIN = {"chain_id": 31337, "verifying_contract": CONTRACT}


def shown(value: object) -> dict[str, Any]:
    """A header or checkpoint as JSON."""
    return {name: hex_text(each) if isinstance(each, bytes) else each for name, each in asdict(value).items()}  # type: ignore[call-overload]


def signed(value: Header | Checkpoint) -> str:
    return hex_text(SEQUENCER.sign_digest(TRUST.domain.digest(value.hash)))


def export(batches: int = 3, headers: dict[int, dict[str, Any]] | None = None, deadline: int = 100, time_ms: int = 5000) -> list[str]:
    """The lines of an export of a log with one action a batch; `headers` changes what single headers state before they are signed."""
    lines: list[dict[str, Any]] = []
    logs: list[bytes] = []
    head, sequencer = TRUST.domain.separator, SEQUENCER.address
    stated = {"version": 1, "domain": DOMAIN, "sequencer": sequencer, "from": 0, "sequence": 0, "head": hex_text(head), "peaks": []}
    lines.append({"type": "log", **stated})
    for number in range(batches):
        request = Unsigned(
            TRUST.domain, bytes.fromhex(SIGNER.address[2:]), number + 1, deadline, [Action("emit", "obj_x", "1")], False, keccak(bytes([number]))
        )
        signature = SIGNER.sign(request)
        (content,) = request.contents(signature)
        leaf = leaf_of(number + 1, time_ms, content, next_integrity(ZERO, content))
        honest = Header(number, number + 1, 1, head, next_head(head, leaf), leaf, root_of(logs), ZERO, time_ms)
        header = replace(honest, **(headers or {}).get(number, {}))
        lines.append({"type": "batch", "batch": {"header": shown(header), "signature": signed(header)}, "leaves": [hex_text(leaf)]})
        action = {"index": 0, "kind": "emit", "target": "obj_x", "payload": "1", "previous_integrity": hex_text(ZERO)}
        whole = {"first_sequence": number + 1, "timestamp_ms": time_ms, "signer": SIGNER.address, "nonce": str(number + 1)}
        proof = {"deadline": deadline, "atomic": False, "signature": hex_text(signature), "salt_seed": hex_text(request.seed)}
        lines.append({"type": "request", **whole, **proof, "actions": [action], "failed": []})
        head = header.head
        logs.append(header.log_leaf)
    checkpoint = Checkpoint(batches, batches, head, root_of(logs), ZERO, time_ms)
    lines.append({"type": "checkpoint", "checkpoint": shown(checkpoint), "signature": signed(checkpoint)})
    return [json.dumps(line) for line in lines]
