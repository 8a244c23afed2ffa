//! A node's task, which alternates between following and leading.

use std::sync::Arc;

use crate::{Cluster, LeadSwitch, Lease, LeaseObservation};
use kedge_actors::{Engine, FollowError, StartError};
use kedge_storage::{LogPosition, Store, StoreReadError};
use metrics::gauge;
use tokio::sync::{mpsc, oneshot, watch};

use crate::metric_definitions as metric;
use crate::node::campaign::LeadDoubt;
use crate::node::fitness::Fitness;
use crate::node::follow::{AbortingTask, StatusReporter, compare_clocks};
use crate::node::keys::{FingerprintReader, compare};
use crate::node::node_lease::NodeLease;
use crate::node::node_status::{LeaderAddress, NodeStatus, ReplicaRole};
use crate::node::{Duties, HandOverError, ReplicaOptions, ReplicaParts};

/// Requests to a node.
pub(crate) enum ReplicaCommand {
    HandOver {
        to: Option<String>,
        reply: oneshot::Sender<Result<String, HandOverError>>,
    },
    /// Ends the node.
    Stop { done: oneshot::Sender<()> },
}

/// This node has to stop.
pub(crate) struct StopReply(Option<oneshot::Sender<()>>);

impl StopReply {
    /// Answers a command while not leading. `None` to continue; a closed channel means that no handle is left.
    pub(crate) fn asked_by(command: Option<ReplicaCommand>) -> Option<Self> {
        match command {
            Some(ReplicaCommand::HandOver { reply, .. }) => {
                // The requester may have left.
                let _ = reply.send(Err(HandOverError::NotLeading));
                None
            }
            Some(ReplicaCommand::Stop { done }) => Some(Self(Some(done))),
            None => Some(Self(None)),
        }
    }

    /// Reports that the node has stopped.
    pub(crate) fn done(self) -> ReplicaTransition {
        if let Some(done) = self.0 {
            // The requester may have left.
            let _ = done.send(());
        }
        ReplicaTransition::End
    }
}

/// The node's next state.
pub(crate) enum ReplicaTransition {
    Follow,
    Lead {
        term: u64,
        held: NodeLease,
    },
    /// Has ended.
    End,
}

