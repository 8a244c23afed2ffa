//! Plan of a whole filter: its only branch's, or the union of all branches'.

use std::ops::RangeInclusive;
use std::rc::Rc;

use kedge_protocol::Id;
use kedge_rules::Caller;
use kedge_storage::{PropertyRange, StoreSnapshot};

use super::branches;
use super::filter::SearchFilter;
use super::plan::{
    BranchPlan, PlanCover, PlanScope, PlanSlot, SearchBranch, SearchPlan, SearchSource,
    SourceChoice, property_ranges,
};
use super::ranges::ValueRanges;
use super::templates::SearchTemplates;
use crate::SearchError;

/// Plans a search.
pub(super) struct Planner<'a> {
    branches: Vec<SearchBranch<'a>>,
    /// The conditions of the whole filter that every match satisfies.
    whole: SearchBranch<'a>,
}

impl<'a> Planner<'a> {
    pub(super) fn new(
        snapshot: &'a StoreSnapshot,
        filter: &'a SearchFilter,
        caller: &'a Caller,
    ) -> Self {
        let templates = Rc::new(SearchTemplates::new(snapshot, caller));
        let branch = |literals| SearchBranch::new((snapshot, &templates), filter, caller, literals);
        Self {
            branches: branches::of(filter).into_iter().map(branch).collect(),
            whole: branch(branches::of_conjunction(filter)),
        }
    }

    pub(super) fn plan(&self) -> Result<SearchPlan, SearchError> {
        let plans: Result<Vec<BranchPlan>, SearchError> =
            self.branches.iter().map(SearchBranch::plan).collect();
        let mut plans = plans?;
        let template = self.whole.only_template()?;
        let (scope, created) = match plans.len() {
            1 => {
                let only = plans.swap_remove(0);
                (only.scope, only.created)
            }
            _ => union(&plans),
        };
        Ok(SearchPlan {
            scope,
            created,
            template,
        })
    }

    /// The index ranges to read for an ordered search.
    pub(super) fn order(
        &self,
        template_id: Id,
        path: u8,
        place: Option<usize>,
    ) -> Vec<PropertyRange> {
        let each = self.branches.iter().map(|branch| branch.ranges_of(place));
        let ranges = each.collect::<Option<Vec<&ValueRanges>>>();
        let ranges = ranges.map_or_else(ValueRanges::all, |ranges| ValueRanges::any_of(&ranges));
        property_ranges(template_id, path, &ranges)
    }
}

/// Scope and range of creation sequences that contain the matches of all these plans.
fn union(plans: &[BranchPlan]) -> (PlanScope, RangeInclusive<u64>) {
    let Some(first) = plans.first() else {
        return (PlanScope::Ids(Vec::new()), 1..=u64::MAX);
    };
    let is_one_window = plans.iter().all(|plan| plan.created == first.created);
    let starts = plans.iter().map(|plan| *plan.created.start());
    let ends = plans.iter().map(|plan| *plan.created.end());
    let created = starts.min().unwrap_or(1)..=ends.max().unwrap_or(u64::MAX);
    if let Some(ids) = all_ids(plans) {
        return (PlanScope::Ids(ids), created);
    }
    // A branch's first cover is the named one; its last one always contains everything.
    let mut covers = vec![join(plans, |covers| covers.first())];
    let widest = join(plans, |covers| covers.last());
    if widest != covers[0] {
        covers.push(widest);
    }
    if !is_one_window {
        // Entries in the common window may lie outside their branch's window.
        covers.iter_mut().for_each(PlanCover::answer_nothing);
    }
    (PlanScope::Covers(covers), created)
}

fn all_ids(plans: &[BranchPlan]) -> Option<Vec<Id>> {
    let mut all = Vec::new();
    for plan in plans {
        match &plan.scope {
            PlanScope::Ids(ids) => all.extend(ids),
            PlanScope::Covers(_) => return None,
        }
    }
    all.sort_unstable();
    all.dedup();
    Some(all)
}

fn join<'p>(
    plans: &'p [BranchPlan],
    pick: impl Fn(&'p [PlanCover]) -> Option<&'p PlanCover>,
) -> PlanCover {
    let mut joined = PlanCover {
        slots: Vec::new(),
        only_if_small: false,
    };
    for plan in plans {
        match &plan.scope {
            PlanScope::Ids(ids) => joined.slots.push(PlanSlot {
                narrow: Vec::new(),
                list: SourceChoice {
                    source: SearchSource::Objects(ids.clone()),
                    answers: false,
                },
            }),
            PlanScope::Covers(covers) => {
                if let Some(cover) = pick(covers) {
                    joined.only_if_small |= cover.only_if_small;
                    joined.slots.extend(cover.slots.iter().cloned());
                }
            }
        }
    }
    joined.without_what_is_in_others()
}
