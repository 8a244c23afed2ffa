//! What evidence shows, once its proofs are checked.

use serde::{Deserialize, Serialize};

use crate::action::{ActionWords, Kind};
use crate::chain::{self, LogLeaf};
use crate::checkpoint::Checkpoint;
use crate::hash::keccak;
use crate::registry::ActionSubject;
use crate::state::entry::{EntryFields, ObjectEntry, StateEntry, TemplateEntry, WalletEntry};
use crate::{Address, Hash, Id, Prefix};

/// A signed checkpoint, as far as the faults of the state ask.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct StatePoint {
    /// Its number of batches, which orders checkpoints.
    pub batches: u64,
    /// Sequence of its last action.
    pub sequence: u64,
    /// Whether it has a root. Without one it shows nothing.
    pub is_rooted: bool,
}

impl StatePoint {
    /// The point of a checkpoint. A root of zeros is none.
    pub fn of(checkpoint: &Checkpoint) -> Self {
        Self {
            batches: checkpoint.batches,
            sequence: checkpoint.sequence,
            is_rooted: checkpoint.state != Hash::ZERO,
        }
    }
}

/// What the state holds under an id.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum HeldEntry {
    /// Nothing.
    Nothing,
    /// A well-formed entry.
    Entry(StateEntry),
    /// Bytes that are no entry of the id's type. They count for no fault but malformed state.
    Malformed,
}

/// What a state proof shows of one id at a checkpoint.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ShownEntry {
    /// The checkpoint.
    pub point: StatePoint,
    /// The key.
    pub id: Id,
    /// What its state holds there.
    pub held: HeldEntry,
}

impl ShownEntry {
    /// Reads the bytes that a proof shows; none of them is absence.
    pub fn read(point: StatePoint, id: Id, bytes: &[u8]) -> Self {
        let held = if bytes.is_empty() {
            HeldEntry::Nothing
        } else {
            let entry = StateEntry::decode(&id, bytes, point.sequence);
            entry.map_or(HeldEntry::Malformed, HeldEntry::Entry)
        };
        Self { point, id, held }
    }

    /// The entry, if the checkpoint has a root and the entry is well-formed.
    pub fn entry(&self) -> Option<&StateEntry> {
        match &self.held {
            HeldEntry::Entry(entry) if self.point.is_rooted => Some(entry),
            _ => None,
        }
    }

    /// Whether the checkpoint has a root and its state holds nothing under the id.
    pub fn is_absent(&self) -> bool {
        self.point.is_rooted && self.held == HeldEntry::Nothing
    }

    /// The wallet's entry, if it is one.
    pub(super) fn wallet(&self) -> Option<(&StateEntry, &WalletEntry)> {
        let entry = self.entry()?;
        match &entry.fields {
            EntryFields::Wallet(wallet) => Some((entry, wallet)),
            _ => None,
        }
    }

    /// The object's entry, if it is one.
    pub(super) fn object(&self) -> Option<(&StateEntry, &ObjectEntry)> {
        let entry = self.entry()?;
        match &entry.fields {
            EntryFields::Object(object) => Some((entry, object)),
            _ => None,
        }
    }

    /// The template's entry, if it is one.
    pub(super) fn template(&self) -> Option<(&StateEntry, &TemplateEntry)> {
        let entry = self.entry()?;
        match &entry.fields {
            EntryFields::Template(template) => Some((entry, template)),
            _ => None,
        }
    }
}

/// The five words of a leaf's content.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LeafWords {
    /// keccak256 of the kind.
    pub kind: Hash,
    /// keccak256 of the target.
    pub target: Hash,
    /// keccak256 of the payload.
    pub payload: Hash,
    /// The address that signed.
    pub signer: Address,
    /// keccak256(keccak256(signature) ‖ salt).
    pub authority: Hash,
}

impl LeafWords {
    /// The content that the words give.
    pub fn content(&self) -> Hash {
        let words = ActionWords {
            kind: self.kind,
            target: self.target,
            payload: self.payload,
        };
        chain::content(&words, &self.signer, &self.authority)
    }

    pub(super) fn is_kind(&self, kind: &Kind) -> bool {
        self.kind == kind.hash()
    }

    pub(super) fn is_target(&self, target: &Id) -> bool {
        self.target == keccak(&target.text_bytes())
    }

    pub(super) fn is_payload(&self, payload: &str) -> bool {
        self.payload == keccak(payload.as_bytes())
    }
}

/// A leaf of the log, opened if its words are there.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ShownLeaf {
    /// The leaf.
    pub leaf: LogLeaf,
    /// The words that give its content.
    pub words: Option<LeafWords>,
}

impl ShownLeaf {
    /// Whether the leaf extends this integrity. Zero is extended by everything that is made, so it counts for nothing.
    pub(super) fn extends(&self, integrity: &Hash) -> bool {
        *integrity != Hash::ZERO
            && chain::next_integrity(integrity, &self.leaf.content) == self.leaf.integrity
    }

    /// Whether the leaf's content makes this id as the first of its prefix.
    pub(super) fn makes(&self, id: &Id) -> bool {
        let content = &self.leaf.content;
        *id == match id.prefix {
            Prefix::Action => Id::of_hash(Prefix::Action, content),
            prefix => Id::made_by(prefix, content, 0),
        }
    }
}

/// Follows leaves, each of which extends the integrity before it; returns the last one's.
pub(super) fn leads(from: &Hash, leaves: &[ShownLeaf]) -> Option<Hash> {
    leaves.iter().try_fold(*from, |integrity, leaf| {
        leaf.extends(&integrity).then_some(leaf.leaf.integrity)
    })
}

/// Whether every leaf is opened and has a kind that passes.
pub(super) fn all_opened(leaves: &[ShownLeaf], passes: impl Fn(&LeafWords) -> bool) -> bool {
    leaves
        .iter()
        .all(|leaf| leaf.words.as_ref().is_some_and(&passes))
}

/// A kind by its plain text.
pub(super) enum NamedKind {
    Registered(Kind),
    /// Begins with `x.`: a template's.
    Custom,
    Unknown,
}

impl NamedKind {
    /// Reads the plain text of a leaf's kind; `None` if it is not the text whose hash the leaf has.
    pub(super) fn of(words: &LeafWords, text: &str) -> Option<Self> {
        if keccak(text.as_bytes()) != words.kind {
            return None;
        }
        if text.starts_with("x.") {
            return Some(Self::Custom);
        }
        Some(Kind::of_text(text).map_or(Self::Unknown, Self::Registered))
    }

    /// Whether actions of this kind act on resources with this prefix, or make them.
    pub(super) fn concerns(&self, prefix: Prefix) -> bool {
        match self {
            Self::Registered(kind) => match kind.spec().acts_on {
                ActionSubject::New(made) => made == prefix,
                ActionSubject::Object(_) => prefix == Prefix::Object,
                ActionSubject::Resource(on) => on == prefix,
            },
            Self::Custom => prefix == Prefix::Object,
            Self::Unknown => false,
        }
    }

    /// Whether an action of this kind makes a resource with this prefix as the one that it acts on.
    pub(super) fn makes(&self, prefix: Prefix) -> bool {
        matches!(self, Self::Registered(kind) if kind.spec().acts_on == ActionSubject::New(prefix))
    }

    pub(super) fn is(&self, kind: &Kind) -> bool {
        matches!(self, Self::Registered(own) if own == kind)
    }
}
