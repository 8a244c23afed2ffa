//! Steps of checking a value against a schema: the exact number for each byte, and the resulting limits.

use kedge_protocol::limits::{SCHEMA_WEIGHT_MAX, SCHEMA_WORK_MAX, SCHEMA_WORK_TOLD_MAX};
use kedge_rules::schema::{BodySchema, SchemaBudget, bytes_compiled, check, check_within, read};
use kedge_rules::{FieldError, Refusal};
use serde_json::{Value, json};

fn places(fields: &[FieldError]) -> Vec<(&str, &str)> {
    let places = fields.iter().map(|field| (&*field.pointer, &*field.code));
    places.collect()
}

#[track_caller]
fn wrong(schema: &Value, expected: &[(&str, &str)]) {
    assert_eq!(
        places(&check(&schema.to_string()).unwrap_err()),
        expected,
        "{schema}"
    );
}

fn many<T: Clone>(one: &T, count: usize) -> Vec<T> {
    vec![one.clone(); count]
}

fn members(count: usize, value: &Value) -> Value {
    (0..count)
        .map(|n| (format!("p{n}"), value.clone()))
        .collect()
}

/// Checks that each schema is accepted and takes its steps for each byte.
fn taken(cases: &[(Value, u64)]) {
    for (schema, steps) in cases {
        let text = schema.to_string();
        assert_eq!(check(&text), Ok(()), "{schema}");
        let read = read(&text).unwrap();
        assert_eq!(
            (read.work("1"), read.work("null")),
            (*steps, 4 * steps),
            "{schema}"
        );
        assert!(format!("{read:?}").contains(&format!("work: {steps}")));
    }
}

#[test]
fn subschemas_take_their_steps() {
    let two = json!({"not": {}});
    taken(&[
        (json!({}), 1),
        (json!({"type": "string", "title": "t", "default": two}), 1),
        // For the same value: all add up.
        (json!({"not": two}), 3),
        (json!({"if": {}, "then": {}, "else": two}), 5),
        (json!({"allOf": [{}, two]}), 4),
        (json!({"anyOf": [{}, true]}), 3),
        (json!({"oneOf": [{}]}), 2),
        (json!({"dependentSchemas": {"a": two, "b": {}}}), 4),
        (
            json!({"dependencies": {"a": two, "b": ["a"], "c": true}}),
            4,
        ),
        // For nested values to which others apply as well: all add up.
        (json!({"additionalProperties": two, "propertyNames": {}}), 4),
        (json!({"items": two, "contains": {}}), 4),
        (json!({"contentSchema": two}), 3),
        (json!({"patternProperties": {"a": {}, "bc": two}}), 4 + 3),
        // For different members: the heaviest counts.
        (json!({"properties": {"a": {}, "b": two, "c": {}}}), 3),
        (json!({"prefixItems": [two, {}]}), 3),
        (
            json!({"properties": {"a": two}, "prefixItems": [{"not": two}]}),
            4,
        ),
        (
            json!({"properties": {"a": {}}, "items": two, "not": two}),
            6,
        ),
        // Counts only through a reference.
        (json!({"$defs": {"d": two}}), 1),
        (json!({"$defs": {"d": two}, "$ref": "#/$defs/d"}), 3),
        (
            json!({"definitions": {"d": two}, "allOf": [{"$ref": "#/definitions/d"}]}),
            4,
        ),
        // Subschemas that are evaluated again count twice.
        (
            json!({"allOf": [two], "unevaluatedItems": {}}),
            1 + 2 * 2 + 1,
        ),
        (
            json!({"allOf": [two], "unevaluatedProperties": two}),
            1 + 2 * 2 + 2,
        ),
    ]);
}

