//! Operator commands for the nodes of a cluster.

use std::time::Duration;

use kedge_cluster::node::{Fingerprints, Replica, TOKEN_KEY};
use kedge_storage::StoreMode;
use serde_json::{Map, Value, json};

use super::{AdminAnswer, AdminSocket, members, text};
use crate::api::services::LAG_MAX;

const NO_CLUSTER: &str = "this server is a single node: cluster_servers is not set";
/// A node that reported within this time counts as running.
const RUNNING: Duration = Duration::from_secs(4);

impl AdminSocket {
    /// This node's part in the cluster.
    fn replica(&self) -> Result<&Replica, String> {
        match self.services.node.replica.get() {
            Some(replica) => Ok(replica),
            None if self.services.node.is_shared => Err(format!(
                "this node takes no part in the cluster: {}",
                self.why_read_only()
            )),
            None => Err(NO_CLUSTER.to_owned()),
        }
    }

    /// Reason why this node takes no part.
    fn why_read_only(&self) -> String {
        match self.services.engine.mode() {
            StoreMode::ReadOnly(why) => format!("its store is read-only: {why}"),
            StoreMode::ReadWrite => "it is still starting".to_owned(),
        }
    }

    /// Whether this node may lack parts of the log.
    pub(super) fn lags(&self) -> bool {
        let Some(replica) = self.services.node.replica.get() else {
            return self.services.node.is_shared;
        };
        let standing = replica.standing();
        let is_current = standing
            .lag_s()
            .is_some_and(|lag_s| lag_s < LAG_MAX.as_secs_f64());
        !is_current || standing.frame < standing.tail
    }

    /// Status of a node that takes no part.
    fn read_only_status(&self) -> Map<String, Value> {
        members(json!({
            "role": "none",
            "problem": self.why_read_only(),
        }))
    }

    /// Reports of all nodes, and this node's view of the stream.
    pub(super) async fn cluster_status(&self) -> AdminAnswer {
        let replica = match self.services.node.replica.get() {
            None if self.services.node.is_shared => return Ok(self.read_only_status()),
            _ => self.replica()?,
        };
        let standing = replica.standing();
        let seen = replica.cluster().members().await.map_err(text)?;
        let shown = seen.iter().map(|member| {
            let view = json!({
                "url": member.url,
                "role": member.role,
                "term": member.term,
                "frame": member.frame,
                "seen_s": member.age.map(|age| age.as_secs()),
                "must_not_lead": member.unfit,
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
            "must_not_lead": standing.unfit.map(|unfit| unfit.why),
            "stream_connected": health.connected,
            "stream_error": health.last_error,
            "nodes": nodes,
        })))
    }

    pub(super) async fn hand_over(&self, to: Option<String>) -> AdminAnswer {
        let replica = self.replica()?;
        let leader = replica.standing().leader;
        if let Some(leader) = leader.filter(|leader| to.as_ref() == Some(&leader.node)) {
            return Err(format!("{} leads already", leader.node));
        }
        let successor = replica.hand_over(to).await.map_err(text)?;
        Ok(members(json!({ "successor": successor })))
    }

    /// Refuses commands of the leader on other nodes, and names the leader.
    pub(super) fn check_leads(&self) -> Result<(), String> {
        if self.services.engine.leads() {
            return Ok(());
        }
        let leader = self.replica()?.standing().leader;
        let leader = leader.map_or_else(
            || "no node leads at the moment; `kedge cluster status` shows when one does".to_owned(),
            |leader| {
                format!(
                    "run the command on {}, which leads, at its admin socket",
                    leader.node
                )
            },
        );
        Err(format!(
            "this node follows the log, and nothing was changed: {leader}"
        ))
    }

    /// Refuses to make a key on this node alone: the other nodes could not read the log any more.
    pub(super) fn check_single_node(&self) -> Result<(), String> {
        if self.services.node.is_shared {
            return Err(
                "several nodes share this log, and a key made here would be unknown to the others, \
                 which stop then: see \"Keys of several nodes\" in docs/operations/keys.md"
                    .to_owned(),
            );
        }
        Ok(())
    }

    /// Retires token keys on this node. In a cluster the key has to be named, because retiring all would make each node
    /// replace them differently; the answer lists the nodes that still hold it.
    pub(super) async fn retire_token_key(&self, id: Option<String>) -> AdminAnswer {
        let access = &self.services.access.tokens;
        let keys = access.public_keys().keys.into_iter();
        let ids: Vec<_> = keys.filter_map(|key| key.common.key_id).collect();
        if self.services.node.is_shared && id.as_ref().is_some_and(|id| ids == [id.as_str()]) {
            return Err(
                "it is the only token key, and each node would make another key in its place: run `kedge admin \
                 rotate-token-key` on one node first, and copy the new key to the others"
                    .to_owned(),
            );
        }
        if self.services.node.is_shared && id.is_none() {
            return Err(format!(
                "several nodes share the token keys, so name the one to retire, here and on each of the others: {}. See \
                 \"Keys of several nodes\" in docs/operations/keys.md",
                ids.join(", ")
            ));
        }
        let retired = access.retire(id.as_deref()).map_err(text)?;
        let mut answer = members(json!({ "retired": retired.join(", ") }));
        if let Some(replica) = self.services.node.replica.get() {
            let seen = replica.cluster().members().await;
            let seen = seen.map_err(|error| {
                format!("the key was retired on this node; which others hold it still is unknown: {error}")
            })?;
            let me = &replica.cluster().options().node;
            let holds = |keys: &Fingerprints| {
                let mut ids = retired.iter();
                ids.any(|id| keys.contains_key(&format!("{TOKEN_KEY}{id}")))
            };
            let others: Vec<_> = seen
                .iter()
                .filter(|member| member.node != *me && holds(&member.keys))
                .map(|member| member.node.as_str())
                .collect();
            answer.insert("on_node".to_owned(), json!(me));
            answer.insert("still_on".to_owned(), json!(others.join(", ")));
        }
        Ok(answer)
    }

    /// Forgets a node that will not come back.
    pub(super) async fn remove_node(&self, node: &str) -> AdminAnswer {
        let replica = self.replica()?;
        let listed = replica.cluster().members().await.map_err(text)?;
        let Some(member) = listed.iter().find(|member| member.node == node) else {
            let names: Vec<_> = listed.iter().map(|member| member.node.as_str()).collect();
            return Err(format!(
                "no node is named {node}; there are {}",
                names.join(", ")
            ));
        };
        if let Some(age) = member.age.filter(|age| *age < RUNNING) {
            return Err(format!(
                "{node} reported itself {:.1} s ago: it would be listed again. Stop it first, and repeat this after {} s",
                age.as_secs_f64(),
                RUNNING.as_secs()
            ));
        }
        let removed = replica.cluster().remove_member(node).await;
        removed.map_err(text)?;
        Ok(members(json!({ "removed": node })))
    }
}
