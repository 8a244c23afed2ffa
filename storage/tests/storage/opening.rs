//! Stores that do not open, or open read-only, and their errors.

use std::path::Path;

use crate::forging::forge;
use crate::support::{
    Log, contents, copy, domain, kill, log_path, open, open_with, options, raw, rows_path,
    sequencer, tamper,
};
use kedge_protocol::Address;
use kedge_protocol::signature::SigningKey;
use kedge_storage::{
    Store, StoreAccess, StoreFault, StoreMode, StoreOpenError, StoreOptions, Table,
};

/// A closed store, and its log.
pub(crate) fn made(batches: u64) -> (tempfile::TempDir, Log) {
    let directory = tempfile::tempdir().unwrap();
    let mut log = Log::default();
    let store = open(directory.path()).unwrap();
    log.commit_many(&store, batches);
    store.close().unwrap();
    (directory, log)
}

pub(crate) fn why(store: &Store) -> String {
    match store.mode() {
        StoreMode::ReadOnly(why) => why,
        StoreMode::ReadWrite => panic!("the store takes commits"),
    }
}

#[test]
fn another_chain_or_contract_is_refused_by_name() {
    let (directory, _) = made(1);
    let mut other = options(directory.path());
    other.domain.chain_id = 1;
    let error = Store::open(other).unwrap_err();
    assert!(matches!(error, StoreOpenError::OtherDomain { .. }));
    let text = error.to_string();
    assert!(
        text.contains("31337") && text.contains("chain 1 "),
        "{text}"
    );
    let mut other = options(directory.path());
    other.domain.verifying_contract = Address([0xdd; 20]);
    let text = Store::open(other).unwrap_err().to_string();
    let contract = domain().verifying_contract.to_string();
    assert!(text.contains(&contract), "{text}");
}

/// A store of an older program: its log was in tables that no longer exist, and its last tables did not exist yet.
fn older(data: &Path, format: u8, unknown: &[Table]) {
    let mut db = raw(data);
    for table in ["log", "leaves", "batches"] {
        db.create_cf(table, &rocksdb::Options::default()).unwrap();
    }
    for table in unknown {
        db.drop_cf(table.name()).unwrap();
    }
    let meta = db.cf_handle("meta").unwrap();
    db.delete_cf(meta, b"applied").unwrap();
    let version = u64::from(format).to_be_bytes();
    db.put_cf(meta, b"format", version).unwrap();
    drop(db);
    std::fs::remove_dir_all(log_path(data)).unwrap();
}

// Holds invariant 107.
#[test]
fn a_store_that_holds_its_log_itself_is_refused_and_says_why() {
    let missing: [(u8, &[Table]); 3] = [
        (3, &[Table::Milestones, Table::Usage, Table::LogBytes]),
        (4, &[Table::BondAnswers]),
        (5, &[]),
    ];
    for (format, unknown) in missing {
        let (directory, _) = made(1);
        older(directory.path(), format, unknown);
        let before = contents(directory.path());
        for access in [StoreAccess::Write, StoreAccess::Derive, StoreAccess::Read] {
            let options = StoreOptions {
                access,
                ..options(directory.path())
            };
            let error = Store::open(options).unwrap_err();
            let StoreOpenError::LogInStore { found } = &error else {
                panic!("format {format}: {error}")
            };
            assert_eq!(*found, u64::from(format));
            let text = error.to_string();
            assert!(text.contains("empty data directory"), "{text}");
            assert!(text.contains("a new contract"), "{text}");
            assert!(contents(directory.path()) == before, "format {format}");
        }
    }
}

#[test]
fn another_format_is_refused() {
    let (directory, _) = made(1);
    tamper(directory.path(), "meta", b"format", |value| value[7] = 10);
    let error = open(directory.path()).unwrap_err();
    assert!(
        matches!(&error, StoreOpenError::OtherFormat { found } if found == "10"),
        "{error}"
    );
}

#[test]
fn a_newer_programs_tables_are_refused() {
    let (directory, _) = made(1);
    let mut db = raw(directory.path());
    db.create_cf("from_the_future", &rocksdb::Options::default())
        .unwrap();
    drop(db);
    let error = open(directory.path()).unwrap_err();
    assert!(
        matches!(&error, StoreOpenError::OtherFormat { .. }),
        "{error}"
    );
}

#[test]
fn two_processes_do_not_share_a_store() {
    let (directory, _) = made(1);
    let _held = open(directory.path()).unwrap();
    let error = open(directory.path()).unwrap_err();
    assert!(matches!(error, StoreOpenError::Locked { .. }), "{error}");
}

