"""Every operation of the service, called with both clients on a real server."""

import base64
import io
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.request import urlopen

import json

import pytest
from kedge import ApiError, Kedge, KeySigner, NotModified, Refused, key_addition, models, operations, verify_webhook
from standardwebhooks import Webhook

from driven import PASSWORD, SENT, Maker, email, eventually, registered
from server import Server


class Receiver(ThreadingHTTPServer):
    """Takes every message and keeps it as it came."""

    def __init__(self) -> None:
        self.messages: list[tuple[dict[str, str], bytes]] = []

        class Handler(BaseHTTPRequestHandler):
            server: Receiver

            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["content-length"]))
                self.server.messages.append((dict(self.headers.items()), body))
                self.send_response(204)
                self.end_headers()

            def log_message(self, *_: object) -> None:
                pass

        super().__init__(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.serve_forever, daemon=True).start()
        self.url = f"http://127.0.0.1:{self.server_port}/hook"


def refused(client: Kedge, call: object, status: int) -> ApiError:
    with pytest.raises(ApiError) as found:
        client.answer(call)  # type: ignore[arg-type]
    assert found.value.status == status and found.value.code and found.value.request_id
    return found.value


def accounts(ann: Kedge, make: Maker, url: str) -> None:
    me = ann.get_own_wallet()
    assert me["nonces"][0]["address"] == ann.session.own_signer().address
    second = KeySigner.random()
    addition = key_addition(second, ann.trust().domain, me["id"])
    assert second.address in ann.add_wallet_key(addition)["keys"]
    assert second.address not in ann.remove_wallet_key(second.address)["keys"]
    stranger = KeySigner.random()
    wrong: models.SignerBody = {"address": stranger.address, "possession": addition["possession"]}
    refused(ann, operations.add_wallet_key(wrong), 422)
    assert ann.update_own_wallet({"nickname": "Ann"})["nickname"] == "Ann"
    ann.update_own_wallet({"password": PASSWORD + "!", "current_password": PASSWORD})
    ann.login({"email": me["email"], "password": PASSWORD + "!"})
    tokens = ann.session.tokens
    assert tokens is not None
    ann.refresh_token({"refresh_token": tokens.refresh})
    assert ann.session.tokens is not None and ann.session.tokens.refresh != tokens.refresh

    organization = ann.get_own_organization()
    invitation = ann.invite_member({"role": "member"})
    revoked = ann.invite_member({"role": "admin"})
    ann.revoke_invitation(revoked["id"])
    assert {one["id"] for one in ann.iter_invitations()} >= {invitation["id"]}
    bob = make(url, key=KeySigner.random())
    joined = bob.register(email(), PASSWORD, organization_id=organization["id"], invitation=invitation["code"])
    bobs = joined["wallet"]["id"]
    assert ann.set_member_role(bobs, {"wallet_id": bobs, "role": "admin"})["role"] == "admin"
    assert [one["id"] for one in ann.iter_members(limit=1)] == [me["id"], bobs]
    ann.remove_member(bobs)
    refused(bob, operations.get_own_wallet(), 401)


def keys(ann: Kedge, make: Maker, url: str, template: str) -> None:
    made = ann.create_api_key(
        {
            "name": "writer",
            "permissions": [
                {"resource": "objects", "crud": {"create": True, "read": True}},
                {"resource": "actions", "crud": {"create": True, "read": True}},
            ],
        }
    )
    assert ann.get_api_key(made["id"])["name"] == "writer"
    assert [one["id"] for one in ann.list_api_keys()["items"]] == [made["id"]]
    # A key alone knows neither tokens nor nonces: the first refusal states the highest.
    program = make(url, api_key=made["key"], key=ann.session.signer)
    assert program.mint_object({"template_id": template})["template_id"] == template
    refused(program, operations.list_webhooks(), 403)
    rotated = ann.rotate_api_key(made["id"], {"overlap_s": 0})
    refused(program, operations.list_objects(), 401)
    assert make(url, api_key=rotated["key"]).list_objects()["items"]
    ann.delete_api_key(made["id"])


