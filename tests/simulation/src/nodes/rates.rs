//! Fault rates of a cluster run, drawn for each seed, as in `faults.rs`.

use crate::random::SimulationRandom;

/// Probabilities out of ten thousand, and limits.
#[derive(Clone, Default, Debug)]
pub(super) struct ClusterFaultRates {
    /// Longest transit of a message, milliseconds.
    pub(super) way_ms_max: u64,
    /// A node's message, or the answer to it, is lost.
    pub(super) lost: u64,
    pub(super) answer_lost: u64,
    /// A message is late, by at most this much: its sender gave up long ago.
    pub(super) late: u64,
    pub(super) late_ms_max: u64,
    /// A message arrives twice.
    pub(super) twice: u64,
    /// A message to unreachable servers arrives once they are reachable.
    pub(super) held: u64,
    /// A consumer is silent for a while, skips a message, repeats one, or ends.
    pub(super) silent: u64,
    pub(super) skip: u64,
    pub(super) repeat: u64,
    pub(super) consumer_ends: u64,
    /// The bucket accepts a value at a revision that has just been replaced, as NATS up to 2.9.20 does.
    pub(super) replaced: u64,
    /// A server without the newest values answers a read of the bucket.
    pub(super) lags: u64,
    /// At each look of the fault injector: a node is split from the servers.
    pub(super) split: u64,
    /// A node's servers are cut off from the others: they show an old state, and store nothing.
    pub(super) stale: u64,
    /// No node reaches the bucket, or any server.
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
    /// A node's clock is wrong.
    pub(super) clock: u64,
}

impl ClusterFaultRates {
    pub(super) fn of(seed: u64) -> Self {
        let mut random = SimulationRandom::new(seed, 12);
        let way_ms_bound = if random.below(3) == 0 { 40 } else { 6 };
        let way_ms_max = 1 + random.below(way_ms_bound);
        let lags = SimulationRandom::new(seed, 15).rate(3_000);
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

    pub(super) fn none() -> Self {
        Self {
            way_ms_max: 3,
            late_ms_max: 1,
            ..Self::default()
        }
    }
}

/// Next fault of nodes and servers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum ClusterFault {
    /// A node is split from the servers for so long.
    Split(usize, u64),
    /// For so long, a node reaches servers that were cut off so many messages ago.
    Stale(usize, u64, u64),
    /// No node reaches the bucket for so long.
    NoBucket(u64),
    /// No node reaches anything for so long.
    Outage(u64),
    /// A node's process stands still for so long.
    Pause(usize, u64),
    /// A node's process is killed.
    Kill(usize),
    /// A node's machine loses its power.
    Power(usize),
    /// A node ends in order.
    End(usize),
    /// A node hands over, if it leads.
    HandOver(usize),
    /// A node's clock is set this far ahead.
    Clock(usize, i64),
}

/// Limit on a clock's error, milliseconds.
const APART_MS_MAX: u64 = 1_500;

/// Draws the fault of this moment for one of so many nodes.
pub(super) fn trouble(
    rates: &ClusterFaultRates,
    random: &mut SimulationRandom,
    nodes: usize,
) -> Option<ClusterFault> {
    let node = random.below(nodes as u64) as usize;
    let long = |random: &mut SimulationRandom| match random.below(4) {
        0 => 50 + random.below(500),
        1 => 3_000 + random.below(10_000),
        _ => 500 + random.below(3_500),
    };
    if random.chance(rates.split) {
        return Some(ClusterFault::Split(node, long(random)));
    }
    if random.chance(rates.stale) {
        let back = random.below(20);
        return Some(ClusterFault::Stale(node, long(random), back));
    }
    if random.chance(rates.no_bucket) {
        return Some(ClusterFault::NoBucket(long(random)));
    }
    if random.chance(rates.outage) {
        return Some(ClusterFault::Outage(long(random)));
    }
    if random.chance(rates.pause) {
        return Some(ClusterFault::Pause(node, long(random)));
    }
    if random.chance(rates.kill) {
        return Some(ClusterFault::Kill(node));
    }
    if random.chance(rates.power) {
        return Some(ClusterFault::Power(node));
    }
    if random.chance(rates.end) {
        return Some(ClusterFault::End(node));
    }
    if random.chance(rates.hand_over) {
        return Some(ClusterFault::HandOver(node));
    }
    if random.chance(rates.clock) {
        let ahead = random.below(2 * APART_MS_MAX + 1).cast_signed() - APART_MS_MAX.cast_signed();
        return Some(ClusterFault::Clock(node, ahead));
    }
    None
}
