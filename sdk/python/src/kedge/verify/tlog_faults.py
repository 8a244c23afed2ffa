"""Faults that the sequencer's line in a note shows, and answers to the demand of an entry.

Each fault is True if the evidence shows it, and raises `Refused` if a record is invalid. What is anchored is the caller's
to know, from the contract.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from ..protocol.hashing import keccak, sha256
from ..protocol.tiles import entry_leaf
from ..protocol.trees import check_consistency, check_inclusion
from ..protocol.typed import Header, log_leaf
from .notes import SignedRoots
from .reading import refuse_unless
from .trust import Trust

ENTRY_BYTES_MAX: Final = 65_535


@dataclass(frozen=True)
class AnchoredHistory:
    """A checkpoint that the contract took: its number of batches, and the history over them."""

    batches: int
    history: bytes


def conflicting_tlog(first: SignedRoots, second: SignedRoots, trust: Trust) -> bool:
    """Two signed notes of one size with another root or history."""
    first.check(trust)
    second.check(trust)
    differ = (first.root, first.history) != (second.root, second.history)
    return first.batches == second.batches and differ


def false_tlog_history(
    signed: SignedRoots, anchored: AnchoredHistory, beginning: bytes, proof: Sequence[bytes], trust: Trust
) -> bool:
    """A signed note with another history than the anchored log begins with."""
    signed.check(trust)
    check_consistency(signed.batches, anchored.batches, beginning, anchored.history, proof)
    return beginning != signed.history


def false_tlog_root(
    signed: SignedRoots,
    index: int,
    entry: bytes,
    entry_path: Sequence[bytes],
    held: bytes,
    held_path: Sequence[bytes],
    trust: Trust,
) -> bool:
    """A signed note whose root holds another entry than its history."""
    signed.check(trust)
    refuse_unless(len(entry) <= ENTRY_BYTES_MAX, "an entry has at most 65,535 bytes")
    check_inclusion(signed.root, signed.batches, [index], [entry_leaf(entry)], entry_path, sha256)
    check_inclusion(signed.history, signed.batches, [index], [log_leaf(held)], held_path)
    return keccak(entry) != held


def check_entry_answer(
    signed: SignedRoots,
    index: int,
    header: Header,
    entry_path: Sequence[bytes],
    anchored: AnchoredHistory,
    held_path: Sequence[bytes],
    trust: Trust,
) -> None:
    """Checks an answer to the demand of an entry: the header is in the signed root and in the anchored history.

    A header with another number that leads to the root there answers it, and shows that the root is false.

    Raises:
        Refused: the demand rests on no signed note, or the answer shows another header.
    """
    signed.check(trust)
    check_inclusion(signed.root, signed.batches, [index], [entry_leaf(header.entry)], entry_path, sha256)
    refuse_unless(index < anchored.batches, "the batch is not below the checkpoint")
    check_inclusion(anchored.history, anchored.batches, [header.number], [header.log_leaf], held_path)
