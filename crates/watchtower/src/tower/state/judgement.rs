//! The faults that the records of one id show, by the predicates of the protocol. What they accuse is judged again with
//! its proofs and signatures before it is reported.

use kedge_protocol::action::Kind;
use kedge_protocol::evidence::{
    ChangeEvidence, EntryEvidence, EntryPairEvidence, FalseEntryRecords, OpenedLeafEvidence,
    StateEvidence, TrespassRecords,
};
use kedge_protocol::state::EntryFields;
use kedge_protocol::state::entry::ObjectEntry;
use kedge_protocol::state::faults::{
    self, FalseEntryEvidence, ShownEntry, ShownLeaf, TrespassEvidence,
};
use kedge_protocol::{Hash, Id};

use super::records::{SeenEntry, SeenLeaf};
use super::{FOLLOWED_MAX, StateMemory};

type PairPredicate = fn(&ShownEntry, &ShownEntry) -> bool;
type ChangePredicate = fn(&ShownEntry, &ShownEntry, &[ShownLeaf]) -> bool;
/// A predicate of two entries, and the fault that it shows.
type PairFault = (PairPredicate, fn(EntryPairEvidence) -> StateEvidence);
/// A predicate of two entries and leaves, and the fault that it shows.
type ChangeFault = (ChangePredicate, fn(ChangeEvidence) -> StateEvidence);

/// Faults that two entries of one id show, the earlier checkpoint's first.
const PAIRS: [PairFault; 5] = [
    (faults::rewritten_state, StateEvidence::RewrittenState),
    (faults::lone_step, StateEvidence::LoneStep),
    (faults::two_faced_state, StateEvidence::TwoFacedState),
    (faults::changed_constant, StateEvidence::ChangedConstant),
    (faults::oversupply, StateEvidence::Oversupply),
];

/// Faults of two ids' entries.
const TWINS: [PairFault; 3] = [
    (faults::twin_state, StateEvidence::TwinState),
    (faults::false_address, StateEvidence::FalseAddress),
    (faults::oversupply, StateEvidence::Oversupply),
];

/// Faults of two entries and the leaves between them.
const CHANGES: [ChangeFault; 4] = [
    (faults::false_owner, StateEvidence::FalseOwner),
    (faults::hidden_change, StateEvidence::HiddenChange),
    (faults::false_keys, StateEvidence::FalseKeys),
    (faults::false_version, StateEvidence::FalseVersion),
];

fn shown_of(entry: &SeenEntry) -> EntryEvidence {
    entry.evidence.clone()
}

fn leaf_of(leaf: &SeenLeaf) -> OpenedLeafEvidence {
    leaf.evidence.clone()
}

fn boxed(entry: Option<&SeenEntry>) -> Option<Box<EntryEvidence>> {
    entry.map(|entry| Box::new(entry.evidence.clone()))
}

fn pair(first: &SeenEntry, second: &SeenEntry) -> EntryPairEvidence {
    EntryPairEvidence {
        first: first.evidence.clone(),
        second: second.evidence.clone(),
    }
}

impl StateMemory {
    /// Adds evidence of the faults that an id's records show.
    pub(super) fn judge_id(&self, id: &Id, found: &mut Vec<StateEvidence>) {
        let Some(entries) = self.entries.get(id) else {
            return;
        };
        for (place, entry) in entries.iter().enumerate() {
            self.judge_entry(entry, found);
            for later in &entries[place + 1..] {
                self.judge_pair(entry, later, found);
                if entry.batches() == later.batches() {
                    self.judge_pair(later, entry, found);
                }
            }
        }
    }

    fn judge_pair(&self, first: &SeenEntry, second: &SeenEntry, found: &mut Vec<StateEvidence>) {
        for (rule, evidence) in PAIRS {
            if rule(&first.shown, &second.shown) {
                found.push(evidence(pair(first, second)));
            }
        }
        let (Some(from), Some(to)) = (first.integrity(), second.integrity()) else {
            return;
        };
        let Some(path) = self.path(&from, &to) else {
            return;
        };
        let shown: Vec<ShownLeaf> = path.iter().map(|leaf| leaf.shown).collect();
        for (rule, evidence) in CHANGES {
            if rule(&first.shown, &second.shown, &shown) {
                found.push(evidence(ChangeEvidence {
                    first: shown_of(first),
                    second: shown_of(second),
                    leaves: path.iter().map(|leaf| leaf_of(leaf)).collect(),
                }));
            }
        }
    }

