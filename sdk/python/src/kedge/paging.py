"""Paging through lists."""

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from .calls import Call, compact, target


def next_page(call: Call[Any], page: Mapping[str, Any]) -> Call[Any] | None:
    """The request for the page after `page`, which answered `call`; None after the last one."""
    if not page["has_more"] or page["cursor"] is None:
        return None
    if call.body is not None:
        return replace(call, body=compact({**json.loads(call.body), "cursor": page["cursor"]}).encode())
    path = urlsplit(call.path)
    return replace(call, path=target(path.path, {**dict(parse_qsl(path.query)), "cursor": page["cursor"]}))
