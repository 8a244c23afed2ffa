//! Sets of indexed values for which a condition can be true.

use std::ops::Range;

use kedge_rules::scalar::{JsonScalar, push_text_start, tag};

use super::filter::{Comparison, PropertyTest, Relation};

/// Ordered values, as sorted disjoint ranges.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct ValueRanges {
    pub(super) ranges: Vec<Range<Vec<u8>>>,
    /// Each range is a single value, with entries in order of creation.
    pub(super) points: bool,
    /// Every value satisfies the condition.
    pub(super) exact: bool,
}

/// The first key after all keys with this prefix.
fn past(mut bytes: Vec<u8>) -> Vec<u8> {
    while bytes.last() == Some(&u8::MAX) {
        bytes.pop();
    }
    // Values begin with a tag, which is never 255.
    if let Some(last) = bytes.last_mut() {
        *last += 1;
    }
    bytes
}

impl ValueRanges {
    /// The whole index.
    pub(super) fn all() -> Self {
        Self {
            ranges: vec![Vec::new()..vec![u8::MAX]],
            points: false,
            exact: true,
        }
    }

    fn one(range: Range<Vec<u8>>, exact: bool) -> Self {
        Self {
            ranges: vec![range],
            points: false,
            exact,
        }
    }

    /// Values for which a condition can be true; `None` if the index cannot tell.
    pub(super) fn of(test: &PropertyTest) -> Option<Self> {
        Some(match test {
            PropertyTest::Compare(Comparison::AnyOf(values)) => Self::points(values),
            PropertyTest::Compare(Comparison::Is(relation, to)) => Self::side(*relation, to),
            PropertyTest::Exists(true) => Self::one(Vec::new()..vec![tag::ABSENT], true),
            PropertyTest::Exists(false) => Self {
                points: true,
                ..Self::one(vec![tag::ABSENT]..vec![tag::ABSENT + 1], true)
            },
            PropertyTest::Prefix(text) => {
                let mut start = Vec::new();
                let exact = push_text_start(&mut start, text);
                Self::one(start.clone()..past(start), exact)
            }
            PropertyTest::Contains(_) => return None,
        })
    }

    fn points(values: &[JsonScalar<'_>]) -> Self {
        let mut exact = true;
        let mut places: Vec<Vec<u8>> = values
            .iter()
            .map(|value| {
                let mut place = Vec::new();
                exact &= value.push_ordered(&mut place);
                place
            })
            .collect();
        places.sort_unstable();
        places.dedup();
        let ranges = places.into_iter().map(|place| place.clone()..past(place));
        Self {
            ranges: ranges.collect(),
            points: true,
            exact,
        }
    }

    fn side(relation: Relation, to: &JsonScalar<'_>) -> Self {
        let mut place = Vec::new();
        let exact = to.push_ordered(&mut place);
        let tag = place[0];
        let range = match relation {
            // Values with the same truncated bytes may be on either side.
            Relation::Greater if exact => past(place)..vec![tag + 1],
            Relation::Greater | Relation::GreaterOrEqual => place..vec![tag + 1],
            Relation::Less if exact => vec![tag]..place,
            Relation::Less | Relation::LessOrEqual => vec![tag]..past(place),
        };
        Self::one(range, exact)
    }

    /// Values for which the negation is true; `None` if the ranges are inexact.
    pub(super) fn contrary(&self) -> Option<Self> {
        if !self.exact {
            return None;
        }
        let mut gaps = Vec::with_capacity(self.ranges.len() + 1);
        let mut from = Vec::new();
        for range in &self.ranges {
            if from < range.start {
                gaps.push(from.clone()..range.start.clone());
            }
            from.clone_from(&range.end);
        }
        let end = vec![u8::MAX];
        if from < end {
            gaps.push(from..end);
        }
        Some(Self {
            ranges: gaps,
            points: false,
            exact: true,
        })
    }

    /// Union of the ranges.
    pub(super) fn any_of(all: &[&Self]) -> Self {
        let each = all.iter().flat_map(|ranges| ranges.ranges.iter().cloned());
        let mut sorted: Vec<Range<Vec<u8>>> = each.collect();
        sorted.sort_unstable_by(|one, two| one.start.cmp(&two.start));
        let mut ranges: Vec<Range<Vec<u8>>> = Vec::with_capacity(sorted.len());
        for range in sorted {
            match ranges.last_mut() {
                Some(last) if range.start <= last.end => {
                    if range.end > last.end {
                        last.end = range.end;
                    }
                }
                _ => ranges.push(range),
            }
        }
        Self {
            ranges,
            points: false,
            exact: all.iter().all(|ranges| ranges.exact),
        }
    }

    /// Intersection of the ranges.
    pub(super) fn and(&self, other: &Self) -> Self {
        let mut ranges = Vec::new();
        for one in &self.ranges {
            for two in &other.ranges {
                let start = one.start.clone().max(two.start.clone());
                let end = one.end.clone().min(two.end.clone());
                if start < end {
                    ranges.push(start..end);
                }
            }
        }
        ranges.sort_unstable_by(|one, two| one.start.cmp(&two.start));
        Self {
            ranges,
            points: self.points || other.points,
            exact: self.exact && other.exact,
        }
    }
}

#[cfg(test)]
mod tests {
    use kedge_protocol::limits::INDEXED_TEXT_BYTES_MAX;
    use kedge_rules::index::ordered_value;

