//! The writer's steps. A group of the sample is compared; then it is appended to the log. Once no group is left, one
//! sync makes all of them durable.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use crate::timing::GroupStage;
use kedge_runtime::env::Env;
use kedge_storage::{CommitError, Store};

use super::retry::WriteRetry;
use super::{LoggedGroup, Publisher, WriterStep};
use crate::commit::agreement::AgreementSampler;
use crate::commit::error::CommitterError;
use crate::commit::group::CommitGroup;

/// Condition that the writer waits for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum WriterWait {
    /// Room on the disk, or a store that accepts commits again; retried after this long.
    Passed(Duration),
    /// All durable groups published.
    Published,
}

/// A group on its way into the log.
struct PendingAppend {
    formed: CommitGroup,
    stage: AppendStage,
}

/// Next step of a group.
#[derive(Clone, Copy, PartialEq, Eq)]
enum AppendStage {
    /// Not yet checked for the sample.
    Given,
    /// In the sample, so it is compared first.
    Compare,
    /// Ready for the log.
    Append,
}

/// Appends groups to the log, in order.
pub(super) struct LogAppender {
    env: Arc<dyn Env>,
    store: Arc<Store>,
    disk_full: Arc<AtomicBool>,
    ending: Arc<AtomicBool>,
    sampler: AgreementSampler,
    given: VecDeque<PendingAppend>,
    waiting: WriteRetry,
    /// Groups in the log that are not durable yet.
    appended: Vec<LoggedGroup>,
    /// Durable groups for the publisher.
    durable: Vec<LoggedGroup>,
}

impl LogAppender {
    /// `sampler` selects the groups that are compared first.
    pub(super) fn new(outlet: &Publisher, sampler: AgreementSampler) -> Self {
        Self {
            env: Arc::clone(&outlet.env),
            store: Arc::clone(&outlet.store),
            disk_full: Arc::clone(&outlet.disk_full),
            ending: Arc::clone(&outlet.ending),
            sampler,
            given: VecDeque::new(),
            waiting: WriteRetry::default(),
            appended: Vec::new(),
            durable: Vec::new(),
        }
    }

    /// Accepts the next group.
    pub(super) fn give(&mut self, formed: CommitGroup) {
        self.given.push_back(PendingAppend {
            formed,
            stage: AppendStage::Given,
        });
    }

    /// Appends the first waiting group or, if there is none, syncs the appended ones. `None` if there is nothing to do.
    ///
    /// If the disk is full, the group waits: placed proposals cannot be withdrawn, and new requests are refused
    /// meanwhile. The same holds for a store that accepts no commits for now, because the chain contradicts it: nothing
    /// of the group was released. Groups that were appended before do not wait with it. Once the server ends, it does
    /// not wait for the chain any more.
    pub(super) fn step(&mut self) -> Result<Option<WriterStep<(), WriterWait>>, CommitterError> {
        let Some(next) = self.given.front_mut() else {
            let is_any = !self.appended.is_empty();
            self.sync()?;
            return Ok(is_any.then_some(WriterStep::Done(())));
        };
        if next.stage == AppendStage::Given {
            if self.sampler.takes(&next.formed.afterwards.placed) {
                next.stage = AppendStage::Compare;
                self.sync()?;
                return Ok(Some(WriterStep::Blocked(WriterWait::Published)));
            }
            next.stage = AppendStage::Append;
        }
        if next.stage == AppendStage::Compare {
            check(&self.sampler, &self.store, &next.formed)?;
            next.stage = AppendStage::Append;
        }
        match self.store.append(&next.formed.group) {
            Ok(position) => {
                self.waiting.ended(&*self.env);
                if let Some(observed) = &next.formed.afterwards.observed {
                    observed.note(GroupStage::Appended, self.env.now());
                }
                let appended = self.given.pop_front().map(|next| LoggedGroup {
                    formed: next.formed,
                    position,
                });
                self.appended.extend(appended);
                Ok(Some(WriterStep::Done(())))
            }
            Err(error) => {
                self.sync()?;
                let now = self.env.now();
                if let CommitError::Suspended(why) = &error
                    && self.ending.load(Ordering::Relaxed)
                {
                    return Err(CommitterError::GivenUp(why.clone()));
                }
                let pause = self.waiting.pause(error, &self.disk_full, now)?;
                Ok(Some(WriterStep::Blocked(WriterWait::Passed(pause))))
            }
        }
    }

    /// Makes the appended groups durable.
    fn sync(&mut self) -> Result<(), CommitterError> {
        if let Some(last) = self.appended.last() {
            self.store.sync_through(&last.position)?;
            for logged in &self.appended {
                if let Some(observed) = &logged.formed.afterwards.observed {
                    observed.note(GroupStage::Synced, self.env.now());
                }
            }
            self.durable.append(&mut self.appended);
        }
        Ok(())
    }

    /// Takes the groups that became durable, in order. They go to the publisher whatever the last step's result.
    pub(super) fn durable(&mut self) -> impl Iterator<Item = LoggedGroup> {
        self.durable.drain(..)
    }
}

/// Keeps a group that differs from its records, and everything after it, out of the log.
fn check(
    sampler: &AgreementSampler,
    store: &Store,
    formed: &CommitGroup,
) -> Result<(), CommitterError> {
    let placed = &formed.afterwards.placed;
    let checked = sampler.check(store, &formed.group, placed);
    checked.map_err(|why| CommitterError::Disagreement {
        first: placed.first().map_or(0, |(_, first)| first.first_sequence),
        why,
    })
}
