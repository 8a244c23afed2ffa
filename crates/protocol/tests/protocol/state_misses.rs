//! Faults that the vectors leave out, and near misses of each: every inequality is tried on both sides.

use kedge_protocol::resource::{ObjectStatus, Role, Who};
use kedge_protocol::state::StateEntry;
use kedge_protocol::state::entry::{EntryFields, EntryRule};
use kedge_protocol::state::faults::{
    HeldEntry, ShownEntry, StatePoint, changed_constant, dead_hand, false_address, false_keys,
    false_owner, false_version, hidden_change, lone_step, malformed_state, oversupply,
    rewritten_state, stale_state, two_faced_state,
};
use kedge_protocol::{Hash, Prefix};

use crate::state_scene::{
    address, at, closed, entry, id, leaf, object, point, stepped, template, wallet,
};

type Change = fn(&mut StateEntry);

fn pair(prefix: Prefix, first: &StateEntry, second: &StateEntry) -> bool {
    let own = id(prefix, 1);
    let (first, second) = (at(point(2, 9), own, first), at(point(4, 19), own, second));
    // Turned around, the checkpoints are in the wrong order.
    assert!(!changed_constant(&second, &first));
    changed_constant(&first, &second)
}

#[test]
fn version_sequence_and_integrity_step_together() {
    let first = entry(Prefix::Object);
    let own = id(Prefix::Object, 1);
    let shows = |second: &StateEntry| {
        let shown = (at(point(2, 9), own, &first), at(point(4, 19), own, second));
        let turned = lone_step(&shown.1, &shown.0);
        assert_eq!(lone_step(&shown.0, &shown.1), turned);
        let other = at(point(4, 19), id(Prefix::Object, 2), second);
        assert!(!lone_step(&shown.0, &other));
        turned
    };
    for bits in 0..8 {
        let mut second = first.clone();
        second.version += bits & 1;
        second.sequence += bits >> 1 & 1;
        if bits & 4 != 0 {
            second.integrity = Hash([9; 32]);
        }
        assert_eq!(shows(&second), bits != 0 && bits != 7, "{bits}");
    }
    for (versions, sequences, expected) in
        [(2, 2, false), (3, 2, true), (3, 3, false), (1, 9, false)]
    {
        let mut second = first.clone();
        second.version += versions;
        second.sequence += sequences;
        second.integrity = Hash([9; 32]);
        assert_eq!(shows(&second), expected, "{versions} {sequences}");
    }
    // A version that grew while the sequence fell.
    let mut second = first.clone();
    (second.version, second.sequence, second.integrity) = (3, 4, Hash([9; 32]));
    assert!(shows(&second));
}

/// A number of batches that was signed with two states.
#[test]
fn entries_of_one_number_of_batches_are_compared() {
    let own = id(Prefix::Object, 1);
    let shown = [entry(Prefix::Object), object(|o| o.serial = 4)];
    let [first, second] = shown.map(|entry| at(point(2, 9), own, &entry));
    assert!(changed_constant(&first, &second) && changed_constant(&second, &first));
    assert!(two_faced_state(&first, &second) && two_faced_state(&second, &first));
    assert!(!changed_constant(&first, &first) && !two_faced_state(&first, &first));
}

#[test]
fn an_object_keeps_its_origin_and_ends_once() {
    let first = entry(Prefix::Object);
    let constant: [Change; 4] = [
        |e| e.fields = object(|o| o.organization_id = id(Prefix::Organization, 2)).fields,
        |e| e.fields = object(|o| o.template_id = id(Prefix::Template, 2)).fields,
        |e| e.fields = object(|o| o.variation_id = Some(id(Prefix::Variation, 1))).fields,
        |e| e.fields = object(|o| o.serial = 4).fields,
    ];
    let free: [Change; 5] = [
        |_| {},
        |e| e.fields = object(|o| o.owner_id = id(Prefix::Wallet, 2)).fields,
        |e| e.fields = object(|o| o.status = ObjectStatus::Burned).fields,
        |e| e.fields = object(|o| o.properties_hash = Hash([3; 32])).fields,
        |e| e.version += 1,
    ];
    for (changes, expected) in [(&constant[..], true), (&free[..], false)] {
        for (place, change) in changes.iter().enumerate() {
            let mut second = first.clone();
            change(&mut second);
            assert_eq!(pair(Prefix::Object, &first, &second), expected, "{place}");
        }
    }
    let burned = object(|o| o.status = ObjectStatus::Burned);
    assert!(!pair(Prefix::Object, &burned, &burned));
    let after: [Change; 4] = [
        |e| e.fields = object(|_| {}).fields,
        |e| e.version += 1,
        |e| e.integrity = Hash([9; 32]),
        |e| {
            if let EntryFields::Object(object) = &mut e.fields {
                object.owner_id = id(Prefix::Wallet, 2);
            }
        },
    ];
    for (place, change) in after.iter().enumerate() {
        let mut second = burned.clone();
        change(&mut second);
        assert!(pair(Prefix::Object, &burned, &second), "{place}");
    }
}

