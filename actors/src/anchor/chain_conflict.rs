//! Conflicts between chain and log. A node may lie, or be wrong for a moment, so one answer decides nothing. A
//! signature by the sequencer's key is proof, which no node can forge. A mere claim of a node is checked again, with a
//! second node too if one is configured. A store that a claim made read-only accepts writes again when the claim is
//! withdrawn; a store that a signature contradicts waits for the operator.

use std::time::Duration;

use kedge_chain::contract::{AnchorContract, ContractReadError, LatestCheckpoint};
use kedge_chain::rpc::{BlockTag, RpcError};
use kedge_chain::sender::StoreError;
use kedge_protocol::Hash;
use kedge_storage::StoreSnapshot;

use super::rows::store_error;
use super::state::{AnchorActorState, ChainConflict};
use crate::metric_definitions as metric;

/// How many times a node is asked again immediately, and the pause before each time.
const ASKED_AGAIN: u32 = 2;
const PAUSE: Duration = Duration::from_millis(250);
/// Consecutive answers that must lead to the log before a claim counts as withdrawn.
const AGREEING_MIN: u32 = 3;

/// Why a store of `held` batches does not lead to the chain's checkpoint; `None` if it does.
pub fn contradiction(
    snapshot: &StoreSnapshot,
    held: u64,
    batches: u64,
    history: Hash,
) -> Result<Option<String>, kedge_storage::StoreReadError> {
    let leads = batches <= held && kedge_protocol::log_tree::root(snapshot, batches)? == history;
    Ok((!leads).then(|| {
        format!(
            "the chain holds a checkpoint of {batches} batches that does not match this store: \
             it is older than what was anchored, or belongs to another log. Restore a newer copy"
        )
    }))
}

/// Result of asking again.
enum ChainConflictVerdict {
    /// The sequencer's key signed a checkpoint that this store does not lead to.
    Proven,
    /// Every answer contradicts the log, and no signature proves it.
    Claimed,
    /// Another answer leads to the log.
    Withdrawn,
}

impl AnchorActorState {
    /// Why this store does not lead to the chain's checkpoint; `None` if it does.
    pub(crate) fn contradiction(
        &self,
        batches: u64,
        history: Hash,
    ) -> Result<Option<String>, StoreError> {
        let published = self.engine.published();
        let held = published.head.batches;
        contradiction(&published.snapshot, held, batches, history).map_err(store_error)
    }

    /// Judges an answer that contradicts the log. Returns the reason to report.
    pub(crate) async fn contradicted(
        &mut self,
        latest: LatestCheckpoint,
        why: String,
    ) -> Result<String, StoreError> {
        match self.ask_again(&latest).await? {
            ChainConflictVerdict::Proven => {
                self.doubt = None;
                self.engine.inner.seen_anchors.note_proven(latest);
                self.engine.set_read_only(&why);
                Ok(why)
            }
            ChainConflictVerdict::Claimed => {
                let why = format!(
                    "{why}. No signature by this log's sequencer proves that, so writes are accepted \
                     again once the node no longer claims it"
                );
                self.engine.inner.seen_anchors.note(latest);
                self.engine.set_read_only(&why);
                self.doubt = Some(ChainConflict {
                    batches: Some(latest.batches),
                    agreeing: 0,
                });
                Ok(why)
            }
            ChainConflictVerdict::Withdrawn => {
                metrics::counter!(metric::CHAIN_CLAIMS_REFUSED, "claim" => "checkpoint")
                    .increment(1);
                tracing::warn!(
                    batches = latest.batches,
                    "the node reported a checkpoint that does not match the log, but another answer \
                     contradicts it; it is ignored"
                );
                Ok(
                    "the answers about the chain contradict each other; the node will be asked again"
                        .into(),
                )
            }
        }
    }

