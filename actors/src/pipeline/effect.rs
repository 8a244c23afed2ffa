//! Effect of an action: decided on the state after the earlier decisions, and not placed yet.

use std::hint::black_box;
use std::sync::Arc;

use kedge_protocol::resource::Object;
use kedge_protocol::{Hash, Id};
use kedge_replay::log_bytes;
use kedge_rules::index::IndexChange;
use kedge_rules::resource_state::ResourceState;
use kedge_rules::sequencer::{KeyWrite, VersionKey};

use super::object::fetch;
use crate::overlay::StateVersion;

/// Effect of an action that is decided but not placed. It is small, because 500 of them move between threads.
#[derive(Clone)]
pub(crate) enum ActionEffect {
    /// On one object.
    Object {
        /// The state before; `None` for a mint.
        base: Option<Arc<StateVersion<Object>>>,
        /// The object after the action.
        next: Arc<StateVersion<Object>>,
        /// Changes in the property index. Empty, and without allocation, if the template has no indexed properties.
        index: Vec<IndexChange>,
    },
    /// On other resources, the one acted on first.
    Resources {
        /// State of the first resource before, if it existed.
        base: Option<Box<DecisionBase>>,
        /// The resources after the action.
        next: Arc<StateVersion<Vec<ResourceState>>>,
        /// Keys that it claims, releases and reads.
        names: Box<NameClaims>,
    },
}

/// Keys that a decision on resources other than objects claims, releases and reads.
#[derive(Clone)]
pub(crate) struct NameClaims {
    /// Names that must not exist yet.
    pub(crate) claims: Vec<VersionKey>,
    /// Released names.
    pub(crate) releases: Vec<VersionKey>,
    /// Keys of resources that its actor does not own, with the versions read.
    pub(crate) reads: Vec<(VersionKey, u64)>,
}

/// State of a resource that a decision depends on.
#[derive(Clone)]
pub(crate) struct DecisionBase {
    pub(crate) version: u64,
    pub(crate) integrity: Hash,
    /// The resources in that state; their sequence is zero until they are placed.
    pub(crate) images: Arc<StateVersion<Vec<ResourceState>>>,
}

impl ActionEffect {
    /// Approximate size of the object after the action. Other resources are no larger than their requests.
    pub(crate) fn bytes(&self) -> usize {
        match self {
            Self::Object { next, .. } => next.properties.len() + size_of::<Object>(),
            Self::Resources { .. } => 0,
        }
    }

    /// Prefetches the states after and before.
    pub(crate) fn fetch(&self) {
        self.fetch_traces();
        if let Self::Object { next, .. } = self {
            fetch(next);
        }
    }

    /// Prefetches the traces of the states after and before.
    pub(crate) fn fetch_traces(&self) {
        if let Self::Object { base, next, .. } = self {
            black_box((next.id, next.trace.integrity));
            if let Some(base) = base {
                black_box((Arc::strong_count(base), base.trace.integrity));
            }
        }
    }

    /// Bytes that the action adds to its organization's share of the log; `payload` is the action's.
    pub(crate) fn counted(&self, payload: &str) -> i64 {
        match self {
            Self::Object {
                base: None,
                next,
                index,
            } => log_bytes::of_new_object(next, log_bytes::of_index(index)),
            Self::Object {
                base: Some(base),
                next,
                ..
            } => log_bytes::of_change(&base.properties, &next.properties),
            Self::Resources { base, next, .. } => {
                log_bytes::of_resources(base.is_none(), next, payload)
            }
        }
    }

    /// Id, version and integrity of the resource acted on, or the first one created.
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

    /// The organization that issued the object; none for other resources.
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

    /// Sequence of the resource's previous action; 0 if there was none, `None` until the state before has been placed.
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

    /// True if it depends on the result of `earlier`.
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

    /// Sets the sequence of the placed action.
    pub(crate) fn set_sequence(&self, sequence: u64) {
        match self {
            Self::Object { next, .. } => next.set_sequence(sequence),
            Self::Resources { next, .. } => next.set_sequence(sequence),
        }
    }

    /// Adds its writes to a proposal's writes, and extends those with the same key.
    pub(crate) fn add_writes(&self, writes: &mut Vec<KeyWrite>) {
        let (id, version, _) = self.resource();
        match self {
            // A mint's identifier is unknown before it is placed, so there is no version to compare.
            Self::Object { base: None, .. } => {}
            Self::Object { .. } => writes.push(KeyWrite {
                key: VersionKey::resource(id),
                base_version: version - 1,
                version,
            }),
            Self::Resources { base, names, .. } => {
                let NameClaims {
                    claims,
                    releases,
                    reads,
                } = &**names;
                writes.push(KeyWrite {
                    key: VersionKey::resource(id),
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
