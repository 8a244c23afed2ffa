"""Checks eip712.json, which viem made, with eth-account: every hash and signature must be equal.

Usage: python eip712_eth_account.py <eip712.json>
"""

import json
import sys
from pathlib import Path

from eth_account import Account
from eth_account.messages import encode_typed_data
from eth_keys.datatypes import Signature
from eth_utils import keccak, to_checksum_address

ORDER = 0xFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFEBAAEDCE6AF48A03BBFD25E8CD0364141
NUMBERS = {"nonce", "deadline", "number", "firstSequence", "sealedAt", "batches", "sequence", "issuedAt"}
ACTION = [("kind", "string"), ("target", "string"), ("payload", "string"), ("salt", "bytes32")]
TYPES = {
    "ActionRequest": {
        "ActionRequest": [
            ("signer", "address"),
            ("nonce", "uint64"),
            ("deadline", "uint64"),
            ("atomic", "bool"),
            ("actions", "Action[]"),
        ],
        "Action": ACTION,
    },
    "Action": {"Action": ACTION},
    "Batch": {
        "Batch": [
            ("number", "uint64"),
            ("firstSequence", "uint64"),
            ("count", "uint32"),
            ("previousHead", "bytes32"),
            ("head", "bytes32"),
            ("root", "bytes32"),
            ("history", "bytes32"),
            ("state", "bytes32"),
            ("sealedAt", "uint64"),
        ]
    },
    "Checkpoint": {
        "Checkpoint": [
            ("batches", "uint64"),
            ("sequence", "uint64"),
            ("head", "bytes32"),
            ("history", "bytes32"),
            ("state", "bytes32"),
            ("issuedAt", "uint64"),
        ]
    },
}


def encoded(domain: dict, primary: str, message: dict):
    types = {name: [{"name": n, "type": t} for n, t in fields] for name, fields in TYPES[primary].items()}
    native = {key: int(value) if key in NUMBERS else value for key, value in message.items()}
    return encode_typed_data(
        {
            "name": "Digital Object Service",
            "version": "3",
            "chainId": int(domain["chainId"]),
            "verifyingContract": domain["verifyingContract"],
        },
        types,
        native,
    )


def digest_of(signable) -> bytes:
    return keccak(b"\x19" + signable.version + signable.header + signable.body)


def same(what: str, mine, theirs: str) -> None:
    mine = mine if isinstance(mine, str) else "0x" + bytes(mine).hex()
    if mine != theirs:
        raise SystemExit(f"{what}: eth-account says {mine}, the file says {theirs}")


def check_signed(vectors: dict, what: str, primary: str, key: str, entry: dict) -> None:
    domain = vectors["domains"][entry["domain"]]
    signable = encoded(domain, primary, entry["message"])
    signed = Account.sign_message(signable, vectors["keys"][key]["private"])
    same(f"{what}: separator", signable.header, domain["separator"])
    same(f"{what}: struct_hash", signable.body, entry["struct_hash"])
    same(f"{what}: digest", digest_of(signable), entry["digest"])
    same(f"{what}: signature", signed.signature, entry["signature"])


def check_request(vectors: dict, entry: dict) -> None:
    what, message = entry["label"], entry["message"]
    check_signed(vectors, what, "ActionRequest", entry["signer"], entry)
    seed = bytes.fromhex(entry["salt_seed"][2:])
    for index, action in enumerate(message["actions"]):
        salt = keccak(seed + index.to_bytes(2, "big"))
        same(f"{what}: salt {index}", salt, action["salt"])
        body = encoded(vectors["domains"][0], "Action", action).body
        same(f"{what}: action hash {index}", body, entry["action_hashes"][index])
        authority = keccak(keccak(bytes.fromhex(entry["signature"][2:])) + salt)
        same(f"{what}: authority {index}", authority, entry["authorities"][index])


def accepts(vectors: dict, entry: dict) -> bool:
    """The protocol's own rule: 65 bytes, v of four values, low s, and the signer comes out."""
    signature = bytes.fromhex(entry["signature"][2:])
    if len(signature) != 65 or signature[64] not in (0, 1, 27, 28):
        return False
    r, s = int.from_bytes(signature[:32], "big"), int.from_bytes(signature[32:64], "big")
    if not (0 < r < ORDER and 0 < s <= ORDER // 2):
        return False
    digest = digest_of(encoded(vectors["domains"][entry["domain"]], "ActionRequest", entry["message"]))
    try:
        key = Signature(vrs=(signature[64] % 27, r, s)).recover_public_key_from_msg_hash(digest)
    except Exception:  # eth-keys raises several kinds for a point off the curve
        return False
    return key.to_checksum_address() == to_checksum_address(entry["message"]["signer"])


def main(path: str) -> None:
    vectors = json.loads(Path(path).read_text(encoding="utf-8"))
    for name, key in vectors["keys"].items():
        same(f"address of {name}", Account.from_key(key["private"]).address, key["address"])
    for entry in vectors["requests"]:
        check_request(vectors, entry)
    for group, primary in (("headers", "Batch"), ("checkpoints", "Checkpoint")):
        for index, entry in enumerate(vectors[group]):
            check_signed(vectors, f"{group}[{index}]", primary, "sequencer", entry)
    refuse = vectors["must_refuse"]
    check_signed(vectors, "the base of the refused", "ActionRequest", "alice", refuse["good"])
    if not accepts(vectors, refuse["good"]):
        raise SystemExit("the good signature is refused")
    for entry in refuse["refused"]:
        if accepts(vectors, entry):
            raise SystemExit(f"accepted, but must be refused: {entry['why']}")
    for entry in vectors["spellings"]:
        received, kept = bytes.fromhex(entry["received"][2:]), bytes.fromhex(entry["kept"][2:])
        same("kept spelling", received[:64] + bytes([received[64] % 27 + 27]), entry["kept"])
        same("hash of the kept spelling", keccak(kept), entry["kept_hash"])
    print(f"eth-account agrees: {len(vectors['requests'])} requests, {len(refuse['refused'])} refused")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        raise SystemExit(__doc__)
    main(sys.argv[1])
