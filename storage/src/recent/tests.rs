//! Snapshots over layers and RocksDB, compared with plain maps.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::collections::BTreeMap;

use kedge_protocol::eip712::Domain;
use kedge_protocol::event::{EventPosition, EventType};
use kedge_protocol::{Address, Hash, Id, Prefix};
use proptest::prelude::*;
use rocksdb::Direction;

use super::*;
use crate::store::{Store, StoreOptions};
use crate::tables::events::EventRow;

/// Operation on the store.
#[derive(Clone, Debug)]
enum Step {
    /// A row of a table that is read by its key.
    Number(u8, u64),
    /// A row of a table that is scanned.
    Event(u8),
    DeleteEvent(u8),
    Commit,
    Flush,
    /// Takes and holds a snapshot.
    Look,
    /// Releases the oldest snapshot.
    LookAway,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        4 => (any::<u8>(), 0..9u64).prop_map(|(key, value)| Step::Number(key % 5 * 50, value)),
        4 => (0..40u8).prop_map(Step::Event),
        3 => (0..40u8).prop_map(Step::DeleteEvent),
        3 => Just(Step::Commit),
        1 => Just(Step::Flush),
        2 => Just(Step::Look),
        1 => Just(Step::LookAway),
    ];
    prop::collection::vec(step, 1..160)
}

fn organization(of: u8) -> Id {
    crate::tables::id(Prefix::Organization, [of; 16])
}

fn position(at: u8) -> EventPosition {
    EventPosition {
        sequence: u64::from(at),
        index: 0,
    }
}

type Rows = BTreeMap<Vec<u8>, Vec<u8>>;
const TABLES: [Table; 2] = [Table::LogBytes, Table::Events];
type Model = [Rows; 2];

fn model_of(snapshot: &StoreSnapshot) -> Model {
    TABLES.map(|table| {
        let rows = snapshot.raw_rows(table).map(Result::unwrap);
        rows.map(|(key, value)| (key.into(), value.into()))
            .collect()
    })
}

/// Compares every way of reading with the expected rows.
fn read_in_all_ways(snapshot: &StoreSnapshot, expected: &Model) {
    assert_eq!(&model_of(snapshot), expected);
    for (table, rows) in TABLES.into_iter().zip(expected) {
        let mut cursor = snapshot.cursor(table);
        cursor.seek_to_first();
        for row in rows {
            let found = cursor.row().unwrap().unwrap();
            assert_eq!((found.0, found.1), (row.0.as_slice(), row.1.as_slice()));
            cursor.advance();
        }
        assert!(cursor.row().unwrap().is_none());
        let keys: Vec<_> = rows.keys().cloned().collect();
        for (at, key) in keys.iter().enumerate() {
            let found = snapshot
                .get(table, key, |value| Ok(value.to_vec()))
                .unwrap();
            assert_eq!(found.as_ref(), rows.get(key));
            cursor.seek(key);
            assert_eq!(cursor.row().unwrap().map(|row| row.0), Some(key.as_slice()));
            let keys_of = |direction| -> Vec<Vec<u8>> {
                let rows = snapshot.rows_from(table, key, direction);
                rows.map(|row| row.unwrap().0.into()).collect()
            };
            assert_eq!(keys_of(Direction::Forward), keys[at..]);
            let mut back = keys_of(Direction::Reverse);
            back.reverse();
            assert_eq!(back, keys[..=at]);
            for descending in [false, true] {
                let range = keys[0].clone()..key.clone();
                let rows = snapshot.rows_between(table, range, descending);
                let mut found: Vec<Vec<u8>> = rows.map(|row| row.unwrap().0.into()).collect();
                if descending {
                    found.reverse();
                }
                assert_eq!(found, keys[..at]);
            }
        }
    }
    let keys: Vec<[u8; 16]> = (0..=255).map(|of| [of; 16]).collect();
    for (key, found) in keys.iter().zip(snapshot.get_many(Table::LogBytes, &keys)) {
        assert_eq!(found.unwrap().as_ref(), expected[0].get(key.as_slice()));
    }
}

fn event(at: u8) -> EventRow {
    EventRow {
        id: crate::tables::id(Prefix::Event, [at; 16]),
        event_type: EventType::ObjectBurned,
        timestamp_ms: u64::from(at),
        organization_id: None,
        object_id: None,
        template_id: None,
        data: String::new(),
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    // Holds invariant 161.
    #[test]
    fn a_snapshot_stays_what_it_was(steps in steps()) {
        let directory = tempfile::tempdir().unwrap();
        let domain = Domain { chain_id: 1, verifying_contract: Address([1; 20]) };
        let path = directory.path().join("store");
        let options = StoreOptions::of_store(&path, domain, Address([2; 20]));
        let store = Store::scratch(options).unwrap();
        let recent = &store.recent;
        let mut group = WriteGroup::of_rows();
        let mut committed = Model::default();
        let mut held: Vec<(StoreSnapshot, Model)> = Vec::new();
        let mut frame = 0;
        for step in steps {
            match step {
                Step::Number(of, value) => group.put_log_bytes(organization(of), value),
                Step::Event(at) => group.put_event(position(at), 1, &event(at)),
                Step::DeleteEvent(at) => group.delete_event(None, position(at)),
                Step::Commit => {
                    for (table, key, value) in group.writes() {
                        let Some(index) = TABLES.iter().position(|of| *of == table) else {
                            continue;
                        };
                        match value {
                            Some(value) => committed[index].insert(key.into(), value.into()),
                            None => committed[index].remove(key),
                        };
                    }
                    frame += 1;
                    let applied = AppliedFrame { frame, hash: Hash([7; 32]) };
                    let snapshot = recent.apply(&group, applied);
                    prop_assert_eq!(snapshot.applied().unwrap().frame, frame);
                    group = WriteGroup::of_rows();
                }
                Step::Flush => {
                    recent.flush().unwrap();
                    recent.drop_read();
                }
                Step::Look => held.push((recent.snapshot(), committed.clone())),
                Step::LookAway if held.is_empty() => {}
                Step::LookAway => drop(held.remove(0)),
            }
        }
        held.push((recent.snapshot(), committed));
        for (snapshot, expected) in &held {
            read_in_all_ways(snapshot, expected);
        }
    }
}
