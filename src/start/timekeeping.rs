//! The server's time, as it is set up and watched: the clock, the time that passes, and the chain's newest block as the
//! second source.

use std::sync::Arc;
use std::time::Duration;

use kedge_actors::timekeeper::{TimeBounds, Timekeeper};
use kedge_actors::{Engine, system_clock};
use kedge_chain::rpc::{At, RpcClient};

use crate::config::{ChainMode, Config};

/// How far past the log's last entry the clock may be at a start, at the least, where nobody else knows the time: while the
/// log is empty, and on the embedded chain, whose blocks take this server's own clock.
const ALONE_GAP_MS: u64 = 12 * 60 * 60 * 1_000;
/// How often the clock is looked at.
const INTERVAL: Duration = Duration::from_secs(1);
/// Looks at the clock for each look at the chain while the clock is believed.
const LOOKS_PER_BLOCK: u32 = 30;
/// How long the chain may take to say its newest block.
const PATIENCE: Duration = Duration::from_secs(3);

/// Milliseconds that pass whatever the clock is set to, also while the machine sleeps.
fn passed_ms() -> u64 {
    #[cfg(target_os = "linux")]
    let clock = rustix::time::ClockId::Boottime;
    #[cfg(not(target_os = "linux"))]
    let clock = rustix::time::ClockId::Monotonic;
    let since = rustix::time::clock_gettime(clock);
    since.tv_sec as u64 * 1_000 + since.tv_nsec as u64 / 1_000_000
}

/// The time within the configuration's bounds.
pub(super) fn timekeeper(config: &Config) -> Arc<Timekeeper> {
    let gap_max_ms = config.clock_gap_max_s * 1_000;
    let alone_gap_ms = gap_max_ms.max(ALONE_GAP_MS);
    let bounds = TimeBounds {
        step_max_ms: config.clock_step_max_s * 1_000,
        gap_max_ms: match config.chain {
            ChainMode::Rpc => gap_max_ms,
            ChainMode::Embedded => alone_gap_ms,
        },
        empty_gap_max_ms: alone_gap_ms,
    };
    Arc::new(Timekeeper::new(system_clock(), Arc::new(passed_ms), bounds))
}

async fn look_at_chain(time: &Timekeeper, rpc: &RpcClient) {
    // A node that does not answer is told of where anchors are sent to it.
    if let Ok(Ok(Some(block))) = tokio::time::timeout(PATIENCE, rpc.block(At::Latest)).await {
        let time_s = u64::try_from(block.timestamp).unwrap_or(u64::MAX);
        time.block_seen(time_s.saturating_mul(1_000));
    }
}

fn record(engine: &Engine, was_believed: &mut bool) {
    let checked = engine.record_clock();
    match (&checked, *was_believed) {
        (Err(why), true) => tracing::error!(%why, "writes are refused for the clock"),
        (Ok(()), false) => tracing::warn!("the clock is believed again; writes are taken"),
        _ => {}
    }
    *was_believed = checked.is_ok();
}

/// Watches the clock and the chain's newest block until the process ends. Returns after the first look, so that a log that
/// was idle for long is served with a clock that the chain has confirmed.
pub(super) async fn watch(engine: Engine, second_source: Option<RpcClient>) {
    if let Some(rpc) = &second_source {
        look_at_chain(engine.time(), rpc).await;
    }
    tokio::spawn(async move {
        let mut was_believed = true;
        let mut looks = 0;
        loop {
            record(&engine, &mut was_believed);
            tokio::time::sleep(INTERVAL).await;
            looks += 1;
            if let Some(rpc) = &second_source
                && (looks >= LOOKS_PER_BLOCK || !was_believed)
            {
                looks = 0;
                look_at_chain(engine.time(), rpc).await;
            }
        }
    });
}
