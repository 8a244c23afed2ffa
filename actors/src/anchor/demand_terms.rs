//! How long the contract takes demands about a checkpoint. Its proofs are kept as long, whichever account anchored it:
//! any may anchor a checkpoint that was given out. The chain's own clock counts where this server's clock is not behind it,
//! and the contract is asked about each checkpoint before it goes.

use std::collections::BTreeMap;

use kedge_chain::contract::{AnchorContract, ContractReadError};
use kedge_chain::rpc::{BlockTag, RpcError};
use kedge_chain::sender::StoreError;
use kedge_storage::{AnchorProgress, AnchorRow, StoreReadError};

use super::adoption::AHEAD_MS_MAX;
use super::state::AnchorActorState;

/// Time between looks, milliseconds.
const LOOK_MS: u64 = 60_000;
/// Checkpoints that are asked about in one look.
const ASKED_MAX: usize = 32;
/// Time beyond window and response time, for an answer that is late in the chain.
const MARGIN_S: u64 = 24 * 60 * 60;

/// What is known of the checkpoints that are kept.
#[derive(Default)]
pub(super) struct DemandTerms {
    next_at_ms: u64,
    /// The earliest time at which the contract can have taken a checkpoint, Unix seconds, by its batches.
    anchored_s: BTreeMap<u64, u64>,
}

/// A node's view as of its last final block.
struct FinalView<'a> {
    contract: &'a AnchorContract,
    at: BlockTag,
    time_s: u64,
    /// The batches of the contract's last checkpoint: none with fewer can be anchored any more.
    batches: u64,
}

/// Why nothing is known now.
#[derive(Debug, thiserror::Error)]
enum TermsError {
    #[error(transparent)]
    Read(#[from] StoreReadError),
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error(transparent)]
    Contract(#[from] ContractReadError),
    #[error("the node has no final block")]
    NoBlock,
    #[error("the node contradicts the log: {0}")]
    Contradicts(String),
}

impl From<RpcError> for TermsError {
    fn from(error: RpcError) -> Self {
        Self::Contract(error.into())
    }
}

impl AnchorActorState {
    /// Lets the checkpoints go that no account can make a demand about any more.
    pub(crate) async fn end_demand_terms(&mut self, now_ms: u64) {
        let is_due = now_ms >= self.demand_terms.next_at_ms;
        if !is_due || self.engine.contract().is_none() || self.doubt.is_some() {
            return;
        }
        self.demand_terms.next_at_ms = now_ms + LOOK_MS;
        if let Err(error) = self.find_ended(now_ms).await {
            tracing::debug!(%error, "it is not known which proofs may still be demanded; all stay");
        }
    }

    async fn find_ended(&mut self, now_ms: u64) -> Result<(), TermsError> {
        let Some(kept_s) = self.kept_s() else {
            return Ok(());
        };
        let contracts = [Some(self.sender.contract()), self.second.as_ref()];
        let mut views = Vec::new();
        for contract in contracts.into_iter().flatten() {
            views.push(self.final_view(contract).await?);
        }
        let covered = views.iter().map(|view| view.batches).min().unwrap_or(0);
        let time_s = proven_time_s(views.iter().map(|view| view.time_s), now_ms);
        let anchored_s = &self.demand_terms.anchored_s;
        let is_kept = |batches| {
            let anchored_s = anchored_s.get(&batches);
            anchored_s.is_some_and(|anchored_s| anchored_s + kept_s >= time_s)
        };
        let doubtful = self.doubtful(covered, is_kept)?;
        let (mut ended, mut known) = (Vec::new(), Vec::new());
        for (batches, anchored_s) in doubtful {
            let anchored_s = match anchored_s {
                Some(anchored_s) if anchored_s + kept_s >= time_s => Some(anchored_s),
                _ => anchored_at_s(&views, batches).await?,
            };
            match anchored_s {
                Some(anchored_s) if anchored_s + kept_s >= time_s => {
                    known.push((batches, anchored_s));
                }
                _ => ended.push(batches),
            }
        }
        let terms = &mut self.demand_terms.anchored_s;
        terms.extend(known);
        terms.retain(|batches, _| !ended.contains(batches));
        self.engine.inner.roots.let_go(ended);
        Ok(())
    }

    /// Seconds from its anchoring for which a checkpoint is kept; `None` while the bond's terms are not known.
    fn kept_s(&self) -> Option<u64> {
        let options = self.engine.inner.options.roots?;
        let kept_s = options.kept.as_secs();
        let Some(responder) = &self.responder else {
            return Some(kept_s);
        };
        let terms = responder.terms()?;
        let demanded_s = terms.challenge_window_s + terms.response_time_s + MARGIN_S;
        if self.engine.inner.store.state_bytes() > options.kept_bytes {
            return Some(demanded_s);
        }
        Some(kept_s.max(demanded_s))
    }

