"""Clients made from the document by common generators: they are made without complaint, and work."""

import importlib
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from urllib.parse import urlsplit

import httpx
import pytest
from signing import Circumstances, Key, domain_of, signed_actions

HERE = Path(__file__).parent / "generators"
PROGRAMS = HERE / "node_modules" / ".bin"
# Time limit of one program, in seconds.
PATIENCE_S = 300
# The least number of operations that a generated client calls.
CALLED_MIN = 10
UNSIGNED = {
    "x_signature": "0x" + "00" * 65,
    "x_signature_address": "0x" + "00" * 20,
    "x_signature_nonce": "0",
    "x_signature_deadline": "0",
    "x_signature_salt": "0x" + "00" * 32,
}
MISSING = "obj_" + "0" * 26


def run(*command: object, folder: Path) -> str:
    """A program's output, once it has succeeded."""
    words = [str(word) for word in command]
    done = subprocess.run(words, cwd=folder, capture_output=True, text=True, timeout=PATIENCE_S, check=False)
    assert done.returncode == 0, f"{' '.join(words)}\n{done.stdout[-4000:]}\n{done.stderr[-4000:]}"
    return done.stdout + done.stderr


@pytest.fixture(scope="module")
def folder(server, tmp_path_factory):
    """A folder with the server's document and the programs' own files."""
    made = tmp_path_factory.mktemp("generated")
    answer = httpx.get(f"{server.url}/openapi.json")
    (made / "openapi.json").write_bytes(answer.content)
    for file in HERE.iterdir():
        if file.is_file():
            shutil.copy(file, made)
    (made / "node_modules").symlink_to(HERE / "node_modules")
    return made


def openapi_generator(folder: Path, *arguments: object) -> str:
    jar = os.environ.get("OPENAPI_GENERATOR")
    if not jar:
        raise SystemExit("OPENAPI_GENERATOR must name the jar of openapi-generator; scripts/document.sh downloads it")
    return run("java", "-jar", jar, *arguments, folder=folder)


# Holds invariant 168.
def test_linters_have_nothing_to_say(folder):
    run(PROGRAMS / "redocly", "lint", "--config", "redocly.yaml", "--max-problems", "100", "openapi.json", folder=folder)
    lint = ("lint", "--ruleset", "spectral.yaml", "--fail-severity", "warn", "openapi.json")
    run(PROGRAMS / "spectral", *lint, folder=folder)


# Holds invariant 168.
def test_openapi_generator_finds_no_fault(folder):
    output = openapi_generator(folder, "validate", "--recommend", "-i", "openapi.json")
    assert "No validation issues detected" in output, output


# Holds invariant 168.
def test_typescript_clients(folder, server):
    """One with the types of openapi-typescript, one that openapi-generator makes, and one of hey-api."""
    types = ("openapi.json", "--default-non-nullable", "false", "-o", "types.ts")
    run(PROGRAMS / "openapi-typescript", *types, folder=folder)
    options = ("-g", "typescript-fetch", "-p", "importFileExtension=.js", "-o", "fetch")
    openapi_generator(folder, "generate", "-i", "openapi.json", *options)
    written = [each.name for each in (folder / "fetch" / "apis").iterdir()]
    tags = json.loads((folder / "openapi.json").read_text())["tags"]
    assert len(written) == len(tags) + 1, "one file for each heading, and the index"
    run(PROGRAMS / "openapi-ts", folder=folder)
    run(PROGRAMS / "tsc", "-p", ".", folder=folder)
    shutil.copy(folder / "signing.mjs", folder / "built")
    for client in ("typed-client.js", "fetch-client.js", "hey-client.js"):
        called = json.loads(run("node", f"built/{client}", server.url, folder=folder))
        assert len(called) >= CALLED_MIN, called


