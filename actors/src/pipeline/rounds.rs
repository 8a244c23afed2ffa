//! Rounds of a request's actions, with at most one action on each object in a round: computations side by side in a
//! round then do not depend on each other.

use kedge_protocol::Id;
use kedge_protocol::ids::IdMap;

/// Action of a round.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct RoundStep {
    /// Index of the action.
    pub(super) place: usize,
    /// Index of the previous action on the same object.
    pub(super) before: Option<usize>,
}

/// Divides actions on these objects into rounds.
pub(super) fn rounds(ids: &[Option<Id>]) -> Vec<Vec<RoundStep>> {
    let mut rounds: Vec<Vec<RoundStep>> = vec![Vec::with_capacity(ids.len())];
    // Each object's last action so far, and its round.
    let mut last: IdMap<Id, (usize, usize)> = IdMap::default();
    last.reserve(ids.len());
    for (place, id) in ids.iter().enumerate() {
        let before = id.and_then(|id| last.get(&id).copied());
        let round = before.map_or(0, |(_, round)| round + 1);
        if rounds.len() == round {
            rounds.push(Vec::new());
        }
        rounds[round].push(RoundStep {
            place,
            before: before.map(|(place, _)| place),
        });
        if let Some(id) = id {
            last.insert(*id, (place, round));
        }
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
        let step = |place, before| RoundStep { place, before };
        let ids = [id(1), id(2), None, id(1), None, id(1), id(2)];
        let expected = [
            vec![step(0, None), step(1, None), step(2, None), step(4, None)],
            vec![step(3, Some(0)), step(6, Some(1))],
            vec![step(5, Some(3))],
        ];
        assert_eq!(rounds(&ids), expected);
    }
}
