"""Exhibits of evidence about the state: entries that a signed checkpoint holds, and leaves of the log."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from ..errors import Refused
from ..protocol.entries import StateEntry, decode_entry
from ..protocol.hashing import ZERO, text_hash
from ..protocol.typed import Checkpoint, content_of, next_integrity
from .reading import refuse_unless, value_of
from .receipts import check_proof_file, read_proof_file
from .state_proofs import prove_bytes
from .trust import Trust


@dataclass(frozen=True)
class ShownEntry:
    """What a valid state proof shows of an id at a checkpoint.

    Attributes:
        checkpoint: the signed checkpoint.
        key: the id.
        data: the entry's bytes, empty where the proof shows absence.
    """

    checkpoint: Checkpoint
    key: str
    data: bytes

    @property
    def rooted(self) -> bool:
        """Whether the checkpoint has a root; without one it shows nothing."""
        return self.checkpoint.state != ZERO

    @property
    def absent(self) -> bool:
        """Whether it shows that the state holds nothing under the id."""
        return self.rooted and not self.data

    @cached_property
    def entry(self) -> StateEntry | None:
        """The entry; None if there is none, or if it is malformed."""
        if not self.rooted or not self.data:
            return None
        try:
            return decode_entry(self.key, self.data, self.checkpoint.sequence)
        except Refused:
            return None


@dataclass(frozen=True)
class LeafWords:
    """The five words of a leaf's content: hashes of kind, target and payload, the signer's 20 bytes, the authority."""

    kind: bytes
    target: bytes
    payload: bytes
    signer: bytes
    authority: bytes

    @property
    def content(self) -> bytes:
        """The content hash that they give."""
        return content_of(self.kind, self.target, self.payload, self.signer, self.authority)

    def is_kind(self, *kinds: str) -> bool:
        """Whether the kind is one of these."""
        return any(self.kind == text_hash(kind) for kind in kinds)


@dataclass(frozen=True)
class ShownLeaf:
    """A leaf that the log holds. It is opened if it has words.

    Raises:
        Refused: the words are not those of the content.
    """

    sequence: int
    content: bytes
    integrity: bytes
    words: LeafWords | None = None

    def __post_init__(self) -> None:
        refuse_unless(self.words is None or self.words.content == self.content, "the words are not those of the leaf's content")

    def extends(self, integrity: bytes) -> bool:
        """Whether the leaf's action follows the one with this integrity. Zeros are before every resource, so a leaf
        extends nothing by them."""
        return integrity != ZERO and next_integrity(integrity, self.content) == self.integrity


def chain_end(integrity: bytes, leaves: Sequence[ShownLeaf]) -> bytes | None:
    """The integrity to which leaves lead from another one, each extending the one before; None if they do not."""
    for leaf in leaves:
        if not leaf.extends(integrity):
            return None
        integrity = leaf.integrity
    return integrity


def entry_exhibit(proof: Any, trust: Trust) -> ShownEntry:
    """The exhibit of a state proof. Its entry may be malformed, and absence may be under an action's id.

    Raises:
        Refused: the proof is invalid.
    """
    proven = prove_bytes(proof, trust)
    return ShownEntry(proven.checkpoint, proven.key, proven.entry)


def leaf_exhibit(proof_file: Any, trust: Trust) -> ShownLeaf:
    """The exhibit of a proof file: its leaf, opened.

    Raises:
        Refused: the file is invalid.
    """
    value = value_of(proof_file)
    check_proof_file(value, trust)
    read = read_proof_file(value)
    action, leaf = read["action"], read["leaf"]
    kind, target, payload = (text_hash(action[name]) for name in ("kind", "target", "payload"))
    words = LeafWords(kind, target, payload, action["signer"], action["authority"])
    return ShownLeaf(leaf["sequence"], leaf["content"], leaf["integrity"], words)
