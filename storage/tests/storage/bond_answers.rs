//! Answers to cases of the bond: kept until they are forgotten, whatever happens to the process.

use kedge_protocol::Hash;
use kedge_storage::{SideWrite, Store, WriteGroup};

use crate::support::{kill, open};

fn write(store: &Store, case: Hash, sent: Option<&[u8]>) {
    let mut group = WriteGroup::new();
    let sent = sent.map(<[u8]>::to_vec);
    group.put_side(SideWrite::BondAnswer { case, sent });
    store.commit(group).unwrap();
}

/// The rows, in an order on which no reader may rely.
fn rows(store: &Store) -> Vec<Vec<u8>> {
    let mut rows = store.snapshot().bond_answers().unwrap();
    rows.sort();
    rows
}

// Holds invariant 68.
#[test]
fn answers_are_kept_one_a_case_until_they_are_forgotten() {
    let directory = tempfile::tempdir().unwrap();
    let (first, second) = (Hash([1; 32]), Hash([2; 32]));
    let store = open(directory.path()).unwrap();
    assert_eq!(rows(&store), Vec::<Vec<u8>>::new());
    write(&store, first, Some(b"one"));
    write(&store, second, Some(b"two"));
    write(&store, first, Some(b"one more attempt"));
    kill(store, directory.path());

    // The next process finds the last answer to each case.
    let store = open(directory.path()).unwrap();
    assert_eq!(
        rows(&store),
        [b"one more attempt".to_vec(), b"two".to_vec()]
    );
    write(&store, first, None);
    // Forgetting a case that has no row works too.
    write(&store, Hash([3; 32]), None);
    assert_eq!(rows(&store), [b"two".to_vec()]);
    kill(store, directory.path());

    let store = open(directory.path()).unwrap();
    assert_eq!(rows(&store), [b"two".to_vec()]);
}
