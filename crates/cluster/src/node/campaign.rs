//! Transition from following to leading. A candidate has applied the whole stream, takes the lease, and opens a term
//! directly after the last frame. If another node was faster, the stream refuses the term, and the candidate keeps
//! following.

use std::pin::pin;
use std::time::Duration;

use crate::{ClusterMember, LeaseHolder, StreamError, StreamTailFrame};
use kedge_actors::{FollowError, LogFollower};
use kedge_storage::CommitError;
use tokio::time::Instant;

use crate::metric_definitions as metric;
use crate::node::node_lease::NodeLease;
use crate::node::node_status::{FRESH, LeaderAddress, ReplicaRole, longer_than};
use crate::node::runner::{ReplicaFailure, ReplicaNode, ReplicaTransition, StopReply};

/// Limit of the delay, added to the lease, before this node takes over. The delay depends on the node's name, so that
/// nodes rarely try at the same time.
const STAGGER: Duration = Duration::from_millis(250);
/// How long the stream must contradict this node's log before it counts as broken: a new leader of the stream may not
/// have applied everything yet.
const DOUBTED_MAX: Duration = Duration::from_secs(10);
/// Pause before a doubting node checks again.
const LOOK_AGAIN: Duration = Duration::from_millis(250);

/// Reason not to lead although it is this node's turn.
pub(crate) struct LeadDoubt {
    since: Instant,
    looked_at: Instant,
    why: String,
}

impl LeadDoubt {
    /// The operator's message, once the doubt has lasted.
    pub(crate) fn problem(&self) -> Option<String> {
        (self.since.elapsed() >= DOUBTED_MAX).then(|| self.why.clone())
    }

    /// Whether it is too early to check again.
    fn is_new(&self) -> bool {
        self.looked_at.elapsed() < LOOK_AGAIN
    }
}

/// The stream's end is unknown, or this node must not continue there.
struct StreamEndUnknown;

impl ReplicaNode {
    /// Tries to lead, if it is this node's turn. Returns the follower if it still follows.
    pub(crate) async fn campaign(
        &mut self,
        follower: Option<LogFollower>,
    ) -> Result<(Option<LogFollower>, Option<ReplicaTransition>), ReplicaFailure> {
        let Some(revision) = self.turn() else {
            self.trust();
            return Ok((follower, None));
        };
        if self.is_apart() || self.doubt.as_ref().is_some_and(LeadDoubt::is_new) {
            return Ok((follower, None));
        }
        let begun = Instant::now();
        let own = self.position()?;
        let Ok(tail) = self.undoubted_tail().await else {
            return Ok((follower, None));
        };
        if tail.as_ref().is_some_and(|tail| tail.number > own.frame)
            || self.fitness.why_not_begin()?.is_some()
        {
            return Ok((follower, None));
        }
        let term = tail.map_or(0, |tail| tail.term) + 1;
        let Ok(Some(revision)) = self.lease.take(revision, &self.claim(term)).await else {
            return Ok((follower, None));
        };
        // Both of two simultaneous candidates may have received a positive answer. Without an answer the stream decides:
        // a candidate that gave up here would keep the lease from the others meanwhile.
        if !self.lease.is_at(revision).await.unwrap_or(true) {
            tracing::info!(term, "another candidate has the lease");
            return Ok((follower, None));
        }
        let opened = match self.cluster.begin_term(&own, term).await {
            Ok(opened) => opened,
            Err(error) => {
                tracing::info!(term, %error, "the term was not opened");
                return Ok((follower, None));
            }
        };
        let follower = match self.take(follower, vec![opened.bytes]).await? {
            Ok(follower) => follower,
            Err(stopping) => {
                self.release(term, revision, None).await;
                return Ok((None, Some(stopping.done())));
            }
        };
        if let Err(error) = self.log.begin(term, opened.place) {
            tracing::warn!(term, %error, "the term was opened, but not begun");
            drop(follower);
            // The reader of the stream has the frame too.
            return Ok((None, Some(ReplicaTransition::Follow)));
        }
        let mut held = NodeLease::taken_at(revision);
        if self.engine.published().head.batches == 0
            && let Some(next) = self.name_first_key(follower, term, &mut held).await?
        {
            return Ok((None, Some(next)));
        }
        self.engine.set_stalled(None);
        self.engine.lead().await?;
        self.show_leading(term, begun)?;
        Ok((None, Some(ReplicaTransition::Lead { term, held })))
    }

