"""Checks possession.json with eth-account: every hash and signature must be equal, and what must be refused is refused.

Usage: python possession_check.py <possession.json>
"""

import json
import sys
from pathlib import Path

from eip712_eth_account import ORDER, digest_of, same
from eth_account import Account
from eth_account.messages import encode_typed_data
from eth_keys.datatypes import Signature
from eth_utils import keccak

TYPES = {"KeyConsent": [{"name": "wallet", "type": "string"}, {"name": "key", "type": "address"}]}


def encoded(domain: dict, message: dict):
    return encode_typed_data(domain, TYPES, message)


def refused_by(domain: dict, entry: dict) -> str | None:
    """Why a signature is refused; None if the key that the message names made it."""
    signature = bytes.fromhex(entry["signature"][2:])
    if len(signature) != 65:
        return "length"
    if signature[64] not in (0, 1, 27, 28):
        return "v"
    r, s = int.from_bytes(signature[:32], "big"), int.from_bytes(signature[32:64], "big")
    if s > ORDER // 2:
        return "high s"
    digest = digest_of(encoded(domain, entry["message"]))
    found = Signature(vrs=(signature[64] % 27, r, s)).recover_public_key_from_msg_hash(digest).to_checksum_address()
    return None if found == entry["message"]["key"] else f"another signer: {found}"


def main(path: str) -> None:
    vectors = json.loads(Path(path).read_text(encoding="utf-8"))
    domain, keys = vectors["domain"], vectors["keys"]
    for name, key in keys.items():
        same(f"address of {name}", Account.from_key(key["private"]).address, key["address"])
    same("the type's hash", keccak(text=vectors["type"]["string"]), vectors["type"]["typehash"])
    by_address = {key["address"]: key["private"] for key in keys.values()}
    for entry in vectors["good"]:
        signable = encoded(domain, entry["message"])
        same("separator", signable.header, vectors["domain_separator"])
        same("struct_hash", signable.body, entry["struct_hash"])
        same("digest", digest_of(signable), entry["digest"])
        signed = Account.sign_message(signable, by_address[entry["message"]["key"]]).signature
        same("r and s", signed[:64], entry["signature"][:130])
        same("v", str(signed[64] % 27), str(int(entry["signature"][130:], 16) % 27))
        body = {"address": entry["message"]["key"], "possession": entry["signature"]}
        same("body", json.dumps(body, separators=(",", ":")), entry["body"])
        if refused_by(domain, entry) is not None:
            raise SystemExit(f"a good consent is refused: {entry}")
    for entry in vectors["must_refuse"]:
        if refused_by(domain, entry) != entry["refused_by"]:
            raise SystemExit(f"{entry['why']}: refused by {refused_by(domain, entry)!r}, not by {entry['refused_by']!r}")
    print(f"eth-account agrees: {len(vectors['good'])} consents, {len(vectors['must_refuse'])} refused")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        raise SystemExit(__doc__)
    main(sys.argv[1])
