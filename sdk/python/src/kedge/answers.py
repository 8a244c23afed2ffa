"""Answers: the parsed body, and the information from the headers."""

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
    """The most exhausted rate limit.

    Attributes:
        limit: requests per window.
        remaining: requests left in this window.
        reset: start of the next window, in Unix seconds.
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
        contents: the content hashes of the signed actions, in order; empty for an unsigned request.
    """

    body: T
    status: int
    headers: Mapping[str, str]
    contents: tuple[bytes, ...] = ()

    @property
    def etag(self) -> str | None:
        """ETag of the resource, for `if_none_match` and `if_match`."""
        return self.headers.get("etag")

    @property
    def sequence(self) -> int | None:
        """Highest sequence of the log that the answer reflects, for `min_sequence`."""
        found = self.headers.get("x-sequence")
        return None if found is None else int(found)

    @property
    def request_id(self) -> str | None:
        """Id of the request in the server's log."""
        return self.headers.get("x-request-id")

    @property
    def replayed(self) -> bool:
        """Whether the answer belongs to an earlier request with the same `Idempotency-Key`."""
        return self.headers.get("idempotent-replayed") == "true"

    @property
    def rate_limit(self) -> RateLimit | None:
        """The most exhausted rate limit; None if the operator has switched limits off."""
        names = ("x-ratelimit-limit", "x-ratelimit-remaining", "x-ratelimit-reset")
        found = [self.headers.get(name) for name in names]
        numbers = [int(value) for value in found if value is not None and value.isdigit()]
        return RateLimit(*numbers) if len(numbers) == len(names) else None

    def made(self, prefix: str, action: int = 0, index: int = 0) -> str:
        """Id of a created resource, computed from the action's content: `made("obj", 3)` is the object minted by the
        request's fourth action.

        Raises:
            IndexError: the request has no such action.
        """
        return made_id(prefix, self.contents[action], index)


@dataclass(frozen=True)
class Reply:
    """An HTTP answer.

    Attributes:
        body: the bytes; empty if the answer is read as a stream.
        stream: the open answer of the HTTP library, for reading it as a stream.
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
        """The error of an unsuccessful answer."""
        try:
            envelope = json.loads(self.body)
        except ValueError:
            envelope = None
        if not isinstance(envelope, dict) or not isinstance(envelope.get("body"), dict):
            text = self.body[:200].decode("utf-8", "replace")
            return ApiError(self.status, "", {"message": f"not an answer of the service: {text}"}, self.headers)
        return ApiError(self.status, str(envelope.get("code", "")), envelope["body"], self.headers)

    def parsed(self, call: Call[Any]) -> Any:
        """The body, parsed into the form that the request expects.

        Raises:
            ApiError: the body has another form.
        """
        if call.reads == "bytes":
            return self.body
        try:
            return self.body.decode() if call.reads == "text" else json.loads(self.body)
        except ValueError:
            raise self.error() from None
