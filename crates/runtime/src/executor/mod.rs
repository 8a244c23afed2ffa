//! Execution of the engine's parts: on threads, or as tasks in a chosen order. In the server each part of the commit
//! path has its own thread, and the actors share some; a part that waits blocks its thread. In a simulator all parts
//! are tasks on the caller's runtime, which has one thread and a clock that advances only when no task can run: the
//! same loops and steps, in an order that the simulator's [`StepSchedule`] chooses (adr/0025).

mod actor_threads;
mod coroutine;

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::thread::JoinHandle;
use std::time::Duration;

use tokio::runtime::Handle;
use tokio::sync::{mpsc, watch};
use tokio::task::JoinError;

pub use actor_threads::ActorThreads;
pub use coroutine::block_on;

use coroutine::Coroutine;

/// Polling interval of a task that waits for a number.
const LOOK: Duration = Duration::from_millis(1);

/// Execution of the engine's parts.
#[derive(Clone)]
pub enum EngineRuntime {
    /// One thread for each part of the commit path, and shared ones for the actors.
    Threads {
        /// Number of the actors' threads, at least one.
        actors: usize,
    },
    /// Tasks on the caller's runtime. It must have one thread: a task that waits for another one must not block it.
    Tasks(Arc<dyn StepSchedule>),
}

impl fmt::Debug for EngineRuntime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Threads { .. } => "Threads",
            Self::Tasks(_) => "Tasks",
        })
    }
}

/// Chooses the order in which tasks take their steps.
pub trait StepSchedule: Send + Sync {
    /// Delay before the next step of a part: an actor's next message, or a step of the commit path. May panic, like the
    /// part's code itself.
    fn before(&self, part: &'static str) -> StepDelay;

    /// Whether a part may block in the middle of a step, like the log that several nodes share. It then takes turns
    /// with the runtime (`coroutine.rs`).
    fn may_block(&self, _part: &'static str) -> bool {
        false
    }
}

/// Delay before a step.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum StepDelay {
    None,
    /// Runnable tasks run first, this many times.
    Turns(u32),
    /// This much time passes.
    Time(Duration),
}

/// The schedule of the engine's tasks; `None` with threads.
#[derive(Clone, Default)]
pub struct StepScheduler(Option<Arc<dyn StepSchedule>>);

impl StepScheduler {
    /// Whether a simulator chooses the order of the tasks.
    pub fn are_chosen(&self) -> bool {
        self.0.is_some()
    }

    /// Waits until a number is reached; false if its sender is gone. The runtime wakes the waiters of one value in an
    /// order that no seed controls, so each task polls instead.
    pub async fn reach(&self, number: &watch::Receiver<u64>, least: u64) -> bool {
        while *number.borrow() < least {
            if number.has_changed().is_err() {
                return false;
            }
            tokio::time::sleep(LOOK).await;
        }
        true
    }

    /// Waits until a value changes; false if its sender is gone. Tasks poll, as in [`Self::reach`].
    pub async fn changed<T>(&self, value: &mut watch::Receiver<T>) -> bool {
        if self.0.is_none() {
            return value.changed().await.is_ok();
        }
        loop {
            match value.has_changed() {
                Ok(true) => {
                    value.mark_unchanged();
                    return true;
                }
                Ok(false) => tokio::time::sleep(LOOK).await,
                Err(_) => return false,
            }
        }
    }

    /// Delays a step of a part as the schedule says.
    pub async fn before(&self, part: &'static str) {
        let Some(schedule) = &self.0 else { return };
        match schedule.before(part) {
            StepDelay::None => {}
            StepDelay::Turns(count) => YieldTurns(count).await,
            StepDelay::Time(time) => tokio::time::sleep(time).await,
        }
    }
}

/// Lets other tasks run first. Tokio's own yield waits until nothing else can run.
struct YieldTurns(u32);

impl Future for YieldTurns {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        if self.0 == 0 {
            return Poll::Ready(());
        }
        self.0 -= 1;
        context.waker().wake_by_ref();
        Poll::Pending
    }
}

/// The way in which a part waits.
pub enum StepWait {
    /// The part's thread is blocked.
    Thread,
    /// The part is a task.
    Task(StepScheduler),
}

impl StepWait {
    /// Waits for the part's turn to take its next step.
    pub async fn before(&self, part: &'static str) {
        if let Self::Task(turns) = self {
            turns.before(part).await;
        }
    }

