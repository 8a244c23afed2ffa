"""Items of answers, held against the entries of the state that their proofs show."""

import json
from collections.abc import Mapping
from typing import Any, Final, NoReturn

from ..errors import ItemDiffers, ProofMissing, Refused
from ..protocol.entries import ObjectEntry, TemplateEntry, VariationEntry
from ..protocol.typed import Checkpoint
from .reading import once
from .state_proofs import TEXT_HASHES, StateShown, agrees, prove_list, verify_state_proof
from .trust import Trust

# Attributes of entries that items show in another form.
_SHOWN_OTHERWISE: Final = ("name_hash", "properties_hash", "schema_hash", "rules")
# Members of entries that variations do not show: nothing changes one.
_NOT_IN_VARIATIONS: Final = ("version", "sequence", "integrity_hash")
# Members of a template's rule.
_RULE: Final = {"kind", "who", "schema"}


def _no_number(text: str) -> NoReturn:
    raise Refused(f"no JSON number: {text}")


def _spelled(text: str | bytes) -> Any:
    """A JSON value with each number as its spelling, so that 12.50 is not 12.5, and 1 is not true."""
    number = _number_spelling
    return json.loads(text, object_pairs_hook=once, parse_int=number, parse_float=number, parse_constant=_no_number)


def _number_spelling(text: str) -> tuple[str]:
    return (text,)


def check_proven_answer(body: bytes, trust: Trust, key: str | None) -> tuple[Checkpoint, tuple[StateShown, ...]]:
    """Verifies the proofs of an answer to a request with `prove=true`, and that its items are what they show. Returns the
    checkpoint, which an empty list has too, and what each proof shows.

    Args:
        body: the answer's bytes.
        trust: the log's domain and keys.
        key: the id that the request named; None for a list.

    Raises:
        ProofMissing: the answer has no proof, or proofs of other items.
        ItemDiffers: an item states something else than its entry.
        Refused: a proof is invalid, with the subclasses of `verify_state_proof`.
    """
    try:
        value, spelled = json.loads(body), _spelled(body)
    except (ValueError, RecursionError) as error:
        raise Refused(f"the answer is no JSON: {error}") from error
    if not isinstance(value, dict):
        raise ProofMissing("the answer is no object, and has no proof")
    if key is None:
        return _check_list(value, spelled, trust)
    # A text in its place would be read as a separate file.
    if not isinstance(value.get("state_proof"), dict):
        raise ProofMissing(f"the server answered for {key} without the proof that was asked for")
    shown = verify_state_proof(value["state_proof"], trust, key)
    _check_item(value, spelled, shown)
    return shown.checkpoint, (shown,)


def _check_list(value: Mapping[str, Any], spelled: Mapping[str, Any], trust: Trust) -> tuple[Checkpoint, tuple[StateShown, ...]]:
    items = value.get("items")
    if not isinstance(value.get("state_proofs"), dict) or not isinstance(items, list):
        raise ProofMissing("the server answered with a list without the proofs that were asked for")
    keys = [item["id"] for item in items if isinstance(item, dict) and isinstance(item.get("id"), str)]
    if len(keys) != len(items):
        raise ProofMissing("an item of the list has no id")
    checkpoint, shown = prove_list(value["state_proofs"], trust, keys)
    for item, words, one in zip(items, spelled["items"], shown):
        _check_item(item, words, one)
    return checkpoint, shown


def _check_item(item: Mapping[str, Any], spelled: Mapping[str, Any], shown: StateShown) -> None:
    """Compares an item with its entry; `spelled` is the item with numbers as they were sent."""
    entry = shown.entry
    if entry is None:
        raise ProofMissing(f"the proof shows that the state holds nothing under {shown.key}, which the server shows")
    if not isinstance(entry, ObjectEntry | TemplateEntry | VariationEntry):
        raise ProofMissing(f"items whose ids begin with {entry.PREFIX} can't be compared with their entries")
    own = {"id": shown.key, **entry.stated()}
    own["integrity_hash"] = own.pop("integrity")
    if isinstance(entry, VariationEntry):
        own = {name: expected for name, expected in own.items() if name not in _NOT_IN_VARIATIONS}
    differing = [name for name, expected in own.items() if name not in _SHOWN_OTHERWISE and not (name in item and agrees(item[name], expected))]
    differing += _differing_texts(spelled, shown)
    if isinstance(entry, TemplateEntry) and not _same_rules(spelled, entry, shown.rule_schemas):
        differing.append("actions")
    if differing:
        raise ItemDiffers(shown.key, tuple(differing))


def _differing_texts(spelled: Mapping[str, Any], shown: StateShown) -> list[str]:
    """The members that a text has to prove, and does not. A variation's name is a text in the item too, all others are JSON."""

    def proven(name: str) -> bool:
        if name not in spelled or name not in shown.texts:
            return False
        return bool(spelled[name] == shown.texts[name]) if name == "name" else _is_text(spelled[name], shown.texts[name])

    return [name for name in (TEXT_HASHES.get(type(shown.entry), {}) if shown.entry else {}) if not proven(name)]


def _is_text(stated: Any, text: str) -> bool:
    """Whether a member of an item is the JSON of a text; null where the text is empty."""
    if text == "":
        return stated is None
    try:
        return bool(stated == _spelled(text))
    except (ValueError, RecursionError):
        return False


def _same_rules(spelled: Mapping[str, Any], entry: TemplateEntry, schemas: tuple[str, ...] | None) -> bool:
    stated = spelled.get("actions")
    if not isinstance(stated, list) or len(stated) != len(entry.rules):
        return False
    shown = [(one.get("kind"), one.get("who")) if isinstance(one, dict) and one.keys() <= _RULE else None for one in stated]
    if shown != [(rule.kind, rule.who) for rule in entry.rules]:
        return False
    # A schema that the item shows, or shows none of, is proven by its text alone.
    if schemas is None:
        return not stated
    return all(_is_text(one.get("schema"), text) for one, text in zip(stated, schemas))