#[test]
fn names_values_and_patterns_take_their_steps() {
    let values: Vec<u64> = (0..40).collect();
    let names: Vec<String> = (0..40).map(|n| format!("n{n}")).collect();
    taken(&[
        // Names and values: sixteen a step.
        (json!({"enum": values[..15]}), 1),
        (json!({"enum": values[..16]}), 2),
        (json!({"enum": values[..31]}), 2),
        (json!({"enum": values[..32]}), 3),
        (json!({"required": names[..16]}), 2),
        (json!({"required": names[..8], "enum": values[..8]}), 2),
        (json!({"required": names[..8], "enum": values[..7]}), 1),
        (json!({"properties": members(15, &json!({}))}), 2),
        (json!({"properties": members(16, &json!({}))}), 3),
        (json!({"prefixItems": many(&json!({}), 16)}), 3),
        (json!({"dependentRequired": {"a": names[..14]}}), 1),
        (json!({"dependentRequired": {"a": names[..15]}}), 2),
        (
            json!({"dependentRequired": {"a": names[..7], "b": names[7..14]}}),
            2,
        ),
        (
            json!({"dependentSchemas": members(16, &json!({}))}),
            1 + 16 + 1,
        ),
        // Arrays and objects that a value is compared with: four a step.
        (json!({"enum": [[1], [2], [3]]}), 1),
        (json!({"enum": [[1], [2], [3], [4]]}), 2),
        (json!({"enum": [{"a": 1}, [2], {"a": 3}, [4]]}), 2),
        (json!({"enum": [{"a": 1}, [2], 3, 4, 5, 6, 7, 8]}), 1),
        (json!({"enum": [[1], [2], [3], [4], [5], [6], [7], [8]]}), 3),
        // Positions of patterns.
        (json!({"pattern": "abc"}), 4),
        (json!({"items": {"pattern": "a{7}"}}), 9),
        (
            json!({"properties": {"a": {"pattern": "abc"}, "b": {"pattern": "abcd"}}}),
            6,
        ),
    ]);
}

#[test]
fn a_place_has_so_many_subschemas() {
    let all = |count: usize| json!({"allOf": many(&json!({}), count)});
    let most = SCHEMA_WEIGHT_MAX as usize - 1;
    assert_eq!(check(&all(most).to_string()), Ok(()));
    for more in [1, 2] {
        wrong(&all(most + more), &[("", "range")]);
    }
    // Matching bounds values, not schemas.
    let heavy = json!({"pattern": "a{1000}"});
    assert_eq!(check(&heavy.to_string()), Ok(()));
    let patterns = |count: usize| {
        let patterns: Vec<Value> = (0..count)
            .map(|n| json!({"pattern": format!("a{n}")}))
            .collect();
        json!({"anyOf": patterns})
    };
    assert_eq!(check(&patterns(64).to_string()), Ok(()));
    for count in [65, 66] {
        let fields = check(&patterns(count).to_string()).unwrap_err();
        assert_eq!(fields[0].message, "has more than 64 regular expressions");
    }
    // A chain at the limit, and one that is longer by one.
    let chain = |length: usize| {
        let link = |n: usize| {
            (
                format!("d{n}"),
                json!({"$ref": format!("#/$defs/d{}", n + 1)}),
            )
        };
        let mut defs: serde_json::Map<String, Value> = (0..length).map(link).collect();
        defs.insert(format!("d{length}"), json!({}));
        json!({"$defs": defs, "$ref": "#/$defs/d0"})
    };
    assert_eq!(check(&chain(most - 1).to_string()), Ok(()));
    wrong(&chain(most), &[("", "range")]);
}

