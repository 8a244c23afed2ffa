//! Local conditions for leading. They are evaluated afresh each time, so an obstacle ends by itself.

use std::sync::Arc;

use kedge_actors::Engine;
use kedge_storage::{Store, StoreMode, StoreReadError};
use tokio::sync::watch;

use crate::node::keys::KeyComparison;
use crate::node::node_status::UnfitReason;

/// Inputs of the decision whether a node may lead.
#[derive(Clone)]
pub(crate) struct Fitness {
    pub(crate) engine: Engine,
    pub(crate) store: Arc<Store>,
    pub(crate) keys: watch::Receiver<KeyComparison>,
}

impl Fitness {
    /// Reason not to lead while another node may.
    pub(crate) fn why_not(&self) -> Result<Option<UnfitReason>, StoreReadError> {
        let why_not = self.why_not_begin()?;
        Ok(why_not.or_else(|| {
            self.engine.disk_full().then(|| UnfitReason {
                why: "its disk is full".to_owned(),
                bars_reads: false,
            })
        }))
    }

    /// Reason not to begin to lead while no node leads. A full disk is none: another node with room takes over as soon
    /// as it is known, and if all disks are full, callers can still log in.
    pub(crate) fn why_not_begin(&self) -> Result<Option<UnfitReason>, StoreReadError> {
        let unfit = |why: String, bars_reads: bool| Ok(Some(UnfitReason { why, bars_reads }));
        if let StoreMode::ReadOnly(why) = self.store.mode() {
            return unfit(why, true);
        }
        if let Err(why) = self.engine.check_clock() {
            return unfit(why.to_string(), true);
        }
        match &*self.keys.borrow() {
            KeyComparison::Alike => {}
            KeyComparison::NotYet => {
                return unfit(
                    "its keys were not compared with the leader's yet".to_owned(),
                    false,
                );
            }
            KeyComparison::Differing(keys) => return unfit(keys.describe(), keys.bars_reads()),
        }
        let published = self.engine.published();
        let entry = published.snapshot.sequencer_keys()?;
        let entry = entry.entry_of(published.head.batches);
        if !self.engine.holds(entry.key) {
            let why = format!(
                "batch {} must be signed with the sequencer key {}, which this node does not hold: set sequencer_key_file or \
                 next_sequencer_key_file to its file and restart it",
                published.head.batches, entry.key
            );
            return unfit(why, false);
        }
        match self.engine.lacks_anchored()? {
            Some(why) => unfit(why, true),
            None => Ok(None),
        }
    }
}
