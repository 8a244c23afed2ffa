//! Rows read by searches: those of the smallest suitable source, within the budget.

use std::sync::OnceLock;

use kedge_protocol::limits::SEARCH_ROWS_MAX;
use kedge_protocol::resource::ObjectStatus;
use kedge_storage::StoreSnapshot;

use super::store::{NewObject, TestStore, caller, template, time_ms, wallet};
use crate::SearchError;
use crate::{SearchCount, SearchFilter, SearchPage, SearchPageRequest, count, parse, search, sort};

/// Objects of the large template.
const LARGE: u64 = 60_000;
/// Objects of the small template, created last.
const SMALL: u64 = 500;

/// The large template has `rare` (every 2,000th is "yes"), `half` (0 or 1), `rising` (0, 1, 2, …) and `plain` (like
/// rising, not indexed); the small one is alike. Wallet 1 owns only every 600th object, wallet 2 the rest; both belong
/// to the organization.
fn large() -> &'static (TestStore, StoreSnapshot) {
    static STORE: OnceLock<(TestStore, StoreSnapshot)> = OnceLock::new();
    STORE.get_or_init(|| {
        let indexed = ["rare", "half", "rising"];
        let mut store = TestStore::new(&[(1, 1, &indexed, false), (2, 1, &indexed, false)], 2);
        for number in 0..LARGE + SMALL {
            let rare = if number % 2_000 == 7 { "yes" } else { "no" };
            let half = number % 2;
            let properties =
                format!(r#"{{"rare":"{rare}","half":{half},"rising":{number},"plain":{number}}}"#);
            store.add(NewObject {
                template: usize::from(number >= LARGE),
                owner: if number % 600 == 0 { 1 } else { 2 },
                properties,
                status: ObjectStatus::Active,
                changed_after: 0,
            });
        }
        let snapshot = store.snapshot(&[(1, LARGE), (2, SMALL)]);
        (store, snapshot)
    })
}

