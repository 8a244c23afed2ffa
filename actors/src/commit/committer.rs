//! The committer: it takes placed proposals in order, seals them into batches, signs the headers, extends the log tree,
//! and forms the group that becomes durable next. Meanwhile the threads after it (`writer.rs`) write the previous
//! group, make it durable, publish it and answer. Together these OS threads are the only writer of the store.
//!
//! A *commit group* is the unit of one sync: a frame of the log, and the rows that follow from it. A *batch* is at most
//! 500 actions under one Merkle root and one signature. It closes at 500 or with its commit group, so every answer
//! carries a full receipt. A request is never split over two batches.
//!
//! Forming a group is a series of steps without thread, channel or wait. The thread around them (`thread.rs`) receives,
//! waits and hands over.

mod caches;
mod parking;
mod thread;

pub(crate) use caches::CommitterCaches;
pub(crate) use thread::CommitterThread;

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::timing::{GroupStage, RequestStage};
use arc_swap::ArcSwap;
use kedge_protocol::Hash;
use kedge_protocol::batch::BatchHeader;
use kedge_protocol::limits::BATCH_ACTIONS_MAX;
use kedge_protocol::log_tree::{self, TreeFrontier};
use kedge_protocol::merkle::BatchTree;
use kedge_protocol::registry::CredentialEffect;
use kedge_protocol::resource::{Object, ObjectStatus};
use kedge_protocol::signature::SigningKey;
use kedge_replay::{log_bytes, resource_rows};
use kedge_rules::resource_state::ResourceState;
use kedge_runtime::env::Env;
use kedge_storage::{IdempotencyRow, LogHead, SecretRow, SideWrite, WriteGroup};

use super::error::CommitterError;
use super::group::{CommitGroup, GroupCompletion};
use super::pace::GroupPace;
use super::record::{record, residue};
use super::signing::BatchSigner;
use crate::api::{BatchPlacement, NewSecret, SealedBatch};
use crate::events::SideEvents;
use crate::metric_definitions as metric;
use crate::pipeline::effect::ActionEffect;
use crate::pipeline::published_state::PublishedState;
use crate::pipeline::sequenced_proposal::{CommitterMessage, SequencedProposal};
use crate::timekeeper::Timekeeper;

/// Actions of one commit group, at most: eight full batches.
const GROUP_ACTIONS_MAX: usize = 8 * BATCH_ACTIONS_MAX;

/// State of the committer. Its steps are [`Committer::begin`], [`Committer::add`] and [`Committer::close`]; they own no
/// thread and no channel, and never wait.
pub(crate) struct Committer {
    pub(crate) env: Arc<dyn Env>,
    pub(crate) domain_separator: Hash,
    pub(crate) signing: Arc<BatchSigner>,
    /// Proposals that wait while no batch is signed (`parking.rs`).
    pub(crate) parked: VecDeque<CommitterMessage>,
    pub(crate) time: Arc<Timekeeper>,
    pub(crate) published: Arc<ArcSwap<PublishedState>>,
    pub(crate) side_events: SideEvents,
    pub(crate) head: LogHead,
    /// A sequence after which no action has changed an API key or removed a wallet.
    pub(crate) keys_changed_at: u64,
    pub(crate) frontier: TreeFrontier,
    pub(crate) caches: CommitterCaches,
    pub(crate) pace: GroupPace,
    /// Bytes of the last group: the next one is likely to need as much room.
    pub(crate) group_bytes: usize,
    /// Bound on the bytes of texts in one commit group.
    pub(crate) group_bytes_max: usize,
}

/// A group that still accepts work.
#[derive(Default)]
pub(crate) struct OpenGroup {
    group: WriteGroup,
    afterwards: GroupCompletion,
    /// Proposals of the batch that is open.
    open: Vec<SequencedProposal>,
    open_count: usize,
    /// The key that signs the open batch.
    key: Option<Arc<SigningKey>>,
    requests: usize,
    actions: usize,
    bytes: usize,
    /// The size at which the group is full.
    bytes_max: usize,
    form_time: Duration,
    /// Whether a root of the state is due after the group.
    is_root_due: bool,
}

impl OpenGroup {
    /// Whether the group accepts no more work.
    pub(crate) fn is_full(&self) -> bool {
        self.actions >= GROUP_ACTIONS_MAX || self.bytes >= self.bytes_max
    }

