//! The committer: one OS thread and the only writer of the store. It takes placed units in order,
//! seals them into batches, writes a group of them with one sync, publishes what is now true, and
//! only then answers.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use arc_swap::ArcSwap;
use kedge_machine::image::Image;
use kedge_protocol::batch::BatchHeader;
use kedge_protocol::limits::BATCH_ACTIONS_MAX;
use kedge_protocol::log_tree::{self, Frontier};
use kedge_protocol::merkle::BatchTree;
use kedge_protocol::nonce::NonceWindow;
use kedge_protocol::signature::SigningKey;
use kedge_protocol::{Address, Hash, Id};
use kedge_storage::{
    CommitError, Group, IdempotencyRow, LogHead, SecretRow, SideWrite, Snapshot, Store,
};
use tokio::sync::{mpsc, oneshot, watch};

use crate::api::{NewSecret, Outcome, Placement, SealedBatch, SubmitError};
use crate::engine::Clock;
use crate::events::{Beside, Listeners};
use crate::metric_definitions as metric;
use crate::record::{put_image, record};
use crate::unit::{Decided, Unit, outcomes};
use crate::work::{PlacedUnit, Work};
use crate::world::Published;

/// Actions of one commit group, at the most: eight full batches.
const GROUP_ACTIONS_MAX: usize = 8 * BATCH_ACTIONS_MAX;
/// Bytes of texts of one commit group, at the most.
const GROUP_BYTES_MAX: usize = 32 * 1024 * 1024;
/// How long the committer waits before it tries a full disk again.
const NO_SPACE_PAUSE: Duration = Duration::from_millis(250);
/// Entries of the committer's caches before they are emptied.
const CACHE_MAX: usize = 100_000;

