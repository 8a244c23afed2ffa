//! Types of CSV fields, from the template's schema or from `--type`.

use kedge_rules::json::{self, quoted};
use serde_json::Value;

use super::args::ColumnType;

/// Limit of followed references per schema.
const REFERENCES_MAX: usize = 16;

/// Types allowed by a schema at a path; text if it states none.
pub(super) fn types_at(schema: Option<&Value>, path: &[String]) -> Vec<ColumnType> {
    let mut types = Vec::new();
    if let Some(schema) = schema {
        collect_at(schema, schema, path, REFERENCES_MAX, &mut types);
    }
    if types.is_empty() {
        types.push(ColumnType::Text);
    }
    // Narrow types come before types that accept every text.
    types.sort_by_key(|found| match found {
        ColumnType::Number => 0,
        ColumnType::Boolean => 1,
        ColumnType::Json => 2,
        ColumnType::Text => 3,
    });
    types.dedup();
    types
}

fn collect_at(
    root: &Value,
    schema: &Value,
    path: &[String],
    left: usize,
    types: &mut Vec<ColumnType>,
) {
    if left == 0 {
        return;
    }
    let target = schema.get("$ref").and_then(Value::as_str);
    if let Some(target) = target.and_then(|target| root.pointer(target.strip_prefix('#')?)) {
        collect_at(root, target, path, left - 1, types);
    }
    for keyword in ["allOf", "anyOf", "oneOf"] {
        let parts = schema.get(keyword).and_then(Value::as_array);
        for part in parts.into_iter().flatten() {
            collect_at(root, part, path, left - 1, types);
        }
    }
    match path {
        [] => types.extend(stated(schema)),
        [name, rest @ ..] => {
            let member = schema.get("properties").and_then(|all| all.get(name));
            if let Some(member) = member {
                collect_at(root, member, rest, left - 1, types);
            }
        }
    }
}

/// Whether a schema allows a property: it names it, names no properties, or has rules for others.
pub(super) fn names(schema: &Value, path: &[String]) -> bool {
    let mut members = CsvSchemaMembers::default();
    members.collect(schema, schema, path, REFERENCES_MAX);
    members.have_a_place()
}

/// A schema's statements about an object's members.
#[derive(Default)]
struct CsvSchemaMembers {
    /// It names the searched member.
    named: bool,
    /// It names other members.
    names_others: bool,
    /// It has rules for unnamed members.
    open: bool,
}

impl CsvSchemaMembers {
    fn have_a_place(&self) -> bool {
        self.named || !self.names_others || self.open
    }

    fn collect(&mut self, root: &Value, schema: &Value, path: &[String], left: usize) {
        let Some((name, rest)) = path.split_first() else {
            self.named = true;
            return;
        };
        if left == 0 {
            self.open = true;
            return;
        }
        let target = schema.get("$ref").and_then(Value::as_str);
        if let Some(target) = target.and_then(|target| root.pointer(target.strip_prefix('#')?)) {
            self.collect(root, target, path, left - 1);
        }
        for keyword in ["allOf", "anyOf", "oneOf"] {
            let parts = schema.get(keyword).and_then(Value::as_array);
            for part in parts.into_iter().flatten() {
                self.collect(root, part, path, left - 1);
            }
        }
        for keyword in [
            "if",
            "then",
            "else",
            "patternProperties",
            "propertyNames",
            "dependentSchemas",
        ] {
            self.open |= schema.get(keyword).is_some();
        }
        for keyword in ["additionalProperties", "unevaluatedProperties"] {
            self.open |= schema
                .get(keyword)
                .is_some_and(|others| *others != Value::Bool(false));
        }
        match schema.get("properties").and_then(Value::as_object) {
            None => {}
            Some(all) => match all.get(name) {
                Some(member) => {
                    let mut below = Self::default();
                    below.collect(root, member, rest, left - 1);
                    let place = below.have_a_place();
                    self.named |= place;
                    self.names_others |= !place;
                }
                None => self.names_others |= !all.is_empty(),
            },
        }
    }
}

/// Types stated by the schema node itself.
fn stated(schema: &Value) -> Vec<ColumnType> {
    let of_name = |name: &Value| match name.as_str() {
        Some("string") => Some(ColumnType::Text),
        Some("number" | "integer") => Some(ColumnType::Number),
        Some("boolean") => Some(ColumnType::Boolean),
        Some("object" | "array") => Some(ColumnType::Json),
        _ => None,
    };
    let of_value = |value: &Value| match value {
        Value::Null => None,
        Value::Bool(_) => Some(ColumnType::Boolean),
        Value::Number(_) => Some(ColumnType::Number),
        Value::String(_) => Some(ColumnType::Text),
        Value::Array(_) | Value::Object(_) => Some(ColumnType::Json),
    };
    match (schema.get("type"), schema.get("enum"), schema.get("const")) {
        (Some(Value::Array(names)), ..) => names.iter().filter_map(of_name).collect(),
        (Some(name), ..) => of_name(name).into_iter().collect(),
        (None, Some(Value::Array(values)), _) => values.iter().filter_map(of_value).collect(),
        (None, _, Some(value)) => of_value(value).into_iter().collect(),
        _ => Vec::new(),
    }
}

/// Converts a field to JSON, by the first type that it fits.
pub(super) fn convert(text: &str, types: &[ColumnType]) -> Result<String, String> {
    types
        .iter()
        .find_map(|wanted| converted(text, *wanted))
        .ok_or_else(|| {
            let names: Vec<&str> = types.iter().map(|wanted| wanted.words()).collect();
            format!("{} is not {}", shortened(text), names.join(" or "))
        })
}

