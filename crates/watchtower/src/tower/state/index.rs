//! Indexes over the records.

use std::collections::{BTreeSet, HashMap};

use kedge_protocol::action::Kind;
use kedge_protocol::state::EntryFields;
use kedge_protocol::{Address, Hash, Id};

use super::records::{SeenEntry, SeenLeaf};

/// Ids by what their entries hold.
#[derive(Default)]
pub(super) struct EntryIndex {
    by_integrity: HashMap<Hash, BTreeSet<Id>>,
    /// Wallets by the address that registered them, and by their keys.
    by_address: HashMap<Address, BTreeSet<Id>>,
    /// Objects by template and serial.
    by_serial: HashMap<(Id, u64), BTreeSet<Id>>,
    /// Objects by their template.
    objects: HashMap<Id, BTreeSet<Id>>,
    /// Objects by their owner.
    owned: HashMap<Id, BTreeSet<Id>>,
}

impl EntryIndex {
    pub(super) fn add(&mut self, entry: &SeenEntry) {
        let id = entry.shown.id;
        let Some(held) = entry.shown.entry() else {
            return;
        };
        self.by_integrity
            .entry(held.integrity)
            .or_default()
            .insert(id);
        match &held.fields {
            EntryFields::Wallet(wallet) => {
                for address in wallet.keys.iter().chain([&wallet.address]) {
                    self.by_address.entry(*address).or_default().insert(id);
                }
            }
            EntryFields::Object(object) => {
                let place = (object.template_id, object.serial);
                self.by_serial.entry(place).or_default().insert(id);
                let template = self.objects.entry(object.template_id);
                template.or_default().insert(id);
                self.owned.entry(object.owner_id).or_default().insert(id);
            }
            _ => {}
        }
    }

    /// Ids whose judgement an entry may change.
    pub(super) fn related(&self, entry: &SeenEntry) -> BTreeSet<Id> {
        let id = &entry.shown.id;
        let owned = self.owned.get(id).into_iter().flatten();
        let objects = self.objects.get(id).into_iter().flatten();
        owned.chain(objects).copied().collect()
    }

    pub(super) fn objects_of(&self, template: &Id) -> BTreeSet<Id> {
        self.objects.get(template).cloned().unwrap_or_default()
    }

    pub(super) fn wallets_of(&self, address: &Address) -> BTreeSet<Id> {
        self.by_address.get(address).cloned().unwrap_or_default()
    }

    /// Other ids that share an integrity, an address or a serial with an entry.
    pub(super) fn twins(&self, entry: &SeenEntry) -> BTreeSet<Id> {
        let Some(held) = entry.shown.entry() else {
            return BTreeSet::new();
        };
        let mut twins = self
            .by_integrity
            .get(&held.integrity)
            .cloned()
            .unwrap_or_default();
        match &held.fields {
            EntryFields::Wallet(wallet) => {
                let addresses = wallet.keys.iter().chain([&wallet.address]);
                twins.extend(addresses.flat_map(|address| self.wallets_of(address)));
            }
            EntryFields::Object(object) => {
                let place = (object.template_id, object.serial);
                twins.extend(self.by_serial.get(&place).into_iter().flatten());
            }
            _ => {}
        }
        twins.remove(&entry.shown.id);
        twins
    }
}

/// Places of leaves by what they say.
#[derive(Default)]
pub(super) struct LeafIndex {
    by_previous: HashMap<Hash, Vec<usize>>,
    by_sequence: HashMap<u64, Vec<usize>>,
    by_signer: HashMap<Address, Vec<usize>>,
    makers: HashMap<Id, usize>,
    /// Mints and changes of a template, and removals of a wallet.
    about: HashMap<Id, Vec<usize>>,
}

impl LeafIndex {
    pub(super) fn knows(&self, leaf: &SeenLeaf, leaves: &[SeenLeaf]) -> bool {
        let places = self.at(leaf.shown.leaf.sequence).iter();
        places
            .into_iter()
            .any(|place| leaves[*place].shown.leaf == leaf.shown.leaf)
    }

    pub(super) fn add(&mut self, place: usize, leaf: &SeenLeaf) {
        if leaf.previous != Hash::ZERO {
            let extending = self.by_previous.entry(leaf.previous);
            extending.or_default().push(place);
        }
        let sequence = leaf.shown.leaf.sequence;
        self.by_sequence.entry(sequence).or_default().push(place);
        if let Some(words) = &leaf.shown.words {
            self.by_signer.entry(words.signer).or_default().push(place);
        }
        if let Some(id) = leaf.made() {
            self.makers.entry(id).or_insert(place);
        }
        let is_removal = leaf.is_kind(&Kind::OrgMemberRemove);
        let removed = leaf.named.filter(|_| is_removal);
        let is_template = leaf.is_kind(&Kind::Mint) || leaf.is_kind(&Kind::TemplateUpdate);
        let template = leaf.target.filter(|_| is_template);
        for id in removed.into_iter().chain(template) {
            self.about.entry(id).or_default().push(place);
        }
    }

    pub(super) fn extending(&self, integrity: &Hash) -> &[usize] {
        self.by_previous.get(integrity).map_or(&[], Vec::as_slice)
    }

    pub(super) fn at(&self, sequence: u64) -> &[usize] {
        self.by_sequence.get(&sequence).map_or(&[], Vec::as_slice)
    }

    pub(super) fn about(&self, id: &Id) -> &[usize] {
        self.about.get(id).map_or(&[], Vec::as_slice)
    }

    pub(super) fn signed_by(&self, address: &Address) -> &[usize] {
        self.by_signer.get(address).map_or(&[], Vec::as_slice)
    }

    pub(super) fn maker(&self, id: &Id) -> Option<usize> {
        self.makers.get(id).copied()
    }
}