def objects(ann: Kedge, template: str) -> None:
    variations = ann.create_variations(template, {"variations": [{"name": "north", "properties": {"hall": "north"}}]})
    assert [one["id"] for one in ann.iter_variations(template)] == [variations["items"][0]["id"]]
    body = {"template_id": template, "variation_id": variations["items"][0]["id"], "properties": {"seat": "Ä1 \u0001", "n": 1.5}}
    minted = ann.answer(operations.mint_object(body))  # type: ignore[arg-type]
    one = minted.body["id"]
    assert one == minted.made("obj") and minted.sequence == minted.body["sequence"]
    assert minted.body["properties"] == {"hall": "north", "seat": "Ä1 \u0001", "n": 1.5}
    read = ann.answer(operations.get_object(one, min_sequence=minted.body["sequence"]))
    with pytest.raises(NotModified):
        ann.get_object(one, if_none_match=read.etag)
    assert ann.update_object(one, {"properties": {"n": None}}, if_match=read.etag)["version"] == 2
    refused(ann, operations.update_object(one, {"properties": {}}, if_match=read.etag), 412)
    assert ann.get_object(one, at_sequence=minted.body["sequence"])["properties"]["n"] == 1.5
    friend = KeySigner.random()
    assert ann.count_objects({"filter": {"field": "properties.seat", "op": "eq", "value": "Ä1 \u0001"}}) == {"count": 1}
    found = ann.iter_objects_found({"filter": {"field": "template_id", "op": "eq", "value": template}, "limit": 1})
    assert one in [each["id"] for each in found]
    assert [each["action_type"] for each in ann.iter_object_history(one)] == ["update", "mint"]
    refused(ann, operations.transfer_object(one, {"to": friend.address}), 404)
    me = ann.get_own_wallet()["id"]
    assert ann.transfer_object(one, {"to": me})["owner_id"] == me
    action = ann.submit_action({"action_type": "emit", "object_id": one, "payload": {"said": ["Ä", 1e3]}})
    assert action["payload"] == {"said": ["Ä", 1e3]}
    assert ann.get_action(action["id"])["sequence"] == action["sequence"]
    assert action["id"] in [each["id"] for each in ann.iter_actions(limit=2)]
    preview = ann.preview_actions({"action_type": "lock", "object_id": one})
    assert preview["would_commit"] and preview["typed_data"]["message"]["actions"][0]["kind"] == "lock"


def state(ann: Kedge, template: str) -> None:
    sequence = ann.get_template(template)["sequence"]
    assert ann.get_checkpoint(at_least=sequence, wait=60)["checkpoint"]["sequence"] >= sequence
    assert ann.get_template_state_proof(template)["present"] and ann.get_state_proof(template)["present"]
    assert not ann.get_object_state_proof("obj_2enpephrjz2faj0y99bvwk13a4")["present"]


def log(ann: Kedge) -> None:
    assert ann.get_domain()["chainId"] == 31337
    assert ann.list_anchors()["has_more"] is False
    refused(ann, operations.get_anchor("99999"), 404)
    batches = list(ann.iter_batches(limit=3))
    assert [one["number"] for one in batches] == list(range(len(batches)))
    last = batches[-1]
    assert ann.get_batch(last["number"])["id"] == last["id"]
    assert len(ann.get_batch_leaves(last["id"])["leaves"]) == last["action_count"]
    assert len(list(ann.iter_batch_actions(last["id"]))) == last["action_count"]
    assert ann.get_checkpoint(at_least=last["last_sequence"], wait=60)["checkpoint"]["batches"] >= len(batches)
    assert ann.get_consistency_proof(from_=1, to=len(batches))["to"] == len(batches)
    assert [one["from_batch"] for one in ann.iter_sequencer_keys()] == [0]
    assert list(ann.iter_disputes()) == []
    refused(ann, operations.get_dispute("dsp_00000000000000000000000000"), 404)
    evidence: object = {"format": "kedge.evidence", "version": 1, "evidence": {"fault": "broken_link"}}
    refused(ann, operations.bring_dispute(evidence), 400)  # type: ignore[arg-type]
    assert ann.export_log().startswith('{"type":"log"')
    proof = ann.get_action_proof(last["first_sequence"], form="authorship")
    assert proof["leaf"]["sequence"] == last["first_sequence"]


def files(ann: Kedge, folder: Path) -> None:
    content = bytes(range(256)) * 100
    (folder / "note.bin").write_bytes(content)
    one = ann.upload_file(folder / "note.bin")
    two = ann.upload_file(io.BytesIO(content), name='Ä "b".bin')
    assert (one["name"], two["name"], one["sha256"]) == ("note.bin", 'Ä "b".bin', two["sha256"])
    assert [each["id"] for each in ann.iter_files()] == [one["id"], two["id"]]
    assert ann.get_file_content(one["id"], range="bytes=2-4") == content[2:5]
    taken = io.BytesIO()
    assert ann.download_file(two["id"], taken)["size_bytes"] == len(content)
    assert taken.getvalue() == content
    with pytest.raises(ValueError, match="need a name"):
        ann.upload_file(b"nameless")


