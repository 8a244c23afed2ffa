"""The types of the document's schemas, by datamodel-code-generator."""

import re
import warnings
from typing import Any

from datamodel_code_generator import InputFileType, generate
from datamodel_code_generator.config import GenerateConfig
from datamodel_code_generator.enums import DataModelType
from datamodel_code_generator.format import Formatter, PythonVersion

Schema = dict[str, Any]

# Members of answers that are there or absent, but never null.
NEVER_NULL = ("state_proof", "state_proofs")


def camel(text: str) -> str:
    """A class name of words: `lock, unlock, burn` becomes LockUnlockBurn."""
    words = re.findall(r"[A-Za-z0-9]+", text.split(", and ")[0])
    return "".join(word[0].upper() + word[1:] for word in words)


def variant_name(schema: Schema) -> str:
    """The name of one of several forms: its title, or its first member."""
    return camel(str(schema.get("title") or (schema.get("required") or ["other"])[0]))


def named(schema: Any, name: str) -> Any:
    """A schema whose inner objects have names of their own, and that holds only what types are made from."""
    if not isinstance(schema, dict):
        return schema
    made = {key: value for key, value in schema.items() if key not in ("example", "examples", "x-order", "title")}
    if made.get("additionalProperties") is False:
        del made["additionalProperties"]
    types = made.get("type")
    is_object = types == "object" or (isinstance(types, list) and "object" in types)
    if is_object and "properties" not in made and "oneOf" not in made and "anyOf" not in made:
        # A value that is said to be anything makes a dict; `true` makes a class without members at the top.
        made["additionalProperties"] = {}
    if "properties" in made:
        made["title"] = name
        made["properties"] = {key: named(value, name + camel(key)) for key, value in made["properties"].items()}
        for key in made["properties"].keys() & NEVER_NULL:
            made["properties"][key] = not_null(made["properties"][key])
    if "items" in made:
        made["items"] = named(made["items"], f"{name}Item")
    for choice in ("oneOf", "anyOf", "allOf"):
        if choice in made:
            inner = [each for each in made[choice] if "$ref" not in each]
            many = sum("properties" in each for each in inner) > 1
            made[choice] = [named(each, name + variant_name(each) if many else name) for each in made[choice]]
    return made


def not_null(schema: Schema) -> Schema:
    """A schema without its choice of null."""
    return {**schema, "anyOf": [each for each in schema["anyOf"] if each != {"type": "null"}]}


def write_types(document: Schema) -> str:
    """The module of types."""
    schemas = {name: named(schema, name) for name, schema in document["components"]["schemas"].items()}
    shown = {"openapi": "3.1.0", "info": document["info"], "paths": {}, "components": {"schemas": schemas}}
    with warnings.catch_warnings():
        # It knows fewer formats of numbers than the document names.
        warnings.simplefilter("ignore")
        made = generate(
            shown,
            config=GenerateConfig(
                input_file_type=InputFileType.OpenAPI,
                output_model_type=DataModelType.TypingTypedDict,
                target_python_version=PythonVersion.PY_310,
                use_schema_description=True,
                use_field_description=True,
                use_standard_collections=True,
                use_union_operator=True,
                use_title_as_name=True,
                disable_timestamp=True,
                formatters=[Formatter.BUILTIN],
            ),
        )
    return re.sub(r"\A(#.*\n|\n)*", "", str(made))
