//! The organization actor: admits its wallets' requests (membership, keys, nonces, supply) and
//! decides what concerns its templates. One more of them, without an organization, is the desk at
//! which new wallets register.

use std::collections::{HashMap, VecDeque};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use kedge_machine::image::Image;
use kedge_machine::sequencer::Key;
use kedge_machine::{Caller, Refusal, World, registration, template};
use kedge_protocol::action::Kind;
use kedge_protocol::limits::NONCE_WINDOW;
use kedge_protocol::nonce::{NonceError, NonceWindow};
use kedge_protocol::resource::Wallet;
use kedge_protocol::{Address, Id, Prefix};
use ractor::{Actor, ActorProcessingErr, ActorRef};

use crate::api::{Asker, SubmitError};
use crate::directory::DirectoryMessage;
use crate::metric_definitions as metric;
use crate::overlay::{Overlay, Versioned};
use crate::shard::input;
use crate::unit::{Base, Decided, Grant, Part, Settlement, Unit};
use crate::world::{Reader, unavailable};

/// Entries that an actor's caches may hold before settled ones are let go.
const CACHE_MAX: usize = 10_000;

/// What an organization's actor is told.
pub(crate) enum OrganizationMessage {
    /// Admit a request of one of its wallets.
    Admit(Box<Unit>),
    /// Reserve supply of its templates for another organization's request.
    Reserve(Box<Unit>),
    /// Decide an action on its templates, or a registration.
    Decide(Part),
    /// A unit was refused after it was decided.
    Drop { ticket: u64 },
    /// A request of one of its wallets, or one that reserved supply, has ended.
    Settle(Settlement),
    /// End if nothing is under way, and say which.
    Retire,
}

/// What an organization's actor is made of.
#[derive(Clone)]
pub(crate) struct OrganizationOptions {
    /// `None` for the registration desk.
    pub(crate) id: Option<Id>,
    pub(crate) reader: Reader,
    pub(crate) committed_ticket: Arc<AtomicU64>,
    pub(crate) directory: ActorRef<DirectoryMessage>,
}

pub(crate) struct Organization;

/// A signer's spent nonces, and those of requests under way.
struct Signer {
    window: NonceWindow,
    pending: Vec<u64>,
}

/// A bounded template's supply.
struct Supply {
    max: u64,
    minted: u64,
    reserved: u64,
}

pub(crate) struct OrganizationState {
    options: OrganizationOptions,
    wallets: HashMap<Id, Arc<Wallet>>,
    signers: HashMap<Address, Signer>,
    templates: HashMap<Id, Overlay<Vec<Image>>>,
    supplies: HashMap<Id, Supply>,
    /// Requests that wait for reserved supply to be used or given back.
    waiting: VecDeque<Box<Unit>>,
}

