//! Cluster options derived from the server's configuration.

use std::time::Duration;

use crate::ClusterOptions;
use kedge_config::Config;

/// Limit of a commit group's text bytes in a cluster: a frame is one message of the stream.
pub const GROUP_BYTES_MAX: usize = 4 * 1024 * 1024;
/// Time-out of a publish, after which the stream is read to learn its outcome.
const PUBLISH_TIMEOUT: Duration = Duration::from_secs(2);

/// Silence after which another node replaces the leader.
pub fn lease(config: &Config) -> Duration {
    Duration::from_millis(config.cluster_lease_ms)
}

/// The connection's options; `None` on a single node.
pub fn cluster_options(config: &Config) -> Option<ClusterOptions> {
    let node = config.cluster_node.clone()?;
    if config.cluster_servers.is_empty() {
        return None;
    }
    Some(ClusterOptions {
        servers: config.cluster_servers.clone(),
        name: config.cluster_name.clone(),
        node,
        replicas: config.cluster_replicas,
        replicas_synced: config.cluster_replicas_synced,
        lease: lease(config),
        publish_timeout: PUBLISH_TIMEOUT,
        credentials_file: config.cluster_credentials_file.clone(),
        ca_file: config.cluster_ca_file.clone(),
        certificate_file: config.cluster_certificate_file.clone(),
        key_file: config.cluster_key_file.clone(),
        require_tls: config.cluster_ca_file.is_some(),
        monitors: config.cluster_monitors.clone(),
        unsynced_allowed: config.cluster_unsynced_allowed,
        frame_bytes_max: frame_bytes_max(config),
    })
}

/// Limit of a frame: an almost full group, one more request, and their overhead.
fn frame_bytes_max(config: &Config) -> usize {
    GROUP_BYTES_MAX + 2 * config.body_bytes_max
}
