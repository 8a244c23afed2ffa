//! Metrics of connections, limits, event streams and v2 paths: names, descriptions and first values.

use metrics::{counter, describe_counter, describe_gauge, gauge};

/// 1 while the start waits for something outside the process.
pub const START_WAITS: &str = "kedge_start_waits";
pub const CONNECTIONS: &str = "kedge_http_connections";
pub const CONNECTIONS_ENDED: &str = "kedge_http_connections_ended_total";
/// Reasons: too many connections of the address, too few files, answers not read, no request, a slow head, or too many
/// frames that serve no request.
const ENDS: [&str; 6] = ["address", "files", "stalled", "idle", "late", "flood"];
pub const RATE_LIMITED: &str = "kedge_rate_limited_total";
/// A follower's requests for limit leases, by outcome.
pub const LIMIT_LEASES: &str = "kedge_limit_leases_total";
/// Outcomes: a lease, nothing left, no answer, or too many requests pending.
const OUTCOMES: [&str; 4] = ["leased", "spent", "unanswered", "crowded"];
/// Stored day counts of organizations.
pub const USAGE_ROWS_WRITTEN: &str = "kedge_usage_rows_written_total";
/// Disk bytes that a tier leaves to the others.
pub(crate) const DISK_KEPT_BYTES: &str = "kedge_disk_kept_bytes";
pub const STREAMS: &str = "kedge_event_streams";
/// Event streams ended because their client did not read.
pub const STREAMS_CUT_OFF: &str = "kedge_event_streams_cut_off_total";
/// Places of downloads and event streams that went to a caller with fewer, by kind.
pub const PLACES_REASSIGNED: &str = "kedge_places_reassigned_total";
/// The kinds, by the names of shares.
const PLACES: [&str; 2] = ["downloads", "event-streams"];
/// Requests to v2 paths that have a successor, by area.
pub const V2_REQUESTS: &str = "kedge_v2_requests_total";

pub fn describe() {
    describe_gauge!(
        START_WAITS,
        "1 while the start waits for something outside of the process"
    );
    gauge!(START_WAITS).set(0.0);
    describe_gauge!(CONNECTIONS, "Open connections");
    describe_counter!(
        CONNECTIONS_ENDED,
        "Connections that the server closed, by reason"
    );
    describe_counter!(
        RATE_LIMITED,
        "Requests refused by a limit, by the limit's name"
    );
    describe_counter!(
        LIMIT_LEASES,
        "Questions of a node that follows for leases of limits, by what came of them"
    );
    describe_counter!(
        USAGE_ROWS_WRITTEN,
        "Daily request counts of organizations that were stored"
    );
    describe_gauge!(
        DISK_KEPT_BYTES,
        "Bytes of the disk that a tier leaves to the others: with less room its writes are refused"
    );
    describe_gauge!(STREAMS, "Open event streams");
    describe_counter!(
        STREAMS_CUT_OFF,
        "Event streams closed because the reader did not read"
    );
    describe_counter!(
        PLACES_REASSIGNED,
        "Places of downloads and event streams that went to a caller who held fewer"
    );
    describe_counter!(
        V2_REQUESTS,
        "Requests to v2 paths that have a successor, by area"
    );
}

/// Initializes the labelled metrics, so that they appear before their first event.
pub fn start_at_zero(limits: impl Iterator<Item = &'static str>, areas: &[&'static str]) {
    for name in [USAGE_ROWS_WRITTEN, STREAMS_CUT_OFF] {
        counter!(name).increment(0);
    }
    for name in [CONNECTIONS, STREAMS] {
        gauge!(name).set(0.0);
    }
    for policy in limits {
        counter!(RATE_LIMITED, "policy" => policy).increment(0);
    }
    for outcome in OUTCOMES {
        counter!(LIMIT_LEASES, "outcome" => outcome).increment(0);
    }
    for reason in ENDS {
        counter!(CONNECTIONS_ENDED, "reason" => reason).increment(0);
    }
    for share in PLACES {
        counter!(PLACES_REASSIGNED, "share" => share).increment(0);
    }
    for area in areas {
        counter!(V2_REQUESTS, "area" => *area).increment(0);
    }
}
