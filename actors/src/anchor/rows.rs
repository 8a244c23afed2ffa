//! Rows of the anchor actor: the sender's intents as anchors, and the answers to the bond.

use std::sync::Arc;

use kedge_chain::responder::{AnswerStore, StoredAnswer};
use kedge_chain::sender::{
    AnchorIntent, AnchorIntentStatus as Status, IntentStore, IntentUpdate, StoreError, StoredIntent,
};
use kedge_protocol::{Address, Hash, Id};
use kedge_storage::{AnchorProgress, AnchorRow, RowPage, SideWrite};

use super::ordered_writes::OrderedWrites;
use crate::engine::Engine;

/// How many rows are searched for open intents: far more than can be open together.
const OPEN_ROWS_MAX: usize = 64;

/// A store error in the form that sender and responder report.
pub(crate) fn store_error(error: impl std::error::Error + Send + Sync + 'static) -> StoreError {
    StoreError(Box::new(error))
}

/// Storage of the sender's intents, in the rows of their anchors.
pub(crate) struct AnchorIntentRows {
    pub(crate) engine: Engine,
    pub(super) writes: Arc<OrderedWrites>,
    pub(crate) contract: Address,
}

impl AnchorIntentRows {
    /// The newest row of a checkpoint over this many batches that has not failed.
    fn find(&self, batches: u64) -> Result<Option<AnchorRow>, StoreError> {
        let found = recent(&self.engine)?.into_iter().find(|row| {
            row.checkpoint.checkpoint.batches == batches && row.status != AnchorProgress::Failed
        });
        Ok(found)
    }

    async fn put(&self, row: AnchorRow) -> Result<(), StoreError> {
        let write = vec![SideWrite::Anchor(row)];
        self.writes.write(write, Vec::new()).await
    }
}

/// The newest rows, newest first.
pub(crate) fn recent(engine: &Engine) -> Result<Vec<AnchorRow>, StoreError> {
    let page = RowPage {
        after: None,
        descending: true,
        limit: OPEN_ROWS_MAX,
    };
    engine
        .published()
        .snapshot
        .anchors(page)
        .map_err(store_error)
}

/// The row of an anchor, if there is one.
pub(super) fn row_of(engine: &Engine, id: Id) -> Result<Option<AnchorRow>, StoreError> {
    let snapshot = &engine.published().snapshot;
    match snapshot.anchor_number(id).map_err(store_error)? {
        Some(number) => snapshot.anchor(number).map_err(store_error),
        None => Ok(None),
    }
}

/// The row of an anchor that begins. If an anchor of the same checkpoint failed, its row continues: an id leads to one
/// row.
pub(crate) fn new_row(
    engine: &Engine,
    contract: Address,
    intent: &AnchorIntent,
) -> Result<AnchorRow, StoreError> {
    let snapshot = &engine.published().snapshot;
    let checkpoint = intent.signed.checkpoint;
    let id = checkpoint.anchor_id();
    let failed = row_of(engine, id)?;
    let last = snapshot.last_anchor().map_err(store_error)?;
    let next = last.map_or(0, |row| row.number + 1);
    Ok(AnchorRow {
        number: failed.as_ref().map_or(next, |row| row.number),
        id,
        checkpoint: intent.signed,
        first_batch: intent.extends_batches,
        proof: intent.proof.clone(),
        status: AnchorProgress::Pending,
        contract,
        tx_hashes: failed.map_or(Vec::new(), |row| row.tx_hashes),
        tx: Vec::new(),
        block_number: None,
        block_hash: None,
        attempts: 0,
        issued_at_ms: checkpoint.issued_at_ms,
    })
}

/// Moves the transaction that counts to the end of the list.
pub(super) fn move_last(hashes: &mut Vec<Hash>, hash: Hash) {
    hashes.retain(|known| *known != hash);
    hashes.push(hash);
}

/// How many batches the chain holds, if more than the reported anchor covers: then the chain will never hold that
/// anchor.
pub(super) fn foreign(update: &IntentUpdate) -> Option<u64> {
    let covered = update.covered_by_batches;
    covered.filter(|covered| *covered != update.batches)
}

/// An anchor's status after the sender's report; `None` if the report comes too late, because the chain was found to
/// hold the anchor for good.
pub(super) fn status_after(row: &AnchorRow, update: &IntentUpdate) -> Option<AnchorProgress> {
    let is_final = row.status == AnchorProgress::Finalized;
    // After a restart the sender no longer knows how deep the block was.
    let is_same_block = row.block_hash.is_some() && row.block_hash == update.block_hash;
    let stays_confirmed = row.status == AnchorProgress::Confirmed && is_same_block;
    let status = match update.status {
        Status::Pending => AnchorProgress::Pending,
        Status::Submitted if stays_confirmed => AnchorProgress::Confirmed,
        Status::Submitted => AnchorProgress::Submitted,
        Status::Confirmed => AnchorProgress::Confirmed,
        Status::Finalized if foreign(update).is_some() => AnchorProgress::Failed,
        Status::Finalized => AnchorProgress::Finalized,
        Status::Failed => AnchorProgress::Failed,
    };
    (!is_final || status == AnchorProgress::Finalized).then_some(status)
}

impl IntentStore for AnchorIntentRows {
    async fn save(&self, stored: &StoredIntent) -> Result<(), StoreError> {
        let row = self.find(stored.intent.batches())?;
        let mut row = match row {
            Some(row) => row,
            None => new_row(&self.engine, self.contract, &stored.intent)?,
        };
        row.tx = serde_json::to_vec(stored).map_err(store_error)?;
        for attempt in &stored.attempts {
            move_last(&mut row.tx_hashes, attempt.tx_hash);
        }
        self.put(row).await
    }

    async fn remove(&self, batches: u64) -> Result<(), StoreError> {
        let Some(mut row) = self.find(batches)? else {
            return Ok(());
        };
        row.tx = Vec::new();
        // The sender dropped the intent for a larger one.
        if row.status != AnchorProgress::Finalized {
            row.status = AnchorProgress::Failed;
        }
        self.put(row).await
    }

    async fn load(&self) -> Result<Vec<StoredIntent>, StoreError> {
        let rows = recent(&self.engine)?
            .into_iter()
            .filter(|row| !row.tx.is_empty());
        rows.map(|row| serde_json::from_slice(&row.tx).map_err(store_error))
            .collect()
    }
}

/// Storage of the responder's answers.
pub(crate) struct AnswerRows {
    pub(crate) engine: Engine,
    pub(super) writes: Arc<OrderedWrites>,
}

impl AnswerRows {
    async fn put(&self, case: Hash, sent: Option<Vec<u8>>) -> Result<(), StoreError> {
        let write = vec![SideWrite::BondAnswer { case, sent }];
        self.writes.write(write, Vec::new()).await
    }
}

impl AnswerStore for AnswerRows {
    async fn save(&self, answer: &StoredAnswer) -> Result<(), StoreError> {
        let bytes = serde_json::to_vec(answer).map_err(store_error)?;
        self.put(answer.case, Some(bytes)).await
    }

    async fn remove(&self, case: Hash) -> Result<(), StoreError> {
        self.put(case, None).await
    }

    async fn load(&self) -> Result<Vec<StoredAnswer>, StoreError> {
        let rows = self.engine.published().snapshot.bond_answers();
        let rows = rows.map_err(store_error)?;
        rows.iter()
            .map(|row| serde_json::from_slice(row).map_err(store_error))
            .collect()
    }
}
