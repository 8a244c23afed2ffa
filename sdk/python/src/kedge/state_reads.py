"""Answers with state proofs, held against the requests that asked for them."""

from typing import Any, Final
from urllib.parse import parse_qsl, unquote, urlsplit

from .calls import Call
from .errors import Refused
from .protocol.typed import Checkpoint
from .verify.items import check_proven_answer
from .verify.state_proofs import StateShown, verify_state_proof
from .verify.trust import Trust

_PROOF: Final = "state-proof"


class _Asked:
    """What a request asks for, from its path."""

    def __init__(self, call: Call[Any]) -> None:
        parts = urlsplit(call.path)
        self.segments = [unquote(each) for each in parts.path.split("/")[1:]]
        self.query = dict(parse_qsl(parts.query))

    @property
    def is_state(self) -> bool:
        return self.segments[-1] == _PROOF or (self.segments[0] == "state" and len(self.segments) == 2)

    @property
    def key(self) -> str | None:
        """The id of a single resource; None for a list."""
        return self.segments[1] if len(self.segments) == 2 or self.is_state else None

    def check(self, checkpoint: Checkpoint) -> None:
        """Checks that a checkpoint is one that was asked for."""
        batches, least = self.query.get("checkpoint"), self.query.get("min_sequence")
        if self.is_state and batches is not None and checkpoint.batches != int(batches):
            raise Refused(f"the proof is of the checkpoint of {checkpoint.batches} batches, not of {batches}")
        if least is not None and checkpoint.sequence < int(least):
            raise Refused(f"the proof's checkpoint ends at sequence {checkpoint.sequence}, before {least}")


def asks_proof(call: Call[Any]) -> bool:
    """Whether the answer to a request has to bring state proofs."""
    if call.method != "GET" or not ("prove=" in call.path or "/state" in call.path):
        return False
    asked = _Asked(call)
    return asked.is_state or asked.query.get("prove") == "true"


def check_asked_proof(call: Call[Any], body: bytes, trust: Trust) -> tuple[StateShown, ...]:
    """Verifies the state proofs in the answer to a request, and that they are those that it asked for.

    That a list is complete is not proven.

    Raises:
        ProofMissing: the answer has no proof, or proofs of other items.
        ItemDiffers: an item states something else than its entry.
        Refused: a proof is invalid or of another checkpoint, with the subclasses of `verify_state_proof`.
    """
    asked = _Asked(call)
    shown = (verify_state_proof(body, trust, asked.key),) if asked.is_state else check_proven_answer(body, trust, asked.key)
    for one in shown[:1]:
        asked.check(one.checkpoint)
    return shown
