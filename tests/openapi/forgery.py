"""Forgeries by a thief of the sequencer's key: evidence of a fault of a log without faults."""

from pathlib import Path

from eth_account import Account
from eth_account.messages import encode_typed_data

BATCH = [
    {"name": "number", "type": "uint64"},
    {"name": "firstSequence", "type": "uint64"},
    {"name": "count", "type": "uint32"},
    {"name": "previousHead", "type": "bytes32"},
    {"name": "head", "type": "bytes32"},
    {"name": "root", "type": "bytes32"},
    {"name": "history", "type": "bytes32"},
    {"name": "state", "type": "bytes32"},
    {"name": "sealedAt", "type": "uint64"},
]
# The members of a header, in the order of its type, and their places in the API.
HEADER = {
    "number": "number",
    "first_sequence": "first_sequence",
    "count": "action_count",
    "previous_head": "previous_head",
    "head": "head",
    "root": "merkle_root",
    "history": "history",
    "state": "state",
    "sealed_at_ms": "sealed_at_ms",
}


def signature(directory: Path, domain: dict, header: dict) -> str:
    """The sequencer's signature over a header."""
    message = {field["name"]: value for field, value in zip(BATCH, header.values(), strict=True)}
    typed = {"types": {"Batch": BATCH}, "domain": domain, "primaryType": "Batch", "message": message}
    account = Account.from_key((directory / "data" / "keys" / "sequencer.key").read_text().strip())
    return "0x" + bytes(account.sign_message(encode_typed_data(full_message=typed)).signature).hex()


def evidence(directory: Path, domain: dict, batch: dict, later_ms: int) -> dict:
    """An evidence file of a batch as the API shows it, and of the same batch sealed later."""
    honest = {name: batch[told] for name, told in HEADER.items()}
    later = honest | {"sealed_at_ms": honest["sealed_at_ms"] + later_ms}

    def signed(header: dict) -> dict:
        by = {"signature": signature(directory, domain, header), "key_index": 0}
        return {"header": header, "standing": {"signed": by}}

    return {
        "format": "kedge.evidence",
        "version": 1,
        "domain": {"chain_id": domain["chainId"], "verifying_contract": domain["verifyingContract"]},
        "evidence": {"fault": "conflicting_batches", "first": signed(honest), "second": signed(later)},
    }
