//! Following: this node applies frames of the stream until it is its turn to lead.

use std::time::Duration;

use crate::{Cluster, ClusterMember, LeaseObservation, StreamError, StreamFollower};
use bytes::Bytes;
use kedge_actors::{Engine, FollowError, LogFollower};
use kedge_storage::CommitError;
use tokio::sync::{mpsc, watch};
use tokio::task::{JoinError, JoinHandle};
use tokio::time::Instant;

use crate::node::fitness::Fitness;
use crate::node::keys::FingerprintReader;
use crate::node::node_status::{NodeStatus, ReplicaRole, UnfitReason};
use crate::node::runner::{ReplicaFailure, ReplicaNode, ReplicaTransition, StopReply};

/// Interval of checks whether it is this node's turn to lead.
const TURN_EVERY: Duration = Duration::from_millis(50);
/// Interval of reads of the stream's end.
const TAIL_EVERY: Duration = Duration::from_millis(250);
/// How long the stream's end may be unreadable before this node reports the reason: a new leader of the stream may not
/// have applied everything yet.
pub(crate) const UNREADABLE_MAX: Duration = Duration::from_secs(10);
/// Interval of status reports.
pub(crate) const STATED_EVERY: Duration = Duration::from_secs(1);
/// Pause before a report that the servers did not store is repeated.
const STATED_AGAIN: Duration = Duration::from_millis(100);
/// Pause before a full disk is tried again.
const PAUSE: Duration = Duration::from_millis(500);
/// Limit of frame bytes per sync.
const RUN_BYTES_MAX: usize = 8 * 1024 * 1024;
/// Pause before a node whose log the stream does not continue checks again.
const LOOK_AGAIN: Duration = Duration::from_secs(1);
/// Limit of runs waiting to be applied.
const RUNS_MAX: usize = 2;

/// A task that is aborted with its handle.
pub(crate) struct AbortingTask(JoinHandle<()>);

impl Drop for AbortingTask {
    fn drop(&mut self) {
        self.0.abort();
    }
}

impl AbortingTask {
    pub(crate) fn spawn(work: impl Future<Output = ()> + Send + 'static) -> Self {
        Self(tokio::spawn(work))
    }
}

/// Finding of the stream's reader.
enum FollowEvent {
    /// The next frames, to be synced together.
    Frames(Vec<Bytes>),
    /// The stream continues from this node's last frame.
    Joined,
    /// The stream seems to be gone, or to end before that frame.
    Parted,
    /// The stream does not continue this node's log.
    Apart(StreamError),
}

/// Reads the stream on a separate task, so that nothing else interrupts it.
fn read(following: StreamFollower) -> (mpsc::Receiver<FollowEvent>, AbortingTask) {
    let (found, receiver) = mpsc::channel(RUNS_MAX);
    let task = AbortingTask::spawn(async move {
        // Ends when the receiver is dropped.
        let _ = read_to(following, found).await;
    });
    (receiver, task)
}

async fn read_to(
    mut following: StreamFollower,
    found: mpsc::Sender<FollowEvent>,
) -> Result<(), mpsc::error::SendError<FollowEvent>> {
    let mut is_joined = false;
    loop {
        let failed = match following.try_connect().await {
            Ok(true) if !is_joined => {
                is_joined = true;
                found.send(FollowEvent::Joined).await?;
                continue;
            }
            Ok(false) => {
                if std::mem::take(&mut is_joined) {
                    found.send(FollowEvent::Parted).await?;
                }
                continue;
            }
            Ok(true) => match following.read().await {
                Ok(Some(first)) => {
                    let mut run = vec![first];
                    run.extend(following.ready(RUN_BYTES_MAX));
                    found.send(FollowEvent::Frames(run)).await?;
                    continue;
                }
                Ok(None) => continue,
                Err(error) => error,
            },
            Err(error) => {
                is_joined = false;
                error
            }
        };
        found.send(FollowEvent::Apart(failed)).await?;
        tokio::time::sleep(LOOK_AGAIN).await;
    }
}

/// Polls the stream's end.
async fn look_at_tail(cluster: Cluster, standing: watch::Sender<NodeStatus>) {
    let mut readable_at = Instant::now();
    let mut longer_since = None;
    loop {
        let looked_at = Instant::now();
        let frame = standing.borrow().frame;
        match cluster.tail().await {
            Ok(tail) => {
                readable_at = looked_at;
                standing.send_modify(|standing| {
                    standing.saw_tail(tail.as_ref(), frame, looked_at, &mut longer_since);
                });
            }
            Err(StreamError::Unreachable(_)) => {}
            // The stream's leading server may pass frames on without being able to read them.
            Err(error) => {
                if readable_at.elapsed() >= UNREADABLE_MAX {
                    standing.send_modify(|standing| standing.stalled = Some(error.to_string()));
                }
            }
        }
        tokio::time::sleep(TAIL_EVERY).await;
    }
}

