//! A small model of an honest log: what its actions make of every resource, with a snapshot of the state at each
//! checkpoint. It knows who may do what, and signs with nothing: leaves hold a random authority.

#[path = "state_resources.rs"]
mod resources;

use std::collections::BTreeMap;

use kedge_protocol::chain::{LogLeaf, first_integrity, next_integrity};
use kedge_protocol::hash::{keccak, to_hex};
use kedge_protocol::resource::{ObjectStatus, Role, Who};
use kedge_protocol::state::StateEntry;
use kedge_protocol::state::entry::{
    EntryFields, EntryRule, ObjectEntry, TemplateEntry, VariationEntry, WalletEntry,
};
use kedge_protocol::state::faults::{LeafWords, ShownLeaf, StatePoint};
use kedge_protocol::{Address, Hash, Id, Prefix};

use crate::state_trie::Dice;

/// The kinds of an object that a template may leave to others.
const OBJECT_KINDS: [&str; 9] = [
    "update",
    "set_attributes",
    "delete_attributes",
    "transfer",
    "lock",
    "unlock",
    "burn",
    "emit",
    "x.scan",
];

/// An action of the log.
#[derive(Clone)]
pub(crate) struct ModelAction {
    pub(crate) leaf: ShownLeaf,
    pub(crate) kind: String,
    /// The wallet that the exact payload of a mint or a transfer names.
    pub(crate) to: Option<Id>,
}

/// A checkpoint and the state there.
pub(crate) struct ModelPoint {
    pub(crate) point: StatePoint,
    pub(crate) state: BTreeMap<Id, StateEntry>,
}

pub(crate) struct ModelLog {
    pub(crate) dice: Dice,
    pub(crate) actions: Vec<ModelAction>,
    /// The actions that extend each resource's integrity, in order.
    pub(crate) of_resource: BTreeMap<Id, Vec<usize>>,
    pub(crate) points: Vec<ModelPoint>,
    pub(crate) state: BTreeMap<Id, StateEntry>,
    /// Every address that a wallet ever had.
    addresses: BTreeMap<Id, Vec<Address>>,
    operator: Address,
    /// The number of checkpoints from which on they have a root.
    rooted_from: usize,
}

/// An action before it is placed.
struct ModelRequest<'a> {
    kind: &'a str,
    target: String,
    payload: String,
    signer: Address,
}

impl ModelLog {
    /// A log of random actions of every kind.
    pub(crate) fn random(seed: u64) -> Self {
        let mut log = Self {
            dice: Dice(seed),
            actions: Vec::new(),
            of_resource: BTreeMap::new(),
            points: Vec::new(),
            state: BTreeMap::new(),
            addresses: BTreeMap::new(),
            operator: Address::ZERO,
            rooted_from: 0,
        };
        log.operator = log.address();
        log.rooted_from = if log.dice.below(4) == 0 { 3 } else { 0 };
        log.register(true);
        for _ in 0..60 + log.dice.below(120) {
            log.step();
            if log.dice.below(9) == 0 {
                log.checkpoint();
            }
        }
        log.checkpoint();
        log
    }

    fn checkpoint(&mut self) {
        let number = self.points.len();
        let sequence = self.actions.len() as u64;
        if self
            .points
            .last()
            .is_some_and(|last| last.point.sequence == sequence)
        {
            return;
        }
        let batches = number as u64 * 2 + 1;
        self.points.push(ModelPoint {
            point: StatePoint {
                batches,
                sequence,
                is_rooted: number >= self.rooted_from,
            },
            state: self.state.clone(),
        });
    }

    fn address(&mut self) -> Address {
        let hash = self.dice.hash();
        Address(hash.0[..20].try_into().unwrap())
    }

    fn pick<T: Copy>(&mut self, from: &[T]) -> Option<T> {
        (!from.is_empty()).then(|| from[self.dice.below(from.len())])
    }

    pub(crate) fn ids(&self, prefix: Prefix) -> Vec<Id> {
        let ids = self.state.keys().copied();
        ids.filter(|id| id.prefix == prefix).collect()
    }

