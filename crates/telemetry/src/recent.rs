//! Requests of recent sampled actions, for the deliveries that report them. Older ones, and those from before a
//! restart, are not traced.

use std::collections::VecDeque;

use kedge_actors::timing::{SampledRequest, SpanRef};
use parking_lot::Mutex;

const REQUESTS_MAX: usize = 16_384;

/// The newest sampled requests, in the log's order.
#[derive(Default)]
pub(crate) struct RecentSamples(Mutex<VecDeque<SampledRequest>>);

impl RecentSamples {
    /// Adds committed requests.
    pub(crate) fn add(&self, members: &[SampledRequest]) {
        let mut all = self.0.lock();
        for member in members.iter().filter(|member| member.count > 0) {
            // A node that follows again may commit what is known already.
            while all
                .back()
                .is_some_and(|last| last.first_sequence >= member.first_sequence)
            {
                all.pop_back();
            }
            if all.len() == REQUESTS_MAX {
                all.pop_front();
            }
            all.push_back(*member);
        }
    }

    /// The request with this action.
    pub(crate) fn of(&self, sequence: u64) -> Option<SpanRef> {
        let all = self.0.lock();
        let after = all.partition_point(|member| member.first_sequence <= sequence);
        let member = all.get(after.checked_sub(1)?)?;
        let end = member.first_sequence + u64::from(member.count);
        (sequence < end).then_some(member.span)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn member(first_sequence: u64, count: u32) -> SampledRequest {
        SampledRequest {
            span: SpanRef {
                trace_id: u128::from(first_sequence),
                span_id: 1,
            },
            first_sequence,
            count,
            batch: Some(0),
        }
    }

    #[test]
    fn an_action_leads_to_its_request_and_the_oldest_are_forgotten() {
        let recent = RecentSamples::default();
        recent.add(&[member(1, 2), member(0, 0), member(5, 3)]);
        let found = |sequence| recent.of(sequence).map(|span| span.trace_id);
        assert_eq!([1, 2, 3, 4].map(found), [Some(1), Some(1), None, None]);
        assert_eq!([5, 7, 8, 0].map(found), [Some(5), Some(5), None, None]);
        for first in 1..=REQUESTS_MAX as u64 {
            recent.add(&[member(10 * first, 1)]);
        }
        assert_eq!(found(5), None);
        assert_eq!(found(10), Some(10));
        assert_eq!(recent.0.lock().len(), REQUESTS_MAX);
    }
}
