"""The examples of the document: requests that are really sent, in one sequence, with real answers.

`python story.py record` sends the story of src/api/<heading>/examples.json to a new server and rewrites the files;
test_examples.py sends it and compares. The entries of all headings are one story, in the order of `step`. A new
example is an entry without an answer and with the step of the entry before it; recording numbers all again. A value of
an earlier answer is `{{operation.name/member/…}}`, or `{{operation.name#Header}}`, until it is recorded. Evidence of a fault is
forged each time, by `forged` milliseconds. A claim is proved each time, about the action of the proof file that
`claimed` names. The body of a key that joins a wallet is made each time, for the key that `consents` names.
"""

import json
import re
import sys
import time
from pathlib import Path

import requests

import claims
import forgery
import multipart
from server import PATIENCE_S, Receiver, Server
from signing import Circumstances, Key, compact, domain_of, signed_actions

HEADINGS = Path(__file__).parents[2] / "src" / "api"
# Longer answers are not shown.
SHOWN_BYTES_MAX = 20_000
# Headers of answers that later requests of the story use.
KEPT_HEADERS = ("ETag",)
# Placeholders for secrets, which must not be published.
TOKENS = {
    "access_token": "eyJ0eXAiOiJKV1QiLCJhbGciOiJFZERTQSJ9.…",
    "refresh_token": "Yk2mVw7yZ0…",
    "key": "kdg_live_4mTqV9…",
    "secret": "whsec_9tLw2QmX…",
    "code": "kdi_7hRk3P…",
    "invitation": "kdi_7hRk3P…",
}
# Codes of errors are no secrets, and shorter than any.
ERROR_CODE_CHARS_MAX = 23
# The placeholder for the URL of the receiver on this machine.
HOOK = "https://hooks.example.com/kedge"

# Values that depend on the minute of the run: only the schema is checked.
COUNTED = ("/usage/", "/forecast/")

ID = r"[a-z]{3}_[0-7][0-9a-hjkmnp-tv-z]{25}"

