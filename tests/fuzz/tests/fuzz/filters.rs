//! Search filters: a search finds the same objects as a full scan, in the same order, whatever index it uses; a count
//! is the number of results.

use std::borrow::Cow;

use kedge_protocol::action::{Kind, RequestHead};
use kedge_protocol::batch::{BatchHeader, SignedBatch};
use kedge_protocol::eip712::Domain;
use kedge_protocol::hash::keccak;
use kedge_protocol::record::{ActionRecord, RequestRecord};
use kedge_protocol::resource::{Object, ObjectStatus, ResourceTrace, Role, Template};
use kedge_protocol::signature::Signature;
use kedge_protocol::{Address, Hash, Id, Prefix};
use kedge_rules::Caller;
use kedge_rules::index::IndexedPaths;
use kedge_search::{
    SearchError, SearchFilter, SearchPageRequest, TestedBytes, count, parse, search, sort,
};
use kedge_storage::{LogHead, SideKeys, Store, StoreOptions, StoreSnapshot, WriteGroup};

use crate::fuzz;

const OBJECTS: u64 = 120;
/// Templates with different indexed properties.
const SCHEMAS: [&str; 2] = [
    r#"{"properties":{"price":{"x-index":true},"size":{"properties":{"w":{"x-index":true}}}}}"#,
    r#"{"properties":{"name":{"x-index":true}}}"#,
];

fn id(prefix: Prefix, number: u64) -> Id {
    Id::of_hash(prefix, &keccak(&number.to_be_bytes()))
}

fn trace(sequence: u64) -> ResourceTrace {
    ResourceTrace {
        version: 1,
        integrity: Hash::ZERO,
        created_sequence: sequence,
        sequence,
        created_at_ms: 1_790_000_000_000 + sequence,
        updated_at_ms: 1_790_000_000_000 + sequence,
    }
}