/// Why the committer had to stop: nothing is acknowledged after it.
#[derive(Debug, thiserror::Error)]
pub(crate) enum CommitterError {
    #[error("the commit failed: {0}")]
    Commit(#[from] CommitError),
    #[error("the store could not be read: {0}")]
    Read(#[from] kedge_storage::ReadError),
    #[error("the high-water mark of released headers could not be written: {0}")]
    HighWater(#[from] std::io::Error),
    #[error("signer {signer} was placed twice with nonce {nonce}")]
    Nonce { signer: Address, nonce: u64 },
}

/// What the committer is made of.
pub(crate) struct Committer {
    pub(crate) store: Arc<Store>,
    pub(crate) domain_separator: Hash,
    pub(crate) key: Arc<SigningKey>,
    pub(crate) clock: Clock,
    pub(crate) work: mpsc::Receiver<Work>,
    pub(crate) published: Arc<ArcSwap<Published>>,
    pub(crate) visible: watch::Sender<u64>,
    pub(crate) committed_ticket: Arc<AtomicU64>,
    pub(crate) disk_full: Arc<AtomicBool>,
    pub(crate) listeners: Arc<Listeners>,
    pub(crate) beside: Beside,
    pub(crate) head: LogHead,
    pub(crate) frontier: Frontier,
    pub(crate) nonces: HashMap<Address, NonceWindow>,
    pub(crate) minted: HashMap<Id, u64>,
    /// Secrets of the group that is being formed.
    pub(crate) secrets: HashMap<Id, SecretRow>,
}

/// A unit whose batch is sealed, to be answered after the commit.
struct Answer {
    unit: PlacedUnit,
    batch: Arc<SealedBatch>,
    first_leaf_index: u32,
}

/// What happens once the group is durable.
#[derive(Default)]
struct Afterwards {
    answers: Vec<Answer>,
    refusals: Vec<(Arc<Unit>, Outcome)>,
    acknowledgements: Vec<oneshot::Sender<()>>,
    /// Whose things something happened to.
    touched: Vec<Id>,
}

impl Afterwards {
    fn touch(&mut self, organization: Id) {
        if self.touched.last() != Some(&organization) {
            self.touched.push(organization);
        }
    }
}

impl Committer {
    /// Runs until the senders are gone; returns early only where a commit failed.
    pub(crate) fn run(mut self) -> Result<(), CommitterError> {
        while let Some(first) = self.work.blocking_recv() {
            let mut group = vec![first];
            let (mut actions, mut bytes) = (group[0].actions(), group[0].bytes());
            while actions < GROUP_ACTIONS_MAX && bytes < GROUP_BYTES_MAX {
                let Ok(next) = self.work.try_recv() else {
                    break;
                };
                actions += next.actions();
                bytes += next.bytes();
                group.push(next);
            }
            self.commit(group)?;
        }
        if let Some(mark) = self.store.high_water() {
            mark.sync()?;
        }
        Ok(())
    }

    fn commit(&mut self, work: Vec<Work>) -> Result<(), CommitterError> {
        let started = Instant::now();
        let mut group = Group::new();
        let mut afterwards = Afterwards::default();
        let mut open: Vec<PlacedUnit> = Vec::new();
        let mut open_count = 0;
        for work in work {
            match work {
                Work::Placed(unit) => {
                    if open_count + unit.placed.len() > BATCH_ACTIONS_MAX {
                        self.seal(&mut group, std::mem::take(&mut open), &mut afterwards)?;
                        open_count = 0;
                    }
                    open_count += unit.placed.len();
                    open.push(unit);
                }
                Work::Refused { unit, outcome } => {
                    group.put_side(SideWrite::Refused {
                        digest: unit.submission.digest,
                        deadline_s: unit.submission.head.deadline_s,
                    });
                    if let Some(caller) = unit.caller {
                        let organization = caller.organization_id;
                        let now_ms = (self.clock)().max(self.head.last_sealed_at_ms);
                        self.beside
                            .tell_failed(organization, &unit.submission, &outcome, now_ms);
                    }
                    afterwards.refusals.push((unit, outcome));
                }
                Work::Side {
                    writes,
                    events,
                    done,
                } => {
                    for write in writes {
                        group.put_side(write);
                    }
                    self.beside.tell(events);
                    afterwards.acknowledgements.push(done);
                }
            }
        }
        if !open.is_empty() {
            self.seal(&mut group, open, &mut afterwards)?;
        }
        let before = self.published.load_full();
        let told = self
            .beside
            .write(&mut group, &before.snapshot, self.head.sequence)?;
        group.put_head(&self.head);
        metrics::histogram!(metric::GROUP_FORM_SECONDS).record(started.elapsed());
        let snapshot = self.write(&group)?;
        self.store.release(&self.head)?;
        self.publish(snapshot, &afterwards.answers);
        self.wake(&afterwards.touched, &told);
        self.answer(afterwards)
    }

    /// Writes the group. A full disk stores nothing of it and is waited for: what the sequencer has
    /// placed cannot be taken back, and new requests are refused meanwhile.
    fn write(&self, group: &Group) -> Result<Snapshot, CommitterError> {
        loop {
            match self.store.commit(group) {
                Err(CommitError::NoSpace(why)) => {
                    tracing::error!(why, "the disk is full; the commit waits for room");
                    self.disk_full.store(true, Ordering::Relaxed);
                    std::thread::sleep(NO_SPACE_PAUSE);
                }
                result => return Ok(result?),
            }
        }
    }

    /// Makes one batch of the units and adds everything that they write to the group.
    fn seal(
        &mut self,
        group: &mut Group,
        units: Vec<PlacedUnit>,
        afterwards: &mut Afterwards,
    ) -> Result<(), CommitterError> {
        let leaves: Vec<Hash> = units
            .iter()
            .flat_map(|unit| unit.placed.iter().map(|placed| placed.leaf))
            .collect();
        let last = units.last().and_then(|unit| unit.placed.last());
        let head = last.map_or(self.head.head, |placed| placed.head);
        let latest_ms = units
            .iter()
            .map(|unit| unit.timestamp_ms)
            .max()
            .unwrap_or(0);
        let tree = BatchTree::new(&leaves);
        let header = BatchHeader {
            number: self.head.batches,
            first_sequence: self.head.sequence + 1,
            count: leaves.len() as u32,
            previous_head: self.head.head,
            head,
            root: tree.root(),
            history: self.frontier.root(),
            state: Hash::ZERO,
            sealed_at_ms: (self.clock)()
                .max(latest_ms)
                .max(self.head.last_sealed_at_ms),
        };
        let signed = header.sign(&self.domain_separator, &self.key);
        group.put_batch(&signed, &leaves);
        for node in self.frontier.append(log_tree::leaf(&header.hash())) {
            group.put_node(&node);
        }
        let batch = Arc::new(SealedBatch {
            signed,
            id: signed.id(),
            tree,
        });
        let mut first_leaf_index = 0;
        for unit in units {
            self.put_unit(group, &unit, header.number, first_leaf_index, afterwards)?;
            let count = unit.placed.len() as u32;
            afterwards.answers.push(Answer {
                unit,
                batch: Arc::clone(&batch),
                first_leaf_index,
            });
            first_leaf_index += count;
        }
        self.head = LogHead {
            batches: header.number + 1,
            sequence: header.last_sequence(),
            head,
            last_sealed_at_ms: header.sealed_at_ms,
        };
        metrics::counter!(metric::BATCHES_SEALED).increment(1);
        metrics::counter!(metric::ACTIONS_COMMITTED).increment(u64::from(header.count));
        metrics::histogram!(metric::BATCH_ACTIONS).record(f64::from(header.count));
        Ok(())
    }

    fn put_unit(
        &mut self,
        group: &mut Group,
        placed: &PlacedUnit,
        batch_number: u64,
        first_leaf_index: u32,
        afterwards: &mut Afterwards,
    ) -> Result<(), CommitterError> {
        let (record, contents) = record(placed, batch_number, first_leaf_index);
        group.put_request(&record, &contents);
        let asker = record.organization_id;
        afterwards.touch(asker);
        let done = placed
            .decisions
            .iter()
            .filter_map(|(_, decided)| decided.as_ref().ok());
        for (decided, at) in done.zip(&placed.placed) {
            self.put_decided(group, decided, at.sequence, placed.timestamp_ms)?;
            if let Some(issuer) = decided.issuer().filter(|issuer| *issuer != asker) {
                group.put_foreign_action(issuer, at.sequence);
                afterwards.touch(issuer);
            }
        }
        if !record.failed.is_empty() {
            let refused = placed.decisions.iter().filter_map(|(index, decided)| {
                let refusal = decided.as_ref().err()?;
                Some((*index, refusal))
            });
            let submission = &placed.unit.submission;
            self.beside
                .tell_refused(asker, submission, refused, placed.timestamp_ms);
        }
        if let Some(keep) = &placed.unit.submission.keep {
            let outcomes = outcomes(placed.decisions.iter().cloned(), &placed.placed);
            let row = IdempotencyRow {
                until_s: keep.until_s,
                request: keep.request,
                first_sequence: record.first_sequence,
                residue: (keep.residue)(&outcomes, placed.timestamp_ms),
            };
            group.put_side(SideWrite::Idempotency { key: keep.key, row });
        }
        if let Some(secret) = &placed.unit.submission.secret {
            self.put_secret(group, placed, secret)?;
        }
        let signer = record.head.signer;
        let nonce = record.head.nonce;
        let window = self.window(signer)?;
        window
            .spend(nonce)
            .map_err(|_| CommitterError::Nonce { signer, nonce })?;
        group.put_nonces(signer, window);
        Ok(())
    }

    fn put_decided(
        &mut self,
        group: &mut Group,
        decided: &Decided,
        sequence: u64,
        timestamp_ms: u64,
    ) -> Result<(), CommitterError> {
        match decided {
            Decided::Object { base, next, index } => {
                let mut object = kedge_protocol::resource::Object::clone(next);
                object.trace.place(sequence, timestamp_ms);
                let owner_before = base.as_ref().map(|base| base.owner_id);
                group.put_object(
                    &object,
                    owner_before.filter(|owner| *owner != object.owner_id),
                );
                for change in index {
                    group.change_property(
                        &object,
                        change.path,
                        change.before.as_deref(),
                        &change.after,
                    );
                }
                if base.is_none() {
                    let minted = self.minted(object.template_id)?;
                    *minted += 1;
                    group.put_minted(object.template_id, *minted);
                }
            }
            Decided::Resources { base, next, .. } => {
                let before = base.as_ref().and_then(|base| base.images.first());
                let mut images = Vec::clone(next);
                Image::place_all(&mut images, sequence, timestamp_ms);
                for image in &images {
                    put_image(group, image, before);
                }
            }
        }
        Ok(())
    }

    /// Stores the secret of what the unit's only action made or renewed.
    fn put_secret(
        &mut self,
        group: &mut Group,
        placed: &PlacedUnit,
        secret: &NewSecret,
    ) -> Result<(), CommitterError> {
        let Some((_, Ok(Decided::Resources { next, .. }))) = placed.decisions.first() else {
            return Ok(());
        };
        let Some(image) = next.first() else {
            return Ok(());
        };
        let write = match (secret, image) {
            (NewSecret::Password(phc), image) => SideWrite::Password {
                wallet: image.id(),
                phc: phc.clone(),
            },
            (NewSecret::Token(token), image) => {
                let overlap_s = match image {
                    Image::ApiKey(key) => key.overlap_s,
                    Image::Webhook(webhook) => webhook.overlap_s,
                    _ => 0,
                };
                let until_ms = placed.timestamp_ms + overlap_s * 1_000;
                // A second rotation in one group replaces the secret of the first.
                let before = match self.secrets.get(&image.id()) {
                    Some(row) => Some(row.clone()),
                    None => self.published.load().snapshot.secret(image.id())?,
                };
                let previous = before.filter(|_| overlap_s > 0);
                let row = SecretRow {
                    current: token.clone(),
                    previous: previous.map(|row| (row.current, until_ms)),
                };
                let of = image.id();
                self.secrets.insert(of, row.clone());
                SideWrite::Secret { of, row }
            }
        };
        group.put_side(write);
        Ok(())
    }

    /// The signer's window with everything of this and earlier groups.
    fn window(&mut self, signer: Address) -> Result<&mut NonceWindow, CommitterError> {
        use std::collections::hash_map::Entry;
        Ok(match self.nonces.entry(signer) {
            Entry::Occupied(entry) => entry.into_mut(),
            Entry::Vacant(entry) => {
                let window = self.published.load().snapshot.nonces(signer)?;
                entry.insert(window)
            }
        })
    }

    /// How many objects the template has made with this and earlier groups.
    fn minted(&mut self, template: Id) -> Result<&mut u64, CommitterError> {
        use std::collections::hash_map::Entry;
        Ok(match self.minted.entry(template) {
            Entry::Occupied(entry) => entry.into_mut(),
            Entry::Vacant(entry) => entry.insert(self.published.load().snapshot.minted(template)?),
        })
    }

    fn publish(&mut self, snapshot: Snapshot, answers: &[Answer]) {
        let head = self.head;
        self.published.store(Arc::new(Published { head, snapshot }));
        if let Some(last) = answers.last() {
            self.committed_ticket
                .store(last.unit.ticket, Ordering::Release);
        }
        self.visible.send_replace(head.sequence);
        metrics::gauge!(metric::CHAIN_SEQUENCE).set(head.sequence as f64);
        metrics::gauge!(metric::CHAIN_BATCHES).set(head.batches as f64);
        self.secrets.clear();
        // The caches hold nothing that is not in the snapshot by now.
        if self.nonces.len() > CACHE_MAX {
            self.nonces.clear();
        }
        if self.minted.len() > CACHE_MAX {
            self.minted.clear();
        }
    }

    /// Tells those who listen that there is something new to read.
    fn wake(&mut self, touched: &[Id], told: &[Option<Id>]) {
        self.beside.committed();
        if self.listeners.is_empty() {
            return;
        }
        if told.contains(&None) {
            self.listeners.tell_all();
        } else {
            self.listeners.tell(touched);
            let told: Vec<Id> = told.iter().copied().flatten().collect();
            self.listeners.tell(&told);
        }
    }

    fn answer(&mut self, afterwards: Afterwards) -> Result<(), CommitterError> {
        for done in afterwards.acknowledgements {
            // Whoever asked may have gone.
            let _ = done.send(());
        }
        for (unit, mut outcome) in afterwards.refusals {
            outcome.nonce_highest = self.window(unit.submission.head.signer)?.highest();
            unit.complete(Ok(outcome));
        }
        for answer in afterwards.answers {
            let unit = Arc::clone(&answer.unit.unit);
            let nonce_highest = self.window(unit.submission.head.signer)?.highest();
            unit.complete(Ok(outcome(answer, nonce_highest)));
        }
        Ok(())
    }
}

fn outcome(answer: Answer, nonce_highest: u64) -> Outcome {
    let Answer {
        unit: placed,
        batch,
        first_leaf_index,
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

/// What a caller hears when the committer is gone.
pub(crate) const GONE: SubmitError = SubmitError::Unavailable;
