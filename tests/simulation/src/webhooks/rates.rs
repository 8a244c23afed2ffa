//! Fault rates of receivers, and rates of owners' changes, drawn for each seed from a separate random source.

use crate::random::SimulationRandom;

/// Probabilities out of ten thousand; 0 by default.
#[derive(Clone, Default, Debug)]
pub(super) struct WebhookFaultRates {
    /// At each message: the receiver refuses it, or asks for time.
    pub(super) refuses: u64,
    pub(super) asks_for_time: u64,
    /// The receiver is slow, or hangs.
    pub(super) slow: u64,
    pub(super) hangs: u64,
    /// The receiver is unreachable for a while.
    pub(super) away: u64,
    /// The receiver accepts the message, and its answer is lost.
    pub(super) lost: u64,
    /// The receiver says that it is gone for good.
    pub(super) gone: u64,
    /// An owner abandons its request.
    pub(super) abandon: u64,
    /// Shares of an owner's changes: create, switch off or on, change, delete.
    pub(super) made: u64,
    pub(super) switched: u64,
    pub(super) changed: u64,
    pub(super) ended: u64,
}

impl WebhookFaultRates {
    pub(super) fn of(random: &mut SimulationRandom) -> Self {
        let mut some = |max| random.rate(max);
        Self {
            refuses: some(4_000),
            asks_for_time: some(1_000),
            slow: some(4_000),
            hangs: some(500),
            away: some(200),
            lost: some(2_000),
            gone: some(150),
            abandon: some(3_000),
            made: 6_000,
            switched: some(4_000),
            changed: some(2_000),
            ended: some(2_000),
        }
    }
}
