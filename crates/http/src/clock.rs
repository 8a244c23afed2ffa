//! The time of day, as the edge needs it: for deadlines of signatures and tokens.

use std::sync::{Arc, OnceLock};
use std::time::{SystemTime, UNIX_EPOCH};

use kedge_actors::timekeeper::Timekeeper;

/// Keeps the time of a server; a command uses the system's clock.
static KEEPER: OnceLock<Arc<Timekeeper>> = OnceLock::new();

/// Sets the process's timekeeper: while the clock is not trusted, tokens and deadlines use the
/// expected time. The first timekeeper stays.
pub fn keep(keeper: Arc<Timekeeper>) {
    KEEPER.get_or_init(|| keeper);
}

/// Milliseconds since the Unix epoch.
pub fn now_ms() -> u64 {
    if let Some(keeper) = KEEPER.get() {
        return keeper.now_ms();
    }
    let since = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

/// Seconds since the Unix epoch.
pub fn now_s() -> u64 {
    now_ms() / 1000
}
