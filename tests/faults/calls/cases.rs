//! The cases: every group of calls, every way in which its calls can fail, every call of a workload.

use std::fmt;
use std::str::FromStr;

use crate::support::Rng;
use crate::support::faults::{Group, With};

/// One call of a workload, and its fault.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Case {
    pub(crate) group: Group,
    /// The call's place among those of its group, from 1.
    pub(crate) place: u64,
    pub(crate) with: With,
}

/// The ways in which calls of a group can fail. A process killed at a sync, on a machine that loses power, keeps only
/// what was synced.
fn ways(group: Group) -> &'static [With] {
    match group {
        Group::Write => &[With::Error, With::NoSpace, With::Half],
        Group::Read => &[With::Error, With::Half],
        Group::Sync => &[With::Error, With::NoSpace, With::Kill],
        Group::Unlink => &[With::Error],
        Group::Open | Group::Rename | Group::Allocate | Group::Mkdir => {
            &[With::Error, With::NoSpace]
        }
    }
}

/// Every pair of a group and one of its ways to fail.
pub(crate) fn pairs() -> Vec<(Group, With)> {
    let of = |group: Group| ways(group).iter().map(move |with| (group, *with));
    Group::ALL.into_iter().flat_map(of).collect()
}

/// Every case of a workload with these numbers of calls, shuffled, so that a run that is stopped has covered some of
/// everything.
pub(crate) fn all(counted: impl Fn(Group) -> u64) -> Vec<Case> {
    let mut cases = Vec::new();
    for (group, with) in pairs() {
        cases.extend((1..=counted(group)).map(|place| Case { group, place, with }));
    }
    let mut rng = Rng::of(1);
    let mut shuffled: Vec<(u64, Case)> = cases.into_iter().map(|case| (rng.next(), case)).collect();
    shuffled.sort_by_key(|(place, _)| *place);
    shuffled.into_iter().map(|(_, case)| case).collect()
}

/// The name in reports and in `KEDGE_CALL`: `Sync 12 Kill`.
impl fmt::Display for Case {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{:?} {} {:?}", self.group, self.place, self.with)
    }
}

impl FromStr for Case {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let words: Vec<&str> = text.split(' ').collect();
        let [group, place, with] = words.as_slice() else {
            return Err(format!("{text:?} is not like \"Sync 12 Kill\""));
        };
        let (group, with) = pairs()
            .into_iter()
            .find(|pair| format!("{:?} {:?}", pair.0, pair.1) == format!("{group} {with}"))
            .ok_or_else(|| format!("no call {group:?} fails with {with:?}"))?;
        let place = place
            .parse()
            .map_err(|error| format!("{place:?}: {error}"))?;
        Ok(Self { group, place, with })
    }
}
