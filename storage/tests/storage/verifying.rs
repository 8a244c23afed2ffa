//! Verification of a whole store: every change to it is named, and a replay gives the same state.

use std::path::Path;

use kedge_protocol::Prefix;
use kedge_protocol::eip712::Domain;
use kedge_storage::verify::{
    StoreDifference, StoreVerifyPlan, StoreVerifyProgress, StoreVerifySummary, compare_state,
    verify,
};
use kedge_storage::{SideWrite, Store, StoreFault, StoreSnapshot, Table, WriteGroup};

use crate::forging::{Change, forge};
use crate::id_files::{self, Ids};
use crate::support::{
    Log, copy, domain, id, kill, open, options, plan, raw, sequencer, signer, tamper,
};

pub(crate) const BATCHES: u64 = 8;

pub(crate) fn made() -> (tempfile::TempDir, Log) {
    let directory = tempfile::tempdir().unwrap();
    let mut log = Log::default();
    let store = open(directory.path()).unwrap();
    log.commit_many(&store, BATCHES);
    store.close().unwrap();
    (directory, log)
}

pub(crate) fn walk(snapshot: &StoreSnapshot) -> Result<StoreVerifySummary, StoreFault> {
    verify(snapshot, &plan(), |_| (), |_, _| Ok(()))
}

#[test]
fn a_right_store_passes_and_shows_every_request_once() {
    let (directory, log) = made();
    let store = open(directory.path()).unwrap();
    let mut steps = Vec::new();
    let mut sequences = Vec::new();
    let summary = verify(
        &store.snapshot(),
        &plan(),
        |progress| steps.push(progress.batches),
        |record, contents| {
            assert_eq!(record.actions.len(), contents.len());
            sequences.extend(record.first_sequence..=record.last_sequence());
            Ok(())
        },
    );
    let expected = StoreVerifySummary {
        batches: BATCHES,
        requests: 2 * BATCHES,
        actions: 4 * BATCHES,
        additions_without_consent: 0,
        resources: 2 * BATCHES,
        anchors: 0,
        checkpoints: 0,
    };
    assert_eq!(summary, Ok(expected));
    assert!(sequences.into_iter().eq(1..=log.head.sequence));
    assert!(steps.into_iter().eq(1..=BATCHES));
}

#[test]
fn the_replay_may_refuse_a_request() {
    let (directory, _) = made();
    let store = open(directory.path()).unwrap();
    let refuse = |record: &kedge_protocol::record::RequestRecord<'_>, _: &[_]| {
        if record.first_sequence == 7 {
            Err("the rules do not allow it".to_owned())
        } else {
            Ok(())
        }
    };
    let fault = verify(&store.snapshot(), &plan(), |_| (), refuse);
    assert_eq!(
        fault.unwrap_err().to_string(),
        "sequence 7: the rules do not allow it"
    );
}

/// The third batch holds sequences 9 to 12; opening checks only the last two.
#[test]
fn a_change_far_from_the_end_is_named() {
    let (directory, log) = made();
    let (action, third) = {
        let store = open(directory.path()).unwrap();
        let snapshot = store.snapshot();
        let action = snapshot.action_at(12).unwrap().unwrap().id();
        (action, snapshot.batch(2).unwrap().unwrap().id())
    };
    let named = |sequence: u64, what: &str, change: &dyn Fn(&Path)| {
        let copied = tempfile::tempdir().unwrap();
        copy(directory.path(), copied.path());
        change(copied.path());
        let store = open(copied.path()).unwrap();
        let fault = walk(&store.snapshot()).unwrap_err().to_string();
        let begins = format!("sequence {sequence}:");
        assert!(fault.starts_with(&begins), "{what}: {fault}");
    };
    let mut of_organization = log.organization.bytes.to_vec();
    of_organization.extend_from_slice(&11u64.to_be_bytes());
    let node = [&[0u8][..], &2u64.to_be_bytes()].concat();
    let rows: [(&str, &[u8], u64); 3] = [
        ("tree", &node, 9),
        ("batch_ids", &third.bytes, 9),
        ("requests_by_org", &of_organization, 11),
    ];
    for (table, key, sequence) in rows {
        named(sequence, table, &|data| {
            tamper(data, table, key, |value| *value.last_mut().unwrap() ^= 1);
        });
    }
    named(12, "id", &|data| {
        id_files::change(data, |ids| *ids.get_mut(&action.bytes).unwrap() ^= 1);
    });
    let in_log: [(&str, Change, u64); 4] = [
        (
            "payload",
            |parts| parts.requests[1].actions[1].payload.to_mut().push(' '),
            12,
        ),
        ("leaf", |parts| parts.leaves[3].0[0] ^= 1, 12),
        (
            "header",
            |parts| parts.batches[0].header.history.0[0] ^= 1,
            9,
        ),
        ("signature", |parts| parts.batches[0].signature.0[0] ^= 1, 9),
    ];
    for (what, change, sequence) in in_log {
        named(sequence, what, &|data| forge(data, 2, change));
    }
}

