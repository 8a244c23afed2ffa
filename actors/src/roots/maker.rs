//! The maker of roots: one step at a time, on a thread that gives way to commits.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use kedge_protocol::checkpoint::{Checkpoint, SignedCheckpoint};
use kedge_protocol::log_tree;
use kedge_runtime::executor::{EnginePart, StepWait};
use kedge_storage::{
    CommitError, PastResources, SideWrite, StateError, StateRoot, StoreMode, StoreReadError,
    StoreSnapshot,
};
use metrics::{counter, gauge, histogram};
use tokio::sync::oneshot;

use super::RootOptions;
use super::kept::KeptCheckpoints;
use crate::engine::{Engine, EngineInner};
use crate::metric_definitions as metric;
use crate::pipeline::sequenced_proposal::CommitterMessage;

/// Time between looks for work.
const LOOK: Duration = Duration::from_millis(50);
/// Pause before a failed step is retried.
const AGAIN_AFTER: Duration = Duration::from_secs(2);
/// Pause before a root is tried again that needs archived parts of the log.
const ARCHIVED_AGAIN_AFTER: Duration = Duration::from_mins(10);
/// A root takes at most this part of one core: it is followed by as many times its own duration.
const PAUSE_FACTOR: u32 = 50;
/// The longest such pause.
const PAUSE_MAX: Duration = Duration::from_mins(15);
/// How long the maker works before it pauses, while commits continue.
const WORK: Duration = Duration::from_millis(2);
const PAUSE: Duration = Duration::from_micros(200);

/// Why the engine cannot go on.
#[derive(Debug, thiserror::Error)]
pub(crate) enum RootFailure {
    #[error(transparent)]
    Read(#[from] StoreReadError),
    #[error(transparent)]
    Commit(#[from] CommitError),
    /// The log holds a signed root that the rows of this node do not give.
    #[error(
        "the state after {batches} batches has the root {own} here, but the signed checkpoint has {signed}: this node's \
         rows, or the program, differ from the leader's. Run `kedge verify data`; `kedge rebuild` makes the rows again"
    )]
    Differs {
        batches: u64,
        own: kedge_protocol::Hash,
        signed: kedge_protocol::Hash,
    },
}

impl From<StateError> for RootFailure {
    fn from(error: StateError) -> Self {
        match error {
            StateError::Read(error) => Self::Read(error),
            StateError::Write(error) => Self::Commit(error),
            error @ (StateError::Order(_) | StateError::Abandoned) => {
                Self::Commit(CommitError::Failed(error.to_string()))
            }
        }
    }
}

/// Whether this copy has no root at all. It makes one on its own, before the log promises roots: a log whose first root
/// cannot be made keeps checkpoints without.
fn lacks_root(engine: &Engine) -> Result<bool, StoreReadError> {
    Ok(engine.state_snapshot().newest_root()?.is_none())
}

/// Compares this node's root with the signed one. If they are the same, the node can prove the checkpoint, and says so to
/// those who wait for that.
fn check_same(
    engine: &Engine,
    made: StateRoot,
    signed: &SignedCheckpoint,
) -> Result<(), RootFailure> {
    let checkpoint = &signed.checkpoint;
    let differs = made.root != checkpoint.state;
    gauge!(metric::ROOT_DIFFERS).set(f64::from(u8::from(differs)));
    if differs {
        return Err(RootFailure::Differs {
            batches: checkpoint.batches,
            own: made.root,
            signed: checkpoint.state,
        });
    }
    engine.inner.roots.provable.send_if_modified(|newest| {
        // No batch says which key signs for an empty log.
        let is_newer = checkpoint.batches > 0 && *newest < Some(checkpoint.sequence);
        if is_newer {
            *newest = Some(checkpoint.sequence);
        }
        is_newer
    });
    Ok(())
}

struct RootMaker {
    options: RootOptions,
    /// No step before this.
    not_before: Instant,
    /// No root is due before this, unless a caller waits for one.
    next_due: Instant,
    /// The newest checkpoint that was compared with the own root.
    compared: Option<u64>,
    /// Whether the versions that are kept are known.
    knows_kept: bool,
}

/// Starts the maker; it ends with the engine.
pub(crate) fn start(engine: &Engine, options: RootOptions) -> std::io::Result<EnginePart> {
    let inner = &engine.inner;
    if inner.store.has_writable_rows() {
        inner.store.track_state();
    }
    let weak = Arc::downgrade(inner);
    let ending = Arc::clone(&inner.ending);
    let now = inner.options.env.now();
    let maker = RootMaker {
        options,
        not_before: now,
        next_due: now,
        compared: None,
        knows_kept: false,
    };
    let running = &inner.options.running;
    inner.sink.start(running, "roots", move |waits| async move {
        maker.run(&weak, &ending, &waits).await
    })
}

