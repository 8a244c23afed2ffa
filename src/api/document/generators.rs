//! Normalization of schemas for client generators. JSON Schema has several ways to state the same, and generators know
//! the plainest one.

use serde_json::{Value, json};

/// Members of the document whose values are data and contain no schemas.
const DATA: [&str; 4] = ["default", "enum", "example", "examples"];

/// Rewrites all schemas of a document: a `oneOf` of `const`s becomes an `enum`.
pub(super) fn simplify(node: &mut Value) {
    match node {
        Value::Array(items) => items.iter_mut().for_each(simplify),
        Value::Object(members) => {
            for (name, member) in members.iter_mut() {
                match (name.as_str(), member) {
                    // Their keys are names.
                    ("properties", Value::Object(named)) => named.values_mut().for_each(simplify),
                    (name, member) if !DATA.contains(&name) => simplify(member),
                    _ => {}
                }
            }
            name_constant(node);
            join_words(node);
            drop_null_default(node);
        }
        _ => {}
    }
}

/// Rewrites a `const` as an `enum` of one value, with its type.
fn name_constant(schema: &mut Value) {
    let Some(value) = schema.get("const").cloned() else {
        return;
    };
    let kind = match &value {
        Value::String(_) => "string",
        Value::Number(number) if number.is_u64() => "integer",
        _ => return,
    };
    if let Some(members) = schema.as_object_mut() {
        members.remove("const");
        members.insert("type".to_owned(), json!(kind));
        members.insert("enum".to_owned(), json!([value]));
    }
}

/// Removes null defaults. Some generators take a member with a default for always present.
fn drop_null_default(schema: &mut Value) {
    if schema.get("default").is_some_and(Value::is_null)
        && let Some(members) = schema.as_object_mut()
    {
        members.remove("default");
    }
}

/// Rewrites a `oneOf` of words as one `enum`, whose description has the meaning of each word.
fn join_words(schema: &mut Value) {
    let alternatives = schema["oneOf"].as_array().cloned().unwrap_or_default();
    let mut words = Vec::new();
    let mut meanings = Vec::new();
    for alternative in &alternatives {
        let Some(of_this) = alternative["enum"].as_array() else {
            return;
        };
        if alternative["type"] != "string" {
            return;
        }
        words.extend(of_this.iter().cloned());
        if let ([Value::String(word)], Some(meaning)) =
            (of_this.as_slice(), alternative["description"].as_str())
        {
            meanings.push(format!("- `{word}`: {meaning}"));
        }
    }
    let Some(members) = schema.as_object_mut().filter(|_| !words.is_empty()) else {
        return;
    };
    members.remove("oneOf");
    members.insert("type".to_owned(), json!("string"));
    members.insert("enum".to_owned(), Value::Array(words));
    let before = members.get("description").and_then(Value::as_str);
    let paragraphs = before.map(str::to_owned).into_iter();
    let listed = (!meanings.is_empty()).then(|| meanings.join("\n"));
    let description: Vec<String> = paragraphs.chain(listed).collect();
    if !description.is_empty() {
        members.insert("description".to_owned(), json!(description.join("\n\n")));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_become_one_enum_and_nothing_else_changes() {
        let mut document = json!({
            "A": {
                "description": "A state.",
                "oneOf": [
                    { "type": "string", "enum": ["new", "old"] },
                    { "type": "string", "const": "done", "description": "No more to do." },
                ],
            },
            "B": { "properties": { "default": { "const": 1 }, "kind": { "const": "b" } } },
            "C": { "oneOf": [{ "type": "string", "const": "c" }, { "type": "object" }] },
            "D": { "example": { "const": "d", "oneOf": [] }, "default": { "const": 2 } },
            "E": { "type": ["string", "null"], "default": null },
        });
        simplify(&mut document);
        let expected = json!({
            "A": {
                "description": "A state.\n\n- `done`: No more to do.",
                "type": "string",
                "enum": ["new", "old", "done"],
            },
            "B": { "properties": {
                "default": { "type": "integer", "enum": [1] },
                "kind": { "type": "string", "enum": ["b"] },
            } },
            "C": { "oneOf": [{ "type": "string", "enum": ["c"] }, { "type": "object" }] },
            "D": { "example": { "const": "d", "oneOf": [] }, "default": { "const": 2 } },
            "E": { "type": ["string", "null"] },
        });
        assert_eq!(document, expected);
    }
}
