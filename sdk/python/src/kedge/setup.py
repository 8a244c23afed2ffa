"""Construction of clients, and their shared convenience requests."""

from typing import Any

from eth_account.signers.local import LocalAccount

from .calls import Call, blind
from .errors import KedgeError
from .generated import models, operations
from .retry import RetryPolicy
from .session import Session, Tokens
from .signing import KeySigner, Signer
from .verify.trust import Trust

Key = bytes | str | LocalAccount | Signer


def signer_of(key: Key | None) -> Signer | None:
    """The signer of a key."""
    return KeySigner(key) if isinstance(key, bytes | str | LocalAccount) else key


def session_of(
    key: Key | None,
    api_key: str | None,
    tokens: Tokens | None,
    trust: Trust | None,
    retry: RetryPolicy | None,
    deadline_s: int,
    check_receipts: bool,
) -> Session:
    """The state of a new client."""
    return Session(signer_of(key), api_key, tokens, trust, retry or RetryPolicy(), deadline_s, check_receipts)


def registration(
    session: Session,
    email: str,
    password: str,
    nickname: str | None,
    organization_name: str | None,
    organization_id: str | None,
    invitation: str | None,
) -> Call[models.ChangedLoggedIn]:
    """The request that registers a wallet for the session's signer."""
    body: models.RegisterBody = {
        "email": email,
        "password": password,
        "address": session.own_signer().address,
        "blind": blind(),
    }
    if nickname is not None:
        body["nickname"] = nickname
    if organization_name is not None:
        body["organization_name"] = organization_name
    if organization_id is not None:
        body["organization_id"] = organization_id
    if invitation is not None:
        body["invitation"] = invitation
    return operations.register_wallet(body)


def leaving(session: Session) -> Call[models.LoggedOut]:
    """The request that ends the session's login.

    Raises:
        KedgeError: the session has no login.
    """
    if session.tokens is None:
        raise KedgeError("nobody is logged in")
    return operations.logout({"refresh_token": session.tokens.refresh})


def stream_events(
    types: list[str] | None, object_id: str | None, template_id: str | None, after_sequence: int | None
) -> Call[Any]:
    """The request that opens the stream of events."""
    joined = None if types is None else ",".join(types)
    return operations.stream_events(type=joined, object_id=object_id, template_id=template_id, after_sequence=after_sequence)
