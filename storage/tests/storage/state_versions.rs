//! Versions that the newest root reads stay while the next one is made, however often that is left and begun again.

use kedge_protocol::{Id, Prefix};
use kedge_storage::{PastResources, StateError, StateRoot, Store, Table};

use crate::state_model::StateModel;

fn make(store: &Store) -> StateRoot {
    store.make_state(&store.snapshot(), &mut || true).unwrap()
}

fn has_branches_of(store: &Store, version: u64) -> bool {
    let snapshot = store.snapshot();
    snapshot.raw_rows(Table::StateNodes).any(|row| {
        let (key, _) = row.unwrap();
        key.ends_with(&(!version).to_be_bytes())
    })
}

// Holds invariants 258, 264.
#[test]
fn a_root_that_was_left_half_written_hides_nothing_that_the_newest_one_reads() {
    for seed in 50..53 {
        let directory = tempfile::tempdir().unwrap();
        let mut model = StateModel::new(seed);
        let store = model.open(directory.path());
        store.track_state();
        for _ in 0..4 {
            model.commit(&store, 800);
        }
        let signed = make(&store);
        // Two roots without a checkpoint: the second changes little, so it reads branches of the first.
        model.commit(&store, 400);
        make(&store);
        model.commit(&store, 1);
        assert_eq!(make(&store).root, model.root());
        // Only one has a checkpoint, and a restart forgets which others were in the making.
        store.keep_states(vec![signed.batches]).unwrap();
        model.commit(&store, 400);
        let left = model.log.head.batches;
        let made = store.make_state(&store.snapshot(), &mut || !has_branches_of(&store, left));
        assert!(matches!(made, Err(StateError::Abandoned)), "seed {seed}");
        store.keep_states(vec![signed.batches]).unwrap();
        store.drop_expired().unwrap();
        model.commit(&store, 20);
        assert_eq!(make(&store).root, model.root(), "seed {seed}");
    }
}

// Holds invariant 272.
#[test]
fn a_remembered_place_proves_no_entry_that_was_dropped() {
    let directory = tempfile::tempdir().unwrap();
    let mut model = StateModel::new(60);
    let store = model.open(directory.path());
    store.track_state();
    model.commit(&store, 800);
    let first = make(&store);
    store.keep_states(vec![first.batches]).unwrap();
    let old = store.snapshot();
    let keys: Vec<Id> = model.resources.keys().copied().collect();
    let proven = old.state_proofs(first.batches, &keys).unwrap().unwrap();
    for proof in &proven {
        assert_eq!(proof.verify(&first.root), Ok(()));
    }
    // The snapshot still has the first root, whose rows a compaction drops.
    for _ in 0..4 {
        model.commit(&store, 800);
    }
    make(&store);
    store.keep_states(Vec::new()).unwrap();
    store.drop_expired().unwrap();
    let mut refused = 0;
    for key in &keys {
        match old.state_proofs(first.batches, &[*key]).unwrap() {
            Some(proofs) => assert_eq!(proofs[0].verify(&first.root), Ok(())),
            None => refused += 1,
        }
    }
    assert!(refused > 0, "nothing was dropped");
}

#[test]
fn past_resources_stay_as_they_were_after_layers_and_rows_were_replaced() {
    let directory = tempfile::tempdir().unwrap();
    let mut model = StateModel::new(61);
    let store = model.open(directory.path());
    // Some rows are in RocksDB, and some in memory above it.
    model.commit(&store, 800);
    store.flush().unwrap();
    model.commit(&store, 400);
    let snapshot = store.snapshot();
    let known = |prefix: Prefix| {
        model
            .resources
            .keys()
            .copied()
            .filter(move |id| id.prefix == prefix)
    };
    let objects = known(Prefix::Object).map(|id| (id, snapshot.object(id).unwrap()));
    let objects: Vec<_> = objects.collect();
    let templates = known(Prefix::Template).map(|id| (id, snapshot.template(id).unwrap()));
    let templates: Vec<_> = templates.collect();
    let past = PastResources::of(&snapshot, &mut || true).unwrap();
    assert!(PastResources::of(&snapshot, &mut || false).is_none());
    drop(snapshot);
    for _ in 0..3 {
        model.commit(&store, 800);
        store.flush().unwrap();
    }
    let now = store.snapshot();
    let mut changed = 0;
    for (id, then) in &objects {
        assert_eq!(&past.object(*id).unwrap(), then);
        changed += usize::from(&now.object(*id).unwrap() != then);
    }
    for (id, then) in &templates {
        assert_eq!(&past.template(*id).unwrap(), then);
    }
    assert!(
        changed > 50 && templates.len() > 1,
        "{changed} objects changed"
    );
}
