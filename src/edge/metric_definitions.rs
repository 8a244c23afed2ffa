//! Names and descriptions of this crate's metrics.

use metrics::{counter, describe_counter, describe_gauge, describe_histogram, gauge};

/// Forwarded requests, by target and outcome.
pub const PASSED: &str = "kedge_edge_passed_total";
/// Time from a request's headers to its answer's headers, by target.
pub const PASSING_SECONDS: &str = "kedge_edge_passing_seconds";
pub const READY_NODES: &str = "kedge_edge_ready_nodes";
/// Targets of requests: the leader, or any ready node.
const TARGETS: [&str; 2] = ["leader", "node"];
/// Outcomes: answered; no node reached; broken off with an unknown result; or the caller's body broke off or was late.
const OUTCOMES: [&str; 4] = ["answered", "unreached", "unknown", "body"];

pub fn describe() {
    describe_counter!(
        PASSED,
        "Requests that the edge passed on, by where to and what came of it"
    );
    describe_histogram!(
        PASSING_SECONDS,
        "Time from a request's headers to those of its answer, by where it was passed to"
    );
    describe_gauge!(READY_NODES, "Nodes that are ready");
    gauge!(READY_NODES).set(0.0);
    for to in TARGETS {
        for outcome in OUTCOMES {
            counter!(PASSED, "to" => to, "outcome" => outcome).increment(0);
        }
    }
}
