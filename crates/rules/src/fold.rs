//! The fold: replays the log with the rules, from nothing or from any earlier state of the log. The result is always
//! the same, so the state is a consequence of the log. `verify` compares a store with it.

mod insert;
mod lookup;
mod source;

use std::collections::hash_map::Entry;
use std::collections::{HashMap, HashSet};
use std::hash::{BuildHasher, Hash as Hashed};
use std::sync::Arc;

use kedge_protocol::action::Kind;
use kedge_protocol::chain::LogLeaf;
use kedge_protocol::ids::IdMap;
use kedge_protocol::nonce::{NonceError, NonceWindow};
use kedge_protocol::record::{ActionRecord, RequestRecord};
use kedge_protocol::resource::{Object, ResourceTrace, SequencerKey, Variation, Wallet};
use kedge_protocol::{Address, Hash, Id, Prefix};

use crate::refusal::Refusal;
use crate::resource_state::ResourceState;
use crate::template_rules::TemplateRules;
use crate::world::{
    ActionInput, Caller, CountedResource, IntegrityLink, OPERATOR, ResourceCount, StateUnavailable,
    World,
};
use crate::{object, registration, resources};

pub use source::{EmptySource, FoldSource};

/// Why a record contradicts the rules.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FoldError {
    /// The signer could not spend the nonce.
    #[error("sequence {sequence}: {error}")]
    Nonce {
        /// First sequence of the record.
        sequence: u64,
        error: NonceError,
    },
    /// The action was placed after its deadline.
    #[error("sequence {sequence}: placed after the request's deadline")]
    Deadline {
        /// First sequence of the record.
        sequence: u64,
    },
    /// The signer is not a key of the wallet that the record names.
    #[error("sequence {sequence}: the signer is not a key of the record's wallet")]
    Signer {
        /// First sequence of the record.
        sequence: u64,
    },
    /// The rules refuse the action.
    #[error("sequence {sequence}: the rules refuse the action: {refusal:?}")]
    Refused {
        /// Sequence of the action.
        sequence: u64,
        refusal: Refusal,
    },
    /// The rules give another resource, version or integrity than the record states.
    #[error(
        "sequence {sequence}: the record's resource, version or integrity does not match the rules"
    )]
    Differs {
        /// Sequence of the action.
        sequence: u64,
    },
    /// The fold's source could not be read, so the record was not judged.
    #[error("sequence {sequence}: the state before it could not be read")]
    Unavailable {
        /// Sequence at which the read failed.
        sequence: u64,
    },
}

/// The state that follows from the log. Read and changed entries are kept in memory, over a source that holds the
/// earlier state; [`FoldState::forget`] empties the memory. Over [`EmptySource`] all state is in memory.
///
/// After an error a request is applied in part: the state is then unusable.
pub struct FoldState<S = EmptySource> {
    source: S,
    pub wallets: IdMap<Id, Wallet>,
    pub templates: IdMap<Id, Arc<TemplateRules>>,
    pub variations: IdMap<Id, Arc<Variation>>,
    pub objects: IdMap<Id, Object>,
    /// All other resources: organizations, API keys, webhooks, files, disputes and invitations.
    pub others: IdMap<Id, ResourceState>,
    /// All keys of the sequencer that the log names, in order. Its first key is not among them.
    pub sequencer_keys: Vec<SequencerKey>,
    pub operators: Vec<Address>,
    /// Number of objects minted from each template.
    pub minted: IdMap<Id, u64>,
    /// Number of objects burned of each template.
    pub burned: IdMap<Id, u64>,
    /// Spent nonces of each signer.
    pub nonces: HashMap<Address, NonceWindow>,
    wallet_of_address: HashMap<Address, Id>,
    /// Whether a wallet has the e-mail address now.
    emails: HashMap<String, bool>,
    /// Whether a template has the name now.
    template_names: HashMap<(Id, String), bool>,
    held: HashMap<(Id, CountedResource), ResourceCount>,
    claim_contexts: HashSet<Hash>,
    /// The batch of the request being applied.
    batch: u64,
}

impl Default for FoldState<EmptySource> {
    fn default() -> Self {
        Self::new(Vec::new())
    }
}

impl FoldState<EmptySource> {
    /// The state before the first action. `operators` are the addresses that sign for the operator.
    pub fn new(operators: Vec<Address>) -> Self {
        Self::over(EmptySource, operators, Vec::new())
    }
}