// Holds invariant 106.
#[test]
fn a_log_keeps_the_key_that_it_began_with() {
    let other = |path: &Path| StoreOptions {
        sequencer: SigningKey::from_bytes(&[0x52; 32]).unwrap().address(),
        ..options(path)
    };
    let (directory, _) = made(1);
    let store = open_with(other(directory.path())).unwrap();
    let keys = store.snapshot().sequencer_keys().unwrap();
    assert_eq!(keys, sequencer().address().into());
    // An empty log has begun with no key yet.
    let empty = tempfile::tempdir().unwrap();
    drop(open(empty.path()).unwrap());
    let store = open_with(other(empty.path())).unwrap();
    let keys = store.snapshot().sequencer_keys().unwrap();
    assert_eq!(keys, other(empty.path()).sequencer.into());
}

/// The key in force for a batch decides, not the one that the store is opened with.
#[test]
fn a_log_of_another_first_key_is_refused() {
    let (directory, _) = made(1);
    let db = raw(directory.path());
    let meta = db.cf_handle("meta").unwrap();
    db.put_cf(meta, b"first_key", [7; 20]).unwrap();
    drop(db);
    let error = open(directory.path()).unwrap_err();
    assert!(error.to_string().contains("key of its number"), "{error}");
}

/// The sequence that the fault of an opening names; 0 if it names none.
fn sequence_of(error: &StoreOpenError) -> u64 {
    match error {
        StoreOpenError::Tampered(StoreFault::Wrong { sequence, .. }) => *sequence,
        StoreOpenError::Tampered(StoreFault::Unreadable { first_sequence, .. }) => *first_sequence,
        StoreOpenError::Tampered(StoreFault::Table(_) | StoreFault::Rows { .. }) => 0,
        other => panic!("{other}"),
    }
}

/// Each change to the log's last batches is found, and named by its sequence, although every checksum holds.
#[test]
fn a_log_with_another_end_is_refused() {
    let cases: [(&str, crate::forging::Change, u64); 6] = [
        (
            "payload of the last action",
            |parts| parts.requests[1].actions[1].payload.to_mut().push(' '),
            20,
        ),
        (
            "payload of the first action",
            |parts| parts.requests[1].actions[0].payload.to_mut().push(' '),
            19,
        ),
        ("last leaf", |parts| parts.leaves[3].0[31] ^= 1, 20),
        ("root", |parts| parts.batches[0].header.root.0[0] ^= 1, 17),
        (
            "time",
            |parts| parts.batches[0].header.sealed_at_ms += 1,
            17,
        ),
        (
            "signature",
            |parts| parts.batches[0].signature.0[64] ^= 1,
            17,
        ),
    ];
    let (directory, _) = made(5);
    for (what, change, sequence) in cases {
        let copied = tempfile::tempdir().unwrap();
        copy(directory.path(), copied.path());
        forge(copied.path(), 4, change);
        let error = open(copied.path()).unwrap_err();
        assert_eq!(sequence_of(&error), sequence, "{what}: {error}");
    }
    // No leaf holds a nonce, so the log is whole, but its author did not sign that.
    let copied = tempfile::tempdir().unwrap();
    copy(directory.path(), copied.path());
    forge(copied.path(), 4, |parts| parts.requests[0].head.nonce += 1);
    assert!(open(copied.path()).unwrap().has_unsigned_action());
    // The same log rewritten is the same log.
    forge(directory.path(), 4, |_| ());
    assert_eq!(open(directory.path()).unwrap().mode(), StoreMode::ReadWrite);
}

// Holds invariant 203.
/// The sequencer has signed the batch, so the log is whole; but it must not be attested or extended.
#[test]
fn an_action_that_its_author_did_not_sign_is_read_and_nothing_follows_it() {
    let directory = tempfile::tempdir().unwrap();
    let mut log = Log::default();
    let store = open(directory.path()).unwrap();
    log.commit_many(&store, 3);
    let signed = log.head.sequence;
    log.forged = true;
    log.commit_many(&store, 1);
    log.forged = false;
    store.close().unwrap();
    let before = contents(&log_path(directory.path()));

    let store = open(directory.path()).unwrap();
    let reason = why(&store);
    let named = format!("the request at sequence {}", signed + 1);
    assert!(reason.contains(&named), "{reason}");
    let remedy = format!("--to-sequence {signed}");
    assert!(reason.contains(&remedy), "{reason}");
    assert!(store.has_unsigned_action());
    let batch = store.snapshot().batch(3).unwrap();
    assert!(batch.is_some(), "it is served");
    let (group, _) = log.batch(&log.two_requests());
    assert!(store.commit(group).is_err());
    store.close().unwrap();
    assert_eq!(contents(&log_path(directory.path())), before);

    // Damage next to it is still found.
    tamper(directory.path(), "meta", b"head", |row| {
        *row.last_mut().unwrap() ^= 1;
    });
    let error = open(directory.path()).unwrap_err();
    assert!(matches!(error, StoreOpenError::Tampered(_)), "{error}");
}

