//! Runs of new seeds within a time limit.

use std::fmt::Display;
use std::process::Command;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use kedge_sim::{SimulationPlan, Violation};

/// Concurrent seeds: the number of processors of the suite's machine.
const THREADS: usize = 2;
/// Held by the test that runs new seeds: another one would take half of its time.
static TURN: Mutex<()> = Mutex::new(());

fn variable(name: &str) -> Option<u64> {
    let text = std::env::var(name).ok()?;
    Some(
        text.parse()
            .unwrap_or_else(|_| panic!("{name}={text} is no number")),
    )
}

/// A number derived from the commit; `None` outside a repository.
fn of_the_commit() -> Option<u64> {
    let folder = env!("CARGO_MANIFEST_DIR");
    let git = Command::new("git")
        .args(["-C", folder, "rev-parse", "HEAD"])
        .output();
    let text = String::from_utf8(git.ok()?.stdout).ok()?;
    u64::from_str_radix(text.get(..12)?, 16).ok()
}

/// Runs new seeds for so many seconds, or `SIM_SECONDS`. The first one is `SIM_SEED`. Without both variables it follows
/// from the commit, so that a commit's tests try the same seeds each time, and each change gets new ones. With
/// `SIM_SECONDS` alone it follows from the time.
pub(crate) fn run_new<R: Display>(
    seconds: u64,
    run: impl Fn(&SimulationPlan) -> Result<R, Violation> + Sync,
) {
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    let asked = variable("SIM_SECONDS");
    let until = Instant::now() + Duration::from_secs(asked.unwrap_or(seconds));
    let of_time = || {
        let now = SystemTime::now().duration_since(UNIX_EPOCH);
        now.unwrap().as_millis() as u64
    };
    let of_commit = of_the_commit().filter(|_| asked.is_none());
    let first = variable("SIM_SEED").or(of_commit).unwrap_or_else(of_time);
    eprintln!("from seed {first} on");
    let (next, found) = (AtomicU64::new(first), Mutex::new(Vec::new()));
    thread::scope(|scope| {
        for _ in 0..THREADS {
            scope.spawn(|| {
                while Instant::now() < until && found.lock().unwrap().is_empty() {
                    let seed = next.fetch_add(1, Ordering::Relaxed);
                    match run(&SimulationPlan::of(seed)) {
                        Ok(report) => eprintln!("{report}"),
                        Err(violation) => {
                            let text = format!("seed {seed}: {violation}");
                            found.lock().unwrap().push(text);
                        }
                    }
                }
            });
        }
    });
    let count = next.into_inner() - first;
    let found = found.into_inner().unwrap();
    assert!(found.is_empty(), "of {count} seeds: {found:#?}");
    assert!(count > 0, "no time for a seed");
}
