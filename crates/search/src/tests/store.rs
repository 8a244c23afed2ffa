//! A test store with objects of several organizations, written row by row.

use std::borrow::Cow;

use kedge_protocol::action::{Kind, RequestHead};
use kedge_protocol::batch::{BatchHeader, SignedBatch};
use kedge_protocol::eip712::Domain;
use kedge_protocol::hash::keccak;
use kedge_protocol::record::{ActionRecord, RequestRecord};
use kedge_protocol::resource::{Object, ObjectStatus, ResourceTrace, Role, Template, Wallet};
use kedge_protocol::signature::Signature;
use kedge_protocol::{Address, Hash, Id, Prefix};
use kedge_rules::Caller;
use kedge_rules::index::IndexedPaths;
use kedge_storage::{LogHead, Store, StoreOptions, StoreSnapshot, WriteGroup};

/// Time of the first object.
pub(super) const START_MS: u64 = 1_790_000_000_000;
/// Milliseconds between two objects; some share a time.
const STEP_MS: u64 = 3;

pub(super) fn id(prefix: Prefix, number: u64) -> Id {
    Id::of_hash(prefix, &keccak(&number.to_be_bytes()))
}

pub(super) fn organization(number: u64) -> Id {
    id(Prefix::Organization, number)
}

pub(super) fn wallet(number: u64) -> Id {
    id(Prefix::Wallet, number)
}

pub(super) fn template(number: u64) -> Id {
    id(Prefix::Template, number)
}

pub(super) fn address(wallet: u64) -> Address {
    Address([wallet as u8; 20])
}

pub(super) fn caller(wallet_number: u64, organization_number: u64) -> Caller {
    Caller {
        wallet_id: wallet(wallet_number),
        organization_id: organization(organization_number),
        role: Role::Member,
        address: Address::ZERO,
    }
}

