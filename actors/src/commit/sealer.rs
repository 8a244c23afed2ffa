//! Maintenance threads, which work while commits continue. The flusher writes recent rows to RocksDB, each once and all
//! in one piece, before they fill their memory or a start would have too much to apply. The preparer makes the file of
//! the log's next segment ahead of time. The sealer compresses closed segments.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use kedge_runtime::env::Env;
use kedge_runtime::executor::{EnginePart, EngineRuntime, StepWait};
use kedge_storage::{CommitError, Store};

use super::disk::{DiskStall, StoreDisk};
use crate::failure::FailureSink;

/// Time between looks for work.
const INTERVAL: Duration = Duration::from_millis(50);
/// The sealer's nice value. While the processor is busy, closed segments stay raw for longer.
const NICE: i32 = 10;
/// How long the sealer works before it pauses. Low priority alone does not make room: the sealer was measured at half a
/// core to a whole one for a second while request threads waited.
const WORK: Duration = Duration::from_micros(500);
const PAUSE: Duration = Duration::from_millis(2);
/// Number of waiting closed segments above which the sealer does not pause.
const WAITING_MAX: usize = 2;
/// Pause before a failed step is retried.
const AGAIN_AFTER: Duration = Duration::from_secs(5);

/// The maintenance threads of a store.
pub(crate) struct StoreThreads {
    flusher: EnginePart,
    preparer: EnginePart,
    sealer: EnginePart,
}

/// One step of a thread; returns whether there may be more to do right away. It calls the closure after each small
/// part, with the number of closed segments that wait.
type UpkeepStep = fn(&Store, &mut dyn FnMut(usize)) -> Result<bool, CommitError>;

/// Starts the threads; they end with the engine or the store. Flusher and preparer have the priority of commits,
/// because commits wait once the rows' memory is full, and the writer must make the next segment's file itself if it is
/// missing.
pub(crate) fn start(
    store: &Arc<Store>,
    disk: &StoreDisk,
    env: &Arc<dyn Env>,
    ending: &Arc<AtomicBool>,
    failed: &FailureSink,
    running: &EngineRuntime,
) -> std::io::Result<StoreThreads> {
    let spawn = |name: &'static str, step: UpkeepStep, gives_way: bool| {
        let (store, ending) = (Arc::downgrade(store), Arc::clone(ending));
        let (disk, env) = (disk.clone(), Arc::clone(env));
        failed.start(running, name, move |waits| async move {
            if gives_way && matches!(waits, StepWait::Thread) {
                give_way();
            }
            run(name, step, &store, &disk, &*env, (&ending, &waits)).await
        })
    };
    let flush: UpkeepStep = |store, _| store.flush_gathered().map(|()| false);
    let prepare: UpkeepStep = |store, _| store.prepare().map(|()| false);
    Ok(StoreThreads {
        flusher: spawn("flusher", flush, false)?,
        preparer: spawn("preparer", prepare, false)?,
        sealer: spawn("sealer", Store::maintain, true)?,
    })
}

impl StoreThreads {
    /// Waits until all have ended.
    pub(crate) async fn ended(self) {
        // The next start finishes their work.
        self.flusher.ended().await;
        self.preparer.ended().await;
        self.sealer.ended().await;
    }
}

/// Lowers the thread's priority, because its work can wait.
fn give_way() {
    let thread = rustix::thread::gettid();
    if let Err(error) = rustix::process::setpriority_process(Some(thread), NICE) {
        tracing::debug!(%error, "the sealer's priority could not be lowered");
    }
}

/// Pauses between two small parts of the work, as long as few segments wait.
fn between(waiting: usize, since: &mut Instant, env: &dyn Env, waits: &StepWait) {
    if env.now().saturating_duration_since(*since) < WORK {
        return;
    }
    if waiting <= WAITING_MAX {
        waits.pause_within(PAUSE);
    }
    *since = env.now();
}

