//! The log comes first: rows follow its durable frames, and are restored from it when they are lost.

use std::fs;
use std::path::Path;

use kedge_protocol::{Address, Hash, Prefix};
use kedge_storage::{
    CommitError, MissingMark, SecretRow, SessionRow, SideKeys, SideWrite, Store, StoreAccess,
    StoreOpenError, StoreOptions, StoreSnapshot, Table, UsageRow, WriteGroup,
};

use crate::support::{
    Log, Step, apply_frames, copy, domain, id, kill, log_path, open, open_where, open_with,
    options, rows_path, sequencer,
};

/// Every row of every table.
fn rows(snapshot: &StoreSnapshot) -> Vec<(Table, Vec<u8>, Vec<u8>)> {
    let rows = Table::ALL.iter().flat_map(|&table| {
        let rows = snapshot.raw_rows(table).map(Result::unwrap);
        rows.map(move |(key, value)| (table, key.into_vec(), value.into_vec()))
    });
    rows.collect()
}

fn assert_same(found: &StoreSnapshot, expected: &[(Table, Vec<u8>, Vec<u8>)]) {
    let found = rows(found);
    for (found, expected) in found.iter().zip(expected) {
        assert!(found == expected, "{found:?} and not {expected:?}");
    }
    assert_eq!(found.len(), expected.len());
}

/// A mark outside the data directory, which survives its loss.
fn with_mark(place: &Path, data: &Path) -> StoreOptions {
    StoreOptions {
        high_water_path: Some(place.join("mark")),
        ..options(data)
    }
}

/// One side write of each kind, and rows that are deleted again.
fn side_writes() -> Vec<SideWrite> {
    let (wallet, webhook) = (id(Prefix::Wallet, 1), id(Prefix::Webhook, 1));
    vec![
        SideWrite::Password {
            wallet,
            phc: "$argon2id$x".to_owned(),
        },
        SideWrite::Session {
            token_hash: [4; 32],
            row: SessionRow {
                wallet_id: wallet,
                family: [3; 16],
                expires_at_s: u64::MAX,
                used: true,
            },
        },
        SideWrite::RevokeFamily {
            family: [3; 16],
            until_s: u64::MAX,
        },
        SideWrite::Refused {
            digest: Hash([5; 32]),
            deadline_s: u64::MAX,
        },
        SideWrite::Secret {
            of: webhook,
            row: SecretRow {
                current: vec![1, 2],
                previous: Some((vec![3], 99)),
            },
        },
        SideWrite::KeyUsed {
            key: id(Prefix::Key, 1),
            at_ms: 77,
        },
        SideWrite::Operators(vec![Address([4; 20]), Address([5; 20])]),
        SideWrite::BondAnswer {
            case: Hash([1; 32]),
            sent: Some(b"one".to_vec()),
        },
        SideWrite::BondAnswer {
            case: Hash([2; 32]),
            sent: Some(Vec::new()),
        },
        SideWrite::BondAnswer {
            case: Hash([1; 32]),
            sent: None,
        },
        SideWrite::Usage {
            organization: id(Prefix::Organization, 1),
            usage: UsageRow {
                day: 6,
                requests: 1,
            },
        },
    ]
}

/// Batches with side entries in their frames, and frames with side entries only.
fn filled(store: &Store) -> Log {
    let mut log = Log::default();
    for write in side_writes() {
        let (mut group, _) = log.batch(&[vec![Step::Mint { owner: 1 }; 2]]);
        group.put_side(write);
        store.commit(group).unwrap();
        store.release(&log.head).unwrap();
    }
    for write in side_writes() {
        let mut group = WriteGroup::new();
        group.put_side(write);
        store.commit(group).unwrap();
    }
    log.commit_many(store, 2);
    log
}

