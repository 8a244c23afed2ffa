//! The object actor: owns one live object and an overlay of the decisions on it that are in flight. It decides on the
//! top of the overlay and never writes. Shards host object actors (adr/0004): a shard hands each of them its messages
//! one at a time, in the order in which they came.

use std::hint::black_box;
use std::sync::Arc;

use kedge_machine::{Caller, Input, Refusal, TemplateRules, World, object};
use kedge_protocol::Hash;
use kedge_protocol::resource::Object;

use super::decided::Decided;
use super::refused::Refused;
use crate::api::Expected;
use crate::overlay::{Overlay, Versioned};

/// Units with decisions on one object that may be in flight; more is a queue that no one would wait for.
const DEPTH_MAX: usize = 4_096;
/// What a processor fetches at once.
const CACHE_LINE_BYTES: usize = 64;
/// Lines of an object's properties that are fetched ahead: the processor sees by itself where a walk through more leads.
const FETCHED_LINES_MAX: usize = 8;

/// What a decision rests on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Basis {
    /// What is in the store.
    Committed,
    /// A decision in flight.
    Overlay,
}

pub(crate) struct ObjectActor {
    overlay: Overlay<Object>,
    template: Arc<TemplateRules>,
    /// Set by use, cleared by the host's sweep.
    pub(crate) recently_used: bool,
}

impl ObjectActor {
    /// From the committed state.
    pub(crate) fn new(object: Object, template: Arc<TemplateRules>) -> Self {
        let sequence = object.trace.sequence;
        Self {
            overlay: Overlay::new(Arc::new(Versioned::placed(object, sequence))),
            template,
            recently_used: true,
        }
    }

    /// The object's integrity with the decisions in flight.
    pub(crate) fn integrity(&self) -> Hash {
        self.overlay.top().trace.integrity
    }

    /// Has the processor fetch the properties, which a decision reads first thing.
    pub(crate) fn fetch_properties(&self) {
        let properties = self.overlay.top().properties.as_bytes();
        let fetched = properties.chunks(CACHE_LINE_BYTES).take(FETCHED_LINES_MAX);
        for line in fetched {
            black_box(line.first());
        }
    }

    /// Decides one action on what the earlier decisions left.
    pub(crate) fn decide<W: World>(
        &mut self,
        world: &W,
        caller: &Caller,
        input: &Input<'_>,
        expected: Option<&[Expected]>,
        ticket: u64,
        committed_ticket: u64,
    ) -> Result<(Decided, Basis), Refused> {
        self.recently_used = true;
        self.overlay.settle(committed_ticket);
        if self.overlay.depth() >= DEPTH_MAX {
            return Err(Refusal::Unavailable.into());
        }
        let on_overlay = !self.overlay.is_settled();
        let base = Arc::clone(self.overlay.top());
        let next = object::act(world, caller, &base, &self.template, input)
            .map_err(|refusal| Refused::on_object(refusal, &base))?;
        Expected::check(expected, "object", &base.trace)
            .map_err(|refusal| Refused::on_object(refusal, &base))?;
        let index = self.template.indexed().map_or(Vec::new(), |indexed| {
            indexed.changes(Some(&base.properties), &next.properties)
        });
        let next = Arc::new(Versioned::decided(next));
        self.overlay.push(ticket, Arc::clone(&next));
        let decided = Decided::Object {
            base: Some(base),
            next,
            index,
        };
        let basis = if on_overlay {
            Basis::Overlay
        } else {
            Basis::Committed
        };
        Ok((decided, basis))
    }

    /// A unit was refused: what it decided here, and all that rests on it, is gone.
    pub(crate) fn drop_unit(&mut self, ticket: u64) {
        self.overlay.drop_unit(ticket);
    }

    /// True when nothing is in flight, so that the actor can be rebuilt from the store.
    pub(crate) fn is_idle(&mut self, committed_ticket: u64) -> bool {
        self.overlay.settle(committed_ticket);
        self.overlay.is_settled()
    }
}
