//! Rows expire by the log's time, whatever the system's clock shows.

use kedge_protocol::Hash;
use kedge_storage::{SideWrite, Store, WriteGroup};

use crate::support::{Log, START_MS, open};

/// The second of the first batch.
const START_S: u64 = START_MS / 1_000;

/// A request that failed as a whole, remembered until this second.
fn refuse(store: &Store, until_s: u64) -> Hash {
    let digest = kedge_protocol::hash::keccak(&until_s.to_be_bytes());
    let mut group = WriteGroup::new();
    group.put_side(SideWrite::Refused {
        digest,
        deadline_s: until_s,
    });
    store.commit(group).unwrap();
    digest
}

fn is_known(store: &Store, digest: Hash) -> bool {
    store.snapshot().refused(digest).unwrap().is_some()
}

// Holds invariant 146.
/// The log's time is long past by the system's clock: rows that expire after the log's time are kept nevertheless.
#[test]
fn rows_expire_by_the_logs_time_and_not_by_the_clocks() {
    let directory = tempfile::tempdir().unwrap();
    let store = open(directory.path()).unwrap();
    // Before the log has any time nothing expires.
    let old = refuse(&store, 1);
    store.drop_expired().unwrap();
    assert!(is_known(&store, old));

    let mut log = Log::default();
    log.commit_many(&store, 1);
    let over = refuse(&store, START_S - 1);
    let last = refuse(&store, START_S);
    let next = refuse(&store, START_S + 1);
    store.drop_expired().unwrap();
    let known = |store: &Store| [old, over, last, next].map(|digest| is_known(store, digest));
    assert_eq!(known(&store), [false, false, true, true]);

    // A start knows where the log ends, and uses that time.
    let over = refuse(&store, START_S - 2);
    store.close().unwrap();
    let store = open(directory.path()).unwrap();
    store.drop_expired().unwrap();
    assert!(!is_known(&store, over));
    assert_eq!(known(&store), [false, false, true, true]);

    // The log advances, by two seconds.
    log.commit_many(&store, 201);
    store.drop_expired().unwrap();
    assert_eq!(known(&store), [false; 4]);
}