    async fn ask_again(
        &self,
        latest: &LatestCheckpoint,
    ) -> Result<ChainConflictVerdict, StoreError> {
        let nodes = [Some(self.sender.contract()), self.second.as_ref()];
        for contract in nodes.into_iter().flatten() {
            if self.is_proven(contract, latest.batches).await? {
                return Ok(ChainConflictVerdict::Proven);
            }
        }
        if let Some(second) = &self.second
            && let Ok(other) = second.latest(BlockTag::Latest).await
            && self.contradiction(other.batches, other.history)?.is_none()
        {
            return Ok(ChainConflictVerdict::Withdrawn);
        }
        for _ in 0..ASKED_AGAIN {
            tokio::time::sleep(PAUSE).await;
            if let Ok(again) = self.sender.latest().await
                && self.contradiction(again.batches, again.history)?.is_none()
            {
                return Ok(ChainConflictVerdict::Withdrawn);
            }
        }
        Ok(ChainConflictVerdict::Claimed)
    }

    /// Whether the contract's transaction proves that the sequencer signed a checkpoint that this store does not lead
    /// to.
    async fn is_proven(&self, contract: &AnchorContract, batches: u64) -> Result<bool, StoreError> {
        let signed = match contract.anchored_event(batches).await {
            Ok(Some(event)) => contract.anchored_signature(&event).await,
            _ => return Ok(false),
        };
        let Ok(Some(signed)) = signed else {
            return Ok(false);
        };
        let checkpoint = &signed.checkpoint;
        Ok(self.is_signed(&signed)
            && self
                .contradiction(checkpoint.batches, checkpoint.history)?
                .is_some())
    }

    /// While a claim keeps the store read-only: checks whether the node has withdrawn it, and if so accepts writes
    /// again.
    pub(crate) async fn reconsider(&mut self) -> Result<(), StoreError> {
        let Some(claimed) = self.doubt.as_ref().map(|doubt| doubt.batches) else {
            return Ok(());
        };
        let Ok(latest) = self.sender.latest().await else {
            return Ok(());
        };
        let contract = self.sender.contract();
        let is_gone = if self
            .contradiction(latest.batches, latest.history)?
            .is_some()
        {
            false
        } else if let Some(claimed) = claimed {
            match contract.checkpoint(claimed, BlockTag::Latest).await {
                Ok(record) => self.contradiction(claimed, record.history)?.is_none(),
                // A revert: there is no such checkpoint.
                Err(ContractReadError::Rpc(RpcError::Node(error))) => error.revert_data().is_some(),
                Err(_) => return Ok(()),
            }
        } else {
            true
        };
        if !is_gone && self.is_proven(contract, latest.batches).await? {
            tracing::error!(
                batches = latest.batches,
                "the sequencer's key signed a checkpoint that does not match this store: restore a \
                 newer copy"
            );
            self.doubt = None;
            return Ok(());
        }
        let Some(doubt) = &mut self.doubt else {
            return Ok(());
        };
        doubt.agreeing = if is_gone { doubt.agreeing + 1 } else { 0 };
        if doubt.agreeing >= AGREEING_MIN {
            self.doubt = None;
            self.engine.inner.seen_anchors.note(latest);
            metrics::counter!(metric::CHAIN_CLAIMS_REFUSED, "claim" => "checkpoint").increment(1);
            tracing::warn!(
                batches = latest.batches,
                "the node no longer reports the checkpoint that does not match the log; writes are \
                 accepted again"
            );
            self.engine.resume();
            self.anchor_soon();
        }
        Ok(())
    }

    /// Checks the chain again. If the store leads to the chain's checkpoint, it accepts writes again and the next tick
    /// anchors.
    pub(crate) async fn recover(&mut self) -> Result<u64, String> {
        let latest = self.sender.latest().await;
        let latest = latest.map_err(|error| format!("the chain cannot be read: {error}"))?;
        let why = self.contradiction(latest.batches, latest.history);
        if let Some(why) = why.map_err(|error| error.to_string())? {
            return Err(why);
        }
        self.read_keys_now().await?;
        self.doubt = None;
        self.engine.inner.seen_anchors.forget_proven();
        self.engine.inner.seen_anchors.note(latest);
        self.engine.resume();
        self.anchor_soon();
        Ok(latest.batches)
    }
}
