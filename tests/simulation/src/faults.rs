//! Fault rates, drawn for each seed. Most runs have only some kinds of faults, so that one kind does not hide the
//! effects of another (swarm testing).

use std::io::ErrorKind;
use std::time::Duration;

use kedge_runtime::env::simulated::{CrashLoss, DiskFault};

use crate::random::SimulationRandom;

/// Probabilities out of ten thousand, and limits.
#[derive(Clone, Default, Debug)]
pub(crate) struct CoreFaultRates {
    /// A step lets others run first, at most this many times.
    pub(crate) turns: u64,
    pub(crate) turns_max: u64,
    /// A step is slow, by at most this much.
    pub(crate) slow: u64,
    pub(crate) slow_ms_max: u64,
    /// A hundredth of it: a part panics.
    pub(crate) panic: u64,
    /// At each look of the fault injector (every few milliseconds): a disk operation fails, or the power.
    pub(crate) error: u64,
    pub(crate) short: u64,
    pub(crate) power: u64,
    /// The process is killed.
    pub(crate) kill: u64,
    /// The disk is full for a while.
    pub(crate) full: u64,
    /// The wall clock is set, stops, or is right again.
    pub(crate) clock: u64,
    /// The process ends in order.
    pub(crate) end: u64,
    /// An operation fails during recovery at a start.
    pub(crate) recovery: u64,
    /// The rows are lost with the process, or replaced by an earlier process's.
    pub(crate) rows_lost: u64,
    pub(crate) rows_old: u64,
    /// The log is replaced by an older copy.
    pub(crate) old_copy: u64,
    /// A caller disconnects, sends the request twice, reuses its nonce for another one, or sends it again later.
    pub(crate) abandon: u64,
    pub(crate) twice: u64,
    pub(crate) twin: u64,
    pub(crate) resend: u64,
    /// A request has a near deadline.
    pub(crate) near_deadline: u64,
    /// A process is killed, or loses its power, before it gets requests: it has read its predecessor's data and written
    /// nothing.
    pub(crate) early: u64,
    /// A stop of the disk kills the process instead of the power: its writes stay unsynced.
    pub(crate) within: u64,
}

impl CoreFaultRates {
    pub(crate) fn of(seed: u64) -> Self {
        let mut random = SimulationRandom::new(seed, 2);
        let mut some = |max| random.rate(max);
        Self {
            turns: some(8_000),
            turns_max: 1 + some(12),
            slow: some(800),
            slow_ms_max: 1 + some(400),
            panic: some(8),
            error: some(80),
            short: some(400),
            power: some(150),
            kill: some(150),
            full: some(40),
            clock: some(100),
            end: some(60),
            recovery: some(3_000),
            rows_lost: some(3_000),
            rows_old: some(3_000),
            old_copy: some(10_000),
            abandon: some(500),
            twice: some(1_000),
            twin: some(1_000),
            resend: some(1_500),
            near_deadline: some(500),
            early: some(5_000),
            within: some(8_000),
        }
    }

    pub(crate) fn none() -> Self {
        Self {
            turns: 5_000,
            turns_max: 6,
            slow_ms_max: 1,
            ..Self::default()
        }
    }
}

/// A fault of a disk operation.
pub(crate) fn error(random: &mut SimulationRandom) -> DiskFault {
    let kinds = [ErrorKind::Other, ErrorKind::StorageFull];
    let kind = kinds[random.below(2) as usize];
    match random.below(2) {
        0 => DiskFault::Error(kind),
        _ => DiskFault::Half(kind),
    }
}

/// The effect of a power loss on unsynced data.
pub(crate) fn loss(random: &mut SimulationRandom) -> CrashLoss {
    match random.below(4) {
        0 => CrashLoss::All,
        1 => CrashLoss::None,
        _ => CrashLoss::Some(random.next()),
    }
}

/// Next fault of the machine.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum MachineFault {
    /// A fault of one of the next disk operations.
    Disk(u64, DiskFault),
    /// The process is killed.
    Kill,
    /// The process is asked to end in order.
    End,
    /// The disk is full for this long, after this many more bytes.
    Full(Duration, u64),
    /// The wall clock is set this far ahead.
    Clock(i64),
    /// The wall clock stands still.
    ClockStops,
}

/// Draws the fault of this moment.
pub(crate) fn trouble(
    rates: &CoreFaultRates,
    random: &mut SimulationRandom,
) -> Option<MachineFault> {
    let next = |random: &mut SimulationRandom| 1 + random.below(12);
    if random.chance(rates.error) {
        let at = next(random);
        return Some(MachineFault::Disk(at, error(random)));
    }
    if random.chance(rates.short) {
        return Some(MachineFault::Disk(next(random), DiskFault::Short));
    }
    if random.chance(rates.power) {
        return Some(MachineFault::Disk(next(random), DiskFault::Stop));
    }
    if random.chance(rates.kill) {
        return Some(MachineFault::Kill);
    }
    if random.chance(rates.end) {
        return Some(MachineFault::End);
    }
    if random.chance(rates.full) {
        let time = Duration::from_millis(100 + random.below(3_000));
        return Some(MachineFault::Full(time, random.below(40_000)));
    }
    if random.chance(rates.clock) {
        return Some(match random.below(6) {
            0 => MachineFault::ClockStops,
            1 => MachineFault::Clock(600_000),
            2 => MachineFault::Clock(-600_000),
            3 => MachineFault::Clock(3_000),
            4 => MachineFault::Clock(-3_000),
            _ => MachineFault::Clock(0),
        });
    }
    None
}