def test_a_go_client_of_oapi_codegen(folder):
    """It compiles, where Go is installed. The generator's version and the hashes of all modules are in go.mod and go.sum."""
    go = shutil.which("go")
    if go is None:
        pytest.skip("Go is not installed: the client of oapi-codegen is not made")
    needed = re.search(r"^go ([0-9.]+)$", (folder / "go.mod").read_text(), re.MULTILINE)[1]
    found = re.search(r"go([0-9.]*[0-9])", run(go, "env", "GOVERSION", folder=folder))[1]
    if [int(each) for each in found.split(".")] < [int(each) for each in needed.split(".")]:
        pytest.skip(f"Go is {found}, and the client of oapi-codegen needs {needed}")
    options = ("-generate", "types,client", "-package", "service", "-o", "client.go")
    run(go, "tool", "oapi-codegen", *options, "openapi.json", folder=folder)
    run(go, "vet", ".", folder=folder)


class Signer:
    """Finds a request's operation in the document and makes the headers of its signature."""

    def __init__(self, url: str) -> None:
        self.document = httpx.get(f"{url}/openapi.json").json()
        self.domain = domain_of(httpx.get(f"{url}/.well-known/eip712-domain.json").json())
        self.key = Key.random()
        self.token = ""
        self.called: set[str] = set()

    def headers(self, method: str, url: str, body: bytes) -> dict[str, str]:
        path = urlsplit(url).path
        for template, item in self.document["paths"].items():
            found = re.fullmatch(re.sub(r"\{\w+\}", "([^/]+)", template), path)
            if found and method.lower() in item:
                break
        else:
            raise AssertionError(f"no operation {method} {path}")
        operation = item[method.lower()]
        self.called.add(operation["operationId"])
        headers = {}
        if "x-signature" in operation:
            of = Circumstances(found.group(1) if found.groups() else "")
            headers = self.key.sign(self.domain, *signed_actions(operation["x-signature"], body, of))
        if self.token and operation["security"]:
            headers["Authorization"] = f"Bearer {self.token}"
        return headers


def registration(signer: Signer) -> dict[str, str]:
    return {
        "email": f"{signer.key.address}@example.com",
        "password": "correct horse battery staple",
        "address": signer.key.address,
        "blind": "bm90IGd1ZXNzYWJsZSBhdCBhbGw=",
    }


@pytest.fixture
def importable(folder, monkeypatch):
    """Makes the folder's packages importable, and removes them afterwards."""
    before = set(sys.modules)

    def open_to(place: Path) -> None:
        monkeypatch.syspath_prepend(str(place))

    yield open_to
    for name in set(sys.modules) - before:
        del sys.modules[name]


# Holds invariant 168.
def test_a_python_client_of_openapi_generator(folder, server, importable):
    openapi_generator(folder, "generate", "-i", "openapi.json", "-g", "python", "-o", "python")
    importable(folder / "python")
    made = importlib.import_module("openapi_client")
    signer = Signer(server.url)
    client = made.ApiClient(made.Configuration(host=server.url))
    send = client.rest_client.request

    def signed(method, url, headers=None, body=None, **options):
        # The client writes a body in this way.
        text = b"" if body is None else json.dumps(body).encode()
        return send(method, url, {**headers, **signer.headers(method, url, text)}, body, **options)

    client.rest_client.request = signed
    assert made.ServiceApi(client).get_domain().extensions == []
    registered = made.RegisterBody.from_dict(registration(signer))
    account = made.AccountsApi(client).register_wallet(register_body=registered, **UNSIGNED)
    signer.token = account.access_token
    assert account.wallet.role == made.Role.OWNER
    assert made.AccountsApi(client).get_own_wallet().address == signer.key.address
    body = made.TemplateBody(name="Python", properties={"size": 1})
    template = made.TemplatesApi(client).create_template(template_body=body, **UNSIGNED)
    objects = made.ObjectsApi(client)
    minted = objects.mint_object(object_body=made.ObjectBody(template_id=template.id), **UNSIGNED)
    assert objects.get_object(minted.id).properties == {"size": 1}
    objects.update_object(minted.id, object_patch=made.ObjectPatch(properties={"size": 2}), **UNSIGNED)
    action = made.ActionBody(made.StatusAction(action_type="lock", object_id=minted.id))
    bus = made.ActionBusApi(client)
    locked = bus.submit_action(action_body=action, **UNSIGNED)
    condition = made.Filter(made.FilterCondition(field="id", op="eq", value=minted.id))
    search = made.SearchBody(filter=made.Filter(made.FilterAnd(var_and=[condition])))
    assert [each.status for each in objects.search_objects(search).items] == [made.ObjectStatus.LOCKED]
    read = bus.get_action(locked.id)
    assert read.action_type == "lock"
    assert made.LogApi(client).get_batch(read.batch_id).status in set(made.BatchStatus)
    events = made.EventsApi(client).list_events(object_id=minted.id).items
    assert "object.locked" in [each.type for each in events]
    with pytest.raises(made.exceptions.NotFoundException) as refused:
        objects.get_object(MISSING)
    assert refused.value.data.code == "RESOURCE_NOT_FOUND"
    assert len(signer.called) >= CALLED_MIN


