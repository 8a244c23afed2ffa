//! The graph of a schema's subschemas, to bound the cost of checking a value.
//!
//! The weight of a subschema bounds how many subschemas are applied on the way from its value down to any one value
//! inside: subschemas for the same value (`allOf`, `$ref`, …) add up, of those for different members only the heaviest
//! counts. A value of n parts is then checked in at most n times weight steps. Recursive references would make the
//! bound depend on the value, exponentially if two of them apply to the same value, so they are refused.

use std::collections::HashMap;

use kedge_protocol::limits::{SCHEMA_PATTERNS_MAX, SCHEMA_WEIGHT_MAX};
use kedge_protocol::percent;
use serde_json::{Map, Value};

use crate::pointer::escape;
use crate::refusal::FieldError;

use super::pattern::positions;

/// Keywords with a schema for the same value.
const IN_PLACE_ONE: &[&str] = &["not", "if", "then", "else"];
/// Keywords with a list of such schemas.
const IN_PLACE_LIST: &[&str] = &["allOf", "anyOf", "oneOf"];
/// Keywords with a map of such schemas.
const IN_PLACE_MAP: &[&str] = &["dependentSchemas", "dependencies"];
/// Keywords with a schema for nested values.
const INSIDE_ONE: &[&str] = &[
    "additionalProperties",
    "propertyNames",
    "items",
    "contains",
    "unevaluatedItems",
    "unevaluatedProperties",
    "contentSchema",
];
/// Keywords whose members each take time even if they do not apply.
const COUNTED: &[&str] = &[
    "enum",
    "required",
    "properties",
    "patternProperties",
    "dependentRequired",
    "dependentSchemas",
    "dependencies",
    "prefixItems",
];
/// Number of these members that take as long as a subschema.
const COUNTED_PER_STEP: u64 = 16;
/// Number of arrays or objects of an `enum` that a byte is compared with in one step.
const VALUES_PER_STEP: u64 = 4;
/// Refused keywords: they need references other than by pointer.
const NOT_TAKEN: &[&str] = &[
    "$dynamicRef",
    "$dynamicAnchor",
    "$recursiveRef",
    "$recursiveAnchor",
];

#[derive(Default)]
struct SchemaNode<'a> {
    pointer: String,
    /// Its own cost.
    own: u64,
    /// Additional cost of its regular expressions and of the arrays and objects of its `enum`, for each byte of the
    /// matched text.
    matching: u64,
    /// Subschemas for the same value.
    in_place: Vec<usize>,
    /// Subschemas for nested values to which other subschemas here may apply as well.
    inside: Vec<usize>,
    /// Subschemas for different members.
    apart: Vec<usize>,
    reference: Option<&'a str>,
    /// The subschemas for the same value are evaluated again, for unevaluated members.
    asks_again: bool,
}

#[derive(Clone, Copy)]
enum NodeWeight {
    Unknown,
    Open,
    Known(u64),
}

/// Lists and objects in place of names, in keywords that the library checks for duplicates.
pub(super) fn misnamed(schema: &Value) -> Vec<FieldError> {
    let mut walk = SchemaWalk::default();
    walk.visit("", schema);
    walk.misnamed
}

/// Cost and patterns of a schema.
pub(super) struct SchemaGraph<'a> {
    /// Steps for each byte of a checked value: the weight of the schema, and the work of matching.
    pub(super) work: u64,
    /// Its regular expressions, with their places.
    pub(super) patterns: Vec<(String, &'a str)>,
}

impl<'a> SchemaGraph<'a> {
    /// Analyses a schema that conforms to the meta-schema; refuses one without a bound.
    pub(super) fn of(schema: &'a Value) -> Result<Self, Vec<FieldError>> {
        let mut walk = SchemaWalk::default();
        walk.visit("", schema);
        walk.link();
        if walk.problems.is_empty() && walk.patterns.len() > SCHEMA_PATTERNS_MAX {
            let message = format!("has more than {SCHEMA_PATTERNS_MAX} regular expressions");
            walk.problems.push(FieldError::new("", "range", message));
        }
        walk.states = vec![NodeWeight::Unknown; walk.nodes.len()];
        let weight = walk.weigh(0, 0);
        if walk.problems.is_empty() && weight > SCHEMA_WEIGHT_MAX {
            let message = format!(
                "applies more than {SCHEMA_WEIGHT_MAX} subschemas to one place; simplify it"
            );
            walk.problems.push(FieldError::new("", "range", message));
        }
        if walk.problems.is_empty() {
            Ok(Self {
                work: walk.weigh_with_matching(),
                patterns: walk.patterns,
            })
        } else {
            Err(walk.problems)
        }
    }
}

