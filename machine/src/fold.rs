//! The fold: replaying the log from nothing with the same rules gives the same state. It is what
//! `verify` compares a store with, and what makes the state a consequence of the log.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use kedge_protocol::action::Kind;
use kedge_protocol::chain::Leaf;
use kedge_protocol::ids::IdMap;
use kedge_protocol::nonce::{NonceError, NonceWindow};
use kedge_protocol::record::{ActionRecord, RequestRecord};
use kedge_protocol::resource::{
    ApiKey, Dispute, DisputeMatter, File, Invitation, Object, ObjectStatus, Organization,
    SequencerKey, Trace, Variation, Wallet, Webhook,
};
use kedge_protocol::{Address, Hash, Id, Prefix};

use crate::compiled::TemplateRules;
use crate::image::Image;
use crate::refusal::Refusal;
use crate::world::{Caller, Held, Input, KeyPlace, Link, OPERATOR, Recipient, Unavailable, World};
use crate::{object, registration, resources};

/// Why a record cannot be what the rules made.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FoldError {
    /// The nonce was not the signer's to spend.
    #[error("sequence {sequence}: {error}")]
    Nonce {
        /// The record's first sequence.
        sequence: u64,
        /// What is wrong with the nonce.
        error: NonceError,
    },
    /// The action was placed after its deadline.
    #[error("sequence {sequence}: placed after the request's deadline")]
    Deadline {
        /// The record's first sequence.
        sequence: u64,
    },
    /// The signer is no key of the wallet that the record names.
    #[error("sequence {sequence}: the signer is no key of the wallet that asked")]
    Signer {
        /// The record's first sequence.
        sequence: u64,
    },
    /// The rules refuse the action.
    #[error("sequence {sequence}: the rules refuse the action: {refusal:?}")]
    Refused {
        /// The action's sequence.
        sequence: u64,
        /// Why.
        refusal: Refusal,
    },
    /// The rules give another resource, version or integrity than the record says.
    #[error(
        "sequence {sequence}: the record's resource, version or integrity is not what the rules give"
    )]
    Differs {
        /// The action's sequence.
        sequence: u64,
    },
}

/// All state that follows from the log.
#[derive(Default)]
pub struct State {
    /// Organizations by identifier.
    pub organizations: IdMap<Id, Organization>,
    /// Wallets by identifier.
    pub wallets: IdMap<Id, Wallet>,
    /// Templates by identifier.
    pub templates: IdMap<Id, Arc<TemplateRules>>,
    /// Variations by identifier.
    pub variations: IdMap<Id, Arc<Variation>>,
    /// Objects by identifier.
    pub objects: IdMap<Id, Object>,
    /// API keys by identifier.
    pub api_keys: IdMap<Id, ApiKey>,
    /// Webhooks by identifier.
    pub webhooks: IdMap<Id, Webhook>,
    /// Files by identifier.
    pub files: IdMap<Id, File>,
    /// Disputes by identifier.
    pub disputes: IdMap<Id, Dispute>,
    /// Invitations by identifier.
    pub invitations: IdMap<Id, Invitation>,
    /// The sequencer's keys that the log names, in order; its first key is not among them.
    pub sequencer_keys: Vec<SequencerKey>,
    /// The keys that the operator signs with.
    pub operators: Vec<Address>,
    /// How many objects each template has made.
    pub minted: IdMap<Id, u64>,
    /// How many of them were burned.
    pub burned: IdMap<Id, u64>,
    /// Each signer's nonces.
    pub nonces: HashMap<Address, NonceWindow>,
    wallet_of_address: HashMap<Address, Id>,
    emails: HashSet<String>,
    template_names: HashSet<(Id, String)>,
    held: HashMap<(Id, Prefix), Held>,
    claim_contexts: HashSet<Hash>,
    /// The batch of the request that is applied.
    batch: u64,
}

