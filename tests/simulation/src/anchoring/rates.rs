//! What goes wrong on the chain and at its nodes, and how often: drawn for each seed, from a source of its own, so that
//! the faults of the core stay what they are.

use crate::random::Random;

/// How often things happen, of ten thousand cases; by default, never.
#[derive(Clone, Default, Debug)]
pub(super) struct Rates {
    /// In each block: a transaction that could be in it is not.
    pub(super) left_out: u64,
    /// The chain gives up its last blocks for others.
    pub(super) reorganized: u64,
    /// A transaction of a block that was given up is forgotten.
    pub(super) dropped: u64,
    /// A transaction that waits is forgotten by all nodes.
    pub(super) forgotten: u64,
    /// Somebody sends what waits from an account of its own, and is faster.
    pub(super) overtaken: u64,
    /// In each block: blocks are given up from the anchor on after which an answer waits, and the anchor is overtaken.
    pub(super) gap: u64,
    /// Blocks are not final for a while.
    pub(super) stalled: u64,
    /// A block costs many times as much.
    pub(super) dear: u64,
    /// In each request: the node is away for a while.
    pub(super) away: u64,
    pub(super) slow: u64,
    pub(super) hangs: u64,
    pub(super) error: u64,
    pub(super) garbage: u64,
    /// It does what it is asked for, and the answer is lost.
    pub(super) lost: u64,
    /// It shows the chain as it is now for a while, whatever happens.
    pub(super) behind: u64,
    /// It says that it took a transaction, and did not.
    pub(super) ignores: u64,
    /// It says something that is not so.
    pub(super) lies: u64,
    /// At each look: somebody sends the newest checkpoint from an account of its own.
    pub(super) stranger: u64,
    /// At each look: the operator asks for an anchor at once.
    pub(super) asked: u64,
}

impl Rates {
    pub(super) fn of(random: &mut Random) -> Self {
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
            // Drawn for the bond, which has a source of its own.
            gap: 0,
        }
    }
}
