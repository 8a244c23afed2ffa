//! A server killed while it archives: each segment is in the log or in the archive, and the same command completes the
//! work.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use kedge_log::LogReader;
use kedge_log::env::RealEnv;
use kedge_log::verify::{LogVerifyPlan, LogVerifySummary};

use super::archive::{anchored, archive};
use super::drill::{has_sealed, json_of, load, sealed};
use super::made::{Made, every_file};
use crate::support::faults::{Faults, OnCall, With};
use crate::support::server::Setup;
use crate::support::{Rng, connect, copy_directory, register};

const KEEP_ONE: &[&str] = &["--keep-segments", "1"];
/// Longest time until the server reaches the call that kills it.
const LIMIT: Duration = Duration::from_secs(30);

/// Every kind of step, and how many such calls are spared first: segments written to the archive, synced, named; the
/// list in the log's directory; segments removed, and the directory synced after that.
const MOMENTS: &[(OnCall, &str, &[u64])] = &[
    (OnCall::Write, "/archive/", &[0, 2, 7]),
    (OnCall::Fsync, "/archive", &[0, 1, 2, 3, 4, 5]),
    (OnCall::Write, "/log/.tmp", &[0]),
    (OnCall::Fsync, "/data/log", &[0, 1, 2]),
    (OnCall::Unlink, "/data/log/0", &[0, 1, 2]),
];

/// Checks everything in a log's directory.
fn verified(log: &Path) -> LogVerifySummary {
    let (reader, _) = LogReader::open(Arc::new(RealEnv), log, None, 1 << 20).unwrap();
    let plan = LogVerifyPlan {
        request_signatures: true,
        ..LogVerifyPlan::default()
    };
    kedge_log::verify::verify(&reader, &plan, |_| ()).unwrap()
}

/// Merges the files of the archive and of the log into another directory.
fn together(log: &Path, archive: &Path, to: &Path) {
    copy_directory(log, to);
    for (path, content) in every_file(archive) {
        let name = path.file_name().unwrap().to_str().unwrap();
        // Files that a kill left unfinished have other names.
        if kedge_log::SegmentName::of_file(name).is_some() {
            std::fs::write(to.join(name), content).unwrap();
        }
    }
}

/// Each segment of the earlier log is still in it, or in the archive with the same bytes.
#[track_caller]
fn nothing_is_lost(before: &BTreeMap<String, Vec<u8>>, log: &Path, archive: &Path, when: &str) {
    for (name, content) in before {
        let is_in = |directory: &Path| {
            let found = std::fs::read(directory.join(name));
            found.is_ok_and(|found| found == *content)
        };
        assert!(is_in(log) || is_in(archive), "{when}: {name} is lost");
    }
}

// Holds invariant 158.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_kill_at_any_step_of_archiving_loses_no_segment() {
    let mut rng = Rng::seeded("archive killed");
    let directory = tempfile::tempdir().unwrap();
    let at = |name: &str| directory.path().join(name);
    let setup = Setup::development(&at("data")).set("anchor_interval_s", 1);
    let server = setup.start();
    let made = Made::running(setup.clone(), &mut rng).await;
    load(&made, 40).await;
    has_sealed(&setup, 4).await;
    anchored(&server).await;
    server.stop();
    std::fs::rename(at("data"), at("original")).unwrap();
    let mark = std::fs::read(setup.high_water()).unwrap();
    let read = |(name, path)| (name, std::fs::read(path).unwrap());
    let before: BTreeMap<_, _> = sealed(&at("original/log")).into_iter().map(read).collect();
    let whole = verified(&at("original/log"));

    let (log, archived) = (at("data/log"), at("archive"));
    let faults = Faults::new(directory.path());
    let mut seen = BTreeSet::new();
    let moments = MOMENTS.iter().flat_map(|&(call, path, spared)| {
        let moment = move |&spared| (call, path, spared);
        spared.iter().map(moment)
    });
    for (call, path, spared) in moments {
        let when = format!("{call:?} {path} {spared}");
        for old in [at("data"), archived.clone(), at("together")] {
            let _not_there_at_first = std::fs::remove_dir_all(old);
        }
        copy_directory(&at("original"), &at("data"));
        std::fs::write(setup.high_water(), &mark).unwrap();
        std::fs::create_dir(&archived).unwrap();
        let mut server = faults.under(setup.clone()).start();
        faults.fail_with(With::Kill, spared, call, path);
        let output = archive(&setup, &archived, KEEP_ONE);
        assert!(!output.status.success(), "{when}: it was not killed");
        assert!(server.ended(LIMIT).is_some(), "{when}");
        faults.lift();
        nothing_is_lost(&before, &log, &archived, &when);
        let is_listed = log.join("ARCHIVED.json").exists();
        seen.insert((sealed(&archived).len(), is_listed, sealed(&log).len()));

        // The remaining log opens, by itself and with the archive.
        verified(&log);
        together(&log, &archived, &at("together"));
        let found = verified(&at("together"));
        assert_eq!(found.actions, whole.actions, "{when}");
        assert!(found.histories, "{when}");

        // The server starts with it, and the same command completes the work.
        let server = setup.start();
        assert_eq!(server.readiness().await.0, 200, "{when}");
        // A client from the previous round would take a reused batch number for equivocation.
        register(&connect(&setup.url()).await, rng.key()).await;
        json_of(&archive(&setup, &archived, KEEP_ONE));
        assert_eq!(sealed(&log).len(), 1, "{when}");
        nothing_is_lost(&before, &log, &archived, &when);
        server.kill();
        std::fs::remove_dir_all(at("together")).unwrap();
        together(&log, &archived, &at("together"));
        let found = verified(&at("together"));
        assert!(found.actions > whole.actions && found.histories, "{when}");
    }
    // Nothing yet, one more segment each time, the list, one segment less each time: nearly all of these were hit.
    let segments = before.len() - 1;
    assert!(seen.len() > 2 * segments, "{seen:?}");
}