    fn wallet(&self, id: &Id) -> &WalletEntry {
        match &self.state[id].fields {
            EntryFields::Wallet(wallet) => wallet,
            other => panic!("{other:?}"),
        }
    }

    fn template(&self, id: &Id) -> &TemplateEntry {
        match &self.state[id].fields {
            EntryFields::Template(template) => template,
            other => panic!("{other:?}"),
        }
    }

    fn template_mut(&mut self, id: &Id) -> &mut TemplateEntry {
        match &mut self.state.get_mut(id).unwrap().fields {
            EntryFields::Template(template) => template,
            other => panic!("{other:?}"),
        }
    }

    fn object(&self, id: &Id) -> ObjectEntry {
        match &self.state[id].fields {
            EntryFields::Object(object) => *object,
            other => panic!("{other:?}"),
        }
    }

    fn organization_of(&self, id: &Id) -> Id {
        match &self.state[id].fields {
            EntryFields::Wallet(wallet) => wallet.organization_id,
            EntryFields::Template(template) => template.organization_id,
            EntryFields::ApiKey(key) => key.organization_id,
            EntryFields::Webhook(webhook) => webhook.organization_id,
            other => panic!("{other:?}"),
        }
    }

    /// A wallet with keys that passes, and one of its keys.
    fn signer(&mut self, passes: impl Fn(&Id, &WalletEntry) -> bool) -> Option<(Id, Address)> {
        let wallets = self.ids(Prefix::Wallet).into_iter();
        let able: Vec<Id> = wallets
            .filter(|id| !self.wallet(id).keys.is_empty() && passes(id, self.wallet(id)))
            .collect();
        let id = self.pick(&able)?;
        let keys = self.wallet(&id).keys.clone();
        Some((id, self.pick(&keys)?))
    }

    /// A member of the organization who may administer it.
    fn admin(&mut self, organization: Id) -> Option<(Id, Address)> {
        self.signer(|_, wallet| {
            wallet.organization_id == organization && wallet.role != Role::Member
        })
    }

    /// Places an action on `resource`, or one that makes a resource; returns its content.
    fn place(&mut self, request: &ModelRequest<'_>, resource: Option<Id>, to: Option<Id>) -> Hash {
        let words = LeafWords {
            kind: keccak(request.kind.as_bytes()),
            target: keccak(request.target.as_bytes()),
            payload: keccak(request.payload.as_bytes()),
            signer: request.signer,
            authority: self.dice.hash(),
        };
        let content = words.content();
        let sequence = self.actions.len() as u64 + 1;
        let integrity = match resource {
            Some(id) => next_integrity(&self.state[&id].integrity, &content),
            None => first_integrity(&content, 0),
        };
        if let Some(id) = resource {
            let entry = self.state.get_mut(&id).unwrap();
            entry.version += 1;
            entry.sequence = sequence;
            entry.integrity = integrity;
            self.of_resource
                .entry(id)
                .or_default()
                .push(self.actions.len());
        }
        let leaf = LogLeaf {
            sequence,
            timestamp_ms: sequence * 10,
            content,
            integrity,
        };
        let words = Some(words);
        self.actions.push(ModelAction {
            leaf: ShownLeaf { leaf, words },
            kind: request.kind.to_owned(),
            to,
        });
        content
    }

    /// Enters what the last action made as its `index`-th resource.
    fn enter(&mut self, id: Id, content: &Hash, index: u32, fields: EntryFields) {
        if index == 0 {
            let last = self.actions.len() - 1;
            self.of_resource.entry(id).or_default().push(last);
        }
        let entry = StateEntry {
            version: 1,
            sequence: self.actions.len() as u64,
            integrity: first_integrity(content, index),
            fields,
        };
        assert!(self.state.insert(id, entry).is_none());
    }

