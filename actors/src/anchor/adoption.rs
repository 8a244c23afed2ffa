//! Adoption of anchors sent by other accounts; the contract accepts them from any. A node reports them, and a node may
//! lie: a row is stored only if the log itself gives every field of the checkpoint and the transaction has the
//! sequencer's signature. Nothing is signed for it.

use kedge_chain::contract::{AnchorContract, AnchoredEvent, ContractReadError};
use kedge_chain::rpc::BlockTag;
use kedge_chain::sender::{AnchorIntent, StoreError};
use kedge_protocol::checkpoint::{Checkpoint, SignedCheckpoint};
use kedge_protocol::state::EMPTY_STATE_ROOT;
use kedge_protocol::{Hash, log_tree};
use kedge_storage::{AnchorProgress, AnchorRow};

use super::rows::{move_last, new_row, recent, row_of, store_error};
use super::state::AnchorActorState;
use crate::metric_definitions as metric;

/// How far a checkpoint's time may lie ahead of this server's clock, milliseconds: the contract's limit.
pub(super) const AHEAD_MS_MAX: u64 = 15 * 60 * 1_000;

impl AnchorActorState {
    /// Stores a row for the checkpoint that the chain holds and no row covers. Retries while its block is not final.
    /// Refuses for good a checkpoint that the log does not confirm.
    pub(crate) async fn adopt(&mut self) -> Result<(), StoreError> {
        let Some(batches) = self.foreign else {
            return Ok(());
        };
        let known = |row: &AnchorRow| {
            row.status != AnchorProgress::Failed && row.checkpoint.checkpoint.batches >= batches
        };
        if batches == 0 || recent(&self.engine)?.iter().any(known) {
            self.foreign = None;
            return Ok(());
        }
        let found = match self.read_foreign(batches).await {
            Ok(found) => found,
            Err(error) => {
                tracing::debug!(%error, "an anchor sent by another account could not be read");
                return Ok(());
            }
        };
        let Some((event, signed)) = found else {
            return Ok(());
        };
        self.foreign = None;
        let Some(signed) = signed else {
            return refused(
                batches,
                "its signature is not in a transaction that calls the contract",
            );
        };
        if !self.is_signed(&signed) {
            return refused(batches, "the sequencer's key did not sign it");
        }
        if self.own_checkpoint(&event.checkpoint)? != Some(event.checkpoint) {
            return refused(batches, "it does not match the log");
        }
        self.store_foreign(&event, signed).await
    }

    /// The event and its signature; `None` until it is final, for the second node too if there is one.
    async fn read_foreign(
        &self,
        batches: u64,
    ) -> Result<Option<(AnchoredEvent, Option<SignedCheckpoint>)>, ContractReadError> {
        let contract = self.sender.contract();
        let Some(event) = contract.anchored_event(batches).await? else {
            return Ok(None);
        };
        let nodes = [Some(contract), self.second.as_ref()];
        for contract in nodes.into_iter().flatten() {
            if !self.holds_for_good(contract, &event).await? {
                return Ok(None);
            }
        }
        let signed = contract.anchored_signature(&event).await?;
        Ok(Some((event, signed)))
    }

    async fn holds_for_good(
        &self,
        contract: &AnchorContract,
        event: &AnchoredEvent,
    ) -> Result<bool, ContractReadError> {
        let rpc = contract.rpc();
        let head = rpc.block(BlockTag::Latest).await?;
        let head = head.map_or(0, |head| head.number.as_u64());
        let depth = self.finality_fallback_depth;
        let last = rpc.final_number(head, depth).await?;
        Ok(event.block_number <= last
            && contract
                .holds(&event.checkpoint, BlockTag::Block(last))
                .await?)
    }

