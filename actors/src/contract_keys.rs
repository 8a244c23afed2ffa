//! What the contract says of the sequencer's keys. The anchor actor reads it now and then, so that
//! nobody who judges evidence has to ask a node.

use std::sync::Arc;

use kedge_chain::contract::KeyTrust;

use crate::anchor::AnchorState;
use crate::engine::Engine;

/// How often the keys are read, milliseconds: a rotation is rare, and named ahead of its batch.
const READ_MS: u64 = 60_000;
/// The pause after a node did not answer, milliseconds.
const RETRY_MS: u64 = 10_000;

impl Engine {
    /// The sequencer's keys by the contract, as they were last read; `None` while no node has told
    /// them.
    pub fn contract_keys(&self) -> Option<Arc<KeyTrust>> {
        self.inner.contract_keys.load_full()
    }
}

impl AnchorState {
    /// Reads the keys, if it is time to. What was read before stays while the node is down.
    pub(crate) async fn read_keys(&mut self, now_ms: u64) {
        if now_ms < self.next_keys_at_ms {
            return;
        }
        let pause_ms = match self.sender.contract().key_trust().await {
            Ok(keys) => {
                let keys = Some(Arc::new(keys));
                self.engine.inner.contract_keys.store(keys);
                READ_MS
            }
            Err(error) => {
                tracing::debug!(%error, "the contract's keys cannot be read");
                RETRY_MS
            }
        };
        self.next_keys_at_ms = now_ms + pause_ms;
    }
}
