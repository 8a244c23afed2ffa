//! The metrics of the store.

use metrics::{Unit, describe_counter, describe_histogram};

/// A whole commit, from the group to a durable write.
pub const COMMIT_SECONDS: &str = "kedge_storage_commit_seconds";
/// The part of a commit that writes the write-ahead log and syncs it.
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

/// Tells the recorder what the metrics mean.
pub fn describe() {
    describe_histogram!(
        COMMIT_SECONDS,
        Unit::Seconds,
        "Time of one commit group, from building its write to having it on the disk"
    );
    describe_histogram!(
        WAL_SECONDS,
        Unit::Seconds,
        "Time of writing and syncing the write-ahead log in one commit"
    );
    describe_histogram!(GROUP_BYTES, Unit::Bytes, "Size of a commit group");
    describe_histogram!(GROUP_WRITES, Unit::Count, "Writes in a commit group");
    describe_histogram!(GROUP_ACTIONS, Unit::Count, "Actions in a commit group");
    describe_counter!(COMMITTED_BYTES, Unit::Bytes, "Bytes committed");
    describe_counter!(COMMIT_FAILURES, Unit::Count, "Commits that failed");
}
