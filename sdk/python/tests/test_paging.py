"""Lists, page by page, with both clients: what a page says of the next one holds, or the list ends with an error."""

import json
from collections.abc import Callable
from typing import Any

import httpx
import pytest
from kedge import Refused, operations

from test_state_reads import Reader, read

__all__ = ["read"]

Cursors = Callable[[str | None], tuple[bool, str | None]]


def server(cursors: Cursors) -> Callable[[httpx.Request], Any]:
    """A server whose pages have one item each, and state what `cursors` gives for the cursor that a request has."""

    def answer(sent: httpx.Request) -> Any:
        asked = json.loads(sent.content) if sent.content else sent.url.params
        given = asked.get("cursor")
        more, cursor = cursors(given)
        return {"items": [{"id": given}], "has_more": more, "cursor": cursor}

    return answer


LISTS: list[Callable[..., Any]] = [
    lambda **asked: operations.list_objects(**asked),
    lambda **asked: operations.search_objects({"filter": {"field": "status", "op": "eq", "value": "active"}, **asked}),  # type: ignore[typeddict-item]
]


@pytest.mark.parametrize("call", LISTS)
def test_a_list_ends_where_no_more_follows(read: Reader, call: Callable[..., Any]) -> None:
    following: dict[str | None, tuple[bool, str | None]] = {None: (True, "a"), "a": (True, "b"), "b": (False, None)}
    shown, seen = read(server(following.__getitem__), lambda client: client.iterate(call()))
    assert [one["id"] for one in shown] == [None, "a", "b"] and len(seen) == 3
    shown, _ = read(server(following.__getitem__), lambda client: client.iterate(call(cursor="b")))
    assert [one["id"] for one in shown] == ["b"]


@pytest.mark.parametrize("call", LISTS)
def test_a_list_that_has_more_and_names_no_cursor_is_refused(read: Reader, call: Callable[..., Any]) -> None:
    with pytest.raises(Refused, match="cursor of the next page is missing"):
        read(server(lambda given: (True, None)), lambda client: list_of(client.iterate(call())))


@pytest.mark.parametrize("call", LISTS)
@pytest.mark.parametrize("begin", [{}, {"cursor": "a"}])
@pytest.mark.parametrize("cycle", [["a"], ["a", "b", "c"]])
def test_a_list_whose_cursors_repeat_is_refused(read: Reader, call: Callable[..., Any], begin: dict[str, str], cycle: list[str]) -> None:
    following = dict(zip([None, *cycle], [*cycle, cycle[0]]))
    with pytest.raises(Refused, match="occurs again"):
        read(server(lambda given: (True, following[given])), lambda client: list_of(client.iterate(call(**begin))))


def list_of(items: Any) -> Any:
    """All items of the synchronous client; the asynchronous one's are read by the fixture."""
    return list(items) if hasattr(items, "__next__") else items
