//! Strict parser of JSON filters, whose errors carry a JSON pointer. A backslash escapes a dot or a backslash in a key.

use std::borrow::Cow;

use kedge_protocol::limits::{SEARCH_DEPTH_MAX, SEARCH_PARTS_MAX, SEARCH_PATH_KEYS_MAX};
use kedge_protocol::resource::ObjectStatus;
use kedge_protocol::time::parse_bound_ns;
use kedge_protocol::{Address, Id, Prefix};
use kedge_rules::json::JsonMembers;
use kedge_rules::paths::{PathTree, PropertyPath};
use kedge_rules::pointer::escape;
use kedge_rules::scalar::{ExactDecimal, JsonScalar};
use serde_json::value::RawValue;

use super::filter::{
    Comparison, FilterNode, PropertyTest, Relation, SearchCondition, SearchFilter,
};
use crate::SearchError;

pub(super) enum FilterField {
    Id,
    Template,
    Variation,
    Owner,
    OwnerAddress,
    Status,
    Version,
    Sequence,
    CreatedAt,
    UpdatedAt,
    Property(PropertyPath),
}

const FIELDS: &str = "id, template_id, variation_id, owner_id, owner_address, status, version, \
                      sequence, created_at, updated_at, or properties. and keys separated by dots";

impl FilterField {
    /// Parses a field's name; the error describes the fault.
    pub(super) fn parse(name: &str) -> Result<Self, String> {
        Ok(match name {
            "id" => Self::Id,
            "template_id" => Self::Template,
            "variation_id" => Self::Variation,
            "owner_id" => Self::Owner,
            "owner_address" => Self::OwnerAddress,
            "status" => Self::Status,
            "version" => Self::Version,
            "sequence" => Self::Sequence,
            "created_at" => Self::CreatedAt,
            "updated_at" => Self::UpdatedAt,
            name => match name.strip_prefix("properties.") {
                Some(path) => Self::Property(parse_path(path)?),
                None => return Err(format!("must be one of {FIELDS}")),
            },
        })
    }

    fn has_order(&self) -> bool {
        matches!(
            self,
            Self::Version | Self::Sequence | Self::CreatedAt | Self::UpdatedAt | Self::Property(_)
        )
    }
}

/// Parses keys separated by dots; a backslash escapes a dot or a backslash within a key.
fn parse_path(text: &str) -> Result<PropertyPath, String> {
    let mut keys = vec![String::new()];
    let mut chars = text.chars();
    while let Some(next) = chars.next() {
        let taken = match next {
            '.' => {
                keys.push(String::new());
                continue;
            }
            '\\' => match chars.next() {
                Some(escaped @ ('.' | '\\')) => escaped,
                _ => return Err("has a backslash that no dot or backslash follows".into()),
            },
            other => other,
        };
        if let Some(key) = keys.last_mut() {
            key.push(taken);
        }
    }
    if keys.iter().any(String::is_empty) {
        return Err(
            "has an empty key; a dot in a key is written with a backslash before it".into(),
        );
    }
    if keys.len() > SEARCH_PATH_KEYS_MAX {
        return Err(format!("has more than {SEARCH_PATH_KEYS_MAX} keys"));
    }
    Ok(PropertyPath(keys))
}

pub(super) fn refuse<T>(
    pointer: &str,
    code: &'static str,
    message: impl Into<String>,
) -> Result<T, SearchError> {
    Err(SearchError::field(pointer, code, message))
}

/// An array's elements, as slices of its text.
pub(super) fn elements<'a>(json: &'a str, pointer: &str) -> Result<Vec<&'a RawValue>, SearchError> {
    if json.starts_with('[')
        && let Ok(elements) = serde_json::from_str(json)
    {
        return Ok(elements);
    }
    refuse(pointer, "type", "must be an array")
}

/// Parses a JSON string.
pub(super) fn text<'a>(json: &'a str, pointer: &str) -> Result<Cow<'a, str>, SearchError> {
    match JsonScalar::parse(json) {
        Some(JsonScalar::Text(text)) => Ok(text),
        _ => refuse(pointer, "type", "must be a text"),
    }
}

