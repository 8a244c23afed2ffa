"""Faults that the state shows: the verdicts of the vectors, and near misses of each fault."""

from collections.abc import Callable
from typing import Any

import pytest
import rlp
from kedge.errors import Refused
from kedge.protocol.hashing import ZERO, from_hex, hex_text, keccak, text_hash
from kedge.protocol.ids import id_of, made_id
from kedge.protocol.signatures import checksum_address
from kedge.protocol.typed import Checkpoint, first_integrity, leaf_of, next_integrity
from kedge.verify import hand_faults as hands
from kedge.verify import state_faults as faults
from kedge.verify.exhibits import LeafWords, ShownEntry, ShownLeaf, entry_exhibit, leaf_exhibit

from forged import TRUST
from states import (
    ADDRESS,
    ENTRIES,
    INTEGRITY,
    OBJECT,
    ORGANIZATION,
    OTHER_ADDRESS,
    OTHER_OBJECT,
    OTHER_WALLET,
    PROPERTIES,
    TEMPLATE,
    VARIATION,
    WALLET,
    StateTrie,
    entry,
    object_entry,
    template_entry,
    wallet_entry,
)
from test_trust import TRUST as FIRST_TRUST
from test_trust import naming
from vectors import read, words

ROOT = keccak(b"a root")
FOREIGN = "org_00000000000000000000000000"


def checkpoint(batches: int, sequence: int, rooted: bool = True) -> Checkpoint:
    return Checkpoint(batches, sequence, ZERO, ZERO, ROOT if rooted else ZERO, 0)


# The vectors


def entry_of(vector: dict[str, Any] | None) -> ShownEntry | None:
    if vector is None:
        return None
    at = vector["checkpoint"]
    return ShownEntry(checkpoint(at["batches"], at["sequence"], at["root"]), vector["id"], from_hex(vector["entry"]))


def leaf_from(vector: dict[str, Any]) -> ShownLeaf:
    parts = words(vector["words"]) if vector.get("words") else None
    opened = None if parts is None else LeafWords(parts[0], parts[1], parts[2], parts[3][12:], parts[4])
    leaf = ShownLeaf(vector["sequence"], from_hex(vector["content"]), from_hex(vector["integrity"]), opened)
    assert hex_text(leaf_of(leaf.sequence, vector["timestamp_ms"], leaf.content, leaf.integrity)) == vector["leaf"]
    previous = from_hex(vector["previous"])
    assert leaf.integrity == next_integrity(previous, leaf.content) and leaf.extends(previous) == (previous != ZERO)
    return leaf


VERDICTS: dict[str, Callable[..., bool]] = {
    "stale state": lambda entry, leaf: faults.stale_state(entry, leaf),
    "unrooted checkpoint": lambda first, second: faults.unrooted_checkpoint(first, second),
    "false entry": lambda entry, leaf, kind, to: faults.false_entry(entry, leaf, kind, to),
    "missing state": lambda entry, leaf, kind: faults.missing_state(entry, leaf),
    "rewritten state": lambda first, second: faults.rewritten_state(first, second),
    "two-faced state": lambda first, second: faults.two_faced_state(first, second),
    "twin state": lambda first, second: faults.twin_state(first, second),
    "false address": lambda object, wallet: faults.false_address(object, wallet),
    "false owner": lambda first, second, leaves: faults.false_owner(first, second, leaves),
    "trespass": lambda object, template, leaves, leaf, kind, wallet: hands.trespass(object, template, leaves, leaf, kind, wallet),
    "foreign hand": lambda entry, leaf, wallet: hands.foreign_hand(entry, leaf, wallet),
    "ghost member": lambda leaf, wallet: hands.ghost_member(leaf, wallet),
    "oversupply: template": lambda object, template: faults.serial_above_supply(object, template),
    "oversupply: serial": lambda first, second: faults.repeated_serial(first, second),
    "oversupply: max_supply": lambda first, second: faults.changed_supply(first, second),
    "malformed state": lambda entry: faults.malformed_state(entry),
}


def exhibit(name: str, value: Any) -> Any:
    if name == "leaf":
        return leaf_from(value)
    if name == "leaves":
        return [leaf_from(each) for each in value]
    if name in ("kind", "to"):
        return value
    if value is not None and "batches" in value:
        return checkpoint(value["batches"], value["sequence"], value["root"])
    return entry_of(value)


def test_every_verdict_of_the_vectors() -> None:
    vectors = read("state-faults")["vectors"]
    convicted = 0
    for vector in vectors:
        evidence = {name: exhibit(name, value) for name, value in vector["evidence"].items()}
        found = VERDICTS[vector["fault"]](**evidence)
        assert found == (vector["verdict"] == "convict"), vector["name"]
        convicted += found
    assert (len(vectors), convicted, {vector["fault"] for vector in vectors}) == (144, 51, set(VERDICTS))


