//! JSON Schema (draft 2020-12) of templates: of their objects' properties, and of the payloads of their custom kinds. A
//! schema is self-contained, and a linear-time engine matches its patterns. The steps of a check for each byte are
//! known when the template is made, and limit the size of checked values, because the check runs on a shard that other
//! requests share. `format` is an annotation, the draft's default. An action on a template without a schema skips all
//! of this.
//!
//! Validity is part of the rules: a replay must accept what was accepted. So the library's version is pinned exactly,
//! and a new version must give the same results for every old log.

mod body;
mod budget;
mod cost;
mod errors;
mod graph;
mod pattern;
mod pointers;
mod unique;

use std::fmt;

use jsonschema::{Draft, PatternOptions, ValidationError, Validator};
use kedge_protocol::limits::{
    SCHEMA_PATTERN_BYTES_MAX, SCHEMA_POINTERS_TOLD_MAX, SCHEMA_WORK_MAX, SCHEMA_WORK_TOLD_MAX,
};
use serde_json::{Value, json};

use crate::refusal::{FieldError, Refusal};
use errors::{bounded, first, words};
use graph::SchemaGraph;

pub use body::BodySchema;
pub use budget::SchemaBudget;
pub use cost::bytes_compiled;
pub(crate) use cost::compile_steps;

/// The only dialect that a schema may name.
const DIALECT: &str = "https://json-schema.org/draft/2020-12/schema";

/// A compiled schema.
pub struct Schema {
    validator: Validator,
    /// Steps of a check for each byte of a value.
    work: u64,
}

impl fmt::Debug for Schema {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Schema")
            .field("work", &self.work)
            .finish_non_exhaustive()
    }
}

/// Checks that a text, which must be a JSON object, is an acceptable schema. Errors point into it.
pub fn check(text: &str) -> Result<(), Vec<FieldError>> {
    check_within(text, &mut SchemaBudget::of_the_log())
}

/// [`check`] within a budget: the schema's regular expressions reduce `room`.
pub fn check_within(text: &str, room: &mut SchemaBudget) -> Result<(), Vec<FieldError>> {
    let value = parse(text)?;
    room.check_pointers(&value)
        .map_err(|message| vec![FieldError::new("", "range", message)])?;
    match value.get("$schema") {
        None => {}
        Some(Value::String(dialect)) if dialect.trim_end_matches('#') == DIALECT => {}
        Some(_) => {
            let message = format!("must be absent or {DIALECT:?}");
            return Err(vec![FieldError::new("/$schema", "format", message)]);
        }
    }
    // The library's meta-schema compares list items pairwise, so check first that they are names.
    let wrong = graph::misnamed(&value);
    if !wrong.is_empty() {
        return Err(bounded(wrong));
    }
    let meta = jsonschema::draft202012::meta::validator();
    let wrong = first(meta.iter_errors(&value));
    if !wrong.is_empty() {
        return Err(wrong);
    }
    let graph = SchemaGraph::of(&value).map_err(bounded)?;
    room.take(&graph.patterns)
        .map_err(|message| vec![FieldError::new("", "range", message)])?;
    let wrong: Vec<FieldError> = graph
        .patterns
        .iter()
        .filter(|(_, pattern)| compile(&json!({ "pattern": pattern })).is_err())
        .map(|(pointer, _)| {
            let message = "must be a regular expression without look-around and \
                 back-references, and not too large";
            FieldError::new(pointer, "format", message)
        })
        .collect();
    if !wrong.is_empty() {
        return Err(bounded(wrong));
    }
    compile(&alone(value))
        .map(drop)
        .map_err(|error| bounded(vec![FieldError::new("", "schema", words(&error))]))
}

/// Compiles a schema that [`check`] accepted.
pub fn read(text: &str) -> Option<Schema> {
    let value = parse(text).ok()?;
    let work = SchemaGraph::of(&value).ok()?.work;
    let validator = compile(&alone(value)).ok()?;
    Some(Schema { validator, work })
}

fn parse(text: &str) -> Result<Value, Vec<FieldError>> {
    serde_json::from_str(text)
        .map_err(|error| vec![FieldError::new("", "syntax", error.to_string())])
}

/// Removes the schema's `$id`. References in the schema are fragments, so the id has no effect, but it could match a
/// schema that the library ships.
fn alone(mut schema: Value) -> Value {
    if let Value::Object(members) = &mut schema {
        members.remove("$id");
        members.remove("$schema");
    }
    schema
}

