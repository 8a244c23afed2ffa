//! Storage interface for intents.

use std::future::Future;

use thiserror::Error;

use super::intent::StoredIntent;

/// Why a store failed.
#[derive(Debug, Error)]
#[error("the anchor intent store failed: {0}")]
pub struct StoreError(#[from] pub Box<dyn std::error::Error + Send + Sync>);

/// Durable store of intents, keyed by their batch counts.
///
/// **Law:** when `save` or `remove` returns, the change survives a crash. The sender saves a transaction's hash before
/// sending it, so a restart knows everything in flight.
pub trait IntentStore: Send + Sync {
    /// Stores the intent; replaces one with the same batch count.
    fn save(&self, intent: &StoredIntent) -> impl Future<Output = Result<(), StoreError>> + Send;

    /// Removes the intent; no error if there is none.
    fn remove(&self, batches: u64) -> impl Future<Output = Result<(), StoreError>> + Send;

    /// All stored intents, in any order.
    fn load(&self) -> impl Future<Output = Result<Vec<StoredIntent>, StoreError>> + Send;
}
