"""The protocol's vectors, and the keys of the tests."""

import json
from pathlib import Path
from typing import Any

from kedge.protocol.hashing import from_hex
from kedge.protocol.typed import Checkpoint, Domain, Header

ROOT = Path(__file__).resolve().parents[3]


def text_of(path: str) -> str:
    return (ROOT / path).read_text(encoding="utf-8")


def read(name: str) -> Any:
    """The value of a file of vectors."""
    return json.loads(text_of(f"crates/protocol/vectors/{name}.json"))


def domain_of(vector: dict[str, Any]) -> Domain:
    return Domain.of(int(vector["chainId"]), vector["verifyingContract"])


def header_of(message: dict[str, Any]) -> Header:
    return Header(
        number=int(message["number"]),
        first_sequence=int(message["firstSequence"]),
        count=int(message["count"]),
        previous_head=from_hex(message["previousHead"]),
        sealed_at_ms=int(message["sealedAt"]),
        **{name: from_hex(message[name]) for name in ("head", "root", "history", "state")},
    )


def header_json(message: dict[str, Any]) -> dict[str, Any]:
    return {
        "number": int(message["number"]),
        "first_sequence": int(message["firstSequence"]),
        "count": int(message["count"]),
        "previous_head": message["previousHead"],
        "head": message["head"],
        "root": message["root"],
        "history": message["history"],
        "state": message["state"],
        "sealed_at_ms": int(message["sealedAt"]),
    }


def checkpoint_of(message: dict[str, Any]) -> Checkpoint:
    return Checkpoint(
        batches=int(message["batches"]),
        sequence=int(message["sequence"]),
        issued_at_ms=int(message["issuedAt"]),
        **{name: from_hex(message[name]) for name in ("head", "history", "state")},
    )


def words(texts: list[str]) -> list[bytes]:
    return [from_hex(text) for text in texts]