/// Each change to the rows that lead to them is found too.
#[test]
fn rows_that_contradict_the_end_of_the_log_are_refused() {
    type Change = fn(&mut Vec<u8>);
    let flip_last: Change = |value| *value.last_mut().unwrap() ^= 1;
    let flip_middle: Change = |value| {
        let middle = value.len() / 2;
        value[middle] ^= 1;
    };
    let (directory, _) = made(5);
    let store = open(directory.path()).unwrap();
    let batch = store.snapshot().batch(4).unwrap().unwrap();
    store.close().unwrap();
    let node = [&[0u8][..], &4u64.to_be_bytes()].concat();
    let cases: [(&str, &[u8], Change, Option<u64>); 4] = [
        ("tree", &node, flip_last, Some(17)),
        ("batch_ids", &batch.id().bytes, flip_last, Some(17)),
        ("meta", b"head", flip_middle, None),
        ("meta", b"head", flip_last, None),
    ];
    for (table, key, change, sequence) in cases {
        let copied = tempfile::tempdir().unwrap();
        copy(directory.path(), copied.path());
        tamper(copied.path(), table, key, change);
        let error = open(copied.path()).unwrap_err();
        let named = sequence_of(&error);
        assert!(
            sequence.is_none_or(|expected| named == expected),
            "{table}: {error}, not {sequence:?}"
        );
    }
}

/// Rows that claim to follow from the whole log, with the head of a part of it.
#[test]
fn a_head_before_the_end_of_the_log_is_refused() {
    let (directory, _) = made(2);
    let (earlier, log) = made(1);
    let db = raw(earlier.path());
    let head = db.get_cf(db.cf_handle("meta").unwrap(), b"head");
    let head = head.unwrap().unwrap();
    tamper(directory.path(), "meta", b"head", |row| *row = head);
    let error = open(directory.path()).unwrap_err();
    assert_eq!(sequence_of(&error), log.head.sequence, "{error}");
    let what = "the stored head is not where the log ends";
    assert!(error.to_string().contains(what), "{error}");
}

// Holds invariant 85.
/// RocksDB opens without checking every file; the store finds the missing ones at its start.
#[test]
fn table_files_that_are_missing_or_cut_off_are_named() {
    let (directory, _) = made(4);
    let files = raw(directory.path()).live_files().unwrap();
    assert!(files.len() >= 7, "{}", files.len());
    for file in files {
        for cut in [false, true] {
            let copied = tempfile::tempdir().unwrap();
            copy(directory.path(), copied.path());
            let name = file.name.trim_start_matches('/');
            let path = rows_path(copied.path()).join(name);
            let what = if cut {
                let file = std::fs::OpenOptions::new().write(true).open(&path);
                file.unwrap().set_len(10).unwrap();
                "has 10 bytes instead of"
            } else {
                std::fs::remove_file(&path).unwrap();
                "is missing"
            };
            let table = &file.column_family_name;
            let before = contents(copied.path());
            let error = open(copied.path()).unwrap_err();
            assert!(
                matches!(error, StoreOpenError::Incomplete { .. }),
                "{error}"
            );
            let text = error.to_string();
            let named = format!("{name} (table {table}) {what}");
            assert!(text.contains(&named), "{named}: {text}");
            assert!(text.contains("kedge rebuild"), "{text}");
            assert!(contents(copied.path()) == before, "{table}");
        }
    }
}

// Holds invariant 85.
/// Damage that only a read can show makes the store report that it is not whole.
#[test]
fn damage_that_a_read_finds_makes_the_store_read_only() {
    let (directory, log) = made(4);
    let files = raw(directory.path()).live_files().unwrap();
    let of_objects = files
        .iter()
        .find(|file| file.column_family_name == Table::Objects.name());
    let name = of_objects.unwrap().name.trim_start_matches('/');
    let path = rows_path(directory.path()).join(name);
    let mut bytes = std::fs::read(&path).unwrap();
    bytes[..64].fill(0xff);
    std::fs::write(&path, bytes).unwrap();

    let store = open(directory.path()).unwrap();
    assert_eq!(store.mode(), StoreMode::ReadWrite);
    let read = store.snapshot().object(log.objects[0].id);
    assert!(read.is_err(), "{read:?}");
    let text = why(&store);
    for part in ["table objects cannot be read", "kedge rebuild"] {
        assert!(text.contains(part), "{part}: {text}");
    }
    store.resume();
    assert_eq!(why(&store), text);
}

