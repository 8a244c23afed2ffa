"""Reads with proofs, with both clients: no answer returns unproven, and none that differs from what is proven."""

import asyncio
import inspect
import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import httpx
import pytest
from kedge import AsyncKedge, ItemDiffers, Kedge, ProofMissing, Refused, SequencerKey, WrongSigner, operations
from kedge.protocol.entries import ObjectEntry
from kedge.protocol.hashing import ZERO, hex_text, text_hash

from forged import CONTRACT, DOMAIN, SEQUENCER, SIGNER, TRUST
from states import ABSENT, ENTRIES, NAME, OBJECT, OTHER_OBJECT, OTHER_WALLET, PROPERTIES, SCAN_SCHEMA, SCHEMA, TEMPLATE, VARIATION, StateTrie, object_entry
from test_trust import FIRST, NEXT, naming
from test_trust import TRUST as FIRST_TRUST

STATE = StateTrie(ENTRIES)
Handler = Callable[[httpx.Request], Any]
Reader = Callable[..., Any]


def item_of(key: str) -> dict[str, Any]:
    """An object or a template as the service shows it. Its entry's hashes stand as texts."""
    fields = STATE.answer(key)["fields"]
    shown = {name: value for name, value in fields.items() if not name.endswith(("_hash", "rules", "integrity"))}
    shown |= {"id": key, "integrity_hash": fields["integrity"], "properties": json.loads(PROPERTIES), "created_at": "2026-11-28T10:00:00Z"}
    if key == TEMPLATE:
        rules = [{"kind": "transfer", "who": "anyone"}, {"kind": "x.scan", "who": "issuer", "schema": json.loads(SCAN_SCHEMA)}]
        shown |= {"name": "ticket", "max_supply": "100", "schema": json.loads(SCHEMA), "actions": rules}
    return shown


def variation() -> dict[str, Any]:
    """A variation as a list shows it."""
    shown = {name: STATE.answer(VARIATION)["fields"][name] for name in ("organization_id", "template_id", "index")}
    return {"id": VARIATION, **shown, "name": NAME, "properties": {}, "created_at": "2026-11-28T10:00:00Z"}


def proven(key: str) -> dict[str, Any]:
    return {**item_of(key), "state_proof": STATE.answer(key)}


def spelled(answer: Any) -> str:
    """Its JSON, in which the price keeps the spelling of the texts."""
    return answer if isinstance(answer, str) else json.dumps(answer).replace("12.5}", "12.50}")


@pytest.fixture(params=["sync", "async"])
def read(request: pytest.FixtureRequest) -> Iterator[Reader]:
    """Reads with one client from a server that answers as it is asked to."""
    loop = asyncio.new_event_loop()

    def reading(answers: Any, what: Callable[[Any], Any], trust: Any = TRUST) -> tuple[Any, list[str]]:
        seen: list[str] = []

        def answer(sent: httpx.Request) -> httpx.Response:
            seen.append(sent.url.raw_path.decode())
            return httpx.Response(200, text=spelled(answers(sent) if callable(answers) else answers))

        transport = httpx.MockTransport(answer)
        if request.param == "sync":
            return what(Kedge("http://kedge", trust=trust, http=httpx.Client(transport=transport, base_url="http://kedge"))), seen
        http = httpx.AsyncClient(transport=transport, base_url="http://kedge")

        async def run() -> Any:
            found = what(AsyncKedge("http://kedge", trust=trust, http=http))
            return await found if inspect.isawaitable(found) else [one async for one in found]

        return loop.run_until_complete(run()), seen

    yield reading
    loop.close()


def test_an_object_and_a_template_come_with_their_proofs(read: Reader) -> None:
    shown, seen = read(proven(OBJECT), lambda client: client.objects.get(OBJECT, prove=True))
    assert (shown["serial"], shown["state_proof"]["key"], seen) == (1, OBJECT, [f"/objects/{OBJECT}?prove=true"])
    shown, seen = read(proven(TEMPLATE), lambda client: client.templates.get(TEMPLATE, prove=True, min_sequence=4))
    assert (shown["burned_count"], seen) == (1, [f"/templates/{TEMPLATE}?prove=true&min_sequence=4"])
    plain, seen = read({"id": OBJECT}, lambda client: client.objects.get(OBJECT))
    assert (plain, seen) == ({"id": OBJECT}, [f"/objects/{OBJECT}"])


