//! The events of each kind of action.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::convert::Infallible;

use kedge_protocol::batch::BatchHeader;
use kedge_protocol::hash::keccak;
use kedge_protocol::signature::SigningKey;
use serde_json::{Value, json};

use super::*;

const CONTENT: Hash = Hash([9; 32]);

fn id(prefix: Prefix, byte: u8) -> Id {
    Id {
        prefix,
        bytes: [byte; 16],
    }
}

fn template() -> Id {
    id(Prefix::Template, 1)
}

fn object() -> Id {
    id(Prefix::Object, 2)
}

fn asker() -> Id {
    id(Prefix::Wallet, 3)
}

fn other() -> Id {
    id(Prefix::Wallet, 4)
}

/// All objects have one template, and all addresses belong to the other wallet.
struct World;

impl EventFacts for World {
    type Error = Infallible;

    fn template_of(&self, object: Id) -> Result<Option<Id>, Infallible> {
        assert_eq!(object.prefix, Prefix::Object);
        Ok(Some(template()))
    }

    fn wallet_of(&self, _: Address) -> Result<Option<Id>, Infallible> {
        Ok(Some(other()))
    }
}

fn record(kind: &str, target: &str, payload: &str, resource: Id) -> ActionRecord<'static> {
    ActionRecord {
        index: 0,
        kind: Kind::of_text(kind).unwrap(),
        target: target.to_owned().into(),
        payload: payload.to_owned().into(),
        disclosed: None,
        resource,
        version: 5,
        previous_integrity: Hash::ZERO,
        previous_sequence: 0,
    }
}

fn logged<'a>(action: &'a ActionRecord<'a>) -> LoggedAction<'a> {
    LoggedAction {
        action,
        sequence: 40,
        timestamp_ms: 1_790_000_000_123,
        batch_number: 6,
        organization_id: id(Prefix::Organization, 7),
        wallet_id: asker(),
        signer: Address([8; 20]),
    }
}

fn events(action: &ActionRecord<'_>) -> Vec<Event> {
    let logged = logged(action);
    (0..logged.event_count())
        .map(|index| {
            let Ok(event) = logged.event(&CONTENT, index, &World);
            event
        })
        .collect()
}

fn data(event: &Event) -> Value {
    serde_json::from_str(&event.data).unwrap()
}

#[test]
fn every_kind_has_its_type() {
    let object_id = object().to_string();
    let cases = [
        ("mint", "object.created"),
        ("update", "object.updated"),
        ("set_attributes", "object.updated"),
        ("delete_attributes", "object.updated"),
        ("transfer", "object.transferred"),
        ("lock", "object.locked"),
        ("unlock", "object.unlocked"),
        ("burn", "object.burned"),
        ("emit", "action.executed"),
        ("x.redeem", "action.executed"),
    ];
    for kind in Kind::BUILT_IN.iter().filter(|kind| kind.is_bus()) {
        assert!(
            cases.iter().any(|(known, _)| *known == kind.text()),
            "{}",
            kind.text()
        );
    }
    for (kind, expected) in cases {
        let events = events(&record(kind, &object_id, "{}", object()));
        let [event] = events.as_slice() else {
            panic!("{kind} tells {} events", events.len());
        };
        assert_eq!(event.event_type.text(), expected);
        assert_eq!(event.object_id, Some(object()));
        assert_eq!(data(event)["action_type"], kind);
    }
    for (kind, expected) in [
        ("template.create", "template.created"),
        ("wallet.register", "wallet.registered"),
        ("system.tier", "action.executed"),
    ] {
        let kind = Kind::of_text(kind).unwrap();
        assert_eq!(kind.spec().event.text(), expected);
    }
}

#[test]
fn an_event_shows_where_it_comes_from() {
    let action = record(
        "update",
        &object().to_string(),
        "{\"properties\": {\"a\":1.00}}",
        object(),
    );
    let shown = serde_json::to_string(&events(&action)[0]).unwrap();
    let expected = format!(
        "{{\"id\":\"{}\",\"type\":\"object.updated\",\"sequence\":40,\"position\":\"40\",\
         \"timestamp\":\"2026-09-21T14:13:20.123Z\",\"organization_id\":\"{}\",\"object_id\":\"{}\",\
         \"action_id\":\"{}\",\"data\":{{\"action_type\":\"update\",\"resource_id\":\"{}\",\"version\":5,\
         \"wallet_id\":\"{}\",\"signer\":\"{}\",\"batch_number\":6,\"template_id\":\"{}\",\
         \"payload\":{{\"properties\": {{\"a\":1.00}}}}}}}}",
        Id::made_by(Prefix::Event, &CONTENT, 0),
        id(Prefix::Organization, 7),
        object(),
        Id::of_hash(Prefix::Action, &CONTENT),
        object(),
        asker(),
        Address([8; 20]),
        template(),
    );
    assert_eq!(shown, expected);
}

