//! Lists without their objects: windows of creation, values in order, times.

use kedge_protocol::resource::Object;
use kedge_protocol::{Id, Prefix};
use kedge_storage::{
    ListWindow, ListedObject, ObjectIndex, PropertyRange, StoreSnapshot, WriteGroup,
};

use crate::support::{Log, Step, id, open};

const BATCHES: u64 = 6;

fn made() -> (tempfile::TempDir, Log, StoreSnapshot) {
    let directory = tempfile::tempdir().unwrap();
    let mut log = Log::default();
    let store = open(directory.path()).unwrap();
    log.commit_many(&store, BATCHES);
    (directory, log, store.snapshot())
}

fn sequences(
    rows: impl Iterator<Item = Result<ListedObject, kedge_storage::StoreReadError>>,
) -> Vec<u64> {
    rows.map(|row| row.unwrap().created_sequence).collect()
}

#[test]
fn a_window_holds_what_was_made_within_it() {
    let (_directory, log, snapshot) = made();
    let list = ObjectIndex::Template(log.template);
    let all: Vec<u64> = log
        .objects
        .iter()
        .map(|object| object.trace.created_sequence)
        .collect();
    assert_eq!(all.len() as u64, 2 * BATCHES);
    let ends = [0, 1, all[0], all[1], all[3], all[3] + 1, all[11], u64::MAX];
    for first in ends {
        for last in ends {
            let mut expected: Vec<u64> = all
                .iter()
                .copied()
                .filter(|s| (first..=last).contains(s))
                .collect();
            let window = |descending| ListWindow {
                sequences: first..=last,
                descending,
            };
            let listed = |window| sequences(snapshot.listed_objects(list, &window));
            assert_eq!(listed(window(false)), expected, "{first} to {last}");
            expected.reverse();
            assert_eq!(listed(window(true)), expected, "{last} down to {first}");
        }
    }
    let whole = ListWindow {
        sequences: 0..=u64::MAX,
        descending: false,
    };
    let ids: Vec<Id> = snapshot
        .listed_objects(list, &whole)
        .map(|row| row.unwrap().id)
        .collect();
    assert!(ids.iter().eq(log.objects.iter().map(|object| &object.id)));
    let other = ObjectIndex::Template(id(Prefix::Template, 2));
    assert_eq!(snapshot.listed_objects(other, &whole).count(), 0);
}

#[test]
fn a_time_leads_to_the_first_sequence_of_it() {
    let (_directory, log, snapshot) = made();
    let last = log.head.sequence;
    let time = |sequence| snapshot.action_at(sequence).unwrap().unwrap().timestamp_ms;
    for time_ms in time(1) - 2..=time(last) + 2 {
        let expected = (1..=last).find(|&sequence| time(sequence) >= time_ms);
        let found = snapshot.first_sequence_at(time_ms).unwrap();
        assert_eq!(found, expected.unwrap_or(last + 1), "{time_ms}");
    }
    let directory = tempfile::tempdir().unwrap();
    let empty = open(directory.path()).unwrap().snapshot();
    assert_eq!(empty.first_sequence_at(0), Ok(1));
}

/// A store with entries of one indexed property: the objects' values, in order of creation.
fn indexed(values: &[&[u8]]) -> (tempfile::TempDir, Vec<Object>, kedge_storage::Store) {
    let directory = tempfile::tempdir().unwrap();
    let store = open(directory.path()).unwrap();
    let mut log = Log::default();
    log.commit(&store, &[vec![Step::Mint { owner: 1 }; values.len()]]);
    let mut group = WriteGroup::new();
    for (object, value) in log.objects.iter().zip(values) {
        for path in [0, 1] {
            group.change_property(object, path, None, value);
        }
    }
    store.commit(group).unwrap();
    (directory, log.objects, store)
}

fn range(object: &Object, start: &[u8], end: &[u8]) -> PropertyRange {
    PropertyRange {
        template_id: object.template_id,
        path: 1,
        values: start.to_vec()..end.to_vec(),
    }
}

#[test]
fn values_come_in_order_and_behind_the_last_one_seen() {
    let values: [&[u8]; 6] = [b"b\0", b"a\0", b"c\0", b"a\0", b"\xff\0", b"b\0"];
    let (_directory, objects, store) = indexed(&values);
    let snapshot = store.snapshot();
    let created = |i: usize| objects[i].trace.created_sequence;
    let order = [1, 3, 0, 5, 2, 4].map(created);
    for (start, end, from, until) in [
        (&b""[..], &b"\xff\xff"[..], 0, 6),
        (b"b", b"c", 2, 4),
        (b"b\0", b"b\x01", 2, 4),
        (b"a\x01", b"\xff", 2, 5),
        (b"d", b"e", 0, 0),
        (b"c", b"a", 0, 0),
    ] {
        let range = range(&objects[0], start, end);
        let mut expected = order[from..until].to_vec();
        for descending in [false, true] {
            let mut found = Vec::new();
            let mut after: Option<Box<[u8]>> = None;
            // One at a time, each after the last.
            while let Some(next) = snapshot
                .indexed_objects(&range, after.as_deref(), descending)
                .next()
            {
                let next = next.unwrap();
                found.push(next.object.created_sequence);
                after = Some(next.place);
            }
            assert_eq!(found, expected, "{start:?} to {end:?}");
            expected.reverse();
        }
    }
    let whole = |descending| ListWindow {
        sequences: 0..=u64::MAX,
        descending,
    };
    let template = objects[0].template_id;
    let with = |value, window| sequences(snapshot.objects_with_value(template, 1, value, &window));
    assert_eq!(with(&b"a\0"[..], whole(false)), [created(1), created(3)]);
    assert_eq!(with(&b"b\0"[..], whole(true)), [created(5), created(0)]);
    let late = ListWindow {
        sequences: created(1)..=u64::MAX,
        descending: false,
    };
    assert_eq!(with(&b"b\0"[..], late), [created(5)]);
    assert!(with(&b"d\0"[..], whole(false)).is_empty());
}

#[test]
fn an_entry_moves_with_its_value_and_leaves_the_others_alone() {
    let (_directory, objects, store) = indexed(&[b"a\0", b"a\0"]);
    let mut group = WriteGroup::new();
    group.change_property(&objects[0], 1, Some(b"a\0"), b"b\0");
    let snapshot = store.commit(group).unwrap();
    let at = |start: &[u8], end: &[u8]| {
        let rows = snapshot.indexed_objects(&range(&objects[0], start, end), None, false);
        rows.map(|row| row.unwrap().object.id).collect::<Vec<_>>()
    };
    assert_eq!(at(b"a", b"b"), [objects[1].id]);
    assert_eq!(at(b"b", b"c"), [objects[0].id]);
    assert_eq!(
        snapshot
            .raw_rows(kedge_storage::Table::PropertyIndex)
            .count(),
        4
    );
}
