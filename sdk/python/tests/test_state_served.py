"""Reads with proofs from the real server, with both clients, and every member of its proofs bent."""

import json
from collections.abc import Iterator
from typing import Any

import pytest
from kedge import ApiError, Kedge, NotModified, Refused, Trust, models, operations
from kedge.protocol.entries import ObjectEntry, OrganizationEntry, TemplateEntry, VariationEntry, WalletEntry
from kedge.protocol.hashing import from_hex
from kedge.verify import verify_state_proof, verify_state_proofs
from kedge.verify.items import check_proven_answer

from driven import Maker, email, eventually, makers, registered
from server import Server

WAIT_S = 60
ABSENT = "obj_2enpephrjz2faj0y99bvwk13a4"
SCHEMA = {"properties": {"seat": {"type": "string"}}}


class Scene:
    """A template with rules, two variations and three objects, all of which a checkpoint covers."""

    def __init__(self, client: Kedge) -> None:
        self.client = client
        rules: Any = [{"kind": "transfer", "who": "anyone"}, {"kind": "x.scan", "who": "issuer", "schema": {"type": "object"}}]
        made: Any = {"name": email(), "properties": {"hall": "north"}, "schema": SCHEMA, "max_supply": 10, "actions": rules}
        self.template = client.create_template(made)["id"]
        variations: Any = {"variations": [{"name": "nörth", "properties": {"row": 1}}, {"name": "south", "properties": {}}]}
        self.variations = [one["id"] for one in client.create_variations(self.template, variations)["items"]]
        first: models.ObjectBody = {
            "template_id": self.template,
            "variation_id": self.variations[0],
            "properties": {"seat": "Ä1", "price": 12.5},
        }
        plain: models.ObjectBody = {"template_id": self.template}
        self.objects = [client.mint_object(body)["id"] for body in (first, plain, plain)]
        client.submit_action({"action_type": "burn", "object_id": self.objects[2], "payload": {}})
        self.sequence = client.get_object(self.objects[2])["sequence"]
        self.wallet = client.get_own_wallet()
        client.get_checkpoint(at_least=self.sequence, wait=WAIT_S)
        self.trust: Trust = client.trust()


@pytest.fixture(scope="module", params=["sync", "async"])
def scene(request: pytest.FixtureRequest, server: Server) -> Iterator[Scene]:
    client = registered(makers()[request.param], server.url)
    yield Scene(client)
    client.close()


def refused(what: Any, status: int, code: str) -> str:
    with pytest.raises(ApiError) as found:
        what()
    assert (found.value.status, found.value.code) == (status, code)
    return str(found.value)


def test_single_reads_come_with_proofs(scene: Scene) -> None:
    client, first = scene.client, scene.objects[0]
    shown = client.objects.get(first, prove=True)
    assert shown == {**client.get_object(first), "state_proof": shown["state_proof"]} and shown["state_proof"]["key"] == first
    assert client.get_object(first, prove=True)["state_proof"]["present"]
    template = client.templates.get(scene.template, prove=True, min_sequence=scene.sequence, wait=WAIT_S)
    assert (template["minted_count"], template["burned_count"], template["variation_count"]) == (3, 1, 2)
    assert template == {**client.get_template(scene.template), "state_proof": template["state_proof"]}
    # The tag changes with the checkpoint, and none follows while nothing is written.
    tag = client.answer(operations.get_object(first, prove=True)).etag
    with pytest.raises(NotModified):
        client.get_object(first, prove=True, if_none_match=tag)
    refused(lambda: client.objects.get(ABSENT, prove=True), 404, "RESOURCE_NOT_FOUND")
    refused(lambda: client.get_object(first, prove=True, at_sequence=scene.sequence), 400, "VALIDATION_ERROR")


