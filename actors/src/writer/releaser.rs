//! The releaser: applies the rows of what is durable, publishes it, and answers.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc;
use std::time::Instant;

use kedge_protocol::Id;
use kedge_storage::{CommitError, Group, LogPosition, Snapshot};
use tokio::sync::watch;

use super::{Afterwards, Answer, Formed, Logged, Outlet, Waiting};
use crate::api::{Outcome, Placement};
use crate::committer::CommitterError;
use crate::disk::Stuck;
use crate::metric_definitions as metric;
use crate::unit::outcomes;
use crate::world::Published;

/// A group that was larger than this gives its memory back.
const SPENT_BYTES_MAX: usize = 16 * 1024 * 1024;

pub(super) struct Releaser {
    pub(super) outlet: Outlet,
    pub(super) logged: mpsc::Receiver<Logged>,
    /// How many groups are published.
    pub(super) count: watch::Sender<u64>,
    /// Takes groups that are done with.
    pub(super) spent: mpsc::Sender<Group>,
}

impl Releaser {
    pub(super) fn run(&self) -> Result<(), CommitterError> {
        let store = &self.outlet.store;
        while let Ok(Logged { formed, position }) = self.logged.recv() {
            let Formed {
                mut group,
                head,
                keys_changed_at,
                afterwards,
            } = formed;
            let snapshot = self.apply(&group, &position)?;
            store.index(&group.take_action_ids());
            store.release(&head)?;
            let published = Published {
                head,
                keys_changed_at,
                snapshot,
            };
            self.outlet.publish(published, &afterwards.answers);
            self.outlet.wake(&afterwards);
            // Before the answers: the next group is handed over while they are given.
            self.count.send_modify(|count| *count += 1);
            answer(afterwards);
            if group.len_bytes() <= SPENT_BYTES_MAX {
                group.clear();
                // The committer has ended: nobody needs it.
                let _ = self.spent.send(group);
            }
        }
        if self.outlet.failed.is_set() {
            // What the writer could not write is not to be followed by anything.
            return Ok(());
        }
        store.write_index();
        match store.flush() {
            // The next start makes it from the log.
            Err(CommitError::NoSpace(why)) => {
                tracing::warn!(
                    why,
                    "the last rows were not brought to the disk, which is full; the next start applies them again"
                );
            }
            written => written?,
        }
        if let Some(mark) = store.high_water() {
            mark.sync()?;
        }
        Ok(())
    }

    /// Applies a group's rows. The log has it, so it is never given up: a full disk is waited for.
    fn apply(&self, group: &Group, position: &LogPosition) -> Result<Snapshot, CommitterError> {
        let Outlet {
            store,
            disk_full,
            disk,
            ..
        } = &self.outlet;
        let (mut waiting, mut stuck) = (Waiting::default(), Stuck::default());
        loop {
            match store.apply(group, position) {
                Ok(snapshot) => {
                    waiting.ended();
                    return Ok(snapshot);
                }
                Err(error) => {
                    if let CommitError::NoSpace(why) = &error {
                        stuck.note(disk, why, Instant::now())?;
                    }
                    waiting.wait(error, store, disk_full)?;
                }
            }
        }
    }
}

impl Outlet {
    fn publish(&self, published: Published, answers: &[Answer]) {
        let head = published.head;
        self.published.store(Arc::new(published));
        if let Some(last) = answers.last() {
            self.committed_ticket
                .store(last.unit.ticket, Ordering::Release);
        }
        self.visible.send_replace(head.sequence);
        metrics::gauge!(metric::CHAIN_SEQUENCE).set(head.sequence as f64);
        metrics::gauge!(metric::CHAIN_BATCHES).set(head.batches as f64);
    }

    /// Tells those who listen that there is something new to read.
    fn wake(&self, afterwards: &Afterwards) {
        if self.listeners.is_empty() {
            return;
        }
        let told = &afterwards.told;
        if told.contains(&None) {
            self.listeners.tell_all();
        } else {
            self.listeners.tell(&afterwards.touched);
            let told: Vec<Id> = told.iter().copied().flatten().collect();
            self.listeners.tell(&told);
        }
    }
}

fn answer(afterwards: Afterwards) {
    for done in afterwards.acknowledgements {
        // Whoever asked may have gone.
        let _ = done.send(());
    }
    for (unit, outcome) in afterwards.refusals {
        unit.complete(Ok(outcome));
    }
    for answer in afterwards.answers {
        let unit = Arc::clone(&answer.unit.unit);
        unit.complete(Ok(outcome(answer)));
    }
}

fn outcome(answer: Answer) -> Outcome {
    let Answer {
        unit: placed,
        batch,
        first_leaf_index,
        nonce_highest,
    } = answer;
    Outcome {
        actions: outcomes(placed.decisions.into_iter(), &placed.placed),
        placement: Some(Placement {
            batch,
            first_sequence: placed.placed[0].sequence,
            first_leaf_index,
            count: placed.placed.len() as u32,
            timestamp_ms: placed.timestamp_ms,
        }),
        failed_index: None,
        nonce_highest,
    }
}
