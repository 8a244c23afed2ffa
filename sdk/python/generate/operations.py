"""The document's operations as functions that make requests, and as methods of the two clients."""

import json
import keyword
import re
import textwrap
from dataclasses import dataclass
from typing import Any

Schema = dict[str, Any]

WIDTH = 120
# What the client adds by itself.
OWN_HEADERS = ("X-Signature", "X-Signature-Address", "X-Signature-Nonce", "X-Signature-Deadline", "X-Signature-Salt")
# Where each target of `x-signature` comes from.
TARGETS = {
    "": '""',
    "id of the path": "id",
    "id of the caller's wallet": "OWN_WALLET",
    "id of the caller's organization": "OWN_ORGANIZATION",
    "template_id of the body": 'body["template_id"]',
}
PAYLOADS = {
    "": '""',
    "the body": "Payload.BODY",
    "digest of the body": "Payload.DIGEST",
    "the body, or its digest if it holds a password": "Payload.DIGEST_OF_SECRETS",
}
PATH_PAYLOAD = re.compile(r'\{"(\w+)":"<id of the path>"\}')
KINDS = {"string": "str", "integer": "int", "boolean": "bool", "number": "float"}


def snake(text: str) -> str:
    """A Python name: `X-Request-Id` and `mintObject` become request_id and mint_object."""
    name = re.sub(r"(?<=[a-z])([A-Z])", r"_\1", text).replace("-", "_").lower().removeprefix("x_")
    return f"{name}_" if keyword.iskeyword(name) else name


def annotation(schema: Schema) -> str:
    """The type of a parameter."""
    if "enum" in schema:
        return f"Literal[{', '.join(json.dumps(value) for value in schema['enum'])}]"
    return KINDS[schema["type"]]


@dataclass(frozen=True)
class Parameter:
    """A parameter of an operation."""

    name: str
    wire: str
    place: str
    type: str
    required: bool
    about: str


