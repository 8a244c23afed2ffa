"""Exports of the log, verified line by line in one pass."""

import json
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final

from ..errors import Refused
from ..protocol.hashing import EMPTY, keccak, text_hash
from ..protocol.signatures import check_signer
from ..protocol.trees import fold_peaks, node
from ..protocol.typed import (
    Checkpoint,
    Header,
    authority_of,
    consent_hash,
    content_of,
    hashed_action,
    leaf_of,
    next_integrity,
    request_hash,
    salt_of,
)
from .followers import check_leaves, check_links
from .forms import ACTIONS_MAX, VERSION, batch, check_checkpoint, check_header, check_log, domain, signed_checkpoint
from .reading import Members, address, decimal, flag, list_of, once, refuse_unless, shape, signature, text, u32, u64, word, words
from .trust import Trust


def _anything(value: Any) -> Any:
    return value


_ACTION: Final = shape(
    "action",
    {"index": u32, "kind": text, "target": text, "payload": text, "previous_integrity": word},
    {name: _anything for name in ("disclosed", "resource", "version", "previous_sequence")},
)
_FAILED: Final = shape("failed action", {"index": u32, "action_hash": word})
_ADDITION: Final = shape("key addition", {"address": address}, {"possession": _anything})
_LINES: Final = {
    "log": shape(
        "log",
        {"version": u32, "domain": domain, "sequencer": address, "from": u64, "sequence": u64, "head": word, "peaks": words},
        {name: _anything for name in ("sequencer_keys", "organization_id", "operators")},
    ),
    "batch": shape("batch", {"batch": batch, "leaves": words}),
    "request": shape(
        "request",
        {
            "first_sequence": u64,
            "timestamp_ms": u64,
            "signer": address,
            "nonce": decimal,
            "deadline": u64,
            "atomic": flag,
            "signature": signature,
            "salt_seed": word,
            "actions": list_of(_ACTION, ACTIONS_MAX),
            "failed": list_of(_FAILED, ACTIONS_MAX),
        },
        {name: _anything for name in ("batch_number", "first_leaf_index", "organization_id", "wallet_id")},
    ),
    "checkpoint": signed_checkpoint,
}


@dataclass(frozen=True)
class ExportChecked:
    """Facts shown by a valid export.

    Attributes:
        checkpoint: the signed checkpoint at its end. Compare it with the contract's.
        first_batch: number of the first batch.
        batches: number of batches.
        actions: number of actions shown in full, with their signatures.
        additions_without_consent: number of keys added to a wallet without consent; possible only in a log older than
            the rule.
    """

    checkpoint: Checkpoint
    first_batch: int
    batches: int
    actions: int
    additions_without_consent: int


class _LogTree:
    """Log tree, stored as its complete subtrees: (leaves, root), largest first."""

    def __init__(self, size: int, peaks: list[bytes]) -> None:
        sizes = [1 << bit for bit in reversed(range(size.bit_length())) if size >> bit & 1]
        refuse_unless(len(sizes) == len(peaks), "there are more or fewer peaks than the log's size gives")
        self._peaks = list(zip(sizes, peaks))

    def root(self) -> bytes:
        return fold_peaks([peak for _, peak in self._peaks]) if self._peaks else EMPTY

    def add(self, leaf: bytes) -> None:
        size = 1
        while self._peaks and self._peaks[-1][0] == size:
            leaf = node(self._peaks.pop()[1], leaf)
            size *= 2
        self._peaks.append((size, leaf))