#[test]
fn an_anchor_of_another_history_is_found() {
    use kedge_protocol::checkpoint::Checkpoint;
    use kedge_protocol::{Address, Hash};
    use kedge_storage::{AnchorProgress, AnchorRow};
    let (directory, log) = made();
    let store = open(directory.path()).unwrap();
    let anchor = |number: u64, head: Hash| {
        let checkpoint = Checkpoint {
            batches: log.head.batches,
            sequence: log.head.sequence,
            head,
            history: log.tree.root(),
            state: Hash::ZERO,
            issued_at_ms: number,
        };
        SideWrite::Anchor(AnchorRow {
            number,
            id: checkpoint.anchor_id(),
            checkpoint: checkpoint.sign(&domain().separator(), &sequencer()),
            first_batch: 0,
            proof: Vec::new(),
            status: AnchorProgress::Pending,
            contract: Address::ZERO,
            tx_hashes: Vec::new(),
            tx: Vec::new(),
            block_number: None,
            block_hash: None,
            attempts: 0,
            issued_at_ms: number,
        })
    };
    let mut group = WriteGroup::new();
    group.put_side(anchor(0, log.head.head));
    let snapshot = store.commit(group).unwrap();
    assert_eq!(walk(&snapshot).unwrap().anchors, 1);
    let mut group = WriteGroup::new();
    group.put_side(anchor(1, Hash([1; 32])));
    let snapshot = store.commit(group).unwrap();
    let text = walk(&snapshot).unwrap_err().to_string();
    assert!(text.contains("anchor 1:"), "{text}");
}

#[test]
fn another_domain_makes_every_signature_wrong() {
    let (directory, _) = made();
    let store = open(directory.path()).unwrap();
    let other = Domain {
        chain_id: 1,
        ..domain()
    };
    let walked = verify(
        &store.snapshot(),
        &StoreVerifyPlan {
            domain: other,
            ..plan()
        },
        |_| (),
        |_, _| Ok(()),
    );
    assert!(walked.unwrap_err().to_string().starts_with("sequence 1:"));
}

/// The same log rewritten is the same state to the byte; a changed object shows.
#[test]
fn states_compare_to_the_byte() {
    let again = |path: &Path| -> Store {
        let store = open(path).unwrap();
        Log::default().commit_many(&store, BATCHES);
        store
    };
    let (directory, log) = made();
    let copied = tempfile::tempdir().unwrap();
    let replayed = again(copied.path());
    let one = open(directory.path()).unwrap();
    assert_eq!(compare_state(&one.snapshot(), &replayed.snapshot()), Ok(()));
    drop(one);
    let changed = log.objects[3].id;
    tamper(directory.path(), "objects", &changed.bytes, |value| {
        *value.last_mut().unwrap() ^= 1;
    });
    let one = open(directory.path()).unwrap();
    let difference = compare_state(&one.snapshot(), &replayed.snapshot()).unwrap_err();
    let expected = StoreDifference::Row {
        table: Table::Objects,
        key: kedge_protocol::hash::to_hex(&changed.bytes)[2..].to_owned(),
    };
    assert_eq!(difference, expected);
}

/// The result with windows of the log as small as a batch, slightly larger, and as large as the whole log, and with
/// resource states in memory or not; always the same.
pub(crate) fn found_with_each_window(
    snapshot: &StoreSnapshot,
) -> Result<StoreVerifySummary, StoreFault> {
    let scratch = tempfile::tempdir().unwrap();
    let found = [1, 9, 1 << 20].map(|window_actions| {
        let on_disk = (0, scratch.path().join(window_actions.to_string()));
        std::fs::create_dir(&on_disk.1).unwrap();
        let plan = StoreVerifyPlan {
            window_actions,
            resources: (window_actions < 10).then_some(on_disk),
            ..plan()
        };
        verify(snapshot, &plan, |_| (), |_, _| Ok(()))
    });
    assert!(found.iter().all(|one| *one == found[0]), "{found:?}");
    let [found, ..] = found;
    found
}

/// The text of the fault found after a change to the store.
fn found_after(change: impl Fn(&Path, &Log)) -> String {
    let (directory, log) = made();
    change(directory.path(), &log);
    let store = open(directory.path()).unwrap();
    found_with_each_window(&store.snapshot())
        .unwrap_err()
        .to_string()
}

