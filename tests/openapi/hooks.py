"""Additions to the document for schemathesis: a wallet, signatures of requests, and the few rules that no
schema can state. Only right requests are adjusted; wrong ones are sent as they are made."""

import atexit
import json
import os
import threading
import time
from collections import Counter
from pathlib import Path
from unicodedata import category
from unicodedata import name as name_of

import requests
import schemathesis
from hypothesis import strategies as st
from schemathesis.core.parameters import ParameterLocation

from server import PATIENCE_S
from signing import Circumstances, Key, compact, domain_of, signed_actions

URL, HOOK = os.environ["KEDGE_URL"], os.environ["KEDGE_HOOK"]
EMAIL, PASSWORD = f"fuzz-{os.getpid()}@example.com", "correct horse battery staple"
BLIND = "Tm90IGd1ZXNzYWJsZSBhdCBhbGw="

# The log's sequences and batches that requests may ask for; the world is made in more.
SEQUENCES = 4

# Addresses as requests may write them: EIP-55's mixed case, or one case throughout.
addresses = st.binary(min_size=32, max_size=32).map(lambda seed: Key(b"\x01" + seed[1:]).address)
schemathesis.openapi.format("eip55-address", st.one_of(addresses, addresses.map(str.lower)))


class World:
    """A wallet with a few resources of each kind, so that reads have content from the beginning."""

    def __init__(self) -> None:
        answer = requests.get(f"{URL}/.well-known/eip712-domain.json", timeout=PATIENCE_S)
        self.domain = domain_of(answer.json())
        self.document = requests.get(f"{URL}/openapi.json", timeout=PATIENCE_S).json()
        self.key = Key.random()
        self.lock = threading.Lock()
        self.headers: dict[str, str] = {}
        self.wallet_id = self.organization_id = ""
        body = {"email": EMAIL, "password": PASSWORD, "address": self.key.address, "blind": BLIND}
        wallet = self.post("/wallets/register", body)["wallet"]
        self.wallet_id, self.organization_id = wallet["id"], wallet["organization_id"]
        self.login()
        rules = [{"kind": kind, "who": "anyone"} for kind in ("mint", "x.redeem")]
        template = {"public_access": True, "actions": rules}
        made = [self.post("/templates", {**template, "name": name}) for name in ("Fuzz", "More", "Other")]
        self.post("/objects", {"template_id": made[0]["id"]})
        self.post("/webhooks", {"url": HOOK, "events": ["object.created"]})
        # Exports and proofs are of a checkpoint, which has to cover this.
        covering = {"at_least": SEQUENCES, "wait": PATIENCE_S}
        answer = requests.get(f"{URL}/checkpoint", params=covering, timeout=2 * PATIENCE_S)
        assert answer.ok, answer.text

    def login(self) -> str:
        answer = requests.post(f"{URL}/wallets/login", json={"email": EMAIL, "password": PASSWORD}, timeout=PATIENCE_S)
        token = answer.json()["access_token"]
        self.headers = {"Authorization": f"Bearer {token}"}
        return token

    def circumstances(self, path_id: str = "", media_type: str = "") -> Circumstances:
        return Circumstances(path_id, self.wallet_id, self.organization_id, media_type)

    def post(self, path: str, body: dict) -> dict:
        text = compact(body).encode()
        rule = self.document["paths"][path]["post"]["x-signature"]
        actions, atomic = signed_actions(rule, text, self.circumstances())
        headers = {**self.headers, **self.sign(self.key, actions, atomic), "Content-Type": "application/json"}
        answer = requests.post(URL + path, data=text, headers=headers, timeout=PATIENCE_S)
        assert answer.ok, answer.text
        return answer.json()

    def sign(self, key: Key, actions: list[tuple[str, str, str]], atomic: bool) -> dict[str, str]:
        with self.lock:
            return key.sign(self.domain, actions, atomic)


WORLD = World()


@schemathesis.auth()
class Bearer:
    """The wallet's access token."""

    def get(self, case: schemathesis.Case, ctx: schemathesis.AuthContext) -> str:
        return WORLD.login()

    def set(self, case: schemathesis.Case, data: str, ctx: schemathesis.AuthContext) -> None:
        if case.operation.definition.raw.get("security"):
            case.headers["Authorization"] = f"Bearer {data}"


