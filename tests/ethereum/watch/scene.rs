//! A log of opened actions, and the states that its sequencer signs: true ones, until a test bends an entry.

use std::collections::BTreeMap;
use std::convert::Infallible;

use kedge_protocol::action::{Kind, RequestHead};
use kedge_protocol::chain::{LogLeaf, first_integrity};
use kedge_protocol::checkpoint::SignedCheckpoint;
use kedge_protocol::hash::keccak;
use kedge_protocol::record::{ActionRecord, RequestRecord};
use kedge_protocol::resource::{ObjectStatus, Role};
use kedge_protocol::signature::SigningKey;
use kedge_protocol::state::entry::{ApiKeyEntry, ObjectEntry, TemplateEntry, WalletEntry};
use kedge_protocol::state::trie::{
    NodePath, StateLeaves, StateNodes, StoredBranch, prove_state, update_state,
};
use kedge_protocol::state::{EntryFields, StateAnswer, StateEntry, StateTexts, state_path};
use kedge_protocol::{Hash, Id, Prefix};

use super::faulty::sequencer;
use super::signed_log::{SignedLog, domain, key};

/// The entries of a state, by their paths, and the checkpoint that signs its root.
pub(crate) struct SignedState {
    pub(crate) checkpoint: SignedCheckpoint,
    table: StateTable,
    /// A node that is the whole trie, and has not the form of one.
    broken: Option<Vec<u8>>,
}

struct StateTable(BTreeMap<Hash, Vec<u8>>);

impl StateNodes for StateTable {
    type Error = Infallible;

    fn branch(&self, _: &NodePath) -> Result<Option<StoredBranch>, Infallible> {
        Ok(None)
    }
}

impl StateLeaves for StateTable {
    type Error = Infallible;

    fn leaves(
        &self,
        first: &Hash,
        last: &Hash,
        each: &mut dyn FnMut(&Hash, &Hash),
    ) -> Result<(), Infallible> {
        for (path, entry) in self.0.range(*first..=*last) {
            each(path, &keccak(entry));
        }
        Ok(())
    }
}

impl SignedState {
    /// The answer of `GET /state/{id}`.
    pub(crate) fn answer(&self, key: Id) -> StateAnswer {
        let path = state_path(&key);
        let entry = self.table.0.get(&path).cloned().unwrap_or_default();
        let nodes = if let Some(node) = &self.broken {
            vec![node.clone()]
        } else {
            let proven = prove_state(&self.table, &self.table, &[path]);
            proven.unwrap().unwrap().nodes.remove(0)
        };
        StateAnswer {
            key,
            present: !entry.is_empty(),
            entry,
            fields: None,
            texts: StateTexts::default(),
            nodes,
            checkpoint: self.checkpoint,
            anchor: None,
        }
    }
}

/// A member of an organization, by the only key of their wallet.
pub(crate) struct SceneMember {
    pub(crate) key: SigningKey,
    pub(crate) wallet: Id,
    pub(crate) organization: Id,
}

/// What an action is done to.
pub(crate) enum SceneSubject {
    /// A resource of this type, which the action makes.
    New(Prefix),
    Known(Id),
}

/// A log with one action in each batch, and the entries after its last one.
#[derive(Default)]
pub(crate) struct SceneLog {
    pub(crate) log: SignedLog,
    pub(crate) requests: Vec<RequestRecord<'static>>,
    pub(crate) entries: BTreeMap<Id, StateEntry>,
    /// Bytes that the next state holds instead of an entry.
    pub(crate) bytes: BTreeMap<Id, Vec<u8>>,
}

