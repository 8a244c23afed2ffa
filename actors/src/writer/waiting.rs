//! A step of a commit that waits, and says so in the log as often as it helps.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use kedge_storage::{CommitError, Store};

/// How long it waits before it tries a full disk again.
const NO_SPACE_PAUSE: Duration = Duration::from_millis(250);
/// How long it waits before it tries a store again that takes no commits for now.
const SUSPENDED_PAUSE: Duration = Duration::from_secs(1);
/// A step that still waits for the same reason is logged again after so long.
const LOG_AGAIN_AFTER: Duration = Duration::from_mins(1);

/// A step that waits for room on the disk, or for the store to take commits again.
#[derive(Default)]
pub(super) struct Waiting(Delay);

impl Waiting {
    /// Waits after an error that is no failure.
    pub(super) fn wait(
        &mut self,
        error: CommitError,
        store: &Store,
        disk_full: &AtomicBool,
    ) -> Result<(), CommitError> {
        match error {
            CommitError::NoSpace(why) => {
                if self.0.is_due(Reason::NoSpace, Instant::now()) {
                    tracing::error!(why, "the disk is full; the commit waits for room");
                }
                disk_full.store(true, Ordering::Relaxed);
                std::thread::sleep(NO_SPACE_PAUSE);
                Ok(())
            }
            CommitError::ReadOnly(why) if store.is_suspended() => {
                if self.0.is_due(Reason::Suspended, Instant::now()) {
                    tracing::error!(why, "the store takes no commits; what was placed waits");
                }
                std::thread::sleep(SUSPENDED_PAUSE);
                Ok(())
            }
            error => Err(error),
        }
    }

    /// The step is done.
    pub(super) fn ended(self) {
        if let Some(waited) = self.0.ended(Instant::now()) {
            let waited_s = waited.as_secs();
            tracing::warn!(waited_s, "the commit that waited is written");
        }
    }
}

/// Why a group is not written yet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Reason {
    NoSpace,
    Suspended,
}

/// How long a group has been waiting to be written, and when that was logged.
#[derive(Default)]
struct Delay {
    began: Option<Instant>,
    logged: Option<(Reason, Instant)>,
}

impl Delay {
    /// The group waits. Whether that is to be logged: when it begins, when the reason is another one, and then once a
    /// minute.
    fn is_due(&mut self, reason: Reason, now: Instant) -> bool {
        self.began.get_or_insert(now);
        let is_known = self.logged.is_some_and(|(logged, at)| {
            logged == reason && now.saturating_duration_since(at) < LOG_AGAIN_AFTER
        });
        if !is_known {
            self.logged = Some((reason, now));
        }
        !is_known
    }

    /// The group is written; how long it waited, if it did.
    fn ended(self, now: Instant) -> Option<Duration> {
        self.began.map(|began| now.saturating_duration_since(began))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wait_is_logged_when_it_begins_once_a_minute_and_when_it_ends() {
        let begin = Instant::now();
        let at = |s: u64| begin + Duration::from_secs(s);
        let mut delay = Delay::default();
        let logged: Vec<u64> = (0..=150)
            .filter(|s| delay.is_due(Reason::Suspended, at(*s)))
            .collect();
        assert_eq!(logged, [0, 60, 120]);
        // Another reason is news, and so is the first one when it comes back.
        assert!(delay.is_due(Reason::NoSpace, at(151)));
        assert!(!delay.is_due(Reason::NoSpace, at(152)));
        assert!(delay.is_due(Reason::Suspended, at(153)));
        assert_eq!(delay.ended(at(160)), Some(Duration::from_secs(160)));
        assert_eq!(Delay::default().ended(begin), None);
    }
}