/// The text of the fault found after a change to the action ids; `change` also gets those of all actions in the log's
/// order.
fn found_after_ids(change: impl Fn(&mut Ids, &[[u8; 16]])) -> String {
    found_after(|data, _| {
        id_files::change(data, |ids| {
            let mut ordered: Vec<_> = ids.iter().map(|(id, at)| (*at, *id)).collect();
            ordered.sort_unstable();
            let ordered: Vec<_> = ordered.into_iter().map(|(_, id)| id).collect();
            change(ids, &ordered);
        });
    })
}

// Holds invariants 59, 166.
#[test]
fn the_index_of_actions_leads_to_every_action_and_nowhere_else() {
    let astray = |what: &str| format!("the ids of actions: {what}");
    let key = |byte: &str| format!("0x{}", byte.repeat(16));
    // Away from the log's beginning, so that smaller windows find it later.
    let cases = [
        (
            "sequence 20: the action's id does not lead to its sequence".to_owned(),
            found_after_ids(|ids, all| assert!(ids.remove(&all[19]).is_some())),
        ),
        (
            "sequence 20: the action's id does not lead to its sequence".to_owned(),
            found_after_ids(|ids, all| assert_eq!(ids.insert(all[19], 2), Some(20))),
        ),
        (
            "sequence 5: the action's id does not lead to its sequence".to_owned(),
            found_after_ids(|ids, all| {
                ids.retain(|id, _| ![all[19], all[4]].contains(id));
            }),
        ),
        (
            astray(&format!(
                "{} leads to sequence 20, whose action has another id",
                key("09")
            )),
            found_after_ids(|ids, _| assert_eq!(ids.insert([9; 16], 20), None)),
        ),
        (
            astray(&format!(
                "{} leads to sequence 33, but the log ends at 32",
                key("f9")
            )),
            found_after_ids(|ids, _| assert_eq!(ids.insert([0xf9; 16], 33), None)),
        ),
        (
            astray(&format!(
                "{} leads to sequence 0, but the log ends at 32",
                key("f9")
            )),
            found_after_ids(|ids, _| assert_eq!(ids.insert([0xf9; 16], 0), None)),
        ),
    ];
    for (expected, found) in cases {
        assert_eq!(found, expected);
    }
}

// Holds invariant 59.
#[test]
fn the_lists_of_organizations_hold_every_request_and_nothing_else() {
    let key = |organization: u64, sequence: u64| {
        let organization = id(Prefix::Organization, organization).bytes;
        [&organization[..], &sequence.to_be_bytes()].concat()
    };
    let found = |organization, sequence, count| {
        found_after(|data, _| {
            let (db, key) = (raw(data), key(organization, sequence));
            let family = db.cf_handle("requests_by_org").unwrap();
            let done = match count {
                Some(count) => db.put_cf(family, key, u64::to_be_bytes(count)),
                None => db.delete_cf(family, key),
            };
            done.unwrap();
        })
    };
    let missing = "sequence 19: the request is not in its organization's list";
    assert_eq!(found(1, 19, None), missing);
    assert_eq!(found(1, 19, Some(1)), missing);
    let astray = |organization, sequence: u64, what: &str| {
        let key = kedge_protocol::hash::to_hex(&key(organization, sequence));
        format!(
            "table requests_by_org: the row under key {key} leads to sequence {sequence}, {what}"
        )
    };
    let begins = |count| format!("where no request of {count} actions of this organization begins");
    // Another organization's, one that begins inside a request, one after the end.
    assert_eq!(found(2, 19, Some(2)), astray(2, 19, &begins(2)));
    assert_eq!(found(1, 20, Some(1)), astray(1, 20, &begins(1)));
    let beyond = "but the log ends at 32";
    assert_eq!(found(1, 33, Some(2)), astray(1, 33, beyond));
}

// Holds invariant 59.
/// An index's fault is found at the end of a window. It does not hide an earlier fault of the log, nor does a later
/// fault of the log hide it.
#[test]
fn the_first_fault_of_all_is_told() {
    let refuse_at = |sequence: u64, snapshot: &StoreSnapshot| {
        let refused = verify(
            snapshot,
            &plan(),
            |_| (),
            |record, _| {
                let refused = record.first_sequence == sequence;
                if refused {
                    Err("no".to_owned())
                } else {
                    Ok(())
                }
            },
        );
        refused.unwrap_err().to_string()
    };
    let (directory, _) = made();
    let store = open(directory.path()).unwrap();
    let action = store.snapshot().action_at(12).unwrap().unwrap().id();
    drop(store);
    id_files::change(directory.path(), |ids| {
        assert_eq!(ids.insert(action.bytes, 13), Some(12));
    });
    let store = open(directory.path()).unwrap();
    let snapshot = store.snapshot();
    assert_eq!(refuse_at(9, &snapshot), "sequence 9: no");
    let id = "sequence 12: the action's id does not lead to its sequence";
    assert_eq!(refuse_at(13, &snapshot), id);
}

