//! Fault rates of chain and nodes, drawn for each seed. A separate random source keeps the core's faults unchanged.

use crate::random::SimulationRandom;

/// Probabilities out of ten thousand; 0 by default.
#[derive(Clone, Default, Debug)]
pub(super) struct ChainFaultRates {
    /// In each block: a transaction that fits is left out.
    pub(super) left_out: u64,
    /// The chain replaces its last blocks.
    pub(super) reorganized: u64,
    /// A transaction of a replaced block is dropped.
    pub(super) dropped: u64,
    /// All nodes drop a waiting transaction.
    pub(super) forgotten: u64,
    /// A third party sends the waiting transaction's content first.
    pub(super) overtaken: u64,
    /// In each block: blocks are given up back to the anchor that an answer waits for, and the anchor is overtaken.
    pub(super) gap: u64,
    /// Finality stalls for a while.
    pub(super) stalled: u64,
    /// A block is many times as expensive.
    pub(super) dear: u64,
    /// In each request: the node is unreachable for a while.
    pub(super) away: u64,
    pub(super) slow: u64,
    pub(super) hangs: u64,
    pub(super) error: u64,
    pub(super) garbage: u64,
    /// The node executes the request, and the answer is lost.
    pub(super) lost: u64,
    /// The node's view of the chain stops for a while.
    pub(super) behind: u64,
    /// The node confirms a transaction, but drops it.
    pub(super) ignores: u64,
    /// The node lies.
    pub(super) lies: u64,
    /// At each look: a third party sends the newest checkpoint.
    pub(super) stranger: u64,
    /// At each look: the operator requests an anchor.
    pub(super) asked: u64,
}

impl ChainFaultRates {
    pub(super) fn of(random: &mut SimulationRandom) -> Self {
        let mut some = |max| random.rate(max);
        Self {
            left_out: some(6_000),
            reorganized: some(2_500),
            dropped: some(8_000),
            forgotten: some(2_000),
            overtaken: some(3_000),
            stalled: some(800),
            dear: some(1_500),
            away: some(150),
            slow: some(1_500),
            hangs: some(200),
            error: some(1_000),
            garbage: some(600),
            lost: some(1_000),
            behind: some(500),
            ignores: some(5_000),
            lies: some(1_200),
            stranger: some(60),
            asked: some(60),
            // Drawn with the bond, from its separate random source.
            gap: 0,
        }
    }
}
