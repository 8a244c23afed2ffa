//! What a watchtower has seen of the state: entries that proofs show at signed checkpoints, and opened actions. An
//! entry is judged next to the entries and leaves that concern it, whatever order they arrive in.

mod index;
mod judgement;
mod progress;
mod records;

use std::collections::{BTreeMap, BTreeSet};

use kedge_protocol::evidence::{EntryEvidence, StateEvidence};
use kedge_protocol::state::EntryFields;
use kedge_protocol::{Hash, Id, Prefix};

use index::{EntryIndex, LeafIndex};
use progress::IdProgress;

pub(super) use records::{SeenEntry, SeenLeaf, named_wallet};

/// Entries that are kept of one id: the first one, and the newest of the others. Proofs have some thousand bytes.
const ENTRIES_MAX: usize = 12;

/// The entries and leaves that a watchtower has seen. It grows with the log: a few thousand bytes for each version of a
/// resource, and some hundred for each opened action.
#[derive(Default)]
pub(super) struct StateMemory {
    /// By id, each list in the order of the checkpoints.
    entries: BTreeMap<Id, Vec<SeenEntry>>,
    entry_index: EntryIndex,
    leaves: Vec<SeenLeaf>,
    leaf_index: LeafIndex,
    /// What is left to judge.
    touched: BTreeSet<Id>,
    progress: BTreeMap<Id, IdProgress>,
    rounds: u64,
    /// Batch count of the checkpoint whose entries may be challenged.
    pinned: u64,
}

impl StateMemory {
    /// Keeps entries at the checkpoint over so many batches.
    pub(super) fn pin(&mut self, batches: u64) {
        self.pinned = batches;
    }

    /// Adds an entry, or absence, whose proof holds. False if it says nothing new.
    pub(super) fn add_entry(&mut self, evidence: EntryEvidence) -> bool {
        let entry = SeenEntry::new(evidence);
        let id = entry.shown.id;
        let progress = self.progress.entry(id).or_default();
        progress.shown = progress.shown.max(entry.shown.point.sequence);
        progress.refused_since_s = None;
        let kept = self.entries.entry(id).or_default();
        let place = kept.partition_point(|known| known.batches() <= entry.batches());
        let is_known = kept.iter().any(|known| known.says_the_same(&entry));
        if is_known {
            return false;
        }
        let is_new = !kept.iter().any(|known| known.bytes() == entry.bytes());
        self.entry_index.add(&entry);
        self.touched.insert(id);
        self.touched.extend(self.entry_index.related(&entry));
        if is_new {
            // What its keys signed may have been seen before the wallet.
            let signed = entry.keys().iter();
            let signed = signed.flat_map(|key| self.leaf_index.signed_by(key));
            let concerned = signed.flat_map(|place| self.leaves[*place].concerns());
            self.touched.extend(concerned);
        }
        for named in entry.named() {
            self.progress.entry(named).or_default();
        }
        kept.insert(place, entry);
        thin(kept, self.pinned);
        is_new
    }

    /// Adds a leaf of a signed batch, opened.
    pub(super) fn add_leaf(&mut self, leaf: SeenLeaf) {
        let sequence = leaf.shown.leaf.sequence;
        if self.leaf_index.knows(&leaf, &self.leaves) {
            return;
        }
        for id in leaf.concerns() {
            self.touched.insert(id);
            let progress = self.progress.entry(id).or_default();
            progress.changed = progress.changed.max(sequence);
        }
        if let Some(template) = leaf.updates_template() {
            self.touched.extend(self.entry_index.objects_of(&template));
        }
        self.leaf_index.add(self.leaves.len(), &leaf);
        self.leaves.push(leaf);
    }

    /// Judges what arrived since the last call; returns evidence of each fault that the records show.
    pub(super) fn judge(&mut self) -> Vec<StateEvidence> {
        let touched = std::mem::take(&mut self.touched);
        let mut found = Vec::new();
        for id in touched {
            self.judge_id(&id, &mut found);
        }
        found
    }

