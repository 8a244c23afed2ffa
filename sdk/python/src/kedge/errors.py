"""What goes wrong, and what the caller then knows."""

from collections.abc import Mapping
from typing import Any


class KedgeError(Exception):
    """Every error that this package raises on its own."""


class Refused(KedgeError):
    """A file, a receipt or a signature does not hold; the message states which check failed."""


class WrongSigner(Refused):
    """Another address signed than the expected one."""


class ConnectionFailed(KedgeError):
    """The server could not be reached, or the connection broke.

    Attributes:
        sent: whether the request may have reached the server.
    """

    def __init__(self, message: str, sent: bool) -> None:
        super().__init__(message)
        self.sent = sent


class OutcomeUnknown(KedgeError):
    """Nobody knows whether a request was carried out, although it was sent as often as the retry policy allows.

    Do not sign it again before its deadline is past: it could be done twice.

    Attributes:
        deadline: until when the server may still carry it out, in Unix seconds; None if it was not signed.
        actions: the ids that its actions have if they were carried out. `get_action` finds them then.
    """

    def __init__(self, message: str, deadline: int | None, actions: tuple[str, ...]) -> None:
        super().__init__(message)
        self.deadline = deadline
        self.actions = actions


class AlreadyDone(KedgeError):
    """A signed request was carried out, but its answer was lost and the server no longer keeps it.

    Attributes:
        sequence: where the log holds it, if the server stated it.
        actions: the ids of its actions; those that were refused do not exist.
    """

    def __init__(self, sequence: int | None, actions: tuple[str, ...]) -> None:
        super().__init__(f"the request was carried out (sequence {sequence}); its answer is lost: read its actions instead")
        self.sequence = sequence
        self.actions = actions


class NotModified(KedgeError):
    """A read with `if_none_match` found that the caller's copy is current (304)."""


class ApiError(KedgeError):
    """The server refused a request.

    Attributes:
        status: the HTTP status.
        code: the error's code, for programs; empty if the answer is not the service's own.
        body: what the server states about it: always `message` and `request_id`, often more.
        headers: the answer's headers, their names in lower case.
    """

    def __init__(self, status: int, code: str, body: Mapping[str, Any], headers: Mapping[str, str]) -> None:
        super().__init__(f"{status} {code or 'without a code'}: {body.get('message', 'no message')}")
        self.status = status
        self.code = code
        self.body = body
        self.headers = headers

    @property
    def request_id(self) -> str | None:
        """The id under which the server logged the request."""
        return self.headers.get("x-request-id")

    @property
    def errors(self) -> list[dict[str, str]]:
        """The wrong fields of a body: `pointer`, `code` and `message` of each."""
        found = self.body.get("errors", [])
        return found if isinstance(found, list) else []

    @property
    def outcome(self) -> str | None:
        """`nothing_done` or `unknown`, where the server states it."""
        return self._text("outcome")

    @property
    def reason(self) -> str | None:
        """Why a nonce is spent: `done` or `refused`."""
        return self._text("reason")

    @property
    def retry_after_s(self) -> float | None:
        """The seconds that the server asks to wait."""
        try:
            return max(0.0, float(self.headers["retry-after"]))
        except (KeyError, ValueError):
            return None

    def _text(self, member: str) -> str | None:
        value = self.body.get(member)
        return value if isinstance(value, str) else None
