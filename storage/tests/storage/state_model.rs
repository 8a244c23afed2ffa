//! Random actions on resources of all types, and the entries and roots that follow from them without the store.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::path::Path;

use kedge_log::packed::owned_record;
use kedge_protocol::action::{Kind, RequestHead};
use kedge_protocol::batch::BatchHeader;
use kedge_protocol::chain::{LogLeaf, first_integrity, next_head, next_integrity};
use kedge_protocol::hash::keccak;
use kedge_protocol::log_tree::TreeFrontier;
use kedge_protocol::merkle::BatchTree;
use kedge_protocol::record::{ActionRecord, RequestRecord};
use kedge_protocol::resource::{
    ActionRule, ApiKey, Dispute, DisputeMatter, FileRecord, Object, ObjectStatus, Organization,
    ResourceTrace, Role, SequencerKey, Template, Tier, Variation, Wallet, Webhook, Who,
};
use kedge_protocol::signature::Signature;
use kedge_protocol::state::entry::{
    ApiKeyEntry, DisputeEntry, EntryFields, EntryRule, FileEntry, NamedKeyEntry, ObjectEntry,
    TemplateEntry, VariationEntry, WalletEntry, WebhookEntry,
};
use kedge_protocol::state::{StateEntry, state_path};
use kedge_protocol::{Address, Hash, Id, KeyActivation, Prefix};
use kedge_storage::{
    MissingMark, NamedResource as _, Store, StoreOpening, StoreSnapshot, WriteGroup,
};

use crate::plain_trie::{nibbles, plain_root};
use crate::support::{Log, START_MS, domain, options, sequencer, signer};

/// Actions of one request.
const REQUEST_ACTIONS: usize = 50;
/// Batch from which named keys would sign; no test gets there.
const FAR_BATCH: u64 = 1 << 40;

/// A generator of numbers that gives the same ones for the same seed.
#[derive(Clone)]
pub(crate) struct Dice(pub(crate) u64);

impl Dice {
    pub(crate) fn next(&mut self) -> u64 {
        self.0 += 1;
        let hash = keccak(&self.0.to_be_bytes());
        u64::from_be_bytes(hash.0[..8].try_into().unwrap())
    }

    /// A number below `end`.
    pub(crate) fn below(&mut self, end: usize) -> usize {
        (self.next() % end as u64) as usize
    }

    fn hash(&mut self) -> Hash {
        keccak(&self.next().to_be_bytes())
    }

    fn address(&mut self) -> Address {
        Address(self.hash().0[..20].try_into().unwrap())
    }

    fn text(&mut self) -> String {
        format!("{{\"n\":{}}}", self.next())
    }
}

/// A resource of any type.
#[derive(Clone)]
pub(crate) enum Resource {
    Object(Object),
    Wallet(Wallet),
    Organization(Organization),
    Template(Template),
    /// With its integrity.
    Variation(Variation, Hash),
    ApiKey(ApiKey),
    Webhook(Webhook),
    File(FileRecord),
    Dispute(Dispute),
    SequencerKey(SequencerKey),
}

impl Resource {
    fn trace(&mut self) -> &mut ResourceTrace {
        match self {
            Self::Object(of) => &mut of.trace,
            Self::Wallet(of) => &mut of.trace,
            Self::Organization(of) => &mut of.trace,
            Self::Template(of) => &mut of.trace,
            Self::Variation(..) => unreachable!("no action is on a variation"),
            Self::ApiKey(of) => &mut of.trace,
            Self::Webhook(of) => &mut of.trace,
            Self::File(of) => &mut of.trace,
            Self::Dispute(of) => &mut of.trace,
            Self::SequencerKey(of) => &mut of.trace,
        }
    }
}

/// Rows of one action.
#[derive(Clone)]
enum Written {
    Resource(Resource),
    Mint(Object, u64),
    Moved(Object, Id),
    Burned(Id, u64),
}

impl Written {
    fn put(&self, group: &mut WriteGroup) {
        match self {
            Self::Resource(resource) => match resource {
                Resource::Object(of) => group.put_object(of, &of.trace, None),
                Resource::Wallet(of) => group.put_wallet(of, None),
                Resource::Organization(of) => group.put_resource(of),
                Resource::Template(of) => group.put_template(of, None),
                Resource::Variation(of, _) => group.put_variation(of),
                Resource::ApiKey(of) => group.put_resource(of),
                Resource::Webhook(of) => group.put_resource(of),
                Resource::File(of) => group.put_resource(of),
                Resource::Dispute(of) => group.put_dispute(of),
                Resource::SequencerKey(of) => of.put_into(group, None),
            },
            Self::Mint(object, serial) => group.put_mint(object, &object.trace, *serial),
            Self::Moved(object, before) => group.put_object(object, &object.trace, Some(*before)),
            Self::Burned(template, count) => group.put_burned(*template, *count),
        }
    }
}

