//! Damaged files: a byte flipped anywhere, a write that a crash cut off, a hole in the middle. The
//! store opens with everything, or says what is wrong; it never panics and never loses in silence.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use kedge_protocol::hash::keccak;
use kedge_storage::verify::{compare_state, verify};
use kedge_storage::{Mode, OpenError, Snapshot, Store, Table};

use crate::support::{Log, Step, copy, open, options, plan};

/// Bytes that are flipped, one at a time.
const FLIPS: u64 = 400;
/// Threads that share them.
const THREADS: usize = 2;
/// The seed of a run that names none.
const SEED: u64 = 1;

/// A small seeded generator: a seed names the whole run.
struct Numbers(u64);

impl Numbers {
    /// The seed of `KEDGE_TEST_SEED`, or always the same; printed, so that a failure can be repeated.
    fn seeded() -> Self {
        let given = std::env::var("KEDGE_TEST_SEED").ok();
        let seed = given.map_or(SEED, |text| text.parse().unwrap());
        eprintln!("corruption: KEDGE_TEST_SEED={seed}");
        Self(seed)
    }

    fn below(&mut self, end: u64) -> u64 {
        self.0 += 1;
        let hash = keccak(&self.0.to_be_bytes());
        u64::from_be_bytes(*hash.0.first_chunk().unwrap()) % end
    }
}

/// A store with rows in table files and in the write-ahead log, as a killed process leaves it.
fn killed(path: &Path, in_files: u64, in_log: u64) -> Log {
    let mut log = Log::default();
    let store = open(path).unwrap();
    log.commit_many(&store, in_files);
    store.close().unwrap();
    let store = open(path).unwrap();
    log.commit_many(&store, in_log);
    let place = tempfile::tempdir().unwrap();
    let living = place.path().join("living");
    copy_at_one_moment(path, &living);
    drop(store);
    fs::remove_dir_all(path).unwrap();
    copy(&living, path);
    log
}

/// Copies a living store's files as they were at one moment: again, if it tidied them meanwhile.
fn copy_at_one_moment(from: &Path, to: &Path) {
    let names_and_sizes = || {
        let mut found: Vec<_> = fs::read_dir(from)
            .unwrap()
            .map(|entry| entry.unwrap())
            .map(|entry| {
                (
                    entry.file_name(),
                    entry.metadata().map_or(0, |data| data.len()),
                )
            })
            .collect();
        found.sort();
        found
    };
    loop {
        let before = names_and_sizes();
        copy(from, to);
        if names_and_sizes() == before {
            return;
        }
        fs::remove_dir_all(to).unwrap();
    }
}

fn files(path: &Path, wanted: impl Fn(&str) -> bool) -> Vec<PathBuf> {
    let mut files: Vec<_> = fs::read_dir(path)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| wanted(path.file_name().unwrap().to_str().unwrap()))
        .filter(|path| fs::metadata(path).unwrap().len() > 0)
        .collect();
    files.sort();
    files
}

/// The write-ahead log with the highest number.
fn last_log(path: &Path) -> PathBuf {
    files(path, |name| name.ends_with(".log")).pop().unwrap()
}

/// True if the damage was found; false if nothing is missing and nothing is wrong.
fn is_found(path: &Path, log: &Log, whole: &Store) -> bool {
    let store = match open(path) {
        Ok(store) => store,
        Err(error) => {
            assert!(!error.to_string().is_empty());
            return true;
        }
    };
    if store.mode() != Mode::ReadWrite {
        return true;
    }
    let snapshot = store.snapshot();
    if verify(&snapshot, &plan(), |_| (), |_, _| Ok(())).is_err()
        || compare_state(&snapshot, &whole.snapshot()).is_err()
    {
        return true;
    }
    assert_eq!(snapshot.head().unwrap(), log.head);
    !is_whole(&snapshot, &whole.snapshot())
}

/// True if every row of every table is there, byte for byte; false if a read says that one cannot be had. A row
/// that differs without a word is what must not be.
fn is_whole(found: &Snapshot, whole: &Snapshot) -> bool {
    for &table in Table::ALL {
        let mut expected = whole.raw_rows(table);
        for row in found.raw_rows(table) {
            let Ok(row) = row else {
                return false;
            };
            let expected = expected.next().map(Result::unwrap);
            assert!(Some(row) == expected, "{}: another row", table.name());
        }
        assert!(expected.next().is_none(), "{}: rows are gone", table.name());
    }
    true
}

