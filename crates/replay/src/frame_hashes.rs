//! Hashes of a frame. They need no state, so a thread computes them while an earlier frame is applied.

use std::sync::mpsc::{Receiver, sync_channel};
use std::thread::Scope;

use kedge_protocol::Hash;
use kedge_protocol::batch::SignedBatch;
use kedge_protocol::chain::LogLeaf;
use kedge_protocol::merkle::BatchTree;
use kedge_storage::{StoreOpenError, StoredFrame};

use crate::apply::{ApplyError, LogApplier};

/// Frames that may wait to be applied: a frame has at most some tens of megabytes.
const AHEAD_MAX: usize = 4;

/// A frame, and the hashes of its actions and batches.
pub struct HashedFrame {
    pub frame: StoredFrame,
    /// Leaf preimages of each request.
    placed: Vec<Vec<LogLeaf>>,
    batches: Vec<HashedBatch>,
}

struct HashedBatch {
    sealed: SignedBatch,
    /// Whether the leaves match the signed root.
    is_signed: bool,
    /// Number of its requests.
    requests: usize,
    leaves: Vec<Hash>,
}

impl HashedFrame {
    /// Hashes a frame.
    ///
    /// # Errors
    /// [`ApplyError`] if the frame is damaged.
    pub fn of(frame: StoredFrame) -> Result<Self, ApplyError> {
        let mut placed = Vec::new();
        let mut batches = Vec::new();
        let mut sealed = frame.batches()?.into_iter();
        let mut next = sealed.next();
        let (mut leaves, mut requests) = (Vec::new(), 0);
        for request in frame.requests()? {
            let record = request.into_record()?;
            let made_of = record.placed(&record.hashes());
            leaves.extend(LogLeaf::hash_each(&made_of));
            placed.push(made_of);
            requests += 1;
            let is_last = |of: &SignedBatch| record.last_sequence() >= of.header.last_sequence();
            if let Some(sealed_one) = next.take_if(|of| is_last(of)) {
                batches.push(HashedBatch {
                    is_signed: BatchTree::new(&leaves).root() == sealed_one.header.root,
                    sealed: sealed_one,
                    requests: std::mem::take(&mut requests),
                    leaves: std::mem::take(&mut leaves),
                });
                next = sealed.next();
            }
        }
        if next.is_some() || requests > 0 {
            return Err(ApplyError::Frame(
                "its batches do not end where its requests do".to_owned(),
            ));
        }
        Ok(Self {
            frame,
            placed,
            batches,
        })
    }
}

impl LogApplier {
    /// Applies the requests and batches of the log's next frame.
    ///
    /// # Errors
    /// [`ApplyError`] if the rules do not produce the frame's records, or its requests do not match the signed root.
    pub fn frame(&mut self, hashed: &HashedFrame) -> Result<(), ApplyError> {
        self.frame_by_batch(hashed, |_, _| Ok::<(), ApplyError>(()))
    }

    /// [`Self::frame`], which calls `each` after every batch, with the number of batches so far.
    ///
    /// # Errors
    /// Those of [`Self::frame`] and of `each`.
    pub fn frame_by_batch<E: From<ApplyError>>(
        &mut self,
        hashed: &HashedFrame,
        mut each: impl FnMut(&mut Self, u64) -> Result<(), E>,
    ) -> Result<(), E> {
        let requests = hashed.frame.requests().map_err(ApplyError::from)?;
        let mut requests = requests.into_iter().zip(&hashed.placed);
        for batch in &hashed.batches {
            for (request, placed) in requests.by_ref().take(batch.requests) {
                let record = request.into_record().map_err(ApplyError::from)?;
                self.request(&record, placed)?;
            }
            // After the rules, because they know which action differs.
            if !batch.is_signed {
                let number = batch.sealed.header.number;
                let what =
                    format!("the requests of batch {number} do not lead to its header's root");
                return Err(ApplyError::Frame(what).into());
            }
            self.batch(&batch.sealed, &batch.leaves)?;
            each(self, batch.sealed.header.number + 1)?;
        }
        Ok(())
    }
}

/// Hashes frames on another thread. It ends after the last frame, after an error, and when the receiver is gone.
pub(crate) fn ahead<'scope>(
    scope: &'scope Scope<'scope, '_>,
    frames: impl Iterator<Item = Result<StoredFrame, StoreOpenError>> + Send + 'scope,
) -> std::io::Result<Receiver<Result<HashedFrame, StoreOpenError>>> {
    let (sender, receiver) = sync_channel(AHEAD_MAX);
    let hash = move || {
        for frame in frames {
            let hashed = frame.and_then(|frame| {
                let number = frame.header().number;
                HashedFrame::of(frame).map_err(|error| error.in_frame(number))
            });
            let is_last = hashed.is_err();
            if sender.send(hashed).is_err() || is_last {
                return;
            }
        }
    };
    let named = std::thread::Builder::new().name("hash-ahead".into());
    named.spawn_scoped(scope, hash)?;
    Ok(receiver)
}