    fn step(&mut self) {
        match self.dice.below(24) {
            0 => self.register(true),
            1 => self.register(false),
            2 | 3 => self.act_on_wallet(),
            4 | 5 => self.act_on_organization(),
            6 => self.create_template(),
            7 => self.update_template(),
            8 => self.add_variations(),
            9..12 => self.mint(),
            12..20 => self.act_on_object(),
            20 => self.act_on_key(),
            21 => self.act_on_webhook(),
            22 => self.create_file(),
            _ => self.act_as_operator(),
        }
    }

    fn register(&mut self, is_new: bool) {
        let signer = self.address();
        let invited = self.ids(Prefix::Organization);
        let invited = if is_new { None } else { self.pick(&invited) };
        let request = ModelRequest {
            kind: "wallet.register",
            target: String::new(),
            payload: to_hex(&self.dice.hash().0),
            signer,
        };
        let content = self.place(&request, None, None);
        let made = Id::made_by(Prefix::Organization, &content, 0);
        let id = Id::made_by(Prefix::Wallet, &content, 0);
        let fields = WalletEntry {
            organization_id: invited.unwrap_or(made),
            address: signer,
            role: if invited.is_none() {
                Role::Owner
            } else {
                Role::Member
            },
            keys: vec![signer],
        };
        self.addresses.insert(id, vec![signer]);
        self.enter(id, &content, 0, EntryFields::Wallet(fields));
        if invited.is_none() {
            self.enter(made, &content, 1, EntryFields::Organization {});
        }
    }

    fn act_on_wallet(&mut self) {
        let Some((id, signer)) = self.signer(|_, _| true) else {
            return;
        };
        let mut keys = self.wallet(&id).keys.clone();
        let request = |kind, payload| ModelRequest {
            kind,
            target: id.to_string(),
            payload,
            signer,
        };
        match self.dice.below(3) {
            0 => {
                self.place(&request("wallet.update", "{}".into()), Some(id), None);
            }
            1 if keys.len() > 1 => {
                let gone = self.dice.below(keys.len());
                let gone = keys.remove(gone);
                self.place(
                    &request("wallet.key_remove", gone.to_string()),
                    Some(id),
                    None,
                );
            }
            _ => {
                // A key of earlier may return to its own wallet.
                let earlier = self.addresses[&id].iter().copied();
                let earlier: Vec<Address> = earlier.filter(|key| !keys.contains(key)).collect();
                let returning = if self.dice.below(2) == 0 {
                    self.pick(&earlier)
                } else {
                    None
                };
                let key = returning.unwrap_or_else(|| self.address());
                self.addresses.get_mut(&id).unwrap().push(key);
                keys.push(key);
                keys.sort_unstable();
                self.place(&request("wallet.key_add", key.to_string()), Some(id), None);
            }
        }
        self.set_keys(&id, keys);
    }

    fn set_keys(&mut self, id: &Id, keys: Vec<Address>) {
        if let EntryFields::Wallet(wallet) = &mut self.state.get_mut(id).unwrap().fields {
            wallet.keys = keys;
        }
    }

    fn act_on_organization(&mut self) {
        let organizations = self.ids(Prefix::Organization);
        let Some(id) = self.pick(&organizations) else {
            return;
        };
        let Some((actor, signer)) = self.admin(id) else {
            return;
        };
        let member = self.signer(|other, wallet| wallet.organization_id == id && *other != actor);
        let request = |kind, payload| ModelRequest {
            kind,
            target: id.to_string(),
            payload,
            signer,
        };
        match (self.dice.below(4), member) {
            (0, Some((member, _))) => {
                let exact = format!("{{\"wallet_id\":\"{member}\"}}");
                let spelt = format!("{{ \"wallet_id\":\"{member}\"}}");
                let payload = if self.dice.below(3) == 0 {
                    spelt
                } else {
                    exact
                };
                self.place(&request("org.member_remove", payload), Some(id), None);
                self.set_keys(&member, Vec::new());
            }
            (1, Some((member, _))) => {
                let roles = [Role::Owner, Role::Admin, Role::Member];
                let role = roles[self.dice.below(3)];
                self.place(&request("org.role", format!("{role:?}")), Some(id), None);
                if let EntryFields::Wallet(wallet) =
                    &mut self.state.get_mut(&member).unwrap().fields
                {
                    wallet.role = role;
                }
            }
            (2, _) => {
                self.place(
                    &request("org.invitation_revoke", "{}".into()),
                    Some(id),
                    None,
                );
            }
            _ => {
                self.place(&request("org.invite", "{}".into()), Some(id), None);
            }
        }
    }

