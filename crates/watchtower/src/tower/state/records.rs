//! The records: entries and leaves, read once, with the evidence that shows them.

use kedge_protocol::action::Kind;
use kedge_protocol::evidence::{EntryEvidence, OpenedLeafEvidence};
use kedge_protocol::registry::ActionSubject;
use kedge_protocol::state::EntryFields;
use kedge_protocol::state::faults::{ShownEntry, ShownLeaf, StatePoint};
use kedge_protocol::{Address, Hash, Id, Prefix};

/// What a proof shows of an id at a signed checkpoint.
#[derive(Clone, Debug)]
pub(in crate::tower) struct SeenEntry {
    pub(in crate::tower) shown: ShownEntry,
    pub(in crate::tower) evidence: EntryEvidence,
}

impl SeenEntry {
    pub(in crate::tower) fn new(evidence: EntryEvidence) -> Self {
        let point = StatePoint::of(&evidence.checkpoint.checkpoint);
        let proof = &evidence.proof;
        Self {
            shown: ShownEntry::read(point, proof.key, &proof.entry),
            evidence,
        }
    }

    pub(super) fn batches(&self) -> u64 {
        self.shown.point.batches
    }

    pub(super) fn bytes(&self) -> &[u8] {
        &self.evidence.proof.entry
    }

    /// Whether another record shows the same entry at the same checkpoint.
    pub(super) fn says_the_same(&self, other: &Self) -> bool {
        let state = |entry: &Self| entry.evidence.checkpoint.checkpoint.state;
        self.batches() == other.batches()
            && state(self) == state(other)
            && self.bytes() == other.bytes()
    }

    pub(super) fn fields(&self) -> Option<&EntryFields> {
        self.shown.entry().map(|entry| &entry.fields)
    }

    pub(super) fn integrity(&self) -> Option<Hash> {
        self.shown.entry().map(|entry| entry.integrity)
    }

    /// The keys of a wallet.
    pub(super) fn keys(&self) -> &[Address] {
        match self.fields() {
            Some(EntryFields::Wallet(wallet)) => &wallet.keys,
            _ => &[],
        }
    }

    /// Ids that the entry names and that have entries too.
    pub(super) fn named(&self) -> Vec<Id> {
        match self.fields() {
            Some(EntryFields::Object(object)) => {
                let own = [object.organization_id, object.template_id, object.owner_id];
                own.into_iter().chain(object.variation_id).collect()
            }
            Some(EntryFields::Wallet(wallet)) => vec![wallet.organization_id],
            Some(EntryFields::Template(template)) => vec![template.organization_id],
            Some(EntryFields::Variation(variation)) => vec![variation.template_id],
            Some(EntryFields::File(file)) => vec![file.wallet_id],
            _ => Vec::new(),
        }
    }
}

/// A leaf of a signed batch, opened.
#[derive(Clone, Debug)]
pub(in crate::tower) struct SeenLeaf {
    pub(in crate::tower) shown: ShownLeaf,
    pub(in crate::tower) evidence: OpenedLeafEvidence,
    /// The plain text of its kind.
    pub(in crate::tower) kind: String,
    /// The target, if it is an id.
    pub(in crate::tower) target: Option<Id>,
    /// The wallet that is all that its payload names.
    pub(in crate::tower) named: Option<Id>,
    /// The integrity that it extends.
    pub(in crate::tower) previous: Hash,
    /// What it acted on, if that is known.
    pub(in crate::tower) resource: Option<Id>,
    /// The wallet and the organization of its request, if they are known.
    pub(in crate::tower) wallet_id: Option<Id>,
    pub(in crate::tower) organization_id: Option<Id>,
}

/// The wallet of a payload that is exactly `{"to":"wal_…"}` or `{"wallet_id":"wal_…"}`.
pub(in crate::tower) fn named_wallet(payload: &str) -> Option<Id> {
    let members = ["{\"to\":\"", "{\"wallet_id\":\""];
    let rest = members
        .iter()
        .find_map(|member| payload.strip_prefix(member))?;
    let id: Id = rest.strip_suffix("\"}")?.parse().ok()?;
    (id.prefix == Prefix::Wallet).then_some(id)
}

impl SeenLeaf {
    pub(super) fn is_kind(&self, kind: &Kind) -> bool {
        self.kind == kind.text()
    }

    /// The resource that it makes as the first of its prefix.
    pub(super) fn made(&self) -> Option<Id> {
        let content = &self.shown.leaf.content;
        let kind = Kind::of_text(&self.kind)?;
        match kind.spec().acts_on {
            ActionSubject::New(Prefix::Action) => Some(Id::of_hash(Prefix::Action, content)),
            ActionSubject::New(prefix) => Some(Id::made_by(prefix, content, 0)),
            _ if kind == Kind::TemplateVariations => {
                Some(Id::made_by(Prefix::Variation, content, 0))
            }
            _ => None,
        }
    }

    /// The template that it changes.
    pub(super) fn updates_template(&self) -> Option<Id> {
        self.target.filter(|_| self.is_kind(&Kind::TemplateUpdate))
    }

    /// Ids whose entries it may change or make, and those of its signer.
    pub(super) fn concerns(&self) -> Vec<Id> {
        let ids = [
            self.resource,
            self.made(),
            self.target.filter(has_entry),
            self.named,
            self.wallet_id,
            self.organization_id,
        ];
        ids.into_iter().flatten().collect()
    }
}

fn has_entry(id: &Id) -> bool {
    kedge_protocol::state::entry::has_entries(id.prefix) && id.prefix != Prefix::Action
}
