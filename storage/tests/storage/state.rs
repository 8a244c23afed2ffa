//! Roots of the state, over rows of every type, and their proofs.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;

use kedge_protocol::checkpoint::Checkpoint;
use kedge_protocol::state::{EMPTY_STATE_ROOT, StateEntry};
use kedge_protocol::{Hash, Id, Prefix};
use kedge_storage::{
    LogReplicator, ResourceEntries, StateError, StateRoot, Store, StoreAccess, StoreMode,
    StoreOpenError, StoreOptions, StoreSnapshot, Table, WriteGroup,
};

use crate::state_model::{Dice, StateModel};
use crate::support::{
    contents, copy, files, id, kill, log_path, options, raw, rows_path, sequencer,
};

/// The tables of the state, which this copy makes from the others.
const STATE_TABLES: [Table; 4] = [
    Table::StateEntries,
    Table::StateNodes,
    Table::StateRoots,
    Table::StateChanges,
];

fn make(store: &Store, at: &StoreSnapshot) -> StateRoot {
    store.make_state(at, &mut || true).unwrap()
}

/// A new store that notes changes.
fn opened(model: &StateModel, data: &Path) -> Store {
    let store = model.open(data);
    store.track_state();
    store
}

/// Takes the rows of the state away, as if none had been made yet.
fn forget_state(data: &Path) {
    let db = raw(data);
    for table in STATE_TABLES {
        let family = db.cf_handle(table.name()).unwrap();
        let rows = db.iterator_cf(family, rocksdb::IteratorMode::Start);
        for row in rows {
            db.delete_cf(family, row.unwrap().0).unwrap();
        }
    }
}

/// The root that a copy of a closed store makes from all rows, and one that a store makes whose rows are made again from
/// the log.
fn roots_from_nothing(model: &StateModel, data: &Path) -> [StateRoot; 2] {
    [false, true].map(|is_rebuilt| {
        let copied = tempfile::tempdir().unwrap();
        copy(data, copied.path());
        if is_rebuilt {
            std::fs::remove_dir_all(rows_path(copied.path())).unwrap();
        } else {
            forget_state(copied.path());
        }
        let store = opened(model, copied.path());
        let snapshot = store.snapshot();
        assert!(snapshot.newest_root().unwrap().is_none());
        make(&store, &snapshot)
    })
}

/// Keys with entries, now or later, and some without.
fn some_keys(model: &StateModel, dice: &mut Dice) -> Vec<Id> {
    let known: Vec<Id> = model.resources.keys().copied().collect();
    let mut keys: Vec<Id> = (0..30).map(|_| known[dice.below(known.len())]).collect();
    let of_object = |number: u64| id(Prefix::Object, 1_000_000 + number);
    keys.extend((0..5).map(of_object));
    keys.push(id(Prefix::Wallet, dice.next()));
    // One key may be asked for twice.
    keys.push(keys[0]);
    keys
}

/// The state at some number of batches.
struct KeptState {
    checkpoint: Checkpoint,
    entries: BTreeMap<Id, StateEntry>,
}

impl KeptState {
    fn of(model: &StateModel, made: StateRoot) -> Self {
        let head = model.log.head;
        assert_eq!((made.batches, made.root), (head.batches, model.root()));
        let ids = model.resources.keys();
        Self {
            checkpoint: Checkpoint {
                batches: head.batches,
                sequence: head.sequence,
                head: head.head,
                history: Hash::ZERO,
                state: made.root,
                issued_at_ms: head.last_sealed_at_ms,
            },
            entries: ids.map(|id| (*id, model.entry(*id).unwrap())).collect(),
        }
    }

    /// Checks proofs of these keys; returns how many are of absence.
    fn check(&self, snapshot: &StoreSnapshot, keys: &[Id]) -> usize {
        let batches = self.checkpoint.batches;
        let proofs = snapshot.state_proofs(batches, keys).unwrap();
        let proofs = proofs.unwrap_or_else(|| panic!("no proofs after {batches} batches"));
        assert_eq!(proofs.len(), keys.len());
        let mut absent = 0;
        for (proof, key) in proofs.iter().zip(keys) {
            assert_eq!(proof.key, *key);
            let expected = self.entries.get(key);
            if expected.is_none() && key.prefix == Prefix::Action {
                assert_eq!(proof.verify(&self.checkpoint.state), Ok(()));
                assert!(proof.entry.is_empty());
            } else {
                let read = proof.read(&self.checkpoint).unwrap();
                assert_eq!(read.as_ref(), expected, "{key} after {batches} batches");
            }
            absent += usize::from(expected.is_none());
        }
        absent
    }
}