#[test]
fn all_that_cannot_be_bounded_is_named() {
    wrong(
        &json!({"$dynamicRef": "#a", "$dynamicAnchor": "a", "$id": "https://example.com/a",
            "items": {"$id": "https://example.com/b", "$ref": "b.json"}}),
        &[
            ("/$dynamicAnchor", "unknown"),
            ("/$dynamicRef", "unknown"),
            ("/items/$id", "unknown"),
            ("/items/$ref", "format"),
        ],
    );
    wrong(
        &json!({"properties": {"a": {"$recursiveRef": "#"}, "b": {"$recursiveAnchor": "a"}}}),
        &[
            ("/properties/a/$recursiveRef", "unknown"),
            ("/properties/b/$recursiveAnchor", "unknown"),
        ],
    );
    // A recursive reference is reported once, not also as too heavy.
    wrong(&json!({"$ref": "#"}), &[("/$ref", "format")]);
    let heavy = many(&json!({}), 300);
    wrong(
        &json!({"allOf": heavy, "$ref": "x"}),
        &[("/$ref", "format")],
    );
    let dialect = "https://json-schema.org/draft/2020-12/schema";
    for good in [dialect.to_owned(), format!("{dialect}#")] {
        assert_eq!(check(&json!({"$schema": good}).to_string()), Ok(()));
    }
    for bad in [json!(1), json!(format!("{dialect}/")), json!("")] {
        wrong(&json!({"$schema": bad}), &[("/$schema", "format")]);
    }
    assert_eq!(places(&check("{").unwrap_err()), [("", "syntax")]);
    assert!(read("{").is_none());
    assert!(read(r##"{"$ref":"#"}"##).is_none());
}

/// Two steps for each byte.
const ITEMS: &str = r#"{"items":{"type":"string"}}"#;

fn padded(value: &str, bytes: u64) -> String {
    format!("{value}{}", " ".repeat(bytes as usize - value.len()))
}

#[test]
fn what_a_check_may_take_is_bounded_to_the_byte() {
    let schema = read(ITEMS).unwrap();
    let most = SCHEMA_WORK_MAX / 2;
    assert_eq!(schema.validate(&padded("[]", most), ""), Ok(()));
    for more in [1, 2] {
        let Err(Refusal::Invalid(fields)) = schema.validate(&padded("[]", most + more), "/p")
        else {
            panic!("it is too large")
        };
        assert_eq!(places(&fields), [("/p", "schema")]);
        let said =
            "is too large to be checked against the template's schema: at most 8388608 bytes are";
        assert_eq!(fields[0].message, said);
    }
    let located = SCHEMA_WORK_TOLD_MAX / 2;
    for (bytes, place) in [
        (located - 1, ("/p/0", "type")),
        (located, ("/p/0", "type")),
        (located + 1, ("/p", "schema")),
    ] {
        let Err(Refusal::Invalid(fields)) = schema.validate(&padded("[1]", bytes), "/p") else {
            panic!("it does not conform")
        };
        assert_eq!(places(&fields), [place]);
    }
    let Err(Refusal::Invalid(fields)) = schema.validate("[", "/p") else {
        panic!("it is no JSON")
    };
    assert_eq!(places(&fields), [("/p", "syntax")]);
}

#[test]
fn each_violation_has_its_code() {
    for (schema, value, place) in [
        (json!({"type": "string"}), json!(1), ("", "type")),
        (json!({"pattern": "^a$"}), json!("b"), ("", "format")),
        (
            json!({"propertyNames": {"maxLength": 1}}),
            json!({"ab": 1}),
            ("", "format"),
        ),
        (json!({"minimum": 1}), json!(0), ("", "range")),
        (json!({"maximum": 1}), json!(2), ("", "range")),
        (json!({"exclusiveMinimum": 1}), json!(1), ("", "range")),
        (json!({"exclusiveMaximum": 1}), json!(1), ("", "range")),
        (json!({"minLength": 1}), json!(""), ("", "range")),
        (json!({"maxLength": 0}), json!("a"), ("", "range")),
        (json!({"minItems": 1}), json!([]), ("", "range")),
        (json!({"maxItems": 0}), json!([1]), ("", "range")),
        (json!({"minProperties": 1}), json!({}), ("", "range")),
        (json!({"maxProperties": 0}), json!({"a": 1}), ("", "range")),
        (json!({"multipleOf": 2}), json!(1), ("", "range")),
        (json!({"enum": [1]}), json!(2), ("", "range")),
        (json!({"const": 1}), json!(2), ("", "range")),
        (
            json!({"uniqueItems": true}),
            json!([1, 1]),
            ("", "duplicate"),
        ),
        (
            json!({"required": ["a/b"]}),
            json!({}),
            ("/a~1b", "required"),
        ),
        (
            json!({"properties": {"b": {}}, "additionalProperties": false}),
            json!({"a~": 1}),
            ("/a~0", "unknown"),
        ),
        (
            json!({"unevaluatedProperties": false}),
            json!({"a": 1}),
            ("/a", "unknown"),
        ),
        (json!({"not": {}}), json!(1), ("", "schema")),
        (json!({"anyOf": [false]}), json!(1), ("", "schema")),
        (json!({"contains": false}), json!([1]), ("", "schema")),
    ] {
        let schema_text = schema.to_string();
        let done = read(&schema_text)
            .unwrap()
            .validate(&value.to_string(), "/p");
        let Err(Refusal::Invalid(fields)) = done else {
            panic!("{schema} accepts {value}")
        };
        let (pointer, code) = place;
        assert_eq!(
            places(&fields),
            [(&*format!("/p{pointer}"), code)],
            "{schema}"
        );
    }
}

#[test]
fn a_bodys_faults_are_those_with_a_place() {
    let schema = json!({"required": ["a"], "properties": {"b": {"type": "string"}},
        "not": {"required": ["c"]}, "$ref": "#/$defs/d", "$defs": {"d": {"properties": {"e": {"$ref": "#"}}}}});
    let schema = BodySchema::new(&schema).unwrap();
    let faults = |value: &Value| schema.faults(value);
    assert_eq!(faults(&json!({"a": 1})), []);
    assert_eq!(faults(&json!({"a": 1, "c": 1})), []);
    let found = faults(&json!({"b": 1, "c": 1, "e": {"a": 1, "b": 2}}));
    assert_eq!(
        places(&found),
        [("/a", "required"), ("/b", "type"), ("/e/b", "type")]
    );
    assert!(BodySchema::new(&json!({"type": 1})).is_none());
}

#[test]
fn what_a_schema_takes_in_memory() {
    let text = r#"{"pattern":"abc"}"#;
    assert_eq!(bytes_compiled(text), 32 * text.len() + 2 * 3 * 2_048);
    let text = r#"{"patternProperties":{"ab":{"pattern":"\\p{L}"}}}"#;
    assert_eq!(
        bytes_compiled(text),
        32 * text.len() + 2 * (2 * 2_048 + 16 * 1_024)
    );
    for text in ["{}", r#"{"type":"string"}"#, "{"] {
        assert_eq!(bytes_compiled(text), 32 * text.len());
    }
}

/// A name that is repeated in the pointers to everything below it.
#[test]
fn a_long_name_is_not_repeated_for_each_of_many_places() {
    let below = |bytes: usize, value: &Value| {
        let name = "n".repeat(bytes);
        json!({ name: members(2_000, value) })
    };
    let nested =
        json!({"properties": {"n".repeat(20_000): {"properties": members(2_000, &json!({}))}}});
    let text = nested.to_string();
    let refused = check_within(&text, &mut SchemaBudget::of_a_request()).unwrap_err();
    assert_eq!(places(&refused), [("", "range")]);
    // A log's schemas were accepted once.
    assert_eq!(check_within(&text, &mut SchemaBudget::of_the_log()), Ok(()));
    let wide = json!({"properties": members(4_000, &json!({}))}).to_string();
    assert_eq!(
        check_within(&wide, &mut SchemaBudget::of_a_request()),
        Ok(())
    );

    let schema = json!({"additionalProperties": {"additionalProperties": {"type": "string"}}});
    let schema = read(&schema.to_string()).unwrap();
    let faults = |bytes| match schema.validate(&below(bytes, &json!(1)).to_string(), "") {
        Err(Refusal::Invalid(fields)) => fields.len(),
        other => panic!("{other:?}"),
    };
    assert_eq!((faults(10), faults(20_000)), (20, 1));
}

/// The library compares the items of name lists pairwise, of any type.
#[test]
fn what_is_no_name_is_refused_before_it_is_compared() {
    for (schema, place) in [
        (json!({"required": ["a", []]}), "/required/1"),
        (
            json!({"properties": {"a/b": {"type": [{}]}}}),
            "/properties/a~1b/type/0",
        ),
        (
            json!({"dependentRequired": {"a": [[]]}}),
            "/dependentRequired/a/0",
        ),
    ] {
        wrong(&schema, &[(place, "type")]);
    }
    // Data may look like a keyword.
    let data = json!({"const": {"required": [[]]}, "properties": {"required": {}}});
    assert_eq!(check(&data.to_string()), Ok(()));
}
