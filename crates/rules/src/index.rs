//! Indexed properties: the places that a template's schema marks with the annotation `"x-index": true`, on the schema
//! of a member, at any depth of nested `properties`; at most 16. Every object has exactly one entry for each of them in
//! the table `property_index`.
//!
//! The object's actor compares the values before and after while it decides. The committer writes the entries that
//! differ, in the commit that changes the object. A template's marks cannot change once it has objects, so an index is
//! complete from the first object on.

use kedge_protocol::limits::{INDEXED_PATHS_MAX, JSON_DEPTH_MAX};

use crate::json::JsonMembers;
use crate::paths::{PathTree, PropertyPath};
use crate::pointer::escape;
use crate::refusal::FieldError;
use crate::scalar::{JsonScalar, tag};

pub const KEYWORD: &str = "x-index";

/// The indexed places of a template, in the order in which the schema names them. A place's number is its index here.
#[derive(Clone, Default, Debug)]
pub struct IndexedPaths {
    paths: Vec<PropertyPath>,
    tree: PathTree,
}

/// A changed entry of the index.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct IndexChange {
    /// Number of the place.
    pub path: u8,
    /// The ordered value before; `None` for a new object.
    pub before: Option<Vec<u8>>,
    /// The ordered value now.
    pub after: Vec<u8>,
}

impl PartialEq for IndexedPaths {
    fn eq(&self, other: &Self) -> bool {
        self.paths == other.paths
    }
}

impl IndexedPaths {
    /// Reads the marks of a schema (JSON text). The error points to the wrong mark in the schema.
    pub fn of_schema(schema: &str) -> Result<Self, FieldError> {
        let mut marks = SchemaMarks::default();
        marks.collect(schema, &mut Vec::new())?;
        let SchemaMarks { paths, count } = marks;
        if count > INDEXED_PATHS_MAX {
            return Err(FieldError::new(
                "",
                "range",
                format!("marks {count} places with {KEYWORD}; the limit is {INDEXED_PATHS_MAX}"),
            ));
        }
        let tree = PathTree::new(&paths);
        Ok(Self { paths, tree })
    }

    pub fn is_empty(&self) -> bool {
        self.paths.is_empty()
    }

    /// Number of a place.
    pub fn number(&self, path: &PropertyPath) -> Option<u8> {
        let place = self.paths.iter().position(|known| known == path)?;
        u8::try_from(place).ok()
    }

    /// The ordered values of an object's properties, one for each place.
    pub fn values(&self, properties: &str) -> Vec<Vec<u8>> {
        let picked = self.tree.pick(properties);
        picked.into_iter().map(ordered_value).collect()
    }

    /// The entries that an action changes: all entries of a new object, the differing ones of a changed object.
    pub fn changes(&self, before: Option<&str>, after: &str) -> Vec<IndexChange> {
        if before == Some(after) {
            return Vec::new();
        }
        let mut old = before.map(|properties| self.values(properties));
        let new = self.values(after).into_iter().enumerate();
        new.filter_map(|(place, after)| {
            let before = old.as_mut().map(|old| std::mem::take(&mut old[place]));
            (before.as_ref() != Some(&after)).then_some(IndexChange {
                path: place as u8,
                before,
                after,
            })
        })
        .collect()
    }
}

/// The index form of a value; `None` is an absent value.
pub fn ordered_value(json: Option<&str>) -> Vec<u8> {
    let Some(json) = json else {
        return vec![tag::ABSENT];
    };
    match JsonScalar::parse(json) {
        Some(scalar) => {
            let mut out = Vec::with_capacity(16);
            scalar.push_ordered(&mut out);
            out
        }
        None => vec![tag::COMPOUND],
    }
}

/// Collects the marks of a schema.
#[derive(Default)]
struct SchemaMarks {
    /// The marked places, up to the limit.
    paths: Vec<PropertyPath>,
    count: usize,
}

