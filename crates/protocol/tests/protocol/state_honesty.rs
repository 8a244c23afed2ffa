//! Honest logs are never convicted: random histories of every kind of action, and random evidence of each fault drawn
//! from them.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use kedge_protocol::state::faults::{
    self, FalseEntryEvidence, HeldEntry, ShownEntry, ShownLeaf, TrespassEvidence,
};
use kedge_protocol::{Id, Prefix};

use crate::state_model::{ModelAction, ModelLog};
use crate::state_trie::Dice;

/// How long histories are drawn.
const DRAWN_FOR: Duration = Duration::from_secs(20);
/// Draws of each fault from one history.
const DRAWS: usize = 150;
const WITH_ENTRIES: [Prefix; 10] = [
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

/// Evidence drawn from one history.
struct EvidenceDraw<'a> {
    log: &'a ModelLog,
    dice: Dice,
}

impl EvidenceDraw<'_> {
    fn id(&mut self, prefix: Prefix) -> Id {
        let ids = self.log.ids(prefix);
        if ids.is_empty() || self.dice.below(30) == 0 {
            return Id::of_hash(prefix, &self.dice.hash());
        }
        ids[self.dice.below(ids.len())]
    }

    fn prefix(&mut self) -> Prefix {
        WITH_ENTRIES[self.dice.below(WITH_ENTRIES.len())]
    }

    fn place(&mut self) -> usize {
        self.dice.below(self.log.points.len())
    }

    fn at(&self, place: usize, id: Id) -> ShownEntry {
        let point = &self.log.points[place];
        let held = point.state.get(&id).cloned();
        ShownEntry {
            point: point.point,
            id,
            held: held.map_or(HeldEntry::Nothing, HeldEntry::Entry),
        }
    }

    fn entry(&mut self, prefix: Prefix) -> ShownEntry {
        let (place, id) = (self.place(), self.id(prefix));
        self.at(place, id)
    }

    fn pair(&mut self, prefix: Prefix) -> (ShownEntry, ShownEntry) {
        let id = self.id(prefix);
        let places = (self.place(), self.place());
        (self.at(places.0, id), self.at(places.1, id))
    }

    /// An action, mostly one on the resource.
    fn action(&mut self, near: &Id) -> ModelAction {
        let own = self.log.of_resource.get(near);
        let place = match own {
            Some(own) if self.dice.below(5) > 0 => own[self.dice.below(own.len())],
            _ => self.dice.below(self.log.actions.len()),
        };
        let mut action = self.log.actions[place].clone();
        if self.dice.below(8) == 0 {
            action.leaf.words = None;
        }
        action
    }

    /// The wallet that signed, or any, at any checkpoint.
    fn wallet(&mut self, leaf: &ShownLeaf) -> ShownEntry {
        let place = self.place();
        let signer = leaf.words.map(|words| words.signer);
        let wallets = self.log.ids(Prefix::Wallet).into_iter();
        let shown: Vec<ShownEntry> = wallets.map(|id| self.at(place, id)).collect();
        let has_signer = |shown: &&ShownEntry| match &shown.held {
            HeldEntry::Entry(entry) => {
                let fields = serde_json::to_value(&entry.fields).unwrap();
                let signer = signer.map(|signer| signer.to_string());
                let keys = fields["keys"].as_array().unwrap();
                keys.iter().any(|key| key.as_str() == signer.as_deref())
            }
            _ => false,
        };
        let own = shown.iter().find(has_signer).cloned();
        match own {
            Some(own) if self.dice.below(3) > 0 => own,
            _ => shown[self.dice.below(shown.len())].clone(),
        }
    }

    /// Two entries of one resource, and the leaves between them.
    fn change(&mut self, prefix: Prefix) -> (ShownEntry, ShownEntry, Vec<ShownLeaf>) {
        let (first, second) = self.pair(prefix);
        let versions = [&first, &second].map(|shown| match &shown.held {
            HeldEntry::Entry(entry) => entry.version as usize,
            _ => 0,
        });
        let leaves = self.leaves(&first.id, versions[0], versions[1]);
        (first, second, leaves)
    }

    /// The leaves that lead a resource from one version to another; at times one more or less.
    fn leaves(&mut self, id: &Id, from: usize, until: usize) -> Vec<ShownLeaf> {
        let own = self.log.of_resource.get(id).map_or(&[][..], Vec::as_slice);
        // The registration made the organization, and extends its wallet.
        let missing = usize::from(id.prefix == Prefix::Organization);
        let end = until.saturating_sub(missing).min(own.len());
        let begin = from.saturating_sub(missing).min(end);
        let mut leaves: Vec<ShownLeaf> = own[begin..end]
            .iter()
            .map(|place| self.log.actions[*place].leaf)
            .collect();
        match self.dice.below(12) {
            0 => drop(leaves.pop()),
            1 => leaves.iter_mut().for_each(|leaf| leaf.words = None),
            _ => {}
        }
        leaves
    }

    fn check(&mut self, convicted: &mut BTreeMap<&'static str, usize>) {
        let mut count = |name: &'static str, verdict: bool| {
            assert!(!verdict, "{name} convicts an honest log");
            *convicted.entry(name).or_default() += 1;
        };
        let prefix = self.prefix();
        let (first, second) = self.pair(prefix);
        count("rewritten", faults::rewritten_state(&first, &second));
        count("lone step", faults::lone_step(&first, &second));
        count("two-faced", faults::two_faced_state(&first, &second));
        count("constant", faults::changed_constant(&first, &second));
        count("oversupply", faults::oversupply(&first, &second));
        let (one, other) = (first.point, second.point);
        if one.batches < other.batches || one.is_rooted == other.is_rooted {
            count("unrooted", faults::unrooted_checkpoint(&one, &other));
        }
        let others = (self.prefix(), self.entry(prefix));
        let further = self.entry(others.0);
        count("twin", faults::twin_state(&first, &further));
        count("address", faults::false_address(&first, &others.1));
        count("address", faults::false_address(&first, &further));
        count("oversupply", faults::oversupply(&first, &others.1));
        self.check_leaf(&first, &mut count);
        let (first, second, leaves) = self.change(prefix);
        count("owner", faults::false_owner(&first, &second, &leaves));
        count("hidden", faults::hidden_change(&first, &second, &leaves));
        count("keys", faults::false_keys(&first, &second, &leaves));
        count("version", faults::false_version(&first, &second, &leaves));
        self.check_object(&mut count);
    }

    fn check_leaf(&mut self, shown: &ShownEntry, count: &mut dyn FnMut(&'static str, bool)) {
        let action = self.action(&shown.id);
        let (leaf, wallet) = (&action.leaf, self.wallet(&action.leaf));
        count("stale", faults::stale_state(shown, leaf));
        count("missing", faults::missing_state(shown, leaf, &action.kind));
        count("dead hand", faults::dead_hand(shown, leaf));
        let any = self.id(Prefix::Wallet);
        let evidence = FalseEntryEvidence {
            kind: (self.dice.below(9) > 0).then_some(&*action.kind),
            to: action.to.as_ref().or(Some(&any)),
            wallet: Some(&wallet),
        };
        count("entry", faults::false_entry(shown, leaf, &evidence));
        count("hand", faults::foreign_hand(shown, leaf, Some(&wallet)));
        count("maker", faults::foreign_maker(shown, leaf, &wallet));
        let place = self.dice.below(self.log.actions.len());
        let leaf = self.log.actions[place].leaf;
        let wallet = self.wallet(&leaf);
        count("mint", faults::foreign_mint(shown, &leaf, &wallet));
        count("update", faults::live_update(shown, &leaf));
        count("ghost", faults::ghost_member(&leaf, &wallet));
        count("ghost", faults::ghost_member(&leaf, shown));
    }

    fn check_object(&mut self, count: &mut dyn FnMut(&'static str, bool)) {
        let place = self.place();
        let id = self.id(Prefix::Object);
        let object = self.at(place, id);
        let HeldEntry::Entry(entry) = &object.held else {
            return;
        };
        let fields = serde_json::to_value(&entry.fields).unwrap();
        let id_of = |name: &str| fields[name].as_str().unwrap().parse::<Id>().unwrap();
        let template = self.at(place, id_of("template_id"));
        let owner = self.at(place, id_of("owner_id"));
        count("address", faults::false_address(&object, &owner));
        count("address", faults::false_address(&object, &template));
        count("oversupply", faults::oversupply(&object, &template));
        let own = self.log.of_resource[&id].len();
        let from = entry.version as usize;
        if from == own {
            return;
        }
        let until = from + self.dice.below(own - from);
        let leaves = self.leaves(&id, from, until);
        let action = &self.log.actions[self.log.of_resource[&id][until]];
        let wallet = if self.dice.below(2) == 0 {
            let (place, owner) = (self.place(), id_of("owner_id"));
            self.at(place, owner)
        } else {
            self.wallet(&action.leaf)
        };
        let verdict = faults::trespass(&TrespassEvidence {
            object: &object,
            template: &template,
            leaves: &leaves,
            leaf: &action.leaf,
            kind: Some(&action.kind),
            wallet: Some(&wallet),
        });
        count("trespass", verdict);
    }
}

/// Every entry of a history reads back from its bytes at its checkpoint.
fn check_entries(log: &ModelLog) -> usize {
    let mut count = 0;
    let mut bytes = Vec::new();
    for point in &log.points {
        for (id, entry) in &point.state {
            entry.encode(&mut bytes);
            let shown = ShownEntry::read(point.point, *id, &bytes);
            assert!(!faults::malformed_state(&shown), "{id}: {entry:?}");
            assert_eq!(shown.held, HeldEntry::Entry(entry.clone()));
            count += 1;
        }
    }
    count
}

// Holds invariant 254.
#[test]
fn honest_logs_are_never_convicted() {
    let begun = Instant::now();
    let mut checked = BTreeMap::new();
    let (mut histories, mut actions, mut entries) = (0_u64, 0, 0);
    while begun.elapsed() < DRAWN_FOR {
        let log = ModelLog::random(histories);
        entries += check_entries(&log);
        let mut draw = EvidenceDraw {
            log: &log,
            dice: Dice(!histories),
        };
        for _ in 0..DRAWS {
            draw.check(&mut checked);
        }
        actions += log.actions.len();
        histories += 1;
    }
    let evidence: usize = checked.values().sum();
    eprintln!(
        "{histories} histories, {actions} actions, {entries} entries, {evidence} pieces of evidence"
    );
    eprintln!("{checked:?}");
    assert!(
        histories > 20 && checked.len() == 22,
        "{histories} {checked:?}"
    );
}
