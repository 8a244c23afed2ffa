//! A submission on its way through the engine. Shards and organization actors decide it in parts; the parts are
//! gathered and passed to the sequencer once. It has a deadline, after which it does not begin. Whatever happens, it is
//! answered once.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};
use std::time::Instant;

use crate::timing::RequestStage;
use kedge_protocol::Id;
use kedge_protocol::registry::ActionIsolation;
use kedge_rules::{ActionInput, Caller};
use parking_lot::Mutex;
use ractor::ActorRef;
use tokio::sync::oneshot;

use super::admission_pool::{AdmissionHolder, AdmissionPermit};
use super::completion::{Completion, CompletionWaiter};
use super::decision::ActionDecision;
use super::decision_memory::MemoryReservation;
use super::messages::{OrganizationMessage, SequencerMessage};
use super::placement_state::PlacementState;
use super::shard_split::ShardSplit;
use crate::api::{
    ActionOutcome, CommittedAction, CommittedState, Submission, SubmissionError, SubmissionOutcome,
    SubmittedAction,
};

/// Mints of a bounded template that a proposal may make.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct MintGrant {
    pub(crate) template: Id,
    /// Reserved mints.
    pub(crate) count: u64,
}

/// Supply of a bounded template that a proposal needs.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct MintNeed {
    /// The template's owner.
    pub(crate) organization: Id,
    pub(crate) template: Id,
    /// Mints that the proposal makes.
    pub(crate) count: u64,
}

/// Decisions of the parts so far.
#[derive(Default)]
struct ProposalDecisions {
    decisions: Vec<ActionDecision>,
    /// Set if a part was lost or ran out of time: the proposal cannot be placed.
    failed: Option<SubmissionError>,
    /// Sequence of the oldest snapshot in which a part looked up absent names.
    read_sequence: Option<u64>,
}

/// A submission in flight.
pub(crate) struct Proposal {
    /// The request.
    pub(crate) submission: Arc<Submission>,
    /// The shards that decide it.
    pub(crate) parts: ShardSplit,
    /// The sender, once admitted.
    pub(crate) caller: Option<Caller>,
    /// Mints granted by templates with a bounded supply.
    pub(crate) grants: Vec<MintGrant>,
    /// Supply still to be reserved, in the order of reservation.
    pub(crate) needs: VecDeque<MintNeed>,
    /// Whether it is placed or given up.
    pub(crate) fate: Arc<PlacementState>,
    /// The memory reservation of its decisions.
    pub(crate) decided: Arc<MemoryReservation<AdmissionHolder>>,
    rounds: AtomicU32,
    gathered: Mutex<ProposalDecisions>,
    open_parts: AtomicUsize,
    ending: Arc<Completion>,
}