/// Counts of a template's objects.
#[derive(Clone, Copy, Default)]
struct ObjectCounts {
    minted: u64,
    burned: u64,
}

/// An action that is being applied.
struct Step<'a> {
    content: &'a Hash,
    sequence: u64,
    timestamp_ms: u64,
}

impl Step<'_> {
    /// The trace of the `index`-th resource that the action makes.
    fn made(&self, index: u32) -> ResourceTrace {
        let mut trace = ResourceTrace::made_by(self.content, index);
        trace.place(self.sequence, self.timestamp_ms);
        trace
    }

    fn id(&self, prefix: Prefix) -> Id {
        Id::made_by(prefix, self.content, 0)
    }
}

/// What an action was on, with its trace before.
type ActedOn = (Id, ResourceTrace);

/// A log of random actions.
#[derive(Clone)]
pub(crate) struct StateModel {
    pub(crate) log: Log,
    pub(crate) dice: Dice,
    pub(crate) resources: BTreeMap<Id, Resource>,
    serials: BTreeMap<Id, u64>,
    counts: BTreeMap<Id, ObjectCounts>,
    /// The rows of each batch.
    written: Vec<Vec<Written>>,
}

impl StateModel {
    pub(crate) fn new(seed: u64) -> Self {
        Self {
            log: Log::default(),
            dice: Dice(seed << 32),
            resources: BTreeMap::new(),
            serials: BTreeMap::new(),
            counts: BTreeMap::new(),
            written: Vec::new(),
        }
    }

    fn ids(&self, prefix: Prefix) -> Vec<Id> {
        let ids = self.resources.keys().copied();
        ids.filter(|id| id.prefix == prefix).collect()
    }

    fn pick(&mut self, prefix: Prefix) -> Option<Id> {
        let ids = self.ids(prefix);
        (!ids.is_empty()).then(|| ids[self.dice.below(ids.len())])
    }

    /// Commits a batch of this many actions.
    pub(crate) fn commit(&mut self, store: &Store, actions: usize) -> StoreSnapshot {
        let group = self.batch(actions);
        let snapshot = store.commit(group).unwrap();
        store.release(&self.log.head).unwrap();
        snapshot
    }

    /// A batch of this many actions, in a group with all its writes.
    pub(crate) fn batch(&mut self, actions: usize) -> WriteGroup {
        let mut group = WriteGroup::new();
        let (mut leaves, mut written) = (Vec::new(), Vec::new());
        let mut head = self.log.head.head;
        while leaves.len() < actions {
            let count = (actions - leaves.len()).min(REQUEST_ACTIONS);
            let (record, contents) = self.request(count, leaves.len(), &mut written);
            for leaf in put_request(&mut group, &record, &contents) {
                head = next_head(&head, &leaf);
                leaves.push(leaf);
            }
        }
        let at = self.log.head;
        let header = BatchHeader {
            number: at.batches,
            first_sequence: at.sequence + 1,
            count: leaves.len() as u32,
            previous_head: at.head,
            head,
            root: BatchTree::new(&leaves).root(),
            history: self.log.tree.root(),
            state: Hash::ZERO,
            sealed_at_ms: START_MS + at.batches * 10 + 5,
        };
        let batch = header.sign(&domain().separator(), &sequencer());
        for row in &written {
            row.put(&mut group);
        }
        self.written.push(written);
        self.log.put_batch(&mut group, &batch, &leaves);
        group
    }

