//! Copies of a log, whole and incremental, and copies that are cut.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::sample::{START_MS, Writer, dir, domain, keys, open, open_at};
use crate::env::Env;
use crate::env::simulated::{CrashLoss, DiskFault, SimulatedEnv};
use crate::verify::{LogVerifyPlan, verify};
use crate::{
    CutError, CutPoint, FileLog, Log, LogReadError, LogReader, ReleaseMark, SegmentKind,
    SegmentName, cut,
};

/// A log of several segments, some of them sealed: frames with actions and frames with only side entries.
fn made(env: &SimulatedEnv, frames: usize) -> (FileLog, Writer) {
    let (mut log, _) = open(env, ReleaseMark::default()).unwrap();
    let mut writer = Writer::new();
    append(&mut log, &mut writer, frames);
    let maintenance = log.maintenance();
    for _ in 0..3 {
        maintenance.seal_next().unwrap();
    }
    (log, writer)
}

fn append(log: &mut FileLog, writer: &mut Writer, frames: usize) {
    for number in 0..frames {
        let batches = if number % 4 == 0 { 0 } else { 1 + number % 2 };
        log.append(&writer.frame(batches, 3, 1 + number % 3))
            .unwrap();
    }
    log.durability().sync().unwrap();
}

fn read(env: &SimulatedEnv, dir: &Path) -> LogReader {
    let env: Arc<dyn Env> = Arc::new(env.clone());
    LogReader::open(env, dir, Some(domain().separator()), 0)
        .unwrap()
        .0
}

fn files(env: &SimulatedEnv, dir: &Path) -> Vec<(String, Vec<u8>)> {
    let names = env.list(dir).unwrap();
    let with_contents = |name: String| {
        let contents = env.contents(&dir.join(&name)).unwrap();
        (name, contents)
    };
    names.into_iter().map(with_contents).collect()
}

// Holds invariant 155.
#[test]
fn a_copy_takes_what_is_sealed_from_an_older_one() {
    let env = SimulatedEnv::new();
    let (mut log, mut writer) = made(&env, 40);
    let older = PathBuf::from("/older");
    let first = log.reader().copy_to(&older, None).unwrap();
    assert!(first.taken.is_empty());
    append(&mut log, &mut writer, 40);
    // One that was raw in the older copy is now sealed.
    assert!(log.maintenance().seal_next().unwrap().is_some());

    let (whole, linked) = (PathBuf::from("/whole"), PathBuf::from("/linked"));
    log.reader().copy_to(&whole, None).unwrap();
    let used = env.used();
    let copied = log.reader().copy_to(&linked, Some(&older)).unwrap();
    let sealed = files(&env, &older).into_iter().map(|(name, _)| name);
    let is_sealed = |name: &String| {
        SegmentName::of_file(name).is_some_and(|(_, kind)| kind == SegmentKind::Sealed)
    };
    let sealed: Vec<String> = sealed.filter(is_sealed).collect();
    assert_eq!((copied.taken, copied.position), (sealed, log.position()));
    assert_eq!(files(&env, &linked), files(&env, &whole));
    assert!(env.used() > used);

    // If linking fails, the older copy's file is copied.
    let elsewhere = PathBuf::from("/elsewhere");
    env.fail(1, DiskFault::Error(std::io::ErrorKind::CrossesDevices));
    log.reader().copy_to(&elsewhere, Some(&older)).unwrap();
    assert_eq!(files(&env, &elsewhere), files(&env, &whole));
    env.crash(CrashLoss::All);
    assert_eq!(files(&env, &elsewhere), files(&env, &whole));

    // An older copy whose segment does not open is not used.
    let (log, _) = open(&env, ReleaseMark::default()).unwrap();
    let (name, bytes) = files(&env, &older).into_iter().next().unwrap();
    assert!(SegmentName::of_file(&name).is_some());
    env.damage(&older.join(&name), bytes.len() - 1, 1);
    let again = PathBuf::from("/again");
    let copied = log.reader().copy_to(&again, Some(&older)).unwrap();
    assert!(!copied.taken.contains(&name));
    assert_eq!(files(&env, &again)[0].1, files(&env, &whole)[0].1);
}

/// Ends of the frames: number, last sequence, last batch and time of its sealing.
fn ends(reader: &LogReader) -> Vec<(u64, u64, u64, u64)> {
    let frames = reader.frames(1).map(|frame| {
        let frame = frame.unwrap();
        let header = frame.header().clone();
        let sealed = frame
            .batches()
            .unwrap()
            .last()
            .map_or(0, |batch| batch.header.sealed_at_ms);
        (
            header.number,
            header.next_sequence() - 1,
            header.next_batch(),
            sealed,
        )
    });
    frames.collect()
}