// Holds invariant 258.
#[test]
fn the_next_root_is_that_of_all_entries() {
    for seed in 1..4 {
        let directory = tempfile::tempdir().unwrap();
        let data = directory.path();
        let mut model = StateModel::new(seed);
        let mut store = opened(&model, data);
        // A state without entries has a root too.
        let empty = make(&store, &store.snapshot());
        assert_eq!((empty.batches, empty.root), (0, EMPTY_STATE_ROOT));
        let mut seen = BTreeSet::new();
        for round in 0..8 {
            for _ in 0..=model.dice.below(3) {
                let actions = 1 + model.dice.below(120);
                model.commit(&store, actions);
                match model.dice.below(3) {
                    0 => store.flush().unwrap(),
                    1 if round % 2 == 1 => {
                        kill(store, data);
                        // A store with a root notes changes from its opening on.
                        store = model.open(data);
                    }
                    _ => {}
                }
            }
            let snapshot = store.snapshot();
            let made = make(&store, &snapshot);
            assert_eq!(made.root, model.root(), "seed {seed}, round {round}");
            assert_eq!(made.batches, model.log.head.batches);
            assert_eq!(make(&store, &snapshot), made);
            let mut reader = ResourceEntries::new(&snapshot, &snapshot);
            for id in model.resources.keys() {
                assert_eq!(reader.entry(*id).unwrap(), model.entry(*id), "{id}");
                seen.insert(id.prefix as u8);
            }
            assert_eq!(reader.entry(id(Prefix::Object, 1)).unwrap(), None);
            assert_eq!(reader.entry(id(Prefix::Action, 1)).unwrap(), None);
        }
        assert_eq!(seen.len(), 10, "types of resources");
        let made = store.snapshot().newest_root().unwrap().unwrap();
        store.close().unwrap();
        assert_eq!(roots_from_nothing(&model, data), [made; 2]);
    }
}

#[test]
fn proofs_hold_at_every_version_while_the_rows_move_on() {
    let directory = tempfile::tempdir().unwrap();
    let data = directory.path();
    let mut model = StateModel::new(11);
    let mut store = opened(&model, data);
    let mut dice = Dice(1);
    let mut kept = vec![KeptState::of(&model, make(&store, &store.snapshot()))];
    let mut absent = 0;
    for round in 0..7 {
        model.commit(&store, 40);
        let unmade = model.log.head.batches;
        model.commit(&store, 60);
        let before = store.snapshot();
        let made = make(&store, &before);
        // The snapshot is older than the root.
        assert_eq!(before.root_at(made.batches).unwrap(), None);
        let snapshot = store.snapshot();
        assert_eq!(snapshot.newest_root().unwrap(), Some(made));
        assert_eq!(snapshot.root_at(made.batches).unwrap(), Some(made));
        kept.push(KeptState::of(&model, made));
        drop((before, snapshot));
        // Rows after the newest root, in memory, on the disk, or applied again.
        model.commit(&store, 20);
        match round % 3 {
            0 => store.flush().unwrap(),
            1 => {
                store.close().unwrap();
                store = model.open(data);
            }
            _ => {}
        }
        let snapshot = store.snapshot();
        for state in &kept {
            let keys = some_keys(&model, &mut dice);
            absent += state.check(&snapshot, &keys);
        }
        for without in [unmade, model.log.head.batches, 1 << 50] {
            let none = snapshot.state_proofs(without, &[id(Prefix::Object, 1)]);
            assert_eq!(none.unwrap(), None);
        }
    }
    let newest = kept.last().unwrap();
    let all: Vec<Id> = model.resources.keys().copied().collect();
    let later = newest.check(&store.snapshot(), &all);
    assert!(later > 0 && later < 20 && absent > 300, "{later} {absent}");
    assert_eq!(newest.check(&store.snapshot(), &[]), 0);
}