    fn request(
        &mut self,
        count: usize,
        first_leaf: usize,
        written: &mut Vec<Written>,
    ) -> (RequestRecord<'static>, Vec<Hash>) {
        self.log.nonce += 1;
        let at = self.log.head;
        let timestamp_ms = START_MS + at.batches * 10;
        let first_sequence = at.sequence + 1 + first_leaf as u64;
        let target = self.log.template;
        let action = |index: usize| ActionRecord {
            index: index as u16,
            kind: Kind::Update,
            target: Cow::Owned(target.to_string()),
            payload: Cow::Owned(format!("{{\"n\":{}}}", first_sequence + index as u64)),
            disclosed: None,
            resource: target,
            version: 0,
            previous_integrity: Hash::ZERO,
            previous_sequence: 0,
        };
        let mut record = RequestRecord {
            batch_number: at.batches,
            first_sequence,
            first_leaf_index: first_leaf as u32,
            timestamp_ms,
            organization_id: self.log.organization,
            wallet_id: Id::of_hash(Prefix::Wallet, &Hash::ZERO),
            head: RequestHead {
                signer: signer().address(),
                nonce: self.log.nonce,
                deadline_s: timestamp_ms / 1000 + 600,
                atomic: false,
            },
            signature: Signature([0; 65]),
            salt_seed: keccak(&self.log.nonce.to_be_bytes()),
            actions: (0..count).map(action).collect(),
            failed: Vec::new(),
        };
        let hashes = record.action_hashes().unwrap();
        let digest = record.head.digest(&domain().separator(), &hashes);
        record.signature = signer().sign(&digest);
        let contents: Vec<_> = record.actions.iter().map(|a| record.content(a)).collect();
        for (index, content) in contents.iter().enumerate() {
            let step = Step {
                content,
                sequence: first_sequence + index as u64,
                timestamp_ms,
            };
            let (resource, before) = self.act(&step, written);
            let action = &mut record.actions[index];
            action.resource = resource;
            action.version = before.version + 1;
            action.previous_integrity = before.integrity;
            action.previous_sequence = before.sequence;
        }
        (record, contents)
    }

    fn put(&mut self, id: Id, resource: Resource, written: &mut Vec<Written>) {
        written.push(Written::Resource(resource.clone()));
        self.resources.insert(id, resource);
    }

    /// A random action.
    fn act(&mut self, step: &Step<'_>, written: &mut Vec<Written>) -> ActedOn {
        let wallets = self.ids(Prefix::Wallet).len();
        let templates = self.ids(Prefix::Template).len();
        match self.dice.below(40) {
            _ if wallets == 0 => self.register(step, written),
            _ if templates == 0 => self.make_template(step, written),
            0..3 => self.register(step, written),
            3 => self.make_template(step, written),
            4..7 => self.make_record(step, written),
            7..9 => self.name_key(step, written),
            9..24 => self.mint(step, written),
            _ => self.change(step, written),
        }
    }

    /// A wallet, and half of the time its organization.
    fn register(&mut self, step: &Step<'_>, written: &mut Vec<Written>) -> ActedOn {
        let known = self.pick(Prefix::Organization);
        let known = known.filter(|_| self.dice.below(2) == 0);
        let organization_id = known.unwrap_or_else(|| step.id(Prefix::Organization));
        if known.is_none() {
            let organization = Organization {
                id: organization_id,
                name: self.dice.text(),
                tier: Tier::Free,
                trace: step.made(1),
            };
            let made = Resource::Organization(organization);
            self.put(organization_id, made, written);
        }
        let (id, address) = (step.id(Prefix::Wallet), self.dice.address());
        let wallet = Wallet {
            id,
            organization_id,
            role: Role::Owner,
            nickname: None,
            email: format!("{id}@example.com"),
            address,
            keys: vec![address],
            trace: step.made(0),
        };
        self.put(id, Resource::Wallet(wallet), written);
        (id, ResourceTrace::NEW)
    }

    fn make_template(&mut self, step: &Step<'_>, written: &mut Vec<Written>) -> ActedOn {
        let id = step.id(Prefix::Template);
        let kinds = [Kind::Transfer, Kind::Custom("x.seen".into()), Kind::Update];
        let rules = kinds.into_iter().take(self.dice.below(4)).enumerate();
        let template = Template {
            id,
            organization_id: self.pick(Prefix::Organization).unwrap(),
            name: id.to_string(),
            description: String::new(),
            properties: self.dice.text(),
            schema: (self.dice.below(2) == 0).then(|| self.dice.text()),
            max_supply: (self.dice.below(2) == 0).then_some(1 << 30),
            actions: rules
                .map(|(place, kind)| ActionRule {
                    kind,
                    who: [Who::Owner, Who::Issuer, Who::Anyone][place],
                    schema: (place == 1).then(|| self.dice.text()),
                })
                .collect(),
            public_access: self.dice.below(2) == 0,
            variation_count: 0,
            trace: step.made(0),
        };
        self.put(id, Resource::Template(template), written);
        (id, ResourceTrace::NEW)
    }