def test_lists_come_with_proofs(scene: Scene) -> None:
    client = scene.client
    page = client.list_objects(template_id=scene.template, prove=True)
    assert [one["id"] for one in page["items"]] == scene.objects == [one["key"] for one in page["state_proofs"]["proofs"]]
    assert len(page["state_proofs"]["nodes"]) < sum(len(one["nodes"]) for one in page["state_proofs"]["proofs"])
    assert [one["id"] for one in client.iter_objects(template_id=scene.template, limit=2, prove=True)] == scene.objects
    assert [one["id"] for one in client.list_objects(order="desc", limit=1, prove=True)["items"]] == scene.objects[2:]
    assert [one["status"] for one in client.list_objects(status="burned", prove=True)["items"]] == ["burned"]
    assert scene.template in [one["id"] for one in client.iter_templates(limit=1, prove=True)]
    found = list(client.iter_variations(scene.template, limit=1, prove=True))
    assert [(one["id"], one["index"]) for one in found] == list(zip(scene.variations, (0, 1)))
    assert client.list_objects(template_id=scene.template, status="locked", prove=True)["state_proofs"]["proofs"] == []
    refused(lambda: client.list_objects(limit=101, prove=True), 400, "VALIDATION_ERROR")


def test_ids_of_every_type_are_proven(scene: Scene) -> None:
    client = scene.client
    shown = client.objects.state_proof(scene.objects[1])
    assert isinstance(shown.entry, ObjectEntry) and shown.entry.serial == 2 and shown.texts == {"properties": '{"hall":"north"}'}
    template = client.templates.state_proof(scene.template)
    assert isinstance(template.entry, TemplateEntry) and template.entry.max_supply == 10
    assert json.loads(template.texts["schema"]) == SCHEMA and template.rule_schemas == ("", '{"type":"object"}')
    variation = client.state.proof(scene.variations[0])
    assert isinstance(variation.entry, VariationEntry) and variation.texts == {"name": "nörth", "properties": '{"row":1}'}
    wallet = client.state.proof(scene.wallet["id"])
    assert isinstance(wallet.entry, WalletEntry) and wallet.entry.keys == (from_hex(scene.wallet["address"]),)
    assert isinstance(client.state.proof(scene.wallet["organization_id"]).entry, OrganizationEntry)
    for what in (client.state.proof, client.objects.state_proof):
        assert what(ABSENT).entry is None
    for other in ("bat_2enpephrjz2faj0y99bvwk13a4", ABSENT.upper(), "obj_"):
        refused(lambda: client.state.proof(other), 422, "STATE_VIOLATION")
    refused(lambda: client.state.proof("act_0479rrex65eayrm9ddqtrvzkaw"), 404, "RESOURCE_NOT_FOUND")
    refused(lambda: client.templates.state_proof(ABSENT), 422, "STATE_VIOLATION")


def test_an_older_checkpoint_is_proven(scene: Scene) -> None:
    client, changing = scene.client, scene.objects[1]
    template = client.create_template({"name": email(), "properties": {"hall": "north"}})
    older = client.objects.state_proof(changing, min_sequence=template["sequence"], wait=WAIT_S)
    batches = older.checkpoint.batches
    before = client.templates.state_proof(template["id"], checkpoint=batches)
    client.update_object(changing, {"properties": {"seat": "B2"}})
    changed = client.update_template(template["id"], {"properties": {"hall": "south"}})
    newer = client.objects.state_proof(changing, min_sequence=changed["sequence"], wait=WAIT_S)
    assert newer.entry is not None and newer.entry.version == 2 and json.loads(newer.texts["properties"])["seat"] == "B2"
    assert newer.checkpoint.sequence >= changed["sequence"] > older.checkpoint.sequence
    assert client.templates.state_proof(template["id"]).texts["properties"] == '{"hall":"south"}'
    assert client.objects.state_proof(changing, checkpoint=batches) == older
    assert client.templates.state_proof(template["id"], checkpoint=batches) == before
    with pytest.raises(ApiError) as found:
        for number in range(batches - 1, 0, -1):
            client.state.proof(changing, checkpoint=number)
    assert (found.value.status, found.value.code) == (410, "GONE") and "the nearest one is over" in str(found.value)
    refused(lambda: client.state.proof(changing, checkpoint=10**9), 410, "GONE")


