"""Texts of properties: what is no JSON is refused, and time is linear in the texts' length."""

import json
import random
import time
from collections.abc import Callable

import pytest
from kedge.errors import Refused
from kedge.protocol.texts import DEPTH_MAX, delete_members, merge_texts, mint_text, set_members, tidy_text, written_key


@pytest.mark.parametrize(
    "text",
    [
        "", " ", "{", "}", "[", "]", "{]", "[}", "{,}", "[,]", "[1,]", '{"a":1,}', '{"a"}', '{"a":}', '{"a" 1}', "{1:1}", '{"a":1 "b":2}', "[1 2]", ":", ",",
        "1 1", "{}x", "nul", "True", "NaN", "01", "1.", ".1", "+1", "1e", "--1", '"', '"\\"', '"\\x"', '"\\u12g4"', '"\t"', '"\n"', "'a'", "\x0b1", "\ufeff{}",
        '{"a":1,"a":2}', '{"a":1,"\\u0061":2}', '{"x":{"b":1,"b":1}}', '{"\\ud800":1}', '{"\\udc00\\ud800":1}', "[" * (DEPTH_MAX + 1) + "]" * (DEPTH_MAX + 1),
    ],
    ids=ascii,
)  # fmt: skip
def test_what_is_no_text_is_refused(text: str) -> None:
    for make in (tidy_text, lambda one: merge_texts(one, "{}"), lambda one: merge_texts("{}", one), lambda one: mint_text(one, None, None)):
        with pytest.raises(Refused):
            make(text)
    with pytest.raises(Refused):
        set_members("{}", [("a", text)])


@pytest.mark.parametrize("text", ["[]", "1", "null", '"a"', "[{}]"])
def test_what_is_no_object_is_not_merged(text: str) -> None:
    assert tidy_text(f" {text} ") == text
    makes: list[Callable[[], str]] = [lambda: merge_texts(text, "{}"), lambda: merge_texts("{}", text), lambda: set_members(text, []), lambda: delete_members(text, [])]
    for make in makes:
        with pytest.raises(Refused, match="no JSON object"):
            make()


def test_depth_and_names() -> None:
    deepest = "[" * DEPTH_MAX + "]" * DEPTH_MAX
    assert tidy_text(deepest) == deepest
    with pytest.raises(Refused, match="is set twice"):
        set_members("{}", [("a", "1"), ("a", "2")])
    for name in ("", "a", 'a"\\', "\b\t\n\f\r\x00\x1f", "\x7f/é\u2028😀"):
        assert json.loads(written_key(name)) == name
    assert written_key("\x0b\x1f/\x7f") == '"\\u000b\\u001f/\x7f"'


def test_merging_means_what_rfc_7396_means() -> None:
    dice = random.Random(11)

    def value(depth: int) -> object:
        kind = dice.randrange(6 if depth else 4)
        if kind > 3:
            return {dice.choice("abcd"): value(depth - 1) for _ in range(dice.randrange(4))}
        return [None, 1, [None, {"a": None}], "x"][kind]

    def merged(target: object, patch: object) -> object:
        if not isinstance(patch, dict):
            return patch
        made = dict(target) if isinstance(target, dict) else {}
        for name, change in patch.items():
            if change is None:
                made.pop(name, None)
            else:
                made[name] = merged(made.get(name), change)
        return made

    for _ in range(1000):
        target, patch = ({dice.choice("abcd"): value(3) for _ in range(3)} for _ in range(2))
        text = merge_texts(json.dumps(target, indent=1), json.dumps(patch))
        assert json.loads(text) == merged(target, patch) and tidy_text(text) == text


def seconds(size: int) -> float:
    """Time for the texts that would be slow for a careless reader, each of about this size."""
    nest = "".join(f'{{"k{level}":' for level in range(DEPTH_MAX - 1))
    deep = nest + '"' + "x" * size + '"' + "}" * (DEPTH_MAX - 1)
    wide = "{" + ",".join(f'"{number}":{number}' for number in range(size // 14)) + "}"
    begun = time.process_time()
    merge_texts(deep, deep)
    merge_texts(wide, wide)
    delete_members(wide, [str(number) for number in range(size // 14)])
    for broken in ('{"a":"' + "x" * size, '"' + "\\n" * (size // 2), " " * size + "x", "1" * size + "x", "-" * size, "[" * size):
        with pytest.raises(Refused):
            tidy_text(broken)
    return time.process_time() - begun


def test_time_is_linear() -> None:
    once, more = seconds(40_000), seconds(320_000)
    assert more < 8 * once * 3 + 0.5