def page(keys: list[str], more: bool = False, state: StateTrie = STATE) -> dict[str, Any]:
    items = [item_of(key) for key in keys]
    return {"items": items, "cursor": "next" if more else None, "has_more": more, "state_proofs": state.answers(keys)}


def test_a_list_comes_with_its_proofs(read: Reader) -> None:
    call: Any = operations.list_objects(limit=2, prove=True)
    shown, seen = read(page([OBJECT, OTHER_OBJECT]), lambda client: client.send(call))
    assert len(shown["items"]) == 2 and seen == ["/objects?limit=2&prove=true"]

    def pages(sent: httpx.Request) -> Any:
        return page([OTHER_OBJECT]) if "cursor=next" in str(sent.url) else page([OBJECT], more=True)

    shown, seen = read(pages, lambda client: client.iterate(call))
    assert [one["id"] for one in shown] == [OBJECT, OTHER_OBJECT] and len(seen) == 2 and all("prove=true" in path for path in seen)
    with pytest.raises(ItemDiffers):
        changed = page([OBJECT, OTHER_OBJECT])
        changed["items"][1]["status"] = "active"
        read(changed, lambda client: client.send(call))
    unproven = {name: member for name, member in page([OBJECT]).items() if name != "state_proofs"}
    text = {**page([OBJECT]), "state_proofs": json.dumps(STATE.answers([OBJECT]))}
    spoiled: list[Any] = [unproven, text, {**page([OBJECT]), "items": []}, {**page([OBJECT]), "items": [{}]}, {**page([OBJECT]), "items": None}, [], proven(OBJECT)]
    for answer in spoiled:
        with pytest.raises(ProofMissing):
            read(answer, lambda client: client.send(call))


def test_variations_come_with_their_proofs(read: Reader) -> None:
    answer = {"items": [variation()], "cursor": None, "has_more": False, "state_proofs": STATE.answers([VARIATION])}
    shown, seen = read(answer, lambda client: client.list_variations(TEMPLATE, prove=True))
    assert shown["items"][0]["name"] == NAME and seen == [f"/templates/{TEMPLATE}/variations?prove=true"]
    changes: dict[str, Any] = {"organization_id": "org_00000000000000000000000000", "template_id": OBJECT, "index": 1, "name": NAME + " ", "properties": {"x": 1}}
    for name, value in changes.items():
        with pytest.raises(ItemDiffers) as found:
            read({**answer, "items": [{**variation(), name: value}]}, lambda client: client.list_variations(TEMPLATE, prove=True))
        assert found.value.members == (name,)


def test_a_proven_read_covers_the_sequence_that_it_asks_for(read: Reader) -> None:
    for sequence, enough in ((20, True), (21, False)):
        for answer, what in (
            (proven(OBJECT), lambda client: client.objects.get(OBJECT, prove=True, min_sequence=sequence)),
            (page([OBJECT]), lambda client: client.list_objects(prove=True, min_sequence=sequence)),
            (STATE.answer(OBJECT), lambda client: client.get_state_proof(OBJECT, min_sequence=sequence)),
        ):
            if enough:
                read(answer, what)
            else:
                with pytest.raises(Refused, match="ends at sequence 20, before 21"):
                    read(answer, what)


# Holds invariant 271.
def test_an_empty_page_has_a_checkpoint_that_is_verified(read: Reader) -> None:
    def reading(answer: Any, **asked: Any) -> Any:
        return read(answer, lambda client: client.list_objects(prove=True, **asked))

    assert reading(page([]), min_sequence=20)[0]["items"] == []
    with pytest.raises(Refused, match="ends at sequence 20, before 21"):
        reading(page([]), min_sequence=21)
    foreign = hex_text(SIGNER.sign_digest(TRUST.domain.digest(STATE.checkpoint.hash)))
    rootless = STATE.signed(replace(STATE.checkpoint, state=ZERO))
    spoiled: list[tuple[Any, str]] = [({**STATE.signed(), "signature": foreign}, "signed by"), (rootless, "no root"), (STATE.signed(replace(STATE.checkpoint, batches=0)), "empty log")]
    for checkpoint, why in spoiled:
        with pytest.raises(Refused, match=why):
            reading({**page([]), "state_proofs": {**STATE.answers([]), "checkpoint": checkpoint}})