fn properties(number: u64) -> String {
    let price = [
        "1",
        "1.0",
        "-3e2",
        "\"1\"",
        "null",
        "true",
        "12345678901234567890",
        "[1]",
    ];
    let price = price[(number % 8) as usize];
    let name = ["a", "b", "ä", "", "a b"][(number % 5) as usize];
    match number % 3 {
        0 => format!(r#"{{"price":{price},"name":"{name}"}}"#),
        1 => format!(r#"{{"size":{{"w":{}}},"price":{price}}}"#, number / 7),
        _ => format!(r#"{{"name":"{name}","n.w":{number},"size":{number}}}"#),
    }
}

fn object(number: u64) -> Object {
    Object {
        id: id(Prefix::Object, number),
        organization_id: id(Prefix::Organization, 1),
        template_id: id(Prefix::Template, number % 2),
        variation_id: None,
        owner_id: id(Prefix::Wallet, number % 4),
        owner_address: Address([(number % 4) as u8; 20]),
        properties: properties(number),
        status: [
            ObjectStatus::Active,
            ObjectStatus::Locked,
            ObjectStatus::Burned,
        ][(number / 2 % 3) as usize],
        trace: trace(number),
    }
}

fn record(object: &Object) -> RequestRecord<'static> {
    RequestRecord {
        batch_number: 0,
        first_sequence: object.trace.sequence,
        first_leaf_index: 0,
        timestamp_ms: object.trace.created_at_ms,
        organization_id: object.organization_id,
        wallet_id: object.owner_id,
        head: RequestHead {
            signer: Address::ZERO,
            nonce: object.trace.sequence,
            deadline_s: 0,
            atomic: false,
        },
        signature: Signature([0; 65]),
        salt_seed: Hash::ZERO,
        actions: vec![ActionRecord {
            index: 0,
            kind: Kind::Mint,
            target: Cow::Borrowed(""),
            payload: Cow::Borrowed("{}"),
            disclosed: None,
            resource: object.id,
            version: 1,
            previous_integrity: Hash::ZERO,
            previous_sequence: 0,
        }],
        failed: Vec::new(),
    }
}

fn put_template(group: &mut WriteGroup, number: u64) -> IndexedPaths {
    let schema = SCHEMAS[number as usize];
    let template = Template {
        id: id(Prefix::Template, number),
        organization_id: id(Prefix::Organization, 1),
        name: format!("template {number}"),
        description: String::new(),
        properties: "{}".to_owned(),
        schema: Some(schema.to_owned()),
        max_supply: None,
        actions: Vec::new(),
        public_access: false,
        variation_count: 0,
        trace: trace(number + 1),
    };
    group.put_template(&template, None);
    group.put_minted(template.id, OBJECTS / 2);
    IndexedPaths::of_schema(schema).unwrap()
}

/// A store with all objects, and the objects in order of creation.
fn store(folder: &std::path::Path) -> (Store, Vec<Object>) {
    let domain = Domain {
        chain_id: 1,
        verifying_contract: Address([1; 20]),
    };
    let store = Store::open(StoreOptions {
        side_keys: SideKeys::one(1, [1; 32]),
        ..StoreOptions::of_store(&folder.join("store"), domain, Address([2; 20]))
    });
    let mut group = WriteGroup::new();
    let indexed = [put_template(&mut group, 0), put_template(&mut group, 1)];
    let objects: Vec<Object> = (1..=OBJECTS).map(object).collect();
    for object in &objects {
        let paths = &indexed[(object.trace.sequence % 2) as usize];
        for change in paths.changes(None, &object.properties) {
            group.change_property(object, change.path, None, &change.after);
        }
        group.put_request(&record(object), &[object.trace.integrity]);
        // The two templates take turns.
        group.put_mint(object, &object.trace, object.trace.sequence.div_ceil(2));
    }
    let header = BatchHeader {
        number: 0,
        first_sequence: 1,
        count: OBJECTS as u32,
        previous_head: Hash::ZERO,
        head: Hash::ZERO,
        root: Hash::ZERO,
        history: Hash::ZERO,
        state: Hash::ZERO,
        sealed_at_ms: 1_790_000_001_000,
    };
    let batch = SignedBatch {
        header,
        signature: Signature([0; 65]),
    };
    group.put_batch(&batch, &vec![Hash::ZERO; OBJECTS as usize]);
    let mut head = LogHead::empty(&domain);
    head.batches = 1;
    head.sequence = OBJECTS;
    group.put_head(&head);
    let store = store.unwrap();
    store.commit(group).unwrap();
    (store, objects)
}

/// Valid filters of various fields and operators.
fn seeds() -> [String; 9] {
    let template = |number| {
        let id = id(Prefix::Template, number);
        format!(r#"{{"field":"template_id","op":"eq","value":"{id}"}}"#)
    };
    let price =
        |op, value| format!(r#"{{"field":"properties.price","op":"{op}","value":{value}}}"#);
    [
        template(0),
        format!(r#"{{"and":[{},{}]}}"#, template(0), price("gte", "1")),
        format!(
            r#"{{"and":[{},{}]}}"#,
            template(0),
            price("in", r#"[1,"1",null]"#)
        ),
        format!(r#"{{"or":[{},{}]}}"#, template(1), price("eq", "1.0")),
        format!(r#"{{"not":{}}}"#, price("lt", "-1")),
        r#"{"field":"properties.size.w","op":"gt","value":9}"#.to_owned(),
        r#"{"field":"properties.name","op":"contains","value":"a"}"#.to_owned(),
        r#"{"field":"status","op":"in","value":["active","burned"]}"#.to_owned(),
        r#"{"field":"created_at","op":"gt","value":"2026-09-22T02:13:20.050Z"}"#.to_owned(),
    ]
}

/// All pages of a search, oldest first.
fn pages(snapshot: &StoreSnapshot, caller: &Caller, filter: &SearchFilter) -> Vec<Id> {
    let mut found = Vec::new();
    let mut after = None;
    loop {
        let wanted = SearchPageRequest {
            sort: sort::read(None).unwrap(),
            limit: 37,
            bytes_max: usize::MAX,
            after,
        };
        let page = search(snapshot, caller, filter, &wanted).unwrap();
        found.extend(page.objects.iter().map(|object| object.id));
        after = page.place;
        if after.is_none() {
            return found;
        }
    }
}

fn target(snapshot: &StoreSnapshot, objects: &[Object], input: &[u8]) -> String {
    let caller = Caller {
        wallet_id: id(Prefix::Wallet, 1),
        organization_id: id(Prefix::Organization, 1),
        role: Role::Member,
        address: Address::ZERO,
    };
    let Ok(text) = std::str::from_utf8(input) else {
        return "not UTF-8".to_owned();
    };
    if let Err(error) = kedge_rules::json::check(text) {
        return format!("refused: {error}");
    }
    let filter = match parse::filter(text.trim_ascii()) {
        Ok(filter) => filter,
        Err(error) => return format!("{error:?}"),
    };
    let matches = objects
        .iter()
        .filter(|object| filter.matches(object, &TestedBytes::default()));
    let expected: Vec<Id> = matches.map(|object| object.id).collect();
    let counted = match count(snapshot, &caller, &filter) {
        Ok(counted) => counted,
        Err(SearchError::Read(error)) => panic!("{text}: {error}"),
        Err(error) => return format!("{error:?}"),
    };
    assert_eq!(counted.count, expected.len() as u64, "{text}");
    assert_eq!(pages(snapshot, &caller, &filter), expected, "{text}");
    let share = ["none", "some", "all"];
    let share =
        share[usize::from(!expected.is_empty()) + usize::from(expected.len() == objects.len())];
    format!(
        "found {share} in {} rows",
        "x".repeat(counted.rows.max(1).ilog2() as usize)
    )
}

#[test]
fn a_search_finds_what_a_full_scan_finds() {
    let directory = tempfile::tempdir().unwrap();
    let (store, objects) = store(directory.path());
    let snapshot = store.snapshot();
    for seed in seeds() {
        let outcome = target(&snapshot, &objects, seed.as_bytes());
        assert!(outcome.starts_with("found"), "{seed}: {outcome}");
    }
    let words = [
        "{\"and\":[",
        "{\"or\":[",
        "{\"not\":",
        "]}",
        "}",
        ",",
        "\"eq\"",
        "\"ne\"",
        "\"exists\"",
        "\"in\"",
        "\"gt\"",
        "\"lte\"",
        "\"starts_with\"",
        "null",
        "true",
        "[]",
        "\"properties.price\"",
        "\"properties.size\"",
        "\"owner_id\"",
    ];
    fuzz("filters")
        .seeds(seeds().map(Vec::from))
        .words(&words)
        .run(|input| target(&snapshot, &objects, input));
}
