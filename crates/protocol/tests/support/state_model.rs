//! A small model of an honest log: what its actions make of every resource, and what the state holds at each checkpoint.
//! It knows who may do what, and signs no request: leaves hold a random authority.
//!
//! A history is small, and its seed decides everything: how many actions it has, how often each step comes, where
//! batches end, which of them have a checkpoint, and from which one on checkpoints have a root.

#[path = "state_members.rs"]
mod members;
#[path = "state_objects.rs"]
mod objects;
#[path = "state_resources.rs"]
mod resources;

use std::collections::BTreeMap;
use std::sync::LazyLock;

use kedge_protocol::action::Kind;
use kedge_protocol::chain::{LogLeaf, first_integrity, next_integrity};
use kedge_protocol::hash::keccak;
use kedge_protocol::resource::Role;
use kedge_protocol::signature::SigningKey;
use kedge_protocol::state::StateEntry;
use kedge_protocol::state::entry::{EntryFields, ObjectEntry, TemplateEntry, WalletEntry};
use kedge_protocol::state::faults::{HeldEntry, LeafWords, ShownEntry, ShownLeaf, StatePoint};
use kedge_protocol::{Address, Hash, Id, KeyActivation, Prefix};

use crate::signed_log::{START_MS, key};
use crate::state_trie::Dice;

/// Ids that the log never makes, at the end of each point's list.
const STRANGERS: usize = 4;

/// The sequencer's keys, in the order in which logs name them. The second returns as the fourth.
pub(crate) static SEQUENCER_KEYS: LazyLock<Vec<(SigningKey, Address)>> = LazyLock::new(|| {
    let keys = [1, 2, 3, 2].map(key);
    keys.into_iter()
        .map(|key| (key.clone(), key.address()))
        .collect()
});

/// An action of the log.
pub(crate) struct ModelAction {
    /// The leaf, opened.
    pub(crate) leaf: ShownLeaf,
    pub(crate) kind: &'static str,
    /// The wallet that the exact payload of a mint or a transfer names, or that an action removes.
    pub(crate) to: Option<Id>,
    /// Place of the resource that the action acts on, or makes first.
    pub(crate) resource: usize,
    /// Place of the wallet that signed; `None` for the operator.
    pub(crate) wallet: Option<usize>,
    /// Number of its batch.
    pub(crate) batch: u64,
}

/// A resource as the last action left it.
pub(crate) struct ModelResource {
    pub(crate) id: Id,
    pub(crate) entry: StateEntry,
    /// The actions that made its versions, in order.
    pub(crate) actions: Vec<usize>,
    /// Every address that a wallet ever had.
    addresses: Vec<Address>,
}

/// A checkpoint.
pub(crate) struct ModelPoint {
    pub(crate) point: StatePoint,
    /// What its state holds of each resource of the log, in the order in which they were made, and of the strangers.
    pub(crate) shown: Vec<ShownEntry>,
}

pub(crate) struct ModelLog {
    pub(crate) dice: Dice,
    pub(crate) actions: Vec<ModelAction>,
    pub(crate) resources: Vec<ModelResource>,
    pub(crate) points: Vec<ModelPoint>,
    /// The actions that could have made the strangers.
    pub(crate) strangers: Vec<usize>,
    /// The sequencer's keys that the log names, and the first one.
    pub(crate) keys: Vec<KeyActivation>,
    /// Places of the resources with each prefix.
    of_prefix: [Vec<usize>; Prefix::ALL.len()],
    places: BTreeMap<Id, usize>,
    operator: Address,
    /// Roles of the invitations that were not used, with their organizations.
    invitations: Vec<(usize, Role)>,
    /// Number of the open batch.
    batch: u64,
    /// From this number of batches on, checkpoints have a root.
    rooted_from: u64,
    weights: [usize; STEPS.len()],
}

/// An action before it is placed.
struct ModelRequest<'a> {
    kind: &'static str,
    target: &'a str,
    payload: &'a str,
    /// The signer's wallet and address.
    by: (Option<usize>, Address),
}

type ModelStep = fn(&mut ModelLog);

/// What may happen next.
const STEPS: [ModelStep; 16] = [
    |log| log.register(None),
    ModelLog::join,
    ModelLog::act_on_wallet,
    ModelLog::act_on_organization,
    ModelLog::create_template,
    ModelLog::update_template,
    ModelLog::add_variations,
    ModelLog::mint,
    ModelLog::act_on_object,
    ModelLog::act_on_object,
    ModelLog::act_on_object,
    ModelLog::end_object,
    ModelLog::act_on_key,
    ModelLog::act_on_webhook,
    ModelLog::create_file,
    ModelLog::act_as_operator,
];