/// Why the process must end: the rows may lag the log, which the next start repairs.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ReplicaFailure {
    #[error(transparent)]
    Follow(#[from] FollowError),
    #[error(transparent)]
    Start(#[from] StartError),
    #[error("the store could not be read: {0}")]
    Read(#[from] StoreReadError),
    #[error("the log accepts nothing")]
    NoLog,
    #[error("a task panicked: {0}")]
    Task(#[from] tokio::task::JoinError),
    #[error("{0}")]
    Engine(String),
}

/// A node's state and components.
pub(crate) struct ReplicaNode {
    pub(crate) options: ReplicaOptions,
    pub(crate) engine: Engine,
    pub(crate) store: Arc<Store>,
    pub(crate) cluster: Cluster,
    pub(crate) log: LeadSwitch,
    pub(crate) duties: Arc<dyn Duties>,
    pub(crate) lease: Lease,
    pub(crate) holder: watch::Receiver<Option<LeaseObservation>>,
    pub(crate) commands: mpsc::Receiver<ReplicaCommand>,
    /// Why the stream does not continue this node's log.
    apart: Option<String>,
    /// Why the stream cannot continue the log that this node leads.
    pub(crate) gone: Option<String>,
    /// Why this node does not lead although it is its turn.
    pub(crate) doubt: Option<LeadDoubt>,
    /// Whether it may lead.
    pub(crate) fitness: Fitness,
    own_keys: FingerprintReader,
    standing: watch::Sender<NodeStatus>,
}

impl ReplicaNode {
    pub(crate) fn new(
        options: ReplicaOptions,
        parts: ReplicaParts,
        standing: watch::Sender<NodeStatus>,
        commands: mpsc::Receiver<ReplicaCommand>,
    ) -> Self {
        let ReplicaParts {
            engine,
            store,
            cluster,
            log,
            duties,
            keys,
        } = parts;
        let compared = compare(cluster.clone(), options.node.clone(), Arc::clone(&keys));
        let fitness = Fitness {
            engine: engine.clone(),
            store: Arc::clone(&store),
            keys: compared,
        };
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
            apart: None,
            gone: None,
            doubt: None,
            fitness,
            own_keys: keys,
            standing,
        }
    }

    /// Runs the node to its end. If it cannot continue, the engine fails, and the process ends.
    pub(crate) async fn run(mut self) {
        let stated = StatusReporter {
            cluster: self.cluster.clone(),
            node: self.options.node.clone(),
            url: self.options.url.clone(),
            standing: self.standing.clone(),
            fitness: self.fitness.clone(),
            keys: Arc::clone(&self.own_keys),
        };
        let _stating = AbortingTask::spawn(stated.again_and_again());
        let _comparing =
            AbortingTask::spawn(compare_clocks(self.engine.clone(), self.holder.clone()));
        let mut next = ReplicaTransition::Follow;
        loop {
            let turned = match next {
                ReplicaTransition::Follow => self.follow().await,
                ReplicaTransition::Lead { term, held } => self.lead(term, held).await,
                ReplicaTransition::End => return,
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

    /// End of this node's log.
    pub(crate) fn position(&self) -> Result<LogPosition, ReplicaFailure> {
        self.store.log_position().ok_or(ReplicaFailure::NoLog)
    }

    /// Updates the published status.
    pub(crate) fn show(&self, change: impl FnOnce(&mut NodeStatus)) {
        self.standing.send_modify(change);
        let standing = self.standing.borrow();
        gauge!(metric::LEADS).set(f64::from(u8::from(standing.role == ReplicaRole::Leader)));
        gauge!(metric::TERM).set(standing.term as f64);
        gauge!(metric::LAG_FRAMES).set(standing.tail.saturating_sub(standing.frame) as f64);
        gauge!(metric::LAG_SECONDS).set(standing.lag_s().unwrap_or(f64::INFINITY));
        gauge!(metric::BROKEN).set(f64::from(u8::from(standing.problem.is_some())));
    }

    /// The published status.
    pub(crate) fn shown(&self) -> NodeStatus {
        self.standing.borrow().clone()
    }

    /// The sender of the status.
    pub(crate) fn standing(&self) -> &watch::Sender<NodeStatus> {
        &self.standing
    }

    /// Publishes the leader according to the lease.
    pub(crate) fn show_leader(&self) {
        let holder = {
            let seen = self.holder.borrow();
            seen.as_ref().and_then(|seen| seen.holder.clone())
        };
        let others =
            holder.filter(|holder| !holder.node.is_empty() && holder.node != self.options.node);
        let leader = others.map(|holder| LeaderAddress {
            node: holder.node,
            url: holder.url,
        });
        self.show(|standing| standing.leader = leader);
    }

    /// Records why the stream does not continue this node's log, or that it does. Nothing is applied meanwhile. The
    /// operator has to act, unless the servers recover their frames from each other.
    pub(crate) fn set_apart(&mut self, apart: Option<String>) {
        if self.apart != apart {
            self.apart = apart;
            self.show_problem();
        }
    }

    /// Whether the stream does not continue this node's log.
    pub(crate) fn is_apart(&self) -> bool {
        self.apart.is_some()
    }

    /// Publishes why this node cannot continue.
    pub(crate) fn show_problem(&self) {
        let lasting = || self.doubt.as_ref().and_then(LeadDoubt::problem);
        let problem = self.apart.clone().or_else(|| self.gone.clone());
        let problem = problem.or_else(lasting);
        let before = self.shown().problem;
        if problem == before {
            return;
        }
        if let Some(problem) = &problem {
            tracing::error!(problem, "this node cannot continue");
        } else {
            tracing::info!("this node continues");
        }
        self.show(|standing| standing.problem = problem);
    }
}
