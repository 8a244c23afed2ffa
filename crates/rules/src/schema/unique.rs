//! Replacement for the library's `uniqueItems`. The library hashes lists as the sequence of their contents, and
//! integers as floats: lists such as `[[],[]]` and `[[[]]]` collide, and it then compares each item with all before it.

use jsonschema::paths::Location;
use jsonschema::{Keyword, ValidationError};
use serde_json::{Map, Number, Value};

pub(super) const KEYWORD: &str = "uniqueItems";

/// Integers of JSON texts and floats below this are compared exactly, as integers.
const INTEGER_END: f64 = 18_446_744_073_709_551_616.0;

/// First byte of each encoded value: its type.
mod tag {
    pub(super) const NULL: u8 = 0;
    pub(super) const FALSE: u8 = 1;
    pub(super) const TRUE: u8 = 2;
    pub(super) const INTEGER: u8 = 3;
    pub(super) const FLOAT: u8 = 4;
    pub(super) const TEXT: u8 = 5;
    pub(super) const LIST: u8 = 6;
    pub(super) const OBJECT: u8 = 7;
}

struct UniqueItems {
    is_wanted: bool,
}

/// Builds the check for one schema.
#[expect(
    clippy::unnecessary_wraps,
    reason = "the library's keywords can fail to compile"
)]
pub(super) fn compile<'a>(
    _: &'a Map<String, Value>,
    value: &'a Value,
    _: Location,
) -> Result<Box<dyn for<'i> Keyword<'i>>, ValidationError<'a>> {
    let is_wanted = value == &Value::Bool(true);
    Ok(Box::new(UniqueItems { is_wanted }))
}

impl<'i> Keyword<'i> for UniqueItems {
    fn validate(&self, instance: &'i Value) -> Result<(), ValidationError<'i>> {
        if self.is_valid(instance) {
            return Ok(());
        }
        Err(ValidationError::custom("value has non-unique elements"))
    }

    fn is_valid(&self, instance: &'i Value) -> bool {
        let items = instance.as_array().filter(|_| self.is_wanted);
        items.is_none_or(|items| are_unique(items))
    }
}

/// Whether all items differ, as JSON Schema compares: numbers by value, objects without regard to order.
fn are_unique(items: &[Value]) -> bool {
    let mut bytes = Vec::new();
    let mut ends = Vec::with_capacity(items.len());
    for item in items {
        let start = bytes.len();
        write(item, &mut bytes);
        ends.push(start..bytes.len());
    }
    let mut forms: Vec<&[u8]> = ends.into_iter().map(|range| &bytes[range]).collect();
    forms.sort_unstable();
    forms.windows(2).all(|pair| pair[0] != pair[1])
}

/// Writes a canonical form: the same for equal values only.
fn write(value: &Value, out: &mut Vec<u8>) {
    match value {
        Value::Null => out.push(tag::NULL),
        Value::Bool(false) => out.push(tag::FALSE),
        Value::Bool(true) => out.push(tag::TRUE),
        Value::Number(number) => write_number(number, out),
        Value::String(text) => {
            out.push(tag::TEXT);
            write_text(text, out);
        }
        Value::Array(items) => {
            out.push(tag::LIST);
            write_count(items.len(), out);
            for item in items {
                write(item, out);
            }
        }
        Value::Object(members) => {
            out.push(tag::OBJECT);
            write_count(members.len(), out);
            let mut members: Vec<(&String, &Value)> = members.iter().collect();
            members.sort_unstable_by_key(|(name, _)| *name);
            for (name, value) in members {
                write_text(name, out);
                write(value, out);
            }
        }
    }
}

fn write_count(count: usize, out: &mut Vec<u8>) {
    out.extend_from_slice(&(count as u64).to_be_bytes());
}

fn write_text(text: &str, out: &mut Vec<u8>) {
    write_count(text.len(), out);
    out.extend_from_slice(text.as_bytes());
}

fn write_number(number: &Number, out: &mut Vec<u8>) {
    let integer = number.as_i128();
    let float = number.as_f64().unwrap_or_default();
    let is_integer = float.fract() == 0.0 && float.abs() < INTEGER_END;
    if let Some(integer) = integer.or_else(|| is_integer.then_some(float as i128)) {
        out.push(tag::INTEGER);
        out.extend_from_slice(&integer.to_be_bytes());
    } else {
        out.push(tag::FLOAT);
        out.extend_from_slice(&float.to_bits().to_be_bytes());
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    /// The library's decision for few items, which it compares pairwise.
    fn are_unique_in_the_library(items: &[Value]) -> bool {
        let validator = jsonschema::validator_for(&json!({"uniqueItems": true})).unwrap();
        validator.is_valid(&Value::from(items))
    }

    fn near() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            (-2..3_i64).prop_map(Value::from),
            prop_oneof![Just(0.0), Just(-0.0), Just(1.0), Just(0.5), Just(1e20)]
                .prop_map(Value::from),
            (u64::MAX - 2..=u64::MAX).prop_map(Value::from),
            Just(json!(1e19)),
            Just(json!(10_000_000_000_000_000_000_u64)),
            (9_007_199_254_740_991..9_007_199_254_740_995_i64).prop_map(Value::from),
            Just(json!(9_007_199_254_740_992.0)),
            "[ab]{0,2}".prop_map(Value::from),
        ];
        leaf.prop_recursive(3, 12, 3, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..3).prop_map(Value::from),
                prop::collection::btree_map("[ab]{0,1}", inner, 0..3).prop_map(|map| json!(map)),
            ]
        })
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(4_096))]

        #[test]
        fn items_are_equal_where_the_library_finds_them_equal(
            items in prop::collection::vec(near(), 0..8)
        ) {
            prop_assert_eq!(are_unique(&items), are_unique_in_the_library(&items), "{:?}", items);
        }
    }

    // Holds invariant 220.
    /// Nested empty lists: 2,000 of them took the library's own check longer than a million numbers.
    #[test]
    fn items_that_look_alike_take_no_longer() {
        fn nest(mut shape: u64) -> Value {
            let mut open = vec![Vec::new()];
            while shape > 1 {
                if shape & 1 == 0 && open.len() > 1 {
                    let closed = open.pop().unwrap();
                    open.last_mut().unwrap().push(Value::Array(closed));
                } else {
                    open.push(Vec::new());
                }
                shape >>= 1;
            }
            while open.len() > 1 {
                let closed = open.pop().unwrap();
                open.last_mut().unwrap().push(Value::Array(closed));
            }
            Value::Array(open.pop().unwrap())
        }
        let mut items: Vec<Value> = (1..200_000).map(nest).collect();
        items.sort_by_cached_key(Value::to_string);
        items.dedup();
        assert!(items.len() > 10_000, "{}", items.len());
        let begun = std::time::Instant::now();
        assert!(are_unique(&items));
        items.push(items[0].clone());
        assert!(!are_unique(&items));
        assert!(begun.elapsed().as_secs() < 5, "{:?}", begun.elapsed());
    }
}
