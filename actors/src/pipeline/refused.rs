//! Refusals, and the pending decisions that they depend on. A refusal that depends on a decision without a place in the
//! log is no answer: a request is not refused because of a change that never happens.

use std::sync::Arc;

use kedge_protocol::resource::Object;
use kedge_rules::image::Image;
use kedge_rules::{Refusal, Unavailable};

use super::decided::Decided;
use crate::overlay::Versioned;

/// Refusal of an action, with the state it was decided on.
#[derive(Clone)]
pub(crate) struct Refused {
    pub(crate) refusal: Box<Refusal>,
    ground: Option<Ground>,
}

/// State that was not placed yet when an action was refused because of it.
#[derive(Clone)]
enum Ground {
    Object(Arc<Versioned<Object>>),
    Resource(Arc<Versioned<Vec<Image>>>),
}

impl From<Refusal> for Refused {
    fn from(refusal: Refusal) -> Self {
        Self {
            refusal: Box::new(refusal),
            ground: None,
        }
    }
}

impl From<Unavailable> for Refused {
    fn from(unavailable: Unavailable) -> Self {
        Refusal::from(unavailable).into()
    }
}

impl Refused {
    /// A refusal on an object in a pending state.
    pub(crate) fn on_object(refusal: Refusal, object: &Arc<Versioned<Object>>) -> Self {
        let is_placed = object.sequence() != 0;
        Self {
            refusal: Box::new(refusal),
            ground: (!is_placed).then(|| Ground::Object(Arc::clone(object))),
        }
    }

    /// A refusal on another resource in a pending state.
    pub(crate) fn on_resource(refusal: Refusal, images: &Arc<Versioned<Vec<Image>>>) -> Self {
        let is_placed = images.sequence() != 0;
        Self {
            refusal: Box::new(refusal),
            ground: (!is_placed).then(|| Ground::Resource(Arc::clone(images))),
        }
    }

    /// True if the state it depends on is placed by now, or comes from an `earlier` action of its unit.
    pub(crate) fn stands<'a>(&self, mut earlier: impl Iterator<Item = &'a Decided>) -> bool {
        let is_placed = match &self.ground {
            None => return true,
            Some(Ground::Object(object)) => object.sequence() != 0,
            Some(Ground::Resource(images)) => images.sequence() != 0,
        };
        is_placed || earlier.any(|decided| self.rests_on(decided))
    }

    fn rests_on(&self, decided: &Decided) -> bool {
        match (&self.ground, decided) {
            (Some(Ground::Object(object)), Decided::Object { next, .. }) => {
                Arc::ptr_eq(object, next)
            }
            (Some(Ground::Resource(images)), Decided::Resources { next, .. }) => {
                Arc::ptr_eq(images, next)
            }
            _ => false,
        }
    }
}
