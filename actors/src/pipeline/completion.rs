//! Completion of a proposal, exactly once. Its obligations (answer, nonce, rights, supply, permit, the lock of its
//! idempotency key) are kept in one place, shared by the proposal and its caller.
//!
//! A proposal waits for a change of rights, for supply that others reserved, for a request that is decided alone, or
//! for its shard. It can wait forever in none of these places. A proposal that has not begun ends with its caller, at
//! its deadline or when the caller goes away: its reservations and permits are free at that moment, and the queue later
//! finds an empty shell. A proposal that has begun ends with its outcome; `placement_state.rs` determines its caller's
//! answer.

use std::sync::Arc;

use kedge_protocol::{Address, Id};
use parking_lot::{Mutex, MutexGuard};
use ractor::ActorRef;
use tokio::sync::oneshot;

use super::admission_pool::AdmissionPermit;
use super::messages::{OrganizationMessage, ProposalSettlement};
use super::proposal::MintGrant;
use crate::api::{IdempotencyClaim, Submission, SubmissionError, SubmissionOutcome};

/// Progress of a proposal.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum CompletionStage {
    /// Waiting: nothing is decided.
    Waiting,
    /// Decided, or being decided. It may be in the log soon.
    Begun,
    /// Answered or given up.
    Ended,
}

/// Obligations at a proposal's end: the answer, the nonce's settlement, supply, permits.
struct CompletionState {
    stage: CompletionStage,
    abandoned: bool,
    reply: Option<oneshot::Sender<Result<SubmissionOutcome, SubmissionError>>>,
    settle: Vec<ActorRef<OrganizationMessage>>,
    signer: Address,
    nonce: u64,
    wallet: Option<Id>,
    subject: Option<Id>,
    grants: Vec<MintGrant>,
    /// The organization's actor that holds the waiting proposal.
    waits_at: Option<ActorRef<OrganizationMessage>>,
    keep: Option<Arc<IdempotencyClaim>>,
    place: Option<AdmissionPermit>,
}

/// Completion of a proposal, shared by the proposal and its caller.
pub(crate) struct Completion(Mutex<CompletionState>);

impl Completion {
    pub(crate) fn new(
        submission: &Submission,
        place: AdmissionPermit,
        reply: oneshot::Sender<Result<SubmissionOutcome, SubmissionError>>,
    ) -> Self {
        Self(Mutex::new(CompletionState {
            stage: CompletionStage::Waiting,
            abandoned: false,
            reply: Some(reply),
            settle: Vec::new(),
            signer: submission.head.signer,
            nonce: submission.head.nonce,
            wallet: None,
            subject: None,
            grants: Vec::new(),
            waits_at: None,
            keep: submission.keep.clone(),
            place: Some(place),
        }))
    }

    fn owed(&self) -> MutexGuard<'_, CompletionState> {
        self.0.lock()
    }

    /// The obligations; `None` once the proposal has ended.
    fn open(&self) -> Option<MutexGuard<'_, CompletionState>> {
        Some(self.owed()).filter(|owed| owed.stage != CompletionStage::Ended)
    }

    /// True once the proposal has ended.
    pub(crate) fn is_ended(&self) -> bool {
        self.open().is_none()
    }

    /// Notes the sender, and that `organization` is notified of the end. False if the proposal has ended.
    pub(crate) fn admit(
        &self,
        wallet: Option<Id>,
        subject: Option<Id>,
        organization: &ActorRef<OrganizationMessage>,
    ) -> bool {
        let Some(mut owed) = self.open() else {
            return false;
        };
        (owed.wallet, owed.subject) = (wallet, subject);
        owed.settle_with(organization);
        true
    }

    /// Notes supply that `organization` reserves. False if the proposal has ended: then nothing may be reserved.
    pub(crate) fn grant(
        &self,
        grants: &[MintGrant],
        organization: &ActorRef<OrganizationMessage>,
    ) -> bool {
        let Some(mut owed) = self.open() else {
            return false;
        };
        owed.grants.extend_from_slice(grants);
        owed.settle_with(organization);
        true
    }

    /// Notes that the proposal waits at `organization`. False if it has ended.
    pub(crate) fn wait_at(&self, organization: &ActorRef<OrganizationMessage>) -> bool {
        let Some(mut owed) = self.open() else {
            return false;
        };
        owed.waits_at = Some(organization.clone());
        true
    }

    /// Notes that deciding begins. False if the proposal has ended.
    pub(crate) fn begin(&self) -> bool {
        let open = self.open();
        open.is_some_and(|mut owed| {
            owed.stage = CompletionStage::Begun;
            true
        })
    }

    /// Returns the proposal to waiting after its decisions were dropped. False if no caller waits for it.
    pub(crate) fn wait_again(&self) -> bool {
        let open = self.open();
        open.is_some_and(|mut owed| {
            owed.stage = CompletionStage::Waiting;
            !owed.abandoned
        })
    }

    /// Sends a message to the organizations' actors that settle it.
    pub(crate) fn notify_organizations(&self, message: impl Fn() -> OrganizationMessage) {
        for organization in &self.owed().settle {
            let _ = organization.send_message(message());
        }
    }

    /// Answers and settles; `minted` is given if something was placed.
    pub(crate) fn end(
        &self,
        result: Result<SubmissionOutcome, SubmissionError>,
        minted: Option<Vec<MintGrant>>,
    ) {
        let Some(mut owed) = self.open() else { return };
        if let Some(reply) = owed.close(minted) {
            // The caller may be gone. Done actions stay done.
            let _ = reply.send(result);
        }
    }

    /// Ends the caller's wait. True if nothing was begun: then nothing ever will be.
    pub(crate) fn give_up(&self) -> bool {
        let Some(mut owed) = self.open() else {
            return false;
        };
        owed.abandoned = true;
        if owed.stage == CompletionStage::Begun {
            return false;
        }
        let waits_at = owed.waits_at.take();
        owed.close(None);
        drop(owed);
        if let Some(organization) = waits_at {
            let _ = organization.send_message(OrganizationMessage::Sweep);
        }
        true
    }
}

impl CompletionState {
    fn settle_with(&mut self, organization: &ActorRef<OrganizationMessage>) {
        let known = |settles: &ActorRef<_>| settles.get_id() == organization.get_id();
        if !self.settle.iter().any(known) {
            self.settle.push(organization.clone());
        }
    }

    /// Returns everything that the proposal holds. Only the answer remains.
    fn close(
        &mut self,
        minted: Option<Vec<MintGrant>>,
    ) -> Option<oneshot::Sender<Result<SubmissionOutcome, SubmissionError>>> {
        self.stage = CompletionStage::Ended;
        let spent = minted.is_some();
        let minted = minted.unwrap_or_default();
        for organization in self.settle.drain(..) {
            let settlement = ProposalSettlement {
                signer: self.signer,
                nonce: self.nonce,
                wallet: self.wallet,
                subject: self.subject,
                spent,
                grants: self.grants.clone(),
                minted: minted.clone(),
            };
            // An organization's actor ends only with the engine.
            let _ = organization.send_message(OrganizationMessage::Settle(settlement));
        }
        if let Some(keep) = self.keep.take() {
            keep.release();
        }
        drop(self.place.take());
        self.reply.take()
    }
}

/// A caller's wait for a proposal; dropping it gives the proposal up.
pub(crate) struct CompletionWaiter(pub(crate) Arc<Completion>);

impl Drop for CompletionWaiter {
    fn drop(&mut self) {
        self.0.give_up();
    }
}
