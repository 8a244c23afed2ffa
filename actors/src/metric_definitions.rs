//! Names and descriptions of this crate's metrics.

use metrics::{Unit, counter, describe_counter, describe_gauge, describe_histogram, gauge};

/// Decisions by actors, labelled `actor` (object, organization) and `basis` (committed, overlay,
/// new, any).
pub const DECISIONS: &str = "kedge_decisions_total";
/// Proposals decided again because a state they depended on had changed.
pub const STALE_UNITS: &str = "kedge_stale_units_total";
/// Proposals that wait in the sequencer for an earlier ticket.
pub const SEQUENCER_EARLY: &str = "kedge_sequencer_early_units";
/// Live object actors, labelled `shard`.
pub const OBJECT_ACTORS_LIVE: &str = "kedge_object_actors_live";
pub const ORGANIZATION_ACTORS_LIVE: &str = "kedge_organization_actors_live";
/// Time to form a commit group before it is written.
pub const GROUP_FORM_SECONDS: &str = "kedge_group_form_seconds";
pub const BATCHES_SEALED: &str = "kedge_batches_sealed_total";
pub const ACTIONS_COMMITTED: &str = "kedge_actions_committed_total";
pub const BATCH_ACTIONS: &str = "kedge_batch_actions";
pub const CHAIN_SEQUENCE: &str = "kedge_chain_sequence";
pub const CHAIN_BATCHES: &str = "kedge_chain_batches";
pub const REQUESTS_UNDER_WAY: &str = "kedge_requests_under_way";
pub const REQUEST_OLDEST_SECONDS: &str = "kedge_request_oldest_seconds";
pub const REQUESTS_UNDER_WAY_MAX: &str = "kedge_requests_under_way_max";
pub const OVERLOADED: &str = "kedge_requests_overloaded_total";
/// 1 while no batch is signed, because the sequencer's key for it is not known or not held.
pub const SIGNING_STOPPED: &str = "kedge_signing_stopped";
pub const DISK_FULL: &str = "kedge_disk_full";
pub const DISK_FREE_BYTES: &str = "kedge_disk_free_bytes";
/// 1 while nothing is written because the clock is not believed.
pub const CLOCK_OUT_OF_BOUNDS: &str = "kedge_clock_out_of_bounds";
/// How far the clock is ahead of the expected time.
pub const CLOCK_AHEAD_SECONDS: &str = "kedge_clock_ahead_seconds";
/// How far the clock is ahead of the chain's newest block, counting its age since it was seen.
pub const CLOCK_AHEAD_OF_BLOCK_SECONDS: &str = "kedge_clock_ahead_of_block_seconds";
pub const ANCHOR_LAG_BATCHES: &str = "kedge_anchor_lag_batches";
/// Seconds since the oldest batch that is not anchored was sealed.
pub const ANCHOR_LAG_SECONDS: &str = "kedge_anchor_lag_seconds";
/// 1 while the chain's node answers, 0 while it does not.
pub const CHAIN_NODE_REACHABLE: &str = "kedge_chain_node_reachable";
/// Time to make a root of the state.
pub const ROOT_SECONDS: &str = "kedge_state_root_seconds";
pub const ROOTS_MADE: &str = "kedge_state_roots_total";
/// How many batches the newest root of the state covers.
pub const ROOT_BATCHES: &str = "kedge_state_root_batches";
/// 1 once this node's root differs from the signed one.
pub const ROOT_DIFFERS: &str = "kedge_state_root_differs";
/// Statements of a node about the contract that were not believed, labelled `claim` (checkpoint, anchor).
pub const CHAIN_CLAIMS_REFUSED: &str = "kedge_chain_claims_refused_total";

