//! What follows the forming of a group, in two threads: the writer puts it into the store, the
//! releaser makes everything put there so far durable with one sync, publishes what is now true,
//! and only then answers. So the disk is waited for while the next group is formed and written.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use arc_swap::ArcSwap;
use kedge_protocol::Id;
use kedge_storage::{CommitError, Group, LogHead, Snapshot, Store};
use tokio::sync::{oneshot, watch};

use crate::agreement::Sampler;
use crate::api::{Outcome, Placement, SealedBatch};
use crate::committer::CommitterError;
use crate::events::Listeners;
use crate::failure::FailureSink;
use crate::metric_definitions as metric;
use crate::unit::{Unit, outcomes};
use crate::work::PlacedUnit;
use crate::world::Published;

/// How long the writer waits before it tries a full disk again.
const NO_SPACE_PAUSE: Duration = Duration::from_millis(250);
/// How long the writer waits before it tries a store again that takes no commits for now.
const SUSPENDED_PAUSE: Duration = Duration::from_secs(1);
/// A group that still waits for the same reason is logged again after so long.
const LOG_AGAIN_AFTER: Duration = Duration::from_mins(1);
/// Groups that may be handed over and not published: one that the disk is waited for, and one
/// that is being written. A group that waits longer stays open and grows.
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

/// A group that is written and not yet durable.
struct Written {
    head: LogHead,
    keys_changed_at: u64,
    action_ids: Vec<([u8; 16], u64)>,
    snapshot: Snapshot,
    afterwards: Afterwards,
}

/// The committer's end: what it has handed over, and how much of it is published.
pub(crate) struct Writing {
    groups: mpsc::SyncSender<Formed>,
    handed_over: u64,
    published: watch::Receiver<u64>,
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
    let (written_sender, written) = mpsc::sync_channel(AHEAD_MAX as usize);
    let (count, published) = watch::channel(0);
    let mut writer = Writer {
        sampler,
        store: Arc::clone(&outlet.store),
        disk_full: Arc::clone(&outlet.disk_full),
        formed,
        written: written_sender,
    };
    let failed = outlet.failed.clone();
    let releaser = Releaser {
        outlet,
        written,
        count,
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
    written: mpsc::SyncSender<Written>,
}

impl Writer {
    fn run(&mut self) -> Result<(), CommitterError> {
        while let Ok(mut formed) = self.formed.recv() {
            self.check(&formed)?;
            let written = Written {
                snapshot: self.write(&formed.group)?,
                action_ids: formed.group.take_action_ids(),
                head: formed.head,
                keys_changed_at: formed.keys_changed_at,
                afterwards: formed.afterwards,
            };
            let given = self.written.send(written);
            given.map_err(|_| CommitterError::Writer)?;
        }
        Ok(())
    }

    /// A group that is not what its records make is not written, and nothing after it.
    fn check(&mut self, formed: &Formed) -> Result<(), CommitterError> {
        let answers = &formed.afterwards.answers;
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

    /// Writes the group. A full disk stores nothing of it and is waited for: what the sequencer has
    /// placed cannot be taken back, and new requests are refused meanwhile. So is a store that takes no
    /// commits for now, because the chain contradicts it: nothing of the group was let out.
    fn write(&self, group: &Group) -> Result<Snapshot, CommitterError> {
        let mut delay = Delay::default();
        loop {
            match self.store.write(group) {
                Err(CommitError::NoSpace(why)) => {
                    if delay.is_due(Reason::NoSpace, Instant::now()) {
                        tracing::error!(why, "the disk is full; the commit waits for room");
                    }
                    self.disk_full.store(true, Ordering::Relaxed);
                    std::thread::sleep(NO_SPACE_PAUSE);
                }
                Err(CommitError::ReadOnly(why)) if self.store.is_suspended() => {
                    if delay.is_due(Reason::Suspended, Instant::now()) {
                        tracing::error!(why, "the store takes no commits; what was placed waits");
                    }
                    std::thread::sleep(SUSPENDED_PAUSE);
                }
                result => {
                    let snapshot = result?;
                    if let Some(waited) = delay.ended(Instant::now()) {
                        let waited_s = waited.as_secs();
                        tracing::warn!(waited_s, "the commit that waited is written");
                    }
                    return Ok(snapshot);
                }
            }
        }
    }
}

/// Why a group is not written yet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Reason {
    NoSpace,
    Suspended,
}

/// How long a group has been waiting to be written, and when that was logged.
#[derive(Default)]
struct Delay {
    began: Option<Instant>,
    logged: Option<(Reason, Instant)>,
}

impl Delay {
    /// The group waits. Whether that is to be logged: when it begins, when the reason is another one, and then once a
    /// minute.
    fn is_due(&mut self, reason: Reason, now: Instant) -> bool {
        self.began.get_or_insert(now);
        let is_known = self.logged.is_some_and(|(logged, at)| {
            logged == reason && now.saturating_duration_since(at) < LOG_AGAIN_AFTER
        });
        if !is_known {
            self.logged = Some((reason, now));
        }
        !is_known
    }

    /// The group is written; how long it waited, if it did.
    fn ended(self, now: Instant) -> Option<Duration> {
        self.began.map(|began| now.saturating_duration_since(began))
    }
}

struct Releaser {
    outlet: Outlet,
    written: mpsc::Receiver<Written>,
    /// How many groups are published.
    count: watch::Sender<u64>,
}

impl Releaser {
    fn run(&self) -> Result<(), CommitterError> {
        let store = &self.outlet.store;
        while let Ok(first) = self.written.recv() {
            let groups: Vec<Written> = std::iter::once(first)
                .chain(self.written.try_iter())
                .collect();
            store.sync()?;
            for written in groups {
                let Written {
                    head,
                    keys_changed_at,
                    action_ids,
                    snapshot,
                    afterwards,
                } = written;
                store.index(&action_ids);
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
            }
        }
        if self.outlet.failed.is_set() {
            // What the writer could not write is not to be followed by anything.
            return Ok(());
        }
        match store.write_index() {
            // The next start reads it from the log.
            Err(CommitError::NoSpace(why)) => {
                tracing::warn!(
                    why,
                    "the index of actions was not brought up: the disk is full"
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wait_is_logged_when_it_begins_once_a_minute_and_when_it_ends() {
        let begin = Instant::now();
        let at = |s: u64| begin + Duration::from_secs(s);
        let mut delay = Delay::default();
        let logged: Vec<u64> = (0..=150)
            .filter(|s| delay.is_due(Reason::Suspended, at(*s)))
            .collect();
        assert_eq!(logged, [0, 60, 120]);
        // Another reason is news, and so is the first one when it comes back.
        assert!(delay.is_due(Reason::NoSpace, at(151)));
        assert!(!delay.is_due(Reason::NoSpace, at(152)));
        assert!(delay.is_due(Reason::Suspended, at(153)));
        assert_eq!(delay.ended(at(160)), Some(Duration::from_secs(160)));
        assert_eq!(Delay::default().ended(begin), None);
    }
}