    use super::super::filter::{FilterNode, SearchCondition};
    use super::*;
    use crate::parse;

    fn ranges(op: &str, value: &str) -> ValueRanges {
        let json = format!(r#"{{"field":"properties.p","op":"{op}","value":{value}}}"#);
        let filter = parse::filter(&json).unwrap();
        let FilterNode::Is(SearchCondition::Property(_, test)) = &filter.root else {
            panic!("{filter:?}")
        };
        ValueRanges::of(test).unwrap()
    }

    fn holds(ranges: &ValueRanges, json: Option<&str>) -> bool {
        let value = ordered_value(json);
        ranges.ranges.iter().any(|range| range.contains(&value))
    }

    #[test]
    fn conditions_are_ranges() {
        let long = format!("\"{}\"", "x".repeat(INDEXED_TEXT_BYTES_MAX + 1));
        let values = [
            "null",
            "false",
            "true",
            "-2",
            "0",
            "1.5",
            "2",
            "10",
            "\"\"",
            "\"a\"",
            r#""a\u0000""#,
            "\"ab\"",
            "\"b\"",
            &long,
            "[1]",
            "{}",
        ];
        let cases: [(&str, &str, &[&str], bool, bool); 13] = [
            ("eq", "2.0", &["2"], true, true),
            ("eq", "null", &["null"], true, true),
            ("eq", &long, &[&long], true, false),
            (
                "in",
                r#"[10, 2, 20e-1, "a"]"#,
                &["2", "10", "\"a\""],
                true,
                true,
            ),
            ("in", "[]", &[], true, true),
            ("gt", "0", &["1.5", "2", "10"], false, true),
            ("gte", "2", &["2", "10"], false, true),
            ("lt", "2", &["-2", "0", "1.5"], false, true),
            ("lte", "0", &["-2", "0"], false, true),
            (
                "lt",
                "\"ab\"",
                &["\"\"", "\"a\"", r#""a\u0000""#],
                false,
                true,
            ),
            ("gt", &long, &[&long], false, false),
            (
                "prefix",
                "\"a\"",
                &["\"a\"", r#""a\u0000""#, "\"ab\""],
                false,
                true,
            ),
            ("exists", "true", &values, false, true),
        ];
        for (op, value, expected, points, exact) in cases {
            let found = ranges(op, value);
            let held: Vec<&str> = values
                .into_iter()
                .filter(|json| holds(&found, Some(json)))
                .collect();
            assert_eq!(held, expected, "{op} {value}");
            assert_eq!((found.points, found.exact), (points, exact), "{op} {value}");
            assert!(!holds(&found, None), "{op} {value}");
        }
        assert!(holds(&ranges("exists", "false"), None));
        assert!(
            values
                .iter()
                .all(|json| holds(&ValueRanges::all(), Some(json)))
        );
    }

    #[test]
    fn the_contrary_is_everything_else() {
        let values = [
            None,
            Some("null"),
            Some("1"),
            Some("2"),
            Some("\"a\""),
            Some("[1]"),
        ];
        for (op, value) in [
            ("eq", "1"),
            ("in", "[1,2,null]"),
            ("in", "[]"),
            ("gt", "1"),
            ("lte", "1"),
            ("prefix", "\"a\""),
            ("exists", "true"),
            ("exists", "false"),
        ] {
            let ranges = ranges(op, value);
            let contrary = ranges.contrary().unwrap();
            for json in values {
                assert_ne!(
                    holds(&ranges, json),
                    holds(&contrary, json),
                    "{op} {value} {json:?}"
                );
            }
            let all = ValueRanges::any_of(&[&ranges, &contrary]);
            assert_eq!(all.ranges, ValueRanges::all().ranges, "{op} {value}");
        }
        let long = format!("\"{}\"", "x".repeat(INDEXED_TEXT_BYTES_MAX + 1));
        assert_eq!(ranges("eq", &long).contrary(), None);
    }

    #[test]
    fn both_is_where_they_meet() {
        let between = ranges("gte", "0").and(&ranges("lt", "2"));
        assert!(holds(&between, Some("0")) && holds(&between, Some("1.99")));
        assert!(!holds(&between, Some("2")) && !holds(&between, Some("-1")));
        assert!(!between.points && between.exact);
        let points = ranges("in", "[3, 1, 0]").and(&between);
        assert_eq!(points, ranges("in", "[0, 1]"));
        assert_eq!(ranges("eq", "1").and(&ranges("eq", "\"1\"")).ranges, []);
    }
}