/// What a file is for, by its name.
fn kind(name: &str) -> &str {
    let ends = [".log", ".sst"].into_iter().find(|end| name.ends_with(end));
    ends.unwrap_or_else(|| name.split('-').next().unwrap())
}

/// Flips one byte after the other, anywhere in any file. What is not found changed nothing: every row is as it was.
#[test]
fn a_flipped_byte_is_found_or_changes_nothing() {
    let place = tempfile::tempdir().unwrap();
    let original = place.path().join("original");
    let log = killed(&original, 40, 25);
    let reference = place.path().join("reference");
    copy(&original, &reference);
    let whole = open(&reference).unwrap();
    // The info log is for people and is never read.
    let candidates = files(&original, |name| !name.starts_with("LOG"));
    let mut numbers = Numbers::seeded();
    let mut flips = Vec::new();
    for _ in 0..FLIPS {
        let file = &candidates[numbers.below(candidates.len() as u64) as usize];
        let offset = numbers.below(fs::metadata(file).unwrap().len());
        flips.push((file, offset as usize, 1 << numbers.below(8)));
    }
    // Tried and found, by kind of file.
    let counts: Mutex<BTreeMap<String, (u64, u64)>> = Mutex::default();
    let damage = |damaged: &Path, (file, offset, bit): (&Path, usize, u8)| {
        let name = file.file_name().unwrap().to_str().unwrap();
        copy(&original, damaged);
        let mut bytes = fs::read(file).unwrap();
        bytes[offset] ^= bit;
        fs::write(damaged.join(name), bytes).unwrap();
        let found = is_found(damaged, &log, &whole);
        let is_data = name.ends_with(".log") || name.starts_with("MANIFEST");
        assert!(
            found || !is_data,
            "{name}, byte {offset}, bit {bit}: nobody noticed"
        );
        let mut counts = counts.lock().unwrap();
        let (tried, noticed) = counts.entry(kind(name).to_owned()).or_default();
        (*tried, *noticed) = (*tried + 1, *noticed + u64::from(found));
        fs::remove_dir_all(damaged).unwrap();
    };
    std::thread::scope(|threads| {
        for (number, share) in flips.chunks(flips.len().div_ceil(THREADS)).enumerate() {
            let damaged = place.path().join(format!("damaged-{number}"));
            let damage = &damage;
            threads.spawn(move || {
                for (file, offset, bit) in share {
                    damage(&damaged, (file.as_path(), *offset, *bit));
                }
            });
        }
    });
    let flips = counts.into_inner().unwrap();
    eprintln!("tried and found, by kind of file: {flips:?}");
    assert_eq!(flips.values().map(|(tried, _)| tried).sum::<u64>(), FLIPS);
    for of in [".log", ".sst", "MANIFEST"] {
        let (tried, found) = flips.get(of).copied().unwrap_or_default();
        assert!(found > 0, "{found} of {tried} in files of kind {of}");
    }
}

/// Every length field and header of the write-ahead log, not a sample: these are what a recovery
/// can mistake for a cut-off end.
#[test]
fn damage_inside_the_write_ahead_log_is_never_a_silent_end() {
    let place = tempfile::tempdir().unwrap();
    let (original, damaged) = (place.path().join("original"), place.path().join("damaged"));
    let log = killed(&original, 2, 6);
    let reference = place.path().join("reference");
    copy(&original, &reference);
    let whole = open(&reference).unwrap();
    let file = last_log(&original);
    let bytes = fs::read(&file).unwrap();
    let mut offset = 0;
    let mut headers = 0;
    while offset + 7 <= bytes.len() {
        let length = usize::from(u16::from_le_bytes([bytes[offset + 4], bytes[offset + 5]]));
        for byte in offset + 4..offset + 7 {
            copy(&original, &damaged);
            let mut changed = bytes.clone();
            changed[byte] ^= 0x40;
            fs::write(damaged.join(file.file_name().unwrap()), changed).unwrap();
            assert!(
                is_found(&damaged, &log, &whole),
                "byte {byte} of the record at {offset}"
            );
            fs::remove_dir_all(&damaged).unwrap();
        }
        headers += 1;
        offset += 7 + length;
    }
    assert!(headers >= 6, "{headers} records of {} bytes", bytes.len());
}

