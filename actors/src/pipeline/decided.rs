//! What an action would do: decided on the state that the decisions before it left, and not placed yet.

use std::hint::black_box;
use std::sync::Arc;

use kedge_protocol::resource::Object;
use kedge_protocol::{Hash, Id};
use kedge_replay::counted;
use kedge_rules::image::Image;
use kedge_rules::index::IndexChange;
use kedge_rules::sequencer::{Key, KeyWrite};

use super::object::fetch;
use crate::overlay::Versioned;

/// What an action would do, decided but not placed. It is small: 500 of them are moved from thread to thread.
#[derive(Clone)]
pub(crate) enum Decided {
    /// On one object.
    Object {
        /// What the decision rests on; `None` for a mint.
        base: Option<Arc<Versioned<Object>>>,
        /// The object after it.
        next: Arc<Versioned<Object>>,
        /// The resulting changes in the index of properties. Empty, and without allocation, if the template has no
        /// indexed places.
        index: Vec<IndexChange>,
    },
    /// On other resources, the one acted on first.
    Resources {
        /// The first one's version, integrity and sequence before, if it existed.
        base: Option<Box<Base>>,
        /// The resources after it.
        next: Arc<Versioned<Vec<Image>>>,
        /// What it looks up besides.
        names: Box<Names>,
    },
}

/// What a decision on other resources claims, gives up and reads.
#[derive(Clone)]
pub(crate) struct Names {
    /// Names that it claims: they must not exist yet.
    pub(crate) claims: Vec<Key>,
    /// Names that it gives up.
    pub(crate) releases: Vec<Key>,
    /// What it read and its actor does not own, with the version that it saw.
    pub(crate) reads: Vec<(Key, u64)>,
}

/// The state of a resource that a decision rests on.
#[derive(Clone)]
pub(crate) struct Base {
    /// Its version.
    pub(crate) version: u64,
    /// Its integrity.
    pub(crate) integrity: Hash,
    /// The images that led to it; their sequence is zero until they are placed.
    pub(crate) images: Arc<Versioned<Vec<Image>>>,
}

impl Decided {
    /// About how many bytes an object takes that it leaves. Other resources are no larger than their requests.
    pub(crate) fn bytes(&self) -> usize {
        match self {
            Self::Object { next, .. } => next.properties.len() + size_of::<Object>(),
            Self::Resources { .. } => 0,
        }
    }

    /// Has the processor fetch what it would leave, and the state before.
    pub(crate) fn fetch(&self) {
        self.fetch_traces();
        if let Self::Object { next, .. } = self {
            fetch(next);
        }
    }

    /// Has the processor fetch the traces of what it would leave and of the state before.
    pub(crate) fn fetch_traces(&self) {
        if let Self::Object { base, next, .. } = self {
            black_box((next.id, next.trace.integrity));
            if let Some(base) = base {
                black_box((Arc::strong_count(base), base.trace.integrity));
            }
        }
    }

    /// What it adds to its organization's part of the log; `payload` is its action's.
    pub(crate) fn counted(&self, payload: &str) -> i64 {
        match self {
            Self::Object {
                base: None,
                next,
                index,
            } => counted::of_new_object(next, counted::of_index(index)),
            Self::Object {
                base: Some(base),
                next,
                ..
            } => counted::of_change(&base.properties, &next.properties),
            Self::Resources { base, next, .. } => {
                counted::of_resources(base.is_none(), next, payload)
            }
        }
    }

    /// The resource acted on, or made first: id, version, integrity.
    pub(crate) fn resource(&self) -> (Id, u64, Hash) {
        match self {
            Self::Object { next, .. } => (next.id, next.trace.version, next.trace.integrity),
            Self::Resources { next, .. } => {
                let first = &next[0];
                let trace = first.trace().expect("the resource acted on has a history");
                (first.id(), trace.version, trace.integrity)
            }
        }
    }

    /// The organization that issued the object; none if it acts on something else.
    pub(crate) fn issuer(&self) -> Option<Id> {
        match self {
            Self::Object { next, .. } => Some(next.organization_id),
            Self::Resources { .. } => None,
        }
    }

    /// The resource's integrity before.
    pub(crate) fn previous_integrity(&self) -> Hash {
        match self {
            Self::Object { base, .. } => base
                .as_ref()
                .map_or(Hash::ZERO, |base| base.trace.integrity),
            Self::Resources { base, .. } => base.as_ref().map_or(Hash::ZERO, |base| base.integrity),
        }
    }

    /// The sequence of the resource's previous action: 0 if there was none. `None` until what the decision rests on has
    /// been placed.
    pub(crate) fn previous_sequence(&self) -> Option<u64> {
        let sequence = match self {
            Self::Object { base: None, .. } | Self::Resources { base: None, .. } => return Some(0),
            Self::Object {
                base: Some(base), ..
            } => base.sequence(),
            Self::Resources {
                base: Some(base), ..
            } => base.images.sequence(),
        };
        (sequence != 0).then_some(sequence)
    }

    /// True if it rests on what `earlier` left.
    pub(crate) fn rests_on(&self, earlier: &Self) -> bool {
        match (self, earlier) {
            (
                Self::Object {
                    base: Some(base), ..
                },
                Self::Object { next, .. },
            ) => Arc::ptr_eq(base, next),
            (
                Self::Resources {
                    base: Some(base), ..
                },
                Self::Resources { next, .. },
            ) => Arc::ptr_eq(&base.images, next),
            _ => false,
        }
    }

    /// Sets the sequence that the action was given.
    pub(crate) fn set_sequence(&self, sequence: u64) {
        match self {
            Self::Object { next, .. } => next.set_sequence(sequence),
            Self::Resources { next, .. } => next.set_sequence(sequence),
        }
    }

    /// Adds what it writes to a unit's writes; a key that the unit wrote before is extended.
    pub(crate) fn add_writes(&self, writes: &mut Vec<KeyWrite>) {
        let (id, version, _) = self.resource();
        match self {
            // A mint's identifier is unknown before it is placed: there is no version to compare.
            Self::Object { base: None, .. } => {}
            Self::Object { .. } => writes.push(KeyWrite {
                key: Key::resource(id),
                base_version: version - 1,
                version,
            }),
            Self::Resources { base, names, .. } => {
                let Names {
                    claims,
                    releases,
                    reads,
                } = &**names;
                writes.push(KeyWrite {
                    key: Key::resource(id),
                    base_version: base.as_ref().map_or(0, |base| base.version),
                    version,
                });
                writes.extend(claims.iter().map(|key| KeyWrite {
                    key: *key,
                    base_version: 0,
                    version: 1,
                }));
                writes.extend(releases.iter().map(|key| KeyWrite {
                    key: *key,
                    base_version: 1,
                    version: 0,
                }));
                let reads = reads.iter();
                writes.extend(reads.map(|(key, version)| KeyWrite::read(*key, *version)));
            }
        }
    }
}
