"""HTTP code shared by the synchronous and the asynchronous client."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from threading import BoundedSemaphore, Lock
from typing import Any, Final

import httpx

from .answers import Reply
from .errors import ConnectionFailed
from .exchange import Send
from .version import VERSION

TIMEOUT: Final = httpx.Timeout(75.0, connect=10.0, pool=None)
"""Time limits of a connection, a read or a write, in seconds. A read may wait 60 seconds for a checkpoint. Event streams
get a heartbeat every 15 seconds. Waiting for a free connection has no limit, because many requests may be in flight."""
IN_FLIGHT_MAX: Final = 64
"""Limit on the requests of a client in flight; further ones wait."""
_POOLS: Final = 16
# A pool scans all of its connections for each request, so several small pools are faster than a large one.
_LIMITS: Final = httpx.Limits(max_connections=None, max_keepalive_connections=IN_FLIGHT_MAX)


class _Busy:
    """Number of requests in flight, by pool."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._counts: list[int] = []
        self.context = httpx.create_ssl_context()

    @contextmanager
    def pool(self) -> Iterator[int]:
        """Number of the least busy pool."""
        with self._lock:
            if len(self._counts) < _POOLS and all(self._counts):
                self._counts.append(0)
            number = self._counts.index(min(self._counts))
            self._counts[number] += 1
        try:
            yield number
        finally:
            with self._lock:
                self._counts[number] -= 1


class Transport(httpx.BaseTransport):
    """Spreads requests over several connection pools."""

    def __init__(self) -> None:
        self._room = BoundedSemaphore(IN_FLIGHT_MAX)
        self._busy = _Busy()
        self._pools = [httpx.HTTPTransport(verify=self._busy.context, limits=_LIMITS) for _ in range(_POOLS)]

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        """Sends a request."""
        with self._room, self._busy.pool() as number:
            return self._pools[number].handle_request(request)

    def close(self) -> None:
        """Closes all connections."""
        for pool in self._pools:
            pool.close()


class AsyncTransport(httpx.AsyncBaseTransport):
    """Spreads requests over several connection pools."""

    def __init__(self) -> None:
        self._room = asyncio.Semaphore(IN_FLIGHT_MAX)
        self._busy = _Busy()
        self._pools = [httpx.AsyncHTTPTransport(verify=self._busy.context, limits=_LIMITS) for _ in range(_POOLS)]

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Sends a request."""
        async with self._room:
            with self._busy.pool() as number:
                return await self._pools[number].handle_async_request(request)

    async def aclose(self) -> None:
        """Closes all connections."""
        for pool in self._pools:
            await pool.aclose()


def options(base_url: str) -> dict[str, Any]:
    """The settings of an HTTP client."""
    headers = {"user-agent": f"kedge-python/{VERSION}", "accept": "application/json, */*;q=0.5"}
    return {"base_url": base_url.rstrip("/"), "timeout": TIMEOUT, "headers": headers}


def reply_of(response: httpx.Response, stream: bool) -> Reply:
    """Converts an answer. Reads its body, unless it stays open as a stream."""
    body = b"" if stream else response.content
    headers = {name.lower(): value for name, value in response.headers.items()}
    return Reply(response.status_code, headers, body, response if stream else None)


def failure_of(error: httpx.TransportError, send: Send) -> ConnectionFailed:
    """The error of a failed connection, and whether the request may have reached the server."""
    unsent = isinstance(error, httpx.ConnectError | httpx.ConnectTimeout | httpx.PoolTimeout | httpx.UnsupportedProtocol)
    what = str(error) or type(error).__name__
    return ConnectionFailed(f"{send.method} {send.path}: {what}", sent=not unsent)


@contextmanager
def reading(response: httpx.Response, send: Send) -> Iterator[None]:
    """Reads an open answer, and closes it."""
    try:
        yield
    except httpx.TransportError as error:
        raise failure_of(error, send) from error
    finally:
        response.close()


@asynccontextmanager
async def reading_async(response: httpx.Response, send: Send) -> AsyncIterator[None]:
    """Reads an open answer, and closes it."""
    try:
        yield
    except httpx.TransportError as error:
        raise failure_of(error, send) from error
    finally:
        await response.aclose()