    fn is_nothing(&self) -> bool {
        self.open.is_empty() && self.group.is_empty() && self.afterwards.is_empty()
    }
}

/// Result of closing a group.
pub(crate) enum ClosedGroup {
    /// Ready for the writer.
    Whole(CommitGroup),
    /// Too many events are kept. Once every earlier group is published, [`Committer::prune`] completes this one.
    Unpruned(UnprunedGroup),
    /// Empty. A mere check of the keys writes nothing, so a store that takes no commits is not asked for one.
    Nothing,
}

/// A closed group without the rows that prune events.
pub(crate) struct UnprunedGroup {
    group: WriteGroup,
    afterwards: GroupCompletion,
    form_time: Duration,
    /// When it was closed.
    closed_at: Instant,
}

impl Committer {
    /// Begins a group in `group`, which is empty and may have the memory of an earlier one.
    pub(crate) fn begin(&self, group: WriteGroup) -> OpenGroup {
        OpenGroup {
            group,
            bytes_max: self.group_bytes_max,
            ..OpenGroup::default()
        }
    }

    /// Deadline for adding requests to the open group; `None` closes it now.
    pub(crate) fn held_until(&self, forming: &OpenGroup) -> Option<Instant> {
        if forming.is_full() {
            return None;
        }
        self.pace.held_until(forming.requests, self.env.now())
    }

    /// Adds the next message's work.
    pub(crate) fn add(
        &mut self,
        forming: &mut OpenGroup,
        work: CommitterMessage,
    ) -> Result<(), CommitterError> {
        let started = self.env.now();
        forming.requests += usize::from(!matches!(
            work,
            CommitterMessage::Side { .. }
                | CommitterMessage::Keys { .. }
                | CommitterMessage::RootDue { .. }
        ));
        if let Some(unit) = work.unit() {
            unit.note(RequestStage::Taken, || started);
        }
        forming.actions += work.actions();
        forming.bytes += work.bytes();
        match work {
            CommitterMessage::Placed(_) | CommitterMessage::Refused { .. }
                if !self.parked.is_empty() =>
            {
                self.parked.push_back(work);
            }
            CommitterMessage::Placed(unit) => self.take(forming, unit)?,
            CommitterMessage::Keys { done } => self.take_parked(forming, done)?,
            CommitterMessage::Refused { unit, mut outcome } => {
                forming.group.put_side(SideWrite::Refused {
                    digest: unit.submission.digest,
                    deadline_s: unit.submission.head.deadline_s,
                });
                if let Some(caller) = unit.caller {
                    let organization = caller.organization_id;
                    let now_ms = self.time.now_ms().max(self.head.last_sealed_at_ms);
                    self.side_events
                        .add_failed(organization, &unit.submission, &outcome, now_ms);
                }
                outcome.nonce_highest = self.window(unit.submission.head.signer)?.highest();
                forming.afterwards.observe(&unit, None, || started);
                forming.afterwards.refusals.push((unit, outcome));
            }
            CommitterMessage::RootDue { done } => {
                forming.is_root_due = true;
                forming.afterwards.acknowledgements.push(done);
            }
            CommitterMessage::Side {
                writes,
                events,
                done,
            } => {
                for write in writes {
                    forming.group.put_side(write);
                }
                self.side_events.add(events);
                forming.afterwards.acknowledgements.push(done);
            }
        }
        forming.form_time += self.env.now() - started;
        Ok(())
    }

    /// Seals the open batch and closes the group.
    pub(crate) fn close(&mut self, mut forming: OpenGroup) -> Result<ClosedGroup, CommitterError> {
        if forming.is_nothing() {
            return Ok(ClosedGroup::Nothing);
        }
        let closed_at = self.env.now();
        if !forming.open.is_empty() {
            self.seal(&mut forming)?;
        }
        let OpenGroup {
            mut group,
            mut afterwards,
            form_time,
            is_root_due,
            ..
        } = forming;
        let snapshot = self.published.load_full();
        if is_root_due {
            if snapshot.snapshot.roots_from()?.is_none() {
                // Whatever was signed so far, or is being signed, has fewer batches.
                group.put_roots_from(self.head.batches + 1);
            }
            group.put_root_due(self.head.batches);
        }
        afterwards.reported =
            self.side_events
                .write(&mut group, &snapshot.snapshot, self.head.sequence)?;
        let is_too_many = self.side_events.is_too_many(&afterwards.reported);
        let closed = UnprunedGroup {
            group,
            afterwards,
            form_time,
            closed_at,
        };
        Ok(if is_too_many {
            ClosedGroup::Unpruned(closed)
        } else {
            ClosedGroup::Whole(self.formed(closed))
        })
    }

