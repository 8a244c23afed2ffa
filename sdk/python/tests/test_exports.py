"""Exports of a real server: whole, in part, and spoiled line by line."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from kedge import Batch, Kedge, KeySigner, Refused, Trust, operations
from kedge.verify import check_export

import forged
from driven import Maker, Recorded, registered
from server import Server


def with_history(make: Maker, server: Server) -> Kedge:
    ann = registered(make, server.url)
    template = ann.create_template({"name": "ticket"})
    minted = ann.mint_object({"template_id": template["id"]})
    # The middle one fails, so the export gives its hash alone.
    batch = Batch().emit(minted["id"], "Ä").unlock(minted["id"]).emit(minted["id"], 1.0)
    ann.get_checkpoint(at_least=ann.answer(operations.submit_batch(batch.body())).sequence, wait=60)
    return ann


def test_an_export_holds_from_any_batch_on(make: Maker, server: Server) -> None:
    ann = with_history(make, server)
    trust = ann.trust()
    whole = list(ann.export_lines())
    checked = check_export(whole, trust)
    assert checked.actions == 5 and checked.first_batch == 0
    assert (checked.checkpoint.batches, checked.batches) == (checked.batches, len([one for one in whole if '"type":"batch"' in one[:20]]))
    for first in range(1, min(checked.batches, 9)):
        part = check_export(ann.export_lines(first), trust)
        assert (part.first_batch, part.checkpoint.batches) == (first, checked.batches)
    assert check_export(make(server.url).export_lines(), trust).actions == 0, "a stranger's has no requests"


def changed(line: str, change: Callable[[Any], None]) -> str:
    value = json.loads(line)
    change(value)
    return json.dumps(value)


def flip(value: str) -> str:
    return value[:-1] + ("0" if value[-1] != "0" else "1")


def test_every_spoiled_export_is_refused(server: Server) -> None:
    ann = with_history(Recorded, server)
    trust = ann.trust()
    lines = list(ann.export_lines())
    own = next(i for i, line in enumerate(lines) if '"failed":[{' in line)
    batch = next(i for i in range(own, 0, -1) if json.loads(lines[i])["type"] == "batch")

    def at(number: int, change: Callable[[Any], None]) -> list[str]:
        return [changed(line, change) if i == number else line for i, line in enumerate(lines)]

    def setting(number: int, *path: Any, value: Any = None) -> list[str]:
        def change(whole: Any) -> None:
            for name in path[:-1]:
                whole = whole[name]
            whole[path[-1]] = flip(whole[path[-1]]) if value is None else value

        return at(number, change)

    spoiled = {
        "cut off": lines[:-1],
        "cut within a line": [*lines[:-1], lines[-1][:-10]],
        "nothing": [],
        "a line after the end": [*lines, lines[-1]],
        "without a batch": lines[:batch] + lines[batch + 1 :],
        "without the first line": lines[1:],
        "a second first line": [lines[0], *lines],
        "another domain": setting(0, "domain", "chain_id", value=1),
        "another sequencer": setting(0, "sequencer", value=KeySigner.random().address),
        "another head": setting(0, "head"),
        "another version": setting(0, "version", value=2),
        "another leaf": setting(batch, "leaves", 0),
        "a leaf less": at(batch, lambda whole: whole["leaves"].pop()),
        "another time": setting(batch, "batch", "header", "sealed_at_ms", value=1),
        "another history": setting(batch, "batch", "header", "history"),
        "another payload": setting(own, "actions", 0, "payload", value='"A"'),
        "another kind": setting(own, "actions", 0, "kind", value="update"),
        "another integrity": setting(own, "actions", 0, "previous_integrity"),
        "another failed action": setting(own, "failed", 0, "action_hash"),
        "no failed action": setting(own, "failed", value=[]),
        "one action twice": setting(own, "actions", 1, "index", value=0),
        "another signer": setting(own, "signer", value=KeySigner.random().address),
        "another nonce": setting(own, "nonce", value="77"),
        "atomic": setting(own, "atomic", value=True),
        "past its deadline": setting(own, "deadline", value=1),
        "another place": setting(own, "first_sequence", value=1),
        "a surplus member": setting(own, "surplus", value=1),
        "another checkpoint": setting(len(lines) - 1, "checkpoint", "batches", value=1),
        "a checkpoint of another head": setting(len(lines) - 1, "checkpoint", "head"),
        "an unknown line": setting(own, "type", value="note"),
    }
    check_export(lines, trust)
    for what, bad in spoiled.items():
        with pytest.raises(Refused):
            check_export(bad, trust)
            pytest.fail(f"accepted: {what}")
    stranger = Trust.of(31337, "0x" + trust.domain.verifying_contract.hex(), KeySigner.random().address)
    with pytest.raises(Refused):
        check_export(lines, stranger)
    ann.close()


def test_what_a_dishonest_sequencer_signs_is_refused() -> None:
    """Every signature is right here; only the rules of the log tell."""
    word = bytes(31) + b"\1"
    assert check_export(forged.export(), forged.TRUST).actions == 3
    forgeries: dict[str, dict[str, Any]] = {
        "another history": {"headers": {1: {"history": word}}},
        "another root": {"headers": {1: {"root": word}}},
        "another head": {"headers": {2: {"head": word}}},
        "another previous head": {"headers": {1: {"previous_head": word}}},
        "a batch before the first": {"headers": {0: {"number": 1}}},
        "a gap in the numbers": {"headers": {2: {"number": 3}}},
        "a gap in the sequence": {"headers": {1: {"first_sequence": 3}}},
        "a count of nothing": {"headers": {1: {"count": 0}}},
        "a count of more": {"headers": {1: {"count": 2}}},
        "a state": {"headers": {1: {"state": word}}},
        "a falling time": {"headers": {0: {"sealed_at_ms": 9000}}},
        "an action after its seal": {"headers": {0: {"sealed_at_ms": 4999}}},
        "an action after its deadline": {"deadline": 4},
    }
    for what, forgery in forgeries.items():
        lines = forged.export(**forgery)
        with pytest.raises(Refused):
            check_export(lines, forged.TRUST)
            pytest.fail(f"accepted: {what}")
        if not what.startswith("an action"):
            with pytest.raises(Refused):
                check_export([line for line in lines if '"type": "request"' not in line], forged.TRUST)
                pytest.fail(f"accepted without its requests: {what}")


def test_a_leaf_that_nobody_opens_is_checked_too() -> None:
    lines = [line for line in forged.export() if '"type": "request"' not in line]
    assert check_export(lines, forged.TRUST).actions == 0
    with pytest.raises(Refused, match="another root"):
        check_export([changed(line, lambda whole: whole.update(leaves=["0x" + "11" * 32])) if number == 2 else line for number, line in enumerate(lines)], forged.TRUST)
