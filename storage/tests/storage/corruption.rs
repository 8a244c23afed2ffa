//! Damaged files: a byte flipped anywhere, a write that a crash cut off, a hole in the middle. The
//! store opens with everything, or says what is wrong; it never panics and never loses in silence.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use kedge_protocol::hash::keccak;
use kedge_storage::verify::{compare_state, verify};
use kedge_storage::{Mode, OpenError, Store};

use crate::support::{Log, Step, copy, open, options, plan};

/// How long the sample of flipped bytes may take.
const SAMPLE_TIME: Duration = Duration::from_secs(20);

/// A small seeded generator: a seed names the whole run.
struct Numbers(u64);

impl Numbers {
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
    false
}

/// Flips one byte after the other, anywhere in any file. What is not found changed nothing.
#[test]
fn a_flipped_byte_is_found_or_changes_nothing() {
    let place = tempfile::tempdir().unwrap();
    let (original, damaged) = (place.path().join("original"), place.path().join("damaged"));
    let log = killed(&original, 40, 25);
    let reference = place.path().join("reference");
    copy(&original, &reference);
    let whole = open(&reference).unwrap();
    // The info log is for people and is never read.
    let candidates = files(&original, |name| !name.starts_with("LOG"));
    assert!(
        candidates
            .iter()
            .any(|path| path.extension().is_some_and(|end| end == "sst"))
    );
    let mut numbers = Numbers(1);
    let (mut tried, mut found_in_data) = (0, 0);
    let started = Instant::now();
    while started.elapsed() < SAMPLE_TIME && tried < 400 {
        let file = &candidates[numbers.below(candidates.len() as u64) as usize];
        let name = file.file_name().unwrap().to_str().unwrap().to_owned();
        let length = fs::metadata(file).unwrap().len();
        let offset = numbers.below(length);
        let bit = 1 << numbers.below(8);
        copy(&original, &damaged);
        let mut bytes = fs::read(file).unwrap();
        bytes[offset as usize] ^= bit;
        fs::write(damaged.join(&name), bytes).unwrap();
        let found = is_found(&damaged, &log, &whole);
        let is_data = name.ends_with(".log") || name.starts_with("MANIFEST");
        assert!(
            found || !is_data,
            "{name}, byte {offset}, bit {bit}: nobody noticed"
        );
        found_in_data += usize::from(found);
        tried += 1;
        fs::remove_dir_all(&damaged).unwrap();
    }
    assert!(
        tried >= 20 && found_in_data > tried / 3,
        "{found_in_data} of {tried}"
    );
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