# Exhibits of the tests


def at(key: str, data: bytes, batches: int = 7, sequence: int = 20, rooted: bool = True) -> ShownEntry:
    return ShownEntry(checkpoint(batches, sequence, rooted), key, data)


def leaf(
    kind: str,
    target: str = OBJECT,
    payload: str = "{}",
    signer: bytes = ADDRESS,
    previous: bytes = INTEGRITY,
    sequence: int = 21,
    opened: bool = True,
) -> ShownLeaf:
    """A leaf that extends an integrity."""
    made = LeafWords(text_hash(kind), text_hash(target), text_hash(payload), signer, keccak(b"authority"))
    return ShownLeaf(sequence, made.content, next_integrity(previous, made.content), made if opened else None)


def decided(fault: Callable[..., bool], good: tuple[Any, ...], misses: list[tuple[Any, ...]]) -> None:
    """Evidence that convicts, and its near misses that do not."""
    assert fault(*good), "no conviction"
    for number, evidence in enumerate(misses):
        assert not fault(*evidence), f"miss {number} convicts"


def after(leaf: ShownLeaf, version: int = 2, **changes: Any) -> bytes:
    """The object's entry after a leaf."""
    return object_entry(version=version, sequence=leaf.sequence, integrity=leaf.integrity, **changes)


def test_words_of_another_content_are_refused() -> None:
    good = leaf("update")
    with pytest.raises(Refused, match="not those of the leaf's content"):
        ShownLeaf(21, keccak(b"another"), good.integrity, good.words)
    assert not good.extends(ZERO) and not leaf("mint", previous=ZERO).extends(ZERO)


def test_malformed_and_absent_entries_show_nothing_else() -> None:
    bad = at(OBJECT, object_entry(status=3))
    assert faults.malformed_state(bad) and bad.entry is None and not bad.absent
    for shown in (at(OBJECT, b""), at(OBJECT, object_entry()), at(OBJECT, object_entry(status=3), rooted=False), at("bat_1y4fm1c01sb55372afcnzse3c9", b"\xc0"), at("nothing", b"\xc0")):
        assert not faults.malformed_state(shown)
    update, later = leaf("update"), at(OBJECT, object_entry(), 8)
    for shown in (bad, at(OBJECT, b"", rooted=False), at(OBJECT, object_entry(), rooted=False)):
        assert not faults.stale_state(shown, leaf("update", sequence=20))
        assert not faults.rewritten_state(shown, later) and not faults.two_faced_state(shown, later)
        assert not faults.lone_step(shown, later) and not faults.changed_constant(shown, later)
        assert not hands.dead_hand(shown, update) and not faults.answers_challenge(shown, leaf("update", sequence=5))


def test_lone_step() -> None:
    one = at(OBJECT, object_entry(version=2, sequence=10))
    other = keccak(b"other")

    def step(version: int, sequence: int, integrity: bytes = INTEGRITY, key: str = OBJECT) -> ShownEntry:
        return at(key, object_entry(version=version, sequence=sequence, integrity=integrity), 9, 40)

    misses = [(one, step(2, 10)), (one, step(3, 11, other)), (one, step(12, 20, other)), (one, step(3, 10, other, OTHER_OBJECT)), (one, at(OBJECT, b"", 9))]
    decided(faults.lone_step, (one, step(3, 10, other)), misses)
    for convicting in (step(2, 11, other), step(2, 10, other), step(3, 11), step(2, 11), step(3, 10), step(13, 20, other), step(3, 9, other)):
        assert faults.lone_step(one, convicting) and faults.lone_step(convicting, one)


