//! Which faults a run of several nodes has, and how often: drawn for each seed, as in `faults.rs`.

use crate::random::Random;

/// How often things happen, of ten thousand cases.
#[derive(Clone, Default, Debug)]
pub(super) struct Rates {
    /// The longest way of a message, milliseconds.
    pub(super) way_ms_max: u64,
    /// A message of a node, or the answer to it, is lost.
    pub(super) lost: u64,
    pub(super) answer_lost: u64,
    /// It is late, by this much at most: its sender gave up long ago.
    pub(super) late: u64,
    pub(super) late_ms_max: u64,
    /// It arrives twice.
    pub(super) twice: u64,
    /// A message to servers that cannot be reached arrives once they can.
    pub(super) held: u64,
    /// A consumer is silent for a while, leaves a message out, repeats one, or ends.
    pub(super) silent: u64,
    pub(super) skip: u64,
    pub(super) repeat: u64,
    pub(super) consumer_ends: u64,
    /// The bucket accepts a value at a revision that has just been replaced, as NATS up to 2.9.20 does.
    pub(super) replaced: u64,
    /// A server that has not got the newest values yet answers what the bucket holds.
    pub(super) lags: u64,
    /// At each look of the one who makes trouble: a node is split from the servers.
    pub(super) split: u64,
    /// The servers that a node reaches were cut off from the others: they show what was, and store nothing.
    pub(super) stale: u64,
    /// No node reaches the bucket, or anything.
    pub(super) no_bucket: u64,
    pub(super) outage: u64,
    /// A node's process stands still, for up to several leases.
    pub(super) pause: u64,
    /// A node's process is killed, or its machine loses its power.
    pub(super) kill: u64,
    pub(super) power: u64,
    /// A node ends in order, or hands over.
    pub(super) end: u64,
    pub(super) hand_over: u64,
    /// A node's clock is set apart from the true time.
    pub(super) clock: u64,
}

impl Rates {
    pub(super) fn of(seed: u64) -> Self {
        let mut random = Random::new(seed, 12);
        let way_ms_bound = if random.below(3) == 0 { 40 } else { 6 };
        let way_ms_max = 1 + random.below(way_ms_bound);
        let lags = Random::new(seed, 15).rate(3_000);
        let mut some = |max| random.rate(max);
        Self {
            way_ms_max,
            lags,
            lost: some(200),
            answer_lost: some(300),
            late: some(150),
            late_ms_max: 1 + some(12_000),
            twice: some(500),
            held: some(6_000),
            silent: some(40),
            skip: some(100),
            repeat: some(300),
            consumer_ends: some(30),
            replaced: some(3_000),
            split: some(150),
            stale: some(150),
            no_bucket: some(60),
            outage: some(40),
            pause: some(100),
            kill: some(80),
            power: some(80),
            end: some(40),
            hand_over: some(80),
            clock: some(80),
        }
    }

    /// Without any fault.
    pub(super) fn none() -> Self {
        Self {
            way_ms_max: 3,
            late_ms_max: 1,
            ..Self::default()
        }
    }
}

/// What happens next to the nodes and the servers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Trouble {
    /// A node is split from the servers for so long.
    Split(usize, u64),
    /// A node reaches servers for so long that were cut off so many messages ago.
    Stale(usize, u64, u64),
    /// Nobody reaches the bucket for so long.
    NoBucket(u64),
    /// Nobody reaches anything for so long.
    Outage(u64),
    /// A node's process stands still for so long.
    Pause(usize, u64),
    /// A node's process is killed.
    Kill(usize),
    /// Its machine loses its power.
    Power(usize),
    /// It ends in order.
    End(usize),
    /// It hands over, if it leads.
    HandOver(usize),
    /// Its clock is set so far ahead.
    Clock(usize, i64),
}

/// How far a clock is set apart, milliseconds.
const APART_MS_MAX: u64 = 1_500;

/// What happens now to one of so many nodes, if anything does.
pub(super) fn trouble(rates: &Rates, random: &mut Random, nodes: usize) -> Option<Trouble> {
    let node = random.below(nodes as u64) as usize;
    let long = |random: &mut Random| match random.below(4) {
        0 => 50 + random.below(500),
        1 => 3_000 + random.below(10_000),
        _ => 500 + random.below(3_500),
    };
    if random.chance(rates.split) {
        return Some(Trouble::Split(node, long(random)));
    }
    if random.chance(rates.stale) {
        let back = random.below(20);
        return Some(Trouble::Stale(node, long(random), back));
    }
    if random.chance(rates.no_bucket) {
        return Some(Trouble::NoBucket(long(random)));
    }
    if random.chance(rates.outage) {
        return Some(Trouble::Outage(long(random)));
    }
    if random.chance(rates.pause) {
        return Some(Trouble::Pause(node, long(random)));
    }
    if random.chance(rates.kill) {
        return Some(Trouble::Kill(node));
    }
    if random.chance(rates.power) {
        return Some(Trouble::Power(node));
    }
    if random.chance(rates.end) {
        return Some(Trouble::End(node));
    }
    if random.chance(rates.hand_over) {
        return Some(Trouble::HandOver(node));
    }
    if random.chance(rates.clock) {
        let ahead = random.below(2 * APART_MS_MAX + 1).cast_signed() - APART_MS_MAX.cast_signed();
        return Some(Trouble::Clock(node, ahead));
    }
    None
}
