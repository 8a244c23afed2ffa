//! Leading: the node renews the lease until another node has it, it is handed over, or the node stops.

use std::time::Duration;

use crate::{Cluster, ClusterMember};
use kedge_actors::Engine;
use kedge_log::frame::header::FORMAT;
use tokio::sync::watch;
use tokio::time::{Instant, Interval, MissedTickBehavior, timeout};

use crate::metric_definitions as metric;
use crate::node::HandOverError;
use crate::node::follow::{AbortingTask, UNREADABLE_MAX};
use crate::node::node_lease::NodeLease;
use crate::node::node_status::{FRESH, ReplicaRole};
use crate::node::runner::{ReplicaCommand, ReplicaFailure, ReplicaNode, ReplicaTransition};

/// Stall after which a leader refuses new writes immediately instead of letting them wait.
const STALLED_AFTER: Duration = Duration::from_secs(1);
/// Stall after which changes in flight are no longer awaited either. Electing a leader of the stream may take longer.
const OVERDUE_AFTER: Duration = Duration::from_secs(5);
const NO_QUORUM: &str =
    "too few servers of the replicated log answer; writes continue once there is a quorum";
/// How long the engine may take to stop after leadership was lost. Its work can no longer succeed.
const LOST_PATIENCE: Duration = Duration::from_millis(200);
/// How long a leader may be unable to write before another node leads: it would refuse every write.
const UNFIT_MAX: Duration = Duration::from_secs(2);
/// Time-out of releasing the lease.
const RELEASE_PATIENCE: Duration = Duration::from_secs(1);

/// Polls whether the stream still exists.
async fn look_at_stream(cluster: Cluster, found: watch::Sender<Option<String>>) {
    let mut since: Option<Instant> = None;
    loop {
        tokio::time::sleep(STALLED_AFTER).await;
        let Err(error) = cluster.check_there().await else {
            since = None;
            found.send_replace(None);
            continue;
        };
        let since = *since.get_or_insert_with(Instant::now);
        if since.elapsed() >= UNREADABLE_MAX {
            found.send_replace(Some(error.to_string()));
        }
    }
}

/// A node whose program cannot read the newest frames.
fn older_member(members: &[ClusterMember]) -> Option<&ClusterMember> {
    members.iter().find(|member| member.log_format < FORMAT)
}

/// Lets the engine say from when on checkpoints have roots of the state, once every node reads the frame that says it.
async fn allow_roots(cluster: Cluster, engine: Engine) {
    let mut has_warned = false;
    loop {
        if let Ok(members) = cluster.members().await {
            match older_member(&members) {
                None => return engine.allow_roots(true),
                Some(older) if !has_warned => {
                    has_warned = true;
                    tracing::warn!(
                        node = older.node,
                        "checkpoints get no roots of the state yet: this node's program is older; upgrade it, or remove the \
                         node from the cluster"
                    );
                }
                Some(_) => {}
            }
        }
        tokio::time::sleep(STALLED_AFTER).await;
    }
}

impl ReplicaNode {
    /// Leads until it no longer may, or has to stop.
    pub(crate) async fn lead(
        &mut self,
        term: u64,
        mut held: NodeLease,
    ) -> Result<ReplicaTransition, ReplicaFailure> {
        if let Err(error) = self.duties.begin().await {
            tracing::error!(error, "a duty of the leader could not begin");
        }
        let Some(mut failed) = self.engine.leading_failure() else {
            return Ok(ReplicaTransition::Follow);
        };
        let (lost, gone) = watch::channel(None);
        let looking = look_at_stream(self.cluster.clone(), lost);
        let _looking = AbortingTask::spawn(looking);
        self.engine.allow_roots(false);
        let allowing = allow_roots(self.cluster.clone(), self.engine.clone());
        let _allowing = AbortingTask::spawn(allowing);
        let mut renew = self.renewals();
        loop {
            tokio::select! {
                biased;
                command = self.commands.recv() => match command {
                    Some(ReplicaCommand::HandOver { to, reply }) => {
                        let handed = self.hand_over(term, held.revision, to).await;
                        let has_left = handed.is_ok();
                        // The requester may have left.
                        let _ = reply.send(handed);
                        if has_left {
                            return Ok(ReplicaTransition::Follow);
                        }
                    }
                    Some(ReplicaCommand::Stop { done }) => {
                        if let Err(error) = self.hand_over(term, held.revision, None).await {
                            tracing::warn!(%error, "leadership ends without a successor");
                            self.leave(term, held.revision, None).await;
                        }
                        let _ = done.send(());
                        return Ok(ReplicaTransition::End);
                    }
                    None => return Ok(ReplicaTransition::End),
                },
                why = failed.wait() => {
                    let why = why.unwrap_or_default();
                    if self.log.is_leading() {
                        return Err(ReplicaFailure::Engine(why));
                    }
                    return self.lost(&why).await;
                }
                _ = renew.tick() => {
                    if !self.renew(term, &mut held).await {
                        return self.lost("another node has taken the lease").await;
                    }
                    self.note_gone(gone.borrow().clone());
                    self.look_at_log(held.renewed_at);
                    if let Some(why) = self.unfit_for_long(&mut held)?
                        && self.pass_on(&why, term, held.revision).await
                    {
                        return Ok(ReplicaTransition::Follow);
                    }
                }
            }
        }
    }