# Holds invariant 271.
def test_a_page_is_held_against_what_was_asked_for(read: Reader) -> None:
    changed = StateTrie({**ENTRIES, OTHER_OBJECT: object_entry(serial=2, version=2, sequence=9, status=2)})
    burned = page([OTHER_OBJECT], state=changed)
    burned["items"][0] |= {name: changed.answer(OTHER_OBJECT)["fields"][name] for name in ("status", "version")}
    burned["items"][0]["integrity_hash"] = changed.answer(OTHER_OBJECT)["fields"]["integrity"]
    both, other = page([OBJECT, OTHER_OBJECT]), TEMPLATE[:-1] + "0"
    variations = {"items": [variation()], "cursor": None, "has_more": False, "state_proofs": STATE.answers([VARIATION])}

    def objects(**asked: Any) -> Reader:
        return lambda client: client.list_objects(prove=True, **asked)

    good: list[tuple[Any, Reader]] = [
        (both, objects(limit=2, template_id=TEMPLATE)),
        (burned, objects(status="burned")),
        (burned, objects()),
        # An object is shown as it was at the checkpoint, and chosen by what it is now.
        (page([OTHER_OBJECT]), objects(status="active", owner_id=OTHER_WALLET)),
    ]
    for answer, what in good:
        assert read(answer, what)[0]["items"] == json.loads(spelled(answer))["items"]
    spoiled: list[tuple[Any, Reader, str]] = [
        (both, objects(limit=1), "has 2 items, more than the 1 asked for"),
        (page([OBJECT, OBJECT]), objects(), "occurs twice"),
        (both, objects(template_id=other), f"is of {TEMPLATE}, not of {other}"),
        (burned, objects(status="active"), "is burned, not active"),
        (burned, objects(status="locked"), "is burned, not locked"),
        (page([TEMPLATE]), objects(), "not of the type"),
        (page([OBJECT]), lambda client: client.list_templates(prove=True), "not of the type"),
        (variations, lambda client: client.list_variations(other, prove=True), f"is of {TEMPLATE}, not of {other}"),
    ]
    for answer, what, why in spoiled:
        with pytest.raises(Refused, match=why):
            read(answer, what)


def checkpoint_answer(**changes: Any) -> dict[str, Any]:
    """The answer of `GET /checkpoint`."""
    return {**STATE.signed(), "domain": DOMAIN, "sequencer": SEQUENCER.address, **changes}


def test_a_checkpoint_is_verified_before_it_is_returned(read: Reader) -> None:
    def reading(answer: Any, **asked: Any) -> Any:
        return read(answer, lambda client: client.get_checkpoint(**asked))

    shown, seen = reading(checkpoint_answer(later="x"), at_least=20)
    assert shown["checkpoint"]["sequence"] == 20 and seen == ["/checkpoint?at_least=20"]
    # An older log has no root yet, and a new one no batch.
    reading(checkpoint_answer(**STATE.signed(replace(STATE.checkpoint, state=ZERO))))
    reading(checkpoint_answer(**STATE.signed(replace(STATE.checkpoint, batches=0, sequence=0))))
    for asked in ({"at_least": 21}, {"min_sequence": 21}):
        with pytest.raises(Refused, match="ends at sequence 20, before 21"):
            reading(checkpoint_answer(), **asked)
    foreign = hex_text(SIGNER.sign_digest(TRUST.domain.digest(STATE.checkpoint.hash)))
    no_more: dict[str, Any] = {"items": [], "cursor": None, "has_more": False}
    with pytest.raises(WrongSigner):
        reading(lambda sent: no_more if "keys" in sent.url.path else checkpoint_answer(signature=foreign))
    other = {"chain_id": 1, "verifying_contract": CONTRACT}
    spoiled: list[Any] = [checkpoint_answer(domain=other), checkpoint_answer(sequencer=SIGNER.address), checkpoint_answer(checkpoint=None), {}, []]
    for answer in spoiled:
        with pytest.raises(Refused):
            reading(answer)
    with pytest.raises(Refused, match="occurs twice"):
        reading(json.dumps(checkpoint_answer())[:-1] + ',"signature":"0x"}')


