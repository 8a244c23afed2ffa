"""The asynchronous client."""

import asyncio
from collections.abc import AsyncIterator
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
from .generated.async_client import AsyncOperations
from .paging import Paging
from .resources import AsyncObjectReads, AsyncStateReads, AsyncTemplateReads
from .retry import RetryPolicy
from .session import Session, Tokens
from .setup import Key, leaving, registration, session_of, stream_events
from .transport import AsyncTransport, failure_of, options, reading_async, reply_of
from .verify.trust import Trust

T = TypeVar("T")


class AsyncKedge(AsyncOperations):
    """A client of one server for asyncio. Tasks of one event loop may share it.

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
        http: httpx.AsyncClient | None = None,
    ) -> None:
        self.session: Session = session_of(key, api_key, tokens, trust, retry, deadline_s, check_receipts)
        self._http = http or httpx.AsyncClient(transport=AsyncTransport(), **options(base_url))
        self._owns_http = http is None
        self._alone = asyncio.Lock()
        self.objects = AsyncObjectReads(self.session, self._run)
        self.templates = AsyncTemplateReads(self.session, self._run)
        self.state = AsyncStateReads(self.session, self._run)

    async def __aenter__(self) -> "AsyncKedge":
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        await self.close()

    async def close(self) -> None:
        """Closes the connections."""
        if self._owns_http:
            await self._http.aclose()

    async def send(self, call: Call[T]) -> T:
        """Sends a request of `kedge.operations`; returns the parsed body."""
        return (await self.answer(call)).body

    async def answer(self, call: Call[T]) -> Answer[T]:
        """Sends a request of `kedge.operations`; returns the answer with its headers.

        Raises:
            ApiError: the server refused the request.
            OutcomeUnknown: the request may or may not have been done.
            AlreadyDone: the request was done, and its answer is lost.
            ConnectionFailed: the server could not be reached.
            NotModified: the caller's copy is current.
            Refused: the answer's receipt, or a proof or checkpoint that the request asks for, is missing or invalid.
        """
        return await self._run(perform(self.session, call))

    async def iterate(self, call: Call[Any]) -> AsyncIterator[Any]:
        """Iterates over the items of a list, fetching page by page.

        Raises:
            Refused: a page names no cursor although more records follow, or an earlier page's.
        """
        pages = Paging(call)
        while pages.call is not None:
            page = await self.send(pages.call)
            pages.turn(page)
            for item in page["items"]:
                yield item

    async def trust(self) -> Trust:
        """The trusted domain and keys of the log."""
        await self._run(read_trust(self.session))
        trust = self.session.trust
        assert trust is not None
        return trust

    async def register(
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
        return await self.send(registration(self.session, email, password, *joins))

    async def log_out(self) -> models.LoggedOut:
        """Ends this client's login."""
        return await self.send(leaving(self.session))

    async def follow_events(
        self,
        *,
        types: list[str] | None = None,
        object_id: str | None = None,
        template_id: str | None = None,
        after_sequence: int | None = None,
        after_position: str | None = None,
    ) -> AsyncIterator[models.EventView]:
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
            stream = (await self._run(follower.connect())).stream
            try:
                async with reading_async(stream, _reads(call)):
                    async for message in EventSource(stream).aiter_sse():
                        event = follower.take(message)
                        if event is not None:
                            yield event
            except ConnectionFailed:
                pass
            await self._run(follower.pause())

    async def export_lines(self, from_batch: int = 0) -> AsyncIterator[str]:
        """Streams the lines of an export of the log from a batch on; `kedge.verify.check_export` verifies them."""
        call = operations.export_log(from_=from_batch)
        stream = (await self._run(send_plain(self.session, call, stream=True))).stream
        async with reading_async(stream, _reads(call)):
            async for line in stream.aiter_lines():
                yield line

    async def download_file(self, id: str, to: BinaryIO) -> models.FileView:
        """Downloads a file's bytes into an open binary file, and verifies them against the signed digest.

        Raises:
            Refused: the bytes do not match the digest.
        """
        download = Download(await self.get_file(id), to)
        call = operations.get_file_content(id)
        stream = (await self._run(send_plain(self.session, call, stream=True))).stream
        async with reading_async(stream, _reads(call)):
            async for chunk in stream.aiter_bytes():
                download.write(chunk)
        return download.finish()

    async def _run(self, steps: Steps[T], alone: bool = False) -> T:
        """Performs steps until they end. With `alone`, the caller holds the lock already."""
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
                    reply = await self._exchange(step)
                except httpx.TransportError as error:
                    failure = failure_of(error, step)
            elif isinstance(step, Wait):
                await asyncio.sleep(step.seconds)
            elif alone:
                await self._run(step.steps(), alone=True)
            else:
                async with self._alone:
                    await self._run(step.steps(), alone=True)

    async def _exchange(self, step: Send) -> Reply:
        request = self._http.build_request(step.method, step.path, content=step.body, headers=dict(step.headers))
        response = await self._http.send(request, stream=step.stream)
        if step.stream and not response.is_success:
            await response.aread()
        return reply_of(response, step.stream and response.is_success)


def _reads(call: Call[Any]) -> Send:
    return Send(call.method, call.path, {}, None)
