"""Faults that the state shows: entries that contradict each other, the log's leaves, or the rules.

Each function takes exhibits about one log, already proven, and returns whether they convict its operator. It returns
False where they show nothing. An entry that is malformed is evidence of `malformed_state` alone.
"""

import base64
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from ..errors import Refused
from ..protocol.entries import (
    ApiKeyEntry,
    DisputeEntry,
    FileEntry,
    ObjectEntry,
    OrganizationEntry,
    SequencerKeyEntry,
    StateEntry,
    TemplateEntry,
    VariationEntry,
    WalletEntry,
    WebhookEntry,
    check_key,
)
from ..protocol.hashing import ZERO, text_hash
from ..protocol.ids import id_of, made_id
from ..protocol.signatures import checksum_address
from ..protocol.trie import is_broken
from ..protocol.typed import Checkpoint, first_integrity
from .exhibits import LeafWords, ShownEntry, ShownLeaf, chain_end

VARIATIONS_MAX: Final = 500
"""Limit on the variations that one action makes."""
CUSTOM: Final = "x."
"""Beginning of the kinds that templates add."""
OWNER_KINDS: Final = ("update", "set_attributes", "delete_attributes", "transfer", "lock", "unlock", "burn", "emit")
"""Kinds of an object that are its owner's unless its template says otherwise."""
MAKERS: Final = {
    "obj": "mint",
    "wal": "wallet.register",
    "tpl": "template.create",
    "key": "key.create",
    "whk": "webhook.create",
    "fil": "file.create",
    "dsp": "system.verdict",
    "act": "system.sequencer_key",
}
"""The kind that makes a resource of each type, as the first of its action."""
_ACTORS: Final = {
    "obj": OWNER_KINDS,
    "wal": ("wallet.update", "wallet.key_add", "wallet.key_remove"),
    "org": ("org.invite", "org.invitation_revoke", "org.role", "org.member_remove", "system.tier"),
    "tpl": ("template.update", "template.variations"),
    "key": ("key.delete", "key.rotate"),
    "whk": ("webhook.update", "webhook.delete", "webhook.rotate", "system.webhook_off"),
}
_STATUS_AFTER: Final = {"lock": "locked", "burn": "burned"}
_CHANGING_PROPERTIES: Final = ("update", "set_attributes", "delete_attributes")


# Checkpoints and the trie


def unrooted_checkpoint(first: Checkpoint, second: Checkpoint) -> bool:
    """A signed checkpoint without a root above one that has a root."""
    return first.state != ZERO and second.state == ZERO and second.batches > first.batches


def broken_trie(checkpoint: Checkpoint, nodes: Sequence[bytes]) -> bool:
    """Nodes that hashes link to a checkpoint's root, the last of which does not have the one form."""
    return is_broken(checkpoint.state, nodes)


def malformed_state(shown: ShownEntry) -> bool:
    """An entry that breaks a rule of its type."""
    try:
        check_key(shown.key)
    except Refused:
        return False
    return shown.rooted and bool(shown.data) and shown.entry is None


# An entry and a leaf


def stale_state(shown: ShownEntry, leaf: ShownLeaf) -> bool:
    """A leaf at or before the checkpoint extends the entry, which the checkpoint should no longer hold."""
    entry = shown.entry
    return entry is not None and leaf.sequence <= shown.checkpoint.sequence and leaf.extends(entry.integrity)


def missing_state(shown: ShownEntry, leaf: ShownLeaf) -> bool:
    """An opened leaf at or before the checkpoint makes a resource, and the checkpoint holds nothing under its id."""
    prefix = shown.key[:3]
    maker = "template.variations" if prefix == "var" else MAKERS.get(prefix)
    if not shown.absent or leaf.words is None or maker is None or leaf.sequence > shown.checkpoint.sequence:
        return False
    return leaf.words.is_kind(maker) and first_id(prefix, leaf.content) == shown.key


def first_id(prefix: str, content: bytes) -> str:
    """Id of the first resource of a type that an action makes; of a sequencer key it is the action's own."""
    return id_of("act", content) if prefix == "act" else made_id(prefix, content)


