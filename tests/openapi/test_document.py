"""The document by itself: it is OpenAPI 3.1, and its examples satisfy its schemas."""

from openapi_spec_validator import OpenAPIV31SpecValidator
from schema import Schemas, pointer, schema_pointers


def test_it_is_openapi_3_1(document):
    errors = [f"{error.json_path}: {error.message}" for error in OpenAPIV31SpecValidator(document).iter_errors()]
    assert not errors, "\n".join(errors)


# Holds invariant 48.
def test_every_example_is_what_its_schema_says(document):
    schemas = Schemas(document)
    wrong, count = [], 0
    for place, described in schema_pointers(document):
        values = {name: example["value"] for name, example in described.get("examples", {}).items() if "value" in example}
        if described.get("example") is not None:
            values["example"] = described["example"]
        for name, value in values.items():
            count += 1
            wrong += [f"{'/'.join(place)} {name}: {each}" for each in schemas.wrong(pointer(*place, "schema"), value)]
    assert not wrong, "\n".join(wrong)
    assert count > 150, "there are examples"


# Holds invariant 48.
def test_what_is_not_in_a_schema_is_found(document):
    schemas = Schemas(document)
    place = pointer("components", "schemas", "ApiError")
    right = {"code": "INTERNAL", "status": 500, "body": {"message": "m", "request_id": "r", "error": None}}
    del right["body"]["error"]
    assert schemas.wrong(place, right) == []
    right["body"]["colour"] = "red"
    assert schemas.wrong(place, right) == ["$.body.colour is not in the schema"]
    right["code"] = "RED"
    assert len(schemas.wrong(place, right)) == 1


def test_tags_and_operations_belong_together(document):
    told = {tag["name"] for tag in document["tags"]}
    used = {tag for item in document["paths"].values() for operation in item.values() for tag in operation["tags"]}
    assert used == told
