//! Searches and counts of objects: their bodies, and the answer to a count.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::api::document::component::component;

/// The request of a search for objects.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SearchBody {
    /// The condition for matches.
    #[schemars(schema_with = "filter_schema")]
    pub filter: Box<RawValue>,
    /// The order: by creation if absent.
    #[serde(default)]
    #[schemars(schema_with = "sort_schema")]
    pub sort: Option<Box<RawValue>>,
    /// Records per page: 1 to 1,000, 100 if absent.
    #[serde(default)]
    #[schemars(range(min = 1, max = 1000))]
    pub limit: Option<u64>,
    /// The cursor from the previous page.
    #[serde(default)]
    pub cursor: Option<String>,
}

/// The request of a count of objects.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CountBody {
    /// The condition for matches.
    #[schemars(schema_with = "filter_schema")]
    pub filter: Box<RawValue>,
}

/// How many objects match.
#[derive(Debug, Serialize, JsonSchema)]
pub struct CountView {
    /// The exact number of matches that the caller sees.
    pub count: u64,
}

/// A tree of conditions.
struct FilterTree;

impl JsonSchema for FilterTree {
    fn schema_name() -> Cow<'static, str> {
        "Filter".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let tree = generator.subschema_for::<Self>();
        let trees = json_schema!({ "type": "array", "items": tree });
        let mut node = |name: &str, member: &str, schema: &Schema| {
            let node = json_schema!({
                "type": "object",
                "additionalProperties": false,
                "required": [member],
                "properties": { (member): schema },
            });
            component(generator, name, node)
        };
        let alternatives = [
            node("FilterAnd", "and", &trees),
            node("FilterOr", "or", &trees),
            node("FilterNot", "not", &tree),
            component(generator, "FilterCondition", condition()),
        ];
        json_schema!({
            "description": "A tree of `and`, `or` and `not` over conditions. Values of different JSON types are \
                never equal and have no order; numbers are compared exactly, texts by code point. A condition on \
                a missing value is false; `ne` is the negation of `eq`.",
            "oneOf": alternatives,
        })
    }
}

/// A leaf of the tree.
fn condition() -> Schema {
    json_schema!({
        "type": "object",
        "additionalProperties": false,
        "required": ["field", "op", "value"],
        "properties": {
            "field": { "type": "string", "description":
                "id, template_id, variation_id, owner_id, owner_address, status, version, sequence, \
                 created_at, updated_at, or properties. and the keys that lead to a value, separated by dots; \
                 a dot or a backslash in a key has a backslash before it." },
            "op": { "type": "string", "enum":
                ["eq", "ne", "gt", "gte", "lt", "lte", "in", "exists", "prefix", "contains"] },
            "value": { "description":
                "For `in` an array of values, for `exists` true or false, otherwise a text, \
                 a number, true, false or null. `contains` finds part of a text, or an \
                 element of an array." },
        },
    })
}

fn filter_schema(generator: &mut SchemaGenerator) -> Schema {
    generator.subschema_for::<FilterTree>()
}

fn sort_schema(generator: &mut SchemaGenerator) -> Schema {
    let key = json_schema!({
        "type": "object",
        "additionalProperties": false,
        "required": ["field"],
        "properties": {
            "field": { "type": "string", "description":
                "created_at, updated_at, or a property that the template's schema marks with `x-index`; then \
                 the filter must fix the template_id with eq." },
            "order": { "type": "string", "enum": ["asc", "desc"] },
        },
    });
    let items = component(generator, "SortKey", key);
    json_schema!({ "type": ["array", "null"], "minItems": 1, "maxItems": 1, "items": items })
}
