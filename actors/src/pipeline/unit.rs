//! A submission on its way through the engine. Shards and organization actors decide it in parts; the parts are
//! gathered and handed to the sequencer once. A deadline travels with it: past that it is not begun. Whatever happens,
//! it is answered once.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use kedge_machine::Caller;
use kedge_machine::image::Image;
use kedge_machine::index::IndexChange;
use kedge_machine::sequencer::{Key, KeyWrite, Placed};
use kedge_protocol::action::Kind;
use kedge_protocol::resource::Object;
use kedge_protocol::{Hash, Id};
use ractor::ActorRef;
use tokio::sync::oneshot;

use crate::api::{ActionOutcome, Done, Made, Outcome, Submission, SubmitError};
use crate::overlay::Versioned;
use crate::pipeline::ending::{Ending, Grant, Waiter};
use crate::pipeline::fate::Fate;
use crate::pipeline::organization::OrganizationMessage;
use crate::pipeline::refused::Refused;
use crate::pipeline::room::Place;
use crate::pipeline::sequencer::SequencerMessage;
use crate::pipeline::supply::Need;

/// What an action would do, decided but not placed.
#[derive(Clone)]
pub(crate) enum Decided {
    /// On one object.
    Object {
        /// What the decision rests on; `None` for a mint.
        base: Option<Arc<Versioned<Object>>>,
        /// The object after it.
        next: Arc<Versioned<Object>>,
        /// The resulting changes in the index of properties. Empty, and without allocation, if the template has no
        /// indexed places.
        index: Vec<IndexChange>,
    },
    /// On other resources, the one acted on first.
    Resources {
        /// The first one's version, integrity and sequence before, if it existed.
        base: Option<Base>,
        /// The resources after it.
        next: Arc<Versioned<Vec<Image>>>,
        /// Names that it claims: they must not exist yet.
        claims: Vec<Key>,
        /// Names that it gives up.
        releases: Vec<Key>,
        /// What it read and its actor does not own, with the version that it saw.
        reads: Vec<(Key, u64)>,
    },
}

/// The state of a resource that a decision rests on.
#[derive(Clone)]
pub(crate) struct Base {
    /// Its version.
    pub(crate) version: u64,
    /// Its integrity.
    pub(crate) integrity: Hash,
    /// The images that led to it; their sequence is zero until they are placed.
    pub(crate) images: Arc<Versioned<Vec<Image>>>,
}

impl Decided {
    /// The resource acted on, or made first: id, version, integrity.
    pub(crate) fn resource(&self) -> (Id, u64, Hash) {
        match self {
            Self::Object { next, .. } => (next.id, next.trace.version, next.trace.integrity),
            Self::Resources { next, .. } => {
                let first = &next[0];
                let trace = first.trace().expect("the resource acted on has a history");
                (first.id(), trace.version, trace.integrity)
            }
        }
    }

    /// The organization that issued the object; none if it acts on something else.
    pub(crate) fn issuer(&self) -> Option<Id> {
        match self {
            Self::Object { next, .. } => Some(next.organization_id),
            Self::Resources { .. } => None,
        }
    }

    /// The resource's integrity before.
    pub(crate) fn previous_integrity(&self) -> Hash {
        match self {
            Self::Object { base, .. } => base
                .as_ref()
                .map_or(Hash::ZERO, |base| base.trace.integrity),
            Self::Resources { base, .. } => base.as_ref().map_or(Hash::ZERO, |base| base.integrity),
        }
    }

    /// The sequence of the resource's previous action: 0 if there was none. `None` until what the decision rests on has
    /// been placed.
    pub(crate) fn previous_sequence(&self) -> Option<u64> {
        let sequence = match self {
            Self::Object { base: None, .. } | Self::Resources { base: None, .. } => return Some(0),
            Self::Object {
                base: Some(base), ..
            } => base.sequence(),
            Self::Resources {
                base: Some(base), ..
            } => base.images.sequence(),
        };
        (sequence != 0).then_some(sequence)
    }

