//! The names and meanings of this crate's metrics, in one place.

use metrics::{Unit, counter, describe_counter, describe_gauge, describe_histogram, gauge};

/// Requests that the edge passed on, by where to and what came of it.
pub const PASSED: &str = "kedge_edge_passed_total";
/// Time from a request's headers to those of its answer, by where it was passed to.
pub const PASSING_SECONDS: &str = "kedge_edge_passing_seconds";
/// Nodes that are ready.
pub const READY_NODES: &str = "kedge_edge_ready_nodes";
/// Signatures of requests that edges submitted to this node, by where they were checked.
pub const SIGNATURES: &str = "kedge_edge_signatures_total";
/// Messages of edges that this node refused, by reason.
pub const REFUSED: &str = "kedge_edge_refused_total";
/// Edges that vouched for a wrong signature, and are no longer trusted.
pub const DISTRUSTED: &str = "kedge_edge_distrusted";

/// Where requests are passed to: over HTTP, and over the cluster's servers, to the leader; to a node.
const TARGETS: [&str; 3] = ["leader", "submitted", "node"];
/// What comes of them: an answer; nothing was reached; or it broke off, and its outcome is unknown.
const OUTCOMES: [&str; 3] = ["answered", "unreached", "unknown"];

/// Describes those of an edge.
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

/// Describes those of a node that serves edges.
pub fn describe_serving() {
    describe_counter!(
        SIGNATURES,
        Unit::Count,
        "Signatures of requests that edges submitted to this node, by where they were checked"
    );
    describe_counter!(
        REFUSED,
        Unit::Count,
        "Messages of edges that this node refused, by reason"
    );
    describe_gauge!(
        DISTRUSTED,
        Unit::Count,
        "Edges that vouched for a wrong signature, and are no longer trusted"
    );
    for checked in ["edge", "here"] {
        counter!(SIGNATURES, "checked" => checked).increment(0);
    }
    for reason in ["untrusted", "crowded", "malformed"] {
        counter!(REFUSED, "reason" => reason).increment(0);
    }
    gauge!(DISTRUSTED).set(0.0);
}
