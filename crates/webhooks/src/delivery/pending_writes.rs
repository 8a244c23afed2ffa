//! Pending writes of a worker: new deliveries, and results of attempts. All writes gathered during one commit go into
//! the next, so that attempts do not wait for commits, nor commits for each other.

use kedge_actors::{Engine, SubmissionError};
use kedge_rules::event::Event;
use kedge_storage::{DeliveryRow, SideWrite};
use tokio::task::JoinSet;

use super::worker_error::WorkerError;

/// Bound on unstored results, above which no attempt begins: a crash may cause this many to be sent again.
const RESULTS_MAX: usize = 64;

/// Delivery that begins once it is stored.
pub(super) struct NewDelivery {
    pub(super) row: DeliveryRow,
    pub(super) event: Event,
}

#[derive(Default)]
pub(super) struct PendingWrites {
    writes: Vec<SideWrite>,
    new: Vec<NewDelivery>,
    /// Results among the gathered writes and in the commit in progress.
    results: usize,
    storing_results: usize,
    /// New deliveries in the commit in progress.
    storing_new: usize,
    /// The commit in progress. It is a task, because a message to the committer that is not polled would hold its place
    /// in the queue.
    storing: JoinSet<Result<Vec<NewDelivery>, SubmissionError>>,
}

impl PendingWrites {
    /// Adds new deliveries, and the writes that create them and advance the webhook's position.
    pub(super) fn add_new(
        &mut self,
        writes: impl IntoIterator<Item = SideWrite>,
        new: Vec<NewDelivery>,
    ) {
        self.writes.extend(writes);
        self.new.extend(new);
    }

    /// Adds the result of an attempt.
    pub(super) fn add_result(&mut self, writes: impl IntoIterator<Item = SideWrite>) {
        self.writes.extend(writes);
        self.results += 1;
    }

    /// Number of unstored deliveries.
    pub(super) fn new_deliveries(&self) -> usize {
        self.new.len() + self.storing_new
    }

    /// Whether attempts must wait until results are stored.
    pub(super) fn is_full(&self) -> bool {
        self.results + self.storing_results >= RESULTS_MAX
    }

    /// Begins to store the gathered writes, unless a commit is in progress.
    pub(super) fn begin(&mut self, engine: &Engine) {
        if !self.storing.is_empty() || self.writes.is_empty() {
            return;
        }
        let writes = std::mem::take(&mut self.writes);
        let new = std::mem::take(&mut self.new);
        self.storing_results = std::mem::take(&mut self.results);
        self.storing_new = new.len();
        let engine = engine.clone();
        self.storing.spawn(async move {
            engine.side_writes(writes).await?;
            Ok(new)
        });
    }

    /// Waits for the commit in progress and returns its deliveries; `None` if there is none. Nothing is lost if the
    /// caller stops waiting.
    pub(super) async fn stored(&mut self) -> Option<Result<Vec<NewDelivery>, WorkerError>> {
        let stored = self.storing.join_next().await?;
        self.storing_results = 0;
        self.storing_new = 0;
        Some(match stored {
            Ok(stored) => stored.map_err(WorkerError::from),
            Err(error) => Err(WorkerError::from(error)),
        })
    }
}
