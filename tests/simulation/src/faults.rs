//! Which faults a run has, and how often: drawn for each seed. Most runs have only some kinds of faults, so that one
//! kind does not hide what another one would find (swarm testing).

use std::io::ErrorKind;
use std::time::Duration;

use kedge_runtime::env::simulated::{Fault, Loss};

use crate::random::Random;

/// How often things happen, of ten thousand cases.
#[derive(Clone, Default, Debug)]
pub(crate) struct Rates {
    /// A step lets others run first, this many times at most.
    pub(crate) turns: u64,
    pub(crate) turns_max: u64,
    /// A step is slow, by this much at most.
    pub(crate) slow: u64,
    pub(crate) slow_ms_max: u64,
    /// A hundredth of it: a part panics.
    pub(crate) panic: u64,
    /// At each look of the one who makes trouble (every few milliseconds): an operation of the disk fails, or the power.
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
    /// An operation fails while a start recovers.
    pub(crate) recovery: u64,
    /// The rows are lost with the process, or are those of an earlier one.
    pub(crate) rows_lost: u64,
    pub(crate) rows_old: u64,
    /// The log is replaced by an older copy.
    pub(crate) old_copy: u64,
    /// A caller goes away, sends the request twice, sends another one with the same nonce, or sends it again later.
    pub(crate) abandon: u64,
    pub(crate) twice: u64,
    pub(crate) twin: u64,
    pub(crate) resend: u64,
    /// A request whose deadline is near.
    pub(crate) near_deadline: u64,
    /// A process is killed, or the power fails, before anybody asks it anything: it has read what the one before it left,
    /// and has written nothing.
    pub(crate) early: u64,
    /// What stops the disk's work is not the power: the process is killed within it, and what it wrote stays unsynced.
    pub(crate) within: u64,
}

impl Rates {
    pub(crate) fn of(seed: u64) -> Self {
        let mut random = Random::new(seed, 2);
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

    /// Without any fault.
    pub(crate) fn none() -> Self {
        Self {
            turns: 5_000,
            turns_max: 6,
            slow_ms_max: 1,
            ..Self::default()
        }
    }
}

/// What an operation of the disk may meet.
pub(crate) fn error(random: &mut Random) -> Fault {
    let kinds = [ErrorKind::Other, ErrorKind::StorageFull];
    let kind = kinds[random.below(2) as usize];
    match random.below(2) {
        0 => Fault::Error(kind),
        _ => Fault::Half(kind),
    }
}

/// What a loss of power leaves of what was not synced.
pub(crate) fn loss(random: &mut Random) -> Loss {
    match random.below(4) {
        0 => Loss::All,
        1 => Loss::None,
        _ => Loss::Some(random.next()),
    }
}

/// What happens next to the machine.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Trouble {
    /// One of the next operations of the disk.
    Disk(u64, Fault),
    /// The process is killed.
    Kill,
    /// It is asked to end in order.
    End,
    /// The disk is full for this long, up to this many more bytes.
    Full(Duration, u64),
    /// The wall clock is set this far ahead.
    Clock(i64),
    /// It stands still.
    ClockStops,
}

/// What happens now, if anything does.
pub(crate) fn trouble(rates: &Rates, random: &mut Random) -> Option<Trouble> {
    let next = |random: &mut Random| 1 + random.below(12);
    if random.chance(rates.error) {
        let at = next(random);
        return Some(Trouble::Disk(at, error(random)));
    }
    if random.chance(rates.short) {
        return Some(Trouble::Disk(next(random), Fault::Short));
    }
    if random.chance(rates.power) {
        return Some(Trouble::Disk(next(random), Fault::Stop));
    }
    if random.chance(rates.kill) {
        return Some(Trouble::Kill);
    }
    if random.chance(rates.end) {
        return Some(Trouble::End);
    }
    if random.chance(rates.full) {
        let time = Duration::from_millis(100 + random.below(3_000));
        return Some(Trouble::Full(time, random.below(40_000)));
    }
    if random.chance(rates.clock) {
        return Some(match random.below(6) {
            0 => Trouble::ClockStops,
            1 => Trouble::Clock(600_000),
            2 => Trouble::Clock(-600_000),
            3 => Trouble::Clock(3_000),
            4 => Trouble::Clock(-3_000),
            _ => Trouble::Clock(0),
        });
    }
    None
}