impl SchemaMarks {
    fn collect(&mut self, schema: &str, keys: &mut Vec<String>) -> Result<(), FieldError> {
        // true and false are schemas too. The validity of the whole schema is checked elsewhere.
        let Some(JsonMembers(members)) = JsonMembers::of(schema) else {
            return Ok(());
        };
        for (name, value) in &members {
            if name == KEYWORD {
                match *value {
                    "true" if keys.is_empty() => {
                        let message = "must be on a member's schema, inside properties";
                        return Err(FieldError::new(&pointer(keys), "range", message));
                    }
                    "true" => {
                        self.count += 1;
                        if self.count <= INDEXED_PATHS_MAX {
                            self.paths.push(PropertyPath(keys.clone()));
                        }
                    }
                    "false" => {}
                    _ => {
                        let message = "must be true or false";
                        return Err(FieldError::new(&pointer(keys), "type", message));
                    }
                }
            }
        }
        if keys.len() == JSON_DEPTH_MAX {
            return Ok(());
        }
        let properties = members.iter().find(|(name, _)| name == "properties");
        let Some(JsonMembers(children)) = properties.and_then(|(_, value)| JsonMembers::of(value))
        else {
            return Ok(());
        };
        for (key, child) in children {
            keys.push(key.into_owned());
            self.collect(child, keys)?;
            keys.pop();
        }
        Ok(())
    }
}

/// Pointer to the annotation on a member's schema.
fn pointer(keys: &[String]) -> String {
    let steps = keys
        .iter()
        .map(|key| format!("/properties/{}", escape(key)));
    format!("{}/{KEYWORD}", steps.collect::<String>())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn schema() -> &'static str {
        r#"{"type":"object","properties":{
            "price":{"type":"number","x-index":true},
            "size":{"x-index":false,"properties":{
                "x-index":{"x-index":true},
                "w/h":{"x-index":true}}},
            "plain":{"type":"string"}}}"#
    }

    fn value(json: &str) -> Vec<u8> {
        ordered_value(Some(json))
    }

    #[test]
    fn marks_are_read_at_any_depth() {
        let paths = IndexedPaths::of_schema(schema()).unwrap();
        let number = |keys: &[&str]| {
            let keys = keys.iter().map(|key| (*key).to_owned()).collect();
            paths.number(&PropertyPath(keys))
        };
        assert_eq!(number(&["price"]), Some(0));
        assert_eq!(number(&["size", "x-index"]), Some(1));
        assert_eq!(number(&["size", "w/h"]), Some(2));
        assert_eq!(number(&["size"]), None);
        assert_eq!(number(&["plain"]), None);
        for nothing in ["true", "{}", r#"{"properties":{"a":true}}"#] {
            assert!(IndexedPaths::of_schema(nothing).unwrap().is_empty());
        }
    }

    #[test]
    fn marks_that_are_not_right_are_named() {
        let member = |i: usize| format!(r#""p{i}":{{"x-index":true}}"#);
        let many = |count| {
            let members: Vec<String> = (0..count).map(member).collect();
            format!(r#"{{"properties":{{{}}}}}"#, members.join(","))
        };
        assert!(IndexedPaths::of_schema(&many(INDEXED_PATHS_MAX)).is_ok());
        let many = many(INDEXED_PATHS_MAX + 1);
        for (schema, pointer, code) in [
            (many.as_str(), "", "range"),
            (r#"{"x-index":true}"#, "/x-index", "range"),
            (
                r#"{"properties":{"a/b":{"properties":{"c":{"x-index":1}}}}}"#,
                "/properties/a~1b/properties/c/x-index",
                "type",
            ),
        ] {
            let error = IndexedPaths::of_schema(schema).unwrap_err();
            assert_eq!(
                (error.pointer.as_str(), error.code.as_ref()),
                (pointer, code)
            );
        }
    }

    // Holds invariant 42.
    #[test]
    fn an_action_changes_the_entries_whose_value_is_another() {
        let paths = IndexedPaths::of_schema(schema()).unwrap();
        let before = r#"{"price":1.50,"size":{"w/h":[1]},"plain":"a"}"#;
        let made = paths.changes(None, before);
        let absent = vec![tag::ABSENT];
        let after: Vec<&Vec<u8>> = made.iter().map(|change| &change.after).collect();
        assert_eq!(after, [&value("1.5"), &absent, &vec![tag::COMPOUND]]);
        assert!(made.iter().all(|change| change.before.is_none()));

        for same in [
            before,
            r#"{"plain":"b","price":15e-1,"size":{"w/h":{"a":1}}}"#,
        ] {
            assert_eq!(paths.changes(Some(before), same), []);
        }
        let changed = paths.changes(Some(before), r#"{"price":1.50,"size":{"w/h":"x"}}"#);
        let expected = IndexChange {
            path: 2,
            before: Some(vec![tag::COMPOUND]),
            after: value("\"x\""),
        };
        assert_eq!(changed, [expected]);
        assert_eq!(paths.changes(Some(before), "{}").len(), 2);
        assert_eq!(IndexedPaths::default().changes(None, before), []);
    }
}
