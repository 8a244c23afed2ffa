"""Receipts of one action and of many, and proof files."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ..protocol.hashing import keccak, text_hash
from ..protocol.signatures import check_signer, checksum_address
from ..protocol.trees import check_inclusion
from ..protocol.typed import action_hash, authority_of, content_of, leaf_of, next_integrity, request_hash
from .forms import ACTIONS_MAX, PLACED, batch, check_header, check_integrity, check_log, check_place, check_placed, domain
from .reading import Members, address, decimal, flag, list_of, refuse_unless, shape, signature, text, u32, u64, value_of, word, words
from .trust import Trust

_LEAF = shape("leaf", {"sequence": u64, "timestamp_ms": u64, "content": word, "previous_integrity": word, "integrity": word})
_RECEIPT = shape("receipt", {"version": u32, "domain": domain, "leaf": _LEAF, "leaf_index": u32, "path": words, "batch": batch})
_ENTRY = shape("entry", {"index": u32, "sequence": u64, "timestamp_ms": u64, "leaf_index": u32, "previous_integrity": word})
_BATCH_RECEIPT = shape("receipt", {"version": u32, "domain": domain, "batch": batch, "actions": list_of(_ENTRY), "proof": words})
_ACTION = shape("action", {"kind": text, "target": text, "payload": text, "signer": address, "authority": word})
_AUTHORSHIP = shape(
    "authorship",
    {
        "signature": signature,
        "nonce": decimal,
        "deadline": u64,
        "atomic": flag,
        "index": u32,
        "salt": word,
        "action_hashes": words,
    },
)
read_proof_file = shape("proof file", {"version": u32, **PLACED, "action": _ACTION, "leaf": _LEAF}, {"authorship": _AUTHORSHIP})


def check_receipt(receipt: Any, trust: Trust, content: bytes | None) -> None:
    """Verifies the receipt of one action.

    Args:
        receipt: its text or value.
        trust: the log's domain and keys.
        content: the content hash computed by the sender (`Answer.contents`). With None, the receipt only shows that
            the log holds some action.

    Raises:
        Refused: the receipt is invalid, or for another action.
    """
    read = _RECEIPT(value_of(receipt))
    check_integrity(read["leaf"])
    inclusion = {"leaf_index": read["leaf_index"], "path": read["path"]}
    check_placed({**read, "inclusion": inclusion, "anchor": None}, trust)
    refuse_unless(content is None or read["leaf"]["content"] == content, "the receipt is for another action")


def check_batch_receipt(receipt: Any, trust: Trust, contents: Sequence[bytes]) -> None:
    """Verifies the receipt of a request of many actions.

    Args:
        receipt: its text or value.
        trust: the log's domain and keys.
        contents: the content hashes of all actions of the request, in order, including failed ones.

    Raises:
        Refused: the receipt is invalid, or for other actions.
    """
    read = _BATCH_RECEIPT(value_of(receipt))
    check_log(read, trust)
    sealed = check_header(read["batch"], trust)
    leaves, before = [], -1
    for done in read["actions"]:
        refuse_unless(before < done["index"] < len(contents), "entries are in the request's order, and of its actions")
        before = done["index"]
        check_place(sealed, done["sequence"], done["timestamp_ms"], done["leaf_index"])
        content = contents[before]
        integrity = next_integrity(done["previous_integrity"], content)
        leaves.append(leaf_of(done["sequence"], done["timestamp_ms"], content, integrity))
    indices = [done["leaf_index"] for done in read["actions"]]
    check_inclusion(sealed.root, sealed.count, indices, leaves, read["proof"])


@dataclass(frozen=True)
class ProofShown:
    """Facts shown by a valid proof file; times are Unix milliseconds.

    Attributes:
        anchored: whether an anchored checkpoint, according to the file, covers the action. Only the contract confirms
            it.
        authorship: whether the file shows the signer's signature, and not only the log's content.
    """

    kind: str
    target: str
    payload: str
    signer: str
    sequence: int
    timestamp_ms: int
    content: bytes
    batch_number: int
    anchored: bool
    authorship: bool


def check_proof_file(file: Any, trust: Trust) -> ProofShown:
    """Verifies a proof file and returns its facts.

    Raises:
        Refused: the file is invalid.
    """
    read = read_proof_file(value_of(file))
    action, leaf = read["action"], read["leaf"]
    texts = [text_hash(action[name]) for name in ("kind", "target", "payload")]
    content = content_of(texts[0], texts[1], texts[2], action["signer"], action["authority"])
    refuse_unless(content == leaf["content"], "the words are not those of the content")
    check_integrity(leaf)
    sealed = check_placed(read, trust)
    authorship = read.get("authorship")
    if authorship is not None:
        _check_authorship(authorship, action, leaf["timestamp_ms"], trust)
    return ProofShown(
        kind=action["kind"],
        target=action["target"],
        payload=action["payload"],
        signer=checksum_address(action["signer"]),
        sequence=leaf["sequence"],
        timestamp_ms=leaf["timestamp_ms"],
        content=content,
        batch_number=sealed.number,
        anchored=read["anchor"] is not None,
        authorship=authorship is not None,
    )


def _check_authorship(shown: Members, action: Members, timestamp_ms: int, trust: Trust) -> None:
    hashes, index = shown["action_hashes"], shown["index"]
    refuse_unless(len(hashes) <= ACTIONS_MAX, "a request holds at most 500 actions")
    own = action_hash(action["kind"], action["target"], action["payload"], shown["salt"])
    refuse_unless(index < len(hashes) and hashes[index] == own, "the action is not at its index")
    authority = authority_of(keccak(shown["signature"]), shown["salt"])
    refuse_unless(authority == action["authority"], "the authority is not made from this signature")
    signed = request_hash(action["signer"], shown["nonce"], shown["deadline"], shown["atomic"], hashes)
    check_signer(trust.domain.digest(signed), shown["signature"], action["signer"], "the request")
    refuse_unless(timestamp_ms <= shown["deadline"] * 1000, "the action was placed after the deadline")
