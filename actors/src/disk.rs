//! Watches the free space of the store's disk, so that writes are refused while the store itself
//! still has room to finish what it has begun.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use crate::engine::Options;
use crate::metric_definitions as metric;

/// How often the disk is looked at: the reserve must outlast what can be written in between.
const INTERVAL: Duration = Duration::from_millis(200);

/// Starts watching; `full` is kept true while less than the reserve is free.
pub(crate) fn watch(options: &Options, full: &Arc<AtomicBool>) {
    let path = options.data_path.clone();
    let reserve_bytes = options.disk_reserve_bytes;
    let full = Arc::downgrade(full);
    tokio::spawn(async move {
        while let Some(full) = full.upgrade() {
            match fs4::available_space(&path) {
                Ok(free_bytes) => {
                    metrics::gauge!(metric::DISK_FREE_BYTES).set(free_bytes as f64);
                    let now_full = free_bytes < reserve_bytes;
                    if full.swap(now_full, Ordering::Relaxed) != now_full {
                        tracing::warn!(now_full, free_bytes, reserve_bytes, "disk space");
                    }
                    metrics::gauge!(metric::DISK_FULL).set(f64::from(u8::from(now_full)));
                }
                Err(error) => tracing::warn!(%error, "the free disk space could not be read"),
            }
            drop(full);
            tokio::time::sleep(INTERVAL).await;
        }
    });
}