    fn judge_entry(&self, entry: &SeenEntry, found: &mut Vec<StateEvidence>) {
        if faults::malformed_state(&entry.shown) {
            found.push(StateEvidence::MalformedState {
                entry: shown_of(entry),
            });
        }
        for twin in self.entry_index.twins(entry) {
            let others = self.entries.get(&twin).into_iter().flatten();
            for other in others {
                judge_two(entry, other, found);
            }
        }
        self.judge_maker(entry, found);
        self.judge_leaf_before(entry, found);
        self.judge_leaves_after(entry, found);
        self.judge_leaves_about(entry, found);
        if let Some(EntryFields::Object(object)) = entry.fields() {
            self.judge_object(entry, object, found);
        }
    }

    /// Next to the leaf that made the id.
    fn judge_maker(&self, entry: &SeenEntry, found: &mut Vec<StateEvidence>) {
        let id = &entry.shown.id;
        let Some(maker) = self.maker(id) else {
            return;
        };
        if faults::missing_state(&entry.shown, &maker.shown, &maker.kind) {
            found.push(StateEvidence::MissingState {
                entry: shown_of(entry),
                leaf: leaf_of(maker),
                kind: maker.kind.clone(),
            });
        }
        self.judge_content(entry, maker, found);
        for wallet in self.signers_of(maker) {
            if faults::foreign_maker(&entry.shown, &maker.shown, &wallet.shown) {
                found.push(StateEvidence::ForeignMaker {
                    entry: shown_of(entry),
                    leaf: leaf_of(maker),
                    wallet: shown_of(wallet),
                });
            }
        }
    }

    /// Next to the leaf at the entry's sequence.
    fn judge_leaf_before(&self, entry: &SeenEntry, found: &mut Vec<StateEvidence>) {
        let Some(held) = entry.shown.entry() else {
            return;
        };
        for place in self.leaf_index.at(held.sequence) {
            self.judge_content(entry, &self.leaves[*place], found);
        }
    }

    /// Whether an entry is what a leaf left.
    fn judge_content(&self, entry: &SeenEntry, leaf: &SeenLeaf, found: &mut Vec<StateEvidence>) {
        let wallets = self.signers_of(leaf);
        let wallets = wallets.iter().map(|wallet| Some(*wallet));
        for wallet in wallets.chain([None]) {
            let further = FalseEntryEvidence {
                kind: Some(&leaf.kind),
                to: leaf.named.as_ref(),
                wallet: wallet.map(|wallet| &wallet.shown),
            };
            if faults::false_entry(&entry.shown, &leaf.shown, &further) {
                found.push(StateEvidence::FalseEntry(FalseEntryRecords {
                    entry: shown_of(entry),
                    leaf: leaf_of(leaf),
                    kind: Some(leaf.kind.clone()),
                    to: leaf.named,
                    wallet: boxed(wallet),
                }));
                return;
            }
        }
    }

    /// Next to the leaves that extend the entry.
    fn judge_leaves_after(&self, entry: &SeenEntry, found: &mut Vec<StateEvidence>) {
        let Some(integrity) = entry.integrity() else {
            return;
        };
        for place in self.leaf_index.extending(&integrity) {
            let leaf = &self.leaves[*place];
            let records = || (shown_of(entry), leaf_of(leaf));
            if faults::stale_state(&entry.shown, &leaf.shown) {
                let (entry, leaf) = records();
                found.push(StateEvidence::StaleState { entry, leaf });
            }
            if faults::dead_hand(&entry.shown, &leaf.shown) {
                let (entry, leaf) = records();
                found.push(StateEvidence::DeadHand { entry, leaf });
            }
            let wallets = self.signers_of(leaf);
            let wallets = wallets.iter().map(|wallet| Some(*wallet));
            let foreign = wallets.chain([None]).find(|wallet| {
                let wallet = wallet.map(|wallet| &wallet.shown);
                faults::foreign_hand(&entry.shown, &leaf.shown, wallet)
            });
            if let Some(wallet) = foreign {
                let (entry, leaf) = records();
                found.push(StateEvidence::ForeignHand {
                    entry,
                    leaf,
                    wallet: boxed(wallet),
                });
            }
        }
    }