impl World for State {
    fn wallet(&self, id: Id) -> Result<Option<Recipient>, Unavailable> {
        Ok(self.wallets.get(&id).map(|wallet| Recipient {
            wallet_id: wallet.id,
            address: wallet.address,
        }))
    }

    fn wallet_by_address(&self, address: Address) -> Result<Option<Recipient>, Unavailable> {
        self.wallet_of_address
            .get(&address)
            .map_or(Ok(None), |id| self.wallet(*id))
    }

    fn member(&self, id: Id) -> Result<Option<Wallet>, Unavailable> {
        Ok(self.wallets.get(&id).cloned())
    }

    fn organization(&self, id: Id) -> Result<Option<Organization>, Unavailable> {
        Ok(self.organizations.get(&id).cloned())
    }

    fn invitation(&self, id: Id) -> Result<Option<Invitation>, Unavailable> {
        Ok(self.invitations.get(&id).cloned())
    }

    fn minted(&self, template: Id) -> Result<u64, Unavailable> {
        Ok(self.minted.get(&template).copied().unwrap_or(0))
    }

    fn burned(&self, template: Id) -> Result<u64, Unavailable> {
        Ok(self.burned.get(&template).copied().unwrap_or(0))
    }

    fn template(&self, id: Id) -> Result<Option<Arc<TemplateRules>>, Unavailable> {
        Ok(self.templates.get(&id).cloned())
    }

    fn variation(&self, id: Id) -> Result<Option<Arc<Variation>>, Unavailable> {
        Ok(self.variations.get(&id).cloned())
    }

    fn email_taken(&self, email: &str) -> Result<bool, Unavailable> {
        Ok(self.emails.contains(email))
    }

    fn address_taken(&self, address: Address) -> Result<bool, Unavailable> {
        Ok(self.wallet_of_address.contains_key(&address))
    }

    fn held(&self, organization: Id, of: Prefix) -> Result<Held, Unavailable> {
        let held = self.held.get(&(organization, of));
        Ok(held.copied().unwrap_or_default())
    }

    fn template_name_taken(&self, organization: Id, name: &str) -> Result<bool, Unavailable> {
        Ok(self
            .template_names
            .contains(&(organization, name.to_owned())))
    }

    fn key_place(&self) -> Result<KeyPlace, Unavailable> {
        let last = self.sequencer_keys.last();
        Ok(KeyPlace {
            batch: self.batch,
            last_from_batch: last.map_or(0, |key| key.entry.from_batch),
            named: self.sequencer_keys.len(),
        })
    }

    fn claim_context_used(&self, context: &Hash) -> Result<bool, Unavailable> {
        Ok(self.claim_contexts.contains(context))
    }
}

impl State {
    /// Before the first action, with the addresses that sign for the operator.
    pub fn new(operators: Vec<Address>) -> Self {
        Self {
            operators,
            ..Self::default()
        }
    }

    /// Applies one request's done actions; gives their images, in order, one list an action.
    pub fn apply(&mut self, record: &RequestRecord<'_>) -> Result<Vec<Vec<Image>>, FoldError> {
        let leaves = record.placed(&record.hashes());
        let mut all = Vec::with_capacity(leaves.len());
        self.apply_placed(record, &leaves, |_, images| all.push(images.to_vec()))?;
        Ok(all)
    }

    /// As [`Self::apply`], where the record was hashed already: `leaves` are what
    /// [`RequestRecord::placed`] gives. `each` sees every action's images, and the state before them.
    pub fn apply_placed(
        &mut self,
        record: &RequestRecord<'_>,
        leaves: &[Leaf],
        mut each: impl FnMut(&Self, &[Image]),
    ) -> Result<(), FoldError> {
        let sequence = record.first_sequence;
        self.batch = record.batch_number;
        if record.timestamp_ms > record.head.deadline_s.saturating_mul(1_000) {
            return Err(FoldError::Deadline { sequence });
        }
        let mut window = self
            .nonces
            .get(&record.head.signer)
            .cloned()
            .unwrap_or_default();
        window
            .spend(record.head.nonce)
            .map_err(|error| FoldError::Nonce { sequence, error })?;
        for (action, leaf) in record.actions.iter().zip(leaves) {
            let mut images = self.decide(record, action, leaf)?;
            Image::place_all(&mut images, leaf.sequence, record.timestamp_ms);
            each(self, &images);
            for image in images {
                self.insert(image);
            }
        }
        self.nonces.insert(record.head.signer, window);
        Ok(())
    }

