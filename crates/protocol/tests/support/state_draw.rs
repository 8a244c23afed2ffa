//! Evidence drawn from an honest log: true entries and true leaves, put together as one who looks for a fault would, and
//! often in another way.

use kedge_protocol::evidence::StateFault;
use kedge_protocol::state::StateEntry;
use kedge_protocol::state::entry::{EntryFields, ObjectEntry};
use kedge_protocol::state::faults::{
    self, FalseEntryEvidence, HeldEntry, ShownEntry, ShownLeaf, TrespassEvidence,
};
use kedge_protocol::{Id, Prefix};

use crate::state_model::ModelLog;
use crate::state_trie::Dice;

/// A resource at a checkpoint, by their places.
#[derive(Clone, Copy, Debug)]
pub(crate) struct EntryPick {
    pub(crate) point: usize,
    pub(crate) place: usize,
}

/// A leaf of the log, by its action's place.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LeafPick {
    pub(crate) action: usize,
    pub(crate) is_open: bool,
}

/// Records for one fault. Each fault takes those that it needs.
#[derive(Debug)]
pub(crate) struct DrawnRecords {
    pub(crate) fault: StateFault,
    pub(crate) first: EntryPick,
    pub(crate) second: EntryPick,
    pub(crate) wallet: Option<EntryPick>,
    pub(crate) leaves: Vec<LeafPick>,
    pub(crate) leaf: LeafPick,
    pub(crate) kind: Option<&'static str>,
    pub(crate) to: Option<Id>,
}

pub(crate) struct EvidenceDraw<'a> {
    pub(crate) log: &'a ModelLog,
    pub(crate) dice: Dice,
}

