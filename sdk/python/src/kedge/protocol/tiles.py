"""The log as C2SP tiles: entries, the files of a tiled log, and the log's origin."""

import re
from collections.abc import Callable, Iterator, Sequence
from typing import Final

from ..errors import Refused
from .hashing import sha256, u16
from .trees import root_of
from .typed import BATCH_TYPE, Domain, Header

ENTRY_BYTES: Final = 320
ENTRIES: Final = "entries"
"""In place of a level: the bundles of entries."""

_TILE_WIDTH: Final = 256
_LEVEL_MAX: Final = 63
_ORIGIN_BYTES_MAX: Final = 255
_NUMBER_BITS: Final = {0: 64, 1: 64, 2: 32, 8: 64}
# What the URL standard leaves in a host, and no plus, which no name in a note may hold.
_HOST = re.compile(r"""[!"$&'()*,\-.0-9:;=\[\]_`a-z{}~]+""", re.ASCII)
_PATH = re.compile(r"tile/(entries|0|[1-9][0-9]?)/((?:x[0-9]{3}/)*[0-9]{3})(?:\.p/([1-9][0-9]{0,2}))?", re.ASCII)


def entry_leaf(entry: bytes) -> bytes:
    """Leaf of an entry in the tree of SHA-256."""
    return sha256(b"\0" + entry)


def header_of_entry(entry: bytes) -> Header:
    """The header whose entry this is.

    Raises:
        Refused: the bytes are no header's.
    """
    if len(entry) != ENTRY_BYTES:
        raise Refused("an entry has 320 bytes")
    if entry[:32] != BATCH_TYPE:
        raise Refused("the entry is of another type")
    parts = [entry[at : at + 32] for at in range(32, ENTRY_BYTES, 32)]
    numbers = {place: int.from_bytes(parts[place], "big") for place in _NUMBER_BITS}
    if any(number >> _NUMBER_BITS[place] for place, number in numbers.items()):
        raise Refused("a number of the entry is out of its range")
    previous_head, head, root, history, state = parts[3:8]
    return Header(numbers[0], numbers[1], numbers[2], previous_head, head, root, history, state, numbers[8])


# Tiles


def tile_path(level: int | str, n: int, width: int = _TILE_WIDTH) -> str:
    """Path of a tile or, with the level `ENTRIES`, of a bundle; partial if it is narrower than 256."""
    digits = str(n)
    digits = digits.zfill(-(-len(digits) // 3) * 3)
    groups = [digits[at : at + 3] for at in range(0, len(digits), 3)]
    place = "/".join([f"x{group}" for group in groups[:-1]] + groups[-1:])
    return f"tile/{level}/{place}" + ("" if width == _TILE_WIDTH else f".p/{width}")


def served_tile(path: str, batches: int) -> tuple[int | str, int, int]:
    """Level, number and width of the tile or bundle with this path, in a log with so many batches.

    Raises:
        Refused: such a log serves nothing there.
    """
    found = _PATH.fullmatch(path)
    if found is None:
        raise Refused("no path of a tile")
    level = ENTRIES if found[1] == ENTRIES else int(found[1])
    n = int(found[2].replace("x", "").replace("/", ""))
    width = _TILE_WIDTH if found[3] is None else int(found[3])
    power = level if isinstance(level, int) else 0
    # One spelling of each: no leading group of zeros, and no partial tile of full width.
    if power > _LEVEL_MAX or width > _TILE_WIDTH or path != tile_path(level, n, width):
        raise Refused("another spelling, too wide, or a level above 63")
    if n * _TILE_WIDTH + width > batches // _TILE_WIDTH**power:
        raise Refused("the log is not so large")
    return level, n, width


def tiles_of(entries: Sequence[bytes]) -> dict[str, bytes]:
    """The files of a log by path: full tiles and bundles, and the partial ones at its end."""
    files = dict(_cut(ENTRIES, entries, lambda part: b"".join(u16(len(entry)) + entry for entry in part)))
    hashes = [entry_leaf(entry) for entry in entries]
    level = 0
    while hashes:
        files.update(_cut(level, hashes, b"".join))
        # A partial tile gives no hash to the level above.
        full = range(0, len(hashes) - len(hashes) % _TILE_WIDTH, _TILE_WIDTH)
        hashes = [root_of(hashes[at : at + _TILE_WIDTH], sha256) for at in full]
        level += 1
    return files


def _cut(level: int | str, items: Sequence[bytes], file_of: Callable[[Sequence[bytes]], bytes]) -> Iterator[tuple[str, bytes]]:
    for at in range(0, len(items), _TILE_WIDTH):
        part = items[at : at + _TILE_WIDTH]
        yield tile_path(level, at // _TILE_WIDTH, len(part)), file_of(part)


def entries_of(bundle: bytes, width: int) -> list[bytes]:
    """The entries of a bundle of this width.

    Raises:
        Refused: the bundle is cut short, or holds more.
    """
    entries, at = [], 0
    for _ in range(width):
        end = at + 2 + int.from_bytes(bundle[at : at + 2], "big")
        if at + 2 > len(bundle) or end > len(bundle):
            raise Refused("the bundle is too short")
        entries.append(bundle[at + 2 : end])
        at = end
    if at != len(bundle):
        raise Refused("the bundle is too long")
    return entries


# The origin


def _suffix(domain: Domain) -> str:
    return f"/{domain.chain_id}/0x{domain.verifying_contract.hex()}"


def origin_of(host: str, domain: Domain) -> str:
    """The origin of a log with this host in its public URL, as the WHATWG URL standard serialises it.

    Raises:
        Refused: a log with this host has no tiles.
    """
    origin = host + _suffix(domain)
    check_origin(origin, domain)
    return origin


def check_origin(origin: str, domain: Domain) -> None:
    """Checks that an origin is of the domain's log.

    Raises:
        Refused: it is not.
    """
    host = origin.removesuffix(_suffix(domain))
    unfit = host == origin or _HOST.fullmatch(host) is None
    if unfit or len(origin.encode()) > _ORIGIN_BYTES_MAX:
        raise Refused("the origin is not of this log")