fn compile(schema: &Value) -> Result<Validator, ValidationError<'static>> {
    let patterns = PatternOptions::regex()
        .size_limit(SCHEMA_PATTERN_BYTES_MAX)
        .dfa_size_limit(SCHEMA_PATTERN_BYTES_MAX);
    jsonschema::options()
        .with_draft(Draft::Draft202012)
        .with_pattern_options(patterns)
        .should_validate_formats(false)
        .with_keyword(unique::KEYWORD, unique::compile)
        .offline()
        .build(schema)
}

impl Schema {
    /// Steps that checking this text can take.
    pub fn work(&self, text: &str) -> u64 {
        self.work.saturating_mul(text.len() as u64)
    }

    /// Checks a value; `pointer` is the prefix of the errors' pointers.
    pub fn validate(&self, text: &str, pointer: &str) -> Result<(), Refusal> {
        if self.work(text) > SCHEMA_WORK_MAX {
            let bytes = SCHEMA_WORK_MAX / self.work.max(1);
            let message = format!(
                "is too large to be checked against the template's schema: at most {bytes} bytes are"
            );
            return Err(Refusal::field(pointer, "schema", message));
        }
        let value: Value = serde_json::from_str(text)
            .map_err(|error| Refusal::field(pointer, "syntax", error.to_string()))?;
        if self.validator.is_valid(&value) {
            return Ok(());
        }
        // The library collects all errors before it returns the first, so for a large value only the failure is
        // reported.
        let pointers = self.work.saturating_mul(pointers::bytes(&value));
        if self.work(text) > SCHEMA_WORK_TOLD_MAX || pointers > SCHEMA_POINTERS_TOLD_MAX {
            let message =
                "does not conform to the template's schema, and is too large to report where";
            return Err(Refusal::field(pointer, "schema", message));
        }
        let mut fields = first(self.validator.iter_errors(&value));
        for field in &mut fields {
            field.pointer.insert_str(0, pointer);
        }
        Err(Refusal::Invalid(fields))
    }
}

#[cfg(test)]
mod tests {
    use std::borrow::Cow;

    use kedge_protocol::limits::{SCHEMA_ERRORS_MAX, SCHEMA_WEIGHT_MAX};

    use proptest::prelude::*;

    use super::errors::MESSAGE_CHARS_MAX;
    use super::*;

    fn refused(schema: &Value) -> Vec<(String, Cow<'static, str>)> {
        let fields = check(&schema.to_string()).expect_err(&schema.to_string());
        let places = fields.into_iter().map(|field| (field.pointer, field.code));
        places.collect()
    }

    fn too_much() -> Vec<(String, Cow<'static, str>)> {
        vec![(String::new(), "range".into())]
    }

    #[test]
    fn schemas_are_checked_when_they_are_made() {
        for good in [
            json!({}),
            json!({"$schema": DIALECT, "$id": "https://example.com/ticket", "type": "object"}),
            // Keywords unknown to the draft are annotations.
            json!({"properties": {"a": {"x-index": true, "widget": {"$ref": "https://else.where/"}}}}),
            json!({"$defs": {"a/b c": {"type": "string"}}, "properties": {"x": {"$ref": "#/$defs/a~1b%20c"}}}),
            // A property may have any name, even a keyword's.
            json!({"properties": {"$ref": {"type": "string"}, "$id": {}, "pattern": {"type": "object"}}}),
            json!({"properties": {"a": {"const": {"$ref": "https://else.where/"}}}}),
            json!({"properties": {"a": {"pattern": r"^[\w-]{1,64}$", "format": "no-such-format"}}}),
        ] {
            assert_eq!(check(&good.to_string()), Ok(()), "{good}");
            assert!(read(&good.to_string()).is_some());
        }
        let cases = [
            (json!({"type": "objekt"}), "/type"),
            (
                json!({"properties": {"a/b": {"minLength": -1}}}),
                "/properties/a~1b/minLength",
            ),
            (
                json!({"$schema": "http://json-schema.org/draft-07/schema#"}),
                "/$schema",
            ),
            (
                json!({"properties": {"a": {"$ref": "https://example.com/s"}}}),
                "/properties/a/$ref",
            ),
            (json!({"$ref": "other.json"}), "/$ref"),
            (json!({"$ref": "#/$defs/none"}), "/$ref"),
            (json!({"$ref": "#anchor", "$anchor": "anchor"}), "/$ref"),
            (
                json!({"$ref": "#/x-mine", "x-mine": {"type": "string"}}),
                "/$ref",
            ),
            (json!({"$ref": "#"}), "/$ref"),
            (json!({"items": {"$ref": "#"}}), "/items/$ref"),
            (json!({"$dynamicRef": "#"}), "/$dynamicRef"),
            (
                json!({"properties": {"a": {"$id": "https://example.com/a"}}}),
                "/properties/a/$id",
            ),
            (
                json!({"properties": {"a": {"pattern": "(?=a)b"}}}),
                "/properties/a/pattern",
            ),
            (
                json!({"properties": {"a": {"pattern": r"(a)\1"}}}),
                "/properties/a/pattern",
            ),
            (
                json!({"properties": {"a": {"pattern": "((a{100}){100}){100}"}}}),
                "/properties/a/pattern",
            ),
            (
                json!({"patternProperties": {"(?!x)": {}}}),
                "/patternProperties/(?!x)",
            ),
        ];
        for (bad, pointer) in cases {
            assert_eq!(refused(&bad)[0].0, pointer, "{bad}");
        }
    }