impl EvidenceDraw<'_> {
    pub(crate) fn shown(&self, pick: EntryPick) -> &ShownEntry {
        &self.log.points[pick.point].shown[pick.place]
    }

    fn entry(&self, pick: EntryPick) -> Option<&StateEntry> {
        match &self.shown(pick).held {
            HeldEntry::Entry(entry) => Some(entry),
            _ => None,
        }
    }

    fn object(&self, pick: EntryPick) -> Option<&ObjectEntry> {
        match &self.entry(pick)?.fields {
            EntryFields::Object(object) => Some(object),
            _ => None,
        }
    }

    fn leaf(&self, pick: LeafPick) -> ShownLeaf {
        let mut leaf = self.log.actions[pick.action].leaf;
        if !pick.is_open {
            leaf.words = None;
        }
        leaf
    }

    /// Whether the records show their fault. A broken trie takes proofs, and is tried with them.
    pub(crate) fn convicts(&self, drawn: &DrawnRecords) -> bool {
        use StateFault as F;
        let (first, second) = (self.shown(drawn.first), self.shown(drawn.second));
        let wallet = drawn.wallet.map(|pick| self.shown(pick));
        let any_wallet = wallet.unwrap_or(second);
        let leaf = self.leaf(drawn.leaf);
        let leaves: Vec<ShownLeaf> = drawn.leaves.iter().map(|pick| self.leaf(*pick)).collect();
        match drawn.fault {
            F::UnrootedCheckpoint => faults::unrooted_checkpoint(&first.point, &second.point),
            F::MalformedState => faults::malformed_state(first),
            F::BrokenTrie => false,
            F::StaleState => faults::stale_state(first, &leaf),
            F::FalseEntry => {
                let further = FalseEntryEvidence {
                    kind: drawn.kind,
                    to: drawn.to.as_ref(),
                    wallet,
                };
                faults::false_entry(first, &leaf, &further)
            }
            F::MissingState => faults::missing_state(first, &leaf, drawn.kind.unwrap_or("")),
            F::RewrittenState => faults::rewritten_state(first, second),
            F::LoneStep => faults::lone_step(first, second),
            F::TwoFacedState => faults::two_faced_state(first, second),
            F::ChangedConstant => faults::changed_constant(first, second),
            F::TwinState => faults::twin_state(first, second),
            F::FalseAddress => faults::false_address(first, second),
            F::FalseOwner => faults::false_owner(first, second, &leaves),
            F::HiddenChange => faults::hidden_change(first, second, &leaves),
            F::FalseKeys => faults::false_keys(first, second, &leaves),
            F::FalseVersion => faults::false_version(first, second, &leaves),
            F::Trespass => faults::trespass(&TrespassEvidence {
                object: first,
                template: second,
                leaves: &leaves,
                leaf: &leaf,
                kind: drawn.kind,
                wallet,
            }),
            F::ForeignHand => faults::foreign_hand(first, &leaf, wallet),
            F::DeadHand => faults::dead_hand(first, &leaf),
            F::ForeignMaker => faults::foreign_maker(first, &leaf, any_wallet),
            F::ForeignMint => faults::foreign_mint(first, &leaf, any_wallet),
            F::LiveUpdate => faults::live_update(first, &leaf),
            F::GhostMember => faults::ghost_member(&leaf, first),
            F::Oversupply => faults::oversupply(first, second),
        }
    }

    /// Records for the fault; one time in four, something of them is another thing of the log.
    pub(crate) fn records(&mut self, fault: StateFault) -> DrawnRecords {
        use StateFault as F;
        let mut drawn = self.anything(fault);
        match fault {
            F::UnrootedCheckpoint | F::MalformedState | F::BrokenTrie | F::TwinState => {}
            F::RewrittenState | F::LoneStep | F::TwoFacedState | F::ChangedConstant => {
                drawn.second.place = drawn.first.place;
            }
            F::FalseAddress | F::Oversupply => self.neighbours(&mut drawn),
            F::FalseOwner | F::HiddenChange | F::FalseKeys | F::FalseVersion => {
                self.change(&mut drawn);
            }
            F::Trespass => self.trespass(&mut drawn),
            F::StaleState
            | F::DeadHand
            | F::FalseEntry
            | F::MissingState
            | F::ForeignHand
            | F::ForeignMaker => self.own_leaf(&mut drawn),
            F::ForeignMint | F::LiveUpdate => self.templates_leaf(&mut drawn),
            F::GhostMember => self.removal(&mut drawn),
        }
        if self.dice.below(4) == 0 {
            self.bend(&mut drawn);
        }
        drawn
    }

    fn point(&mut self) -> usize {
        self.dice.below(self.log.points.len())
    }

    fn place(&mut self) -> usize {
        self.dice.below(self.log.points[0].shown.len())
    }

    fn action(&mut self) -> usize {
        self.dice.below(self.log.actions.len())
    }

    fn one_of(&mut self, prefix: Prefix) -> Option<usize> {
        let places = self.log.of_prefix(prefix);
        (!places.is_empty()).then(|| places[self.dice.below(places.len())])
    }

    fn pick(&mut self) -> EntryPick {
        EntryPick {
            point: self.point(),
            place: self.place(),
        }
    }

    fn anything(&mut self, fault: StateFault) -> DrawnRecords {
        let (action, wallet) = (self.action(), self.one_of(Prefix::Wallet));
        let mut drawn = DrawnRecords {
            fault,
            first: self.pick(),
            second: self.pick(),
            wallet: None,
            leaves: Vec::new(),
            leaf: LeafPick {
                action,
                is_open: true,
            },
            kind: None,
            to: wallet.map(|place| self.log.resources[place].id),
        };
        self.with_leaf(&mut drawn, action);
        drawn
    }

    /// The leaf of an action, with its kind, the wallet that its payload names, and its signer's wallet at any checkpoint.
    fn with_leaf(&mut self, drawn: &mut DrawnRecords, action: usize) {
        let point = self.point();
        let own = &self.log.actions[action];
        drawn.leaf.action = action;
        drawn.kind = Some(own.kind);
        drawn.to = own.to.or(drawn.to);
        drawn.wallet = own.wallet.map(|place| EntryPick { point, place });
    }

    /// An entry and a leaf that made one of its resource's versions: often the one of its sequence, or the next one.
    fn own_leaf(&mut self, drawn: &mut DrawnRecords) {
        let place = drawn.first.place;
        let Some(resource) = self.log.resources.get(place) else {
            let maker = self.log.strangers[place - self.log.resources.len()];
            return self.with_leaf(drawn, maker);
        };
        let version = self.entry(drawn.first).map_or(0, |entry| entry.version) as usize;
        let own = match self.dice.below(5) {
            0 | 1 => version.saturating_sub(1),
            2 | 3 => version,
            _ => self.dice.below(resource.actions.len()),
        };
        let own = own.min(resource.actions.len() - 1);
        self.with_leaf(drawn, resource.actions[own]);
    }

    /// A template and a mint of it, or an object and a change of its template.
    fn templates_leaf(&mut self, drawn: &mut DrawnRecords) {
        let Some(place) = self.one_of(Prefix::Object) else {
            return;
        };
        let object = &self.log.resources[place];
        let EntryFields::Object(fields) = &object.entry.fields else {
            return;
        };
        let template = self.log.place_of(&fields.template_id);
        if drawn.fault == StateFault::ForeignMint {
            drawn.first.place = template;
            self.with_leaf(drawn, object.actions[0]);
        } else {
            let changes = &self.log.resources[template].actions;
            drawn.first.place = place;
            let change = changes[self.dice.below(changes.len())];
            self.with_leaf(drawn, change);
        }
    }

    /// The removal of a member, and a wallet: mostly that member.
    fn removal(&mut self, drawn: &mut DrawnRecords) {
        if let Some(place) = self.one_of(Prefix::Wallet) {
            drawn.first.place = place;
        }
        let begun = self.action();
        let count = self.log.actions.len();
        let removal = (begun..begun + count)
            .map(|place| place % count)
            .find(|place| self.log.actions[*place].kind == "org.member_remove");
        if let Some(removal) = removal {
            self.with_leaf(drawn, removal);
            if let Some(member) = self.log.actions[removal].to {
                drawn.first.place = self.log.place_of(&member);
            }
        }
    }

    /// An object with its owner, its template, or another object; two wallets; or one template twice.
    fn neighbours(&mut self, drawn: &mut DrawnRecords) {
        let prefix = [
            Prefix::Object,
            Prefix::Object,
            Prefix::Wallet,
            Prefix::Template,
        ][self.dice.below(4)];
        let (Some(one), Some(other)) = (self.one_of(prefix), self.one_of(prefix)) else {
            return;
        };
        (drawn.first.place, drawn.second.place) = (one, other);
        let choice = self.dice.below(3);
        if let Some(object) = self.object(drawn.first)
            && choice > 0
        {
            let neighbour = [object.owner_id, object.template_id][choice - 1];
            drawn.second = EntryPick {
                point: drawn.first.point,
                place: self.log.place_of(&neighbour),
            };
        }
    }

    /// Two entries of one resource, the earlier one first, and the leaves from one to the other.
    fn change(&mut self, drawn: &mut DrawnRecords) {
        if self.dice.below(3) > 0 {
            let prefix = match drawn.fault {
                StateFault::FalseKeys => Prefix::Wallet,
                StateFault::HiddenChange if self.dice.below(2) == 0 => Prefix::Template,
                _ => Prefix::Object,
            };
            if let Some(place) = self.one_of(prefix) {
                drawn.first.place = place;
            }
        }
        let points = [drawn.first.point, drawn.second.point];
        drawn.first.point = points[0].min(points[1]);
        drawn.second = EntryPick {
            point: points[0].max(points[1]),
            place: drawn.first.place,
        };
        let version = |pick| self.entry(pick).map_or(0, |entry| entry.version as usize);
        let (from, until) = (version(drawn.first), version(drawn.second));
        drawn.leaves = self.leaves(drawn.first.place, from, until);
    }

    /// The leaves that lead a resource from one version to another; at times one more or less, or one that is not opened.
    fn leaves(&mut self, place: usize, from: usize, until: usize) -> Vec<LeafPick> {
        let Some(resource) = self.log.resources.get(place) else {
            return Vec::new();
        };
        let actions = &resource.actions;
        let (mut from, mut until) = (from, until);
        match self.dice.below(12) {
            0 => from = from.saturating_sub(1),
            1 => from += 1,
            2 => until += 1,
            3 => until = until.saturating_sub(1),
            _ => {}
        }
        let until = until.min(actions.len());
        let range = from.min(until)..until;
        let open = |action| LeafPick {
            action,
            is_open: true,
        };
        let mut leaves: Vec<LeafPick> = actions[range].iter().copied().map(open).collect();
        if !leaves.is_empty() && self.dice.below(6) == 0 {
            let closed = self.dice.below(leaves.len());
            leaves[closed].is_open = false;
        }
        leaves
    }

    /// An object, its template at the same checkpoint, some of the actions that followed, the next one, and the wallet of
    /// its signer or of the owner.
    fn trespass(&mut self, drawn: &mut DrawnRecords) {
        let Some(place) = self.one_of(Prefix::Object) else {
            return;
        };
        drawn.first.place = place;
        let Some(object) = self.object(drawn.first) else {
            return;
        };
        let owner = self.log.place_of(&object.owner_id);
        drawn.second = EntryPick {
            point: drawn.first.point,
            place: self.log.place_of(&object.template_id),
        };
        let from = self.entry(drawn.first).map_or(0, |entry| entry.version) as usize;
        let later = self.log.resources[place].actions.len() - from;
        if later == 0 {
            return;
        }
        let until = from + self.dice.below(later);
        let action = self.log.resources[place].actions[until];
        self.with_leaf(drawn, action);
        drawn.leaves = self.leaves(place, from, until);
        if self.dice.below(2) == 0 {
            drawn.wallet = Some(EntryPick {
                point: self.point(),
                place: owner,
            });
        }
    }

    fn bend(&mut self, drawn: &mut DrawnRecords) {
        match self.dice.below(12) {
            0 => drawn.first.point = self.point(),
            1 => drawn.second.point = self.point(),
            2 => drawn.first.place = self.place(),
            3 => drawn.second.place = self.place(),
            4 => std::mem::swap(&mut drawn.first, &mut drawn.second),
            5 => drawn.wallet = Some(self.pick()),
            6 => {
                let point = self.point();
                let wallet = self.one_of(Prefix::Wallet);
                drawn.wallet = wallet.map(|place| EntryPick { point, place });
            }
            7 => drawn.leaf.is_open = false,
            8 => drawn.leaf.action = self.action(),
            9 => drawn.kind = None,
            10 => drawn.kind = Some(self.log.actions[self.action()].kind),
            _ => drawn.to = self.log.resources.get(self.place()).map(|one| one.id),
        }
    }

    /// The history and the records, for one who has to find out what happened.
    pub(crate) fn described(&self, drawn: &DrawnRecords) -> String {
        let mut lines = vec![format!("{drawn:?}")];
        let picks = [Some(drawn.first), Some(drawn.second), drawn.wallet];
        for pick in picks.into_iter().flatten() {
            lines.push(format!("{:?}", self.shown(pick)));
        }
        for (number, action) in self.log.actions.iter().enumerate() {
            let made = self.log.resources.get(action.resource).map(|one| one.id);
            lines.push(format!(
                "{number}: sequence {}, batch {}, {} on {made:?}, wallet {:?}, to {:?}",
                action.leaf.leaf.sequence, action.batch, action.kind, action.wallet, action.to
            ));
        }
        for (number, point) in self.log.points.iter().enumerate() {
            lines.push(format!("point {number}: {:?}", point.point));
        }
        lines.join("\n")
    }
}
