//! Schemas: any text is accepted or refused with a reason. Accepted schemas agree with a plain second implementation of
//! their keywords, and their weight bounds the time of a check.

use kedge_fuzz::FuzzRandom;
use kedge_rules::schema;
use serde_json::{Map, Value, json};

use crate::fuzz;

/// Depth of the test values.
const DEPTH: u32 = 3;

fn value(random: &mut FuzzRandom, depth: u32) -> Value {
    match random.below(if depth == 0 { 5 } else { 7 }) {
        0 => Value::Null,
        1 => json!(random.below(2) == 0),
        2 => json!([-2, -1, 0, 1, 2][random.below(5)]),
        3 => json!([-1.5, 0.0, 0.5, 1.0, 1e20][random.below(5)]),
        4 => json!(["", "a", "b", "äb", "abcdef"][random.below(5)]),
        5 => {
            let items = (0..random.below(4)).map(|_| value(random, depth - 1));
            Value::Array(items.collect())
        }
        _ => {
            let mut members = Map::new();
            for _ in 0..random.below(4) {
                let name = ["a", "b", "äb", ""][random.below(4)];
                members.insert(name.to_owned(), value(random, depth - 1));
            }
            Value::Object(members)
        }
    }
}

fn holds_type(name: &str, value: &Value) -> bool {
    match name {
        "null" => value.is_null(),
        "boolean" => value.is_boolean(),
        "number" => value.is_number(),
        "integer" => value.as_f64().is_some_and(|number| number.fract() == 0.0),
        "string" => value.is_string(),
        "array" => value.is_array(),
        _ => value.is_object(),
    }
}

/// Equality of JSON Schema: 1 equals 1.0.
fn same(one: &Value, other: &Value) -> bool {
    match (one, other) {
        (Value::Number(one), Value::Number(other)) => one.as_f64() == other.as_f64(),
        (Value::Array(one), Value::Array(other)) => {
            one.len() == other.len() && one.iter().zip(other).all(|(one, other)| same(one, other))
        }
        (Value::Object(one), Value::Object(other)) => {
            let is_in = |(name, value): (&String, &Value)| {
                other.get(name).is_some_and(|other| same(value, other))
            };
            one.len() == other.len() && one.iter().all(is_in)
        }
        _ => one == other,
    }
}

/// Whether a value conforms; `None` if the schema uses a keyword unknown here.
fn conforms(schema: &Value, value: &Value) -> Option<bool> {
    let members = match schema {
        Value::Bool(all) => return Some(*all),
        Value::Object(members) => members,
        _ => return None,
    };
    let mut holds = true;
    for (keyword, wanted) in members {
        holds &= keyword_holds(keyword, wanted, value)?;
    }
    Some(holds)
}

fn all_of(schemas: &Value, value: &Value) -> Option<Vec<bool>> {
    let schemas = schemas.as_array()?.iter();
    schemas.map(|schema| conforms(schema, value)).collect()
}

fn keyword_holds(keyword: &str, wanted: &Value, value: &Value) -> Option<bool> {
    let number = || Some((value.as_f64(), wanted.as_f64()?));
    let length = |found: Option<usize>| Some((found.map(|found| found as f64), wanted.as_f64()?));
    let at_least = |(found, bound): (Option<f64>, f64)| found.is_none_or(|found| found >= bound);
    let at_most = |(found, bound): (Option<f64>, f64)| found.is_none_or(|found| found <= bound);
    let chars = value.as_str().map(|text| text.chars().count());
    let items = value.as_array().map(Vec::len);
    Some(match keyword {
        "type" => match wanted {
            Value::String(name) => holds_type(name, value),
            names => names
                .as_array()?
                .iter()
                .any(|name| name.as_str().is_some_and(|name| holds_type(name, value))),
        },
        "const" => same(wanted, value),
        "enum" => wanted.as_array()?.iter().any(|one| same(one, value)),
        "minimum" => at_least(number()?),
        "maximum" => at_most(number()?),
        "minLength" => at_least(length(chars)?),
        "maxLength" => at_most(length(chars)?),
        "minItems" => at_least(length(items)?),
        "maxItems" => at_most(length(items)?),
        "not" => !conforms(wanted, value)?,
        "allOf" => all_of(wanted, value)?.into_iter().all(|holds| holds),
        "anyOf" => all_of(wanted, value)?.into_iter().any(|holds| holds),
        "oneOf" => {
            all_of(wanted, value)?
                .into_iter()
                .filter(|holds| *holds)
                .count()
                == 1
        }
        "items" => match value.as_array() {
            None => conforms(wanted, value).map(|_| true)?,
            Some(items) => {
                let items: Option<Vec<bool>> =
                    items.iter().map(|item| conforms(wanted, item)).collect();
                items?.into_iter().all(|holds| holds)
            }
        },
        "required" => {
            let names = wanted.as_array()?.iter().map(Value::as_str);
            let names: Option<Vec<&str>> = names.collect();
            let Some(members) = value.as_object() else {
                return names.map(|_| true);
            };
            names?.into_iter().all(|name| members.contains_key(name))
        }
        "properties" => {
            let mut holds = true;
            for (name, schema) in wanted.as_object()? {
                let member = value.get(name).filter(|_| value.is_object());
                holds &= conforms(schema, member.unwrap_or(&Value::Null))? || member.is_none();
            }
            holds
        }
        "x-index" | "title" | "description" | "default" | "$comment" => true,
        _ => return None,
    })
}