#[test]
fn owners_are_told_where_they_are_new() {
    let reported = |kind, payload: &str| {
        data(&events(&record(kind, &template().to_string(), payload, object()))[0])
    };
    let address = format!("{{\"to\":\"{}\"}}", Address([5; 20]));
    let wallet = format!("{{\"to\":\"{}\"}}", other());
    assert_eq!(reported("mint", "{}")["owner_id"], json!(asker()));
    assert_eq!(reported("mint", &wallet)["owner_id"], json!(other()));
    assert_eq!(reported("transfer", &address)["owner_id"], json!(other()));
    assert_eq!(reported("emit", &wallet)["owner_id"], Value::Null);
    let variation = id(Prefix::Variation, 6);
    let payload = format!("{{\"variation_id\":\"{variation}\"}}");
    assert_eq!(reported("mint", &payload)["variation_id"], json!(variation));
    // A new object is not stored yet, so its template is the one that the action names.
    let named = id(Prefix::Template, 12);
    let minted = events(&record("mint", &named.to_string(), &payload, object()));
    assert_eq!(minted[0].template_id, Some(named));
    assert_eq!(data(&minted[0])["template_id"], json!(named));
}

#[test]
fn each_variation_is_an_event() {
    let target = template().to_string();
    let many = "{\"variations\":[{\"name\":\"a\"},{\"properties\":{},\"name\":\"b\\n\"}]}";
    let reported = events(&record("template.variations", &target, many, template()));
    let names: Vec<Value> = reported
        .iter()
        .map(|event| data(event)["name"].clone())
        .collect();
    assert_eq!(names, ["a", "b\n"]);
    for (index, event) in (0..).zip(&reported) {
        assert_eq!(event.event_type, EventType::VariationCreated);
        assert_eq!(event.id, Id::made_by(Prefix::Event, &CONTENT, index));
        assert_eq!(
            event.position,
            EventPosition {
                sequence: 40,
                index
            }
        );
        assert_eq!(event.template_id, Some(template()));
        let made = Id::made_by(Prefix::Variation, &CONTENT, index);
        assert_eq!(data(event)["variation_id"], json!(made));
    }
    let bare = events(&record(
        "template.variations",
        &target,
        "{\"name\":\"c\"}",
        template(),
    ));
    assert_eq!(bare.len(), 1);
    assert_eq!(data(&bare[0])["name"], "c");
}

#[test]
fn a_long_payload_is_left_to_the_action() {
    let payload = |bytes: usize| {
        format!(
            "{{\"properties\":{{\"a\":\"{}\"}}}}",
            "x".repeat(bytes - 23)
        )
    };
    let reported = |bytes| data(&events(&record("update", "", &payload(bytes), object()))[0]);
    let short = reported(EVENT_PAYLOAD_BYTES_MAX);
    assert!(short["payload"].is_object() && short["payload_bytes"].is_null());
    let long = reported(EVENT_PAYLOAD_BYTES_MAX + 1);
    assert_eq!(long["payload"], Value::Null);
    assert_eq!(long["payload_bytes"], EVENT_PAYLOAD_BYTES_MAX + 1);
    // Only an action on an object shows its payload: other payloads may hold details that listeners need not know.
    let register = events(&record("wallet.register", "", "sha-256=:AA==:", asker()));
    let register = data(&register[0]);
    assert_eq!(
        (&register["payload"], &register["payload_bytes"]),
        (&Value::Null, &Value::Null)
    );
}

#[test]
fn a_batch_is_told_behind_its_actions() {
    let header = BatchHeader {
        number: 3,
        first_sequence: 11,
        count: 4,
        previous_head: Hash::ZERO,
        head: keccak(b"head"),
        root: keccak(b"root"),
        history: Hash::ZERO,
        state: Hash::ZERO,
        sealed_at_ms: 77,
    };
    let key = SigningKey::from_bytes(&[1; 32]).unwrap();
    let event = batch_sealed(&header.sign(&Hash::ZERO, &key));
    assert_eq!(event.position.to_string(), "14.500");
    assert_eq!(
        (event.timestamp_ms, event.organization_id, event.action_id),
        (77, None, None)
    );
    assert_eq!(data(&event)["action_count"], 4);
    assert_eq!(data(&event)["head"], json!(keccak(b"head")));
}

