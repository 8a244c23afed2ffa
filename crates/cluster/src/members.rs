//! The nodes of a log, as each reports itself: for people, for choosing a successor, and for a candidate that finds less in
//! the stream than another node holds. Nothing that is acknowledged rests on it.

use std::collections::BTreeMap;
use std::time::{Duration, SystemTime};

use serde::{Deserialize, Serialize};

use crate::connection::Cluster;
use crate::error::StreamError;

const PREFIX: &str = "member.";

/// A node of the log.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Member {
    /// Its name.
    pub node: String,
    /// Where clients reach it.
    pub url: String,
    /// What it does: `leader`, `follower`, `joining`.
    pub role: String,
    /// The newest term that it has seen.
    pub term: u64,
    /// The last frame that it has synced.
    pub frame: u64,
    /// Why it must not lead as things are, if so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unfit: Option<String>,
    /// Fingerprints of the keys that all nodes must hold alike, by name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub keys: BTreeMap<String, String>,
    /// When it reported this, Unix milliseconds by its own clock.
    pub reported_at: u64,
    /// How long before the newest report of any node the servers got this one, by their clock: a node's own may be wrong.
    /// `None` before it was sent.
    #[serde(skip)]
    pub age: Option<Duration>,
}

impl Cluster {
    /// Reports this node to the others. A connection through which that fails for a while is given up for another server.
    ///
    /// # Errors
    /// [`StreamError::Unreachable`] if the servers do not answer.
    pub async fn put_member(&self, member: &Member) -> Result<(), StreamError> {
        let text = |error: &dyn std::fmt::Display| StreamError::Unreachable(error.to_string());
        let key = format!("{PREFIX}{}", self.0.options.node);
        let value = serde_json::to_vec(member).map_err(|error| text(&error))?;
        let put = self.0.servers.put(key, value.into()).await;
        self.note_stored(put.is_ok()).await;
        put
    }

    /// Forgets a node. One that runs reports itself again.
    ///
    /// # Errors
    /// [`StreamError::Unreachable`] if the servers do not answer.
    pub async fn remove_member(&self, node: &str) -> Result<(), StreamError> {
        let bucket = &self.0.nats()?.bucket;
        let removed = bucket.purge(format!("{PREFIX}{node}")).await;
        removed.map_err(|error| StreamError::Unreachable(error.to_string()))
    }

    /// The nodes that have reported themselves, by name.
    ///
    /// # Errors
    /// [`StreamError::Unreachable`] if the servers do not answer.
    pub async fn members(&self) -> Result<Vec<Member>, StreamError> {
        let mut members = Vec::new();
        let mut newest = SystemTime::UNIX_EPOCH;
        for entry in self.0.servers.entries(PREFIX).await? {
            let Some(value) = entry.value else { continue };
            if let Ok(member) = serde_json::from_slice::<Member>(&value) {
                newest = newest.max(entry.created);
                members.push((member, entry.created));
            }
        }
        let aged = members.into_iter().map(|(member, created)| Member {
            age: Some(newest.duration_since(created).unwrap_or_default()),
            ..member
        });
        let mut members: Vec<Member> = aged.collect();
        members.sort_by(|one, other| one.node.cmp(&other.node));
        Ok(members)
    }
}