# Holds invariant 168.
def test_a_client_of_openapi_python_client(folder, server, importable):
    generator = Path(sys.executable).with_name("openapi-python-client")
    options = ("--config", "openapi-python-client.yaml", "--meta", "none", "--output-path", "httpx/service_client")
    (folder / "httpx").mkdir()
    run(generator, "generate", "--path", "openapi.json", "--fail-on-warning", *options, folder=folder)
    importable(folder / "httpx")
    made = importlib.import_module("service_client")
    models = importlib.import_module("service_client.models")

    def call(name: str):
        heading, function = name.split(".")
        return importlib.import_module(f"service_client.api.{heading}.{function}")

    signer = Signer(server.url)

    def sign(request: httpx.Request) -> None:
        request.headers.update(signer.headers(request.method, str(request.url), request.content))

    client = made.Client(server.url, httpx_args={"event_hooks": {"request": [sign]}})
    assert call("service.get_domain").sync(client=client).extensions == []
    registered = models.RegisterBody.from_dict(registration(signer))
    account = call("accounts.register_wallet").sync(client=client, body=registered, **UNSIGNED)
    signer.token = account.access_token
    assert account.wallet.role is models.Role.OWNER
    assert call("accounts.get_own_wallet").sync(client=client).address == signer.key.address
    properties = {"size": 1}
    body = models.TemplateBody.from_dict({"name": "httpx", "properties": properties})
    template = call("templates.create_template").sync(client=client, body=body, **UNSIGNED)
    minted = call("objects.mint_object").sync(client=client, body=models.ObjectBody(template_id=template.id), **UNSIGNED)
    assert call("objects.get_object").sync(minted.id, client=client).properties.to_dict() == properties
    patch = models.ObjectPatch.from_dict({"properties": {"size": 2}})
    call("objects.update_object").sync(minted.id, client=client, body=patch, **UNSIGNED)
    lock = models.StatusAction(action_type=models.StatusActionActionType.LOCK, object_id=minted.id)
    locked = call("action_bus.submit_action").sync(client=client, body=lock, **UNSIGNED)
    search = models.SearchBody.from_dict({"filter": {"and": [{"field": "id", "op": "eq", "value": minted.id}]}})
    found = call("objects.search_objects").sync(client=client, body=search)
    assert [each.status for each in found.items] == [models.ObjectStatus.LOCKED]
    read = call("action_bus.get_action").sync(locked.id, client=client)
    assert read.action_type == "lock"
    assert isinstance(call("log.get_batch").sync(read.batch_id, client=client).status, models.BatchStatus)
    events = call("events.list_events").sync(client=client, object_id=minted.id).items
    assert "object.locked" in [each.type_ for each in events]
    refused = call("objects.get_object").sync(MISSING, client=client)
    assert refused.code == "RESOURCE_NOT_FOUND"
    assert len(signer.called) >= CALLED_MIN
