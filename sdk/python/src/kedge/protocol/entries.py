"""Entries of the state: the present version of every resource that the log made, as an RLP list of its type."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from itertools import pairwise
from typing import Any, ClassVar, Final, Literal, TypeVar

from ..errors import MalformedEntry, Refused
from .hashing import ZERO, hex_text
from .ids import PREFIXES, id_bytes
from .rlp import RlpItem, decode_rlp
from .signatures import checksum_address

T = TypeVar("T")
FieldReader = Callable[[RlpItem], T]

FORMAT: Final = 1

EntryStatus = Literal["active", "locked", "burned"]
EntryRole = Literal["owner", "admin", "member"]
RuleHolder = Literal["owner", "issuer", "anyone"]
_STATUSES: Final[tuple[EntryStatus, ...]] = ("active", "locked", "burned")
_ROLES: Final[tuple[EntryRole, ...]] = ("owner", "admin", "member")
_HOLDERS: Final[tuple[RuleHolder, ...]] = ("owner", "issuer", "anyone")


@dataclass(frozen=True)
class TemplateRule:
    """Who may do a kind of action to a template's objects. `schema_hash` is the hash of the payload's schema, or of the
    empty text."""

    kind: str
    who: RuleHolder
    schema_hash: bytes


@dataclass(frozen=True)
class StateEntry:
    """What every entry states.

    Attributes:
        version: how many actions have created and changed the resource.
        sequence: sequence of the last of them.
        integrity: the 32-byte hash over them.
    """

    PREFIX: ClassVar[str]
    version: int
    sequence: int
    integrity: bytes

    def stated(self) -> dict[str, Any]:
        """The entry as JSON, with the member names of an answer's `fields`."""
        return {one.name: _json(getattr(self, one.name)) for one in fields(self)}


@dataclass(frozen=True)
class ObjectEntry(StateEntry):
    """An object. `serial` is its template's `minted_count` when it was minted, `owner_address` the address that
    registered the owner's wallet, `properties_hash` the hash of its properties' text."""

    PREFIX: ClassVar[str] = "obj"
    organization_id: str
    template_id: str
    variation_id: str | None
    serial: int
    owner_id: str
    owner_address: bytes
    status: EntryStatus
    properties_hash: bytes


@dataclass(frozen=True)
class WalletEntry(StateEntry):
    """A wallet. `address` is the one that registered it; `keys` ascend, and are empty once the wallet is removed."""

    PREFIX: ClassVar[str] = "wal"
    organization_id: str
    address: bytes
    role: EntryRole
    keys: tuple[bytes, ...]


@dataclass(frozen=True)
class OrganizationEntry(StateEntry):
    """An organization."""

    PREFIX: ClassVar[str] = "org"


@dataclass(frozen=True)
class TemplateEntry(StateEntry):
    """A template. `max_supply` is None without a limit; a text's hash is that of the empty text where there is none."""

    PREFIX: ClassVar[str] = "tpl"
    organization_id: str
    public_access: bool
    max_supply: int | None
    minted_count: int
    burned_count: int
    variation_count: int
    properties_hash: bytes
    schema_hash: bytes
    rules: tuple[TemplateRule, ...]


@dataclass(frozen=True)
class VariationEntry(StateEntry):
    """A variation. `index` is its place in its template, from 0."""

    PREFIX: ClassVar[str] = "var"
    organization_id: str
    template_id: str
    index: int
    name_hash: bytes
    properties_hash: bytes


@dataclass(frozen=True)
class ApiKeyEntry(StateEntry):
    """An API key."""

    PREFIX: ClassVar[str] = "key"
    organization_id: str
    deleted: bool


@dataclass(frozen=True)
class WebhookEntry(StateEntry):
    """A webhook."""

    PREFIX: ClassVar[str] = "whk"
    organization_id: str
    active: bool
    deleted: bool


@dataclass(frozen=True)
class FileEntry(StateEntry):
    """A file, with the SHA-256 of its bytes and their number."""

    PREFIX: ClassVar[str] = "fil"
    organization_id: str
    wallet_id: str
    sha256: bytes
    size_bytes: int


