//! Where intents are kept.

use std::future::Future;

use thiserror::Error;

use super::intent::StoredIntent;

/// Why a store failed.
#[derive(Debug, Error)]
#[error("the anchor intent store failed: {0}")]
pub struct StoreError(#[from] pub Box<dyn std::error::Error + Send + Sync>);

/// A durable store for intents, keyed by their `batches`.
///
/// **Law:** when `save` or `remove` returns, the change survives a crash. The sender sends nothing before the
/// transaction's hash is saved, so a restart always knows what may be in flight.
pub trait IntentStore: Send + Sync {
    /// Stores the intent, replacing one with the same `batches`.
    fn save(&self, intent: &StoredIntent) -> impl Future<Output = Result<(), StoreError>> + Send;

    /// Removes the intent; no error if there is none.
    fn remove(&self, batches: u64) -> impl Future<Output = Result<(), StoreError>> + Send;

    /// All stored intents, in any order.
    fn load(&self) -> impl Future<Output = Result<Vec<StoredIntent>, StoreError>> + Send;
}
