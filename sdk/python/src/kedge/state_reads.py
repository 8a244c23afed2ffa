"""Answers with state proofs and signed checkpoints, held against the requests that asked for them."""

from collections.abc import Sequence
from typing import Any, Final
from urllib.parse import parse_qsl, unquote, urlsplit

from .calls import Call
from .errors import Refused
from .protocol.entries import ObjectEntry, StateEntry, TemplateEntry, VariationEntry
from .protocol.typed import Checkpoint
from .verify.forms import check_stated_checkpoint
from .verify.items import check_proven_answer
from .verify.reading import refuse_unless
from .verify.state_proofs import PROOFS_MAX, StateShown, verify_state_proof
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
        batches = self.query.get("checkpoint")
        if self.is_state and batches is not None and checkpoint.batches != int(batches):
            raise Refused(f"the proof is of the checkpoint of {checkpoint.batches} batches, not of {batches}")
        self.check_reached(checkpoint, "min_sequence")

    def check_reached(self, checkpoint: Checkpoint, *parameters: str) -> None:
        """Checks that a checkpoint covers the sequences that these parameters ask for."""
        for least in (self.query.get(name) for name in parameters):
            if least is not None and checkpoint.sequence < int(least):
                raise Refused(f"the checkpoint ends at sequence {checkpoint.sequence}, before {least}")

    def check_items(self, shown: Sequence[StateShown]) -> None:
        """Checks that the items of a page are some that were asked for, each once.

        The server chooses them by what they are now and shows what they were at the checkpoint. So an object may
        have had another owner or status then, unless it was burned: that is final.
        """
        limit = int(self.query.get("limit", PROOFS_MAX))
        refuse_unless(len(shown) <= limit, f"the page has {len(shown)} items, more than the {limit} asked for")
        refuse_unless(len({one.key for one in shown}) == len(shown), "an item occurs twice on the page")
        is_variations = len(self.segments) > 1
        template = self.segments[1] if is_variations else self.query.get("template_id")
        status = self.query.get("status")
        kind: type[StateEntry] = VariationEntry if is_variations else ObjectEntry if self.segments[0] == "objects" else TemplateEntry
        for one in shown:
            entry = one.entry
            refuse_unless(isinstance(entry, kind), f"{one.key} is not of the type that was asked for")
            if template is not None and isinstance(entry, ObjectEntry | VariationEntry):
                refuse_unless(entry.template_id == template, f"{one.key} is of {entry.template_id}, not of {template}")
            if isinstance(entry, ObjectEntry):
                refuse_unless(entry.status != "burned" or status in (None, "burned"), f"{one.key} is burned, not {status}")


def asks_checkpoint(call: Call[Any]) -> bool:
    """Whether the answer to a request is a signed checkpoint."""
    return call.method == "GET" and urlsplit(call.path).path == "/checkpoint"


def check_asked_checkpoint(call: Call[Any], checkpoint: Any, trust: Trust) -> None:
    """Verifies a checkpoint that was asked for.

    Raises:
        WrongSigner: another key signed it than the one valid for its last batch.
        Refused: it is of another log, or before the sequence that was asked for.
    """
    _Asked(call).check_reached(check_stated_checkpoint(checkpoint, trust), "at_least", "min_sequence")


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
        Refused: a proof is invalid or of another checkpoint, with the subclasses of `verify_state_proof`, or an item of a
            list is not one that was asked for.
    """
    asked = _Asked(call)
    if asked.is_state:
        one = verify_state_proof(body, trust, asked.key)
        asked.check(one.checkpoint)
        return (one,)
    checkpoint, shown = check_proven_answer(body, trust, asked.key)
    asked.check(checkpoint)
    if asked.key is None:
        asked.check_items(shown)
    return shown