#[test]
fn a_log_that_nobody_applied_is_behind_and_brings_the_same_rows() {
    let place = tempfile::tempdir().unwrap();
    let (data, whole) = (place.path().join("data"), place.path().join("whole"));
    let (mut log, mut same) = (Log::default(), Log::default());
    let reference = open(&whole).unwrap();
    same.commit_many(&reference, 5);
    let store = open(&data).unwrap();
    log.commit_many(&store, 2);
    store.close().unwrap();
    let store = open(&data).unwrap();
    let before = store.snapshot().head().unwrap();
    let mut at_once = Log::of(&reference.snapshot()).unwrap();
    // Three batches like those of the other store, appended and made durable, but not applied.
    for _ in 0..3 {
        let requests = log.two_requests();
        let (group, _) = log.batch(&requests);
        store.append(&group).unwrap();
    }
    store.sync().unwrap();
    assert_eq!(store.snapshot().head().unwrap(), before);
    drop(store);

    for _ in 0..2 {
        let error = Store::open(options(&data)).unwrap_err();
        let StoreOpenError::Behind { applied, last } = error else {
            panic!("{error}")
        };
        assert_eq!((applied, last), (3, 6));
        assert!(error.to_string().contains("frame 3 of 6"), "{error}");
    }
    let opening = Store::begin(options(&data), MissingMark::ReadOnly).unwrap();
    assert_eq!(opening.log_batches(), 5);
    assert_eq!(opening.snapshot().head().unwrap(), before);
    assert_eq!(apply_frames(&opening).unwrap(), [4, 5, 6]);
    assert_eq!(apply_frames(&opening).unwrap(), [0; 0]);
    let store = opening.finish().unwrap();
    assert_eq!(store.snapshot().head().unwrap(), log.head);
    assert_same_but_for_the_log(&store.snapshot(), &reference.snapshot());
    at_once.commit_many(&reference, 1);
    Log::of(&store.snapshot()).unwrap().commit_many(&store, 1);
    assert_same_but_for_the_log(&store.snapshot(), &reference.snapshot());
    // Closed, nothing is left to apply.
    store.close().unwrap();
    Store::open(options(&data)).unwrap();
}

/// Two logs of the same batches: their frames differ, because each sealing of side entries gives other bytes.
fn assert_same_but_for_the_log(found: &StoreSnapshot, expected: &StoreSnapshot) {
    let rows = |snapshot| {
        let mut rows = rows(snapshot);
        rows.retain(|(table, key, _)| *table != Table::Meta || key != b"applied");
        rows
    };
    assert!(rows(found) == rows(expected));
}

/// A process that applies a part and ends leaves the rows of a frame, and the next one continues there.
#[test]
fn applying_can_end_after_any_frame() {
    let place = tempfile::tempdir().unwrap();
    let data = place.path().join("data");
    let store = open(&data).unwrap();
    filled(&store);
    let expected = rows(&store.snapshot());
    let lost = place.path().join("lost");
    copy(&log_path(&data), &log_path(&lost));
    let mut next = 1;
    loop {
        let opening = Store::begin(options(&lost), MissingMark::Accepted).unwrap();
        let frames: Vec<_> = opening.frames().unwrap().map(Result::unwrap).collect();
        let numbers: Vec<_> = frames.iter().map(|frame| frame.header().number).collect();
        assert!(
            numbers
                .iter()
                .copied()
                .eq(next..next + numbers.len() as u64)
        );
        if numbers.is_empty() {
            break;
        }
        let store = match opening.finish() {
            Err(StoreOpenError::Behind { applied, last }) => {
                assert_eq!((applied, last), (next - 1, *numbers.last().unwrap()));
                Store::begin(options(&lost), MissingMark::Accepted).unwrap()
            }
            other => panic!("{other:?}"),
        };
        crate::replay::apply_some(&store, 5).unwrap();
        next += numbers.len().min(5) as u64;
        drop(store);
    }
    let store = open_where(options(&lost), MissingMark::Accepted).unwrap();
    assert_same(&store.snapshot(), &expected);
}

