//! One node of a cluster. It either follows the log that another node extends, or leads and extends it. The stream
//! decides who leads: a leader begins with a frame that opens a term, and each frame is accepted only directly after
//! the one that its writer saw. The lease only decides who tries (adr/0021).
//!
//! - [`Replica`]: the handle; [`NodeStatus`] is the node's status.
//! - `runner`: the task that alternates between following and leading, through `campaign` and `lead`.
//! - [`Replica::ask`], [`Replica::listen`]: requests to the leader.
//! - [`Forwarder`]: forwards changes to the leader.
//! - `fitness`: whether a node may lead; `keys`: whether it holds the shared keys.
//! - [`Duties`]: further tasks of a leader, provided by the server.

mod campaign;
mod fitness;
mod follow;
mod forward;
mod keys;
mod lead;
mod leader_requests;
mod node_lease;
mod node_status;
mod options;
mod runner;

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use crate::{Cluster, LeadSwitch};
use kedge_actors::Engine;
use kedge_protocol::Address;
use kedge_storage::Store;
use tokio::sync::{mpsc, oneshot, watch};

pub use forward::{FORWARDED_BY, ForwardError, Forwarder, answer_headers, node_client, uri_at};
pub use keys::{FingerprintReader, Fingerprints, TOKEN_KEY};
pub use node_status::{LeaderAddress, NodeStatus, ReplicaRole, UnfitReason};
pub use options::{GROUP_BYTES_MAX, cluster_options, lease};

use runner::{ReplicaCommand, ReplicaNode};

/// Limit of the successor's takeover.
const TAKEN_WITHIN: Duration = Duration::from_secs(10);

/// A boxed, sendable future.
pub type ReplicaFuture<T> = Pin<Box<dyn Future<Output = T> + Send>>;

/// Tasks of a leader outside the engine. Its actors belong to the engine and end with the leadership.
pub trait Duties: Send + Sync + 'static {
    /// Starts the tasks. An error names those that failed to start; the node leads nevertheless. It must not wait for a
    /// write or for the chain: the lease is renewed only after it.
    fn begin(&self) -> ReplicaFuture<Result<(), String>>;

    /// Called after the leadership has ended.
    fn ended(&self);
}

#[derive(Clone, Debug)]
pub struct ReplicaOptions {
    pub node: String,
    /// The URL for other nodes.
    pub url: String,
    /// Silence after which another node replaces the leader.
    pub lease: Duration,
    /// Time for requests in flight at a handover.
    pub drain: Duration,
    /// The key that signs a new log from batch 0 on.
    pub first_key: Address,
}

/// The components that a node runs on.
pub struct ReplicaParts {
    pub engine: Engine,
    /// Its log is the shared one.
    pub store: Arc<Store>,
    pub cluster: Cluster,
    /// Switch of the store's log.
    pub log: LeadSwitch,
    /// Tasks of a leader outside the engine.
    pub duties: Arc<dyn Duties>,
    /// Reads the fingerprints of the shared keys.
    pub keys: FingerprintReader,
}

/// Handle of a node.
#[derive(Clone)]
pub struct Replica {
    cluster: Cluster,
    standing: watch::Receiver<NodeStatus>,
    commands: mpsc::Sender<ReplicaCommand>,
}

/// Why leadership was not handed over.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum HandOverError {
    /// This node does not lead.
    #[error("this node does not lead; ask the leader")]
    NotLeading,
    /// The requested node must not lead.
    #[error("{node} must not lead: {why}")]
    Unfit { node: String, why: String },
    /// The successor has not taken over in time.
    #[error(
        "this node no longer leads, and {0} has not taken over within 10 seconds: `kedge cluster status` shows who leads"
    )]
    NotTaken(String),
    /// No other node may lead; names the furthest one.
    #[error("no other node may lead now: `kedge cluster status` shows why not")]
    Unready(String),
    #[error("no node is named {0}: `kedge cluster status` shows all")]
    Unknown(String),
    /// There is no other node.
    #[error("no other node is up to date: none can take over")]
    Nobody,
    #[error("this node no longer takes part")]
    Ended,
}

impl Replica {
    /// Starts the node as a follower.
    pub fn start(options: ReplicaOptions, parts: ReplicaParts) -> Self {
        crate::metric_definitions::describe();
        let (commands, receiver) = mpsc::channel(4);
        let (sender, standing) = watch::channel(NodeStatus::default());
        let cluster = parts.cluster.clone();
        tokio::spawn(ReplicaNode::new(options, parts, sender, receiver).run());
        Self {
            cluster,
            standing,
            commands,
        }
    }

    /// The node's status.
    pub fn standing(&self) -> NodeStatus {
        self.standing.borrow().clone()
    }

    /// The newest known term.
    pub fn term(&self) -> u64 {
        self.standing.borrow().term
    }

    /// Waits until a node at another URL leads.
    pub async fn led_by_another(&self, url: &str) {
        let mut standing = self.standing.clone();
        let is_another = |standing: &NodeStatus| {
            let leader = standing.leader.as_ref();
            leader.is_some_and(|leader| leader.url != url)
        };
        if standing.wait_for(is_another).await.is_err() {
            // The node has ended, and learns of no further leader.
            std::future::pending::<()>().await;
        }
    }

    pub fn cluster(&self) -> &Cluster {
        &self.cluster
    }

    /// Hands leadership to the named node, or to the furthest fit one. Returns its name once it has the lease.
    ///
    /// # Errors
    /// [`HandOverError`]; only [`HandOverError::NotTaken`] may have changed anything.
    pub async fn hand_over(&self, to: Option<String>) -> Result<String, HandOverError> {
        let (reply, answer) = oneshot::channel();
        let sent = self
            .commands
            .send(ReplicaCommand::HandOver { to, reply })
            .await;
        sent.map_err(|_| HandOverError::Ended)?;
        let successor = answer.await.map_err(|_| HandOverError::Ended)??;
        let mut standing = self.standing.clone();
        let has_taken = |standing: &NodeStatus| {
            let leader = standing.leader.as_ref();
            leader.is_some_and(|leader| leader.node == successor)
        };
        let taken = tokio::time::timeout(TAKEN_WITHIN, standing.wait_for(has_taken)).await;
        match taken.map(|taken| taken.is_ok()) {
            Ok(true) => Ok(successor),
            _ => Err(HandOverError::NotTaken(successor)),
        }
    }

    /// Stops the node before the process ends; a leader hands over first.
    pub async fn stop(&self) {
        let (done, stopped) = oneshot::channel();
        if self
            .commands
            .send(ReplicaCommand::Stop { done })
            .await
            .is_ok()
        {
            // A node that has ended has nothing to hand over.
            let _ = stopped.await;
        }
    }
}
