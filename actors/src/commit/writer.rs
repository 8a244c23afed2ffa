//! What follows the forming of a group, in two threads. The writer appends it to the log and makes everything appended
//! so far durable with one sync. The releaser then keeps its rows in memory, where snapshots see them
//! (`storage/src/recent.rs`), publishes and answers. So the disk is waited for while the next group is formed and the
//! rows of the previous one are kept, and the store never holds rows of what the log could still lose (adr/0015).
//!
//! Both are steps (`appending.rs`, `releaser.rs`) that own no thread, no channel and no pause. A step that finds no
//! room returns how long to pause, and is called again. The threads around them (`threads.rs`) receive, step, pause and
//! send. `tests.rs` takes the same steps by hand, on one thread and a simulated disk, in orders that a seed chooses.

mod appending;
mod releaser;
#[cfg(test)]
pub(crate) mod tests;
mod threads;
mod waiting;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64};

use arc_swap::ArcSwap;
use kedge_runtime::env::Env;
use kedge_storage::{Group, LogPosition, Store};
use tokio::sync::{mpsc, watch};

use super::disk::Disk;
use super::error::CommitterError;
use super::group::CommitGroup;
use crate::events::Listeners;
use crate::failure::FailureSink;
use crate::pipeline::world::Published;

pub(crate) use threads::{Threads, start};

/// Groups that may be handed over and not published: one that waits for the disk, and one whose rows are written. A
/// group that waits longer stays open and grows.
const AHEAD_MAX: u64 = 2;

/// A group in the log, which ends at `position` with it.
struct Logged {
    formed: CommitGroup,
    position: LogPosition,
}

/// The result of a step. A step does its work and returns: its caller owns the thread, the channels and the pauses.
#[derive(PartialEq, Eq, Debug)]
enum Step<T, W> {
    /// It is done, with this result.
    Done(T),
    /// It is not done, and has changed nothing. Retry it once this is over.
    Blocked(W),
}

/// The committer's end: what it has handed over, and how much of it is published.
pub(crate) struct Writing {
    /// At most [`AHEAD_MAX`] of them are in it.
    groups: mpsc::UnboundedSender<CommitGroup>,
    handed_over: u64,
    published: watch::Receiver<u64>,
    /// Groups no longer in use, emptied.
    spent: mpsc::UnboundedReceiver<Group>,
}

impl Writing {
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

    /// An empty group: with the memory of an earlier one if there is one, otherwise with room for `capacity_bytes`.
    pub(crate) fn empty_group(&mut self, capacity_bytes: usize) -> Group {
        self.spent
            .try_recv()
            .unwrap_or_else(|_| Group::with_capacity_bytes(capacity_bytes))
    }

    /// Hands over the next group.
    pub(crate) fn hand_over(&mut self, formed: CommitGroup) -> Result<(), CommitterError> {
        self.handed_over += 1;
        let given = self.groups.send(formed);
        given.map_err(|_| CommitterError::Writer)
    }
}

/// Makes durable groups visible.
pub(crate) struct Outlet {
    pub(crate) env: Arc<dyn Env>,
    pub(crate) store: Arc<Store>,
    pub(crate) published: Arc<ArcSwap<Published>>,
    pub(crate) visible: watch::Sender<u64>,
    pub(crate) committed_ticket: Arc<AtomicU64>,
    pub(crate) disk_full: Arc<AtomicBool>,
    /// Nothing is placed any more.
    pub(crate) ending: Arc<AtomicBool>,
    pub(crate) disk: Disk,
    pub(crate) listeners: Arc<Listeners>,
    pub(crate) failed: FailureSink,
}