def webhooks(ann: Kedge) -> None:
    receiver = Receiver()
    made = ann.create_webhook({"url": receiver.url, "events": ["template.created"]})
    rotated = ann.rotate_webhook_secret(made["id"], {"overlap_s": 600})
    assert ann.get_webhook(made["id"])["url"] == receiver.url
    assert ann.update_webhook(made["id"], {"description": "templates"})["description"] == "templates"
    ann.create_template({"name": "Ä ticket"})
    headers, body = eventually("a message", lambda: receiver.messages)[0]
    check_message(made["secret"], rotated["secret"], headers, body)
    deliveries = eventually("the delivery", lambda: ann.list_webhook_deliveries(made["id"])["items"])
    eventually("its end", lambda: ann.list_webhook_deliveries(made["id"])["items"][0]["status"] == "delivered")
    assert ann.redeliver(made["id"], deliveries[0]["id"])["webhook_id"] == made["id"]
    ann.test_webhook(made["id"])
    eventually("all messages", lambda: len(receiver.messages) >= 3)
    assert made["id"] in [one["id"] for one in ann.iter_webhooks()]
    ann.delete_webhook(made["id"])
    receiver.shutdown()
    receiver.server_close()


def check_message(secret: str, other: str, headers: dict[str, str], body: bytes) -> None:
    # Both secrets sign while the old one still counts; the reference library agrees.
    for one in (secret, other):
        event = verify_webhook(one, headers, body)
        assert (event["type"], event["data"].get("name")) == ("template.created", "Ä ticket")
        assert Webhook(one).verify(body, {name.lower(): value for name, value in headers.items()}) == event
    key = base64.b64decode(secret.removeprefix("whsec_"))
    stranger = "whsec_" + base64.b64encode(key[:-1] + bytes([key[-1] ^ 1])).decode()
    assert verify_webhook([stranger, secret], headers, body)
    named = {name.lower(): value for name, value in headers.items()}
    sent_s = int(named["webhook-timestamp"])
    changes: list[tuple[str, dict[str, str], bytes, float | None]] = [
        (stranger, named, body, None),
        (secret, named, body + b" ", None),
        (secret, named, body.replace(b"ticket", b"tickets"), None),
        (secret, {**named, "webhook-id": named["webhook-id"] + "0"}, body, None),
        (secret, {**named, "webhook-timestamp": str(sent_s + 1)}, body, None),
        (secret, {**named, "webhook-timestamp": "soon"}, body, None),
        (secret, {**named, "webhook-signature": "v1,AAAA"}, body, None),
        (secret, {**named, "webhook-signature": named["webhook-signature"].replace("v1,", "v2,")}, body, None),
        (secret, named, body, sent_s + 301.0),
        (secret, named, body, sent_s - 301.0),
        *((secret, {key: value for key, value in named.items() if key != name}, body, None) for name in named if name.startswith("webhook-")),
    ]
    for used, changed, sent, now_s in changes:
        with pytest.raises(Refused):
            verify_webhook(used, changed, sent, now_s=now_s)
    with pytest.raises(ValueError):
        verify_webhook("whsec_!", headers, body)


def test_every_operation(make: Maker, server: Server, tmp_path: Path) -> None:
    SENT.clear()
    ann = registered(make, server.url)
    name = f"ticket of {email()}"
    made = ann.create_template({"name": name, "properties": {"hall": "south"}, "schema": {"properties": {"seat": {"x-index": True}}}})
    template = made["id"]
    assert ann.update_template(template, {"description": "for one evening"})["version"] == 2
    assert ann.get_template(template)["name"] == name
    assert [one["id"] for one in ann.iter_templates()] == [template]
    objects(ann, template)
    assert len(list(ann.iter_objects(template_id=template))) == 1
    ann.submit_batch({"actions": [{"action_type": "mint", "template_id": template}]}, prefer="return=minimal")
    accounts(ann, make, server.url)
    keys(ann, make, server.url, template)
    state(ann, template)
    log(ann)
    files(ann, tmp_path)
    webhooks(ann)
    types = {event["type"] for event in ann.iter_events(type="object.*,template.created")}
    assert types == {"object.created", "object.updated", "object.transferred", "template.created"}
    assert ann.get_health()["status"] == "ok"
    assert ann.get_readiness()["status"] == "ready"
    assert ann.get_version()["name"]
    assert ann.get_token_keys()["keys"]
    assert ann.get_document()["openapi"].startswith("3.1")
    assert ann.get_reference().startswith("<!doctype html>") and ann.get_reference_style() and ann.get_reference_script()
    ann.log_out()
    assert ann.session.tokens is None
    with urlopen(f"{server.url}/openapi.json") as answer:
        document = json.load(answer)
    known = {spec["operationId"] for item in document["paths"].values() for spec in item.values()}
    # `test_events` follows the stream.
    assert known - SENT == {"streamEvents"}