    fn rules(&mut self) -> Vec<EntryRule> {
        let mut rules = Vec::new();
        for kind in OBJECT_KINDS.iter().chain(&["mint"]) {
            if self.dice.below(3) == 0 {
                rules.push(EntryRule {
                    kind: (*kind).to_owned(),
                    who: [Who::Owner, Who::Issuer, Who::Anyone][self.dice.below(3)],
                    schema_hash: keccak(b""),
                });
            }
        }
        rules
    }

    fn create_template(&mut self) {
        let organizations = self.ids(Prefix::Organization);
        let Some(organization_id) = self.pick(&organizations) else {
            return;
        };
        let Some((_, signer)) = self.admin(organization_id) else {
            return;
        };
        let fields = TemplateEntry {
            organization_id,
            public_access: self.dice.below(2) == 0,
            max_supply: (self.dice.below(3) == 0).then(|| 1 + self.dice.below(4) as u64),
            minted_count: 0,
            burned_count: 0,
            variation_count: 0,
            properties_hash: self.dice.hash(),
            schema_hash: keccak(b""),
            rules: self.rules(),
        };
        let request = ModelRequest {
            kind: "template.create",
            target: String::new(),
            payload: "{}".into(),
            signer,
        };
        let content = self.place(&request, None, None);
        let id = Id::made_by(Prefix::Template, &content, 0);
        self.enter(id, &content, 0, EntryFields::Template(fields));
    }

    /// A template and a key of one who may administer it.
    fn template_and_admin(&mut self) -> Option<(Id, Address)> {
        let templates = self.ids(Prefix::Template);
        let id = self.pick(&templates)?;
        let (_, signer) = self.admin(self.organization_of(&id))?;
        Some((id, signer))
    }

    fn update_template(&mut self) {
        let Some((id, signer)) = self.template_and_admin() else {
            return;
        };
        let template = self.template(&id);
        if template.minted_count > template.burned_count {
            return;
        }
        let request = ModelRequest {
            kind: "template.update",
            target: id.to_string(),
            payload: "{}".into(),
            signer,
        };
        self.place(&request, Some(id), None);
        let (rules, hash) = (self.rules(), self.dice.hash());
        let template = self.template_mut(&id);
        template.rules = rules;
        template.properties_hash = hash;
        template.public_access = !template.public_access;
    }

    fn add_variations(&mut self) {
        let Some((id, signer)) = self.template_and_admin() else {
            return;
        };
        let request = ModelRequest {
            kind: "template.variations",
            target: id.to_string(),
            payload: "{}".into(),
            signer,
        };
        let content = self.place(&request, Some(id), None);
        for i in 0..=self.dice.below(3) as u32 {
            let template = self.template_mut(&id);
            let index = template.variation_count;
            template.variation_count += 1;
            let fields = VariationEntry {
                organization_id: self.organization_of(&id),
                template_id: id,
                index,
                name_hash: self.dice.hash(),
                properties_hash: self.dice.hash(),
            };
            let own = Id::made_by(Prefix::Variation, &content, i);
            self.enter(own, &content, i + 1, EntryFields::Variation(fields));
        }
    }

