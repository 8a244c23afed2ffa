"""Requests as data: the result of generated operations, and the input of the clients."""

import base64
import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import Enum
from pathlib import Path
from typing import Any, BinaryIO, Final, Generic, Literal, TypeVar
from urllib.parse import quote, urlencode

import httpx

from .protocol.hashing import sha256
from .signing import Action

T = TypeVar("T")
Query = Mapping[str, str | int | bool | None]
Headers = Mapping[str, str | None]
Reads = Literal["json", "text", "bytes"]

OWN_WALLET: Final = "\0wallet"
"""Target for the caller's wallet; its id is filled in when the request is signed."""
OWN_ORGANIZATION: Final = "\0organization"
"""Target for the caller's organization."""

BLIND_BYTES: Final = 16
_SECRETS: Final = ("password", "current_password")


class Payload(Enum):
    """Signed payload of a resource endpoint."""

    BODY = "the body"
    DIGEST = "the body's digest"
    DIGEST_OF_SECRETS = "the body, or its digest if it holds a password"


class RawJson(str):
    """JSON that is sent and signed unchanged, for example as the payload of an action."""


@dataclass(frozen=True)
class Call(Generic[T]):
    """A request that has not been sent; its answer is a `T`.

    `operations` creates requests, `client.send` and `client.answer` send them.

    Attributes:
        operation: the operation's id in the API document.
        actions: the signed actions; None for a request that changes nothing.
        keyed: whether it accepts an `Idempotency-Key`, which allows retries.
        public: whether it needs no credentials.
        reads: the form of a successful answer.
    """

    operation: str
    method: str
    path: str
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes | None = None
    actions: tuple[Action, ...] | None = None
    atomic: bool = False
    keyed: bool = False
    public: bool = False
    reads: Reads = "json"

    def with_headers(self, headers: Mapping[str, str]) -> "Call[T]":
        """The same request with more headers."""
        return replace(self, headers={**self.headers, **headers})


def compact(value: object) -> str:
    """JSON without white space, in which parts are spelled as they are alone."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def digest_text(data: bytes) -> str:
    """`sha-256=:…:`, the form of RFC 9530."""
    return f"sha-256=:{base64.b64encode(sha256(data)).decode()}:"


def blind() -> str:
    """Random member for a body with a secret, which prevents guessing the secret from the digest in the log."""
    return base64.b64encode(os.urandom(BLIND_BYTES)).decode()


def segment(text: str | int) -> str:
    """Encodes a part of a path."""
    return quote(str(text), safe="")


def target(path: str, query: Query) -> str:
    """A path with its query, without absent parameters."""
    given = {name: _parameter(value) for name, value in query.items() if value is not None}
    return f"{path}?{urlencode(given)}" if given else path


def _parameter(value: str | int | bool) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _given(headers: Headers, body: bool = False) -> dict[str, str]:
    found = {name: value for name, value in headers.items() if value is not None}
    return {"content-type": "application/json", **found} if body else found


def plain(
    operation: str,
    method: str,
    path: str,
    *,
    query: Query | None = None,
    headers: Headers | None = None,
    body: object = None,
    keyed: bool = False,
    public: bool = False,
    reads: Reads = "json",
) -> Call[Any]:
    """A request that does not change the log and is not signed."""
    return Call(
        operation=operation,
        method=method,
        path=target(path, query or {}),
        headers=_given(headers or {}, body is not None),
        body=None if body is None else compact(body).encode(),
        keyed=keyed,
        public=public,
        reads=reads,
    )


def signed(
    operation: str,
    method: str,
    path: str,
    *,
    kind: str,
    acts_on: str,
    payload: Payload | str,
    headers: Headers,
    body: Mapping[str, Any] | None = None,
    public: bool = False,
) -> Call[Any]:
    """A change of one resource: one action, with the payload from the body."""
    value = None if body is None else dict(body)
    if payload is Payload.DIGEST_OF_SECRETS:
        payload = Payload.BODY
        if value is not None and any(value.get(name) is not None for name in _SECRETS):
            payload = Payload.DIGEST
            value.setdefault("blind", blind())
    text = "" if value is None else compact(value)
    if payload is Payload.BODY:
        shown = text
    elif payload is Payload.DIGEST:
        shown = digest_text(text.encode())
    else:
        shown = str(payload)
    return Call(
        operation=operation,
        method=method,
        path=path,
        headers=_given(headers, value is not None),
        body=None if value is None else text.encode(),
        actions=(Action(kind, acts_on, shown),),
        keyed=True,
        public=public,
    )


def _bus_action(body: Mapping[str, Any]) -> tuple[Action, str]:
    """An action of the bus, and its text in the request's body."""
    payload = body.get("payload", RawJson("{}"))
    shown = str(payload) if isinstance(payload, RawJson) else compact(payload)
    kind = body["action_type"]
    place = "template_id" if kind == "mint" else "object_id"
    others = compact({name: value for name, value in body.items() if name != "payload"})
    text = f'{others[:-1]},"payload":{shown}}}' if "payload" in body else others
    return Action(kind, body[place], shown), text


def bus_action(operation: str, path: str, *, body: Mapping[str, Any], headers: Headers) -> Call[Any]:
    """One action of the bus."""
    action, text = _bus_action(body)
    return Call(operation, "POST", path, _given(headers, True), text.encode(), (action,), keyed=True)


def bus_batch(operation: str, path: str, *, body: Mapping[str, Any], headers: Headers) -> Call[Any]:
    """Several actions of the bus under one signature."""
    pairs = [_bus_action(action) for action in body["actions"]]
    atomic = body.get("atomic", False)
    others = compact({name: value for name, value in body.items() if name != "actions"})
    comma = "," if others != "{}" else ""
    text = f'{others[:-1]}{comma}"actions":[{",".join(text for _, text in pairs)}]}}'
    actions = tuple(action for action, _ in pairs)
    return Call(operation, "POST", path, _given(headers, True), text.encode(), actions, atomic, keyed=True)


FileSource = bytes | Path | BinaryIO
"""A file's bytes, its path, or an open binary file."""


def upload(operation: str, path: str, *, kind: str, file: FileSource, name: str | None, headers: Headers) -> Call[Any]:
    """A file upload. The file is read into memory, because a retry has to send the same bytes.

    Raises:
        ValueError: the file has no name, and none is given.
    """
    if isinstance(file, bytes):
        content, own = file, None
    elif isinstance(file, Path):
        content, own = file.read_bytes(), file.name
    else:
        content, own = file.read(), None
    shown = name or own
    if shown is None:
        raise ValueError("bytes and open files need a name")
    form = httpx.Request("POST", "http://form", data={"name": shown}, files={"file": ("upload", content)})
    body = form.read()
    media_type = {"content-type": form.headers["content-type"]}
    action = Action(kind, shown, digest_text(content))
    return Call(operation, "POST", path, {**_given(headers), **media_type}, body, (action,), keyed=True)
