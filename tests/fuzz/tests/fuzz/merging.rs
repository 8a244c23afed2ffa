//! JSON texts: serde accepts all texts that the strict reader accepts, and a merge equals RFC 7396 on serde's values.

use kedge_rules::json::{JsonMembers, check, compact, merge};
use serde_json::Value;

use crate::fuzz;

/// The merge, as the RFC's pseudocode has it.
fn merged(target: Option<Value>, patch: Value) -> Value {
    let Value::Object(patch) = patch else {
        return patch;
    };
    let mut members = match target {
        Some(Value::Object(members)) => members,
        _ => serde_json::Map::new(),
    };
    for (name, value) in patch {
        if value.is_null() {
            members.remove(&name);
        } else {
            let before = members.remove(&name);
            members.insert(name, merged(before, value));
        }
    }
    Value::Object(members)
}

/// Inputs are two texts with a line of four dashes between them.
fn target(input: &[u8]) -> String {
    let Ok(text) = std::str::from_utf8(input) else {
        return "not UTF-8".to_owned();
    };
    let (target, patch) = text.split_once("----").unwrap_or((text, "{}"));
    for text in [target, patch] {
        let Err(error) = check(text) else { continue };
        return format!("refused: {error}");
    }
    let values = [target, patch].map(serde_json::from_str::<Value>);
    let [Ok(before), Ok(change)] = values else {
        // Serde's values have no numbers that are too large for a float.
        assert!(text.contains(['e', 'E']) || text.len() > 300, "{values:?}");
        return "a number too large for serde".to_owned();
    };
    let found = merge(target.trim_ascii(), patch.trim_ascii());
    check(&found).unwrap_or_else(|error| panic!("{found}: {error}"));
    assert_eq!(
        serde_json::from_str::<Value>(&found).unwrap(),
        merged(Some(before.clone()), change.clone()),
        "{target} with {patch} gave {found}"
    );
    assert_eq!(compact(&found), found, "what is merged is compact");
    let again = merge(&found, patch.trim_ascii());
    let twice = merged(Some(merged(Some(before), change.clone())), change.clone());
    assert_eq!(serde_json::from_str::<Value>(&again).unwrap(), twice);
    let members = JsonMembers::of(&found).map(|JsonMembers(members)| members.len());
    let counted = serde_json::from_str::<Value>(&found).unwrap();
    assert_eq!(members, counted.as_object().map(serde_json::Map::len));
    format!(
        "{} merged with {}: {}",
        shape(&counted),
        shape(&change),
        found.len().ilog2()
    )
}

fn shape(value: &Value) -> String {
    match value {
        Value::Null => "null".to_owned(),
        Value::Bool(_) => "bool".to_owned(),
        Value::Number(number) => format!("number {} {}", number.is_f64(), number.is_i64()),
        Value::String(text) => format!("text {}", text.is_ascii()),
        Value::Array(items) => format!("list of {}", "i".repeat(items.len().min(3))),
        Value::Object(members) => {
            let inner = members.values().take(3).map(shape).collect::<Vec<_>>();
            format!("object of {}", inner.join(", "))
        }
    }
}

#[test]
fn merges_are_those_of_the_rfc() {
    let seeds = [
        r#"{"a":"b","c":{"d":"e","f":"g"}}----{"a":"z","c":{"f":null}}"#,
        r#"{"a":[{"b":"c"}]}----{"a":[1]}"#,
        r#"{"e":null}----{"a":1}"#,
        r#"[1,2]----{"a":"b","c":null}"#,
        r#"{}----{"a":{"bb":{"ccc":null}}}"#,
        r#"{ "a" : 1.50e2 , "\u0061b" : "\ud83d\ude00" }----{"ab":null,"ä":" "}"#,
        r#"{"a":{"b":{"c":-0}}}----{"a":{"b":{"c":{}}}}"#,
        r#"7----"text""#,
    ];
    let words = [
        "null", "{}", "[]", "\"a\":", ",", "\\u0061", "\\\"", "----", "{\"a\":", "}", "1e5", " ",
        "\\ud800", "-0.0",
    ];
    fuzz("merging")
        .seeds(seeds.map(Vec::from))
        .words(&words)
        .run(target);
}