class Operation:
    """One operation of the document."""

    def __init__(self, document: Schema, path: str, method: str, spec: Schema) -> None:
        self.id: str = spec["operationId"]
        self.name = snake(self.id)
        self.path = path
        self.method = method.upper()
        self.summary: str = spec["summary"]
        self.about: str = spec.get("description", "")
        self.rule: dict[str, str] | None = spec.get("x-signature")
        self.public = spec.get("security") in (None, [])
        self.parameters = list(self._parameters(document, spec))
        self.keyed = any(one.wire == "Idempotency-Key" for one in self.parameters)
        content = spec.get("requestBody", {}).get("content", {})
        self.multipart = "multipart/form-data" in content
        schema = content.get("application/json", {}).get("schema")
        self.body = f"models.{schema['$ref'].split('/')[-1]}" if schema else None
        self._read_answer(document, spec)

    def _parameters(self, document: Schema, spec: Schema) -> Any:
        seen = set()
        for given in spec.get("parameters", []):
            one = document["components"]["parameters"][given["$ref"].split("/")[-1]] if "$ref" in given else given
            name = snake(one["name"])
            if one["name"] in OWN_HEADERS or one.get("deprecated") or name in seen:
                continue
            seen.add(name)
            about = one.get("description", "")
            yield Parameter(name, one["name"], one["in"], annotation(one["schema"]), one.get("required", False), about)

    def _read_answer(self, document: Schema, spec: Schema) -> None:
        success = next(answer for status, answer in sorted(spec["responses"].items()) if status.startswith("2"))
        media_type, media = next(iter(success["content"].items()))
        self.streams = media_type == "text/event-stream"
        self.items: str | None = None
        if media_type == "application/json":
            schema = media["schema"]
            self.reads = "json"
            self.answer = f"models.{schema['$ref'].split('/')[-1]}" if "$ref" in schema else "dict[str, Any]"
            self.items = self._items(document, schema)
        else:
            self.reads = "bytes" if media_type == "*/*" else "text"
            self.answer = "bytes" if media_type == "*/*" else "str"

    @staticmethod
    def _items(document: Schema, schema: Schema) -> str | None:
        """The type of a list's items, if the answer is a page."""
        page = document["components"]["schemas"].get(schema.get("$ref", "").split("/")[-1], {}).get("properties", {})
        if not {"items", "cursor", "has_more"} <= page.keys():
            return None
        return f"models.{page['items']['items']['$ref'].split('/')[-1]}"

    # The signature of the function, and the arguments of a call with the same names.

    def signature(self) -> tuple[list[str], list[str]]:
        """The parameters as they are declared, and as they are passed on."""
        first = [one for one in self.parameters if one.place == "path"]
        named = [one for one in self.parameters if one.place != "path"]
        declared = [f"{one.name}: {'str | int' if one.name == 'id' and self.numbered else one.type}" for one in first]
        passed = [one.name for one in first]
        if self.body:
            declared.append(f"body: {self.body}")
            passed.append("body")
        if self.multipart:
            declared.append("file: FileSource")
            passed.append("file")
        keywords = [f"{one.name}: {one.type}" + ("" if one.required else " | None = None") for one in named]
        if self.multipart:
            keywords.insert(0, "name: str | None = None")
            passed.append("name=name")
        passed += [f"{one.name}={one.name}" for one in named]
        return declared + (["*", *keywords] if keywords else []), passed

    @property
    def numbered(self) -> bool:
        """Whether the path takes a number in place of an id."""
        return any(one.place == "path" and ("number" in one.about or "sequence" in one.about) for one in self.parameters)

    def docstring(self, indent: str) -> str:
        """The document's words, with the parameters."""
        parts = [f"{self.summary}.", "", *self._wrapped(self.about, indent)]
        known = [one for one in self.parameters if one.about]
        if known or self.multipart:
            parts += ["", "Args:"]
        if self.body:
            parts.append("    body: what is sent.")
        if self.multipart:
            parts += ["    file: its bytes, a path, or an open binary file.", "    name: its name; that of the path if it is absent."]
        for one in known:
            parts += [f"    {line}" for line in self._wrapped(f"{one.name}: {one.about}", indent + "    ", "    ")]
        lines = [f"{indent}{line}".rstrip() for line in parts]
        text = "\n".join(lines).rstrip().replace("\\", "\\\\").removeprefix(indent)
        return f'{indent}"""{text}\n{indent}"""\n'

    @staticmethod
    def _wrapped(text: str, indent: str, more: str = "") -> list[str]:
        return textwrap.wrap(text, WIDTH - len(indent), subsequent_indent=more, break_long_words=False, break_on_hyphens=False)

    # The function's body.

    def expression(self) -> str:
        """The call that makes the request."""
        headers = {one.wire.lower(): one.name for one in self.parameters if one.place == "header"}
        queries = {one.wire: one.name for one in self.parameters if one.place == "query"}
        head = f"{json.dumps(self.id)}, {json.dumps(self.method)}, {self._path()}"
        lines = [f"headers={self._dict(headers)},"] if headers else []
        if self.multipart and self.rule:
            kind = json.dumps(self.rule["kind"])
            return self._call("upload", f"{json.dumps(self.id)}, {self._path()}", [f"kind={kind},", "file=file,", "name=name,", *lines])
        if self.rule and self.rule["kind"].startswith("action_type"):
            made = "bus_action" if self.rule["kind"] == "action_type" else "bus_batch"
            return self._call(made, f"{json.dumps(self.id)}, {self._path()}", ["body=body,", *lines])
        if self.rule:
            own = [f"kind={json.dumps(self.rule['kind'])},", f"acts_on={TARGETS[self.rule['target']]},", f"payload={self._payload()},"]
            own += ["body=body,"] if self.body else []
            own += ["public=True,"] if self.public else []
            return self._call("signed", head, [*own, *lines])
        own = [f"query={self._dict(queries)},"] if queries else []
        own += ["body=body,"] if self.body else []
        own += ["keyed=True,"] if self.keyed else []
        own += ["public=True,"] if self.public else []
        own += [f"reads={json.dumps(self.reads)},"] if self.reads != "json" else []
        return self._call("plain", head, [*own, *lines])

    def _payload(self) -> str:
        assert self.rule is not None
        found = PATH_PAYLOAD.fullmatch(self.rule["payload"])
        return f'compact({{"{found[1]}": id}})' if found else PAYLOADS[self.rule["payload"]]

    def _path(self) -> str:
        if "{" not in self.path:
            return json.dumps(self.path)
        return "f" + json.dumps(re.sub(r"\{(\w+)\}", r"{segment(\1)}", self.path))

    @staticmethod
    def _dict(members: dict[str, str]) -> str:
        return "{" + ", ".join(f"{json.dumps(name)}: {value}" for name, value in members.items()) + "}"

    @staticmethod
    def _call(made: str, head: str, lines: list[str]) -> str:
        inner = "".join(f"        {line}\n" for line in [f"{head},", *lines])
        return f"    return {made}(\n{inner}    )\n"


