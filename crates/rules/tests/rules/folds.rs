//! The fold's memory, and the accepted signers of a record.

use kedge_protocol::action::Kind;
use kedge_protocol::record::RequestRecord;
use kedge_protocol::registry::ActionIsolation;
use kedge_protocol::resource::{Object, Template};
use kedge_protocol::{Address, Hash, Id, Prefix};
use kedge_rules::OPERATOR;
use kedge_rules::fold::{EmptySource, FoldError, FoldState};
use kedge_rules::resource_state::ResourceState;
use kedge_rules::resources::{base_id, rights_subject};

use crate::log::{Log, OPERATORS, left};
use crate::world::{Place, Words, action, request};

const ANN: Address = Address([1; 20]);
const KEY: &str = r#"{"name":"robot","permissions":[{"resource":"objects","crud":{"read":true}}]}"#;

/// A log with at least two entries of each kind in memory.
fn full() -> Log {
    let mut log = Log::new();
    for number in 1..5u8 {
        let email = format!("wallet{number}@example.com");
        log.register(Address([number; 20]), &email, "").unwrap();
    }
    for by in [ANN, Address([2; 20])] {
        log.act(by, &Kind::KeyCreate, "", KEY).unwrap();
        let webhook = r#"{"url":"https://example.com/","events":["*"]}"#;
        log.act(by, &Kind::WebhookCreate, "", webhook).unwrap();
    }
    for name in ["one", "two", "three"] {
        let payload = format!(r#"{{"name":"{name}"}}"#);
        let done = log.act(ANN, &Kind::TemplateCreate, "", &payload).unwrap();
        let template = left::<Template>(&done).id.to_string();
        let names = r#"{"variations":[{"name":"a"},{"name":"b"}]}"#;
        log.act(ANN, &Kind::TemplateVariations, &template, names)
            .unwrap();
        for _ in 0..3 {
            let done = log.act(ANN, &Kind::Mint, &template, "{}").unwrap();
            let object = left::<Object>(&done).id.to_string();
            log.act(ANN, &Kind::Burn, &object, "{}").unwrap();
        }
    }
    let next = Address([0xd1; 20]).to_string();
    let from = r#"{"from_batch":9}"#;
    log.act(OPERATORS, &Kind::SystemSequencerKey, &next, from)
        .unwrap();
    log
}

#[test]
fn memory_is_counted_and_emptied() {
    let log = full();
    let mut state = log.state;
    // Wallets, their organizations, nonces (the operator's too), addresses and e-mail addresses.
    let of_wallets = 4 + 4 + 5 + 4 + 4;
    // API keys and webhooks, and the counts of both for each organization.
    let of_secrets = 4 + 4;
    // Templates, their names, variations and objects, and the counts of minted and burned objects of each.
    let of_templates = 3 + 3 + 6 + 9 + 3 + 3;
    assert_eq!(state.remembered(), of_wallets + of_secrets + of_templates);
    let keys = state.sequencer_keys.clone();
    state.forget(EmptySource);
    assert_eq!(state.remembered(), 0);
    assert_eq!((&state.operators[..], keys.len()), (&[OPERATORS][..], 1));
    assert_eq!(state.sequencer_keys, keys);
    let EmptySource = state.source();
}

#[test]
fn what_acts_are_done_to_is_found_by_its_id() {
    let mut log = full();
    let ids: Vec<Id> = log
        .state
        .wallets
        .keys()
        .chain(log.state.templates.keys())
        .chain(log.state.others.keys())
        .copied()
        .collect();
    assert_eq!(ids.len(), 4 + 3 + 8);
    for id in ids {
        assert_eq!(
            log.state.image(id).unwrap().map(|image| image.id()),
            Some(id)
        );
    }
    let object = *log.state.objects.keys().next().unwrap();
    let variation = *log.state.variations.keys().next().unwrap();
    for id in [object, variation] {
        assert_eq!(log.state.image(id), Ok(None));
    }
    let found = log.state.recall_object(object).unwrap();
    assert_eq!(found.map(|object| object.id), Some(object));
}

/// The record of a registration with this time and deadline.
fn registration(timestamp_ms: u64, deadline_s: u64) -> RequestRecord<'static> {
    let mut record = request(ANN, None, 1, 1);
    record.timestamp_ms = timestamp_ms;
    record.head.deadline_s = deadline_s;
    let words = Words {
        kind: Kind::WalletRegister,
        target: String::new(),
        payload: format!(r#"{{"email":"ann@example.com","address":"{ANN}"}}"#),
    };
    record.actions.push(action(&words, 0, Place::none()));
    let place = Place {
        resource: Id::made_by(Prefix::Wallet, &record.content(&record.actions[0]), 0),
        ..Place::none()
    };
    record.actions[0] = action(&words, 0, place);
    record
}

#[test]
fn a_deadline_is_met_to_the_millisecond() {
    for (timestamp_ms, is_met) in [
        (0, true),
        (6_999, true),
        (7_000, true),
        (7_001, false),
        (9_000, false),
    ] {
        let done = FoldState::default().apply(&registration(timestamp_ms, 7));
        let late = Err(FoldError::Deadline { sequence: 1 });
        assert_eq!(done.is_ok(), is_met, "{timestamp_ms}");
        assert!(is_met || done == late);
    }
    let done = FoldState::default().apply(&registration(u64::MAX, u64::MAX));
    let images = done.unwrap();
    assert!(matches!(images[0][0], ResourceState::Wallet(_)));
}

#[test]
fn the_operators_key_signs_the_operators_actions_and_nothing_else() {
    let mut log = full();
    let wallet = log.wallet(ANN);
    let organization = wallet.organization_id.to_string();
    let sequence = log.sequence + 1;
    let tier = (Kind::SystemTier, organization, r#"{"tier":"free"}"#);
    let update = (Kind::WalletUpdate, wallet.id.to_string(), "{}");
    let mut signed = |signer: Address, wallet_id: Id, all: &[&(Kind, String, &str)]| {
        let mut record = request(signer, Some(&wallet), sequence, sequence);
        record.wallet_id = wallet_id;
        for (index, (kind, target, payload)) in (0..).zip(all) {
            let words = Words {
                kind: kind.clone(),
                target: target.clone(),
                payload: (*payload).to_owned(),
            };
            record.actions.push(action(&words, index, Place::none()));
        }
        log.state.apply(&record).unwrap_err()
    };
    let stranger = FoldError::Signer { sequence };
    // Its place in the log is wrong, but its signer is right.
    let differs = FoldError::Differs { sequence };
    assert_eq!(signed(OPERATORS, OPERATOR, &[&tier]), differs);
    assert_eq!(signed(OPERATORS, OPERATOR, &[&update]), stranger);
    assert_eq!(signed(OPERATORS, OPERATOR, &[&tier, &update]), stranger);
    assert_eq!(signed(OPERATORS, wallet.id, &[&tier]), stranger);
    assert_eq!(signed(OPERATORS, wallet.id, &[&update]), stranger);
    assert_eq!(signed(ANN, OPERATOR, &[&tier]), stranger);
    assert_eq!(signed(ANN, wallet.id, &[&update]), differs);
    assert_eq!(signed(Address([2; 20]), wallet.id, &[&update]), stranger);
}

#[test]
fn what_kinds_act_on_and_whose_rights_they_change() {
    let id = |prefix| Id::made_by(prefix, &Hash([3; 32]), 0);
    let log = full();
    let caller = log.caller(ANN);
    let member = id(Prefix::Wallet);
    let payload = format!(r#"{{"wallet_id":"{member}","role":"member"}}"#);
    for kind in Kind::BUILT_IN {
        let text = kind.text();
        let acts_on = match text.split_once('.') {
            Some(("org", _) | ("system", "tier")) => Some(Prefix::Organization),
            Some(("wallet", name)) if name != "register" => Some(Prefix::Wallet),
            Some(("key", name)) if name != "create" => Some(Prefix::Key),
            Some(("webhook", name)) if name != "create" => Some(Prefix::Webhook),
            Some(("system", "webhook_off")) => Some(Prefix::Webhook),
            Some(("template", name)) if name != "create" => Some(Prefix::Template),
            _ => None,
        };
        for prefix in [
            Prefix::Organization,
            Prefix::Wallet,
            Prefix::Key,
            Prefix::Webhook,
            Prefix::Template,
        ] {
            let found = base_id(kind, &id(prefix).to_string());
            match acts_on {
                Some(expected) if expected == prefix => assert_eq!(found, Ok(Some(id(prefix)))),
                Some(_) => assert!(found.is_err(), "{text}"),
                None => assert_eq!(found, Ok(None), "{text}"),
            }
        }
        let subject = match text {
            "wallet.update" | "wallet.key_add" | "wallet.key_remove" => Some(caller.wallet_id),
            "org.role" | "org.member_remove" => Some(member),
            _ => None,
        };
        assert_eq!(rights_subject(kind, &caller, &payload), subject, "{text}");
        if subject == Some(member) {
            assert_eq!(rights_subject(kind, &caller, "{}"), None);
        }
        let is_exclusive = matches!(text, "template.update" | "system.sequencer_key");
        let found = kind.spec().isolation == ActionIsolation::Exclusive;
        assert_eq!(found, is_exclusive, "{text}");
    }
}
