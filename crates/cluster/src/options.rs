//! Connection options of a node.

use std::path::PathBuf;
use std::time::Duration;

use crate::error::ConnectError;

/// Key of the lease in the bucket.
pub(crate) const LEASE_KEY: &str = "leader";

/// Connection options of a node, and its requirements.
#[derive(Clone, Debug)]
pub struct ClusterOptions {
    /// URLs of NATS servers: `nats://host:port`, or `tls://host:port`.
    pub servers: Vec<String>,
    /// The log's name among others on the same servers: `a` to `z`, digits and `-`.
    pub name: String,
    /// This node's name among the nodes of the log: letters, digits, `-` and `_`.
    pub node: String,
    /// Number of servers that keep each message.
    pub replicas: usize,
    /// Number of other nodes that must sync a frame before it is durable.
    pub replicas_synced: usize,
    /// Time without a renewal after which the leader may be replaced.
    pub lease: Duration,
    /// Time-out of a publish or a request to the servers, after which it is repeated.
    pub publish_timeout: Duration,
    /// Credentials (JWT and key) for the servers.
    pub credentials_file: Option<PathBuf>,
    /// PEM file of the authorities that sign the servers' certificates, in place of the system's.
    pub ca_file: Option<PathBuf>,
    /// PEM file of this node's certificate.
    pub certificate_file: Option<PathBuf>,
    /// PEM file of that certificate's key.
    pub key_file: Option<PathBuf>,
    /// Whether to refuse connections without TLS.
    pub require_tls: bool,
    /// URLs of the servers' monitoring, `http://host:port`, which shows whether they sync before they acknowledge.
    pub monitors: Vec<String>,
    /// Allows servers to acknowledge messages before syncing them.
    pub unsynced_allowed: bool,
    /// Bytes of the longest frame.
    pub frame_bytes_max: usize,
}

impl ClusterOptions {
    /// Defaults: three copies, one other synced node, a lease of 1.5 s.
    pub fn new(servers: Vec<String>, name: &str, node: &str) -> Self {
        Self {
            servers,
            name: name.to_owned(),
            node: node.to_owned(),
            replicas: 3,
            replicas_synced: 1,
            lease: Duration::from_millis(1500),
            publish_timeout: Duration::from_secs(1),
            credentials_file: None,
            ca_file: None,
            certificate_file: None,
            key_file: None,
            require_tls: false,
            monitors: Vec::new(),
            unsynced_allowed: false,
            frame_bytes_max: 1 << 20,
        }
    }

    pub(crate) fn check(&self) -> Result<(), ConnectError> {
        let refuse = |option, why| Err(ConnectError::Option { option, why });
        let lower = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
        let token = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
        if self.name.is_empty() || !self.name.chars().all(lower) {
            return refuse("name", "it has characters other than a to z, 0 to 9 and -");
        }
        if self.node.is_empty() || !self.node.chars().all(token) {
            return refuse(
                "node",
                "it has characters other than letters, digits, - and _",
            );
        }
        if self.servers.is_empty() {
            return refuse("servers", "no server is named");
        }
        if self.certificate_file.is_some() != self.key_file.is_some() {
            return refuse(
                "certificate_file",
                "a certificate and its key come together",
            );
        }
        if !(1..=5).contains(&self.replicas) {
            return refuse("replicas", "it is not 1 to 5");
        }
        if self.lease < Duration::from_millis(100) {
            return refuse("lease", "it is below 100 ms");
        }
        Ok(())
    }

    /// Name of the stream and of the bucket.
    pub(crate) fn stream(&self) -> String {
        format!("KEDGE_{}", self.name)
    }

    pub(crate) fn frames_subject(&self) -> String {
        format!("kedge.{}.frames", self.name)
    }

    /// Subject of a node's synced position.
    pub(crate) fn synced_subject(&self, node: &str) -> String {
        format!("kedge.{}.synced.{node}", self.name)
    }

    /// Subject that announces changes of the lease.
    pub(crate) fn lease_subject(&self) -> String {
        format!("kedge.{}.lease", self.name)
    }

    /// Subject of requests about `what` to a term's leader, from one node or edge, or from all (`*`).
    pub(crate) fn question_subject(&self, what: &str, term: u64, from: &str) -> String {
        format!("kedge.{}.{what}.{term}.{from}", self.name)
    }

    /// Inbox prefix of this node. Each node has a separate one, so that server permissions can hide answers from other
    /// users: some hold secrets that are shown only once. `scripts/packages/nats/kedge.conf` names it too.
    pub(crate) fn inbox_prefix(&self) -> String {
        format!("_INBOX.kedge.{}.{}", self.name, self.node)
    }

    /// Limit of a message: a frame and its headers.
    pub(crate) fn payload_bytes_max(&self) -> usize {
        self.frame_bytes_max + 1024
    }
}
