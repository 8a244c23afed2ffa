//! Retry of a blocked commit step, with throttled logging.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use kedge_runtime::env::Env;
use kedge_storage::CommitError;

/// Pause before a full disk is tried again.
const NO_SPACE_PAUSE: Duration = Duration::from_millis(250);
/// Pause before a store that accepts no commits is tried again.
const SUSPENDED_PAUSE: Duration = Duration::from_secs(1);
/// Time after which a step that still waits for the same reason is logged again.
const LOG_AGAIN_AFTER: Duration = Duration::from_mins(1);

/// Wait of a step for room on the disk, or for the store to accept commits again.
#[derive(Default)]
pub(super) struct WriteRetry(WriteDelay);

impl WriteRetry {
    /// Judges a step's error. If it is no failure, returns the pause before the retry.
    pub(super) fn pause(
        &mut self,
        error: CommitError,
        disk_full: &AtomicBool,
        now: Instant,
    ) -> Result<Duration, CommitError> {
        match error {
            CommitError::NoSpace(why) => {
                if self.0.is_due(WriteDelayReason::NoSpace, now) {
                    tracing::error!(
                        why,
                        "the disk or this process has no room; the commit waits for room"
                    );
                }
                disk_full.store(true, Ordering::Relaxed);
                Ok(NO_SPACE_PAUSE)
            }
            CommitError::Suspended(why) => {
                if self.0.is_due(WriteDelayReason::Suspended, now) {
                    tracing::error!(why, "the store accepts no commits; what was placed waits");
                }
                Ok(SUSPENDED_PAUSE)
            }
            error => Err(error),
        }
    }

    /// The step is done.
    pub(super) fn ended(&mut self, env: &dyn Env) {
        if let Some(began) = std::mem::take(&mut self.0).began {
            let waited = env.now().saturating_duration_since(began);
            let waited_s = waited.as_secs();
            tracing::warn!(waited_s, "the waiting commit was written");
        }
    }
}

/// Reason why a group is not written yet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum WriteDelayReason {
    NoSpace,
    Suspended,
}

/// Start of a group's wait, and its last log entry.
#[derive(Default)]
struct WriteDelay {
    began: Option<Instant>,
    logged: Option<(WriteDelayReason, Instant)>,
}

impl WriteDelay {
    /// Notes that the group waits. Returns whether to log that: at its start, when the reason changes, and then once a
    /// minute.
    fn is_due(&mut self, reason: WriteDelayReason, now: Instant) -> bool {
        self.began.get_or_insert(now);
        let is_known = self.logged.is_some_and(|(logged, at)| {
            logged == reason && now.saturating_duration_since(at) < LOG_AGAIN_AFTER
        });
        if !is_known {
            self.logged = Some((reason, now));
        }
        !is_known
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The suspension may have ended meanwhile, so the step is retried without a look at the store.
    #[test]
    fn a_step_is_tried_again_after_what_ends_by_itself_alone() {
        let no = || "no".to_owned();
        let full = AtomicBool::new(false);
        let mut waiting = WriteRetry::default();
        let mut pause = |error| waiting.pause(error, &full, Instant::now());
        assert_eq!(pause(CommitError::Suspended(no())), Ok(SUSPENDED_PAUSE));
        assert!(!full.load(Ordering::Relaxed));
        for lasting in [
            CommitError::ReadOnly,
            CommitError::Fenced,
            CommitError::Failed,
        ] {
            assert_eq!(pause(lasting(no())), Err(lasting(no())));
        }
        assert_eq!(pause(CommitError::NoSpace(no())), Ok(NO_SPACE_PAUSE));
        assert!(full.load(Ordering::Relaxed));
    }

    #[test]
    fn a_wait_is_logged_when_it_begins_once_a_minute_and_when_it_ends() {
        let begin = Instant::now();
        let at = |s: u64| begin + Duration::from_secs(s);
        let mut delay = WriteDelay::default();
        let logged: Vec<u64> = (0..=150)
            .filter(|s| delay.is_due(WriteDelayReason::Suspended, at(*s)))
            .collect();
        assert_eq!(logged, [0, 60, 120]);
        // A new reason is logged, and so is the first one when it returns.
        assert!(delay.is_due(WriteDelayReason::NoSpace, at(151)));
        assert!(!delay.is_due(WriteDelayReason::NoSpace, at(152)));
        assert!(delay.is_due(WriteDelayReason::Suspended, at(153)));
        assert_eq!(delay.began, Some(begin));
    }
}