def test_no_answer_without_a_proof_is_returned(read: Reader) -> None:
    def bare(client: Any) -> Any:
        return client.send(replace(operations.get_object(OBJECT), path=f"/objects/{OBJECT}?prove=true"))

    for what in (lambda client: client.objects.get(OBJECT, prove=True), bare):
        for answer in (item_of(OBJECT), proven(OTHER_OBJECT), {**item_of(OBJECT), "state_proof": STATE.answer(OTHER_OBJECT)}, page([OBJECT])):
            with pytest.raises(ProofMissing):
                read(answer, what)
        absent = {**item_of(OBJECT), "state_proof": StateTrie({}).answer(OBJECT)}
        with pytest.raises(ProofMissing, match="holds nothing"):
            read(absent, what)
        with pytest.raises(Refused, match="occurs twice"):
            read(json.dumps(proven(OBJECT))[:-1] + ',"serial":1}', what)
        for proof in (None, json.dumps(STATE.answer(OBJECT))):
            with pytest.raises(ProofMissing):
                read({**item_of(OBJECT), "state_proof": proof}, what)


CHANGES: dict[str, Any] = {
    "id": OTHER_OBJECT, "version": 2, "sequence": 6, "organization_id": "org_00000000000000000000000000", "template_id": VARIATION, "variation_id": None,
    "serial": "2", "owner_id": "wal_00000000000000000000000000", "owner_address": "0x" + "22" * 20, "status": "burned",
    "integrity_hash": "0x" + "00" * 32, "properties": {"seat": "Ä1"},
}  # fmt: skip


@pytest.mark.parametrize("name", CHANGES)
def test_a_member_that_differs_is_named(read: Reader, name: str) -> None:
    for changed in ({**proven(OBJECT), name: CHANGES[name]}, {key: value for key, value in proven(OBJECT).items() if key != name}):
        with pytest.raises(ItemDiffers, match=f"{OBJECT} differs from its proven entry in {name}") as found:
            read(changed, lambda client: client.objects.get(OBJECT, prove=True))
        assert (found.value.key, found.value.members) == (OBJECT, (name,))


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("public_access", 1),
        ("max_supply", None),
        ("max_supply", "99"),
        ("minted_count", 4),
        ("burned_count", 2),
        ("variation_count", 2),
        ("schema", None),
        ("schema", {}),
        ("properties", {}),
        ("actions", []),
        ("actions", item_of(TEMPLATE)["actions"][::-1]),
        ("actions", [{**rule, "who": "owner"} for rule in item_of(TEMPLATE)["actions"]]),
        ("actions", [{**rule, "schema": None} for rule in item_of(TEMPLATE)["actions"]]),
        ("actions", [None, None]),
        ("actions", [{**rule, "surplus": None} for rule in item_of(TEMPLATE)["actions"]]),
    ],
)
def test_a_member_of_a_template_that_differs_is_named(read: Reader, name: str, value: Any) -> None:
    with pytest.raises(ItemDiffers) as found:
        read({**proven(TEMPLATE), name: value}, lambda client: client.templates.get(TEMPLATE, prove=True))
    assert found.value.members == (name,)


def test_members_with_texts_are_proven_by_these_alone(read: Reader) -> None:
    answer = proven(TEMPLATE)
    answer["state_proof"]["texts"] = {"properties": PROPERTIES, "schema": SCHEMA}
    with pytest.raises(ItemDiffers, match="actions"):
        read(answer, lambda client: client.templates.get(TEMPLATE, prove=True))
    answer["state_proof"]["texts"] = {}
    with pytest.raises(ItemDiffers, match="properties, schema, actions"):
        read(answer, lambda client: client.templates.get(TEMPLATE, prove=True))