def test_reads_wait_for_a_sequence(scene: Scene) -> None:
    client, changing = scene.client, scene.objects[1]

    def change(seat: str) -> int:
        return client.update_object(changing, {"properties": {"seat": seat}})["sequence"]

    sequence = change("C")
    read = client.objects.get(changing, prove=True, min_sequence=sequence, wait=WAIT_S)
    assert read["properties"]["seat"] == "C" and read["state_proof"]["checkpoint"]["checkpoint"]["sequence"] >= sequence
    items = client.list_objects(template_id=scene.template, prove=True, min_sequence=change("D"), wait=WAIT_S)["items"]
    assert items[1]["properties"]["seat"] == "D"
    sequence = change("E")
    assert client.get_checkpoint(at_least=sequence, wait=WAIT_S)["checkpoint"]["sequence"] >= sequence
    assert client.objects.get(changing, prove=True)["properties"]["seat"] == "E"
    message = refused(lambda: client.get_checkpoint(at_least=10**9, wait=0), 409, "SEQUENCE_NOT_REACHED")
    assert "the next checkpoint is due at" in message


def test_only_who_may_see_it_gets_a_proof(scene: Scene, server: Server) -> None:
    stranger = registered(makers()["sync"], server.url)
    for key in (scene.objects[0], scene.template, scene.variations[0], scene.wallet["id"], scene.wallet["organization_id"]):
        refused(lambda: stranger.state.proof(key), 404, "RESOURCE_NOT_FOUND")
        refused(lambda: stranger.state.proof(key, checkpoint=0), 410, "GONE")
    assert stranger.state.proof(ABSENT).entry is None
    stranger.log_out()
    refused(lambda: stranger.state.proof(ABSENT), 401, "UNAUTHENTICATED")
    stranger.close()


def test_an_anchored_checkpoint_stays(make: Maker) -> None:
    # A separate server: what is anchored ends the proofs at checkpoints below it.
    own = Server("rate_limits=off")
    try:
        client = registered(make, own.url)
        template = client.create_template({"name": "ticket"})["id"]
        first = client.mint_object({"template_id": template})
        at = client.objects.state_proof(first["id"], min_sequence=first["sequence"], wait=WAIT_S)
        assert not at.anchored
        own.anchor()
        eventually("the anchor", lambda: client.list_anchors()["items"][-1:] and client.list_anchors()["items"][-1]["status"] == "finalized")
        anchored = client.objects.state_proof(first["id"])
        assert anchored.anchored and anchored.entry == at.entry
        assert client.objects.get(first["id"], prove=True)["state_proof"]["anchor"]
        assert client.list_objects(prove=True)["state_proofs"]["anchor"]
        later = client.update_object(first["id"], {"properties": {"seat": 1}})
        newest = client.objects.state_proof(first["id"], min_sequence=later["sequence"], wait=WAIT_S)
        assert not newest.anchored and newest.checkpoint.batches > anchored.checkpoint.batches
        assert client.objects.state_proof(first["id"], checkpoint=anchored.checkpoint.batches) == anchored
        answer = client.get_object_state_proof(first["id"], checkpoint=anchored.checkpoint.batches)
        stated: Any = answer["anchor"]
        for other in bent(stated):
            # Only the contract confirms where it is on the chain.
            if other.keys() != stated.keys() or (other["checkpoint"], other["path"]) != (stated["checkpoint"], stated["path"]):
                with pytest.raises(Refused):
                    verify_state_proof({**answer, "anchor": other}, client.trust())
                    pytest.fail(json.dumps(other))
    finally:
        assert own.stop() == 0


def bent(value: Any) -> Iterator[Any]:
    """JSON values that differ from this one in one place."""
    if isinstance(value, bool) or value is None:
        yield not value
    elif isinstance(value, int | float):
        yield value + 1
    elif isinstance(value, str):
        yield value[:-1] + ("1" if value.endswith("0") else "0")
        yield value + "00"
    elif isinstance(value, list):
        for place, each in enumerate(value):
            yield value[:place] + value[place + 1 :]
            yield from ([*value[:place], other, *value[place + 1 :]] for other in bent(each))
        yield [*value, value[-1] if value else "0x80"]
    else:
        for name, each in value.items():
            yield {other: member for other, member in value.items() if other != name}
            yield from ({**value, name: other} for other in bent(each))
        yield {**value, "surplus": None}


