//! The threads of writer and publisher. Each receives a group, runs its steps, pauses where a step asks for it, and
//! sends the result on. In a simulator they are tasks (`kedge_runtime::executor`).

use std::time::Duration;

use kedge_runtime::executor::{EnginePart, EngineRuntime, StepWait};
use kedge_storage::WriteGroup;
use tokio::sync::{mpsc, watch};

use super::appender::{LogAppender, WriterWait};
use super::publisher::PublishQueue;
use super::{LoggedGroup, Publisher, WriterLink, WriterStep};
use crate::commit::agreement::AgreementSampler;
use crate::commit::error::CommitterError;
use crate::commit::group::CommitGroup;

/// How long the writer waits before it checks again whether its groups were applied.
const SETTLING_PAUSE: Duration = Duration::from_micros(200);

/// The threads that follow the committer.
pub(crate) struct WriterThreads {
    writer: EnginePart,
    publisher: EnginePart,
}

/// Starts writer and publisher; they end when the committer drops its end. If one of them fails, it ends early and
/// reports that itself, because the committer would notice only with the next group. `sampler` selects groups for
/// comparison. The channels need no bounds: the committer hands over only a few groups ahead of the published ones.
pub(crate) fn start(
    outlet: Publisher,
    sampler: AgreementSampler,
    running: &EngineRuntime,
) -> std::io::Result<(WriterLink, WriterThreads)> {
    let (groups, formed) = mpsc::unbounded_channel();
    let (logged_sender, logged) = mpsc::unbounded_channel();
    let (count, published) = watch::channel(0);
    let (spent_sender, spent) = mpsc::unbounded_channel();
    let mut writer = WriterThread {
        writer: LogAppender::new(&outlet, sampler),
        formed,
        logged: logged_sender,
        given: 0,
        published: published.clone(),
    };
    let failed = outlet.failed.clone();
    let mut publisher = PublisherThread {
        publisher: PublishQueue::new(outlet),
        logged,
        count,
        spent: spent_sender,
    };
    let threads = WriterThreads {
        writer: failed.start(running, "writer", move |waits| async move {
            writer.run(&waits).await
        })?,
        publisher: failed.start(running, "publisher", move |waits| async move {
            publisher.run(&waits).await
        })?,
    };
    let writing = WriterLink {
        groups,
        handed_over: 0,
        published,
        spent,
    };
    Ok((writing, threads))
}

impl WriterThreads {
    /// Waits until both have ended. A thread that calls this is blocked meanwhile.
    pub(crate) async fn ended(self) {
        self.writer.joined().await;
        self.publisher.joined().await;
    }
}

struct WriterThread {
    writer: LogAppender,
    formed: mpsc::UnboundedReceiver<CommitGroup>,
    logged: mpsc::UnboundedSender<LoggedGroup>,
    /// How many groups the publisher has received, and how many of them are published.
    given: u64,
    published: watch::Receiver<u64>,
}

impl WriterThread {
    async fn run(&mut self, waits: &StepWait) -> Result<(), CommitterError> {
        while let Some(first) = waits.receive(&mut self.formed).await {
            self.writer.give(first);
            while self.step(waits).await? {}
        }
        Ok(())
    }

    /// Accepts a group, if one has arrived, and takes one step; false if nothing is left to do.
    async fn step(&mut self, waits: &StepWait) -> Result<bool, CommitterError> {
        waits.before("writer").await;
        let step = self.writer.step();
        self.hand_on()?;
        match step? {
            None => return Ok(false),
            Some(WriterStep::Done(())) => {
                if let Ok(next) = self.formed.try_recv() {
                    self.writer.give(next);
                }
            }
            Some(WriterStep::Blocked(WriterWait::Passed(pause))) => waits.pause(pause).await,
            Some(WriterStep::Blocked(WriterWait::Published)) => self.settle(waits).await?,
        }
        Ok(true)
    }

    /// Gives the durable groups to the publisher.
    fn hand_on(&mut self) -> Result<(), CommitterError> {
        for logged in self.writer.durable() {
            self.given += 1;
            let given = self.logged.send(logged);
            given.map_err(|_| CommitterError::Writer)?;
        }
        Ok(())
    }

    /// Waits until the store has applied every group that the publisher has received.
    async fn settle(&mut self, waits: &StepWait) -> Result<(), CommitterError> {
        while *self.published.borrow() < self.given {
            self.published
                .has_changed()
                .map_err(|_| CommitterError::Writer)?;
            waits.pause(SETTLING_PAUSE).await;
        }
        Ok(())
    }
}

struct PublisherThread {
    publisher: PublishQueue,
    logged: mpsc::UnboundedReceiver<LoggedGroup>,
    /// Number of published groups.
    count: watch::Sender<u64>,
    /// Receives empty groups for reuse.
    spent: mpsc::UnboundedSender<WriteGroup>,
}

impl PublisherThread {
    async fn run(&mut self, waits: &StepWait) -> Result<(), CommitterError> {
        while let Some(logged) = waits.receive(&mut self.logged).await {
            self.publisher.give(logged);
            waits.before("publisher").await;
            while let Some(step) = self.publisher.step()? {
                match step {
                    WriterStep::Done(released) => {
                        // Before the answers, so that the next group is handed over while they are sent.
                        self.count.send_modify(|count| *count += 1);
                        waits.before("publisher").await;
                        if let Some(group) = released.answer() {
                            // The committer may have ended and need no group.
                            let _ = self.spent.send(group);
                        }
                    }
                    WriterStep::Blocked(pause) => waits.pause(pause).await,
                }
            }
        }
        self.publisher.end()
    }
}