class Signature(requests.auth.AuthBase):
    """Signs the bytes that are sent."""

    def __init__(self, rule: dict, path_id: str, key: Key) -> None:
        self.rule, self.path_id, self.key = rule, path_id, key

    def __call__(self, request: requests.PreparedRequest) -> requests.PreparedRequest:
        body = request.body or b""
        body = body.encode() if isinstance(body, str) else body
        try:
            of = WORLD.circumstances(self.path_id, request.headers.get("Content-Type", ""))
            actions, atomic = signed_actions(self.rule, body, of)
            headers = WORLD.sign(self.key, actions, atomic)
        except (KeyError, TypeError, ValueError, AttributeError):
            # This cannot be signed: the server has to refuse the body.
            headers = WORLD.sign(self.key, [("update", "", "{}")], False)
        request.headers.update(headers)
        return request


def whole(value: object) -> object:
    """Writes whole numbers as integers: 1.0 is one for JSON Schema, but a fraction for the service."""
    if isinstance(value, dict):
        return {name: whole(each) for name, each in value.items()}
    if isinstance(value, list):
        return [whole(each) for each in value]
    return int(value) if isinstance(value, float) and value.is_integer() else value


def is_sequence(value: object) -> bool:
    """Whether the document allows it: a larger one is refused and waits for nothing."""
    text = str(value)
    return text.isascii() and text.isdigit() and int(text) < 2**63


def visible(name: str) -> str:
    """The name without invisible characters, which Unicode defines and no schema can."""
    seen = (
        each
        for each in name
        if each.isprintable() and category(each) != "Mn" and each != "\u2800" and "FILLER" not in name_of(each, "")
    )
    return "".join(seen) or "x"


def is_negative(case: schemathesis.Case, location: ParameterLocation) -> bool:
    return case.meta is not None and case.meta.is_negative_at(location)


@schemathesis.hook
def before_load_schema(ctx: schemathesis.HookContext, raw_schema: dict) -> None:
    """Links with their bodies in OpenAPI's form, which breaks some generators of clients."""
    for item in raw_schema["paths"].values():
        for operation in item.values():
            for response in operation["responses"].values():
                for link in response.get("links", {}).values():
                    if "x-request-body" in link:
                        link["requestBody"] = link.pop("x-request-body")


CALLS: Counter[str] = Counter()


@atexit.register
def write_calls() -> None:
    """The number of calls of each operation: fuzz.py checks that none was left out."""
    Path(os.environ["KEDGE_CALLS"]).write_text(json.dumps(CALLS))


@schemathesis.hook
def before_call(ctx: schemathesis.HookContext, case: schemathesis.Case, kwargs: dict) -> None:
    raw = case.operation.definition.raw
    CALLS[raw["operationId"]] += 1
    if not is_negative(case, ParameterLocation.QUERY):
        arrange_query(case)
    elif isinstance(case.query, dict):
        for name in ("min_sequence", "at_least"):
            if is_sequence(case.query.get(name, "")):
                # It would only wait.
                case.query[name] = 0
    key = WORLD.key if raw["operationId"] != "registerWallet" else Key.random()
    if not is_negative(case, ParameterLocation.BODY) and isinstance(case.body, dict):
        case.body = whole(case.body)
        if raw["operationId"] == "registerWallet":
            case.body |= {"address": key.address, "password": PASSWORD}
        arrange_body(case)
    if not is_negative(case, ParameterLocation.HEADER):
        arrange_headers(case)
        rule = raw.get("x-signature")
        if rule:
            path_id = str((case.path_parameters or {}).get("id", ""))
            kwargs["auth"] = Signature(rule, path_id, key)


def arrange_headers(case: schemathesis.Case) -> None:
    """Takes conditions from an earlier answer, digests from the body, and positions from the log."""
    headers = case.headers or {}
    if "If-Match" in headers:
        headers["If-Match"] = "*"
    for name in ("Content-Digest", "Idempotency-Key", "Last-Event-ID"):
        headers.pop(name, None)


