//! The two threads that follow the committer. Each receives a group, lets its steps do the work, pauses where a step
//! asks for it, and sends the result on.

use std::sync::mpsc;
use std::thread::JoinHandle;
use std::time::Duration;

use kedge_storage::Group;
use tokio::sync::watch;

use super::appending::{Until, Writer};
use super::releaser::Releaser;
use super::{AHEAD_MAX, Logged, Outlet, Step, Writing};
use crate::commit::agreement::Sampler;
use crate::commit::error::CommitterError;
use crate::commit::group::CommitGroup;

/// How long the writer waits before it checks again whether what it appended was applied.
const SETTLING_PAUSE: Duration = Duration::from_micros(200);

/// The threads that follow the committer.
pub(crate) struct Threads {
    writer: JoinHandle<()>,
    releaser: JoinHandle<()>,
}

/// Starts the writer and the releaser. They end when the committer's end is dropped. If one of them fails, it ends
/// early and reports that itself, at once: the committer would notice it with the next group at the earliest. `sampler`
/// compares groups before they are written.
pub(crate) fn start(outlet: Outlet, sampler: Sampler) -> std::io::Result<(Writing, Threads)> {
    let (groups, formed) = mpsc::sync_channel(AHEAD_MAX as usize);
    let (logged_sender, logged) = mpsc::sync_channel(AHEAD_MAX as usize);
    let (count, published) = watch::channel(0);
    let (spent_sender, spent) = mpsc::channel();
    let mut writer = WriterThread {
        writer: Writer::new(&outlet, sampler),
        formed,
        logged: logged_sender,
        given: 0,
        published: published.clone(),
    };
    let failed = outlet.failed.clone();
    let releaser_failed = failed.clone();
    let mut releaser = ReleaserThread {
        releaser: Releaser::new(outlet),
        logged,
        count,
        spent: spent_sender,
    };
    let named = |name: &str| std::thread::Builder::new().name(name.into());
    let threads = Threads {
        writer: named("writer").spawn(move || failed.watch("writer", || writer.run()))?,
        releaser: named("releaser")
            .spawn(move || releaser_failed.watch("releaser", || releaser.run()))?,
    };
    let writing = Writing {
        groups,
        handed_over: 0,
        published,
        spent,
    };
    Ok((writing, threads))
}

impl Threads {
    /// Waits until both have ended.
    pub(crate) fn join(self) {
        for thread in [self.writer, self.releaser] {
            // A panic was reported when it happened.
            let _ = thread.join();
        }
    }
}

struct WriterThread {
    writer: Writer,
    formed: mpsc::Receiver<CommitGroup>,
    logged: mpsc::SyncSender<Logged>,
    /// How many groups were given to the releaser, and how many of them are published.
    given: u64,
    published: watch::Receiver<u64>,
}

impl WriterThread {
    fn run(&mut self) -> Result<(), CommitterError> {
        while let Ok(first) = self.formed.recv() {
            self.writer.give(first);
            while self.step()? {}
        }
        Ok(())
    }

    /// Accepts one more group, if one has arrived, and does one step; false if nothing is left to do.
    fn step(&mut self) -> Result<bool, CommitterError> {
        let step = self.writer.step();
        self.hand_on()?;
        match step? {
            None => return Ok(false),
            Some(Step::Done(())) => {
                if let Ok(next) = self.formed.try_recv() {
                    self.writer.give(next);
                }
            }
            Some(Step::Blocked(Until::Passed(pause))) => std::thread::sleep(pause),
            Some(Step::Blocked(Until::Published)) => self.settle()?,
        }
        Ok(true)
    }

    /// Gives the releaser what is durable.
    fn hand_on(&mut self) -> Result<(), CommitterError> {
        for logged in self.writer.durable() {
            self.given += 1;
            let given = self.logged.send(logged);
            given.map_err(|_| CommitterError::Writer)?;
        }
        Ok(())
    }

    /// Waits until the store holds every group that was given to the releaser.
    fn settle(&mut self) -> Result<(), CommitterError> {
        while *self.published.borrow() < self.given {
            self.published
                .has_changed()
                .map_err(|_| CommitterError::Writer)?;
            std::thread::sleep(SETTLING_PAUSE);
        }
        Ok(())
    }
}

struct ReleaserThread {
    releaser: Releaser,
    logged: mpsc::Receiver<Logged>,
    /// How many groups are published.
    count: watch::Sender<u64>,
    /// Receives groups no longer in use.
    spent: mpsc::Sender<Group>,
}

impl ReleaserThread {
    fn run(&mut self) -> Result<(), CommitterError> {
        while let Ok(logged) = self.logged.recv() {
            self.releaser.give(logged);
            while let Some(step) = self.releaser.step()? {
                match step {
                    Step::Done(released) => {
                        // Before the answers: the next group is handed over while they are sent.
                        self.count.send_modify(|count| *count += 1);
                        if let Some(group) = released.answer() {
                            // The committer may have ended: then the group is not needed.
                            let _ = self.spent.send(group);
                        }
                    }
                    Step::Blocked(pause) => std::thread::sleep(pause),
                }
            }
        }
        self.releaser.end()
    }
}
