//! Merging texts gives the same result as merging values.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use super::*;
use proptest::prelude::*;
use serde_json::{Value, json};

#[test]
fn strictness() {
    for good in [
        "{}",
        "0",
        "[1, 2.50]",
        r#"{"a":{"b":1},"b":{"b":2}}"#,
        "\"x\"",
        "null",
    ] {
        assert_eq!(check(good), Ok(()), "{good}");
    }
    let deep = format!("{}{}", "[".repeat(65), "]".repeat(65));
    let keys: Vec<String> = (0..40).map(|i| format!("\"k{}\":1", i % 39)).collect();
    let many = format!("{{{}}}", keys.join(","));
    for bad in [
        "",
        "{",
        "{}x",
        "[1,]",
        r#"{"a":1,"\u0061":2}"#,
        "NaN",
        &deep,
        &many,
    ] {
        assert!(check(bad).is_err(), "{bad}");
    }
    assert_eq!(
        check(&format!("{}{}", "[".repeat(64), "]".repeat(64))),
        Ok(())
    );
}

/// The table of RFC 7396, appendix A.
#[test]
fn rfc_7396_appendix_a() {
    for (target, patch, result) in [
        (r#"{"a":"b"}"#, r#"{"a":"c"}"#, r#"{"a":"c"}"#),
        (r#"{"a":"b"}"#, r#"{"b":"c"}"#, r#"{"a":"b","b":"c"}"#),
        (r#"{"a":"b"}"#, r#"{"a":null}"#, "{}"),
        (r#"{"a":"b","b":"c"}"#, r#"{"a":null}"#, r#"{"b":"c"}"#),
        (r#"{"a":["b"]}"#, r#"{"a":"c"}"#, r#"{"a":"c"}"#),
        (r#"{"a":"c"}"#, r#"{"a":["b"]}"#, r#"{"a":["b"]}"#),
        (
            r#"{"a":{"b":"c"}}"#,
            r#"{"a":{"b":"d","c":null}}"#,
            r#"{"a":{"b":"d"}}"#,
        ),
        (r#"{"a":[{"b":"c"}]}"#, r#"{"a":[1]}"#, r#"{"a":[1]}"#),
        (r#"["a","b"]"#, r#"["c","d"]"#, r#"["c","d"]"#),
        (r#"{"a":"b"}"#, r#"["c"]"#, r#"["c"]"#),
        (r#"{"a":"foo"}"#, "null", "null"),
        (r#"{"a":"foo"}"#, r#""bar""#, r#""bar""#),
        (r#"{"e":null}"#, r#"{"a":1}"#, r#"{"e":null,"a":1}"#),
        ("[1,2]", r#"{"a":"b","c":null}"#, r#"{"a":"b"}"#),
        ("{}", r#"{"a":{"bb":{"ccc":null}}}"#, r#"{"a":{"bb":{}}}"#),
    ] {
        assert_eq!(merge(target, patch), result, "{target} with {patch}");
    }
}

#[test]
fn numbers_and_escapes_keep_their_text() {
    assert_eq!(
        merge(
            r#"{"p": 12.50, "s": "\u00e4 \" x"}"#,
            r#"{"n":123456789012345678901234567890}"#
        ),
        r#"{"p":12.50,"s":"\u00e4 \" x","n":123456789012345678901234567890}"#
    );
    assert_eq!(
        compact("{ \"a b\" : [ 1 , \"\\\" \" ] }\n"),
        r#"{"a b":[1,"\" "]}"#
    );
}

pub(super) fn value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        ".{0,6}".prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 32, 6, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..5).prop_map(Value::from),
            prop::collection::btree_map("[a-d\"é]{0,2}", inner, 0..6).prop_map(|map| json!(map)),
        ]
    })
}

/// RFC 7396, section 2, as written there.
fn reference(target: Value, patch: &Value) -> Value {
    let Value::Object(changes) = patch else {
        return patch.clone();
    };
    let mut map = match target {
        Value::Object(map) => map,
        _ => serde_json::Map::new(),
    };
    for (key, change) in changes {
        if change.is_null() {
            map.remove(key);
        } else {
            let old = map.remove(key).unwrap_or(Value::Null);
            map.insert(key.clone(), reference(old, change));
        }
    }
    Value::Object(map)
}

proptest! {
    // Holds invariant 10.
    #[test]
    fn merging_texts_is_merging_values(target in value(), patch in value(), pretty: bool) {
        let text = |value: &Value| if pretty {
            serde_json::to_string_pretty(value).unwrap()
        } else {
            value.to_string()
        };
        let merged = merge(&text(&target), &text(&patch));
        prop_assert_eq!(check(&merged), Ok(()));
        prop_assert_eq!(compact(&merged), merged.as_str());
        prop_assert_eq!(serde_json::from_str::<Value>(&merged).unwrap(), reference(target, &patch));
    }
}

/// Duplicate keys are found at any position, before or after the limit of pairwise comparison.
#[test]
fn a_key_stands_once_among_however_many() {
    let keys = |count: usize, twice: Option<(usize, usize)>| {
        let number = |at| twice.map_or(at, |(one, other)| if at == other { one } else { at });
        let members: Vec<String> = (0..count)
            .map(|at| format!(r#""k{}":{{"k0":1,"k1":2}}"#, number(at)))
            .collect();
        format!("[{{{}}}]", members.join(","))
    };
    for count in 0..40 {
        assert_eq!(check(&keys(count, None)), Ok(()));
        for one in 0..count {
            let error = check(&keys(count, Some((one, count - 1))));
            assert_eq!(error.is_ok(), one == count - 1, "{one} of {count}");
        }
    }
    let error = check(r#"{"a":1,"a":2}"#).unwrap_err().to_string();
    assert!(error.starts_with("key \"a\" appears twice"), "{error}");
}

#[test]
fn a_merge_is_written_where_a_version_was_if_that_is_of_its_size() {
    let target = format!(r#"{{"a":"{}"}}"#, "x".repeat(100));
    let patch = r#"{"of":{"a":1}}"#;
    let room = target.len();
    for (capacity, is_used) in [
        (room - 1, false),
        (room, true),
        (2 * room, true),
        (2 * room + 1, false),
    ] {
        let mut memory = String::with_capacity(capacity);
        memory.push_str("old");
        assert_eq!(memory.capacity(), capacity);
        let place = memory.as_ptr();
        let merged = merge_only(&target, patch, "of", memory).unwrap();
        assert_eq!(merged, r#"{"a":1}"#);
        assert_eq!(merged.as_ptr() == place, is_used, "{capacity} of {room}");
    }
}

#[test]
fn keys_are_the_same_however_they_are_written() {
    let merged = merge(
        r#"{"\u0061":1,"b\"":2,"é":3}"#,
        r#"{"a":4,"b\u0022":5,"\u00e9":null,"c\\":6}"#,
    );
    assert_eq!(merged, r#"{"a":4,"b\"":5,"c\\":6}"#);
    assert_eq!(merge(r#"{"\u0061":1}"#, "{}"), r#"{"a":1}"#);
    assert!(JsonMembers::of(" {}").is_some_and(|members| members.0.is_empty()));
    for none in ["[]", "1", "\"{\"", "null", ""] {
        assert!(JsonMembers::of(none).is_none(), "{none}");
    }
    assert_eq!(quoted("a\"\n\u{1}é"), r#""a\"\n\u0001é""#);
}

/// Members `"a0":… "aN":…`, not in the order of their names.
fn many(prefix: &str, count: usize, value: &str) -> String {
    let members: Vec<String> = (0..count)
        .map(|i| format!(r#""{prefix}{}":{value}"#, i * 7_919 % count))
        .collect();
    format!("{{{}}}", members.join(","))
}

proptest! {
    // Holds invariant 10.
    /// Few members are compared and many are looked up, with the same result.
    #[test]
    fn however_many_members_there_are_a_merge_keeps_their_order(
        target in prop::collection::vec(0..60_u32, 0..60),
        patch in prop::collection::vec((0..60_u32, any::<bool>()), 0..60),
    ) {
        let mut names = HashSet::new();
        let target: Vec<u32> = target.into_iter().filter(|name| names.insert(*name)).collect();
        names.clear();
        let patch: Vec<(u32, bool)> =
            patch.into_iter().filter(|(name, _)| names.insert(*name)).collect();
        let object = |members: Vec<String>| format!("{{{}}}", members.join(","));
        let before = object(target.iter().map(|name| format!("\"{name}\":1")).collect());
        let change = |(name, is_kept): &(u32, bool)| {
            format!("\"{name}\":{}", if *is_kept { "2" } else { "null" })
        };
        let changes = object(patch.iter().map(change).collect());
        let find = |wanted: u32| patch.iter().find(|(name, _)| *name == wanted);
        let old = target.iter().filter_map(|name| match find(*name) {
            None => Some(format!("\"{name}\":1")),
            Some((_, is_kept)) => is_kept.then(|| format!("\"{name}\":2")),
        });
        let new = patch.iter().filter(|(name, is_kept)| *is_kept && !target.contains(name));
        let new = new.map(|(name, _)| format!("\"{name}\":2"));
        let expected = object(old.chain(new).collect());
        prop_assert_eq!(merge(&before, &changes), expected.as_str());
        let nested = merge(&format!("{{\"o\":{before}}}"), &format!("{{\"o\":{changes}}}"));
        prop_assert_eq!(nested, format!("{{\"o\":{expected}}}"));
    }
}

// Holds invariant 220.
/// In proportion to the members of both, this takes some hundredths of a second. Pairwise comparison would take
/// minutes.
#[test]
fn a_merge_of_many_members_takes_a_time_in_proportion() {
    let target = many("k", 100_000, "1");
    let begun = std::time::Instant::now();
    assert_eq!(merge(&target, &many("x", 100_000, "null")), target);
    assert_eq!(merge(&target, &many("k", 100_000, "null")), "{}");
    let both = merge(&target, &many("x", 100_000, "[ ]"));
    assert_eq!(
        both.len(),
        target.len() + many("x", 100_000, "[]").len() - 1
    );
    assert!(begun.elapsed().as_secs() < 5, "{:?}", begun.elapsed());
}

// Holds invariant 220.
/// Deeply nested objects: each level is walked once, together with the ones above it.
#[test]
fn a_merge_deep_inside_takes_a_time_in_proportion() {
    let deep = |inner: &str| {
        let depth = JSON_DEPTH_MAX - 1;
        format!("{}{inner}{}", r#"{"a":"#.repeat(depth), "}".repeat(depth))
    };
    let text = |more: &str| format!(r#"{{"t":"{}"{more}}}"#, "x".repeat(1 << 20));
    let (target, patch) = (deep(&text("")), deep(r#"{"n":1}"#));
    let begun = std::time::Instant::now();
    for _ in 0..100 {
        assert_eq!(merge(&target, &patch).len(), target.len() + 6);
    }
    assert_eq!(merge(&target, &patch), deep(&text(r#","n":1"#)));
    let large = deep(&text(r#","n":1"#));
    for _ in 0..100 {
        assert_eq!(merge(&target, &large).len(), large.len());
    }
    assert!(begun.elapsed().as_secs() < 10, "{:?}", begun.elapsed());
}