def test_changed_constant() -> None:
    other = keccak(b"other")

    def later(data: bytes, key: str = OBJECT, batches: int = 9) -> ShownEntry:
        return at(key, data, batches, 40)

    one = at(OBJECT, object_entry())
    changed = object_entry(version=2, sequence=30, integrity=other, owner=OTHER_WALLET, address=OTHER_ADDRESS, properties=other, status=2)
    decided(
        faults.changed_constant,
        (one, later(object_entry(version=2, sequence=30, integrity=other, serial=2))),
        [(one, later(changed)), (one, later(object_entry(serial=2), OTHER_OBJECT)), (later(object_entry(serial=2)), one), (one, later(b""))],
    )
    for constant in ({"org": FOREIGN}, {"tpl": "tpl_648ht073a5ks0e8waazvx7qy6t"}, {"var": b""}):
        assert faults.changed_constant(one, later(object_entry(**constant)))
    # At one number of batches either comes first.
    assert faults.changed_constant(one, later(object_entry(serial=2), batches=7))

    burned = at(OBJECT, object_entry(status=2))
    decided(
        faults.changed_constant,
        (burned, later(object_entry(status=2, owner=OTHER_WALLET))),
        [(burned, later(object_entry(status=2))), (one, later(object_entry(status=2)))],
    )
    assert faults.changed_constant(burned, later(changed)) and faults.changed_constant(burned, later(object_entry()))

    wallet, removed = at(WALLET, wallet_entry()), at(WALLET, wallet_entry(keys=[]))
    decided(
        faults.changed_constant,
        (wallet, later(wallet_entry(address=OTHER_ADDRESS), WALLET)),
        [
            (wallet, later(wallet_entry(role=2, keys=[ADDRESS, OTHER_ADDRESS]), WALLET)),
            (wallet, later(wallet_entry(keys=[]), WALLET)),
            (removed, later(wallet_entry(keys=[], role=2), WALLET)),
        ],
    )
    for data in (wallet_entry(), wallet_entry(keys=[], version=2, sequence=30, integrity=other), wallet_entry(keys=[], org=FOREIGN)):
        assert faults.changed_constant(removed, later(data, WALLET))

    template = at(TEMPLATE, template_entry())
    decided(
        faults.changed_constant,
        (template, later(template_entry(minted=2), TEMPLATE)),
        [
            (template, later(template_entry(minted=4, burned=2, variations=2, public=0, rules=[], version=3, sequence=30), TEMPLATE)),
            (later(template_entry(minted=4), TEMPLATE), template),
        ],
    )
    for data in (template_entry(burned=0), template_entry(variations=0), template_entry(max=[]), template_entry(org=FOREIGN)):
        assert faults.changed_constant(template, later(data, TEMPLATE))

    key = "key_42ak1jka98a3vdaeex6xqmg5qe"
    deleted, kept = at(key, entry(ORGANIZATION, 1)), at(key, entry(ORGANIZATION, 0))
    decided(faults.changed_constant, (deleted, later(entry(ORGANIZATION, 0), key)), [(deleted, later(entry(ORGANIZATION, 1), key)), (kept, later(entry(ORGANIZATION, 1), key))])
    variation = at(VARIATION, ENTRIES[VARIATION])
    moved = entry(ORGANIZATION, TEMPLATE, 1, text_hash(""), text_hash("{}"), integrity=keccak(b"v"))
    decided(faults.changed_constant, (variation, later(moved, VARIATION)), [(variation, later(ENTRIES[VARIATION], VARIATION))])
    dispute = "dsp_0rngz76gzg2t4grm8ejfwka9gh"
    decided(
        faults.changed_constant,
        (at(dispute, entry(ORGANIZATION, OBJECT)), later(entry(ORGANIZATION, OTHER_OBJECT), dispute)),
        [(at(dispute, entry(ORGANIZATION, OBJECT)), later(entry(ORGANIZATION, OBJECT), dispute))],
    )
    organization = at(ORGANIZATION, entry())
    assert not faults.changed_constant(organization, later(entry(version=2, sequence=30, integrity=other), ORGANIZATION))


def test_hidden_change_of_an_object() -> None:
    other, emit, update = text_hash("other"), leaf("emit"), leaf("update")
    one = at(OBJECT, object_entry())
    two = at(OBJECT, after(emit, properties=other), 9, 40)
    closed = leaf("emit", opened=False)
    decided(
        faults.hidden_change,
        (one, two, [emit]),
        [
            (one, two, [closed]),
            (one, two, []),
            (one, two, [emit, emit]),
            (two, one, [emit]),
            (one, at(OBJECT, after(emit), 9, 40), [emit]),
            (one, at(OBJECT, after(update, properties=other), 9, 40), [update]),
            (one, at(OTHER_OBJECT, after(emit, properties=other), 9, 40), [emit]),
        ],
    )
    for kind in ("set_attributes", "delete_attributes"):
        changing = leaf(kind)
        assert not faults.hidden_change(one, at(OBJECT, after(changing, properties=other), 9, 40), [changing])
    # One update among several leaves explains the change; several that change nothing do not.
    second = leaf("lock", previous=emit.integrity, sequence=22)
    assert faults.hidden_change(one, at(OBJECT, after(second, 3, properties=other, status=1), 9, 40), [emit, second])
    second = leaf("update", previous=emit.integrity, sequence=22)
    assert not faults.hidden_change(one, at(OBJECT, after(second, 3, properties=other), 9, 40), [emit, second])


