//! Which checkpoints are kept. Under a contract all are, until the node that leads has found that no account can make a
//! demand about one (`crate::anchor`'s `demand_terms`); every node keeps those that the log has not let go.

use kedge_protocol::checkpoint::SignedCheckpoint;
use kedge_storage::{StoreReadError, StoreSnapshot};

/// The kept checkpoints, by their batches, and those to let go.
#[derive(Default)]
pub(super) struct KeptCheckpoints {
    pub(super) kept: Vec<u64>,
    pub(super) gone: Vec<u64>,
}

impl KeptCheckpoints {
    /// The newest checkpoint stays, and all that may not go.
    pub(super) fn of(
        snapshot: &StoreSnapshot,
        may_go: impl Fn(&SignedCheckpoint) -> bool,
    ) -> Result<Self, StoreReadError> {
        let mut found = Self::default();
        for (place, signed) in snapshot.checkpoints_until(u64::MAX).enumerate() {
            let signed = signed?;
            let batches = signed.checkpoint.batches;
            if place == 0 || !may_go(&signed) {
                found.kept.push(batches);
            } else {
                found.gone.push(batches);
            }
        }
        Ok(found)
    }
}
