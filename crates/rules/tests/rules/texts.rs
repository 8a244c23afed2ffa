//! The texts that actions leave, against the vectors of the protocol's authors: a state holds their hashes.

use std::collections::BTreeMap;

use kedge_protocol::action::Kind;
use kedge_protocol::hash::keccak;
use kedge_protocol::resource::Object;
use kedge_rules::json;
use serde_json::Value;

use crate::limits::{act, create};
use crate::schemas::{mint, variation};

fn text<'a>(case: &'a Value, name: &str) -> &'a str {
    case[name].as_str().unwrap()
}

/// The properties after an action on an object that has the case's text.
fn changed(case: &Value, kind: &Kind, payload: &str) -> String {
    let template = create("{}").unwrap();
    let object = Object {
        properties: text(case, "text").to_owned(),
        ..mint(&template, None, "{}").unwrap()
    };
    act(&object, &template, kind, payload).unwrap().properties
}

fn minted(case: &Value) -> String {
    let template = create(text(case, "template")).unwrap();
    let named = case["variation"].as_str();
    let named = named.map(|text| variation(&template, &json::compact(text)));
    let own = case["own"].as_str().unwrap_or("{}");
    mint(&template, named.as_ref(), own).unwrap().properties
}

fn made(case: &Value) -> String {
    let changes = || case["changes"].as_array().unwrap().iter();
    match text(case, "do") {
        "tidy" => json::compact(text(case, "text")).into_owned(),
        "merge" => {
            let patch = text(case, "patch");
            let payload = format!(r#"{{"properties":{patch}}}"#);
            let updated = changed(case, &Kind::Update, &payload);
            assert_eq!(json::merge(text(case, "text"), patch), updated);
            updated
        }
        "set" => {
            let members =
                changes().map(|change| format!("{}:{}", change[0], change[1].as_str().unwrap()));
            let members: Vec<String> = members.collect();
            let payload = format!(r#"{{"attributes":{{{}}}}}"#, members.join(","));
            changed(case, &Kind::SetAttributes, &payload)
        }
        "delete" => {
            let names: Vec<&Value> = changes().map(|change| &change[0]).collect();
            let payload = serde_json::json!({ "attributes": names }).to_string();
            changed(case, &Kind::DeleteAttributes, &payload)
        }
        "mint" => minted(case),
        other => panic!("{other}"),
    }
}

// Holds invariants 10, 253.
#[test]
fn texts_are_those_of_the_vectors() {
    let vectors = include_str!("../../../protocol/vectors/state.json");
    let vectors: Value = serde_json::from_str(vectors).unwrap();
    let mut counts = BTreeMap::new();
    for case in vectors["texts"].as_array().unwrap() {
        let made = made(case);
        assert_eq!(made, text(case, "gives"), "{case}");
        assert_eq!(keccak(made.as_bytes()).to_string(), text(case, "hash"));
        *counts.entry(text(case, "do")).or_insert(0) += 1;
    }
    let expected = [
        ("delete", 17),
        ("merge", 90),
        ("mint", 3),
        ("set", 15),
        ("tidy", 6),
    ];
    assert_eq!(Vec::from_iter(counts), expected);
}
