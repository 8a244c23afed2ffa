"""Shared parts of receipts, proof files, claims and exports, and their checks."""

from typing import Any, Final

from ..protocol.signatures import check_signer
from ..protocol.trees import check_inclusion
from ..protocol.typed import Checkpoint, Domain, Header, leaf_of, next_integrity
from .reading import Members, address, null_or, refuse_unless, shape, signature, u32, u64, value_of, word, words
from .trust import Trust

ACTIONS_MAX: Final = 500
VERSION: Final = 1

domain = shape("domain", {"chain_id": u64, "verifying_contract": address})

_HEADER = shape(
    "header",
    {
        "number": u64,
        "first_sequence": u64,
        "count": u32,
        "previous_head": word,
        "head": word,
        "root": word,
        "history": word,
        "state": word,
        "sealed_at_ms": u64,
    },
)
_CHECKPOINT = shape(
    "checkpoint", {"batches": u64, "sequence": u64, "head": word, "history": word, "state": word, "issued_at_ms": u64}
)


def header(value: Any) -> Header:
    """A batch's header."""
    return Header(**_HEADER(value))


def checkpoint(value: Any) -> Checkpoint:
    """A checkpoint."""
    return Checkpoint(**_CHECKPOINT(value))


batch = shape("batch", {"header": header, "signature": signature})
signed_checkpoint = shape("checkpoint", {"checkpoint": checkpoint, "signature": signature})
inclusion = shape("inclusion", {"leaf_index": u32, "path": words})
anchor = shape(
    "anchor",
    {
        "checkpoint": signed_checkpoint,
        "path": words,
        "contract": address,
        "transaction_hash": null_or(word),
        "block_number": null_or(u64),
    },
)
PLACED: Final = {"domain": domain, "sequencer": address, "inclusion": inclusion, "batch": batch, "anchor": null_or(anchor)}


def check_log(file: Members, trust: Trust) -> None:
    """Checks that a file has a known version and is about the trusted log."""
    refuse_unless(file["version"] == VERSION, "an unknown version")
    stated = Domain(file["domain"]["chain_id"], file["domain"]["verifying_contract"])
    refuse_unless(stated == trust.domain, "another log: the domain is not the expected one")


def check_header(signed: Members, trust: Trust) -> Header:
    """Verifies the sequencer's signature of a header and returns the header."""
    sealed: Header = signed["header"]
    refuse_unless(1 <= sealed.count <= ACTIONS_MAX, "a batch holds 1 to 500 actions")
    check_signer(trust.domain.digest(sealed.hash), signed["signature"], trust.key_of(sealed.number), "the header")
    return sealed


def check_checkpoint(signed: Members, trust: Trust) -> Checkpoint:
    """Verifies the sequencer's signature of a checkpoint and returns the checkpoint."""
    stated: Checkpoint = signed["checkpoint"]
    key = trust.key_of(max(stated.batches - 1, 0))
    check_signer(trust.domain.digest(stated.hash), signed["signature"], key, "the checkpoint")
    return stated


_STATED: Final = {"checkpoint": checkpoint, "signature": signature, "domain": domain, "sequencer": address}
_STATED_CHECKPOINT = shape("checkpoint", _STATED)


def check_stated_checkpoint(answer: Any, trust: Trust) -> Checkpoint:
    """Verifies the answer of `GET /checkpoint` and returns the checkpoint, which may be of an empty log.

    Raises:
        WrongSigner: another key signed it than the one valid for its last batch.
        Refused: it is of another log, or has another form.
    """
    value = value_of(answer)
    refuse_unless(isinstance(value, dict), "the checkpoint is no object")
    read = _STATED_CHECKPOINT({name: value[name] for name in _STATED if name in value})
    stated = Domain(read["domain"]["chain_id"], read["domain"]["verifying_contract"])
    refuse_unless(stated == trust.domain, "another log: the domain is not the expected one")
    found = check_checkpoint(read, trust)
    refuse_unless(read["sequencer"] == trust.key_of(max(found.batches - 1, 0)), "the stated key is not that of the checkpoint's last batch")
    return found


def check_place(sealed: Header, sequence: int, timestamp_ms: int, index: int) -> None:
    """Checks that an action's position fits its batch."""
    refuse_unless(index < sealed.count and sequence == sealed.first_sequence + index, "sequence and leaf index do not fit the header")
    refuse_unless(timestamp_ms <= sealed.sealed_at_ms, "the action is later than its batch")


def check_integrity(leaf: Members) -> None:
    """Checks that a leaf's integrity hash follows from the previous one."""
    refuse_unless(next_integrity(leaf["previous_integrity"], leaf["content"]) == leaf["integrity"], "the integrity does not follow")


def _check_anchor(shown: Members, sealed: Header, trust: Trust) -> None:
    refuse_unless(shown["checkpoint"]["checkpoint"].batches > 0, "the checkpoint is of an empty log")
    stated = check_checkpoint(shown["checkpoint"], trust)
    refuse_unless(sealed.number < stated.batches and sealed.end - 1 <= stated.sequence, "the checkpoint does not cover the batch")
    check_inclusion(stated.history, stated.batches, [sealed.number], [sealed.log_leaf], shown["path"])


def check_placed(file: Members, trust: Trust) -> Header:
    """Verifies a leaf's position in the log: from the leaf to a signed header, and to a checkpoint if the file states
    one. Returns the header."""
    check_log(file, trust)
    sealed = check_header(file["batch"], trust)
    leaf, index = file["leaf"], file["inclusion"]["leaf_index"]
    check_place(sealed, leaf["sequence"], leaf["timestamp_ms"], index)
    made = leaf_of(leaf["sequence"], leaf["timestamp_ms"], leaf["content"], leaf["integrity"])
    check_inclusion(sealed.root, sealed.count, [index], [made], file["inclusion"]["path"])
    if file["anchor"] is not None:
        _check_anchor(file["anchor"], sealed, trust)
    return sealed
