//! Messages to the committer.

use std::sync::Arc;

use kedge_protocol::Id;
use kedge_rules::resource_state::ResourceState;
use kedge_rules::sequencer::SequencedAction;
use kedge_storage::{EventRow, SideWrite};
use tokio::sync::oneshot;

use super::decision::ActionDecision;
use super::effect::ActionEffect;
use super::proposal::Proposal;
use crate::api::SubmissionOutcome;

/// A proposal with its place in the log.
pub(crate) struct SequencedProposal {
    pub(crate) ticket: u64,
    pub(crate) unit: Arc<Proposal>,
    /// In request order.
    pub(crate) decisions: Vec<ActionDecision>,
    /// One for each done action, in order.
    pub(crate) placed: Vec<SequencedAction>,
    /// Sequence of the previous action on each one's resource.
    pub(crate) previous_sequences: Vec<u64>,
    pub(crate) timestamp_ms: u64,
    /// The signer's highest spent nonce, including this request's; 0 until its batch is sealed.
    pub(crate) nonce_highest: u64,
}

impl SequencedProposal {
    /// Webhooks that the proposal creates, changes or ends. A request with such an action has no other.
    pub(crate) fn webhooks(&self) -> impl Iterator<Item = Id> {
        let images = match self.decisions.first() {
            Some((_, Ok(ActionEffect::Resources { next, .. }))) => next.as_slice(),
            _ => &[],
        };
        images.iter().filter_map(|image| match image {
            ResourceState::Webhook(webhook) => Some(webhook.id),
            _ => None,
        })
    }
}

/// Input of the committer, in the order of its effect.
pub(crate) enum CommitterMessage {
    /// Actions for the log.
    Placed(SequencedProposal),
    /// A request that failed as a whole: remembered, so that it cannot be repeated.
    Refused {
        unit: Arc<Proposal>,
        outcome: SubmissionOutcome,
    },
    /// The known sequencer keys have changed; acknowledged once the committer has checked them.
    Keys { done: oneshot::Sender<()> },
    /// A root of the state is due after the group; acknowledged once the group is durable.
    RootDue { done: oneshot::Sender<()> },
    /// Rows outside the log; acknowledged once they are durable.
    Side {
        writes: Vec<SideWrite>,
        events: Vec<EventRow>,
        done: oneshot::Sender<()>,
    },
}

impl CommitterMessage {
    /// The request, if the message is about one.
    pub(crate) fn unit(&self) -> Option<&Proposal> {
        match self {
            Self::Placed(placed) => Some(&placed.unit),
            Self::Refused { unit, .. } => Some(unit),
            Self::Side { .. } | Self::Keys { .. } | Self::RootDue { .. } => None,
        }
    }

    /// Number of actions, which bounds a group.
    pub(crate) fn actions(&self) -> usize {
        match self {
            Self::Placed(unit) => unit.decisions.len(),
            Self::Refused { outcome, .. } => outcome.actions.len(),
            Self::Side { .. } | Self::Keys { .. } | Self::RootDue { .. } => 1,
        }
    }

    /// Bytes of texts.
    pub(crate) fn bytes(&self) -> usize {
        match self {
            Self::Placed(unit) => unit.unit.submission.text.len(),
            Self::Refused { .. } | Self::Side { .. } | Self::Keys { .. } | Self::RootDue { .. } => {
                0
            }
        }
    }
}
