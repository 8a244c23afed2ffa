//! A signed request of updates, with the objects that it changes.

use std::borrow::Cow;
use std::path::Path;
use std::sync::Arc;

use kedge_protocol::action::{ActionTexts, Kind, RequestHead, hash_actions};
use kedge_protocol::chain::{LogLeaf, next_integrity};
use kedge_protocol::eip712::Domain;
use kedge_protocol::hash::keccak;
use kedge_protocol::record::{ActionRecord, RequestRecord};
use kedge_protocol::resource::{Object, ObjectStatus, ResourceTrace, Role, Template, Wallet};
use kedge_protocol::signature::{Signature, SigningKey};
use kedge_protocol::{Address, Hash, Id, Prefix};
use kedge_rules::fold::FoldState;
use kedge_rules::sequencer::{KeyWrite, VersionKey};
use kedge_rules::{ActionInput, Caller, TemplateRules};
use kedge_storage::{StoreOptions, WriteGroup};

/// Time of all records, Unix milliseconds.
pub(crate) const START_MS: u64 = 1_700_000_000_000;
/// Target and payload of an action.
const ACTION_BYTES: usize = 286;
const KIND: Kind = Kind::Update;

pub(crate) struct Sample {
    pub(crate) actions: usize,
    pub(crate) body: String,
    pub(crate) head: RequestHead,
    pub(crate) signature: Signature,
    pub(crate) salt_seed: Hash,
    pub(crate) digest: Hash,
    pub(crate) contents: Vec<Hash>,
    targets: Vec<String>,
    payload: String,
    objects: Vec<Object>,
    after: Vec<Object>,
}

/// Domain of the request's signature.
pub(crate) fn domain() -> Domain {
    Domain {
        chain_id: 31_337,
        verifying_contract: Address([5; 20]),
    }
}

pub(crate) fn caller() -> Caller {
    Caller {
        wallet_id: id(Prefix::Wallet, 1),
        organization_id: id(Prefix::Organization, 1),
        role: Role::Owner,
        address: key().address(),
    }
}

/// A store with the server's settings.
pub(crate) fn store(path: &Path) -> StoreOptions {
    StoreOptions {
        side_keys: kedge_storage::SideKeys::one(1, [1; 32]),
        block_cache_bytes: 256 * 1024 * 1024,
        memtable_bytes: 256 * 1024 * 1024,
        ..StoreOptions::of_store(path, domain(), key().address())
    }
}

fn id(prefix: Prefix, number: u64) -> Id {
    Id::of_hash(prefix, &keccak(&number.to_be_bytes()))
}

pub(crate) fn key() -> SigningKey {
    SigningKey::from_bytes(&[0x42; 32]).expect("a key")
}

fn object(number: u64) -> Object {
    Object {
        id: id(Prefix::Object, number),
        organization_id: id(Prefix::Organization, 1),
        template_id: id(Prefix::Template, 1),
        variation_id: None,
        owner_id: id(Prefix::Wallet, 1),
        owner_address: key().address(),
        properties: format!(
            r#"{{"serial":{number},"state":"at a depot","step":1,"place":7.4474,"note":"{}"}}"#,
            "n".repeat(160)
        ),
        status: ObjectStatus::Active,
        trace: ResourceTrace {
            version: 2,
            integrity: Hash([3; 32]),
            created_sequence: 0,
            sequence: 0,
            created_at_ms: START_MS,
            updated_at_ms: START_MS,
        },
    }
}

/// The object after one more action.
fn after(object: &Object) -> Object {
    let mut after = object.clone();
    after.trace = after.trace.next(&Hash::ZERO);
    after.trace.place(1, START_MS);
    after
}

fn payload() -> String {
    let text = |note: &str| {
        format!(
            r#"{{"properties":{{"state":"in transit","step":2,"place":8.5417,"note":"{note}"}}}}"#
        )
    };
    let filled = object(0).id.to_string().len() + text("").len();
    text(&"n".repeat(ACTION_BYTES - filled))
}

