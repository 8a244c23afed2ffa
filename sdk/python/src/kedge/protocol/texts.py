"""Texts of properties and schemas: the exact text that an action makes, of which the state holds the hash.

All functions take and return JSON texts, keep the spelling of numbers and strings, and need time linear in the texts'
length.
"""

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from ..errors import Refused

DEPTH_MAX: Final = 64
"""Limit on nested objects and lists, the service's own."""

# A string is spelled without nested choices, so that a missing quote takes no more than linear time.
_PLAIN = r'[^"\\\x00-\x1f]*'
_STRING = rf'"{_PLAIN}(?:\\(?:["\\/bfnrt]|u[0-9a-fA-F]{{4}}){_PLAIN})*"'
_NUMBER = r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?"
_TOKEN = re.compile(rf"[ \t\n\r]*(?:({_STRING})|({_NUMBER}|true|false|null)|([{{}}\[\],:]))")
_END = re.compile(r"[ \t\n\r]*\Z")
_ESCAPED = re.compile(r'["\\\x00-\x1f]')
_SHORT: Final = {'"': '\\"', "\\": "\\\\", "\b": "\\b", "\t": "\\t", "\n": "\\n", "\f": "\\f", "\r": "\\r"}


@dataclass
class _Value:
    """A value as a range of a text's tokens, with the members of an object by their decoded names."""

    tokens: Sequence[str]
    begin: int
    end: int = 0
    members: "dict[str, _Value] | None" = None

    def text(self) -> str:
        return "".join(self.pieces())

    def pieces(self) -> Sequence[str]:
        return self.tokens[self.begin : self.end]

    def is_null(self) -> bool:
        return self.tokens[self.begin] == "null"


@dataclass
class _Frame:
    """An object or list that is being read."""

    value: _Value
    expects: str
    name: str = ""


@dataclass
class _Parse:
    """The tokens of a text, and where its value's parts are."""

    source: str
    tokens: list[str] = field(default_factory=list)
    at: int = 0

    def token(self) -> tuple[str, str]:
        """The next token, and what it is: a string, a scalar, or the sign itself."""
        found = _TOKEN.match(self.source, self.at)
        if found is None:
            raise Refused(f"no JSON at character {self.at}")
        self.at = found.end()
        token = found[found.lastindex or 0]
        self.tokens.append(token)
        return token, ("string", "scalar", token)[(found.lastindex or 1) - 1]

    def root(self) -> _Value:
        frames: list[_Frame] = []
        root: _Value | None = None
        while root is None or frames:
            token, sort = self.token()
            frame = frames[-1] if frames else None
            if frame is not None and self._punctuated(frame, token, sort):
                if frame.expects == "closed":
                    frames.pop()
                continue
            value = _Value(self.tokens, len(self.tokens) - 1, len(self.tokens), {} if token == "{" else None)
            if sort not in ("string", "scalar", "{", "["):
                raise Refused(f"no JSON value before character {self.at}")
            if frame is not None:
                _add(frame, value)
            root = root or value
            if sort in ("{", "["):
                frames.append(_Frame(value, "first name" if sort == "{" else "first item"))
                if len(frames) > DEPTH_MAX:
                    raise Refused(f"JSON that nests more than {DEPTH_MAX} levels")
        if not _END.match(self.source, self.at):
            raise Refused("something follows the JSON")
        return root

    def _punctuated(self, frame: _Frame, token: str, sort: str) -> bool:
        """Takes a name or a sign of the innermost object or list; false if the token begins a value."""
        of_object, expects = frame.value.members is not None, frame.expects
        if expects in ("first item", "value") and not (expects == "first item" and token == "]"):
            return False
        closes = sort == ("}" if of_object else "]") and expects in ("first name", "first item", "next")
        if closes:
            frame.value.end, frame.expects = len(self.tokens), "closed"
        elif expects in ("first name", "name") and sort == "string":
            frame.name, frame.expects = decoded_key(token), "colon"
            if frame.name in (frame.value.members or {}):
                raise Refused(f"the member {token} occurs twice")
        elif expects == "colon" and sort == ":":
            frame.expects = "value"
        elif expects == "next" and sort == ",":
            frame.expects = "name" if of_object else "value"
        else:
            raise Refused(f"unexpected JSON before character {self.at}: {token[:40]}")
        return True


