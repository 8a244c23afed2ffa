//! The metrics of connections, limits, event streams and v2's paths: their names, descriptions and first values.

use metrics::{Unit, counter, describe_counter, describe_gauge, gauge};

/// 1 while the start waits for something outside of the process.
pub const START_WAITS: &str = "kedge_start_waits";
/// Open connections.
pub const CONNECTIONS: &str = "kedge_http_connections";
/// Connections that the server closed, by reason.
pub const CONNECTIONS_ENDED: &str = "kedge_http_connections_ended_total";
/// The reasons: the address has too many, too few files may be open, the caller reads no answer, sends no request, sends
/// the head of one too slowly, or sends too many frames that serve none.
const ENDS: [&str; 6] = ["address", "files", "stalled", "idle", "late", "flood"];
/// Requests refused by a limit, by the limit's name.
pub const RATE_LIMITED: &str = "kedge_rate_limited_total";
/// Questions of a node that follows for leases of limits, by what came of them.
pub const LIMIT_LEASES: &str = "kedge_limit_leases_total";
/// What comes of them: a lease, nothing left, no answer; or too many questions wait already.
const OUTCOMES: [&str; 4] = ["leased", "spent", "unanswered", "crowded"];
/// Organizations' day counts that were stored.
pub const USAGE_ROWS_WRITTEN: &str = "kedge_usage_rows_written_total";
/// Bytes of the disk that a tier leaves to the others.
pub(crate) const DISK_KEPT_BYTES: &str = "kedge_disk_kept_bytes";
/// Open event streams.
pub const STREAMS: &str = "kedge_event_streams";
/// Event streams that were ended because their client did not read.
pub const STREAMS_CUT_OFF: &str = "kedge_event_streams_cut_off_total";
/// Places of downloads and event streams that went to a caller who held fewer, by what they are places for.
pub const PLACES_REASSIGNED: &str = "kedge_places_reassigned_total";
/// What they are places for, by the names of shares.
const PLACES: [&str; 2] = ["downloads", "event-streams"];
/// Requests to v2 paths that have a successor, by area.
pub const V2_REQUESTS: &str = "kedge_v2_requests_total";

/// Describes the metrics.
pub fn describe() {
    describe_gauge!(
        START_WAITS,
        "1 while the start waits for something outside of the process"
    );
    gauge!(START_WAITS).set(0.0);
    describe_gauge!(CONNECTIONS, Unit::Count, "Open connections");
    describe_counter!(
        CONNECTIONS_ENDED,
        Unit::Count,
        "Connections that the server closed, by reason"
    );
    describe_counter!(
        RATE_LIMITED,
        Unit::Count,
        "Requests refused by a limit, by the limit's name"
    );
    describe_counter!(
        LIMIT_LEASES,
        Unit::Count,
        "Questions of a node that follows for leases of limits, by what came of them"
    );
    describe_counter!(
        USAGE_ROWS_WRITTEN,
        Unit::Count,
        "Daily request counts of organizations that were stored"
    );
    describe_gauge!(
        DISK_KEPT_BYTES,
        Unit::Bytes,
        "Bytes of the disk that a tier leaves to the others: with less room its writes are refused"
    );
    describe_gauge!(STREAMS, Unit::Count, "Open event streams");
    describe_counter!(
        STREAMS_CUT_OFF,
        Unit::Count,
        "Event streams closed because the reader did not read"
    );
    describe_counter!(
        PLACES_REASSIGNED,
        Unit::Count,
        "Places of downloads and event streams that went to a caller who held fewer"
    );
    describe_counter!(
        V2_REQUESTS,
        Unit::Count,
        "Requests to v2 paths that have a successor, by area"
    );
}

/// Makes each appear with its labels before its first event: the names of limits, and the areas of v2.
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
