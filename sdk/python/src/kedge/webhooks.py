"""Verification of webhook messages (Standard Webhooks 1.0)."""

import base64
import binascii
import hmac
import json
import time
from collections.abc import Mapping, Sequence
from typing import Final, cast

from .errors import Refused
from .generated import models

TOLERANCE_S: Final = 300
"""Limit on the difference between a message's time and the local time, in seconds."""
_PREFIX: Final = "whsec_"


def _secret_bytes(secret: str) -> bytes:
    try:
        return base64.b64decode(secret.removeprefix(_PREFIX), validate=True)
    except binascii.Error as error:
        raise ValueError("a webhook's secret is whsec_ and base64") from error


def verify_webhook(
    secret: str | Sequence[str],
    headers: Mapping[str, str],
    body: bytes | str,
    *,
    now_s: float | None = None,
) -> models.WebhookMessage:
    """Verifies that a message comes from the server, unchanged and recently, and returns its event.

    The same event may arrive more than once, with the same `id`.

    Args:
        secret: the webhook's secret, `whsec_…`, or several of them.
        headers: the request's headers, in any case of letters.
        body: the unchanged body of the request.
        now_s: the Unix time in seconds, instead of the local time.

    Raises:
        Refused: a header is missing, the time is too far off, or no signature is valid.
        ValueError: a secret has another form.
    """
    given = {name.lower(): value for name, value in headers.items()}
    try:
        message, timestamp, signatures = (given[f"webhook-{name}"] for name in ("id", "timestamp", "signature"))
    except KeyError as error:
        raise Refused(f"the message has no header {error}") from None
    if not timestamp.isascii() or not timestamp.isdigit():
        raise Refused("the message's time is no number")
    if abs((time.time() if now_s is None else now_s) - int(timestamp)) > TOLERANCE_S:
        raise Refused("the message is too old, or from the future")
    data = body.encode() if isinstance(body, str) else body
    signed = f"{message}.{timestamp}.".encode() + data
    made = [hmac.digest(_secret_bytes(one), signed, "sha256") for one in ([secret] if isinstance(secret, str) else secret)]
    if not any(_is_right(entry, made) for entry in signatures.split(" ")):
        raise Refused("no signature is right")
    try:
        return cast(models.WebhookMessage, json.loads(data))
    except ValueError as error:
        raise Refused("the message is no JSON") from error


def _is_right(entry: str, made: list[bytes]) -> bool:
    version, _, text = entry.partition(",")
    try:
        found = base64.b64decode(text, validate=True)
    except binascii.Error:
        return False
    return version == "v1" and any(hmac.compare_digest(found, one) for one in made)
