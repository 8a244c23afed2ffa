"""EIP-712: the domain, and the hashes of requests, headers and checkpoints."""

from dataclasses import dataclass
from functools import cached_property
from typing import Final

from .hashing import from_hex, keccak, sha256, text_hash, u32, word

NAME: Final = "Digital Object Service"
VERSION: Final = "3"

_ACTION = "Action(string kind,string target,string payload,bytes32 salt)"
_DOMAIN_TYPE = text_hash("EIP712Domain(string name,string version,uint256 chainId,address verifyingContract)")
_ACTION_TYPE = text_hash(_ACTION)
_REQUEST_TYPE = text_hash(f"ActionRequest(address signer,uint64 nonce,uint64 deadline,bool atomic,Action[] actions){_ACTION}")
BATCH_TYPE: Final = text_hash(
    "Batch(uint64 number,uint64 firstSequence,uint32 count,bytes32 previousHead,bytes32 head,bytes32 root,"
    "bytes32 history,bytes32 state,uint64 sealedAt)"
)
"""EIP-712 type hash of a header: the first word of its entry."""

_CHECKPOINT_TYPE = text_hash(
    "Checkpoint(uint64 batches,uint64 sequence,bytes32 head,bytes32 history,bytes32 state,uint64 issuedAt)"
)

_TLOG_TYPE = text_hash("TlogCheckpoint(uint64 batches,bytes32 root,bytes32 history)")
_CONSENT_TYPE = text_hash("KeyConsent(string wallet,address key)")

TYPES: Final[dict[str, list[dict[str, str]]]] = {
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
"""Types of a request, in the form of typed data for wallets."""

CONSENT_TYPES: Final[dict[str, list[dict[str, str]]]] = {
    "EIP712Domain": TYPES["EIP712Domain"],
    "KeyConsent": [{"name": "wallet", "type": "string"}, {"name": "key", "type": "address"}],
}
"""Types of a key's consent to join a wallet."""


@dataclass(frozen=True)
class Domain:
    """EIP-712 domain of a log's signatures; it never changes.

    Attributes:
        chain_id: the chain's number.
        verifying_contract: the 20 bytes of the log's first anchor contract.
    """

    chain_id: int
    verifying_contract: bytes

    @classmethod
    def of(cls, chain_id: int, verifying_contract: str) -> "Domain":
        """A domain with the contract's address in text form."""
        return cls(chain_id, from_hex(verifying_contract))

    @cached_property
    def separator(self) -> bytes:
        """The domain separator, which is also head 0 of the log."""
        contract = self.verifying_contract.rjust(32, b"\0")
        return keccak(_DOMAIN_TYPE + text_hash(NAME) + text_hash(VERSION) + word(self.chain_id) + contract)

    def digest(self, struct_hash: bytes) -> bytes:
        """Digest to sign, of a struct's hash."""
        return keccak(b"\x19\x01" + self.separator + struct_hash)


@dataclass(frozen=True)
class Header:
    """A batch's header; times are Unix milliseconds, hashes 32 bytes."""

    number: int
    first_sequence: int
    count: int
    previous_head: bytes
    head: bytes
    root: bytes
    history: bytes
    state: bytes
    sealed_at_ms: int

    @cached_property
    def entry(self) -> bytes:
        """The 320 bytes that the batch hash hashes: the batch's entry in the log's tiles."""
        numbers = word(self.number) + word(self.first_sequence) + word(self.count)
        hashes = self.previous_head + self.head + self.root + self.history + self.state
        return BATCH_TYPE + numbers + hashes + word(self.sealed_at_ms)

    @cached_property
    def hash(self) -> bytes:
        """The batch hash: `hashStruct(Batch)`."""
        return keccak(self.entry)

    @property
    def log_leaf(self) -> bytes:
        """The batch's leaf in the log tree."""
        return log_leaf(self.hash)

    @property
    def end(self) -> int:
        """First sequence after the batch."""
        return self.first_sequence + self.count


@dataclass(frozen=True)
class Checkpoint:
    """The log at one size, for anchoring. Times are Unix milliseconds, hashes 32 bytes."""

    batches: int
    sequence: int
    head: bytes
    history: bytes
    state: bytes
    issued_at_ms: int

    @cached_property
    def hash(self) -> bytes:
        """`hashStruct(Checkpoint)`."""
        numbers = word(self.batches) + word(self.sequence)
        return keccak(_CHECKPOINT_TYPE + numbers + self.head + self.history + self.state + word(self.issued_at_ms))


def tlog_hash(batches: int, root: bytes, history: bytes) -> bytes:
    """`hashStruct(TlogCheckpoint)`: both roots of the log, which the sequencer's line in a note signs."""
    return keccak(_TLOG_TYPE + word(batches) + root + history)


def log_leaf(batch_hash: bytes) -> bytes:
    """Leaf of a batch in the log tree."""
    return keccak(b"\0" + batch_hash)


def salt_of(seed: bytes, index: int) -> bytes:
    """Salt of a request's action at an index."""
    return keccak(seed + index.to_bytes(2, "big"))


def action_hash(kind: str, target: str, payload: str, salt: bytes) -> bytes:
    """`hashStruct(Action)`."""
    return keccak(_ACTION_TYPE + text_hash(kind) + text_hash(target) + text_hash(payload) + salt)


def hashed_action(kind: bytes, target: bytes, payload: bytes, salt: bytes) -> bytes:
    """`hashStruct(Action)` from the hashes of the texts."""
    return keccak(_ACTION_TYPE + kind + target + payload + salt)


def request_hash(signer: bytes, nonce: int, deadline: int, atomic: bool, hashes: list[bytes]) -> bytes:
    """`hashStruct(ActionRequest)` from the hashes of its actions; the deadline is in Unix seconds."""
    head = signer.rjust(32, b"\0") + word(nonce) + word(deadline) + word(int(atomic))
    return keccak(_REQUEST_TYPE + head + keccak(b"".join(hashes)))


def consent_hash(wallet: str, key: bytes) -> bytes:
    """`hashStruct(KeyConsent)`: the key with this 20-byte address joins the wallet with this id."""
    return keccak(_CONSENT_TYPE + text_hash(wallet) + key.rjust(32, b"\0"))


def content_of(kind: bytes, target: bytes, payload: bytes, signer: bytes, authority: bytes) -> bytes:
    """Content hash of an action, from the hashes of its texts, its signer's 20 bytes and its authority."""
    return sha256(kind + target + payload + signer.rjust(32, b"\0") + authority)


def authority_of(signature_hash: bytes, salt: bytes) -> bytes:
    """Authority of an action, from the hash of the request's canonical signature."""
    return keccak(signature_hash + salt)


def next_integrity(previous: bytes, content: bytes) -> bytes:
    """Integrity hash of a resource after one more action."""
    return keccak(previous + content)


def first_integrity(content: bytes, index: int) -> bytes:
    """First integrity hash of the index-th resource that an action creates."""
    return keccak(bytes(32) + (content if index == 0 else keccak(content + u32(index))))


def leaf_of(sequence: int, timestamp_ms: int, content: bytes, integrity: bytes) -> bytes:
    """Leaf of an action; the time is in Unix milliseconds."""
    return keccak(b"\0" + sequence.to_bytes(8, "big") + timestamp_ms.to_bytes(8, "big") + content + integrity)


def next_head(previous: bytes, leaf: bytes) -> bytes:
    """Head of the chain after one more leaf."""
    return keccak(previous + leaf)