#[test]
fn a_wallet_keeps_its_address_and_stays_removed() {
    let first = entry(Prefix::Wallet);
    let shows = |first: &StateEntry, second: &StateEntry| pair(Prefix::Wallet, first, second);
    assert!(shows(&first, &wallet(|w| w.address = address(2))));
    assert!(shows(
        &first,
        &wallet(|w| w.organization_id = id(Prefix::Organization, 2))
    ));
    assert!(!shows(&first, &wallet(|w| w.role = Role::Owner)));
    assert!(!shows(&first, &wallet(|w| w.keys = vec![address(2)])));
    assert!(!shows(&first, &wallet(|w| w.keys.clear())));
    let removed = wallet(|w| w.keys.clear());
    assert!(!shows(&removed, &removed));
    assert!(!shows(
        &removed,
        &wallet(|w| {
            w.keys.clear();
            w.role = Role::Owner;
        })
    ));
    assert!(shows(&removed, &first));
    let mut acted = removed.clone();
    acted.sequence += 1;
    assert!(shows(&removed, &acted));
}

#[test]
fn a_template_keeps_its_bound_and_its_counts_grow() {
    let first = entry(Prefix::Template);
    let shows = |second: &StateEntry| pair(Prefix::Template, &first, second);
    assert!(shows(&template(
        |t| t.organization_id = id(Prefix::Organization, 2)
    )));
    assert!(shows(&template(|t| t.max_supply = None)));
    assert!(shows(&template(|t| t.minted_count -= 1)));
    assert!(shows(&template(|t| t.burned_count -= 1)));
    assert!(shows(&template(|t| t.variation_count -= 1)));
    assert!(!shows(&first));
    assert!(!shows(&template(|t| {
        t.minted_count += 1;
        t.burned_count += 1;
        t.variation_count += 1;
        t.public_access = true;
        t.properties_hash = Hash([3; 32]);
    })));
}

#[test]
fn what_is_deleted_stays_so_and_what_is_whole_never_changes() {
    for prefix in [Prefix::Key, Prefix::Webhook] {
        let first = entry(prefix);
        let mut deleted = first.clone();
        let mut foreign = first.clone();
        match (&mut deleted.fields, &mut foreign.fields) {
            (EntryFields::ApiKey(one), EntryFields::ApiKey(other)) => {
                one.deleted = true;
                other.organization_id = id(Prefix::Organization, 2);
            }
            (EntryFields::Webhook(one), EntryFields::Webhook(other)) => {
                one.deleted = true;
                other.organization_id = id(Prefix::Organization, 2);
            }
            other => panic!("{other:?}"),
        }
        let mut rotated = deleted.clone();
        rotated.version += 1;
        assert!(pair(prefix, &first, &foreign));
        assert!(!pair(prefix, &first, &deleted));
        assert!(!pair(prefix, &deleted, &deleted));
        assert!(pair(prefix, &deleted, &first));
        assert!(pair(prefix, &deleted, &rotated));
        let mut rotated = first.clone();
        rotated.version += 1;
        assert!(!pair(prefix, &first, &rotated));
    }
    for prefix in [
        Prefix::Variation,
        Prefix::File,
        Prefix::Dispute,
        Prefix::Action,
    ] {
        let first = entry(prefix);
        let mut second = first.clone();
        assert!(!pair(prefix, &first, &second));
        match &mut second.fields {
            EntryFields::Variation(variation) => variation.index += 1,
            EntryFields::File(file) => file.size_bytes += 1,
            EntryFields::Dispute(dispute) => dispute.subject_id = id(Prefix::Batch, 2),
            EntryFields::SequencerKey(key) => key.from_batch += 1,
            other => panic!("{other:?}"),
        }
        assert!(pair(prefix, &first, &second));
    }
    let first = entry(Prefix::Organization);
    let mut second = first.clone();
    second.version += 1;
    assert!(!pair(Prefix::Organization, &first, &second));
}