impl ModelLog {
    /// A log of random actions. Each history has its own favourites among the steps, so that some histories go far into
    /// one corner.
    pub(crate) fn random(seed: u64) -> Self {
        let mut dice = Dice(seed.wrapping_mul(0x2545_f491_4f6c_dd1d));
        let operator = address(&mut dice);
        let mut log = Self {
            weights: std::array::from_fn(|_| [0, 1, 2, 4, 12][dice.below(5)]),
            dice,
            actions: Vec::new(),
            resources: Vec::new(),
            points: Vec::new(),
            strangers: Vec::new(),
            keys: vec![KeyActivation {
                key: SEQUENCER_KEYS[0].1,
                from_batch: 0,
            }],
            of_prefix: Default::default(),
            places: BTreeMap::new(),
            operator,
            invitations: Vec::new(),
            batch: 0,
            rooted_from: 0,
        };
        if log.dice.below(4) == 0 {
            log.rooted_from = log.dice.below(8) as u64;
        }
        let batch_end = 1 + log.dice.below(3);
        let checkpoint_every = 1 + log.dice.below(4);
        if log.dice.below(3) == 0 {
            log.checkpoint();
        }
        let most = [12, 24, 24, 72][log.dice.below(4)];
        let wanted = 4 + log.dice.below(most);
        log.begin();
        for _ in 0..3 * wanted {
            if log.actions.len() >= wanted {
                break;
            }
            log.step();
            let is_open = log
                .actions
                .last()
                .is_some_and(|last| last.batch == log.batch);
            if is_open && log.dice.below(batch_end) == 0 {
                log.batch += 1;
                if log.dice.below(checkpoint_every) == 0 {
                    log.checkpoint();
                }
            }
        }
        log.close();
        log
    }

    /// The first actions, without which most others are impossible.
    fn begin(&mut self) {
        self.register(None);
        if self.dice.below(3) > 0 {
            self.register(None);
        }
        if self.dice.below(4) > 0 {
            self.create_template();
            self.mint();
        }
    }

    fn step(&mut self) {
        let all: usize = self.weights.iter().sum();
        let mut drawn = self.dice.below(all.max(1));
        for (step, weight) in STEPS.iter().zip(self.weights) {
            if drawn < weight {
                return step(self);
            }
            drawn -= weight;
        }
        let step = self.dice.below(STEPS.len());
        STEPS[step](self);
    }

    /// The last batch and its checkpoint. Then every point shows every id, those of later resources as absent.
    fn close(&mut self) {
        if self
            .actions
            .last()
            .is_some_and(|last| last.batch == self.batch)
        {
            self.batch += 1;
        }
        self.checkpoint();
        let strangers: [Id; STRANGERS] = std::array::from_fn(|_| self.stranger());
        let ids: Vec<Id> = self.resources.iter().map(|one| one.id).collect();
        for point in &mut self.points {
            let later = ids[point.shown.len()..].iter().chain(&strangers);
            let absent = later.map(|id| ShownEntry {
                point: point.point,
                id: *id,
                held: HeldEntry::Nothing,
            });
            point.shown.extend(absent);
        }
    }

    /// An id that an action could have made, and did not.
    fn stranger(&mut self) -> Id {
        let prefixes = [
            Prefix::Object,
            Prefix::Wallet,
            Prefix::Organization,
            Prefix::Template,
            Prefix::Variation,
            Prefix::Key,
            Prefix::Webhook,
            Prefix::File,
            Prefix::Dispute,
            Prefix::Action,
        ];
        loop {
            let action = self.dice.below(self.actions.len());
            let content = self.actions[action].leaf.leaf.content;
            let id = match prefixes[self.dice.below(prefixes.len())] {
                Prefix::Action => Id::of_hash(Prefix::Action, &content),
                prefix => Id::made_by(prefix, &content, self.dice.below(2) as u32),
            };
            if !self.places.contains_key(&id) {
                self.strangers.push(action);
                return id;
            }
        }
    }

    fn checkpoint(&mut self) {
        let batches = self.batch;
        if self
            .points
            .last()
            .is_some_and(|last| last.point.batches == batches)
        {
            return;
        }
        let point = StatePoint {
            batches,
            sequence: self.actions.len() as u64,
            is_rooted: batches >= self.rooted_from,
        };
        let shown = self.resources.iter().map(|one| ShownEntry {
            point,
            id: one.id,
            held: HeldEntry::Entry(one.entry.clone()),
        });
        let shown = shown.collect();
        self.points.push(ModelPoint { point, shown });
    }

    fn pick<T: Copy>(&mut self, from: &[T]) -> Option<T> {
        (!from.is_empty()).then(|| from[self.dice.below(from.len())])
    }

    /// The place of any resource with this prefix.
    fn any(&mut self, prefix: Prefix) -> Option<usize> {
        let places = &self.of_prefix[prefix as usize];
        (!places.is_empty()).then(|| places[self.dice.below(places.len())])
    }

    /// Places of the resources with this prefix.
    pub(crate) fn of_prefix(&self, prefix: Prefix) -> &[usize] {
        &self.of_prefix[prefix as usize]
    }