def arrange_query(case: schemathesis.Case) -> None:
    """Takes cursors from an earlier answer, and sizes, batches and sequences from the log. With proofs, few items are
    asked for, and no earlier sequence."""
    query = case.query or {}
    query.pop("cursor", None)
    for name in ("min_sequence", "at_least"):
        if name in query:
            query[name] = int(query[name]) % SEQUENCES
    if "from" in query:
        query["from"] = 1 + int(query["from"]) % (SEQUENCES - 1)
    if "from" in query and "to" in query:
        query["to"] = query["from"] + int(query["to"]) % (SEQUENCES - query["from"])
    if str(query.get("prove")).lower() == "true":
        query.pop("at_sequence", None)
        if "limit" in query:
            query["limit"] = 1 + int(query["limit"]) % 100


def arrange_body(case: schemathesis.Case) -> None:
    """Makes a body valid: rules, permissions and events without repetition, a time in the future, a host that
    answers, valid schemas, the wallet of the path, and a complete change of password."""
    body, operation = case.body, case.operation.definition.raw["operationId"]
    for named in (body, *(each for each in body.get("variations") or [] if isinstance(each, dict))):
        for member in ("name", "nickname", "organization_name"):
            if isinstance(named.get(member), str):
                named[member] = visible(named[member])
    if operation in ("createTemplate", "updateTemplate"):
        rules = [rule for rule in body.get("actions") or [] if isinstance(rule, dict)]
        for rule in rules:
            if rule.get("schema") is not None:
                rule["schema"] = {"type": "object"} if str(rule.get("kind")).startswith("x.") else None
        if body.get("actions"):
            body["actions"] = list({rule.get("kind"): rule for rule in rules}.values())
        if body.get("schema") is not None:
            body["schema"] = {"type": "object"}
    if operation == "createApiKey":
        body["permissions"] = list({each["resource"]: each for each in body["permissions"]}.values())
        if body.get("expires_at"):
            body["expires_at"] = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() + 3600))
    if operation in ("createWebhook", "updateWebhook"):
        if body.get("url") is not None:
            body["url"] = HOOK
        if body.get("events") is not None:
            body["events"] = list(dict.fromkeys(body["events"]))
    if operation == "addWalletKey":
        key = Key.random()
        body |= {"address": key.address, "possession": key.consent(WORLD.domain, WORLD.wallet_id)}
    if operation == "setMemberRole":
        body["wallet_id"] = (case.path_parameters or {}).get("id", "")
    if operation == "updateOwnWallet":
        # The tests' login must not change.
        for name in ("email", "password", "current_password", "blind"):
            body.pop(name, None)
    if operation == "previewActions":
        body.pop("signer", None)
    if operation in ("searchObjects", "countObjects"):
        body["filter"] = filter_of(body["filter"])
        body.pop("cursor", None)
        for each in body.get("sort") or []:
            each["field"] = "created_at"


CONDITIONS = [
    {"field": "status", "op": "eq", "value": "active"},
    {"field": "properties.a", "op": "exists", "value": False},
    {"field": "created_at", "op": "gt", "value": "2020-01-01T00:00:00Z"},
    {"field": "version", "op": "in", "value": [1, 2]},
]


def filter_of(drawn: dict, depth: int = 0) -> dict:
    """A tree of the same shape over conditions that make sense."""
    for name in ("and", "or"):
        if drawn.get(name) and depth < 4:
            return {name: [filter_of(each, depth + 1) for each in drawn[name][:4]]}
    if "not" in drawn and depth < 4:
        return {"not": filter_of(drawn["not"], depth + 1)}
    return CONDITIONS[len(str(drawn)) % len(CONDITIONS)]


@schemathesis.check
def refusals_are_told_in_results(ctx: schemathesis.CheckContext, response: schemathesis.Response, case: schemathesis.Case) -> None:
    """An answer about several actions is 200 even if one is wrong; then its result says so."""
    several = case.operation.definition.raw["operationId"] in ("submitBatch", "previewActions")
    if several and response.status_code == 200 and is_negative(case, ParameterLocation.BODY):
        assert any("error" in result for result in response.json()["results"]), "nothing tells what is wrong"
