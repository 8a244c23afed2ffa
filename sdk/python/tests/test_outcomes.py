"""Refusals, lost answers and broken connections: the same bytes are sent again, and everything is done exactly once."""

import time

import pytest
from kedge import AlreadyDone, ApiError, ConnectionFailed, KeySigner, OutcomeUnknown, Refused, RetryPolicy, Trust, operations
from kedge.retry import Backoff

from driven import Maker, registered
from server import Server
from way import CUT, LOSE, Fault, Way, envelope

UNKNOWN = envelope(503, "UNAVAILABLE", outcome="unknown")
NOTHING_DONE = envelope(503, "UNAVAILABLE", outcome="nothing_done")
LIMITED = envelope(429, "RATE_LIMITED", policy="tier-minute")


def names(client: object) -> list[str]:
    return [one["name"] for one in client.iter_templates()]  # type: ignore[attr-defined]


def signatures(way: Way) -> set[str]:
    return {headers["x-signature"] for _, headers, _ in way.seen}


# Holds invariant 95.
@pytest.mark.parametrize(
    "faults",
    [[LOSE], [LOSE, LOSE], [CUT], [(503, {"passed-on": "yes", "retry-after": "0"}, UNKNOWN)], [(502, {"passed-on": "yes"}, {})]],
    ids=["lost", "lost twice", "cut", "unknown", "a proxy's answer"],
)
def test_a_request_without_an_answer_is_done_once(make: Maker, way: Way, faults: list[Fault]) -> None:
    ann = registered(make, way.url)
    way.seen.clear()
    way.faults = list(faults)
    made = ann.create_template({"name": "once"})
    assert len(way.seen) == len(faults) + 1
    assert len(signatures(way)) == 1, "it is signed once"
    assert len({headers["idempotency-key"] for _, headers, _ in way.seen}) == 1
    assert len({body for _, _, body in way.seen}) == 1
    assert [one["id"] for one in ann.iter_templates()] == [made["id"]], "it is done once"


# Holds invariant 95.
def test_a_registration_and_an_upload_without_an_answer_are_done_once(make: Maker, way: Way) -> None:
    way.faults = [LOSE]
    ann = registered(make, way.url)
    assert ann.get_own_wallet()["id"] == ann.session.wallet_id
    way.seen.clear()
    way.faults = [LOSE]
    made = ann.upload_file(b"once", name="once.txt")
    assert len({body for _, _, body in way.seen}) == 1, "the form's bytes are the same"
    assert [one["id"] for one in ann.iter_files()] == [made["id"]]


# Holds invariant 95.
def test_an_outcome_that_stays_unknown_names_the_actions(make: Maker, way: Way) -> None:
    ann = registered(make, way.url, retry=RetryPolicy(attempts_max=2))
    way.faults = [LOSE, LOSE]
    with pytest.raises(OutcomeUnknown) as found:
        ann.create_template({"name": "once"})
    assert found.value.deadline is not None and found.value.deadline > time.time()
    assert [ann.get_action(action)["action_type"] for action in found.value.actions] == ["template.create"]
    with pytest.raises(OutcomeUnknown):
        way.faults = [LOSE]
        ann.session.retry = RetryPolicy(on_unknown=False)
        ann.create_template({"name": "another"})


# Holds invariant 95.
def test_a_spent_nonce_tells_that_it_is_done(make: Maker, server: Server, way: Way) -> None:
    ann = registered(make, way.url)
    # The answer is lost, and the way forgets the key under which the server would repeat it.
    way.faults = [LOSE, (409, {}, envelope(409, "NONCE_REUSED", reason="done", sequence=7))]
    with pytest.raises(AlreadyDone) as found:
        ann.create_template({"name": "once"})
    assert found.value.sequence == 7
    assert ann.get_action(found.value.actions[0])["action_type"] == "template.create"
    # Where the log does not hold it, another request spent the nonce: it is signed again.
    way.seen.clear()
    way.faults = [CUT, (409, {"x-nonce-highest": "40"}, envelope(409, "NONCE_REUSED", reason="done"))]
    assert ann.create_template({"name": "twice"})["name"] == "twice"
    assert len(signatures(way)) == 2
    assert way.seen[-1][1]["x-signature-nonce"] == "41"


def test_a_refusal_is_not_sent_again(make: Maker, way: Way) -> None:
    ann = registered(make, way.url)
    ann.create_template({"name": "once"})
    for status, code in [(409, "CONFLICT"), (400, "VALIDATION_ERROR"), (500, "INTERNAL")]:
        way.seen.clear()
        way.faults = [(status, {}, envelope(status, code))]
        with pytest.raises(ApiError, match=code) as found:
            ann.create_template({"name": "other"})
        assert (found.value.status, len(way.seen)) == (status, 1)
    way.seen.clear()
    with pytest.raises(ApiError, match="CONFLICT"):
        ann.create_template({"name": "once"})
    assert len(way.seen) == 1 and names(ann) == ["once"]