    /// An API key, a webhook, a file or a dispute.
    fn make_record(&mut self, step: &Step<'_>, written: &mut Vec<Written>) -> ActedOn {
        let organization_id = self.pick(Prefix::Organization).unwrap();
        let wallet_id = self.pick(Prefix::Wallet).unwrap();
        let trace = step.made(0);
        let (id, made) = match self.dice.below(4) {
            0 => {
                let id = step.id(Prefix::Key);
                let key = ApiKey {
                    id,
                    organization_id,
                    wallet_id,
                    name: String::new(),
                    permissions: Vec::new(),
                    expires_at_ms: None,
                    rotations: 0,
                    overlap_s: 0,
                    deleted: false,
                    trace,
                };
                (id, Resource::ApiKey(key))
            }
            1 => {
                let id = step.id(Prefix::Webhook);
                let webhook = Webhook {
                    id,
                    organization_id,
                    url: "https://example.com".to_owned(),
                    events: vec!["*".to_owned()],
                    active: true,
                    description: String::new(),
                    rotations: 0,
                    overlap_s: 0,
                    deleted: false,
                    trace,
                };
                (id, Resource::Webhook(webhook))
            }
            2 => {
                let id = step.id(Prefix::File);
                let file = FileRecord {
                    id,
                    organization_id,
                    wallet_id,
                    name: "a.png".to_owned(),
                    sha256: self.dice.hash(),
                    size_bytes: self.dice.next(),
                    media_type: "image/png".to_owned(),
                    trace,
                };
                (id, Resource::File(file))
            }
            _ => {
                let id = step.id(Prefix::Dispute);
                let dispute = Dispute {
                    id,
                    organization_id,
                    subject_id: Id::of_hash(Prefix::Batch, &self.dice.hash()),
                    matter: DisputeMatter::Fault {
                        evidence_digest: self.dice.hash(),
                    },
                    verdict: self.dice.text(),
                    trace,
                };
                (id, Resource::Dispute(dispute))
            }
        };
        self.put(id, made, written);
        (id, ResourceTrace::NEW)
    }

    fn name_key(&mut self, step: &Step<'_>, written: &mut Vec<Written>) -> ActedOn {
        let id = Id::of_hash(Prefix::Action, step.content);
        let named = SequencerKey {
            id,
            entry: KeyActivation {
                key: self.dice.address(),
                from_batch: FAR_BATCH + step.sequence,
            },
            trace: step.made(0),
        };
        self.put(id, Resource::SequencerKey(named), written);
        (id, ResourceTrace::NEW)
    }

    fn mint(&mut self, step: &Step<'_>, written: &mut Vec<Written>) -> ActedOn {
        let (id, template_id) = (step.id(Prefix::Object), self.pick(Prefix::Template));
        let template_id = template_id.unwrap();
        let variations = self.ids(Prefix::Variation);
        let object = Object {
            id,
            organization_id: self.pick(Prefix::Organization).unwrap(),
            template_id,
            variation_id: variations
                .get(self.dice.below(1 + variations.len()))
                .copied(),
            owner_id: self.pick(Prefix::Wallet).unwrap(),
            // The address that the action named.
            owner_address: self.dice.address(),
            properties: self.dice.text(),
            status: ObjectStatus::Active,
            trace: step.made(0),
        };
        let counts = self.counts.entry(template_id).or_default();
        counts.minted += 1;
        self.serials.insert(id, counts.minted);
        written.push(Written::Mint(object.clone(), counts.minted));
        self.resources.insert(id, Resource::Object(object));
        (id, ResourceTrace::NEW)
    }

