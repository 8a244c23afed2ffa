//! The high-water mark of released headers: a store that ends before it, or has none, opens read-only, and its log is
//! unchanged.

use std::path::Path;

use kedge_storage::{
    CommitError, HighWater, HighWaterMark, MissingMark, Store, StoreMode, StoreOptions,
};

use crate::opening::why;
use crate::support::{
    Log, apply_frames, contents, copy, log_path, open, open_where, open_with, options, rows_path,
};

#[test]
fn a_store_from_before_the_mark_is_read_only_and_unchanged() {
    let place = tempfile::tempdir().unwrap();
    let with_mark = |path: &Path| StoreOptions {
        high_water_path: Some(place.path().join("mark")),
        ..options(path)
    };
    let (now, then) = (place.path().join("now"), place.path().join("then"));
    let mut log = Log::default();
    let store = open_with(with_mark(&now)).unwrap();
    log.commit_many(&store, 3);
    store.close().unwrap();
    copy(&now, &then);
    let store = open_with(with_mark(&now)).unwrap();
    assert_eq!(store.mode(), StoreMode::ReadWrite);
    log.commit_many(&store, 2);
    drop(store);

    let before = contents(&log_path(&then));
    let store = open_with(with_mark(&then)).unwrap();
    let text = why(&store);
    assert!(
        text.contains("holds 3 batches") && text.contains("equivocation"),
        "{text}"
    );
    assert!(text.contains("newest copy"), "{text}");
    assert_eq!(store.snapshot().head().unwrap().batches, 3);
    let (group, _) = Log::default().batch(&[vec![crate::support::Step::Mint { owner: 1 }]]);
    assert!(matches!(store.commit(group), Err(CommitError::ReadOnly(_))));
    assert!(matches!(store.sync(), Err(CommitError::ReadOnly(_))));
    assert_eq!(store.maintain(&mut |_| {}), Ok(false));
    store.close().unwrap();
    assert!(contents(&log_path(&then)) == before, "the log changed");

    // The mark belongs to this log: the newest copy continues.
    let store = open_with(with_mark(&now)).unwrap();
    assert_eq!(store.mode(), StoreMode::ReadWrite);
    log.commit_many(&store, 1);
}

#[test]
fn another_history_than_the_released_one_is_read_only() {
    let place = tempfile::tempdir().unwrap();
    let with_mark = |name: &str| StoreOptions {
        high_water_path: Some(place.path().join("mark")),
        ..options(&place.path().join(name))
    };
    let mut log = Log::default();
    let store = open_with(with_mark("one")).unwrap();
    log.commit_many(&store, 2);
    drop(store);
    let mut other = Log {
        payload_bytes: 80,
        ..Log::default()
    };
    let store = open(&place.path().join("two")).unwrap();
    other.commit_many(&store, 3);
    drop(store);
    let text = why(&open_with(with_mark("two")).unwrap());
    assert!(text.contains("batch 1 differs from"), "{text}");
    // An emptied directory ends before the mark too.
    let text = why(&open_with(with_mark("three")).unwrap());
    assert!(text.contains("holds 0 batches"), "{text}");
}

// Holds invariant 212.
/// A first start that must not append anything makes rows without a frame.
#[test]
fn a_log_that_begins_after_a_start_without_a_mark_names_its_first_key() {
    let place = tempfile::tempdir().unwrap();
    let (data, mark) = (place.path().join("data"), place.path().join("mark"));
    let with_mark = StoreOptions {
        high_water_path: Some(mark.clone()),
        ..options(&data)
    };
    std::fs::write(&mark, "not a mark").unwrap();
    let store = open_with(with_mark.clone()).unwrap();
    let text = why(&store);
    assert!(text.contains("holds 0 batches"), "{text}");
    store.close().unwrap();
    std::fs::remove_file(&mark).unwrap();
    let store = open_with(with_mark.clone()).unwrap();
    assert_eq!(store.mode(), StoreMode::ReadWrite);
    let key = store.snapshot().first_sequencer_key().unwrap();
    let mut log = Log::default();
    log.commit_many(&store, 2);
    store.release(&log.head).unwrap();
    store.close().unwrap();
    // The rows are lost: only the log names its first key.
    std::fs::remove_dir_all(rows_path(&data)).unwrap();
    let opening = Store::begin(with_mark, MissingMark::ReadOnly).unwrap();
    apply_frames(&opening).unwrap();
    assert_eq!(opening.snapshot().first_sequencer_key().unwrap(), key);
}