def test_hidden_change_of_a_template() -> None:
    previous = INTEGRITY[::-1]
    made, updated = leaf("template.variations", TEMPLATE, previous=previous), leaf("template.update", TEMPLATE, previous=previous)
    one = at(TEMPLATE, template_entry())

    def two(by: ShownLeaf, **changes: Any) -> ShownEntry:
        return at(TEMPLATE, template_entry(version=3, sequence=21, integrity=by.integrity, **changes), 9, 40)

    changes: list[dict[str, Any]] = [{"public": 0}, {"properties": ROOT}, {"schema": ROOT}, {"rules": []}]
    for change in changes:
        decided(
            faults.hidden_change,
            (one, two(made, **change), [made]),
            [(one, two(updated, **change), [updated]), (one, two(made, **change), [leaf("template.variations", TEMPLATE, previous=previous, opened=False)])],
        )
    assert not faults.hidden_change(one, two(made, minted=9, burned=2, variations=2), [made])


def test_false_owner_and_skipped_versions() -> None:
    emit, transfer = leaf("emit"), leaf("transfer")
    one = at(OBJECT, object_entry())
    two = at(OBJECT, after(emit, owner=OTHER_WALLET), 9, 40)
    decided(
        faults.false_owner,
        (one, two, [emit]),
        [
            (one, two, [leaf("emit", opened=False)]),
            (one, at(OBJECT, after(transfer, owner=OTHER_WALLET), 9, 40), [transfer]),
            (one, at(OBJECT, after(emit), 9, 40), [emit]),
            (one, two, [transfer]),
        ],
    )
    wallet = at(WALLET, wallet_entry())
    update = leaf("wallet.update", WALLET, previous=keccak(b"w"), opened=False)
    decided(
        faults.skipped_version,
        (wallet, at(WALLET, wallet_entry(version=3, sequence=21, integrity=update.integrity), 9, 40), [update]),
        [
            (wallet, at(WALLET, wallet_entry(version=2, sequence=21, integrity=update.integrity), 9, 40), [update]),
            (wallet, at(WALLET, wallet_entry(version=3, sequence=21, integrity=ROOT), 9, 40), [update]),
            (wallet, wallet, []),
        ],
    )


def test_false_keys() -> None:
    third = b"\x33" * 20
    previous = keccak(b"w")
    add, remove, update = (leaf(kind, WALLET, previous=previous) for kind in ("wallet.key_add", "wallet.key_remove", "wallet.update"))
    one = at(WALLET, wallet_entry(keys=[ADDRESS, OTHER_ADDRESS]))

    def two(by: ShownLeaf, *keys: bytes, key: str = WALLET) -> ShownEntry:
        return at(key, wallet_entry(version=2, sequence=by.sequence, integrity=by.integrity, keys=list(keys)), 9, 40)

    both = [ADDRESS, OTHER_ADDRESS]
    decided(
        faults.false_keys,
        (one, two(update, *both, third), [update]),
        [
            (one, two(update, *both), [update]),
            (one, two(add, *both, third), [add]),
            (one, two(remove, ADDRESS), [remove]),
            # Removed from the organization since: no keys at all.
            (one, two(update), [update]),
            (at(WALLET, wallet_entry(keys=[])), two(update, third), [update]),
            (one, two(update, *both, third), [leaf("wallet.update", WALLET, previous=previous, opened=False)]),
            (one, two(update, *both, third, key=OTHER_WALLET), [update]),
        ],
    )
    for by, keys in ((update, [ADDRESS]), (update, [ADDRESS, third]), (add, both), (remove, both), (remove, [third]), (add, [ADDRESS, third, b"\x44" * 20])):
        assert faults.false_keys(one, two(by, *keys), [by]), keys
    again = leaf("wallet.key_remove", WALLET, previous=add.integrity, sequence=22)
    swapped = two(again, ADDRESS, third)
    assert not faults.false_keys(one, swapped, [add, again])
    assert faults.false_keys(one, two(again, third, b"\x44" * 20), [add, again])


def test_dead_hand() -> None:
    emit, unlock = leaf("emit"), leaf("unlock")
    active, locked, burned = (at(OBJECT, object_entry(status=status)) for status in range(3))
    decided(
        hands.dead_hand,
        (burned, emit),
        [(active, emit), (burned, leaf("emit", previous=ROOT)), (locked, unlock), (locked, leaf("emit", opened=False)), (active, leaf("unlock", opened=False))],
    )
    assert hands.dead_hand(locked, emit) and hands.dead_hand(active, unlock) and hands.dead_hand(burned, leaf("emit", opened=False))
    removed, wallet = at(WALLET, wallet_entry(keys=[])), at(WALLET, wallet_entry())
    update = leaf("wallet.update", WALLET, previous=keccak(b"w"))
    decided(hands.dead_hand, (removed, update), [(wallet, update), (removed, emit)])
    for key, gone, kept in (
        ("key_42ak1jka98a3vdaeex6xqmg5qe", entry(ORGANIZATION, 1), entry(ORGANIZATION, 0)),
        ("whk_5an502cs7hmgfm1txwab4sjfnp", entry(ORGANIZATION, 0, 1), entry(ORGANIZATION, 0, 0)),
    ):
        decided(hands.dead_hand, (at(key, gone), emit), [(at(key, kept), emit), (at(key, b""), emit)])
    assert not hands.dead_hand(at(TEMPLATE, template_entry()), leaf("unlock", TEMPLATE, previous=INTEGRITY[::-1]))


