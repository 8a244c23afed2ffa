//! What excuses a late answer: the time that the server lost by what went wrong, and no more. Each trouble costs what it
//! can cost at most, so an answer that is late in spite of the time that is left has no excuse, however much went wrong.

/// How often there is a block, milliseconds: a run takes seconds, and must see many.
pub(super) const BLOCK_MS: u64 = 15;
/// How long a request takes at a node that is well, milliseconds: nought to four, but many follow each other.
const REQUEST_MS: u64 = 2;
/// How many requests a tick of the server makes, and how many more for each case that it follows: the case as it is now
/// and in the last final block, and a receipt.
const REQUESTS: u64 = 20;
const REQUESTS_A_CASE: u64 = 2;
/// The longest pause between ticks, and after a look at the bond that failed.
const TICK_MS: u64 = 18;
pub(super) const PAUSE_MS: u64 = 50;
/// How long an offer waits until it is raised, or until a transaction after a gap gets a new nonce.
const OFFER_MS: u64 = 150;
/// How rarely the server looks at the bond while no case is open.
const LOOK_MS: u64 = 105;
/// For how many blocks a price may stay above an offer that was made before it rose: it falls by a quarter with each.
pub(super) const DEAR_BLOCKS: u64 = 16;

/// A tick, with so many cases.
fn round_ms(cases: u64) -> u64 {
    (REQUESTS + REQUESTS_A_CASE * cases) * REQUEST_MS + TICK_MS
}

/// An anchor from its first step to the tick that sees it in a block.
fn anchor_ms(cases: u64) -> u64 {
    2 * round_ms(cases) + BLOCK_MS
}

/// How long the answers to so many cases take if nothing goes wrong: the server finds the cases, may have an anchor under
/// way and waits for it, and then sends one answer after the other.
pub(super) fn needed_ms(cases: u64, is_anchored: bool) -> u64 {
    let each_ms = round_ms(cases) + BLOCK_MS;
    let anchors = if is_anchored { 1 } else { 2 };
    LOOK_MS + round_ms(cases) + anchors * anchor_ms(cases) + cases * each_ms
}

/// The time that was lost since the run began, of that which has passed.
#[derive(Clone, Copy, Default, Debug)]
pub(super) struct LostTime {
    total_ms: u64,
    /// What has passed.
    seen_ms: u64,
    /// Since when nothing is lost.
    free_since_ms: u64,
    /// Until then nothing can be done.
    until_ms: u64,
    /// After that, so much time is needed to do again what was undone.
    work_ms: u64,
    /// How many cases the server follows.
    cases: u64,
}

impl LostTime {
    /// How much it is by now.
    pub(super) fn total_ms(&mut self, now_ms: u64) -> u64 {
        self.pass(now_ms);
        self.total_ms
    }

    /// From here on the server follows so many cases.
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

    /// Nothing can be done in that time.
    pub(super) fn stands(&mut self, from_ms: u64, until_ms: u64) {
        self.pass(from_ms);
        self.until_ms = self.until_ms.max(until_ms);
    }

    /// Nothing can be done for that time more.
    pub(super) fn stands_longer(&mut self, now_ms: u64, time_ms: u64) {
        self.pass(now_ms);
        self.until_ms = self.until_ms.max(now_ms) + time_ms;
    }

    /// A tick that began before is of no use, as are all until then. What it did not come to is that it sends the answer:
    /// another anchor may begin instead, which the answer waits for.
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

    /// A transaction that was sent is nowhere: the next tick sends it again.
    pub(super) fn transaction_gone(&mut self, now_ms: u64) {
        self.must_work(now_ms, round_ms(self.cases) + BLOCK_MS);
    }

    /// Somebody else's transaction did what the server's was to do: the server sees that, and what is next.
    pub(super) fn overtaken(&mut self, now_ms: u64) {
        self.must_work(now_ms, anchor_ms(self.cases));
    }

    /// What the server did is undone: blocks were given up, or a process began with what the one before it had stored.
    pub(super) fn undone(&mut self, now_ms: u64) {
        self.must_work(now_ms, self.undone_ms());
    }

    /// A transaction may wait after a gap, or for less than another one under its nonce, until it is late; the server counts
    /// to three then.
    fn undone_ms(&self) -> u64 {
        OFFER_MS + anchor_ms(self.cases) + 3 * round_ms(self.cases)
    }
}
