//! Plan of one branch: the lists and indexes that contain all its matches. Every object read is still tested against
//! the filter.

use std::ops::RangeInclusive;
use std::rc::Rc;

use kedge_protocol::Id;
use kedge_rules::Caller;
use kedge_storage::{ObjectIndex, PropertyRange, StoreSnapshot};

use super::branches::Literal;
use super::filter::{Comparison, Relation, SearchCondition, SearchFilter};
use super::ranges::ValueRanges;
use super::templates::{IndexedTemplate, SearchTemplates};
use crate::SearchError;

/// Source of objects.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum SearchSource {
    /// One of the store's lists.
    List(ObjectIndex),
    /// Single values of an indexed path, each in order of creation.
    Values {
        template_id: Id,
        path: u8,
        values: Vec<Vec<u8>>,
    },
    /// Ranges of values of an indexed path.
    Ranges(Vec<PropertyRange>),
    /// Given objects.
    Objects(Vec<Id>),
}

impl SearchSource {
    /// Whether the source uses the index of this path.
    pub(super) fn is_of(&self, number: u8) -> bool {
        match self {
            Self::List(_) | Self::Objects(_) => false,
            Self::Values { path, .. } => *path == number,
            Self::Ranges(ranges) => ranges.iter().all(|range| range.path == number),
        }
    }
}

/// A source, and whether its entries in the window are exactly the matches, all visible to the caller.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct SourceChoice {
    pub(super) source: SearchSource,
    pub(super) answers: bool,
}

/// A subset of the objects, and alternative sources for it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct PlanSlot {
    /// Sources with fewer objects than `list`.
    pub(super) narrow: Vec<SourceChoice>,
    pub(super) list: SourceChoice,
}

/// Slots whose union contains every match.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct PlanCover {
    pub(super) slots: Vec<PlanSlot>,
    /// Usable only if all of it was read and found small.
    pub(super) only_if_small: bool,
}

impl PlanCover {
    /// Requires a test of each entry, because it may not match.
    pub(super) fn answer_nothing(&mut self) {
        for slot in &mut self.slots {
            slot.list.answers = false;
            for choice in &mut slot.narrow {
                choice.answers = false;
            }
        }
    }

    /// Removes slots that others contain.
    pub(super) fn without_what_is_in_others(self) -> Self {
        let mut slots: Vec<PlanSlot> = Vec::with_capacity(self.slots.len());
        for slot in &self.slots {
            // A completely read list contains every source narrowed from it.
            let whole = |other: &PlanSlot| {
                other.narrow.is_empty()
                    && other.list.source == slot.list.source
                    && !slot.narrow.is_empty()
            };
            if !slots.contains(slot) && !self.slots.iter().any(whole) {
                slots.push(slot.clone());
            }
        }
        Self { slots, ..self }
    }
}

/// Superset of the matches.
#[derive(Debug)]
pub(super) enum PlanScope {
    /// These objects.
    Ids(Vec<Id>),
    /// Any one of these covers.
    Covers(Vec<PlanCover>),
}

/// Restrictions that a filter puts on its matches.
#[derive(Debug)]
pub(super) struct SearchPlan {
    pub(super) scope: PlanScope,
    /// Range of creation sequences.
    pub(super) created: RangeInclusive<u64>,
    /// The only possible template, if the caller sees it.
    pub(super) template: Option<Rc<IndexedTemplate>>,
}

/// Restrictions of one branch.
#[derive(Debug)]
pub(super) struct BranchPlan {
    pub(super) scope: PlanScope,
    pub(super) created: RangeInclusive<u64>,
}

/// Possible values of every match at one path.
struct PathRanges {
    path: usize,
    ranges: ValueRanges,
    /// The ranges cover all conditions on the path.
    complete: bool,
}

/// A conjunction of literals.
pub(super) struct SearchBranch<'a> {
    snapshot: &'a StoreSnapshot,
    templates: Rc<SearchTemplates<'a>>,
    filter: &'a SearchFilter,
    caller: &'a Caller,
    literals: Vec<Literal<'a>>,
    narrowed: Vec<PathRanges>,
}

/// Intersection of two lists of ids; the second one if there is no first yet.
fn both(known: Option<Vec<Id>>, more: &[Id]) -> Vec<Id> {
    let mut ids: Vec<Id> = match known {
        Some(known) => known.into_iter().filter(|id| more.contains(id)).collect(),
        None => more.to_vec(),
    };
    ids.sort_unstable();
    ids.dedup();
    ids
}

impl<'a> SearchBranch<'a> {
    pub(super) fn new(
        (snapshot, templates): (&'a StoreSnapshot, &Rc<SearchTemplates<'a>>),
        filter: &'a SearchFilter,
        caller: &'a Caller,
        literals: Vec<Literal<'a>>,
    ) -> Self {
        let narrowed = (0..filter.paths.len())
            .filter_map(|path| narrowed(&literals, path))
            .collect();
        Self {
            snapshot,
            templates: Rc::clone(templates),
            filter,
            caller,
            literals,
            narrowed,
        }
    }

