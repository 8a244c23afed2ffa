//! Commands of the server and its operator to the anchor actor.

use std::sync::Arc;
use std::time::Duration;

use kedge_chain::sender::AnchorSenderError;
use ractor::RpcReplyPort;
use ractor::rpc::CallResult;

use super::actor::{self, AnchorOptions};
use crate::engine::Engine;
use crate::messages::{AnchorMessage, AnchorReport, NodeHealth};

/// How long a caller waits for the actor to submit an anchor or read the contract.
const ANSWER_MAX: Duration = Duration::from_secs(30);

impl Engine {
    /// Starts anchoring; at most once.
    pub async fn start_anchoring(&self, options: AnchorOptions) -> Result<(), AnchorSenderError> {
        let actor = Box::pin(actor::start(self, options)).await?;
        // A second one would compete for the same transactions.
        let leading = self.inner.leading.load();
        let started = leading.as_ref().map(|leading| leading.anchor.set(actor));
        assert!(
            started.is_none_or(|set| set.is_ok()),
            "anchoring is started once"
        );
        Ok(())
    }

    /// Anchors the log's growth without waiting for the interval. Returns once the anchor is submitted.
    pub async fn anchor_now(&self) -> Result<AnchorReport, String> {
        let late = "the anchor was not started in time; it will be retried";
        self.ask_anchor(AnchorMessage::Now, late).await
    }

    /// Checks the chain again, and continues if nothing stands in the way. Returns how many batches the chain's
    /// checkpoint covers.
    pub async fn recover(&self) -> Result<u64, String> {
        if self.follows() {
            return self.recover_following().await;
        }
        let late = "the chain did not answer in time; try again";
        self.ask_anchor(AnchorMessage::Recover, late).await
    }

    /// Reads the contract's keys now. An error states why that failed.
    pub async fn read_contract_keys(&self) -> Result<(), String> {
        let late = "the chain did not answer in time; try again";
        self.ask_anchor(AnchorMessage::ReadKeys, late).await
    }

    /// Sends the actor a message and waits for its answer; `late` is the error after [`ANSWER_MAX`].
    async fn ask_anchor<T: Send + 'static>(
        &self,
        message: fn(RpcReplyPort<Result<T, String>>) -> AnchorMessage,
        late: &str,
    ) -> Result<T, String> {
        let leading = self.inner.leading.load_full();
        let actor = leading.as_ref().and_then(|leading| leading.anchor.get());
        let actor = actor.ok_or_else(|| {
            if self.follows() {
                "this node follows the log, and the node that leads anchors it: run the command there (`kedge cluster \
                 status` names it)"
            } else {
                "anchoring has not begun yet; try again"
            }
        })?;
        match actor.call(message, Some(ANSWER_MAX)).await {
            Ok(CallResult::Success(answer)) => answer,
            _ => Err(late.to_owned()),
        }
    }

    /// The state of the chain's node; `None` before it was asked, or if the server does not anchor.
    pub fn node(&self) -> Option<Arc<NodeHealth>> {
        self.inner.node.load_full()
    }
}
