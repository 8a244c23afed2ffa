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

/// The ranges of all numeric options, and of numbers in lists.
pub fn ranges(config: &Config) -> Vec<OptionRange> {
    let body_bytes_max = kedge_protocol::limits::BODY_BYTES_MAX as u64;
    let of_delays = (config.webhook_retry_schedule_s.iter())
        .map(|delay_s| ("webhook_retry_schedule_s", *delay_s, 0, 366 * 24 * 60 * 60));
    let ranges: [(&'static str, u64, u64, u64); 64] = [
        ("cluster_replicas", config.cluster_replicas as u64, 1, 5),
        (
            "cluster_replicas_synced",
            config.cluster_replicas_synced as u64,
            0,
            4,
        ),
        (
            "tracing_callers_per_s",
            config.tracing_callers_per_s.into(),
            0,
            COUNT_MAX,
        ),
        ("tracing_timeout_s", config.tracing_timeout_s, 1, 600),
        (
            "tracing_queue_max",
            config.tracing_queue_max as u64,
            256,
            1 << 20,
        ),
        (
            "tracing_batch_max",
            config.tracing_batch_max as u64,
            1,
            8_192,
        ),
        ("tracing_interval_ms", config.tracing_interval_ms, 1, 60_000),
        ("cluster_lease_ms", config.cluster_lease_ms, 300, 60_000),
        ("connections_max", config.connections_max as u64, 1, 1 << 20),
        (
            "connections_per_address",
            config.connections_per_address as u64,
            1,
            1 << 20,
        ),
        ("idle_timeout_s", config.idle_timeout_s, 1, 3_600),
        (
            "proxy_idle_timeout_s",
            config.proxy_idle_timeout_s,
            1,
            24 * 60 * 60,
        ),
        (
            "body_bytes_per_caller",
            config.body_bytes_per_caller as u64,
            config.body_bytes_max as u64,
            1 << 40,
        ),
        (
            "body_bytes_per_s_min",
            config.body_bytes_per_s_min,
            0,
            1 << 30,
        ),
        (
            "answer_bytes_total_max",
            config.answer_bytes_total_max as u64,
            1 << 20,
            1 << 40,
        ),
        (
            "answer_bytes_per_caller",
            config.answer_bytes_per_caller as u64,
            1 << 20,
            1 << 40,
        ),
        ("requests_max", config.requests_max as u64, 1, 1 << 20),
        ("requests_min", config.requests_min as u64, 1, 1 << 20),
        ("wait_target_ms", config.wait_target_ms, 1, 60_000),
        (
            "organization_share_percent",
            config.organization_share_percent.into(),
            1,
            100,
        ),
        ("streams_max", config.streams_max as u64, 0, 1 << 20),
        ("stream_heartbeat_s", config.stream_heartbeat_s, 1, 3_600),
        (
            "body_bytes_max",
            config.body_bytes_max as u64,
            1_024,
            body_bytes_max,
        ),
        (
            "body_bytes_total_max",
            config.body_bytes_total_max as u64,
            config.body_bytes_max as u64,
            1 << 40,
        ),
        ("file_bytes_max", config.file_bytes_max, 1, 1 << 40),
        ("file_quota_bytes", config.file_quota_bytes, 0, 1 << 60),
        ("log_bytes_free", config.log_bytes_free, 0, 1 << 60),
        (
            "disk_kept_from_free",
            config.disk_kept_from_free,
            0,
            1 << 60,
        ),
        (
            "disk_kept_from_developer",
            config.disk_kept_from_developer,
            0,
            1 << 60,
        ),
        (
            "log_bytes_developer",
            config.log_bytes_developer,
            0,
            1 << 60,
        ),
        ("downloads_max", config.downloads_max as u64, 1, 1 << 20),
        (
            "header_bytes_max",
            config.header_bytes_max as u64,
            8_192,
            1 << 20,
        ),
        ("header_timeout_s", config.header_timeout_s, 1, 3_600),
        ("body_timeout_s", config.body_timeout_s, 1, 3_600),
        ("write_timeout_s", config.write_timeout_s, 1, 3_600),
        ("request_timeout_s", config.request_timeout_s, 1, 3_600),
        ("drain_timeout_s", config.drain_timeout_s, 0, 3_600),
        ("access_token_s", config.access_token_s, 30, 24 * 60 * 60),
        (
            "refresh_token_s",
            config.refresh_token_s,
            60,
            366 * 24 * 60 * 60,
        ),
        (
            "token_cache_entries",
            config.token_cache_entries as u64,
            1,
            1 << 24,
        ),
        (
            "password_hashes_max",
            config.password_hashes_max as u64,
            1,
            1_024,
        ),
        (
            "address_requests_per_minute",
            config.address_requests_per_minute.into(),
            1,
            COUNT_MAX,
        ),
        (
            "login_failures_per_address",
            config.login_failures_per_address.into(),
            1,
            COUNT_MAX,
        ),
        (
            "login_failures_per_account",
            config.login_failures_per_account.into(),
            1,
            COUNT_MAX,
        ),
        (
            "login_failures_per_account_hour",
            config.login_failures_per_account_hour.into(),
            1,
            COUNT_MAX,
        ),
        ("clock_step_max_s", config.clock_step_max_s, 1, 3_600),
        (
            "clock_gap_max_s",
            config.clock_gap_max_s,
            1,
            366 * 24 * 60 * 60,
        ),
        ("actions_max", config.actions_max as u64, 500, 1 << 24),
        (
            "compare_groups_every",
            config.compare_groups_every,
            0,
            1 << 32,
        ),
        ("actor_threads", config.actor_threads as u64, 0, 1_024),
        ("shards", config.shards as u64, 0, 1_024),
        (
            "objects_live_max",
            config.objects_live_max as u64,
            1_024,
            1 << 32,
        ),
        ("webhook_timeout_s", config.webhook_timeout_s, 1, 300),
        (
            "webhook_attempts_max",
            config.webhook_attempts_max as u64,
            1,
            1 << 16,
        ),
        (
            "replay_bytes_max",
            config.replay_bytes_max,
            1 << 20,
            1 << 40,
        ),
        ("bond_poll_s", config.bond_poll_s, 1, 60 * 60),
        ("bond_max_fee_gwei", config.bond_max_fee_gwei, 1, 1_000_000),
        (
            "anchor_interval_s",
            config.anchor_interval_s,
            1,
            7 * 24 * 60 * 60,
        ),
        (
            "anchor_on_shutdown_timeout_s",
            config.anchor_on_shutdown_timeout_s,
            1,
            60 * 60,
        ),
        (
            "idempotency_key_s",
            config.idempotency_key_s,
            1,
            366 * 24 * 60 * 60,
        ),
        (
            "block_cache_bytes",
            config.block_cache_bytes as u64,
            1 << 20,
            1 << 40,
        ),
        ("log_cache_bytes", config.log_cache_bytes, 1 << 20, 1 << 40),
        (
            "memtable_bytes",
            config.memtable_bytes as u64,
            1 << 20,
            // A flush may hand RocksDB this many bytes in one write.
            1 << 31,
        ),
        ("chain_confirmations", config.chain_confirmations, 0, 10_000),
    ];
    let ranges = ranges.into_iter().chain(of_delays);
    ranges
        .map(|(option, value, least, most)| OptionRange {
            option,
            value,
            least,
            most,
        })
        .collect()
}