@dataclass(frozen=True)
class DisputeEntry(StateEntry):
    """A dispute; `subject_id` is the id of what it is about."""

    PREFIX: ClassVar[str] = "dsp"
    organization_id: str
    subject_id: str


@dataclass(frozen=True)
class SequencerKeyEntry(StateEntry):
    """A key that the log named for the sequencer, under the id of the naming action."""

    PREFIX: ClassVar[str] = "act"
    address: bytes
    from_batch: int


def _json(value: Any) -> Any:
    if isinstance(value, bytes):
        return checksum_address(value) if len(value) == 20 else hex_text(value)
    if isinstance(value, tuple):
        return [_json(each) for each in value]
    if isinstance(value, TemplateRule):
        return {"kind": value.kind, "who": value.who, "schema_hash": hex_text(value.schema_hash)}
    return value


def _bytes(size: int) -> FieldReader[bytes]:
    def read(item: RlpItem) -> bytes:
        if not isinstance(item, bytes) or len(item) != size:
            raise MalformedEntry(f"no string of {size} bytes")
        return item

    return read


def _number(item: RlpItem) -> int:
    if not isinstance(item, bytes) or len(item) > 8 or item[:1] == b"\0":
        raise MalformedEntry("no number of 64 bits in its shortest form")
    return int.from_bytes(item, "big")


def _choice(choices: tuple[T, ...]) -> FieldReader[T]:
    def read(item: RlpItem) -> T:
        number = _number(item)
        if number >= len(choices):
            raise MalformedEntry(f"{number} is not below {len(choices)}")
        return choices[number]

    return read


def _id(*prefixes: str) -> FieldReader[str]:
    def read(item: RlpItem) -> str:
        if not isinstance(item, bytes) or not item.isascii() or item[:3].decode() not in prefixes:
            raise MalformedEntry(f"no id that begins with {' or '.join(prefixes)}")
        text = item.decode()
        try:
            id_bytes(text)
        except Refused as error:
            raise MalformedEntry(str(error)) from error
        return text

    return read


def _list(item: RlpItem) -> list[RlpItem]:
    if not isinstance(item, list):
        raise MalformedEntry("no list")
    return item


def _at_most_one(item: RlpItem) -> int | None:
    items = _list(item)
    if len(items) > 1:
        raise MalformedEntry("a list of more than one number")
    return _number(items[0]) if items else None


def _variation(item: RlpItem) -> str | None:
    return None if item == b"" else _id("var")(item)


def _keys(item: RlpItem) -> tuple[bytes, ...]:
    keys = tuple(_bytes(20)(each) for each in _list(item))
    if any(one >= other for one, other in pairwise(keys)):
        raise MalformedEntry("the keys do not ascend strictly")
    return keys


def _rule(item: RlpItem) -> TemplateRule:
    parts = _list(item)
    if len(parts) != 3 or not isinstance(parts[0], bytes):
        raise MalformedEntry("a rule is a list of kind, holder and hash")
    try:
        kind = parts[0].decode()
    except UnicodeDecodeError as error:
        raise MalformedEntry("a rule's kind is no UTF-8") from error
    return TemplateRule(kind, _choice(_HOLDERS)(parts[1]), _bytes(32)(parts[2]))


def _rules(item: RlpItem) -> tuple[TemplateRule, ...]:
    return tuple(_rule(each) for each in _list(item))


