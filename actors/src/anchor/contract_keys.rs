//! The sequencer's keys according to the contract. The anchor actor reads them periodically, so that signing a batch or
//! judging evidence needs no call to a node.

use std::sync::Arc;

use kedge_chain::contract::{AnchorContract, ContractReadError, KeyTrust};
use tokio::sync::oneshot;

use super::state::AnchorActorState;
use crate::engine::Engine;
use crate::pipeline::sequenced_proposal::CommitterMessage;

/// Time between reads, milliseconds: a rotation is rare, and named ahead of its batch.
const READ_MS: u64 = 60_000;
/// The same, while log and contract name different keys or no batch is signed.
const READ_UNSETTLED_MS: u64 = 1_000;
/// The pause after a node failed to answer, milliseconds.
const RETRY_MS: u64 = 10_000;

impl Engine {
    /// The contract's keys as last read; `None` until a node has returned them.
    pub fn contract_keys(&self) -> Option<Arc<KeyTrust>> {
        self.inner.signing.contract.load_full()
    }

    /// Reads the contract's keys; before the first batch also its domain, which must be the log's.
    pub async fn read_contract(
        &self,
        contract: &AnchorContract,
    ) -> Result<KeyTrust, ContractReadError> {
        let signing = &self.inner.signing;
        if signing.asks_domain(self.published().head.batches) {
            signing.note_domain(&contract.domain().await?, self.domain());
        }
        contract.key_trust().await
    }

    /// Notes the contract's keys, and makes the committer check which key signs now.
    pub async fn note_contract_keys(&self, keys: KeyTrust) {
        self.inner.signing.contract.store(Some(Arc::new(keys)));
        let leading = self.inner.leading.load_full();
        let work = leading.as_ref().and_then(|leading| leading.work());
        drop(leading);
        if let Some(work) = work {
            let (done, looked) = oneshot::channel();
            // An engine that has ended signs nothing.
            let _ = work.send(CommitterMessage::Keys { done }).await;
            drop(work);
            let _ = looked.await;
        }
    }
}

impl AnchorActorState {
    /// Reads the keys now, and makes the committer check them.
    pub(crate) async fn read_keys_now(&mut self) -> Result<(), String> {
        let read = self.engine.read_contract(self.sender.contract()).await;
        let keys = read.map_err(|error| format!("the chain cannot be read: {error}"))?;
        self.engine.note_contract_keys(keys).await;
        self.next_keys_at_ms = self.engine.now_ms() + READ_UNSETTLED_MS;
        Ok(())
    }

    /// Reads the keys if they are due. While the node is down, the earlier ones stay.
    pub(crate) async fn read_keys(&mut self, now_ms: u64) {
        if now_ms < self.next_keys_at_ms {
            return;
        }
        let signing = &self.engine.inner.signing;
        let read = self.engine.read_contract(self.sender.contract()).await;
        let pause_ms = match read {
            Ok(keys) => {
                let is_new = self.engine.contract_keys().as_deref() != Some(&keys);
                if is_new || signing.stopped().is_some() {
                    self.engine.note_contract_keys(keys).await;
                }
                if signing.is_unsettled() || signing.stopped().is_some() {
                    READ_UNSETTLED_MS
                } else {
                    READ_MS
                }
            }
            Err(error) => {
                tracing::debug!(%error, "the contract's keys cannot be read");
                RETRY_MS
            }
        };
        self.next_keys_at_ms = now_ms + pause_ms;
    }
}
