//! The operator's commands about the nodes of a cluster.

use kedge_replica::Replica;
use kedge_storage::Mode;
use serde_json::{Map, Value, json};

use super::{AdminSocket, members};

const NO_CLUSTER: &str = "this server is a single node: cluster_servers is not set";

impl AdminSocket {
    /// This node's part among several.
    fn replica(&self) -> Result<&Replica, String> {
        match self.app.replica.get() {
            Some(replica) => Ok(replica),
            None if self.app.is_shared => Err(format!(
                "this node takes no part in the cluster: {}",
                self.why_read_only()
            )),
            None => Err(NO_CLUSTER.to_owned()),
        }
    }

    /// Why a node of several takes no part.
    fn why_read_only(&self) -> String {
        match self.app.engine.mode() {
            Mode::ReadOnly(why) => format!("its store is read-only: {why}"),
            Mode::ReadWrite => "it is still starting".to_owned(),
        }
    }

    /// What is known of a node that takes no part.
    fn read_only_status(&self) -> Map<String, Value> {
        members(json!({
            "role": "none",
            "problem": self.why_read_only(),
        }))
    }

    /// What every node of the cluster states of itself, and what this one knows of the stream.
    pub(super) async fn cluster_status(&self) -> Result<Map<String, Value>, String> {
        let replica = match self.app.replica.get() {
            None if self.app.is_shared => return Ok(self.read_only_status()),
            _ => self.replica()?,
        };
        let standing = replica.standing();
        let seen = replica.cluster().members().await;
        let seen = seen.map_err(|error| error.to_string())?;
        let shown = seen.iter().map(|member| {
            let view = json!({
                "url": member.url,
                "role": member.role,
                "term": member.term,
                "frame": member.frame,
                "seen_s": member.age.map(|age| age.as_secs()),
            });
            (member.node.clone(), view)
        });
        let nodes: Map<String, Value> = shown.collect();
        let health = replica.cluster().health().borrow().clone();
        Ok(members(json!({
            "role": standing.role.name(),
            "term": standing.term,
            "leader": standing.leader.as_ref().map(|leader| &leader.node),
            "leader_url": standing.leader.as_ref().map(|leader| &leader.url),
            "frame": standing.frame,
            "stream_frame": standing.tail,
            "lag_s": standing.lag_s(),
            "problem": standing.problem,
            "stream_connected": health.connected,
            "stream_error": health.last_error,
            "nodes": nodes,
        })))
    }

    /// Lets another node lead.
    pub(super) async fn hand_over(&self, to: Option<String>) -> Result<Map<String, Value>, String> {
        let replica = self.replica()?;
        let handed = replica.hand_over(to).await;
        let successor = handed.map_err(|error| error.to_string())?;
        Ok(members(json!({ "successor": successor })))
    }

    /// Refuses what would make a key on this node alone: the others could not read the log any more.
    pub(super) fn check_single_node(&self) -> Result<(), String> {
        if self.app.is_shared {
            return Err(
                "several nodes share this log, and a key made here would be unknown to the others, \
                 which stop then: see \"Keys of several nodes\" in docs/OPERATIONS.md"
                    .to_owned(),
            );
        }
        Ok(())
    }

    /// Forgets a node that will not come back.
    pub(super) async fn remove_node(&self, node: &str) -> Result<Map<String, Value>, String> {
        let replica = self.replica()?;
        let removed = replica.cluster().remove_member(node).await;
        removed.map_err(|error| error.to_string())?;
        Ok(members(json!({ "removed": node })))
    }
}
