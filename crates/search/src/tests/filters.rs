//! Errors of invalid filters and their JSON pointers.

use kedge_protocol::limits::{SEARCH_DEPTH_MAX, SEARCH_PARTS_MAX, SEARCH_PATH_KEYS_MAX};

use crate::SearchError;
use crate::{parse, sort};

#[track_caller]
fn is_refused<T: std::fmt::Debug>(read: Result<T, SearchError>, pointer: &str, code: &str) {
    let error = read.unwrap_err();
    let SearchError::Field(field) = &error else {
        panic!("{error:?}")
    };
    assert_eq!(
        (field.pointer.as_str(), &*field.code),
        (pointer, code),
        "{error:?}"
    );
}

fn condition(field: &str, op: &str, value: &str) -> String {
    format!(r#"{{"field":"{field}","op":"{op}","value":{value}}}"#)
}

#[test]
fn filters_that_are_not_right_are_refused_with_a_pointer() {
    let good = condition("status", "eq", "\"active\"");
    for (filter, pointer, code) in [
        ("5".to_owned(), "/filter", "type"),
        ("[]".to_owned(), "/filter", "type"),
        ("{}".to_owned(), "/filter/field", "required"),
        (r#"{"xor":[]}"#.to_owned(), "/filter/xor", "unknown"),
        (format!(r#"{{"and":{good}}}"#), "/filter/and", "type"),
        (
            format!(r#"{{"and":[],"or":[{good}]}}"#),
            "/filter/and",
            "unknown",
        ),
        (
            format!(r#"{{"or":[{good},{{"not":7}}]}}"#),
            "/filter/or/1/not",
            "type",
        ),
        (
            r#"{"field":"id","op":"eq"}"#.to_owned(),
            "/filter/value",
            "required",
        ),
        (
            r#"{"field":"id","value":1}"#.to_owned(),
            "/filter/op",
            "required",
        ),
        (
            r#"{"field":1,"op":"eq","value":1}"#.to_owned(),
            "/filter/field",
            "type",
        ),
        (
            r#"{"field":"id","op":"eq","value":1,"a/b":1}"#.to_owned(),
            "/filter/a~1b",
            "unknown",
        ),
        (condition("colour", "eq", "1"), "/filter/field", "range"),
        (condition("properties", "eq", "1"), "/filter/field", "range"),
        (
            condition("properties.", "eq", "1"),
            "/filter/field",
            "range",
        ),
        (
            condition("properties.a..b", "eq", "1"),
            "/filter/field",
            "range",
        ),
        (
            condition(r"properties.a\\b", "eq", "1"),
            "/filter/field",
            "range",
        ),
        (
            condition("properties.a", "like", "1"),
            "/filter/op",
            "range",
        ),
        (
            condition("status", "gt", "\"active\""),
            "/filter/op",
            "range",
        ),
        (
            condition("created_at", "prefix", "\"2026\""),
            "/filter/op",
            "range",
        ),
        (
            condition("owner_id", "contains", "\"a\""),
            "/filter/op",
            "range",
        ),
        (condition("id", "eq", "7"), "/filter/value", "type"),
        (
            condition("id", "eq", "\"obj_1\""),
            "/filter/value",
            "format",
        ),
        (
            condition(
                "owner_id",
                "in",
                "[\"wal_00000000000000000000000000\",\"obj_00000000000000000000000000\"]",
            ),
            "/filter/value/1",
            "format",
        ),
        (
            condition("owner_address", "eq", "\"0x12\""),
            "/filter/value",
            "format",
        ),
        (
            condition("status", "in", "[\"active\",\"gone\"]"),
            "/filter/value/1",
            "range",
        ),
        (
            condition("status", "in", "\"active\""),
            "/filter/value",
            "type",
        ),
        (condition("version", "eq", "\"1\""), "/filter/value", "type"),
        (
            condition("created_at", "gt", "\"yesterday\""),
            "/filter/value",
            "format",
        ),
        (
            condition("created_at", "gt", "\"2026-01-01T00:00:00+01:00\""),
            "/filter/value",
            "format",
        ),
        (
            condition("properties.a", "eq", "[1]"),
            "/filter/value",
            "type",
        ),
        (
            condition("properties.a", "gt", "true"),
            "/filter/value",
            "type",
        ),
        (
            condition("properties.a", "lt", "null"),
            "/filter/value",
            "type",
        ),
        (
            condition("properties.a", "exists", "1"),
            "/filter/value",
            "type",
        ),
        (
            condition("properties.a", "prefix", "1"),
            "/filter/value",
            "type",
        ),
        (
            condition("properties.a", "contains", "{}"),
            "/filter/value",
            "type",
        ),
        (
            condition("properties.a", "in", "[1,[2]]"),
            "/filter/value/1",
            "type",
        ),
    ] {
        is_refused(parse::filter(&filter), pointer, code);
    }
}

#[test]
fn filters_are_bounded() {
    let nested = |levels: usize| {
        let good = condition("version", "gt", "1");
        format!(
            "{}{good}{}",
            r#"{"not":"#.repeat(levels - 1),
            "}".repeat(levels - 1)
        )
    };
    assert!(parse::filter(&nested(SEARCH_DEPTH_MAX)).is_ok());
    let pointer = format!("/filter{}", "/not".repeat(SEARCH_DEPTH_MAX));
    is_refused(
        parse::filter(&nested(SEARCH_DEPTH_MAX + 1)),
        &pointer,
        "range",
    );

    let wide = |values: usize| {
        condition(
            "properties.a",
            "in",
            &format!("[1{}]", ",1".repeat(values - 1)),
        )
    };
    assert!(parse::filter(&wide(SEARCH_PARTS_MAX - 1)).is_ok());
    is_refused(parse::filter(&wide(SEARCH_PARTS_MAX)), "/filter", "range");
    let path = |keys: usize| condition(&format!("properties{}", ".a".repeat(keys)), "eq", "1");
    assert!(parse::filter(&path(SEARCH_PATH_KEYS_MAX)).is_ok());
    is_refused(
        parse::filter(&path(SEARCH_PATH_KEYS_MAX + 1)),
        "/filter/field",
        "range",
    );
}

#[test]
fn orders_that_are_not_right_are_refused_with_a_pointer() {
    for (sort, pointer, code) in [
        ("{}", "/sort", "type"),
        ("[]", "/sort", "range"),
        (
            r#"[{"field":"created_at"},{"field":"updated_at"}]"#,
            "/sort",
            "range",
        ),
        ("[5]", "/sort/0", "type"),
        ("[{}]", "/sort/0/field", "required"),
        (r#"[{"field":"version"}]"#, "/sort/0/field", "range"),
        (
            r#"[{"field":"created_at","order":"up"}]"#,
            "/sort/0/order",
            "range",
        ),
        (
            r#"[{"field":"created_at","by":"asc"}]"#,
            "/sort/0/by",
            "unknown",
        ),
    ] {
        is_refused(sort::read(Some(sort)), pointer, code);
    }
}