    /// A change of a resource that can change.
    fn change(&mut self, step: &Step<'_>, written: &mut Vec<Written>) -> ActedOn {
        let prefixes = [
            Prefix::Object,
            Prefix::Object,
            Prefix::Object,
            Prefix::Object,
            Prefix::Wallet,
            Prefix::Template,
            Prefix::Organization,
            Prefix::Key,
            Prefix::Webhook,
        ];
        let prefix = prefixes[self.dice.below(prefixes.len())];
        let id = self.pick(prefix);
        let id = id.unwrap_or_else(|| self.ids(Prefix::Wallet)[0]);
        let mut resource = self.resources[&id].clone();
        let before = *resource.trace();
        let mut after = before.next(step.content);
        after.place(step.sequence, step.timestamp_ms);
        *resource.trace() = after;
        match &mut resource {
            Resource::Object(object) => self.change_object(object, written),
            Resource::Wallet(wallet) => match self.dice.below(4) {
                0 => wallet.keys.clear(),
                1 => wallet.role = [Role::Admin, Role::Member][self.dice.below(2)],
                _ => wallet.keys.push(self.dice.address()),
            },
            Resource::Template(template) => {
                template.properties = self.dice.text();
                template.schema = (self.dice.below(2) == 0).then(|| self.dice.text());
                self.add_variations(template, step, written);
            }
            Resource::ApiKey(key) => key.deleted = true,
            Resource::Webhook(webhook) => {
                webhook.active = !webhook.active;
                webhook.deleted = self.dice.below(4) == 0;
            }
            _ => {}
        }
        if !matches!(resource, Resource::Object(_)) {
            written.push(Written::Resource(resource.clone()));
        }
        self.resources.insert(id, resource);
        // The role of another wallet changes without an action on it.
        let other = self.pick(Prefix::Wallet).unwrap();
        if other != id && self.dice.below(4) == 0 {
            let mut resource = self.resources[&other].clone();
            if let Resource::Wallet(wallet) = &mut resource {
                wallet.role = [Role::Owner, Role::Member][self.dice.below(2)];
            }
            self.put(other, resource, written);
        }
        (id, before)
    }

    fn change_object(&mut self, object: &mut Object, written: &mut Vec<Written>) {
        let before = object.owner_id;
        match self.dice.below(5) {
            0 => {
                if object.status != ObjectStatus::Burned {
                    let counts = self.counts.entry(object.template_id).or_default();
                    counts.burned += 1;
                    written.push(Written::Burned(object.template_id, counts.burned));
                }
                object.status = ObjectStatus::Burned;
            }
            1 if object.status == ObjectStatus::Active => object.status = ObjectStatus::Locked,
            2 => object.owner_id = self.pick(Prefix::Wallet).unwrap(),
            _ => object.properties = self.dice.text(),
        }
        written.push(Written::Moved(object.clone(), before));
    }

    fn add_variations(
        &mut self,
        template: &mut Template,
        step: &Step<'_>,
        written: &mut Vec<Written>,
    ) {
        for place in 0..self.dice.below(4) as u32 {
            let id = Id::made_by(Prefix::Variation, step.content, place);
            let variation = Variation {
                id,
                template_id: template.id,
                organization_id: template.organization_id,
                name: format!("Größe {}", template.variation_count),
                properties: self.dice.text(),
                index: template.variation_count,
                created_sequence: step.sequence,
                created_at_ms: step.timestamp_ms,
            };
            template.variation_count += 1;
            let integrity = first_integrity(step.content, place + 1);
            self.put(id, Resource::Variation(variation, integrity), written);
        }
    }
}

