//! When a request passed the steps of the engine, for distributed tracing. The engine only notes times and carries
//! the names of spans; whoever samples a request gives it a [`RequestTiming`], and makes spans of what it holds. A
//! request without one costs a comparison at each step, and no reading of the clock.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Instant;

/// The name of a span, as W3C Trace Context has it. All zeros name none.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SpanRef {
    /// The trace.
    pub trace_id: u128,
    /// The span in it.
    pub span_id: u64,
}

/// What a request passes on its way, in this order. A stale request is decided again: then the last time counts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(usize)]
pub enum Passed {
    /// It was handed to the directory.
    Sent,
    /// An actor began to decide it, for the first time.
    Begun,
    /// All of its parts are decided, and the Sequencer has it.
    Decided,
    /// The Sequencer gave it its place, or its refusal.
    Placed,
    /// The committer took it.
    Taken,
}

/// What a commit group passes, in this order.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(usize)]
pub enum GroupPassed {
    /// The committer took the first sampled request of the group.
    Begun,
    /// The group was handed over.
    Formed,
    /// The log has its frame.
    Appended,
    /// The frame is durable.
    Synced,
    /// The store has its rows.
    Applied,
    /// Reads see it.
    Published,
}

/// Times of `N` steps, each as nanoseconds after the first one's earliest time, plus one. 0 is not passed.
struct Times<const N: usize> {
    base: Instant,
    nanoseconds: [AtomicU64; N],
}

impl<const N: usize> Times<N> {
    fn new(base: Instant) -> Self {
        Self {
            base,
            nanoseconds: std::array::from_fn(|_| AtomicU64::new(0)),
        }
    }

    fn since_base(&self, now: Instant) -> u64 {
        let passed = now.saturating_duration_since(self.base).as_nanos();
        u64::try_from(passed).unwrap_or(u64::MAX - 1) + 1
    }

    fn note(&self, step: usize, now: Instant) {
        self.nanoseconds[step].store(self.since_base(now), Ordering::Relaxed);
    }

    fn note_first(&self, step: usize, now: Instant) {
        // Noted already: the first time stays.
        let _ = self.nanoseconds[step].compare_exchange(
            0,
            self.since_base(now),
            Ordering::Relaxed,
            Ordering::Relaxed,
        );
    }

    fn at(&self, step: usize) -> Option<Instant> {
        let nanoseconds = self.nanoseconds[step].load(Ordering::Relaxed);
        let passed = std::time::Duration::from_nanos(nanoseconds.checked_sub(1)?);
        Some(self.base + passed)
    }
}

/// The times of one sampled request.
pub struct RequestTiming {
    /// The span under which the request is seen from outside.
    pub span: SpanRef,
    observer: Arc<dyn Observer>,
    times: Times<5>,
    group: OnceLock<Arc<GroupTiming>>,
}

/// The times of a commit group with sampled requests.
pub struct GroupTiming {
    /// The group's own span.
    pub span: SpanRef,
    times: Times<6>,
}

/// A sampled request of a commit group.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Member {
    /// The request's span.
    pub span: SpanRef,
    /// The sequence of its first action; 0 if nothing was done.
    pub first_sequence: u64,
    /// How many of its actions were done.
    pub count: u32,
    /// The number of its batch, if something was done.
    pub batch: Option<u64>,
}

/// How an anchor ended its way to the chain.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct AnchorRound {
    /// How many batches it covers.
    pub batches: u64,
    /// `confirmed`, `finalized` or `failed`.
    pub status: &'static str,
    /// When its checkpoint was made, Unix milliseconds.
    pub begun_ms: u64,
    /// When this status was seen, Unix milliseconds.
    pub ended_ms: u64,
    /// How many transactions were sent.
    pub attempts: u32,
    /// The block that contains it.
    pub block_number: Option<u64>,
}

/// Makes spans of what the engine notes. It is called on the engine's own threads: it returns at once, and never fails.
pub trait Observer: Send + Sync {
    /// A name for the span of a commit group.
    fn group_span(&self) -> SpanRef;

    /// These requests are durable; they can be read only after this call.
    fn placed(&self, members: &[Member]);

    /// A group with these sampled requests is published, and its callers are answered.
    fn committed(&self, group: &GroupTiming, members: &[Member]);

    /// An anchor has got into a block, or never will.
    fn anchored(&self, round: &AnchorRound);
}

impl RequestTiming {
    /// Of a request that is seen from outside as `span`; all times come after `base`.
    pub fn new(span: SpanRef, base: Instant, observer: Arc<dyn Observer>) -> Self {
        Self {
            span,
            observer,
            times: Times::new(base),
            group: OnceLock::new(),
        }
    }

    /// When it passed a step, if it has.
    pub fn at(&self, step: Passed) -> Option<Instant> {
        self.times.at(step as usize)
    }

    /// The commit group that it is in, if it got that far.
    pub fn group(&self) -> Option<&GroupTiming> {
        self.group.get().map(Arc::as_ref)
    }

    /// It passes a step now.
    pub fn note(&self, step: Passed, now: Instant) {
        if step == Passed::Begun {
            self.times.note_first(step as usize, now);
        } else {
            self.times.note(step as usize, now);
        }
    }
}

impl std::fmt::Debug for RequestTiming {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RequestTiming")
            .field("span", &self.span)
            .finish_non_exhaustive()
    }
}

impl GroupTiming {
    /// When it passed a step, if it has.
    pub fn at(&self, step: GroupPassed) -> Option<Instant> {
        self.times.at(step as usize)
    }
}

/// The sampled requests of a commit group.
pub struct Observed {
    observer: Arc<dyn Observer>,
    group: Arc<GroupTiming>,
    members: Vec<Member>,
}

impl Observed {
    /// Adds a request to those of its group. It is the first one if there are none.
    pub fn add(
        observed: &mut Option<Box<Self>>,
        timing: &RequestTiming,
        member: Member,
        now: Instant,
    ) {
        let observed = observed.get_or_insert_with(|| {
            let base = timing.at(Passed::Taken).unwrap_or(now);
            let group = GroupTiming {
                span: timing.observer.group_span(),
                times: Times::new(base),
            };
            group.times.note(GroupPassed::Begun as usize, base);
            Box::new(Self {
                observer: Arc::clone(&timing.observer),
                group: Arc::new(group),
                members: Vec::new(),
            })
        });
        observed.members.push(member);
        // A request is in one group.
        let _ = timing.group.set(Arc::clone(&observed.group));
    }

    /// The group passes a step now.
    pub fn note(&self, step: GroupPassed, now: Instant) {
        self.group.times.note(step as usize, now);
    }

    /// The group is durable and not yet visible.
    pub fn placed(&self) {
        self.observer.placed(&self.members);
    }

    /// The group is published and answered.
    pub fn committed(&self) {
        self.observer.committed(&self.group, &self.members);
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_time_is_kept_to_the_nanosecond_and_the_first_one_where_that_counts() {
        let base = Instant::now();
        let after = |nanoseconds| base + Duration::from_nanos(nanoseconds);
        let times = Times::<3>::new(base);
        assert_eq!(times.at(0), None);
        times.note(0, base);
        assert_eq!(times.at(0), Some(base));
        times.note(1, after(7));
        times.note(1, after(9));
        assert_eq!(times.at(1), Some(after(9)));
        times.note_first(2, after(7));
        times.note_first(2, after(9));
        assert_eq!(times.at(2), Some(after(7)));
        // A clock that went back reads as no time passed.
        let later = Times::<1>::new(after(5));
        later.note(0, base);
        assert_eq!(later.at(0), Some(after(5)));
    }
}