    /// Reason not to lead, once it has lasted long enough that another node should.
    fn unfit_for_long(&self, held: &mut NodeLease) -> Result<Option<String>, ReplicaFailure> {
        let Some(unfit) = self.fitness.why_not()? else {
            held.unfit_since = None;
            return Ok(None);
        };
        let since = *held.unfit_since.get_or_insert_with(Instant::now);
        if since.elapsed() < UNFIT_MAX {
            return Ok(None);
        }
        // The next attempt comes after the same time.
        held.unfit_since = None;
        Ok(Some(unfit.why))
    }

    /// Hands over because this node must not lead: to a fit node, or else to the furthest one. False if there is none.
    async fn pass_on(&mut self, why: &str, term: u64, revision: u64) -> bool {
        let successor = match self.successor(None).await {
            // With all disks full, leadership would move from node to node in vain.
            Err(HandOverError::Unready(furthest)) if !self.engine.disk_full() => Ok(furthest),
            found => found,
        };
        match successor {
            Ok(successor) => {
                self.leave(term, revision, Some(successor.clone())).await;
                tracing::warn!(why, successor, "this node must not lead: another one does");
                true
            }
            Err(error) => {
                tracing::warn!(why, %error, "this node must not lead, and no other one can");
                false
            }
        }
    }

    /// When to renew the lease.
    pub(crate) fn renewals(&self) -> Interval {
        let mut renewals = tokio::time::interval(self.options.lease / 4);
        renewals.set_missed_tick_behavior(MissedTickBehavior::Delay);
        renewals
    }

    /// Renews the lease; false if another node has it. Without an answer this node keeps leading: the stream decides.
    pub(crate) async fn renew(&self, term: u64, held: &mut NodeLease) -> bool {
        let limit = self.options.lease / 2;
        let claim = self.claim(term);
        let renewing = self.lease.take(held.revision, &claim);
        match timeout(limit, renewing).await {
            Ok(Ok(Some(renewed))) => {
                held.revision = renewed;
                held.renewed_at = Instant::now();
                true
            }
            // An earlier renewal may have succeeded without its answer: the value is then this node's.
            Ok(Ok(None)) => match timeout(limit, self.lease.read()).await {
                Ok(Ok(seen)) => {
                    let is_own = seen.holder.as_ref() == Some(&claim);
                    if is_own {
                        held.revision = seen.revision;
                    }
                    is_own
                }
                _ => true,
            },
            Ok(Err(_)) | Err(_) => true,
        }
    }

    /// Records why the stream cannot continue this log; `None` clears it.
    fn note_gone(&mut self, gone: Option<String>) {
        if self.gone != gone {
            self.gone = gone;
            self.show_problem();
        }
    }

    /// Updates the log's position, and refuses writes while the stream accepts nothing.
    fn look_at_log(&self, renewed_at: Instant) {
        let is_late = |since: Instant| since.elapsed() >= STALLED_AFTER;
        let is_stalled = self.log.stalled().is_some_and(is_late)
            || renewed_at.elapsed() >= STALLED_AFTER.max(self.options.lease);
        metrics::gauge!(metric::STALLED).set(f64::from(u8::from(is_stalled)));
        let gone = self.gone.clone();
        let stalled = is_stalled.then(|| gone.unwrap_or_else(|| NO_QUORUM.to_owned()));
        let since = self.log.stalled();
        let is_overdue = since.is_some_and(|since| since.elapsed() >= OVERDUE_AFTER);
        self.engine.set_overdue(is_overdue);
        self.engine.set_stalled(stalled.clone());
        self.show(|standing| standing.stalled = stalled);
        if let Some(position) = self.store.log_position() {
            self.show(|standing| {
                standing.frame = position.frame;
                standing.tail = position.frame;
                standing.caught_up_at = Some(Instant::now());
            });
        }
    }

