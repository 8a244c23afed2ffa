//! A node's hold of the lease.

use tokio::time::Instant;

/// The lease's last revision that is this node's, and since when.
pub(crate) struct NodeLease {
    pub(crate) revision: u64,
    /// The servers' last confirmation.
    pub(crate) renewed_at: Instant,
    /// Start of the period in which it must not lead.
    pub(crate) unfit_since: Option<Instant>,
}

impl NodeLease {
    /// The lease that was just taken with this revision.
    pub(crate) fn taken_at(revision: u64) -> Self {
        Self {
            revision,
            renewed_at: Instant::now(),
            unfit_since: None,
        }
    }
}
