//! Refusals, and the pending decisions that they depend on. A refusal that depends on a decision without a place in the
//! log is no answer: a request is not refused because of a change that never happens.

use std::sync::Arc;

use kedge_protocol::resource::Object;
use kedge_rules::resource_state::ResourceState;
use kedge_rules::{Refusal, StateUnavailable};

use super::effect::ActionEffect;
use crate::overlay::StateVersion;

/// Refusal of an action, with the state it was decided on.
#[derive(Clone)]
pub(crate) struct ActionRefusal {
    pub(crate) refusal: Box<Refusal>,
    ground: Option<RefusalGround>,
}

/// State that was not placed yet when an action was refused because of it.
#[derive(Clone)]
enum RefusalGround {
    Object(Arc<StateVersion<Object>>),
    Resource(Arc<StateVersion<Vec<ResourceState>>>),
}

impl From<Refusal> for ActionRefusal {
    fn from(refusal: Refusal) -> Self {
        Self {
            refusal: Box::new(refusal),
            ground: None,
        }
    }
}

impl From<StateUnavailable> for ActionRefusal {
    fn from(unavailable: StateUnavailable) -> Self {
        Refusal::from(unavailable).into()
    }
}

impl ActionRefusal {
    /// A refusal on an object in a pending state.
    pub(crate) fn on_object(refusal: Refusal, object: &Arc<StateVersion<Object>>) -> Self {
        let is_placed = object.sequence() != 0;
        Self {
            refusal: Box::new(refusal),
            ground: (!is_placed).then(|| RefusalGround::Object(Arc::clone(object))),
        }
    }

    /// A refusal on another resource in a pending state.
    pub(crate) fn on_resource(
        refusal: Refusal,
        images: &Arc<StateVersion<Vec<ResourceState>>>,
    ) -> Self {
        let is_placed = images.sequence() != 0;
        Self {
            refusal: Box::new(refusal),
            ground: (!is_placed).then(|| RefusalGround::Resource(Arc::clone(images))),
        }
    }

    /// True if the state it depends on is placed by now, or comes from an `earlier` action of its proposal.
    pub(crate) fn stands<'a>(&self, mut earlier: impl Iterator<Item = &'a ActionEffect>) -> bool {
        let is_placed = match &self.ground {
            None => return true,
            Some(RefusalGround::Object(object)) => object.sequence() != 0,
            Some(RefusalGround::Resource(images)) => images.sequence() != 0,
        };
        is_placed || earlier.any(|decided| self.rests_on(decided))
    }

    fn rests_on(&self, decided: &ActionEffect) -> bool {
        match (&self.ground, decided) {
            (Some(RefusalGround::Object(object)), ActionEffect::Object { next, .. }) => {
                Arc::ptr_eq(object, next)
            }
            (Some(RefusalGround::Resource(images)), ActionEffect::Resources { next, .. }) => {
                Arc::ptr_eq(images, next)
            }
            _ => false,
        }
    }
}
