"""eth-account as the signing library: the server accepts everything that it signs, and nothing else."""

import copy
import json
import unittest

from eth_account import Account
from eth_account.messages import encode_typed_data

from harness import Server
from kedge_client import TYPES, Client, as_bytes, check_receipt

ORDER = 0xFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFEBAAEDCE6AF48A03BBFD25E8CD0364141


def flipped(value: bytes, at: int) -> bytes:
    """With the lowest bit of one byte changed."""
    return value[:at] + bytes([value[at] ^ 1]) + value[at + 1 :]


def flipped_address(address: str) -> str:
    return "0x" + flipped(as_bytes(address), 19).hex()


def body_of(message: dict) -> str:
    member = '{{"action_type":"{kind}","object_id":"{target}","payload":{payload}}}'.format
    actions = ",".join(member(**action) for action in message["actions"])
    return f'{{"actions":[{actions}],"atomic":{json.dumps(message["atomic"])}}}'


def mutations(domain: dict, message: dict):
    """Each part of the typed data, with the smallest change: what, domain, message."""

    def of_domain(what, value):
        return f"domain.{what}", {**domain, what: value}, message

    yield of_domain("name", domain["name"] + " ")
    yield of_domain("version", "2")
    yield of_domain("chainId", int(domain["chainId"]) + 1)
    yield of_domain("verifyingContract", flipped_address(domain["verifyingContract"]))

    def of_message(what, value):
        return what, domain, {**message, what: value}

    yield of_message("signer", flipped_address(message["signer"]))
    yield of_message("nonce", message["nonce"] + 1)
    yield of_message("deadline", message["deadline"] + 1)
    yield of_message("atomic", not message["atomic"])
    yield of_message("actions", list(reversed(message["actions"])))
    yield of_message("actions", message["actions"][:-1])
    yield of_message("actions", [*message["actions"], message["actions"][0]])
    for index, action in enumerate(message["actions"]):
        changes = {
            "kind": "set_attributes",
            "target": action["target"][:-1] + ("1" if action["target"].endswith("0") else "0"),
            "payload": action["payload"] + " ",
            "salt": flipped(action["salt"], 31),
        }
        for what, value in changes.items():
            changed = copy.deepcopy(message)
            changed["actions"][index][what] = value
            yield f"actions[{index}].{what}", domain, changed


