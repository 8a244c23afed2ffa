//! A request's actions in rounds, none of which has two on one object: what is computed side by side for a round then
//! rests on nothing that the same round computes.

use std::hash::BuildHasher as _;

use kedge_protocol::Id;
use kedge_protocol::ids::IdHashing;

/// An action of a round.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Step {
    /// Which of the actions it is.
    pub(super) place: u16,
    /// The one before it on the same object.
    pub(super) before: Option<u16>,
}

/// An action in the table of objects, and its round.
#[derive(Clone, Copy)]
struct Last {
    place: u16,
    round: u16,
}

/// Actions on these objects in rounds. There are at most as many as a request may have.
pub(super) fn rounds(ids: &[Option<Id>]) -> Vec<Vec<Step>> {
    let mut rounds: Vec<Vec<Step>> = vec![Vec::with_capacity(ids.len())];
    // Each object's last action so far, found by the object's hash: small enough to stay in the processor's nearest
    // cache, and always with free places.
    let mut table: Vec<Option<Last>> = vec![None; (2 * ids.len() + 1).next_power_of_two()];
    let hashing = IdHashing::default();
    for (place, id) in (0..).zip(ids) {
        let mut before = None;
        if let Some(id) = id {
            let mut at = hashing.hash_one(id) as usize % table.len();
            while let Some(last) = table[at] {
                if ids[usize::from(last.place)] == Some(*id) {
                    before = Some(last);
                    break;
                }
                at = (at + 1) % table.len();
            }
            let round = before.map_or(0, |last| last.round + 1);
            table[at] = Some(Last { place, round });
        }
        let round = before.map_or(0, |last| usize::from(last.round) + 1);
        if rounds.len() == round {
            rounds.push(Vec::new());
        }
        rounds[round].push(Step {
            place,
            before: before.map(|last| last.place),
        });
    }
    rounds
}

#[cfg(test)]
mod tests {
    use kedge_protocol::Prefix;

    use super::*;

    #[test]
    fn no_round_has_two_actions_on_one_object() {
        let id = |byte| {
            Some(Id {
                prefix: Prefix::Object,
                bytes: [byte; 16],
            })
        };
        let step = |place, before| Step { place, before };
        let ids = [id(1), id(2), None, id(1), None, id(1), id(2)];
        let expected = [
            vec![step(0, None), step(1, None), step(2, None), step(4, None)],
            vec![step(3, Some(0)), step(6, Some(1))],
            vec![step(5, Some(3))],
        ];
        assert_eq!(rounds(&ids), expected);
    }
}
