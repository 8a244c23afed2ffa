"""Answers: the parsed body, with what the headers state about it."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from .calls import Call
from .errors import ApiError
from .protocol.ids import made_id

T = TypeVar("T")


@dataclass(frozen=True)
class RateLimit:
    """Of the limits that apply, the one with the fewest requests left.

    Attributes:
        limit: requests per window.
        remaining: requests left in this window.
        reset: when the next window begins, in Unix seconds.
    """

    limit: int
    remaining: int
    reset: int


@dataclass(frozen=True)
class Answer(Generic[T]):
    """A successful answer.

    Attributes:
        body: the parsed body.
        status: the HTTP status.
        headers: the headers, their names in lower case.
        contents: the content of each action that was signed, in order; empty for a request that is not signed.
    """

    body: T
    status: int
    headers: Mapping[str, str]
    contents: tuple[bytes, ...] = ()

    @property
    def etag(self) -> str | None:
        """The version of what was read, for `if_none_match` and `if_match`."""
        return self.headers.get("etag")

    @property
    def sequence(self) -> int | None:
        """The highest sequence of the log that the answer reflects, for `min_sequence`."""
        found = self.headers.get("x-sequence")
        return None if found is None else int(found)

    @property
    def request_id(self) -> str | None:
        """The id under which the server logged the request."""
        return self.headers.get("x-request-id")

    @property
    def replayed(self) -> bool:
        """Whether the request was carried out before, under the same `Idempotency-Key`."""
        return self.headers.get("idempotent-replayed") == "true"

    @property
    def rate_limit(self) -> RateLimit | None:
        """What is left of the limits; None where the operator switched them off."""
        names = ("x-ratelimit-limit", "x-ratelimit-remaining", "x-ratelimit-reset")
        found = [self.headers.get(name) for name in names]
        numbers = [int(value) for value in found if value is not None and value.isdigit()]
        return RateLimit(*numbers) if len(numbers) == len(names) else None

    def made(self, prefix: str, action: int = 0, index: int = 0) -> str:
        """The id of what an action made, computed from its content: `made("obj", 3)` is the object that the request's
        fourth action minted.

        Raises:
            IndexError: the request has no such action.
        """
        return made_id(prefix, self.contents[action], index)


@dataclass(frozen=True)
class Reply:
    """What came over HTTP.

    Attributes:
        body: the bytes; empty if the answer is read as a stream.
        stream: the open answer of the HTTP library, if it is read as a stream.
    """

    status: int
    headers: Mapping[str, str]
    body: bytes = b""
    stream: Any = None

    @property
    def success(self) -> bool:
        """Whether the status is 2xx."""
        return 200 <= self.status < 300

    @property
    def nonce_highest(self) -> int | None:
        """The signer's highest spent nonce, if the answer states it."""
        found = self.headers.get("x-nonce-highest", "")
        return int(found) if found.isdigit() else None

    def error(self) -> ApiError:
        """The refusal that the answer is."""
        try:
            envelope = json.loads(self.body)
        except ValueError:
            envelope = None
        if not isinstance(envelope, dict) or not isinstance(envelope.get("body"), dict):
            text = self.body[:200].decode("utf-8", "replace")
            return ApiError(self.status, "", {"message": f"not an answer of the service: {text}"}, self.headers)
        return ApiError(self.status, str(envelope.get("code", "")), envelope["body"], self.headers)

    def parsed(self, call: Call[Any]) -> Any:
        """The body in the form that the request expects.

        Raises:
            ApiError: the body has another form.
        """
        if call.reads == "bytes":
            return self.body
        try:
            return self.body.decode() if call.reads == "text" else json.loads(self.body)
        except ValueError:
            raise self.error() from None
