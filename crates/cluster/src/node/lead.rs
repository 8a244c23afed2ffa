//! Leading: the lease is renewed, and the leadership ends when another node has it, when it is handed over, or when this
//! node stops.

use std::time::Duration;

use crate::{Cluster, Member};
use tokio::sync::watch;
use tokio::time::{Instant, timeout};

use crate::metric_definitions as metric;
use crate::node::HandOverError;
use crate::node::follow::{Task, UNREADABLE_MAX};
use crate::node::runner::{Command, Fatal, Next, Node};
use crate::node::standing::{FRESH, Role};

/// A leader whose stream accepts nothing for longer refuses new writes at once, instead of letting them wait.
const STALLED_AFTER: Duration = Duration::from_secs(1);
/// Then nobody waits any longer for the changes that are in flight either. Electing a leader of the stream may take longer.
const OVERDUE_AFTER: Duration = Duration::from_secs(5);
const NO_QUORUM: &str =
    "too few servers of the replicated log answer; writes continue once there is a quorum";
/// How long the parts that decide get to end after leadership was lost. Nothing they do can succeed any more.
const LOST_PATIENCE: Duration = Duration::from_millis(200);
/// A leader that may not write for longer lets another node lead: it would refuse every write.
const UNFIT_MAX: Duration = Duration::from_secs(2);
/// How long the lease may take to be passed on.
const RELEASE_PATIENCE: Duration = Duration::from_secs(1);

/// Looks whether the stream is still there.
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

/// The lease, as this node holds it.
struct Held {
    revision: u64,
    /// When the servers last confirmed it.
    renewed_at: Instant,
    /// Since when it must not lead.
    unfit_since: Option<Instant>,
}

impl Node {
    /// Leads until it no longer may, or has to stop.
    pub(crate) async fn lead(&mut self, term: u64, revision: u64) -> Result<Next, Fatal> {
        if let Err(error) = self.duties.begin().await {
            tracing::error!(error, "a duty of the leader could not begin");
        }
        let Some(mut failed) = self.engine.leading_failure() else {
            return Ok(Next::Follow);
        };
        let mut held = Held {
            revision,
            renewed_at: Instant::now(),
            unfit_since: None,
        };
        let (lost, gone) = watch::channel(None);
        let looking = look_at_stream(self.cluster.clone(), lost);
        let _looking = Task::spawn(looking);
        let mut renew = tokio::time::interval(self.options.lease / 4);
        renew.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        loop {
            tokio::select! {
                biased;
                command = self.commands.recv() => match command {
                    Some(Command::HandOver { to, reply }) => {
                        let handed = self.hand_over(term, held.revision, to).await;
                        let has_left = handed.is_ok();
                        // Whoever asked may have left.
                        let _ = reply.send(handed);
                        if has_left {
                            return Ok(Next::Follow);
                        }
                    }
                    Some(Command::Stop { done }) => {
                        if let Err(error) = self.hand_over(term, held.revision, None).await {
                            tracing::warn!(%error, "leadership ends without a successor");
                            self.leave(term, held.revision, None).await;
                        }
                        let _ = done.send(());
                        return Ok(Next::End);
                    }
                    None => return Ok(Next::End),
                },
                why = failed.wait() => {
                    let why = why.unwrap_or_default();
                    if self.log.is_leading() {
                        return Err(Fatal::Engine(why));
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
                        return Ok(Next::Follow);
                    }
                }
            }
        }
    }

    /// Why this node must not lead, once that has lasted for so long that another node should.
    fn unfit_for_long(&self, held: &mut Held) -> Result<Option<String>, Fatal> {
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

    /// Lets another node lead, because this one must not: if none may, the first that does. False if there is none.
    async fn pass_on(&mut self, why: &str, term: u64, revision: u64) -> bool {
        let successor = match self.successor(None).await {
            // Where all disks are full, leading goes from one to the next for nothing.
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

    /// Renews the lease; false if another node has it. Without an answer this node leads on: the stream decides.
    async fn renew(&self, term: u64, held: &mut Held) -> bool {
        let limit = self.options.lease / 2;
        let claim = self.claim(term);
        let renewing = self.lease.renew(held.revision, &claim);
        match timeout(limit, renewing).await {
            Ok(Ok(Some(renewed))) => {
                held.revision = renewed;
                held.renewed_at = Instant::now();
                true
            }
            // An earlier renewal may have succeeded without its answer: then the value is this node's own.
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

    /// Notes why the stream cannot continue this log, or that nothing is known of that.
    fn note_gone(&mut self, gone: Option<String>) {
        if self.gone != gone {
            self.gone = gone;
            self.show_problem();
        }
    }

    /// Notes how far the log is, and refuses writes while the stream accepts nothing.
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

    /// Another node leads: what decided and wrote here ends at once.
    async fn lost(&mut self, why: &str) -> Result<Next, Fatal> {
        tracing::warn!(why, "this node no longer leads");
        metrics::counter!(metric::TERMS_LOST).increment(1);
        self.log.end(why);
        self.follow_from_now_on();
        if !self.engine.stop_leading(LOST_PATIENCE).await? {
            let why = "the threads that write did not end after leadership was lost";
            return Err(Fatal::Engine(why.to_owned()));
        }
        self.duties.ended();
        Ok(Next::Follow)
    }

    /// Lets another node lead, with everything that was accepted written.
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

    /// The node to hand over to: the one that is asked for, or the one that is furthest of those that may lead.
    async fn successor(&self, to: Option<String>) -> Result<String, HandOverError> {
        let members = self.cluster.members().await;
        let members = members.map_err(|_| HandOverError::Nobody)?;
        if let Some(to) = &to
            && !members.iter().any(|member| member.node == *to)
        {
            return Err(HandOverError::Unknown(to.clone()));
        }
        let others: Vec<Member> = members
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

    /// Ends leading in order: no new requests, those in flight are answered, then the lease is passed on.
    async fn leave(&mut self, term: u64, revision: u64, successor: Option<String>) {
        let why = "leadership is being handed over; try again";
        self.engine.drain(why, self.options.drain).await;
        if self.log.stalled().is_some() {
            // Nothing accepts what is left: who waits for it learns that its outcome is unknown.
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

    /// Passes the lease on, to a successor or to whoever comes first.
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
            standing.role = Role::Follower;
            standing.leader = None;
            standing.stalled = None;
        });
    }
}
