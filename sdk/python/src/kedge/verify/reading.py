"""Strict readers of files: unambiguous JSON, and members of the right form.

Leniencies of JSON parsers (a member twice, 1e0 for 1) are refused, so that all readers see the same file. A reader
converts a value to its canonical form, or raises `Refused`.
"""

import json
import re
from collections.abc import Callable, Mapping
from typing import Any, Final, NoReturn, TypeVar

from ..errors import Refused
from ..protocol.signatures import checksum_address, kept_signature

T = TypeVar("T")
Reader = Callable[[Any], T]
Members = Mapping[str, Any]

_DEPTH_MAX: Final = 64
_WORD = re.compile(r"0x[0-9a-fA-F]{64}")
_ADDRESS = re.compile(r"0x[0-9a-fA-F]{40}")
_SIGNATURE = re.compile(r"0x[0-9a-fA-F]{130}")
_HALF = re.compile("[\ud800-\udfff]")
_DATA = re.compile(r"0x(?:[0-9a-fA-F]{2})*")
_DECIMAL = re.compile(r"0|[1-9][0-9]{0,19}")


def refuse_unless(holds: bool, why: str) -> None:
    """Raises `Refused` with the reason, unless the condition is true."""
    if not holds:
        raise Refused(why)


def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """The members of an object, each of which occurs once."""
    members = dict(pairs)
    refuse_unless(len(members) == len(pairs), "a member occurs twice")
    return members


def _no_fraction(text: str) -> NoReturn:
    raise Refused(f"a number with a fraction, an exponent or no value: {text[:40]}")


def _whole(text: str) -> int:
    refuse_unless(not text.startswith("-") and len(text) <= 20, f"no number from 0 to 2^64 - 1: {text[:40]}")
    return int(text)


_DECODER = json.JSONDecoder(object_pairs_hook=once, parse_float=_no_fraction, parse_constant=_no_fraction, parse_int=_whole)


def _check_form(value: Any, depth: int) -> None:
    refuse_unless(depth < _DEPTH_MAX or not isinstance(value, dict | list), "JSON that is too deep")
    if isinstance(value, str):
        text(value)
    elif isinstance(value, dict):
        for name, member in value.items():
            _check_form(name, depth)
            _check_form(member, depth + 1)
    elif isinstance(value, list):
        for item in value:
            _check_form(item, depth + 1)


def read_json(text: str | bytes) -> Any:
    """Parses a strict JSON text: unique members, and whole non-negative numbers.

    Raises:
        Refused: the text is anything else.
    """
    try:
        shown = text.decode("utf-8") if isinstance(text, bytes) else text
        refuse_unless(not shown.startswith("\ufeff"), "a byte order mark before the JSON")
        shown = shown.strip(" \t\r\n")
        value, end = _DECODER.raw_decode(shown)
    except (ValueError, RecursionError) as error:
        raise Refused(f"no JSON: {error}") from error
    refuse_unless(end == len(shown), "something follows the JSON")
    _check_form(value, 0)
    return value


def value_of(file: Any) -> Any:
    """A file's value: parses a text, and returns anything else unchanged."""
    return read_json(file) if isinstance(file, str | bytes) else file


def _number(most: int) -> Reader[int]:
    def read(value: Any) -> int:
        # In Python, True is an int.
        if type(value) is not int or not 0 <= value <= most:
            raise Refused(f"no number from 0 to {most}")
        return value

    return read


u32: Reader[int] = _number(2**32 - 1)
u64: Reader[int] = _number(2**64 - 1)


def text(value: Any) -> str:
    """A text that has UTF-8."""
    if not isinstance(value, str):
        raise Refused("no text")
    refuse_unless(value.isascii() or _HALF.search(value) is None, "a text with half a character")
    return value


def flag(value: Any) -> bool:
    """True or false."""
    if not isinstance(value, bool):
        raise Refused("neither true nor false")
    return value


def decimal(value: Any) -> int:
    """A number up to 2^64 - 1 as decimal digits, without leading zeros."""
    refuse_unless(_DECIMAL.fullmatch(text(value)) is not None, "no decimal number")
    return u64(int(value))


def word(value: Any) -> bytes:
    """32 bytes as digits of either case."""
    refuse_unless(_WORD.fullmatch(text(value)) is not None, "no word of 32 bytes")
    return bytes.fromhex(value[2:])


def octets(value: Any) -> bytes:
    """Any number of bytes as digits of either case."""
    refuse_unless(_DATA.fullmatch(text(value)) is not None, "no bytes in hexadecimal digits")
    return bytes.fromhex(value[2:])


def signature(value: Any) -> bytes:
    """A signature in its canonical form."""
    refuse_unless(_SIGNATURE.fullmatch(text(value)) is not None, "a signature has 65 bytes")
    return kept_signature(bytes.fromhex(value[2:]))


def address(value: Any) -> bytes:
    """The 20 bytes of an address: in a single case, or with the checksum of EIP-55."""
    refuse_unless(_ADDRESS.fullmatch(text(value)) is not None, "no address")
    found = bytes.fromhex(value[2:])
    digits = value[2:]
    refuse_unless(digits in (digits.lower(), digits.upper()) or checksum_address(found) == value, "an address with a wrong checksum")
    return found


def list_of(reader: Reader[T], most: int | None = None) -> Reader[list[T]]:
    """A list with at most so many items."""

    def read(value: Any) -> list[T]:
        if not isinstance(value, list) or (most is not None and len(value) > most):
            raise Refused("no list, or one that is too long")
        return [reader(item) for item in value]

    return read


def exactly(count: int, reader: Reader[T]) -> Reader[list[T]]:
    """A list with exactly so many items."""

    def read(value: Any) -> list[T]:
        refuse_unless(isinstance(value, list) and len(value) == count, f"no list of {count}")
        return list_of(reader)(value)

    return read


def null_or(reader: Reader[T]) -> Reader[T | None]:
    """A value of the reader, or null."""
    return lambda value: None if value is None else reader(value)


words: Reader[list[bytes]] = list_of(word)


def shape(what: str, readers: Mapping[str, Reader[Any]], optional: Mapping[str, Reader[Any]] | None = None) -> Reader[Members]:
    """An object with all of these members, any of the optional ones, and no other."""
    known = {**readers, **(optional or {})}

    def read(value: Any) -> Members:
        if not isinstance(value, dict):
            raise Refused(f"{what} is no object")
        found = {}
        for name, member in value.items():
            refuse_unless(name in known, f"{what} has an unknown member: {name}")
            try:
                found[name] = known[name](member)
            except Refused as error:
                raise type(error)(f"{what}.{name}: {error}") from None
        missing = readers.keys() - found.keys()
        refuse_unless(not missing, f"{what} lacks {', '.join(sorted(missing))}")
        return found

    return read
