//! This server among the nodes that share its log.

use std::sync::OnceLock;
use std::time::Duration;

use kedge_cluster::node::{Replica, lease};
use kedge_config::Config;

pub struct NodeIdentity {
    /// Whether several nodes share the log.
    pub is_shared: bool,
    /// This node's part in a cluster. A node whose store is read-only has none.
    pub replica: OnceLock<Replica>,
    /// Time after which a silent leader of a cluster is replaced.
    pub lease: Duration,
    /// The URL that callers use.
    pub public_url: String,
}

impl NodeIdentity {
    pub fn new(config: &Config, public_url: String) -> Self {
        Self {
            is_shared: !config.cluster_servers.is_empty(),
            replica: OnceLock::new(),
            lease: lease(config),
            public_url,
        }
    }
}
