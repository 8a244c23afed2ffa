//! Faults of leaves: what the vectors leave out, and near misses of each.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use kedge_protocol::chain::first_integrity;
use kedge_protocol::resource::{ObjectStatus, Who};
use kedge_protocol::state::StateEntry;
use kedge_protocol::state::entry::{EntryFields, EntryRule, WebhookEntry};
use kedge_protocol::state::faults::{
    FalseEntryEvidence, ShownEntry, ShownLeaf, TrespassEvidence, false_entry, foreign_hand,
    foreign_maker, foreign_mint, live_update, trespass,
};
use kedge_protocol::{Hash, Id, Prefix};

use crate::state_scene::{
    address, at, closed, entry, id, leaf, made, object, point, stepped, template, wallet,
};

const NONE: FalseEntryEvidence<'static> = FalseEntryEvidence {
    kind: None,
    to: None,
    wallet: None,
};

/// The operator's own kinds.
const SYSTEM_KINDS: [&str; 4] = [
    "system.tier",
    "system.verdict",
    "system.webhook_off",
    "system.sequencer_key",
];

/// A wallet with this number's address as its key, of this organization.
fn signer(number: u8, organization: u8) -> ShownEntry {
    let entry = wallet(|w| {
        w.address = address(number);
        w.keys = vec![address(number)];
        w.organization_id = id(Prefix::Organization, organization);
    });
    at(point(9, 90), id(Prefix::Wallet, number), &entry)
}

#[test]
fn an_owner_without_keys_cannot_act() {
    let first = entry(Prefix::Object);
    let next = |sequence| leaf(sequence, ("update", "", ""), address(7), &first.integrity);
    let shows = |removed_at: u64, keys: &[u8], owner: u8, leaf: &ShownLeaf| {
        let gone = wallet(|w| w.keys = keys.iter().map(|key| address(*key)).collect());
        trespass(&TrespassEvidence {
            object: &at(point(2, 5), id(Prefix::Object, 1), &first),
            template: &at(
                point(2, 5),
                id(Prefix::Template, 1),
                &entry(Prefix::Template),
            ),
            leaves: &[],
            leaf,
            kind: None,
            wallet: Some(&at(point(4, removed_at), id(Prefix::Wallet, owner), &gone)),
        })
    };
    assert!(shows(5, &[], 1, &next(6)));
    assert!(!shows(6, &[], 1, &next(6)));
    assert!(!shows(5, &[1], 1, &next(6)));
    assert!(!shows(5, &[], 2, &next(6)));
    assert!(!shows(5, &[], 1, &closed(next(6))));
    // A leaf in the checkpoint makes its entry stale instead.
    assert!(!shows(4, &[], 1, &next(5)));
}

#[test]
fn the_rule_of_the_template_decides() {
    let first = entry(Prefix::Object);
    let shows = |kind: &str, who: Option<Who>, wallet: &ShownEntry, leaves: &[&str]| {
        let rules = who.map(|who| EntryRule {
            kind: kind.to_owned(),
            who,
            schema_hash: Hash([1; 32]),
        });
        let template = template(|t| t.rules = rules.into_iter().collect());
        let (mut before, mut end) = (Vec::new(), first.integrity);
        for (place, kind) in leaves.iter().enumerate() {
            let next = leaf(6 + place as u64, (kind, "", ""), address(1), &end);
            end = next.leaf.integrity;
            before.push(next);
        }
        trespass(&TrespassEvidence {
            object: &at(point(2, 5), id(Prefix::Object, 1), &first),
            template: &at(point(2, 5), id(Prefix::Template, 1), &template),
            leaves: &before,
            leaf: &leaf(20, (kind, "", ""), address(3), &end),
            kind: Some(kind),
            wallet: Some(wallet),
        })
    };
    let (own, foreign) = (signer(3, 1), signer(3, 2));
    assert!(shows("update", None, &own, &[]));
    assert!(shows("update", Some(Who::Owner), &own, &["emit", "lock"]));
    assert!(!shows(
        "update",
        Some(Who::Owner),
        &own,
        &["emit", "transfer"]
    ));
    assert!(!shows("update", Some(Who::Issuer), &own, &[]));
    assert!(shows("update", Some(Who::Issuer), &foreign, &[]));
    assert!(!shows("update", Some(Who::Anyone), &foreign, &[]));
    assert!(shows("x.scan", None, &own, &[]));
    assert!(!shows("x.scan", Some(Who::Anyone), &foreign, &[]));
    assert!(!shows("mint", None, &foreign, &[]));
    assert!(!shows("update", None, &signer(4, 2), &[]));
}

