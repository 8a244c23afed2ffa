//! A stop, an error or a short write at every single operation: afterwards everything acknowledged is there exactly
//! once, and the log continues.

use super::sample::{Writer, appended_frames, dir, domain, growing, keys};
use crate::env::simulated::{CrashLoss, DiskFault, SimulatedEnv};
use crate::env::{Env as _, OpenMode};
use crate::{AppendError, Durability, FileLog, Log, LogOpenError, LogRecovery, ReleaseMark};
use std::io::ErrorKind;
use std::sync::Arc;

fn has_ending(name: &str, ending: &str) -> bool {
    std::path::Path::new(name)
        .extension()
        .is_some_and(|found| found == ending)
}

/// Opens a log whose segments grow.
pub(super) fn open(
    env: &SimulatedEnv,
    released: ReleaseMark,
) -> Result<(FileLog, LogRecovery), LogOpenError> {
    FileLog::open(
        Arc::new(env.clone()),
        &dir(),
        domain().separator(),
        &keys(),
        released,
        growing(),
    )
}

#[derive(Default, Debug)]
pub(super) struct Acknowledged {
    pub(super) frame: u64,
    pub(super) sequence: u64,
}

/// Appends, syncs, closes and seals; stops at the first failure.
fn run(env: &SimulatedEnv, acknowledged: &mut Acknowledged, writer: &mut Writer) {
    let Ok((mut log, _)) = open(env, released(acknowledged)) else {
        return;
    };
    let durability = log.durability();
    let maintenance = log.maintenance();
    for round in 0..9u64 {
        let frame = match round % 3 {
            0 => writer.frame(1, 20, 2),
            1 => writer.frame(2, 30, 0),
            _ => writer.frame(0, 0, 3),
        };
        if log.append(&frame).is_err() {
            return;
        }
        // Every other sync covers two frames.
        if round % 2 == 1 {
            match durability.sync() {
                Ok(position) => {
                    acknowledged.frame = position.frame;
                    acknowledged.sequence = position.next_sequence - 1;
                }
                Err(_) => return,
            }
        }
        if round % 4 == 3 && (maintenance.prepare().is_err() || maintenance.seal_next().is_err()) {
            return;
        }
    }
    while let Ok(Some(_)) = maintenance.seal_next() {}
}

pub(super) fn released(acknowledged: &Acknowledged) -> ReleaseMark {
    ReleaseMark {
        frame: acknowledged.frame,
        sequence: acknowledged.sequence,
    }
}

/// Reopens, checks, and continues.
pub(super) fn check_after(env: &SimulatedEnv, acknowledged: &Acknowledged, what: &str) {
    let (log, _) =
        open(env, released(acknowledged)).unwrap_or_else(|error| panic!("{what}: {error}"));
    let frames = appended_frames(&log);
    let last = log.position().frame;
    assert!(
        last >= acknowledged.frame,
        "{what}: {last} of {} frames",
        acknowledged.frame
    );
    let numbers: Vec<u64> = frames.iter().map(|(number, ..)| *number).collect();
    assert_eq!(numbers, (1..=last).collect::<Vec<_>>(), "{what}");
    let reader = log.reader();
    for sequence in 1..log.position().next_sequence {
        let found = reader.request_at(sequence).unwrap();
        let found = found.unwrap_or_else(|| panic!("{what}: sequence {sequence} is gone"));
        let record = found.packed().unwrap().into_record().unwrap();
        assert!(
            (record.first_sequence..=record.last_sequence()).contains(&sequence),
            "{what}"
        );
    }
    for number in 0..log.position().next_batch {
        assert!(
            reader.batch_with_leaves(number).unwrap().is_some(),
            "{what}: batch {number}"
        );
    }
    drop(log);
    continues(env, acknowledged, what);
    for name in env.list(&dir()).unwrap() {
        let left = has_ending(&name, "tmp");
        assert!(!left, "{what}: {name} is left over");
    }
}