    /// Completes a group that waited until every group before it was published.
    pub(crate) fn prune(
        &mut self,
        mut closed: UnprunedGroup,
    ) -> Result<CommitGroup, CommitterError> {
        let settled = self.published.load_full();
        self.side_events.prune(
            &mut closed.group,
            &settled.snapshot,
            &closed.afterwards.reported,
        )?;
        Ok(self.formed(closed))
    }

    fn formed(&mut self, closed: UnprunedGroup) -> CommitGroup {
        let UnprunedGroup {
            mut group,
            afterwards,
            form_time,
            closed_at,
        } = closed;
        if self.parked.is_empty() {
            self.signing.review(self.head.batches);
        }
        group.put_head(&self.head);
        self.group_bytes = group.len_bytes();
        let now = self.env.now();
        metrics::histogram!(metric::GROUP_FORM_SECONDS).record(form_time + (now - closed_at));
        if let Some(observed) = &afterwards.observed {
            observed.note(GroupStage::Formed, now);
        }
        self.pace.handed_over(now);
        CommitGroup {
            group,
            head: self.head,
            keys_changed_at: self.keys_changed_at,
            afterwards,
        }
    }

    /// Seals the open proposals as one batch and adds their writes to the group.
    fn seal(&mut self, forming: &mut OpenGroup) -> Result<(), CommitterError> {
        let units = std::mem::take(&mut forming.open);
        forming.open_count = 0;
        let number = self.head.batches;
        let key = forming.key.take().ok_or(CommitterError::Key { number })?;
        let OpenGroup {
            group, afterwards, ..
        } = forming;
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
            number,
            first_sequence: self.head.sequence + 1,
            count: leaves.len() as u32,
            previous_head: self.head.head,
            head,
            root: tree.root(),
            history: self.frontier.root(),
            state: Hash::ZERO,
            sealed_at_ms: self
                .time
                .now_ms()
                .max(latest_ms)
                .max(self.head.last_sealed_at_ms),
        };
        let signed = header.sign(&self.domain_separator, &key);
        group.put_placed_batch(&signed, &leaves);
        for node in self.frontier.append(log_tree::leaf(&header.hash())) {
            group.put_node(&node);
        }
        let batch = Arc::new(SealedBatch {
            signed,
            id: signed.id(),
            tree,
        });
        let mut first_leaf_index = 0;
        for mut unit in units {
            self.put_unit(group, &unit, header.number, first_leaf_index, afterwards)?;
            unit.nonce_highest = self.window(unit.unit.submission.head.signer)?.highest();
            let placement = BatchPlacement {
                batch: Arc::clone(&batch),
                first_sequence: unit.placed[0].sequence,
                first_leaf_index,
                count: unit.placed.len() as u32,
                timestamp_ms: unit.timestamp_ms,
            };
            first_leaf_index += placement.count;
            afterwards.observe(&unit.unit, Some(&placement), || self.env.now());
            afterwards.placed.push((unit, placement));
        }
        self.head = LogHead::after(&header);
        metrics::counter!(metric::BATCHES_SEALED).increment(1);
        metrics::counter!(metric::ACTIONS_COMMITTED).increment(u64::from(header.count));
        metrics::histogram!(metric::BATCH_ACTIONS).record(f64::from(header.count));
        Ok(())
    }

    fn put_unit(
        &mut self,
        group: &mut WriteGroup,
        placed: &SequencedProposal,
        batch_number: u64,
        first_leaf_index: u32,
        afterwards: &mut GroupCompletion,
    ) -> Result<(), CommitterError> {
        // Another core has them in its cache.
        for (_, decided) in &placed.decisions {
            decided.iter().for_each(ActionEffect::fetch);
        }
        let (record, contents) = record(placed, batch_number, first_leaf_index);
        group.put_request(&record, &contents);
        let mut added = log_bytes::of_request(&record);
        let asker = record.organization_id;
        afterwards.touch(asker);
        let done = placed
            .decisions
            .iter()
            .filter_map(|(_, decided)| decided.as_ref().ok());
        for ((decided, at), action) in done.zip(&placed.placed).zip(&record.actions) {
            self.put_decided(group, decided, at.sequence, placed.timestamp_ms)?;
            if action.kind.spec().credentials == CredentialEffect::Rechecked {
                self.keys_changed_at = at.sequence;
            }
            added += decided.counted(&action.payload);
            if let Some(issuer) = decided.issuer().filter(|issuer| *issuer != asker) {
                group.put_foreign_action(issuer, at.sequence);
                afterwards.touch(issuer);
            }
        }
        self.count_bytes(group, asker, added)?;
        if !record.failed.is_empty() {
            let refused = placed.decisions.iter().filter_map(|(index, decided)| {
                let refused = decided.as_ref().err()?;
                Some((*index, &*refused.refusal))
            });
            let submission = &placed.unit.submission;
            self.side_events
                .add_refused(asker, submission, refused, placed.timestamp_ms);
        }
        if let Some(keep) = &placed.unit.submission.keep {
            let row = IdempotencyRow {
                until_s: keep.until_s,
                request: keep.request,
                first_sequence: record.first_sequence,
                residue: residue(keep, &placed.decisions).encode(keep.sealed_secret()),
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
        group.put_spent(signer, nonce, record.first_sequence);
        Ok(())
    }

    fn put_decided(
        &mut self,
        group: &mut WriteGroup,
        decided: &ActionEffect,
        sequence: u64,
        timestamp_ms: u64,
    ) -> Result<(), CommitterError> {
        match decided {
            ActionEffect::Object { base, next, index } => {
                let object: &Object = next;
                let mut trace = object.trace;
                trace.place(sequence, timestamp_ms);
                if let Some(base) = base {
                    group.put_object(object, &trace, Some(base.owner_id));
                } else {
                    let minted = self.minted(object.template_id)?;
                    *minted += 1;
                    group.put_mint(object, &trace, *minted);
                }
                let placed = Object {
                    properties: String::new(),
                    trace,
                    ..*object
                };
                for change in index {
                    group.change_property(
                        &placed,
                        change.path,
                        change.before.as_deref(),
                        &change.after,
                    );
                }
                if object.status == ObjectStatus::Burned {
                    let (id, published) = (object.template_id, self.published.load());
                    let known = self.caches.burned.get(&id).copied();
                    let burned = 1 + known.map_or_else(|| published.snapshot.burned(id), Ok)?;
                    self.caches.burned.insert(id, burned);
                    group.put_burned(id, burned);
                }
            }
            ActionEffect::Resources { base, next, .. } => {
                let before = base.as_ref().and_then(|base| base.images.first());
                let mut images = Vec::clone(next);
                ResourceState::place_all(&mut images, sequence, timestamp_ms);
                for image in &images {
                    self.note_key(image)?;
                    resource_rows::put_image(group, image, before);
                }
            }
        }
        Ok(())
    }

    /// Stores the secret for the resource that the proposal's only action created or renewed.
    fn put_secret(
        &mut self,
        group: &mut WriteGroup,
        placed: &SequencedProposal,
        secret: &NewSecret,
    ) -> Result<(), CommitterError> {
        let Some((_, Ok(ActionEffect::Resources { next, .. }))) = placed.decisions.first() else {
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
                let overlap_s = image.overlap_s();
                let until_ms = placed.timestamp_ms + overlap_s * 1_000;
                // A second rotation in one group replaces the secret of the first.
                let before = match self.caches.secrets.get(&image.id()) {
                    Some(row) => Some(row.clone()),
                    None => self.published.load().snapshot.secret(image.id())?,
                };
                let previous = before.filter(|_| overlap_s > 0);
                let row = SecretRow {
                    current: token.clone(),
                    previous: previous.map(|row| (row.current, until_ms)),
                };
                let of = image.id();
                self.caches.secrets.insert(of, row.clone());
                SideWrite::Secret { of, row }
            }
        };
        group.put_side(write);
        Ok(())
    }
}
