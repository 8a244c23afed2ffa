//! Layers compared with plain maps.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::collections::BTreeMap;

use proptest::prelude::*;

use super::*;

/// A table of lists, one of lists of several kinds, and one of rows by id.
const TABLES: [Table; 3] = [Table::Events, Table::ObjectIndex, Table::Objects];

type Rows = BTreeMap<(usize, Vec<u8>), Option<Vec<u8>>>;

/// Keys of all lengths, many of them neighbours, and some beyond the last list's kind.
fn key() -> impl Strategy<Value = Vec<u8>> {
    let first = prop_oneof![Just(1), Just(2), Just(3), 4..=255u8];
    let list = prop_oneof![Just(0u8), Just(7), Just(64), Just(255)];
    let number = prop_oneof![8 => (0..400u16).prop_map(u64::from), 1 => any::<u64>()];
    let whole = (first, list, number).prop_map(|(first, list, number)| {
        let mut key = vec![first, list];
        key.extend([list; 15]);
        key.extend(number.to_be_bytes());
        key
    });
    prop_oneof![
        20 => whole,
        1 => prop::collection::vec(any::<u8>(), 1..3),
        1 => prop::collection::vec(0..5u8, 38..42),
    ]
}

type Write = (usize, Vec<u8>, Option<Vec<u8>>);

/// Rows in the order of a growing list, and single ones.
fn group() -> impl Strategy<Value = Vec<Write>> {
    let value = prop::option::weighted(0.9, prop::collection::vec(any::<u8>(), 0..40));
    let run = (0..3usize, key(), 0..100u8, value).prop_map(|(table, key, rows, value)| {
        let mut writes = vec![(table, key.clone(), value.clone())];
        for row in 0..rows {
            let mut key = key.clone();
            key.push(row);
            writes.push((table, key, value.clone()));
        }
        writes
    });
    let one = (0..3usize, key(), Just(None)).prop_map(|write| vec![write]);
    prop::collection::vec(prop_oneof![run, one], 1..8).prop_map(|parts| parts.concat())
}

fn bound() -> impl Strategy<Value = Bound<Vec<u8>>> {
    prop_oneof![
        1 => Just(Bound::Unbounded),
        4 => key().prop_map(Bound::Included),
        4 => key().prop_map(Bound::Excluded),
    ]
}

fn slice(bound: &Bound<Vec<u8>>) -> Bound<&[u8]> {
    bound.as_ref().map(Vec::as_slice)
}

/// The rows of a table in a range that is not empty, in either direction.
fn expected<'a>(
    rows: &'a Rows,
    table: usize,
    range: &KeyRange<'_>,
    descending: bool,
) -> Vec<(&'a [u8], Option<&'a [u8]>)> {
    use std::ops::RangeBounds;
    let bounds = (range.from, range.to);
    let within = |(of, key): &&(usize, Vec<u8>)| {
        *of == table && RangeBounds::<[u8]>::contains(&bounds, key.as_slice())
    };
    let rows = rows.iter().filter(|(key, _)| within(key));
    let mut rows: Vec<_> = rows
        .map(|((_, key), value)| (key.as_slice(), value.as_deref()))
        .collect();
    if descending {
        rows.reverse();
    }
    rows
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn a_layer_holds_what_was_written(
        groups in prop::collection::vec(group(), 1..12),
        held in 0..12usize,
        ranges in prop::collection::vec((bound(), bound(), any::<bool>(), 1..90usize), 24),
    ) {
        let layer = RecentLayer::default();
        let mut rows = Rows::new();
        let mut states = vec![rows.clone()];
        let held = held.min(groups.len());
        for group in groups {
            let number = states.len() as u64;
            let mut writes = Rows::new();
            for (table, key, value) in group {
                writes.insert((table, key), value);
            }
            // Tables are ordered by their numbers, which are not their places in this list.
            let mut writes_in_order: Vec<_> = writes.iter().collect();
            writes_in_order.sort_by_key(|((table, _), _)| TABLES[*table] as usize);
            let write = writes_in_order.into_iter().map(|((table, key), value)| {
                (TABLES[*table], key.as_slice(), value.as_deref())
            });
            let read: Vec<u64> = if number > held as u64 { vec![held as u64, number - 1] } else { vec![number - 1] };
            layer.write(write, number, &read);
            rows.extend(writes);
            states.push(rows.clone());
        }
        prop_assert_eq!(layer.len(), rows.len());
        let last = states.len() - 1;
        for number in [held, last] {
            let state = &states[number];
            for ((table, key), value) in state {
                let found = layer.get(TABLES[*table], key, number as u64, |value| value.map(<[u8]>::to_vec));
                prop_assert_eq!(found.as_ref(), Some(value));
            }
            for (from, to, descending, count_max) in &ranges {
                let range = KeyRange { from: slice(from), to: slice(to) };
                for (index, table) in TABLES.into_iter().enumerate() {
                    let mut found: Vec<LayerRow> = Vec::new();
                    layer.scan(table, &range, *descending, number as u64, *count_max, &mut found);
                    let found: Vec<_> = found.iter().map(|(key, value)| (&**key, value.as_deref())).collect();
                    let mut expected = expected(state, index, &range, *descending);
                    expected.truncate(*count_max);
                    prop_assert_eq!(found, expected);
                }
            }
        }
        let mut all = Rows::new();
        let mut before: Option<(usize, Vec<u8>)> = None;
        layer.for_each_last(|table, key, value| {
            let place = (table as usize, key.to_vec());
            assert!(before.as_ref().is_none_or(|before| *before < place), "not in order");
            before = Some(place);
            let index = TABLES.iter().position(|of| *of == table).unwrap();
            all.insert((index, key.to_vec()), value.map(<[u8]>::to_vec));
        });
        prop_assert_eq!(all, rows);
    }
}