    /// The conditions that every match satisfies.
    fn conjuncts(&self) -> impl Iterator<Item = &'a SearchCondition> {
        let literals = self.literals.iter().filter(|literal| !literal.negated);
        literals.filter_map(Literal::condition)
    }

    pub(super) fn plan(&self) -> Result<BranchPlan, SearchError> {
        let (mut ids, mut owners) = (None, None);
        for condition in self.conjuncts() {
            match condition {
                SearchCondition::Id(any_of) => ids = Some(both(ids, any_of)),
                SearchCondition::Owner(any_of) => owners = Some(both(owners, any_of)),
                SearchCondition::OwnerAddress(any_of) => {
                    let mut wallets = Vec::new();
                    for address in any_of {
                        let wallet = self.snapshot.wallet_by_address(*address)?;
                        wallets.extend(wallet.map(|wallet| wallet.id));
                    }
                    owners = Some(both(owners, &wallets));
                }
                _ => {}
            }
        }
        let scope = match ids {
            Some(ids) => PlanScope::Ids(ids),
            None => PlanScope::Covers(self.covers(self.named_templates(), owners)?),
        };
        Ok(BranchPlan {
            scope,
            created: self.created()?,
        })
    }

    /// Templates of which every match has one.
    fn named_templates(&self) -> Option<Vec<Id>> {
        let mut templates = None;
        for condition in self.conjuncts() {
            if let SearchCondition::Template(any_of) = condition {
                templates = Some(both(templates, any_of));
            }
        }
        templates
    }

    /// The only possible template, if the caller sees it.
    pub(super) fn only_template(&self) -> Result<Option<Rc<IndexedTemplate>>, SearchError> {
        match self.named_templates().as_deref() {
            Some([only]) => self.templates.seen(*only),
            _ => Ok(None),
        }
    }

    /// Possible values of every match at a path.
    pub(super) fn ranges_of(&self, place: Option<usize>) -> Option<&ValueRanges> {
        let mut narrowed = self.narrowed.iter();
        let found = narrowed.find(|narrowed| Some(narrowed.path) == place);
        found.map(|narrowed| &narrowed.ranges)
    }

    fn covers(
        &self,
        templates: Option<Vec<Id>>,
        owners: Option<Vec<Id>>,
    ) -> Result<Vec<PlanCover>, SearchError> {
        let mut covers = Vec::new();
        let is_unnamed = templates.is_none() && owners.is_none();
        if let Some(templates) = templates {
            let mut slots = Vec::new();
            let mut any_unseen = false;
            for id in templates {
                match self.templates.seen(id)? {
                    Some(seen) => slots.push(self.of_template(&seen)),
                    None => any_unseen = true,
                }
            }
            // Callers see their objects of a template even if the template is hidden from them.
            if any_unseen {
                slots.push(self.of_owner(self.caller.wallet_id));
            }
            covers.push(PlanCover {
                slots,
                only_if_small: false,
            });
        }
        if let Some(owners) = owners {
            covers.push(PlanCover {
                slots: owners.into_iter().map(|id| self.of_owner(id)).collect(),
                only_if_small: false,
            });
        }
        if is_unnamed {
            covers.extend(self.by_own_templates()?);
            let organization = ObjectIndex::Organization(self.caller.organization_id);
            let own = PlanSlot {
                narrow: Vec::new(),
                list: self.list(organization, |_| false),
            };
            covers.push(PlanCover {
                slots: vec![own, self.of_owner(self.caller.wallet_id)],
                only_if_small: false,
            });
        }
        Ok(covers)
    }

    /// The organization's objects by template, if an index of one of the templates helps. The caller's objects are read
    /// as a list, so this suits callers with few of them.
    fn by_own_templates(&self) -> Result<Option<PlanCover>, SearchError> {
        if self.narrowed.is_empty() {
            return Ok(None);
        }
        let Some(templates) = self.templates.own()? else {
            return Ok(None);
        };
        let slots = templates.iter().map(|template| self.of_template(template));
        let mut slots: Vec<PlanSlot> = slots.collect();
        if slots.iter().all(|slot| slot.narrow.is_empty()) {
            return Ok(None);
        }
        slots.push(self.of_owner(self.caller.wallet_id));
        Ok(Some(PlanCover {
            slots,
            only_if_small: true,
        }))
    }

    fn list(
        &self,
        index: ObjectIndex,
        is_answered: impl Fn(&SearchCondition) -> bool,
    ) -> SourceChoice {
        SourceChoice {
            source: SearchSource::List(index),
            answers: self.answers(is_answered, None),
        }
    }

    fn of_owner(&self, owner: Id) -> PlanSlot {
        let mut list = self.list(
            ObjectIndex::Owner(owner),
            |condition| matches!(condition, SearchCondition::Owner(any_of) if any_of.contains(&owner)),
        );
        list.answers &= owner == self.caller.wallet_id;
        PlanSlot {
            narrow: Vec::new(),
            list,
        }
    }

    fn of_template(&self, (template, indexed): &IndexedTemplate) -> PlanSlot {
        let is_named = |condition: &SearchCondition| matches!(condition, SearchCondition::Template(any_of) if any_of.contains(&template.id));
        let narrow = self.narrowed.iter().filter_map(|narrowed| {
            let path = indexed.number(&self.filter.paths[narrowed.path])?;
            Some(SourceChoice {
                source: source(template.id, path, &narrowed.ranges),
                answers: self.answers(is_named, narrowed.complete.then_some(narrowed.path)),
            })
        });
        PlanSlot {
            narrow: narrow.collect(),
            list: self.list(ObjectIndex::Template(template.id), is_named),
        }
    }

    /// Whether a source that satisfies these conditions, and all on this path, satisfies the whole branch.
    fn answers(&self, is_answered: impl Fn(&SearchCondition) -> bool, path: Option<usize>) -> bool {
        self.literals
            .iter()
            .all(|literal| match literal.condition() {
                None => false,
                // The window ensures these.
                Some(SearchCondition::CreatedAt(Comparison::Is(..))) => true,
                Some(SearchCondition::Property(of, _)) => Some(*of) == path,
                Some(condition) => !literal.negated && is_answered(condition),
            })
    }

    /// Range of creation sequences. Time never decreases along the log.
    fn created(&self) -> Result<RangeInclusive<u64>, SearchError> {
        let mut created = 1..=u64::MAX;
        for literal in &self.literals {
            let Some(SearchCondition::CreatedAt(test)) = literal.condition() else {
                continue;
            };
            let (from_ms, until_ms) = match (test, literal.negated) {
                (test, false) => milliseconds(test),
                (Comparison::Is(relation, ns), true) => {
                    milliseconds(&Comparison::Is(relation.contrary(), *ns))
                }
                (Comparison::AnyOf(_), true) => continue,
            };
            let first = match from_ms {
                Some(from_ms) => self.snapshot.first_sequence_at(from_ms)?,
                None => 1,
            };
            let last = match until_ms {
                Some(until_ms) => self.snapshot.first_sequence_at(until_ms)? - 1,
                None => u64::MAX,
            };
            created = first.max(*created.start())..=last.min(*created.end());
        }
        Ok(created)
    }
}

