//! The publisher's steps: each applies the rows of one durable group and publishes it. After the sync, never before,
//! come the high-water mark of released headers, one published (head, snapshot) pair, and the replies.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use crate::timing::GroupStage;
use kedge_protocol::Id;
use kedge_storage::{CommitError, StoreSnapshot, WriteGroup};

use super::retry::WriteRetry;
use super::{LoggedGroup, Publisher, WriterStep};
use crate::api::{BatchPlacement, SubmissionOutcome};
use crate::commit::disk::DiskStall;
use crate::commit::error::CommitterError;
use crate::commit::group::{CommitGroup, GroupCompletion};
use crate::metric_definitions as metric;
use crate::pipeline::decision::outcomes;
use crate::pipeline::effect::ActionEffect;
use crate::pipeline::published_state::PublishedState;
use crate::pipeline::sequenced_proposal::SequencedProposal;

/// Size above which a group's memory is freed and not reused.
const SPENT_BYTES_MAX: usize = 16 * 1024 * 1024;

/// Publishes durable groups in order.
pub(super) struct PublishQueue {
    outlet: Publisher,
    given: VecDeque<LoggedGroup>,
    waiting: WriteRetry,
    stuck: DiskStall,
}

/// A published group whose callers have no answer yet.
#[must_use = "nobody is answered before `answer` is called"]
pub(super) struct PublishedGroup {
    afterwards: GroupCompletion,
    group: WriteGroup,
}

impl PublishQueue {
    pub(super) fn new(outlet: Publisher) -> Self {
        Self {
            outlet,
            given: VecDeque::new(),
            waiting: WriteRetry::default(),
            stuck: DiskStall::default(),
        }
    }

    /// Accepts the next group, which must be durable.
    pub(super) fn give(&mut self, logged: LoggedGroup) {
        self.given.push_back(logged);
    }

    /// Applies the rows of the first waiting group and publishes it; `None` if none waits. The log has the group, so it
    /// is never given up: if the disk is full, it waits.
    pub(super) fn step(
        &mut self,
    ) -> Result<Option<WriterStep<PublishedGroup, Duration>>, CommitterError> {
        let Self {
            outlet,
            given,
            waiting,
            stuck,
        } = self;
        let (env, store) = (&*outlet.env, &outlet.store);
        let Some(LoggedGroup { formed, position }) = given.front() else {
            return Ok(None);
        };
        let snapshot = match store.apply(&formed.group, position) {
            Ok(snapshot) => snapshot,
            Err(error) => {
                let now = env.now();
                if let CommitError::NoSpace(why) = &error {
                    stuck.note(&outlet.disk, why, now)?;
                }
                let pause = waiting.pause(error, &outlet.disk_full, now)?;
                return Ok(Some(WriterStep::Blocked(pause)));
            }
        };
        waiting.ended(env);
        stuck.over();
        if let Some(observed) = &formed.afterwards.observed {
            observed.note(GroupStage::Applied, env.now());
        }
        let released = given.pop_front().map(|logged| logged.formed);
        let released = released.map(|formed| outlet.release(formed, snapshot));
        Ok(released.transpose()?.map(WriterStep::Done))
    }

    /// Writes all rows to the disk, after the last group.
    pub(super) fn end(&self) -> Result<(), CommitterError> {
        let store = &self.outlet.store;
        if self.outlet.failed.is_set() {
            // Nothing may follow a group that the writer could not write.
            return Ok(());
        }
        store.write_index();
        match store.flush() {
            // The next start rebuilds it from the log.
            Err(CommitError::NoSpace(why)) => {
                tracing::warn!(
                    why,
                    "the disk is full, so the last rows were not flushed; the next start applies them again"
                );
            }
            written => written?,
        }
        if let Some(mark) = store.high_water() {
            mark.sync()?;
        }
        Ok(())
    }
}

impl PublishedGroup {
    /// Answers every caller that waits for the group. Returns the empty group for reuse.
    pub(super) fn answer(self) -> Option<WriteGroup> {
        answer(self.afterwards);
        let mut group = self.group;
        (group.len_bytes() <= SPENT_BYTES_MAX).then(|| {
            group.clear();
            group
        })
    }
}

impl Publisher {
    /// Publishes the state with this group: action ids, the mark of released headers, head and snapshot.
    fn release(
        &self,
        formed: CommitGroup,
        snapshot: StoreSnapshot,
    ) -> Result<PublishedGroup, CommitterError> {
        let CommitGroup {
            mut group,
            head,
            keys_changed_at,
            afterwards,
        } = formed;
        self.store.index(&group.take_action_ids());
        self.store.release(&head)?;
        if group.is_root_due() {
            self.roots.due.add(&snapshot);
        }
        // Noted before readers can see the group's effects.
        if let Some(observed) = &afterwards.observed {
            observed.placed();
        }
        let published = PublishedState {
            head,
            keys_changed_at,
            snapshot,
        };
        self.publish(published, &afterwards.placed);
        if let Some(observed) = &afterwards.observed {
            observed.note(GroupStage::Published, self.env.now());
        }
        self.wake(&afterwards);
        Ok(PublishedGroup { afterwards, group })
    }

    fn publish(&self, published: PublishedState, placed: &[(SequencedProposal, BatchPlacement)]) {
        let head = published.head;
        self.published.store(Arc::new(published));
        if let Some((last, _)) = placed.last() {
            self.committed_ticket.store(last.ticket, Ordering::Release);
        }
        self.visible.send_replace(head.sequence);
        metrics::gauge!(metric::CHAIN_SEQUENCE).set(head.sequence as f64);
        metrics::gauge!(metric::CHAIN_BATCHES).set(head.batches as f64);
    }

    /// Notifies webhooks and listeners, even if the callers are gone.
    fn wake(&self, afterwards: &GroupCompletion) {
        for (placed, _) in &afterwards.placed {
            placed
                .webhooks()
                .for_each(|id| self.listeners.webhook_changed(id));
        }
        if self.listeners.is_empty() {
            return;
        }
        let reported = &afterwards.reported;
        if reported.contains(&None) {
            self.listeners.notify_all();
        } else {
            self.listeners.notify(&afterwards.touched);
            let reported: Vec<Id> = reported.iter().copied().flatten().collect();
            self.listeners.notify(&reported);
        }
    }
}

fn answer(afterwards: GroupCompletion) {
    let observed = afterwards.observed;
    for done in afterwards.acknowledgements {
        // The caller may be gone.
        let _ = done.send(());
    }
    for (unit, outcome) in afterwards.refusals {
        unit.complete(Ok(outcome));
    }
    for (placed, placement) in afterwards.placed {
        for (_, decided) in &placed.decisions {
            decided.iter().for_each(ActionEffect::fetch_traces);
        }
        let unit = Arc::clone(&placed.unit);
        unit.complete(Ok(SubmissionOutcome {
            actions: outcomes(placed.decisions.into_iter(), &placed.placed),
            placement: Some(placement),
            failed_index: None,
            nonce_highest: placed.nonce_highest,
        }));
    }
    // No caller waits for the traces.
    if let Some(observed) = observed {
        observed.committed();
    }
}