VOLATILE = [
    ("id", rf"\b{ID}\b"),
    ("hex", r"\b0x[0-9a-fA-F]{8,}\b"),
    ("time", r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z"),
    ("digest", r"sha-256=:[A-Za-z0-9+/]{43}=:"),
    ("etag", r'"[0-9a-f]{32}"|"\d+\.[0-9a-f]{16}"'),
    ("base64url", r"(?<![A-Za-z0-9_-])[A-Za-z0-9_-]{32,43}(?![A-Za-z0-9_-])"),
    ("request id", r"\b[0-9a-f]{12}-[0-9a-f]+\b"),
    ("version", r"^\d+\.\d+\.\d+$"),
    ("seconds", r"^1[789]\d{8}$"),
]


def plain(text: str) -> str:
    """A text without the parts that differ between runs."""
    for name, pattern in VOLATILE:
        text = re.sub(pattern, f"<{name}>", text)
    return text


def differences(recorded: object, got: object, place: str = "") -> list[str]:
    """The places where an answer's form or lasting values differ from the recorded one."""
    # How many nodes a proof has depends on the ids.
    if place.startswith(COUNTED) or place.endswith("/nodes"):
        return []
    if isinstance(recorded, dict) and isinstance(got, dict):
        names = sorted(recorded.keys() ^ got.keys())
        found = [f"{place}/{name} is {'new' if name in got else 'gone'}" for name in names]
        for name in recorded.keys() & got.keys():
            found += differences(recorded[name], got[name], f"{place}/{name}")
        return found
    if isinstance(recorded, list) and isinstance(got, list):
        if len(recorded) != len(got):
            return [f"{place} has {len(got)} items, not {len(recorded)}"]
        pairs = enumerate(zip(recorded, got, strict=True))
        return [each for i, (one, other) in pairs for each in differences(one, other, f"{place}/{i}")]
    if isinstance(recorded, str) and isinstance(got, str):
        same = plain(recorded) == plain(got)
        return [] if same else [f"{place} is {got!r}, not {recorded!r}"]
    is_time = isinstance(recorded, int) and isinstance(got, int) and min(recorded, got) > 1_000_000_000
    if type(recorded) is type(got) and (recorded == got or is_time):
        return []
    return [f"{place} is {got!r}, not {recorded!r}"]


class Story:
    """Sends the entries to a server, one after the other."""

    def __init__(self, server: Server, receiver: Receiver) -> None:
        self.server = server
        self.receiver = receiver
        self.http = requests.Session()
        self.document = self.http.get(f"{server.url}/openapi.json", timeout=PATIENCE_S).json()
        domain = self.http.get(f"{server.url}/.well-known/eip712-domain.json", timeout=PATIENCE_S)
        self.domain = domain_of(domain.json())
        self.operations = {
            operation["operationId"]: (method, path, operation)
            for path, item in self.document["paths"].items()
            for method, operation in item.items()
        }
        self.keys: dict[str, Key] = {}
        self.tokens: dict[str, str] = {}
        self.answers: dict[str, requests.Response] = {}
        # Recorded values, with those of this run.
        self.values: dict[str, str] = {HOOK: receiver.url}
        # The wallet and the organization of each caller.
        self.wallets: dict[str, tuple[str, str]] = {}

    def key(self, name: str) -> Key:
        return self.keys.setdefault(name, Key.named(name))

    def now(self, value: object) -> object:
        """A recorded value with this run's identifiers, tags and tokens."""
        if isinstance(value, dict):
            return {name: self.now(each) for name, each in value.items()}
        if isinstance(value, list):
            return [self.now(each) for each in value]
        if not isinstance(value, str):
            return value
        found = re.fullmatch(r"\{\{([\w.-]+?)(?:#([\w-]+)|((?:/[\w-]+)+))\}\}", value)
        if found:
            return self.earlier(*found.groups())
        if value.startswith("{{address of "):
            return self.key(value[len("{{address of ") : -2]).address
        return self.values.get(value, value)

    def earlier(self, name: str, header: str | None, pointer: str | None) -> object:
        answer = self.answers[name]
        if header:
            return answer.headers[header]
        value = answer.json()
        for part in pointer.split("/")[1:]:
            value = value[int(part)] if isinstance(value, list) else value[part]
        return value

    def learn(self, recorded: object, got: object) -> None:
        """Remembers this run's value for each recorded one."""
        if isinstance(recorded, dict) and isinstance(got, dict):
            for name in recorded.keys() & got.keys():
                self.learn(recorded[name], got[name])
        elif isinstance(recorded, list) and isinstance(got, list):
            for one, other in zip(recorded, got, strict=False):
                self.learn(one, other)
        elif isinstance(recorded, str) and isinstance(got, str) and recorded != got:
            self.values[recorded] = got

    def send(self, entry: dict) -> tuple[dict, requests.Response]:
        """Sends an entry; returns it as it was sent, with the answer."""
        method, path, operation = self.operations[entry["operation"]]
        sent = {name: self.now(entry[name]) for name in ("path", "query", "headers", "body") if name in entry}
        if "forged" in entry:
            batch = self.answers["getBatch.by-number"].json()
            sent["body"] = forgery.evidence(self.server.directory, self.domain, batch, entry["forged"])
        if "claimed" in entry:
            proof = self.answers[entry["claimed"]].json()
            sent["body"] = claims.proved(self.server, proof, self.key(entry["as"]).address)
        if "consents" in entry:
            wallet_id, _ = self.wallets[entry["as"]]
            key = self.key(entry["consents"])
            sent["body"] = {"address": key.address, "possession": key.consent(self.domain, wallet_id)}
        if "path" in sent:
            sent["path"] = {name: str(value) for name, value in sent["path"].items()}
        for name, value in sent.get("path", {}).items():
            path = path.replace(f"{{{name}}}", value)
        headers = dict(sent.get("headers", {}))
        body = b""
        if "body" in sent and "multipart/form-data" in operation["requestBody"]["content"]:
            body, headers["Content-Type"] = multipart.written(sent["body"])
        elif "body" in sent:
            body = compact(sent["body"]).encode()
            headers["Content-Type"] = "application/json"
        caller = entry.get("as")
        if caller and "x-signature" in operation:
            wallet_id, organization_id = self.wallets.get(caller, ("", ""))
            of = Circumstances(sent.get("path", {}).get("id", ""), wallet_id, organization_id, headers.get("Content-Type", ""))
            actions, atomic = signed_actions(operation["x-signature"], body, of)
            sent["signature"] = self.key(caller).sign(self.domain, actions, atomic)
            headers |= sent["signature"]
        if caller in self.tokens and operation["security"]:
            headers["Authorization"] = f"Bearer {self.tokens[caller]}"
        url = self.server.url + path
        streams = "text/event-stream" in operation["responses"]["200"]["content"] if "200" in operation["responses"] else False
        answer = self.http.request(
            method, url, params=sent.get("query"), headers=headers, data=body or None, timeout=PATIENCE_S, stream=streams
        )
        if streams and answer.ok:
            # It has no end: the first event is read, and the stream is closed.
            assert any(line.startswith(b"data: {") for line in answer.iter_lines())
            answer.close()
            answer._content = b""
        self.answers[f"{entry['operation']}.{entry['name']}"] = answer
        self.remember(caller, answer)
        return sent, answer

    def remember(self, caller: str | None, answer: requests.Response) -> None:
        """Takes a caller's tokens and wallet from an answer."""
        if caller and answer.ok and "access_token" in answer.text[:100_000] and answer.headers["Content-Type"] == "application/json":
            told = answer.json()
            self.tokens[caller] = told["access_token"]
            self.wallets[caller] = (told["wallet"]["id"], told["wallet"]["organization_id"])

    def wait_for_deliveries(self) -> None:
        """Waits until the story's webhook has delivered everything."""
        webhook = self.answers["createWebhook.sales"].json()["id"]
        headers = {"Authorization": f"Bearer {self.tokens['ann']}"}
        end = time.monotonic() + PATIENCE_S
        while time.monotonic() < end:
            answer = self.http.get(f"{self.server.url}/webhooks/{webhook}/deliveries", headers=headers, timeout=PATIENCE_S)
            items = answer.json()["items"]
            if items and all(item["status"] == "delivered" for item in items):
                return
            time.sleep(0.05)
        raise AssertionError(f"not everything was delivered: {answer.text}")

    def await_checkpoint(self, query: dict) -> None:
        """Waits for the checkpoint that an entry asks for, longer than the entry itself, which a slow machine may need."""
        wanted = query.get("at_least", query.get("min_sequence"))
        if wanted is not None:
            covering = {"at_least": wanted, "wait": PATIENCE_S}
            answer = self.http.get(f"{self.server.url}/checkpoint", params=covering, timeout=2 * PATIENCE_S)
            assert answer.ok, answer.text

    def shown(self, answer: requests.Response) -> object:
        """An answer's body as it is recorded; None if it is not."""
        is_json = answer.headers.get("Content-Type", "").startswith("application/json")
        if not is_json or len(answer.content) > SHOWN_BYTES_MAX:
            return None
        return json.loads(answer.text.replace(self.receiver.url, HOOK))

    def step(self, entry: dict) -> tuple[dict, requests.Response | None]:
        if "operator" in entry:
            {"anchor": self.server.anchor, "deliver": self.wait_for_deliveries}[entry["operator"]]()
            return {}, None
        if entry.get("status") != 409:
            self.await_checkpoint(entry.get("query", {}))
        sent, answer = self.send(entry)
        self.learn(entry.get("response"), self.shown(answer))
        for header in entry.get("response_headers", {}):
            self.learn(entry["response_headers"][header], answer.headers[header])
        return sent, answer


def without_tokens(value: object) -> object:
    if isinstance(value, dict):
        return {name: stand_in(name, each) for name, each in value.items()}
    if isinstance(value, list):
        return [without_tokens(each) for each in value]
    return value


def stand_in(name: str, value: object) -> object:
    if name not in TOKENS or not isinstance(value, str):
        return without_tokens(value)
    # Codes of errors, addresses of keys, and ids are no secrets.
    is_shown_key = value.startswith("0x") or re.fullmatch(ID, value)
    is_public = (name == "code" and len(value) <= ERROR_CODE_CHARS_MAX) or (name == "key" and is_shown_key)
    return value if is_public else TOKENS[name]


def recorded(story: Story, entry: dict, sent: dict, answer: requests.Response) -> dict:
    """An entry as it was sent and answered in this run."""
    new = {name: entry[name] for name in ("step", "operation", "name", "summary", "as", "forged", "claimed", "consents") if name in entry}
    new |= {name: sent[name] for name in ("path", "query", "headers", "signature") if name in sent}
    if "body" in sent:
        new["body"] = json.loads(json.dumps(without_tokens(sent["body"])).replace(story.receiver.url, HOOK))
    new["status"] = answer.status_code
    kept = {name: answer.headers[name] for name in KEPT_HEADERS if name in answer.headers}
    if kept:
        new["response_headers"] = kept
    body = story.shown(answer)
    if body is not None:
        new["response"] = without_tokens(body)
    return new


def examples() -> list[tuple[Path, dict]]:
    """The story, each entry with the file that it is kept in."""
    entries = []
    for file in sorted(HEADINGS.glob("*/examples.json")):
        entries += [(file, entry) for entry in json.loads(file.read_text())]
    return sorted(entries, key=lambda kept: kept[1]["step"])


def record() -> None:
    written: dict[Path, list[dict]] = {}
    with Server() as server, Receiver() as receiver:
        story = Story(server, receiver)
        for step, (file, entry) in enumerate(examples(), 1):
            sent, answer = story.step(entry)
            new = entry if answer is None else recorded(story, entry, sent, answer)
            written.setdefault(file, []).append({**new, "step": step})
            if answer is not None:
                print(answer.status_code, entry["operation"], entry["name"])
    for file, entries in written.items():
        file.write_text(json.dumps(entries, ensure_ascii=False, indent=1) + "\n")


if __name__ == "__main__":
    if sys.argv[1:] != ["record"]:
        raise SystemExit("usage: story.py record")
    record()
