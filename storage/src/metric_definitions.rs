//! The metrics of the store.

use metrics::{Unit, counter, describe_counter, describe_gauge, describe_histogram};

/// Writing a group: to the write-ahead log's file and to the tables in memory.
pub const WRITE_SECONDS: &str = "kedge_storage_write_seconds";
/// A sync of the write-ahead log; it may make several groups durable.
pub const WAL_SECONDS: &str = "kedge_storage_wal_sync_seconds";
/// Bytes of a group.
pub const GROUP_BYTES: &str = "kedge_storage_group_bytes";
/// Writes of a group.
pub const GROUP_WRITES: &str = "kedge_storage_group_writes";
/// Actions of a group.
pub const GROUP_ACTIONS: &str = "kedge_storage_group_actions";
/// Bytes committed.
pub const COMMITTED_BYTES: &str = "kedge_storage_committed_bytes_total";
/// Commits that failed.
pub const COMMIT_FAILURES: &str = "kedge_storage_commit_failures_total";

/// Snapshots held; each keeps what was replaced or deleted since.
pub const SNAPSHOTS: &str = "kedge_storage_snapshots";
/// 1 while the store takes no commits.
pub const READ_ONLY: &str = "kedge_storage_read_only";

/// Tells the recorder what the metrics mean.
pub fn describe() {
    describe_histogram!(
        WRITE_SECONDS,
        Unit::Seconds,
        "Time of writing one commit group to the log's file and to memory"
    );
    describe_histogram!(
        WAL_SECONDS,
        Unit::Seconds,
        "Time of one sync of the write-ahead log"
    );
    describe_histogram!(GROUP_BYTES, Unit::Bytes, "Size of a commit group");
    describe_histogram!(GROUP_WRITES, Unit::Count, "Writes in a commit group");
    describe_histogram!(GROUP_ACTIONS, Unit::Count, "Actions in a commit group");
    describe_counter!(COMMITTED_BYTES, Unit::Bytes, "Bytes committed");
    describe_counter!(COMMIT_FAILURES, Unit::Count, "Commits that failed");
    describe_gauge!(
        SNAPSHOTS,
        "Snapshots held; each keeps the rows that were replaced or deleted since it was taken"
    );
    describe_gauge!(READ_ONLY, "1 while the store takes no commits");
    // A counter that appears with its first event has no rate for that event.
    for name in [COMMITTED_BYTES, COMMIT_FAILURES] {
        counter!(name).increment(0);
    }
}
