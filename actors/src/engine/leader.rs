//! The write path: the actors, the committer and the threads after it. A single node has it from start to end. A node
//! of a cluster has it while it leads the log; then it can end while the engine continues to read.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use kedge_runtime::executor::{ActorThreads, EnginePart};
use kedge_storage::StoreReadError;
use parking_lot::Mutex;
use ractor::{ActorCell, ActorRef};
use tokio::sync::mpsc;

use super::Engine;
use crate::api::SubmissionError;
use crate::failure::EngineFailure;
use crate::messages::AnchorMessage;
use crate::pipeline::PipelineActors;
use crate::pipeline::messages::DirectoryMessage;
use crate::pipeline::sequenced_proposal::CommitterMessage;

/// Least time that the writing threads get to end, however short the requests' timeout: placed proposals are written.
const WRITING_MIN: Duration = Duration::from_secs(5);

/// Time between looks of a simulator's task.
const LOOK: Duration = Duration::from_millis(1);

/// The running write path.
pub(crate) struct LeaderState {
    pub(super) directory: ActorRef<DirectoryMessage>,
    pub(super) supervisor: ActorRef<()>,
    threads: ActorThreads,
    work: Mutex<Option<mpsc::Sender<CommitterMessage>>>,
    committer: Mutex<Option<EnginePart>>,
    pub(super) failed: EngineFailure,
    /// Set while the actors are being stopped.
    ending: Arc<AtomicBool>,
    pub(crate) anchor: OnceLock<ActorRef<AnchorMessage>>,
    pub(super) shards: usize,
}

/// All actors that an actor supervises, directly or not, in the order of their start.
fn supervised(by: ActorCell) -> Vec<ActorCell> {
    let (mut found, mut next) = (Vec::new(), vec![by]);
    while let Some(actor) = next.pop() {
        let supervises = actor.get_children();
        next.extend(supervises.iter().cloned());
        found.extend(supervises);
    }
    found.sort_unstable_by_key(ActorCell::get_id);
    found
}

impl LeaderState {
    pub(super) fn new(
        actors: PipelineActors,
        threads: ActorThreads,
        work: mpsc::Sender<CommitterMessage>,
        committer: EnginePart,
        failed: EngineFailure,
        ending: Arc<AtomicBool>,
    ) -> Self {
        Self {
            directory: actors.directory,
            supervisor: actors.supervisor,
            threads,
            work: Mutex::new(Some(work)),
            committer: Mutex::new(Some(committer)),
            failed,
            ending,
            anchor: OnceLock::new(),
            shards: actors.shards,
        }
    }

    /// Sender of the committer's work; `None` once the committer is being stopped.
    pub(crate) fn work(&self) -> Option<mpsc::Sender<CommitterMessage>> {
        self.work.lock().clone()
    }

    /// Stops the actors, and lets the writing threads finish the placed proposals. False if they did not end in time. A
    /// stopping supervisor kills its children in the order of a map, so they are killed here first.
    async fn end(&self, timeout: Duration) -> bool {
        self.ending.store(true, Ordering::Relaxed);
        for actor in supervised(self.supervisor.get_cell()) {
            actor.kill();
        }
        self.supervisor.stop(None);
        self.threads.stop(timeout).await;
        drop(self.work.lock().take());
        let Some(committer) = self.committer.lock().take() else {
            return true;
        };
        let patience = timeout.max(WRITING_MIN);
        tokio::time::timeout(patience, committer.ended())
            .await
            .is_ok()
    }
}

impl Engine {
    /// The write path, if this node leads.
    pub(super) fn leading(&self) -> Result<Arc<LeaderState>, SubmissionError> {
        let leading = self.inner.leading.load_full();
        leading.ok_or(SubmissionError::NotLeading)
    }

    /// Whether this node leads the log.
    pub fn leads(&self) -> bool {
        self.inner.leading.load().is_some()
    }

    /// Whether this is a node of a cluster and another one may lead.
    pub(crate) fn follows(&self) -> bool {
        self.inner.options.replicated && !self.leads()
    }

    /// A watch on the first failure of the write path; `None` if this node does not lead.
    pub fn leading_failure(&self) -> Option<EngineFailure> {
        let leading = self.inner.leading.load();
        leading.as_ref().map(|leading| leading.failed.clone())
    }

    /// Fails the engine, which ends the process.
    pub fn fail(&self, why: &str) {
        self.inner.sink.report(&why);
    }

    /// Refuses writes for this reason until it is called with `None`.
    pub fn set_stalled(&self, why: Option<String>) {
        self.inner.stalled.store(why.map(Arc::new));
    }

    /// While true, callers stop waiting for requests in flight and get an unknown outcome.
    pub fn set_overdue(&self, is_overdue: bool) {
        self.inner.overdue.send_replace(is_overdue);
    }

    /// Waits until requests in flight will get no answer: the write path has failed, or they are overdue.
    pub(super) async fn unanswered(&self, failed: &mut EngineFailure) {
        let options = &self.inner.options;
        if options.replicated && options.running.turns().are_chosen() {
            // A simulated node outlives this, and the runtime wakes waiters of one value in an order that no seed
            // chooses, so each waiter polls by itself.
            while failed.reason().is_none() && !*self.inner.overdue.borrow() {
                tokio::time::sleep(LOOK).await;
            }
            return;
        }
        tokio::select! {
            biased;
            Some(_) = failed.wait() => {}
            () = self.overdue() => {}
        }
    }

    /// Waits until requests in flight are overdue.
    async fn overdue(&self) {
        let mut overdue = self.inner.overdue.subscribe();
        if overdue.wait_for(|is_overdue| *is_overdue).await.is_err() {
            // Only the engine drops the sender, and `self` keeps the engine alive.
            std::future::pending::<()>().await;
        }
    }

    /// Waits until no request is in flight, at most `timeout`, while new ones are refused with this reason.
    pub async fn drain(&self, why: &str, timeout: Duration) {
        self.set_stalled(Some(why.to_owned()));
        self.settle(timeout).await;
    }

    /// Waits until no request is in flight, at most `timeout`. A store that accepts no commits lets none be answered.
    pub(super) async fn settle(&self, timeout: Duration) {
        let inner = &self.inner;
        let env = &inner.options.env;
        let deadline = env.now() + timeout;
        while inner.room.in_flight() > 0
            && !inner.store.is_suspended()
            && inner.signing.stopped().is_none()
            && env.now() < deadline
        {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }

    /// Ends the write path, while reading continues. Waiting callers get an unknown outcome. False if the parts did not
    /// end in time: then the process must end.
    pub async fn stop_leading(&self, timeout: Duration) -> Result<bool, StoreReadError> {
        let inner = &self.inner;
        let Some(leading) = inner.leading.swap(None) else {
            return Ok(true);
        };
        let has_ended = leading.end(timeout).await;
        // A frame that never became durable may have named a key.
        let published = inner.published.load();
        inner.signing.reset(published.snapshot.sequencer_keys()?);
        *inner.checkpoint.lock() = None;
        if inner.options.replicated {
            // A leader's obstacles do not keep a node from following. Whether it may lead again is checked then
            // ([`Engine::lacks_anchored`]).
            inner.store.resume();
            inner.signing.end();
        }
        Ok(has_ended)
    }

    /// Ends the write path, with the engine.
    pub(super) async fn end_leading(&self, timeout: Duration) -> bool {
        match self.inner.leading.load_full() {
            Some(leading) => leading.end(timeout).await,
            None => true,
        }
    }
}
