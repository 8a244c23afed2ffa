//! Full disk: nothing acknowledged is lost, and committing continues when there is room. The disk is a small memory
//! file system in the test's own user and mount namespace. Where the system allows neither, the test says so and prints
//! the error.

use std::io::{self, Write};
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::time::{Duration, Instant};

use kedge_runtime::env::{Env, FileHandle, RealEnv};
use kedge_storage::verify::verify;
use kedge_storage::{CommitError, LogPosition, Store, StoreMode, StoreOptions, WriteGroup};

use crate::support::{Log, Step, kill, open_with, options, plan};

const PLACE: &str = "KEDGE_TEST_SMALL_DISK";

#[test]
fn a_full_disk_loses_nothing_and_goes_on() {
    run_on_a_small_disk("disk_full::on_a_small_disk");
}

// Holds invariant 164.
#[test]
fn rocksdb_recovers_however_often_a_flush_is_tried() {
    run_on_a_small_disk("disk_full::flushed_again_and_again");
}

/// Runs a test of this file in a process with a small disk.
fn run_on_a_small_disk(inner: &str) {
    let place = tempfile::tempdir().unwrap();
    let mount = format!(
        "mount -t tmpfs -o size=128m tmpfs {}",
        place.path().display()
    );
    let isolated = |script: &str| {
        Command::new("unshare")
            .args(["--user", "--map-root-user", "--mount", "sh", "-c", script])
            .env(PLACE, place.path())
            .output()
    };
    let allowed = isolated(&mount);
    match allowed {
        Ok(output) if output.status.success() => {}
        refused => {
            let reported = format!("{refused:?}");
            assert!(
                [
                    "denied",
                    "permitted",
                    "NotFound",
                    "not found",
                    "No space",
                    "invalid"
                ]
                .iter()
                .any(|reason| reported.contains(reason)),
                "no small disk here, for a reason that is not expected: {reported}"
            );
            eprintln!("skipped: this system gives a test no disk of its own: {reported}");
            return;
        }
    }
    let test = std::env::current_exe().unwrap();
    let run = format!("{} --exact {inner} --ignored --nocapture", test.display());
    let output = isolated(&format!("{mount} && {run}")).unwrap();
    let reported = String::from_utf8_lossy(&output.stdout);
    assert!(
        output.status.success(),
        "{reported}{}",
        String::from_utf8_lossy(&output.stderr)
    );
    assert!(reported.contains("1 passed"), "{reported}");
}

/// Retries a step of a commit while the disk is full.
fn when_there_is_room<T>(mut step: impl FnMut() -> Result<T, CommitError>) -> T {
    let until = Instant::now() + Duration::from_mins(1);
    loop {
        match step() {
            Ok(done) => return done,
            Err(error) => {
                assert!(matches!(error, CommitError::NoSpace(_)), "{error:?}");
                assert!(Instant::now() < until, "there is room, and still: {error}");
                std::thread::sleep(Duration::from_millis(200));
            }
        }
    }
}

/// The step that the full disk stopped.
#[derive(PartialEq, Eq, Debug)]
enum Stopped {
    /// The log has nothing of the group.
    Append,
    /// The log has the group and ends here; the rows have nothing of it.
    Apply(LogPosition),
}

/// Commits on a disk that fills up, until a step is refused: it changed nothing. Returns the group and the step.
fn until_full(place: &Path, store: &Store, log: &mut Log) -> (WriteGroup, Stopped) {
    fill(place);
    loop {
        let before = log.head;
        let (mut group, _) = log.batch(&[vec![Step::Mint { owner: 1 }; 50]]);
        let ids = group.take_action_ids();
        let stopped = match store.append(&group) {
            Ok(position) => {
                store.sync().unwrap();
                let applied = store.apply(&group, &position);
                applied.map_err(|error| (Stopped::Apply(position), error))
            }
            Err(error) => Err((Stopped::Append, error)),
        };
        match stopped {
            Ok(snapshot) => {
                assert_eq!(snapshot.head().unwrap(), log.head);
                store.index(&ids);
            }
            Err((stopped, error)) => {
                assert!(matches!(error, CommitError::NoSpace(_)), "{error:?}");
                assert_eq!(store.mode(), StoreMode::ReadWrite);
                assert_eq!(store.snapshot().head().unwrap(), before);
                store.index(&ids);
                return (group, stopped);
            }
        }
    }
}

fn filler(place: &Path) -> std::path::PathBuf {
    place.join("filler")
}

/// Takes all room that the disk has left.
fn fill(place: &Path) {
    let mut file = std::fs::File::create(filler(place)).unwrap();
    let block = vec![1; 1 << 16];
    while file.write_all(&block).is_ok() {}
}

/// A system that does not report the free space of a disk: only a flush finds out.
#[derive(Debug)]
struct Unmeasured(RealEnv);

