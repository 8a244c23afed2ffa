"""Recoverable secp256k1 signatures of digests, with s in the lower half of the order."""

from functools import lru_cache
from typing import Final

from coincurve import PublicKey
from eth_utils.address import to_checksum_address

from ..errors import Refused, WrongSigner
from .hashing import keccak

HALF_ORDER: Final = 0x7FFFFFFFFFFFFFFFFFFFFFFFFFFFFFFF5D576E7357A4501DDFE92F46681B20A0
SIGNATURE_BYTES: Final = 65
# Receipts of one batch share its header, so its signature is recovered once.
_RECOVERED_MAX: Final = 256


def kept_signature(signature: bytes) -> bytes:
    """Canonical form of a signature: 65 bytes r, s, v with v 27 or 28.

    Raises:
        Refused: another length, a v other than 0, 1, 27 or 28, or s in the upper half.
    """
    if len(signature) != SIGNATURE_BYTES:
        raise Refused("a signature has 65 bytes")
    v = signature[64] + 27 if signature[64] < 2 else signature[64]
    if v not in (27, 28):
        raise Refused("v is 0, 1, 27 or 28")
    if int.from_bytes(signature[32:64], "big") > HALF_ORDER:
        raise Refused("s is at most half the order")
    return signature[:64] + bytes([v])


@lru_cache(_RECOVERED_MAX)
def recover_signer(digest: bytes, signature: bytes) -> bytes:
    """Recovers the 20 bytes of the address that signed a digest.

    Raises:
        Refused: the signature has a forbidden form, or recovers to no key.
    """
    kept = kept_signature(signature)
    try:
        key = PublicKey.from_signature_and_message(kept[:64] + bytes([kept[64] - 27]), digest, hasher=None)
    except ValueError as error:
        raise Refused("the signature recovers to no key") from error
    return keccak(key.format(compressed=False)[1:])[12:]


def check_signer(digest: bytes, signature: bytes, expected: bytes, what: str) -> None:
    """Checks that an address signed a digest.

    Raises:
        WrongSigner: another address did.
        Refused: the signature has a forbidden form, or recovers to no key.
    """
    found = recover_signer(digest, signature)
    if found != expected:
        raise WrongSigner(f"{what} was signed by {checksum_address(found)}, not by {checksum_address(expected)}")


def checksum_address(address: bytes) -> str:
    """An address in EIP-55's mixed case."""
    return str(to_checksum_address(address))
