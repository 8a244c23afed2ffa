//! Start times of requests: immediate in a closed loop, scheduled in an open loop.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use rustix::fd::OwnedFd;
use rustix::time::{
    Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, timerfd_create,
    timerfd_settime,
};
use tokio::io::unix::AsyncFd;

use crate::error::{LoadtestError, LoadtestResult};

/// Time that an open loop continues to send requests due before the end.
const GRACE: Duration = Duration::from_secs(5);

/// Hands out request numbers.
pub(crate) struct LoadPace {
    start: Instant,
    end: Instant,
    /// Seconds between requests of an open loop.
    period_s: Option<f64>,
    /// Limit on the number of requests.
    limit: u64,
    next: AtomicU64,
}

/// A request's number and due time.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct PaceSlot {
    pub(crate) number: u64,
    pub(crate) due: Option<Instant>,
}

impl LoadPace {
    /// A pace from `start` to `end`. `rate`, in requests a second, makes it an open loop.
    pub(crate) fn new(start: Instant, end: Instant, rate: Option<f64>, limit: Option<u64>) -> Self {
        let due = rate.map(|rate| ((end - start).as_secs_f64() * rate).ceil() as u64);
        Self {
            start,
            end,
            period_s: rate.map(|rate| 1.0 / rate),
            limit: limit.unwrap_or(u64::MAX).min(due.unwrap_or(u64::MAX)),
            next: AtomicU64::new(0),
        }
    }

    fn due(&self, number: u64) -> Option<Instant> {
        let period_s = self.period_s?;
        Some(self.start + Duration::from_secs_f64(number as f64 * period_s))
    }

    /// The next request; `None` at the end.
    pub(crate) fn next(&self) -> Option<PaceSlot> {
        let now = Instant::now();
        let grace = if self.period_s.is_some() {
            GRACE
        } else {
            Duration::ZERO
        };
        if now >= self.end + grace || self.next.load(Ordering::Relaxed) >= self.limit {
            return None;
        }
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        (number < self.limit).then(|| PaceSlot {
            number,
            due: self.due(number),
        })
    }

    /// Number of requests handed out.
    pub(crate) fn begun(&self) -> u64 {
        self.next.load(Ordering::Relaxed).min(self.limit)
    }

    /// Due times of an open loop's requests that were never handed out.
    pub(crate) fn never_begun(&self) -> impl Iterator<Item = Instant> {
        let from = if self.period_s.is_some() {
            self.begun()
        } else {
            self.limit
        };
        (from..self.limit).filter_map(|number| self.due(number))
    }
}

/// Timer with microsecond precision. The runtime's timers have a resolution of milliseconds, which would show in every
/// latency.
pub(crate) struct PreciseTimer(AsyncFd<OwnedFd>);

impl PreciseTimer {
    pub(crate) fn new() -> LoadtestResult<Self> {
        let failed = || LoadtestError::io("making a timer");
        let flags = TimerfdFlags::NONBLOCK | TimerfdFlags::CLOEXEC;
        let timer = timerfd_create(TimerfdClockId::Monotonic, flags)
            .map_err(|error| failed()(error.into()))?;
        #[expect(
            deprecated,
            reason = "its successor is unsafe; an owned descriptor keeps what that asks for"
        )]
        AsyncFd::new(timer).map(Self).map_err(failed())
    }

    /// Sleeps until a time; returns immediately if it has passed.
    pub(crate) async fn until(&self, time: Instant) -> LoadtestResult<()> {
        let rest = time.saturating_duration_since(Instant::now());
        if rest.is_zero() {
            return Ok(());
        }
        let once = Itimerspec {
            it_interval: Timespec {
                tv_sec: 0,
                tv_nsec: 0,
            },
            it_value: Timespec {
                tv_sec: rest.as_secs().cast_signed(),
                tv_nsec: i64::from(rest.subsec_nanos()),
            },
        };
        let failed = || LoadtestError::io("waiting for a timer");
        timerfd_settime(&self.0, TimerfdTimerFlags::empty(), &once)
            .map_err(|error| failed()(error.into()))?;
        loop {
            let mut ready = self.0.readable().await.map_err(failed())?;
            let mut expirations = [0; 8];
            let read = ready.try_io(|timer| Ok(rustix::io::read(timer, &mut expirations)?));
            if let Ok(read) = read {
                return read.map(|_| ()).map_err(failed());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_open_loop_tells_when_each_request_was_due() {
        let start = Instant::now();
        let pace = LoadPace::new(start, start + Duration::from_secs(1), Some(4.0), None);
        let dues: Vec<u64> = std::iter::from_fn(|| pace.next())
            .take(3)
            .map(|slot| (slot.due.unwrap() - start).as_millis() as u64)
            .collect();
        assert_eq!(dues, [0, 250, 500]);
        let rest: Vec<Instant> = pace.never_begun().collect();
        assert_eq!(rest, [start + Duration::from_millis(750)]);
        assert_eq!(pace.next().unwrap().number, 3);
        assert_eq!(pace.next(), None);
        assert_eq!((pace.begun(), pace.never_begun().count()), (4, 0));
    }

    #[test]
    fn a_closed_loop_ends_at_its_end_or_its_limit() {
        let now = Instant::now();
        let limited = LoadPace::new(now, now + Duration::from_mins(1), None, Some(2));
        let numbers: Vec<u64> = std::iter::from_fn(|| limited.next())
            .map(|slot| slot.number)
            .collect();
        assert_eq!(numbers, [0, 1]);
        assert_eq!(limited.never_begun().count(), 0);
        assert_eq!(LoadPace::new(now, now, None, None).next(), None);
    }

    #[tokio::test]
    async fn alarms_do_not_ring_early() {
        let alarm = PreciseTimer::new().unwrap();
        for wait_us in [0, 300, 1_700] {
            let time = Instant::now() + Duration::from_micros(wait_us);
            alarm.until(time).await.unwrap();
            assert!(Instant::now() >= time);
        }
    }
}