#[derive(Default)]
struct SchemaWalk<'a> {
    nodes: Vec<SchemaNode<'a>>,
    places: HashMap<String, usize>,
    states: Vec<NodeWeight>,
    patterns: Vec<(String, &'a str)>,
    problems: Vec<FieldError>,
    misnamed: Vec<FieldError>,
}

impl<'a> SchemaWalk<'a> {
    /// Adds a subschema and all nested ones; returns its number.
    fn visit(&mut self, pointer: &str, schema: &'a Value) -> usize {
        let index = self.nodes.len();
        self.places.insert(pointer.to_owned(), index);
        self.nodes.push(SchemaNode {
            pointer: pointer.to_owned(),
            own: 1,
            ..SchemaNode::default()
        });
        let Value::Object(members) = schema else {
            return index;
        };
        let place = |keyword: &str| format!("{pointer}/{keyword}");
        self.note_unsupported(pointer, members, index > 0);
        self.note_misnamed(pointer, members);
        let matching = self.note_patterns(pointer, members);
        let mut in_place = Vec::new();
        let mut inside = Vec::new();
        for keyword in IN_PLACE_ONE {
            in_place.extend(
                members
                    .get(*keyword)
                    .map(|one| self.visit(&place(keyword), one)),
            );
        }
        for keyword in IN_PLACE_LIST {
            in_place.extend(self.visit_list(&place(keyword), members.get(*keyword)));
        }
        for keyword in IN_PLACE_MAP {
            in_place.extend(self.visit_map(&place(keyword), members.get(*keyword)));
        }
        for keyword in INSIDE_ONE {
            inside.extend(
                members
                    .get(*keyword)
                    .map(|one| self.visit(&place(keyword), one)),
            );
        }
        inside.extend(self.visit_map(
            &place("patternProperties"),
            members.get("patternProperties"),
        ));
        let mut apart = self.visit_map(&place("properties"), members.get("properties"));
        apart.extend(self.visit_list(&place("prefixItems"), members.get("prefixItems")));
        for keyword in ["$defs", "definitions"] {
            self.visit_map(&place(keyword), members.get(keyword));
        }
        let node = &mut self.nodes[index];
        node.own += COUNTED
            .iter()
            .map(|keyword| size(members, keyword))
            .sum::<u64>()
            / COUNTED_PER_STEP;
        let values = members.get("enum").and_then(Value::as_array);
        // Scalars are looked up, not compared.
        let is_compared = |value: &&Value| value.is_array() || value.is_object();
        let values = values.map_or(0, |values| values.iter().filter(is_compared).count()) as u64;
        node.matching = matching.saturating_add(values / VALUES_PER_STEP);
        node.reference = members.get("$ref").and_then(Value::as_str);
        node.asks_again = members.contains_key("unevaluatedItems")
            || members.contains_key("unevaluatedProperties");
        (node.in_place, node.inside, node.apart) = (in_place, inside, apart);
        index
    }

    fn note_unsupported(&mut self, pointer: &str, members: &Map<String, Value>, is_inner: bool) {
        let unsupported = NOT_TAKEN.iter().map(|keyword| {
            let message = "is not supported; refer with $ref and a pointer";
            (*keyword, message)
        });
        let inner_id =
            is_inner.then_some(("$id", "is allowed only on the whole schema; remove it"));
        for (keyword, message) in unsupported.chain(inner_id) {
            if members.contains_key(keyword) {
                let place = format!("{pointer}/{keyword}");
                self.problems
                    .push(FieldError::new(&place, "unknown", message));
            }
        }
    }

    fn note_misnamed(&mut self, pointer: &str, members: &Map<String, Value>) {
        let lists = ["required", "type"].into_iter();
        let lists =
            lists.filter_map(|keyword| Some((format!("/{keyword}"), members.get(keyword)?)));
        let by_name = ["dependentRequired", "dependencies"].into_iter();
        let by_name =
            by_name.filter_map(|keyword| Some((keyword, members.get(keyword)?.as_object()?)));
        let by_name = by_name.flat_map(|(keyword, named)| {
            let place = move |name: &String| format!("/{keyword}/{}", escape(name));
            named.iter().map(move |(name, list)| (place(name), list))
        });
        for (place, list) in lists.chain(by_name) {
            let list = list.as_array().into_iter().flatten().enumerate();
            let wrong = list.filter(|(_, item)| item.is_array() || item.is_object());
            self.misnamed.extend(wrong.map(|(i, _)| {
                FieldError::new(&format!("{pointer}{place}/{i}"), "type", "must be a text")
            }));
        }
    }

