"""The tables of receipts, proof files, claims and evidence that all checkers share: the SDK comes to the same verdicts."""

import json
import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from kedge.errors import Refused
from kedge.protocol.hashing import EMPTY, from_hex
from kedge.protocol.typed import Domain
from kedge.verify import (
    EvidenceTrust,
    SequencerKey,
    Trust,
    VerificationKey,
    check_batch_receipt,
    check_claim,
    check_evidence,
    check_proof_file,
    check_receipt,
)

from vectors import text_of, words

FIRST, _, *LINES = text_of("crates/protocol/vectors/files.json").split("\n")
STATE = json.loads(FIRST.rstrip(",") + "}")
TRUST = Trust.of(STATE["domain"]["chain_id"], STATE["domain"]["verifying_contract"], STATE["sequencer"])
SNARKJS_KEY = json.loads(text_of("crates/prover/keys/dev-insecure.json"))
KEY = VerificationKey.of_snarkjs(SNARKJS_KEY)


def case_of(line: str) -> dict[str, Any]:
    """A case a line, the file last: it is checked as it is spelled."""
    whole = line.rstrip(",")
    case: dict[str, Any] = json.loads(whole)
    if "text" not in case:
        case["text"] = whole[whole.index('"file":') + len('"file":') : -1]
    return case


CASES = [case_of(line) for line in LINES if line.startswith("{")]
CHECKS: dict[str, Callable[[str, list[bytes]], object]] = {
    "receipt": lambda text, contents: check_receipt(text, TRUST, contents[0]),
    "receipts": lambda text, contents: check_batch_receipt(text, TRUST, contents),
    "proof": lambda text, _: check_proof_file(text, TRUST),
    "claim": lambda text, _: check_claim(text, TRUST, KEY),
}


# Holds invariant 70.
@pytest.mark.parametrize("kind", CHECKS)
def test_every_file_of_the_table_has_its_verdict(kind: str) -> None:
    of_kind = [case for case in CASES if case["kind"] == kind]
    assert sum(case["valid"] for case in of_kind) >= 7 and len(of_kind) >= 40
    for case in of_kind:
        contents = words(case["contents"] or [])
        if case["valid"]:
            CHECKS[kind](case["text"], contents)
        else:
            with pytest.raises(Refused):
                CHECKS[kind](case["text"], contents)
                pytest.fail(f"accepted: {case['name']}")


# Holds invariant 70.
def test_all_kinds_of_the_table_are_checked() -> None:
    assert {case["kind"] for case in CASES} == set(CHECKS)
    assert len(CASES) >= 390


def test_a_point_of_another_group_is_refused_as_such() -> None:
    case = next(case for case in CASES if case["name"].endswith("a point of another group"))
    with pytest.raises(Refused, match="no point of its group"):
        check_claim(case["text"], TRUST, KEY)


def test_a_key_with_a_public_secret_counts_on_test_chains_alone() -> None:
    good = next(case for case in CASES if case["kind"] == "claim" and case["valid"])
    elsewhere = replace(TRUST, domain=replace(TRUST.domain, chain_id=1))
    with pytest.raises(Refused, match="anybody can prove anything"):
        check_claim(good["text"], elsewhere, KEY)
    other = VerificationKey.of_snarkjs({**SNARKJS_KEY, "IC": [*SNARKJS_KEY["IC"][1:], SNARKJS_KEY["IC"][0]]})
    with pytest.raises(Refused, match="another key"):
        check_claim(good["text"], TRUST, other)


VERDICTS = text_of("crates/protocol/vectors/verdicts.json")
TABLE = json.loads(VERDICTS)
EVIDENCE = re.findall(r'"name":"([^"]*)","proven":(true|false),.*?"file":(\{.*\}),"calldata":', VERDICTS)
JUDGE = EvidenceTrust(
    Domain.of(TABLE["domain"]["chain_id"], TABLE["domain"]["verifying_contract"]),
    tuple(SequencerKey(from_hex(key["key"]), key["from_batch"]) for key in TABLE["keys"]),
    {
        0: EMPTY,
        **{one["checkpoint"]["batches"]: from_hex(one["checkpoint"]["history"]) for one in TABLE["checkpoints"]},
    },
)


# Holds invariant 70.
def test_all_evidence_of_the_table_has_its_verdict() -> None:
    assert len(EVIDENCE) == len(TABLE["cases"]) >= 60
    for name, proven, file in EVIDENCE:
        if proven == "true":
            assert check_evidence(file, JUDGE) == json.loads(file)["evidence"]["fault"], name
        else:
            with pytest.raises(Refused):
                check_evidence(file, JUDGE)
                pytest.fail(f"accepted: {name}")


def edited(file: str, path: list[str], value: Any) -> str:
    whole = json.loads(file)
    inner = whole
    for name in path[:-1]:
        inner = inner[name]
    inner[path[-1]] = value
    return json.dumps(whole)


def test_evidence_of_another_form_or_log_proves_nothing() -> None:
    good = next(file for _, proven, file in EVIDENCE if proven == "true")
    spoiled = [
        edited(good, ["format"], "kedge.other"),
        edited(good, ["version"], 2),
        edited(good, ["domain", "chain_id"], 1),
        edited(good, ["surplus"], 1),
        edited(good, ["evidence", "surplus"], 1),
        edited(good, ["evidence", "first", "header", "number"], 0.5),
        edited(good, ["evidence", "fault"], "toString"),
        good + " " * 128 * 1024,
        "{",
    ]
    for file in spoiled:
        with pytest.raises(Refused):
            check_evidence(file, JUDGE)
    check_evidence(good, JUDGE)
