//! A temporary lack of file descriptors: the operations succeed later, and the log has not failed.

use super::crash::{Acknowledged, check_after, open};
use super::sample::{Writer, dir};
use crate::env::simulated::{CrashLoss, DiskFault, SimulatedEnv};
use crate::error::AppendError;
use crate::{Log, ReleaseMark};

/// Enough frames to begin some segments.
const FRAMES: usize = 8;
/// Number of times that a frame is appended again.
const ATTEMPTS: usize = 3;

/// Appends frames while one operation lacks a descriptor. The flag tells whether that was the opening of the log's
/// directory.
fn run(at: Option<u64>) -> (u64, bool) {
    let env = SimulatedEnv::new();
    let (mut log, _) = open(&env, ReleaseMark::default()).unwrap();
    let before = env.operations();
    if let Some(at) = at {
        env.fail(at, DiskFault::NoDescriptor);
    }
    let mut writer = Writer::new();
    let mut acknowledged = Acknowledged::default();
    let mut met_directory = false;
    for _ in 0..FRAMES {
        let frame = writer.frame(1, 1, 0);
        let mut attempts = 0;
        loop {
            attempts += 1;
            match log.append(&frame) {
                Ok(_) => break,
                Err(AppendError::NoSpace(error)) if attempts < ATTEMPTS => {
                    met_directory |= error.path == dir();
                }
                // A sync that fails is final, whatever its reason.
                Err(AppendError::Failed(why)) if why.0.contains("fdatasync") => return (0, false),
                Err(error) => panic!("{at:?}: {error}"),
            }
        }
    }
    let Ok(position) = log.durability().sync() else {
        return (0, false);
    };
    acknowledged.frame = position.frame;
    acknowledged.sequence = position.next_sequence - 1;
    assert_eq!(position.frame, FRAMES as u64);
    let operations = env.operations() - before;
    drop(log);
    env.crash(CrashLoss::All);
    check_after(&env, &acknowledged, &format!("{at:?}"));
    (operations, met_directory)
}

// Holds invariant 224.
#[test]
fn a_segment_whose_directory_cannot_be_opened_is_begun_later() {
    let (operations, _) = run(None);
    let met = (1..=operations).filter(|at| run(Some(*at)).1).count();
    assert!(met >= 2, "{met} of {operations}");
}