class EthAccount(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = Server()
        cls.addClassCleanup(lambda: cls.assertEqual(cls(), cls.server.stop(), 0))
        cls.ann = Client(cls.server.url)
        cls.bob = Client(cls.server.url)
        cls.ann.register("ann@example.com")
        cls.bob.register("bob@example.com")
        payload = '{"name":"ticket","properties":{"hall":"north"}}'
        cls.template = cls.ann.change("POST", "/templates", ("template.create", "", payload))["id"]

    def mint(self) -> str:
        payload = f'{{ "template_id": "{self.template}", "properties": {{"seat": "Ä1 \\u0001", "n": 1.0}} }}'
        minted = self.ann.change("POST", "/objects", ("mint", self.template, payload))
        self.assertEqual(minted["properties"], {"hall": "north", "seat": "Ä1 \u0001", "n": 1.0})
        return minted["id"]

    def test_resources(self):
        target = self.mint()
        patched = self.ann.change("PATCH", f"/objects/{target}", ("update", target, '{"properties":{"n":null}}'))
        self.assertEqual((patched["properties"], patched["version"]), ({"hall": "north", "seat": "Ä1 \u0001"}, 2))
        given = ("transfer", target, json.dumps({"to": self.bob.account.address}))
        given = self.ann.change("POST", f"/objects/{target}/transfer", given)
        self.assertEqual(given["owner_address"], self.bob.account.address)

    def test_what_the_preview_has(self):
        target = self.mint()
        body = f'{{"action_type":"update","object_id":"{target}","payload": {{"properties" : {{"gate":"B"}}}} }}'
        _, contents, headers = self.ann.sign_preview(body)
        answer = self.ann.send("POST", "/ebus/actions", body, headers)
        self.assertEqual(answer.status, 201, answer)
        check_receipt(answer.body["receipt"], contents[0])

        mint = f'{{"action_type":"mint","template_id":"{self.template}","payload":{{}}}}'
        lock = f'{{"action_type":"lock","object_id":"{target}"}}'
        transfer = f'{{"action_type":"transfer","object_id":"{target}","payload":{{"to":"{self.bob.account.address}"}}}}'
        batches = [("true", [mint, transfer], []), ("false", [mint, lock, mint], [1])]
        for atomic, actions, refused in batches:
            body = f'{{"actions":[{", ".join(actions)}],"atomic":{atomic}}}'
            preview, contents, headers = self.ann.sign_preview(body)
            self.assertTrue(preview["would_commit"])
            answer = self.ann.send("POST", "/ebus/actions/batch", body, headers)
            self.assertEqual(answer.status, 200, answer)
            for index, (result, content) in enumerate(zip(answer.body["results"], contents, strict=True)):
                if index in refused:
                    self.assertEqual(result["error"]["code"], "FORBIDDEN")
                else:
                    self.assertEqual(result["content"], content)
        self.assertEqual(self.bob.read(f"/objects/{target}")["owner_address"], self.bob.account.address)

    def request(self) -> tuple[dict, bytes]:
        """Two updates of a new object that are valid as they are."""
        target = self.mint()
        payloads = ['{"properties":{"s":1}}', '{"properties":{"s":2}}']
        actions = [{"kind": "update", "target": target, "payload": payload} for payload in payloads]
        return self.ann.message(actions, atomic=True)

    def refused(self, body: str, headers: dict, status: int, code: str):
        """Sends, and checks that nothing has changed."""
        known = self.ann.read("/checkpoint")["checkpoint"]["sequence"]
        answer = self.ann.send("POST", "/ebus/actions/batch", body, headers)
        self.assertEqual((answer.status, answer.body["code"]), (status, code), answer)
        self.assertEqual(self.ann.read("/checkpoint")["checkpoint"]["sequence"], known)

    def test_a_signature_of_other_typed_data(self):
        message, seed = self.request()
        body, count = body_of(message), 0
        for what, domain, changed in mutations(self.ann.domain, message):
            with self.subTest(what):
                headers = self.ann.headers(message, seed, self.ann.sign(changed, domain))
                self.refused(body, headers, 401, "SIGNATURE_INVALID")
            count += 1
        self.assertEqual(count, 11 + 2 * 4)
        # None of this spent the nonce: the unchanged request is accepted.
        answer = self.ann.send("POST", "/ebus/actions/batch", body, self.ann.headers(message, seed, self.ann.sign(message)))
        self.assertEqual(answer.status, 200, answer)

    def test_a_request_other_than_the_signed(self):
        message, seed = self.request()
        signature = self.ann.sign(message)
        headers = self.ann.headers(message, seed, signature)
        for what, domain, changed in mutations(self.ann.domain, message):
            if what.startswith("actions") and not what.endswith("salt") or what == "atomic":
                body = body_of(changed)
                # White space around a payload is none of it.
                if body.replace(" ", "") != body_of(message):
                    with self.subTest(what):
                        self.refused(body, headers, 401, "SIGNATURE_INVALID")
        s = int.from_bytes(signature[32:64], "big")
        high = signature[:32] + (ORDER - s).to_bytes(32, "big") + bytes([55 - signature[64]])
        forged = [flipped(signature, 0), flipped(signature, 50), signature[:64] + bytes([55 - signature[64]]), high, signature[:64]]
        changes = [{"X-Signature": f"0x{one.hex()}"} for one in forged]
        changes += [
            {"X-Signature-Nonce": str(message["nonce"] + 1)},
            {"X-Signature-Deadline": str(message["deadline"] + 1)},
            {"X-Signature-Salt": f"0x{flipped(seed, 31).hex()}"},
            {"X-Signature-Address": self.bob.account.address},
        ]
        for change in changes:
            with self.subTest(str(change)):
                self.refused(body_of(message), {**headers, **change}, 401, "SIGNATURE_INVALID")
        self.refused(body_of(message), {**headers, "X-Signature-Deadline": "1"}, 401, "DEADLINE_EXPIRED")
        stranger = Account.create()
        foreign = {**message, "signer": stranger.address}
        data = {"types": TYPES, "primaryType": "ActionRequest", "domain": self.ann.domain, "message": foreign}
        signed = bytes(stranger.sign_message(encode_typed_data(full_message=data)).signature)
        self.refused(body_of(message), self.ann.headers(foreign, seed, signed), 403, "FORBIDDEN")
        answer = self.ann.send("POST", "/ebus/actions/batch", body_of(message), headers)
        self.assertEqual(answer.status, 200, answer)
        self.refused(body_of(message), headers, 409, "NONCE_REUSED")


if __name__ == "__main__":
    unittest.main()