    /// True if it rests on what `earlier` left.
    pub(crate) fn rests_on(&self, earlier: &Self) -> bool {
        match (self, earlier) {
            (
                Self::Object {
                    base: Some(base), ..
                },
                Self::Object { next, .. },
            ) => Arc::ptr_eq(base, next),
            (
                Self::Resources {
                    base: Some(base), ..
                },
                Self::Resources { next, .. },
            ) => Arc::ptr_eq(&base.images, next),
            _ => false,
        }
    }

    /// Sets the sequence that the action was given.
    pub(crate) fn set_sequence(&self, sequence: u64) {
        match self {
            Self::Object { next, .. } => next.set_sequence(sequence),
            Self::Resources { next, .. } => next.set_sequence(sequence),
        }
    }

    /// Adds what it writes to a unit's writes; a key that the unit wrote before is extended.
    pub(crate) fn add_writes(&self, writes: &mut Vec<KeyWrite>) {
        let (id, version, _) = self.resource();
        match self {
            // A mint's identifier is unknown before it is placed: there is no version to compare.
            Self::Object { base: None, .. } => {}
            Self::Object { .. } => writes.push(KeyWrite {
                key: Key::resource(id),
                base_version: version - 1,
                version,
            }),
            Self::Resources {
                base,
                claims,
                releases,
                reads,
                ..
            } => {
                writes.push(KeyWrite {
                    key: Key::resource(id),
                    base_version: base.as_ref().map_or(0, |base| base.version),
                    version,
                });
                writes.extend(claims.iter().map(|key| KeyWrite {
                    key: *key,
                    base_version: 0,
                    version: 1,
                }));
                writes.extend(releases.iter().map(|key| KeyWrite {
                    key: *key,
                    base_version: 1,
                    version: 0,
                }));
                let reads = reads.iter();
                writes.extend(reads.map(|(key, version)| KeyWrite::read(*key, *version)));
            }
        }
    }
}

/// A decision, by the action's index in the request.
pub(crate) type Decision = (u16, Result<Decided, Refused>);

/// The outcomes of a unit's actions.
pub(crate) fn outcomes(
    decisions: impl Iterator<Item = Decision>,
    placed: &[Placed],
) -> Vec<ActionOutcome> {
    let mut places = placed.iter();
    decisions
        .map(|(_, decided)| match decided {
            Err(refused) => ActionOutcome::Refused(refused.refusal),
            Ok(decided) => {
                let place = places.next().expect("one place for each done action");
                let (resource, version, integrity) = decided.resource();
                ActionOutcome::Done(Done {
                    sequence: place.sequence,
                    leaf: place.leaf,
                    head: place.head,
                    resource,
                    version,
                    previous_integrity: decided.previous_integrity(),
                    integrity,
                    made: match decided {
                        Decided::Object { next, .. } => Made::Object(next),
                        Decided::Resources { next, .. } => Made::Resources(next),
                    },
                })
            }
        })
        .collect()
}

/// What the parts have decided so far.
#[derive(Default)]
struct Gathered {
    decisions: Vec<Decision>,
    /// A part was lost or ran out of time: the unit cannot be placed.
    failed: Option<SubmitError>,
    /// The oldest snapshot in which a part looked up absent names.
    read_sequence: Option<u64>,
}

/// A submission in flight.
pub(crate) struct Unit {
    /// What was asked.
    pub(crate) submission: Arc<Submission>,
    /// The actions of each shard: index in the list of shards, then indices in the request.
    pub(crate) parts: Vec<(usize, Vec<u16>)>,
    /// Who sends it, once admitted.
    pub(crate) caller: Option<Caller>,
    /// Mints granted by templates with a bounded supply.
    pub(crate) grants: Vec<Grant>,
    /// Supply that is still to be reserved, in the order in which every unit reserves.
    pub(crate) needs: VecDeque<Need>,
    /// Whether it is placed, or never will be.
    pub(crate) fate: Arc<Fate>,
    rounds: AtomicU32,
    gathered: Mutex<Gathered>,
    open_parts: AtomicUsize,
    ending: Arc<Ending>,
}