fn continues(env: &SimulatedEnv, acknowledged: &Acknowledged, what: &str) {
    let (mut log, recovery) = open(env, released(acknowledged)).unwrap();
    assert_eq!(recovery.torn, None, "{what}: what was cut off is met again");
    let mut side = Writer::new();
    let before = log.position().frame;
    log.append(&side.frame(0, 0, 1))
        .unwrap_or_else(|error| panic!("{what}: {error}"));
    let position = log.durability().sync().unwrap();
    assert_eq!(position.frame, before + 1, "{what}");
}

fn operations_of_a_run() -> u64 {
    let env = SimulatedEnv::new();
    let mut acknowledged = Acknowledged::default();
    run(&env, &mut acknowledged, &mut Writer::new());
    assert_eq!(acknowledged.frame, 8, "a run without a fault ends well");
    let sealed = env
        .list(&dir())
        .unwrap()
        .iter()
        .filter(|name| has_ending(name, "seg"))
        .count();
    assert!(sealed >= 2, "a run seals segments");
    env.operations()
}

#[test]
fn a_stop_at_every_operation_loses_nothing_that_was_acknowledged() {
    let operations = operations_of_a_run();
    assert!(operations > 60, "{operations}");
    for at in 1..=operations {
        for loss in [
            CrashLoss::All,
            CrashLoss::None,
            CrashLoss::Some(at),
            CrashLoss::Some(at + 10_000),
            CrashLoss::Some(at + 20_000),
        ] {
            let env = SimulatedEnv::new();
            env.fail(at, DiskFault::Stop);
            let mut acknowledged = Acknowledged::default();
            run(&env, &mut acknowledged, &mut Writer::new());
            assert!(env.stopped(), "operation {at} is not reached");
            env.crash(loss);
            check_after(&env, &acknowledged, &format!("stop at {at}, {loss:?}"));
        }
    }
}

#[test]
fn a_stop_during_the_start_after_a_stop_loses_nothing() {
    let operations = operations_of_a_run();
    for at in (1..=operations).step_by(3) {
        let env = SimulatedEnv::new();
        env.fail(at, DiskFault::Stop);
        let mut acknowledged = Acknowledged::default();
        run(&env, &mut acknowledged, &mut Writer::new());
        env.crash(CrashLoss::Some(at));
        for second in 1..8 {
            let env = env.copy();
            env.fail(second, DiskFault::Stop);
            let _ = open(&env, released(&acknowledged));
            env.crash(CrashLoss::Some(second));
            check_after(
                &env,
                &acknowledged,
                &format!("stop at {at}, then at {second} of the start"),
            );
        }
    }
}

#[test]
fn an_error_at_every_operation_loses_nothing_that_was_acknowledged() {
    let operations = operations_of_a_run();
    let faults = [
        DiskFault::Error(ErrorKind::Other),
        DiskFault::Error(ErrorKind::StorageFull),
        DiskFault::Half(ErrorKind::Other),
        DiskFault::Half(ErrorKind::StorageFull),
        DiskFault::Short,
        DiskFault::Error(ErrorKind::Interrupted),
    ];
    for at in 1..=operations {
        for fault in faults {
            let env = SimulatedEnv::new();
            env.fail(at, fault);
            let mut acknowledged = Acknowledged::default();
            run(&env, &mut acknowledged, &mut Writer::new());
            if fault == DiskFault::Short {
                assert_eq!(acknowledged.frame, 8, "a short write at {at} is continued");
            }
            env.crash(CrashLoss::Some(at));
            check_after(&env, &acknowledged, &format!("{fault:?} at {at}"));
        }
    }
}

#[test]
fn after_a_failed_sync_nothing_is_taken_or_acknowledged() {
    let env = SimulatedEnv::new();
    let (mut log, _) = open(&env, ReleaseMark::default()).unwrap();
    let mut writer = Writer::new();
    log.append(&writer.frame(1, 3, 0)).unwrap();
    let durability = log.durability();
    env.fail(1, DiskFault::Error(ErrorKind::Other));
    assert!(durability.sync().is_err());
    // The system's next sync would succeed, but prove nothing.
    assert!(durability.sync().is_err());
    assert!(matches!(
        log.append(&writer.frame(1, 3, 0)),
        Err(AppendError::Failed(_))
    ));
    assert_eq!(durability.durable().frame, 0);
    assert!(log.reader().frame(1).unwrap().is_none());
}

