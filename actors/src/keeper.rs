//! A thread for upkeep while commits continue: it brings recent rows to RocksDB, each once and all in one piece, before
//! they fill their memory or a start would have too much to apply. It makes the file for the log's next segment ahead
//! of time and compresses closed segments.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Weak};
use std::thread::JoinHandle;
use std::time::Duration;

use kedge_env::Env;
use kedge_storage::{CommitError, Store};

use crate::disk::{Disk, Stuck};
use crate::failure::FailureSink;

/// How often it checks whether there is work.
const INTERVAL: Duration = Duration::from_millis(50);
/// The thread's nice value. If the processor is busy all the time, closed segments stay raw for longer.
const NICE: i32 = 10;
/// How long after a failed step it is tried again.
const AGAIN_AFTER: Duration = Duration::from_secs(5);

/// Starts the thread; it ends with the engine, or the store.
pub(crate) fn start(
    store: &Arc<Store>,
    disk: Disk,
    env: Arc<dyn Env>,
    ending: Arc<AtomicBool>,
    failed: FailureSink,
) -> std::io::Result<JoinHandle<()>> {
    let store = Arc::downgrade(store);
    let named = std::thread::Builder::new().name("keeper".into());
    named.spawn(move || {
        give_way();
        failed.watch("keeper", || run(&store, &disk, &*env, &ending));
    })
}

/// Its work can wait: it uses the processor when little else wants it.
fn give_way() {
    let thread = rustix::thread::gettid();
    if let Err(error) = rustix::process::setpriority_process(Some(thread), NICE) {
        tracing::debug!(%error, "the keeper's priority could not be lowered");
    }
}

fn run(
    store: &Weak<Store>,
    disk: &Disk,
    env: &dyn Env,
    ending: &AtomicBool,
) -> Result<(), CommitError> {
    let mut stuck = Stuck::default();
    let mut not_before = env.now();
    while !ending.load(Ordering::Relaxed) {
        std::thread::sleep(INTERVAL);
        if env.now() < not_before {
            continue;
        }
        loop {
            let Some(store) = store.upgrade() else {
                return Ok(());
            };
            match store.maintain() {
                Ok(true) => {}
                Ok(false) => {
                    stuck.over();
                    break;
                }
                // Commits continue meanwhile: an append makes the next file itself, and a closed segment is read raw.
                Err(CommitError::NoSpace(why)) => {
                    tracing::warn!(why, "the log's upkeep waits: the disk is full");
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