impl Unit {
    pub(crate) fn new(
        submission: Arc<Submission>,
        parts: Vec<(usize, Vec<u16>)>,
        place: Place,
        reply: oneshot::Sender<Result<Outcome, SubmitError>>,
    ) -> Self {
        Self {
            ending: Arc::new(Ending::new(&submission, place, reply)),
            submission,
            parts,
            caller: None,
            grants: Vec::new(),
            needs: VecDeque::new(),
            fate: Arc::default(),
            rounds: AtomicU32::new(0),
            gathered: Mutex::default(),
            open_parts: AtomicUsize::new(0),
        }
    }

    /// The caller's hold on it: once dropped, a unit that has not begun ends.
    pub(crate) fn waiter(&self) -> Waiter {
        Waiter(Arc::clone(&self.ending))
    }

    /// True if it was answered or given up, so that nothing is left to do for it.
    pub(crate) fn is_ended(&self) -> bool {
        self.ending.is_ended()
    }

    /// From here on `organization` is notified of the unit's end. False if it has ended.
    pub(crate) fn admit(
        &mut self,
        caller: Option<Caller>,
        subject: Option<Id>,
        organization: &ActorRef<OrganizationMessage>,
    ) -> bool {
        self.caller = caller;
        let wallet = caller.map(|caller| caller.wallet_id);
        self.ending.admit(wallet, subject, organization)
    }

    /// Notes supply that `organization` reserves for it. False if it has ended.
    pub(crate) fn grant(
        &mut self,
        grants: &[Grant],
        organization: &ActorRef<OrganizationMessage>,
    ) -> bool {
        self.grants.extend_from_slice(grants);
        self.ending.grant(grants, organization)
    }

    /// Notes that it waits at `organization`. False if it has ended.
    pub(crate) fn wait_at(&self, organization: &ActorRef<OrganizationMessage>) -> bool {
        self.ending.wait_at(organization)
    }

    /// Begins to decide a part of it, if it is in time and a caller waits for it.
    pub(crate) fn begin(&self, now: Instant) -> bool {
        now < self.submission.expires_at && self.ending.begin()
    }

    /// What was decided was dropped. False if no caller waits for another round.
    pub(crate) fn wait_again(&self) -> bool {
        self.ending.wait_again()
    }

    /// True for a unit that changes what others look up without listing it as a read: it is decided with no earlier
    /// unit in flight, and nothing is given out before it is committed.
    pub(crate) fn is_exclusive(&self) -> bool {
        let mut actions = self.submission.actions.iter();
        actions.any(|action| matches!(action.kind, Kind::TemplateUpdate | Kind::SystemSequencerKey))
    }

    /// Sends a message to the organizations' actors that admitted it.
    pub(crate) fn notify_organizations(&self, message: impl Fn() -> OrganizationMessage) {
        self.ending.notify_organizations(message);
    }

    /// True when the unit is for the shards; otherwise an organization's actor decides it.
    pub(crate) fn is_on_objects(&self) -> bool {
        !self.parts.is_empty()
    }

    /// How often it has been given out to be decided.
    pub(crate) fn rounds(&self) -> u32 {
        self.rounds.load(Ordering::Relaxed)
    }

    /// Starts a round of deciding. No part of an earlier round is open.
    pub(crate) fn open(&self) {
        self.rounds.fetch_add(1, Ordering::Relaxed);
        *locked(&self.gathered) = Gathered::default();
        self.open_parts
            .store(self.parts.len().max(1), Ordering::Release);
    }