def without_texts(answer: dict[str, Any]) -> list[dict[str, Any]]:
    """The answer without one of its texts: the server may no longer have it."""
    texts = answer["texts"]
    return [{**answer, "texts": {name: text for name, text in texts.items() if name != left_out}} for left_out in texts]


def test_a_proof_that_is_bent_in_any_member_is_refused(scene: Scene) -> None:
    client, tried = scene.client, 0
    answers: list[Any] = [
        client.get_object_state_proof(scene.objects[0]),
        client.get_template_state_proof(scene.template),
        client.get_state_proof(scene.variations[0]),
        client.get_state_proof(scene.wallet["id"]),
        client.get_state_proof(ABSENT),
    ]
    for answer in answers:
        verify_state_proof(answer, scene.trust, answer["key"])
        accepted = without_texts(answer)
        for other in bent(answer):
            if other not in accepted:
                tried += 1
                with pytest.raises(Refused):
                    verify_state_proof(other, scene.trust, answer["key"])
                    pytest.fail(json.dumps(other))
    assert tried > 300


def test_a_list_of_proofs_that_is_bent_in_any_member_is_refused(scene: Scene) -> None:
    page: Any = scene.client.list_objects(template_id=scene.template, prove=True)
    proofs = page["state_proofs"]
    verify_state_proofs(proofs, scene.trust, scene.objects)
    accepted = [{**proofs, "proofs": [*proofs["proofs"][:place], other, *proofs["proofs"][place + 1 :]]} for place, one in enumerate(proofs["proofs"]) for other in without_texts(one)]
    for other in (each for each in bent(proofs) if each not in accepted):
        with pytest.raises(Refused):
            verify_state_proofs(other, scene.trust, scene.objects)
            pytest.fail(json.dumps(other))


# Holds invariant 271.
def test_an_item_that_is_bent_in_any_proven_member_is_refused(scene: Scene) -> None:
    client = scene.client
    single: list[Any] = [client.get_object(scene.objects[0], prove=True), client.get_template(scene.template, prove=True)]
    pages: list[Any] = [client.list_objects(template_id=scene.template, limit=1, prove=True), client.list_variations(scene.template, limit=1, prove=True)]
    # No proof shows these of a template or of anything; the name of a variation is proven.
    unproven = {"created_at", "updated_at", "name", "description", "state_proof"}
    for answer in single:
        for name in answer.keys() - unproven:
            for other in ({**answer, name: value} for value in bent(answer[name])):
                with pytest.raises(Refused):
                    check_proven_answer(json.dumps(other).encode(), scene.trust, answer["id"])
                    pytest.fail(json.dumps(other))
    for page, named in zip(pages, (set(), {"name"})):
        (item,) = page["items"]
        for name in item.keys() - (unproven - named):
            for value in bent(item[name]):
                with pytest.raises(Refused):
                    check_proven_answer(json.dumps({**page, "items": [{**item, name: value}]}).encode(), scene.trust, None)
                    pytest.fail(f"{name}: {value}")


# Holds invariant 271.
def test_an_item_without_what_a_text_would_prove_and_without_the_text_is_refused(scene: Scene) -> None:
    client = scene.client
    answers: list[Any] = [client.get_object(scene.objects[0], prove=True), client.get_template(scene.template, prove=True)]
    tried = 0
    for answer in answers:
        proof = answer["state_proof"]
        for left_out in proof["texts"]:
            texts = {name: text for name, text in proof["texts"].items() if name != left_out}
            other = {**answer, "state_proof": {**proof, "texts": texts}}
            if left_out == "rules":
                other["actions"] = [{name: member for name, member in rule.items() if name != "schema"} for rule in answer["actions"]]
            else:
                other[left_out] = None
            with pytest.raises(Refused):
                check_proven_answer(json.dumps(other).encode(), scene.trust, answer["id"])
                pytest.fail(left_out)
            tried += 1
    assert tried == 4
