"""Both clients, called in the same way, so that every test holds both to the same."""

import asyncio
import itertools
import time
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from typing import Any, TypeVar, cast

from kedge import AsyncKedge, Call, Kedge, KeySigner
from kedge.resources import AsyncStateReads

T = TypeVar("T")
PASSWORD = "a long enough passphrase"
_numbers = itertools.count()
SENT: set[str] = set()
"""The operations that were sent in this run."""


class Recorded(Kedge):
    """The synchronous client; it records which operations it sends."""

    def answer(self, call: Call[T]) -> Any:
        SENT.add(call.operation)
        return super().answer(call)


class RecordedAsync(AsyncKedge):
    """The asynchronous client; it records which operations it sends."""

    async def answer(self, call: Call[T]) -> Any:
        SENT.add(call.operation)
        return await super().answer(call)


class Waiting:
    """Something asynchronous, called as if it were synchronous."""

    def __init__(self, loop: asyncio.AbstractEventLoop, inner: Any) -> None:
        self.loop = loop
        self.inner = inner

    def _iterate(self, items: AsyncIterator[Any]) -> Iterator[Any]:
        try:
            while True:
                try:
                    yield self.loop.run_until_complete(anext(items))
                except StopAsyncIteration:
                    return
        finally:
            self.loop.run_until_complete(cast(Any, items).aclose())

    def __getattr__(self, name: str) -> Any:
        found = getattr(self.inner, name)
        if isinstance(found, AsyncStateReads):
            return Waiting(self.loop, found)
        if not callable(found):
            return found

        def call(*args: Any, **options: Any) -> Any:
            made = found(*args, **options)
            if isinstance(made, Coroutine):
                return self.loop.run_until_complete(made)
            return self._iterate(made) if isinstance(made, AsyncIterator) else made

        return call


class Driven(Waiting):
    """The asynchronous client."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(asyncio.new_event_loop(), RecordedAsync(*args, **options))

    def close(self) -> None:
        self.loop.run_until_complete(self.inner.close())
        self.loop.close()


Maker = Callable[..., Kedge]


def makers() -> dict[str, Maker]:
    """How each client is made."""
    return {"sync": Recorded, "async": cast(Maker, Driven)}


def email() -> str:
    """An address that nobody has used."""
    return f"user-{time.time_ns()}-{next(_numbers)}@example.com"


def registered(make: Maker, url: str, **options: Any) -> Kedge:
    """A client with a wallet of its own."""
    client = make(url, key=KeySigner.random(), **options)
    client.register(email(), PASSWORD)
    return client


def eventually(what: str, probe: Callable[[], T | None]) -> T:
    """What the probe gives, once it gives something."""
    end = time.monotonic() + 30
    while time.monotonic() < end:
        found = probe()
        if found:
            return found
        time.sleep(0.02)
    raise AssertionError(f"not within 30 s: {what}")