    /// Stops deciding and writing immediately, because another node leads.
    async fn lost(&mut self, why: &str) -> Result<ReplicaTransition, ReplicaFailure> {
        tracing::warn!(why, "this node no longer leads");
        metrics::counter!(metric::TERMS_LOST).increment(1);
        self.log.end(why);
        self.follow_from_now_on();
        if !self.engine.stop_leading(LOST_PATIENCE).await? {
            let why = "the threads that write did not end after leadership was lost";
            return Err(ReplicaFailure::Engine(why.to_owned()));
        }
        self.duties.ended();
        Ok(ReplicaTransition::Follow)
    }

    /// Hands leadership over after writing everything accepted.
    async fn hand_over(
        &mut self,
        term: u64,
        revision: u64,
        to: Option<String>,
    ) -> Result<String, HandOverError> {
        let successor = self.successor(to).await?;
        self.leave(term, revision, Some(successor.clone())).await;
        tracing::info!(successor, "leadership was handed over");
        Ok(successor)
    }

    /// The node to hand over to: the requested one, or the furthest fit one.
    async fn successor(&self, to: Option<String>) -> Result<String, HandOverError> {
        let members = self.cluster.members().await;
        let members = members.map_err(|_| HandOverError::Nobody)?;
        if let Some(to) = &to
            && !members.iter().any(|member| member.node == *to)
        {
            return Err(HandOverError::Unknown(to.clone()));
        }
        let others: Vec<ClusterMember> = members
            .into_iter()
            .filter(|member| member.age.is_some_and(|age| age < FRESH))
            .filter(|member| member.node != self.options.node)
            .filter(|member| to.as_ref().is_none_or(|to| *to == member.node))
            .collect();
        if let (Some(node), [named]) = (&to, &others[..])
            && let Some(why) = &named.unfit
        {
            let (node, why) = (node.clone(), why.clone());
            return Err(HandOverError::Unfit { node, why });
        }
        let fit = others.iter().filter(|member| member.unfit.is_none());
        if let Some(furthest) = fit.max_by_key(|member| member.frame) {
            return Ok(furthest.node.clone());
        }
        let furthest = others.into_iter().max_by_key(|member| member.frame);
        Err(furthest.map_or(HandOverError::Nobody, |member| {
            HandOverError::Unready(member.node)
        }))
    }

    /// Stops leading in order: rejects new requests, answers those in flight, then releases the lease.
    async fn leave(&mut self, term: u64, revision: u64, successor: Option<String>) {
        let why = "leadership is being handed over; try again";
        self.engine.drain(why, self.options.drain).await;
        if self.log.stalled().is_some() {
            // Nothing will accept the rest: its callers learn that the outcome is unknown.
            self.log
                .end("leadership ended while the stream accepted nothing");
        }
        match self.engine.stop_leading(self.options.drain).await {
            Ok(true) => {}
            Ok(false) => self.engine.fail("the threads that write did not end"),
            Err(error) => self.engine.fail(&error.to_string()),
        }
        self.duties.ended();
        self.log.end("leadership was handed over");
        self.follow_from_now_on();
        self.release(term, revision, successor).await;
        self.engine.set_stalled(None);
    }

    /// Releases the lease, to a successor or to the first node that takes it.
    pub(crate) async fn release(&self, term: u64, revision: u64, successor: Option<String>) {
        let released = self.lease.release(revision, term, successor);
        if !matches!(timeout(RELEASE_PATIENCE, released).await, Ok(Ok(Some(_)))) {
            tracing::warn!(
                "the lease could not be passed on; another node takes over once it ends"
            );
        }
    }

    fn follow_from_now_on(&mut self) {
        self.note_gone(None);
        metrics::gauge!(metric::STALLED).set(0.0);
        self.engine.set_overdue(false);
        self.show(|standing| {
            standing.role = ReplicaRole::Follower;
            standing.leader = None;
            standing.stalled = None;
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // Holds invariant 265.
    #[test]
    fn a_node_that_says_no_format_or_an_older_one_keeps_roots_from_beginning() {
        let member = |node: &str, report: &str| -> ClusterMember {
            let text = format!(
                r#"{{"node": "{node}", "url": "", "role": "follower", "term": 1, "frame": 7, "reported_at": 1{report}}}"#
            );
            serde_json::from_str(&text).unwrap()
        };
        let present = format!(r#", "log_format": {FORMAT}"#);
        let newer = format!(r#", "log_format": {}"#, FORMAT + 1);
        let mut members = vec![member("one", &present), member("two", &newer)];
        assert_eq!(older_member(&members), None);
        for report in ["", r#", "log_format": 2"#] {
            members.push(member("old", report));
            assert_eq!(
                older_member(&members).map(|older| &*older.node),
                Some("old")
            );
            members.pop();
        }
    }
}
