//! What follows the forming of a group, in two threads: the writer appends it to the log and makes everything
//! appended so far durable with one sync; the releaser applies its rows to the store, publishes what is now true, and
//! only then answers. So the disk is waited for while the next group is formed and the rows of the one before are
//! written. The store never holds rows of what the log could still lose.

mod releaser;
mod waiting;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64};
use std::sync::mpsc;
use std::thread::JoinHandle;
use std::time::Duration;

use arc_swap::ArcSwap;
use kedge_protocol::Id;
use kedge_storage::{Group, LogHead, LogPosition, Store};
use tokio::sync::{oneshot, watch};

use crate::agreement::Sampler;
use crate::api::{Outcome, SealedBatch};
use crate::committer::CommitterError;
use crate::disk::Disk;
use crate::events::Listeners;
use crate::failure::FailureSink;
use crate::unit::Unit;
use crate::work::PlacedUnit;
use crate::world::Published;

use releaser::Releaser;
use waiting::Waiting;

/// How long the writer waits before it looks again whether what it appended was applied.
const SETTLING_PAUSE: Duration = Duration::from_micros(200);
/// Groups that may be handed over and not published: one that the disk is waited for, and one
/// whose rows are written. A group that waits longer stays open and grows.
const AHEAD_MAX: u64 = 2;

/// A unit whose batch is sealed, to be answered after the commit.
pub(crate) struct Answer {
    pub(crate) unit: PlacedUnit,
    pub(crate) batch: Arc<SealedBatch>,
    pub(crate) first_leaf_index: u32,
    /// The signer's highest nonce with it.
    pub(crate) nonce_highest: u64,
}

/// What happens once a group is durable.
#[derive(Default)]
pub(crate) struct Afterwards {
    pub(crate) answers: Vec<Answer>,
    pub(crate) refusals: Vec<(Arc<Unit>, Outcome)>,
    pub(crate) acknowledgements: Vec<oneshot::Sender<()>>,
    /// Whose things something happened to.
    touched: Vec<Id>,
    /// Who is told something besides the log; `None` stands for everybody.
    pub(crate) told: Vec<Option<Id>>,
}

impl Afterwards {
    /// True where nobody waits for anything.
    pub(crate) fn is_empty(&self) -> bool {
        self.answers.is_empty() && self.refusals.is_empty() && self.acknowledgements.is_empty()
    }

    pub(crate) fn touch(&mut self, organization: Id) {
        if self.touched.last() != Some(&organization) {
            self.touched.push(organization);
        }
    }
}

/// A group that is ready to be written.
pub(crate) struct Formed {
    pub(crate) group: Group,
    /// Where the log ends with it.
    pub(crate) head: LogHead,
    /// No API key has changed behind this sequence.
    pub(crate) keys_changed_at: u64,
    pub(crate) afterwards: Afterwards,
}

/// A group that is in the log, which reaches up to `position` with it.
struct Logged {
    formed: Formed,
    position: LogPosition,
}

/// The committer's end: what it has handed over, and how much of it is published.
pub(crate) struct Writing {
    groups: mpsc::SyncSender<Formed>,
    handed_over: u64,
    published: watch::Receiver<u64>,
    /// Groups that are done with, empty again.
    spent: mpsc::Receiver<Group>,
}

impl Writing {
    /// True when the next group may be handed over.
    pub(crate) fn is_ready(&self) -> bool {
        self.handed_over - *self.published.borrow() < AHEAD_MAX
    }

    /// Waits until [`Self::is_ready`] holds.
    pub(crate) async fn ready(&mut self) -> Result<(), CommitterError> {
        self.ahead(AHEAD_MAX - 1).await
    }

    /// Waits until everything handed over is published.
    pub(crate) async fn settled(&mut self) -> Result<(), CommitterError> {
        self.ahead(0).await
    }

    async fn ahead(&mut self, groups_max: u64) -> Result<(), CommitterError> {
        let handed_over = self.handed_over;
        let published = &mut self.published;
        let reached = published.wait_for(|published| handed_over - *published <= groups_max);
        reached
            .await
            .map_or(Err(CommitterError::Writer), |_| Ok(()))
    }

    /// An empty group, with the memory of an earlier one where one is at hand, or else with room for so many bytes.
    pub(crate) fn empty_group(&self, capacity_bytes: usize) -> Group {
        self.spent
            .try_recv()
            .unwrap_or_else(|_| Group::with_capacity_bytes(capacity_bytes))
    }

    /// Gives the next group.
    pub(crate) fn hand_over(&mut self, formed: Formed) -> Result<(), CommitterError> {
        self.handed_over += 1;
        let given = self.groups.send(formed);
        given.map_err(|_| CommitterError::Writer)
    }
}

