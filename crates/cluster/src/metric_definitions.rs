//! Names and descriptions of this crate's metrics.

use metrics::{counter, describe_counter, describe_gauge, describe_histogram};

/// 1 while this node leads, 0 while it follows.
pub const LEADS: &str = "kedge_cluster_leads";
/// The newest term known to this node.
pub const TERM: &str = "kedge_cluster_term";
/// Frames of the stream that this node has not applied.
pub const LAG_FRAMES: &str = "kedge_cluster_lag_frames";
/// Seconds since this node last had the whole stream.
pub const LAG_SECONDS: &str = "kedge_cluster_lag_seconds";
/// 1 while the stream accepts nothing from this leader.
pub const STALLED: &str = "kedge_cluster_stalled";
/// 1 while this node cannot continue and the operator has to act.
pub const BROKEN: &str = "kedge_cluster_broken";
/// Number of keys in which this node differs from the leader.
pub const KEYS_DIFFER: &str = "kedge_cluster_keys_differ";
/// Terms that this node began.
pub const TERMS_BEGUN: &str = "kedge_cluster_terms_begun_total";
/// Terms that this node lost without a handover.
pub const TERMS_LOST: &str = "kedge_cluster_terms_lost_total";
/// Duration from the decision to lead until writes are accepted.
pub const PROMOTION_SECONDS: &str = "kedge_cluster_promotion_seconds";

pub fn describe() {
    describe_gauge!(LEADS, "1 while this node leads, 0 while it follows");
    describe_gauge!(TERM, "Newest term that this node knows");
    describe_gauge!(
        LAG_FRAMES,
        "Frames of the stream that this node has not applied"
    );
    describe_gauge!(
        LAG_SECONDS,
        "Time since this node had everything that the stream had"
    );
    describe_gauge!(
        STALLED,
        "1 while the stream accepts nothing from this leader"
    );
    describe_gauge!(
        BROKEN,
        "1 while this node cannot continue and the operator has to act"
    );
    describe_gauge!(
        KEYS_DIFFER,
        "Keys in which this node differs from the one that leads: it does not lead"
    );
    describe_counter!(TERMS_BEGUN, "How often this node began to lead");
    describe_counter!(
        TERMS_LOST,
        "How often this node lost leadership without handing it over"
    );
    describe_histogram!(
        PROMOTION_SECONDS,
        "Duration from the decision to lead until writes are accepted"
    );
    for name in [TERMS_BEGUN, TERMS_LOST] {
        counter!(name).increment(0);
    }
}