    /// Records the regular expressions of a node, and returns their work for each byte.
    fn note_patterns(&mut self, pointer: &str, members: &'a Map<String, Value>) -> u64 {
        let before = self.patterns.len();
        if let Some(Value::String(pattern)) = members.get("pattern") {
            self.patterns.push((format!("{pointer}/pattern"), pattern));
        }
        if let Some(Value::Object(named)) = members.get("patternProperties") {
            let keys = named.keys().map(|key| {
                let place = format!("{pointer}/patternProperties/{}", escape(key));
                (place, key.as_str())
            });
            self.patterns.extend(keys);
        }
        let noted = self.patterns[before..].iter();
        noted.fold(0, |sum, (_, pattern)| {
            sum.saturating_add(positions(pattern))
        })
    }

    fn visit_list(&mut self, pointer: &str, list: Option<&'a Value>) -> Vec<usize> {
        let list = list
            .and_then(Value::as_array)
            .map_or(&[][..], Vec::as_slice);
        let visit = |(i, schema)| self.visit(&format!("{pointer}/{i}"), schema);
        list.iter().enumerate().map(visit).collect()
    }

    fn visit_map(&mut self, pointer: &str, map: Option<&'a Value>) -> Vec<usize> {
        let members = map.and_then(Value::as_object).into_iter().flatten();
        members
            // `dependencies` may also hold lists of names.
            .filter(|(_, schema)| schema.is_object() || schema.is_boolean())
            .map(|(name, schema)| self.visit(&format!("{pointer}/{}", escape(name)), schema))
            .collect()
    }

    /// Resolves the references.
    fn link(&mut self) {
        for index in 0..self.nodes.len() {
            let Some(reference) = self.nodes[index].reference else {
                continue;
            };
            let found = reference
                .strip_prefix('#')
                .and_then(|pointer| String::from_utf8(percent::decode(pointer)?).ok())
                .and_then(|pointer| self.places.get(&pointer));
            if let Some(&target) = found {
                self.nodes[index].in_place.push(target);
            } else {
                let place = format!("{}/$ref", self.nodes[index].pointer);
                let message = "must point to a subschema of this schema by JSON pointer, like #/$defs/name; \
                               nothing is fetched from elsewhere";
                self.problems
                    .push(FieldError::new(&place, "format", message));
            }
        }
    }

    /// Weight of the whole schema plus the work of matching. The latter only bounds the size of values: a long pattern
    /// is fine for short texts.
    fn weigh_with_matching(&mut self) -> u64 {
        for node in &mut self.nodes {
            node.own = node.own.saturating_add(node.matching);
        }
        self.states.fill(NodeWeight::Unknown);
        self.weigh(0, 0)
    }

    fn weigh(&mut self, index: usize, depth: u64) -> u64 {
        match self.states[index] {
            NodeWeight::Known(weight) => return weight,
            NodeWeight::Open => return u64::MAX,
            // The weight is over the limit already, whatever lies below.
            NodeWeight::Unknown if depth > SCHEMA_WEIGHT_MAX => return u64::MAX,
            NodeWeight::Unknown => self.states[index] = NodeWeight::Open,
        }
        let node = &self.nodes[index];
        let (in_place, inside, apart) = (
            node.in_place.clone(),
            node.inside.clone(),
            node.apart.clone(),
        );
        let in_place = self.sum(index, &in_place, depth);
        let inside = self.sum(index, &inside, depth);
        let apart = apart
            .into_iter()
            .map(|target| self.weigh_from(index, target, depth));
        let apart = apart.max().unwrap_or(0);
        let node = &self.nodes[index];
        let in_place = if node.asks_again {
            in_place.saturating_mul(2)
        } else {
            in_place
        };
        let weight = node
            .own
            .saturating_add(in_place)
            .saturating_add(inside)
            .saturating_add(apart);
        self.states[index] = NodeWeight::Known(weight);
        weight
    }

    fn sum(&mut self, index: usize, targets: &[usize], depth: u64) -> u64 {
        let weights = targets
            .iter()
            .map(|target| self.weigh_from(index, *target, depth));
        weights.fold(0, u64::saturating_add)
    }

    fn weigh_from(&mut self, index: usize, target: usize, depth: u64) -> u64 {
        if matches!(self.states[target], NodeWeight::Open) {
            self.leads_back(index);
        }
        self.weigh(target, depth + 1)
    }

    fn leads_back(&mut self, index: usize) {
        let place = format!("{}/$ref", self.nodes[index].pointer);
        let message =
            "leads back to a schema that contains it; write out the levels instead".to_owned();
        self.problems
            .push(FieldError::new(&place, "format", message));
    }
}

/// Number of members or items of a keyword.
fn size(members: &Map<String, Value>, keyword: &str) -> u64 {
    match members.get(keyword) {
        Some(Value::Array(items)) => items.len() as u64,
        Some(Value::Object(named)) => {
            let names = |value: &Value| 1 + value.as_array().map_or(0, Vec::len) as u64;
            named.values().map(names).sum()
        }
        _ => 0,
    }
}
