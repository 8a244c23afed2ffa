//! The two threads after the committer. The writer appends each group to the log and makes all appended groups durable
//! with one sync. The publisher then adds their rows to memory, where snapshots see them (`storage/src/recent.rs`),
//! publishes and answers. So the disk, the forming of the next group and the rows of the previous one overlap, and the
//! store never holds rows of frames that the log could still lose (adr/0015).
//!
//! Both are steps (`appender.rs`, `publisher.rs`) without thread, channel or pause. A step that finds no room returns
//! how long to pause, and is called again. The threads around them (`threads.rs`) receive, step, pause and send.
//! `tests.rs` takes the same steps on one thread and a simulated disk, in orders that a seed chooses.

mod appender;
mod publisher;
mod retry;
#[cfg(test)]
pub(crate) mod tests;
mod threads;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64};

use arc_swap::ArcSwap;
use kedge_runtime::env::Env;
use kedge_storage::{LogPosition, Store, WriteGroup};
use tokio::sync::{mpsc, watch};

use super::disk::StoreDisk;
use super::error::CommitterError;
use super::group::CommitGroup;
use crate::events::EventListeners;
use crate::failure::FailureSink;
use crate::pipeline::published_state::PublishedState;
use crate::roots::RootState;

pub(crate) use threads::{WriterThreads, start};

/// Groups that may be handed over and not yet published: one that waits for the disk, and one whose rows are written.
/// Behind them a group stays open and grows.
const AHEAD_MAX: u64 = 2;

/// A group in the log, which ends at `position` after it.
struct LoggedGroup {
    formed: CommitGroup,
    position: LogPosition,
}

/// Result of a step. A step works and returns; its caller owns the thread, the channels and the pauses.
#[derive(PartialEq, Eq, Debug)]
enum WriterStep<T, W> {
    Done(T),
    /// Nothing has changed; the step is retried once this is over.
    Blocked(W),
}

/// The committer's end of the channel to the writer, with the count of published groups.
pub(crate) struct WriterLink {
    /// At most [`AHEAD_MAX`] groups.
    groups: mpsc::UnboundedSender<CommitGroup>,
    handed_over: u64,
    published: watch::Receiver<u64>,
    /// Empty groups for reuse.
    spent: mpsc::UnboundedReceiver<WriteGroup>,
}

impl WriterLink {
    /// True when the next group may be handed over.
    pub(crate) fn is_ready(&self) -> bool {
        self.handed_over - *self.published.borrow() < AHEAD_MAX
    }

    /// Waits until [`Self::is_ready`] holds.
    pub(crate) async fn ready(&mut self) -> Result<(), CommitterError> {
        self.ahead(AHEAD_MAX - 1).await
    }

    /// Waits until everything handed over is published.
    pub(crate) async fn settled(&mut self) -> Result<(), CommitterError> {
        self.ahead(0).await
    }

    async fn ahead(&mut self, groups_max: u64) -> Result<(), CommitterError> {
        let handed_over = self.handed_over;
        let published = &mut self.published;
        let reached = published.wait_for(|published| handed_over - *published <= groups_max);
        reached
            .await
            .map_or(Err(CommitterError::Writer), |_| Ok(()))
    }

    /// An empty group: a used one if there is one, otherwise with room for `capacity_bytes`.
    pub(crate) fn empty_group(&mut self, capacity_bytes: usize) -> WriteGroup {
        self.spent
            .try_recv()
            .unwrap_or_else(|_| WriteGroup::with_capacity_bytes(capacity_bytes))
    }

    /// Hands over the next group.
    pub(crate) fn hand_over(&mut self, formed: CommitGroup) -> Result<(), CommitterError> {
        self.handed_over += 1;
        let given = self.groups.send(formed);
        given.map_err(|_| CommitterError::Writer)
    }
}

/// Makes durable groups visible to readers.
pub(crate) struct Publisher {
    pub(crate) env: Arc<dyn Env>,
    pub(crate) store: Arc<Store>,
    pub(crate) published: Arc<ArcSwap<PublishedState>>,
    pub(crate) visible: watch::Sender<u64>,
    pub(crate) committed_ticket: Arc<AtomicU64>,
    pub(crate) disk_full: Arc<AtomicBool>,
    /// True once nothing is placed any more.
    pub(crate) ending: Arc<AtomicBool>,
    pub(crate) disk: StoreDisk,
    pub(crate) listeners: Arc<EventListeners>,
    pub(crate) roots: Arc<RootState>,
    pub(crate) failed: FailureSink,
}
