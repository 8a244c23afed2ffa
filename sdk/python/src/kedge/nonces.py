"""The counter of nonces: one for each signer, shared by everything that signs with it."""

from threading import Lock
from typing import Final

JUMP_MAX: Final = 1 << 20
"""How far above the highest spent nonce the next one may be."""


class NonceCounter:
    """Hands out each nonce once, to any number of threads and tasks."""

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
        """Learns the highest nonce that the server knows: other clients may sign with the same key."""
        with self._lock:
            self._next = max(self._next, highest + 1)

    def resynchronise(self, refused: int, highest: int) -> None:
        """After the server refused a nonce and stated its highest: also goes back if the counter is too far ahead, as
        happens when very many requests fail."""
        if refused > highest + JUMP_MAX:
            with self._lock:
                self._next = highest + 1
        else:
            self.learn(highest)