#[test]
fn what_is_made_belongs_to_its_maker() {
    let kinds = [
        (Prefix::Template, "template.create"),
        (Prefix::Key, "key.create"),
        (Prefix::Webhook, "webhook.create"),
        (Prefix::File, "file.create"),
    ];
    for (prefix, kind) in kinds {
        let (leaf, own, made) = made(5, (kind, "", ""), address(1), entry(prefix).fields);
        let shown = at(point(2, 9), own, &made);
        let foreign = signer(1, 2);
        assert!(foreign_maker(&shown, &leaf, &foreign), "{kind}");
        assert!(!foreign_maker(&shown, &leaf, &signer(1, 1)), "{kind}");
        assert!(!foreign_maker(&shown, &leaf, &signer(2, 2)), "{kind}");
        assert!(!foreign_maker(&shown, &closed(leaf), &foreign), "{kind}");
        let other = at(point(2, 9), id(prefix, 1), &made);
        assert!(!foreign_maker(&other, &leaf, &foreign), "{kind}");
        let texts = ("emit", "", "");
        let (leaf, own, made) =
            crate::state_scene::made(5, texts, address(1), entry(prefix).fields);
        assert!(
            !foreign_maker(&at(point(2, 9), own, &made), &leaf, &foreign),
            "{kind}"
        );
    }
    // A file belongs to the wallet that stored it.
    let stored = |wallet: u8| {
        let mut fields = entry(Prefix::File).fields;
        if let EntryFields::File(file) = &mut fields {
            file.wallet_id = id(Prefix::Wallet, wallet);
        }
        let (leaf, own, made) = made(5, ("file.create", "", ""), address(1), fields);
        foreign_maker(&at(point(2, 9), own, &made), &leaf, &signer(1, 1))
    };
    assert!(!stored(1) && stored(2));
}

#[test]
fn a_mint_left_to_the_issuer_is_the_issuers() {
    let own = id(Prefix::Template, 1);
    let target = own.to_string();
    let shows = |who: Option<Who>, (changed, minted, until): (u64, u64, u64), of: u8| {
        let mut template = template(|t| {
            t.rules = who
                .map(|who| EntryRule {
                    kind: "mint".into(),
                    who,
                    schema_hash: Hash([1; 32]),
                })
                .into_iter()
                .collect();
        });
        template.sequence = changed;
        let mint = leaf(minted, ("mint", &target, "{}"), address(1), &Hash::ZERO);
        let shown = at(point(2, until), own, &template);
        let other = leaf(minted, ("mint", "another", "{}"), address(1), &Hash::ZERO);
        assert!(!foreign_mint(&shown, &other, &signer(1, of)));
        let texts = ("template.variations", target.as_str(), "{}");
        let change = leaf(minted, texts, address(1), &Hash::ZERO);
        assert!(!foreign_mint(&shown, &change, &signer(1, of)));
        assert!(!foreign_mint(&shown, &closed(mint), &signer(1, of)));
        assert!(!foreign_mint(&shown, &mint, &signer(2, of)));
        foreign_mint(&shown, &mint, &signer(1, of))
    };
    assert!(shows(None, (5, 6, 6), 2));
    assert!(shows(Some(Who::Issuer), (5, 6, 9), 2));
    assert!(!shows(None, (5, 6, 6), 1));
    assert!(!shows(None, (6, 6, 6), 2));
    assert!(!shows(None, (5, 7, 6), 2));
    assert!(!shows(Some(Who::Anyone), (5, 6, 6), 2));
}

#[test]
fn a_template_is_still_while_its_objects_live() {
    let target = id(Prefix::Template, 1).to_string();
    let shows = |texts: (&str, &str), (acted, updated, until): (u64, u64, u64), status| {
        let mut object = object(|o| o.status = status);
        object.sequence = acted;
        let update = leaf(
            updated,
            (texts.0, texts.1, "{}"),
            address(1),
            &Hash([3; 32]),
        );
        let shown = at(point(2, until), id(Prefix::Object, 1), &object);
        assert!(!live_update(&shown, &closed(update)));
        live_update(&shown, &update)
    };
    let update = ("template.update", target.as_str());
    assert!(shows(update, (4, 5, 5), ObjectStatus::Active));
    assert!(shows(update, (4, 5, 9), ObjectStatus::Locked));
    assert!(!shows(update, (4, 5, 5), ObjectStatus::Burned));
    assert!(!shows(update, (5, 5, 5), ObjectStatus::Active));
    assert!(!shows(update, (4, 6, 5), ObjectStatus::Active));
    assert!(!shows(
        ("template.update", "tpl"),
        (4, 5, 5),
        ObjectStatus::Active
    ));
    assert!(!shows(
        ("template.variations", &target),
        (4, 5, 5),
        ObjectStatus::Active
    ));
}

