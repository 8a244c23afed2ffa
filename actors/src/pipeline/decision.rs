//! Decisions about a proposal's actions: whether the states they depend on are placed, their writes, and the caller's
//! outcomes.

use kedge_rules::Refusal;
use kedge_rules::sequencer::{KeyWrite, SequencedAction};

use super::effect::ActionEffect;
use super::refusal::ActionRefusal;
use crate::api::{ActionOutcome, CommittedAction, CommittedState, SubmissionOutcome};

/// A decision, by the action's index in the request.
pub(crate) type ActionDecision = (u16, Result<ActionEffect, ActionRefusal>);

/// The effects, latest first.
fn own(decisions: &[ActionDecision]) -> impl Iterator<Item = &ActionEffect> {
    let latest_first = decisions.iter().rev();
    latest_first.filter_map(|(_, decided)| decided.as_ref().ok())
}

/// Whether every state that a proposal's decisions depend on is placed, or is the proposal's own. Called when
/// everything before the proposal has had its turn: a state without a place will never get one.
pub(crate) fn all_stand(decisions: &[ActionDecision]) -> bool {
    let mut indexed = decisions.iter().enumerate();
    indexed.all(|(index, (_, decided))| match decided {
        Err(refused) => refused.stands(own(&decisions[..index])),
        Ok(decided) => {
            decided.previous_sequence().is_some()
                || own(&decisions[..index]).any(|earlier| decided.rests_on(earlier))
        }
    })
}

/// Outcomes of a proposal's actions.
pub(crate) fn outcomes(
    decisions: impl Iterator<Item = ActionDecision>,
    placed: &[SequencedAction],
) -> Vec<ActionOutcome> {
    let mut places = placed.iter();
    decisions
        .map(|(_, decided)| match decided {
            Err(refused) => ActionOutcome::Refused(*refused.refusal),
            Ok(decided) => {
                let place = places.next().expect("one place for each done action");
                let (resource, version, integrity) = decided.resource();
                ActionOutcome::Done(CommittedAction {
                    sequence: place.sequence,
                    leaf: place.leaf,
                    head: place.head,
                    resource,
                    version,
                    previous_integrity: decided.previous_integrity(),
                    integrity,
                    made: match decided {
                        ActionEffect::Object { next, .. } => CommittedState::Object(next),
                        ActionEffect::Resources { next, .. } => CommittedState::Resources(next),
                    },
                })
            }
        })
        .collect()
}

/// The keys that the decisions write, one entry per key; `None` if a decision depends on a refused one.
pub(crate) fn writes(decisions: &[ActionDecision]) -> Option<Vec<KeyWrite>> {
    let mut writes: Vec<KeyWrite> = Vec::with_capacity(decisions.len());
    let done: Vec<&ActionEffect> = decisions
        .iter()
        .filter_map(|(_, decided)| decided.as_ref().ok())
        .collect();
    for (i, decided) in done.iter().enumerate() {
        if decided.previous_sequence().is_some() {
            decided.add_writes(&mut writes);
            continue;
        }
        // A state without a place is right only if the proposal itself produced it.
        let own = done[..i]
            .iter()
            .rev()
            .any(|earlier| decided.rests_on(earlier));
        if !own {
            return None;
        }
        let first = writes.len();
        decided.add_writes(&mut writes);
        let mut added = writes.split_off(first).into_iter();
        let again = added.next()?;
        let earlier = writes
            .iter_mut()
            .rev()
            .find(|write| write.key == again.key)?;
        earlier.version = again.version;
        writes.extend(added);
    }
    Some(writes)
}

/// Sets the sequences on the new states, where later decisions look for them. Returns the sequence of each resource's
/// previous action.
pub(crate) fn link(decisions: &[ActionDecision], placed: &[SequencedAction]) -> Vec<u64> {
    let done = decisions
        .iter()
        .filter_map(|(_, decided)| decided.as_ref().ok());
    done.zip(placed)
        .map(|(decided, placed)| {
            let previous = decided.previous_sequence();
            decided.set_sequence(placed.sequence);
            previous.expect("checked before it was placed, or set a moment ago")
        })
        .collect()
}

/// Outcome of a proposal that is refused as a whole.
pub(crate) fn refusal(
    decisions: Vec<ActionDecision>,
    first_refused: Option<usize>,
) -> SubmissionOutcome {
    let actions = decisions.into_iter().map(|(_, decided)| {
        let why = "not done: another action of the same atomic request was refused";
        let refusal = decided.err().map(|refused| *refused.refusal);
        ActionOutcome::Refused(refusal.unwrap_or(Refusal::State(why.into())))
    });
    SubmissionOutcome {
        placement: None,
        actions: actions.collect(),
        failed_index: first_refused,
        nonce_highest: 0,
    }
}
