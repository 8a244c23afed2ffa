"""Nonce counter of a signer, shared by all its requests."""

from threading import Lock
from typing import Final

JUMP_MAX: Final = 1 << 20
"""Limit on the distance of the next nonce above the highest spent one."""


class NonceCounter:
    """Hands out each nonce once, across threads and tasks."""

    def __init__(self) -> None:
        self._lock = Lock()
        # The next nonce; 0 while the server's highest is unknown.
        self._next = 0

    @property
    def known(self) -> bool:
        """Whether the counter has a starting point."""
        return self._next > 0

    def take(self) -> int:
        """The next nonce.

        Raises:
            RuntimeError: the server's highest is unknown.
        """
        with self._lock:
            if self._next == 0:
                raise RuntimeError("the signer's highest nonce is not known yet")
            self._next += 1
            return self._next - 1

    def learn(self, highest: int) -> None:
        """Takes over the server's highest nonce; other clients may sign with the same key."""
        with self._lock:
            self._next = max(self._next, highest + 1)

    def resynchronise(self, refused: int, highest: int) -> None:
        """Adjusts the counter after the server refused a nonce and stated its highest. May go back, because many failed
        requests can put the counter too far ahead."""
        if refused > highest + JUMP_MAX:
            with self._lock:
                self._next = highest + 1
        else:
            self.learn(highest)