impl Actor for Organization {
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
            templates: HashMap::new(),
            supplies: HashMap::new(),
            waiting: VecDeque::new(),
        })
    }

    async fn handle(
        &self,
        myself: ActorRef<OrganizationMessage>,
        message: OrganizationMessage,
        state: &mut OrganizationState,
    ) -> Result<(), ActorProcessingErr> {
        match message {
            OrganizationMessage::Admit(unit) => state.admit(unit, &myself),
            OrganizationMessage::Reserve(mut unit) => {
                unit.settle_with(myself);
                state.reserve_and_pass_on(unit);
            }
            OrganizationMessage::Decide(part) => state.decide(part),
            OrganizationMessage::Drop { ticket } => {
                for overlay in state.templates.values_mut() {
                    overlay.drop_unit(ticket);
                }
            }
            OrganizationMessage::Settle(settlement) => state.settle(&settlement),
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
    fn admit(&mut self, mut unit: Box<Unit>, myself: &ActorRef<OrganizationMessage>) {
        match self.check(&unit) {
            Ok(caller) => {
                let head = &unit.submission.head;
                if let Some(signer) = self.signers.get_mut(&head.signer) {
                    signer.pending.push(head.nonce);
                }
                unit.admit(caller, myself.clone());
                self.reserve_and_pass_on(unit);
            }
            Err(error) => unit.complete(Err(error)),
        }
    }

    /// Everything that must hold before a request is decided.
    fn check(&mut self, unit: &Unit) -> Result<Option<Caller>, SubmitError> {
        let submission = &unit.submission;
        let published = self.options.reader.published();
        let caller = match submission.asker {
            Asker::Registration => None,
            Asker::Wallet { wallet_id, .. } => {
                let wallet = self.wallet(wallet_id)?;
                if !wallet.keys.contains(&submission.head.signer) {
                    return Err(SubmitError::SignerNotOfWallet);
                }
                Some(Caller {
                    wallet_id,
                    organization_id: wallet.organization_id,
                    role: wallet.role,
                    address: wallet.address,
                })
            }
        };
        let refused = published.snapshot.refused(submission.digest);
        if refused.map_err(|error| gone(&error))?.is_some() {
            return Err(SubmitError::Replayed);
        }
        self.check_nonce(submission.head.signer, submission.head.nonce)?;
        Ok(caller)
    }

    fn wallet(&mut self, id: Id) -> Result<Arc<Wallet>, SubmitError> {
        if let Some(wallet) = self.wallets.get(&id) {
            return Ok(Arc::clone(wallet));
        }
        let wallet = self.options.reader.published().snapshot.wallet(id);
        let wallet = wallet.map_err(|error| gone(&error))?;
        let wallet = Arc::new(wallet.ok_or(SubmitError::NoSuchWallet)?);
        if Some(wallet.organization_id) != self.options.id {
            return Err(SubmitError::NoSuchWallet);
        }
        if self.wallets.len() >= CACHE_MAX {
            self.wallets.clear();
        }
        self.wallets.insert(id, Arc::clone(&wallet));
        Ok(wallet)
    }

    fn check_nonce(&mut self, address: Address, nonce: u64) -> Result<(), SubmitError> {
        if !self.signers.contains_key(&address) {
            let window = self.options.reader.published().snapshot.nonces(address);
            let window = window.map_err(|error| gone(&error))?;
            if self.signers.len() >= CACHE_MAX {
                self.signers.retain(|_, signer| !signer.pending.is_empty());
            }
            let pending = Vec::new();
            self.signers.insert(address, Signer { window, pending });
        }
        let signer = self.signers.get(&address).ok_or(SubmitError::Unavailable)?;
        let highest = signer.window.highest();
        let refuse = |error| SubmitError::Nonce { error, highest };
        signer.window.check(nonce).map_err(refuse)?;
        if signer.pending.contains(&nonce) {
            return Err(refuse(NonceError::Used { nonce, highest }));
        }
        // Whichever of two requests is placed first, the other must stay inside the window.
        let far = |pending: &u64| pending.abs_diff(nonce) > NONCE_WINDOW;
        if signer.pending.iter().any(far) {
            return Err(SubmitError::Overloaded);
        }
        Ok(())
    }

    /// Reserves supply for the unit's mints of this organization's bounded templates, then passes
    /// it on: to the next organization whose templates it mints, or to be decided.
    fn reserve_and_pass_on(&mut self, mut unit: Box<Unit>) {
        let wanted = match self.wanted(&unit) {
            Ok(wanted) => wanted,
            Err(error) => return unit.complete(Err(error)),
        };
        let own = |organization: Id| Some(organization) == self.options.id;
        // Supply that is reserved may come back: a mint waits for it rather than fail.
        let must_wait = wanted.iter().any(|(organization, grant)| {
            let supply = self.supplies.get(&grant.template);
            own(*organization)
                && supply.is_some_and(|supply| {
                    supply.reserved > 0
                        && supply.max - supply.minted < supply.reserved + grant.count
                })
        });
        if must_wait {
            self.waiting.push_back(unit);
            return;
        }
        let mut next = None;
        for (organization, grant) in wanted {
            if !own(organization) {
                next = Some(organization);
            } else if let Some(supply) = self.supplies.get_mut(&grant.template) {
                let free = supply.max - supply.minted - supply.reserved;
                let count = grant.count.min(free);
                supply.reserved += count;
                unit.grants.push(Grant { count, ..grant });
            }
        }
        let message = match next {
            Some(organization) => DirectoryMessage::Reserve { organization, unit },
            None => DirectoryMessage::Dispatch(Arc::from(unit)),
        };
        let _ = self.options.directory.send_message(message);
    }

    /// The bounded templates that the unit mints of and has no grant for yet, with how many mints
    /// each, and the organization that each belongs to.
    fn wanted(&mut self, unit: &Unit) -> Result<Vec<(Id, Grant)>, SubmitError> {
        let mut wanted: Vec<(Id, Grant)> = Vec::new();
        for action in &unit.submission.actions {
            if action.kind != Kind::Mint {
                continue;
            }
            let target = unit.submission.text(&action.target);
            let Ok(id) = Id::parse_as(Prefix::Template, target) else {
                continue;
            };
            if unit.grants.iter().any(|grant| grant.template == id) {
                continue;
            }
            if let Some((_, grant)) = wanted.iter_mut().find(|(_, grant)| grant.template == id) {
                grant.count += 1;
                continue;
            }
            let template = self.options.reader.template(id);
            let template = template.map_err(|_| SubmitError::Unavailable)?;
            let Some(template) = template else { continue };
            let Some(max) = template.max_supply else {
                continue;
            };
            if Some(template.organization_id) == self.options.id && !self.supplies.contains_key(&id)
            {
                let minted = self.options.reader.published().snapshot.minted(id);
                let minted = minted.map_err(|error| gone(&error))?;
                let reserved = 0;
                self.supplies.insert(
                    id,
                    Supply {
                        max,
                        minted,
                        reserved,
                    },
                );
            }
            let grant = Grant {
                template: id,
                count: 1,
            };
            wanted.push((template.organization_id, grant));
        }
        Ok(wanted)
    }

    fn decide(&mut self, part: Part) {
        let unit = part.unit();
        let read_sequence = self.options.reader.published().head.sequence;
        metrics::counter!(metric::DECISIONS, "actor" => "organization", "basis" => "any")
            .increment(1);
        let decide = || self.decide_one(unit, part.ticket());
        let decided = catch_unwind(AssertUnwindSafe(decide)).unwrap_or_else(|_| {
            tracing::error!("an organization's decision panicked");
            Err(Refusal::Unavailable)
        });
        part.report(vec![(0, decided)], read_sequence);
    }

    fn decide_one(&mut self, unit: &Unit, ticket: u64) -> Result<Decided, Refusal> {
        let action = unit
            .submission
            .actions
            .first()
            .ok_or(Refusal::Unavailable)?;
        let input = input(unit, action);
        let reader = &self.options.reader;
        if action.kind == Kind::WalletRegister {
            let signer = &unit.submission.head.signer;
            let (wallet, organization) = registration::register(reader, signer, &input)?;
            let claims = vec![Key::email(&wallet.email), Key::address(wallet.address)];
            let images = vec![Image::Wallet(wallet), Image::Organization(organization)];
            return Ok(fresh(images, claims));
        }
        let caller = unit.caller.ok_or(Refusal::Unavailable)?;
        match action.kind {
            Kind::TemplateCreate => {
                let made = template::create(reader, &caller, &input)?;
                let claims = vec![Key::template_name(made.organization_id, &made.name)];
                Ok(fresh(vec![Image::Template(made)], claims))
            }
            Kind::TemplateVariations => self.add_variations(&caller, &input, ticket),
            _ => Err(Refusal::Forbidden(
                format!("{} is not done this way", action.kind.text()).into(),
            )),
        }
    }

    fn add_variations(
        &mut self,
        caller: &Caller,
        input: &kedge_machine::Input<'_>,
        ticket: u64,
    ) -> Result<Decided, Refusal> {
        let missing = || Refusal::not_found("template", input.target);
        let id = Id::parse_as(Prefix::Template, input.target).map_err(|_| missing())?;
        let committed = self.options.committed_ticket.load(Ordering::Acquire);
        if self.templates.len() >= CACHE_MAX {
            self.templates.retain(|_, overlay| !overlay.is_settled());
        }
        if !self.templates.contains_key(&id) {
            let template = self.options.reader.published().snapshot.template(id);
            let template = template
                .map_err(|error| unavailable(&error))?
                .ok_or_else(missing)?;
            let sequence = template.trace.sequence;
            let images = Versioned::placed(vec![Image::Template(template)], sequence);
            self.templates.insert(id, Overlay::new(Arc::new(images)));
        }
        let overlay = self.templates.get_mut(&id).ok_or(Refusal::Unavailable)?;
        overlay.settle(committed);
        let images = Arc::clone(overlay.top());
        let Some(Image::Template(before)) = images.first() else {
            return Err(Refusal::Unavailable);
        };
        let (after, variations) = template::add_variations(caller, before, input)?;
        let base = Base {
            version: before.trace.version,
            integrity: before.trace.integrity,
            images: Arc::clone(&images),
        };
        let variations = variations.into_iter().map(Image::Variation);
        let next = std::iter::once(Image::Template(after))
            .chain(variations)
            .collect();
        let next = Arc::new(Versioned::decided(next));
        overlay.push(ticket, Arc::clone(&next));
        Ok(Decided::Resources {
            base: Some(base),
            next,
            claims: Vec::new(),
        })
    }

    fn settle(&mut self, settlement: &Settlement) {
        if let Some(signer) = self.signers.get_mut(&settlement.signer) {
            signer.pending.retain(|nonce| *nonce != settlement.nonce);
            if settlement.spent && signer.window.spend(settlement.nonce).is_err() {
                tracing::error!(signer = %settlement.signer, "a nonce was settled twice");
            }
        }
        for grant in &settlement.grants {
            if let Some(supply) = self.supplies.get_mut(&grant.template) {
                supply.reserved -= grant.count;
            }
        }
        for made in &settlement.minted {
            if let Some(supply) = self.supplies.get_mut(&made.template) {
                supply.minted += made.count;
            }
        }
        if !settlement.grants.is_empty() {
            for unit in std::mem::take(&mut self.waiting) {
                self.reserve_and_pass_on(unit);
            }
        }
        // At the desk every signer is new; its wallet's organization goes on with its nonces.
        if self.options.id.is_none() {
            let done = |signer: &Signer| signer.pending.is_empty();
            if self.signers.get(&settlement.signer).is_some_and(done) {
                self.signers.remove(&settlement.signer);
            }
        }
    }

    fn is_idle(&mut self) -> bool {
        let committed = self.options.committed_ticket.load(Ordering::Acquire);
        for overlay in self.templates.values_mut() {
            overlay.settle(committed);
        }
        self.waiting.is_empty()
            && self
                .signers
                .values()
                .all(|signer| signer.pending.is_empty())
            && self.supplies.values().all(|supply| supply.reserved == 0)
            && self.templates.values().all(Overlay::is_settled)
    }
}

/// Resources that did not exist before.
fn fresh(images: Vec<Image>, claims: Vec<Key>) -> Decided {
    Decided::Resources {
        base: None,
        next: Arc::new(Versioned::decided(images)),
        claims,
    }
}

fn gone(error: &kedge_storage::ReadError) -> SubmitError {
    unavailable(error);
    SubmitError::Unavailable
}