impl SceneLog {
    /// A new member with an organization of their own.
    pub(crate) fn register(&mut self, number: u8) -> SceneMember {
        let mut member = SceneMember {
            key: key(number),
            wallet: Id::made_by(Prefix::Wallet, &Hash::ZERO, 0),
            organization: Id::made_by(Prefix::Organization, &Hash::ZERO, 0),
        };
        let subject = SceneSubject::New(Prefix::Wallet);
        let leaf = self.act(&member, ("wallet.register", "", "{}"), &subject);
        member.wallet = Id::made_by(Prefix::Wallet, &leaf.content, 0);
        member.organization = Id::made_by(Prefix::Organization, &leaf.content, 0);
        let last = self.requests.last_mut().unwrap();
        (last.wallet_id, last.organization_id) = (member.wallet, member.organization);
        let address = member.key.address();
        let wallet = EntryFields::Wallet(WalletEntry {
            organization_id: member.organization,
            address,
            role: Role::Owner,
            keys: vec![address],
        });
        self.hold(member.wallet, &leaf, leaf.integrity, wallet);
        let integrity = first_integrity(&leaf.content, 1);
        let fields = EntryFields::Organization {};
        self.hold(member.organization, &leaf, integrity, fields);
        member
    }

    fn hold(&mut self, id: Id, leaf: &LogLeaf, integrity: Hash, fields: EntryFields) {
        let entry = StateEntry {
            version: 1,
            sequence: leaf.sequence,
            integrity,
            fields,
        };
        self.entries.insert(id, entry);
    }

    /// A template of the member's organization.
    pub(crate) fn template(&mut self, member: &SceneMember) -> Id {
        let subject = SceneSubject::New(Prefix::Template);
        let leaf = self.act(member, ("template.create", "", "{}"), &subject);
        let id = Id::made_by(Prefix::Template, &leaf.content, 0);
        let fields = EntryFields::Template(TemplateEntry {
            organization_id: member.organization,
            public_access: false,
            max_supply: None,
            minted_count: 0,
            burned_count: 0,
            variation_count: 0,
            properties_hash: keccak(b"{}"),
            schema_hash: keccak(b""),
            rules: Vec::new(),
        });
        self.hold(id, &leaf, leaf.integrity, fields);
        id
    }

    /// An object of the member's.
    pub(crate) fn mint(&mut self, member: &SceneMember, template: Id) -> Id {
        let subject = SceneSubject::New(Prefix::Object);
        let leaf = self.act(member, ("mint", &template.to_string(), "{}"), &subject);
        let id = Id::made_by(Prefix::Object, &leaf.content, 0);
        let (mut organization_id, mut serial) = (member.organization, 0);
        self.bend_template(template, |template| {
            template.minted_count += 1;
            (organization_id, serial) = (template.organization_id, template.minted_count);
        });
        let fields = EntryFields::Object(ObjectEntry {
            organization_id,
            template_id: template,
            variation_id: None,
            serial,
            owner_id: member.wallet,
            owner_address: member.key.address(),
            status: ObjectStatus::Active,
            properties_hash: keccak(b"{}"),
        });
        self.hold(id, &leaf, leaf.integrity, fields);
        id
    }

    /// An API key, made by the member, that the state holds as the organization's.
    pub(crate) fn api_key(&mut self, member: &SceneMember, organization_id: Id) -> Id {
        let subject = SceneSubject::New(Prefix::Key);
        let leaf = self.act(member, ("key.create", "", "{}"), &subject);
        let id = Id::made_by(Prefix::Key, &leaf.content, 0);
        let fields = EntryFields::ApiKey(ApiKeyEntry {
            organization_id,
            deleted: false,
        });
        self.hold(id, &leaf, leaf.integrity, fields);
        id
    }

    /// An action on a resource, which its entry follows.
    pub(crate) fn step(&mut self, member: &SceneMember, kind: &str, id: Id) -> LogLeaf {
        self.step_with(member, (kind, "{}"), id)
    }

    pub(crate) fn step_with(
        &mut self,
        member: &SceneMember,
        (kind, payload): (&str, &str),
        id: Id,
    ) -> LogLeaf {
        let target = id.to_string();
        let leaf = self.act(member, (kind, &target, payload), &SceneSubject::Known(id));
        let entry = self.entries.get_mut(&id).unwrap();
        entry.version += 1;
        (entry.sequence, entry.integrity) = (leaf.sequence, leaf.integrity);
        leaf
    }