    // Holds invariant 33.
    /// Short schemas that would take unbearably long if they were accepted.
    #[test]
    fn what_multiplies_is_refused() {
        let doubling = |keyword: &str| {
            let mut defs = serde_json::Map::new();
            for i in 0..40 {
                let next = json!({"$ref": format!("#/$defs/d{}", i + 1)});
                defs.insert(format!("d{i}"), json!({keyword: [next, next]}));
            }
            defs.insert("d40".to_owned(), json!({"type": "string"}));
            json!({"$defs": defs, "$ref": "#/$defs/d0"})
        };
        for keyword in ["allOf", "anyOf", "oneOf"] {
            assert_eq!(refused(&doubling(keyword)), too_much(), "{keyword}");
        }
        let mut nested = json!({"unevaluatedProperties": false});
        for _ in 0..12 {
            nested = json!({"allOf": [nested], "unevaluatedProperties": false});
        }
        assert_eq!(refused(&nested), too_much());
        let many: Vec<Value> = (0..65)
            .map(|i| json!({"pattern": format!("a{i}")}))
            .collect();
        assert_eq!(refused(&json!({"anyOf": many})), too_much());
        let all = vec![json!({"type": "string"}); 300];
        assert_eq!(refused(&json!({"items": {"allOf": all}})), too_much());
        // Subschemas for different members cost a value no more than one of them.
        let siblings: serde_json::Map<String, Value> = (0..300)
            .map(|i| (format!("p{i}"), json!({"type": "string"})))
            .collect();
        assert_eq!(check(&json!({"properties": siblings}).to_string()), Ok(()));
    }

    /// The longest accepted chain of references does not endanger a thread's stack.
    #[test]
    fn the_deepest_chain_is_walked() {
        let chain = |length: usize| {
            let mut defs = serde_json::Map::new();
            for i in 0..length {
                let next = json!({"$ref": format!("#/$defs/d{}", i + 1)});
                defs.insert(format!("d{i}"), next);
            }
            defs.insert(format!("d{length}"), json!({"type": "string"}));
            json!({"$defs": defs, "$ref": "#/$defs/d0"}).to_string()
        };
        let longest = (1..300)
            .rev()
            .map(chain)
            .find(|text| check(text).is_ok())
            .unwrap();
        let schema = read(&longest).unwrap();
        assert_eq!(schema.validate("\"a\"", ""), Ok(()));
        assert!(schema.validate("5", "").is_err());
        assert!(check(&chain(1_500)).is_err());
    }

    /// Subschemas below the weight limit are not visited, however long the chain is.
    #[test]
    fn a_loop_is_followed_until_it_is_too_heavy() {
        let looped = |length: u64| {
            let next = |i| json!({"$ref": format!("#/$defs/d{}", (i + 1) % length)});
            let defs: serde_json::Map<String, Value> =
                (0..length).map(|i| (format!("d{i}"), next(i))).collect();
            refused(&json!({"$defs": defs, "$ref": "#/$defs/d0"}))
        };
        for length in [1, 2, SCHEMA_WEIGHT_MAX] {
            let last = format!("/$defs/d{}/$ref", length - 1);
            assert_eq!(looped(length), [(last, "format".into())]);
        }
        for length in [SCHEMA_WEIGHT_MAX + 1, 1_500] {
            assert_eq!(looped(length), too_much(), "{length}");
        }
    }