/// Returns an entry from memory; loads it from the source first if needed.
fn recall<K: Eq + Hashed, V, H: BuildHasher>(
    memory: &mut HashMap<K, V, H>,
    key: K,
    read: impl FnOnce() -> Result<Option<V>, StateUnavailable>,
) -> Result<Option<&V>, StateUnavailable> {
    match memory.entry(key) {
        Entry::Occupied(known) => Ok(Some(known.into_mut())),
        Entry::Vacant(free) => Ok(match read()? {
            Some(value) => Some(free.insert(value)),
            None => None,
        }),
    }
}

impl<S: FoldSource> FoldState<S> {
    /// Continues from a source. `operators` are the addresses that sign for the operator, `sequencer_keys` the keys
    /// that the log has named so far.
    pub fn over(source: S, operators: Vec<Address>, sequencer_keys: Vec<SequencerKey>) -> Self {
        Self {
            source,
            wallets: IdMap::default(),
            templates: IdMap::default(),
            variations: IdMap::default(),
            objects: IdMap::default(),
            others: IdMap::default(),
            sequencer_keys,
            operators,
            minted: IdMap::default(),
            burned: IdMap::default(),
            nonces: HashMap::default(),
            wallet_of_address: HashMap::default(),
            emails: HashMap::default(),
            template_names: HashMap::default(),
            held: HashMap::default(),
            claim_contexts: HashSet::default(),
            batch: 0,
        }
    }

    pub fn source(&self) -> &S {
        &self.source
    }

    /// Empties the memory. `source` must hold everything applied so far, and nothing else.
    pub fn forget(&mut self, source: S) {
        let operators = std::mem::take(&mut self.operators);
        let sequencer_keys = std::mem::take(&mut self.sequencer_keys);
        *self = Self::over(source, operators, sequencer_keys);
    }

    /// Number of resources, counts and names in memory.
    pub fn remembered(&self) -> usize {
        self.wallets.len()
            + self.templates.len()
            + self.variations.len()
            + self.objects.len()
            + self.others.len()
            + self.minted.len()
            + self.burned.len()
            + self.nonces.len()
            + self.wallet_of_address.len()
            + self.emails.len()
            + self.template_names.len()
            + self.held.len()
            + self.claim_contexts.len()
    }

    /// The current version of an object.
    pub fn recall_object(&mut self, id: Id) -> Result<Option<&Object>, StateUnavailable> {
        recall(&mut self.objects, id, || self.source.object(id))
    }

    /// The current version of a template.
    pub fn recall_template(
        &mut self,
        id: Id,
    ) -> Result<Option<&Arc<TemplateRules>>, StateUnavailable> {
        recall(&mut self.templates, id, || self.source.template(id))
    }

    fn recall_wallet(&mut self, id: Id) -> Result<Option<&Wallet>, StateUnavailable> {
        recall(&mut self.wallets, id, || self.source.wallet(id))
    }

    fn recall_other(&mut self, id: Id) -> Result<Option<&ResourceState>, StateUnavailable> {
        recall(&mut self.others, id, || self.source.other(id))
    }

