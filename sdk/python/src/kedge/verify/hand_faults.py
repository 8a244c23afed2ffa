"""Faults of who acted: an action that the log holds, signed by a key whose wallet was not entitled to it.

Each function takes exhibits about one log, already proven, and returns whether they convict its operator.
"""

from collections.abc import Sequence
from typing import Final, Literal

from ..protocol.entries import (
    ApiKeyEntry,
    FileEntry,
    ObjectEntry,
    OrganizationEntry,
    RuleHolder,
    TemplateEntry,
    WalletEntry,
    WebhookEntry,
)
from ..protocol.hashing import text_hash
from .exhibits import LeafWords, ShownEntry, ShownLeaf, chain_end
from .state_faults import CUSTOM, MAKERS, OWNER_KINDS, are_opened_without, first_id, has_ended, holds_key

OPERATOR_KINDS: Final = ("system.tier", "system.verdict", "system.webhook_off", "system.sequencer_key")
"""Kinds that the operator signs, on resources of any organization."""


def _holder(template: TemplateEntry, words: LeafWords, kind: str | None) -> RuleHolder | Literal["unruled"] | None:
    """To whom a template leaves an action on its objects; None if that is not known from these words."""
    holders = {rule.who for rule in template.rules if text_hash(rule.kind) == words.kind}
    if holders:
        return holders.pop() if len(holders) == 1 else None
    if words.is_kind(*OWNER_KINDS):
        return "owner"
    return "unruled" if kind is not None and kind.startswith(CUSTOM) and words.is_kind(kind) else None


def trespass(
    shown: ShownEntry,
    template: ShownEntry,
    leaves: Sequence[ShownLeaf],
    leaf: ShownLeaf,
    kind: str | None = None,
    wallet: ShownEntry | None = None,
) -> bool:
    """An action on an object by a key to whose wallet its template does not leave the kind.

    Args:
        shown: the object at a checkpoint.
        template: its template at the same checkpoint.
        leaves: the opened leaves, none of them a transfer, from the object's entry to the action.
        leaf: the action, opened, after the checkpoint.
        kind: the plain text of a kind that the template adds.
        wallet: another wallet that has the signer among its keys; or the owner's, which lacks the signer at or after the
            action, or was removed before it. Not needed for a kind that the template does not know.
    """
    entry, rules, words = shown.entry, template.entry, leaf.words
    if not isinstance(entry, ObjectEntry) or not isinstance(rules, TemplateEntry) or words is None:
        return False
    if template.key != entry.template_id or template.checkpoint.batches != shown.checkpoint.batches:
        return False
    end = chain_end(entry.integrity, leaves)
    if end is None or not are_opened_without(leaves, "transfer") or not leaf.extends(end):
        return False
    if leaf.sequence <= shown.checkpoint.sequence:
        return False
    holder = _holder(rules, words, kind)
    if holder == "owner":
        return wallet is not None and _is_not_the_owners(entry.owner_id, wallet, leaf, words.signer)
    if holder == "issuer":
        return is_of_another_organization(wallet, words.signer, rules.organization_id)
    return holder == "unruled"


def _is_not_the_owners(owner: str, wallet: ShownEntry, leaf: ShownLeaf, signer: bytes) -> bool:
    entry = wallet.entry
    if not isinstance(entry, WalletEntry):
        return False
    if wallet.key != owner:
        return signer in entry.keys
    if not entry.keys:
        return wallet.checkpoint.sequence < leaf.sequence
    unchanged = entry.sequence < leaf.sequence <= wallet.checkpoint.sequence
    return unchanged and signer not in entry.keys


def is_of_another_organization(wallet: ShownEntry | None, signer: bytes, organization: str) -> bool:
    """Whether a shown wallet has the signer among its keys, and is of another organization."""
    if wallet is None or not isinstance(wallet.entry, WalletEntry) or not holds_key(wallet, signer):
        return False
    return wallet.entry.organization_id != organization


def foreign_hand(shown: ShownEntry, leaf: ShownLeaf, wallet: ShownEntry | None = None) -> bool:
    """An action on a wallet by a key that it lacks; or on an organization, or one of its templates, API keys or
    webhooks, by a key of another organization, which `wallet` has."""
    entry, words = shown.entry, leaf.words
    if entry is None or words is None or not leaf.extends(entry.integrity) or words.is_kind(*OPERATOR_KINDS):
        return False
    if isinstance(entry, WalletEntry):
        return words.signer not in entry.keys
    if isinstance(entry, OrganizationEntry):
        return is_of_another_organization(wallet, words.signer, shown.key)
    if isinstance(entry, TemplateEntry | ApiKeyEntry | WebhookEntry):
        return is_of_another_organization(wallet, words.signer, entry.organization_id)
    return False


def dead_hand(shown: ShownEntry, leaf: ShownLeaf) -> bool:
    """An action on what is burned, deleted or removed; on a locked object other than to unlock it, or the reverse."""
    entry = shown.entry
    if entry is None or not leaf.extends(entry.integrity):
        return False
    if has_ended(entry):
        return True
    if not isinstance(entry, ObjectEntry) or leaf.words is None:
        return False
    return leaf.words.is_kind("unlock") != (entry.status == "locked")


def foreign_maker(shown: ShownEntry, leaf: ShownLeaf, wallet: ShownEntry) -> bool:
    """A template, API key, webhook or file that a key of another organization made; a file also of another wallet."""
    entry, words, prefix = shown.entry, leaf.words, shown.key[:3]
    if not isinstance(entry, TemplateEntry | ApiKeyEntry | WebhookEntry | FileEntry) or words is None:
        return False
    if not words.is_kind(MAKERS[prefix]) or first_id(prefix, leaf.content) != shown.key:
        return False
    if isinstance(entry, FileEntry) and holds_key(wallet, words.signer) and wallet.key != entry.wallet_id:
        return True
    return is_of_another_organization(wallet, words.signer, entry.organization_id)


def foreign_mint(template: ShownEntry, leaf: ShownLeaf, wallet: ShownEntry) -> bool:
    """A mint that the template leaves to the issuer, by a key of another organization. The template's entry is from
    before the mint, at a checkpoint at or after it: so the rule held."""
    entry, words = template.entry, leaf.words
    if not isinstance(entry, TemplateEntry) or words is None or not words.is_kind("mint"):
        return False
    held = entry.sequence < leaf.sequence <= template.checkpoint.sequence
    holders = {rule.who for rule in entry.rules if rule.kind == "mint"} or {"issuer"}
    if not held or holders != {"issuer"} or words.target != text_hash(template.key):
        return False
    return is_of_another_organization(wallet, words.signer, entry.organization_id)


def live_update(shown: ShownEntry, leaf: ShownLeaf) -> bool:
    """An update of a template, one of whose objects lived then: a checkpoint at or after it shows it unchanged since
    before, and not burned."""
    entry, words = shown.entry, leaf.words
    if not isinstance(entry, ObjectEntry) or words is None or entry.status == "burned":
        return False
    if not words.is_kind("template.update") or words.target != text_hash(entry.template_id):
        return False
    return entry.sequence < leaf.sequence <= shown.checkpoint.sequence


def ghost_member(leaf: ShownLeaf, wallet: ShownEntry) -> bool:
    """A wallet that still has keys at or after its removal from its organization."""
    entry, words = wallet.entry, leaf.words
    if not isinstance(entry, WalletEntry) or words is None or not words.is_kind("org.member_remove"):
        return False
    removed = words.payload == text_hash(f'{{"wallet_id":"{wallet.key}"}}')
    return removed and bool(entry.keys) and wallet.checkpoint.sequence >= leaf.sequence