def _add(frame: _Frame, value: _Value) -> None:
    if frame.value.members is not None:
        frame.value.members[frame.name] = value
    frame.expects = "next"


def _parsed(text: str) -> _Value:
    return _Parse(text).root()


def _object(text: str) -> Mapping[str, _Value]:
    members = _parsed(text).members
    if members is None:
        raise Refused("the text is no JSON object")
    return members


def decoded_key(token: str) -> str:
    """The text of a JSON string with its quotes.

    Raises:
        Refused: the string has half of a surrogate pair.
    """
    if "\\" not in token:
        decoded = token[1:-1]
    else:
        decoded = str(json.loads(token))
    if any("\ud800" <= character <= "\udfff" for character in decoded):
        raise Refused("a string with half a character")
    return decoded


def written_key(name: str) -> str:
    """A name as texts have it: `"` and `\\` escaped, control characters in their shortest escape, all else as itself."""
    return f'"{_ESCAPED.sub(_escape, name)}"'


def _escape(found: re.Match[str]) -> str:
    character = found[0]
    return _SHORT.get(character) or f"\\u{ord(character):04x}"


def tidy_text(text: str) -> str:
    """The text without space, tab, LF and CR outside of strings.

    Raises:
        Refused: the text is no JSON, has a name twice in one object, or nests too deeply.
    """
    return _parsed(text).text()


def merge_texts(text: str, patch: str) -> str:
    """The text of an object after a merge patch: members of the text first, in its order, then new ones.

    Raises:
        Refused: one of them is no JSON object.
    """
    written: list[str] = []
    _write_merged(written, _object(text), _object(patch))
    return "".join(written)


def _write_merged(written: list[str], text: Mapping[str, _Value], patch: Mapping[str, _Value]) -> None:
    """Writes the pieces of a merged object's text."""
    before = "{"
    for name, value in {**text, **patch}.items():
        if name in patch and value.is_null():
            continue
        written.extend((before, written_key(name), ":"))
        before = ","
        if name in patch and value.members is not None:
            old = text.get(name)
            _write_merged(written, (old.members if old else None) or {}, value.members)
        else:
            written.extend(value.pieces())
    written.append("{}" if before == "{" else "}")


def set_members(text: str, changes: Iterable[tuple[str, str]]) -> str:
    """The text of an object after `set_attributes`: values replaced in their places, new members last.

    Args:
        text: the object.
        changes: decoded names with the JSON texts of their values.

    Raises:
        Refused: the text is no object, a value is no JSON, or a name occurs twice.
    """
    values = {name: value.text() for name, value in _object(text).items()}
    changed: set[str] = set()
    for name, value in changes:
        if name in changed:
            raise Refused(f"the attribute {name!r} is set twice")
        changed.add(name)
        values[name] = tidy_text(value)
    return _object_text(values)


def delete_members(text: str, names: Iterable[str]) -> str:
    """The text of an object after `delete_attributes`; names that it lacks change nothing.

    Raises:
        Refused: the text is no object.
    """
    gone = set(names)
    return _object_text({name: value.text() for name, value in _object(text).items() if name not in gone})


def _object_text(values: Mapping[str, str]) -> str:
    return "{" + ",".join(f"{written_key(name)}:{value}" for name, value in values.items()) + "}"


def mint_text(template: str, variation: str | None, own: str | None) -> str:
    """The text of a new object's properties.

    Args:
        template: the template's properties.
        variation: those of the named variation, None if the mint names none.
        own: those of the mint's payload, None if it has none.

    Raises:
        Refused: one of them is no JSON object.
    """
    made = tidy_text(template)
    if variation is not None:
        made = merge_texts(made, variation)
    if own is not None and tidy_text(own) != "{}":
        made = merge_texts(made, own)
    return made