class _Export:
    """State between two lines."""

    def __init__(self, log: Members, trust: Trust) -> None:
        check_log(log, trust)
        self.trust = trust
        self.first = log["from"]
        refuse_unless(log["sequencer"] == trust.key_of(self.first), "it names another sequencer")
        self.sequence, self.head = log["sequence"], log["head"]
        if self.first == 0:
            begins = (self.sequence, self.head, log["peaks"]) == (0, trust.domain.separator, [])
            refuse_unless(begins, "batch 0 begins with the domain separator, after sequence 0")
        self.tree = _LogTree(self.first, log["peaks"])
        self.last: Header | None = None
        self.leaves: list[bytes] = []
        self.batches = self.actions = self.without_consent = 0

    def batch(self, line: Members) -> None:
        header = check_header(line["batch"], self.trust)
        if self.last is None and self.first > 0:
            joins = (self.first, self.sequence + 1, self.head) == (header.number, header.first_sequence, header.previous_head)
            refuse_unless(joins, "the first batch does not follow what the first line states")
        else:
            check_links(header, self.last, self.trust)
        refuse_unless(header.history == self.tree.root(), "the history is not the root over the batches before")
        check_leaves(header, line["leaves"])
        self.tree.add(header.log_leaf)
        self.last, self.leaves = header, line["leaves"]
        self.batches += 1

    def request(self, line: Members) -> None:
        if self.last is None:
            raise Refused("a request before its batch")
        first, time = line["first_sequence"], line["timestamp_ms"]
        refuse_unless(time <= self.last.sealed_at_ms and time <= line["deadline"] * 1000, "the request's time does not fit")
        count = len(line["actions"]) + len(line["failed"])
        hashes = {failed["index"]: failed["action_hash"] for failed in line["failed"]}
        kept = keccak(line["signature"])
        for number, action in enumerate(line["actions"]):
            salt = salt_of(line["salt_seed"], action["index"] & 0xFFFF)
            texts = [text_hash(action[name]) for name in ("kind", "target", "payload")]
            hashes[action["index"]] = hashed_action(texts[0], texts[1], texts[2], salt)
            content = content_of(texts[0], texts[1], texts[2], line["signer"], authority_of(kept, salt))
            self._check_leaf(first + number, time, content, action["previous_integrity"])
        refuse_unless(sorted(hashes) == list(range(count)), "the request lacks an action, or has one twice")
        signed = request_hash(line["signer"], line["nonce"], line["deadline"], line["atomic"], [hashes[i] for i in range(count)])
        check_signer(self.trust.domain.digest(signed), line["signature"], line["signer"], "the request")
        self.actions += len(line["actions"])
        for action in line["actions"]:
            if action["kind"] == "wallet.key_add":
                self._check_consent(action["target"], action["payload"])

    def _check_consent(self, wallet: str, payload: str) -> None:
        try:
            value = json.loads(payload, object_pairs_hook=once)
        except ValueError as error:
            raise Refused(f"a key addition is no JSON: {error}") from error
        added = _ADDITION(value)
        if added.get("possession") is None:
            self.without_consent += 1
            return
        digest = self.trust.domain.digest(consent_hash(wallet, added["address"]))
        check_signer(digest, signature(added["possession"]), added["address"], "the possession")

    def _check_leaf(self, sequence: int, time: int, content: bytes, previous: bytes) -> None:
        assert self.last is not None
        place = sequence - self.last.first_sequence
        leaf = leaf_of(sequence, time, content, next_integrity(previous, content))
        refuse_unless(0 <= place < len(self.leaves) and self.leaves[place] == leaf, f"sequence {sequence} is not what its leaf states")

    def end(self, line: Members) -> ExportChecked:
        stated = check_checkpoint(line, self.trust)
        head = self.head if self.last is None else self.last.head
        sequence = self.sequence if self.last is None else self.last.end - 1
        reached = (self.first + self.batches, sequence, head, self.tree.root())
        refuse_unless((stated.batches, stated.sequence, stated.head, stated.history) == reached, "the checkpoint is elsewhere")
        return ExportChecked(stated, self.first, self.batches, self.actions, self.without_consent)


def _read(line: str | bytes) -> tuple[str, Members]:
    # Texts of clients may be deeply nested; the verified parts have a fixed form.
    try:
        value = json.loads(line, object_pairs_hook=once)
    except ValueError as error:
        raise Refused(f"a line is no JSON, or is cut off: {error}") from error
    refuse_unless(isinstance(value, dict), "a line is no object")
    kind = value.pop("type", None)
    if kind not in _LINES:
        raise Refused(f"an unknown line: {kind!r}")
    return kind, _LINES[kind](value)


def check_export(lines: Iterable[str | bytes], trust: Trust) -> ExportChecked:
    """Verifies an export line by line and returns its facts.

    Args:
        lines: the lines of `GET /export`, for example of `client.export_lines()` or of an open file.
        trust: the log's domain and keys.

    Raises:
        Refused: the export is invalid, or ends early.
    """
    export: _Export | None = None
    checked: ExportChecked | None = None
    for number, line in enumerate(lines, 1):
        try:
            refuse_unless(checked is None, "a line follows the checkpoint")
            kind, read = _read(line)
            refuse_unless((kind == "log") == (export is None), "the first line, and no other, is about the log")
            if export is None:
                refuse_unless(read["version"] == VERSION, "an unknown version")
                export = _Export(read, trust)
            elif kind == "batch":
                export.batch(read)
            elif kind == "request":
                export.request(read)
            else:
                checked = export.end(read)
        except Refused as error:
            raise type(error)(f"line {number}: {error}") from None
    if checked is None:
        raise Refused("the export ends before its checkpoint")
    return checked