// Holds invariant 59.
/// Rows for absent batches and nodes are found wherever they are.
#[test]
fn a_row_too_many_is_found() {
    let number = 3u64.to_be_bytes().to_vec();
    let id = |byte: u8| vec![byte; 16];
    let node = |level: u8, index: u64| [&[level][..], &index.to_be_bytes()].concat();
    let cases = [
        (
            "batch_ids",
            id(0),
            number.clone(),
            "9 rows, but the log accounts for 8",
        ),
        (
            "batch_ids",
            id(0xff),
            number,
            "9 rows, but the log accounts for 8",
        ),
        (
            "tree",
            node(0, 8),
            vec![7; 32],
            "16 rows, but the log accounts for 15",
        ),
        (
            "tree",
            node(9, 0),
            vec![7; 32],
            "16 rows, but the log accounts for 15",
        ),
    ];
    for (table, key, value, what) in cases {
        let (directory, _) = made();
        let db = raw(directory.path());
        db.put_cf(db.cf_handle(table).unwrap(), key, value).unwrap();
        drop(db);
        let store = open(directory.path()).unwrap();
        let found = walk(&store.snapshot()).unwrap_err().to_string();
        assert_eq!(found, format!("table {table}: {what}"));
    }
}

/// The newest ids, which a start finds in the log, need not be in a file.
#[test]
fn the_newest_ids_may_be_in_no_file() {
    let (directory, _) = made();
    let store = open(directory.path()).unwrap();
    let mut log = Log::of(&store.snapshot()).unwrap();
    log.commit_many(&store, 4);
    store.flush().unwrap();
    kill(store, directory.path());
    let store = Store::open_to_verify(options(directory.path())).unwrap();
    let summary = found_with_each_window(&store.snapshot()).unwrap();
    assert_eq!(summary.actions, 48);
    let earlier = store.snapshot().action_at(16).unwrap().unwrap().id();
    drop(store);
    id_files::change(directory.path(), |ids| {
        assert_eq!(ids.remove(&earlier.bytes), Some(16));
    });
    let store = Store::open_to_verify(options(directory.path())).unwrap();
    let fault = found_with_each_window(&store.snapshot()).unwrap_err();
    let expected = "sequence 16: the action's id does not lead to its sequence";
    assert_eq!(fault.to_string(), expected);
}

/// Only the signatures of requests are skipped if the caller asks for that.
#[test]
fn signatures_of_requests_can_be_left_out() {
    let directory = tempfile::tempdir().unwrap();
    let mut log = Log {
        forged: true,
        ..Log::default()
    };
    let store = open(directory.path()).unwrap();
    log.commit_many(&store, 1);
    log.forged = false;
    log.commit_many(&store, 3);
    let snapshot = store.snapshot();
    let with = |request_signatures| {
        let plan = StoreVerifyPlan {
            request_signatures,
            ..plan()
        };
        verify(&snapshot, &plan, |_| (), |_, _| Ok(()))
    };
    assert_eq!(with(false).unwrap().actions, 16);
    let named = with(true).unwrap_err().to_string();
    assert!(named.starts_with("sequence 1: signed by "), "{named}");
    let other = StoreVerifyPlan {
        keys: signer().address().into(),
        request_signatures: false,
        ..plan()
    };
    let named = verify(&snapshot, &other, |_| (), |_, _| Ok(())).unwrap_err();
    assert_eq!(
        named.to_string(),
        "sequence 1: the header is not signed with the sequencer's key of its number"
    );
}

/// More batches than the threads hold together are joined in order, however many there are.
#[test]
fn many_batches_are_joined_in_order_on_any_number_of_threads() {
    let directory = tempfile::tempdir().unwrap();
    let mut log = Log::default();
    let store = open(directory.path()).unwrap();
    log.commit_many(&store, 37);
    let snapshot = store.snapshot();
    for threads in [1, 2, 3, 16] {
        let plan = StoreVerifyPlan { threads, ..plan() };
        let mut steps = Vec::new();
        let progress = |progress: StoreVerifyProgress| steps.push(progress.batches);
        let summary = verify(&snapshot, &plan, progress, |_, _| Ok(()));
        assert_eq!(summary.unwrap().actions, 4 * 37);
        assert!(steps.into_iter().eq(1..=37), "{threads} threads");
    }
}
