//! Segments grow: each is twice as large as the one before it, up to a bound, and its file is created shortly before it
//! is needed.

use std::io::ErrorKind;

use super::crash::{Acknowledged, check_after, open, released};
use super::sample::{Writer, dir};
use crate::env::Env as _;
use crate::env::simulated::{CrashLoss, DiskFault, SimulatedEnv};
use crate::{FileLog, Log, ReleaseMark};

const KIB: u64 = 1024;

/// A frame of one page.
fn small(writer: &mut Writer) -> crate::Frame {
    writer.frame(1, 1, 0)
}

/// A frame of five pages.
fn large(writer: &mut Writer) -> crate::Frame {
    writer.frame(1, 150, 0)
}

/// Bytes of the segments' files.
fn sizes(log: &FileLog) -> Vec<u64> {
    let segments = log.reader().segments();
    segments
        .iter()
        .map(|segment| segment.raw().unwrap().bytes())
        .collect()
}

fn spares(env: &SimulatedEnv) -> Vec<(String, usize)> {
    let names = env.list(&dir()).unwrap();
    let spares = names.into_iter().filter(|name| name.contains("spare"));
    spares
        .map(|name| {
            let bytes = env.contents(&dir().join(&name)).unwrap().len();
            (name, bytes)
        })
        .collect()
}

#[test]
fn each_segment_is_twice_as_large_as_the_one_before_up_to_the_bound() {
    for prepared in [false, true] {
        let env = SimulatedEnv::new();
        let (mut log, _) = open(&env, ReleaseMark::default()).unwrap();
        assert_eq!(env.used() as u64, 8 * KIB, "a start writes little");
        let maintenance = log.maintenance();
        let mut writer = Writer::new();
        while sizes(&log).len() < 5 {
            if prepared {
                maintenance.prepare().unwrap();
            }
            log.append(&small(&mut writer)).unwrap();
        }
        assert_eq!(sizes(&log), [8, 16, 32, 32, 32].map(|kib| kib * KIB));
    }
}

#[test]
fn a_start_goes_on_from_the_size_of_the_open_segment() {
    let env = SimulatedEnv::new();
    let mut writer = Writer::new();
    for (frames, expected) in [(1, vec![8]), (1, vec![8, 16]), (3, vec![8, 16, 32])] {
        let (mut log, _) = open(&env, ReleaseMark::default()).unwrap();
        for _ in 0..frames {
            log.append(&small(&mut writer)).unwrap();
        }
        log.durability().sync().unwrap();
        let expected: Vec<u64> = expected.into_iter().map(|kib| kib * KIB).collect();
        assert_eq!(sizes(&log), expected);
    }
}

#[test]
fn the_next_file_is_made_once_the_open_segment_is_half_full() {
    let env = SimulatedEnv::new();
    let (mut log, _) = open(&env, ReleaseMark::default()).unwrap();
    let maintenance = log.maintenance();
    let mut writer = Writer::new();
    while sizes(&log).len() < 3 {
        log.append(&small(&mut writer)).unwrap();
    }
    // Of 8 pages, the header's page and one frame's are in use.
    for pages in 2..4 {
        assert!(!maintenance.prepare().unwrap(), "{pages} of 8 pages");
        log.append(&small(&mut writer)).unwrap();
    }
    assert!(maintenance.prepare().unwrap());
    assert!(!maintenance.prepare().unwrap(), "one waits");
    assert_eq!(spares(&env), [("spare-2.new".to_owned(), 32 * 1024)]);
    while sizes(&log).len() < 4 {
        log.append(&small(&mut writer)).unwrap();
    }
    assert_eq!(spares(&env), [], "it became a segment");
}

/// A file of 16 KiB is ready when a frame needs more. Once it is too small for every later segment, a larger one
/// replaces it.
fn outgrown(env: &SimulatedEnv, acknowledged: &mut Acknowledged) -> Option<FileLog> {
    let (mut log, _) = open(env, released(acknowledged)).ok()?;
    let (durability, maintenance) = (log.durability(), log.maintenance());
    let mut writer = Writer::new();
    for frame in [small(&mut writer), large(&mut writer)] {
        log.append(&frame).ok()?;
        let position = durability.sync().ok()?;
        acknowledged.frame = position.frame;
        acknowledged.sequence = position.next_sequence - 1;
        maintenance.prepare().ok()?;
    }
    Some(log)
}

#[test]
fn a_file_that_became_too_small_is_replaced() {
    let env = SimulatedEnv::new();
    let log = outgrown(&env, &mut Acknowledged::default()).unwrap();
    assert_eq!(sizes(&log), [8 * KIB, 24 * KIB]);
    assert_eq!(spares(&env), [("spare-2.new".to_owned(), 32 * 1024)]);
}

#[test]
fn a_stop_or_an_error_while_files_are_replaced_loses_nothing() {
    let env = SimulatedEnv::new();
    outgrown(&env, &mut Acknowledged::default()).unwrap();
    let operations = env.operations();
    let faults = [
        DiskFault::Stop,
        DiskFault::Error(ErrorKind::Other),
        DiskFault::Half(ErrorKind::StorageFull),
    ];
    for at in 1..=operations {
        for (fault, loss) in faults.into_iter().flat_map(|fault| {
            [CrashLoss::All, CrashLoss::None, CrashLoss::Some(at)].map(|loss| (fault, loss))
        }) {
            let env = SimulatedEnv::new();
            env.fail(at, fault);
            let mut acknowledged = Acknowledged::default();
            outgrown(&env, &mut acknowledged);
            env.crash(loss);
            let what = format!("{fault:?} at {at}, {loss:?}");
            check_after(&env, &acknowledged, &what);
            assert_eq!(spares(&env), [], "{what}: a start removes them");
        }
    }
}
