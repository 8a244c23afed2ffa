//! The organization actor: admits its wallets' requests and decides the actions on everything but objects. One more of
//! these actors, without an organization, is the registration desk for new wallets.
//!
//! Admission takes one message a request. The actor owns its wallets' nonce windows, with the nonces in flight, and the
//! supply of its bounded templates. It refuses a signer that is no key of the wallet, a nonce that is spent or in
//! flight, and a request that failed as a whole before. A retry with a spent nonce gets the earlier outcome: `done`
//! with the sequence, or `refused`.

use std::collections::HashMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use kedge_protocol::limits::NONCE_WINDOW;
use kedge_protocol::nonce::{NonceError, NonceWindow};
use kedge_protocol::resource::Wallet;
use kedge_protocol::{Address, Id};
use kedge_rules::{Caller, Refusal, resources};
use kedge_runtime::env::Env;
use kedge_runtime::executor::StepScheduler;
use ractor::{Actor, ActorProcessingErr, ActorRef};

use super::messages::{DirectoryMessage, OrganizationMessage, ProposalSettlement};
use super::proposal::{Proposal, ProposalPart};
use super::published_state::{StateReader, gone};
use super::resources::{CACHE_MAX, ResourceOverlays};
use super::rights::RightsBarrier;
use super::supply::{self, SupplyLedger};
use crate::api::{NonceOutcome, Principal, Submission, SubmissionError};
use crate::metric_definitions as metric;

/// Dependencies of an organization's actor.
#[derive(Clone)]
pub(crate) struct OrganizationOptions {
    pub(crate) env: Arc<dyn Env>,
    /// `None` for the registration desk.
    pub(crate) id: Option<Id>,
    pub(crate) reader: StateReader,
    pub(crate) committed_ticket: Arc<AtomicU64>,
    pub(crate) directory: ActorRef<DirectoryMessage>,
    pub(crate) turns: StepScheduler,
}

pub(crate) struct OrganizationActor;

/// Spent nonces of a signer, and the ones in flight.
struct SignerNonces {
    window: NonceWindow,
    pending: Vec<u64>,
}

pub(crate) struct OrganizationState {
    options: OrganizationOptions,
    wallets: HashMap<Id, Arc<Wallet>>,
    signers: HashMap<Address, SignerNonces>,
    resources: ResourceOverlays,
    supplies: SupplyLedger,
    rights: RightsBarrier,
}

impl Actor for OrganizationActor {
    type Msg = OrganizationMessage;
    type State = OrganizationState;
    type Arguments = OrganizationOptions;

    async fn pre_start(
        &self,
        _: ActorRef<OrganizationMessage>,
        options: OrganizationOptions,
    ) -> Result<OrganizationState, ActorProcessingErr> {
        Ok(OrganizationState {
            options,
            wallets: HashMap::new(),
            signers: HashMap::new(),
            resources: ResourceOverlays::default(),
            supplies: SupplyLedger::default(),
            rights: RightsBarrier::default(),
        })
    }

    async fn handle(
        &self,
        myself: ActorRef<OrganizationMessage>,
        message: OrganizationMessage,
        state: &mut OrganizationState,
    ) -> Result<(), ActorProcessingErr> {
        state.options.turns.before("organization").await;
        match message {
            OrganizationMessage::Admit(unit) => state.admit(unit, &myself),
            OrganizationMessage::Reserve(unit) => state.reserve_and_pass_on(unit, &myself),
            OrganizationMessage::Decide(part) => state.decide(part),
            OrganizationMessage::Drop { ticket } => {
                state.resources.drop_unit(ticket);
            }
            OrganizationMessage::Settle(settlement) => state.settle(&settlement, &myself),
            OrganizationMessage::Sweep => state.sweep(&myself),
            OrganizationMessage::Retire => {
                let id = state.options.id;
                let idle = state.is_idle();
                let answer = DirectoryMessage::Retired { id, idle };
                let _ = state.options.directory.send_message(answer);
                if idle {
                    myself.stop(None);
                }
            }
        }
        Ok(())
    }
}