    /// Resources of one type among [`Self::others`] in memory.
    pub fn others_of<'a, T: 'a>(&'a self) -> impl Iterator<Item = &'a T>
    where
        &'a T: TryFrom<&'a ResourceState>,
    {
        self.others
            .values()
            .filter_map(|image| image.try_into().ok())
    }

    /// Applies a request's done actions. Returns the resource states of each action, in order.
    pub fn apply(
        &mut self,
        record: &RequestRecord<'_>,
    ) -> Result<Vec<Vec<ResourceState>>, FoldError> {
        let leaves = record.placed(&record.hashes());
        let mut all = Vec::with_capacity(leaves.len());
        self.apply_placed(record, &leaves, |_, images| {
            all.push(images.to_vec());
            Ok(())
        })?;
        Ok(all)
    }

    /// [`Self::apply`] for a record that was hashed already: `leaves` is the result of [`RequestRecord::placed`].
    /// `each` is called with every action's resource states, and the state before them.
    pub fn apply_placed(
        &mut self,
        record: &RequestRecord<'_>,
        leaves: &[LogLeaf],
        mut each: impl FnMut(&mut Self, &[ResourceState]) -> Result<(), StateUnavailable>,
    ) -> Result<(), FoldError> {
        let sequence = record.first_sequence;
        self.batch = record.batch_number;
        if record.timestamp_ms > record.head.deadline_s.saturating_mul(1_000) {
            return Err(FoldError::Deadline { sequence });
        }
        let unavailable = |StateUnavailable| FoldError::Unavailable { sequence };
        let mut window = match self.nonces.get(&record.head.signer) {
            Some(window) => window.clone(),
            None => self
                .source
                .nonces(record.head.signer)
                .map_err(unavailable)?,
        };
        window
            .spend(record.head.nonce)
            .map_err(|error| FoldError::Nonce { sequence, error })?;
        for (action, leaf) in record.actions.iter().zip(leaves) {
            let mut images = self.decide(record, action, leaf)?;
            ResourceState::place_all(&mut images, leaf.sequence, record.timestamp_ms);
            each(self, &images).map_err(unavailable)?;
            for image in images {
                self.insert(image).map_err(unavailable)?;
            }
        }
        self.nonces.insert(record.head.signer, window);
        Ok(())
    }

    fn decide(
        &mut self,
        record: &RequestRecord<'_>,
        action: &ActionRecord<'_>,
        leaf: &LogLeaf,
    ) -> Result<Vec<ResourceState>, FoldError> {
        let sequence = leaf.sequence;
        let refused = |refusal| match refusal {
            Refusal::Unavailable => FoldError::Unavailable { sequence },
            refusal => FoldError::Refused { sequence, refusal },
        };
        let input = ActionInput {
            kind: &action.kind,
            target: &action.target,
            payload: action.disclosed.as_deref().unwrap_or(&action.payload),
            signed: &action.payload,
            content: &leaf.content,
            link: Some(IntegrityLink {
                previous: action.previous_integrity,
                next: leaf.integrity,
            }),
            allowance: None,
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
        let previous = previous.map_err(|StateUnavailable| FoldError::Unavailable { sequence })?;
        let trace = images[0].trace().copied().unwrap_or(ResourceTrace::NEW);
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

    fn caller(&mut self, record: &RequestRecord<'_>) -> Result<Caller, FoldError> {
        let sequence = record.first_sequence;
        let signer = record.head.signer;
        let is_operators = record.actions.iter().all(|action| action.kind.is_system());
        if is_operators && record.wallet_id == OPERATOR && self.operators.contains(&signer) {
            return Ok(Caller::operator(record.organization_id, signer));
        }
        self.recall_wallet(record.wallet_id)
            .map_err(|StateUnavailable| FoldError::Unavailable { sequence })?
            .filter(|wallet| wallet.keys.contains(&record.head.signer))
            .map(|wallet| Caller {
                wallet_id: wallet.id,
                organization_id: wallet.organization_id,
                role: wallet.role,
                address: wallet.address,
            })
            .ok_or(FoldError::Signer { sequence })
    }

    fn decide_for(
        &mut self,
        caller: &Caller,
        input: &ActionInput<'_>,
    ) -> Result<Vec<ResourceState>, Refusal> {
        match input.kind {
            Kind::Mint => {
                let object = object::mint(self, caller, input)?;
                let minted = self.minted(object.template_id)?;
                let supply = self.recall_template(object.template_id)?;
                let supply = supply.and_then(|template| template.max_supply);
                if supply.is_some_and(|max| minted >= max) {
                    return Err(Refusal::State("the template's supply is used up".into()));
                }
                Ok(vec![ResourceState::Object(object)])
            }
            kind if kind.is_bus() => {
                let unknown = || Refusal::not_found("object", input.target);
                let id = Id::parse_as(Prefix::Object, input.target).map_err(|_| unknown())?;
                let of = self.recall_object(id)?.ok_or_else(unknown)?.template_id;
                // Both are in memory now.
                self.recall_template(of)?;
                let target = self.objects.get(&id).ok_or_else(unknown)?;
                let template = self
                    .templates
                    .get(&of)
                    .ok_or_else(|| Refusal::not_found("template", &of))?;
                object::act(self, caller, target, template, input)
                    .map(|object| vec![ResourceState::Object(object)])
            }
            kind => {
                let base = match resources::base_id(kind, input.target)? {
                    None => None,
                    Some(id) => {
                        let found = self.image(id)?;
                        Some(found.ok_or_else(|| Refusal::not_found("resource", input.target))?)
                    }
                };
                let decision = resources::decide(self, caller, base.as_ref(), input)?;
                Ok(decision.images)
            }
        }
    }

    /// The current version of a resource that actions change, other than an object.
    pub fn image(&mut self, id: Id) -> Result<Option<ResourceState>, StateUnavailable> {
        Ok(match id.prefix {
            Prefix::Template => {
                let template = self.recall_template(id)?;
                template.map(|template| ResourceState::Template(template.template().clone()))
            }
            Prefix::Wallet => self.recall_wallet(id)?.cloned().map(ResourceState::Wallet),
            _ => self.recall_other(id)?.cloned(),
        })
    }

    fn trace_of(&mut self, id: Id) -> Result<ResourceTrace, StateUnavailable> {
        let trace = match id.prefix {
            Prefix::Object => self.recall_object(id)?.map(|object| object.trace),
            _ => self.image(id)?.and_then(|image| image.trace().copied()),
        };
        Ok(trace.unwrap_or(ResourceTrace::NEW))
    }
}
