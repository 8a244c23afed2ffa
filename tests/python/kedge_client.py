"""A client that hashes and signs with eth-account alone, from docs/PROTOCOL.md and the server's answers."""

import base64
import hashlib
import http.client
import json
import secrets
import time
import urllib.error
import urllib.request

from eth_account import Account
from eth_account.messages import encode_typed_data
from eth_utils import keccak

# How often a signed request is sent until its outcome is known.
SENDINGS_MAX = 6

TYPES = {
    "EIP712Domain": [
        {"name": "name", "type": "string"},
        {"name": "version", "type": "string"},
        {"name": "chainId", "type": "uint256"},
        {"name": "verifyingContract", "type": "address"},
    ],
    "ActionRequest": [
        {"name": "signer", "type": "address"},
        {"name": "nonce", "type": "uint64"},
        {"name": "deadline", "type": "uint64"},
        {"name": "atomic", "type": "bool"},
        {"name": "actions", "type": "Action[]"},
    ],
    "Action": [
        {"name": "kind", "type": "string"},
        {"name": "target", "type": "string"},
        {"name": "payload", "type": "string"},
        {"name": "salt", "type": "bytes32"},
    ],
}


class Answer:
    def __init__(self, status: int, body: dict):
        self.status = status
        self.body = body

    def says(self, member: str):
        """A member of an error's body."""
        return (self.body.get("body") or {}).get(member) if self.status >= 400 else None

    def __repr__(self) -> str:
        return f"{self.status} {json.dumps(self.body)}"


def salts(seed: bytes, count: int) -> list[bytes]:
    return [keccak(seed + index.to_bytes(2, "big")) for index in range(count)]


def as_bytes(value: bytes | str) -> bytes:
    return value if isinstance(value, bytes) else bytes.fromhex(value.removeprefix("0x"))


def content_of(action: dict, signer: str, signature: bytes) -> str:
    """The content of an action in the log."""
    authority = keccak(keccak(signature) + as_bytes(action["salt"]))
    words = [keccak(text=action[word]) for word in ("kind", "target", "payload")]
    return "0x" + hashlib.sha256(b"".join([*words, as_bytes(signer).rjust(32, b"\0"), authority])).hexdigest()


def check_receipt(receipt: dict, content: str) -> None:
    """Checks that the receipt is for this content, and that its leaf leads to the root of its batch."""
    leaf = receipt["leaf"]
    assert leaf["content"] == content, (leaf, content)
    assert keccak(as_bytes(leaf["previous_integrity"]) + as_bytes(content)) == as_bytes(leaf["integrity"]), leaf
    times = leaf["sequence"].to_bytes(8, "big") + leaf["timestamp_ms"].to_bytes(8, "big")
    node = keccak(b"\0" + times + as_bytes(content) + as_bytes(leaf["integrity"]))
    header = receipt["batch"]["header"]
    index, width, path = receipt["leaf_index"], header["count"], list(receipt["path"])
    while width > 1:
        if index % 2 == 1:
            node = keccak(b"\1" + as_bytes(path.pop(0)) + node)
        elif index + 1 < width:
            node = keccak(b"\1" + node + as_bytes(path.pop(0)))
        index, width = index // 2, (width + 1) // 2
    assert not path and node == as_bytes(header["root"]), receipt


