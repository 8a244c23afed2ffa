"""Logic of sending a request until its outcome is known, without I/O.

Each function is a generator of steps. A client performs a step and sends its result back, or throws its
`ConnectionFailed`, so the synchronous and the asynchronous client share this code.
"""

import time
from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final, TypeVar
from uuid import uuid4

from .answers import Answer, Reply
from .calls import OWN_ORGANIZATION, OWN_WALLET, Call
from .errors import AlreadyDone, ApiError, ConnectionFailed, KedgeError, NotModified, OutcomeUnknown, Refused, WrongSigner
from .generated import operations
from .paging import Paging
from .protocol.hashing import from_hex
from .retry import Backoff
from .session import Session, Tokens
from .signing import Action, Signed, deadline_in, sign
from .state_reads import asks_checkpoint, asks_proof, check_asked_checkpoint, check_asked_proof
from .verify.receipts import check_batch_receipt, check_receipt
from .verify.trust import KEYS_MAX, Trust, follow_key

T = TypeVar("T")

# Minimum time between sending a signature and its deadline, in seconds.
_DEADLINE_MARGIN_S: Final = 5
# Limit on new nonces for a request whose nonce was already spent.
_NEW_NONCES_MAX: Final = 3


@dataclass(frozen=True)
class Send:
    """Sends a request. With `stream`, a successful answer stays open."""

    method: str
    path: str
    headers: Mapping[str, str]
    body: bytes | None
    stream: bool = False


@dataclass(frozen=True)
class Wait:
    """Waits for so many seconds."""

    seconds: float


@dataclass(frozen=True)
class Alone:
    """Performs steps while no other request of the client does so."""

    steps: Callable[[], "Steps[None]"]


Step = Send | Wait | Alone
Steps = Generator[Step, Reply | None, T]


def perform(session: Session, call: Call[T]) -> Steps[Answer[T]]:
    """Sends a request, signed if necessary, and verifies its answer.

    Raises:
        ApiError: the server refused the request.
        OutcomeUnknown: the request may or may not have been done.
        AlreadyDone: the request was done, and its answer is lost.
        ConnectionFailed: the server could not be reached.
        NotModified: the caller's copy is current.
        Refused: the answer's receipt, or the proof or checkpoint that the request asks for, is missing or invalid.
    """
    if call.actions is None:
        reply = yield from send_plain(session, call)
        signed = None
    else:
        reply, signed = yield from _send_signed(session, call)
    body = reply.parsed(call)
    if asks_proof(call):
        yield from checked(session, lambda trust: check_asked_proof(call, reply.body, trust))
    elif asks_checkpoint(call):
        yield from checked(session, lambda trust: check_asked_checkpoint(call, reply.body, trust))
    session.learn(call, body)
    if signed is None:
        return Answer(body, reply.status, reply.headers)
    answer: Answer[T] = Answer(body, reply.status, reply.headers, signed.contents)
    return (yield from _check(session, call, answer)) if session.check_receipts else answer


# Unsigned requests


class _Sending:
    """A request with its retries."""

    def __init__(self, session: Session, call: Call[Any], stream: bool = False) -> None:
        key = {"idempotency-key": uuid4().hex} if call.keyed and "idempotency-key" not in call.headers else {}
        self.session = session
        self.call = call.with_headers(key)
        self.stream = stream
        self.backoff = Backoff(session.retry)
        self._used: Tokens | None = None
        self._refreshed = False

    def once(self, signed: Signed | None = None) -> Steps[Reply]:
        self._used = None if self.call.public else self.session.tokens
        own = signed.headers if signed is not None else {}
        headers = {**self.call.headers, **self.session.credentials(self.call), **own}
        reply = yield Send(self.call.method, self.call.path, headers, self.call.body, self.stream)
        assert reply is not None
        return reply

    def again(self, error: ApiError) -> Steps[bool]:
        """Whether to send the same bytes again, after a token refresh or a wait. The server refuses in both cases
        before it checks a signature."""
        used = self._used
        if error.code == "TOKEN_EXPIRED" and used is not None and not self._refreshed:
            self._refreshed = True
            yield Alone(lambda: _refresh(self.session, used))
            return True
        wait = self.backoff.after_refusal(error.status, error.retry_after_s)
        if wait is not None:
            yield Wait(wait)
        return wait is not None

    def ask_again(self, retry_after_s: float | None) -> Steps[bool]:
        """Whether to send the same bytes again to learn the outcome, after a wait."""
        wait = self.backoff.after_unknown(retry_after_s)
        if wait is not None:
            yield Wait(wait)
        return wait is not None


