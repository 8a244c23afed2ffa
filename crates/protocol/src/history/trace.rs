//! The actions that lead to an entry: found from the last one back to the one that made the resource.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};

use super::cover::{CheckpointCover, ConsistencyProof, CoverError};
use crate::action::Kind;
use crate::chain::first_integrity;
use crate::checkpoint::Checkpoint;
use crate::eip712::Domain;
use crate::limits::VARIATIONS_MAX;
use crate::proof::{OpenedAction, ProofFile, ProofFileError};
use crate::record::ActionRecord;
use crate::registry::ActionSubject;
use crate::sequencer_keys::BatchKeys;
use crate::state::entry::StateEntry;
use crate::{Hash, Id, Prefix};

/// Why proof files are not the history of an entry.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum HistoryError {
    /// A proof file is invalid.
    #[error("the proof of the action at sequence {sequence}: {source}")]
    Proof {
        /// The sequence that the file states.
        sequence: u64,
        /// What is wrong with it.
        source: ProofFileError,
    },
    /// A proof file leads to no batch of the checkpoint's log.
    #[error("the proof of the action at sequence {sequence}: {source}")]
    Cover {
        /// The action's sequence.
        sequence: u64,
        /// What is wrong with it.
        source: CoverError,
    },
    /// One sequence has two actions.
    #[error("two different actions have sequence {0}: keep both proofs, they are evidence")]
    Contradiction(u64),
    /// One content is at two sequences.
    #[error("one action is at sequences {first} and {second}: keep both proofs, they are evidence")]
    Repeated {
        /// The lower sequence.
        first: u64,
        /// The higher one.
        second: u64,
    },
    /// An action of the history is missing.
    #[error(
        "the action that made version {version} of {id} is missing: it is before sequence {before}, and leaves the integrity {integrity}"
    )]
    Missing {
        /// The resource.
        id: Id,
        /// The version that the action made.
        version: u64,
        /// The sequence of the next action, or the one after the entry's.
        before: u64,
        /// The integrity that the action left.
        integrity: Hash,
    },
    /// The action that left the entry's integrity is not at the entry's sequence.
    #[error(
        "the entry of {id} says that its last action is at sequence {expected}, but that action is at {found}"
    )]
    Sequence {
        /// The resource.
        id: Id,
        /// The entry's sequence.
        expected: u64,
        /// The action's sequence.
        found: u64,
    },
    /// An action is not placed before the one that extends it.
    #[error("the action at sequence {sequence} extends one that comes later, at {previous}")]
    Order {
        /// The sequence of the later action in the history.
        sequence: u64,
        /// The sequence of the earlier one.
        previous: u64,
    },
    /// The entry's version is not the number of actions.
    #[error(
        "the entry of {id} says version {version}, but its integrity is that of {actions} actions"
    )]
    Version {
        /// The resource.
        id: Id,
        /// The entry's version.
        version: u64,
        /// The number of actions.
        actions: u64,
    },
    /// The history goes back further than the entry's version.
    #[error("the entry of {id} says version {version}, but its integrity is that of more actions")]
    Longer {
        /// The resource.
        id: Id,
        /// The entry's version.
        version: u64,
    },
    /// An action of the history is not on the resource.
    #[error(
        "the action at sequence {sequence} extends the history of {id}, but is no action on it"
    )]
    Foreign {
        /// The resource.
        id: Id,
        /// The action's sequence.
        sequence: u64,
    },
    /// The log holds a later action at or before the checkpoint, which the entry ignores.
    #[error(
        "the entry of {id} ignores the action at sequence {sequence}, which is before the checkpoint: keep both, they are evidence"
    )]
    Stale {
        /// The resource.
        id: Id,
        /// The action's sequence.
        sequence: u64,
    },
}

/// A valid proof file of an action in the log of a checkpoint.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PlacedProof<'a> {
    /// The file.
    pub file: &'a ProofFile,
    /// Whether it shows that the signer signed.
    pub is_signature_checked: bool,
}

/// Valid proof files of actions in the log of one checkpoint.
#[derive(Debug)]
pub struct ProvenActions<'a> {
    /// By sequence, rising.
    actions: Vec<PlacedProof<'a>>,
    /// Places in `actions`, by the integrity that the action left.
    by_integrity: HashMap<Hash, usize>,
    /// Number of files of actions after the checkpoint.
    later: usize,
}

/// All actions on one resource up to a checkpoint, oldest first.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ResourceHistory<'a> {
    /// The resource.
    pub id: Id,
    /// Its actions; the first one made it.
    pub actions: Vec<PlacedProof<'a>>,
}