#[test]
fn properties_change_by_their_kinds_alone() {
    let (own, first) = (id(Prefix::Object, 1), entry(Prefix::Object));
    let shows = |kinds: &[(&str, bool)], properties: Hash| {
        let (mut second, mut leaves) = (object(|o| o.properties_hash = properties), Vec::new());
        for (place, (kind, is_open)) in kinds.iter().enumerate() {
            let next = leaf(
                20 + place as u64,
                (kind, "", "{}"),
                address(1),
                &second.integrity,
            );
            second = stepped(second, &next);
            leaves.push(if *is_open { next } else { closed(next) });
        }
        let shown = (at(point(2, 9), own, &first), at(point(4, 40), own, &second));
        let verdict = hidden_change(&shown.0, &shown.1, &leaves);
        assert!(!hidden_change(&shown.0, &shown.1, &leaves[1..]));
        let other = at(point(4, 40), id(Prefix::Object, 2), &second);
        assert!(!hidden_change(&shown.0, &other, &leaves));
        verdict
    };
    let changed = Hash([3; 32]);
    assert!(shows(&[("emit", true)], changed));
    assert!(shows(&[("transfer", true), ("x.scan", true)], changed));
    assert!(!shows(&[("emit", true)], entry_properties()));
    assert!(!shows(&[("emit", false)], changed));
    for kind in ["update", "set_attributes", "delete_attributes"] {
        assert!(!shows(&[("emit", true), (kind, true)], changed), "{kind}");
    }
}

#[test]
fn an_owner_changes_by_a_transfer_alone() {
    let (own, first) = (id(Prefix::Object, 1), entry(Prefix::Object));
    let shows = |kinds: &[(&str, bool)], owner: u8| {
        let mut second = object(|o| o.owner_id = id(Prefix::Wallet, owner));
        let mut leaves = Vec::new();
        for (sequence, (kind, is_open)) in (20..).zip(kinds) {
            let texts = (*kind, "", "{}");
            let next = leaf(sequence, texts, address(1), &second.integrity);
            second = stepped(second, &next);
            leaves.push(if *is_open { next } else { closed(next) });
        }
        let shown = (at(point(2, 9), own, &first), at(point(4, 40), own, &second));
        false_owner(&shown.0, &shown.1, &leaves)
    };
    assert!(shows(&[("emit", true)], 2));
    assert!(shows(&[("x.scan", true), ("update", true)], 2));
    assert!(!shows(&[("emit", true)], 1));
    assert!(!shows(&[("emit", false)], 2));
    assert!(!shows(&[("emit", true), ("transfer", true)], 2));
    assert!(!shows(&[("emit", true), ("transfer", false)], 2));
}

