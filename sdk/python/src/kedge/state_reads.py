"""Reads with state proofs, as data: the requests, and what they ask for."""

from dataclasses import replace
from typing import Any, overload
from urllib.parse import parse_qsl, unquote, urlsplit

from .calls import Call, plain, segment
from .errors import Refused
from .generated import models
from .protocol.entries import check_key
from .state_models import ProvenObjectPage, ProvenObjectView, ProvenTemplatePage, ProvenTemplateView, StateProofView
from .verify.state_proofs import StateShown, verify_state_proof
from .verify.trust import Trust

@overload
def with_proof(call: Call[models.ObjectView]) -> Call[ProvenObjectView]: ...
@overload
def with_proof(call: Call[models.TemplateView]) -> Call[ProvenTemplateView]: ...
@overload
def with_proof(call: Call[models.PageOfObjectView]) -> Call[ProvenObjectPage]: ...
@overload
def with_proof(call: Call[models.PageOfTemplateView]) -> Call[ProvenTemplatePage]: ...
def with_proof(call: Call[Any]) -> Call[Any]:
    """The same read of an object, of a template, or of a list of at most 100 of them, answered with state proofs.

    The client verifies the proofs and compares each item with its entry before it returns the answer. That a list is
    complete is not proven.

    Raises:
        ValueError: the request is no read of one of these.
    """
    if call.operation not in ("getObject", "getTemplate", "listObjects", "listTemplates"):
        raise ValueError(f"{call.operation} is not answered with state proofs")
    return call if asks_proof(call) else replace(call, path=f"{call.path}{'&' if '?' in call.path else '?'}prove=true")


def asks_proof(call: Call[Any]) -> bool:
    """Whether the answer to a request has to bring state proofs."""
    return "prove=" in call.path and dict(parse_qsl(urlsplit(call.path).query)).get("prove") == "true"


def named_id(call: Call[Any]) -> str | None:
    """The id at the end of a request's path; None if it ends otherwise."""
    last = unquote(urlsplit(call.path).path.rsplit("/", 1)[-1])
    try:
        check_key(last)
    except Refused:
        return None
    return last


def state_proof(
    place: str, id: str, *, checkpoint: int | None = None, min_sequence: int | None = None, wait: int | None = None
) -> Call[StateProofView]:
    """The request for a state proof.

    Args:
        place: `objects`, `templates`, or `state` for an id of any type with entries.
        id: the id.
        checkpoint: the number of batches of an older checkpoint that the server keeps; by default the newest one.
        min_sequence: a checkpoint at or after this sequence.
        wait: limit on the server's wait for it, in seconds.
    """
    path = f"/state/{segment(id)}" if place == "state" else f"/{place}/{segment(id)}/state-proof"
    query = {"checkpoint": checkpoint, "min_sequence": min_sequence, "wait": wait}
    return plain("getStateProof", "GET", path, query=query)


def check_state_answer(body: bytes, trust: Trust, id: str, checkpoint: int | None, min_sequence: int | None) -> StateShown:
    """Verifies the answer to `state_proof`, and that it is what was asked for.

    Raises:
        Refused: the proof is invalid, or of another id or checkpoint; with the subclasses of `verify_state_proof`.
    """
    shown = verify_state_proof(body, trust, id)
    if checkpoint is not None and shown.checkpoint.batches != checkpoint:
        raise Refused(f"the proof is of the checkpoint of {shown.checkpoint.batches} batches, not of {checkpoint}")
    if min_sequence is not None and shown.checkpoint.sequence < min_sequence:
        raise Refused(f"the proof's checkpoint ends at sequence {shown.checkpoint.sequence}, before {min_sequence}")
    return shown