impl OrganizationState {
    fn admit(&mut self, mut unit: Box<Proposal>, myself: &ActorRef<OrganizationMessage>) {
        if unit.is_ended() {
            return;
        }
        let caller = match self.caller(&unit.submission) {
            Ok(caller) => caller,
            Err(error) => return unit.complete(Err(error)),
        };
        let subject = caller.and_then(|caller| subject(&unit.submission, &caller));
        if let Some(caller) = &caller
            && self.rights.must_wait(caller.wallet_id, subject)
        {
            if unit.wait_at(myself) {
                self.rights.hold(unit, subject);
            }
            return;
        }
        if let Err(error) = self.check(&unit.submission) {
            return unit.complete(Err(error));
        }
        match supply::needs(&unit, &self.options.reader) {
            Ok(needs) => unit.needs = needs,
            Err(error) => return unit.complete(Err(error)),
        }
        if !unit.admit(caller, subject, myself) {
            return;
        }
        let head = &unit.submission.head;
        if let Some(signer) = self.signers.get_mut(&head.signer) {
            signer.pending.push(head.nonce);
        }
        if let Some(caller) = &caller {
            self.rights.begin(caller.wallet_id, subject);
        }
        self.reserve_and_pass_on(unit, myself);
    }

    /// The sender with its present rights; `None` for a registration.
    fn caller(&mut self, submission: &Submission) -> Result<Option<Caller>, SubmissionError> {
        let signer = submission.head.signer;
        let wallet_id = match submission.asker {
            Principal::Registration => return Ok(None),
            Principal::Operator { organization_id } => {
                return Ok(Some(Caller::operator(organization_id, signer)));
            }
            Principal::Wallet { wallet_id, .. } => wallet_id,
            Principal::Organization { .. } => {
                let published = self.options.reader.published();
                let wallet = published.snapshot.wallet_by_address(signer);
                let wallet = wallet.map_err(gone)?;
                wallet.ok_or(SubmissionError::SignerNotOfOrganization)?.id
            }
        };
        let wallet = match (self.wallet(wallet_id), &submission.asker) {
            (Err(SubmissionError::NoSuchWallet), Principal::Organization { .. }) => {
                return Err(SubmissionError::SignerNotOfOrganization);
            }
            (wallet, _) => wallet?,
        };
        if !wallet.keys.contains(&signer) {
            return Err(SubmissionError::SignerNotOfWallet);
        }
        Ok(Some(Caller {
            wallet_id,
            organization_id: wallet.organization_id,
            role: wallet.role,
            address: wallet.address,
        }))
    }

    /// Checks a request's deadline and nonce.
    fn check(&mut self, submission: &Submission) -> Result<(), SubmissionError> {
        let published = self.options.reader.published();
        // Judged by the log's time, because records of refused requests expire by it: afterwards they may be gone, and
        // a refused request must not be decided, and its failure reported, a second time.
        if submission.head.deadline_s < published.head.last_sealed_at_ms / 1_000 {
            return Err(SubmissionError::DeadlineExpired);
        }
        let refused = published.snapshot.refused(submission.digest);
        if refused.map_err(gone)?.is_some() {
            return Err(SubmissionError::Replayed);
        }
        self.check_nonce(submission.head.signer, submission.head.nonce)
    }

    fn wallet(&mut self, id: Id) -> Result<Arc<Wallet>, SubmissionError> {
        if let Some(wallet) = self.wallets.get(&id) {
            return Ok(Arc::clone(wallet));
        }
        let wallet = self.options.reader.published().snapshot.wallet(id);
        let wallet = wallet.map_err(gone)?;
        let wallet = Arc::new(wallet.ok_or(SubmissionError::NoSuchWallet)?);
        if Some(wallet.organization_id) != self.options.id {
            return Err(SubmissionError::NoSuchWallet);
        }
        if self.wallets.len() >= CACHE_MAX {
            self.wallets.clear();
        }
        self.wallets.insert(id, Arc::clone(&wallet));
        Ok(wallet)
    }

    fn check_nonce(&mut self, address: Address, nonce: u64) -> Result<(), SubmissionError> {
        if !self.signers.contains_key(&address) {
            let window = self.options.reader.published().snapshot.nonces(address);
            let window = window.map_err(gone)?;
            if self.signers.len() >= CACHE_MAX {
                self.signers.retain(|_, signer| !signer.pending.is_empty());
            }
            let pending = Vec::new();
            self.signers
                .insert(address, SignerNonces { window, pending });
        }
        let signer = self
            .signers
            .get(&address)
            .ok_or(SubmissionError::Unavailable)?;
        let highest = signer.window.highest();
        let refuse = |error, past| SubmissionError::Nonce {
            error,
            highest,
            past,
        };
        if let Err(error) = signer.window.check(nonce) {
            return Err(refuse(error, self.past(address, error)?));
        }
        if signer.pending.contains(&nonce) {
            // The other request is still in flight.
            return Err(refuse(NonceError::Used { nonce, highest }, None));
        }
        // Whichever of two requests is placed first, the other must stay inside the window.
        let far = |pending: &u64| pending.abs_diff(nonce) > NONCE_WINDOW;
        if signer.pending.iter().any(far) {
            return Err(SubmissionError::Overloaded);
        }
        Ok(())
    }

