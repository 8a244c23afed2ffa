"""The stream of events: it resumes by itself, and everything is seen once."""

import signal
import threading
from collections.abc import Iterator

import pytest
from kedge import ApiError, Batch, Kedge

from driven import Maker, eventually, registered
from server import Server


@pytest.fixture(scope="module")
def own_server() -> Iterator[Server]:
    """A server that may be ended and started again."""
    running = Server("rate_limits=off")
    yield running
    running.stop()


def test_nothing_is_missed_and_nothing_comes_twice_however_the_server_ends(make: Maker, own_server: Server) -> None:
    ann = registered(make, own_server.url)
    reader = make(own_server.url, tokens=ann.session.tokens)
    template = ann.create_template({"name": "ticket"})
    minted = ann.mint_object({"template_id": template["id"]})
    seen: list[tuple[str, str]] = []
    ended = threading.Event()

    def follow() -> None:
        for event in reader.follow_events(types=["object.*", "action.*"], after_sequence=0):
            seen.append((event["id"], event["type"]))
            if event["data"].get("payload") == {"last": True}:
                break
        ended.set()

    def emits(*payloads: object) -> None:
        batch = Batch()
        for payload in payloads:
            batch.emit(minted["id"], payload)
        # It is not locked, so this one fails, and its event is not in the log.
        ann.submit_batch(batch.unlock(minted["id"]).body())

    thread = threading.Thread(target=follow, daemon=True)
    thread.start()
    for turn, how in enumerate([signal.SIGTERM, signal.SIGKILL]):
        emits({"n": 3 * turn})
        eventually("the events so far", lambda: len(seen) >= 1 + turn * 6)
        own_server.restart(how)
        # What is committed while the reader is away is what it must not miss.
        emits({"n": 3 * turn + 1}, {"n": 3 * turn + 2})
    ann.submit_action({"action_type": "emit", "object_id": minted["id"], "payload": {"last": True}})
    assert ended.wait(30), seen
    listed = [(one["id"], one["type"]) for one in ann.iter_events(type="object.*,action.*", limit=3)]
    assert seen == listed
    assert len(set(seen)) == len(seen) == 1 + 6 + 4 + 1


def test_a_position_is_where_the_stream_begins(make: Maker, server: Server) -> None:
    ann = registered(make, server.url)
    template = ann.create_template({"name": "ticket"})
    ann.submit_batch(Batch().mint(template["id"]).mint(template["id"]).mint(template["id"]).body())
    every = take(ann, 3, None)
    assert [one["type"] for one in every] == ["object.created"] * 3
    assert take(ann, 2, str(every[0]["position"])) == every[1:]


def take(client: Kedge, count: int, after: str | None) -> list[dict[str, object]]:
    stream = client.follow_events(types=["object.created"], after_sequence=0, after_position=after)
    taken = [dict(next(stream)) for _ in range(count)]
    stream.close()  # type: ignore[attr-defined]
    return taken


def test_a_stream_that_is_refused_ends(make: Maker, server: Server) -> None:
    with pytest.raises(ApiError, match="UNAUTHENTICATED"):
        next(make(server.url).follow_events())
    with pytest.raises(ApiError, match="VALIDATION_ERROR"):
        next(registered(make, server.url).follow_events(types=["nothing.such"]))