def test_numbers_are_compared_as_they_are_spelled(read: Reader) -> None:
    for price, same in (("12.50", True), ("12.5", False), ("1.250e1", False), ('"12.50"', False), ("true", False)):
        text = json.dumps(proven(OBJECT)).replace('"price": 12.5}', f'"price": {price}}}', 1)
        if same:
            read(text, lambda client: client.objects.get(OBJECT, prove=True))
        else:
            with pytest.raises(ItemDiffers, match="properties"):
                read(text, lambda client: client.objects.get(OBJECT, prove=True))
    text = '{"n":1,"m":{"k":[10000000000000000000001]}}'
    state = StateTrie({OBJECT: object_entry(properties=text_hash(text))})
    answer = {**item_of(OBJECT), "state_proof": {**state.answer(OBJECT), "texts": {"properties": text}}}
    for stated, same in ((text, True), (text.replace("1,", "true,"), False), (text.replace("1,", "1.0,"), False), (text.replace("1]", "0]"), False)):
        whole = json.dumps({**answer, "properties": "stated"}).replace('"stated"', stated)
        if same:
            read(whole, lambda client: client.objects.get(OBJECT, prove=True))
        else:
            with pytest.raises(ItemDiffers, match="properties"):
                read(whole, lambda client: client.objects.get(OBJECT, prove=True))


def test_a_state_proof_is_verified_before_it_is_returned(read: Reader) -> None:
    reads: list[tuple[Callable[[Any], Any], str]] = [
        (lambda client: client.objects.state_proof(OBJECT), f"/objects/{OBJECT}/state-proof"),
        (lambda client: client.templates.state_proof(OBJECT), f"/templates/{OBJECT}/state-proof"),
        (lambda client: client.state.proof(OBJECT), f"/state/{OBJECT}"),
        (
            lambda client: client.objects.state_proof(OBJECT, checkpoint=7, min_sequence=20, wait=3),
            f"/objects/{OBJECT}/state-proof?checkpoint=7&wait=3&min_sequence=20",
        ),
    ]
    for what, path in reads:
        shown, seen = read(STATE.answer(OBJECT), what)
        assert isinstance(shown.entry, ObjectEntry) and shown.checkpoint.sequence == 20 and seen == [path]
        for answer in (STATE.answer(OTHER_OBJECT), {**STATE.answer(OBJECT), "nodes": []}, item_of(OBJECT)):
            with pytest.raises(Refused):
                read(answer, what)
    for bare in ("get_state_proof", "get_object_state_proof", "get_template_state_proof"):
        shown, _ = read(STATE.answer(OBJECT), lambda client: getattr(client, bare)(OBJECT))
        assert shown["key"] == OBJECT
        with pytest.raises(ProofMissing):
            read(STATE.answer(OTHER_OBJECT), lambda client: getattr(client, bare)(OBJECT))
    shown, _ = read(STATE.answer(ABSENT), lambda client: client.state.proof(ABSENT))
    assert shown.entry is None
    with pytest.raises(Refused, match="of the checkpoint of 7 batches, not of 6"):
        read(STATE.answer(OBJECT), lambda client: client.state.proof(OBJECT, checkpoint=6))
    with pytest.raises(Refused, match="ends at sequence 20, before 21"):
        read(STATE.answer(OBJECT), lambda client: client.state.proof(OBJECT, min_sequence=21))


def test_a_key_that_the_log_names_is_learnt(read: Reader) -> None:
    digest = FIRST_TRUST.domain.digest(STATE.checkpoint.hash)
    keys = [
        {"key": FIRST.address, "from_batch": 0, "sequence": None, "proof": None},
        {"key": NEXT.address, "from_batch": 5, "sequence": 9, "proof": naming()},
    ]

    def answers(by: Any) -> Handler:
        answer = {**STATE.answer(OBJECT), "checkpoint": {**STATE.signed(), "signature": hex_text(by.sign_digest(digest))}}

        def handle(sent: httpx.Request) -> Any:
            named = {"items": keys, "cursor": None, "has_more": False}
            return named if "sequencer-keys" in sent.url.path else answer

        return handle

    shown, seen = read(answers(NEXT), lambda client: client.state.proof(OBJECT), FIRST_TRUST)
    assert shown.entry is not None and len(seen) == 2
    with pytest.raises(WrongSigner):
        read(answers(FIRST), lambda client: client.state.proof(OBJECT), FIRST_TRUST.with_key(SequencerKey(bytes.fromhex(NEXT.address[2:]), 5)))
