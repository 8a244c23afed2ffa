"""When a request is sent again. A refused one: on 429, and on 503 only if asked to. A signed one whose outcome nobody
knows: until it is known. Always with the very same bytes, so it is done at most once."""

import random
from dataclasses import dataclass
from typing import Final

WAIT_S_DEFAULT: Final = 60.0
"""The wait if the server does not state one, in seconds."""
UNKNOWN_WAIT_S: Final = 1.0
"""The first wait after an unknown outcome, in seconds."""


@dataclass(frozen=True)
class RetryPolicy:
    """When to send requests again.

    Attributes:
        attempts_max: how often a request is sent at most; 1 means no retries.
        on_unavailable: also retry on 503. Off by default: a 503 may come from a proxy in front of the server, after
            the server has done what was requested.
        on_unknown: also retry a request that can be done at most once and whose outcome is unknown: the answer states
            so, the connection broke, or there was no answer in time.
        wait_s_max: the longest single wait of the client's own, in seconds; a longer one that the server asks for holds.
    """

    attempts_max: int = 5
    on_unavailable: bool = False
    on_unknown: bool = True
    wait_s_max: float = 900.0

    def retries(self, status: int) -> bool:
        """Whether a refusal with this status is worth another attempt."""
        return status == 429 or (status == 503 and self.on_unavailable)

    def wait_s(self, attempt: int, retry_after_s: float | None, jitter: float) -> float:
        """How long to wait after attempt `attempt` (from 0), in seconds: the time that the server states (or a minute),
        doubled with each attempt, plus up to a quarter by `jitter` (0 to 1), so that clients refused together do not
        retry together."""
        asked = WAIT_S_DEFAULT if retry_after_s is None else retry_after_s
        doubled = asked * 2.0 ** min(attempt, 16)
        return min(doubled, max(self.wait_s_max, asked)) * (1 + jitter / 4)


class Backoff:
    """The attempts of one request."""

    def __init__(self, policy: RetryPolicy) -> None:
        self._policy = policy
        self._attempt = 0

    def after_refusal(self, status: int, retry_after_s: float | None) -> float | None:
        """The seconds to wait before the next attempt; None if there is none."""
        return self._next(retry_after_s) if self._policy.retries(status) else None

    def after_unknown(self, retry_after_s: float | None) -> float | None:
        """The same after an unknown outcome: soon, unless the server states otherwise."""
        asked = UNKNOWN_WAIT_S if retry_after_s is None else retry_after_s
        return self._next(asked) if self._policy.on_unknown else None

    def _next(self, retry_after_s: float | None) -> float | None:
        if self._attempt + 1 >= self._policy.attempts_max:
            return None
        wait = self._policy.wait_s(self._attempt, retry_after_s, random.random())
        self._attempt += 1
        return wait
