//! The table of the sequencer's keys, compared with the log.

use crate::support::{Log, id, open, plan};
use kedge_protocol::resource::{SequencerKey, Trace};
use kedge_protocol::{Address, KeyFrom, Prefix};
use kedge_storage::verify::verify;
use kedge_storage::{Fault, Group, Table};

fn named(from_batch: u64) -> Group {
    let mut group = Group::new();
    group.put_sequencer_key(&SequencerKey {
        id: id(Prefix::Action, 1),
        entry: KeyFrom {
            key: Address([9; 20]),
            from_batch,
        },
        trace: Trace {
            sequence: 2,
            ..Trace::NEW
        },
    });
    group
}

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
            Fault::Wrong { sequence, what } if of_header => {
                assert_eq!(sequence, 5, "{what}");
                assert!(what.contains("key of its number"), "{what}");
            }
            Fault::Rows { table, what } if !of_header => {
                assert_eq!(table, Table::SequencerKeys);
                assert!(what.contains("no action of the log names"), "{what}");
            }
            other => panic!("{from_batch}: {other}"),
        }
    }
}
