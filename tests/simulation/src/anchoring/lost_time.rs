//! Time lost by faults, the only excuse for a late answer. Each fault is charged at its maximum cost, so an answer that
//! is late in spite of the remaining time has no excuse, however many faults there were.

/// Time between blocks, milliseconds: a run takes seconds, and needs many blocks.
pub(super) const BLOCK_MS: u64 = 15;
/// Time of a request at a healthy node, milliseconds: nought to four, but many follow each other.
const REQUEST_MS: u64 = 2;
/// Requests of a server's tick, and additional ones for each followed case: the case as it is now and in the last final
/// block, and a receipt.
const REQUESTS: u64 = 20;
const REQUESTS_A_CASE: u64 = 2;
/// Longest pause between ticks, and after a failed look at the bond.
const TICK_MS: u64 = 18;
pub(super) const PAUSE_MS: u64 = 50;
/// Time until an offer is raised, or a transaction after a gap gets a new nonce.
const OFFER_MS: u64 = 150;
/// Interval at which the server looks at the bond while no case is open.
const LOOK_MS: u64 = 105;
/// Limit on the blocks in which the price may exceed an earlier offer: it falls by a quarter with each.
pub(super) const DEAR_BLOCKS: u64 = 16;

/// Length of a tick, with so many cases.
fn round_ms(cases: u64) -> u64 {
    (REQUESTS + REQUESTS_A_CASE * cases) * REQUEST_MS + TICK_MS
}

/// An anchor from its first step to the tick that sees it in a block.
fn anchor_ms(cases: u64) -> u64 {
    2 * round_ms(cases) + BLOCK_MS
}

/// Time to answer so many cases without faults: the server finds the cases, possibly waits for an anchor in flight, and
/// then sends one answer after the other.
pub(super) fn needed_ms(cases: u64, is_anchored: bool) -> u64 {
    let each_ms = round_ms(cases) + BLOCK_MS;
    let anchors = if is_anchored { 1 } else { 2 };
    LOOK_MS + round_ms(cases) + anchors * anchor_ms(cases) + cases * each_ms
}

/// Time lost so far in a run.
#[derive(Clone, Copy, Default, Debug)]
pub(super) struct LostTime {
    total_ms: u64,
    /// Time up to which losses are counted.
    seen_ms: u64,
    /// Start of the current time without losses.
    free_since_ms: u64,
    /// End of the current outage.
    until_ms: u64,
    /// Time needed after the outage to repeat undone work.
    work_ms: u64,
    /// Number of cases that the server follows.
    cases: u64,
}

impl LostTime {
    /// Lost time until now.
    pub(super) fn total_ms(&mut self, now_ms: u64) -> u64 {
        self.pass(now_ms);
        self.total_ms
    }

    /// Sets the number of cases that the server follows.
    pub(super) fn follows(&mut self, cases: u64) {
        self.cases = cases;
    }

    fn pass(&mut self, now_ms: u64) {
        if now_ms <= self.seen_ms {
            return;
        }
        let can_work_ms = self.until_ms.clamp(self.seen_ms, now_ms);
        let works_ms = self.work_ms.min(now_ms - can_work_ms);
        self.work_ms -= works_ms;
        if can_work_ms + works_ms > self.seen_ms {
            self.free_since_ms = can_work_ms + works_ms;
            self.total_ms += self.free_since_ms - self.seen_ms;
        }
        self.seen_ms = now_ms;
    }

    /// Records an outage.
    pub(super) fn stands(&mut self, from_ms: u64, until_ms: u64) {
        self.pass(from_ms);
        self.until_ms = self.until_ms.max(until_ms);
    }

    /// Extends the outage.
    pub(super) fn stands_longer(&mut self, now_ms: u64, time_ms: u64) {
        self.pass(now_ms);
        self.until_ms = self.until_ms.max(now_ms) + time_ms;
    }

    /// Discards ticks begun before `until_ms`. The failed tick may have been about to send the answer; another anchor
    /// may begin instead, which the answer waits for.
    pub(super) fn tick_fails(&mut self, now_ms: u64, until_ms: u64) {
        self.stands(now_ms, until_ms + PAUSE_MS);
        let round_ms = round_ms(self.cases);
        let of_no_use_ms = round_ms.min(self.seen_ms - self.free_since_ms);
        self.total_ms += of_no_use_ms;
        self.free_since_ms = self.seen_ms;
        let least_ms = round_ms + anchor_ms(self.cases);
        let most_ms = least_ms.max(self.undone_ms());
        self.work_ms = (self.work_ms + round_ms).clamp(least_ms, most_ms);
    }

    fn must_work(&mut self, now_ms: u64, work_ms: u64) {
        self.pass(now_ms);
        self.work_ms = self.work_ms.max(work_ms);
    }

    /// Records a dropped transaction, which the next tick sends again.
    pub(super) fn transaction_gone(&mut self, now_ms: u64) {
        self.must_work(now_ms, round_ms(self.cases) + BLOCK_MS);
    }

    /// Records that a third party's transaction replaced the server's: the server sees that, and its next step.
    pub(super) fn overtaken(&mut self, now_ms: u64) {
        self.must_work(now_ms, anchor_ms(self.cases));
    }

    /// Records undone work: blocks were given up, or a new process began with the stored state of an earlier one.
    pub(super) fn undone(&mut self, now_ms: u64) {
        self.must_work(now_ms, self.undone_ms());
    }

    /// A transaction may wait until it is late, after a gap or for less than another one under its nonce; the server
    /// then counts to three.
    fn undone_ms(&self) -> u64 {
        OFFER_MS + anchor_ms(self.cases) + 3 * round_ms(self.cases)
    }
}