#[test]
fn side_entries_survive_the_loss_of_the_rows() {
    let place = tempfile::tempdir().unwrap();
    let data = place.path().join("data");
    let store = open_with(with_mark(place.path(), &data)).unwrap();
    let log = filled(&store);
    let expected = rows(&store.snapshot());
    let kept = expected.iter().filter(|row| row.0.is_kept()).count();
    assert!(kept >= 7, "{kept}");
    let place_of_copy = tempfile::tempdir().unwrap();
    let saved = place_of_copy.path().join("log");
    copy(&log_path(&data), &saved);
    kill(store, &data);
    fs::remove_dir_all(&data).unwrap();
    copy(&saved, &log_path(&data));

    let store = open_with(with_mark(place.path(), &data)).unwrap();
    assert_eq!(store.mode(), kedge_storage::StoreMode::ReadWrite);
    let snapshot = store.snapshot();
    assert_eq!(snapshot.head().unwrap(), log.head);
    assert_same(&snapshot, &expected);
    assert_eq!(snapshot.operators().unwrap().len(), 2);
    assert_eq!(snapshot.bond_answers().unwrap(), [Vec::<u8>::new()]);
    assert_eq!(
        snapshot.sequencer_keys().unwrap(),
        sequencer().address().into()
    );
}

/// Nothing of them can be read from the log's files alone.
#[test]
fn side_entries_are_sealed_in_the_log() {
    let directory = tempfile::tempdir().unwrap();
    let store = open(directory.path()).unwrap();
    filled(&store);
    let secret = b"$argon2id$x";
    for (path, bytes) in crate::support::contents(&log_path(directory.path())) {
        let found = bytes.windows(secret.len()).any(|part| part == secret);
        assert!(!found, "{path:?}");
    }
}

#[test]
fn without_the_side_key_the_opening_names_it() {
    let place = tempfile::tempdir().unwrap();
    let data = place.path().join("data");
    let store = open(&data).unwrap();
    filled(&store);
    kill(store, &data);
    let with = |side_keys: SideKeys| StoreOptions {
        side_keys,
        ..options(&data)
    };
    for (keys, what) in [
        (SideKeys::none(), "sealed under key 1, which is missing"),
        (
            SideKeys::one(2, [1; 32]),
            "sealed under key 1, which is missing",
        ),
        (SideKeys::one(1, [2; 32]), "cannot be opened with key 1"),
    ] {
        let error = open_with(with(keys)).unwrap_err();
        let text = error.to_string();
        assert!(matches!(error, StoreOpenError::Apply { .. }), "{text}");
        assert!(text.contains(what), "{text}");
        assert!(text.contains("from a backup"), "{text}");
    }
    // Another key seals from now on; the old one still opens its entries.
    let mut both = SideKeys::one(1, [1; 32]);
    both.add(2, [2; 32]);
    let store = open_with(with(both.clone())).unwrap();
    let mut group = WriteGroup::new();
    group.put_side(SideWrite::Operators(vec![Address([9; 20])]));
    store.commit(group).unwrap();
    kill(store, &data);
    let text = open(&data).unwrap_err().to_string();
    assert!(text.contains("sealed under key 2"), "{text}");
    let store = open_with(with(both)).unwrap();
    assert_eq!(store.snapshot().operators().unwrap(), [Address([9; 20])]);
    store.close().unwrap();

    // A store whose rows do not lag opens without a key; nothing can be sealed then.
    let store = Store::open(with(SideKeys::none())).unwrap();
    let mut group = WriteGroup::new();
    group.put_side(SideWrite::Operators(Vec::new()));
    let error = store.commit(group).unwrap_err();
    assert!(matches!(error, CommitError::Failed(_)), "{error}");
    assert!(error.to_string().contains("no key to seal"), "{error}");
    Log::of(&store.snapshot()).unwrap().commit_many(&store, 1);
}

