"""Incremental verification of the log, batch by batch."""

from collections.abc import Sequence
from functools import reduce
from typing import Any

from ..protocol.hashing import ZERO
from ..protocol.trees import root_of
from ..protocol.typed import Header, next_head
from .forms import batch, check_header
from .reading import refuse_unless, value_of
from .trust import Trust


def check_links(header: Header, previous: Header | None, trust: Trust) -> None:
    """Verifies that a header follows the previous one; None is the state before batch 0."""
    if previous is None:
        number, sequence, head, sealed_at_ms = 0, 1, trust.domain.separator, 0
    else:
        number, sequence = previous.number + 1, previous.end
        head, sealed_at_ms = previous.head, previous.sealed_at_ms
    refuse_unless(header.number == number, "numbers rise by one")
    refuse_unless(header.first_sequence == sequence, "sequences have no gap")
    refuse_unless(header.previous_head == head, "the heads do not join")
    refuse_unless(header.sealed_at_ms >= sealed_at_ms, "the time falls")


def check_leaves(header: Header, leaves: Sequence[bytes]) -> None:
    """Verifies the leaves of a header."""
    refuse_unless(header.state == ZERO, "the state is not zero")
    refuse_unless(len(leaves) == header.count, "there are more or fewer leaves than the header counts")
    refuse_unless(root_of(leaves) == header.root, "the leaves lead to another root")
    refuse_unless(reduce(next_head, leaves, header.previous_head) == header.head, "the leaves lead to another head")


def check_next_header(
    signed: Any,
    leaves: Sequence[bytes],
    last_time_ms: int,
    previous: Header | None,
    log_leaves: Sequence[bytes],
    trust: Trust,
) -> Header:
    """Verifies the header that follows `previous` and returns it.

    Args:
        signed: the header and its signature, as in receipts.
        leaves: the leaf hashes of the batch.
        last_time_ms: the time of the last leaf if known, otherwise 0.
        previous: the previous header, already verified; None for batch 0.
        log_leaves: the log leaves of all batches before it.
        trust: the log's domain and keys.

    Raises:
        Refused: the header does not follow.
    """
    header = check_header(batch(value_of(signed)), trust)
    check_links(header, previous, trust)
    refuse_unless(last_time_ms <= header.sealed_at_ms, "a leaf is later than the batch")
    refuse_unless(header.history == root_of(log_leaves), "the history is not the root over the batches before")
    check_leaves(header, leaves)
    return header
