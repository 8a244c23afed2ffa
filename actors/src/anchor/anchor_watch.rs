//! Comparison with the chain while a node of a cluster follows. Its log may end before the newest anchor, because the
//! node was away or is new, so the start does not judge it. The node reads the stream first, and leads only once its
//! log leads to the contract's checkpoint. The check is repeated whenever it is needed, so a longer log or another
//! answer ends the refusal. On a leader the anchor actor does this (`chain_conflict`).

use std::sync::Arc;
use std::time::Duration;

use kedge_storage::StoreReadError;

use super::anchor_source::AnchorSource;
use super::chain_conflict::contradiction;
use crate::engine::Engine;

/// Time between reads of the contract. Anchors are minutes apart.
const READ_EVERY: Duration = Duration::from_mins(1);
/// The same, while the log does not lead to the contract's checkpoint.
const READ_AGAIN: Duration = Duration::from_secs(2);
/// The pause after the chain's node did not answer.
const RETRY: Duration = Duration::from_secs(10);

impl Engine {
    /// Why this log must not be extended: it does not lead to the contract's checkpoint, as far as that is known.
    ///
    /// # Errors
    /// [`StoreReadError`] if the log cannot be read.
    pub fn lacks_anchored(&self) -> Result<Option<String>, StoreReadError> {
        let published = self.published();
        let held = published.head.batches;
        let seen = &self.inner.seen_anchors;
        for claimed in [seen.proven.load_full(), seen.newest.load_full()]
            .into_iter()
            .flatten()
        {
            let (batches, history) = (claimed.batches, claimed.history);
            let why = contradiction(&published.snapshot, held, batches, history)?;
            if why.is_some() && batches > held {
                return Ok(Some(format!(
                    "the chain holds a checkpoint of {batches} batches, and this node's log ends after {held}: it leads \
                     once it has read the rest from the stream"
                )));
            }
            if why.is_some() {
                return Ok(why);
            }
        }
        Ok(None)
    }

    /// Reads the contract periodically while this node follows, as long as the engine lasts.
    pub async fn watch_anchored(&self, contract: Arc<dyn AnchorSource>) {
        // It is called once.
        let _ = self.inner.anchored.set(Arc::clone(&contract));
        let mut is_silent = false;
        loop {
            let pause = if self.leads() {
                READ_AGAIN
            } else {
                match self.read_anchored(&*contract).await {
                    Ok(lacks) => {
                        is_silent = false;
                        lacks.map_or(READ_EVERY, |_| READ_AGAIN)
                    }
                    Err(error) => {
                        if !is_silent {
                            tracing::warn!(error, "the newest anchor cannot be read");
                        }
                        is_silent = true;
                        RETRY
                    }
                }
            };
            tokio::time::sleep(pause).await;
        }
    }

    /// Reads the contract's checkpoint, and returns why the log does not lead to it. Of two nodes' answers the one that
    /// the log leads to counts.
    async fn read_anchored(&self, contract: &dyn AnchorSource) -> Result<Option<String>, String> {
        let answers = contract.latest().await?;
        let lacks = || self.lacks_anchored().map_err(|error| error.to_string());
        for latest in answers.iter().rev() {
            self.inner.seen_anchors.note(*latest);
            if lacks()?.is_none() {
                return Ok(None);
            }
        }
        lacks()
    }

    /// The operator's `recover` on a node that follows: reads the chain again, and forgets earlier proofs. Returns how
    /// many batches the newest checkpoint covers.
    pub(crate) async fn recover_following(&self) -> Result<u64, String> {
        let contract = self.inner.anchored.get();
        let contract = contract.ok_or("this node has not read the chain yet; try again")?;
        self.inner.seen_anchors.forget_proven();
        let lacks = self.read_anchored(&**contract).await;
        let lacks = lacks.map_err(|error| format!("the chain cannot be read: {error}"))?;
        if let Some(why) = lacks {
            return Err(why);
        }
        let newest = self.inner.seen_anchors.newest.load();
        Ok(newest.as_ref().map_or(0, |latest| latest.batches))
    }
}
