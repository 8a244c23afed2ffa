//! A whole store is walked: every change to it is named, and a replay gives the same state.

use std::path::Path;

use kedge_protocol::eip712::Domain;
use kedge_storage::verify::{Difference, Summary, compare_state, verify};
use kedge_storage::{Fault, Group, SideWrite, Snapshot, Store, Table};

use crate::support::{Log, copy, domain, open, sequencer, tamper};

const BATCHES: u64 = 8;

fn made() -> (tempfile::TempDir, Log) {
    let directory = tempfile::tempdir().unwrap();
    let mut log = Log::default();
    let store = open(directory.path()).unwrap();
    log.commit_many(&store, BATCHES);
    store.close().unwrap();
    (directory, log)
}

fn walk(snapshot: &Snapshot) -> Result<Summary, Fault> {
    verify(
        snapshot,
        &domain(),
        sequencer().address(),
        |_| (),
        |_, _| Ok(()),
    )
}

#[test]
fn a_right_store_passes_and_shows_every_request_once() {
    let (directory, log) = made();
    let store = open(directory.path()).unwrap();
    let mut steps = Vec::new();
    let mut sequences = Vec::new();
    let summary = verify(
        &store.snapshot(),
        &domain(),
        sequencer().address(),
        |progress| steps.push(progress.batches),
        |record, contents| {
            assert_eq!(record.actions.len(), contents.len());
            sequences.extend(record.first_sequence..=record.last_sequence());
            Ok(())
        },
    );
    let expected = Summary {
        batches: BATCHES,
        requests: 2 * BATCHES,
        actions: 4 * BATCHES,
        resources: 2 * BATCHES,
        anchors: 0,
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
    let fault = verify(
        &store.snapshot(),
        &domain(),
        sequencer().address(),
        |_| (),
        refuse,
    );
    assert_eq!(
        fault.unwrap_err().to_string(),
        "sequence 7: the rules do not allow it"
    );
}

/// The third batch holds sequences 9 to 12; opening looks at the last two only.
#[test]
fn a_change_far_from_the_end_is_named() {
    let (directory, log) = made();
    let request = 11u64.to_be_bytes();
    let batch = 2u64.to_be_bytes();
    let action = {
        let store = open(directory.path()).unwrap();
        store.snapshot().action_at(12).unwrap().unwrap().id()
    };
    let mut of_organization = log.organization.bytes.to_vec();
    of_organization.extend_from_slice(&request);
    let node = [&[0u8][..], &batch].concat();
    let cases: [(&str, &[u8], u64); 6] = [
        ("log", &request, 12),
        ("leaves", &batch, 12),
        ("batches", &batch, 9),
        ("tree", &node, 9),
        ("actions", &action.bytes, 12),
        ("requests_by_org", &of_organization, 11),
    ];
    for (table, key, sequence) in cases {
        let copied = tempfile::tempdir().unwrap();
        copy(directory.path(), copied.path());
        tamper(copied.path(), table, key, |value| {
            *value.last_mut().unwrap() ^= 1;
        });
        let store = open(copied.path()).unwrap();
        let fault = walk(&store.snapshot()).unwrap_err();
        let named = fault.to_string();
        assert!(
            named.starts_with(&format!("sequence {sequence}:")),
            "{table}: {named}"
        );
    }
}

#[test]
fn a_row_too_many_is_found() {
    let (directory, _) = made();
    {
        let db = crate::support::raw(directory.path());
        let family = db.cf_handle("actions").unwrap();
        db.put_cf(family, [9; 16], 1u64.to_be_bytes()).unwrap();
    }
    let store = open(directory.path()).unwrap();
    let fault = walk(&store.snapshot()).unwrap_err();
    assert!(matches!(
        fault,
        Fault::Rows {
            table: Table::Actions,
            ..
        }
    ));
}

#[test]
fn an_anchor_of_another_history_is_found() {
    use kedge_protocol::checkpoint::Checkpoint;
    use kedge_protocol::{Address, Hash};
    use kedge_storage::{AnchorRow, AnchorStatus};
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
            status: AnchorStatus::Pending,
            contract: Address::ZERO,
            tx_hashes: Vec::new(),
            tx: Vec::new(),
            block_number: None,
            block_hash: None,
            attempts: 0,
            issued_at_ms: number,
        })
    };
    let mut group = Group::new();
    group.put_side(anchor(0, log.head.head));
    let snapshot = store.commit(group).unwrap();
    assert_eq!(walk(&snapshot).unwrap().anchors, 1);
    let mut group = Group::new();
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
        &other,
        sequencer().address(),
        |_| (),
        |_, _| Ok(()),
    );
    assert!(walked.unwrap_err().to_string().starts_with("sequence 1:"));
}

/// The same log written again is the same state to the byte; a changed object shows.
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
    let expected = Difference::Row {
        table: Table::Objects,
        key: kedge_protocol::hash::to_hex(&changed.bytes)[2..].to_owned(),
    };
    assert_eq!(difference, expected);
}
