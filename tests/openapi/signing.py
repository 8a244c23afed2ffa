"""Signing by docs/PROTOCOL.md, with eth-account for the typed data."""

import base64
import hashlib
import json
import os
import re
import sys
import time
from pathlib import Path

import multipart
from eth_account import Account
from eth_account.messages import encode_typed_data

sys.path.append(str(Path(__file__).parent.parent / "python"))
from kedge_client import TYPES, salts  # noqa: E402

# Values of `payload` in an operation's `x-signature`, except the bus's.
DIGEST, BODY, FILE_DIGEST = "digest of the body", "the body", "digest of the file"
DIGEST_OF_SECRETS = "the body, or its digest if it holds a password"
PATH_PAYLOADS = tuple(f'{{"{name}":"<id of the path>"}}' for name in ("address", "wallet_id", "invitation_id"))
CONSENT = {"KeyConsent": [{"name": "wallet", "type": "string"}, {"name": "key", "type": "address"}]}
# Members because of which a change of a wallet is signed by digest.
SECRETS = ("password", "current_password", "blind")


def domain_of(answer: dict) -> dict:
    """The domain in the answer of /.well-known/eip712-domain.json."""
    return {name: answer[name] for name in ("name", "version", "chainId", "verifyingContract")}


def compact(value: object) -> str:
    """JSON in which each part is spelled as it would be alone."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def digest_text(body: bytes) -> str:
    return f"sha-256=:{base64.b64encode(hashlib.sha256(body).digest()).decode()}:"


class Key:
    """A signing key with its nonces."""

    def __init__(self, secret: bytes) -> None:
        self.account = Account.from_key(secret)
        self.address = self.account.address
        self.nonce = 0

    @classmethod
    def named(cls, name: str) -> "Key":
        """The same key for the same name."""
        return cls(hashlib.sha256(f"kedge example: {name}".encode()).digest())

    @classmethod
    def random(cls) -> "Key":
        return cls(os.urandom(32))

    def consent(self, domain: dict, wallet_id: str) -> str:
        """The key's consent to join a wallet."""
        message = {"wallet": wallet_id, "key": self.address}
        signed = self.account.sign_message(encode_typed_data(domain, CONSENT, message)).signature
        return "0x" + bytes(signed).hex()

    def sign(self, domain: dict, actions: list[tuple[str, str, str]], atomic: bool = False) -> dict[str, str]:
        """The five headers for actions of (kind, target, payload)."""
        self.nonce += 1
        seed = os.urandom(32)
        deadline = int(time.time()) + 300
        message = {
            "signer": self.address,
            "nonce": self.nonce,
            "deadline": deadline,
            "atomic": atomic,
            "actions": [
                {"kind": kind, "target": target, "payload": payload, "salt": salt}
                for (kind, target, payload), salt in zip(actions, salts(seed, len(actions)), strict=True)
            ],
        }
        typed = {"types": TYPES, "domain": domain, "primaryType": "ActionRequest", "message": message}
        signature = self.account.sign_message(encode_typed_data(full_message=typed)).signature
        return {
            "X-Signature": "0x" + bytes(signature).hex(),
            "X-Signature-Address": self.address,
            "X-Signature-Nonce": str(self.nonce),
            "X-Signature-Deadline": str(deadline),
            "X-Signature-Salt": "0x" + seed.hex(),
        }


def payload_text(body: str, action: dict) -> str:
    """The exact text of an action's payload in a body. Raises ValueError if the value alone does not
    determine it."""
    if "payload" not in action:
        return "{}"
    for text in (compact(action["payload"]), json.dumps(action["payload"]), json.dumps(action["payload"], ensure_ascii=False)):
        if text in body:
            return text
    raise ValueError(f"the payload is spelled in another way in {body[:200]}")


def bus_action(body: str, action: dict) -> tuple[str, str, str]:
    kind = action["action_type"]
    target = action["template_id" if kind == "mint" else "object_id"]
    return kind, target, payload_text(body, action)


class Circumstances:
    """The request's parts besides the body that determine the signed text."""

    def __init__(self, path_id: str = "", wallet_id: str = "", organization_id: str = "", media_type: str = "") -> None:
        self.path_id = path_id
        self.wallet_id = wallet_id
        self.organization_id = organization_id
        self.media_type = media_type

    def target(self, words: str, text: str) -> str:
        known = {
            "": "",
            "id of the path": self.path_id,
            "id of the caller's wallet": self.wallet_id,
            "id of the caller's organization": self.organization_id,
        }
        return json.loads(text)["template_id"] if words == "template_id of the body" else known[words]


def file_action(kind: str, body: bytes, media_type: str) -> tuple[str, str, str]:
    parts = multipart.read(body, media_type)
    return kind, parts["name"].decode(), digest_text(parts["file"])


def signed_actions(rule: dict, body: bytes, of: Circumstances) -> tuple[list[tuple[str, str, str]], bool]:
    """The actions that a request signs by its operation's `x-signature`, and whether it is atomic. Raises
    KeyError, TypeError or ValueError if the body cannot be signed."""
    kind, payload = rule["kind"], rule["payload"]
    if payload == FILE_DIGEST:
        return [file_action(kind, body, of.media_type)], False
    text = body.decode()
    if payload == DIGEST_OF_SECRETS:
        payload = DIGEST if any(name in json.loads(text) for name in SECRETS) else BODY
    plain = {
        DIGEST: digest_text(body),
        BODY: text,
        **{payload: payload.replace("<id of the path>", of.path_id) for payload in PATH_PAYLOADS},
        "": "",
    }
    if payload in plain:
        return [(kind, of.target(rule["target"], text), plain[payload])], False
    value = json.loads(text)
    if re.match("action_type of each", kind):
        return [bus_action(text, action) for action in value["actions"]], value.get("atomic", False)
    return [bus_action(text, value)], False