def false_entry(
    shown: ShownEntry, leaf: ShownLeaf, kind: str | None = None, to: str | None = None, wallet: ShownEntry | None = None
) -> bool:
    """An entry that is not what its leaf made.

    Args:
        shown: the entry.
        leaf: the leaf at the entry's sequence; for a wallet's address also the one that registered it.
        kind: the plain text of an opened leaf's kind.
        to: the wallet that an object's payload names, if it is exactly `{"to":"wal_…"}`.
        wallet: for an object minted with the payload `{}`, the wallet that has the signer among its keys.
    """
    entry = shown.entry
    if entry is None:
        return False
    if isinstance(entry, WalletEntry) and _is_registered_otherwise(shown.key, entry, leaf):
        return True
    if leaf.sequence != entry.sequence:
        return False
    if isinstance(entry, VariationEntry):
        return leaf.words is not None and not _makes_variation(shown.key, entry, leaf.words)
    if leaf.integrity != entry.integrity:
        return not (isinstance(entry, OrganizationEntry) and entry.version == 1)
    if leaf.words is None or kind is None or not leaf.words.is_kind(kind):
        return False
    if not _could_be_last(shown.key, entry, kind, leaf.content):
        return True
    if isinstance(entry, ObjectEntry):
        return _is_false_object(entry, leaf.words, kind, to, wallet)
    return _is_false_resource(entry, leaf.words, kind)


def _is_registered_otherwise(key: str, entry: WalletEntry, leaf: ShownLeaf) -> bool:
    words = leaf.words
    registers = words is not None and words.is_kind("wallet.register") and made_id("wal", leaf.content) == key
    return words is not None and registers and words.signer != entry.address


def _makes_variation(key: str, entry: VariationEntry, words: LeafWords) -> bool:
    if not words.is_kind("template.variations") or words.target != text_hash(entry.template_id):
        return False
    content = words.content
    return any(
        first_integrity(content, index + 1) == entry.integrity and made_id("var", content, index) == key
        for index in range(VARIATIONS_MAX)
    )


def _could_be_last(key: str, entry: StateEntry, kind: str, content: bytes) -> bool:
    """Whether an action of this kind and content can be the entry's last one."""
    prefix = key[:3]
    makes = kind == MAKERS.get(prefix)
    if not makes and kind not in _ACTORS.get(prefix, ()) and not (prefix == "obj" and kind.startswith(CUSTOM)):
        return False
    return makes == (entry.version == 1) and (not makes or first_id(prefix, content) == key)


def _is_false_object(entry: ObjectEntry, words: LeafWords, kind: str, to: str | None, wallet: ShownEntry | None) -> bool:
    if entry.status != _STATUS_AFTER.get(kind, "active"):
        return True
    if kind == "mint" and words.target != text_hash(entry.template_id):
        return True
    if kind in ("mint", "transfer") and to is not None and _names_wallet(words, "to", to):
        return entry.owner_id != to
    return kind == "mint" and words.payload == text_hash("{}") and holds_key(wallet, words.signer) and _key_of(wallet) != entry.owner_id


def _names_wallet(words: LeafWords, member: str, wallet: str) -> bool:
    """Whether the payload is exactly an object with this member, the id of a wallet. (A transfer may also name an
    address, of which nothing follows.)"""
    try:
        check_key(wallet)
    except Refused:
        return False
    return wallet.startswith("wal_") and words.payload == text_hash(f'{{"{member}":"{wallet}"}}')


def holds_key(wallet: ShownEntry | None, signer: bytes) -> bool:
    """Whether a shown wallet has an address among its keys."""
    return wallet is not None and isinstance(wallet.entry, WalletEntry) and signer in wallet.entry.keys


def _key_of(wallet: ShownEntry | None) -> str | None:
    return None if wallet is None else wallet.key


def _is_false_resource(entry: StateEntry, words: LeafWords, kind: str) -> bool:
    if isinstance(entry, WalletEntry):
        return kind == "wallet.register" and entry.keys not in ((words.signer,), ())
    if isinstance(entry, ApiKeyEntry):
        return entry.deleted != (kind == "key.delete")
    if isinstance(entry, WebhookEntry):
        off = entry.active and kind in ("webhook.delete", "system.webhook_off")
        return off or entry.deleted != (kind == "webhook.delete")
    if isinstance(entry, FileEntry):
        return words.payload != text_hash(f"sha-256=:{base64.b64encode(entry.sha256).decode()}:")
    if isinstance(entry, DisputeEntry):
        return words.target != text_hash(entry.subject_id)
    return isinstance(entry, SequencerKeyEntry) and words.target != text_hash(checksum_address(entry.address))


# Two entries of one id


def rewritten_state(first: ShownEntry, second: ShownEntry) -> bool:
    """An entry that a later checkpoint lacks, or that it holds with another past."""
    if first.key != second.key or first.checkpoint.batches >= second.checkpoint.batches:
        return False
    one, two = first.entry, second.entry
    if one is not None and second.absent:
        return True
    if two is None:
        return False
    old = two.sequence <= first.checkpoint.sequence
    if one is None:
        return old and first.absent
    return two.version < one.version or (old and _steps(one) != _steps(two))


def _steps(entry: StateEntry) -> tuple[int, int, bytes]:
    return entry.version, entry.sequence, entry.integrity


