"""Paging through lists."""

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from .calls import Call, compact, target
from .errors import Refused


class Paging:
    """The requests for the pages of one list.

    Attributes:
        call: the request for the next page; None after the last one.
    """

    def __init__(self, call: Call[Any]) -> None:
        self.call: Call[Any] | None = call
        self._cursors = {_cursor(call)}

    def turn(self, page: Mapping[str, Any]) -> None:
        """Continues from the answer to `call` to the page after it.

        Raises:
            Refused: more records follow and no cursor does, or a cursor occurs again, which would never end.
        """
        call = self.call
        assert call is not None
        cursor = page["cursor"] if page["has_more"] else None
        if page["has_more"] and (cursor is None or cursor in self._cursors):
            raise Refused("more records follow, and the cursor of the next page is missing" if cursor is None else "the cursor of an earlier page occurs again")
        self._cursors.add(cursor)
        self.call = None if cursor is None else _page(call, cursor)


def _cursor(call: Call[Any]) -> str | None:
    """The cursor that a request begins at."""
    if call.body is not None:
        found = json.loads(call.body).get("cursor")
        return found if isinstance(found, str) else None
    return dict(parse_qsl(urlsplit(call.path).query)).get("cursor")


def _page(call: Call[Any], cursor: str) -> Call[Any]:
    if call.body is not None:
        return replace(call, body=compact({**json.loads(call.body), "cursor": cursor}).encode())
    path = urlsplit(call.path)
    return replace(call, path=target(path.path, {**dict(parse_qsl(path.query)), "cursor": cursor}))
