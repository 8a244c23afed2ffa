//! Ranges of the options' numbers.

use super::Config;
use super::error::{ConfigError, wrong};

/// Largest count that a limit may allow in its period.
const COUNT_MAX: u64 = 1_000_000_000;

/// An option's value and accepted range.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct OptionRange {
    pub option: &'static str,
    pub value: u64,
    pub least: u64,
    pub most: u64,
}

impl OptionRange {
    pub(super) fn check(&self) -> Result<(), ConfigError> {
        if (self.least..=self.most).contains(&self.value) {
            return Ok(());
        }
        let (least, most, value) = (self.least, self.most, self.value);
        let message = format!("must be {least} to {most}, not {value}");
        Err(wrong(self.option, message))
    }
}

/// Options by name, each with its least and its most.
macro_rules! ranges {
    ($config:ident; $($option:ident: $least:expr, $most:expr;)*) => {
        vec![$(OptionRange {
            option: stringify!($option),
            value: $config.$option as u64,
            least: $least,
            most: $most,
        },)*]
    };
}

/// The ranges of all numeric options, and of numbers in lists.
#[expect(clippy::cast_lossless, reason = "options have 8 to 64 bits")]
pub fn ranges(config: &Config) -> Vec<OptionRange> {
    let body_bytes_max = kedge_protocol::limits::BODY_BYTES_MAX as u64;
    let mut ranges = ranges! { config;
        cluster_replicas: 1, 5;
        cluster_replicas_synced: 0, 4;
        tracing_callers_per_s: 0, COUNT_MAX;
        tracing_timeout_s: 1, 600;
        tracing_queue_max: 256, 1 << 20;
        tracing_batch_max: 1, 8_192;
        tracing_interval_ms: 1, 60_000;
        cluster_lease_ms: 300, 60_000;
        connections_max: 1, 1 << 20;
        connections_per_address: 1, 1 << 20;
        idle_timeout_s: 1, 3_600;
        proxy_idle_timeout_s: 1, 24 * 60 * 60;
        body_bytes_per_caller: config.body_bytes_max as u64, 1 << 40;
        body_bytes_per_s_min: 0, 1 << 30;
        answer_bytes_total_max: 1 << 20, 1 << 40;
        answer_bytes_per_caller: 1 << 20, 1 << 40;
        requests_max: 1, 1 << 20;
        requests_min: 1, 1 << 20;
        wait_target_ms: 1, 60_000;
        organization_share_percent: 1, 100;
        streams_max: 0, 1 << 20;
        stream_heartbeat_s: 1, 3_600;
        body_bytes_max: 1_024, body_bytes_max;
        body_bytes_total_max: config.body_bytes_max as u64, 1 << 40;
        file_bytes_max: 1, 1 << 40;
        file_quota_bytes: 0, 1 << 60;
        log_bytes_free: 0, 1 << 60;
        disk_kept_from_free: 0, 1 << 60;
        disk_kept_from_developer: 0, 1 << 60;
        log_bytes_developer: 0, 1 << 60;
        downloads_max: 1, 1 << 20;
        header_bytes_max: 8_192, 1 << 20;
        header_timeout_s: 1, 3_600;
        body_timeout_s: 1, 3_600;
        write_timeout_s: 1, 3_600;
        request_timeout_s: 1, 3_600;
        drain_timeout_s: 0, 3_600;
        access_token_s: 30, 24 * 60 * 60;
        refresh_token_s: 60, 366 * 24 * 60 * 60;
        token_cache_entries: 1, 1 << 24;
        password_hashes_max: 1, 1_024;
        address_requests_per_minute: 1, COUNT_MAX;
        login_failures_per_address: 1, COUNT_MAX;
        login_failures_per_account: 1, COUNT_MAX;
        login_failures_per_account_hour: 1, COUNT_MAX;
        clock_step_max_s: 1, 3_600;
        clock_gap_max_s: 1, 366 * 24 * 60 * 60;
        actions_max: 500, 1 << 24;
        compare_groups_every: 0, 1 << 32;
        actor_threads: 0, 1_024;
        shards: 0, 1_024;
        objects_live_max: 1_024, 1 << 32;
        webhook_timeout_s: 1, 300;
        webhook_attempts_max: 1, 1 << 16;
        replay_bytes_max: 1 << 20, 1 << 40;
        bond_poll_s: 1, 60 * 60;
        bond_max_fee_gwei: 1, 1_000_000;
        checkpoint_interval_s: 1, 24 * 60 * 60;
        state_proofs_kept_days: 1, 3_650;
        state_proofs_kept_bytes: 0, 1 << 50;
        anchor_interval_s: 1, 7 * 24 * 60 * 60;
        anchor_on_shutdown_timeout_s: 1, 60 * 60;
        idempotency_key_s: 1, 366 * 24 * 60 * 60;
        block_cache_bytes: 1 << 20, 1 << 40;
        log_cache_bytes: 1 << 20, 1 << 40;
        // A flush may hand RocksDB this many bytes in one write.
        memtable_bytes: 1 << 20, 1 << 31;
        chain_confirmations: 0, 10_000;
    };
    let delays = config.webhook_retry_schedule_s.iter();
    ranges.extend(delays.map(|delay_s| OptionRange {
        option: "webhook_retry_schedule_s",
        value: *delay_s,
        least: 0,
        most: 366 * 24 * 60 * 60,
    }));
    ranges
}
