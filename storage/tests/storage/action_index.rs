//! Action ids lead to their actions, whether they are in memory, in a file, or being moved.

use std::path::Path;

use kedge_protocol::Id;
use kedge_storage::{PlacedAction, Store, StoreOpenError, StoreSnapshot};

use crate::id_files::{directory_of, name, names};
use crate::support::{Log, kill, open, options, rows_path};

fn ids(snapshot: &StoreSnapshot) -> Vec<Id> {
    let last = snapshot.head().unwrap().sequence;
    let actions = snapshot.actions_between(1, last).unwrap();
    actions.iter().map(PlacedAction::id).collect()
}

fn found(snapshot: &StoreSnapshot, ids: &[Id]) -> Vec<Option<u64>> {
    let of = |id: &Id| snapshot.action_sequence(*id).unwrap();
    ids.iter().map(of).collect()
}

fn all(count: usize) -> Vec<Option<u64>> {
    (1..=count as u64).map(Some).collect()
}

// Holds invariant 2.
#[test]
fn ids_lead_to_actions_before_and_after_they_move_into_a_file() {
    let directory = tempfile::tempdir().unwrap();
    let mut log = Log::default();
    let store = open(directory.path()).unwrap();
    log.commit_many(&store, 4);
    let early = store.snapshot();
    log.commit_many(&store, 4);
    let late = store.snapshot();
    let ids = ids(&late);
    assert_eq!(found(&late, &ids), all(32));
    let mut early_finds = all(16);
    early_finds.resize(32, None);
    assert_eq!(
        found(&early, &ids),
        early_finds,
        "a snapshot shows nothing later"
    );
    drop((early, late));

    // Killed: the ids in memory come back from the log.
    kill(store, directory.path());
    assert!(names(directory.path()).is_empty());
    let store = open(directory.path()).unwrap();
    assert_eq!(found(&store.snapshot(), &ids), all(32));

    // Closed: every id is in a file, and the next start reads nothing for them.
    store.close().unwrap();
    assert_eq!(names(directory.path()), [name(1, 32)]);
    let store = open(directory.path()).unwrap();
    log.commit_many(&store, 1);
    let snapshot = store.snapshot();
    assert_eq!(snapshot.indexed(), 32);
    assert_eq!(found(&snapshot, &ids), all(32));
    let newest = snapshot.action_at(36).unwrap().unwrap().id();
    assert_eq!(found(&snapshot, &[newest]), [Some(36)]);
}

#[test]
fn what_cannot_be_written_stays_in_memory() {
    let directory = tempfile::tempdir().unwrap();
    let mut log = Log::default();
    let store = open(directory.path()).unwrap();
    log.commit_many(&store, 2);
    let ids = ids(&store.snapshot());
    let in_the_way = directory_of(directory.path()).join("new.tmp");
    std::fs::create_dir(&in_the_way).unwrap();
    store.close().unwrap();
    assert_eq!(names(directory.path()), ["new.tmp"]);

    std::fs::remove_dir(&in_the_way).unwrap();
    let store = open(directory.path()).unwrap();
    assert_eq!(found(&store.snapshot(), &ids), all(8));
    store.close().unwrap();
    assert_eq!(names(directory.path()), [name(1, 8)]);
}

/// Every stop leaves a file, however few actions there were.
#[test]
fn small_files_are_merged() {
    let directory = tempfile::tempdir().unwrap();
    let mut log = Log::default();
    for _ in 0..4 {
        let store = open(directory.path()).unwrap();
        log.commit_many(&store, 2);
        store.close().unwrap();
    }
    let four = names(directory.path());
    assert_eq!(four.len(), 4);
    // Remains of a killed merge.
    let place = directory_of(directory.path());
    std::fs::copy(place.join(&four[0]), place.join("merged.tmp")).unwrap();
    let store = open(directory.path()).unwrap();
    while store.maintain(&mut |_| {}).unwrap() {}
    assert_eq!(names(directory.path()), [name(1, 32)]);
    let snapshot = store.snapshot();
    assert_eq!(found(&snapshot, &ids(&snapshot)), all(32));
    crate::verifying::walk(&snapshot).unwrap();
}

fn refused(data: &Path) -> String {
    match Store::open(options(data)) {
        Err(error @ StoreOpenError::Corruption { .. }) => error.to_string(),
        other => panic!("{other:?}"),
    }
}

// Holds invariant 166.
/// A store without one of its files, or with one of another log, is refused with a remedy.
#[test]
fn files_that_do_not_belong_together_are_refused() {
    let directory = tempfile::tempdir().unwrap();
    let mut log = Log::default();
    for _ in 0..2 {
        let store = open(directory.path()).unwrap();
        log.commit_many(&store, 2);
        store.close().unwrap();
    }
    let place = directory_of(directory.path());
    let first = place.join(name(1, 8));
    let bytes = std::fs::read(&first).unwrap();
    std::fs::remove_file(&first).unwrap();
    let text = refused(directory.path());
    assert!(
        text.contains("from sequence 1 on is missing") && text.contains("kedge rebuild"),
        "{text}"
    );
    std::fs::write(&first, &bytes).unwrap();
    open(directory.path()).unwrap().close().unwrap();

    // It leads to actions that the log does not have.
    let mut longer = Log::default();
    let other = tempfile::tempdir().unwrap();
    let store = open(other.path()).unwrap();
    longer.commit_many(&store, 9);
    store.close().unwrap();
    let theirs = name(1, 36);
    std::fs::copy(
        directory_of(other.path()).join(&theirs),
        place.join(&theirs),
    )
    .unwrap();
    let text = refused(directory.path());
    assert!(
        text.contains("reach sequence 36, but the log ends before 17"),
        "{text}"
    );
    // Nothing was changed: without it the store opens.
    std::fs::remove_file(place.join(&theirs)).unwrap();
    let store = open(directory.path()).unwrap();
    let snapshot = store.snapshot();
    assert_eq!(found(&snapshot, &ids(&snapshot)), all(16));
    drop((snapshot, store));

    // Files of a removed store belong to no other one.
    for entry in std::fs::read_dir(rows_path(directory.path())).unwrap() {
        let path = entry.unwrap().path();
        if path.is_file() {
            std::fs::remove_file(path).unwrap();
        }
    }
    std::fs::remove_dir_all(directory.path().join("log")).unwrap();
    open(directory.path()).unwrap().close().unwrap();
    assert!(names(directory.path()).is_empty());
}