fn target(input: &[u8]) -> String {
    let Ok(text) = std::str::from_utf8(input) else {
        return "not UTF-8".to_owned();
    };
    let Ok(Value::Object(_)) = serde_json::from_str::<Value>(text) else {
        return "no object".to_owned();
    };
    if let Err(errors) = schema::check(text) {
        assert!(!errors.is_empty(), "refused without a reason: {text}");
        assert!(errors.iter().all(|error| !error.message.is_empty()));
        return format!("refused: {} {}", errors[0].code, errors[0].message);
    }
    let read = schema::read(text).unwrap_or_else(|| panic!("checked, and cannot be read: {text}"));
    let parsed: Value = serde_json::from_str(text).unwrap();
    let mut random = FuzzRandom::of(input);
    let (mut accepted, mut compared) = (0, 0);
    for _ in 0..16 {
        let value = value(&mut random, DEPTH);
        let found = read.validate(&value.to_string(), "/payload").is_ok();
        accepted += usize::from(found);
        if let Some(expected) = conforms(&parsed, &value) {
            assert_eq!(found, expected, "{value} by {text}");
            compared += 1;
        }
    }
    // A large value: quadratic work would take minutes, which the runner notices.
    let many = format!("[{}]", vec![r#"{"a":["b",1]}"#; 2_000].join(","));
    let large = read.validate(&many, "").is_ok();
    let words: Vec<&str> = parsed
        .as_object()
        .unwrap()
        .keys()
        .map(String::as_str)
        .collect();
    format!(
        "accepted {} {} {large}: {}",
        if accepted == 0 {
            "none"
        } else if accepted == 16 {
            "all"
        } else {
            "some"
        },
        compared > 0,
        words.join(" ")
    )
}

#[test]
fn schemas_answer_as_a_plain_reading_does() {
    let seeds = [
        r#"{"type":"object","properties":{"a":{"type":"integer","minimum":0}},"required":["a"]}"#,
        r#"{"anyOf":[{"type":"string","minLength":1,"maxLength":3},{"type":"null"}]}"#,
        r#"{"oneOf":[{"const":1},{"enum":[1.0,"a",null]}],"not":{"type":["boolean","array"]}}"#,
        r#"{"type":"array","items":{"type":"number","maximum":1},"minItems":1,"maxItems":2}"#,
        r##"{"$ref":"#/$defs/a","$defs":{"a":{"type":"object","additionalProperties":false}}}"##,
        r#"{"properties":{"a":{"x-index":true}},"patternProperties":{"^b":{"type":"string"}}}"#,
        r#"{"allOf":[{"if":{"type":"string"},"then":{"pattern":"^[a-f]*$"},"else":true}]}"#,
    ];
    let words = [
        "\"type\":",
        "\"integer\"",
        "\"not\":{",
        "}",
        "\"allOf\":[",
        "]",
        "\"$ref\":\"#",
        "\"a\"",
        "\"enum\":[1]",
        "\"const\":1.0",
        "\"items\":",
        "true",
        "\"uniqueItems\":true",
        "\"properties\":{",
        "\"pattern\":\"(a|a)*b\"",
        "\"contains\":{}",
        "\"minContains\":0",
        "{}",
        ",",
        "\"multipleOf\":0.1",
    ];
    fuzz("schemas")
        .seeds(seeds.map(Vec::from))
        .words(&words)
        .run(target);
}