/// Ends the making at its `calls`-th look at whether to go on; `None` if it was done before.
fn abandoned(store: &Store, at: &StoreSnapshot, calls: usize) -> Option<StateRoot> {
    let mut left = calls;
    let mut go_on = || {
        left = left.saturating_sub(1);
        left > 0
    };
    match store.make_state(at, &mut go_on) {
        Ok(made) => Some(made),
        Err(StateError::Abandoned) => None,
        Err(error) => panic!("{error}"),
    }
}

/// Ends a store in one of three ways, and opens it again.
fn ended(store: Store, model: &StateModel, data: &Path, way: usize) -> Store {
    match way % 3 {
        0 => store.close().unwrap(),
        1 => drop(store),
        _ => kill(store, data),
    }
    model.open(data)
}

// Holds invariant 259.
#[test]
fn a_first_root_that_was_abandoned_anywhere_is_made_again() {
    let directory = tempfile::tempdir().unwrap();
    let mut model = StateModel::new(21);
    let store = opened(&model, directory.path());
    for _ in 0..6 {
        model.commit(&store, 450);
    }
    store.close().unwrap();
    let mut calls = 1;
    loop {
        let copied = tempfile::tempdir().unwrap();
        let data = copied.path();
        copy(directory.path(), data);
        let mut model = model.clone();
        let store = opened(&model, data);
        let done = abandoned(&store, &store.snapshot(), calls);
        let store = ended(store, &model, data, calls);
        if let Some(made) = done {
            assert_eq!(made.root, model.root());
            // It is on the disk.
            assert_eq!(store.snapshot().newest_root().unwrap(), Some(made));
            break;
        }
        assert_eq!(store.snapshot().newest_root().unwrap(), None);
        // Before the changes are noted, and after.
        model.commit(&store, 30);
        store.flush().unwrap();
        store.track_state();
        model.commit(&store, 30);
        let made = make(&store, &store.snapshot());
        assert_eq!(made.root, model.root(), "abandoned at call {calls}");
        model.commit(&store, 30);
        let made = make(&store, &store.snapshot());
        assert_eq!(made.root, model.root(), "after call {calls}");
        // Each of the first, then fewer.
        calls += 1 + calls / 4;
    }
    assert!(calls > 8, "{calls} calls");
}

// Holds invariant 259.
#[test]
fn a_next_root_that_was_abandoned_anywhere_is_made_again() {
    let directory = tempfile::tempdir().unwrap();
    let data = directory.path();
    let mut model = StateModel::new(22);
    let mut store = opened(&model, data);
    model.commit(&store, 400);
    make(&store, &store.snapshot());
    let (mut abandonments, mut done) = (0, 0);
    // While changed entries are read, while branches are, and never.
    let looks = [
        1,
        2,
        5,
        20,
        40,
        70,
        110,
        160,
        220,
        usize::MAX,
        300,
        usize::MAX,
    ];
    for (way, calls) in looks.into_iter().enumerate() {
        model.commit(&store, 450);
        model.commit(&store, 450);
        let snapshot = store.snapshot();
        match abandoned(&store, &snapshot, calls) {
            Some(made) => {
                assert_eq!(made.root, model.root());
                done += 1;
            }
            None => abandonments += 1,
        }
        drop(snapshot);
        store = ended(store, &model, data, way);
        if way % 2 == 0 {
            model.commit(&store, 20);
        }
        if way % 4 == 0 {
            // Abandoned at another version too.
            abandoned(&store, &store.snapshot(), 1);
            model.commit(&store, 20);
        }
        let made = make(&store, &store.snapshot());
        assert_eq!(made.root, model.root(), "way {way}, call {calls}");
        store = ended(store, &model, data, way + 1);
        assert_eq!(store.snapshot().newest_root().unwrap(), Some(made));
        assert_eq!(make(&store, &store.snapshot()), made);
    }
    assert!(abandonments >= 6 && done > 0, "{abandonments} {done}");
    let made = store.snapshot().newest_root().unwrap().unwrap();
    store.close().unwrap();
    assert_eq!(roots_from_nothing(&model, data), [made; 2]);
}