impl Env for Unmeasured {
    fn free_bytes(&self, _: &Path) -> io::Result<u64> {
        Err(io::ErrorKind::Unsupported.into())
    }

    fn now(&self) -> Instant {
        self.0.now()
    }

    fn unix_ms(&self) -> u64 {
        self.0.unix_ms()
    }

    fn passed_ms(&self) -> u64 {
        self.0.passed_ms()
    }

    fn create_dir(&self, dir: &Path) -> io::Result<()> {
        self.0.create_dir(dir)
    }

    fn open(
        &self,
        path: &Path,
        mode: kedge_runtime::env::OpenMode,
    ) -> io::Result<Arc<dyn FileHandle>> {
        self.0.open(path, mode)
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.0.rename(from, to)
    }

    fn link(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.0.link(from, to)
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        self.0.remove(path)
    }

    fn list(&self, dir: &Path) -> io::Result<Vec<String>> {
        self.0.list(dir)
    }

    fn sync_dir(&self, dir: &Path) -> io::Result<()> {
        self.0.sync_dir(dir)
    }

    fn random(&self, out: &mut [u8]) -> io::Result<()> {
        self.0.random(out)
    }
}

#[test]
#[ignore = "needs a small disk; rocksdb_recovers_however_often_a_flush_is_tried runs it on one"]
fn flushed_again_and_again() {
    let place = std::env::var(PLACE).unwrap();
    let place = Path::new(&place);
    let options = StoreOptions {
        env: Arc::new(Unmeasured(RealEnv)),
        ..options(&place.join("data"))
    };
    let store = open_with(options).unwrap();
    let mut log = Log {
        payload_bytes: 20_000,
        ..Log::default()
    };
    let (mut group, _) = log.batch(&[vec![Step::Mint { owner: 1 }; 90]]);
    let ids = group.take_action_ids();
    store.commit(&group).unwrap();
    store.index(&ids);
    fill(place);
    for _ in 0..100 {
        let flushed = store.flush();
        assert!(
            matches!(flushed, Err(CommitError::NoSpace(_))),
            "{flushed:?}"
        );
        std::thread::sleep(Duration::from_millis(20));
    }
    std::fs::remove_file(filler(place)).unwrap();
    let freed = Instant::now();
    when_there_is_room(|| store.flush());
    // RocksDB checks every five seconds whether there is room.
    let limit = Duration::from_secs(20);
    assert!(freed.elapsed() < limit, "{:?}", freed.elapsed());
    store.close().unwrap();
}

#[test]
#[ignore = "needs a small disk; a_full_disk_loses_nothing_and_goes_on runs it on one"]
fn on_a_small_disk() {
    let place = std::env::var(PLACE).unwrap();
    let place = Path::new(&place);
    let data = place.join("data");
    let mut options = options(&data);
    let open = |options: &StoreOptions| open_with(options.clone()).unwrap();
    options.segments.segment_bytes = 2 << 20;
    let store = open(&options);
    let mut log = Log {
        payload_bytes: 20_000,
        ..Log::default()
    };
    log.commit_many(&store, 2);

    // There is no room for the next log segment: the log has nothing of the group, which is appended once there is
    // room.
    let (group, stopped) = until_full(place, &store, &mut log);
    assert_eq!(stopped, Stopped::Append);
    std::fs::remove_file(filler(place)).unwrap();
    let position = when_there_is_room(|| store.append(&group));
    store.sync().unwrap();
    let snapshot = store.apply(&group, &position).unwrap();
    assert_eq!(snapshot.head().unwrap(), log.head);
    drop(snapshot);
    store.close().unwrap();
    std::fs::remove_dir_all(&data).unwrap();

    // The log has room, the rows have none: the group is in the log and is applied once there is room.
    options.segments.first_segment_bytes = 24 << 20;
    options.segments.segment_bytes = 24 << 20;
    let store = open(&options);
    let mut log = Log {
        payload_bytes: 20_000,
        ..Log::default()
    };
    let (mut group, _) = log.batch(&[vec![Step::Mint { owner: 1 }; 90]]);
    let ids = group.take_action_ids();
    store.commit(&group).unwrap();
    store.index(&ids);
    let (group, stopped) = until_full(place, &store, &mut log);
    let Stopped::Apply(position) = stopped else {
        panic!("the log found no room")
    };
    std::fs::remove_file(filler(place)).unwrap();
    let snapshot = when_there_is_room(|| store.apply(&group, &position));
    assert_eq!(snapshot.head().unwrap(), log.head);
    drop(snapshot);

    // A kill loses rows that were never written to the disk, and nothing of the log.
    log.payload_bytes = 100;
    log.commit_many(&store, 3);
    kill(store, &data);
    let store = open(&options);
    let snapshot = store.snapshot();
    assert_eq!(snapshot.head().unwrap(), log.head);
    verify(&snapshot, &plan(), |_| (), |_, _| Ok(())).unwrap();
}