def test_limits_are_waited_for_as_the_server_asks(make: Maker, way: Way) -> None:
    ann = registered(make, way.url)
    way.seen.clear()
    way.faults = [(429, {"retry-after": "1"}, LIMITED)]
    begun = time.monotonic()
    ann.create_template({"name": "later"})
    assert 1 <= time.monotonic() - begun < 4
    assert len(signatures(way)) == 1, "it is signed once"
    way.hits = lambda path, _: path == "/version"
    way.faults = [(429, {"retry-after": "0"}, LIMITED)] * 5
    with pytest.raises(ApiError) as found:
        ann.get_version()
    assert (found.value.code, found.value.body["policy"], len(way.faults)) == ("RATE_LIMITED", "tier-minute", 0)


def test_unavailable_is_retried_if_asked_to(make: Maker, way: Way) -> None:
    ann = registered(make, way.url)
    way.faults = [(503, {"retry-after": "0"}, NOTHING_DONE)]
    with pytest.raises(ApiError, match="UNAVAILABLE"):
        ann.create_template({"name": "refused"})
    ann.session.retry = RetryPolicy(on_unavailable=True)
    way.faults = [(503, {"retry-after": "0"}, NOTHING_DONE)]
    assert ann.create_template({"name": "done"})["name"] == "done"
    assert names(ann) == ["done"]


def test_waits_grow_from_what_the_server_asks() -> None:
    policy = RetryPolicy()
    assert [policy.wait_s(attempt, 1, 0) for attempt in range(4)] == [1, 2, 4, 8]
    assert policy.wait_s(0, None, 0) == 60 and policy.wait_s(0, None, 1) == 75
    assert policy.wait_s(16, None, 0) == 900
    assert policy.wait_s(3, 86_400, 0) == 86_400, "the server's wait overrides the ceiling"
    assert [status for status in range(200, 600) if policy.retries(status)] == [429]
    backoff = Backoff(policy)
    waits = [backoff.after_unknown(None) for _ in range(5)]
    assert [wait is None for wait in waits] == [False] * 4 + [True], "five attempts"
    assert all(wait is not None and low <= wait <= low * 1.25 for wait, low in zip(waits, (1, 2, 4, 8)))


def test_a_server_that_is_not_there(make: Maker) -> None:
    nobody = make("http://127.0.0.1:9", retry=RetryPolicy(attempts_max=1))
    with pytest.raises(ConnectionFailed) as found:
        nobody.get_version()
    assert not found.value.sent


def test_expired_tokens_are_exchanged_once(make: Maker, server: Server, way: Way) -> None:
    ann = registered(make, way.url)
    before = ann.session.tokens
    expired: Fault = (401, {}, envelope(401, "TOKEN_EXPIRED"))
    way.faults = [expired]
    ann.create_template({"name": "after"})
    assert ann.session.tokens is not None and before is not None and ann.session.tokens.refresh != before.refresh
    way.hits = lambda _, headers: "authorization" in headers
    way.faults = [expired, expired]
    with pytest.raises(ApiError, match="TOKEN_EXPIRED"):
        ann.get_own_wallet()


def test_a_key_of_the_callers_own_brings_back_the_first_answer(make: Maker, server: Server) -> None:
    ann = registered(make, server.url)
    template = ann.create_template({"name": "once"}, idempotency_key="template-1")
    # As after a restart: the same request is signed again, under the same key.
    call = operations.create_template({"name": "once"}, idempotency_key="template-1")
    answer = ann.answer(call)
    assert answer.replayed and answer.body["id"] == template["id"] == answer.made("tpl")
    actions: list[object] = [{"action_type": "mint", "template_id": template["id"]}] * 3
    bodies = [ann.answer(operations.submit_batch({"actions": actions}, idempotency_key="mints")) for _ in range(2)]  # type: ignore[typeddict-item]
    assert bodies[0].contents == bodies[1].contents and bodies[1].replayed
    with pytest.raises(ApiError, match="IDEMPOTENCY_MISMATCH"):
        ann.create_template({"name": "other"}, idempotency_key="template-1")


def test_receipts_of_another_log_are_refused(make: Maker, server: Server) -> None:
    ann = registered(make, server.url)
    trust = ann.trust()
    contract = "0x" + trust.domain.verifying_contract.hex()
    pinned = make(server.url, key=ann.session.signer, tokens=ann.session.tokens, trust=trust)
    assert pinned.create_template({"name": "pinned"})["name"] == "pinned"
    stranger = Trust.of(trust.domain.chain_id, contract, KeySigner.random().address)
    wary = make(server.url, key=ann.session.signer, tokens=ann.session.tokens, trust=stranger)
    with pytest.raises(Refused, match="was signed by"):
        wary.create_template({"name": "wary"})
    unwary = make(server.url, key=ann.session.signer, tokens=ann.session.tokens, trust=stranger, check_receipts=False)
    assert unwary.create_template({"name": "unwary"})["name"] == "unwary"
    elsewhere = Trust.of(1, contract, trust_address(trust))
    with pytest.raises(ApiError, match="SIGNATURE_INVALID"):
        make(server.url, key=ann.session.signer, tokens=ann.session.tokens, trust=elsewhere).create_template({"name": "x"})


def trust_address(trust: Trust) -> str:
    return "0x" + trust.keys[0].address.hex()