#[test]
fn a_store_can_be_looked_at_and_be_made_read_only() {
    let (directory, log) = made(2);
    let looking = StoreOptions {
        access: StoreAccess::Read,
        ..options(directory.path())
    };
    let store = Store::open(looking.clone()).unwrap();
    assert_eq!(why(&store), "it was opened for reading");
    assert_eq!(store.snapshot().head().unwrap(), log.head);
    drop(store);
    let store = open(directory.path()).unwrap();
    store.set_read_only("the chain has anchored more");
    store.set_read_only("something else");
    assert_eq!(why(&store), "the chain has anchored more");
    let empty = tempfile::tempdir().unwrap();
    let error = Store::open(StoreOptions {
        path: empty.path().to_owned(),
        ..looking.clone()
    })
    .unwrap_err();
    assert!(matches!(error, StoreOpenError::Absent(_)), "{error}");
    // The rows after a kill lag the log: a store opened only for reading applies nothing.
    drop(store);
    let mut log = log;
    let store = open(directory.path()).unwrap();
    log.commit_many(&store, 1);
    kill(store, directory.path());
    let files = contents(directory.path());
    let error = Store::open(looking).unwrap_err();
    assert!(
        matches!(
            error,
            StoreOpenError::Behind {
                applied: 3,
                last: 4
            }
        ),
        "{error}"
    );
    assert!(
        contents(directory.path()) == files,
        "a reader changed something"
    );
}

// Holds invariant 144.
/// A crash ended a first start: its remains hold nothing, and the next start creates the store. Nothing else mistakes
/// them for a store meanwhile, and a finished store is never mistaken for an unfinished one.
#[test]
fn a_store_that_was_never_finished_is_made_again() {
    let place = tempfile::tempdir().unwrap();
    let data = place.path().join("data");
    let path = rows_path(&data);
    let making = path.join("MAKING");
    std::fs::create_dir_all(path.join("folder")).unwrap();
    for name in [
        "CURRENT",
        "MANIFEST-000001",
        "000004.log",
        "000009.sst",
        "MAKING",
    ] {
        std::fs::write(path.join(name), "half of it").unwrap();
    }
    let reading = StoreOptions {
        access: StoreAccess::Read,
        ..options(&data)
    };
    let absent = Store::open(reading).unwrap_err();
    assert!(matches!(absent, StoreOpenError::Absent(_)), "{absent}");
    assert!(
        path.join("000009.sst").exists(),
        "a reader changed something"
    );

    let held = std::fs::File::open(&making).unwrap();
    held.try_lock().unwrap();
    let busy = Store::open(options(&data)).unwrap_err().to_string();
    assert!(busy.contains("another process is creating"), "{busy}");
    assert!(
        path.join("000009.sst").exists(),
        "another's store was cleared"
    );
    drop(held);

    let mut log = Log::default();
    let store = open(&data).unwrap();
    assert!(!making.exists() && !path.join("folder").exists());
    log.commit_many(&store, 2);
    store.close().unwrap();
    let store = open(&data).unwrap();
    assert_eq!(store.snapshot().head().unwrap(), log.head);
}

/// The rows of the lists of templates' objects.
fn template_lists(data: &Path) -> Vec<(Vec<u8>, Vec<u8>)> {
    let db = raw(data);
    let lists = db.cf_handle("object_index").unwrap();
    let rows = db.prefix_iterator_cf(lists, [2]).map(Result::unwrap);
    let rows = rows.take_while(|(key, _)| key[0] == 2);
    rows.map(|(key, row)| (key.into(), row.into())).collect()
}

/// Makes a store one of the format before serials, whose upgrade was cut off after so many rows.
fn without_serials(data: &Path, upgraded: usize) {
    let rows = template_lists(data);
    let db = raw(data);
    let lists = db.cf_handle("object_index").unwrap();
    for (key, row) in rows.into_iter().skip(upgraded) {
        db.put_cf(lists, key, &row[..16]).unwrap();
    }
    let meta = db.cf_handle("meta").unwrap();
    db.put_cf(meta, b"format", 7_u64.to_be_bytes()).unwrap();
}

// Holds invariant 255.
#[test]
fn a_store_without_serials_gets_them_in_place() {
    let (directory, log) = made(3);
    let data = directory.path();
    without_serials(data, 0);
    let looking = StoreOptions {
        access: StoreAccess::Read,
        ..options(data)
    };
    let error = Store::open(looking).unwrap_err();
    let is_refused = matches!(&error, StoreOpenError::OtherFormat { found } if found == "7");
    assert!(is_refused, "{error}");
    let store = open(data).unwrap();
    let snapshot = store.snapshot();
    assert!(log.objects.len() > 3);
    for (object, serial) in log.objects.iter().zip(1..) {
        assert_eq!(snapshot.serial(object).unwrap(), serial);
    }
    drop(snapshot);
    store.close().unwrap();
    let upgraded = template_lists(data);
    // Not again.
    open(data).unwrap().close().unwrap();
    assert_eq!(template_lists(data), upgraded);
    without_serials(data, 3);
    open(data).unwrap().close().unwrap();
    assert_eq!(template_lists(data), upgraded);
}