// Holds invariant 259.
#[test]
fn changes_that_come_while_a_root_is_made_are_in_the_next_one() {
    let directory = tempfile::tempdir().unwrap();
    let data = directory.path();
    let mut model = StateModel::new(23);
    let mut store = opened(&model, data);
    model.commit(&store, 500);
    for round in 0..4 {
        model.commit(&store, 300);
        let snapshot = store.snapshot();
        let (batches, root) = (model.log.head.batches, model.root());
        // Flushed with the rows of the snapshot, before the making begins.
        model.commit(&store, 20);
        let mut calls = 0;
        let made = store.make_state(&snapshot, &mut || {
            calls += 1;
            if calls < 3 {
                model.commit(&store, 40);
                store.flush().unwrap();
                model.commit(&store, 10);
            }
            true
        });
        assert!(calls > 0);
        assert_eq!(made.unwrap(), StateRoot { batches, root });
        drop(snapshot);
        store = ended(store, &model, data, round);
        if round % 2 == 0 {
            // Nothing else changes.
            let made = make(&store, &store.snapshot());
            assert_eq!(made.root, model.root(), "round {round}");
        }
    }
    store.flush().unwrap();
    make(&store, &store.snapshot());
    // Nothing is left to do.
    assert!(store.snapshot().is_empty(Table::StateChanges).unwrap());
}

#[test]
fn a_root_before_the_newest_one_is_made_from_all_rows() {
    let directory = tempfile::tempdir().unwrap();
    let mut model = StateModel::new(24);
    let store = opened(&model, directory.path());
    model.commit(&store, 300);
    make(&store, &store.snapshot());
    model.commit(&store, 300);
    let (earlier, before) = (store.snapshot(), model.clone());
    model.commit(&store, 300);
    let newest = KeptState::of(&model, make(&store, &store.snapshot()));
    model.commit(&store, 50);
    // What no kept version reads may go at any moment.
    store.keep_states(Vec::new()).unwrap();
    let made = store.make_state(&earlier, &mut || {
        store.drop_expired().unwrap();
        true
    });
    let earlier = KeptState::of(&before, made.unwrap());
    let mut dice = Dice(2);
    for state in [&earlier, &newest] {
        let keys = some_keys(&model, &mut dice);
        state.check(&store.snapshot(), &keys);
    }
    let made = make(&store, &store.snapshot());
    assert_eq!(made.root, model.root());
}

/// Rows of the state, by what they are about: their versions, newest first.
fn versions_of(snapshot: &StoreSnapshot, table: Table) -> BTreeMap<Vec<u8>, Vec<u64>> {
    let mut found: BTreeMap<Vec<u8>, Vec<u64>> = BTreeMap::new();
    for row in snapshot.raw_rows(table) {
        let (key, _) = row.unwrap();
        let (place, version) = key.split_last_chunk::<8>().unwrap();
        let versions = found.entry(place.to_vec()).or_default();
        versions.push(!u64::from_be_bytes(*version));
    }
    found
}