// Holds invariant 154.
#[test]
fn rows_are_never_ahead_of_the_log() {
    let place = tempfile::tempdir().unwrap();
    let data = place.path().join("data");
    let store = open(&data).unwrap();
    let mut log = Log::default();
    log.commit_many(&store, 2);
    let before = log.head;
    let earlier = store.snapshot();
    let (mut group, batch) = log.batch(&[vec![Step::Mint { owner: 1 }; 3]]);
    group.put_side(SideWrite::Operators(vec![Address([9; 20])]));
    let nothing_of_it = |snapshot: &StoreSnapshot| {
        assert_eq!(snapshot.head().unwrap(), before);
        assert_eq!(snapshot.batch(2).unwrap(), None);
        assert_eq!(snapshot.batch_number(batch.id()).unwrap(), None);
        assert_eq!(snapshot.action_at(before.sequence + 1).unwrap(), None);
        assert_eq!(snapshot.requests_from(before.sequence + 1).count(), 0);
        assert_eq!(snapshot.operators().unwrap(), [Address::ZERO; 0]);
        assert_same(snapshot, &rows(&earlier));
    };
    let position = store.append(&group).unwrap();
    nothing_of_it(&store.snapshot());
    let copied = place.path().join("copied");
    let end = store.copy_log_to(&log_path(&copied), None).unwrap().head;
    assert_eq!(end, before, "a copy has what is not durable");
    // Durable, but still invisible to readers of the rows.
    store.sync().unwrap();
    nothing_of_it(&store.snapshot());
    let snapshot = store.apply(&group, &position).unwrap();
    assert_eq!(snapshot.head().unwrap(), log.head);
    assert_eq!(snapshot.batch(2).unwrap(), Some(batch));
    assert_eq!(snapshot.operators().unwrap(), [Address([9; 20])]);
    nothing_of_it(&earlier);
}

/// A copy of the log, made while commits continue, is all that is needed to rebuild a store.
#[test]
fn a_copy_of_the_log_brings_the_rows_of_its_end() {
    let place = tempfile::tempdir().unwrap();
    let (data, copied) = (place.path().join("data"), place.path().join("copied"));
    let store = open(&data).unwrap();
    let empty = place.path().join("empty");
    let end = store.copy_log_to(&log_path(&empty), None).unwrap().head;
    assert_eq!(end, kedge_storage::LogHead::empty(&domain()));
    let mut log = filled(&store);
    while store.maintain(&mut |_| {}).unwrap() {}
    let expected = rows(&store.snapshot());
    let end = store.copy_log_to(&log_path(&copied), None).unwrap().head;
    assert_eq!(end, log.head);
    log.commit_many(&store, 3);

    let derived = StoreOptions {
        access: StoreAccess::Derive,
        ..options(&copied)
    };
    let before = crate::support::contents(&log_path(&copied));
    let store = open_with(derived).unwrap();
    assert_same(&store.snapshot(), &expected);
    let (group, _) = log.batch(&[vec![Step::Mint { owner: 1 }]]);
    let refused = store.commit(group).unwrap_err();
    assert!(matches!(refused, CommitError::ReadOnly(_)), "{refused}");
    // Derived rows are on the disk immediately.
    kill(store, &copied);
    assert!(crate::support::contents(&log_path(&copied)) == before);
    let looking = StoreOptions {
        access: StoreAccess::Read,
        ..options(&copied)
    };
    assert_same(&Store::open(looking).unwrap().snapshot(), &expected);
}

/// A store whose rows have no log is only for comparing.
#[test]
fn rows_without_a_log_take_no_commits() {
    let place = tempfile::tempdir().unwrap();
    let (data, scratch) = (place.path().join("data"), place.path().join("scratch"));
    let store = open(&data).unwrap();
    let mut log = Log::default();
    let (group, _) = log.batch(&[vec![Step::Mint { owner: 1 }]]);
    let refused = store.put_rows(&group).unwrap_err();
    assert!(matches!(refused, CommitError::ReadOnly(_)), "{refused}");
    assert!(store.snapshot().head().unwrap().batches == 0);

    let without = Store::scratch(options(&scratch)).unwrap();
    let refused = without.commit(&group).unwrap_err();
    assert!(matches!(refused, CommitError::ReadOnly(_)), "{refused}");
    let snapshot = without.put_rows(&group).unwrap();
    assert_eq!(snapshot.head().unwrap(), log.head);
    assert!(!log_path(&scratch).exists() && rows_path(&scratch).exists());
    let text = snapshot.batch(0).unwrap_err().to_string();
    assert!(text.contains("the store has no log"), "{text}");
    // Rows alone do not go to a log.
    let error = store.commit(WriteGroup::of_rows()).unwrap_err();
    assert!(error.to_string().contains("only rows"), "{error}");
}