    /// Called after all parts: the decisions in request order and the sequence of the oldest snapshot that was read, or
    /// why there are none.
    pub(crate) fn take_decisions(&self) -> Result<(Vec<Decision>, u64), SubmitError> {
        let gathered = std::mem::take(&mut *locked(&self.gathered));
        if let Some(error) = gathered.failed {
            return Err(error);
        }
        let mut decisions = gathered.decisions;
        decisions.sort_unstable_by_key(|(index, _)| *index);
        if decisions.len() != self.submission.actions.len() {
            return Err(SubmitError::Unavailable);
        }
        Ok((decisions, gathered.read_sequence.unwrap_or(u64::MAX)))
    }

    /// Answers, and settles the nonce: it is spent exactly if something was placed.
    pub(crate) fn complete(&self, result: Result<Outcome, SubmitError>) {
        let minted = match &result {
            Ok(outcome) if outcome.placement.is_some() => Some(self.minted(outcome)),
            _ => None,
        };
        self.ending.end(result, minted);
    }

    /// How many objects of each granted template were made.
    fn minted(&self, outcome: &Outcome) -> Vec<Grant> {
        let made = |template| {
            let of_template = |action: &&ActionOutcome| match action {
                ActionOutcome::Done(Done {
                    made: Made::Object(object),
                    version: 1,
                    ..
                }) => object.template_id == template,
                _ => false,
            };
            outcome.actions.iter().filter(of_template).count() as u64
        };
        let count = |grant: &Grant| Grant {
            template: grant.template,
            count: made(grant.template),
        };
        self.grants.iter().map(count).collect()
    }
}

/// Ignores poisoning: no code panics while the state under one of these locks is inconsistent.
fn locked<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Drop for Unit {
    fn drop(&mut self) {
        // Placed but not answered: it was on its way to the disk when the engine failed or ended.
        self.complete(Err(if self.fate.abandon() {
            SubmitError::Unavailable
        } else {
            SubmitError::Unknown
        }));
    }
}

/// One part's share of a unit. If it is dropped without a report it counts as failed, so that the sequencer, which
/// takes units strictly by ticket, never waits for a lost one.
pub(crate) struct Part {
    ticket: u64,
    unit: Option<Arc<Unit>>,
    sequencer: ActorRef<SequencerMessage>,
}

impl Part {
    pub(crate) fn new(ticket: u64, unit: Arc<Unit>, sequencer: ActorRef<SequencerMessage>) -> Self {
        Self {
            ticket,
            unit: Some(unit),
            sequencer,
        }
    }

    pub(crate) fn ticket(&self) -> u64 {
        self.ticket
    }

    pub(crate) fn unit(&self) -> &Unit {
        self.unit.as_ref().expect("present until the part reports")
    }

    /// Reports the part's decisions and the sequence of the snapshot that they were read from.
    pub(crate) fn report(mut self, decisions: Vec<Decision>, read_sequence: u64) {
        self.finish(|gathered| {
            gathered.decisions.extend(decisions);
            let oldest = gathered.read_sequence.unwrap_or(u64::MAX);
            gathered.read_sequence = Some(oldest.min(read_sequence));
        });
    }

    /// Reports that the part will not be decided.
    pub(crate) fn fail(mut self, error: SubmitError) {
        self.finish(|gathered| gathered.failed = Some(error));
    }

    fn finish(&mut self, add: impl FnOnce(&mut Gathered)) {
        let Some(unit) = self.unit.take() else { return };
        add(&mut locked(&unit.gathered));
        if unit.open_parts.fetch_sub(1, Ordering::AcqRel) == 1 {
            let message = SequencerMessage::Propose {
                ticket: self.ticket,
                unit,
            };
            // Without a sequencer the process is ending.
            let _ = self.sequencer.send_message(message);
        }
    }
}

impl Drop for Part {
    fn drop(&mut self) {
        self.finish(|gathered| gathered.failed = Some(SubmitError::Unavailable));
    }
}
