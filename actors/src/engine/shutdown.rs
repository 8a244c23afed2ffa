//! Orderly shutdown: placed proposals are written, and every thread that uses the store ends.

use std::sync::atomic::Ordering;
use std::time::Duration;

use super::Engine;

impl Engine {
    /// Accepts no more requests, waits for the ones in flight (at most `timeout`), and stops. False if placed proposals
    /// are not on the disk at the end.
    pub async fn shutdown(&self, timeout: Duration) -> bool {
        let inner = &self.inner;
        inner.closing.store(true, Ordering::Relaxed);
        self.settle(timeout).await;
        if !self.end_leading(timeout).await {
            return false;
        }
        inner.ending.store(true, Ordering::Relaxed);
        inner.store.end_maintenance();
        let keepers = inner.keepers.lock().take();
        if let Some(keepers) = keepers {
            keepers.ended().await;
        }
        let maker = inner.root_maker.lock().take();
        if let Some(maker) = maker {
            maker.ended().await;
        }
        inner.failed.reason().is_none()
    }
}