_HASH, _ADDRESS, _FLAG = _bytes(32), _bytes(20), _choice((False, True))
_COMMON: Final[Mapping[str, FieldReader[Any]]] = {"version": _number, "sequence": _number, "integrity": _HASH}
_ORGANIZATION: Final[Mapping[str, FieldReader[Any]]] = {"organization_id": _id("org")}
# Readers in the order of the list's items.
_TYPES: Final[Mapping[str, tuple[type[StateEntry], Mapping[str, FieldReader[Any]]]]] = {
    "obj": (
        ObjectEntry,
        {
            **_ORGANIZATION,
            "template_id": _id("tpl"),
            "variation_id": _variation,
            "serial": _number,
            "owner_id": _id("wal"),
            "owner_address": _ADDRESS,
            "status": _choice(_STATUSES),
            "properties_hash": _HASH,
        },
    ),
    "wal": (WalletEntry, {**_ORGANIZATION, "address": _ADDRESS, "role": _choice(_ROLES), "keys": _keys}),
    "org": (OrganizationEntry, {}),
    "tpl": (
        TemplateEntry,
        {
            **_ORGANIZATION,
            "public_access": _FLAG,
            "max_supply": _at_most_one,
            "minted_count": _number,
            "burned_count": _number,
            "variation_count": _number,
            "properties_hash": _HASH,
            "schema_hash": _HASH,
            "rules": _rules,
        },
    ),
    "var": (
        VariationEntry,
        {**_ORGANIZATION, "template_id": _id("tpl"), "index": _number, "name_hash": _HASH, "properties_hash": _HASH},
    ),
    "key": (ApiKeyEntry, {**_ORGANIZATION, "deleted": _FLAG}),
    "whk": (WebhookEntry, {**_ORGANIZATION, "active": _FLAG, "deleted": _FLAG}),
    "fil": (FileEntry, {**_ORGANIZATION, "wallet_id": _id("wal"), "sha256": _HASH, "size_bytes": _number}),
    "dsp": (DisputeEntry, {**_ORGANIZATION, "subject_id": _id(*PREFIXES)}),
    "act": (SequencerKeyEntry, {"address": _ADDRESS, "from_batch": _number}),
}
ENTRY_PREFIXES: Final = tuple(_TYPES)
"""Prefixes of the ids under which the state holds entries."""


def check_key(key: str) -> None:
    """Checks that a text is an id under which the state can hold an entry.

    Raises:
        Refused: it is not.
    """
    id_bytes(key)
    if key[:3] not in ENTRY_PREFIXES:
        raise Refused(f"the state holds nothing under ids that begin with {key[:3]}: {key}")


def decode_entry(key: str, entry: bytes, checkpoint_sequence: int) -> StateEntry:
    """The entry that these bytes are, by the rules of its key's type.

    Args:
        key: the resource's id.
        entry: the bytes whose hash the trie holds.
        checkpoint_sequence: the last sequence that the state covers.

    Raises:
        Refused: the key is not one that the state has.
        MalformedEntry: the entry breaks a rule.
    """
    check_key(key)
    try:
        items = decode_rlp(entry)
    except Refused as error:
        raise MalformedEntry(f"the entry of {key} is no canonical RLP: {error}") from error
    made, own = _TYPES[key[:3]]
    readers = {**_COMMON, **own}
    if not isinstance(items, list) or len(items) != len(readers) + 1:
        raise MalformedEntry(f"the entry of {key} is no list of {len(readers) + 1} items")
    if items[0] != bytes([FORMAT]):
        raise MalformedEntry(f"the entry of {key} has another format than {FORMAT}")
    found = {}
    for (name, read), item in zip(readers.items(), items[1:]):
        try:
            found[name] = read(item)
        except MalformedEntry as error:
            raise MalformedEntry(f"the entry of {key}: {name}: {error}") from None
    decoded = made(**found)
    _check_ranges(key, decoded, checkpoint_sequence)
    return decoded


def _check_ranges(key: str, entry: StateEntry, checkpoint_sequence: int) -> None:
    broken = {
        "version 0": entry.version == 0,
        "sequence 0": entry.sequence == 0,
        "an integrity of zeros": entry.integrity == ZERO,
        "a sequence above its checkpoint's": entry.sequence > checkpoint_sequence,
        "a version above its sequence": entry.version > entry.sequence,
    }
    if isinstance(entry, ObjectEntry):
        broken["serial 0"] = entry.serial == 0
    elif isinstance(entry, VariationEntry):
        broken["a version above 1"] = entry.version != 1
    elif isinstance(entry, TemplateEntry):
        broken["more burned than minted"] = entry.burned_count > entry.minted_count
        broken["more minted than max_supply"] = entry.max_supply is not None and entry.minted_count > entry.max_supply
    for rule, breaks in broken.items():
        if breaks:
            raise MalformedEntry(f"the entry of {key} has {rule}")
