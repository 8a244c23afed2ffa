"""The synchronous client."""

import time
from collections.abc import Iterator
from threading import RLock
from types import TracebackType
from typing import Any, BinaryIO, TypeVar

import httpx
from httpx_sse import EventSource

from .answers import Answer, Reply
from .calls import Call
from .downloads import Download
from .errors import ConnectionFailed
from .exchange import Send, Steps, Wait, perform, read_trust, send_plain
from .following import Follower
from .generated import models, operations
from .generated.client import Operations
from .paging import Paging
from .resources import ObjectReads, StateReads, TemplateReads
from .retry import RetryPolicy
from .session import Session, Tokens
from .setup import Key, leaving, registration, session_of, stream_events
from .transport import Transport, failure_of, options, reading, reply_of
from .verify.trust import Trust

T = TypeVar("T")


class Kedge(Operations):
    """A client of one server. Threads may share it.

    Each operation of the server is a method that returns the parsed body. `send` and `answer` send a request of
    `kedge.operations`; `answer` also returns the headers. `objects`, `templates` and `state` read with proofs.

    Args:
        base_url: origin of the server, for example `https://kedge.example`.
        key: signing key: a private key, an account of eth-account, or any `Signer`. Not needed for reads.
        api_key: an API key, used alone or with a login.
        tokens: an earlier login, from `login` or `register`. Only one client may use it, because a refresh token works
            only once.
        trust: the pinned domain and sequencer keys of the log. Without it, the client trusts the server's first
            statement, and later only keys that the log proves.
        retry: the retry policy.
        deadline_s: lifetime of a signature, in seconds, at most 24 hours.
        check_receipts: whether to verify the receipt of every answer.
        http: an HTTP client to use instead of the built-in one, with its `base_url` set: for a proxy, or custom
            certificates. It is not closed.
    """

    def __init__(
        self,
        base_url: str,
        *,
        key: Key | None = None,
        api_key: str | None = None,
        tokens: Tokens | None = None,
        trust: Trust | None = None,
        retry: RetryPolicy | None = None,
        deadline_s: int = 300,
        check_receipts: bool = True,
        http: httpx.Client | None = None,
    ) -> None:
        self.session: Session = session_of(key, api_key, tokens, trust, retry, deadline_s, check_receipts)
        self._http = http or httpx.Client(transport=Transport(), **options(base_url))
        self._owns_http = http is None
        self._alone = RLock()
        self.objects = ObjectReads(self.session, self._run)
        self.templates = TemplateReads(self.session, self._run)
        self.state = StateReads(self.session, self._run)

    def __enter__(self) -> "Kedge":
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """Closes the connections."""
        if self._owns_http:
            self._http.close()

    def send(self, call: Call[T]) -> T:
        """Sends a request of `kedge.operations`; returns the parsed body."""
        return self.answer(call).body

    def answer(self, call: Call[T]) -> Answer[T]:
        """Sends a request of `kedge.operations`; returns the answer with its headers.

        Raises:
            ApiError: the server refused the request.
            OutcomeUnknown: the request may or may not have been done.
            AlreadyDone: the request was done, and its answer is lost.
            ConnectionFailed: the server could not be reached.
            NotModified: the caller's copy is current.
            Refused: the answer's receipt, or a proof or checkpoint that the request asks for, is missing or invalid.
        """
        return self._run(perform(self.session, call))

    def iterate(self, call: Call[Any]) -> Iterator[Any]:
        """Iterates over the items of a list, fetching page by page.

        Raises:
            Refused: a page names no cursor although more records follow, or an earlier page's.
        """
        pages = Paging(call)
        while pages.call is not None:
            page = self.send(pages.call)
            pages.turn(page)
            yield from page["items"]

    def trust(self) -> Trust:
        """The trusted domain and keys of the log."""
        self._run(read_trust(self.session))
        trust = self.session.trust
        assert trust is not None
        return trust

    def register(
        self,
        email: str,
        password: str,
        *,
        nickname: str | None = None,
        organization_name: str | None = None,
        organization_id: str | None = None,
        invitation: str | None = None,
    ) -> models.ChangedLoggedIn:
        """Registers a wallet for this client's key, and logs in.

        Args:
            email: the e-mail address for logging in.
            password: at least 15 characters. It is sent, but the log holds only a blinded digest.
            nickname: a display name.
            organization_name: the name of the new organization.
            organization_id: the organization to join instead, with the `invitation` of one of its admins.
        """
        joins = (nickname, organization_name, organization_id, invitation)
        return self.send(registration(self.session, email, password, *joins))

    def log_out(self) -> models.LoggedOut:
        """Ends this client's login."""
        return self.send(leaving(self.session))

    def follow_events(
        self,
        *,
        types: list[str] | None = None,
        object_id: str | None = None,
        template_id: str | None = None,
        after_sequence: int | None = None,
        after_position: str | None = None,
    ) -> Iterator[models.EventView]:
        """Streams events as they happen. Resumes after interruptions, without gaps or repeats.

        Args:
            types: only these types; `object.*` matches a prefix.
            object_id: only events of this object.
            template_id: only events of this template and its objects.
            after_sequence: starts after this sequence; by default with the next event.
            after_position: starts after the event with this `position`, for example the last one handled.

        Raises:
            ApiError: the server refuses the stream.
        """
        call = stream_events(types, object_id, template_id, after_sequence)
        follower = Follower(self.session, call, after_position)
        while True:
            stream = self._run(follower.connect()).stream
            try:
                with reading(stream, _reads(call)):
                    for message in EventSource(stream).iter_sse():
                        event = follower.take(message)
                        if event is not None:
                            yield event
            except ConnectionFailed:
                pass
            self._run(follower.pause())

    def export_lines(self, from_batch: int = 0) -> Iterator[str]:
        """Streams the lines of an export of the log from a batch on; `kedge.verify.check_export` verifies them."""
        call = operations.export_log(from_=from_batch)
        stream = self._run(send_plain(self.session, call, stream=True)).stream
        with reading(stream, _reads(call)):
            yield from stream.iter_lines()

    def download_file(self, id: str, to: BinaryIO) -> models.FileView:
        """Downloads a file's bytes into an open binary file, and verifies them against the signed digest.

        Raises:
            Refused: the bytes do not match the digest.
        """
        download = Download(self.get_file(id), to)
        call = operations.get_file_content(id)
        stream = self._run(send_plain(self.session, call, stream=True)).stream
        with reading(stream, _reads(call)):
            for chunk in stream.iter_bytes():
                download.write(chunk)
        return download.finish()

    def _run(self, steps: Steps[T]) -> T:
        """Performs steps until they end."""
        reply: Reply | None = None
        failure: ConnectionFailed | None = None
        while True:
            try:
                step = steps.send(reply) if failure is None else steps.throw(failure)
            except StopIteration as end:
                result: T = end.value
                return result
            reply = failure = None
            if isinstance(step, Send):
                try:
                    reply = self._exchange(step)
                except httpx.TransportError as error:
                    failure = failure_of(error, step)
            elif isinstance(step, Wait):
                time.sleep(step.seconds)
            else:
                with self._alone:
                    self._run(step.steps())

    def _exchange(self, step: Send) -> Reply:
        request = self._http.build_request(step.method, step.path, content=step.body, headers=dict(step.headers))
        response = self._http.send(request, stream=step.stream)
        if step.stream and not response.is_success:
            response.read()
        return reply_of(response, step.stream and response.is_success)


def _reads(call: Call[Any]) -> Send:
    return Send(call.method, call.path, {}, None)
