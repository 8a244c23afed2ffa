//! One node of several. It follows the log that another node extends, or leads and extends it itself. The stream decides
//! who leads: a leader begins with a frame that opens a term, and each frame is placed only directly after the one that
//! its writer had seen. The lease decides only who tries (adr/0021).
//!
//! - [`Replica`]: the handle; [`Standing`] is what the node is at present.
//! - `node`: the task that turns from following to leading and back. `campaign` is the way up, `lead` the time there.
//! - [`Replica::ask`], [`Replica::listen`]: what nodes ask the leader.
//! - [`Forwarder`]: hands changes to the leader.
//! - `fitness`: whether a node may lead; `keys`: whether it holds the keys that the others hold.
//! - [`Duties`]: what else a leader does, which this crate does not know.

mod asking;
mod campaign;
mod fitness;
mod follow;
mod forward;
mod keys;
mod lead;
mod options;
mod runner;
mod standing;

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use crate::{Cluster, Leading};
use kedge_actors::Engine;
use kedge_protocol::Address;
use kedge_storage::Store;
use tokio::sync::{mpsc, oneshot, watch};

pub use forward::{FORWARDED_BY, ForwardError, Forwarder, answer_headers, node_client, uri_at};
pub use keys::{Fingerprints, OwnKeys, TOKEN_KEY};
pub use options::{GROUP_BYTES_MAX, cluster_options, lease};
pub use standing::{Leader, Role, Standing, Unfit};

use runner::{Command, Node};

/// How long a successor may take until it leads.
const TAKEN_WITHIN: Duration = Duration::from_secs(10);

/// A boxed future.
pub type Boxed<T> = Pin<Box<dyn Future<Output = T> + Send>>;

/// What a leader does besides deciding and writing. It ends with the leadership by itself: its actors are the engine's.
pub trait Duties: Send + Sync + 'static {
    /// Begins. An error states what could not begin; the node leads all the same.
    fn begin(&self) -> Boxed<Result<(), String>>;

    /// Has ended, with the leadership.
    fn ended(&self);
}

/// How a node takes part.
#[derive(Clone, Debug)]
pub struct ReplicaOptions {
    /// Its name.
    pub node: String,
    /// The URL under which other nodes reach it.
    pub url: String,
    /// How long a leader may be silent before another node takes over.
    pub lease: Duration,
    /// How long requests in flight get when leadership is handed over.
    pub drain: Duration,
    /// The key that signs a new log from batch 0 on.
    pub first_key: Address,
}

/// What a node is made of.
pub struct Parts {
    /// The engine; it does not lead yet.
    pub engine: Engine,
    /// Its store, whose log is the shared one.
    pub store: Arc<Store>,
    /// The connection to the stream.
    pub cluster: Cluster,
    /// The store's log, as far as leading it goes.
    pub log: Leading,
    /// What else a leader does.
    pub duties: Arc<dyn Duties>,
    /// The keys that all nodes must hold alike.
    pub keys: OwnKeys,
}

/// A node that takes part.
#[derive(Clone)]
pub struct Replica {
    cluster: Cluster,
    standing: watch::Receiver<Standing>,
    commands: mpsc::Sender<Command>,
}

/// Why leadership was not handed over.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum HandOverError {
    /// This node follows.
    #[error("this node does not lead; ask the leader")]
    NotLeading,
    /// The node that is asked for must not lead.
    #[error("{node} must not lead: {why}")]
    Unfit {
        /// The node.
        node: String,
        /// Why not.
        why: String,
    },
    /// It has not taken over.
    #[error(
        "this node no longer leads, and {0} has not taken over within 10 seconds: `kedge cluster status` shows who leads"
    )]
    NotTaken(String),
    /// No other node may lead; the furthest of them.
    #[error("no other node may lead now: `kedge cluster status` shows why not")]
    Unready(String),
    /// There is no node of that name.
    #[error("no node is named {0}: `kedge cluster status` shows all")]
    Unknown(String),
    /// There is nobody to hand over to.
    #[error("no other node is up to date: none can take over")]
    Nobody,
    /// The node has ended.
    #[error("this node no longer takes part")]
    Ended,
}

impl Replica {
    /// Begins to take part, as a follower.
    pub fn start(options: ReplicaOptions, parts: Parts) -> Self {
        crate::metric_definitions::describe();
        let (commands, receiver) = mpsc::channel(4);
        let (sender, standing) = watch::channel(Standing::default());
        let cluster = parts.cluster.clone();
        tokio::spawn(Node::new(options, parts, sender, receiver).run());
        Self {
            cluster,
            standing,
            commands,
        }
    }

    /// What the node is at present.
    pub fn standing(&self) -> Standing {
        self.standing.borrow().clone()
    }

    /// The newest term that this node knows.
    pub fn term(&self) -> u64 {
        self.standing.borrow().term
    }

    /// Waits until this node knows another term.
    pub async fn term_after(&self, term: u64) {
        let mut standing = self.standing.clone();
        if standing.wait_for(|now| now.term != term).await.is_err() {
            // The node has ended, and learns of no term any more.
            std::future::pending::<()>().await;
        }
    }

    /// Waits until another node leads than the one at this URL.
    pub async fn led_by_another(&self, url: &str) {
        let mut standing = self.standing.clone();
        let is_another = |standing: &Standing| {
            let leader = standing.leader.as_ref();
            leader.is_some_and(|leader| leader.url != url)
        };
        if standing.wait_for(is_another).await.is_err() {
            // The node has ended, and learns of no leader any more.
            std::future::pending::<()>().await;
        }
    }

    /// The connection to the stream.
    pub fn cluster(&self) -> &Cluster {
        &self.cluster
    }

    /// Hands leadership to another node: to the one named, or to the one that is furthest. Returns its name once it has
    /// the lease.
    ///
    /// # Errors
    /// [`HandOverError`]; nothing has changed then, but for [`HandOverError::NotTaken`].
    pub async fn hand_over(&self, to: Option<String>) -> Result<String, HandOverError> {
        let (reply, answer) = oneshot::channel();
        let sent = self.commands.send(Command::HandOver { to, reply }).await;
        sent.map_err(|_| HandOverError::Ended)?;
        let successor = answer.await.map_err(|_| HandOverError::Ended)??;
        let mut standing = self.standing.clone();
        let has_taken = |standing: &Standing| {
            let leader = standing.leader.as_ref();
            leader.is_some_and(|leader| leader.node == successor)
        };
        let taken = tokio::time::timeout(TAKEN_WITHIN, standing.wait_for(has_taken)).await;
        match taken.map(|taken| taken.is_ok()) {
            Ok(true) => Ok(successor),
            _ => Err(HandOverError::NotTaken(successor)),
        }
    }

    /// Stops taking part, before the process ends: a leader hands over first.
    pub async fn stop(&self) {
        let (done, stopped) = oneshot::channel();
        if self.commands.send(Command::Stop { done }).await.is_ok() {
            // A node that has ended has nothing to hand over.
            let _ = stopped.await;
        }
    }
}