impl Sample {
    /// A request of `actions` updates, each of another object.
    pub(crate) fn new(actions: usize) -> Self {
        let objects: Vec<Object> = (0..actions as u64).map(object).collect();
        let targets: Vec<String> = objects.iter().map(|object| object.id.to_string()).collect();
        let payload = payload();
        let texts: Vec<String> = targets
            .iter()
            .map(|id| {
                format!(r#"{{"action_type":"update","object_id":"{id}","payload":{payload}}}"#)
            })
            .collect();
        let body = match texts.as_slice() {
            [only] => only.clone(),
            all => format!(r#"{{"actions":[{}]}}"#, all.join(",")),
        };
        let mut sample = Self {
            actions,
            body,
            head: RequestHead {
                signer: key().address(),
                nonce: 1,
                deadline_s: START_MS / 1_000 + 600,
                atomic: false,
            },
            signature: Signature([0; 65]),
            salt_seed: Hash([9; 32]),
            digest: Hash::ZERO,
            contents: Vec::new(),
            targets,
            payload,
            after: objects.iter().map(after).collect(),
            objects,
        };
        let hash = |sample: &Self| {
            let signature_hash = keccak(&sample.signature.0);
            let signer = &sample.head.signer;
            hash_actions(&sample.texts(), &sample.salt_seed, signer, &signature_hash)
        };
        let action_hashes: Vec<Hash> = hash(&sample).iter().map(|hashes| hashes.action).collect();
        sample.digest = sample.head.digest(&domain().separator(), &action_hashes);
        sample.signature = key().sign(&sample.digest);
        sample.contents = hash(&sample).iter().map(|hashes| hashes.content).collect();
        sample
    }

    /// The signed texts.
    pub(crate) fn texts(&self) -> Vec<ActionTexts<'_>> {
        (0..)
            .zip(&self.targets)
            .map(|(index, target)| ActionTexts {
                index,
                kind: &KIND,
                target,
                payload: &self.payload,
            })
            .collect()
    }

    /// The objects, their template and their owner.
    pub(crate) fn state(&self) -> FoldState {
        let mut state = FoldState::default();
        let template = Template {
            id: id(Prefix::Template, 1),
            organization_id: id(Prefix::Organization, 1),
            name: "parcel".into(),
            description: String::new(),
            properties: "{}".into(),
            schema: None,
            max_supply: None,
            actions: Vec::new(),
            public_access: false,
            variation_count: 0,
            trace: ResourceTrace::NEW,
        };
        state
            .templates
            .insert(template.id, Arc::new(template.into()));
        let wallet = Wallet {
            id: id(Prefix::Wallet, 1),
            organization_id: id(Prefix::Organization, 1),
            role: Role::Owner,
            nickname: None,
            email: "bench@example.com".into(),
            address: key().address(),
            keys: vec![key().address()],
            trace: ResourceTrace::NEW,
        };
        state.wallets.insert(wallet.id, wallet);
        let objects = self
            .objects
            .iter()
            .map(|object| (object.id, object.clone()));
        state.objects.extend(objects);
        state
    }

    pub(crate) fn template(&self, state: &FoldState) -> Arc<TemplateRules> {
        Arc::clone(&state.templates[&self.objects[0].template_id])
    }

    /// Each object with its action.
    pub(crate) fn inputs(&self) -> impl Iterator<Item = (Id, ActionInput<'_>)> {
        let texts = self.targets.iter().zip(&self.contents);
        self.objects
            .iter()
            .zip(texts)
            .map(|(object, (target, content))| {
                let input = ActionInput {
                    kind: &KIND,
                    target,
                    payload: &self.payload,
                    signed: &self.payload,
                    content,
                    link: None,
                    allowance: None,
                };
                (object.id, input)
            })
    }

    /// The writes of the request, for objects at this version.
    pub(crate) fn writes(&self, base_version: u64) -> Vec<KeyWrite> {
        let write = |object: &Object| KeyWrite {
            key: VersionKey::resource(object.id),
            base_version,
            version: base_version + 1,
        };
        self.objects.iter().map(write).collect()
    }

    pub(crate) fn leaves(&self) -> Vec<LogLeaf> {
        (1..)
            .zip(self.objects.iter().zip(&self.contents))
            .map(|(sequence, (object, content))| LogLeaf {
                sequence,
                timestamp_ms: START_MS,
                content: *content,
                integrity: next_integrity(&object.trace.integrity, content),
            })
            .collect()
    }

    /// The request's log record, from this sequence on.
    pub(crate) fn record(&self, first_sequence: u64) -> RequestRecord<'_> {
        let actions = (0..).zip(self.objects.iter().zip(&self.targets));
        let actions = actions.map(|(index, (object, target))| ActionRecord {
            index,
            kind: KIND,
            target: Cow::Borrowed(target),
            payload: Cow::Borrowed(&self.payload),
            disclosed: None,
            resource: object.id,
            version: object.trace.version + 1,
            previous_integrity: object.trace.integrity,
            previous_sequence: object.trace.sequence,
        });
        RequestRecord {
            batch_number: first_sequence / 500,
            first_sequence,
            first_leaf_index: 0,
            timestamp_ms: START_MS,
            organization_id: id(Prefix::Organization, 1),
            wallet_id: id(Prefix::Wallet, 1),
            head: self.head,
            signature: self.signature,
            salt_seed: self.salt_seed,
            actions: actions.collect(),
            failed: Vec::new(),
        }
    }

    /// A commit group of this request alone.
    pub(crate) fn group(&self, first_sequence: u64) -> WriteGroup {
        let mut group = WriteGroup::new();
        self.put(&mut group, first_sequence);
        group
    }

    /// Adds the request's record and the changed objects to a group.
    pub(crate) fn put(&self, group: &mut WriteGroup, first_sequence: u64) {
        group.put_request(&self.record(first_sequence), &self.contents);
        for object in &self.after {
            group.put_object(object, &object.trace, None);
        }
    }
}
