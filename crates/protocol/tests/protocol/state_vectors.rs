//! The state against its vectors: `vectors/state.json`, made with another implementation's trie. Every case is counted,
//! so none can be skipped unnoticed.

use kedge_protocol::hash::keccak;
use kedge_protocol::state::texts;
use kedge_protocol::state::{EntryFields, StateEntry};
use kedge_protocol::{Hash, Id, Prefix};
use serde_json::Value;

fn vectors() -> Value {
    serde_json::from_str(include_str!("../../vectors/state.json")).unwrap()
}

fn list<'a>(value: &'a Value, name: &str) -> &'a [Value] {
    value[name].as_array().unwrap()
}

fn text<'a>(value: &'a Value, name: &str) -> &'a str {
    value[name].as_str().unwrap()
}

fn bytes(value: &Value) -> Vec<u8> {
    const_hex::decode(value.as_str().unwrap()).unwrap()
}

fn hash(value: &Value) -> Hash {
    value.as_str().unwrap().parse().unwrap()
}

fn key(value: &Value) -> Id {
    text(value, "key").parse().unwrap()
}

#[test]
fn entries_read_and_write_to_the_same_bytes() {
    let vectors = vectors();
    let (mut read, mut prefixes) = (0, std::collections::BTreeSet::new());
    let mut buffer = Vec::new();
    for case in list(&vectors, "cases") {
        for present in list(case, "present") {
            let entry = bytes(&present["entry"]);
            assert_eq!(keccak(&entry), hash(&present["value"]));
            let key = key(present);
            let decoded = StateEntry::decode(&key, &entry, u64::MAX).unwrap();
            assert_eq!(decoded.fields.prefix(), key.prefix);
            decoded.encode(&mut buffer);
            assert_eq!(buffer, entry, "{key}");
            assert_eq!(
                StateEntry::decode(&key, &entry, decoded.sequence),
                Ok(decoded.clone())
            );
            assert!(StateEntry::decode(&key, &entry, decoded.sequence - 1).is_err());
            prefixes.insert(key.prefix);
            read += 1;
        }
    }
    assert_eq!((read, prefixes.len()), (22, 10));
}

#[test]
fn malformed_entries_are_refused() {
    let vectors = vectors();
    let mut refused = 0;
    for case in list(&vectors, "malformed") {
        let sequence = case["checkpoint_sequence"].as_u64().unwrap();
        let result = StateEntry::decode(&key(case), &bytes(&case["entry"]), sequence);
        assert!(result.is_err(), "{}", case["why"]);
        refused += 1;
    }
    assert_eq!(refused, 25);
}

#[test]
fn entries_name_their_fields_for_people() {
    let vectors = vectors();
    let shown = |prefix: Prefix| {
        let present = list(&list(&vectors, "cases")[2], "present");
        let one = present
            .iter()
            .find(|one| key(one).prefix == prefix)
            .unwrap();
        let entry = StateEntry::decode(&key(one), &bytes(&one["entry"]), u64::MAX).unwrap();
        serde_json::to_value(entry).unwrap()
    };
    let object = shown(Prefix::Object);
    assert_eq!(object["version"], 1);
    assert!(text(&object, "owner_id").starts_with("wal_"));
    assert!(["active", "locked", "burned"].contains(&text(&object, "status")));
    let template = shown(Prefix::Template);
    assert!(template["max_supply"].is_string() || template["max_supply"].is_null());
    let organization = shown(Prefix::Organization);
    assert_eq!(organization.as_object().unwrap().len(), 3);
}

#[test]
fn texts_are_those_of_the_vectors() {
    let vectors = vectors();
    let mut counts = std::collections::BTreeMap::new();
    for case in list(&vectors, "texts") {
        let optional = |name: &str| case[name].as_str();
        let changes = || list(case, "changes").iter();
        let made = match text(case, "do") {
            "tidy" => texts::tidy(text(case, "text")).into_owned(),
            "merge" => texts::merge(text(case, "text"), text(case, "patch")).unwrap(),
            "set" => {
                let changes: Vec<(&str, &str)> = changes()
                    .map(|change| (change[0].as_str().unwrap(), change[1].as_str().unwrap()))
                    .collect();
                texts::set_attributes(text(case, "text"), &changes).unwrap()
            }
            "delete" => {
                let names: Vec<&str> = changes()
                    .map(|change| change[0].as_str().unwrap())
                    .collect();
                texts::delete_attributes(text(case, "text"), &names).unwrap()
            }
            "mint" => texts::mint_properties(
                text(case, "template"),
                optional("variation"),
                optional("own"),
            )
            .unwrap(),
            other => panic!("{other}"),
        };
        assert_eq!(made, text(case, "gives"), "{case}");
        assert_eq!(keccak(made.as_bytes()), hash(&case["hash"]));
        *counts.entry(text(case, "do").to_owned()).or_insert(0) += 1;
    }
    let counts: Vec<(&str, i32)> = counts
        .iter()
        .map(|(name, count)| (&**name, *count))
        .collect();
    let expected = [
        ("delete", 17),
        ("merge", 90),
        ("mint", 3),
        ("set", 15),
        ("tidy", 6),
    ];
    assert_eq!(counts, expected);
    assert_eq!(list(&vectors, "texts").len(), 131);
}

#[test]
fn an_organization_has_no_fields() {
    assert_eq!(EntryFields::Organization {}.prefix(), Prefix::Organization);
}