// Holds invariant 264.
#[test]
fn versions_that_are_not_kept_are_dropped_and_the_others_are_proven() {
    let directory = tempfile::tempdir().unwrap();
    let data = directory.path();
    let mut model = StateModel::new(31);
    let mut store = opened(&model, data);
    let mut dice = Dice(3);
    let mut states = Vec::new();
    for _ in 0..6 {
        model.commit(&store, 150);
        states.push(KeptState::of(&model, make(&store, &store.snapshot())));
    }
    let versioned = [Table::StateEntries, Table::StateNodes];
    let all = versioned.map(|table| versions_of(&store.snapshot(), table));
    // Nothing is dropped before any caller has said what is kept.
    store.drop_expired().unwrap();
    let present = versioned.map(|table| versions_of(&store.snapshot(), table));
    assert_eq!(present, all);

    let kept = [1, 3];
    let asked = kept.map(|place| states[place].checkpoint.batches);
    store.keep_states(asked.to_vec()).unwrap();
    let at = store.snapshot();
    let has_root = |state: &KeptState| at.root_at(state.checkpoint.batches).unwrap().is_some();
    let with_root: Vec<bool> = states.iter().map(has_root).collect();
    // The fifth may be one whose checkpoint comes now.
    assert_eq!(with_root, [false, true, false, true, true, true]);
    drop(at);
    store.drop_expired().unwrap();
    let newest = states[5].checkpoint.batches;
    let reads = [asked[0], asked[1], newest];
    let mut dropped = 0;
    for (table, mut expected) in versioned.into_iter().zip(all) {
        for versions in expected.values_mut() {
            let before = versions.len();
            let read = reads.map(|at| versions.iter().copied().find(|version| *version <= at));
            versions.retain(|version| read.contains(&Some(*version)));
            dropped += before - versions.len();
        }
        assert_eq!(versions_of(&store.snapshot(), table), expected);
    }
    assert!(dropped > 100, "{dropped}");
    for round in 0..2 {
        let snapshot = store.snapshot();
        for (place, state) in states.iter().enumerate() {
            let keys = some_keys(&model, &mut dice);
            if kept.contains(&place) || place >= 5 {
                state.check(&snapshot, &keys);
            } else {
                let batches = state.checkpoint.batches;
                let none = snapshot.state_proofs(batches, &keys).unwrap();
                assert!(none.is_none(), "after {batches} batches");
            }
        }
        drop(snapshot);
        // The next root is made from what is left.
        model.commit(&store, 200);
        if round == 0 {
            store.close().unwrap();
            store = model.open(data);
        }
        states.push(KeptState::of(&model, make(&store, &store.snapshot())));
    }
}

/// The choice of versions is older than the newest root, and a later one was abandoned.
#[test]
fn the_newest_root_stays_whatever_was_kept_before_it() {
    let directory = tempfile::tempdir().unwrap();
    let mut model = StateModel::new(32);
    let store = opened(&model, directory.path());
    model.commit(&store, 300);
    let first = KeptState::of(&model, make(&store, &store.snapshot()));
    store.keep_states(Vec::new()).unwrap();
    model.commit(&store, 300);
    let newest = KeptState::of(&model, make(&store, &store.snapshot()));
    model.commit(&store, 500);
    model.commit(&store, 100);
    let mut calls = 0;
    let left = store.make_state(&store.snapshot(), &mut || {
        calls += 1;
        calls < 2
    });
    assert!(matches!(left, Err(StateError::Abandoned)));
    store.drop_expired().unwrap();
    let mut dice = Dice(4);
    for state in [&first, &newest] {
        let keys = some_keys(&model, &mut dice);
        state.check(&store.snapshot(), &keys);
    }
    model.commit(&store, 10);
    let made = make(&store, &store.snapshot());
    assert_eq!(made.root, model.root());
    // What the abandoned one left goes with the versions before the newest root.
    store.keep_states(Vec::new()).unwrap();
    store.drop_expired().unwrap();
    let entries = versions_of(&store.snapshot(), Table::StateEntries);
    assert_eq!(entries.len(), model.resources.len());
    assert!(entries.values().all(|versions| versions.len() == 1));
}

/// Makes a closed store one of the format before the state.
fn without_state(data: &Path) {
    let mut db = raw(data);
    for table in STATE_TABLES.iter().chain(&[Table::Checkpoints]) {
        db.drop_cf(table.name()).unwrap();
    }
    let meta = db.cf_handle("meta").unwrap();
    db.delete_cf(meta, b"roots_from").unwrap();
    db.put_cf(meta, b"format", 8_u64.to_be_bytes()).unwrap();
}

