"""Texts that hold a note: .tlog-proof files, and bodies of add-checkpoint."""

from base64 import b64encode
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from ..protocol.hashing import sha256
from ..protocol.tiles import entry_leaf, header_of_entry
from ..protocol.trees import check_consistency, check_inclusion
from ..protocol.typed import Header
from .notes import NOTE_BYTES_MAX, NoteShown, VerifierKey, note_text, read_base64, read_base64_word, split_note, verify_note
from .policies import Policy
from .reading import decimal, refuse_unless
from .trust import Trust

_PROOF_FILE: Final = "c2sp.org/tlog-proof@v1"
_PROOF_WORDS_MAX: Final = 63
# What stands before a note in a file is shorter than a note.
_FILE_BYTES_MAX: Final = 2 * NOTE_BYTES_MAX


@dataclass(frozen=True)
class TlogProofShown:
    """Facts shown by a valid .tlog-proof: the header of a batch, in the log that the note states."""

    header: Header
    note: NoteShown


@dataclass(frozen=True)
class CheckpointAdded:
    """A valid body of add-checkpoint.

    Attributes:
        old_size: how many batches the witness is expected to have.
        proof: the hashes of the consistency proof.
        note: the new note.
    """

    old_size: int
    proof: tuple[bytes, ...]
    note: NoteShown

    def check_extends(self, root: bytes) -> None:
        """Checks that the note extends the tree of the old size with this root.

        Raises:
            Refused: it does not.
        """
        if self.old_size == 0:
            refuse_unless(not self.proof, "a proof from nothing")
        else:
            check_consistency(self.old_size, self.note.batches, root, self.note.root, self.proof, sha256)


def _parts(file: str | bytes) -> tuple[list[str], str]:
    """The lines before the first empty one, and the note after it."""
    head, gap, note = note_text(file, _FILE_BYTES_MAX).partition("\n\n")
    refuse_unless(bool(gap), "no empty line before the note")
    return head.split("\n"), note


def _after(line: str, name: str) -> str:
    refuse_unless(line.startswith(f"{name} "), f"no {name}")
    return line[len(name) + 1 :]


def verify_tlog_proof(
    file: str | bytes, trust: Trust, known: Iterable[VerifierKey] = (), policy: Policy | None = None
) -> TlogProofShown:
    """Verifies a .tlog-proof of a batch and returns its facts.

    Args:
        file: its text.
        trust: the log's domain and keys.
        known: further keys, the log's and those of witnesses.
        policy: what the note must meet; its keys are known too.

    Raises:
        Refused: the file is invalid, or the note does not meet the policy.
    """
    lines, note = _parts(file)
    refuse_unless(lines[0] == _PROOF_FILE, "no .tlog-proof of version 1")
    refuse_unless(len(lines) >= 3, "no extra, or no index")
    entry = read_base64(_after(lines[1], "extra"))
    index = decimal(_after(lines[2], "index"))
    header = header_of_entry(entry)
    refuse_unless(header.number == index, "the header is of another batch")
    path = [read_base64_word(line) for line in lines[3:]]
    shown = verify_note(note, trust, (*known, *(policy.known if policy else ())))
    check_inclusion(shown.root, shown.batches, [index], [entry_leaf(entry)], path, sha256)
    if policy is not None:
        policy.check(shown)
    return TlogProofShown(header, shown)


def add_checkpoint_body(old_size: int, proof: Sequence[bytes], note: str | bytes) -> str:
    """The body of add-checkpoint: a consistency proof, and the note with the log's own lines alone."""
    text, lines = split_note(note)
    origin = text.split("\n")[0]
    own = [line for line in lines if line.startswith(f"— {origin} ")]
    words = [b64encode(word).decode() for word in proof]
    return "\n".join([f"old {old_size}", *words, "", text, *own, ""])


def read_add_checkpoint(body: str | bytes, trust: Trust, known: Iterable[VerifierKey] = ()) -> CheckpointAdded:
    """Reads a body of add-checkpoint and verifies its note. `check_extends` does the rest.

    Raises:
        Refused: the body or its note is invalid.
    """
    lines, note = _parts(body)
    old_size = decimal(_after(lines[0], "old"))
    refuse_unless(len(lines) - 1 <= _PROOF_WORDS_MAX, "a proof of more than 63 hashes")
    proof = tuple(read_base64_word(line) for line in lines[1:])
    shown = verify_note(note, trust, known)
    refuse_unless(old_size <= shown.batches, "the old size is above the new one")
    return CheckpointAdded(old_size, proof, shown)