    fn decide(
        &self,
        record: &RequestRecord<'_>,
        action: &ActionRecord<'_>,
        leaf: &Leaf,
    ) -> Result<Vec<Image>, FoldError> {
        let sequence = leaf.sequence;
        let refused = |refusal| FoldError::Refused { sequence, refusal };
        let input = Input {
            kind: &action.kind,
            target: &action.target,
            payload: action.disclosed.as_deref().unwrap_or(&action.payload),
            signed: &action.payload,
            content: &leaf.content,
            link: Some(Link {
                previous: action.previous_integrity,
                next: leaf.integrity,
            }),
        };
        let images = if action.kind == Kind::WalletRegister {
            let signer = &record.head.signer;
            registration::register(self, signer, &input)
                .map_err(refused)?
                .images
        } else {
            let caller = self.caller(record)?;
            self.decide_for(&caller, &input).map_err(refused)?
        };
        let previous = self.trace_of(images[0].id());
        let trace = images[0].trace().copied().unwrap_or(Trace::NEW);
        let fits = images[0].id() == action.resource
            && trace.version == action.version
            && previous.integrity == action.previous_integrity
            && previous.sequence == action.previous_sequence;
        if fits {
            Ok(images)
        } else {
            Err(FoldError::Differs { sequence })
        }
    }

    fn caller(&self, record: &RequestRecord<'_>) -> Result<Caller, FoldError> {
        let signer = record.head.signer;
        let is_operators = record.actions.iter().all(|action| action.kind.is_system());
        if is_operators && record.wallet_id == OPERATOR && self.operators.contains(&signer) {
            return Ok(Caller::operator(record.organization_id, signer));
        }
        self.wallets
            .get(&record.wallet_id)
            .filter(|wallet| wallet.keys.contains(&record.head.signer))
            .map(|wallet| Caller {
                wallet_id: wallet.id,
                organization_id: wallet.organization_id,
                role: wallet.role,
                address: wallet.address,
            })
            .ok_or(FoldError::Signer {
                sequence: record.first_sequence,
            })
    }

    fn decide_for(&self, caller: &Caller, input: &Input<'_>) -> Result<Vec<Image>, Refusal> {
        match input.kind {
            Kind::Mint => {
                let object = object::mint(self, caller, input)?;
                let minted = self.minted.get(&object.template_id).copied().unwrap_or(0);
                let supply = self
                    .templates
                    .get(&object.template_id)
                    .and_then(|t| t.max_supply);
                if supply.is_some_and(|max| minted >= max) {
                    return Err(Refusal::State("the template's supply is used up".into()));
                }
                Ok(vec![Image::Object(object)])
            }
            kind if kind.is_bus() => {
                let target = Id::parse_as(Prefix::Object, input.target)
                    .ok()
                    .and_then(|id| self.objects.get(&id))
                    .ok_or_else(|| Refusal::not_found("object", input.target))?;
                let template = self
                    .templates
                    .get(&target.template_id)
                    .ok_or_else(|| Refusal::not_found("template", &target.template_id))?;
                object::act(self, caller, target, template, input)
                    .map(|object| vec![Image::Object(object)])
            }
            kind => {
                let base = match resources::base_id(kind, input.target)? {
                    None => None,
                    Some(id) => {
                        let found = self.image(id);
                        Some(found.ok_or_else(|| Refusal::not_found("resource", input.target))?)
                    }
                };
                let decision = resources::decide(self, caller, base.as_ref(), input)?;
                Ok(decision.images)
            }
        }
    }

