"""Checks values against the schemas of the document."""

from jsonschema import Draft202012Validator
from referencing import Registry, Resource
from referencing.jsonschema import DRAFT202012

ROOT = "urn:document"


class Schemas:
    """The document's schemas; a schema is named by its pointer in the document."""

    def __init__(self, document: dict) -> None:
        self.document = document
        self.registry = Registry().with_resource(ROOT, Resource.from_contents(document, default_specification=DRAFT202012))

    def wrong(self, pointer: str, value: object) -> list[str]:
        """The faults of a value: violations of the schema, and unknown members."""
        validator = Draft202012Validator(
            {"$ref": f"{ROOT}#{pointer}"},
            registry=self.registry,
            format_checker=Draft202012Validator.FORMAT_CHECKER,
        )
        found = [f"{error.json_path}: {error.message[:300]}" for error in validator.iter_errors(value)]
        return found or self.unknown({"$ref": f"#{pointer}"}, value, "$")

    def fits(self, schema: dict, value: object) -> bool:
        return Draft202012Validator(self.absolute(schema), registry=self.registry).is_valid(value)

    def absolute(self, schema: object) -> object:
        """A part of the document with absolute references, which resolve from outside of it."""
        if isinstance(schema, dict):
            return {
                name: ROOT + each if name == "$ref" and each.startswith("#") else self.absolute(each)
                for name, each in schema.items()
            }
        return [self.absolute(each) for each in schema] if isinstance(schema, list) else schema

    def resolved(self, schema: dict) -> list[dict]:
        """All schemas that apply at one place: references followed, and of alternatives the matching ones."""
        if "$ref" in schema:
            target = self.document
            for part in schema["$ref"].split("/")[1:]:
                part = part.replace("~1", "/").replace("~0", "~")
                target = target[int(part)] if isinstance(target, list) else target[part]
            beside = {name: each for name, each in schema.items() if name != "$ref"}
            return self.resolved(target) + ([beside] if beside else [])
        parts = [each for one in schema.get("allOf", []) for each in self.resolved(one)]
        return [schema, *parts]

    def at(self, schema: dict, value: object) -> list[dict]:
        found = []
        for each in self.resolved(schema):
            found.append(each)
            for one in each.get("anyOf", []) + each.get("oneOf", []):
                if self.fits(one, value):
                    found += self.at(one, value)
        return found

    def unknown(self, schema: dict, value: object, place: str) -> list[str]:
        """Members that no schema at their place describes."""
        schemas = self.at(schema, value)
        if isinstance(value, list):
            items = [each["items"] for each in schemas if "items" in each]
            pairs = enumerate(value) if items else ()
            return [one for i, each in pairs for one in self.unknown(items[0], each, f"{place}[{i}]")]
        known = [each["properties"] for each in schemas if "properties" in each]
        if not isinstance(value, dict) or not known:
            return []
        found = []
        for name, each in value.items():
            told = [properties[name] for properties in known if name in properties]
            if not told:
                found.append(f"{place}.{name} is not in the schema")
            for one in told[:1]:
                found += self.unknown(one, each, f"{place}.{name}")
        return found


def pointer(*parts: str) -> str:
    return "".join("/" + part.replace("~", "~0").replace("/", "~1") for part in parts)


def schema_pointers(document: dict):
    """Everything that can have examples: media types, parameters and headers, with their pointers."""
    for path, item in document["paths"].items():
        for method, operation in item.items():
            base = ("paths", path, method)
            for media_type, content in operation.get("requestBody", {}).get("content", {}).items():
                yield (*base, "requestBody", "content", media_type), content
            for i, parameter in enumerate(operation["parameters"]):
                yield (*base, "parameters", str(i)), parameter
            for status, response in operation["responses"].items():
                for media_type, content in response.get("content", {}).items():
                    yield (*base, "responses", status, "content", media_type), content
    components = document["components"]
    for name, response in components["responses"].items():
        for media_type, content in response["content"].items():
            yield ("components", "responses", name, "content", media_type), content
    for name, parameter in components["parameters"].items():
        yield ("components", "parameters", name), parameter
