"""Keccak, EIP-712 struct hashing and ids, written out by hand from docs/PROTOCOL.md.

Nothing here comes from an Ethereum library but keccak itself, so that these vectors
disagree with a wrong library instead of repeating its mistake.
"""

import hashlib

from Crypto.Hash import keccak

NAME = "Digital Object Service"
VERSION = "3"
ZERO = bytes(32)
CROCKFORD = "0123456789abcdefghjkmnpqrstvwxyz"

DOMAIN_TYPE = "EIP712Domain(string name,string version,uint256 chainId,address verifyingContract)"
ACTION_TYPE = "Action(string kind,string target,string payload,bytes32 salt)"
REQUEST_TYPE = "ActionRequest(address signer,uint64 nonce,uint64 deadline,bool atomic,Action[] actions)"
BATCH_TYPE = (
    "Batch(uint64 number,uint64 firstSequence,uint32 count,bytes32 previousHead,bytes32 head,"
    "bytes32 root,bytes32 history,bytes32 state,uint64 sealedAt)"
)
CHECKPOINT_TYPE = (
    "Checkpoint(uint64 batches,uint64 sequence,bytes32 head,bytes32 history,bytes32 state,uint64 issuedAt)"
)


def H(data: bytes) -> bytes:
    return keccak.new(digest_bits=256, data=data).digest()


def sha256(data: bytes) -> bytes:
    return hashlib.sha256(data).digest()


def hx(data: bytes) -> str:
    return "0x" + data.hex()


def unhx(text: str) -> bytes:
    assert text.startswith("0x"), text
    return bytes.fromhex(text[2:])


def u16(value: int) -> bytes:
    return value.to_bytes(2, "big")


def u32(value: int) -> bytes:
    return value.to_bytes(4, "big")


def u64(value: int) -> bytes:
    return value.to_bytes(8, "big")


def word(value: int) -> bytes:
    return value.to_bytes(32, "big")


def text_hash(text: str) -> bytes:
    return H(text.encode("utf-8"))


def address_word(address: str) -> bytes:
    raw = unhx(address)
    assert len(raw) == 20
    return bytes(12) + raw


def salt(seed: bytes, index: int) -> bytes:
    assert len(seed) == 32
    return H(seed + u16(index))


def domain_separator(chain_id: int, contract: str) -> bytes:
    return H(
        text_hash(DOMAIN_TYPE) + text_hash(NAME) + text_hash(VERSION) + word(chain_id) + address_word(contract)
    )


def action_hash(action: dict) -> bytes:
    return H(
        text_hash(ACTION_TYPE)
        + text_hash(action["kind"])
        + text_hash(action["target"])
        + text_hash(action["payload"])
        + unhx(action["salt"])
    )


def request_hash(message: dict) -> bytes:
    actions = b"".join(action_hash(action) for action in message["actions"])
    return H(
        text_hash(REQUEST_TYPE + ACTION_TYPE)
        + address_word(message["signer"])
        + word(int(message["nonce"]))
        + word(int(message["deadline"]))
        + word(int(message["atomic"]))
        + H(actions)
    )


def batch_hash(message: dict) -> bytes:
    return H(
        text_hash(BATCH_TYPE)
        + b"".join(word(int(message[field])) for field in ("number", "firstSequence", "count"))
        + b"".join(unhx(message[field]) for field in ("previousHead", "head", "root", "history", "state"))
        + word(int(message["sealedAt"]))
    )


def checkpoint_hash(message: dict) -> bytes:
    return H(
        text_hash(CHECKPOINT_TYPE)
        + b"".join(word(int(message[field])) for field in ("batches", "sequence"))
        + b"".join(unhx(message[field]) for field in ("head", "history", "state"))
        + word(int(message["issuedAt"]))
    )


def digest(separator: bytes, struct_hash: bytes) -> bytes:
    return H(b"\x19\x01" + separator + struct_hash)


def authority(signature: bytes, action_salt: bytes) -> bytes:
    assert len(signature) == 65 and signature[64] in (27, 28)
    return H(H(signature) + action_salt)


def content(action: dict, signer: str, action_authority: bytes) -> bytes:
    preimage = (
        text_hash(action["kind"])
        + text_hash(action["target"])
        + text_hash(action["payload"])
        + address_word(signer)
        + action_authority
    )
    assert len(preimage) == 160
    return sha256(preimage)


def leaf(sequence: int, timestamp_ms: int, action_content: bytes, integrity: bytes) -> bytes:
    preimage = b"\x00" + u64(sequence) + u64(timestamp_ms) + action_content + integrity
    assert len(preimage) == 81
    return H(preimage)


def first_integrity(action_content: bytes, index: int) -> bytes:
    """What the index-th resource that one action makes starts with."""
    return H(ZERO + (action_content if index == 0 else H(action_content + u32(index))))


def identifier(prefix: str, first_sixteen: bytes) -> str:
    assert len(first_sixteen) == 16
    number = int.from_bytes(first_sixteen, "big")
    return prefix + "_" + "".join(CROCKFORD[(number >> (5 * place)) & 31] for place in range(25, -1, -1))


def made_id(prefix: str, action_content: bytes, index: int) -> str:
    return identifier(prefix, H(action_content + u32(index))[:16])
