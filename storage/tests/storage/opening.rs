//! What does not open, or opens for reading only, and what it says.

use std::path::Path;

use crate::support::{Log, copy, domain, open, options, raw, sequencer, tamper};
use kedge_protocol::Address;
use kedge_protocol::signature::SigningKey;
use kedge_storage::{
    CommitError, Fault, HighWater, Mark, MissingMark, Mode, OpenError, Options, Store, Table,
};

fn made(batches: u64) -> (tempfile::TempDir, Log) {
    let directory = tempfile::tempdir().unwrap();
    let mut log = Log::default();
    let store = open(directory.path()).unwrap();
    log.commit_many(&store, batches);
    store.close().unwrap();
    (directory, log)
}

/// Every file but RocksDB's own diary.
fn every_file(path: &Path) -> Vec<(std::ffi::OsString, Vec<u8>)> {
    let mut files: Vec<_> = std::fs::read_dir(path)
        .unwrap()
        .map(|entry| entry.unwrap())
        .filter(|entry| !entry.file_name().to_string_lossy().starts_with("LOG"))
        .map(|entry| (entry.file_name(), std::fs::read(entry.path()).unwrap()))
        .collect();
    files.sort();
    files
}

fn why(store: &Store) -> String {
    match store.mode() {
        Mode::ReadOnly(why) => why,
        Mode::ReadWrite => panic!("the store takes commits"),
    }
}