def send_plain(session: Session, call: Call[Any], stream: bool = False) -> Steps[Reply]:
    """Sends an unsigned request. Returns the successful answer."""
    sending = _Sending(session, call, stream)
    unsure = False
    while True:
        try:
            reply = yield from sending.once()
        except ConnectionFailed as failure:
            # With an Idempotency-Key, the request is done at most once.
            unsure = unsure or failure.sent
            if call.keyed and (yield from sending.ask_again(None)):
                continue
            if call.keyed and unsure:
                raise OutcomeUnknown(str(failure), None, ()) from failure
            raise
        if reply.success:
            return reply
        if reply.status == 304:
            raise NotModified("the caller's copy is current")
        error = reply.error()
        in_flight = unsure and error.code == "IDEMPOTENCY_IN_PROGRESS"
        if call.keyed and (error.outcome == "unknown" or in_flight):
            unsure = True
            if (yield from sending.ask_again(error.retry_after_s)):
                continue
            raise OutcomeUnknown(str(error), None, ()) from error
        if not (yield from sending.again(error)):
            raise error


def _refresh(session: Session, used: Tokens) -> Steps[None]:
    """Exchanges the tokens, unless another request has done so meanwhile."""
    if session.tokens is not used:
        return
    call = operations.refresh_token({"refresh_token": used.refresh})
    reply = yield from send_plain(session, call)
    session.learn(call, reply.parsed(call))


# Signed requests


def _send_signed(session: Session, call: Call[Any]) -> Steps[tuple[Reply, Signed]]:
    yield from _prepare(session, call)
    sending = _Sending(session, call)
    signed = _sign(session, call)
    new_nonces = 0
    # While False, no earlier attempt can have been carried out, so signing again is safe.
    unsure = False
    while True:
        try:
            reply = yield from sending.once(signed)
        except ConnectionFailed as failure:
            unsure = unsure or failure.sent
            if not _expires(signed) and (yield from sending.ask_again(None)):
                continue
            if unsure:
                raise OutcomeUnknown(str(failure), signed.deadline, signed.actions) from failure
            raise
        if reply.nonce_highest is not None:
            session.nonces.learn(reply.nonce_highest)
        if reply.success:
            return reply, signed
        error = reply.error()
        if unsure and error.code == "NONCE_REUSED" and error.reason == "done":
            if call.public or (yield from _stands(session, signed)):
                sequence = error.body.get("sequence")
                raise AlreadyDone(sequence if isinstance(sequence, int) else None, signed.actions)
            # Another request of this key spent the nonce, so this one will never be done.
            unsure = False
        if _is_open(error, unsure):
            unsure = True
            if not _expires(signed) and (yield from sending.ask_again(error.retry_after_s)):
                continue
            raise OutcomeUnknown(str(error), signed.deadline, signed.actions) from error
        if error.status == 503 and error.outcome != "nothing_done":
            unsure = True
        if (yield from sending.again(error)):
            if _expires(signed):
                if unsure:
                    raise OutcomeUnknown(str(error), signed.deadline, signed.actions) from error
                signed = _sign(session, call)
            continue
        if error.code != "NONCE_REUSED" or unsure or new_nonces == _NEW_NONCES_MAX:
            raise error
        # Other clients sign with the same key: skip the nonces that they have spent.
        new_nonces += 1
        if reply.nonce_highest is None:
            yield from _read_wallet(session)
        else:
            session.nonces.resynchronise(signed.nonce, reply.nonce_highest)
        signed = _sign(session, call)


def _is_open(error: ApiError, unsure: bool) -> bool:
    """Whether a request may still be done, or its answer may still arrive."""
    if error.outcome == "unknown" or error.status in (502, 504) or not error.code and error.status >= 500:
        return True
    spent = error.code == "NONCE_REUSED" and error.reason not in ("refused", "done")
    return unsure and (spent or error.code == "IDEMPOTENCY_IN_PROGRESS")


def _stands(session: Session, signed: Signed) -> Steps[bool]:
    """Whether the log holds an action of a signed request."""
    for action in signed.actions:
        try:
            yield from send_plain(session, operations.get_action(action))
        except ApiError as error:
            if error.status != 404:
                raise
        else:
            return True
    return False


def _expires(signed: Signed) -> bool:
    return signed.deadline < time.time() + _DEADLINE_MARGIN_S


def _sign(session: Session, call: Call[Any]) -> Signed:
    if session.trust is None or call.actions is None:
        raise KedgeError("the request was not prepared")
    own = {OWN_WALLET: session.wallet_id, OWN_ORGANIZATION: session.organization_id}

    def aimed(action: Action) -> Action:
        target = own.get(action.target, action.target)
        if target is None:
            raise KedgeError("whose wallet this is, is not known: log in, or give a token")
        return replace(action, target=target)

    actions = [aimed(action) if action.target in own else action for action in call.actions]
    nonce, deadline = session.nonces.take(), deadline_in(session.deadline_s)
    return sign(session.own_signer(), session.trust.domain, actions, nonce=nonce, deadline=deadline, atomic=call.atomic)


# Required knowledge