    /// The outcome of the request that used a nonce.
    fn past(
        &self,
        signer: Address,
        error: NonceError,
    ) -> Result<Option<NonceOutcome>, SubmissionError> {
        Ok(match error {
            NonceError::Used { nonce, .. } => {
                let published = self.options.reader.published();
                let sequence = match self.options.id {
                    // The nonce was checked to be the signer's.
                    Some(_) => published.snapshot.spent_at(signer, nonce),
                    None => Ok(None),
                };
                let sequence = sequence.map_err(gone)?;
                Some(NonceOutcome::Done { sequence })
            }
            NonceError::TooOld { .. } => None,
            NonceError::TooFar { .. } => Some(NonceOutcome::Refused),
        })
    }

    /// Passes a proposal on: to the organization whose supply it needs next, or to be decided. If that organization is
    /// this one, reserves first.
    fn reserve_and_pass_on(&mut self, unit: Box<Proposal>, myself: &ActorRef<OrganizationMessage>) {
        let next = |unit: &Proposal| unit.needs.front().map(|need| need.organization);
        let own = self.options.id;
        let unit = if own.is_some() && next(&unit) == own {
            match self.supplies.reserve(unit, &self.options.reader, myself) {
                Some(unit) => unit,
                None => return,
            }
        } else {
            unit
        };
        let message = match next(&unit) {
            Some(organization) => DirectoryMessage::Reserve { organization, unit },
            None if unit.is_exclusive() => DirectoryMessage::DispatchAlone(Arc::from(unit)),
            None => DirectoryMessage::Dispatch(Arc::from(unit)),
        };
        let _ = self.options.directory.send_message(message);
    }

    fn decide(&mut self, part: ProposalPart) {
        let unit = part.unit();
        if !unit.begin(self.options.env.now()) {
            return part.fail(SubmissionError::Waited);
        }
        let read_sequence = self.options.reader.published().head.sequence;
        metrics::counter!(metric::DECISIONS, "actor" => "organization", "basis" => "any")
            .increment(1);
        let committed = self.options.committed_ticket.load(Ordering::Acquire);
        let (ticket, reader) = (part.ticket(), &self.options.reader);
        let decide = || self.resources.decide(unit, ticket, committed, reader);
        let decided = catch_unwind(AssertUnwindSafe(decide)).unwrap_or_else(|_| {
            tracing::error!("an organization's decision panicked");
            Err(Refusal::Unavailable.into())
        });
        part.report(vec![(0, decided)], read_sequence);
    }

    fn settle(&mut self, settlement: &ProposalSettlement, myself: &ActorRef<OrganizationMessage>) {
        if let Some(signer) = self.signers.get_mut(&settlement.signer) {
            signer.pending.retain(|nonce| *nonce != settlement.nonce);
            if settlement.spent && signer.window.spend(settlement.nonce).is_err() {
                tracing::error!(signer = %settlement.signer, "a nonce was settled twice");
            }
        }
        for unit in self.supplies.settle(settlement) {
            self.reserve_and_pass_on(unit, myself);
        }
        if let Some(wallet) = settlement.wallet {
            if let Some(subject) = settlement.subject {
                self.wallets.remove(&subject);
                self.resources.forget(subject);
            }
            for unit in self.rights.end(wallet, settlement.subject) {
                self.admit(unit, myself);
            }
        }
        // At the desk every signer is new; its wallet's organization continues with its nonces.
        if self.options.id.is_none() {
            let done = |signer: &SignerNonces| signer.pending.is_empty();
            if self.signers.get(&settlement.signer).is_some_and(done) {
                self.signers.remove(&settlement.signer);
            }
        }
    }

    /// Drops the waiting requests that have ended, and releases the ones that waited for them.
    fn sweep(&mut self, myself: &ActorRef<OrganizationMessage>) {
        self.supplies.sweep();
        for unit in self.rights.retry() {
            self.admit(unit, myself);
        }
    }

    fn is_idle(&mut self) -> bool {
        let committed = self.options.committed_ticket.load(Ordering::Acquire);
        let no_nonce = self
            .signers
            .values()
            .all(|signer| signer.pending.is_empty());
        no_nonce
            && self.rights.is_idle()
            && self.supplies.is_idle()
            && self.resources.is_settled(committed)
    }
}

/// The wallet whose rights a submission changes.
fn subject(submission: &Submission, caller: &Caller) -> Option<Id> {
    let action = submission.actions.first()?;
    resources::rights_subject(&action.kind, caller, submission.text(&action.payload))
}