impl<'a> ProvenActions<'a> {
    /// Checks every file, and that the checkpoint's log holds its batch. Files of actions after the checkpoint are
    /// checked, counted and left out.
    ///
    /// # Errors
    /// The first file, by sequence, that does not hold, or files that contradict each other.
    pub fn new(
        files: &'a [ProofFile],
        consistency: &'a [ConsistencyProof],
        checkpoint: &Checkpoint,
        domain: &Domain,
        keys: &impl BatchKeys,
    ) -> Result<Self, HistoryError> {
        let cover = CheckpointCover::new(checkpoint, consistency);
        let mut sorted: Vec<&ProofFile> = files.iter().collect();
        // Of two files of one action, the one that shows more comes first.
        sorted.sort_by_key(|file| (file.leaf.sequence, file.authorship.is_none()));
        let mut proven = Self {
            actions: Vec::with_capacity(sorted.len()),
            by_integrity: HashMap::new(),
            later: 0,
        };
        let mut by_content: HashMap<Hash, u64> = HashMap::new();
        for file in sorted {
            let sequence = file.leaf.sequence;
            let shown = file.verify(domain, keys);
            let shown = shown.map_err(|source| HistoryError::Proof { sequence, source })?;
            if sequence > checkpoint.sequence {
                proven.later += 1;
                continue;
            }
            if let Some(last) = proven
                .actions
                .last()
                .filter(|last| last.sequence() == sequence)
            {
                if last.file.leaf == file.leaf {
                    continue;
                }
                return Err(HistoryError::Contradiction(sequence));
            }
            let covered = cover.check(&file.batch.header, file.anchor.as_ref());
            covered.map_err(|source| HistoryError::Cover { sequence, source })?;
            if let Some(first) = by_content.insert(file.leaf.content, sequence) {
                let second = sequence;
                return Err(HistoryError::Repeated { first, second });
            }
            let place = proven.actions.len();
            proven.by_integrity.insert(file.leaf.integrity, place);
            proven.actions.push(PlacedProof {
                file,
                is_signature_checked: shown.authorship,
            });
        }
        Ok(proven)
    }

    /// Number of files of actions after the checkpoint.
    pub fn later(&self) -> usize {
        self.later
    }

    /// The history that leads to an entry of this id in the checkpoint's state.
    ///
    /// # Errors
    /// An action is missing or is not on the resource, the entry's version or sequence is not that of the actions, or
    /// the entry ignores one of them.
    pub fn history(&self, id: Id, entry: &StateEntry) -> Result<ResourceHistory<'a>, HistoryError> {
        let mut actions = Vec::new();
        let (mut integrity, mut version) = (entry.integrity, entry.version);
        let mut next = None;
        loop {
            let found = if version == 1 {
                self.maker(&id, &integrity)
            } else {
                self.of_integrity(&integrity)
            };
            let placed = found.ok_or_else(|| HistoryError::Missing {
                id,
                version,
                before: next.unwrap_or_else(|| entry.sequence.saturating_add(1)),
                integrity,
            })?;
            check_order(id, entry, &placed, next)?;
            let previous = placed.file.leaf.previous_integrity;
            let fits = if version == 1 {
                if previous != Hash::ZERO && !starts_apart(id.prefix) {
                    let version = entry.version;
                    return Err(HistoryError::Longer { id, version });
                }
                placed.makes(&id, &integrity)
            } else {
                if previous == Hash::ZERO {
                    let (version, actions) = (entry.version, entry.version - version + 1);
                    return Err(HistoryError::Version {
                        id,
                        version,
                        actions,
                    });
                }
                placed.acts_on(&id)
            };
            let sequence = placed.sequence();
            if !fits {
                return Err(HistoryError::Foreign { id, sequence });
            }
            actions.push(placed);
            if version == 1 {
                break;
            }
            (integrity, version, next) = (previous, version - 1, Some(sequence));
        }
        let ignored = self.extending(&entry.integrity);
        if let Some(sequence) = ignored {
            return Err(HistoryError::Stale { id, sequence });
        }
        actions.reverse();
        Ok(ResourceHistory { id, actions })
    }

    /// The actions that are in none of these histories.
    pub fn outside(&self, histories: &[&ResourceHistory<'_>]) -> Vec<PlacedProof<'a>> {
        let used = histories.iter().flat_map(|history| &history.actions);
        let used: HashSet<u64> = used.map(PlacedProof::sequence).collect();
        let rest = self.actions.iter().copied();
        rest.filter(|placed| !used.contains(&placed.sequence()))
            .collect()
    }

    fn of_integrity(&self, integrity: &Hash) -> Option<PlacedProof<'a>> {
        let place = self.by_integrity.get(integrity)?;
        self.actions.get(*place).copied()
    }

    /// The action that made a resource with this first integrity.
    fn maker(&self, id: &Id, integrity: &Hash) -> Option<PlacedProof<'a>> {
        if !starts_apart(id.prefix) {
            return self.of_integrity(integrity);
        }
        let made = self
            .actions
            .iter()
            .find(|placed| placed.makes(id, integrity));
        made.copied()
    }

    /// The sequence of an action that extends an integrity.
    fn extending(&self, integrity: &Hash) -> Option<u64> {
        let extends = |placed: &&PlacedProof<'_>| placed.file.leaf.previous_integrity == *integrity;
        self.actions.iter().find(extends).map(PlacedProof::sequence)
    }
}

