//! The task of a node. It follows until it is its turn to lead, leads until it no longer may, and follows again.

use std::sync::Arc;
use std::time::Instant;

use kedge_actors::{Engine, FollowError, StartError};
use kedge_cluster::{Cluster, Leading, Lease, LeaseSeen};
use kedge_storage::{LogPosition, ReadError, Store};
use metrics::gauge;
use tokio::sync::{mpsc, oneshot, watch};

use crate::follow::{Task, compare_clocks, state_place};
use crate::metric_definitions as metric;
use crate::standing::{Leader, Role, Standing};
use crate::{Duties, HandOverError, Parts, ReplicaOptions};

/// What a node is asked to do.
pub(crate) enum Command {
    /// To let another node lead.
    HandOver {
        to: Option<String>,
        reply: oneshot::Sender<Result<String, HandOverError>>,
    },
    /// To take no part any more.
    Stop { done: oneshot::Sender<()> },
}

/// What comes next.
pub(crate) enum Next {
    /// It follows.
    Follow,
    /// It leads, from this term and this revision of the lease on.
    Lead { term: u64, revision: u64 },
    /// It takes no part any more.
    End,
}

/// Why the process has to end: its rows may lag its log, and a start brings them up to it.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Fatal {
    #[error(transparent)]
    Follow(#[from] FollowError),
    #[error(transparent)]
    Start(#[from] StartError),
    #[error("the store could not be read: {0}")]
    Read(#[from] ReadError),
    #[error("the log accepts nothing")]
    NoLog,
    #[error("a task panicked: {0}")]
    Task(#[from] tokio::task::JoinError),
    #[error("{0}")]
    Engine(String),
}

/// A node and everything it works with.
pub(crate) struct Node {
    pub(crate) options: ReplicaOptions,
    pub(crate) engine: Engine,
    pub(crate) store: Arc<Store>,
    pub(crate) cluster: Cluster,
    pub(crate) log: Leading,
    pub(crate) duties: Arc<dyn Duties>,
    pub(crate) lease: Lease,
    pub(crate) holder: watch::Receiver<Option<LeaseSeen>>,
    pub(crate) commands: mpsc::Receiver<Command>,
    /// Since when the stream seems to contradict this node's log.
    pub(crate) doubted_since: Option<Instant>,
    standing: watch::Sender<Standing>,
}

impl Node {
    pub(crate) fn new(
        options: ReplicaOptions,
        parts: Parts,
        standing: watch::Sender<Standing>,
        commands: mpsc::Receiver<Command>,
    ) -> Self {
        let Parts {
            engine,
            store,
            cluster,
            log,
            duties,
        } = parts;
        let lease = cluster.lease();
        let holder = lease.watch();
        Self {
            options,
            engine,
            store,
            cluster,
            log,
            duties,
            lease,
            holder,
            commands,
            doubted_since: None,
            standing,
        }
    }

    /// Takes part until it has to stop. If it cannot continue, the engine fails, and the process ends with it.
    pub(crate) async fn run(mut self) {
        let stating = state_place(
            self.cluster.clone(),
            self.options.node.clone(),
            self.options.url.clone(),
            self.standing.subscribe(),
        );
        let _stating = Task::spawn(stating);
        let _comparing = Task::spawn(compare_clocks(self.engine.clone(), self.holder.clone()));
        let mut next = Next::Follow;
        loop {
            let turned = match next {
                Next::Follow => self.follow().await,
                Next::Lead { term, revision } => self.lead(term, revision).await,
                Next::End => return,
            };
            next = match turned {
                Ok(next) => next,
                Err(fatal) => {
                    self.engine.fail(&fatal.to_string());
                    return;
                }
            };
        }
    }

    /// Where this node's own log ends.
    pub(crate) fn position(&self) -> Result<LogPosition, Fatal> {
        self.store.log_position().ok_or(Fatal::NoLog)
    }

    /// Changes what the node shows of itself.
    pub(crate) fn show(&self, change: impl FnOnce(&mut Standing)) {
        self.standing.send_modify(change);
        let standing = self.standing.borrow();
        gauge!(metric::LEADS).set(f64::from(u8::from(standing.role == Role::Leader)));
        gauge!(metric::TERM).set(standing.term as f64);
        gauge!(metric::LAG_FRAMES).set(standing.tail.saturating_sub(standing.frame) as f64);
        gauge!(metric::LAG_SECONDS).set(standing.lag_s().unwrap_or(f64::INFINITY));
        gauge!(metric::BROKEN).set(f64::from(u8::from(standing.problem.is_some())));
    }

    /// What the node shows of itself.
    pub(crate) fn shown(&self) -> Standing {
        self.standing.borrow().clone()
    }

    /// Where this node shows what it is.
    pub(crate) fn standing(&self) -> &watch::Sender<Standing> {
        &self.standing
    }

    /// Shows who leads, by the lease.
    pub(crate) fn show_leader(&self) {
        let holder = {
            let seen = self.holder.borrow();
            seen.as_ref().and_then(|seen| seen.holder.clone())
        };
        let others =
            holder.filter(|holder| !holder.node.is_empty() && holder.node != self.options.node);
        let leader = others.map(|holder| Leader {
            node: holder.node,
            url: holder.url,
        });
        self.show(|standing| standing.leader = leader);
    }

    /// The stream cannot be followed: nothing is applied any more, and the operator has to act.
    pub(crate) async fn stand_still(&mut self, problem: String) -> Result<Next, Fatal> {
        tracing::error!(problem, "this node has stopped following the log");
        self.show(|standing| standing.problem = Some(problem));
        loop {
            match self.commands.recv().await {
                Some(Command::HandOver { reply, .. }) => {
                    // Whoever asked may have left.
                    let _ = reply.send(Err(HandOverError::NotLeading));
                }
                Some(Command::Stop { done }) => {
                    let _ = done.send(());
                    return Ok(Next::End);
                }
                None => return Ok(Next::End),
            }
        }
    }
}
