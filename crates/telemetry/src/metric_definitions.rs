//! Names and descriptions of this crate's metrics.

use metrics::{counter, describe_counter};

use super::sampling::SamplingReason;

/// Traced requests, by reason.
pub const TRACES: &str = "kedge_traces_total";
/// Spans, by outcome.
pub const SPANS: &str = "kedge_trace_spans_total";

pub(crate) const EXPORTED: &str = "exported";
/// The queue was full.
pub(crate) const DROPPED: &str = "dropped";
/// The collector was not reached.
pub(crate) const FAILED: &str = "failed";
/// The collector refused them.
pub(crate) const REJECTED: &str = "rejected";

/// Describes and initializes the metrics, on a server that traces.
pub(crate) fn describe() {
    describe_counter!(TRACES, "Requests that are traced, by reason");
    describe_counter!(
        SPANS,
        "Spans, by outcome: exported, dropped because the queue was full, failed to reach the collector, rejected by it"
    );
    for why in SamplingReason::ALL {
        counter!(TRACES, "reason" => why.name()).increment(0);
    }
    for outcome in [EXPORTED, DROPPED, FAILED, REJECTED] {
        count(outcome, 0);
    }
}

pub(crate) fn count(outcome: &'static str, spans: usize) {
    counter!(SPANS, "outcome" => outcome).increment(spans as u64);
}
