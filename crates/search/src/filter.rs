//! Evaluation of filters: trees of `and`, `or` and `not` over conditions. A condition on values of different JSON types
//! is false. `ne` is `not` over `eq`. Parsing has checked that every value fits its field.

use std::cell::{Cell, OnceCell};
use std::cmp::Ordering;

use kedge_protocol::resource::{Object, ObjectStatus};
use kedge_protocol::{Address, Id};
use kedge_rules::paths::{PathTree, PropertyPath};
use kedge_rules::scalar::{ExactDecimal, JsonScalar};
use serde_json::value::RawValue;

/// A parsed filter.
#[derive(Debug)]
pub struct SearchFilter {
    pub(super) root: FilterNode,
    /// Property paths of the conditions, by number.
    pub(super) paths: Vec<PropertyPath>,
    pub(super) tree: PathTree,
}

#[derive(Debug)]
pub(super) enum FilterNode {
    And(Vec<FilterNode>),
    Or(Vec<FilterNode>),
    Not(Box<FilterNode>),
    Is(SearchCondition),
}

/// A predicate on one field of an object.
#[derive(Debug)]
pub(super) enum SearchCondition {
    Id(Vec<Id>),
    Template(Vec<Id>),
    Variation(Vec<Id>),
    HasVariation,
    Owner(Vec<Id>),
    OwnerAddress(Vec<Address>),
    Status(Vec<ObjectStatus>),
    Version(Comparison<ExactDecimal>),
    Sequence(Comparison<ExactDecimal>),
    /// In nanoseconds since the epoch.
    CreatedAt(Comparison<u128>),
    UpdatedAt(Comparison<u128>),
    /// A test of the property at the path with this number.
    Property(usize, PropertyTest),
}

#[derive(Debug)]
pub(super) enum Comparison<T> {
    AnyOf(Vec<T>),
    Is(Relation, T),
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Relation {
    Greater,
    GreaterOrEqual,
    Less,
    LessOrEqual,
}

#[derive(Debug)]
pub(super) enum PropertyTest {
    Compare(Comparison<JsonScalar<'static>>),
    Exists(bool),
    Prefix(String),
    Contains(JsonScalar<'static>),
}

impl Relation {
    /// The complementary relation.
    pub(super) fn contrary(self) -> Self {
        match self {
            Self::Greater => Self::LessOrEqual,
            Self::GreaterOrEqual => Self::Less,
            Self::Less => Self::GreaterOrEqual,
            Self::LessOrEqual => Self::Greater,
        }
    }

    pub(super) fn holds(self, order: Ordering) -> bool {
        match self {
            Self::Greater => order.is_gt(),
            Self::GreaterOrEqual => order.is_ge(),
            Self::Less => order.is_lt(),
            Self::LessOrEqual => order.is_le(),
        }
    }
}

impl<T> Comparison<T> {
    /// Whether it holds for an existing value, which `cmp` compares to a given one; `None` means incomparable.
    fn holds_by(&self, mut cmp: impl FnMut(&T) -> Option<Ordering>) -> bool {
        match self {
            Self::AnyOf(values) => values
                .iter()
                .any(|value| cmp(value) == Some(Ordering::Equal)),
            Self::Is(relation, to) => cmp(to).is_some_and(|order| relation.holds(order)),
        }
    }
}

impl<T: Ord> Comparison<T> {
    fn holds(&self, value: &T) -> bool {
        self.holds_by(|other| Some(value.cmp(other)))
    }
}

/// An object's properties, parsed for the first condition that needs them.
struct LazyProperties<'a> {
    tree: &'a PathTree,
    text: &'a str,
    picked: OnceCell<Vec<Option<&'a str>>>,
    tested: &'a TestedBytes,
}

/// Bytes of values tested in a search. Each condition counts, because many may test one value.
#[derive(Default, Debug)]
pub struct TestedBytes(Cell<usize>);

impl TestedBytes {
    fn add(&self, bytes: usize) {
        self.0.set(self.0.get().saturating_add(bytes));
    }

    pub fn bytes(&self) -> usize {
        self.0.get()
    }
}

impl<'a> LazyProperties<'a> {
    fn get(&self, place: usize) -> Option<&'a str> {
        self.picked.get_or_init(|| self.tree.pick(self.text))[place]
    }
}

impl SearchFilter {
    /// Whether an object matches the filter.
    pub fn matches(&self, object: &Object, tested: &TestedBytes) -> bool {
        self.root.holds(object, &self.properties(object, tested))
    }

    /// Whether the filter matches by naming the object: by a condition on its id, template or owner, and not by a
    /// negation. Public objects of other organizations are found only in this way.
    pub fn names(&self, object: &Object, tested: &TestedBytes) -> bool {
        let properties = self.properties(object, tested);
        self.root.names(object, &properties, false)
    }

