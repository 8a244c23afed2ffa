//! Names and descriptions of the store's metrics.

use metrics::{Unit, counter, describe_counter, describe_gauge, describe_histogram};

pub const APPEND_SECONDS: &str = "kedge_storage_append_seconds";
/// A sync of the log; it may make several groups durable.
pub const SYNC_SECONDS: &str = "kedge_storage_log_sync_seconds";
pub const WRITE_SECONDS: &str = "kedge_storage_write_seconds";
/// Bytes of segments before they were compressed, and after.
pub const SEALED_RAW_BYTES: &str = "kedge_storage_sealed_raw_bytes_total";
pub const SEALED_BYTES: &str = "kedge_storage_sealed_bytes_total";
pub const GROUP_BYTES: &str = "kedge_storage_group_bytes";
pub const GROUP_WRITES: &str = "kedge_storage_group_writes";
pub const GROUP_ACTIONS: &str = "kedge_storage_group_actions";
pub const FLUSHED_ROWS: &str = "kedge_storage_flushed_rows_total";
/// Bytes of rows in memory that RocksDB does not have yet.
pub const RECENT_BYTES: &str = "kedge_storage_recent_bytes";
pub const COMMITTED_BYTES: &str = "kedge_storage_committed_bytes_total";
/// Commits that ended because another node leads.
pub const COMMITS_FENCED: &str = "kedge_storage_commits_fenced_total";
pub const COMMIT_FAILURES: &str = "kedge_storage_commit_failures_total";

/// Held snapshots; each keeps rows replaced or deleted since.
pub const SNAPSHOTS: &str = "kedge_storage_snapshots";
pub const READ_ONLY: &str = "kedge_storage_read_only";
/// 1 if the end of the log holds an action that its author did not sign.
pub const UNSIGNED_ACTION: &str = "kedge_storage_unsigned_action";

/// Registers the metrics' descriptions with the recorder.
pub fn describe() {
    describe_histogram!(
        APPEND_SECONDS,
        Unit::Seconds,
        "Time to append one commit group to the log"
    );
    describe_histogram!(SYNC_SECONDS, Unit::Seconds, "Time to sync the log once");
    describe_histogram!(
        WRITE_SECONDS,
        Unit::Seconds,
        "Time to write the rows of one commit group to memory"
    );
    describe_counter!(
        FLUSHED_ROWS,
        Unit::Count,
        "Rows flushed to the tables; a row that changed several times since the last flush counts once"
    );
    describe_gauge!(
        RECENT_BYTES,
        Unit::Bytes,
        "Memory of rows that are newer than the tables; the next flush writes them there"
    );
    describe_counter!(
        SEALED_RAW_BYTES,
        Unit::Bytes,
        "Bytes of log segments before they were compressed"
    );
    describe_counter!(
        SEALED_BYTES,
        Unit::Bytes,
        "Bytes of log segments after they were compressed"
    );
    describe_histogram!(
        GROUP_BYTES,
        Unit::Bytes,
        "Size of a commit group in the log"
    );
    describe_histogram!(GROUP_WRITES, Unit::Count, "Writes in a commit group");
    describe_histogram!(GROUP_ACTIONS, Unit::Count, "Actions in a commit group");
    describe_counter!(COMMITTED_BYTES, Unit::Bytes, "Bytes committed");
    describe_counter!(
        COMMITS_FENCED,
        Unit::Count,
        "Commits that ended because another node leads"
    );
    describe_counter!(COMMIT_FAILURES, Unit::Count, "Commits that failed");
    describe_gauge!(
        SNAPSHOTS,
        "Snapshots held; each keeps the rows that were replaced or deleted since it was taken"
    );
    describe_gauge!(READ_ONLY, "1 while the store accepts no commits");
    describe_gauge!(
        UNSIGNED_ACTION,
        "1 if the end of the log holds an action that its author did not sign"
    );
    // A counter that first appears with its first event shows no rate for that event.
    for name in [
        COMMITTED_BYTES,
        COMMIT_FAILURES,
        COMMITS_FENCED,
        SEALED_RAW_BYTES,
        SEALED_BYTES,
    ] {
        counter!(name).increment(0);
    }
}