// Holds invariant 156.
#[test]
fn a_cut_is_between_two_frames() {
    let original = SimulatedEnv::new();
    let (log, writer) = made(&original, 60);
    let ends = ends(&log.reader());
    let first_end = ends.iter().find(|end| end.2 > 0).unwrap().1;
    let last = writer.next_sequence - 1;
    for sequence in (0..=last + 2)
        .step_by(7)
        .chain([first_end - 1, first_end, last, last + 1])
    {
        let env = original.copy();
        let before = files(&env, &dir());
        let shared: Arc<dyn Env> = Arc::new(env.clone());
        let found = cut(&shared, &dir(), CutPoint::Sequence(sequence));
        if sequence < first_end || sequence > last {
            match found.unwrap_err() {
                CutError::Before { sequence, .. } => assert_eq!(sequence, first_end),
                CutError::Beyond { sequence } => assert_eq!(sequence, last),
                other => panic!("{other}"),
            }
            assert_eq!(files(&env, &dir()), before);
            continue;
        }
        let found = found.unwrap();
        let kept: Vec<_> = ends.iter().take_while(|end| end.1 <= sequence).collect();
        let (frame, end, batches, _) = **kept.last().unwrap();
        let position = found.position;
        assert_eq!(
            (position.frame, position.next_sequence, position.next_batch),
            (frame, end + 1, batches)
        );
        assert_eq!(found.last.header.last_sequence(), end);
        assert_eq!(found.actions_left_out, last - end);
        assert_eq!(found.frames_left_out, ends.len() as u64 - frame);
        // It is durable, it verifies, and it matches the original.
        env.crash(CrashLoss::All);
        let reader = read(&env, &dir());
        let plan = LogVerifyPlan {
            side_keys: Some(keys()),
            ..LogVerifyPlan::default()
        };
        assert_eq!(verify(&reader, &plan, |_| ()).unwrap().frames, frame);
        for (kept, original) in reader.frames(1).zip(log.reader().frames(1)) {
            assert_eq!(
                kept.unwrap().header().hash(),
                original.unwrap().header().hash()
            );
        }
        drop(reader);
        // It can be continued.
        let (mut log, recovery) = open_at(shared, &dir(), ReleaseMark::default()).unwrap();
        assert_eq!(recovery.torn, None);
        let mut side = Writer::new();
        log.append(&side.frame(0, 0, 2)).unwrap();
        log.durability().sync().unwrap();
        drop(log);
        assert_eq!(read(&env, &dir()).position().frame, frame + 1);
    }
}

// Holds invariant 156.
#[test]
fn a_cut_at_a_time_is_after_the_last_frame_that_was_sealed_by_then() {
    let original = SimulatedEnv::new();
    let (log, writer) = made(&original, 60);
    let ends = ends(&log.reader());
    for time_ms in (START_MS..START_MS + writer.next_sequence + 10).step_by(5) {
        let env: Arc<dyn Env> = Arc::new(original.copy());
        let found = cut(&env, &dir(), CutPoint::Time(time_ms));
        let kept = ends.iter().take_while(|end| end.3 <= time_ms).last();
        match kept.filter(|kept| kept.2 > 0) {
            Some((frame, ..)) => assert_eq!(found.unwrap().position.frame, *frame),
            None => assert!(matches!(found, Err(CutError::Before { .. }))),
        }
    }
}

// Holds invariant 158.
#[test]
fn segments_leave_and_come_back() {
    let env = SimulatedEnv::new();
    let (mut log, mut writer) = made(&env, 60);
    let whole = files(&env, &dir());
    let sealed = log.reader().sealed_files();
    assert!(sealed.len() > 2);
    let mut frames = log.reader().frames(1);
    frames.next().unwrap().unwrap();

    // A frame in the middle of a segment keeps the whole segment.
    let next = sealed[1].next_frame;
    log.maintenance().remove_before(next + 1).unwrap();
    let reader = log.reader();
    assert_eq!(reader.first_frame(), next);
    assert_eq!(reader.first_sequence(), sealed[1].next_sequence);
    assert_eq!(reader.first_batch(), sealed[1].next_batch);
    assert_eq!(reader.sealed_files(), sealed[2..]);
    assert!(matches!(
        reader.frame(1),
        Err(LogReadError::Missing { frame: 1, .. })
    ));
    assert_eq!(reader.request_at(1).unwrap(), None);
    // A reader in a segment that was removed reads to its end.
    let count = frames.by_ref().take_while(Result::is_ok).count() as u64;
    assert_eq!(count + 1, sealed[0].next_frame - 1);
    append(&mut log, &mut writer, 10);
    log.maintenance().seal_next().unwrap();
    let end = log.position();

    // A crash loses nothing, and segments that are put back are accepted.
    env.crash(CrashLoss::All);
    let (log, _) = open(&env, ReleaseMark::default()).unwrap();
    assert_eq!((log.reader().first_frame(), log.position()), (next, end));
    assert!(
        !verify(&log.reader(), &LogVerifyPlan::default(), |_| ())
            .unwrap()
            .histories
    );
    drop(log);
    for (name, bytes) in &whole[..2] {
        env.put(&dir().join(name), bytes.clone());
    }
    let (log, _) = open(&env, ReleaseMark::default()).unwrap();
    assert_eq!((log.reader().first_frame(), log.position()), (1, end));
    assert!(
        verify(&log.reader(), &LogVerifyPlan::default(), |_| ())
            .unwrap()
            .histories
    );
}