#[test]
fn another_chain_or_contract_is_refused_by_name() {
    let (directory, _) = made(1);
    let mut other = options(directory.path());
    other.domain.chain_id = 1;
    let error = Store::open(other).unwrap_err();
    assert!(matches!(error, OpenError::OtherDomain { .. }));
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

/// Stores of format 3 hold logs in which a wallet and its organization share an integrity.
#[test]
fn a_log_of_the_older_registration_rule_is_refused_and_says_why() {
    let (directory, _) = made(1);
    tamper(directory.path(), "meta", b"format", |value| value[7] = 3);
    for _ in 0..2 {
        let error = open(directory.path()).unwrap_err();
        assert!(
            matches!(error, OpenError::OlderRules { found: 3 }),
            "{error}"
        );
        let text = error.to_string();
        assert!(text.contains("older registration rule"), "{text}");
        assert!(text.contains("empty data directory"), "{text}");
    }
}

#[test]
fn another_format_is_refused() {
    let (directory, _) = made(1);
    tamper(directory.path(), "meta", b"format", |value| value[7] = 9);
    let error = open(directory.path()).unwrap_err();
    assert!(
        matches!(&error, OpenError::OtherFormat { found } if found == "9"),
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
    assert!(matches!(&error, OpenError::OtherFormat { .. }), "{error}");
}

#[test]
fn two_processes_do_not_share_a_store() {
    let (directory, _) = made(1);
    let _held = open(directory.path()).unwrap();
    let error = open(directory.path()).unwrap_err();
    assert!(matches!(error, OpenError::Locked { .. }), "{error}");
}

#[test]
fn a_log_keeps_the_key_that_it_began_with() {
    let other = |path: &Path| Options {
        sequencer: SigningKey::from_bytes(&[0x52; 32]).unwrap().address(),
        ..options(path)
    };
    let (directory, _) = made(1);
    let store = Store::open(other(directory.path())).unwrap();
    let keys = store.snapshot().sequencer_keys().unwrap();
    assert_eq!(keys, sequencer().address().into());
    // An empty log has begun with no key yet.
    let empty = tempfile::tempdir().unwrap();
    drop(open(empty.path()).unwrap());
    let store = Store::open(other(empty.path())).unwrap();
    let keys = store.snapshot().sequencer_keys().unwrap();
    assert_eq!(keys, other(empty.path()).sequencer.into());
}

/// The key that stands for a batch decides, not the one that the store is opened for.
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

/// Each change to the last batches is found, and named by its sequence where it has one.
#[test]
fn a_tampered_tail_is_refused() {
    type Change = fn(&mut Vec<u8>);
    let flip_last: Change = |value| *value.last_mut().unwrap() ^= 1;
    let flip_middle: Change = |value| {
        let middle = value.len() / 2;
        value[middle] ^= 1;
    };
    let request = 19u64.to_be_bytes();
    let batch = 4u64.to_be_bytes();
    let tree_node = [&[0u8][..], &batch].concat();
    let cases: [(&str, &[u8], Change, Option<u64>); 8] = [
        ("log", &request, flip_last, Some(20)),
        ("log", &request, flip_middle, Some(19)),
        ("leaves", &batch, flip_last, Some(20)),
        ("leaves", &batch, |value| value.truncate(32), Some(17)),
        ("batches", &batch, flip_middle, Some(17)),
        ("batches", &batch, flip_last, Some(17)),
        ("tree", &tree_node, flip_last, Some(17)),
        ("meta", b"head", flip_middle, None),
    ];
    let (directory, _) = made(5);
    for (table, key, change, sequence) in cases {
        let copied = tempfile::tempdir().unwrap();
        copy(directory.path(), copied.path());
        tamper(copied.path(), table, key, change);
        let error = open(copied.path()).unwrap_err();
        let OpenError::Tampered(fault) = &error else {
            panic!("{table}: {error}")
        };
        if let Some(sequence) = sequence {
            let named = match fault {
                Fault::Wrong { sequence, .. } => *sequence,
                Fault::Unreadable { first_sequence, .. } => *first_sequence,
                Fault::Table(_) | Fault::Rows { .. } => 0,
            };
            assert!(named == sequence, "{table}: {error}, not {sequence}");
        }
    }
}

#[test]
fn rows_beyond_the_head_are_refused() {
    let (directory, log) = made(2);
    let db = raw(directory.path());
    let key = (log.head.sequence + 1).to_be_bytes();
    db.put_cf(db.cf_handle("log").unwrap(), key, [1]).unwrap();
    drop(db);
    let error = open(directory.path()).unwrap_err();
    assert!(
        matches!(error, OpenError::Tampered(Fault::Rows { .. })),
        "{error}"
    );
}

#[test]
fn a_store_from_before_the_mark_is_read_only_and_unchanged() {
    let place = tempfile::tempdir().unwrap();
    let with_mark = |path: &Path| Options {
        high_water_path: Some(place.path().join("mark")),
        ..options(path)
    };
    let (now, then) = (place.path().join("now"), place.path().join("then"));
    let mut log = Log::default();
    let store = Store::open(with_mark(&now)).unwrap();
    log.commit_many(&store, 3);
    store.close().unwrap();
    copy(&now, &then);
    let store = Store::open(with_mark(&now)).unwrap();
    assert_eq!(store.mode(), Mode::ReadWrite);
    log.commit_many(&store, 2);
    drop(store);

    let before = every_file(&then);
    let store = Store::open(with_mark(&then)).unwrap();
    let text = why(&store);
    assert!(
        text.contains("holds 3 batches") && text.contains("equivocation"),
        "{text}"
    );
    assert!(text.contains("newest copy"), "{text}");
    assert_eq!(store.snapshot().head().unwrap().batches, 3);
    let (group, _) = Log::default().batch(&[vec![crate::support::Step::Mint { owner: 1 }]]);
    assert!(matches!(store.commit(group), Err(CommitError::ReadOnly(_))));
    store.close().unwrap();
    assert_eq!(every_file(&then), before);

    // The mark belongs to this log: the newest copy goes on.
    let store = Store::open(with_mark(&now)).unwrap();
    assert_eq!(store.mode(), Mode::ReadWrite);
    log.commit_many(&store, 1);
}

#[test]
fn another_history_than_the_released_one_is_read_only() {
    let place = tempfile::tempdir().unwrap();
    let with_mark = |name: &str| Options {
        high_water_path: Some(place.path().join("mark")),
        ..options(&place.path().join(name))
    };
    let mut log = Log::default();
    let store = Store::open(with_mark("one")).unwrap();
    log.commit_many(&store, 2);
    drop(store);
    let mut other = Log {
        payload_bytes: 80,
        ..Log::default()
    };
    let store = open(&place.path().join("two")).unwrap();
    other.commit_many(&store, 3);
    drop(store);
    let text = why(&Store::open(with_mark("two")).unwrap());
    assert!(text.contains("batch 1 is another one"), "{text}");
    // An emptied directory is behind too.
    let text = why(&Store::open(with_mark("three")).unwrap());
    assert!(text.contains("holds 0 batches"), "{text}");
}

/// Whatever says nothing of what was released is not taken for "nothing was".
#[test]
fn a_store_whose_mark_says_nothing_is_read_only_and_unchanged() {
    let place = tempfile::tempdir().unwrap();
    let (data, mark) = (place.path().join("data"), place.path().join("mark"));
    let with_mark = Options {
        high_water_path: Some(mark.clone()),
        ..options(&data)
    };
    let mut log = Log::default();
    let store = Store::open(with_mark.clone()).unwrap();
    log.commit_many(&store, 3);
    store.close().unwrap();
    let whole = std::fs::read(&mark).unwrap();
    assert_eq!(
        whole.len(),
        4096 + 56,
        "both slots are there from the start"
    );

    let torn = || {
        let mut torn = whole.clone();
        torn[20] ^= 1;
        torn[4096 + 20] ^= 1;
        torn
    };
    let before = every_file(&data);
    for (content, what) in [
        (None, "is missing"),
        (Some(Vec::new()), "it is empty"),
        (Some(b"not a mark".to_vec()), "no slot of it checks"),
        (Some(torn()), "no slot of it checks"),
        (Some(whole[..30].to_vec()), "no slot of it checks"),
    ] {
        std::fs::remove_file(&mark).unwrap();
        if let Some(content) = &content {
            std::fs::write(&mark, content).unwrap();
        }
        let store = Store::open(with_mark.clone()).unwrap();
        let text = why(&store);
        for part in [
            what,
            "holds 3 batches",
            "equivocation",
            "--accept-missing-high-water-mark",
        ] {
            assert!(text.contains(part), "{part}: {text}");
        }
        drop(store);
        assert_eq!(every_file(&data), before, "{what}");
        assert_eq!(std::fs::read(&mark).ok(), content, "{what}");
        std::fs::write(&mark, &whole).unwrap();
    }

    // A new directory with a mark that is there and says nothing is no new log.
    std::fs::write(&mark, b"").unwrap();
    let fresh = Options {
        path: place.path().join("fresh"),
        ..with_mark.clone()
    };
    assert!(why(&Store::open(fresh).unwrap()).contains("it is empty"));

    // Who is sure says so once; then the store has a mark again.
    std::fs::remove_file(&mark).unwrap();
    let store = Store::open_where(with_mark.clone(), MissingMark::Accepted).unwrap();
    assert_eq!(store.mode(), Mode::ReadWrite);
    drop(store);
    let Mark::Released(released) = HighWater::read(&mark) else {
        panic!("there is no mark")
    };
    assert_eq!((released.batches, released.head), (3, log.head.head));
    let store = Store::open(with_mark).unwrap();
    assert_eq!(store.mode(), Mode::ReadWrite);
    log.commit_many(&store, 1);
}

/// RocksDB opens without looking at every file; what it would miss later is found at once.
#[test]
fn table_files_that_are_missing_or_cut_off_are_named() {
    let (directory, _) = made(4);
    let files = raw(directory.path()).live_files().unwrap();
    assert!(files.len() > 8, "{}", files.len());
    for file in files {
        for cut in [false, true] {
            let copied = tempfile::tempdir().unwrap();
            copy(directory.path(), copied.path());
            let name = file.name.trim_start_matches('/');
            let path = copied.path().join(name);
            let what = if cut {
                let file = std::fs::OpenOptions::new().write(true).open(&path);
                file.unwrap().set_len(10).unwrap();
                "has 10 bytes and not"
            } else {
                std::fs::remove_file(&path).unwrap();
                "is missing"
            };
            let table = &file.column_family_name;
            let before = every_file(copied.path());
            let error = open(copied.path()).unwrap_err();
            assert!(matches!(error, OpenError::Incomplete { .. }), "{error}");
            let text = error.to_string();
            let named = format!("{name} (table {table}) {what}");
            assert!(text.contains(&named), "{named}: {text}");
            assert!(text.contains("kedge rebuild"), "{text}");
            let derived = Table::DERIVED.iter().any(|derived| derived.name() == table);
            assert_eq!(text.contains("newest backup"), !derived, "{text}");
            if !cut {
                assert_eq!(every_file(copied.path()), before, "{table}");
            }
        }
    }
}

/// What only shows when it is read makes the store say that it is not whole.
#[test]
fn damage_that_a_read_finds_makes_the_store_read_only() {
    let (directory, log) = made(4);
    let files = raw(directory.path()).live_files().unwrap();
    let of_objects = files
        .iter()
        .find(|file| file.column_family_name == Table::Objects.name());
    let name = of_objects.unwrap().name.trim_start_matches('/');
    let path = directory.path().join(name);
    let mut bytes = std::fs::read(&path).unwrap();
    bytes[..64].fill(0xff);
    std::fs::write(&path, bytes).unwrap();

    let store = open(directory.path()).unwrap();
    assert_eq!(store.mode(), Mode::ReadWrite);
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
    let looking = Options {
        read_only: true,
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
    let error = Store::open(Options {
        path: empty.path().to_owned(),
        ..looking
    })
    .unwrap_err();
    assert!(matches!(error, OpenError::Absent(_)), "{error}");
}

/// A first start that a crash ended: what it left holds nothing, and the next start makes the store. Nobody else takes
/// it for one meanwhile, and one that is done is never taken for unfinished.
#[test]
fn a_store_that_was_never_finished_is_made_again() {
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("data");
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
    let reading = Options {
        read_only: true,
        ..options(&path)
    };
    let absent = Store::open(reading).unwrap_err();
    assert!(matches!(absent, OpenError::Absent(_)), "{absent}");
    assert!(
        path.join("000009.sst").exists(),
        "a reader changed something"
    );

    let held = std::fs::File::open(&making).unwrap();
    held.try_lock().unwrap();
    let busy = Store::open(options(&path)).unwrap_err().to_string();
    assert!(busy.contains("another process is making"), "{busy}");
    assert!(
        path.join("000009.sst").exists(),
        "another's store was cleared"
    );
    drop(held);

    let mut log = Log::default();
    let store = open(&path).unwrap();
    assert!(!making.exists() && !path.join("folder").exists());
    log.commit_many(&store, 2);
    store.close().unwrap();
    let store = open(&path).unwrap();
    assert_eq!(store.snapshot().head().unwrap(), log.head);
}