    /// A resource that is not an object, as it stands.
    pub fn image(&self, id: Id) -> Option<Image> {
        match id.prefix {
            Prefix::Template => {
                let template = self.templates.get(&id)?;
                Some(Image::Template(template.template().clone()))
            }
            Prefix::Wallet => self.wallets.get(&id).cloned().map(Image::Wallet),
            Prefix::Organization => {
                let organization = self.organizations.get(&id)?;
                Some(Image::Organization(organization.clone()))
            }
            Prefix::Key => self.api_keys.get(&id).cloned().map(Image::ApiKey),
            Prefix::Webhook => self.webhooks.get(&id).cloned().map(Image::Webhook),
            _ => None,
        }
    }

    fn trace_of(&self, id: Id) -> Trace {
        let trace = match id.prefix {
            Prefix::Object => self.objects.get(&id).map(|object| object.trace),
            _ => self.image(id).and_then(|image| image.trace().copied()),
        };
        trace.unwrap_or(Trace::NEW)
    }

    /// Counts something that was live or not before, if it was there, and is or is not now.
    fn count(&mut self, of: (Id, Prefix), before: Option<bool>, is_live: bool) {
        let held = self.held.entry(of).or_default();
        held.made += u64::from(before.is_none());
        held.live += usize::from(is_live);
        held.live -= usize::from(before == Some(true));
    }

    fn insert(&mut self, image: Image) {
        match image {
            Image::Object(object) => {
                if object.trace.version == 1 {
                    *self.minted.entry(object.template_id).or_default() += 1;
                }
                // Nothing happens to an object once it is burned.
                if object.status == ObjectStatus::Burned {
                    *self.burned.entry(object.template_id).or_default() += 1;
                }
                self.objects.insert(object.id, object);
            }
            Image::Wallet(wallet) => {
                if let Some(before) = self.wallets.get(&wallet.id) {
                    self.emails.remove(&before.email);
                }
                if !wallet.is_removed() {
                    self.emails.insert(wallet.email.clone());
                }
                for address in &wallet.keys {
                    self.wallet_of_address.insert(*address, wallet.id);
                }
                self.wallets.insert(wallet.id, wallet);
            }
            Image::Organization(organization) => {
                self.organizations.insert(organization.id, organization);
            }
            Image::Template(template) => {
                if let Some(before) = self.templates.get(&template.id) {
                    let name = (before.organization_id, before.name.clone());
                    self.template_names.remove(&name);
                }
                let name = (template.organization_id, template.name.clone());
                self.template_names.insert(name);
                self.templates
                    .insert(template.id, Arc::new(template.into()));
            }
            Image::Variation(variation) => {
                self.variations.insert(variation.id, Arc::new(variation));
            }
            Image::ApiKey(key) => {
                let (of, is_live) = ((key.organization_id, Prefix::Key), !key.deleted);
                let before = self.api_keys.insert(key.id, key);
                self.count(of, before.map(|key| !key.deleted), is_live);
            }
            Image::Webhook(webhook) => {
                let (of, is_live) = ((webhook.organization_id, Prefix::Webhook), !webhook.deleted);
                let before = self.webhooks.insert(webhook.id, webhook);
                self.count(of, before.map(|webhook| !webhook.deleted), is_live);
            }
            Image::File(file) => {
                self.files.insert(file.id, file);
            }
            Image::Dispute(dispute) => {
                if let DisputeMatter::Claim { context } = dispute.matter {
                    self.claim_contexts.insert(context);
                }
                self.disputes.insert(dispute.id, dispute);
            }
            Image::SequencerKey(key) => self.sequencer_keys.push(key),
            Image::Invitation(invitation) => {
                self.invitations.insert(invitation.id, invitation);
            }
        }
    }
}
