"""Retry policy. Refused requests are retried on 429, and on 503 if configured; signed requests with an unknown outcome
are retried until it is known. A retry sends identical bytes, so the request is done at most once."""

import random
from dataclasses import dataclass
from typing import Final

WAIT_S_DEFAULT: Final = 60.0
"""Wait if the server states none, in seconds."""
UNKNOWN_WAIT_S: Final = 1.0
"""First wait after an unknown outcome, in seconds."""


@dataclass(frozen=True)
class RetryPolicy:
    """When to send requests again.

    Attributes:
        attempts_max: limit on sending a request; 1 disables retries.
        on_unavailable: whether to retry on 503. False by default: the 503 may come from a proxy after the server has
            done the request.
        on_unknown: whether to retry a request with an unknown outcome that can be done at most once: the answer says
            so, the connection broke, or the time limit passed.
        wait_s_max: limit on the client's own waits, in seconds; a longer wait that the server requests is kept.
    """

    attempts_max: int = 5
    on_unavailable: bool = False
    on_unknown: bool = True
    wait_s_max: float = 900.0

    def retries(self, status: int) -> bool:
        """Whether to retry a refusal with this status."""
        return status == 429 or (status == 503 and self.on_unavailable)

    def wait_s(self, attempt: int, retry_after_s: float | None, jitter: float) -> float:
        """Wait after attempt `attempt` (from 0), in seconds: the server's time, or a minute, doubled with each attempt,
        plus up to a quarter by `jitter` (0 to 1). The jitter spreads clients that were refused together."""
        asked = WAIT_S_DEFAULT if retry_after_s is None else retry_after_s
        doubled = asked * 2.0 ** min(attempt, 16)
        return min(doubled, max(self.wait_s_max, asked)) * (1 + jitter / 4)


class Backoff:
    """Counts the attempts of a request."""

    def __init__(self, policy: RetryPolicy) -> None:
        self._policy = policy
        self._attempt = 0

    def after_refusal(self, status: int, retry_after_s: float | None) -> float | None:
        """Seconds to wait before the next attempt; None if there is none."""
        return self._next(retry_after_s) if self._policy.retries(status) else None

    def after_unknown(self, retry_after_s: float | None) -> float | None:
        """The same after an unknown outcome: short, unless the server states a time."""
        asked = UNKNOWN_WAIT_S if retry_after_s is None else retry_after_s
        return self._next(asked) if self._policy.on_unknown else None

    def _next(self, retry_after_s: float | None) -> float | None:
        if self._attempt + 1 >= self._policy.attempts_max:
            return None
        wait = self._policy.wait_s(self._attempt, retry_after_s, random.random())
        self._attempt += 1
        return wait