/// Files in place of a mark, with the expected texts.
fn without_meaning(whole: &[u8]) -> [(Option<Vec<u8>>, &'static str); 5] {
    let mut torn = whole.to_vec();
    torn[20] ^= 1;
    torn[4096 + 20] ^= 1;
    torn[8192 + 20] ^= 1;
    [
        (None, "is missing"),
        (Some(Vec::new()), "it is empty"),
        (Some(b"not a mark".to_vec()), "none of its slots is valid"),
        (Some(torn), "none of its slots is valid"),
        (Some(whole[..30].to_vec()), "none of its slots is valid"),
    ]
}

// Holds invariant 87.
/// A mark without a meaning is not mistaken for "nothing was released".
#[test]
fn a_store_whose_mark_says_nothing_is_read_only_and_unchanged() {
    let place = tempfile::tempdir().unwrap();
    let (data, mark) = (place.path().join("data"), place.path().join("mark"));
    let with_mark = StoreOptions {
        high_water_path: Some(mark.clone()),
        ..options(&data)
    };
    let mut log = Log::default();
    let store = open_with(with_mark.clone()).unwrap();
    log.commit_many(&store, 3);
    store.close().unwrap();
    let whole = std::fs::read(&mark).unwrap();
    assert_eq!(whole.len(), 8192 + 56, "all slots are there from the start");

    let before = contents(&log_path(&data));
    for (content, what) in without_meaning(&whole) {
        std::fs::remove_file(&mark).unwrap();
        if let Some(content) = &content {
            std::fs::write(&mark, content).unwrap();
        }
        let store = open_with(with_mark.clone()).unwrap();
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
        assert!(contents(&log_path(&data)) == before, "{what}");
        assert_eq!(std::fs::read(&mark).ok(), content, "{what}");
        std::fs::write(&mark, &whole).unwrap();
    }

    // A new directory with a mark that exists but is empty is no new log.
    std::fs::write(&mark, b"").unwrap();
    let fresh = place.path().join("fresh");
    let store = open_with(StoreOptions {
        high_water_path: Some(mark.clone()),
        ..options(&fresh)
    });
    assert!(why(&store.unwrap()).contains("it is empty"));
    assert!(!log_path(&fresh).exists(), "a log was begun");

    // The operator confirms it once; then the store has a mark again.
    std::fs::remove_file(&mark).unwrap();
    let store = open_where(with_mark.clone(), MissingMark::Accepted).unwrap();
    assert_eq!(store.mode(), StoreMode::ReadWrite);
    drop(store);
    let HighWaterMark::Released(released) = HighWater::read(&kedge_runtime::env::RealEnv, &mark)
    else {
        panic!("there is no mark")
    };
    assert_eq!((released.batches, released.head), (3, log.head.head));
    let store = open_with(with_mark).unwrap();
    assert_eq!(store.mode(), StoreMode::ReadWrite);
    log.commit_many(&store, 1);
}

// Holds invariant 13.
/// The mark advances without a sync, so a power loss can damage both slots that take turns.
#[test]
fn a_mark_that_lost_its_last_advances_is_the_one_of_the_start() {
    let place = tempfile::tempdir().unwrap();
    let (data, mark) = (place.path().join("data"), place.path().join("mark"));
    let with_mark = StoreOptions {
        high_water_path: Some(mark.clone()),
        ..options(&data)
    };
    let released = || match HighWater::read(&kedge_runtime::env::RealEnv, &mark) {
        HighWaterMark::Released(released) => released.batches,
        other => panic!("{other:?}"),
    };
    let mut log = Log::default();
    let mut run = |batches| {
        let store = open_with(with_mark.clone()).unwrap();
        assert_eq!(store.mode(), StoreMode::ReadWrite);
        log.commit_many(&store, batches);
    };
    let tear = || {
        let mut torn = std::fs::read(&mark).unwrap();
        torn[20] ^= 1;
        torn[4096 + 20] ^= 1;
        std::fs::write(&mark, torn).unwrap();
    };
    run(3);
    assert_eq!(released(), 3);
    tear();
    assert_eq!(released(), 0, "the first start");
    // The log has more than the mark, so the next start writes a new one; the start after that continues it.
    run(1);
    run(1);
    assert_eq!(released(), 5);
    tear();
    assert_eq!(released(), 4, "the last start");
    run(1);
    assert_eq!(released(), 6);
}