/// Parses an owned scalar.
fn scalar(json: &str, pointer: &str) -> Result<JsonScalar<'static>, SearchError> {
    match JsonScalar::parse(json) {
        Some(JsonScalar::Null) => Ok(JsonScalar::Null),
        Some(JsonScalar::Bool(value)) => Ok(JsonScalar::Bool(value)),
        Some(JsonScalar::Number(number)) => Ok(JsonScalar::Number(number)),
        Some(JsonScalar::Text(text)) => Ok(JsonScalar::Text(Cow::Owned(text.into_owned()))),
        None => refuse(
            pointer,
            "type",
            "must be a text, a number, true, false or null",
        ),
    }
}

/// Parses `filter`, a value of a body that is valid JSON.
pub fn filter(json: &str) -> Result<SearchFilter, SearchError> {
    let mut reader = FilterReader::default();
    let root = reader.node(json, "/filter", 1)?;
    Ok(SearchFilter {
        tree: PathTree::new(&reader.paths),
        root,
        paths: reader.paths,
    })
}

#[derive(Default)]
struct FilterReader {
    parts: usize,
    paths: Vec<PropertyPath>,
}

impl FilterReader {
    fn count(&mut self, parts: usize) -> Result<(), SearchError> {
        self.parts += parts;
        if self.parts > SEARCH_PARTS_MAX {
            let message = format!("has more than {SEARCH_PARTS_MAX} conditions and values");
            return refuse("/filter", "range", message);
        }
        Ok(())
    }

    fn node(&mut self, json: &str, pointer: &str, depth: usize) -> Result<FilterNode, SearchError> {
        self.count(1)?;
        if depth > SEARCH_DEPTH_MAX {
            let message = format!("is nested more than {SEARCH_DEPTH_MAX} levels deep");
            return refuse(pointer, "range", message);
        }
        let Some(JsonMembers(members)) = JsonMembers::of(json) else {
            return refuse(pointer, "type", "must be a JSON object");
        };
        if let [(name, value)] = members.as_slice() {
            let inner = format!("{pointer}/{name}");
            match name.as_ref() {
                "and" => return Ok(FilterNode::And(self.nodes(value, &inner, depth)?)),
                "or" => return Ok(FilterNode::Or(self.nodes(value, &inner, depth)?)),
                "not" => {
                    let node = self.node(value, &inner, depth + 1)?;
                    return Ok(FilterNode::Not(Box::new(node)));
                }
                _ => {}
            }
        }
        self.condition(&members, pointer)
    }

    fn nodes(
        &mut self,
        json: &str,
        pointer: &str,
        depth: usize,
    ) -> Result<Vec<FilterNode>, SearchError> {
        elements(json, pointer)?
            .into_iter()
            .enumerate()
            .map(|(i, element)| self.node(element.get(), &format!("{pointer}/{i}"), depth + 1))
            .collect()
    }