def declared(name: str, parameters: list[str], answer: str, indent: str, before: str = "def") -> str:
    """A function's first lines."""
    whole = f"{indent}{before} {name}({', '.join(parameters)}) -> {answer}:\n"
    if len(whole) <= WIDTH:
        return whole
    lines = "".join(f"{indent}    {one},\n" for one in parameters)
    return f"{indent}{before} {name}(\n{lines}{indent}) -> {answer}:\n"


def functions(operations: list[Operation]) -> str:
    """The module of functions."""
    text = (
        "from typing import Any, Literal\n\n"
        "from ..calls import (\n    OWN_ORGANIZATION,\n    OWN_WALLET,\n    Call,\n    FileSource,\n    Payload,\n    bus_action,\n"
        "    bus_batch,\n    compact,\n    plain,\n    segment,\n    signed,\n    upload,\n)\nfrom . import models\n"
    )
    for one in operations:
        parameters, _ = one.signature()
        text += f"\n\n{declared(one.name, parameters, f'Call[{one.answer}]', '')}{one.docstring('    ')}{one.expression()}"
    return text


def methods(operations: list[Operation], asynchronous: bool) -> str:
    """A module with the class that one of the clients inherits its methods from."""
    wait, define = ("await ", "async def") if asynchronous else ("", "def")
    iterator = "AsyncIterator" if asynchronous else "Iterator"
    name = "AsyncOperations" if asynchronous else "Operations"
    text = (
        f"from abc import ABC, abstractmethod\nfrom collections.abc import {iterator}\nfrom typing import Any, Literal, TypeVar\n\n"
        "from ..calls import Call, FileSource\nfrom . import models, operations\n\nT = TypeVar(\"T\")\n\n\n"
        f'class {name}(ABC):\n    """Each operation of the service as a method, which returns the parsed body."""\n\n'
        f"    @abstractmethod\n    {define} send(self, call: Call[T]) -> T:\n        \"\"\"Sends a request; returns the parsed body.\"\"\"\n\n"
        f"    @abstractmethod\n    def iterate(self, call: Call[Any]) -> {iterator}[Any]:\n        \"\"\"The items of a list, page by page.\"\"\"\n"
    )
    for one in operations:
        if one.streams:
            continue
        parameters, passed = one.signature()
        made = f"operations.{one.name}({', '.join(passed)})"
        text += f"\n{declared(one.name, ['self', *parameters], one.answer, '    ', define)}{one.docstring('        ')}"
        text += f"        return {wait}self.send({made})\n"
        if one.items:
            text += f"\n{iterating(one, parameters, passed, iterator)}"
    return text


def iterating(one: Operation, parameters: list[str], passed: list[str], iterator: str) -> str:
    """The method that walks all pages of a list."""
    kept = [each for each in parameters if not each.startswith("cursor:")]
    made = f"operations.{one.name}({', '.join(each for each in passed if each != 'cursor=cursor')})"
    name = "iter_" + one.name.removeprefix("list_").removeprefix("search_") + ("_found" if one.method == "POST" else "")
    first = declared(name, ["self", *kept], f"{iterator}[{one.items}]", "    ")
    about = f"{one.summary}: all items, page by page. `{one.name}` has the parameters."
    return f'{first}        """{about}"""\n        return self.iterate({made})\n'


def write_operations(document: Schema) -> dict[str, tuple[str, str]]:
    """The files: for each its subject and its text."""
    operations = [
        Operation(document, path, method, spec)
        for path, item in document["paths"].items()
        for method, spec in item.items()
    ]
    return {
        "operations.py": ("Each operation as a function that makes its request.", functions(operations)),
        "client.py": ("The operations as methods of the synchronous client.", methods(operations, False)),
        "async_client.py": ("The operations as methods of the asynchronous client.", methods(operations, True)),
    }
