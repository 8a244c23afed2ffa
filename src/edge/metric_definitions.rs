//! The names and meanings of this crate's metrics, in one place.

use metrics::{Unit, counter, describe_counter, describe_gauge, describe_histogram, gauge};

/// Requests that the edge passed on, by where to and what came of it.
pub const PASSED: &str = "kedge_edge_passed_total";
/// Time from a request's headers to those of its answer, by where it was passed to.
pub const PASSING_SECONDS: &str = "kedge_edge_passing_seconds";
/// Nodes that are ready.
pub const READY_NODES: &str = "kedge_edge_ready_nodes";
/// Where requests are passed to: to the leader, or to any node that is ready.
const TARGETS: [&str; 2] = ["leader", "node"];
/// What comes of them: an answer; nothing was reached; it broke off, and its outcome is unknown; or the caller's body broke
/// off or was late.
const OUTCOMES: [&str; 4] = ["answered", "unreached", "unknown", "body"];

/// Describes them.
pub fn describe() {
    describe_counter!(
        PASSED,
        Unit::Count,
        "Requests that the edge passed on, by where to and what came of it"
    );
    describe_histogram!(
        PASSING_SECONDS,
        Unit::Seconds,
        "Time from a request's headers to those of its answer, by where it was passed to"
    );
    describe_gauge!(READY_NODES, Unit::Count, "Nodes that are ready");
    gauge!(READY_NODES).set(0.0);
    for to in TARGETS {
        for outcome in OUTCOMES {
            counter!(PASSED, "to" => to, "outcome" => outcome).increment(0);
        }
    }
}
