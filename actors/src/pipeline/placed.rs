//! What the committer is given.

use std::sync::Arc;

use kedge_protocol::Id;
use kedge_rules::image::Image;
use kedge_rules::sequencer::Placed;
use kedge_storage::{EventRow, SideWrite};
use tokio::sync::oneshot;

use super::decided::Decided;
use super::decision::Decision;
use super::unit::Unit;
use crate::api::Committed;

/// A unit with its place in the log.
pub(crate) struct PlacedUnit {
    pub(crate) ticket: u64,
    pub(crate) unit: Arc<Unit>,
    /// In request order.
    pub(crate) decisions: Vec<Decision>,
    /// One for each action that is done, in order.
    pub(crate) placed: Vec<Placed>,
    /// For each of them, the sequence of its resource's previous action.
    pub(crate) previous_sequences: Vec<u64>,
    pub(crate) timestamp_ms: u64,
    /// The signer's highest nonce with it; 0 until its batch is sealed.
    pub(crate) nonce_highest: u64,
}

impl PlacedUnit {
    /// The webhooks that it makes, changes or ends. A request that does has only that one action.
    pub(crate) fn webhooks(&self) -> impl Iterator<Item = Id> {
        let images = match self.decisions.first() {
            Some((_, Ok(Decided::Resources { next, .. }))) => next.as_slice(),
            _ => &[],
        };
        images.iter().filter_map(|image| match image {
            Image::Webhook(webhook) => Some(webhook.id),
            _ => None,
        })
    }
}

/// The committer's input, in the order in which it takes effect.
pub(crate) enum CommitterMessage {
    /// Actions for the log.
    Placed(PlacedUnit),
    /// A request that failed as a whole: remembered, so that it cannot be sent again.
    Refused { unit: Arc<Unit>, outcome: Committed },
    /// What is known of the sequencer's keys has changed; acknowledged once it was checked.
    Keys { done: oneshot::Sender<()> },
    /// What others store outside the log; acknowledged once it is durable.
    Side {
        writes: Vec<SideWrite>,
        /// The events about it.
        events: Vec<EventRow>,
        done: oneshot::Sender<()>,
    },
}

impl CommitterMessage {
    /// The request that it is about, if it is about one.
    pub(crate) fn unit(&self) -> Option<&Unit> {
        match self {
            Self::Placed(placed) => Some(&placed.unit),
            Self::Refused { unit, .. } => Some(unit),
            Self::Side { .. } | Self::Keys { .. } => None,
        }
    }

    /// How many actions it is about, so that a group stays bounded.
    pub(crate) fn actions(&self) -> usize {
        match self {
            Self::Placed(unit) => unit.decisions.len(),
            Self::Refused { outcome, .. } => outcome.actions.len(),
            Self::Side { .. } | Self::Keys { .. } => 1,
        }
    }

    /// Bytes of its texts.
    pub(crate) fn bytes(&self) -> usize {
        match self {
            Self::Placed(unit) => unit.unit.submission.text.len(),
            Self::Refused { .. } | Self::Side { .. } | Self::Keys { .. } => 0,
        }
    }
}
