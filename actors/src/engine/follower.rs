//! Follower of a leader's log: frames of another node become durable here, are applied by the function that a start
//! uses, and are published like this node's own.

use std::sync::Arc;

use kedge_protocol::Address;
use kedge_replay::apply::{ApplyError, LogApplier};
use kedge_replay::frame_hashes::HashedFrame;
use kedge_storage::{
    CodecError, CommitError, FrameError, LogPosition, StoreReadError, StoreSnapshot, StoredFrame,
    WriteGroup,
};

use super::Engine;
use crate::metric_definitions as metric;
use crate::pipeline::published_state::PublishedState;

/// Resources kept in memory before they are read from the store again.
const REMEMBERED_MAX: usize = 200_000;

/// Reason why a frame of another node was not followed.
#[derive(Debug, thiserror::Error)]
pub enum FollowError {
    /// The frame or its rows could not be written.
    #[error("a frame of the log could not be stored: {0}")]
    Commit(#[from] CommitError),
    #[error("a frame of the log cannot be read: {0}")]
    Frame(#[from] FrameError),
    /// The rules do not give what the frame states.
    #[error("frame {frame} of the log cannot be applied: {error}")]
    Apply { frame: u64, error: ApplyError },
    #[error("the store could not be read: {0}")]
    Read(#[from] StoreReadError),
    /// The mark of released headers could not be written.
    #[error("the high-water mark of released headers could not be written: {0}")]
    HighWater(#[from] std::io::Error),
}

/// Applies another node's frames to an engine that does not lead. At most one exists, and none while the engine leads.
pub struct LogFollower {
    engine: Engine,
    apply: LogApplier,
    /// Whether a frame since the last write says that a root of the state is due.
    is_root_due: bool,
}

impl LogFollower {
    /// Continues where the engine's log ends.
    ///
    /// # Errors
    /// [`FollowError`] if the state cannot be read.
    pub fn new(engine: &Engine) -> Result<Self, FollowError> {
        let store = Arc::clone(&engine.inner.store);
        let apply = LogApplier::over(store.snapshot());
        let apply = apply.map_err(|error| FollowError::Apply { frame: 0, error })?;
        let mut follower = Self {
            engine: engine.clone(),
            apply,
            is_root_due: false,
        };
        // Frames that a former leader wrote to the log and did not apply.
        store.sync()?;
        let unapplied = store.unapplied()?;
        if let Some(position) = store.log_position().filter(|_| !unapplied.is_empty()) {
            for frame in unapplied {
                follower.apply(frame)?;
            }
            follower.write(&position)?;
        }
        Ok(follower)
    }

    /// Makes frames durable with one sync, applies them and publishes the state after the last one. Returns how many it
    /// followed: fewer than all if the disk is full. It blocks on the disk, so the calling thread must be one that may
    /// wait.
    ///
    /// # Errors
    /// [`FollowError`]. After [`CommitError::NoSpace`] nothing has changed; after any other the engine must not
    /// continue, because its rows may lag its log.
    pub fn follow<B: AsRef<[u8]>>(&mut self, frames: &[B]) -> Result<usize, FollowError> {
        let store = Arc::clone(&self.engine.inner.store);
        let mut appended: Vec<LogPosition> = Vec::with_capacity(frames.len());
        for frame in frames {
            match store.append_stored(frame.as_ref()) {
                Ok(position) => appended.push(position),
                Err(CommitError::NoSpace(_)) if !appended.is_empty() => break,
                Err(error) => return Err(error.into()),
            }
        }
        let Some(last) = appended.last() else {
            return Ok(0);
        };
        store.sync_through(last)?;
        for (frame, position) in frames.iter().zip(&appended) {
            self.apply(StoredFrame::read(frame.as_ref().to_vec())?)?;
            // The root is that of the state after this very frame.
            if self.is_root_due || position == last {
                self.write(position)?;
            }
        }
        Ok(appended.len())
    }

    /// Writes the applied rows, up to the frame at this position, and publishes them.
    fn write(&mut self, position: &LogPosition) -> Result<(), FollowError> {
        let store = Arc::clone(&self.engine.inner.store);
        let rows = self.apply.take_rows();
        let mut rows = rows.map_err(|error| FollowError::Apply {
            frame: position.frame,
            error,
        })?;
        let snapshot = store.apply(&rows, position)?;
        store.index(&rows.take_action_ids());
        if std::mem::take(&mut self.is_root_due) {
            self.engine.inner.roots.due.add(&snapshot);
        }
        if self.apply.remembered() >= REMEMBERED_MAX {
            self.apply.rest_on(snapshot.clone());
        }
        self.publish(snapshot)
    }

    /// Names the key that signs from batch 0 on, in a log that has no batch yet. The log must be this node's to extend.
    ///
    /// # Errors
    /// As [`Self::follow`].
    pub fn name_first_key(self, key: Address) -> Result<(), FollowError> {
        let snapshot = self.engine.inner.store.name_first_key(key)?;
        self.publish(snapshot)
    }

    fn apply(&mut self, frame: StoredFrame) -> Result<(), FollowError> {
        let store = &self.engine.inner.store;
        let number = frame.header().number;
        let refused = |error: ApplyError| FollowError::Apply {
            frame: number,
            error,
        };
        let coded = |error: CodecError| refused(error.into());
        let hashed = HashedFrame::of(frame).map_err(refused)?;
        let entries = store.side(&hashed.frame)?;
        if let Some(operators) = WriteGroup::operators_in(&entries).map_err(coded)? {
            self.apply.set_operators(operators);
        }
        self.is_root_due |= WriteGroup::root_due_in(&entries);
        self.apply.frame(&hashed).map_err(refused)?;
        self.apply.side_entries(&entries).map_err(coded)
    }

    fn publish(&self, snapshot: StoreSnapshot) -> Result<(), FollowError> {
        let inner = &self.engine.inner;
        let head = snapshot.head()?;
        inner.store.release(&head)?;
        let keys = snapshot.sequencer_keys()?;
        inner.published.store(Arc::new(PublishedState {
            head,
            // A frame does not state whether it changed a key, so cached key data counts as outdated.
            keys_changed_at: head.sequence,
            snapshot,
        }));
        inner.signing.reset(keys);
        inner.reader.catalog().forget_templates();
        inner.visible.send_replace(head.sequence);
        if !inner.listeners.is_empty() {
            inner.listeners.notify_all();
        }
        metrics::gauge!(metric::CHAIN_SEQUENCE).set(head.sequence as f64);
        metrics::gauge!(metric::CHAIN_BATCHES).set(head.batches as f64);
        Ok(())
    }
}