fn all(conditions: &[&str]) -> SearchFilter {
    let json = format!(r#"{{"and":[{}]}}"#, conditions.join(","));
    parse::filter(&json).unwrap()
}

fn of_template(number: u64) -> String {
    format!(
        r#"{{"field":"template_id","op":"eq","value":"{}"}}"#,
        template(number)
    )
}

fn is(property: &str, op: &str, value: &str) -> String {
    format!(r#"{{"field":"properties.{property}","op":"{op}","value":{value}}}"#)
}

fn find_by(filter: &SearchFilter, by: &str, limit: usize) -> Result<SearchPage, SearchError> {
    let wanted = SearchPageRequest {
        sort: sort::read(Some(by)).unwrap(),
        limit,
        bytes_max: usize::MAX,
        after: None,
    };
    search(&large().1, &caller(1, 1), filter, &wanted)
}

fn find(filter: &SearchFilter, limit: usize) -> SearchPage {
    find_by(filter, r#"[{"field":"created_at"}]"#, limit).unwrap()
}

fn counted(filter: &SearchFilter) -> SearchCount {
    count(&large().1, &caller(1, 1), filter).unwrap()
}

#[track_caller]
fn is_too_broad<T: std::fmt::Debug>(result: Result<T, SearchError>) {
    let error = result.unwrap_err();
    let SearchError::Field(field) = &error else {
        panic!("{error:?}")
    };
    assert_eq!((field.pointer.as_str(), &*field.code), ("/filter", "range"));
    assert!(field.message.contains("x-index"), "{error:?}");
}

// Holds invariant 46.
#[test]
fn the_smallest_index_is_read() {
    let rare = is("rare", "eq", "\"yes\"");
    let of_large = of_template(1);
    let found = find(&all(&[&of_large, &rare]), 100);
    assert_eq!(found.objects.len(), 30);
    // The entries and the objects; no other source was read.
    assert_eq!(found.rows, 60);

    // A wide range, and a value of half of the objects, are abandoned early.
    let wide = is("rising", "gte", "1000");
    let half = is("half", "eq", "1");
    let found = find(&all(&[&half, &wide, &rare, &of_large]), 100);
    assert_eq!(found.objects.len(), 29);
    assert!(found.rows <= 60 + 2 * 64, "{}", found.rows);

    // A narrow range from two conditions on one path, together with a common value.
    let from = is("rising", "gt", "30000");
    let until = is("rising", "lte", "30010");
    let found = find(&all(&[&half, &from, &until, &of_large]), 100);
    assert_eq!(found.objects.len(), 5);
    assert!(found.rows <= 20 + 64, "{}", found.rows);
}

#[test]
fn owners_ids_and_times_narrow_too() {
    let owner = format!(
        r#"{{"field":"owner_id","op":"eq","value":"{}"}}"#,
        wallet(1)
    );
    let late = is("plain", "gte", "30000");
    let found = find(&all(&[&of_template(1), &owner, &late]), 1_000);
    assert_eq!(found.objects.len(), 50);
    assert!(found.rows <= 2 * 101 + 2 * 512, "{}", found.rows);

    let id = find(&all(&[&of_template(1)]), 1).objects[0].id;
    let by_id = format!(r#"{{"field":"id","op":"eq","value":"{id}"}}"#);
    assert_eq!(find(&all(&[&by_id, &late]), 10).rows, 1);

    let from = kedge_protocol::time::rfc3339(time_ms(50_000));
    let until = kedge_protocol::time::rfc3339(time_ms(50_010));
    let created =
        |op: &str, time: &str| format!(r#"{{"field":"created_at","op":"{op}","value":"{time}"}}"#);
    let times = [created("gte", &from), created("lt", &until)];
    let found = find(&all(&[&of_template(1), &times[0], &times[1], &late]), 100);
    assert_eq!(found.objects.len(), 10);
    assert_eq!(found.rows, 20);
}

#[test]
fn indexes_of_ones_own_templates_are_tried_where_none_is_named() {
    let found = find(&all(&[&is("rare", "eq", "\"yes\"")]), 100);
    assert_eq!(found.objects.len(), 31);
    assert!(found.rows <= 1_000, "{}", found.rows);
}

// Holds invariant 46.
#[test]
fn or_and_not_are_served_from_the_indexes() {
    let (of_large, of_small) = (of_template(1), of_template(2));
    let rare = is("rare", "eq", "\"yes\"");
    let any = |conditions: &[&str]| format!(r#"{{"or":[{}]}}"#, conditions.join(","));
    let both = |conditions: &[&str]| format!(r#"{{"and":[{}]}}"#, conditions.join(","));
    let not = |condition: &str| format!(r#"{{"not":{condition}}}"#);
    let below = is("rising", "lt", "5");
    let id = find(&all(&[&of_large]), 1).objects[0].id;
    let by_id = format!(r#"{{"field":"id","op":"eq","value":"{id}"}}"#);
    let cases = [
        // Each branch uses its index.
        (
            any(&[&both(&[&of_large, &rare]), &both(&[&of_small, &rare])]),
            31,
        ),
        (both(&[&of_large, &any(&[&rare, &below])]), 35),
        (both(&[&of_large, &any(&[&rare, &rare])]), 30),
        (any(&[&by_id, &both(&[&of_large, &rare])]), 31),
        (both(&[&any(&[&of_large, &of_small]), &rare]), 31),
        (any(&[&rare, &both(&[&of_large, &below])]), 36),
        // A negated condition is also a range of the index.
        (both(&[&of_large, &is("rare", "ne", "\"no\"")]), 30),
        (both(&[&of_large, &not(&is("rising", "gte", "10"))]), 10),
        (
            both(&[
                &of_large,
                &not(&any(&[&is("rare", "eq", "\"no\""), &is("half", "eq", "0")])),
            ]),
            30,
        ),
        (both(&[&of_large, &not(&not(&rare))]), 30),
        (any(&[]), 0),
    ];
    for (filter, expected) in cases {
        let parsed = parse::filter(&filter).unwrap();
        let found = find(&parsed, 1_000);
        assert_eq!(found.objects.len(), expected, "{filter}");
        assert!(found.rows <= 1_500, "{} {filter}", found.rows);
        assert_eq!(counted(&parsed).count, expected as u64, "{filter}");
    }
    let by_rising = r#"[{"field":"properties.rising","order":"desc"}]"#;
    let ends = any(&[&below, &is("rising", "gte", "59000")]);
    let found = find_by(&all(&[&of_large, &ends]), by_rising, 10).unwrap();
    assert_eq!(found.objects[0].trace.created_sequence, LARGE);
    assert!(found.rows <= 2_500, "{}", found.rows);
}

#[test]
fn a_common_value_is_gone_through_in_order_of_creation() {
    let filter = all(&[&of_template(1), &is("half", "eq", "1")]);
    let found = find_by(&filter, r#"[{"field":"created_at","order":"desc"}]"#, 10).unwrap();
    let sequences: Vec<u64> = found
        .objects
        .iter()
        .map(|object| object.trace.created_sequence)
        .collect();
    let expected: Vec<u64> = (0..10).map(|i| LARGE - 2 * i).collect();
    assert_eq!(sequences, expected);
    assert!(found.rows < 30_000, "{}", found.rows);
}

#[test]
fn an_order_by_an_indexed_property_goes_along_the_index() {
    let by_rising = r#"[{"field":"properties.rising","order":"desc"}]"#;
    let found = find_by(&all(&[&of_template(1)]), by_rising, 10).unwrap();
    assert_eq!(found.objects[0].trace.created_sequence, LARGE);
    assert_eq!(found.rows, 2 * 64);
    // Few matches are sorted; many are found in reading order.
    let rare = all(&[&of_template(1), &is("rare", "eq", "\"yes\"")]);
    assert!(find_by(&rare, by_rising, 10).unwrap().rows <= 60);
    let below = all(&[&of_template(1), &is("rising", "lt", "50000")]);
    let found = find_by(&below, by_rising, 10).unwrap();
    assert_eq!(found.objects[0].trace.created_sequence, 50_000);
    assert_eq!(found.rows, 2 * 64);
    let refused = find_by(&all(&[]), by_rising, 10);
    assert!(matches!(refused, Err(SearchError::Field(_))), "{refused:?}");
}

// Holds invariant 46.
#[test]
fn a_search_reads_no_more_than_it_may() {
    let nothing = is("plain", "lt", "0");
    let by_creation = r#"[{"field":"created_at"}]"#;
    is_too_broad(find_by(&all(&[&of_template(1), &nothing]), by_creation, 1));
    is_too_broad(find_by(&all(&[&nothing]), by_creation, 1));
    is_too_broad(find_by(
        &all(&[&of_template(1)]),
        r#"[{"field":"updated_at"}]"#,
        1,
    ));
    is_too_broad(count(
        &large().1,
        &caller(1, 1),
        &all(&[&of_template(1), &is("plain", "gt", "0")]),
    ));
    let small = find(&all(&[&of_template(2), &nothing]), 1);
    assert_eq!((small.objects.len(), small.rows), (0, 2 * SMALL as usize));
}

#[test]
fn counts_read_indexes_alone_where_these_answer() {
    let of_large = of_template(1);
    let cases: [(&[String], u64, usize); 5] = [
        (&[], LARGE, 1),
        (&[is("rare", "eq", "\"yes\"")], 30, 30),
        (&[is("rare", "in", "[\"yes\",\"maybe\"]")], 30, 30),
        (
            &[is("rising", "gt", "100"), is("rising", "lt", "200")],
            99,
            99,
        ),
        (&[is("half", "eq", "1")], LARGE / 2, LARGE as usize / 2),
    ];
    for (conditions, expected, rows) in cases {
        let mut conditions: Vec<&str> = conditions.iter().map(String::as_str).collect();
        conditions.push(&of_large);
        assert_eq!(
            counted(&all(&conditions)),
            SearchCount {
                count: expected,
                rows
            },
            "{conditions:?}"
        );
    }
    // Properties without an index are tested on each object.
    let filter = all(&[
        &of_large,
        &is("rising", "lt", "20"),
        &is("plain", "gte", "10"),
    ]);
    assert_eq!(
        counted(&filter),
        SearchCount {
            count: 10,
            rows: 40
        }
    );
    assert!(SEARCH_ROWS_MAX < LARGE as usize);
}