def lone_step(first: ShownEntry, second: ShownEntry) -> bool:
    """Version, sequence and integrity that neither all agree nor all differ, or a version that grew more than the
    sequence."""
    if first.key != second.key or first.entry is None or second.entry is None:
        return False
    one, two = sorted((first.entry, second.entry), key=lambda entry: entry.version)
    agreeing = sum(a == b for a, b in zip(_steps(one), _steps(two)))
    return agreeing not in (0, 3) or two.version - one.version > two.sequence - one.sequence


def two_faced_state(first: ShownEntry, second: ShownEntry) -> bool:
    """One id with one integrity, and two entries that differ in more than what changes without an action on it."""
    one, two = first.entry, second.entry
    if one is None or two is None or first.key != second.key or one.integrity != two.integrity:
        return False
    return first.checkpoint.batches <= second.checkpoint.batches and (_counts_fell(one, two) or _settled(one, two) != two)


def _settled(one: StateEntry, two: StateEntry) -> StateEntry:
    """The first entry, with what may differ without an action on it taken from the second."""
    if isinstance(one, WalletEntry) and isinstance(two, WalletEntry):
        return replace(one, role=two.role, keys=one.keys if two.keys else ())
    if isinstance(one, TemplateEntry) and isinstance(two, TemplateEntry):
        return replace(one, minted_count=two.minted_count, burned_count=two.burned_count)
    return one


def _counts_fell(one: StateEntry, two: StateEntry) -> bool:
    if not isinstance(one, TemplateEntry) or not isinstance(two, TemplateEntry):
        return False
    return any(getattr(two, name) < getattr(one, name) for name in ("minted_count", "burned_count", "variation_count"))


_CONSTANTS: Final[dict[type[StateEntry], tuple[str, ...]]] = {
    ObjectEntry: ("organization_id", "template_id", "variation_id", "serial"),
    WalletEntry: ("organization_id", "address"),
    TemplateEntry: ("organization_id", "max_supply"),
    ApiKeyEntry: ("organization_id",),
    WebhookEntry: ("organization_id",),
    OrganizationEntry: (),
}


def changed_constant(first: ShownEntry, second: ShownEntry) -> bool:
    """Entries of one id, the first not later, that differ in what never changes, or after the resource ended."""
    one, two = first.entry, second.entry
    if one is None or two is None or first.key != second.key or first.checkpoint.batches > second.checkpoint.batches:
        return False
    constants = _CONSTANTS.get(type(one))
    if constants is None:
        return one != two
    if any(getattr(one, name) != getattr(two, name) for name in constants) or _counts_fell(one, two):
        return True
    return has_ended(one) and _settled(one, two) != two


def has_ended(entry: StateEntry) -> bool:
    """Whether no action can follow: an object is burned, a key or webhook deleted, a wallet without keys."""
    if isinstance(entry, ObjectEntry):
        return entry.status == "burned"
    if isinstance(entry, ApiKeyEntry | WebhookEntry):
        return entry.deleted
    return isinstance(entry, WalletEntry) and not entry.keys


# Entries of two ids


def twin_state(first: ShownEntry, second: ShownEntry) -> bool:
    """Two ids with one integrity."""
    one, two = first.entry, second.entry
    return one is not None and two is not None and first.key != second.key and one.integrity == two.integrity


def _at_one_checkpoint(one: ShownEntry, other: ShownEntry) -> bool:
    return one.checkpoint.batches == other.checkpoint.batches


def false_address(shown: ShownEntry, owner: ShownEntry) -> bool:
    """At one checkpoint, an object's `owner_address` is not the address of its owner's wallet."""
    one, two = shown.entry, owner.entry
    if not isinstance(one, ObjectEntry) or not isinstance(two, WalletEntry) or not _at_one_checkpoint(shown, owner):
        return False
    return one.owner_id == owner.key and one.owner_address != two.address


def false_issuer(shown: ShownEntry, template: ShownEntry) -> bool:
    """At one checkpoint, an object's organization is not that of its template."""
    one, two = shown.entry, template.entry
    if not isinstance(one, ObjectEntry) or not isinstance(two, TemplateEntry) or not _at_one_checkpoint(shown, template):
        return False
    return one.template_id == template.key and one.organization_id != two.organization_id


def shared_address(first: ShownEntry, second: ShownEntry) -> bool:
    """Two wallets share one of the addresses that registered them or that they have as keys, at any checkpoints."""
    one, two = first.entry, second.entry
    if not isinstance(one, WalletEntry) or not isinstance(two, WalletEntry) or first.key == second.key:
        return False
    return not {one.address, *one.keys}.isdisjoint({two.address, *two.keys})


