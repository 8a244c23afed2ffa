//! The engine's side of anchoring: signed checkpoints, and what the operator asks of the anchor actor.

use std::time::Duration;

use kedge_protocol::checkpoint::{Checkpoint, SignedCheckpoint};
use kedge_protocol::{Hash, Id};
use kedge_storage::{ReadError, Snapshot};
use ractor::{Actor, ActorRef};

use super::actor::{self, AnchorMessage, AnchorOptions};
use crate::commit::signing::SigningError;
use crate::engine::Engine;
use crate::lock::locked;

/// How long a caller waits until an anchor is submitted.
const ANCHOR_NOW_MAX: Duration = Duration::from_secs(30);

/// The result of a request to anchor now.
#[derive(Clone, Debug)]
pub struct AnchorReport {
    /// The anchor's number; `None` if nothing is new since the last one.
    pub number: Option<u64>,
    /// Its identifier.
    pub id: Option<Id>,
    /// How many batches it covers.
    pub batches: u64,
}

/// Why there is no signed checkpoint.
#[derive(Debug, thiserror::Error)]
pub enum CheckpointError {
    /// The store could not be read.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// The key of the last batch is not held.
    #[error("no checkpoint can be signed until the next batch: {0}")]
    Key(#[from] SigningError),
}

/// Why a store of `held` batches does not lead to a checkpoint that the chain holds, if it does not.
pub fn contradiction(
    snapshot: &Snapshot,
    held: u64,
    batches: u64,
    history: Hash,
) -> Result<Option<String>, ReadError> {
    let leads = batches <= held && kedge_protocol::log_tree::root(snapshot, batches)? == history;
    Ok((!leads).then(|| {
        format!(
            "the chain holds a checkpoint of {batches} batches that does not match this store: \
             it is older than what was anchored, or belongs to another log. Restore a newer copy"
        )
    }))
}

impl Engine {
    /// The signed checkpoint of the newest head.
    ///
    /// # Errors
    /// The store cannot be read, or the key of the last batch is not held.
    pub fn checkpoint(&self) -> Result<SignedCheckpoint, CheckpointError> {
        let published = self.published();
        let mut cached = locked(&self.inner.checkpoint);
        if let Some(signed) = *cached
            && signed.checkpoint.batches == published.head.batches
        {
            return Ok(signed);
        }
        let history = kedge_protocol::log_tree::root(&published.snapshot, published.head.batches)?;
        let checkpoint = Checkpoint {
            batches: published.head.batches,
            sequence: published.head.sequence,
            head: published.head.head,
            history,
            state: Hash::ZERO,
            issued_at_ms: self.now_ms().max(published.head.last_sealed_at_ms),
        };
        let signed = self.inner.signing.sign(&checkpoint)?;
        *cached = Some(signed);
        Ok(signed)
    }

    /// Starts anchoring; at most once.
    pub async fn start_anchoring(
        &self,
        options: AnchorOptions,
    ) -> Result<(), kedge_chain::sender::OpenError> {
        let actor = Box::pin(actor::start(self, options)).await?;
        // A second one would compete for the same transactions.
        assert!(
            self.inner.anchor.set(actor).is_ok(),
            "anchoring is started once"
        );
        Ok(())
    }

    /// Anchors what is new without waiting for the interval. Returns once the anchor is submitted.
    pub async fn anchor_now(&self) -> Result<AnchorReport, String> {
        let actor = self
            .inner
            .anchor
            .get()
            .ok_or("this server does not anchor")?;
        let timeout = Some(ANCHOR_NOW_MAX);
        match actor.call(AnchorMessage::Now, timeout).await {
            Ok(ractor::rpc::CallResult::Success(report)) => report,
            _ => Err("the anchor was not started in time; it will be retried".to_owned()),
        }
    }

    /// Checks the chain again, and continues if nothing stands in the way. Returns how many batches the chain's
    /// checkpoint covers.
    pub async fn recover(&self) -> Result<u64, String> {
        let actor = self
            .inner
            .anchor
            .get()
            .ok_or("this server does not anchor")?;
        let timeout = Some(ANCHOR_NOW_MAX);
        match actor.call(AnchorMessage::Recover, timeout).await {
            Ok(ractor::rpc::CallResult::Success(recovered)) => recovered,
            _ => Err("the chain did not answer in time; try again".to_owned()),
        }
    }

    /// Accepts writes again, unless the store was opened for reading.
    pub(crate) fn resume(&self) {
        self.inner.store.resume();
    }

    /// Spawns an actor that ends with the engine.
    pub(crate) async fn spawn_linked<A: Actor>(
        &self,
        actor: A,
        arguments: A::Arguments,
    ) -> Result<(ActorRef<A::Msg>, tokio::task::JoinHandle<()>), ractor::SpawnErr> {
        Actor::spawn_linked(None, actor, arguments, self.inner.supervisor.get_cell()).await
    }
}
