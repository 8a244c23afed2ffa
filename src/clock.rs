//! The time of day, as the edge needs it: for deadlines of signatures and tokens.

use std::sync::{Arc, OnceLock};
use std::time::{SystemTime, UNIX_EPOCH};

use kedge_actors::timekeeper::Timekeeper;

/// Who keeps the time of a server; a command goes by the system's clock.
static KEEPER: OnceLock<Arc<Timekeeper>> = OnceLock::new();

/// From now on this one keeps the process's time: while the clock is not believed, tokens and
/// deadlines go by what the time should be. The first one stays.
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