#[test]
fn a_wallets_actions_are_signed_by_its_keys() {
    let shows = |prefix: Prefix, kind: &str, by: u8, wallet: Option<&ShownEntry>| {
        let entry = entry(prefix);
        let next = leaf(20, (kind, "", ""), address(by), &entry.integrity);
        let shown = at(point(2, 9), id(prefix, 1), &entry);
        assert!(!foreign_hand(&shown, &closed(next), wallet));
        foreign_hand(&shown, &next, wallet)
    };
    assert!(shows(Prefix::Wallet, "wallet.update", 2, None));
    assert!(!shows(Prefix::Wallet, "wallet.update", 1, None));
    let (own, foreign) = (signer(3, 1), signer(3, 2));
    for (prefix, kind) in [
        (Prefix::Organization, "org.invite"),
        (Prefix::Template, "template.update"),
        (Prefix::Key, "key.rotate"),
        (Prefix::Webhook, "webhook.update"),
    ] {
        assert!(shows(prefix, kind, 3, Some(&foreign)), "{kind}");
        assert!(!shows(prefix, kind, 3, Some(&own)), "{kind}");
        assert!(!shows(prefix, kind, 3, None), "{kind}");
        assert!(!shows(prefix, kind, 4, Some(&foreign)), "{kind}");
        for system in SYSTEM_KINDS {
            assert!(!shows(prefix, system, 3, Some(&foreign)), "{kind}");
        }
    }
    for prefix in [Prefix::File, Prefix::Dispute, Prefix::Object] {
        assert!(!shows(prefix, "any", 3, Some(&foreign)));
    }
}

#[test]
fn a_mint_gives_to_the_wallet_that_it_names() {
    let target = id(Prefix::Template, 1).to_string();
    let minted = |payload: &str| {
        let (leaf, own, made) = made(
            5,
            ("mint", &target, payload),
            address(1),
            entry(Prefix::Object).fields,
        );
        (leaf, at(point(2, 9), own, &made))
    };
    let shows = |payload: &str, to: Option<u8>, wallet: Option<&ShownEntry>| {
        let (leaf, shown) = minted(payload);
        let to = to.map(|number| id(Prefix::Wallet, number));
        let evidence = FalseEntryEvidence {
            kind: Some("mint"),
            to: to.as_ref(),
            wallet,
        };
        assert!(!false_entry(&shown, &closed(leaf), &evidence));
        let without_kind = FalseEntryEvidence {
            kind: None,
            ..evidence
        };
        assert!(!false_entry(&shown, &leaf, &without_kind));
        false_entry(&shown, &leaf, &evidence)
    };
    let mut other = signer(1, 1);
    other.id = id(Prefix::Wallet, 2);
    assert!(shows("{}", None, Some(&other)));
    assert!(!shows("{}", None, Some(&signer(1, 1))));
    assert!(!shows("{}", None, Some(&signer(2, 1))));
    assert!(!shows("{}", None, None));
    assert!(!shows("{ }", None, Some(&other)));
    let to = |number| format!("{{\"to\":\"{}\"}}", id(Prefix::Wallet, number));
    assert!(shows(&to(2), Some(2), None));
    assert!(!shows(&to(1), Some(1), None));
    assert!(!shows(&to(2), Some(3), None));
    assert!(!shows(&to(2), None, Some(&other)));
}

#[test]
fn a_wallet_has_the_address_that_registered_it() {
    let registered = |by: u8| {
        let fields = entry(Prefix::Wallet).fields;
        made(3, ("wallet.register", "", ""), address(by), fields)
    };
    let later = |entry: &StateEntry| StateEntry {
        version: 4,
        sequence: 8,
        integrity: Hash([4; 32]),
        ..entry.clone()
    };
    for (by, expected) in [(1, false), (2, true)] {
        let (leaf, own, entry) = registered(by);
        let shown = at(point(2, 9), own, &later(&entry));
        assert_eq!(false_entry(&shown, &leaf, &NONE), expected);
        assert!(!false_entry(&shown, &closed(leaf), &NONE));
        let other = at(point(2, 9), id(Prefix::Wallet, 9), &later(&entry));
        assert!(!false_entry(&other, &leaf, &NONE));
    }
    // Another kind registers nothing, though its content makes the id.
    let fields = entry(Prefix::Wallet).fields;
    let (leaf, own, made) = made(3, ("mint", "", ""), address(2), fields);
    let shown = at(point(2, 9), own, &later(&made));
    assert!(!false_entry(&shown, &leaf, &NONE));
}

