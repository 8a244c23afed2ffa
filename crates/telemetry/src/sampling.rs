//! Sampling of requests: a configured part at random, plus requests whose caller records the trace, as far as the
//! operator permits. A caller's decision not to record is followed too.
//!
//! The choice is independent of the trace id: a caller chooses that, and could have all of its requests traced.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use super::context::ParentSpan;

/// Reason for tracing a request.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum SamplingReason {
    /// Chosen at random.
    Ratio,
    /// The caller traces it.
    Caller,
}

impl SamplingReason {
    pub(crate) const ALL: [Self; 2] = [Self::Ratio, Self::Caller];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Ratio => "ratio",
            Self::Caller => "caller",
        }
    }
}

/// Decides which requests are traced.
pub(crate) struct RequestSampler {
    /// A random number below this chooses a request; `None` chooses all.
    threshold: Option<u64>,
    state: AtomicU64,
    /// Requests a second that are traced because of their callers.
    callers_per_s: u32,
    began: Instant,
    /// The current second and its accepted requests, 32 bits each.
    window: AtomicU64,
}

impl RequestSampler {
    /// `ratio` is the traced part of all requests, from 0 to 1.
    pub(crate) fn new(ratio: f64, callers_per_s: u32, seed: u64) -> Self {
        Self {
            threshold: (ratio < 1.0).then(|| (ratio.max(0.0) * 2f64.powi(64)) as u64),
            state: AtomicU64::new(seed),
            callers_per_s,
            began: Instant::now(),
            window: AtomicU64::new(0),
        }
    }

    /// The reason for tracing a request; `None` if it is not traced.
    pub(crate) fn decide(&self, parent: Option<ParentSpan>) -> Option<SamplingReason> {
        match parent {
            Some(parent) if self.callers_per_s > 0 => {
                if !parent.is_sampled() {
                    return None;
                }
                if self.accepts(self.began.elapsed().as_secs()) {
                    return Some(SamplingReason::Caller);
                }
                self.is_chosen().then_some(SamplingReason::Ratio)
            }
            _ => self.is_chosen().then_some(SamplingReason::Ratio),
        }
    }

    fn is_chosen(&self) -> bool {
        match self.threshold {
            None => true,
            Some(0) => false,
            Some(threshold) => self.random() < threshold,
        }
    }

    /// SplitMix64 (Steele, Lea, Flood 2014): one addition to shared memory, then mixing.
    fn random(&self) -> u64 {
        mixed(self.state.fetch_add(GOLDEN, Ordering::Relaxed))
    }

    /// Whether one more request of this second is accepted because of its caller.
    fn accepts(&self, second: u64) -> bool {
        let second = second & u64::from(u32::MAX);
        let accepted = |window: u64| {
            let count = if window >> 32 == second {
                window & u64::from(u32::MAX)
            } else {
                0
            };
            (count < u64::from(self.callers_per_s)).then_some(second << 32 | (count + 1))
        };
        let (set, fetch) = (Ordering::Relaxed, Ordering::Relaxed);
        self.window.fetch_update(set, fetch, accepted).is_ok()
    }
}

/// SplitMix64's increment.
pub(crate) const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;

/// SplitMix64's mixing.
pub(crate) fn mixed(state: u64) -> u64 {
    let z = state.wrapping_add(GOLDEN);
    let z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use kedge_actors::timing::SpanRef;

    use super::*;

    fn caller(flags: u8) -> ParentSpan {
        let span = SpanRef {
            trace_id: 1,
            span_id: 1,
        };
        ParentSpan { span, flags }
    }

    #[test]
    fn the_ratio_is_met_and_its_ends_are_none_and_all() {
        let chosen = |ratio| {
            let sampler = RequestSampler::new(ratio, 0, 7);
            (0..100_000)
                .filter(|_| sampler.decide(None).is_some())
                .count()
        };
        assert_eq!(chosen(0.0), 0);
        assert_eq!(chosen(1.0), 100_000);
        for (ratio, expected) in [(0.01, 1_000), (0.5, 50_000)] {
            let counted = chosen(ratio);
            assert!(
                counted.abs_diff(expected) < expected / 5,
                "{ratio}: {counted}"
            );
        }
    }

    // Holds invariant 197.
    #[test]
    fn a_caller_decides_only_as_often_as_it_may() {
        let sampler = RequestSampler::new(0.0, 3, 7);
        assert!((0..3).all(|_| sampler.accepts(5)));
        assert!(!sampler.accepts(5));
        assert!(sampler.accepts(6));
        let decided = |sampler: &RequestSampler, flags| sampler.decide(Some(caller(flags)));
        assert_eq!(
            decided(&RequestSampler::new(0.0, 3, 7), 1),
            Some(SamplingReason::Caller)
        );
        assert_eq!(decided(&RequestSampler::new(1.0, 3, 7), 0), None);
        // Not permitted: the flag means nothing.
        assert_eq!(decided(&RequestSampler::new(0.0, 0, 7), 1), None);
        assert_eq!(
            decided(&RequestSampler::new(1.0, 0, 7), 0),
            Some(SamplingReason::Ratio)
        );
        let exhausted = RequestSampler::new(1.0, 1, 7);
        assert_eq!(decided(&exhausted, 1), Some(SamplingReason::Caller));
        assert_eq!(decided(&exhausted, 1), Some(SamplingReason::Ratio));
    }
}