/// Number, organization, indexed properties, and whether it is public.
pub(super) type NewTemplate<'a> = (u64, u64, &'a [&'a str], bool);

/// An object with a template (an index into the list) and an owner.
pub(super) struct NewObject {
    pub(super) template: usize,
    pub(super) owner: u64,
    pub(super) properties: String,
    pub(super) status: ObjectStatus,
    /// Number of objects created before its last change.
    pub(super) changed_after: u64,
}

pub(super) struct TestStore {
    store: Store,
    templates: Vec<(Template, IndexedPaths)>,
    group: WriteGroup,
    sequence: u64,
    /// The log's head after the last commit.
    head: LogHead,
    _directory: tempfile::TempDir,
}

fn trace(sequence: u64) -> ResourceTrace {
    ResourceTrace {
        version: 1,
        integrity: Hash::ZERO,
        created_sequence: sequence,
        sequence,
        created_at_ms: time_ms(sequence),
        updated_at_ms: time_ms(sequence),
    }
}

pub(super) fn time_ms(sequence: u64) -> u64 {
    START_MS + sequence / 2 * STEP_MS
}

/// A schema that indexes these members; `a.b` is `b` within `a`.
fn schema(indexed: &[&str]) -> String {
    let members = indexed.iter().map(|path| {
        let mut keys = path.rsplit('.');
        let last = keys.next().unwrap();
        let mark = format!(r#""{last}":{{"x-index":true}}"#);
        keys.fold(mark, |inner, key| {
            format!(r#""{key}":{{"properties":{{{inner}}}}}"#)
        })
    });
    let members: Vec<String> = members.collect();
    format!(r#"{{"properties":{{{}}}}}"#, members.join(","))
}

impl TestStore {
    pub(super) fn new(templates: &[NewTemplate<'_>], wallets: u64) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let domain = Domain {
            chain_id: 1,
            verifying_contract: Address([1; 20]),
        };
        let store = Store::open(StoreOptions {
            side_keys: kedge_storage::SideKeys::one(1, [1; 32]),
            ..StoreOptions::of_store(&directory.path().join("store"), domain, Address([2; 20]))
        });
        let mut group = WriteGroup::new();
        let made = templates
            .iter()
            .map(|&(number, of, indexed, public_access)| {
                let schema = (!indexed.is_empty()).then(|| schema(indexed));
                let paths = schema.as_deref().map(IndexedPaths::of_schema);
                let template = Template {
                    id: template(number),
                    organization_id: organization(of),
                    name: format!("template {number}"),
                    description: String::new(),
                    properties: "{}".to_owned(),
                    schema,
                    max_supply: None,
                    actions: Vec::new(),
                    public_access,
                    variation_count: 0,
                    trace: trace(number),
                };
                group.put_template(&template, None);
                (
                    template,
                    paths.map_or_else(IndexedPaths::default, Result::unwrap),
                )
            });
        let made = made.collect();
        for number in 1..=wallets {
            let wallet = Wallet {
                id: wallet(number),
                organization_id: organization(1),
                role: Role::Member,
                nickname: None,
                email: format!("{number}@example.com"),
                address: address(number),
                keys: vec![address(number)],
                trace: trace(number),
            };
            group.put_wallet(&wallet, None);
        }
        Self {
            store: store.unwrap(),
            templates: made,
            group,
            sequence: 0,
            head: LogHead::empty(&domain),
            _directory: directory,
        }
    }

    /// Adds an object and the action that created it.
    pub(super) fn add(&mut self, new: NewObject) -> Object {
        self.sequence += 1;
        let sequence = self.sequence;
        let (template, indexed) = &self.templates[new.template];
        let object = Object {
            id: id(Prefix::Object, sequence),
            organization_id: template.organization_id,
            template_id: template.id,
            variation_id: sequence
                .is_multiple_of(3)
                .then(|| id(Prefix::Variation, sequence % 2)),
            owner_id: wallet(new.owner),
            owner_address: address(new.owner),
            properties: new.properties,
            status: new.status,
            trace: ResourceTrace {
                version: 1 + new.changed_after % 2,
                sequence: sequence + new.changed_after * 100_000,
                updated_at_ms: time_ms(sequence + new.changed_after * 100_000),
                ..trace(sequence)
            },
        };
        for change in indexed.changes(None, &object.properties) {
            self.group
                .change_property(&object, change.path, None, &change.after);
        }
        let record = self.record(object.id);
        self.group
            .put_request(&record, &[keccak(&sequence.to_be_bytes())]);
        self.group.put_mint(&object, &object.trace, sequence);
        if self.group.len_bytes() > 8 << 20 {
            self.commit();
        }
        object
    }

    fn record(&self, object: Id) -> RequestRecord<'static> {
        RequestRecord {
            batch_number: 0,
            first_sequence: self.sequence,
            first_leaf_index: 0,
            timestamp_ms: time_ms(self.sequence),
            organization_id: organization(1),
            wallet_id: wallet(1),
            head: RequestHead {
                signer: address(1),
                nonce: self.sequence,
                deadline_s: 0,
                atomic: false,
            },
            signature: Signature([0; 65]),
            salt_seed: Hash::ZERO,
            actions: vec![ActionRecord {
                index: 0,
                kind: Kind::Mint,
                target: Cow::Borrowed(""),
                payload: Cow::Borrowed("{}"),
                disclosed: None,
                resource: object,
                version: 1,
                previous_integrity: Hash::ZERO,
                previous_sequence: 0,
            }],
            failed: Vec::new(),
        }
    }

    /// Seals and commits everything added since the last batch. Its hashes are never checked.
    fn commit(&mut self) {
        let mut group = std::mem::replace(&mut self.group, WriteGroup::new());
        let count = self.sequence - self.head.sequence;
        if count > 0 {
            let header = BatchHeader {
                number: self.head.batches,
                first_sequence: self.head.sequence + 1,
                count: count as u32,
                previous_head: Hash::ZERO,
                head: Hash::ZERO,
                root: Hash::ZERO,
                history: Hash::ZERO,
                state: Hash::ZERO,
                sealed_at_ms: time_ms(self.sequence),
            };
            let batch = SignedBatch {
                header,
                signature: Signature([0; 65]),
            };
            group.put_batch(&batch, &vec![Hash::ZERO; count as usize]);
            self.head.batches += 1;
            self.head.sequence = self.sequence;
        }
        group.put_head(&self.head);
        self.store.commit(group).unwrap();
    }

    /// Stores the templates' object counts, and returns a snapshot.
    pub(super) fn snapshot(&mut self, minted: &[(u64, u64)]) -> StoreSnapshot {
        for (number, count) in minted {
            self.group.put_minted(template(*number), *count);
        }
        self.commit();
        self.store.snapshot()
    }
}
