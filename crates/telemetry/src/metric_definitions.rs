//! The names and meanings of this crate's metrics, in one place.

use metrics::{Unit, counter, describe_counter};

use super::sampling::Why;

/// Requests that are traced, by why.
pub const TRACES: &str = "kedge_traces_total";
/// Spans, by what became of them.
pub const SPANS: &str = "kedge_trace_spans_total";

/// Spans that the collector accepted.
pub(crate) const EXPORTED: &str = "exported";
/// Spans that found the queue full.
pub(crate) const DROPPED: &str = "dropped";
/// Spans that did not reach the collector.
pub(crate) const FAILED: &str = "failed";
/// Spans that the collector refused.
pub(crate) const REJECTED: &str = "rejected";

/// Describes them, and makes each appear with its labels. Only a server that traces has them.
pub(crate) fn describe() {
    describe_counter!(TRACES, Unit::Count, "Requests that are traced, by reason");
    describe_counter!(
        SPANS,
        Unit::Count,
        "Spans, by outcome: exported, dropped because the queue was full, failed to reach the collector, rejected by it"
    );
    for why in Why::ALL {
        counter!(TRACES, "reason" => why.name()).increment(0);
    }
    for outcome in [EXPORTED, DROPPED, FAILED, REJECTED] {
        count(outcome, 0);
    }
}

/// Counts spans.
pub(crate) fn count(outcome: &'static str, spans: usize) {
    counter!(SPANS, "outcome" => outcome).increment(spans as u64);
}
