//! An action's id leads to it, wherever its place in the index is: in memory, in the table, or about to move.

use std::path::Path;

use kedge_protocol::Id;
use kedge_storage::{PlacedAction, Snapshot, Table};

use crate::support::{Log, kill, open, raw, rows_path};

fn ids(snapshot: &Snapshot) -> Vec<Id> {
    let last = snapshot.head().unwrap().sequence;
    let actions = snapshot.actions_between(1, last).unwrap();
    actions.iter().map(PlacedAction::id).collect()
}

fn found(snapshot: &Snapshot, ids: &[Id]) -> Vec<Option<u64>> {
    let of = |id: &Id| snapshot.action_sequence(*id).unwrap();
    ids.iter().map(of).collect()
}

fn all(count: usize) -> Vec<Option<u64>> {
    (1..=count as u64).map(Some).collect()
}

fn rows(path: &Path) -> usize {
    let db = raw(path);
    let family = db.cf_handle(Table::Actions.name()).unwrap();
    db.iterator_cf(family, rocksdb::IteratorMode::Start).count()
}

#[test]
fn ids_lead_to_actions_before_and_after_they_move_into_the_table() {
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

    // Killed: what was only in memory comes back from the log.
    kill(store, directory.path());
    assert_eq!(rows(directory.path()), 0);
    let store = open(directory.path()).unwrap();
    assert_eq!(found(&store.snapshot(), &ids), all(32));

    // Closed: everything is in the table, and the next start reads nothing for it.
    store.close().unwrap();
    assert_eq!(rows(directory.path()), 32);
    let store = open(directory.path()).unwrap();
    log.commit_many(&store, 1);
    let snapshot = store.snapshot();
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
    let in_the_way = rows_path(directory.path()).join("ACTION-INDEX.tmp");
    std::fs::create_dir(&in_the_way).unwrap();
    store.close().unwrap();
    assert_eq!(rows(directory.path()), 0);

    std::fs::remove_dir(&in_the_way).unwrap();
    let store = open(directory.path()).unwrap();
    assert_eq!(found(&store.snapshot(), &ids), all(8));
    store.close().unwrap();
    assert_eq!(rows(directory.path()), 8);
}

/// A kill while a file was moved into the table could leave a second name for the table's own file. A file with that
/// name is never written to.
#[test]
fn a_leftover_link_to_a_live_table_file_costs_nothing() {
    let directory = tempfile::tempdir().unwrap();
    let mut log = Log::default();
    let store = open(directory.path()).unwrap();
    log.commit_many(&store, 4);
    store.close().unwrap();
    let live = {
        let db = raw(directory.path());
        let files = db.live_files().unwrap();
        let mut of_actions = files
            .iter()
            .filter(|file| file.column_family_name == Table::Actions.name());
        let file = of_actions.next().unwrap().name.clone();
        rows_path(directory.path()).join(file.trim_start_matches('/'))
    };
    let bytes = std::fs::read(&live).unwrap();
    std::fs::hard_link(&live, rows_path(directory.path()).join("ACTION-INDEX.tmp")).unwrap();

    let store = open(directory.path()).unwrap();
    log.commit_many(&store, 4);
    store.close().unwrap();
    assert!(
        std::fs::read(&live).unwrap() == bytes,
        "a live file changed"
    );
    assert!(
        !rows_path(directory.path())
            .join("ACTION-INDEX.tmp")
            .exists()
    );
    let store = open(directory.path()).unwrap();
    let snapshot = store.snapshot();
    assert_eq!(found(&snapshot, &ids(&snapshot)), all(32));
    crate::verifying::walk(&snapshot).unwrap();
}

#[test]
fn many_actions_move_while_the_store_goes_on() {
    let directory = tempfile::tempdir().unwrap();
    let mut log = Log::default();
    let store = open(directory.path()).unwrap();
    log.commit_many(&store, 2);
    // Enough for a file: ids that nobody made, as if they came before the log's own.
    let strange: Vec<([u8; 16], u64)> = (0..300_000u64)
        .map(|n| {
            let mut id = [0xee; 16];
            id[..8].copy_from_slice(&n.wrapping_mul(0x9e37_79b9_7f4a_7c15).to_le_bytes());
            (id, 1 + n % 8)
        })
        .collect();
    for some in strange.chunks(50_000) {
        store.index(some);
        log.commit_many(&store, 1);
    }
    let snapshot = store.snapshot();
    assert_eq!(found(&snapshot, &ids(&snapshot)), all(32));
    drop(snapshot);
    store.close().unwrap();
    assert_eq!(rows(directory.path()), 300_000 + 32);
}