impl RootMaker {
    async fn run(
        mut self,
        engine: &Weak<EngineInner>,
        ending: &AtomicBool,
        waits: &StepWait,
    ) -> Result<(), RootFailure> {
        while !ending.load(Ordering::Relaxed) {
            waits.pause(LOOK).await;
            waits.before("roots").await;
            let Some(inner) = engine.upgrade() else {
                return Ok(());
            };
            let engine = Engine { inner };
            let now = engine.inner.options.env.now();
            if now < self.not_before {
                continue;
            }
            self.step(&engine, waits).await?;
        }
        Ok(())
    }

    async fn step(&mut self, engine: &Engine, waits: &StepWait) -> Result<(), RootFailure> {
        self.compare(engine)?;
        if !engine.inner.store.has_writable_rows() {
            return Ok(());
        }
        if let Some(at) = engine.inner.roots.due.first() {
            let Some(made) = self.make(engine, &at, waits)? else {
                return Ok(());
            };
            engine.inner.roots.due.remove(&at);
            self.sign(engine, &at, made).await?;
        } else if lacks_root(engine)? {
            let at = engine.published().snapshot.clone();
            self.make(engine, &at, waits)?;
        } else if engine.leads() && self.is_due(engine)? {
            self.demand(engine).await;
        }
        Ok(())
    }

    /// Compares the newest signed root with the own one, and shows the checkpoint to those who wait for it.
    fn compare(&mut self, engine: &Engine) -> Result<(), RootFailure> {
        let snapshot = engine.state_snapshot();
        let Some(signed) = snapshot.newest_checkpoint()? else {
            return Ok(());
        };
        let checkpoint = signed.checkpoint;
        let newest = (checkpoint.sequence, checkpoint.batches);
        if engine.published().head.sequence >= checkpoint.sequence {
            engine.inner.roots.newest.send_if_modified(|seen| {
                let is_new = *seen != Some(newest);
                *seen = Some(newest);
                is_new
            });
        }
        let compared = self.compared;
        if compared == Some(checkpoint.batches) {
            return Ok(());
        }
        for signed in snapshot.checkpoints_from(compared.map_or(0, |compared| compared + 1)) {
            let signed = signed?;
            if let Some(made) = snapshot.root_at(signed.checkpoint.batches)? {
                check_same(engine, made, &signed)?;
            }
        }
        self.compared = Some(checkpoint.batches);
        self.keep(engine, &snapshot)?;
        Ok(())
    }

    /// Keeps the versions of the kept checkpoints. Returns those that may go.
    fn keep(&mut self, engine: &Engine, snapshot: &StoreSnapshot) -> Result<Vec<u64>, RootFailure> {
        let kept_ms = u64::try_from(self.options.kept.as_millis()).unwrap_or(u64::MAX);
        let now_ms = engine.now_ms();
        let may_go = |signed: &SignedCheckpoint| {
            let checkpoint = &signed.checkpoint;
            if engine.contract().is_some() {
                engine.inner.roots.may_go(checkpoint.batches)
            } else {
                now_ms.saturating_sub(checkpoint.issued_at_ms) >= kept_ms
            }
        };
        let found = KeptCheckpoints::of(snapshot, may_go)?;
        match engine.inner.store.keep_states(found.kept) {
            Err(StateError::Write(CommitError::NoSpace(why))) => {
                tracing::warn!(why, "old roots stay: the disk is full");
            }
            kept => kept?,
        }
        self.knows_kept = true;
        Ok(found.gone)
    }

    /// Whether a root is due that no frame has asked for yet.
    fn is_due(&self, engine: &Engine) -> Result<bool, StoreReadError> {
        let inner = &engine.inner;
        let published = engine.published();
        let (snapshot, batches) = (&published.snapshot, published.head.batches);
        if engine.mode() != StoreMode::ReadWrite {
            return Ok(false);
        }
        let newest = snapshot.newest_checkpoint()?;
        let signed = newest.map(|newest| newest.checkpoint.batches);
        let is_done = match snapshot.roots_from()? {
            None => !*inner.roots.may_begin.borrow(),
            Some(from) if batches < from => {
                let root = snapshot.newest_root()?;
                root.is_some_and(|root| root.batches >= batches)
            }
            Some(_) => signed >= Some(batches),
        };
        let wanted = inner.roots.wanted.load(Ordering::Relaxed);
        let is_wanted = wanted > signed.unwrap_or(0) || signed.is_none();
        Ok(!is_done && (is_wanted || inner.options.env.now() >= self.next_due))
    }

