//! The table of the sequencer's keys, compared with the log.

use crate::support::{Log, id, open, plan};
use kedge_protocol::resource::{ResourceTrace, SequencerKey};
use kedge_protocol::{Address, KeyActivation, Prefix};
use kedge_storage::verify::verify;
use kedge_storage::{NamedResource as _, StoreFault, Table, WriteGroup};

fn named(from_batch: u64) -> WriteGroup {
    let mut group = WriteGroup::new();
    let named = SequencerKey {
        id: id(Prefix::Action, 1),
        entry: KeyActivation {
            key: Address([9; 20]),
            from_batch,
        },
        trace: ResourceTrace {
            sequence: 2,
            ..ResourceTrace::NEW
        },
    };
    named.put_into(&mut group, None);
    group
}

// Holds invariant 106.
#[test]
fn a_key_that_no_action_names_is_found() {
    // For signed batches the headers contradict it, for later ones the log does.
    for (from_batch, of_header) in [(1, true), (9, false)] {
        let directory = tempfile::tempdir().unwrap();
        let mut log = Log::default();
        let store = open(directory.path()).unwrap();
        log.commit_many(&store, 3);
        let snapshot = store.snapshot();
        verify(&snapshot, &plan(), |_| (), |_, _| Ok(())).unwrap();
        store.commit(named(from_batch)).unwrap();
        let snapshot = store.snapshot();
        assert_eq!(snapshot.sequencer_keys().unwrap().entries().len(), 2);
        let fault = verify(&snapshot, &plan(), |_| (), |_, _| Ok(())).unwrap_err();
        match fault {
            StoreFault::Wrong { sequence, what } if of_header => {
                assert_eq!(sequence, 5, "{what}");
                assert!(what.contains("key of its number"), "{what}");
            }
            StoreFault::Rows { table, what } if !of_header => {
                assert_eq!(table, Table::SequencerKeys);
                assert!(what.contains("no action of the log names"), "{what}");
            }
            other => panic!("{from_batch}: {other}"),
        }
    }
}