/// A crash in the middle of a write: what was not acknowledged goes, the rest stays, and the store
/// takes commits again.
#[test]
fn a_write_cut_off_before_its_release_is_dropped() {
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("data");
    let mut log = killed(&path, 2, 3);
    let before = (log.head, log.tree.clone(), log.objects.clone());
    let store = open(&path).unwrap();
    let (group, _) = log.batch(&[vec![Step::Mint { owner: 1 }; 20]]);
    store.commit(group).unwrap();
    // Not released: the process died between the write and the answer. Dropped first, because a
    // copy of files that the store tidies in the background is no moment of its life.
    drop(store);
    let living = place.path().join("living");
    copy(&path, &living);
    let file = last_log(&living);
    let length = fs::metadata(&file).unwrap().len();
    for cut in [1, 100, 1_000] {
        let torn = place.path().join(format!("torn-{cut}"));
        copy(&living, &torn);
        let name = torn.join(file.file_name().unwrap());
        let handle = fs::OpenOptions::new().write(true).open(name).unwrap();
        handle.set_len(length - cut).unwrap();
        let store = open(&torn).unwrap();
        assert_eq!(store.mode(), Mode::ReadWrite, "cut by {cut}");
        assert_eq!(store.snapshot().head().unwrap(), before.0);
        let mut log = Log {
            head: before.0,
            tree: before.1.clone(),
            objects: before.2.clone(),
            nonce: 1_000,
            ..Log::default()
        };
        log.commit_many(&store, 2);
        let snapshot = store.snapshot();
        let walked = verify(&snapshot, &plan(), |_| (), |_, _| Ok(()));
        assert_eq!(walked.unwrap().batches, before.0.batches + 2);
    }
}

/// The same after the headers left: that is a loss, and the store says so and signs nothing.
#[test]
fn a_write_cut_off_after_its_release_makes_the_store_read_only() {
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("data");
    let log = killed(&path, 2, 3);
    let file = last_log(&path);
    let length = fs::metadata(&file).unwrap().len();
    let handle = fs::OpenOptions::new().write(true).open(&file).unwrap();
    handle.set_len(length - 10).unwrap();
    drop(handle);
    for _ in 0..2 {
        let store = open(&path).unwrap();
        let Mode::ReadOnly(why) = store.mode() else {
            panic!("released batches are gone and the store takes commits")
        };
        assert!(why.contains("equivocation"), "{why}");
        assert_eq!(
            store.snapshot().head().unwrap().batches,
            log.head.batches - 1
        );
    }
}

#[test]
fn damage_in_a_table_file_names_the_file() {
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("data");
    let mut log = Log {
        payload_bytes: 2_000,
        ..Log::default()
    };
    let store = open(&path).unwrap();
    log.commit_many(&store, 30);
    store.close().unwrap();
    // The largest file holds the requests or the objects.
    let largest = files(&path, |name| name.ends_with(".sst"))
        .into_iter()
        .max_by_key(|file| fs::metadata(file).unwrap().len())
        .unwrap();
    let mut bytes = fs::read(&largest).unwrap();
    let middle = bytes.len() / 3;
    bytes[middle] ^= 1;
    fs::write(&largest, bytes).unwrap();
    let name = largest.file_name().unwrap().to_str().unwrap();
    let text = match open(&path) {
        Ok(store) => {
            let snapshot = store.snapshot();
            verify(&snapshot, &plan(), |_| (), |_, _| Ok(()))
                .unwrap_err()
                .to_string()
        }
        Err(error) => error.to_string(),
    };
    assert!(text.contains(name), "{text} does not name {name}");
}

#[test]
fn a_missing_file_is_refused() {
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("data");
    killed(&path, 3, 2);
    let mut cases = files(&path, |name| name.ends_with(".sst"));
    cases.truncate(2);
    cases.push(path.join("CURRENT"));
    for file in cases {
        let is_table = file.extension().is_some_and(|end| end == "sst");
        let damaged = place.path().join("damaged");
        copy(&path, &damaged);
        fs::remove_file(damaged.join(file.file_name().unwrap())).unwrap();
        let error = Store::open(options(&damaged)).unwrap_err();
        let is_named = match error {
            OpenError::Incomplete { .. } => is_table,
            OpenError::Corruption { .. } => !is_table,
            _ => false,
        };
        assert!(is_named, "{file:?}: {error}");
        fs::remove_dir_all(&damaged).unwrap();
    }
}
