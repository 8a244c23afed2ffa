//! Templates: valid payloads, allowed changes, and the numbers of their variations.

use kedge_protocol::action::Kind;
use kedge_protocol::limits::{OBJECT_PROPERTIES_BYTES_MAX, SCHEMA_BYTES_MAX, TEMPLATE_RULES_MAX};
use kedge_protocol::resource::{Object, Template, Variation, Who};
use kedge_protocol::{Hash, Id, Prefix};
use kedge_rules::resources::RuleDecision;
use kedge_rules::sequencer::VersionKey;
use kedge_rules::template::beginning;
use kedge_rules::{Refusal, rights};

use crate::log::{ANN, Log, MEMBER, STRANGER, house, left, why, wrong};

fn create(log: &mut Log, payload: &str) -> Result<Template, Refusal> {
    let done = log.act(ANN, &Kind::TemplateCreate, "", payload)?;
    Ok(left::<Template>(&done).clone())
}

/// A template of this name, with further members.
fn named(log: &mut Log, name: &str, more: &str) -> Result<Template, Refusal> {
    create(log, &format!(r#"{{"name":"{name}"{more}}}"#))
}

fn update(log: &mut Log, of: Id, payload: &str) -> Result<RuleDecision, Refusal> {
    log.act(ANN, &Kind::TemplateUpdate, &of.to_string(), payload)
}

fn object_of(bytes: usize) -> String {
    format!(r#"{{"a":"{}"}}"#, "x".repeat(bytes - r#"{"a":""}"#.len()))
}

/// Mints and burns one object of the template.
fn burn_one(log: &mut Log, of: Id) {
    let object = mint(log, of);
    log.act(ANN, &Kind::Burn, &object, "{}").unwrap();
}

fn mint(log: &mut Log, of: Id) -> String {
    let done = log.act(ANN, &Kind::Mint, &of.to_string(), "{}").unwrap();
    left::<Object>(&done).id.to_string()
}

#[test]
fn a_template_is_as_it_was_sent() {
    let mut log = house();
    let payload = r#"{"name":"Seats","description":"All \"seats\"","properties": { "hall" : 1.0 },
        "schema": { "type" : "object" },"max_supply":"7","public_access":true,
        "actions":[{"kind":"mint","who":"anyone"},{"kind":"x.use","who":"owner","schema": {} }]}"#;
    let done = log.act(ANN, &Kind::TemplateCreate, "", payload).unwrap();
    let made = left::<Template>(&done);
    let organization = log.wallet(ANN).organization_id;
    assert_eq!(
        done.claims,
        [VersionKey::template_name(organization, "Seats")]
    );
    assert!(done.releases.is_empty());
    assert_eq!(made.organization_id, organization);
    assert_eq!(
        (made.name.as_str(), made.description.as_str()),
        ("Seats", "All \"seats\"")
    );
    assert_eq!(made.properties, r#"{"hall":1.0}"#);
    assert_eq!(made.schema.as_deref(), Some(r#"{"type":"object"}"#));
    assert_eq!((made.max_supply, made.public_access), (Some(7), true));
    assert_eq!((made.variation_count, made.trace.version), (0, 1));
    let rules: Vec<_> = made
        .actions
        .iter()
        .map(|rule| (rule.kind.text(), rule.who, rule.schema.as_deref()))
        .collect();
    assert_eq!(
        rules,
        [
            ("mint", Who::Anyone, None),
            ("x.use", Who::Owner, Some("{}"))
        ]
    );
    let custom = Kind::of_text("x.use").unwrap();
    assert_eq!(rights::allowed(made, &custom), Some(Who::Owner));

    let bare = create(&mut log, r#"{"name":"bare"}"#).unwrap();
    assert_eq!((&*bare.description, &*bare.properties), ("", "{}"));
    assert_eq!(
        (bare.schema, bare.max_supply, bare.public_access),
        (None, None, false)
    );
    assert!(bare.actions.is_empty());
    assert_eq!(
        why(log.act(MEMBER, &Kind::TemplateCreate, "", r#"{"name":"a"}"#)),
        "forbidden"
    );
    // A name is unique within its organization only.
    assert_eq!(why(create(&mut log, payload)), "conflict");
    log.act(STRANGER, &Kind::TemplateCreate, "", payload)
        .unwrap();
}

#[test]
fn a_supply_is_a_whole_number_or_its_text() {
    let mut log = house();
    let mut number = 0;
    let mut supply = |text: &str| {
        number += 1;
        let made = named(
            &mut log,
            &format!("t{number}"),
            &format!(r#","max_supply":{text}"#),
        )?;
        Ok::<Option<u64>, Refusal>(made.max_supply)
    };
    for (text, expected) in [
        ("null", None),
        ("1", Some(1)),
        ("\"1\"", Some(1)),
        ("\"10\"", Some(10)),
        ("18446744073709551615", Some(u64::MAX)),
        ("\"18446744073709551615\"", Some(u64::MAX)),
    ] {
        assert_eq!(supply(text), Ok(expected), "{text}");
    }
    for text in ["0", "\"0\""] {
        wrong(supply(text), &[("/max_supply", "range")]);
    }
    for text in [
        "\"\"",
        "\"00\"",
        "\"01\"",
        "\"+1\"",
        "\"-1\"",
        "\" 1\"",
        "\"1e1\"",
        "\"0x1\"",
        "\"18446744073709551616\"",
        "1.0",
        "-1",
        "true",
        "[1]",
    ] {
        wrong(supply(text), &[("/max_supply", "type")]);
    }
}

#[test]
fn a_template_that_is_wrong_says_all_that_is() {
    let mut log = house();
    let name = "n".repeat(201);
    let description = "d".repeat(4_001);
    wrong(
        create(
            &mut log,
            &format!(
                r#"{{"name":"{name}","description":"{description}","properties":[],"schema":1,"max_supply":0,
                "actions":[{{"kind":"mint","who":"owner"}},{{"kind":"key.create","who":"owner"}},
                {{"kind":"mint","who":"anyone"}},{{"kind":"lock","who":"owner","schema":{{}}}},
                {{"kind":"x.","who":"owner"}}]}}"#
            ),
        ),
        &[
            ("/name", "range"),
            ("/description", "range"),
            ("/properties", "type"),
            ("/schema", "type"),
            ("/max_supply", "range"),
            ("/actions/1/kind", "format"),
            ("/actions/2/kind", "duplicate"),
            ("/actions/3/schema", "unknown"),
            ("/actions/4/kind", "format"),
        ],
    );
    let description = "d".repeat(4_000);
    let fits = format!(r#","description":"{description}""#);
    named(&mut log, &"n".repeat(200), &fits).unwrap();
    wrong(
        create(&mut log, r#"{"name":"a","owner":1}"#),
        &[("/owner", "unknown")],
    );
}

#[test]
fn rules_and_schemas_are_bounded() {
    let mut log = house();
    let rules = |count: usize| {
        let rule = |n| format!(r#"{{"kind":"x.k{n}","who":"owner"}}"#);
        let rules: Vec<String> = (0..count).map(rule).collect();
        format!(r#","actions":[{}]"#, rules.join(","))
    };
    let most = named(&mut log, "most rules", &rules(TEMPLATE_RULES_MAX)).unwrap();
    assert_eq!(most.actions.len(), 64);
    for count in [65, 66] {
        wrong(
            named(&mut log, "rules", &rules(count)),
            &[("/actions", "range")],
        );
    }
    let schema = |bytes: usize| {
        let frame = r#"{"title":""}"#.len();
        format!(r#","schema":{{"title":"{}"}}"#, "x".repeat(bytes - frame))
    };
    named(&mut log, "long schema", &schema(SCHEMA_BYTES_MAX)).unwrap();
    for more in [1, 2] {
        let long = schema(SCHEMA_BYTES_MAX + more);
        wrong(named(&mut log, "schema", &long), &[("/schema", "range")]);
    }
    for more in [1, 2] {
        let properties = object_of(OBJECT_PROPERTIES_BYTES_MAX + more);
        let done = named(&mut log, "large", &format!(r#","properties":{properties}"#));
        assert_eq!(why(done), "too large");
    }
}

#[test]
fn a_template_changes_in_what_is_named() {
    let mut log = house();
    let more = r#","description":"d","properties":{"a":1},"schema":{"type":"object"},"max_supply":9,
        "actions":[{"kind":"lock","who":"issuer"}]"#;
    let made = named(&mut log, "t", more).unwrap();
    let done = update(&mut log, made.id, "{}").unwrap();
    let same = left::<Template>(&done).clone();
    let expected = Template {
        trace: same.trace,
        ..made.clone()
    };
    assert_eq!((&same, same.trace.version), (&expected, 2));
    assert!(done.claims.is_empty() && done.releases.is_empty());

    let done = update(
        &mut log,
        made.id,
        r#"{"name":"u","properties":{ "b":2 },"public_access":true}"#,
    );
    let done = done.unwrap();
    let name = |name| VersionKey::template_name(made.organization_id, name);
    assert_eq!(
        (&done.claims[..], &done.releases[..]),
        (&[name("u")][..], &[name("t")][..])
    );
    let next = left::<Template>(&done).clone();
    let expected = Template {
        name: "u".to_owned(),
        properties: r#"{"b":2}"#.to_owned(),
        public_access: true,
        trace: next.trace,
        ..made.clone()
    };
    assert_eq!((&next, next.trace.version), (&expected, 3));

    let payload = r#"{"name":"u","description":"","schema":{},"actions":[],"public_access":false}"#;
    let done = update(&mut log, made.id, payload).unwrap();
    let next = left::<Template>(&done).clone();
    let expected = Template {
        description: String::new(),
        schema: Some("{}".to_owned()),
        actions: Vec::new(),
        name: "u".to_owned(),
        properties: r#"{"b":2}"#.to_owned(),
        public_access: false,
        trace: next.trace,
        ..made.clone()
    };
    assert_eq!(next, expected);
    assert!(done.claims.is_empty() && done.releases.is_empty());
}

#[test]
fn a_change_of_a_template_that_is_wrong_is_refused() {
    let mut log = house();
    let made = named(&mut log, "t", "").unwrap();
    update(&mut log, made.id, r#"{"name":"u"}"#).unwrap();
    // The old name is free, the current one is not.
    let other = named(&mut log, "t", "").unwrap();
    assert_eq!(
        why(update(&mut log, other.id, r#"{"name":"u"}"#)),
        "conflict"
    );
    wrong(
        update(
            &mut log,
            made.id,
            r#"{"name":"","properties":1,"schema":[],"actions":[{"kind":"x","who":"owner"}]}"#,
        ),
        &[
            ("/name", "required"),
            ("/properties", "type"),
            ("/schema", "type"),
            ("/actions/0/kind", "format"),
        ],
    );
    wrong(
        update(&mut log, made.id, r#"{"max_supply":1}"#),
        &[("/max_supply", "unknown")],
    );
    let properties = |bytes| format!(r#"{{"properties":{}}}"#, object_of(bytes));
    update(&mut log, made.id, &properties(OBJECT_PROPERTIES_BYTES_MAX)).unwrap();
    for more in [1, 2] {
        let done = update(
            &mut log,
            made.id,
            &properties(OBJECT_PROPERTIES_BYTES_MAX + more),
        );
        assert_eq!(why(done), "too large");
    }
}

#[test]
fn who_changes_a_template() {
    let mut log = house();
    let hidden = named(&mut log, "hidden", "").unwrap().id.to_string();
    let public = named(&mut log, "public", r#","public_access":true"#).unwrap();
    let public = public.id.to_string();
    for (kind, payload) in [
        (Kind::TemplateUpdate, "{}"),
        (Kind::TemplateVariations, r#"{"name":"v"}"#),
    ] {
        for (by, target, expected) in [
            (MEMBER, &hidden, "forbidden"),
            (MEMBER, &public, "forbidden"),
            (STRANGER, &hidden, "not found"),
            (STRANGER, &public, "forbidden"),
            (ANN, &hidden, "done"),
            (ANN, &public, "done"),
        ] {
            assert_eq!(
                why(log.act(by, &kind, target, payload)),
                expected,
                "{kind:?}"
            );
        }
    }
    let unknown = Id::made_by(Prefix::Template, &Hash([9; 32]), 0).to_string();
    for target in [unknown.as_str(), "", "tpl_1"] {
        assert_eq!(
            why(log.act(ANN, &Kind::TemplateUpdate, target, "{}")),
            "not found"
        );
    }
}

#[test]
fn a_template_with_live_objects_stays_as_it_is() {
    let mut log = house();
    let made = named(&mut log, "t", "").unwrap();
    let payload = r#"{"properties":{"a":1}}"#;
    let (one, other) = (mint(&mut log, made.id), mint(&mut log, made.id));
    assert_eq!(why(update(&mut log, made.id, payload)), "state");
    log.act(ANN, &Kind::Burn, &one, "{}").unwrap();
    assert_eq!(why(update(&mut log, made.id, payload)), "state");
    log.act(ANN, &Kind::Burn, &other, "{}").unwrap();
    update(&mut log, made.id, payload).unwrap();
    // Objects of another template do not matter.
    let next = named(&mut log, "next", "").unwrap();
    mint(&mut log, next.id);
    update(&mut log, made.id, payload).unwrap();
}

#[test]
fn what_is_indexed_changes_until_the_first_object() {
    let marked =
        |name: &str| format!(r#"{{"schema":{{"properties":{{"{name}":{{"x-index":true}}}}}}}}"#);
    let mut log = house();
    let made = named(&mut log, "t", "").unwrap();
    for name in ["a", "b"] {
        update(&mut log, made.id, &marked(name)).unwrap();
    }
    burn_one(&mut log, made.id);
    assert_eq!(why(update(&mut log, made.id, &marked("a"))), "state");
    assert_eq!(why(update(&mut log, made.id, r#"{"schema":{}}"#)), "state");
    update(&mut log, made.id, &marked("b")).unwrap();
    let same = r#"{"schema":{"title":"t","properties":{"b":{"x-index":true,"type":"string"}}}}"#;
    update(&mut log, made.id, same).unwrap();

    // A schema without marks is the same as no schema.
    let made = named(&mut log, "u", "").unwrap();
    burn_one(&mut log, made.id);
    update(&mut log, made.id, r#"{"schema":{"type":"object"}}"#).unwrap();
    assert_eq!(why(update(&mut log, made.id, &marked("a"))), "state");
}

#[test]
fn a_supply_is_used_up_by_burned_objects_too() {
    let mut log = house();
    let made = named(&mut log, "t", r#","max_supply":2"#).unwrap();
    burn_one(&mut log, made.id);
    burn_one(&mut log, made.id);
    let more = log.act(ANN, &Kind::Mint, &made.id.to_string(), "{}");
    assert_eq!(why(more), "state");
}

#[test]
fn variations_are_numbered_on() {
    let mut log = house();
    let made = named(&mut log, "t", "").unwrap();
    let target = made.id.to_string();
    let mut add = |payload: &str| log.act(ANN, &Kind::TemplateVariations, &target, payload);
    let mut names = Vec::new();
    for (payload, count) in [
        (
            r#"{"variations":[{"name":"a","properties":{ "n":1 }},{"name":"b"}]}"#,
            2,
        ),
        (r#"{"name":"c","properties":{}}"#, 1),
        (
            r#"{"variations":[{"name":"d"},{"name":"e"},{"name":"f"}]}"#,
            3,
        ),
    ] {
        let done = add(payload).unwrap();
        let template = left::<Template>(&done);
        let images = done.images.iter().filter_map(|image| image.try_into().ok());
        let variations: Vec<&Variation> = images.collect();
        assert_eq!(variations.len(), count);
        for variation in variations {
            assert_eq!(variation.index, names.len() as u64);
            assert_eq!(
                (variation.template_id, variation.organization_id),
                (made.id, made.organization_id)
            );
            assert_eq!(variation.created_sequence, template.trace.sequence);
            assert_eq!(variation.created_at_ms, template.trace.updated_at_ms);
            let properties = if variation.name == "a" {
                r#"{"n":1}"#
            } else {
                "{}"
            };
            assert_eq!(variation.properties, properties);
            names.push(variation.name.clone());
        }
        assert_eq!(template.variation_count, names.len() as u64);
    }
    assert_eq!(names, ["a", "b", "c", "d", "e", "f"]);
}

#[test]
fn variations_that_are_wrong_are_refused() {
    let mut log = house();
    let target = named(&mut log, "t", "").unwrap().id.to_string();
    let mut add = |payload: &str| log.act(ANN, &Kind::TemplateVariations, &target, payload);
    for (payload, places) in [
        (
            r#"{"name":"","properties":1}"#,
            &[("/name", "required"), ("/properties", "type")][..],
        ),
        (
            r#"{"variations":[{"name":"a"},{"name":" ","properties":[]}]}"#,
            &[
                ("/variations/1/name", "required"),
                ("/variations/1/properties", "type"),
            ],
        ),
        (r#"{"variations":[],"name":"a"}"#, &[("/name", "unknown")]),
        (r#"{"variations":[]}"#, &[("/variations", "range")]),
        (r#"{"names":[]}"#, &[("/names", "unknown")]),
        ("[]", &[("", "type")]),
    ] {
        wrong(add(payload), places);
    }
    let large = |bytes| format!(r#"{{"name":"large","properties":{}}}"#, object_of(bytes));
    for more in [1, 2] {
        assert_eq!(
            why(add(&large(OBJECT_PROPERTIES_BYTES_MAX + more))),
            "too large"
        );
    }
    let done = add(&large(OBJECT_PROPERTIES_BYTES_MAX)).unwrap();
    assert_eq!(left::<Variation>(&done).index, 0);
    assert_eq!(left::<Template>(&done).trace.version, 2);
}

#[test]
fn what_objects_begin_with_is_read_from_a_templates_payloads() {
    let with = r#"{"name":"t","properties": { "a": 1.0 }}"#;
    let stated = Some(r#"{"a":1.0}"#.to_owned());
    assert_eq!(beginning(&Kind::TemplateCreate, with), stated);
    assert_eq!(beginning(&Kind::TemplateUpdate, with), stated);
    let without = r#"{"name":"t"}"#;
    assert_eq!(
        beginning(&Kind::TemplateCreate, without).as_deref(),
        Some("{}")
    );
    assert_eq!(beginning(&Kind::TemplateUpdate, without), None);
    for kind in [Kind::TemplateVariations, Kind::Mint, Kind::Update] {
        assert_eq!(beginning(&kind, with), None, "{kind:?}");
    }
}
