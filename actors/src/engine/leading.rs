//! What decides and writes: the actors, the committer and the threads after it. A single node has it from its start to
//! its end. One of several nodes has it while it leads the log; then it can end while the engine continues to read.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use kedge_runtime::executor::{ActorThreads, Part};
use kedge_storage::ReadError;
use parking_lot::Mutex;
use ractor::{ActorCell, ActorRef};
use tokio::sync::mpsc;

use super::Engine;
use crate::api::SubmitError;
use crate::failure::Failure;
use crate::messages::{AnchorMessage, WebhooksMessage};
use crate::pipeline::Actors;
use crate::pipeline::messages::DirectoryMessage;
use crate::pipeline::placed::CommitterMessage;

/// The time that the threads which write get to end, however little patience there is with requests: what is placed
/// gets written.
const WRITING_MIN: Duration = Duration::from_secs(5);

/// How often a task of a simulator looks.
const LOOK: Duration = Duration::from_millis(1);

/// The parts that decide and write.
pub(crate) struct Leading {
    pub(super) directory: ActorRef<DirectoryMessage>,
    pub(super) supervisor: ActorRef<()>,
    threads: ActorThreads,
    work: Mutex<Option<mpsc::Sender<CommitterMessage>>>,
    committer: Mutex<Option<Part>>,
    pub(super) failed: Failure,
    /// The actors are being stopped.
    ending: Arc<AtomicBool>,
    pub(crate) webhooks: OnceLock<ActorRef<WebhooksMessage>>,
    pub(crate) anchor: OnceLock<ActorRef<AnchorMessage>>,
    pub(super) shards: usize,
}

/// All that an actor supervises, directly or not, in the order in which they were started.
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

impl Leading {
    pub(super) fn new(
        actors: Actors,
        threads: ActorThreads,
        work: mpsc::Sender<CommitterMessage>,
        committer: Part,
        failed: Failure,
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
            webhooks: OnceLock::new(),
            anchor: OnceLock::new(),
            shards: actors.shards,
        }
    }

    /// Where the committer gets its work from; `None` once it is being stopped.
    pub(crate) fn work(&self) -> Option<mpsc::Sender<CommitterMessage>> {
        self.work.lock().clone()
    }

    /// Stops the actors, and lets the threads that write finish what was placed. False if they did not end in time.
    /// A supervisor that stops kills those that it supervises, in the order of a map. So they are killed here first.
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
    /// The parts that decide and write, if this node has them.
    pub(super) fn leading(&self) -> Result<Arc<Leading>, SubmitError> {
        let leading = self.inner.leading.load_full();
        leading.ok_or(SubmitError::NotLeading)
    }

    /// Whether this node decides and writes.
    pub fn leads(&self) -> bool {
        self.inner.leading.load().is_some()
    }

    /// Whether this is one of several nodes and another one may lead.
    pub(crate) fn follows(&self) -> bool {
        self.inner.options.replicated && !self.leads()
    }

    /// Reports when the parts that decide and write cannot continue; `None` if this node has none.
    pub fn leading_failure(&self) -> Option<Failure> {
        let leading = self.inner.leading.load();
        leading.as_ref().map(|leading| leading.failed.clone())
    }

    /// Ends the process: what this node can no longer do, it must not pretend to.
    pub fn fail(&self, why: &str) {
        self.inner.sink.report(&why);
    }

    /// Refuses writes for this reason until it is called with `None`.
    pub fn set_stalled(&self, why: Option<String>) {
        self.inner.stalled.store(why.map(Arc::new));
    }

    /// While it is true, nobody waits for what is in flight: who asked learns that its outcome is unknown.
    pub fn set_overdue(&self, is_overdue: bool) {
        self.inner.overdue.send_replace(is_overdue);
    }

    /// Waits until nobody answers any more what is in flight: what writes has failed, or it is overdue.
    pub(super) async fn unanswered(&self, failed: &mut Failure) {
        let options = &self.inner.options;
        if options.replicated && options.running.turns().are_chosen() {
            // A node lives on after it, and the runtime wakes those who wait for one value in an order that no seed
            // chooses: each looks for itself.
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

    /// Waits until what is in flight is overdue.
    async fn overdue(&self) {
        let mut overdue = self.inner.overdue.subscribe();
        if overdue.wait_for(|is_overdue| *is_overdue).await.is_err() {
            // The engine itself ends it, and `self` holds that.
            std::future::pending::<()>().await;
        }
    }

    /// Waits until no request is in flight, at most `timeout`, while new ones are refused for this reason.
    pub async fn drain(&self, why: &str, timeout: Duration) {
        self.set_stalled(Some(why.to_owned()));
        self.settle(timeout).await;
    }

    /// Waits until no request is in flight, at most `timeout`. A store that accepts no commits for now lets none be
    /// answered.
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

    /// Stops deciding and writing, while reading continues. Who waits for an answer learns that the outcome is unknown.
    /// False if the parts did not end in time: then the process must end.
    pub async fn stop_leading(&self, timeout: Duration) -> Result<bool, ReadError> {
        let inner = &self.inner;
        let Some(leading) = inner.leading.swap(None) else {
            return Ok(true);
        };
        let has_ended = leading.end(timeout).await;
        // What was formed and never became durable may have named a key.
        let published = inner.published.load();
        inner.signing.reset(published.snapshot.sequencer_keys()?);
        *inner.checkpoint.lock() = None;
        if inner.options.replicated {
            // What stood in the way of a leader does not keep a node from following, and whether it may lead again is asked
            // then ([`Engine::lacks_anchored`]).
            inner.store.resume();
            inner.signing.end();
        }
        Ok(has_ended)
    }

    /// Ends the parts that decide and write, with the engine.
    pub(super) async fn end_leading(&self, timeout: Duration) -> bool {
        match self.inner.leading.load_full() {
            Some(leading) => leading.end(timeout).await,
            None => true,
        }
    }
}
