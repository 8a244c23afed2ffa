"""Event stream that resumes after interruptions, without gaps or repeats."""

from typing import Any, Final, cast

from httpx_sse import ServerSentEvent

from .answers import Reply
from .calls import Call
from .errors import ApiError, ConnectionFailed
from .exchange import Steps, Wait, send_plain
from .generated import models
from .session import Session

FIRST_WAIT_S: Final = 0.5
"""First wait after an interruption, in seconds, unless the stream states another; it doubles while there is no
event."""
WAIT_S_MAX: Final = 30.0
"""Longest wait between two attempts, in seconds."""


class Follower:
    """State of one reader of the stream.

    Attributes:
        position: position of the last event read; None before the first.
    """

    def __init__(self, session: Session, call: Call[Any], position: str | None) -> None:
        self._session = session
        self._call = call
        self._wait_s = FIRST_WAIT_S
        self._attempts = 0
        self.position = position

    def connect(self) -> Steps[Reply]:
        """Opens the stream after the last event read. Retries while the server is unreachable."""
        while True:
            resumed = {} if self.position is None else {"last-event-id": self.position}
            try:
                return (yield from send_plain(self._session, self._call.with_headers(resumed), stream=True))
            except ConnectionFailed:
                yield from self.pause()
            except ApiError as error:
                if error.status not in (429, 503) and (error.code or error.status < 500):
                    raise
                yield from self.pause(error.retry_after_s)

    def pause(self, asked_s: float | None = None) -> Steps[None]:
        """Waits before the next attempt."""
        wait = min(self._wait_s * 2**self._attempts, WAIT_S_MAX)
        self._attempts = min(self._attempts + 1, 16)
        yield Wait(wait if asked_s is None else max(asked_s, wait))

    def take(self, message: ServerSentEvent) -> models.EventView | None:
        """The event of a message; None if it has none."""
        if message.retry is not None:
            self._wait_s = message.retry / 1000
        if not message.data or not message.id:
            return None
        self._attempts = 0
        self.position = message.id
        return cast(models.EventView, message.json())