    /// This log's checkpoint over as many batches as `claimed`. Its time is a field that the log does not hold: it must lie
    /// between the last batch's seal and 15 minutes from now, the contract's limit.
    fn own_checkpoint(&self, claimed: &Checkpoint) -> Result<Option<Checkpoint>, StoreError> {
        let Checkpoint {
            batches,
            issued_at_ms,
            ..
        } = *claimed;
        let published = self.engine.published();
        let Some(number) = batches.checked_sub(1) else {
            return Ok(None);
        };
        if batches > published.head.batches {
            return Ok(None);
        }
        let last = published.snapshot.batch(number).map_err(store_error)?;
        let Some(header) = last.map(|batch| batch.header) else {
            return Ok(None);
        };
        let latest_ms = self.engine.now_ms().saturating_add(AHEAD_MS_MAX);
        if !(header.sealed_at_ms..=latest_ms).contains(&issued_at_ms) {
            return Ok(None);
        }
        Ok(Some(Checkpoint {
            batches,
            sequence: header.last_sequence(),
            head: header.head,
            history: log_tree::root(&published.snapshot, batches).map_err(store_error)?,
            state: self.own_state(claimed)?,
            issued_at_ms,
        }))
    }

    /// The state that the log gives a checkpoint over as many batches. Where this copy has no root, nor the signed
    /// checkpoint, the signature alone decides: it was made for the claimed root.
    fn own_state(&self, claimed: &Checkpoint) -> Result<Hash, StoreError> {
        let snapshot = self.engine.state_snapshot();
        let from = snapshot.roots_from().map_err(store_error)?;
        if from.is_none_or(|from| claimed.batches < from) {
            return Ok(Hash::ZERO);
        }
        let signed = snapshot.checkpoint(claimed.batches).map_err(store_error)?;
        if let Some(signed) = signed {
            return Ok(signed.checkpoint.state);
        }
        let made = snapshot.root_at(claimed.batches).map_err(store_error)?;
        let rooted = Some(claimed.state).filter(|state| *state != Hash::ZERO);
        // No state of a log that says so has no root.
        let else_claimed = rooted.unwrap_or(EMPTY_STATE_ROOT);
        Ok(made.map_or(else_claimed, |made| made.root))
    }

    /// Whether the key of the checkpoint's last batch signed it.
    pub(crate) fn is_signed(&self, signed: &SignedCheckpoint) -> bool {
        let digest = signed.checkpoint.digest(&self.engine.domain().separator());
        let last = signed.checkpoint.batches.saturating_sub(1);
        let key = self.engine.inner.signing.named_for(last);
        signed.signature.recover(&digest) == Ok(key)
    }

    async fn store_foreign(
        &self,
        event: &AnchoredEvent,
        signed: SignedCheckpoint,
    ) -> Result<(), StoreError> {
        // An anchor that is final stays as it is, and is reported once.
        let known = row_of(&self.engine, signed.checkpoint.anchor_id())?;
        let before = known.map_or(AnchorProgress::Pending, |row| row.status);
        if before == AnchorProgress::Finalized {
            return Ok(());
        }
        let first_batch = recent(&self.engine)?
            .iter()
            .find(|row| row.status == AnchorProgress::Finalized)
            .map_or(0, |row| row.checkpoint.checkpoint.batches);
        let intent = AnchorIntent {
            signed,
            extends_batches: first_batch,
            proof: Vec::new(),
        };
        let contract = self.sender.contract().address();
        let mut row = new_row(&self.engine, contract, &intent)?;
        row.status = AnchorProgress::Finalized;
        move_last(&mut row.tx_hashes, event.tx_hash);
        row.block_number = Some(event.block_number);
        row.block_hash = Some(event.block_hash);
        self.store(before, row).await
    }
}

#[expect(clippy::unnecessary_wraps, reason = "the end of a fallible step")]
fn refused(batches: u64, why: &str) -> Result<(), StoreError> {
    metrics::counter!(metric::CHAIN_CLAIMS_REFUSED, "claim" => "anchor").increment(1);
    tracing::warn!(
        batches,
        why,
        "an anchor reported by the node is not adopted"
    );
    Ok(())
}