fn converted(text: &str, wanted: ColumnType) -> Option<String> {
    let trimmed = text.trim_matches(' ');
    match wanted {
        ColumnType::Text => Some(quoted(text)),
        ColumnType::Number => {
            let begins = trimmed.starts_with(|c: char| c == '-' || c.is_ascii_digit());
            (begins && json::check(trimmed).is_ok()).then(|| trimmed.to_owned())
        }
        ColumnType::Boolean => match trimmed.to_ascii_lowercase().as_str() {
            "true" | "t" | "yes" | "y" | "1" => Some("true".to_owned()),
            "false" | "f" | "no" | "n" | "0" => Some("false".to_owned()),
            _ => None,
        },
        ColumnType::Json => {
            let begins = trimmed.starts_with(['{', '[']);
            (begins && json::check(trimmed).is_ok()).then(|| trimmed.to_owned())
        }
    }
}

impl ColumnType {
    fn words(self) -> &'static str {
        match self {
            Self::Text => "a text",
            Self::Number => "a number",
            Self::Boolean => "true or false",
            Self::Json => "a JSON object or array",
        }
    }
}

/// A quoted text, shortened for messages.
pub(super) fn shortened(text: &str) -> String {
    const CHARS_MAX: usize = 60;
    match text.char_indices().nth(CHARS_MAX) {
        Some((end, _)) => format!("{:?}…", &text[..end]),
        None => format!("{text:?}"),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn at(schema: &Value, path: &[&str]) -> Vec<ColumnType> {
        let path: Vec<String> = path.iter().map(|&name| name.to_owned()).collect();
        types_at(Some(schema), &path)
    }

    #[test]
    fn a_schema_that_names_members_has_no_place_for_others() {
        let schema = json!({
            "properties": {"sku": {}, "address": {"properties": {"zip": {}}}, "any": {"type": "object"}},
            "allOf": [{"properties": {"late": {}}}],
        });
        let has = |schema: &Value, path: &[&str]| {
            let path: Vec<String> = path.iter().map(|&name| name.to_owned()).collect();
            names(schema, &path)
        };
        for path in [
            vec!["sku"],
            vec!["late"],
            vec!["address", "zip"],
            vec!["any", "x"],
            vec!["sku", "x"],
        ] {
            assert!(has(&schema, &path), "{path:?}");
        }
        for path in [vec!["skuu"], vec!["address", "city"], vec!["sku;name"]] {
            assert!(!has(&schema, &path), "{path:?}");
        }
        for open in [
            json!({}),
            json!({"required": ["a"]}),
            json!({"properties": {"a": {}}, "additionalProperties": true}),
            json!({"properties": {"a": {}}, "patternProperties": {"^x": {}}}),
        ] {
            assert!(has(&open, &["xyz"]), "{open}");
        }
        assert!(!has(
            &json!({"properties": {"a": {}}, "additionalProperties": false}),
            &["b"]
        ));
    }

    #[test]
    fn a_schema_gives_columns_their_types() {
        use ColumnType::{Boolean, Json, Number, Text};
        let schema = json!({
            "$defs": {"amount": {"type": "number"}},
            "properties": {
                "name": {"type": "string"},
                "seat": {"type": ["null", "string", "integer"]},
                "price": {"$ref": "#/$defs/amount"},
                "used": {"enum": [true, false, null]},
                "size": {"anyOf": [{"type": "string"}, {"type": "array"}]},
                "address": {"properties": {"zip": {"const": 7}}},
                "any": {},
            }
        });
        for (path, types) in [
            (&["name"][..], &[Text][..]),
            (&["seat"], &[Number, Text]),
            (&["price"], &[Number]),
            (&["used"], &[Boolean]),
            (&["size"], &[Json, Text]),
            (&["address", "zip"], &[Number]),
            (&["any"], &[Text]),
            (&["none"], &[Text]),
        ] {
            assert_eq!(at(&schema, path), types, "{path:?}");
        }
        assert_eq!(types_at(None, &["a".to_owned()]), [Text]);
        // A cyclic schema ends.
        let circle = json!({"$defs": {"a": {"$ref": "#/$defs/a"}}, "$ref": "#/$defs/a"});
        assert_eq!(at(&circle, &["x"]), [Text]);
    }

    #[test]
    fn a_field_becomes_what_its_column_says() {
        use ColumnType::{Boolean, Json, Number, Text};
        for (text, types, expected) in [
            ("007", &[Text][..], Some("\"007\"")),
            ("007", &[Number], None),
            (" 12.50 ", &[Number], Some("12.50")),
            (
                "123456789012345678901234567890",
                &[Number],
                Some("123456789012345678901234567890"),
            ),
            ("1e3", &[Number], Some("1e3")),
            ("+1", &[Number], None),
            ("NaN", &[Number], None),
            ("\"1\"", &[Number], None),
            ("Yes", &[Boolean], Some("true")),
            ("0", &[Boolean], Some("false")),
            ("2", &[Boolean], None),
            ("2", &[Number, Boolean], Some("2")),
            ("x", &[Number, Text], Some("\"x\"")),
            (r#"{"a":1}"#, &[Json], Some(r#"{"a":1}"#)),
            (r#"{"a":1,"a":2}"#, &[Json], None),
            ("a\"b\n", &[Text], Some("\"a\\\"b\\n\"")),
        ] {
            assert_eq!(
                convert(text, types).ok().as_deref(),
                expected,
                "{text} {types:?}"
            );
        }
        let reported = convert("x", &[Number, Boolean]).unwrap_err();
        assert_eq!(reported, "\"x\" is not a number or true or false");
    }
}
