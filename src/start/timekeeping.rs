//! Set-up and monitoring of the server's time: the clock, the elapsed time, and the chain's newest block as the second
//! source.

use std::sync::Arc;
use std::time::Duration;

use kedge_actors::timekeeper::{ClockError, SoleClockRule, TimeBounds, Timekeeper};
use kedge_actors::{Engine, passing_clock, wall_clock};
use kedge_chain::rpc::{BlockTag, RpcClient};
use kedge_config::{ChainMode, Config};
use kedge_protocol::time::rfc3339;
use kedge_runtime::env::Env;

/// Minimum of the accepted gap between clock and newest block while the log is empty.
const EMPTY_GAP_MS: u64 = 12 * 60 * 60 * 1_000;
/// With the embedded chain there is no second source of time, because its blocks use this server's own clock. A
/// steadily advancing clock is then trusted at a start, unless the log would have been idle implausibly long.
const ALONE: SoleClockRule = SoleClockRule {
    steady_ms: 5_000,
    idle_max_ms: 10 * 365 * 24 * 60 * 60 * 1_000,
};
/// Additional wait for such a clock at a start, and the interval of its checks.
const ALONE_GRACE_MS: u64 = 2_000;
const ALONE_LOOK: Duration = Duration::from_millis(100);
/// Interval of clock checks.
const INTERVAL: Duration = Duration::from_secs(1);
/// Clock checks per check of the chain while the clock is trusted.
const LOOKS_PER_BLOCK: u32 = 30;
/// Time limit for the chain's newest block.
const PATIENCE: Duration = Duration::from_secs(3);

pub(super) fn timekeeper(config: &Config, env: &Arc<dyn Env>) -> Arc<Timekeeper> {
    let gap_max_ms = config.clock_gap_max_s * 1_000;
    let bounds = TimeBounds {
        step_max_ms: config.clock_step_max_s * 1_000,
        gap_max_ms,
        empty_gap_max_ms: gap_max_ms.max(EMPTY_GAP_MS),
        alone: (config.chain == ChainMode::Embedded).then_some(ALONE),
    };
    Arc::new(Timekeeper::new(wall_clock(env), passing_clock(env), bounds))
}

async fn look_at_chain(time: &Timekeeper, rpc: &RpcClient) {
    // A node that does not answer is reported when anchors are sent to it.
    if let Ok(Ok(Some(block))) = tokio::time::timeout(PATIENCE, rpc.block(BlockTag::Latest)).await {
        let time_s = u64::try_from(block.timestamp).unwrap_or(u64::MAX);
        time.block_seen(time_s.saturating_mul(1_000));
    }
}

fn record(engine: &Engine, was_believed: &mut bool) {
    let checked = engine.record_clock();
    match (&checked, *was_believed) {
        (Err(why), true) => tracing::error!(%why, "writes are refused because of the clock"),
        (Ok(()), false) => tracing::warn!("the clock is trusted again; writes are accepted"),
        _ => {}
    }
    *was_believed = checked.is_ok();
}

/// If the log's last entry is too old to confirm the clock, waits until a clock without a second source has advanced
/// steadily.
async fn settle(engine: &Engine, env: &dyn Env) {
    let check = || {
        engine
            .time()
            .check(engine.published().head.last_sealed_at_ms)
    };
    let Err(ClockError::Ahead { by_ms }) = check() else {
        return;
    };
    let (idle_s, steady_s) = (by_ms / 1_000, ALONE.steady_ms / 1_000);
    tracing::warn!(
        idle_s,
        steady_s,
        "the log was idle, and with the embedded chain only the system's clock knows the time: checking whether it advances steadily"
    );
    let until_ms = env.passed_ms() + ALONE.steady_ms + ALONE_GRACE_MS;
    while check().is_err() && env.passed_ms() < until_ms {
        tokio::time::sleep(ALONE_LOOK).await;
    }
    if check().is_ok() {
        let clock = rfc3339(engine.time().now_ms());
        tracing::warn!(
            clock,
            "the clock advances steadily and is trusted; if it is wrong, stop the server before anything is written"
        );
    }
}

/// Watches the clock and the chain's newest block until the process ends. Returns after the first check, so that a log
/// that was idle for long is served only with a clock confirmed by the chain, or, without a chain, with one that
/// advances steadily.
pub(super) async fn watch(engine: Engine, env: &dyn Env, second_source: Option<RpcClient>) {
    match &second_source {
        Some(rpc) => look_at_chain(engine.time(), rpc).await,
        None => settle(&engine, env).await,
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