    /// A wallet that the template's rule for a kind allows; `owner` for what is left to it.
    fn allowed(&mut self, template: &Id, kind: &str, owner: Option<Id>) -> Option<(Id, Address)> {
        let entry = self.template(template);
        let organization = entry.organization_id;
        let rule = entry.rules.iter().find(|rule| rule.kind == kind);
        let who = match rule {
            Some(rule) => rule.who,
            None if kind.starts_with("x.") => return None,
            None if owner.is_none() => Who::Issuer,
            None => Who::Owner,
        };
        match (who, owner) {
            (Who::Owner, Some(owner)) => self.signer(|id, _| *id == owner),
            (Who::Owner, None) => None,
            (Who::Issuer, _) => self.admin(organization),
            (Who::Anyone, _) => self.signer(|_, _| true),
        }
    }

    fn mint(&mut self) {
        let templates = self.ids(Prefix::Template);
        let Some(id) = self.pick(&templates) else {
            return;
        };
        let template = self.template(&id).clone();
        if template.max_supply == Some(template.minted_count) {
            return;
        }
        let Some((wallet, signer)) = self.allowed(&id, "mint", None) else {
            return;
        };
        let wallets = self.ids(Prefix::Wallet);
        let other = self.pick(&wallets).unwrap_or(wallet);
        let (payload, owner, to) = match self.dice.below(3) {
            0 => ("{}".to_owned(), wallet, None),
            1 => (format!("{{\"to\":\"{other}\"}}"), other, Some(other)),
            _ => (format!("{{ \"to\":\"{other}\"}}"), other, None),
        };
        let request = ModelRequest {
            kind: "mint",
            target: id.to_string(),
            payload,
            signer,
        };
        let content = self.place(&request, None, to);
        self.template_mut(&id).minted_count += 1;
        let variations = self.ids(Prefix::Variation);
        let fields = ObjectEntry {
            organization_id: template.organization_id,
            template_id: id,
            variation_id: if self.dice.below(2) == 0 {
                self.pick(&variations)
            } else {
                None
            },
            serial: template.minted_count + 1,
            owner_id: owner,
            owner_address: self.wallet(&owner).address,
            status: ObjectStatus::Active,
            properties_hash: self.dice.hash(),
        };
        let object = Id::made_by(Prefix::Object, &content, 0);
        self.enter(object, &content, 0, EntryFields::Object(fields));
    }

    fn act_on_object(&mut self) {
        let objects = self.ids(Prefix::Object);
        let Some(id) = self.pick(&objects) else {
            return;
        };
        let mut object = self.object(&id);
        let kind = match object.status {
            ObjectStatus::Burned => return,
            ObjectStatus::Locked => "unlock",
            ObjectStatus::Active => OBJECT_KINDS[self.dice.below(OBJECT_KINDS.len())],
        };
        if kind == "unlock" && object.status == ObjectStatus::Active {
            return;
        }
        let owner = object.owner_id;
        let Some((_, signer)) = self.allowed(&object.template_id, kind, Some(owner)) else {
            return;
        };
        let wallets = self.ids(Prefix::Wallet);
        let other = self.pick(&wallets).unwrap_or(owner);
        let (mut payload, mut to) = ("{}".to_owned(), None);
        match kind {
            "transfer" => {
                let is_exact = self.dice.below(2) == 0;
                let address = self.wallet(&other).keys.first().copied();
                payload = match (is_exact, address) {
                    (true, _) | (_, None) => format!("{{\"to\":\"{other}\"}}"),
                    (false, Some(address)) => format!("{{\"to\":\"{address}\"}}"),
                };
                to = payload.contains("wal_").then_some(other);
                object.owner_id = other;
                object.owner_address = self.wallet(&other).address;
            }
            "lock" => object.status = ObjectStatus::Locked,
            "unlock" => object.status = ObjectStatus::Active,
            "burn" => object.status = ObjectStatus::Burned,
            "update" | "set_attributes" | "delete_attributes" => {
                object.properties_hash = self.dice.hash();
            }
            _ => {}
        }
        let request = ModelRequest {
            kind,
            target: id.to_string(),
            payload,
            signer,
        };
        self.place(&request, Some(id), to);
        if kind == "burn" {
            self.template_mut(&object.template_id).burned_count += 1;
        }
        self.state.get_mut(&id).unwrap().fields = EntryFields::Object(object);
    }
}