/// Registers the metrics' descriptions with the recorder.
pub fn describe() {
    describe_counter!(
        DECISIONS,
        "Decisions made by object and organization actors"
    );
    describe_counter!(
        STALE_UNITS,
        "Units decided again because state they depended on had changed"
    );
    describe_gauge!(
        SEQUENCER_EARLY,
        "Units that wait in the sequencer for their turn"
    );
    describe_gauge!(OBJECT_ACTORS_LIVE, "Live object actors");
    describe_gauge!(ORGANIZATION_ACTORS_LIVE, "Live organization actors");
    describe_histogram!(GROUP_FORM_SECONDS, "Time to form a commit group");
    describe_counter!(BATCHES_SEALED, "Batches sealed");
    describe_counter!(ACTIONS_COMMITTED, "Actions committed");
    describe_histogram!(BATCH_ACTIONS, "Actions in a batch");
    describe_gauge!(CHAIN_SEQUENCE, "The sequence of the log's last action");
    describe_gauge!(CHAIN_BATCHES, "Batches in the log");
    describe_gauge!(REQUESTS_UNDER_WAY, "Requests in flight in the engine");
    describe_gauge!(
        REQUEST_OLDEST_SECONDS,
        "Age of the oldest request in flight in the engine; 0 without one"
    );
    describe_gauge!(
        REQUESTS_UNDER_WAY_MAX,
        "Limit of requests in flight in the engine; further ones are refused"
    );
    describe_counter!(
        OVERLOADED,
        "Requests refused because too many were in flight"
    );
    describe_gauge!(
        SIGNING_STOPPED,
        "1 while no batch is signed, because its key is not known or not held"
    );
    describe_gauge!(DISK_FULL, "1 while the disk is too full to accept writes");
    describe_gauge!(
        DISK_FREE_BYTES,
        "Free space on the disk of the data directory"
    );
    describe_gauge!(
        CLOCK_OUT_OF_BOUNDS,
        "1 while nothing is written because the clock is not trusted"
    );
    describe_gauge!(
        CLOCK_AHEAD_SECONDS,
        "How far the clock is ahead of the expected time"
    );
    describe_gauge!(
        CLOCK_AHEAD_OF_BLOCK_SECONDS,
        "How far the clock is ahead of the chain's newest block"
    );
    describe_roots();
    describe_anchoring();
    start_at_zero();
}

fn describe_anchoring() {
    describe_gauge!(ANCHOR_LAG_BATCHES, "Batches that are not anchored yet");
    describe_gauge!(
        ANCHOR_LAG_SECONDS,
        "Age of the oldest batch that is not anchored"
    );
    describe_gauge!(
        CHAIN_NODE_REACHABLE,
        "1 while the chain's node answers, 0 while it does not"
    );
    describe_counter!(
        CHAIN_CLAIMS_REFUSED,
        "Statements of a node about the contract that were rejected"
    );
}

fn describe_roots() {
    describe_histogram!(
        ROOT_SECONDS,
        Unit::Seconds,
        "Time to make a root of the state"
    );
    describe_counter!(ROOTS_MADE, "Roots of the state that were made");
    describe_gauge!(
        ROOT_BATCHES,
        "Batches that the newest root of the state covers"
    );
    describe_gauge!(
        ROOT_DIFFERS,
        "1 once this node's root of the state differs from the signed one"
    );
}

/// Resets the metrics that only a leader measures. Otherwise a node that no longer leads would show its last values,
/// and their alerts would not end.
pub fn no_longer_leads() {
    for name in [
        ANCHOR_LAG_BATCHES,
        ANCHOR_LAG_SECONDS,
        REQUEST_OLDEST_SECONDS,
        SEQUENCER_EARLY,
    ] {
        gauge!(name).set(0.0);
    }
    // A node that follows does not probe the chain's node.
    gauge!(CHAIN_NODE_REACHABLE).set(1.0);
}

/// Registers the counters at zero: one that first appears with its first event shows no rate for that event.
fn start_at_zero() {
    for name in [STALE_UNITS, BATCHES_SEALED, ACTIONS_COMMITTED, OVERLOADED] {
        counter!(name).increment(0);
    }
    for name in [REQUESTS_UNDER_WAY, REQUEST_OLDEST_SECONDS, SEQUENCER_EARLY] {
        gauge!(name).set(0.0);
    }
    for claim in ["checkpoint", "anchor"] {
        counter!(CHAIN_CLAIMS_REFUSED, "claim" => claim).increment(0);
    }
}
