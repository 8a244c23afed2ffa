"""Errors of the client."""

from collections.abc import Mapping
from typing import Any


class KedgeError(Exception):
    """Base class of this package's errors."""


class Refused(KedgeError):
    """A file, receipt or signature is invalid; the message states the failed check."""


class WrongSigner(Refused):
    """The signature is by another address than the expected one."""


class BrokenTrie(Refused):
    """A node of the state's trie has the hash that its parent names, but not the form that every node has: together with
    the signed checkpoint it is evidence of a fault."""


class MalformedEntry(Refused):
    """An entry of the state breaks a rule of its type. If its proof is valid, it is evidence of a fault."""


class ProofMissing(Refused):
    """The answer to a request for a proof has none, or has it for something else."""


class ItemDiffers(Refused):
    """An item of an answer states something else than its entry in the state.

    Attributes:
        key: id of the item.
        members: the names of the members that differ, in the item's spelling.
    """

    def __init__(self, key: str, members: tuple[str, ...]) -> None:
        super().__init__(f"{key} differs from its proven entry in {', '.join(members)}")
        self.key = key
        self.members = members


class ConnectionFailed(KedgeError):
    """The server could not be reached, or the connection broke.

    Attributes:
        sent: whether the request may have reached the server.
    """

    def __init__(self, message: str, sent: bool) -> None:
        super().__init__(message)
        self.sent = sent


class OutcomeUnknown(KedgeError):
    """The outcome of a request is still unknown after all retries.

    Do not sign it again before its deadline has passed: it could be done twice.

    Attributes:
        deadline: deadline of the request, in Unix seconds; None if it was not signed.
        actions: ids of its actions, for looking them up with `get_action`.
    """

    def __init__(self, message: str, deadline: int | None, actions: tuple[str, ...]) -> None:
        super().__init__(message)
        self.deadline = deadline
        self.actions = actions


class AlreadyDone(KedgeError):
    """A signed request was done, but its answer was lost and the server no longer keeps it.

    Attributes:
        sequence: its sequence in the log, if the server stated it.
        actions: ids of its actions; refused ones are not in the log.
    """

    def __init__(self, sequence: int | None, actions: tuple[str, ...]) -> None:
        super().__init__(f"the request was carried out (sequence {sequence}); its answer is lost: read its actions instead")
        self.sequence = sequence
        self.actions = actions


class NotModified(KedgeError):
    """The caller's copy is current (304); only for reads with `if_none_match`."""


class ApiError(KedgeError):
    """The server refused a request.

    Attributes:
        status: the HTTP status.
        code: the machine-readable code; empty if the answer is not the server's.
        body: context of the refusal: always `message` and `request_id`, often more.
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
        """Id of the request in the server's log."""
        return self.headers.get("x-request-id")

    @property
    def errors(self) -> list[dict[str, str]]:
        """Invalid fields of a body: `pointer`, `code` and `message` of each."""
        found = self.body.get("errors", [])
        return found if isinstance(found, list) else []

    @property
    def outcome(self) -> str | None:
        """`nothing_done` or `unknown`, if the server states it."""
        return self._text("outcome")

    @property
    def reason(self) -> str | None:
        """Reason of a spent nonce: `done` or `refused`."""
        return self._text("reason")

    @property
    def retry_after_s(self) -> float | None:
        """Wait in seconds that the server requests."""
        try:
            return max(0.0, float(self.headers["retry-after"]))
        except (KeyError, ValueError):
            return None

    def _text(self, member: str) -> str | None:
        value = self.body.get(member)
        return value if isinstance(value, str) else None