    /// Commits the frame after which the root is due.
    async fn demand(&mut self, engine: &Engine) {
        let now = engine.inner.options.env.now();
        self.next_due = now + self.options.interval;
        let leading = engine.inner.leading.load_full();
        let work = leading.as_ref().and_then(|leading| leading.work());
        let Some(work) = work else { return };
        let (done, acknowledged) = oneshot::channel();
        let sent = work.send(CommitterMessage::RootDue { done }).await;
        drop((work, leading));
        if sent.is_err() || acknowledged.await.is_err() {
            self.not_before = engine.inner.options.env.now() + AGAIN_AFTER;
        }
    }

    /// Makes the root of a snapshot; `None` if it has to be tried again.
    fn make(
        &mut self,
        engine: &Engine,
        at: &StoreSnapshot,
        waits: &StepWait,
    ) -> Result<Option<StateRoot>, RootFailure> {
        let inner = &engine.inner;
        let env = &inner.options.env;
        let begun = env.now();
        let mut since = begun;
        let mut go_on = || {
            let now = env.now();
            if now.saturating_duration_since(since) >= WORK {
                waits.pause_within(PAUSE);
                since = env.now();
            }
            !inner.ending.load(Ordering::Relaxed)
        };
        let made = match inner.store.make_state(at, &mut go_on) {
            Ok(made) => made,
            Err(StateError::Abandoned) => return Ok(None),
            Err(StateError::Write(CommitError::NoSpace(why))) => {
                tracing::warn!(why, "the state's root waits: the disk is full");
                self.not_before = env.now() + AGAIN_AFTER;
                return Ok(None);
            }
            Err(StateError::Read(error)) if error.is_for_now() => {
                tracing::warn!(%error, "the state's root waits");
                self.not_before = env.now() + AGAIN_AFTER;
                return Ok(None);
            }
            Err(StateError::Read(error @ StoreReadError::Archived { .. })) => {
                tracing::error!(
                    %error,
                    "the state's root waits: a part of the log that it is made from is archived; put the segments back"
                );
                self.not_before = env.now() + ARCHIVED_AGAIN_AFTER;
                return Ok(None);
            }
            Err(error) => return Err(error.into()),
        };
        let Some(resources) = PastResources::of(at, &mut go_on) else {
            return Ok(None);
        };
        inner.roots.resources.hold(made.batches, resources);
        let took = env.now().saturating_duration_since(begun);
        histogram!(metric::ROOT_SECONDS).record(took);
        counter!(metric::ROOTS_MADE).increment(1);
        gauge!(metric::ROOT_BATCHES).set(made.batches as f64);
        if let Some(signed) = engine.state_snapshot().checkpoint(made.batches)? {
            check_same(engine, made, &signed)?;
        }
        let pause = (took * PAUSE_FACTOR).min(PAUSE_MAX);
        let now = env.now();
        self.next_due = self.next_due.max(now + pause);
        let until_due = self.next_due.saturating_duration_since(now).as_millis();
        let next_ms = engine.now_ms().saturating_add(until_due as u64);
        engine.inner.roots.next_ms.store(next_ms, Ordering::Relaxed);
        Ok(Some(made))
    }

    /// Signs the checkpoint of a root and commits it, if this node leads. No caller sees it before.
    async fn sign(
        &mut self,
        engine: &Engine,
        at: &StoreSnapshot,
        made: StateRoot,
    ) -> Result<(), RootFailure> {
        let from = at.roots_from()?;
        let may_sign = from.is_some_and(|from| made.batches >= from);
        if !engine.leads() || !may_sign || engine.inner.store.has_unsigned_action() {
            return Ok(());
        }
        let present = engine.state_snapshot();
        let newest = present.newest_checkpoint()?;
        if newest.is_some_and(|newest| newest.checkpoint.batches >= made.batches) {
            return Ok(());
        }
        let head = at.head()?;
        let checkpoint = Checkpoint {
            batches: head.batches,
            sequence: head.sequence,
            head: head.head,
            history: log_tree::root(at, head.batches)?,
            state: made.root,
            issued_at_ms: engine.now_ms().max(head.last_sealed_at_ms),
        };
        let again = engine.inner.options.env.now() + AGAIN_AFTER;
        let signed = match engine.inner.signing.sign(&checkpoint) {
            Ok(signed) => signed,
            Err(why) => {
                tracing::warn!(%why, "no checkpoint is signed until the next batch");
                self.not_before = again;
                return Ok(());
            }
        };
        let mut writes = vec![SideWrite::Checkpoint(signed)];
        let mut gone = Vec::new();
        if self.knows_kept {
            gone = self.keep(engine, &present)?;
            let gone = gone.iter();
            writes.extend(gone.map(|batches| SideWrite::CheckpointGone { batches: *batches }));
        }
        if engine.side_writes(writes).await.is_err() {
            self.not_before = again;
        } else {
            engine.inner.roots.forget(&gone);
        }
        Ok(())
    }
}
