//! Cache of sealed batches with their Merkle trees. Proofs and receipts read the newest ones again and again. Sealed
//! batches never change, so an entry is right for every snapshot that has the batch.

use std::sync::{Arc, OnceLock};

use crate::error::{ApiError, ApiResult};
use kedge_protocol::batch::SignedBatch;
use kedge_protocol::chain::next_head;
use kedge_protocol::merkle::BatchTree;
use kedge_protocol::{Hash, Id};
use kedge_storage::StoreSnapshot;
use quick_cache::Weighter;
use quick_cache::sync::Cache;

/// Leaves of all cached batches; each takes about a hundred bytes with its tree and head.
const LEAVES_KEPT_MAX: u64 = 1 << 20;
/// Weight of a batch in addition to its leaves.
const BATCH_WEIGHT: u64 = 4;
const BATCHES_EXPECTED: usize = 4_096;

/// A batch with the Merkle tree over its leaves.
pub struct CachedBatch {
    pub signed: SignedBatch,
    pub id: Id,
    pub tree: BatchTree,
    heads: OnceLock<Vec<Hash>>,
}

impl CachedBatch {
    fn read(snapshot: &StoreSnapshot, number: u64) -> ApiResult<Self> {
        let missing = || ApiError::internal(&format_args!("batch {number} is missing"));
        let signed = snapshot.batch(number)?.ok_or_else(missing)?;
        let leaves = snapshot.leaves(number)?.ok_or_else(missing)?;
        Ok(Self {
            id: signed.id(),
            tree: BatchTree::new(&leaves),
            signed,
            heads: OnceLock::new(),
        })
    }

    /// The log's head with the leaf at `index`; `None` past the last leaf.
    pub fn head(&self, index: u32) -> Option<Hash> {
        let heads = self.heads.get_or_init(|| {
            let mut head = self.signed.header.previous_head;
            let leaves = self.tree.leaves().iter();
            leaves
                .map(|leaf| {
                    head = next_head(&head, leaf);
                    head
                })
                .collect()
        });
        heads.get(index as usize).copied()
    }
}

#[derive(Clone)]
struct LeafWeighter;

impl Weighter<u64, Arc<CachedBatch>> for LeafWeighter {
    fn weight(&self, _: &u64, batch: &Arc<CachedBatch>) -> u64 {
        batch.tree.count() as u64 + BATCH_WEIGHT
    }
}

/// Batches by number; bounded by their leaves.
pub struct BatchCache(Cache<u64, Arc<CachedBatch>, LeafWeighter>);

impl Default for BatchCache {
    fn default() -> Self {
        Self(Cache::with_weighter(
            BATCHES_EXPECTED,
            LEAVES_KEPT_MAX,
            LeafWeighter,
        ))
    }
}

impl BatchCache {
    pub fn get(&self, snapshot: &StoreSnapshot, number: u64) -> ApiResult<Arc<CachedBatch>> {
        self.0.get_or_insert_with(&number, || {
            CachedBatch::read(snapshot, number).map(Arc::new)
        })
    }
}
