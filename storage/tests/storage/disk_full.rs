//! A full disk: nothing acknowledged is lost, and committing goes on when there is room. The disk
//! is a small memory file system that only this test sees, in a user and mount namespace of its
//! own; where the system allows neither, the test says so and shows what it was told.

use std::io::Write;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use kedge_storage::verify::verify;
use kedge_storage::{CommitError, Mode};

use crate::support::{Log, Step, open, plan};

const PLACE: &str = "KEDGE_TEST_SMALL_DISK";

/// Runs [`on_a_small_disk`] in a process that has one.
#[test]
fn a_full_disk_loses_nothing_and_goes_on() {
    let place = tempfile::tempdir().unwrap();
    let mount = format!(
        "mount -t tmpfs -o size=64m tmpfs {}",
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
            let told = format!("{refused:?}");
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
                .any(|reason| told.contains(reason)),
                "no small disk here, for a reason that is not expected: {told}"
            );
            eprintln!("skipped: this system gives a test no disk of its own: {told}");
            return;
        }
    }
    let test = std::env::current_exe().unwrap();
    let inner = "disk_full::on_a_small_disk";
    let run = format!("{} --exact {inner} --ignored --nocapture", test.display());
    let output = isolated(&format!("{mount} && {run}")).unwrap();
    let told = String::from_utf8_lossy(&output.stdout);
    assert!(
        output.status.success(),
        "{told}{}",
        String::from_utf8_lossy(&output.stderr)
    );
    assert!(told.contains("1 passed"), "{told}");
}

#[test]
#[ignore = "needs a small disk; a_full_disk_loses_nothing_and_goes_on runs it on one"]
fn on_a_small_disk() {
    let place = std::env::var(PLACE).unwrap();
    let place = Path::new(&place);
    let path = place.join("data");
    let store = open(&path).unwrap();
    let mut log = Log {
        payload_bytes: 20_000,
        ..Log::default()
    };
    log.commit_many(&store, 2);
    let filler = place.join("filler");
    let mut file = std::fs::File::create(&filler).unwrap();
    let block = vec![1; 1 << 16];
    while file.write_all(&block).is_ok() {}
    drop(file);

    let mut acknowledged = log.head;
    let mut kept = (log.tree.clone(), log.objects.clone());
    let (group, error) = loop {
        let (group, _) = log.batch(&[vec![Step::Mint { owner: 1 }; 50]]);
        match store.commit(&group) {
            Ok(snapshot) => {
                assert_eq!(snapshot.head().unwrap(), log.head);
                acknowledged = log.head;
                kept = (log.tree.clone(), log.objects.clone());
            }
            Err(error) => break (group, error),
        }
    };
    assert!(matches!(error, CommitError::NoSpace(_)), "{error:?}");
    assert_eq!(store.mode(), Mode::ReadWrite);
    assert_eq!(store.snapshot().head().unwrap(), acknowledged);

    std::fs::remove_file(&filler).unwrap();
    let until = Instant::now() + Duration::from_mins(1);
    while let Err(error) = store.commit(&group) {
        assert!(matches!(error, CommitError::NoSpace(_)), "{error:?}");
        assert!(Instant::now() < until, "there is room, and still: {error}");
        std::thread::sleep(Duration::from_millis(200));
    }
    assert_eq!(store.snapshot().head().unwrap(), log.head);
    assert!(kept.1.len() < log.objects.len() && kept.0.size() < log.tree.size());
    log.payload_bytes = 100;
    log.commit_many(&store, 3);
    drop(store);
    let store = open(&path).unwrap();
    let snapshot = store.snapshot();
    assert_eq!(snapshot.head().unwrap(), log.head);
    verify(&snapshot, &plan(), |_| (), |_, _| Ok(())).unwrap();
}