impl ReplicaNode {
    /// Follows until it is this node's turn to lead, or it has to stop.
    pub(crate) async fn follow(&mut self) -> Result<ReplicaTransition, ReplicaFailure> {
        self.show(|standing| {
            standing.role = ReplicaRole::Follower;
            standing.caught_up_at = None;
        });
        self.set_apart(None);
        self.part();
        let mut follower = Some(self.follower().await?);
        let (mut stream, _reading) = read(self.cluster.follow(&self.position()?));
        let looking = look_at_tail(self.cluster.clone(), self.standing().clone());
        let _looking = AbortingTask::spawn(looking);
        let mut turn = tokio::time::interval(TURN_EVERY);
        turn.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        loop {
            tokio::select! {
                biased;
                command = self.commands.recv() => {
                    if let Some(stopping) = StopReply::asked_by(command) {
                        return Ok(stopping.done());
                    }
                }
                Some(found) = stream.recv() => match found {
                    FollowEvent::Frames(frames) => {
                        follower = match self.take(follower, frames).await? {
                            Ok(follower) => Some(follower),
                            Err(stopping) => return Ok(stopping.done()),
                        };
                        self.set_apart(None);
                    }
                    FollowEvent::Joined => {
                        self.set_apart(None);
                        self.join()?;
                    }
                    FollowEvent::Parted => self.part(),
                    FollowEvent::Apart(error) => {
                        self.set_apart(Some(error.to_string()));
                        self.part();
                    }
                },
                _ = turn.tick() => {
                    self.show_leader();
                    let (back, next) = self.campaign(follower).await?;
                    follower = back;
                    if let Some(next) = next {
                        return Ok(next);
                    }
                }
            }
        }
    }

    /// A follower that starts at the end of this node's rows.
    async fn follower(&self) -> Result<LogFollower, ReplicaFailure> {
        let engine = self.engine.clone();
        let made = self.blocking(move || LogFollower::new(&engine)).await?;
        let follower = made?;
        let frame = self.position()?.frame;
        self.show(|standing| standing.frame = frame);
        Ok(follower)
    }

    /// Records that the stream holds this node's last frame.
    fn join(&self) -> Result<(), ReplicaFailure> {
        let end = self.position()?;
        // The last frame may not have been reported before a restart, and the leader publishes no further frame until
        // it is.
        self.cluster.report_synced(&end);
        self.show(|standing| standing.joined = true);
        Ok(())
    }

    /// Withdraws the report while it is unknown whether the stream continues this node's log: the leader must not count
    /// on this node.
    fn part(&self) {
        self.cluster.report_nothing();
        self.show(|standing| standing.joined = false);
    }

    /// Runs work that blocks on the disk or the stream.
    pub(crate) async fn blocking<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, JoinError> {
        self.engine.running().blocking(work).await
    }

    /// Appends and applies frames. While the disk is full it waits, unless it has to stop; other nodes continue.
    pub(crate) async fn take(
        &mut self,
        follower: Option<LogFollower>,
        mut frames: Vec<Bytes>,
    ) -> Result<Result<LogFollower, StopReply>, ReplicaFailure> {
        let Some(mut follower) = follower else {
            return Err(ReplicaFailure::NoLog);
        };
        while !frames.is_empty() {
            let work = move || {
                let followed = follower.follow(&frames);
                (follower, frames, followed)
            };
            let (back, mut rest, followed) = self.blocking(work).await?;
            match followed {
                Ok(count) => drop(rest.drain(..count)),
                Err(FollowError::Commit(CommitError::NoSpace(why))) => {
                    tracing::error!(
                        why,
                        "the disk is full; this node follows again once there is room"
                    );
                    let asked = tokio::time::timeout(PAUSE, self.commands.recv()).await;
                    if let Some(stopping) = asked.ok().and_then(StopReply::asked_by) {
                        return Ok(Err(stopping));
                    }
                }
                Err(error) => return Err(error.into()),
            }
            (follower, frames) = (back, rest);
        }
        let end = self.position()?;
        self.cluster.report_synced(&end);
        self.show(|standing| {
            standing.frame = end.frame;
            standing.tail = standing.tail.max(end.frame);
            standing.joined = true;
        });
        Ok(Ok(follower))
    }
}

/// Compares this node's clock with the servers' timestamps of the lease. Otherwise a leader whose clock jumps ahead
/// would write times that no other node could continue from.
pub(crate) async fn compare_clocks(
    engine: Engine,
    mut holder: watch::Receiver<Option<LeaseObservation>>,
) {
    while holder.changed().await.is_ok() {
        let seen = holder
            .borrow_and_update()
            .as_ref()
            .map(|seen| seen.stored_ms);
        if let Some(stored_ms) = seen {
            engine.time().others_seen(stored_ms);
        }
    }
}

/// Status reports of a node, for other nodes and the operator.
pub(crate) struct StatusReporter {
    pub(crate) cluster: Cluster,
    pub(crate) node: String,
    pub(crate) url: String,
    pub(crate) standing: watch::Sender<NodeStatus>,
    pub(crate) fitness: Fitness,
    pub(crate) keys: FingerprintReader,
}

impl StatusReporter {
    /// Reports as long as the node takes part.
    pub(crate) async fn again_and_again(self) {
        loop {
            let member = self.member();
            // If no server answers, no other node could read the report either. The short pause lets the node move to
            // another server soon.
            let pause = match self.cluster.put_member(&member).await {
                Ok(()) => STATED_EVERY,
                Err(_) => STATED_AGAIN,
            };
            tokio::time::sleep(pause).await;
        }
    }

    fn member(&self) -> ClusterMember {
        let unfit = match self.fitness.why_not() {
            Ok(unfit) => unfit,
            Err(error) => Some(UnfitReason {
                why: format!("the store could not be read: {error}"),
                bars_reads: false,
            }),
        };
        self.standing
            .send_modify(|standing| standing.unfit.clone_from(&unfit));
        let keys = (self.keys)();
        let standing = self.standing.borrow();
        ClusterMember {
            log_format: kedge_log::frame::header::FORMAT,
            node: self.node.clone(),
            url: self.url.clone(),
            role: standing.role.name().to_owned(),
            term: standing.term,
            frame: standing.frame,
            unfit: unfit.map(|unfit| unfit.why),
            keys,
            reported_at: 0,
            age: None,
        }
    }
}
