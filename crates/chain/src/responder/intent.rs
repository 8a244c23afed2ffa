//! Stored state of an answer, written before anything is sent.

use std::future::Future;

use kedge_protocol::Hash;
use serde::{Deserialize, Serialize};

use crate::sender::{AnchorAttempt, AttemptParameters, StoreError};

/// An answer in flight, with which a restart continues.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StoredAnswer {
    /// The answered case.
    pub case: Hash,
    /// Calldata for the bond; stored as hex.
    #[serde(with = "hex_bytes")]
    pub calldata: Vec<u8>,
    /// All transactions, oldest first; each is stored before it is sent.
    pub attempts: Vec<AnchorAttempt>,
}

impl StoredAnswer {
    pub(super) fn new(case: Hash, calldata: Vec<u8>) -> Self {
        Self {
            case,
            calldata,
            attempts: Vec::new(),
        }
    }

    /// The last transaction made for the answer.
    pub(super) fn last(&self) -> Option<(&AnchorAttempt, AttemptParameters)> {
        let attempt = self.attempts.last()?;
        Some((attempt, attempt.own?))
    }
}

/// Durable store of answers, keyed by case.
///
/// **Law:** when `save` or `remove` returns, the change survives a crash. Nothing is sent before the
/// transaction's hash is saved.
pub trait AnswerStore: Send + Sync {
    /// Stores the answer; replaces an earlier one of the same case.
    fn save(&self, answer: &StoredAnswer) -> impl Future<Output = Result<(), StoreError>> + Send;

    /// Removes a case's answer; no error if there is none.
    fn remove(&self, case: Hash) -> impl Future<Output = Result<(), StoreError>> + Send;

    /// All stored answers, in any order.
    fn load(&self) -> impl Future<Output = Result<Vec<StoredAnswer>, StoreError>> + Send;
}

mod hex_bytes {
    use ethers_core::types::Bytes;
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    pub(super) fn serialize<S: Serializer>(bytes: &[u8], serializer: S) -> Result<S::Ok, S::Error> {
        Bytes::from(bytes.to_vec()).serialize(serializer)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Vec<u8>, D::Error> {
        Bytes::deserialize(deserializer).map(|bytes| bytes.to_vec())
    }
}