    pub async fn pause(&self, time: Duration) {
        match self {
            Self::Thread => std::thread::sleep(time),
            Self::Task(_) => tokio::time::sleep(time).await,
        }
    }

    /// Waits in the middle of a step, which only a thread can.
    pub fn pause_within(&self, time: Duration) {
        if let Self::Thread = self {
            std::thread::sleep(time);
        }
    }

    /// Receives the next message; `None` once the senders are gone.
    pub async fn receive<T>(&self, from: &mut mpsc::UnboundedReceiver<T>) -> Option<T> {
        match self {
            Self::Thread => from.blocking_recv(),
            Self::Task(_) => from.recv().await,
        }
    }

    /// [`Self::receive`] for a bounded channel.
    pub async fn receive_bounded<T>(&self, from: &mut mpsc::Receiver<T>) -> Option<T> {
        match self {
            Self::Thread => from.blocking_recv(),
            Self::Task(_) => from.recv().await,
        }
    }
}

/// Handle of a running part.
pub enum EnginePart {
    /// A dedicated thread.
    Thread(JoinHandle<()>),
    /// The task that watches the part's task.
    Task(tokio::task::JoinHandle<()>),
}

impl EnginePart {
    /// Waits for the part's end. A failure was reported when it happened.
    pub async fn ended(self) {
        match self {
            thread @ Self::Thread(_) => {
                // A panic was reported when it happened.
                let joined = tokio::task::spawn_blocking(|| blocking(thread.joined()));
                let _ = joined.await;
            }
            task @ Self::Task(_) => task.joined().await,
        }
    }

    /// [`Self::ended`] for a caller that is a part itself: its thread may be blocked.
    pub async fn joined(self) {
        let _ = match self {
            Self::Thread(thread) => thread.join().is_ok(),
            Self::Task(task) => task.await.is_ok(),
        };
    }
}

impl EngineRuntime {
    /// The schedule for actors.
    pub fn turns(&self) -> StepScheduler {
        match self {
            Self::Threads { .. } => StepScheduler::default(),
            Self::Tasks(schedule) => StepScheduler(Some(Arc::clone(schedule))),
        }
    }

    /// Runs work that may block its thread.
    ///
    /// # Errors
    /// The work panicked.
    pub async fn blocking<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, JoinError> {
        match self {
            Self::Threads { .. } => tokio::task::spawn_blocking(work).await,
            Self::Tasks(_) => {
                let work = async {
                    let part = Coroutine::start(work);
                    let done = part
                        .unwrap_or_else(|error| resume_unwind(Box::new(error)))
                        .await;
                    done.unwrap_or_else(|panic| resume_unwind(panic))
                };
                tokio::spawn(work).await
            }
        }
    }

    /// Starts a part. `ended` gets its result or panic as soon as it ends.
    pub fn start<E, F>(
        &self,
        name: &'static str,
        run: impl FnOnce(StepWait) -> F + Send + 'static,
        ended: impl FnOnce(Result<Result<(), E>, PartPanic>) + Send + 'static,
    ) -> std::io::Result<EnginePart>
    where
        E: Send + 'static,
        F: Future<Output = Result<(), E>> + Send + 'static,
    {
        match self {
            Self::Threads { .. } => {
                let run = move || {
                    let run = AssertUnwindSafe(|| blocking(run(StepWait::Thread)));
                    ended(catch_unwind(run).map_err(|_| PartPanic));
                };
                let thread = std::thread::Builder::new().name(name.into());
                thread.spawn(run).map(EnginePart::Thread)
            }
            Self::Tasks(schedule) => {
                let waits = StepWait::Task(self.turns());
                let task = if schedule.may_block(name) {
                    let runtime = Handle::current();
                    let work = move || block_on(&runtime, run(waits));
                    let part = Coroutine::start(work)?;
                    tokio::spawn(async { part.await.unwrap_or_else(|panic| resume_unwind(panic)) })
                } else {
                    tokio::spawn(run(waits))
                };
                let watched = async move { ended(task.await.map_err(|_| PartPanic)) };
                Ok(EnginePart::Task(tokio::spawn(watched)))
            }
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PartPanic;

/// Runs a future that waits by blocking its thread.
fn blocking<F: Future>(run: F) -> F::Output {
    let mut run = pin!(run);
    let mut context = Context::from_waker(Waker::noop());
    loop {
        // The future is never pending: every wait blocks.
        if let Poll::Ready(done) = run.as_mut().poll(&mut context) {
            return done;
        }
    }
}
