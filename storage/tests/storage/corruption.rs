//! Damaged files: a byte flipped anywhere, a write cut off by a crash, a hole in the middle. The store opens with
//! everything, or reports the damage. It never panics and never loses anything silently.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use kedge_protocol::hash::keccak;
use kedge_storage::verify::{compare_state, verify};
use kedge_storage::{Store, StoreMode, StoreOpenError, StoreSnapshot, Table};

use crate::segments::{PAGE_BYTES, SEGMENT_HEADER_BYTES, frames_of};
use crate::support::{Log, copy, files, kill, open, options, plan};

/// Number of flipped bytes, one at a time.
const FLIPS: u64 = 400;
/// Threads that share them.
const THREADS: usize = 2;
/// Seed of a run without `KEDGE_TEST_SEED`.
const SEED: u64 = 1;

/// A small seeded generator: the seed determines the whole run.
struct Numbers(u64);

impl Numbers {
    /// The seed in `KEDGE_TEST_SEED`, or else always the same; printed for repeating a failure.
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

/// A store in the state after a kill: rows in table files, and a longer log, in both sealed and raw segments.
pub(crate) fn killed(data: &Path, applied: u64, unapplied: u64) -> Log {
    let mut log = Log::default();
    let store = open(data).unwrap();
    log.commit_many(&store, applied);
    while store.maintain(&mut |_| {}).unwrap() {}
    store.close().unwrap();
    let store = open(data).unwrap();
    log.commit_many(&store, unapplied);
    kill(store, data);
    log
}

/// The files of a store that are not empty, by their paths in the data directory.
fn files_with(data: &Path, wanted: impl Fn(&str) -> bool) -> Vec<PathBuf> {
    let files = files(data).into_iter();
    files
        .filter(|(path, bytes)| *bytes > 0 && wanted(path.file_name().unwrap().to_str().unwrap()))
        .map(|(path, _)| path)
        .collect()
}

/// True if the damage was found; false if nothing is missing and nothing is wrong.
pub(crate) fn is_found(data: &Path, log: &Log, whole: &Store) -> bool {
    let store = match open(data) {
        Ok(store) => store,
        Err(error) => {
            assert!(!error.to_string().is_empty());
            return true;
        }
    };
    if store.mode() != StoreMode::ReadWrite {
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

/// True if everything in the log and every row of every table is there, byte for byte; false if a read reports that
/// something is unavailable. A silent difference must not happen.
fn is_whole(found: &StoreSnapshot, whole: &StoreSnapshot) -> bool {
    for number in 0..whole.head().unwrap().batches {
        let expected = whole.batch_with_leaves(number).unwrap();
        let Ok(batch) = found.batch_with_leaves(number) else {
            return false;
        };
        assert!(batch == expected, "batch {number} is another one");
    }
    let mut requests = whole.requests_from(1).map(Result::unwrap);
    for request in found.requests_from(1) {
        let Ok(request) = request else {
            return false;
        };
        assert!(Some(request) == requests.next(), "another request");
    }
    assert!(requests.next().is_none(), "requests are gone");
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

/// Whether a byte of a raw segment lies outside its header and its frames.
fn is_fill(segment: &[u8], offset: usize) -> bool {
    if offset < PAGE_BYTES {
        return offset >= SEGMENT_HEADER_BYTES;
    }
    frames_of(segment).all(|frame| !frame.contains(&offset))
}

/// A file's purpose, by its name.
fn kind(name: &str) -> &str {
    let mut ends = [".log", ".seg", ".sst"].into_iter();
    let end = ends.find(|end| name.ends_with(end));
    end.unwrap_or_else(|| name.split('-').next().unwrap())
}

// Holds invariant 145.
/// Flips one byte after another, anywhere in any file. An unnoticed flip changed nothing: the log and every row are
/// unchanged.
#[test]
fn a_flipped_byte_is_found_or_changes_nothing() {
    let place = tempfile::tempdir().unwrap();
    let original = place.path().join("original");
    let log = killed(&original, 40, 25);
    let reference = place.path().join("reference");
    copy(&original, &reference);
    let whole = open(&reference).unwrap();
    // The info log is for people and is never read.
    let candidates = files_with(&original, |name| !name.starts_with("LOG"));
    let mut numbers = Numbers::seeded();
    let mut flips = Vec::new();
    for _ in 0..FLIPS {
        let file = &candidates[numbers.below(candidates.len() as u64) as usize];
        let offset = numbers.below(fs::metadata(original.join(file)).unwrap().len());
        flips.push((file, offset as usize, 1 << numbers.below(8)));
    }
    // Flips and findings, by kind of file.
    let counts: Mutex<BTreeMap<String, (u64, u64)>> = Mutex::default();
    let damage = |damaged: &Path, (file, offset, bit): (&Path, usize, u8)| {
        let name = file.file_name().unwrap().to_str().unwrap();
        copy(&original, damaged);
        let mut bytes = fs::read(original.join(file)).unwrap();
        // After each frame and after the last one there are zeros, which are never read.
        let is_fill = name.ends_with(".log") && is_fill(&bytes, offset);
        bytes[offset] ^= bit;
        fs::write(damaged.join(file), bytes).unwrap();
        let found = is_found(damaged, &log, &whole);
        let is_log = file.starts_with("log") && !is_fill;
        let is_data = is_log || name.starts_with("MANIFEST");
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
    for of in [".log", ".seg", ".sst", "MANIFEST"] {
        let (tried, found) = flips.get(of).copied().unwrap_or_default();
        assert!(found > 0, "{found} of {tried} in files of kind {of}");
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
    // The largest file holds the objects.
    let largest = files_with(&path, |name| name.ends_with(".sst"))
        .into_iter()
        .map(|file| path.join(file))
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

/// The table files that a store reads. Others that a merge has replaced may still be there: a killed process does not
/// delete them.
fn tables_in_use(data: &Path) -> Vec<PathBuf> {
    let (store, options) = (data.join("store"), rocksdb::Options::default());
    let families = rocksdb::DB::list_cf(&options, &store).unwrap();
    let database = rocksdb::DB::open_cf_for_read_only(&options, &store, families, false).unwrap();
    let files = database.live_files().unwrap().into_iter();
    let mut names: Vec<_> = files
        .map(|file| Path::new("store").join(file.name.trim_start_matches('/')))
        .collect();
    names.sort();
    names
}

#[test]
fn a_missing_file_is_refused() {
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("data");
    killed(&path, 3, 2);
    let mut cases = tables_in_use(&path);
    assert!(!cases.is_empty(), "no table file holds rows");
    cases.truncate(2);
    cases.push(PathBuf::from("store/CURRENT"));
    for file in cases {
        let is_table = file.extension().is_some_and(|end| end == "sst");
        let damaged = place.path().join("damaged");
        copy(&path, &damaged);
        fs::remove_file(damaged.join(&file)).unwrap();
        let error = Store::open(options(&damaged)).unwrap_err();
        let is_named = match error {
            StoreOpenError::Incomplete { .. } => is_table,
            StoreOpenError::Corruption { .. } => !is_table,
            _ => false,
        };
        assert!(is_named, "{file:?}: {error}");
        fs::remove_dir_all(&damaged).unwrap();
    }
}