impl Proposal {
    pub(crate) fn new(
        submission: Arc<Submission>,
        parts: ShardSplit,
        place: AdmissionPermit,
        reply: oneshot::Sender<Result<SubmissionOutcome, SubmissionError>>,
    ) -> Self {
        Self {
            decided: place.decided(),
            ending: Arc::new(Completion::new(&submission, place, reply)),
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

    /// The caller's handle: dropping it ends a proposal that has not begun.
    pub(crate) fn waiter(&self) -> CompletionWaiter {
        CompletionWaiter(Arc::clone(&self.ending))
    }

    /// True if it was answered or given up, so that no work is left.
    pub(crate) fn is_ended(&self) -> bool {
        self.ending.is_ended()
    }

    /// Notes that `organization` is notified of the proposal's end. False if it has ended.
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
        grants: &[MintGrant],
        organization: &ActorRef<OrganizationMessage>,
    ) -> bool {
        self.grants.extend_from_slice(grants);
        self.ending.grant(grants, organization)
    }

    /// Notes that it waits at `organization`. False if it has ended.
    pub(crate) fn wait_at(&self, organization: &ActorRef<OrganizationMessage>) -> bool {
        self.ending.wait_at(organization)
    }

    /// Begins to decide a part, if the deadline has not passed and a caller waits.
    pub(crate) fn begin(&self, now: Instant) -> bool {
        let begun = now < self.submission.expires_at && self.ending.begin();
        if begun {
            self.note(RequestStage::Begun, || now);
        }
        begun
    }

    /// Notes the time of a step, if the proposal is sampled; otherwise does not read the clock.
    pub(crate) fn note(&self, step: RequestStage, now: impl FnOnce() -> Instant) {
        if let Some(timing) = &self.submission.timing {
            timing.note(step, now());
        }
    }

    /// Returns the proposal to waiting after its decisions were dropped. False if no caller waits for another round.
    pub(crate) fn wait_again(&self) -> bool {
        self.ending.wait_again()
    }

    /// True for a proposal that changes other actors' look-ups without a listed read: it is decided with no earlier
    /// proposal in flight, and no proposal is dispatched before it is committed.
    pub(crate) fn is_exclusive(&self) -> bool {
        let mut actions = self.submission.actions.iter();
        actions.any(|action| action.kind.spec().isolation == ActionIsolation::Exclusive)
    }

    /// Sends a message to the organization actors that admitted it.
    pub(crate) fn notify_organizations(&self, message: impl Fn() -> OrganizationMessage) {
        self.ending.notify_organizations(message);
    }

    /// The rules' input for one of its actions.
    pub(crate) fn input<'a>(&'a self, action: &'a SubmittedAction) -> ActionInput<'a> {
        let payload = action.disclosed.as_ref().unwrap_or(&action.payload);
        ActionInput {
            kind: &action.kind,
            target: self.submission.text(&action.target),
            payload: self.submission.text(payload),
            signed: self.submission.text(&action.payload),
            content: &action.content,
            link: None,
            allowance: None,
        }
    }

    /// True if shards decide the proposal; otherwise an organization's actor does.
    pub(crate) fn is_on_objects(&self) -> bool {
        !self.parts.of_shards.is_empty()
    }

    /// Number of rounds so far.
    pub(crate) fn rounds(&self) -> u32 {
        self.rounds.load(Ordering::Relaxed)
    }

    /// Starts a round of deciding. No part of an earlier round is open.
    pub(crate) fn open(&self) {
        self.rounds.fetch_add(1, Ordering::Relaxed);
        self.decided.clear();
        *self.gathered.lock() = ProposalDecisions::default();
        self.open_parts
            .store(self.parts.of_shards.len().max(1), Ordering::Release);
    }

    /// Called after all parts: the decisions in request order and the sequence of the oldest snapshot that was read, or
    /// the error.
    pub(crate) fn take_decisions(&self) -> Result<(Vec<ActionDecision>, u64), SubmissionError> {
        let gathered = std::mem::take(&mut *self.gathered.lock());
        if let Some(error) = gathered.failed {
            return Err(error);
        }
        let mut decisions = gathered.decisions;
        // Each part's are in order: a stable sort only has to merge them.
        decisions.sort_by_key(|(index, _)| *index);
        if decisions.len() != self.submission.actions.len() {
            return Err(SubmissionError::Unavailable);
        }
        Ok((decisions, gathered.read_sequence.unwrap_or(u64::MAX)))
    }

    /// Answers, and settles the nonce, which is spent exactly if something was placed.
    pub(crate) fn complete(&self, result: Result<SubmissionOutcome, SubmissionError>) {
        let minted = match &result {
            Ok(outcome) if outcome.placement.is_some() => Some(self.minted(outcome)),
            _ => None,
        };
        self.ending.end(result, minted);
    }

    /// Objects minted from each granted template.
    fn minted(&self, outcome: &SubmissionOutcome) -> Vec<MintGrant> {
        let made = |template| {
            let of_template = |action: &&ActionOutcome| match action {
                ActionOutcome::Done(CommittedAction {
                    made: CommittedState::Object(object),
                    version: 1,
                    ..
                }) => object.template_id == template,
                _ => false,
            };
            outcome.actions.iter().filter(of_template).count() as u64
        };
        let count = |grant: &MintGrant| MintGrant {
            template: grant.template,
            count: made(grant.template),
        };
        self.grants.iter().map(count).collect()
    }
}

impl Drop for Proposal {
    fn drop(&mut self) {
        // A placed proposal without an answer was on its way to the disk when the engine failed or ended.
        self.complete(Err(if self.fate.abandon() {
            SubmissionError::Unavailable
        } else {
            SubmissionError::Unknown
        }));
    }
}

/// One shard's or actor's part of a proposal. Dropped without a report it counts as failed, because the sequencer takes
/// proposals strictly by ticket and would wait for a lost one.
pub(crate) struct ProposalPart {
    ticket: u64,
    unit: Option<Arc<Proposal>>,
    sequencer: ActorRef<SequencerMessage>,
}

impl ProposalPart {
    pub(crate) fn new(
        ticket: u64,
        unit: Arc<Proposal>,
        sequencer: ActorRef<SequencerMessage>,
    ) -> Self {
        Self {
            ticket,
            unit: Some(unit),
            sequencer,
        }
    }

    pub(crate) fn ticket(&self) -> u64 {
        self.ticket
    }

    pub(crate) fn unit(&self) -> &Proposal {
        self.unit.as_ref().expect("present until the part reports")
    }

    /// Reports the part's decisions and the sequence of the snapshot that they used.
    pub(crate) fn report(mut self, decisions: Vec<ActionDecision>, read_sequence: u64) {
        let all = self.unit().submission.actions.len();
        self.finish(|gathered| {
            let decided = &mut gathered.decisions;
            decided.reserve_exact(all.saturating_sub(decided.len()));
            decided.extend(decisions);
            let oldest = gathered.read_sequence.unwrap_or(u64::MAX);
            gathered.read_sequence = Some(oldest.min(read_sequence));
        });
    }

    /// Reports that the part will not be decided.
    pub(crate) fn fail(mut self, error: SubmissionError) {
        self.finish(|gathered| gathered.failed = Some(error));
    }

    fn finish(&mut self, add: impl FnOnce(&mut ProposalDecisions)) {
        let Some(unit) = self.unit.take() else { return };
        add(&mut unit.gathered.lock());
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

impl Drop for ProposalPart {
    fn drop(&mut self) {
        self.finish(|gathered| gathered.failed = Some(SubmissionError::Unavailable));
    }
}