async fn run(
    name: &'static str,
    step: UpkeepStep,
    store: &Weak<Store>,
    disk: &StoreDisk,
    env: &dyn Env,
    (ending, waits): (&AtomicBool, &StepWait),
) -> Result<(), CommitError> {
    let mut stuck = DiskStall::default();
    let mut not_before = env.now();
    while !ending.load(Ordering::Relaxed) {
        waits.pause(INTERVAL).await;
        waits.before(name).await;
        if env.now() < not_before {
            continue;
        }
        loop {
            let Some(store) = store.upgrade() else {
                return Ok(());
            };
            let mut since = env.now();
            match step(&store, &mut |waiting| {
                between(waiting, &mut since, env, waits);
            }) {
                Ok(true) => {}
                Ok(false) => {
                    stuck.over();
                    break;
                }
                // Commits continue meanwhile: an append makes the next file itself, and a closed segment is read raw.
                Err(CommitError::NoSpace(why)) => {
                    tracing::warn!(why, "the store's upkeep waits: the disk is full");
                    stuck.note(disk, &why, env.now())?;
                    not_before = env.now() + AGAIN_AFTER;
                    break;
                }
                Err(error) => return Err(error),
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicUsize;

    use kedge_runtime::env::simulated::SimulatedEnv;

    use super::*;
    use crate::commit::writer::tests::bench::Bench;
    use crate::failure;

    /// Number of calls.
    static TAKEN: AtomicUsize = AtomicUsize::new(0);

    /// Finds no room the first time.
    fn step(_: &Store, _: &mut dyn FnMut(usize)) -> Result<bool, CommitError> {
        match TAKEN.fetch_add(1, Ordering::Relaxed) {
            0 => Err(CommitError::NoSpace("full".into())),
            _ => Ok(false),
        }
    }

    #[test]
    fn a_step_without_room_is_taken_again_after_a_while_until_the_engine_ends() {
        let folder = tempfile::tempdir().unwrap();
        let env = SimulatedEnv::new();
        let store = Bench::new(folder.path(), &env, 0).store;
        let weak = Arc::downgrade(&store);
        let disk = StoreDisk::new(Arc::new(env.clone()), folder.path(), 0);
        let ending = AtomicBool::new(false);
        let taken = || TAKEN.load(Ordering::Relaxed);
        let reaches = |least| {
            let begun = Instant::now();
            while taken() < least && begun.elapsed() < Duration::from_secs(20) {
                std::thread::sleep(Duration::from_millis(5));
            }
            taken() >= least
        };
        std::thread::scope(|scope| {
            let thread = scope.spawn(|| {
                let runtime = tokio::runtime::Builder::new_current_thread().build();
                let parts = (&ending, &StepWait::Thread);
                let run = run("sealer", step, &weak, &disk, &env, parts);
                runtime.unwrap().block_on(run)
            });
            let is_taken = reaches(1);
            env.advance(AGAIN_AFTER / 2);
            std::thread::sleep(INTERVAL * 4);
            let meanwhile = taken();
            env.advance(AGAIN_AFTER / 2);
            let goes_on = reaches(3);
            // The thread has to end whatever the result.
            ending.store(true, Ordering::Relaxed);
            thread.join().unwrap().unwrap();
            assert_eq!((is_taken, meanwhile, goes_on), (true, 1, true));
        });
    }

    #[tokio::test]
    async fn once_they_have_ended_they_hold_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let env = SimulatedEnv::new();
        let store = Bench::new(folder.path(), &env, 0).store;
        let env: Arc<dyn Env> = Arc::new(env);
        let disk = StoreDisk::new(Arc::clone(&env), folder.path(), 0);
        let held = Arc::strong_count(&env);
        let ending = Arc::new(AtomicBool::new(false));
        let (failed, _) = failure::channel();
        let running = EngineRuntime::Threads { actors: 1 };
        let keepers = start(&store, &disk, &env, &ending, &failed, &running).unwrap();
        assert!(Arc::strong_count(&env) > held);
        ending.store(true, Ordering::Relaxed);
        keepers.ended().await;
        assert_eq!(Arc::strong_count(&env), held);
        assert_eq!(Arc::strong_count(&store), 1);
    }
}
