//! Self-reports of a log's nodes, for people, for choosing a successor, and for a candidate whose stream ends before
//! another node's log. Durability does not depend on them.

use std::collections::BTreeMap;
use std::time::{Duration, SystemTime};

use serde::{Deserialize, Serialize};

use crate::connection::Cluster;
use crate::error::StreamError;
use crate::nats::unreachable;

const PREFIX: &str = "member.";

/// A node of the log.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct ClusterMember {
    pub node: String,
    /// The node's URL for clients.
    pub url: String,
    /// `leader`, `follower` or `joining`.
    pub role: String,
    /// The newest term seen.
    pub term: u64,
    /// The last synced frame.
    pub frame: u64,
    /// Reason not to lead at present.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unfit: Option<String>,
    /// Fingerprints of the keys that all nodes must hold alike, by name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub keys: BTreeMap<String, String>,
    /// The newest format of the log that the node's program reads; 0 if it does not say.
    #[serde(default)]
    pub log_format: u16,
    /// Time of the report by the node's own clock, Unix milliseconds.
    pub reported_at: u64,
    /// Age relative to the newest report of any node, by the servers' clock, because a node's own clock may be wrong.
    /// `None` before it was sent.
    #[serde(skip)]
    pub age: Option<Duration>,
}

impl Cluster {
    /// Publishes this node's report. A connection that keeps failing to do so is moved to another server.
    ///
    /// # Errors
    /// [`StreamError::Unreachable`] if the servers do not answer.
    pub async fn put_member(&self, member: &ClusterMember) -> Result<(), StreamError> {
        let key = format!("{PREFIX}{}", self.0.options.node);
        let value = serde_json::to_vec(member).map_err(unreachable)?;
        let put = self.0.servers.put(key, value.into()).await;
        self.note_stored(put.is_ok()).await;
        put
    }

    /// Removes a node's report. A running node reports itself again.
    ///
    /// # Errors
    /// [`StreamError::Unreachable`] if the servers do not answer.
    pub async fn remove_member(&self, node: &str) -> Result<(), StreamError> {
        let bucket = &self.0.nats()?.bucket;
        let removed = bucket.purge(format!("{PREFIX}{node}")).await;
        removed.map_err(unreachable)
    }

    /// The reported nodes, by name.
    ///
    /// # Errors
    /// [`StreamError::Unreachable`] if the servers do not answer.
    pub async fn members(&self) -> Result<Vec<ClusterMember>, StreamError> {
        let mut members = Vec::new();
        let mut newest = SystemTime::UNIX_EPOCH;
        for entry in self.0.servers.entries(PREFIX).await? {
            let Some(value) = entry.value else { continue };
            if let Ok(member) = serde_json::from_slice::<ClusterMember>(&value) {
                newest = newest.max(entry.created);
                members.push((member, entry.created));
            }
        }
        let aged = members.into_iter().map(|(member, created)| ClusterMember {
            age: Some(newest.duration_since(created).unwrap_or_default()),
            ..member
        });
        let mut members: Vec<ClusterMember> = aged.collect();
        members.sort_by(|one, other| one.node.cmp(&other.node));
        Ok(members)
    }
}