fn entry_properties() -> Hash {
    match entry(Prefix::Object).fields {
        EntryFields::Object(object) => object.properties_hash,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_template_changes_by_its_update_alone() {
    let (own, first) = (id(Prefix::Template, 1), entry(Prefix::Template));
    let rule = || EntryRule {
        kind: "mint".into(),
        who: Who::Anyone,
        schema_hash: Hash([1; 32]),
    };
    let hidden = [
        template(|t| t.public_access = true),
        template(|t| t.properties_hash = Hash([3; 32])),
        template(|t| t.schema_hash = Hash([3; 32])),
        template(|t| t.rules = vec![rule()]),
    ];
    let shown = template(|t| t.variation_count += 1);
    for (place, changed) in hidden.iter().chain([&shown]).enumerate() {
        for (kind, is_hidden) in [
            ("template.variations", place < 4),
            ("template.update", false),
        ] {
            let next = leaf(20, (kind, "", "{}"), address(1), &first.integrity);
            let second = at(point(4, 40), own, &stepped(changed.clone(), &next));
            let first = at(point(2, 9), own, &first);
            assert_eq!(
                hidden_change(&first, &second, &[next]),
                is_hidden,
                "{place} {kind}"
            );
            assert!(!hidden_change(&first, &second, &[closed(next)]));
        }
    }
}

#[test]
fn keys_change_by_their_actions_alone() {
    let own = id(Prefix::Wallet, 1);
    let shows = |before: &[u8], after: &[u8], kinds: &[&str]| {
        let keys =
            |numbers: &[u8]| wallet(|w| w.keys = numbers.iter().map(|n| address(*n)).collect());
        let (first, mut second, mut leaves) = (keys(before), keys(after), Vec::new());
        for (place, kind) in kinds.iter().enumerate() {
            let next = leaf(
                20 + place as u64,
                (kind, "", ""),
                address(1),
                &second.integrity,
            );
            second = stepped(second, &next);
            leaves.push(next);
        }
        let shown = (at(point(2, 9), own, &first), at(point(4, 40), own, &second));
        let hidden: Vec<_> = leaves.iter().copied().map(closed).collect();
        assert!(!false_keys(&shown.0, &shown.1, &hidden));
        assert!(!false_version(&shown.0, &shown.1, &leaves));
        false_keys(&shown.0, &shown.1, &leaves)
    };
    let (add, remove, update) = ("wallet.key_add", "wallet.key_remove", "wallet.update");
    assert!(!shows(&[1], &[1, 2], &[add]));
    assert!(shows(&[1], &[1, 2], &[update]));
    assert!(!shows(&[1], &[1], &[update]));
    assert!(shows(&[1], &[1], &[add]));
    assert!(shows(&[1], &[1, 2, 3], &[add]));
    assert!(!shows(&[1, 2], &[1], &[remove]));
    assert!(shows(&[1, 2], &[1, 2], &[remove]));
    assert!(!shows(&[1], &[2], &[add, remove]));
    assert!(shows(&[1], &[2], &[update]));
    assert!(shows(&[1, 2], &[3, 4], &[add, remove]));
    assert!(!shows(&[1, 2], &[3, 4], &[add, remove, add, remove]));
    // A removed member has no keys, whatever its actions were.
    assert!(!shows(&[1, 2], &[], &[update]));
    assert!(!shows(&[], &[1], &[update]));
}

#[test]
fn a_version_counts_the_leaves() {
    for prefix in [
        Prefix::Template,
        Prefix::Organization,
        Prefix::Key,
        Prefix::Wallet,
    ] {
        let (own, first) = (id(prefix, 1), entry(prefix));
        let next = leaf(20, ("any", "", ""), address(1), &first.integrity);
        for (grown, expected) in [(0, true), (1, false), (2, true)] {
            let mut second = stepped(first.clone(), &next);
            second.version = first.version + grown;
            let shown = (at(point(2, 9), own, &first), at(point(4, 40), own, &second));
            assert_eq!(false_version(&shown.0, &shown.1, &[closed(next)]), expected);
            assert!(!false_version(&shown.0, &shown.1, &[]));
        }
    }
}

#[test]
fn nothing_extends_what_has_ended() {
    let shows = |prefix: Prefix, entry: &StateEntry, kind: &str| {
        let shown = at(point(2, 9), id(prefix, 1), entry);
        let next = leaf(20, (kind, "", ""), address(1), &entry.integrity);
        let away = leaf(20, (kind, "", ""), address(1), &Hash([9; 32]));
        assert!(!dead_hand(&shown, &away));
        (dead_hand(&shown, &next), dead_hand(&shown, &closed(next)))
    };
    let with = |status| object(|o| o.status = status);
    for (status, kind, opened, hidden) in [
        (ObjectStatus::Active, "update", false, false),
        (ObjectStatus::Active, "unlock", true, false),
        (ObjectStatus::Locked, "update", true, false),
        (ObjectStatus::Locked, "burn", true, false),
        (ObjectStatus::Locked, "unlock", false, false),
        (ObjectStatus::Burned, "update", true, true),
        (ObjectStatus::Burned, "unlock", true, true),
    ] {
        assert_eq!(
            shows(Prefix::Object, &with(status), kind),
            (opened, hidden),
            "{kind}"
        );
    }
    for prefix in [
        Prefix::Wallet,
        Prefix::Key,
        Prefix::Webhook,
        Prefix::Template,
        Prefix::Organization,
    ] {
        assert_eq!(shows(prefix, &entry(prefix), "any"), (false, false));
    }
    let removed = wallet(|w| w.keys.clear());
    assert_eq!(shows(Prefix::Wallet, &removed, "any"), (true, true));
    for prefix in [Prefix::Key, Prefix::Webhook] {
        let mut deleted = entry(prefix);
        match &mut deleted.fields {
            EntryFields::ApiKey(key) => key.deleted = true,
            EntryFields::Webhook(webhook) => webhook.deleted = true,
            other => panic!("{other:?}"),
        }
        assert_eq!(shows(prefix, &deleted, "any"), (true, true));
    }
}

/// Whatever is made extends zero; an entry that has it is malformed.
#[test]
fn zero_is_extended_by_nothing() {
    let mut zero = entry(Prefix::Key);
    zero.integrity = Hash::ZERO;
    let shown = at(point(2, 29), id(Prefix::Key, 1), &zero);
    let next = leaf(20, ("key.create", "", ""), address(1), &Hash::ZERO);
    assert!(!stale_state(&shown, &next));
    zero.integrity = Hash([9; 32]);
    let shown = at(point(2, 29), id(Prefix::Key, 1), &zero);
    let next = leaf(20, ("key.rotate", "", ""), address(1), &zero.integrity);
    assert!(stale_state(&shown, &next));
}

#[test]
fn addresses_and_organizations_agree() {
    let (first, here) = (entry(Prefix::Object), point(2, 9));
    let shown = at(here, id(Prefix::Object, 1), &first);
    let foreign = template(|t| t.organization_id = id(Prefix::Organization, 2));
    let own = id(Prefix::Template, 1);
    assert!(false_address(&shown, &at(here, own, &foreign)));
    assert!(!false_address(&shown, &at(point(3, 9), own, &foreign)));
    assert!(!false_address(
        &shown,
        &at(here, id(Prefix::Template, 2), &foreign)
    ));
    assert!(!false_address(
        &shown,
        &at(here, own, &entry(Prefix::Template))
    ));
    let wallets = |one: (u8, &[u8]), other: (u8, &[u8]), of: u8| {
        let entry = |(own, keys): (u8, &[u8])| {
            wallet(|w| {
                w.address = address(own);
                w.keys = keys.iter().map(|key| address(*key)).collect();
            })
        };
        let one = at(point(2, 9), id(Prefix::Wallet, 1), &entry(one));
        let other = at(point(7, 30), id(Prefix::Wallet, of), &entry(other));
        assert_eq!(false_address(&one, &other), false_address(&other, &one));
        false_address(&one, &other)
    };
    assert!(!wallets((1, &[1, 2]), (3, &[3, 4]), 2));
    assert!(wallets((1, &[]), (1, &[]), 2));
    assert!(wallets((1, &[2]), (3, &[1]), 2));
    assert!(wallets((1, &[2]), (3, &[2, 4]), 2));
    assert!(!wallets((1, &[2]), (1, &[2]), 1));
}

#[test]
fn a_supply_without_a_bound_is_not_exceeded() {
    let here = point(2, 9);
    let unbound = template(|t| t.max_supply = None);
    let shown = at(here, id(Prefix::Template, 1), &unbound);
    for (serial, expected) in [(4, false), (5, true)] {
        let object = at(here, id(Prefix::Object, 1), &object(|o| o.serial = serial));
        assert_eq!(oversupply(&object, &shown), expected);
    }
    let bound = template(|t| t.max_supply = Some(2));
    let object = at(here, id(Prefix::Object, 1), &object(|o| o.serial = 3));
    assert!(oversupply(
        &object,
        &at(here, id(Prefix::Template, 1), &bound)
    ));
}

#[test]
fn a_checkpoint_without_a_root_holds_nothing_malformed() {
    let bad = |is_rooted| {
        let point = StatePoint {
            is_rooted,
            ..point(2, 9)
        };
        ShownEntry::read(point, id(Prefix::Object, 1), &[0xc0])
    };
    assert!(malformed_state(&bad(true)));
    assert!(!malformed_state(&bad(false)));
}

/// Two states of one number of batches are equivocation, which needs no entries.
#[test]
fn rewriting_takes_two_checkpoints() {
    let first = at(point(2, 9), id(Prefix::Object, 1), &entry(Prefix::Object));
    let gone = |batches| ShownEntry {
        point: point(batches, 9),
        id: first.id,
        held: HeldEntry::Nothing,
    };
    assert!(rewritten_state(&first, &gone(3)));
    assert!(!rewritten_state(&first, &gone(2)));
    assert!(!rewritten_state(&first, &gone(1)));
}