#[test]
fn a_failure_tells_what_the_answer_told() {
    let refusal = Refusal::field("/properties", "type", "must be a JSON object");
    let object_id = object().to_string();
    let mut failed = RefusalEvent {
        kind: &Kind::Update,
        target: &object_id,
        index: 2,
        request_actions: 9,
        atomic: false,
        action_hash: Hash::ZERO,
        refusal: &refusal,
    };
    let reported: Value = serde_json::from_str(&failed.data()).unwrap();
    assert_eq!(failed.object_id(), Some(object()));
    assert_eq!(
        (&reported["code"], &reported["index"]),
        (&json!("VALIDATION_ERROR"), &json!(2))
    );
    assert_eq!(reported["message"], "/properties must be a JSON object");
    assert_eq!(reported["pointer"], "/properties");
    // Texts chosen by a caller are cut at a character boundary.
    let long = "é".repeat(EVENT_TEXT_CHARS_MAX + 1);
    let refusal = Refusal::not_found("object", &long);
    (failed.target, failed.refusal) = (&long, &refusal);
    let reported: Value = serde_json::from_str(&failed.data()).unwrap();
    assert_eq!(
        reported["target"].as_str().unwrap().chars().count(),
        EVENT_TEXT_CHARS_MAX + 1
    );
    assert!(reported["message"].as_str().unwrap().ends_with('…'));
    assert_eq!(failed.object_id(), None);
}

#[test]
fn a_file_and_a_template_are_reported_by_their_names() {
    let file = id(Prefix::File, 5);
    let reported = events(&record("file.create", "plan.pdf", "sha-256=:AA==:", file));
    let [event] = reported.as_slice() else {
        panic!("{reported:?}");
    };
    assert_eq!(event.event_type, EventType::FileCreated);
    assert_eq!((event.object_id, event.template_id), (None, None));
    let file = data(event);
    assert_eq!(
        (&file["name"], &file["digest"]),
        (&json!("plan.pdf"), &json!("sha-256=:AA==:"))
    );
    assert_eq!(file["payload"], Value::Null);

    let payload = "{\"name\":\"Seats\",\"to\":\"x\"}";
    let reported = events(&record("template.create", "", payload, template()));
    let [event] = reported.as_slice() else {
        panic!("{reported:?}");
    };
    assert_eq!(event.event_type, EventType::TemplateCreated);
    assert_eq!(
        (event.object_id, event.template_id),
        (None, Some(template()))
    );
    let made = data(event);
    assert_eq!(
        (&made["name"], &made["owner_id"]),
        (&json!("Seats"), &Value::Null)
    );
    assert_eq!(made["payload"], json!({"name": "Seats", "to": "x"}));

    // An object's event repeats no name.
    let payload = "{\"name\":\"a\",\"variation_id\":\"x\"}";
    let emitted = data(&events(&record("emit", "", payload, object()))[0]);
    assert_eq!(
        (
            &emitted["name"],
            &emitted["variation_id"],
            &emitted["digest"]
        ),
        (&Value::Null, &Value::Null, &Value::Null)
    );
    // A payload is shown as its exact text, even if it is too deep for serde.
    let long = format!("{{\"name\":\"{}\"}}", "x".repeat(EVENT_PAYLOAD_BYTES_MAX));
    let made = data(&events(&record("template.create", "", &long, template()))[0]);
    assert_eq!(made["payload_bytes"], json!(long.len()));
}

#[test]
fn a_failure_names_what_it_was_about() {
    let refusal = Refusal::Forbidden("no".into());
    let failed = |target| RefusalEvent {
        kind: &Kind::Mint,
        target,
        index: 0,
        request_actions: 1,
        atomic: true,
        action_hash: Hash::ZERO,
        refusal: &refusal,
    };
    let (of_template, of_object) = (template().to_string(), object().to_string());
    assert_eq!(failed(&of_template).template_id(), Some(template()));
    assert_eq!(failed(&of_template).object_id(), None);
    assert_eq!(failed(&of_object).template_id(), None);
    assert_eq!(failed("").template_id(), None);
    let reported: Value = serde_json::from_str(&failed("").data()).unwrap();
    let expected = json!({
        "action_type": "mint", "target": "", "index": 0, "request_actions": 1, "atomic": true,
        "action_hash": Hash::ZERO, "code": "FORBIDDEN", "message": "no",
    });
    assert_eq!(reported, expected);
}
