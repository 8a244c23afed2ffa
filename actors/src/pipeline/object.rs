//! The object actor: owns one live object and an overlay of the pending decisions on it. It decides on the top of the
//! overlay and never writes. Shards host object actors (adr/0004): a shard hands each of them its messages one at a
//! time, in the order of their arrival.

use std::hint::black_box;
use std::sync::Arc;

use kedge_protocol::resource::Object;
use kedge_protocol::{Hash, Id};
use kedge_rules::{ActionInput, Caller, Refusal, TemplateRules, World, object};

use super::effect::ActionEffect;
use super::refusal::ActionRefusal;
use crate::api::ExpectedVersion;
use crate::overlay::{Overlay, StateVersion};

/// Bound on proposals in flight with decisions on one object: no caller would wait for a longer queue.
const DEPTH_MAX: usize = 4_096;
/// Size of a prefetch.
const CACHE_LINE_BYTES: usize = 64;
/// Lines of an object's properties that are prefetched; the processor predicts the rest of a longer walk.
const FETCHED_LINES_MAX: usize = 8;

/// State that a decision depends on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum DecisionBasis {
    /// The committed state.
    Committed,
    /// A pending decision.
    Overlay,
}

pub(crate) struct ObjectActor {
    overlay: Overlay<Object>,
    /// Set by use, cleared by the host's sweep.
    pub(crate) recently_used: bool,
}

impl ObjectActor {
    /// An actor without pending decisions.
    pub(crate) fn new(object: Object) -> Self {
        let sequence = object.trace.sequence;
        Self {
            overlay: Overlay::new(Arc::new(StateVersion::placed(object, sequence))),
            recently_used: true,
        }
    }

    /// The object's integrity after the pending decisions.
    pub(crate) fn integrity(&self) -> Hash {
        self.overlay.top().trace.integrity
    }

    /// The object's template. The actor does not keep its rules (`catalog.rs`).
    pub(crate) fn template(&self) -> Id {
        self.overlay.top().template_id
    }

    /// Size of the object's properties.
    pub(crate) fn bytes(&self) -> usize {
        self.overlay.top().properties.len()
    }

    /// Prefetches the state that a decision reads, and the version whose memory it reuses.
    pub(crate) fn fetch(&self) {
        fetch(self.overlay.top());
        if !self.overlay.is_settled() {
            fetch(self.overlay.base());
        }
    }

    /// Decides one action on the state after the earlier decisions, by the rules of its template.
    pub(crate) fn decide<W: World>(
        &mut self,
        (world, template): (&W, &TemplateRules),
        caller: &Caller,
        input: &ActionInput<'_>,
        expected: Option<&[ExpectedVersion]>,
        ticket: u64,
        committed_ticket: u64,
    ) -> Result<(ActionEffect, DecisionBasis), ActionRefusal> {
        self.recently_used = true;
        let dropped = self.overlay.settle(committed_ticket);
        if self.overlay.depth() >= DEPTH_MAX {
            return Err(Refusal::Unavailable.into());
        }
        let on_overlay = !self.overlay.is_settled();
        let base = Arc::clone(self.overlay.top());
        let act = |memory| {
            let next = object::act_in(world, caller, &base, template, input, memory)?;
            ExpectedVersion::check(expected, "object", &base.trace)?;
            Ok(StateVersion::decided(next))
        };
        let next = in_memory_of(dropped, act);
        let next = next.map_err(|refusal| ActionRefusal::on_object(refusal, &base))?;
        let index = template.indexed().map_or(Vec::new(), |indexed| {
            indexed.changes(Some(&base.properties), &next.properties)
        });
        self.overlay.push(ticket, Arc::clone(&next));
        let decided = ActionEffect::Object {
            base: Some(base),
            next,
            index,
        };
        let basis = if on_overlay {
            DecisionBasis::Overlay
        } else {
            DecisionBasis::Committed
        };
        Ok((decided, basis))
    }

    /// Drops a refused proposal's decisions and everything that depends on them.
    pub(crate) fn drop_unit(&mut self, ticket: u64) {
        self.overlay.drop_unit(ticket);
    }

    /// True when no decision is pending, so that the actor can be rebuilt from the store.
    pub(crate) fn is_idle(&mut self, committed_ticket: u64) -> bool {
        self.overlay.settle(committed_ticket);
        self.overlay.is_settled()
    }
}

/// Prefetches a version of an object. Versions are scattered over the memory; several prefetches in a row take about
/// the time of one.
pub(crate) fn fetch(object: &Arc<StateVersion<Object>>) {
    black_box((Arc::strong_count(object), object.sequence(), object.status));
    black_box((object.owner_id, object.template_id, object.trace.version));
    let properties = object.properties.as_bytes();
    let fetched = properties.chunks(CACHE_LINE_BYTES).take(FETCHED_LINES_MAX);
    for line in fetched {
        black_box(line.first());
    }
}

/// Reuses the buffer of an unshared earlier version, which is already in cache; a new one would not be. `make` gets the
/// memory of its properties.
fn in_memory_of(
    earlier: Option<Arc<StateVersion<Object>>>,
    make: impl FnOnce(String) -> Result<StateVersion<Object>, Refusal>,
) -> Result<Arc<StateVersion<Object>>, Refusal> {
    if let Some(mut earlier) = earlier
        && let Some(memory) = Arc::get_mut(&mut earlier)
    {
        let properties = std::mem::take(&mut memory.value_mut().properties);
        *memory = make(properties)?;
        return Ok(earlier);
    }
    make(String::new()).map(Arc::new)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

    use kedge_protocol::resource::{ObjectStatus, ResourceTrace};
    use kedge_protocol::{Address, Id, Prefix};

    use super::*;

    fn object(properties: String) -> Object {
        let id = |prefix| Id {
            prefix,
            bytes: [1; 16],
        };
        Object {
            id: id(Prefix::Object),
            organization_id: id(Prefix::Organization),
            template_id: id(Prefix::Template),
            variation_id: None,
            owner_id: id(Prefix::Wallet),
            owner_address: Address::ZERO,
            properties,
            status: ObjectStatus::Active,
            trace: ResourceTrace::NEW,
        }
    }

    #[test]
    fn only_memory_that_nobody_holds_is_used_again() {
        for is_held in [false, true] {
            let earlier = Arc::new(StateVersion::placed(object("{\"a\":1}".to_owned()), 5));
            let held = is_held.then(|| Arc::clone(&earlier));
            let place = Arc::as_ptr(&earlier);
            let mut given = 0;
            let next = in_memory_of(Some(earlier), |memory| {
                given = memory.capacity();
                Ok(StateVersion::decided(object("{\"b\":2}".to_owned())))
            });
            let next = next.unwrap();
            assert_eq!(next.properties, "{\"b\":2}");
            assert_eq!(next.sequence(), 0, "it has no place yet");
            assert_eq!(Arc::as_ptr(&next) == place, !is_held);
            assert_eq!(given > 0, !is_held);
            if let Some(held) = held {
                assert_eq!(
                    (held.properties.as_str(), held.sequence()),
                    ("{\"a\":1}", 5)
                );
            }
        }
    }
}