    async fn final_view<'a>(
        &self,
        contract: &'a AnchorContract,
    ) -> Result<FinalView<'a>, TermsError> {
        let rpc = contract.rpc();
        let head = rpc.block(BlockTag::Latest).await?;
        let head = head.ok_or(TermsError::NoBlock)?.number.as_u64();
        let last = rpc.final_number(head, self.finality_fallback_depth).await?;
        let at = BlockTag::Block(last);
        let block = rpc.block(at).await?.ok_or(TermsError::NoBlock)?;
        let latest = contract.latest(at).await?;
        if let Some(why) = self.contradiction(latest.batches, latest.history)? {
            return Err(TermsError::Contradicts(why));
        }
        Ok(FinalView {
            contract,
            at,
            time_s: block.timestamp.low_u64(),
            batches: latest.batches,
        })
    }

    /// The oldest checkpoints, over at most `covered` batches, that may not be kept any more; with the earliest time at
    /// which a final anchor of this log can have been taken, Unix seconds. The newest checkpoint always stays.
    fn doubtful(
        &self,
        covered: u64,
        is_kept: impl Fn(u64) -> bool,
    ) -> Result<Vec<(u64, Option<u64>)>, StoreReadError> {
        let snapshot = self.engine.state_snapshot();
        let newest = snapshot.newest_checkpoint()?;
        let newest = newest.map_or(0, |newest| newest.checkpoint.batches);
        let mut found = Vec::new();
        for signed in snapshot.checkpoints_from(0) {
            let checkpoint = signed?.checkpoint;
            let batches = checkpoint.batches;
            if batches > covered || batches >= newest || found.len() >= ASKED_MAX {
                break;
            }
            if is_kept(batches) || self.engine.inner.roots.may_go(batches) {
                continue;
            }
            let row = match batches.checked_sub(1) {
                Some(last) => snapshot.anchor_covering(last)?,
                None => None,
            };
            let is_own = |row: &AnchorRow| {
                row.checkpoint.checkpoint == checkpoint && row.status == AnchorProgress::Finalized
            };
            let earliest_ms = checkpoint.issued_at_ms.saturating_sub(AHEAD_MS_MAX);
            let is_anchored = row.is_some_and(|row| is_own(&row));
            found.push((batches, is_anchored.then_some(earliest_ms / 1_000)));
        }
        Ok(found)
    }
}

/// The time by which terms may end, Unix seconds: the earliest of the nodes' final blocks and this server's clock. A node
/// that gives a time far ahead ends no term: what it let go would not come back.
fn proven_time_s(blocks_s: impl Iterator<Item = u64>, now_ms: u64) -> u64 {
    blocks_s.fold(now_ms / 1_000, u64::min)
}

/// When the contract took the checkpoint over this many batches, Unix seconds: the latest time that a node gives.
/// `None` if it did not.
async fn anchored_at_s(
    views: &[FinalView<'_>],
    batches: u64,
) -> Result<Option<u64>, ContractReadError> {
    let mut anchored_s = None;
    for view in views {
        let taken_s = match view.contract.checkpoint(batches, view.at).await {
            Ok(record) => Some(record.anchored_at_s),
            Err(ContractReadError::Rpc(RpcError::Node(error))) if error.revert_data().is_some() => {
                None
            }
            Err(error) => return Err(error),
        };
        anchored_s = anchored_s.max(taken_s);
    }
    Ok(anchored_s)
}

#[cfg(test)]
mod tests {
    use super::*;

    // Holds invariant 98.
    #[test]
    fn no_term_ends_by_a_clock_that_is_ahead() {
        let time_s = |blocks_s: &[u64], now_ms| proven_time_s(blocks_s.iter().copied(), now_ms);
        // A node that lies about the future ends nothing, alone or next to an honest one.
        assert_eq!(time_s(&[u64::MAX], 1_000_999), 1_000);
        assert_eq!(time_s(&[u64::MAX, 990], 1_000_000), 990);
        assert_eq!(time_s(&[u64::MAX, u64::MAX], 1_000_000), 1_000);
        // Nor does a clock that is ahead of the chain.
        assert_eq!(time_s(&[990], 5_000_000), 990);
        assert_eq!(time_s(&[990, 980], 5_000_000), 980);
    }
}