    /// Registers the first key of an empty log. This waits until enough other nodes hold the frame. Meanwhile the node
    /// stays stoppable, and it keeps the lease or learns that another node leads: that node's followers never report the
    /// awaited frame as their last one. Returns the next state if this node does not lead.
    async fn name_first_key(
        &mut self,
        follower: LogFollower,
        term: u64,
        held: &mut NodeLease,
    ) -> Result<Option<ReplicaTransition>, ReplicaFailure> {
        tracing::info!(
            term,
            "the log is empty: its first key counts once other nodes hold it"
        );
        let key = self.options.first_key;
        let running = self.engine.running();
        let mut naming = pin!(running.blocking(move || follower.name_first_key(key)));
        let mut stopping = None;
        let mut renew = self.renewals();
        let named = loop {
            tokio::select! {
                biased;
                named = &mut naming => break named?,
                command = self.commands.recv(), if stopping.is_none() => {
                    stopping = StopReply::asked_by(command);
                    if stopping.is_some() {
                        self.log.end("this node stops");
                    }
                }
                _ = renew.tick(), if self.log.is_leading() => {
                    if !self.renew(term, held).await {
                        self.log.end("another node has taken the lease");
                    }
                }
            }
        };
        if let Some(stopping) = stopping {
            self.release(term, held.revision, None).await;
            return Ok(Some(stopping.done()));
        }
        if let Err(FollowError::Commit(CommitError::Fenced(why))) = named {
            tracing::info!(term, why, "another node opened a later term");
            self.log.end(&why);
            return Ok(Some(ReplicaTransition::Follow));
        }
        named?;
        // The lease may have been lost while the last node answered.
        Ok((!self.log.is_leading()).then_some(ReplicaTransition::Follow))
    }

    /// Publishes that this node leads, after a campaign that began at `begun`.
    fn show_leading(&self, term: u64, begun: Instant) -> Result<(), ReplicaFailure> {
        metrics::histogram!(metric::PROMOTION_SECONDS).record(begun.elapsed());
        metrics::counter!(metric::TERMS_BEGUN).increment(1);
        let me = LeaderAddress {
            node: self.options.node.clone(),
            url: self.options.url.clone(),
        };
        let frame = self.position()?.frame;
        self.show(|standing| {
            standing.role = ReplicaRole::Leader;
            standing.term = term;
            standing.leader = Some(me);
            standing.frame = frame;
            standing.tail = frame;
            standing.stalled = None;
        });
        let after_ms = begun.elapsed().as_millis() as u64;
        tracing::info!(term, frame, after_ms, "this node leads");
        Ok(())
    }

    /// The lease's value while this node holds it.
    pub(crate) fn claim(&self, term: u64) -> LeaseHolder {
        LeaseHolder {
            node: self.options.node.clone(),
            url: self.options.url.clone(),
            term,
            successor: None,
        }
    }

    /// The lease's revision that makes it this node's turn: no other node leads, or the leader chose this node. The
    /// lease must be taken at this exact revision, because a later one may be another node's turn.
    fn turn(&self) -> Option<u64> {
        let me = self.options.node.as_str();
        let lease = self.options.lease + STAGGER.mul_f64(share_of(me));
        let seen = self.holder.borrow();
        let seen = seen.as_ref()?;
        seen.may_be_taken_by(me, lease).then_some(seen.revision)
    }

    /// Records that the stream contradicts this node's log; a problem once that has lasted.
    fn doubt(&mut self, why: String) {
        let now = Instant::now();
        let since = self.doubt.as_ref().map_or(now, |doubt| doubt.since);
        self.doubt = Some(LeadDoubt {
            since,
            looked_at: now,
            why,
        });
        self.show_problem();
    }

    /// Clears the doubt: nothing contradicts this node's log, or another node leads.
    fn trust(&mut self) {
        if self.doubt.take().is_some() {
            self.show_problem();
        }
    }

