//! Whether a node may lead, as far as it knows by itself. Nothing of it is kept: it is asked again each time, so what no
//! longer stands in the way ends by itself.

use std::sync::Arc;

use kedge_actors::Engine;
use kedge_storage::{Mode, ReadError, Store};
use tokio::sync::watch;

use crate::node::keys::Compared;
use crate::node::standing::Unfit;

/// What decides whether a node may lead.
#[derive(Clone)]
pub(crate) struct Fitness {
    pub(crate) engine: Engine,
    pub(crate) store: Arc<Store>,
    pub(crate) keys: watch::Receiver<Compared>,
}

impl Fitness {
    /// Why this node must not lead now while another one may, if so.
    pub(crate) fn why_not(&self) -> Result<Option<Unfit>, ReadError> {
        let why_not = self.why_not_begin()?;
        Ok(why_not.or_else(|| {
            self.engine.disk_full().then(|| Unfit {
                why: "its disk is full".to_owned(),
                bars_reads: false,
            })
        }))
    }

    /// Why it must not begin to lead where no node leads, if so. With a full disk it may: it is replaced by a node that
    /// has room as soon as it knows of one, and if none has, callers can log in.
    pub(crate) fn why_not_begin(&self) -> Result<Option<Unfit>, ReadError> {
        let unfit = |why: String, bars_reads: bool| Ok(Some(Unfit { why, bars_reads }));
        if let Mode::ReadOnly(why) = self.store.mode() {
            return unfit(why, true);
        }
        if let Err(why) = self.engine.check_clock() {
            return unfit(why.to_string(), true);
        }
        match &*self.keys.borrow() {
            Compared::Alike => {}
            Compared::NotYet => {
                return unfit(
                    "its keys were not compared with the leader's yet".to_owned(),
                    false,
                );
            }
            Compared::Differing(keys) => return unfit(keys.describe(), keys.bars_reads()),
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