/// Where what is durable becomes visible.
pub(crate) struct Outlet {
    pub(crate) store: Arc<Store>,
    pub(crate) published: Arc<ArcSwap<Published>>,
    pub(crate) visible: watch::Sender<u64>,
    pub(crate) committed_ticket: Arc<AtomicU64>,
    pub(crate) disk_full: Arc<AtomicBool>,
    pub(crate) disk: Disk,
    pub(crate) listeners: Arc<Listeners>,
    pub(crate) failed: FailureSink,
}

/// The threads behind the committer.
pub(crate) struct Threads {
    writer: JoinHandle<()>,
    releaser: JoinHandle<()>,
}

/// Starts the writer and the releaser. They end when the committer's end is dropped, and early only
/// where one of them fails: they report that themselves and at once, since the committer hears of
/// it with the next group at the earliest. `sampler` compares groups before they are written.
pub(crate) fn start(outlet: Outlet, sampler: Sampler) -> std::io::Result<(Writing, Threads)> {
    let (groups, formed) = mpsc::sync_channel(AHEAD_MAX as usize);
    let (logged_sender, logged) = mpsc::sync_channel(AHEAD_MAX as usize);
    let (count, published) = watch::channel(0);
    let (spent_sender, spent) = mpsc::channel();
    let mut writer = Writer {
        sampler,
        store: Arc::clone(&outlet.store),
        disk_full: Arc::clone(&outlet.disk_full),
        formed,
        logged: logged_sender,
        appended: Vec::new(),
        given: 0,
        published: published.clone(),
    };
    let failed = outlet.failed.clone();
    let releaser = Releaser {
        outlet,
        logged,
        count,
        spent: spent_sender,
    };
    let named = |name: &str| std::thread::Builder::new().name(name.into());
    let threads = Threads {
        writer: named("writer").spawn(move || failed.watch("writer", || writer.run()))?,
        releaser: named("releaser").spawn(move || {
            let failed = releaser.outlet.failed.clone();
            failed.watch("releaser", || releaser.run());
        })?,
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

struct Writer {
    sampler: Sampler,
    store: Arc<Store>,
    disk_full: Arc<AtomicBool>,
    formed: mpsc::Receiver<Formed>,
    logged: mpsc::SyncSender<Logged>,
    /// Groups that are in the log and not yet durable.
    appended: Vec<Logged>,
    /// How many groups were given to the releaser, and how many of them are published.
    given: u64,
    published: watch::Receiver<u64>,
}

impl Writer {
    fn run(&mut self) -> Result<(), CommitterError> {
        while let Ok(first) = self.formed.recv() {
            let mut next = Some(first);
            while let Some(formed) = next {
                self.check(&formed)?;
                let position = self.append(&formed.group)?;
                self.appended.push(Logged { formed, position });
                next = self.formed.try_recv().ok();
            }
            self.sync()?;
        }
        Ok(())
    }

    /// Makes durable what is appended, and hands it on.
    fn sync(&mut self) -> Result<(), CommitterError> {
        if self.appended.is_empty() {
            return Ok(());
        }
        self.store.sync()?;
        for logged in self.appended.drain(..) {
            self.given += 1;
            let given = self.logged.send(logged);
            given.map_err(|_| CommitterError::Writer)?;
        }
        Ok(())
    }

    /// A group that is not what its records make does not get into the log, and nothing after it.
    fn check(&mut self, formed: &Formed) -> Result<(), CommitterError> {
        let answers = &formed.afterwards.answers;
        if !self.sampler.takes(answers) {
            return Ok(());
        }
        self.settle()?;
        let checked = self.sampler.check(&self.store, &formed.group, answers);
        checked.map_err(|why| CommitterError::Disagreement {
            first: answers.first().map_or(0, |answer| {
                answer
                    .unit
                    .placed
                    .first()
                    .map_or(0, |placed| placed.sequence)
            }),
            why,
        })
    }

    /// Waits until the store holds every group before.
    fn settle(&mut self) -> Result<(), CommitterError> {
        self.sync()?;
        while *self.published.borrow() < self.given {
            self.published
                .has_changed()
                .map_err(|_| CommitterError::Writer)?;
            std::thread::sleep(SETTLING_PAUSE);
        }
        Ok(())
    }

    /// Appends the group. A full disk takes nothing of it and is waited for: what the sequencer has
    /// placed cannot be taken back, and new requests are refused meanwhile. So is a store that takes no
    /// commits for now, because the chain contradicts it: nothing of the group was let out. What was appended before
    /// does not wait with it.
    fn append(&mut self, group: &Group) -> Result<LogPosition, CommitterError> {
        let mut waiting = Waiting::default();
        loop {
            match self.store.append(group) {
                Ok(position) => {
                    waiting.ended();
                    return Ok(position);
                }
                Err(error) => {
                    self.sync()?;
                    waiting.wait(error, &self.store, &self.disk_full)?;
                }
            }
        }
    }
}
