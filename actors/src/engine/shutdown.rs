//! The orderly end: what was placed is written, and every thread that uses the store has ended.

use std::sync::atomic::Ordering;
use std::time::Duration;

use super::Engine;

impl Engine {
    /// Accepts no more requests, waits for those in flight (at most `timeout`), and stops. False if not everything that
    /// was placed is on the disk at the end.
    pub async fn shutdown(&self, timeout: Duration) -> bool {
        let inner = &self.inner;
        inner.closing.store(true, Ordering::Relaxed);
        let env = &inner.options.env;
        let deadline = env.now() + timeout;
        while inner.room.in_flight() > 0
            && inner.signing.stopped().is_none()
            && env.now() < deadline
        {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        inner.ending.store(true, Ordering::Relaxed);
        inner.supervisor.stop_children(None);
        inner.supervisor.stop(None);
        inner.threads.stop(timeout).await;
        drop(inner.work.lock().take());
        let committer = inner.committer.lock().take();
        if let Some(committer) = committer {
            let joined = tokio::task::spawn_blocking(move || committer.join());
            // However short the patience with requests is, what is placed gets written.
            let patience = timeout.max(Duration::from_secs(5));
            if tokio::time::timeout(patience, joined).await.is_err() {
                return false;
            }
        }
        inner.store.end_maintenance();
        let keepers = inner.keepers.lock().take();
        if let Some(keepers) = keepers {
            // The next start finishes what they were doing.
            let _ = tokio::task::spawn_blocking(move || keepers.join()).await;
        }
        inner.failed.reason().is_none()
    }
}
