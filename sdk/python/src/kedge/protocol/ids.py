"""Ids: a prefix, `_`, and 26 digits of lower-case Crockford base32."""

import re
from typing import Final

from ..errors import Refused
from .hashing import keccak, u32

DIGITS: Final = "0123456789abcdefghjkmnpqrstvwxyz"
PREFIXES: Final = ("wal", "org", "key", "tpl", "var", "obj", "act", "bat", "anc", "evt", "fil", "whk", "dlv", "dsp")
_FORM = re.compile(r"([a-z]{3})_([0-7][0-9a-hjkmnp-tv-z]{25})")


def id_of(prefix: str, hash_: bytes) -> str:
    """The id of a hash: `act` of a content, `bat` of a batch hash, `anc` of a checkpoint's hash."""
    number = int.from_bytes(hash_[:16], "big")
    digits = [DIGITS[number >> (5 * place) & 31] for place in reversed(range(26))]
    return f"{prefix}_{''.join(digits)}"


def made_id(prefix: str, content: bytes, index: int = 0) -> str:
    """Id of the index-th resource with this prefix that an action creates, from the action's content."""
    return id_of(prefix, keccak(content + u32(index)))


def id_bytes(text: str) -> bytes:
    """The 16 bytes of an id.

    Raises:
        Refused: the text is not an id, or not in its canonical spelling.
    """
    found = _FORM.fullmatch(text)
    if found is None or found[1] not in PREFIXES:
        raise Refused(f"no id: {text!r}")
    number = 0
    for digit in found[2]:
        number = number << 5 | DIGITS.index(digit)
    return number.to_bytes(16, "big")
