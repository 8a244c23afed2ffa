"""Hashes and fixed-width numbers of the protocol."""

from collections.abc import Callable
from hashlib import sha256 as _sha256

ZERO = bytes(32)
"""32 zero bytes: the integrity hash before a resource's first action."""


def _keccak_function() -> Callable[[bytes], bytes]:
    try:
        from sha3 import keccak_256
    except ImportError:
        from Crypto.Hash import keccak as crypto

        return lambda data: crypto.new(data=data, digest_bits=256).digest()

    def of_sha3(data: bytes) -> bytes:
        digest: bytes = keccak_256(data).digest()
        return digest

    return of_sha3


keccak: Callable[[bytes], bytes] = _keccak_function()
"""keccak256, from safe-pysha3 if it is installed (`kedge[fast]`), otherwise from pycryptodome."""

EMPTY = keccak(b"")
"""Hash of the empty input: the root of a tree without leaves."""


def sha256(data: bytes) -> bytes:
    """SHA-256."""
    return _sha256(data).digest()


def text_hash(text: str) -> bytes:
    """keccak256 of a text's UTF-8 bytes."""
    return keccak(text.encode())


def u16(number: int) -> bytes:
    """A number as 2 bytes, big-endian."""
    return number.to_bytes(2, "big")


def u32(number: int) -> bytes:
    """A number as 4 bytes, big-endian."""
    return number.to_bytes(4, "big")


def u64(number: int) -> bytes:
    """A number as 8 bytes, big-endian."""
    return number.to_bytes(8, "big")


def word(number: int) -> bytes:
    """A number as 32 bytes, big-endian."""
    return number.to_bytes(32, "big")


def hex_text(data: bytes) -> str:
    """`0x` and lower-case hexadecimal digits."""
    return "0x" + data.hex()


def from_hex(text: str) -> bytes:
    """Decodes hexadecimal digits, with or without `0x`.

    Raises:
        ValueError: the text contains anything else.
    """
    return bytes.fromhex(text.removeprefix("0x"))