#[test]
fn a_dispute_and_a_sequencer_key_name_their_target() {
    let subject = id(Prefix::Batch, 1).to_string();
    let key = address(0xab).to_string();
    assert_ne!(key, key.to_lowercase());
    for (prefix, kind, target, expected) in [
        (Prefix::Dispute, "system.verdict", subject.as_str(), false),
        (Prefix::Dispute, "system.verdict", "bat_", true),
        (Prefix::Action, "system.sequencer_key", key.as_str(), false),
        (
            Prefix::Action,
            "system.sequencer_key",
            &key.to_lowercase(),
            true,
        ),
    ] {
        let fields = entry(prefix).fields;
        let (leaf, own, made) = made(5, (kind, target, ""), address(1), fields);
        let shown = at(point(2, 9), own, &made);
        // Without the kind's plain text nothing is shown of the target.
        assert!(!false_entry(&shown, &leaf, &NONE), "{target}");
        let evidence = FalseEntryEvidence {
            kind: Some(kind),
            ..NONE
        };
        assert_eq!(false_entry(&shown, &leaf, &evidence), expected, "{target}");
        assert!(!false_entry(&shown, &closed(leaf), &evidence));
        let mut elsewhere = shown.clone();
        elsewhere.id = id(prefix, 3);
        assert!(false_entry(&elsewhere, &leaf, &evidence));
    }
}

#[test]
fn a_variation_is_one_that_its_action_made() {
    let target = id(Prefix::Template, 1).to_string();
    let shows = |texts: (&str, &str), number: u32, integrity: u32| {
        let next = leaf(5, (texts.0, texts.1, "{}"), address(1), &Hash([3; 32]));
        let mut entry = entry(Prefix::Variation);
        entry.version = 1;
        entry.integrity = first_integrity(&next.leaf.content, integrity);
        let own = Id::made_by(Prefix::Variation, &next.leaf.content, number);
        let shown = at(point(2, 9), own, &entry);
        assert!(!false_entry(&shown, &closed(next), &NONE));
        let later = leaf(6, (texts.0, texts.1, "{}"), address(1), &Hash([3; 32]));
        assert!(!false_entry(&shown, &later, &NONE));
        false_entry(&shown, &next, &NONE)
    };
    let texts = ("template.variations", target.as_str());
    for number in [0, 1, 2, 498, 499] {
        assert!(!shows(texts, number, number + 1), "{number}");
        assert!(shows(texts, number, number), "{number}");
        assert!(shows(texts, number, number + 2), "{number}");
    }
    assert!(shows(texts, 500, 501));
    assert!(shows(("template.update", &target), 0, 1));
    assert!(shows(("template.variations", "tpl"), 0, 1));
}

#[test]
fn a_webhook_that_was_switched_off_is_off() {
    let shows = |kind: &str, active: bool, deleted: bool| {
        let before = entry(Prefix::Webhook);
        let next = leaf(20, (kind, "", "{}"), address(1), &before.integrity);
        let mut after = stepped(before, &next);
        after.fields = EntryFields::Webhook(WebhookEntry {
            organization_id: id(Prefix::Organization, 1),
            active,
            deleted,
        });
        let evidence = FalseEntryEvidence {
            kind: Some(kind),
            ..NONE
        };
        false_entry(
            &at(point(2, 30), id(Prefix::Webhook, 1), &after),
            &next,
            &evidence,
        )
    };
    assert!(!shows("system.webhook_off", false, false));
    assert!(shows("system.webhook_off", true, false));
    assert!(shows("system.webhook_off", false, true));
    for active in [false, true] {
        assert!(!shows("webhook.update", active, false));
        assert!(shows("webhook.update", active, true));
    }
}

#[test]
fn a_file_has_the_digest_that_was_signed() {
    let stored = |payload: &str| {
        let fields = entry(Prefix::File).fields;
        let (leaf, own, made) = made(5, ("file.create", "name", payload), address(1), fields);
        let evidence = FalseEntryEvidence {
            kind: Some("file.create"),
            ..NONE
        };
        false_entry(&at(point(2, 9), own, &made), &leaf, &evidence)
    };
    let sha256 = match entry(Prefix::File).fields {
        EntryFields::File(file) => file.sha256,
        other => panic!("{other:?}"),
    };
    let digest = STANDARD.encode(sha256.0);
    assert!(!stored(&format!("sha-256=:{digest}:")));
    assert!(stored(&format!("sha-256=:{}:", STANDARD.encode([0; 32]))));
    assert!(stored(&digest));
}