def serial_above_supply(shown: ShownEntry, template: ShownEntry) -> bool:
    """At one checkpoint, an object's serial is above its template's `minted_count` or `max_supply`."""
    one, two = shown.entry, template.entry
    if not isinstance(one, ObjectEntry) or not isinstance(two, TemplateEntry) or not _at_one_checkpoint(shown, template):
        return False
    above = one.serial > two.minted_count or (two.max_supply is not None and one.serial > two.max_supply)
    return one.template_id == template.key and above


def repeated_serial(first: ShownEntry, second: ShownEntry) -> bool:
    """Two objects of one template have one serial."""
    one, two = first.entry, second.entry
    if not isinstance(one, ObjectEntry) or not isinstance(two, ObjectEntry) or first.key == second.key:
        return False
    return one.template_id == two.template_id and one.serial == two.serial


def changed_supply(first: ShownEntry, second: ShownEntry) -> bool:
    """Two entries of one template differ in `max_supply`."""
    one, two = first.entry, second.entry
    if not isinstance(one, TemplateEntry) or not isinstance(two, TemplateEntry) or first.key != second.key:
        return False
    return one.max_supply != two.max_supply


# Two entries of one id, and the leaves between them


def _are_joined(first: ShownEntry, second: ShownEntry, leaves: Sequence[ShownLeaf]) -> bool:
    one, two = first.entry, second.entry
    if one is None or two is None or first.key != second.key:
        return False
    return chain_end(one.integrity, leaves) == two.integrity


def are_opened_without(leaves: Sequence[ShownLeaf], *kinds: str) -> bool:
    """Whether all leaves are opened, and none is of these kinds."""
    return all(leaf.words is not None and not leaf.words.is_kind(*kinds) for leaf in leaves)


def skipped_version(first: ShownEntry, second: ShownEntry, leaves: Sequence[ShownLeaf]) -> bool:
    """The version grew by another number than there are leaves between two entries."""
    one, two = first.entry, second.entry
    if one is None or two is None or not _are_joined(first, second, leaves):
        return False
    return two.version - one.version != len(leaves)


def false_owner(first: ShownEntry, second: ShownEntry, leaves: Sequence[ShownLeaf]) -> bool:
    """Between two entries of an object its owner changed without a transfer, or what never changes did."""
    one, two = first.entry, second.entry
    if not isinstance(one, ObjectEntry) or not isinstance(two, ObjectEntry) or not _are_joined(first, second, leaves):
        return False
    constants = ("organization_id", "template_id", "variation_id")
    if skipped_version(first, second, leaves) or any(getattr(one, name) != getattr(two, name) for name in constants):
        return True
    return one.owner_id != two.owner_id and are_opened_without(leaves, "transfer")


def hidden_change(first: ShownEntry, second: ShownEntry, leaves: Sequence[ShownLeaf]) -> bool:
    """Between two entries of an object or a template, something changed that no kind of the leaves changes."""
    one, two = first.entry, second.entry
    if not _are_joined(first, second, leaves):
        return False
    if isinstance(one, ObjectEntry) and isinstance(two, ObjectEntry):
        return one.properties_hash != two.properties_hash and are_opened_without(leaves, *_CHANGING_PROPERTIES)
    if isinstance(one, TemplateEntry) and isinstance(two, TemplateEntry):
        names = ("public_access", "properties_hash", "schema_hash", "rules")
        return any(getattr(one, name) != getattr(two, name) for name in names) and are_opened_without(leaves, "template.update")
    return False


def false_keys(first: ShownEntry, second: ShownEntry, leaves: Sequence[ShownLeaf]) -> bool:
    """Between two entries of a wallet that have keys, these grew by other than additions less removals, or by more new
    ones than additions."""
    one, two = first.entry, second.entry
    if not isinstance(one, WalletEntry) or not isinstance(two, WalletEntry) or not _are_joined(first, second, leaves):
        return False
    if not one.keys or not two.keys or not are_opened_without(leaves):
        return False
    words = [leaf.words for leaf in leaves if leaf.words is not None]
    adds = sum(each.is_kind("wallet.key_add") for each in words)
    removes = sum(each.is_kind("wallet.key_remove") for each in words)
    return len(two.keys) - len(one.keys) != adds - removes or len(set(two.keys) - set(one.keys)) > adds


# Challenges


def answers_challenge(shown: ShownEntry, leaf: ShownLeaf) -> bool:
    """Whether a leaf answers the challenge of an entry: it is at the entry's sequence, and gives its integrity."""
    entry = shown.entry
    if entry is None or leaf.sequence != entry.sequence:
        return False
    if isinstance(entry, VariationEntry):
        return any(first_integrity(leaf.content, index + 1) == entry.integrity for index in range(VARIATIONS_MAX))
    if isinstance(entry, OrganizationEntry) and entry.version == 1:
        return first_integrity(leaf.content, 1) == entry.integrity
    return leaf.integrity == entry.integrity