def test_trespass_after_the_owner_was_removed() -> None:
    shown, template, update = at(OBJECT, object_entry()), at(TEMPLATE, template_entry()), leaf("update", sequence=31)
    removed = at(WALLET, wallet_entry(keys=[]), 9, 30)
    good: tuple[Any, ...] = (shown, template, [], update, None, removed)
    decided(
        hands.trespass,
        good,
        [
            (*good[:5], at(WALLET, wallet_entry(keys=[]), 9, 31)),
            (*good[:5], at(WALLET, wallet_entry(), 9, 30)),
            (*good[:5], at(OTHER_WALLET, wallet_entry(keys=[]), 9, 30)),
            (*good[:5], at(WALLET, b"", 9, 30)),
            (*good[:5], None),
            (shown, template, [], leaf("update", sequence=31, opened=False), None, removed),
            (shown, template, [], leaf("update", sequence=31, previous=ROOT), None, removed),
            (shown, template, [], leaf("update", sequence=20), None, at(WALLET, wallet_entry(keys=[]), 6, 19)),
            (shown, at(TEMPLATE, template_entry(), 8), [], update, None, removed),
            # A rule leaves transfers to anyone; a kind that is neither the template's nor an object's is another fault's.
            (shown, template, [], leaf("transfer", sequence=31), None, removed),
            (shown, template, [], leaf("frobnicate", sequence=31), "frobnicate", removed),
        ],
    )
    emit, transfer = leaf("emit", sequence=25), leaf("transfer", sequence=25)
    for before, convicts in ((emit, True), (transfer, False), (leaf("emit", sequence=25, opened=False), False)):
        last = leaf("update", previous=before.integrity, sequence=31)
        assert hands.trespass(shown, template, [before], last, None, removed) == convicts


def test_trespass_by_other_keys() -> None:
    shown, template, update = at(OBJECT, object_entry()), at(TEMPLATE, template_entry()), leaf("update", signer=OTHER_ADDRESS)
    other = at(OTHER_WALLET, wallet_entry(address=OTHER_ADDRESS, keys=[OTHER_ADDRESS]), 3, 6)
    decided(
        hands.trespass,
        (shown, template, [], update, None, other),
        [(shown, template, [], leaf("update"), None, other), (shown, template, [], leaf("update"), None, at(WALLET, wallet_entry(), 9, 40))],
    )
    # The issuer's kind, by a key of another organization, which its entry shows at any checkpoint.
    issuers = at(TEMPLATE, template_entry(rules=[["update", 1, text_hash("")]]))
    foreign = at(OTHER_WALLET, wallet_entry(org=FOREIGN, keys=[OTHER_ADDRESS]), 3, 6)
    decided(hands.trespass, (shown, issuers, [], update, None, foreign), [(shown, issuers, [], update, None, other), (shown, issuers, [], leaf("update"), None, foreign)])
    # Rules that contradict each other show nothing.
    twice = at(TEMPLATE, template_entry(rules=[["update", 0, text_hash("")], ["update", 2, text_hash("")]]))
    assert not hands.trespass(shown, twice, [], update, None, other)
    unruled, ruled = leaf("x.other"), leaf("x.scan", signer=OTHER_ADDRESS)
    decided(
        hands.trespass,
        (shown, template, [], unruled, "x.other", None),
        [(shown, template, [], unruled, None, None), (shown, template, [], unruled, "x.scan", None), (shown, template, [], ruled, "x.scan", None)],
    )


