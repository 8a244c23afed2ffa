//! The committer's thread: it receives what is placed, decides how long a group stays open, waits, and hands groups
//! over.

use std::time::Instant;

use tokio::runtime::Runtime;
use tokio::sync::mpsc;

use super::{Closed, Committer};
use crate::commit::error::CommitterError;
use crate::commit::group::CommitGroup;
use crate::commit::writer::{Threads, Writing};
use crate::pipeline::placed::CommitterMessage;

/// What the committer's thread owns.
pub(crate) struct CommitterThread {
    pub(crate) committer: Committer,
    pub(crate) work: mpsc::Receiver<CommitterMessage>,
    pub(crate) runtime: Runtime,
    pub(crate) writing: Writing,
}

impl CommitterThread {
    /// Runs until the senders are gone. Returns early only if a commit failed.
    pub(crate) fn run(mut self, threads: Threads) -> Result<(), CommitterError> {
        let formed = self.form_groups();
        // When nothing gives them groups any more, the threads finish what they were given and end.
        drop(self);
        threads.join();
        formed
    }

    fn form_groups(&mut self) -> Result<(), CommitterError> {
        while let Some(first) = self.work.blocking_recv() {
            if let Some(formed) = self.form(first)? {
                self.writing.hand_over(formed)?;
            }
        }
        Ok(())
    }

    /// Forms a group that begins with this; `None` if there is nothing to write.
    fn form(&mut self, first: CommitterMessage) -> Result<Option<CommitGroup>, CommitterError> {
        if self.committer.remembers_much() {
            self.settle()?;
            self.committer.forget();
        }
        let empty = self.writing.empty_group(self.committer.group_bytes);
        let mut forming = Committer::begin(empty);
        self.committer.add(&mut forming, first)?;
        // A group stays open while earlier ones are in flight, and accepts new work.
        loop {
            while !forming.is_full()
                && let Ok(next) = self.work.try_recv()
            {
                self.committer.add(&mut forming, next)?;
            }
            let held_until = self.committer.held_until(&forming);
            if self.writing.is_ready() && held_until.is_none() {
                break;
            }
            let Some(next) = self.wait(!forming.is_full(), held_until)? else {
                break;
            };
            self.committer.add(&mut forming, next)?;
        }
        match self.committer.close(forming)? {
            Closed::Nothing => Ok(None),
            Closed::Whole(formed) => Ok(Some(formed)),
            Closed::Unpruned(closed) => {
                self.settle()?;
                self.committer.prune(closed).map(Some)
            }
        }
    }

    /// Waits until everything handed over is published.
    fn settle(&mut self) -> Result<(), CommitterError> {
        self.runtime.block_on(self.writing.settled())
    }

    /// Waits for more work if it is `wanted`, or until the group may be handed over (`None`).
    fn wait(
        &mut self,
        wanted: bool,
        held_until: Option<Instant>,
    ) -> Result<Option<CommitterMessage>, CommitterError> {
        let (work, writing) = (&mut self.work, &mut self.writing);
        self.runtime.block_on(async {
            let released = async {
                if let Some(until) = held_until {
                    tokio::time::sleep_until(until.into()).await;
                }
                writing.ready().await.map(|()| None)
            };
            tokio::pin!(released);
            if wanted {
                tokio::select! {
                    biased;
                    released = &mut released => return released,
                    Some(next) = work.recv() => return Ok(Some(next)),
                    else => {}
                }
            }
            released.await
        })
    }
}
