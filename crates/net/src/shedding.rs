//! Load shedding before requests are read. When callers send more than the workers can read and check, requests wait
//! unseen in sockets. Their wait is measured with a task that another thread wakes and that queues like them. While it
//! stays too long, new signed requests are refused; bursts pass.

use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use tokio::sync::Notify;

/// Interval of the measurements.
const INTERVAL: Duration = Duration::from_millis(5);
/// Measurements above the bound, net of those below it, that start the refusals: half a second.
const SLOW_MAX: u32 = 100;
/// Consecutive measurements of almost no wait that end the refusals: two seconds.
const CALM_MIN: u32 = 400;
/// Divisor: the bound of the wait as a part of a request's target time.
const PART: u32 = 4;

/// Hysteresis of the measured waits.
#[derive(Default)]
struct WaitTrend {
    slow: u32,
    calm: u32,
    shedding: bool,
}

impl WaitTrend {
    fn measured(&mut self, wait: Duration, bound: Duration) {
        self.slow = if wait > bound {
            (self.slow + 1).min(SLOW_MAX)
        } else {
            self.slow.saturating_sub(1)
        };
        self.calm = if wait < bound / 4 { self.calm + 1 } else { 0 };
        if self.shedding {
            self.shedding = self.calm < CALM_MIN;
        } else {
            self.shedding = self.slow == SLOW_MAX;
        }
        if self.calm == CALM_MIN {
            self.slow = 0;
            self.calm = 0;
        }
    }
}

/// Measures the wait of unread requests and decides about refusals.
pub struct LoadShedder {
    bound: Duration,
    connections_min: usize,
    connections: AtomicUsize,
    is_on: AtomicBool,
    epoch: Instant,
    /// When the task was woken, if it has not run since, microseconds after `epoch`; otherwise 0.
    woken_at_us: AtomicU64,
    /// Its last wait.
    waited_us: AtomicU64,
    wake: Notify,
}

/// A counted connection, released on drop.
pub struct ConnectionCount(Arc<LoadShedder>);

impl Drop for ConnectionCount {
    fn drop(&mut self) {
        self.0.connections.fetch_sub(1, Ordering::Relaxed);
    }
}

impl LoadShedder {
    /// Starts measuring in the runtime that serves connections. `wait_target` is the target time of a request; with at
    /// most `connections_min` connections no request is refused.
    pub fn start(wait_target: Duration, connections_min: usize) -> std::io::Result<Arc<Self>> {
        let shedding = Arc::new(Self {
            bound: wait_target / PART,
            connections_min,
            connections: AtomicUsize::new(0),
            is_on: AtomicBool::new(false),
            epoch: Instant::now(),
            woken_at_us: AtomicU64::new(0),
            waited_us: AtomicU64::new(0),
            wake: Notify::new(),
        });
        let waker = Arc::downgrade(&shedding);
        std::thread::Builder::new()
            .name("wait-probe".into())
            .spawn(move || wake_often(&waker))?;
        tokio::spawn(run_when_woken(Arc::downgrade(&shedding)));
        Ok(shedding)
    }

    pub fn connected(self: &Arc<Self>) -> ConnectionCount {
        self.connections.fetch_add(1, Ordering::Relaxed);
        ConnectionCount(Arc::clone(self))
    }

    /// True if one more request should be refused.
    pub fn refuses(&self) -> bool {
        self.is_on.load(Ordering::Relaxed)
            && self.connections.load(Ordering::Relaxed) > self.connections_min
            && self.wait() > self.bound
    }

    fn now_us(&self) -> u64 {
        self.epoch.elapsed().as_micros() as u64
    }

    /// Estimated wait of a task woken now.
    fn wait(&self) -> Duration {
        let waited_us = self.waited_us.load(Ordering::Relaxed);
        let still_us = match self.woken_at_us.load(Ordering::Relaxed) {
            0 => 0,
            at_us => self.now_us().saturating_sub(at_us),
        };
        Duration::from_micros(waited_us.max(still_us))
    }
}

fn wake_often(shedding: &Weak<LoadShedder>) {
    let mut trend = WaitTrend::default();
    while let Some(shedding) = shedding.upgrade() {
        trend.measured(shedding.wait(), shedding.bound);
        shedding.is_on.store(trend.shedding, Ordering::Relaxed);
        let now_us = shedding.now_us().max(1);
        let woken =
            shedding
                .woken_at_us
                .compare_exchange(0, now_us, Ordering::Relaxed, Ordering::Relaxed);
        if woken.is_ok() {
            shedding.wake.notify_one();
        }
        drop(shedding);
        std::thread::sleep(INTERVAL);
    }
}

async fn run_when_woken(shedding: Weak<LoadShedder>) {
    while let Some(shedding) = shedding.upgrade() {
        // Only this task waits, and the waking thread keeps nothing alive, so both end with the server.
        let woken = tokio::time::timeout(Duration::from_secs(1), shedding.wake.notified());
        if woken.await.is_err() {
            continue;
        }
        let woken_at_us = shedding.woken_at_us.load(Ordering::Relaxed);
        let waited_us = shedding.now_us().saturating_sub(woken_at_us);
        shedding.waited_us.store(waited_us, Ordering::Relaxed);
        shedding.woken_at_us.store(0, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BOUND: Duration = Duration::from_millis(10);
    const LONG: Duration = Duration::from_millis(11);
    const NONE: Duration = Duration::from_millis(1);

    fn measure(trend: &mut WaitTrend, wait: Duration, times: u32) -> bool {
        for _ in 0..times {
            trend.measured(wait, BOUND);
        }
        trend.shedding
    }

    #[test]
    fn bursts_pass_and_lasting_waits_do_not() {
        let mut trend = WaitTrend::default();
        for _ in 0..20 {
            assert!(!measure(&mut trend, LONG, SLOW_MAX - 1));
            assert!(!measure(&mut trend, NONE, SLOW_MAX - 1));
        }
        assert!(measure(&mut trend, LONG, SLOW_MAX));
    }

    #[test]
    fn it_ends_after_a_calm_time_alone() {
        let mut trend = WaitTrend::default();
        assert!(measure(&mut trend, LONG, SLOW_MAX));
        assert!(measure(&mut trend, NONE, CALM_MIN - 1));
        assert!(measure(&mut trend, BOUND, 1));
        assert!(measure(&mut trend, NONE, CALM_MIN - 1));
        assert!(!measure(&mut trend, NONE, 1));
        assert!(!measure(&mut trend, LONG, SLOW_MAX - 1));
    }

    // Holds invariant 76.
    #[tokio::test(flavor = "multi_thread", worker_threads = 1)]
    async fn a_worker_that_is_held_up_is_seen() {
        let shedding = LoadShedder::start(3 * BOUND, 0).unwrap();
        let _one = shedding.connected();
        assert!(!shedding.refuses());
        let held = Instant::now();
        // Runs on the runtime's only worker.
        let watched = Arc::clone(&shedding);
        let seen = tokio::spawn(async move {
            while !watched.refuses() && held.elapsed() < Duration::from_mins(1) {
                std::thread::sleep(INTERVAL);
            }
            watched.refuses()
        });
        assert!(seen.await.unwrap());
    }
}
