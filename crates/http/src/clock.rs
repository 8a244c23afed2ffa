//! Wall clock for deadlines of signatures and tokens.

use std::sync::{Arc, OnceLock};
use std::time::{SystemTime, UNIX_EPOCH};

use kedge_actors::timekeeper::Timekeeper;

/// Clock of a server; commands use the system's.
static KEEPER: OnceLock<Arc<Timekeeper>> = OnceLock::new();

/// Sets the process's timekeeper: while the clock is not trusted, tokens and deadlines use the expected time. Further
/// calls change nothing.
pub fn keep(keeper: Arc<Timekeeper>) {
    KEEPER.get_or_init(|| keeper);
}

pub fn now_ms() -> u64 {
    if let Some(keeper) = KEEPER.get() {
        return keeper.now_ms();
    }
    let since = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

pub fn now_s() -> u64 {
    now_ms() / 1000
}
