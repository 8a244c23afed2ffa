"""The examples against a server: it accepts their requests, and answers as they show."""

from schema import Schemas, pointer
from story import differences, examples, without_tokens


# All answers state the limits.
LIMITS = ("X-RateLimit-Limit", "X-RateLimit-Remaining", "X-RateLimit-Reset", "RateLimit", "RateLimit-Policy")


def response_place(document: dict, place: tuple[str, ...]) -> tuple[str, ...]:
    """A response's pointer, or the one that it refers to."""
    response = document
    for part in place:
        response = response[part]
    return tuple(response["$ref"].split("/")[1:]) if "$ref" in response else place


def told(document: dict, method: str, path: str, answer) -> list[str]:
    """The parts of an answer that the document does not describe, and the reverse."""
    status = str(answer.status_code)
    place = ("paths", path, method, "responses", status)
    if status not in document["paths"][path][method]["responses"]:
        return [f"{status} is not documented"]
    place = response_place(document, place)
    response = document
    for part in place:
        response = response[part]
    wrong = []
    for name, header in response["headers"].items():
        header = document["components"]["headers"][header["$ref"].split("/")[-1]] if "$ref" in header else header
        if header.get("required") and name not in answer.headers:
            wrong.append(f"no {name}")
    wrong += [f"no {name}" for name in LIMITS if name not in answer.headers]
    media_type = answer.headers.get("Content-Type")
    if not answer.content:
        return wrong
    if media_type not in response["content"] and "*/*" not in response["content"]:
        return [*wrong, f"{media_type} is not documented"]
    if media_type == "application/json":
        schema = pointer(*place, "content", media_type, "schema")
        wrong += Schemas(document).wrong(schema, answer.json())
    return wrong


# Holds invariant 48.
def test_the_story(story, document):
    entries = [entry for _, entry in examples()]
    wrong = []
    for entry in entries:
        _, answer = story.step(entry)
        if answer is None:
            continue
        name = f"{entry['operation']}.{entry['name']}"
        method, path, _ = story.operations[entry["operation"]]
        if "status" not in entry:
            wrong.append(f"{name} is not recorded: make examples")
            continue
        if answer.status_code != entry["status"]:
            wrong.append(f"{name} is {answer.status_code}, not {entry['status']}: {answer.text[:300]}")
            continue
        found = differences(entry.get("response"), without_tokens(story.shown(answer)))
        wrong += [f"{name}: {each}; if that is meant: make examples" for each in found]
        wrong += [f"{name}: {each}" for each in told(document, method, path, answer)]
    assert not wrong, "\n".join(wrong)
    assert len(entries) > 110


# Holds invariant 48.
def test_what_webhooks_are_sent(story, document):
    """Runs after the story, which sends them."""
    assert {message["type"] for _, message in story.receiver.messages} == {"webhook.test", "object.created"}
    place = ("paths", "/webhooks", "post", "callbacks", "event", "{$request.body#/url}", "post")
    message_of = document
    for part in place:
        message_of = message_of[part]
    schema = pointer(*place, "requestBody", "content", "application/json", "schema")
    wrong = []
    for headers, message in story.receiver.messages:
        wrong += [f"{message['type']}: {each}" for each in Schemas(document).wrong(schema, message)]
        wrong += [f"no {each['name']}" for each in message_of["parameters"] if each["name"] not in headers]
    assert not wrong, "\n".join(wrong)