    fn properties<'a>(&'a self, object: &'a Object, tested: &'a TestedBytes) -> LazyProperties<'a> {
        LazyProperties {
            tree: &self.tree,
            text: &object.properties,
            picked: OnceCell::new(),
            tested,
        }
    }
}

impl FilterNode {
    fn holds(&self, object: &Object, properties: &LazyProperties<'_>) -> bool {
        match self {
            Self::And(nodes) => nodes.iter().all(|node| node.holds(object, properties)),
            Self::Or(nodes) => nodes.iter().any(|node| node.holds(object, properties)),
            Self::Not(node) => !node.holds(object, properties),
            Self::Is(condition) => condition.holds(object, properties),
        }
    }

    /// Whether the node (or its negation, if `negated`) matches by naming the object.
    fn names(&self, object: &Object, properties: &LazyProperties<'_>, negated: bool) -> bool {
        let holds = |node: &Self| node.holds(object, properties) != negated;
        let names = |node: &Self| node.names(object, properties, negated);
        match (self, negated) {
            (Self::Not(inner), _) => inner.names(object, properties, !negated),
            (Self::Is(condition), false) => condition.is_name() && holds(self),
            (Self::Is(_), true) => false,
            (Self::And(nodes), false) | (Self::Or(nodes), true) => {
                nodes.iter().all(holds) && nodes.iter().any(names)
            }
            (Self::Or(nodes), false) | (Self::And(nodes), true) => nodes.iter().any(names),
        }
    }
}

/// Converts a stored time to the conditions' unit.
pub(super) fn nanoseconds(ms: u64) -> u128 {
    u128::from(ms) * 1_000_000
}

impl SearchCondition {
    fn is_name(&self) -> bool {
        matches!(
            self,
            Self::Id(_) | Self::Template(_) | Self::Owner(_) | Self::OwnerAddress(_)
        )
    }

    fn holds(&self, object: &Object, properties: &LazyProperties<'_>) -> bool {
        let trace = &object.trace;
        match self {
            Self::Id(ids) => ids.contains(&object.id),
            Self::Template(ids) => ids.contains(&object.template_id),
            Self::Variation(ids) => object.variation_id.is_some_and(|id| ids.contains(&id)),
            Self::HasVariation => object.variation_id.is_some(),
            Self::Owner(ids) => ids.contains(&object.owner_id),
            Self::OwnerAddress(addresses) => addresses.contains(&object.owner_address),
            Self::Status(any_of) => any_of.contains(&object.status),
            Self::Version(test) => test.holds(&ExactDecimal::from(trace.version)),
            Self::Sequence(test) => test.holds(&ExactDecimal::from(trace.sequence)),
            Self::CreatedAt(test) => test.holds(&nanoseconds(trace.created_at_ms)),
            Self::UpdatedAt(test) => test.holds(&nanoseconds(trace.updated_at_ms)),
            Self::Property(place, test) => test.holds(properties.get(*place), properties.tested),
        }
    }
}

impl PropertyTest {
    /// Tests the existing value's JSON text.
    fn holds(&self, json: Option<&str>, tested: &TestedBytes) -> bool {
        let Some(json) = json else {
            return matches!(self, Self::Exists(false));
        };
        if !matches!(self, Self::Exists(_)) {
            tested.add(json.len());
        }
        match self {
            Self::Exists(wanted) => *wanted,
            Self::Compare(test) => {
                let value = JsonScalar::parse(json);
                let compare = |value: &JsonScalar<'_>, other: &JsonScalar<'_>| {
                    tested.add(other.size().min(json.len()));
                    value.cmp_same_type(other)
                };
                value.is_some_and(|value| test.holds_by(|other| compare(&value, other)))
            }
            Self::Prefix(start) => match JsonScalar::parse(json) {
                Some(JsonScalar::Text(text)) => text.starts_with(start.as_str()),
                _ => false,
            },
            Self::Contains(part) => contains(json, part),
        }
    }
}

/// True for a substring of a text, or an element of an array.
fn contains(json: &str, part: &JsonScalar<'_>) -> bool {
    if json.starts_with('[') {
        let elements: Result<Vec<&RawValue>, _> = serde_json::from_str(json);
        return elements.is_ok_and(|elements| {
            elements
                .iter()
                .any(|element| JsonScalar::parse(element.get()).as_ref() == Some(part))
        });
    }
    match (JsonScalar::parse(json), part) {
        (Some(JsonScalar::Text(text)), JsonScalar::Text(part)) => text.contains(part.as_ref()),
        _ => false,
    }
}