#[test]
fn a_store_without_a_state_is_upgraded_and_gets_its_first_root() {
    let directory = tempfile::tempdir().unwrap();
    let data = directory.path();
    let mut model = StateModel::new(41);
    let store = model.open(data);
    model.commit(&store, 200);
    store.close().unwrap();
    without_state(data);
    let before = contents(data);
    let looking = StoreOptions {
        access: StoreAccess::Read,
        ..options(data)
    };
    let error = Store::open(looking).unwrap_err();
    let is_refused = matches!(&error, StoreOpenError::OtherFormat { found } if found == "8");
    assert!(is_refused, "{error}");
    let text = error.to_string();
    let remedy = "start the server once if the format is 7 or 8, which upgrades it";
    assert!(
        text.contains("format 8;") && text.contains("reads format 9") && text.contains(remedy),
        "{text}"
    );
    assert!(contents(data) == before, "a reader changed something");

    for round in 0..3 {
        let store = model.open(data);
        assert_eq!(store.mode(), StoreMode::ReadWrite);
        let snapshot = store.snapshot();
        assert_eq!(snapshot.roots_from().unwrap(), None);
        assert_eq!(snapshot.newest_checkpoint().unwrap(), None);
        assert_eq!(snapshot.newest_root().unwrap(), None);
        drop(snapshot);
        store.close().unwrap();
        let looking = StoreOptions {
            access: StoreAccess::Read,
            ..options(data)
        };
        assert!(Store::open(looking).is_ok());
        match round {
            // The upgrade was cut off after the tables were made, and before.
            0 => {
                let db = raw(data);
                let meta = db.cf_handle("meta").unwrap();
                db.put_cf(meta, b"format", 8_u64.to_be_bytes()).unwrap();
            }
            1 => without_state(data),
            _ => {}
        }
    }
    let store = opened(&model, data);
    let made = make(&store, &store.snapshot());
    assert_eq!(made.root, model.root());
    model.commit(&store, 100);
    let mut group = WriteGroup::new();
    let from = model.log.head.batches + 1;
    group.put_roots_from(from);
    let snapshot = store.commit(group).unwrap();
    assert_eq!(snapshot.roots_from().unwrap(), Some(from));
    let made = make(&store, &snapshot);
    assert_eq!(made.root, model.root());
    drop(snapshot);
    let store = ended(store, &model, data, 2);
    assert_eq!(store.snapshot().roots_from().unwrap(), Some(from));
    store.close().unwrap();
    assert_eq!(roots_from_nothing(&model, data), [made; 2]);
}

#[test]
fn a_store_of_an_earlier_format_with_fewer_tables_is_upgraded_in_one_step() {
    let directory = tempfile::tempdir().unwrap();
    let data = directory.path();
    let mut model = StateModel::new(42);
    let store = model.open(data);
    model.commit(&store, 200);
    store.close().unwrap();
    without_state(data);
    let db = raw(data);
    let lists = db.cf_handle("object_index").unwrap();
    let rows: Vec<_> = db
        .prefix_iterator_cf(lists, [2])
        .map(Result::unwrap)
        .take_while(|(key, _)| key[0] == 2)
        .collect();
    assert!(rows.len() > 10, "{}", rows.len());
    for (key, row) in rows {
        db.put_cf(lists, key, &row[..16]).unwrap();
    }
    let meta = db.cf_handle("meta").unwrap();
    db.put_cf(meta, b"format", 7_u64.to_be_bytes()).unwrap();
    drop(db);
    let store = opened(&model, data);
    let made = make(&store, &store.snapshot());
    assert_eq!(made.root, model.root());
}

// Holds invariant 257.
#[test]
fn a_new_log_says_that_all_its_checkpoints_have_roots() {
    let directory = tempfile::tempdir().unwrap();
    let data = directory.path();
    let mut model = StateModel::new(51);
    let store = model.open(data);
    assert_eq!(store.snapshot().roots_from().unwrap(), Some(0));
    model.commit(&store, 20);
    store.close().unwrap();
    // The log says it: the rows are made again.
    let mark = rows_path(data).join("RELEASED");
    let released = std::fs::read(&mark).unwrap();
    std::fs::remove_dir_all(rows_path(data)).unwrap();
    std::fs::create_dir(rows_path(data)).unwrap();
    std::fs::write(&mark, released).unwrap();
    let store = model.open(data);
    assert_eq!(store.snapshot().roots_from().unwrap(), Some(0));
    assert_eq!(store.snapshot().root_due().unwrap(), None);
    let mut group = WriteGroup::new();
    assert!(!group.is_root_due());
    group.put_root_due(model.log.head.batches);
    assert!(group.is_root_due());
    store.commit(&group).unwrap();
    let store = ended(store, &model, data, 2);
    let due = store.snapshot().root_due().unwrap();
    assert_eq!(due, Some(model.log.head.batches));
}

