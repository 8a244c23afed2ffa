"""Policies in C2SP's tlog-policy format: which logs, and how many of which witnesses, a note needs."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, TypeAlias

from ..errors import Refused
from .notes import ED25519, ED25519_COSIGNATURE, NoteShown, VerifierKey
from .reading import decimal, refuse_unless

_Quorum: TypeAlias = Callable[[frozenset[str]], bool]

_CONTROL = re.compile("[\0-\x08\x0b-\x1f\x7f]")
_SPACES = re.compile("[ \t]+")
# The fewest and the most items of a line.
_ITEMS: Final = {"log": (2, 3), "witness": (3, 4), "group": (4, None), "quorum": (2, 2)}


@dataclass(frozen=True)
class Policy:
    """A policy.

    Attributes:
        logs: keys of logs, of which one must have signed; any log will do if there are none.
        known: all keys, for `verify_note`.
    """

    logs: tuple[VerifierKey, ...]
    known: tuple[VerifierKey, ...]
    _quorum: _Quorum

    @classmethod
    def of(cls, file: str) -> "Policy":
        """A policy from its file.

        The name of a witness's key says which witness it is: keys of one name count once, also keys that only
        `verify_note` knows.

        Raises:
            Refused: the file is no policy.
        """
        return _PolicyFile(file).policy()

    def check(self, note: NoteShown) -> None:
        """Checks that a verified note meets the policy.

        Raises:
            Refused: no log of the policy signed it, or too few witnesses did.
        """
        signers = {line.key for line in note.verified if line.key.name == note.origin}
        refuse_unless(not self.logs or not signers.isdisjoint(self.logs), "no line of a log of the policy")
        cosigned = (line.key for line in note.verified if line.key.type != ED25519 and line.key.name != note.origin)
        refuse_unless(self._quorum(frozenset(key.name for key in cosigned)), "too few witnesses")


class _PolicyFile:
    """What the lines of a file have defined so far."""

    def __init__(self, file: str) -> None:
        refuse_unless(_CONTROL.search(file) is None, "control characters")
        self.logs: list[VerifierKey] = []
        self.witnesses: list[VerifierKey] = []
        self.defined: dict[str, _Quorum] = {"none": lambda _: True}
        self.quorum: _Quorum | None = None
        for line in file.split("\n"):
            items = [item for item in _SPACES.split(line) if item]
            if items and not items[0].startswith("#"):
                self._read(items)

    def policy(self) -> Policy:
        if self.quorum is None:
            raise Refused("a policy without a quorum")
        return Policy(tuple(self.logs), (*self.logs, *self.witnesses), self.quorum)

    def _read(self, items: list[str]) -> None:
        least, most = _ITEMS.get(items[0], (1, 0))
        refuse_unless(len(items) >= least and (most is None or len(items) <= most), f"no line of a policy: {items[0]}")
        if items[0] == "log":
            key = self._key(items[1])
            refuse_unless(key.type != ED25519_COSIGNATURE, "no key of a log")
            self.logs.append(key)
        elif items[0] == "witness":
            self._witness(items[1], self._key(items[2]))
        elif items[0] == "group":
            self._group(items[1], items[2], items[3:])
        else:
            refuse_unless(self.quorum is None, "a second quorum")
            self.quorum = self._named(items[1])

    def _key(self, text: str) -> VerifierKey:
        key = VerifierKey.of(text)
        refuse_unless(all(other.key != key.key for other in (*self.logs, *self.witnesses)), "a key twice")
        return key

    def _witness(self, name: str, key: VerifierKey) -> None:
        # Keys of one name are one witness: two such lines would count it twice.
        is_new = all(other.name != key.name for other in self.witnesses)
        refuse_unless(key.type != ED25519 and is_new, "no key of a witness, or a second one of its name")
        self.witnesses.append(key)
        self._define(name, lambda cosigners: key.name in cosigners)

    def _group(self, name: str, count: str, members: list[str]) -> None:
        least = {"any": 1, "all": len(members)}.get(count) or decimal(count)
        refuse_unless(1 <= least <= len(members), "a threshold out of range")
        refuse_unless(len(set(members)) == len(members) and "none" not in members, "a member twice, or none as a member")
        parts = [self._named(member) for member in members]
        self._define(name, lambda cosigners: sum(part(cosigners) for part in parts) >= least)

    def _named(self, name: str) -> _Quorum:
        if name not in self.defined:
            raise Refused(f"{name} is not defined")
        return self.defined[name]

    def _define(self, name: str, quorum: _Quorum) -> None:
        refuse_unless(name not in self.defined, f"{name} is defined twice")
        self.defined[name] = quorum
