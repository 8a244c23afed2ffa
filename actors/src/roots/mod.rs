//! Roots of the state. On the leader a frame says when a root is due; every node takes the snapshot after this frame and
//! makes the root of it, in the background (`maker.rs`). The leader then signs a checkpoint with the root and commits it,
//! before any caller sees it. So one number of batches has one root, whichever node makes it, and a node whose root differs
//! from the leader's stops.

mod due;
mod kept;
mod maker;
mod resources;

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use kedge_protocol::checkpoint::SignedCheckpoint;
use kedge_storage::{PastResources, StoreMode, StoreReadError, StoreSnapshot};
use parking_lot::Mutex;
use tokio::sync::watch;

pub(crate) use due::DueRoots;
pub(crate) use maker::start;
use resources::RootResources;

use crate::engine::Engine;

/// Options of the roots.
#[derive(Clone, Copy, Debug)]
pub struct RootOptions {
    /// Time between roots. A root that takes long is followed by a longer pause.
    pub interval: Duration,
    /// How long the proofs of an anchored checkpoint are kept.
    pub kept: Duration,
    /// Bytes of the state's tables above which the proofs of an anchored checkpoint are kept only as long as the bond takes
    /// demands about it.
    pub kept_bytes: u64,
}

/// What the maker of roots shares with the engine.
pub(crate) struct RootState {
    pub(crate) due: DueRoots,
    resources: RootResources,
    /// The number of batches that a part waits for, such as the anchor; 0 for none.
    wanted: AtomicU64,
    /// When this node, if it leads, asks for the next root, Unix milliseconds.
    next_ms: AtomicU64,
    /// Sequence and batches of the newest signed checkpoint with a root.
    newest: watch::Sender<Option<(u64, u64)>>,
    /// Sequence of the newest signed checkpoint whose root this node has made too.
    provable: watch::Sender<Option<u64>>,
    /// Whether this node may be the one that says from when on checkpoints have roots.
    may_begin: watch::Sender<bool>,
    /// Checkpoints, by their batches, about which the contract takes no demand any more. They leave with the next one.
    ended: Mutex<BTreeSet<u64>>,
}

impl RootState {
    pub(crate) fn new(is_on: bool, replicated: bool) -> Self {
        Self {
            due: DueRoots::new(is_on),
            resources: RootResources::default(),
            wanted: AtomicU64::new(0),
            next_ms: AtomicU64::new(0),
            newest: watch::channel(None).0,
            provable: watch::channel(None).0,
            may_begin: watch::channel(!replicated).0,
            ended: Mutex::default(),
        }
    }

    /// Lets these checkpoints go, named by their batches.
    pub(crate) fn let_go(&self, ended: Vec<u64>) {
        self.ended.lock().extend(ended);
    }

    /// Forgets checkpoints that are gone.
    pub(crate) fn forget(&self, gone: &[u64]) {
        self.ended.lock().retain(|batches| !gone.contains(batches));
    }

    /// Whether a checkpoint may go.
    pub(crate) fn may_go(&self, batches: u64) -> bool {
        self.ended.lock().contains(&batches)
    }
}

impl Engine {
    /// Asks for a signed checkpoint over at least this number of batches, soon.
    pub(crate) fn want_root(&self, batches: u64) {
        self.inner
            .roots
            .wanted
            .fetch_max(batches, Ordering::Relaxed);
    }

    /// Allows this node to say from when on checkpoints have roots, which shuts out nodes with an older program.
    pub fn allow_roots(&self, is_allowed: bool) {
        self.inner.roots.may_begin.send_replace(is_allowed);
    }

    /// Whether roots of the state are made.
    pub fn makes_roots(&self) -> bool {
        self.inner.options.roots.is_some()
    }

    /// The newest rows, with the state's own. They may be newer than the published ones.
    pub fn state_snapshot(&self) -> StoreSnapshot {
        self.inner.store.snapshot()
    }

    /// The newest checkpoint whose proofs this node can make: signed, committed, and with this node's own root. An empty log
    /// has none, because no batch says which key signs for it.
    ///
    /// # Errors
    /// The rows cannot be read.
    pub fn provable_checkpoint(
        &self,
        snapshot: &StoreSnapshot,
    ) -> Result<Option<SignedCheckpoint>, StoreReadError> {
        for signed in snapshot.checkpoints_until(u64::MAX) {
            let signed = signed?;
            if signed.checkpoint.batches == 0 {
                break;
            }
            let made = snapshot.root_at(signed.checkpoint.batches)?;
            if made.is_some_and(|made| made.root == signed.checkpoint.state) {
                return Ok(Some(signed));
            }
        }
        Ok(None)
    }

    /// Objects and templates as they were at the root over so many batches, if it is one of the newest that this process has
    /// made.
    pub fn resources_at_root(&self, batches: u64) -> Option<PastResources> {
        self.inner.roots.resources.at(batches)
    }

    /// Waits until a signed checkpoint with a root covers this sequence; false after `timeout`.
    pub async fn wait_for_root(&self, sequence: u64, timeout: Duration) -> bool {
        let mut newest = self.inner.roots.newest.subscribe();
        let covers = newest.wait_for(|newest| newest.is_some_and(|(to, _)| to >= sequence));
        matches!(tokio::time::timeout(timeout, covers).await, Ok(Ok(_)))
    }

    /// Waits until this node can prove a checkpoint that covers this sequence; false after `timeout`. A follower may hold
    /// the leader's signature before it has made the root.
    pub async fn wait_for_proofs(&self, sequence: u64, timeout: Duration) -> bool {
        let mut provable = self.inner.roots.provable.subscribe();
        let covers = provable.wait_for(|newest| newest.is_some_and(|to| to >= sequence));
        matches!(tokio::time::timeout(timeout, covers).await, Ok(Ok(_)))
    }

    /// Waits until a new log has its first checkpoint, which takes a moment; at most `timeout`.
    ///
    /// # Errors
    /// The rows cannot be read.
    pub async fn await_first_root(&self, timeout: Duration) -> Result<(), StoreReadError> {
        let snapshot = &self.published().snapshot;
        let is_new = snapshot.roots_from()? == Some(0) && snapshot.newest_checkpoint()?.is_none();
        if self.makes_roots() && is_new && self.mode() == StoreMode::ReadWrite {
            self.wait_for_root(0, timeout).await;
        }
        Ok(())
    }

    /// When the next checkpoint with a root is expected, Unix milliseconds.
    ///
    /// # Errors
    /// The rows cannot be read.
    pub fn next_root_ms(&self) -> Result<u64, StoreReadError> {
        let interval = self.inner.options.roots.map_or(0, |roots| {
            u64::try_from(roots.interval.as_millis()).unwrap_or(u64::MAX)
        });
        let newest = self.published().snapshot.newest_checkpoint()?;
        let begun_ms = newest.map_or(0, |signed| signed.checkpoint.issued_at_ms);
        let paused_ms = self.inner.roots.next_ms.load(Ordering::Relaxed);
        let due_ms = begun_ms.saturating_add(interval).max(paused_ms);
        Ok(due_ms.max(self.now_ms()))
    }
}