#[test]
fn without_room_nothing_changes_and_the_frame_is_taken_later() {
    let env = SimulatedEnv::new();
    let (mut log, _) = open(&env, ReleaseMark::default()).unwrap();
    let durability = log.durability();
    let mut writer = Writer::new();
    env.set_room(Some(env.used() + 40 * 1024));
    let (refused, before) = loop {
        let frame = writer.frame(1, 20, 1);
        let before = log.position();
        match log.append(&frame) {
            Ok(_) => {}
            Err(AppendError::NoSpace(_)) => break (frame, before),
            Err(error) => panic!("{error}"),
        }
    };
    assert!(before.frame > 2);
    assert_eq!(log.position(), before);
    assert!(matches!(log.append(&refused), Err(AppendError::NoSpace(_))));
    assert!(log.maintenance().prepare().is_err());
    env.set_room(None);
    let position = log.append(&refused).unwrap();
    assert_eq!(position.frame, before.frame + 1);
    assert_eq!(durability.sync().unwrap(), position);
    drop(log);
    env.crash(CrashLoss::All);
    let (log, _) = open(&env, ReleaseMark::default()).unwrap();
    assert_eq!(log.position(), position);
}

#[test]
fn what_a_process_left_unsynced_is_synced_before_it_counts() {
    let env = SimulatedEnv::new();
    let (mut log, _) = open(&env, ReleaseMark::default()).unwrap();
    let position = log.append(&Writer::new().frame(1, 3, 0)).unwrap();
    drop(log);
    // The process ended, but not the machine: the frame is in the page cache.
    let (log, _) = open(&env, ReleaseMark::default()).unwrap();
    assert_eq!(log.position(), position);
    drop(log);
    env.crash(CrashLoss::All);
    let (log, _) = open(&env, ReleaseMark::default()).unwrap();
    assert_eq!(log.position(), position);
}

#[test]
fn a_start_takes_the_copy_that_is_whole() {
    let env = SimulatedEnv::new();
    let mut acknowledged = Acknowledged::default();
    run(&env, &mut acknowledged, &mut Writer::new());
    let names = env.list(&dir()).unwrap();
    let name = names.iter().find(|name| has_ending(name, "seg")).unwrap();
    let sealed = dir().join(name);
    let raw = sealed.with_extension("log");
    // A raw copy left by a crash is removed.
    env.put(&raw, vec![1; 5000]);
    let copy = env.copy();
    let (log, recovery) = open(&copy, ReleaseMark::default()).unwrap();
    assert!(recovery.removed.contains(&raw));
    assert!(log.position().frame >= acknowledged.frame);
    assert!(copy.open(&raw, OpenMode::Read).is_err());
    // A damaged sealed segment next to an invalid raw one: rejected, not guessed.
    env.damage(&sealed, 300, 1);
    assert!(open(&env, ReleaseMark::default()).is_err());
}

#[test]
fn two_who_sync_at_once_both_learn_of_a_failure() {
    let env = SimulatedEnv::new();
    let (mut log, _) = open(&env, ReleaseMark::default()).unwrap();
    log.append(&Writer::new().frame(1, 3, 0)).unwrap();
    env.fail(1, DiskFault::Error(ErrorKind::Other));
    let durability: Arc<dyn Durability> = log.durability();
    let results: Vec<bool> = std::thread::scope(|scope| {
        let syncs: Vec<_> = (0..4)
            .map(|_| scope.spawn(|| durability.sync().is_ok()))
            .collect();
        syncs.into_iter().map(|sync| sync.join().unwrap()).collect()
    });
    assert_eq!(results, [false; 4]);
}

#[test]
fn the_log_is_its_own_name() {
    let env = SimulatedEnv::new();
    drop(open(&env, ReleaseMark::default()).unwrap());
    let other = FileLog::open(
        Arc::new(env.clone()),
        &dir(),
        kedge_protocol::Hash([5; 32]),
        &keys(),
        ReleaseMark::default(),
        growing(),
    );
    assert!(matches!(other, Err(LogOpenError::Identity { .. })));
}