    /// Whether an opened leaf has this sequence.
    pub(super) fn knows_sequence(&self, sequence: u64) -> bool {
        !self.leaf_index.at(sequence).is_empty()
    }

    /// The newest entry of an id, if one is known.
    pub(super) fn newest(&self, id: &Id) -> Option<&SeenEntry> {
        self.entries.get(id)?.last()
    }

    /// An entry of an id at another checkpoint than this one.
    pub(super) fn elsewhere(&self, id: &Id, batches: u64) -> Option<&SeenEntry> {
        let kept = self.entries.get(id)?;
        let mut others = kept.iter().rev();
        others.find(|known| known.batches() != batches && known.shown.entry().is_some())
    }

    /// The opened leaf that made an id as the first of its prefix.
    pub(super) fn maker(&self, id: &Id) -> Option<&SeenLeaf> {
        self.leaf_index.maker(id).map(|place| &self.leaves[place])
    }

    /// Whether the records say that an id belongs to an organization.
    pub(super) fn belongs_to(&self, id: &Id, organization: &Id) -> bool {
        if id == organization {
            return true;
        }
        let entry = self.newest(id).and_then(|entry| entry.shown.entry());
        match entry.map(|entry| &entry.fields) {
            Some(EntryFields::Object(object)) => object.organization_id == *organization,
            Some(EntryFields::Wallet(wallet)) => wallet.organization_id == *organization,
            Some(EntryFields::Template(template)) => template.organization_id == *organization,
            Some(EntryFields::ApiKey(key)) => key.organization_id == *organization,
            Some(EntryFields::File(file)) => file.organization_id == *organization,
            Some(_) => false,
            None => {
                let own = [Prefix::Template, Prefix::Key, Prefix::File];
                let maker = self.maker(id);
                own.contains(&id.prefix)
                    && maker.is_some_and(|maker| maker.organization_id == Some(*organization))
            }
        }
    }
}

/// Drops what tells nothing more: of a run of checkpoints with one entry those between the first and the last, and of
/// many entries those after the first.
fn thin(kept: &mut Vec<SeenEntry>, pinned: u64) {
    let is_between = |place: usize, kept: &[SeenEntry]| {
        kept[place].batches() != pinned
            && kept[place - 1].bytes() == kept[place].bytes()
            && kept[place].bytes() == kept[place + 1].bytes()
    };
    let mut place = 1;
    while place + 1 < kept.len() {
        if is_between(place, kept) {
            kept.remove(place);
        } else {
            place += 1;
        }
    }
    while kept.len() > ENTRIES_MAX {
        kept.remove(1);
    }
}

/// The most leaves that evidence follows from one entry to another.
const FOLLOWED_MAX: usize = 64;

impl StateMemory {
    /// The first leaf that extends an integrity, after the records before it.
    fn next_leaf(&self, integrity: &Hash) -> Option<&SeenLeaf> {
        let place = *self.leaf_index.extending(integrity).first()?;
        Some(&self.leaves[place])
    }

    /// The leaves that lead from one integrity to another, if they are known and few.
    fn path(&self, from: &Hash, to: &Hash) -> Option<Vec<&SeenLeaf>> {
        let mut path = Vec::new();
        let mut reached = *from;
        while reached != *to {
            if path.len() == FOLLOWED_MAX {
                return None;
            }
            let leaf = self.next_leaf(&reached)?;
            reached = leaf.shown.leaf.integrity;
            path.push(leaf);
        }
        Some(path)
    }

    /// Entries of wallets that have an address among their keys.
    fn signers(&self, address: &kedge_protocol::Address) -> Vec<&SeenEntry> {
        let wallets = self.entry_index.wallets_of(address);
        let entries = wallets.iter().filter_map(|id| self.entries.get(id));
        let entries = entries.flatten();
        entries
            .filter(|entry| entry.keys().contains(address))
            .collect()
    }
}
