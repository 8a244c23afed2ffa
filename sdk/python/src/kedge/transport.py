"""What the synchronous and the asynchronous client share of HTTP."""

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import Any, Final

import httpx

from .answers import Reply
from .errors import ConnectionFailed
from .exchange import Send
from .version import VERSION

TIMEOUT: Final = httpx.Timeout(60.0, connect=10.0, pool=None)
"""How long a connection, a read or a write may take, in seconds. The server sends a heartbeat every 15 seconds to who
follows events. Waiting for a free connection has no limit: many requests may be in flight."""
LIMITS: Final = httpx.Limits(max_connections=100, max_keepalive_connections=100)


def user_agent() -> str:
    """How the client introduces itself."""
    return f"kedge-python/{VERSION}"


def options(base_url: str) -> dict[str, Any]:
    """The settings of an HTTP client."""
    headers = {"user-agent": user_agent(), "accept": "application/json, */*;q=0.5"}
    return {"base_url": base_url.rstrip("/"), "timeout": TIMEOUT, "limits": LIMITS, "headers": headers}


def reply_of(response: httpx.Response, stream: bool) -> Reply:
    """An answer; its body is read unless it is left open as a stream."""
    body = b"" if stream else response.content
    headers = {name.lower(): value for name, value in response.headers.items()}
    return Reply(response.status_code, headers, body, response if stream else None)


def failure_of(error: httpx.TransportError, send: Send) -> ConnectionFailed:
    """How a connection failed, and whether the request may have reached the server."""
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