/// Adds a request; returns the leaves of its actions.
fn put_request(group: &mut WriteGroup, record: &RequestRecord<'_>, contents: &[Hash]) -> Vec<Hash> {
    group.put_request(record, contents);
    let actions = record.actions.iter().zip(contents);
    let leaf = |((action, content), sequence): ((&ActionRecord<'_>, &Hash), u64)| LogLeaf {
        sequence,
        timestamp_ms: record.timestamp_ms,
        content: *content,
        integrity: next_integrity(&action.previous_integrity, content),
    };
    let leaves = actions.zip(record.first_sequence..).map(leaf);
    leaves.map(|leaf| leaf.hash()).collect()
}

impl StateModel {
    /// Opens the store, and applies the frames whose rows are missing.
    pub(crate) fn open(&self, data: &Path) -> Store {
        let opening = Store::begin(options(data), MissingMark::ReadOnly).unwrap();
        self.replay(&opening);
        opening.finish().unwrap()
    }

    fn replay(&self, opening: &StoreOpening) {
        let snapshot = opening.snapshot();
        let head = snapshot.head().unwrap();
        let mut log = Log {
            head,
            tree: TreeFrontier::load(head.batches, &snapshot).unwrap(),
            ..Log::default()
        };
        for frame in opening.frames().unwrap() {
            let frame = frame.unwrap();
            let mut rows = WriteGroup::of_rows();
            let mut leaves = Vec::new();
            for request in frame.requests().unwrap() {
                let record = owned_record(request.into_record().unwrap());
                let contents: Vec<_> = record.actions.iter().map(|a| record.content(a)).collect();
                leaves.extend(put_request(&mut rows, &record, &contents));
            }
            for batch in frame.batches().unwrap() {
                for row in &self.written[batch.header.number as usize] {
                    row.put(&mut rows);
                }
                let own: Vec<_> = leaves.drain(..batch.header.count as usize).collect();
                log.put_batch(&mut rows, &batch, &own);
            }
            let side = opening.side(&frame).unwrap();
            rows.put_side_entries(&side).unwrap();
            opening.apply(&rows, &frame).unwrap();
        }
    }

    /// The entry of a resource, from the model alone.
    pub(crate) fn entry(&self, id: Id) -> Option<StateEntry> {
        let mut resource = self.resources.get(&id)?.clone();
        if let Resource::Variation(variation, integrity) = resource {
            return Some(StateEntry {
                version: 1,
                sequence: variation.created_sequence,
                integrity,
                fields: EntryFields::Variation(VariationEntry {
                    organization_id: variation.organization_id,
                    template_id: variation.template_id,
                    index: variation.index,
                    name_hash: keccak(variation.name.as_bytes()),
                    properties_hash: keccak(variation.properties.as_bytes()),
                }),
            });
        }
        let trace = *resource.trace();
        Some(StateEntry {
            version: trace.version,
            sequence: trace.sequence,
            integrity: trace.integrity,
            fields: self.fields(id, resource),
        })
    }

    fn template_fields(&self, id: Id, of: &Template) -> TemplateEntry {
        let text_hash = |text: &Option<String>| keccak(text.as_deref().unwrap_or("").as_bytes());
        let counts = self.counts.get(&id).copied().unwrap_or_default();
        TemplateEntry {
            organization_id: of.organization_id,
            public_access: of.public_access,
            max_supply: of.max_supply,
            minted_count: counts.minted,
            burned_count: counts.burned,
            variation_count: of.variation_count,
            properties_hash: keccak(of.properties.as_bytes()),
            schema_hash: text_hash(&of.schema),
            rules: (of.actions.iter())
                .map(|rule| EntryRule {
                    kind: rule.kind.text().to_owned(),
                    who: rule.who,
                    schema_hash: text_hash(&rule.schema),
                })
                .collect(),
        }
    }

    fn fields(&self, id: Id, resource: Resource) -> EntryFields {
        match resource {
            Resource::Object(of) => EntryFields::Object(ObjectEntry {
                organization_id: of.organization_id,
                template_id: of.template_id,
                variation_id: of.variation_id,
                serial: self.serials[&id],
                owner_id: of.owner_id,
                owner_address: match &self.resources[&of.owner_id] {
                    Resource::Wallet(owner) => owner.address,
                    _ => unreachable!("a wallet owns an object"),
                },
                status: of.status,
                properties_hash: keccak(of.properties.as_bytes()),
            }),
            Resource::Wallet(of) => EntryFields::Wallet(WalletEntry {
                organization_id: of.organization_id,
                address: of.address,
                role: of.role,
                keys: {
                    let mut keys = of.keys;
                    keys.sort_unstable();
                    keys
                },
            }),
            Resource::Organization(_) => EntryFields::Organization {},
            Resource::Template(of) => EntryFields::Template(self.template_fields(id, &of)),
            Resource::Variation(..) => unreachable!("it has no trace"),
            Resource::ApiKey(of) => EntryFields::ApiKey(ApiKeyEntry {
                organization_id: of.organization_id,
                deleted: of.deleted,
            }),
            Resource::Webhook(of) => EntryFields::Webhook(WebhookEntry {
                organization_id: of.organization_id,
                active: of.active,
                deleted: of.deleted,
            }),
            Resource::File(of) => EntryFields::File(FileEntry {
                organization_id: of.organization_id,
                wallet_id: of.wallet_id,
                sha256: of.sha256,
                size_bytes: of.size_bytes,
            }),
            Resource::Dispute(of) => EntryFields::Dispute(DisputeEntry {
                organization_id: of.organization_id,
                subject_id: of.subject_id,
            }),
            Resource::SequencerKey(of) => EntryFields::SequencerKey(NamedKeyEntry {
                address: of.entry.key,
                from_batch: of.entry.from_batch,
            }),
        }
    }

    /// The root over the entries of all resources, from the model alone.
    pub(crate) fn root(&self) -> Hash {
        let mut bytes = Vec::new();
        let mut leaves: Vec<_> = (self.resources.keys())
            .map(|id| {
                self.entry(*id).unwrap().encode(&mut bytes);
                (nibbles(&state_path(id)), keccak(&bytes))
            })
            .collect();
        leaves.sort();
        plain_root(&leaves)
    }
}