def test_foreign_hand() -> None:
    previous = keccak(b"w")
    wallet = at(WALLET, wallet_entry())
    strange = leaf("wallet.update", WALLET, signer=OTHER_ADDRESS, previous=previous)
    decided(
        hands.foreign_hand,
        (wallet, strange),
        [
            (wallet, leaf("wallet.update", WALLET, previous=previous)),
            (wallet, leaf("wallet.update", WALLET, signer=OTHER_ADDRESS)),
            (wallet, leaf("system.tier", WALLET, signer=OTHER_ADDRESS, previous=previous)),
            (wallet, leaf("wallet.update", WALLET, signer=OTHER_ADDRESS, previous=previous, opened=False)),
            (at(OBJECT, object_entry()), leaf("update", signer=OTHER_ADDRESS), at(OTHER_WALLET, wallet_entry(org=FOREIGN, keys=[OTHER_ADDRESS]))),
        ],
    )
    hook = at("whk_5an502cs7hmgfm1txwab4sjfnp", entry(ORGANIZATION, 1, 0))
    foreign = at(OTHER_WALLET, wallet_entry(org=FOREIGN, keys=[OTHER_ADDRESS]))
    change = leaf("webhook.update", hook.key, signer=OTHER_ADDRESS)
    own = at(OTHER_WALLET, wallet_entry(keys=[OTHER_ADDRESS]))
    off = leaf("system.webhook_off", hook.key, signer=OTHER_ADDRESS)
    decided(hands.foreign_hand, (hook, change, foreign), [(hook, change, own), (hook, change), (hook, off, foreign), (hook, leaf("webhook.update"), foreign)])


def test_foreign_maker() -> None:
    own, other = at(WALLET, wallet_entry()), at(OTHER_WALLET, wallet_entry(keys=[ADDRESS]))
    foreign = at(OTHER_WALLET, wallet_entry(org=FOREIGN, keys=[ADDRESS]))
    for kind, prefix, data in (
        ("template.create", "tpl", template_entry()),
        ("key.create", "key", entry(ORGANIZATION, 0)),
        ("webhook.create", "whk", entry(ORGANIZATION, 1, 0)),
        ("file.create", "fil", entry(ORGANIZATION, WALLET, ROOT, 7)),
    ):
        made = leaf(kind, "", previous=ZERO, sequence=3)
        shown = at(made_id(prefix, made.content), data)
        decided(
            hands.foreign_maker,
            (shown, made, foreign),
            [
                (shown, made, own),
                (shown, made, at(OTHER_WALLET, wallet_entry(org=FOREIGN, keys=[OTHER_ADDRESS]))),
                (shown, leaf(kind, "", previous=ZERO, opened=False), foreign),
                (shown, leaf("emit", "", previous=ZERO), foreign),
                (at(made_id(prefix, made.content, 1), data), made, foreign),
                (shown, made, at(OTHER_WALLET, b"")),
            ],
        )
        # A file is its maker's wallet's too.
        assert hands.foreign_maker(shown, made, other) == (prefix == "fil")


def test_foreign_mint() -> None:
    mint = leaf("mint", TEMPLATE, previous=ZERO, sequence=10)
    template = at(TEMPLATE, template_entry())
    foreign = at(WALLET, wallet_entry(org=FOREIGN))
    decided(
        hands.foreign_mint,
        (template, mint, foreign),
        [
            (template, mint, at(WALLET, wallet_entry())),
            (template, leaf("mint", TEMPLATE, signer=OTHER_ADDRESS, previous=ZERO, sequence=10), foreign),
            (template, leaf("mint", TEMPLATE, previous=ZERO, sequence=4), foreign),
            (template, leaf("mint", TEMPLATE, previous=ZERO, sequence=21), foreign),
            (template, leaf("mint", OBJECT, previous=ZERO, sequence=10), foreign),
            (template, leaf("emit", TEMPLATE, previous=ZERO, sequence=10), foreign),
            (template, leaf("mint", TEMPLATE, previous=ZERO, sequence=10, opened=False), foreign),
            (at(TEMPLATE, template_entry(rules=[["mint", 2, text_hash("")]])), mint, foreign),
            (at(TEMPLATE, template_entry(rules=[["mint", 0, text_hash("")]])), mint, foreign),
        ],
    )
    assert hands.foreign_mint(at(TEMPLATE, template_entry(rules=[["mint", 1, text_hash("")]])), mint, foreign)
    for sequence, convicts in ((5, True), (20, True)):
        assert hands.foreign_mint(template, leaf("mint", TEMPLATE, previous=ZERO, sequence=sequence), foreign) == convicts


def test_live_update() -> None:
    shown, update = at(OBJECT, object_entry()), leaf("template.update", TEMPLATE, previous=ROOT, sequence=6)
    decided(
        hands.live_update,
        (shown, update),
        [
            (at(OBJECT, object_entry(status=2)), update),
            (at(OBJECT, object_entry(sequence=6)), update),
            (at(OBJECT, object_entry(), sequence=5), update),
            (shown, leaf("template.update", OBJECT, previous=ROOT, sequence=6)),
            (shown, leaf("template.variations", TEMPLATE, previous=ROOT, sequence=6)),
            (shown, leaf("template.update", TEMPLATE, previous=ROOT, sequence=6, opened=False)),
            (at(OBJECT, b""), update),
        ],
    )
    assert hands.live_update(at(OBJECT, object_entry(status=1), sequence=6), update)