    /// Next to the leaves whose target or payload names the id.
    fn judge_leaves_about(&self, entry: &SeenEntry, found: &mut Vec<StateEvidence>) {
        for place in self.leaf_index.about(&entry.shown.id) {
            let leaf = &self.leaves[*place];
            if faults::ghost_member(&leaf.shown, &entry.shown) {
                found.push(StateEvidence::GhostMember {
                    leaf: leaf_of(leaf),
                    wallet: shown_of(entry),
                });
            }
            if !leaf.is_kind(&Kind::Mint) {
                continue;
            }
            let signers = self.signers_of(leaf);
            let foreign = |wallet: &&&SeenEntry| {
                faults::foreign_mint(&entry.shown, &leaf.shown, &wallet.shown)
            };
            if let Some(wallet) = signers.iter().find(foreign) {
                found.push(StateEvidence::ForeignMint {
                    template: shown_of(entry),
                    leaf: leaf_of(leaf),
                    wallet: shown_of(wallet),
                });
            }
        }
    }

    fn judge_object(
        &self,
        entry: &SeenEntry,
        object: &ObjectEntry,
        found: &mut Vec<StateEvidence>,
    ) {
        for id in [&object.owner_id, &object.template_id] {
            if let Some(other) = self.at_same(id, entry) {
                judge_two(entry, other, found);
            }
        }
        for place in self.leaf_index.about(&object.template_id) {
            let leaf = &self.leaves[*place];
            if faults::live_update(&entry.shown, &leaf.shown) {
                found.push(StateEvidence::LiveUpdate {
                    object: shown_of(entry),
                    leaf: leaf_of(leaf),
                });
            }
        }
        if let Some(template) = self.at_same(&object.template_id, entry) {
            self.judge_followers(entry, (object, template), found);
        }
    }

    /// Each of the leaves that follow an object's entry, up to a transfer.
    fn judge_followers(
        &self,
        entry: &SeenEntry,
        (object, template): (&ObjectEntry, &SeenEntry),
        found: &mut Vec<StateEvidence>,
    ) {
        let mut reached = entry.integrity().unwrap_or(Hash::ZERO);
        let mut before: Vec<&SeenLeaf> = Vec::new();
        while let Some(leaf) = self.next_leaf(&reached) {
            let shown: Vec<ShownLeaf> = before.iter().map(|leaf| leaf.shown).collect();
            let owner = self.entries.get(&object.owner_id).into_iter().flatten();
            let wallets = self.signers_of(leaf).into_iter().chain(owner).map(Some);
            let wrong = wallets.chain([None]).find(|wallet| {
                faults::trespass(&TrespassEvidence {
                    object: &entry.shown,
                    template: &template.shown,
                    leaves: &shown,
                    leaf: &leaf.shown,
                    kind: Some(&leaf.kind),
                    wallet: wallet.map(|wallet| &wallet.shown),
                })
            });
            if let Some(wallet) = wrong {
                found.push(StateEvidence::Trespass(TrespassRecords {
                    object: shown_of(entry),
                    template: shown_of(template),
                    leaves: before.iter().map(|leaf| leaf_of(leaf)).collect(),
                    leaf: leaf_of(leaf),
                    kind: Some(leaf.kind.clone()),
                    wallet: boxed(wallet),
                }));
            }
            if leaf.is_kind(&Kind::Transfer) || before.len() == FOLLOWED_MAX {
                return;
            }
            reached = leaf.shown.leaf.integrity;
            before.push(leaf);
        }
    }

    /// The entry of an id at the checkpoint of another one.
    fn at_same(&self, id: &Id, entry: &SeenEntry) -> Option<&SeenEntry> {
        self.at(id, entry.batches())
    }

    /// Entries of wallets with the key that signed a leaf.
    fn signers_of(&self, leaf: &SeenLeaf) -> Vec<&SeenEntry> {
        let words = leaf.shown.words.as_ref();
        words.map_or_else(Vec::new, |words| self.signers(&words.signer))
    }
}

/// Two ids' entries, in the order that the fault asks for.
fn judge_two(one: &SeenEntry, other: &SeenEntry, found: &mut Vec<StateEvidence>) {
    for (rule, evidence) in TWINS {
        for (first, second) in [(one, other), (other, one)] {
            if rule(&first.shown, &second.shown) {
                found.push(evidence(pair(first, second)));
            }
        }
    }
}
