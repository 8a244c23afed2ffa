"""Strict reader of RLP: every value has one encoding, and all others are refused."""

from typing import Final

from ..errors import Refused

RlpItem = bytes | list["RlpItem"]
"""A string of bytes, or a list of items."""

DEPTH_MAX: Final = 8
"""Limit on nested lists; no format of the protocol nests more than three."""

_SHORT_MAX: Final = 55
_STRING, _LIST = 0x80, 0xC0


def decode_rlp(data: bytes) -> RlpItem:
    """The one item that these bytes encode, in time linear in their number.

    Raises:
        Refused: the bytes are not the canonical encoding of one item, or lists nest deeper than `DEPTH_MAX`.
    """
    item, end = _item(data, 0, len(data), 0)
    if end != len(data):
        raise Refused("bytes follow the RLP item")
    return item


def _item(data: bytes, at: int, limit: int, depth: int) -> tuple[RlpItem, int]:
    if at >= limit:
        raise Refused("the RLP ends early")
    if data[at] < _STRING:
        return data[at : at + 1], at + 1
    if data[at] >= _LIST:
        return _list(data, at, limit, depth)
    start, end = _content(data, at, limit, _STRING)
    if end - start == 1 and data[start] < _STRING:
        raise Refused("RLP with a length before a byte that encodes itself")
    return data[start:end], end


def _list(data: bytes, at: int, limit: int, depth: int) -> tuple[list[RlpItem], int]:
    if depth == DEPTH_MAX:
        raise Refused("RLP lists that nest too deeply")
    start, end = _content(data, at, limit, _LIST)
    items: list[RlpItem] = []
    while start < end:
        item, start = _item(data, start, end, depth + 1)
        items.append(item)
    return items, end


def _content(data: bytes, at: int, limit: int, base: int) -> tuple[int, int]:
    """Where an item's content begins and ends."""
    size, start = data[at] - base, at + 1
    if size > _SHORT_MAX:
        width = size - _SHORT_MAX
        written = data[start : min(start + width, limit)]
        start += width
        size = int.from_bytes(written, "big")
        if len(written) < width or written[0] == 0 or size <= _SHORT_MAX:
            raise Refused("an RLP length that is cut off, or longer than it needs to be")
    if start + size > limit:
        raise Refused("the RLP ends early")
    return start, start + size