/// Whether resources of this type start from an integrity of their own, because another one is made with them.
fn starts_apart(prefix: Prefix) -> bool {
    matches!(prefix, Prefix::Organization | Prefix::Variation)
}

fn check_order(
    id: Id,
    entry: &StateEntry,
    placed: &PlacedProof<'_>,
    next: Option<u64>,
) -> Result<(), HistoryError> {
    let found = placed.sequence();
    match next {
        None if found != entry.sequence => Err(HistoryError::Sequence {
            id,
            expected: entry.sequence,
            found,
        }),
        Some(sequence) if found >= sequence => Err(HistoryError::Order {
            sequence,
            previous: found,
        }),
        _ => Ok(()),
    }
}

impl<'a> PlacedProof<'a> {
    /// The action's sequence.
    pub fn sequence(&self) -> u64 {
        self.file.leaf.sequence
    }

    /// The action's words.
    pub fn action(&self) -> &'a OpenedAction {
        &self.file.action
    }

    /// Number of the batch that holds it.
    pub fn batch(&self) -> u64 {
        self.file.batch.header.number
    }

    /// The action as the log records it, as the version that it made of a resource, after the action at
    /// `previous_sequence`; `None` if its kind is unknown to this program.
    pub fn record(&self, id: Id, version: u64, previous_sequence: u64) -> Option<ActionRecord<'a>> {
        let action = self.action();
        let index = self.file.authorship.as_ref().map_or(0, |shown| shown.index);
        Some(ActionRecord {
            index: u16::try_from(index).unwrap_or_default(),
            kind: Kind::of_text(&action.kind)?,
            target: Cow::Borrowed(&action.target),
            payload: Cow::Borrowed(&action.payload),
            disclosed: None,
            resource: id,
            version,
            previous_integrity: self.file.leaf.previous_integrity,
            previous_sequence,
        })
    }

    /// Whether it acts on this resource, or makes it as the first of its type.
    pub fn is_about(&self, id: &Id) -> bool {
        self.acts_on(id) || *id == Id::made_by(id.prefix, &self.file.leaf.content, 0)
    }

    /// Whether its kind acts on the resource that its target names. A kind that this program does not know is judged by
    /// its target alone.
    fn acts_on(&self, id: &Id) -> bool {
        let concerns =
            Kind::of_text(&self.action().kind).is_none_or(|kind| match kind.spec().acts_on {
                ActionSubject::New(_) => false,
                ActionSubject::Object(_) => id.prefix == Prefix::Object,
                ActionSubject::Resource(prefix) => id.prefix == prefix,
            });
        concerns && self.action().target == id.to_string()
    }

    /// Whether it makes this resource, and leaves this integrity if other resources are made with it.
    fn makes(&self, id: &Id, integrity: &Hash) -> bool {
        let content = &self.file.leaf.content;
        let Some(kind) = Kind::of_text(&self.action().kind) else {
            return false;
        };
        let made = |index: u32| *id == Id::made_by(id.prefix, content, index);
        let starts = |index: u32| first_integrity(content, index) == *integrity;
        match id.prefix {
            Prefix::Organization => kind == Kind::WalletRegister && made(1) && starts(1),
            Prefix::Variation => {
                let mut places = 0..VARIATIONS_MAX as u32;
                let is_it = |place: u32| made(place) && starts(place + 1);
                kind == Kind::TemplateVariations && places.any(is_it)
            }
            Prefix::Action => {
                kind == Kind::SystemSequencerKey && *id == Id::of_hash(Prefix::Action, content)
            }
            prefix => kind.spec().acts_on == ActionSubject::New(prefix) && made(0),
        }
    }
}