// Holds invariant 257.
/// Each node has the key of an empty shared log before the log names it, and nothing more.
#[test]
fn a_shared_log_says_itself_from_when_on_checkpoints_have_roots() {
    let directory = tempfile::tempdir().unwrap();
    let shared = || StoreOptions {
        replicate: Some(LogReplicator(Arc::new(|file| Box::new(file)))),
        ..options(directory.path())
    };
    for _ in 0..2 {
        let store = Store::open(shared()).unwrap();
        let snapshot = store.snapshot();
        assert!(snapshot.first_sequencer_key().is_ok());
        assert_eq!(snapshot.roots_from().unwrap(), None);
    }
    let store = Store::open(shared()).unwrap();
    let snapshot = store.name_first_key(sequencer().address()).unwrap();
    assert_eq!(snapshot.roots_from().unwrap(), Some(0));
    drop((snapshot, store));
    let store = StateModel::new(52).open(directory.path());
    assert_eq!(store.snapshot().roots_from().unwrap(), Some(0));
}

/// Only a variation's own action shows its integrity.
#[test]
fn a_first_root_needs_the_actions_that_made_variations() {
    let directory = tempfile::tempdir().unwrap();
    let data = directory.path();
    let mut model = StateModel::new(61);
    let store = opened(&model, data);
    for _ in 0..4 {
        model.commit(&store, 450);
    }
    let made = make(&store, &store.snapshot());
    store.close().unwrap();
    let segments: Vec<_> = (files(&log_path(data)).into_iter())
        .map(|(path, _)| log_path(data).join(path))
        .collect();
    assert!(segments.len() > 1);
    let archived = tempfile::tempdir().unwrap();
    let away = archived.path().join("segment");
    std::fs::rename(&segments[0], &away).unwrap();
    // A next root does not.
    let mut store = model.open(data);
    model.commit(&store, 100);
    let next = make(&store, &store.snapshot());
    assert_eq!(next.root, model.root());
    assert_eq!(make(&store, &store.snapshot()), next);
    assert_eq!(store.snapshot().root_at(made.batches).unwrap(), Some(made));
    store.close().unwrap();
    forget_state(data);
    store = opened(&model, data);
    let missing = store.make_state(&store.snapshot(), &mut || true);
    let Err(StateError::Read(error)) = missing else {
        panic!("{missing:?}")
    };
    assert!(error.to_string().contains("are archived"), "{error}");
    assert_eq!(store.mode(), StoreMode::ReadWrite);
    drop(store);
    std::fs::rename(&away, &segments[0]).unwrap();
    store = opened(&model, data);
    assert_eq!(make(&store, &store.snapshot()), next);
}

#[test]
fn a_store_that_lost_a_table_is_damaged() {
    let directory = tempfile::tempdir().unwrap();
    let mut model = StateModel::new(62);
    let store = opened(&model, directory.path());
    model.commit(&store, 50);
    make(&store, &store.snapshot());
    store.close().unwrap();
    for (table, format) in [
        (Table::Objects, 9_u64),
        (Table::StateNodes, 9),
        (Table::Checkpoints, 9),
        (Table::Wallets, 8),
        (Table::Wallets, 7),
    ] {
        let copied = tempfile::tempdir().unwrap();
        copy(directory.path(), copied.path());
        let mut db = raw(copied.path());
        db.drop_cf(table.name()).unwrap();
        let meta = db.cf_handle("meta").unwrap();
        db.put_cf(meta, b"format", format.to_be_bytes()).unwrap();
        drop(db);
        let before = contents(copied.path());
        let error = Store::open(options(copied.path())).unwrap_err();
        let what = format!("the table {} is missing", table.name());
        assert!(
            matches!(error, StoreOpenError::Corruption { .. }),
            "{error}"
        );
        assert!(error.to_string().contains(&what), "{error}");
        assert!(contents(copied.path()) == before, "{table:?}");
    }
}