    /// Appends a batch with one action that its signer requested.
    fn act(
        &mut self,
        member: &SceneMember,
        (kind, target, payload): (&str, &str, &str),
        subject: &SceneSubject,
    ) -> LogLeaf {
        let honest = self.log.next(1);
        let (resource, previous, version) = match subject {
            SceneSubject::New(prefix) => (Id::made_by(*prefix, &Hash::ZERO, 0), Hash::ZERO, 1),
            SceneSubject::Known(id) => {
                let entry = &self.entries[id];
                (*id, entry.integrity, entry.version + 1)
            }
        };
        let nonce = self.requests.len() as u64 + 1;
        let mut record = RequestRecord {
            batch_number: honest.header.number,
            first_sequence: honest.header.first_sequence,
            first_leaf_index: 0,
            timestamp_ms: honest.leaves[0].timestamp_ms,
            organization_id: member.organization,
            wallet_id: member.wallet,
            head: RequestHead {
                signer: member.key.address(),
                nonce,
                deadline_s: honest.header.sealed_at_ms,
                atomic: false,
            },
            signature: member.key.sign(&Hash::ZERO),
            salt_seed: Hash([4; 32]),
            actions: vec![ActionRecord {
                index: 0,
                kind: Kind::of_text(kind).unwrap(),
                target: target.to_owned().into(),
                payload: payload.to_owned().into(),
                disclosed: None,
                resource,
                version,
                previous_integrity: previous,
                previous_sequence: 0,
            }],
            failed: Vec::new(),
        };
        let hashes = record.action_hashes().unwrap();
        let digest = record.head.digest(&domain().separator(), &hashes);
        record.signature = member.key.sign(&digest);
        if let SceneSubject::New(prefix) = subject {
            let content = record.content(&record.actions[0]);
            record.actions[0].resource = Id::made_by(*prefix, &content, 0);
        }
        let leaf = record.placed(&record.hashes())[0];
        self.log
            .append(honest.with_leaf(0, |honest| *honest = leaf));
        self.requests.push(record);
        leaf
    }

    pub(crate) fn bend_object(&mut self, id: Id, bend: impl FnOnce(&mut ObjectEntry)) {
        match &mut self.entries.get_mut(&id).unwrap().fields {
            EntryFields::Object(object) => bend(object),
            other => panic!("{other:?}"),
        }
    }

    pub(crate) fn bend_wallet(&mut self, id: Id, bend: impl FnOnce(&mut WalletEntry)) {
        match &mut self.entries.get_mut(&id).unwrap().fields {
            EntryFields::Wallet(wallet) => bend(wallet),
            other => panic!("{other:?}"),
        }
    }

    pub(crate) fn bend_template(&mut self, id: Id, bend: impl FnOnce(&mut TemplateEntry)) {
        match &mut self.entries.get_mut(&id).unwrap().fields {
            EntryFields::Template(template) => bend(template),
            other => panic!("{other:?}"),
        }
    }

    /// The present entries, signed after all batches.
    pub(crate) fn sign(&self) -> SignedState {
        let entries = self.entries.iter();
        let entries = entries.map(|(id, entry)| (*id, entry.to_bytes()));
        let bytes = self.bytes.iter().map(|(id, bytes)| (*id, bytes.clone()));
        let held: BTreeMap<Id, Vec<u8>> = entries.chain(bytes).collect();
        let held = held
            .iter()
            .map(|(id, bytes)| (state_path(id), bytes.clone()));
        let table = StateTable(held.collect());
        let root = update_state(&table, &table, &[]).unwrap().root;
        SignedState {
            checkpoint: self.checkpoint(root),
            table,
            broken: None,
        }
    }

    /// A state whose trie is one node, which breaks its form.
    pub(crate) fn sign_broken(&self) -> SignedState {
        // A leaf whose path is a nibble short of 64.
        let mut node = vec![0xf8, 0x42, 0xa0, 0x30];
        node.extend([0; 31]);
        node.push(0xa0);
        node.extend([7; 32]);
        SignedState {
            checkpoint: self.checkpoint(keccak(&node)),
            broken: Some(node),
            ..self.sign()
        }
    }

    /// A checkpoint over all batches with this root.
    pub(crate) fn checkpoint(&self, root: Hash) -> SignedCheckpoint {
        let mut checkpoint = self.log.checkpoint(self.log.batches.len() as u64);
        checkpoint.state = root;
        checkpoint.sign(&domain().separator(), &sequencer())
    }
}
