//! Decisions about a unit's actions: whether the states they depend on are placed, their writes, and the caller's
//! outcomes.

use kedge_rules::Refusal;
use kedge_rules::sequencer::{KeyWrite, Placed};

use super::decided::Decided;
use super::refused::Refused;
use crate::api::{ActionOutcome, Committed, Done, Made};

/// A decision, by the action's index in the request.
pub(crate) type Decision = (u16, Result<Decided, Refused>);

/// The effects, latest first.
fn own(decisions: &[Decision]) -> impl Iterator<Item = &Decided> {
    let latest_first = decisions.iter().rev();
    latest_first.filter_map(|(_, decided)| decided.as_ref().ok())
}

/// Whether every state that a unit's decisions depend on is placed, or is the unit's own. Called when everything before
/// the unit has had its turn: a state without a place will never get one.
pub(crate) fn all_stand(decisions: &[Decision]) -> bool {
    let mut indexed = decisions.iter().enumerate();
    indexed.all(|(index, (_, decided))| match decided {
        Err(refused) => refused.stands(own(&decisions[..index])),
        Ok(decided) => {
            decided.previous_sequence().is_some()
                || own(&decisions[..index]).any(|earlier| decided.rests_on(earlier))
        }
    })
}

/// Outcomes of a unit's actions.
pub(crate) fn outcomes(
    decisions: impl Iterator<Item = Decision>,
    placed: &[Placed],
) -> Vec<ActionOutcome> {
    let mut places = placed.iter();
    decisions
        .map(|(_, decided)| match decided {
            Err(refused) => ActionOutcome::Refused(*refused.refusal),
            Ok(decided) => {
                let place = places.next().expect("one place for each done action");
                let (resource, version, integrity) = decided.resource();
                ActionOutcome::Done(Done {
                    sequence: place.sequence,
                    leaf: place.leaf,
                    head: place.head,
                    resource,
                    version,
                    previous_integrity: decided.previous_integrity(),
                    integrity,
                    made: match decided {
                        Decided::Object { next, .. } => Made::Object(next),
                        Decided::Resources { next, .. } => Made::Resources(next),
                    },
                })
            }
        })
        .collect()
}

/// The keys that the decisions write, one entry per key; `None` if a decision depends on a refused one.
pub(crate) fn writes(decisions: &[Decision]) -> Option<Vec<KeyWrite>> {
    let mut writes: Vec<KeyWrite> = Vec::with_capacity(decisions.len());
    let done: Vec<&Decided> = decisions
        .iter()
        .filter_map(|(_, decided)| decided.as_ref().ok())
        .collect();
    for (i, decided) in done.iter().enumerate() {
        if decided.previous_sequence().is_some() {
            decided.add_writes(&mut writes);
            continue;
        }
        // A state without a place is right only if the unit itself produced it.
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
pub(crate) fn link(decisions: &[Decision], placed: &[Placed]) -> Vec<u64> {
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

/// Outcome of a unit that is refused as a whole.
pub(crate) fn refusal(decisions: Vec<Decision>, first_refused: Option<usize>) -> Committed {
    let actions = decisions.into_iter().map(|(_, decided)| {
        let why = "not done: another action of the same atomic request was refused";
        let refusal = decided.err().map(|refused| *refused.refusal);
        ActionOutcome::Refused(refusal.unwrap_or(Refusal::State(why.into())))
    });
    Committed {
        placement: None,
        actions: actions.collect(),
        failed_index: first_refused,
        nonce_highest: 0,
    }
}
