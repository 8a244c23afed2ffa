"""Evidence of a sequencer's faults: valid records that contradict each other."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import reduce
from typing import Any, Final

from ..errors import Refused
from ..protocol.hashing import EMPTY, ZERO
from ..protocol.signatures import recover_signer
from ..protocol.trees import check_consistency, check_inclusion, root_of
from ..protocol.typed import Checkpoint, Domain, Header, leaf_of, log_leaf, next_head, next_integrity
from .forms import ACTIONS_MAX, VERSION, checkpoint as read_checkpoint, domain, header as read_header
from .reading import Members, list_of, read_json, refuse_unless, shape, signature, text, u32, u64, word
from .trust import SequencerKey

BYTES_MAX: Final = 128 * 1024
PATH_MAX: Final = 65


def _anything(value: Any) -> Any:
    return value


def _members(value: Any, *names: str) -> Members:
    return shape("record", {name: _anything for name in names})(value)


_FILE = shape("file", {"format": text, "version": u32, "domain": domain, "evidence": _anything})
_LEAF = shape("leaf", {"sequence": u64, "timestamp_ms": u64, "content": word, "integrity": word})
_PATH = list_of(word, PATH_MAX)
_LEAVES = list_of(word, ACTIONS_MAX)


@dataclass(frozen=True)
class EvidenceTrust:
    """Trusted knowledge about the log for judging evidence, from the contract or another trusted source.

    Attributes:
        domain: the log's domain.
        keys: the sequencer's keys, in the contract's order.
        anchored: the histories of anchored checkpoints, by their number of batches.
    """

    domain: Domain
    keys: tuple[SequencerKey, ...]
    anchored: Mapping[int, bytes]


@dataclass(frozen=True)
class _Leaf:
    sequence: int
    timestamp_ms: int
    content: bytes
    integrity: bytes
    index: int
    header: Header


class _Judge:
    """Reads records of evidence, and verifies each."""

    def __init__(self, trust: EvidenceTrust) -> None:
        self.trust = trust

    def signed(self, digest: bytes, number: int, record: Members) -> None:
        found = recover_signer(digest, signature(record["signature"]))
        index = u32(record["key_index"])
        refuse_unless(index < len(self.trust.keys), "no such key")
        key = self.trust.keys[index]
        refuse_unless(found == key.address and number >= key.from_batch, "signed by no key that could sign it")

    def anchored(self, batches: Any) -> bytes:
        size = u64(batches)
        history = EMPTY if size == 0 else self.trust.anchored.get(size)
        if history is None:
            raise Refused("no such checkpoint is anchored")
        return history

    def header(self, value: Any) -> Header:
        record = _members(value, "header", "standing")
        header, standing = read_header(record["header"]), record["standing"]
        if isinstance(standing, dict) and "signed" in standing:
            signed = _members(_members(standing, "signed")["signed"], "signature", "key_index")
            self.signed(self.trust.domain.digest(header.hash), header.number, signed)
        else:
            held = _members(_members(standing, "anchored")["anchored"], "batches", "path")
            self.holds(held["batches"], header.number, header.log_leaf, held["path"])
        return header

    def holds(self, batches: Any, number: int, leaf: bytes, path: Any) -> None:
        check_inclusion(self.anchored(batches), u64(batches), [number], [leaf], _PATH(path))

    def checkpoint(self, value: Any) -> Checkpoint:
        record = _members(value, "checkpoint", "signature", "key_index")
        checkpoint = read_checkpoint(record["checkpoint"])
        refuse_unless(checkpoint.batches > 0, "a checkpoint of nothing")
        self.signed(self.trust.domain.digest(checkpoint.hash), checkpoint.batches - 1, record)
        return checkpoint

    def leaf(self, value: Any) -> _Leaf:
        record = _members(value, "leaf", "index", "path", "batch")
        leaf, index, header = _LEAF(record["leaf"]), u32(record["index"]), self.header(record["batch"])
        made = leaf_of(leaf["sequence"], leaf["timestamp_ms"], leaf["content"], leaf["integrity"])
        check_inclusion(header.root, header.count, [index], [made], _PATH(record["path"]))
        return _Leaf(**leaf, index=index, header=header)

    def beginning(self, size: int, record: Members) -> bytes:
        """The true root over the first batches of the anchored log."""
        root, proof, history = word(record["beginning"]), _PATH(record["proof"]), self.anchored(record["anchored_batches"])
        if size == 0:
            refuse_unless(not proof and root == EMPTY, "every log begins with nothing")
        else:
            check_consistency(size, u64(record["anchored_batches"]), root, history, proof)
        return root


def _conflicting_batches(judge: _Judge, record: Members) -> bool:
    one, other = judge.header(record["first"]), judge.header(record["second"])
    return one.hash != other.hash and one.number == other.number


def _conflicting_checkpoints(judge: _Judge, record: Members) -> bool:
    one, other = judge.checkpoint(record["first"]), judge.checkpoint(record["second"])
    differ = any(getattr(one, name) != getattr(other, name) for name in ("sequence", "head", "history", "state"))
    return one.batches == other.batches and differ


def _omitted_batch(judge: _Judge, record: Members) -> bool:
    header, held = judge.header(record["left"]), word(record["held"])
    judge.holds(record["anchored_batches"], header.number, log_leaf(held), record["path"])
    return held != header.hash


def _false_checkpoint(judge: _Judge, record: Members) -> bool:
    checkpoint, header = judge.checkpoint(record["signed"]), read_header(record["last"])
    last = checkpoint.batches - 1
    check_inclusion(checkpoint.history, checkpoint.batches, [last], [header.log_leaf], _PATH(record["path"]))
    return checkpoint.head != header.head or checkpoint.sequence + 1 != header.end


def _false_history(judge: _Judge, record: Members) -> bool:
    header = judge.header(record["batch"])
    return header.history != judge.beginning(header.number, record)


def _false_checkpoint_history(judge: _Judge, record: Members) -> bool:
    checkpoint = judge.checkpoint(record["signed"])
    return checkpoint.history != judge.beginning(checkpoint.batches, record)


def _broken_link(judge: _Judge, record: Members) -> bool:
    one, two = judge.header(record["before"]), judge.header(record["next"])
    heads = (two.first_sequence, two.previous_head) == (one.end, one.head)
    return one.number + 1 == two.number and not (heads and two.sealed_at_ms >= one.sealed_at_ms)


def _broken_header(judge: _Judge, record: Members) -> bool:
    header = judge.header(record["batch"])
    begins = (header.first_sequence, header.previous_head, header.history) == (1, judge.trust.domain.separator, EMPTY)
    return (header.number == 0 and not begins) or not 1 <= header.count <= ACTIONS_MAX


def _broken_leaf(judge: _Judge, record: Members) -> bool:
    leaf = judge.leaf(record["action"])
    return leaf.sequence != leaf.header.first_sequence + leaf.index or leaf.timestamp_ms > leaf.header.sealed_at_ms


def _falling_time(judge: _Judge, record: Members) -> bool:
    one, two = judge.leaf(record["earlier"]), judge.leaf(record["later"])
    return one.sequence < two.sequence and one.timestamp_ms > two.timestamp_ms


def _broken_chain(judge: _Judge, record: Members) -> bool:
    header, leaves = judge.header(record["batch"]), _LEAVES(record["leaves"])
    refuse_unless(len(leaves) > 0 and len(leaves) == header.count and root_of(leaves) == header.root, "other leaves")
    return reduce(next_head, leaves, header.previous_head) != header.head


def _replayed_content(judge: _Judge, record: Members) -> bool:
    one, two = judge.leaf(record["first"]), judge.leaf(record["second"])
    return one.content == two.content and one.sequence != two.sequence


def _forked_integrity(judge: _Judge, record: Members) -> bool:
    one, two, previous = judge.leaf(record["first"]), judge.leaf(record["second"]), word(record["previous"])
    extend = all(next_integrity(previous, leaf.content) == leaf.integrity for leaf in (one, two))
    return previous != ZERO and one.sequence != two.sequence and extend


# Members of each fault, and the test whether its records contradict.
_FAULTS: Final[dict[str, tuple[tuple[str, ...], Callable[[_Judge, Members], bool]]]] = {
    "conflicting_batches": (("first", "second"), _conflicting_batches),
    "conflicting_checkpoints": (("first", "second"), _conflicting_checkpoints),
    "omitted_batch": (("left", "anchored_batches", "held", "path"), _omitted_batch),
    "false_checkpoint": (("signed", "last", "path"), _false_checkpoint),
    "false_history": (("batch", "anchored_batches", "beginning", "proof"), _false_history),
    "false_checkpoint_history": (("signed", "anchored_batches", "beginning", "proof"), _false_checkpoint_history),
    "broken_link": (("before", "next"), _broken_link),
    "broken_header": (("batch",), _broken_header),
    "broken_leaf": (("action",), _broken_leaf),
    "falling_time": (("earlier", "later"), _falling_time),
    "broken_chain": (("batch", "leaves"), _broken_chain),
    "replayed_content": (("first", "second"), _replayed_content),
    "forked_integrity": (("first", "second", "previous"), _forked_integrity),
}


def check_evidence(file: str | bytes, trust: EvidenceTrust) -> str:
    """Returns the name of the fault that an evidence file proves.

    Args:
        file: its text.
        trust: the trusted knowledge about the log.

    Raises:
        Refused: the file proves nothing.
    """
    size = len(file.encode()) if isinstance(file, str) else len(file)
    refuse_unless(size <= BYTES_MAX, "evidence has at most 128 KiB")
    read = _FILE(read_json(file))
    refuse_unless(read["format"] == "kedge.evidence" and read["version"] == VERSION, "another format or version")
    stated = Domain(read["domain"]["chain_id"], read["domain"]["verifying_contract"])
    refuse_unless(stated == trust.domain, "another log: the domain is not the expected one")
    evidence = read["evidence"]
    refuse_unless(isinstance(evidence, dict), "the evidence is no object")
    fault = evidence.pop("fault", None)
    if not isinstance(fault, str) or fault not in _FAULTS:
        raise Refused("no fault of that name")
    names, contradict = _FAULTS[fault]
    refuse_unless(contradict(_Judge(trust), _members(evidence, *names)), "nothing contradicts")
    return fault