    /// The place of a resource.
    pub(crate) fn place_of(&self, id: &Id) -> usize {
        self.places[id]
    }

    fn id(&self, place: usize) -> Id {
        self.resources[place].id
    }

    pub(crate) fn wallet(&self, place: usize) -> &WalletEntry {
        match &self.resources[place].entry.fields {
            EntryFields::Wallet(wallet) => wallet,
            other => panic!("{other:?}"),
        }
    }

    fn wallet_mut(&mut self, place: usize) -> &mut WalletEntry {
        match &mut self.resources[place].entry.fields {
            EntryFields::Wallet(wallet) => wallet,
            other => panic!("{other:?}"),
        }
    }

    fn template(&self, place: usize) -> &TemplateEntry {
        match &self.resources[place].entry.fields {
            EntryFields::Template(template) => template,
            other => panic!("{other:?}"),
        }
    }

    fn template_mut(&mut self, place: usize) -> &mut TemplateEntry {
        match &mut self.resources[place].entry.fields {
            EntryFields::Template(template) => template,
            other => panic!("{other:?}"),
        }
    }

    fn object(&self, place: usize) -> ObjectEntry {
        match &self.resources[place].entry.fields {
            EntryFields::Object(object) => *object,
            other => panic!("{other:?}"),
        }
    }

    /// A wallet with keys that passes, and one of its keys.
    fn signer(&mut self, passes: impl Fn(usize, &WalletEntry) -> bool) -> Option<(usize, Address)> {
        let wallets = &self.of_prefix[Prefix::Wallet as usize];
        let begun = self.dice.below(wallets.len().max(1));
        let mut from_there = wallets[begun..].iter().chain(&wallets[..begun]);
        let place = *from_there.find(|place| {
            let wallet = self.wallet(**place);
            !wallet.keys.is_empty() && passes(**place, wallet)
        })?;
        let keys = self.wallet(place).keys.len();
        let key = self.dice.below(keys);
        Some((place, self.wallet(place).keys[key]))
    }

    /// A member of the organization who may administer it.
    fn admin(&mut self, organization: Id) -> Option<(usize, Address)> {
        self.signer(|_, wallet| {
            wallet.organization_id == organization && wallet.role != Role::Member
        })
    }

    /// Places an action on a resource, or one that makes a resource; returns its content.
    fn put(&mut self, request: &ModelRequest<'_>, on: Option<usize>, to: Option<Id>) -> Hash {
        let words = LeafWords {
            kind: kind_hash(request.kind),
            target: keccak(request.target.as_bytes()),
            payload: keccak(request.payload.as_bytes()),
            signer: request.by.1,
            authority: self.dice.word(),
        };
        let content = words.content();
        let number = self.actions.len();
        let sequence = number as u64 + 1;
        let integrity = match on {
            Some(place) => next_integrity(&self.resources[place].entry.integrity, &content),
            None => first_integrity(&content, 0),
        };
        if let Some(place) = on {
            let resource = &mut self.resources[place];
            resource.entry.version += 1;
            resource.entry.sequence = sequence;
            resource.entry.integrity = integrity;
            resource.actions.push(number);
        }
        let leaf = LogLeaf {
            sequence,
            timestamp_ms: START_MS + 10 * sequence,
            content,
            integrity,
        };
        let words = Some(words);
        self.actions.push(ModelAction {
            leaf: ShownLeaf { leaf, words },
            kind: request.kind,
            to,
            resource: on.unwrap_or(self.resources.len()),
            wallet: request.by.0,
            batch: self.batch,
        });
        content
    }

    /// Enters what the last action made as its `index`-th resource; returns its place.
    fn enter(&mut self, id: Id, content: &Hash, index: u32, fields: EntryFields) -> usize {
        let place = self.resources.len();
        let entry = StateEntry {
            version: 1,
            sequence: self.actions.len() as u64,
            integrity: first_integrity(content, index),
            fields,
        };
        self.resources.push(ModelResource {
            id,
            entry,
            actions: vec![self.actions.len() - 1],
            addresses: Vec::new(),
        });
        self.of_prefix[id.prefix as usize].push(place);
        assert!(self.places.insert(id, place).is_none());
        place
    }

    /// Makes a resource, as the only one of its action.
    fn make(&mut self, request: &ModelRequest<'_>, to: Option<Id>, fields: EntryFields) -> usize {
        let content = self.put(request, None, to);
        let id = match fields.prefix() {
            Prefix::Action => Id::of_hash(Prefix::Action, &content),
            prefix => Id::made_by(prefix, &content, 0),
        };
        self.enter(id, &content, 0, fields)
    }
}

fn address(dice: &mut Dice) -> Address {
    let word = dice.word();
    Address(word.0[..20].try_into().unwrap())
}

fn kind_hash(kind: &str) -> Hash {
    Kind::of_text(kind).map_or_else(|| keccak(kind.as_bytes()), |kind| kind.hash())
}
