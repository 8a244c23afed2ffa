//! Times at which a request passed the stages of the engine, for distributed tracing. The engine only notes times and
//! carries the ids of spans. The server attaches a [`RequestTiming`] to each sampled request and builds spans from it.
//! Any other request costs a comparison at each stage, and no reading of the clock.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Instant;

/// Id of a span, as in W3C Trace Context. All zeros is no span.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SpanRef {
    pub trace_id: u128,
    pub span_id: u64,
}

/// Stages of a request, in this order. A stale request is decided again, and its last times count.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(usize)]
pub enum RequestStage {
    /// The directory received the request.
    Sent,
    /// An actor began to decide the request, for the first time.
    Begun,
    /// All parts are decided, and the Sequencer has the request.
    Decided,
    /// The Sequencer placed or refused the request.
    Placed,
    /// The committer took the request.
    Taken,
}

/// Stages of a commit group, in this order.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(usize)]
pub enum GroupStage {
    /// The committer took the first sampled request of the group.
    Begun,
    /// The committer handed the group over.
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

/// Times of `N` stages, as nanoseconds since `base` plus one. 0 is a stage not passed.
struct StageTimes<const N: usize> {
    base: Instant,
    nanoseconds: [AtomicU64; N],
}

impl<const N: usize> StageTimes<N> {
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
        // A later time does not replace the first one.
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
    /// Span of the whole request.
    pub span: SpanRef,
    observer: Arc<dyn SpanObserver>,
    times: StageTimes<5>,
    group: OnceLock<Arc<GroupTiming>>,
}

/// The times of a commit group with sampled requests.
pub struct GroupTiming {
    pub span: SpanRef,
    times: StageTimes<6>,
}

/// A sampled request of a commit group.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SampledRequest {
    pub span: SpanRef,
    /// Sequence of its first action; 0 if no action was done.
    pub first_sequence: u64,
    /// Number of its actions that were done.
    pub count: u32,
    /// Number of its batch, if an action was done.
    pub batch: Option<u64>,
}

/// Result of an anchor on the chain.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct AnchorRound {
    pub batches: u64,
    /// `confirmed`, `finalized` or `failed`.
    pub status: &'static str,
    /// Time of its checkpoint, Unix milliseconds.
    pub begun_ms: u64,
    /// Time at which this status was seen, Unix milliseconds.
    pub ended_ms: u64,
    /// Number of transactions sent.
    pub attempts: u32,
    pub block_number: Option<u64>,
}

/// Builds spans from the engine's notes. It is called on the engine's own threads, so it must not block or fail.
pub trait SpanObserver: Send + Sync {
    /// A new span for a commit group.
    fn group_span(&self) -> SpanRef;

    /// These requests are durable; they become readable only after this call.
    fn placed(&self, members: &[SampledRequest]);

    /// A group with these sampled requests is published, and its callers are answered.
    fn committed(&self, group: &GroupTiming, members: &[SampledRequest]);

    /// An anchor was included in a block, or failed for good.
    fn anchored(&self, round: &AnchorRound);
}

impl RequestTiming {
    /// Timing of the request with this span; all times come after `base`.
    pub fn new(span: SpanRef, base: Instant, observer: Arc<dyn SpanObserver>) -> Self {
        Self {
            span,
            observer,
            times: StageTimes::new(base),
            group: OnceLock::new(),
        }
    }

    /// Time at which it passed a stage, if it did.
    pub fn at(&self, step: RequestStage) -> Option<Instant> {
        self.times.at(step as usize)
    }

    /// The request's commit group, if it reached one.
    pub fn group(&self) -> Option<&GroupTiming> {
        self.group.get().map(Arc::as_ref)
    }

    /// Notes that it passes a stage now.
    pub fn note(&self, step: RequestStage, now: Instant) {
        if step == RequestStage::Begun {
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
    /// Time at which it passed a stage, if it did.
    pub fn at(&self, step: GroupStage) -> Option<Instant> {
        self.times.at(step as usize)
    }
}

/// The sampled requests of a commit group.
pub struct SampledGroup {
    observer: Arc<dyn SpanObserver>,
    group: Arc<GroupTiming>,
    members: Vec<SampledRequest>,
}

impl SampledGroup {
    /// Adds a request to the observed ones of its group, and creates the list for the first one.
    pub fn add(
        observed: &mut Option<Box<Self>>,
        timing: &RequestTiming,
        member: SampledRequest,
        now: Instant,
    ) {
        let observed = observed.get_or_insert_with(|| {
            let base = timing.at(RequestStage::Taken).unwrap_or(now);
            let group = GroupTiming {
                span: timing.observer.group_span(),
                times: StageTimes::new(base),
            };
            group.times.note(GroupStage::Begun as usize, base);
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

    /// Notes that the group passes a stage now.
    pub fn note(&self, step: GroupStage, now: Instant) {
        self.group.times.note(step as usize, now);
    }

    /// Reports that the group is durable and not yet visible.
    pub fn placed(&self) {
        self.observer.placed(&self.members);
    }

    /// Reports that the group is published and answered.
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
        let times = StageTimes::<3>::new(base);
        assert_eq!(times.at(0), None);
        times.note(0, base);
        assert_eq!(times.at(0), Some(base));
        times.note(1, after(7));
        times.note(1, after(9));
        assert_eq!(times.at(1), Some(after(9)));
        times.note_first(2, after(7));
        times.note_first(2, after(9));
        assert_eq!(times.at(2), Some(after(7)));
        // A clock that went back counts as no elapsed time.
        let later = StageTimes::<1>::new(after(5));
        later.note(0, base);
        assert_eq!(later.at(0), Some(after(5)));
    }
}