    /// The stream's end, unless it contradicts this node's log or another node's, which is recorded.
    async fn undoubted_tail(&mut self) -> Result<Option<StreamTailFrame>, StreamEndUnknown> {
        let problem = match self.cluster.tail().await {
            Ok(tail) => match self.why_not(tail.as_ref()).await {
                Ok(None) => {
                    self.trust();
                    return Ok(tail);
                }
                Ok(Some(problem)) => problem,
                // The members are stored like the lease, without which no node can lead anyway.
                Err(_) => return Err(StreamEndUnknown),
            },
            Err(StreamError::Unreachable(_)) => return Err(StreamEndUnknown),
            Err(error) => error.to_string(),
        };
        self.doubt(problem);
        Err(StreamEndUnknown)
    }

    /// Reason not to lead at present.
    async fn why_not(&self, tail: Option<&StreamTailFrame>) -> Result<Option<String>, StreamError> {
        if let Some(why) = self.contradicted(tail) {
            return Ok(Some(why));
        }
        // Read after the stream's end: a member's newer frame was either lost, or came in between and will be seen next
        // time.
        let members = self.cluster.members().await?;
        let end = tail.map_or(0, |tail| tail.number);
        Ok(held_elsewhere(&members, &self.options.node, end))
    }

    /// How the stream contradicts this node's log.
    fn contradicted(&self, tail: Option<&StreamTailFrame>) -> Option<String> {
        let own = self.store.log_position()?;
        let longer = longer_than(tail, own.frame);
        if longer.is_some() {
            return longer;
        }
        match tail {
            Some(tail) if tail.number == own.frame && tail.hash != own.hash => Some(format!(
                "frame {} of the stream has the hash {}, and this node holds {}: they are different logs",
                own.frame, tail.hash, own.hash
            )),
            _ => self.lost_batches(tail, own.frame),
        }
    }

    /// Reports batches that this node has released and the stream lacks.
    fn lost_batches(&self, tail: Option<&StreamTailFrame>, own_frame: u64) -> Option<String> {
        let released = self.store.high_water()?.batches_before();
        let held = self.engine.published().head.batches;
        let has_all = tail.is_none_or(|tail| tail.number == own_frame);
        (has_all && held < released).then(|| {
            format!(
                "the stream holds {held} batches, but this node released the headers of {released}: signing those numbers again would be equivocation. Restore the newest log with `kedge cluster reseed`"
            )
        })
    }
}

/// The node whose last report exceeds the stream. It may have acknowledged those frames, so a new leader would sign
/// their batch numbers again.
fn held_elsewhere(members: &[ClusterMember], me: &str, end: u64) -> Option<String> {
    let others = members.iter().filter(|member| member.node != me);
    let there = others.filter(|member| member.age.is_some_and(|age| age < FRESH));
    let furthest = there.max_by_key(|member| member.frame)?;
    (furthest.frame > end).then(|| {
        format!(
            "the stream ends with frame {end}, and {node} holds {}: the stream has lost frames. Make it again from the node with the longest log, with `kedge cluster reseed`. If what {node} holds is not to count, stop {node}",
            furthest.frame,
            node = furthest.node
        )
    })
}

/// A number from 0 to 1 derived from a name.
fn share_of(name: &str) -> f64 {
    let sum = name.bytes().fold(0_u64, |sum, byte| {
        sum.wrapping_mul(31).wrapping_add(u64::from(byte))
    });
    (sum % 101) as f64 / 100.0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn member(node: &str, frame: u64, age_s: Option<u64>) -> ClusterMember {
        ClusterMember {
            node: node.to_owned(),
            frame,
            age: age_s.map(Duration::from_secs),
            ..ClusterMember::default()
        }
    }

    // Holds invariant 251.
    #[test]
    fn a_node_that_is_there_and_holds_more_than_the_stream_keeps_others_from_leading() {
        let members = [
            member("node1", 188, Some(0)),
            member("node2", 187, Some(1)),
            member("node3", 172, Some(0)),
        ];
        let why = held_elsewhere(&members, "node3", 172).unwrap();
        assert!(why.contains("node1 holds 188"), "{why}");
        // The node's own report may predate the loss of its disk.
        assert_eq!(held_elsewhere(&members[..1], "node1", 172), None);
        // The stream has everything.
        assert_eq!(held_elsewhere(&members, "node3", 188), None);
        // Stopped or removed nodes do not count.
        let gone = [member("node1", 188, Some(60)), member("node2", 188, None)];
        assert_eq!(held_elsewhere(&gone, "node3", 172), None);
        assert_eq!(held_elsewhere(&[], "node3", 0), None);
    }
}