    fn condition(
        &mut self,
        members: &[(Cow<'_, str>, &str)],
        pointer: &str,
    ) -> Result<FilterNode, SearchError> {
        let known = ["field", "op", "value"];
        for (name, _) in members {
            if !known.contains(&name.as_ref()) {
                let place = format!("{pointer}/{}", escape(name));
                let message =
                    "is not known here; a filter is {and}, {or}, {not} or {field, op, value}";
                return refuse(&place, "unknown", message);
            }
        }
        let get = |name: &str| {
            let place = format!("{pointer}/{name}");
            match members.iter().find(|(known, _)| known == name) {
                Some((_, value)) => Ok((*value, place)),
                None => refuse(&place, "required", "is required"),
            }
        };
        let (name, field_at) = get("field")?;
        let (op, op_at) = get("op")?;
        let (value, value_at) = get("value")?;
        let field = FilterField::parse(&text(name, &field_at)?)
            .or_else(|message| refuse(&field_at, "range", message))?;
        let op = text(op, &op_at)?;
        let test = FilterOperator::parse(&op, &field)
            .or_else(|message| refuse(&op_at, "range", message))?;
        match test {
            FilterOperator::Not => {
                let equal = self.compare(&field, FilterOperator::Equal, value, &value_at)?;
                Ok(FilterNode::Not(Box::new(FilterNode::Is(equal))))
            }
            FilterOperator::Exists => {
                let wanted = match value {
                    "true" => true,
                    "false" => false,
                    _ => return refuse(&value_at, "type", "must be true or false"),
                };
                Ok(self.exists(field, wanted))
            }
            FilterOperator::Prefix => {
                let start = text(value, &value_at)?.into_owned();
                Ok(self.property(field, PropertyTest::Prefix(start)))
            }
            FilterOperator::Contains => {
                let part = scalar(value, &value_at)?;
                Ok(self.property(field, PropertyTest::Contains(part)))
            }
            other => Ok(FilterNode::Is(
                self.compare(&field, other, value, &value_at)?,
            )),
        }
    }

    /// The number of a path; equal paths share one.
    fn place(&mut self, path: PropertyPath) -> usize {
        let known = self.paths.iter().position(|known| *known == path);
        known.unwrap_or_else(|| {
            self.paths.push(path);
            self.paths.len() - 1
        })
    }

    /// Property operators match nothing on other fields.
    fn property(&mut self, field: FilterField, test: PropertyTest) -> FilterNode {
        match field {
            FilterField::Property(path) => {
                FilterNode::Is(SearchCondition::Property(self.place(path), test))
            }
            _ => FilterNode::Or(Vec::new()),
        }
    }

    fn exists(&mut self, field: FilterField, wanted: bool) -> FilterNode {
        let found = match field {
            FilterField::Property(_) => return self.property(field, PropertyTest::Exists(wanted)),
            FilterField::Variation => FilterNode::Is(SearchCondition::HasVariation),
            // Every object has all other fields.
            _ => FilterNode::And(Vec::new()),
        };
        if wanted {
            found
        } else {
            FilterNode::Not(Box::new(found))
        }
    }

    fn compare(
        &mut self,
        field: &FilterField,
        op: FilterOperator,
        value: &str,
        pointer: &str,
    ) -> Result<SearchCondition, SearchError> {
        let values = match op {
            FilterOperator::In => {
                let values = elements(value, pointer)?;
                self.count(values.len())?;
                let places = (0..).map(|i: usize| format!("{pointer}/{i}"));
                values.into_iter().map(RawValue::get).zip(places).collect()
            }
            _ => vec![(value, pointer.to_owned())],
        };
        let values = ConditionValues { op, values };
        Ok(match field {
            FilterField::Id => SearchCondition::Id(values.ids(Prefix::Object)?),
            FilterField::Template => SearchCondition::Template(values.ids(Prefix::Template)?),
            FilterField::Variation => SearchCondition::Variation(values.ids(Prefix::Variation)?),
            FilterField::Owner => SearchCondition::Owner(values.ids(Prefix::Wallet)?),
            FilterField::OwnerAddress => SearchCondition::OwnerAddress(values.each(address)?),
            FilterField::Status => SearchCondition::Status(values.each(status)?),
            FilterField::Version => SearchCondition::Version(values.comparison(number)?),
            FilterField::Sequence => SearchCondition::Sequence(values.comparison(number)?),
            FilterField::CreatedAt => SearchCondition::CreatedAt(values.comparison(time)?),
            FilterField::UpdatedAt => SearchCondition::UpdatedAt(values.comparison(time)?),
            FilterField::Property(path) => {
                let read = if matches!(values.op, FilterOperator::Order(_)) {
                    ordered
                } else {
                    scalar
                };
                let test = PropertyTest::Compare(values.comparison(read)?);
                SearchCondition::Property(self.place(path.clone()), test)
            }
        })
    }
}

/// Operator of a condition.
#[derive(Clone, Copy)]
enum FilterOperator {
    Equal,
    Not,
    In,
    Order(Relation),
    Exists,
    Prefix,
    Contains,
}

impl FilterOperator {
    fn parse(name: &str, field: &FilterField) -> Result<Self, String> {
        let op = match name {
            "eq" => Self::Equal,
            "ne" => Self::Not,
            "in" => Self::In,
            "exists" => Self::Exists,
            "gt" => Self::Order(Relation::Greater),
            "gte" => Self::Order(Relation::GreaterOrEqual),
            "lt" => Self::Order(Relation::Less),
            "lte" => Self::Order(Relation::LessOrEqual),
            "prefix" => Self::Prefix,
            "contains" => Self::Contains,
            _ => {
                let known = "eq, ne, gt, gte, lt, lte, in, exists, prefix, contains";
                return Err(format!("must be one of {known}"));
            }
        };
        let fits = match op {
            Self::Equal | Self::Not | Self::In | Self::Exists => true,
            Self::Order(_) => field.has_order(),
            Self::Prefix | Self::Contains => matches!(field, FilterField::Property(_)),
        };
        if fits {
            Ok(op)
        } else if field.has_order() {
            Err("must be one of eq, ne, gt, gte, lt, lte, in, exists for this field".to_owned())
        } else {
            Err("must be one of eq, ne, in, exists for this field".to_owned())
        }
    }
}

struct ConditionValues<'a> {
    op: FilterOperator,
    values: Vec<(&'a str, String)>,
}

impl ConditionValues<'_> {
    fn each<T>(
        &self,
        read: impl Fn(&str, &str) -> Result<T, SearchError>,
    ) -> Result<Vec<T>, SearchError> {
        let values = self.values.iter();
        values.map(|(json, pointer)| read(json, pointer)).collect()
    }

    fn ids(&self, prefix: Prefix) -> Result<Vec<Id>, SearchError> {
        self.each(|json, pointer| {
            let id = Id::parse_as(prefix, &text(json, pointer)?);
            id.or_else(|error| refuse(pointer, "format", format!("is not an identifier: {error}")))
        })
    }

    fn comparison<T>(
        &self,
        read: impl Fn(&str, &str) -> Result<T, SearchError>,
    ) -> Result<Comparison<T>, SearchError> {
        let mut values = self.each(read)?;
        Ok(match (self.op, values.pop()) {
            (FilterOperator::Order(relation), Some(value)) => Comparison::Is(relation, value),
            (_, last) => {
                values.extend(last);
                Comparison::AnyOf(values)
            }
        })
    }
}

fn address(json: &str, pointer: &str) -> Result<Address, SearchError> {
    let address = text(json, pointer)?.parse::<Address>();
    address.or_else(|error| refuse(pointer, "format", format!("is not an address: {error}")))
}

fn status(json: &str, pointer: &str) -> Result<ObjectStatus, SearchError> {
    parse_status(&text(json, pointer)?).map_or_else(|message| refuse(pointer, "range", message), Ok)
}

pub fn parse_status(text: &str) -> Result<ObjectStatus, &'static str> {
    match text {
        "active" => Ok(ObjectStatus::Active),
        "locked" => Ok(ObjectStatus::Locked),
        "burned" => Ok(ObjectStatus::Burned),
        _ => Err("must be active, locked or burned"),
    }
}

fn number(json: &str, pointer: &str) -> Result<ExactDecimal, SearchError> {
    match JsonScalar::parse(json) {
        Some(JsonScalar::Number(number)) => Ok(number),
        _ => refuse(pointer, "type", "must be a number"),
    }
}

fn time(json: &str, pointer: &str) -> Result<u128, SearchError> {
    let read = parse_bound_ns(&text(json, pointer)?);
    let message = "must be an RFC 3339 time in UTC, such as 2026-01-31T12:00:00Z";
    read.map_or_else(|| refuse(pointer, "format", message), Ok)
}

/// Parses a value of an ordered type.
fn ordered(json: &str, pointer: &str) -> Result<JsonScalar<'static>, SearchError> {
    match scalar(json, pointer)? {
        value @ (JsonScalar::Number(_) | JsonScalar::Text(_)) => Ok(value),
        _ => refuse(
            pointer,
            "type",
            "must be a text or a number; true, false and null have no order",
        ),
    }
}