def test_addresses_and_organizations() -> None:
    shown, template = at(OBJECT, object_entry(org=FOREIGN)), at(TEMPLATE, template_entry())
    decided(
        faults.false_issuer,
        (shown, template),
        [
            (at(OBJECT, object_entry()), template),
            (shown, at(TEMPLATE, template_entry(), 8)),
            (shown, at("tpl_648ht073a5ks0e8waazvx7qy6t", template_entry())),
            (shown, at(TEMPLATE, b"")),
        ],
    )
    one = at(WALLET, wallet_entry())
    third = b"\x33" * 20
    decided(
        faults.shared_address,
        (one, at(OTHER_WALLET, wallet_entry(address=OTHER_ADDRESS, keys=[ADDRESS]), 9, 40)),
        [(one, at(WALLET, wallet_entry(), 9, 40)), (one, at(OTHER_WALLET, wallet_entry(address=third, keys=[OTHER_ADDRESS]))), (one, at(OTHER_WALLET, b""))],
    )
    for keys in ([], [OTHER_ADDRESS]):
        assert faults.shared_address(at(WALLET, wallet_entry(keys=[third])), at(OTHER_WALLET, wallet_entry(keys=keys)))


def minted(payload: str, **changes: Any) -> tuple[ShownEntry, ShownLeaf]:
    """A mint, and the object's entry after it."""
    mint = leaf("mint", TEMPLATE, payload, previous=ZERO, sequence=5)
    return at(made_id("obj", mint.content), object_entry(integrity=mint.integrity, **changes)), mint


def exact(wallet: str) -> str:
    return f'{{"to":"{wallet}"}}'


def test_owner_after_a_mint() -> None:
    own, other = at(WALLET, wallet_entry()), at(OTHER_WALLET, wallet_entry(keys=[ADDRESS]))
    shown, mint = minted("{}")
    decided(
        faults.false_entry,
        (shown, mint, "mint", None, other),
        [
            (shown, mint, "mint", None, own),
            (shown, mint, "mint", None, at(OTHER_WALLET, wallet_entry(keys=[OTHER_ADDRESS]))),
            (shown, mint, "mint", None, None),
            (shown, mint, "emit", None, other),
            (shown, mint, None, None, other),
            (*minted("{ }"), "mint", None, other),
            (*minted(exact(WALLET)), "mint", WALLET, other),
            (*minted(exact(WALLET)), "mint", OTHER_WALLET, None),
            (*minted(exact(OTHER_WALLET) + " "), "mint", OTHER_WALLET, None),
            # A payload may name an address: of whose wallet it is, nothing follows.
            (*minted(exact(checksum_address(ADDRESS))), "mint", checksum_address(ADDRESS), None),
            (*minted(exact("")), "mint", "", None),
            (*minted(exact(OBJECT)), "mint", OBJECT, None),
            (*minted(exact("wal_x")), "mint", "wal_x", None),
        ],
    )
    assert faults.false_entry(*minted(exact(OTHER_WALLET)), "mint", OTHER_WALLET)
    transfer = leaf("transfer", payload=exact(checksum_address(ADDRESS)))
    assert not faults.false_entry(at(OBJECT, after(transfer), 9, 40), transfer, "transfer", checksum_address(ADDRESS))


def test_wallets_after_their_registration() -> None:
    register = leaf("wallet.register", "", previous=ZERO, sequence=2)
    key = made_id("wal", register.content)

    def wallet(**changes: Any) -> ShownEntry:
        return at(key, wallet_entry(**{"sequence": 2, "integrity": register.integrity, **changes}))

    later = {"version": 3, "sequence": 9, "integrity": ROOT}
    decided(
        faults.false_entry,
        (wallet(address=OTHER_ADDRESS, **later), register),
        [
            (wallet(**later), register),
            (wallet(keys=[]), register, "wallet.register"),
            (wallet(), register, "wallet.register"),
            (at(WALLET, wallet_entry(address=OTHER_ADDRESS, **later)), register),
            (wallet(address=OTHER_ADDRESS, **later), leaf("wallet.register", "", previous=ZERO, sequence=2, opened=False)),
        ],
    )
    assert faults.false_entry(wallet(keys=[OTHER_ADDRESS]), register, "wallet.register")