class Client:
    def __init__(self, url: str):
        self.url = url
        self.account = Account.create()
        self.nonce = 0
        self.token = None
        told = self.read("/.well-known/eip712-domain.json")
        self.domain = {name: told[name] for name in ("name", "version", "chainId", "verifyingContract")}

    def send(self, method: str, path: str, body: str | None = None, headers: dict | None = None) -> Answer:
        request = urllib.request.Request(f"{self.url}{path}", method=method, headers=headers or {})
        if self.token:
            request.add_header("Authorization", f"Bearer {self.token}")
        if body is not None:
            request.data = body.encode()
            request.add_header("Content-Type", "application/json")
        try:
            with urllib.request.urlopen(request, timeout=30) as response:
                return Answer(response.status, json.load(response))
        except urllib.error.HTTPError as error:
            with error:
                return Answer(error.code, json.load(error))

    def send_signed(self, method: str, path: str, body: str, headers: dict) -> Answer:
        """Sends a signed request until its outcome is known: always the same bytes, whose nonce is spent at most once.

        It is never signed again. The idempotency key repeats a lost answer; a nonce that this request spent says that
        it is done (409 with the reason `done`).
        """
        keyed = {"Idempotency-Key": secrets.token_hex(16), **headers}
        unsure = False
        for sending in range(1, SENDINGS_MAX + 1):
            try:
                answer = self.send(method, path, body, keyed)
            except (OSError, http.client.HTTPException, ValueError):
                # The connection broke, or the answer is not the server's.
                if sending == SENDINGS_MAX:
                    raise
                unknown = True
            else:
                code, reason = answer.body.get("code"), answer.says("reason")
                in_flight = code == "IDEMPOTENCY_IN_PROGRESS" or (
                    code == "NONCE_REUSED" and reason not in ("done", "refused")
                )
                unknown = answer.says("outcome") == "unknown" or (unsure and in_flight)
                if not unknown:
                    return answer
            unsure = True
            time.sleep(sending)
        return answer

    def read(self, path: str) -> dict:
        answer = self.send("GET", path)
        assert answer.status == 200, answer
        return answer.body

    def message(self, actions: list[dict], atomic: bool = False) -> tuple[dict, bytes]:
        """The typed data for actions of kind, target and payload, and the seed of their salts."""
        seed = secrets.token_bytes(32)
        self.nonce += 1
        salted = [{**action, "salt": salt} for action, salt in zip(actions, salts(seed, len(actions)))]
        message = {
            "signer": self.account.address,
            "nonce": self.nonce,
            "deadline": int(time.time()) + 300,
            "atomic": atomic,
            "actions": salted,
        }
        return message, seed

    def sign(self, message: dict, domain: dict | None = None, types: dict = TYPES) -> bytes:
        data = {"types": types, "primaryType": "ActionRequest", "domain": domain or self.domain, "message": message}
        return bytes(self.account.sign_message(encode_typed_data(full_message=data)).signature)

    @staticmethod
    def headers(message: dict, seed: bytes, signature: bytes) -> dict:
        return {
            "X-Signature": f"0x{signature.hex()}",
            "X-Signature-Address": message["signer"],
            "X-Signature-Nonce": str(message["nonce"]),
            "X-Signature-Deadline": str(message["deadline"]),
            "X-Signature-Salt": f"0x{seed.hex()}",
        }

    def change(self, method: str, path: str, action: tuple[str, str, str], body: str | None = None) -> dict:
        """One action (kind, target, payload) at the endpoint of its resource; its receipt is checked."""
        kind, target, payload = action
        message, seed = self.message([{"kind": kind, "target": target, "payload": payload}])
        signature = self.sign(message)
        sent = payload if body is None else body
        answer = self.send_signed(method, path, sent, self.headers(message, seed, signature))
        if answer.says("reason") == "done":
            return {"already_done": True, "sequence": answer.says("sequence")}
        assert answer.status in (200, 201), answer
        check_receipt(answer.body["receipt"], content_of(message["actions"][0], self.account.address, signature))
        return answer.body

    def register(self, email: str) -> dict:
        body = json.dumps(
            {
                "email": email,
                "password": "a long enough passphrase",
                "address": self.account.address,
                "blind": base64.b64encode(secrets.token_bytes(16)).decode(),
            }
        )
        digest = base64.b64encode(hashlib.sha256(body.encode()).digest()).decode()
        answer = self.change("POST", "/wallets/register", ("wallet.register", "", f"sha-256=:{digest}:"), body)
        self.token = answer["access_token"]
        return answer

    def sign_preview(self, body: str) -> tuple[dict, list[str], dict]:
        """Signs the preview's typed data: types, domain and message from the server alone."""
        answer = self.send("POST", "/ebus/actions/preview", body)
        assert answer.status == 200, answer
        data = answer.body["typed_data"]
        signature = bytes(self.account.sign_message(encode_typed_data(full_message=data)).signature)
        self.nonce = max(self.nonce, int(data["message"]["nonce"]))
        contents = [content_of(action, self.account.address, signature) for action in data["message"]["actions"]]
        return answer.body, contents, {**answer.body["headers"], "X-Signature": f"0x{signature.hex()}"}