def _prepare(session: Session, call: Call[Any]) -> Steps[None]:
    session.own_signer()
    if session.trust is None:
        yield Alone(lambda: read_trust(session))
    if call.public or session.acts_by_key_alone:
        # A new address has spent none. With only an API key, the first refusal states the highest.
        session.nonces.learn(0)
    if not session.nonces.known or _lacks_own_id(session, call):
        yield Alone(lambda: _read_own(session, call))


def _lacks_own_id(session: Session, call: Call[Any]) -> bool:
    known = {OWN_WALLET: session.wallet_id, OWN_ORGANIZATION: session.organization_id}
    return any(action.target in known and known[action.target] is None for action in call.actions or ())


def _read_own(session: Session, call: Call[Any]) -> Steps[None]:
    """Reads the nonces and ids that a request needs, unless another request has done so meanwhile."""
    if session.nonces.known and not _lacks_own_id(session, call):
        return
    if session.acts_by_key_alone:
        own = operations.get_own_organization()
        reply = yield from send_plain(session, own)
        session.organization_id = reply.parsed(own)["id"]
    else:
        yield from _read_wallet(session)


def _read_wallet(session: Session) -> Steps[None]:
    call = operations.get_own_wallet()
    reply = yield from send_plain(session, call)
    wallet = reply.parsed(call)
    session.learn(call, wallet)
    if not session.nonces.known:
        raise KedgeError(f"the wallet {wallet['id']} has no key {session.own_signer().address}")


def read_trust(session: Session) -> Steps[None]:
    """Reads the server's domain and keys, unless they are known."""
    if session.trust is not None:
        return
    call = operations.get_domain()
    reply = yield from send_plain(session, call)
    domain = reply.parsed(call)
    if (domain["name"], domain["version"]) != ("Digital Object Service", "3"):
        raise KedgeError(f"the server speaks another protocol: {domain['name']} {domain['version']}")
    stated = yield from _stated_keys(session)
    keys = [(key["key"], key["from_batch"]) for key in stated] or [(domain["sequencer"], 0)]
    session.trust = Trust.of(domain["chainId"], domain["verifyingContract"], keys)


def _stated_keys(session: Session) -> Steps[list[Any]]:
    """Sequencer keys that the server states."""
    items: list[Any] = []
    pages = Paging(operations.list_sequencer_keys(limit=1000))
    while pages.call is not None and len(items) <= KEYS_MAX:
        reply = yield from send_plain(session, pages.call)
        page = reply.parsed(pages.call)
        items += page["items"]
        pages.turn(page)
    return [key for key in items if key["from_batch"] == 0 or key["sequence"] is not None]


def _learn_keys(session: Session) -> Steps[None]:
    """Adds new sequencer keys, each proven by the earlier ones."""
    trust = session.trust
    assert trust is not None
    for key in (yield from _stated_keys(session))[len(trust.keys) :]:
        trust = trust.with_key(follow_key(key["proof"], trust))
    session.trust = trust


def checked(session: Session, check: Callable[[Trust], T]) -> Steps[T]:
    """Performs a check with the log's keys. Where another key signed, it first learns the keys that the log names."""
    if session.trust is None:
        yield Alone(lambda: read_trust(session))
    assert session.trust is not None
    try:
        return check(session.trust)
    except WrongSigner:
        yield Alone(lambda: _learn_keys(session))
    return check(session.trust)


def _check(session: Session, call: Call[Any], answer: Answer[Any]) -> Steps[Answer[Any]]:
    """Verifies the receipt of a signed request's answer. Returns the answer with the content hashes."""
    assert session.trust is not None
    receipt, many = answer.body.get("receipt"), call.operation == "submitBatch"
    if receipt is None and many and all("error" in result for result in answer.body["results"]):
        return answer
    if receipt is None:
        raise Refused("the answer has no receipt")
    try:
        _check_receipt(session.trust, receipt, answer, many)
    except WrongSigner:
        yield Alone(lambda: _learn_keys(session))
        _check_receipt(session.trust, receipt, answer, many)
    except Refused:
        # An earlier process may have signed the request under a key that the caller chose.
        if not answer.replayed or "idempotency-key" not in call.headers:
            raise
        answer = replace(answer, contents=_stated_contents(answer.body, answer.contents, many))
        _check_receipt(session.trust, receipt, answer, many)
    return answer


def _stated_contents(body: Any, own: tuple[bytes, ...], many: bool) -> tuple[bytes, ...]:
    if not many:
        return (from_hex(body["receipt"]["leaf"]["content"]),)
    results = zip(body["results"], own)
    return tuple(from_hex(result["content"]) if "content" in result else content for result, content in results)


def _check_receipt(trust: Trust, receipt: Any, answer: Answer[Any], many: bool) -> None:
    if many:
        check_batch_receipt(receipt, trust, answer.contents)
    else:
        check_receipt(receipt, trust, answer.contents[0])