def test_variations() -> None:
    made = leaf("template.variations", TEMPLATE, previous=ROOT, sequence=5)
    last = faults.VARIATIONS_MAX - 1

    def variation(index: int, leaf: ShownLeaf = made, integrity: bytes | None = None, template: str = TEMPLATE) -> ShownEntry:
        own = first_integrity(leaf.content, index + 1) if integrity is None else integrity
        return at(made_id("var", leaf.content, index), entry(ORGANIZATION, template, 0, text_hash(""), text_hash("{}"), integrity=own))

    closed = leaf("template.variations", TEMPLATE, previous=ROOT, sequence=5, opened=False)
    wrong, elsewhere = leaf("template.update", TEMPLATE, previous=ROOT, sequence=5), leaf("template.variations", OBJECT, previous=ROOT, sequence=5)
    decided(
        faults.false_entry,
        (variation(0, integrity=ROOT), made),
        [
            (variation(0), made),
            (variation(last), made),
            (variation(0, integrity=ROOT), closed),
            (variation(0, integrity=ROOT), leaf("template.variations", TEMPLATE, previous=ROOT, sequence=6)),
        ],
    )
    convicting = [(variation(last + 1), made), (variation(0, wrong), wrong), (variation(0, elsewhere), elsewhere)]
    convicting.append((variation(0, integrity=first_integrity(made.content, 2)), made))
    for shown, by in convicting:
        assert faults.false_entry(shown, by)
    assert faults.answers_challenge(variation(last), made) and not faults.answers_challenge(variation(last + 1), made)


def test_disputes_and_sequencer_keys() -> None:
    verdict, other = leaf("system.verdict", OBJECT, previous=ZERO, sequence=5), leaf("system.verdict", OTHER_OBJECT, previous=ZERO, sequence=5)

    def dispute(by: ShownLeaf) -> ShownEntry:
        return at(made_id("dsp", by.content), entry(ORGANIZATION, OBJECT, integrity=by.integrity))

    decided(faults.false_entry, (dispute(other), other, "system.verdict"), [(dispute(verdict), verdict, "system.verdict"), (dispute(other), other)])

    def named(target: str) -> tuple[ShownEntry, ShownLeaf]:
        naming = leaf("system.sequencer_key", target, previous=ZERO, sequence=5)
        return at(id_of("act", naming.content), entry(b"\xab" * 20, 9, integrity=naming.integrity)), naming

    text = checksum_address(b"\xab" * 20)
    decided(faults.false_entry, (*named(text.lower()), "system.sequencer_key"), [(*named(text), "system.sequencer_key"), (*named(text), None)])
    assert faults.false_entry(*named(checksum_address(ADDRESS)), "system.sequencer_key")
    # Its id is the action's own, not the first of its prefix.
    shown, naming = named(text)
    assert faults.false_entry(at(made_id("act", naming.content), shown.data), naming, "system.sequencer_key")
    missing = at(shown.key, b"")
    decided(faults.missing_state, (missing, naming), [(shown, naming), (at(made_id("act", naming.content), b""), naming)])


def test_answers_to_challenges() -> None:
    update = leaf("update", sequence=5)
    shown = at(OBJECT, object_entry(version=2, integrity=update.integrity))
    decided(
        faults.answers_challenge,
        (shown, update),
        [(shown, leaf("update", sequence=6)), (shown, leaf("emit", sequence=5)), (at(OBJECT, b""), update)],
    )
    register = leaf("wallet.register", "", previous=ZERO, sequence=5)
    organization = at(ORGANIZATION, entry(integrity=first_integrity(register.content, 1)))
    decided(faults.answers_challenge, (organization, register), [(at(ORGANIZATION, entry(integrity=register.integrity)), register)])


def test_exhibits_come_from_proofs_and_proof_files() -> None:
    state = StateTrie(ENTRIES)
    shown = entry_exhibit(state.answer(OBJECT), TRUST)
    assert (shown.key, shown.data, shown.checkpoint) == (OBJECT, ENTRIES[OBJECT], state.checkpoint) and shown.entry is not None
    bad = StateTrie({**ENTRIES, OTHER_OBJECT: object_entry(sequence=21)})
    assert faults.malformed_state(entry_exhibit({**bad.answer(OTHER_OBJECT), "texts": {}}, TRUST))
    assert entry_exhibit(state.answer("act_0479rrex65eayrm9ddqtrvzkaw"), TRUST).absent
    with pytest.raises(Refused):
        entry_exhibit({**state.answer(OBJECT), "nodes": []}, TRUST)
    file = naming()
    found = leaf_exhibit(file, FIRST_TRUST)
    assert found.words is not None and found.words.is_kind("system.sequencer_key") and found.sequence == 9
    with pytest.raises(Refused):
        leaf_exhibit({**file, "leaf": {**file["leaf"], "sequence": 10}}, FIRST_TRUST)
    broken = bytes(rlp.encode([b"\x20" + bytes(31), PROPERTIES.encode().ljust(32)]))
    assert faults.broken_trie(Checkpoint(1, 1, ZERO, ZERO, keccak(broken), 0), [broken])
    assert not faults.broken_trie(state.checkpoint, [broken]) and not faults.broken_trie(state.checkpoint, state.nodes(OBJECT))