    #[test]
    fn errors_point_to_the_place() {
        let schema = json!({
            "type": "object",
            "properties": {
                "seat": {"type": "integer", "minimum": 1},
                "tags": {"items": {"pattern": "^[a-z]+$"}, "uniqueItems": true},
                "a/b": {"enum": ["x"]},
            },
            "required": ["seat", "row"],
            "additionalProperties": false,
        });
        let schema = read(&schema.to_string()).unwrap();
        assert_eq!(
            schema
                .validate(r#"{"seat":2.0,"row":1}"#, "")
                .unwrap_err()
                .places(),
            [("/row", "unknown")]
        );
        let refusal = schema
            .validate(
                r#"{"seat":0,"tags":["ok","N",5,5],"a/b":"secret text","x~":1}"#,
                "/properties",
            )
            .unwrap_err();
        assert_eq!(
            refusal.places(),
            [
                ("/properties/a~1b", "range"),
                ("/properties/row", "required"),
                ("/properties/seat", "range"),
                ("/properties/tags", "duplicate"),
                ("/properties/tags/1", "format"),
                ("/properties/x~0", "unknown"),
            ]
        );
        assert!(
            !format!("{refusal:?}").contains("secret text"),
            "values stay out of messages"
        );
    }

    impl Refusal {
        fn places(&self) -> Vec<(&str, &str)> {
            let Self::Invalid(fields) = self else {
                panic!("{self:?}")
            };
            fields
                .iter()
                .map(|field| (field.pointer.as_str(), field.code.as_ref()))
                .collect()
        }
    }

    #[test]
    fn errors_are_bounded() {
        let schema = read(r#"{"items":{"type":"string"}}"#).unwrap();
        let numbers = |count: usize| format!("[{}]", vec!["1"; count].join(","));
        assert_eq!(
            schema
                .validate(&numbers(500), "")
                .unwrap_err()
                .places()
                .len(),
            SCHEMA_ERRORS_MAX
        );
        assert_eq!(
            schema
                .validate(&numbers(400_000), "/p")
                .unwrap_err()
                .places(),
            [("/p", "schema")]
        );
        // A message repeats the schema's expectation, up to a length, and nothing of the value.
        let long = "é".repeat(2 * MESSAGE_CHARS_MAX);
        for (expected, is_whole) in [("a short text", true), (&*long, false)] {
            let schema = read(&json!({"const": expected}).to_string()).unwrap();
            let Refusal::Invalid(fields) = schema.validate("\"secret\"", "").unwrap_err() else {
                panic!()
            };
            let message = &fields[0].message;
            assert_eq!(message.contains(expected), is_whole, "{message}");
            let is_cut = message.chars().count() == MESSAGE_CHARS_MAX + 1;
            assert_eq!(is_cut, !is_whole, "{message}");
            assert!(!message.contains("secret"), "{message}");
        }
    }

    fn leaf() -> impl Strategy<Value = Value> {
        prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            (-5..5i64).prop_map(Value::from),
            "[a-c]{0,3}".prop_map(Value::from)
        ]
    }

    fn value() -> impl Strategy<Value = Value> {
        leaf().prop_recursive(3, 24, 4, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
                prop::collection::btree_map("[a-d]", inner, 0..4).prop_map(|map| json!(map)),
            ]
        })
    }

    fn schema() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            prop::sample::select(vec![
                "object", "array", "string", "integer", "boolean", "null"
            ])
            .prop_map(|kind| json!({"type": kind})),
            (-5..5i64).prop_map(|least| json!({"minimum": least})),
            (0..3u64).prop_map(
                |most| json!({"maxLength": most, "maxItems": most, "maxProperties": most})
            ),
            Just(json!({"required": ["a", "b"]})),
            Just(json!({"pattern": "^a+b?$"})),
            value().prop_map(|value| json!({"const": value})),
        ];
        leaf.prop_recursive(3, 16, 3, |inner| {
            prop_oneof![
                prop::collection::btree_map("[a-d]", inner.clone(), 0..3)
                    .prop_map(|map| json!({"properties": map, "additionalProperties": false})),
                prop::collection::vec(inner.clone(), 1..3).prop_map(|all| json!({"anyOf": all})),
                inner.clone().prop_map(|item| json!({"items": item})),
                inner
                    .prop_map(|inner| json!({"$defs": {"d": inner}, "not": {"$ref": "#/$defs/d"}})),
            ]
        })
    }

    proptest! {
        /// The limits of this module change no verdict, and every error points into the value or to a missing member.
        #[test]
        fn verdicts_are_the_librarys(schema in schema(), value in value()) {
            // References find a definition only if it is at the top.
            prop_assume!(!schema.to_string()[2..].contains("$defs\":{\"d") || schema.get("$defs").is_some());
            let text = schema.to_string();
            prop_assume!(check(&text).is_ok());
            let ours = read(&text).unwrap().validate(&value.to_string(), "");
            prop_assert_eq!(ours.is_ok(), jsonschema::draft202012::is_valid(&schema, &value));
            prop_assert_eq!(&ours, &read(&text).unwrap().validate(&value.to_string(), ""));
            if let Err(Refusal::Invalid(fields)) = ours {
                prop_assert!(!fields.is_empty());
                for field in fields {
                    let parent = field.pointer.rsplit_once('/').map_or("", |(parent, _)| parent);
                    let found = value.pointer(&field.pointer).is_some();
                    prop_assert!(found || (field.code == "required" && value.pointer(parent).is_some()));
                }
            }
        }
    }
}