fn narrowed(literals: &[Literal<'_>], path: usize) -> Option<PathRanges> {
    let mut found: Option<ValueRanges> = None;
    let mut complete = true;
    for literal in literals {
        let Some(SearchCondition::Property(place, test)) = literal.condition() else {
            continue;
        };
        if *place != path {
            continue;
        }
        let ranges = match ValueRanges::of(test) {
            Some(ranges) if literal.negated => ranges.contrary(),
            ranges => ranges,
        };
        match ranges {
            Some(ranges) => {
                found = Some(match found {
                    Some(found) => found.and(&ranges),
                    None => ranges,
                });
            }
            None => complete = false,
        }
    }
    found.map(|ranges| PathRanges {
        path,
        complete: complete && ranges.exact,
        ranges,
    })
}

/// Index entries with these values.
fn source(template_id: Id, path: u8, ranges: &ValueRanges) -> SearchSource {
    if ranges.points {
        let values = ranges.ranges.iter().map(|range| range.start.clone());
        return SearchSource::Values {
            template_id,
            path,
            values: values.collect(),
        };
    }
    SearchSource::Ranges(property_ranges(template_id, path, ranges))
}

pub(super) fn property_ranges(
    template_id: Id,
    path: u8,
    ranges: &ValueRanges,
) -> Vec<PropertyRange> {
    let ranges = ranges.ranges.iter();
    ranges
        .map(|values| PropertyRange {
            template_id,
            path,
            values: values.clone(),
        })
        .collect()
}

/// The time range in milliseconds of a condition on a time: first inclusive, second exclusive.
fn milliseconds(test: &Comparison<u128>) -> (Option<u64>, Option<u64>) {
    let ms = |ms: u128| Some(u64::try_from(ms).unwrap_or(u64::MAX));
    let below = |ns: &u128| ns / 1_000_000;
    let above = |ns: &u128| ns.div_ceil(1_000_000);
    match test {
        Comparison::Is(Relation::Greater, ns) => (ms(below(ns) + 1), None),
        Comparison::Is(Relation::GreaterOrEqual, ns) => (ms(above(ns)), None),
        Comparison::Is(Relation::Less, ns) => (None, ms(above(ns))),
        Comparison::Is(Relation::LessOrEqual, ns) => (None, ms(below(ns) + 1)),
        Comparison::AnyOf(times) => match (times.iter().min(), times.iter().max()) {
            (Some(first), Some(last)) => (ms(above(first)), ms(below(last) + 1)),
            // An empty list matches nothing.
            _ => (Some(u64::MAX), None),
        },
    }
}
