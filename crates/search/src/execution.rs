//! Execution of a search: a page of matches in the requested order, or their number.

use std::collections::{BTreeMap, HashMap};

use kedge_protocol::Id;
use kedge_protocol::resource::{Object, Template};
use kedge_rules::Caller;
use kedge_rules::index::ordered_value;
use kedge_rules::paths::{PathTree, PropertyPath};
use kedge_rules::rights::{sees_object, sees_template};
use kedge_storage::{ListWindow, ListedObject, ObjectIndex, PropertyRange, StoreSnapshot};

use super::budget::SearchBudget;
use super::candidates::Candidates;
use super::filter::{SearchFilter, TestedBytes};
use super::plan::{PlanCover, PlanScope, SearchPlan, SearchSource};
use super::planner::Planner;
use super::sort::{SearchSort, SortBy};
use crate::SearchError;

/// Objects per read.
const PIECE_OBJECTS: usize = 64;

/// The requested page.
#[derive(Debug)]
pub struct SearchPageRequest {
    pub sort: SearchSort,
    /// Limit of matches.
    pub limit: usize,
    /// Limit of the matches' bytes, after which the page ends early.
    pub bytes_max: usize,
    /// Place of the previous page's last match.
    pub after: Option<Vec<u8>>,
}

#[derive(Debug)]
pub struct SearchPage {
    pub objects: Vec<Object>,
    /// Place of the last match, if more follow.
    pub place: Option<Vec<u8>>,
    /// Number of rows read.
    pub rows: usize,
}

/// Number of matches.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SearchCount {
    pub count: u64,
    /// Number of rows read.
    pub rows: usize,
}

/// Finds a page of the matches visible to the caller.
pub fn search(
    snapshot: &StoreSnapshot,
    caller: &Caller,
    filter: &SearchFilter,
    wanted: &SearchPageRequest,
) -> Result<SearchPage, SearchError> {
    let planner = Planner::new(snapshot, filter, caller);
    let plan = planner.plan()?;
    let mut run = SearchRun::new(snapshot, caller, filter);
    let page = match &wanted.sort.by {
        SortBy::Created => run.by_creation(&plan, wanted)?,
        SortBy::Updated => run.sorted(&plan, wanted, &|object| place(object.trace.sequence))?,
        SortBy::Property(path) => run.by_property(&planner, &plan, wanted, path)?,
    };
    Ok(SearchPage {
        objects: page.objects,
        place: page.place,
        rows: run.budget.rows(),
    })
}

/// Counts the matches visible to the caller.
pub fn count(
    snapshot: &StoreSnapshot,
    caller: &Caller,
    filter: &SearchFilter,
) -> Result<SearchCount, SearchError> {
    let plan = Planner::new(snapshot, filter, caller).plan()?;
    let mut run = SearchRun::new(snapshot, caller, filter);
    let count = run.count(&plan)?;
    let rows = run.budget.rows();
    Ok(SearchCount { count, rows })
}

/// An object's place in an order by sequence.
fn place(sequence: u64) -> Vec<u8> {
    sequence.to_be_bytes().to_vec()
}

#[derive(Default)]
struct SearchPageBuilder {
    objects: Vec<Object>,
    bytes: usize,
    last: Vec<u8>,
    place: Option<Vec<u8>>,
}

impl SearchPageBuilder {
    /// Adds an object; false if the page is full, so more follow.
    fn add(&mut self, object: Object, place: Vec<u8>, wanted: &SearchPageRequest) -> bool {
        if self.objects.len() == wanted.limit || self.bytes > wanted.bytes_max {
            self.place = Some(std::mem::take(&mut self.last));
            return false;
        }
        self.bytes += object.properties.len();
        self.objects.push(object);
        self.last = place;
        true
    }
}

struct SearchRun<'a> {
    snapshot: &'a StoreSnapshot,
    caller: &'a Caller,
    filter: &'a SearchFilter,
    templates: HashMap<Id, Option<Template>>,
    budget: SearchBudget,
    tested: TestedBytes,
}

impl<'a> SearchRun<'a> {
    fn new(snapshot: &'a StoreSnapshot, caller: &'a Caller, filter: &'a SearchFilter) -> Self {
        Self {
            snapshot,
            caller,
            filter,
            templates: HashMap::new(),
            budget: SearchBudget::default(),
            tested: TestedBytes::default(),
        }
    }

    /// Whether the caller sees an object: the organization's and the wallet's always, one of a public template only if
    /// the filter names it.
    fn sees(&mut self, object: &Object) -> Result<bool, SearchError> {
        let is_own = object.organization_id == self.caller.organization_id
            || object.owner_id == self.caller.wallet_id;
        if is_own || !self.filter.names(object, &self.tested) {
            return Ok(is_own);
        }
        let id = object.template_id;
        if !self.templates.contains_key(&id) {
            self.templates.insert(id, self.snapshot.template(id)?);
        }
        let template = self.templates.get(&id).and_then(Option::as_ref);
        Ok(template.is_some_and(|template| sees_object(object, template, self.caller)))
    }

    /// Reads objects and returns the matches.
    fn matches(&mut self, ids: &[Id]) -> Result<Vec<Object>, SearchError> {
        let mut matches = Vec::with_capacity(ids.len());
        for object in self.snapshot.multi_objects(ids)?.into_iter().flatten() {
            self.budget.object(object.properties.len())?;
            if self.filter.matches(&object, &self.tested) && self.sees(&object)? {
                matches.push(object);
            }
            SearchBudget::check_tested(&self.tested)?;
        }
        Ok(matches)
    }

    fn by_creation(
        &mut self,
        plan: &SearchPlan,
        wanted: &SearchPageRequest,
    ) -> Result<SearchPageBuilder, SearchError> {
        let PlanScope::Covers(covers) = &plan.scope else {
            return self.sorted(plan, wanted, &|object| place(object.trace.created_sequence));
        };
        let descending = wanted.sort.descending;
        let (mut first, mut last) = (*plan.created.start(), *plan.created.end());
        if let Some(after) = &wanted.after {
            let after = u64::from_be_bytes(
                after
                    .as_slice()
                    .try_into()
                    .map_err(|_| SearchError::Place)?,
            );
            if descending {
                last = last.min(after.saturating_sub(1));
            } else {
                first = first.max(after.saturating_add(1));
            }
        }
        let window = ListWindow {
            sequences: first..=last,
            descending,
        };
        let mut candidates = self.choose(covers, &window)?;
        let mut page = SearchPageBuilder::default();
        loop {
            let piece = self.piece(&mut candidates)?;
            let ended = piece.len() < PIECE_OBJECTS;
            for object in self.matches(&piece)? {
                let here = place(object.trace.created_sequence);
                if !page.add(object, here, wanted) {
                    return Ok(page);
                }
            }
            if ended {
                return Ok(page);
            }
        }
    }

    fn piece(&mut self, candidates: &mut Candidates<'_>) -> Result<Vec<Id>, SearchError> {
        let mut piece = Vec::with_capacity(PIECE_OBJECTS);
        while piece.len() < PIECE_OBJECTS
            && let Some(ListedObject { id, .. }) = candidates.next(&mut self.budget)?
        {
            piece.push(id);
        }
        Ok(piece)
    }

    fn choose(
        &mut self,
        covers: &[PlanCover],
        window: &ListWindow,
    ) -> Result<Candidates<'a>, SearchError> {
        Candidates::choose(self.snapshot, covers, window, &mut self.budget)
    }

    /// Calls `each` for every match among the candidates.
    fn each_match(
        &mut self,
        candidates: &mut Candidates<'_>,
        mut each: impl FnMut(Object),
    ) -> Result<(), SearchError> {
        loop {
            let piece = self.piece(candidates)?;
            self.matches(&piece)?.into_iter().for_each(&mut each);
            if piece.len() < PIECE_OBJECTS {
                return Ok(());
            }
        }
    }

    /// Reads and sorts all matches, for orders without an index.
    fn sorted(
        &mut self,
        plan: &SearchPlan,
        wanted: &SearchPageRequest,
        place: &dyn Fn(&Object) -> Vec<u8>,
    ) -> Result<SearchPageBuilder, SearchError> {
        let mut first = FirstPlaces::new(wanted);
        let mut add = |object: Object| first.add(place(&object), object.id);
        match &plan.scope {
            PlanScope::Ids(ids) => self.matches(ids)?.into_iter().for_each(add),
            PlanScope::Covers(covers) => {
                let mut candidates = self.choose(covers, &all(plan))?;
                self.each_match(&mut candidates, &mut add)?;
            }
        }
        self.page_of(first, wanted)
    }

    /// Reads the objects of a page again, because sorting kept only places.
    fn page_of(
        &mut self,
        first: FirstPlaces<'_>,
        wanted: &SearchPageRequest,
    ) -> Result<SearchPageBuilder, SearchError> {
        let mut page = SearchPageBuilder::default();
        let mut places: Vec<(Vec<u8>, Id)> = first.places.into_iter().collect();
        if wanted.sort.descending {
            places.reverse();
        }
        for piece in places.chunks(PIECE_OBJECTS) {
            let ids: Vec<Id> = piece.iter().map(|(_, id)| *id).collect();
            let objects = self.snapshot.multi_objects(&ids)?;
            for (object, (place, _)) in objects.into_iter().flatten().zip(piece) {
                if !page.add(object, place.clone(), wanted) {
                    return Ok(page);
                }
            }
        }
        Ok(page)
    }

    fn by_property(
        &mut self,
        planner: &Planner<'_>,
        plan: &SearchPlan,
        wanted: &SearchPageRequest,
        path: &PropertyPath,
    ) -> Result<SearchPageBuilder, SearchError> {
        let indexed = plan
            .template
            .as_ref()
            .and_then(|seen| Some((seen.0.id, seen.1.number(path)?)));
        let Some((template_id, number)) = indexed else {
            return Err(SearchError::field(
                "/sort/0/field",
                "range",
                "needs a filter that fixes one template_id with eq, and a property that this \
                 template's schema marks with x-index",
            ));
        };
        let tree = PathTree::new([path]);
        let place = |object: &Object| {
            let mut place = ordered_value(tree.pick(&object.properties)[0]);
            place.extend_from_slice(&object.trace.created_sequence.to_be_bytes());
            place
        };
        let PlanScope::Covers(covers) = &plan.scope else {
            return self.sorted(plan, wanted, &place);
        };
        let place_of_path = self.filter.paths.iter().position(|known| known == path);
        let ranges = planner.order(template_id, number, place_of_path);
        // Without another restriction the index is read in order, and counting first would be wasted.
        let slots = covers.iter().flat_map(|cover| &cover.slots);
        let mut narrow = slots.flat_map(|slot| &slot.narrow);
        if covers.len() == 1 && narrow.all(|choice| choice.source.is_of(number)) {
            return self.along(&ranges, wanted);
        }
        let mut candidates = self.choose(covers, &all(plan))?;
        if !candidates.few {
            return self.along(&ranges, wanted);
        }
        let mut first = FirstPlaces::new(wanted);
        self.each_match(&mut candidates, |object| {
            first.add(place(&object), object.id);
        })?;
        self.page_of(first, wanted)
    }

    /// Reads an index in its order.
    fn along(
        &mut self,
        ranges: &[PropertyRange],
        wanted: &SearchPageRequest,
    ) -> Result<SearchPageBuilder, SearchError> {
        let descending = wanted.sort.descending;
        let after = wanted.after.as_deref();
        let snapshot = self.snapshot;
        let mut entries: Vec<_> = ranges
            .iter()
            .map(|range| snapshot.indexed_objects(range, after, descending))
            .collect();
        if descending {
            entries.reverse();
        }
        let mut entries = entries.into_iter().flatten();
        let mut page = SearchPageBuilder::default();
        loop {
            let mut places = Vec::with_capacity(PIECE_OBJECTS);
            let mut ids = Vec::with_capacity(PIECE_OBJECTS);
            while ids.len() < PIECE_OBJECTS
                && let Some(entry) = entries.next().transpose()?
            {
                self.budget.entry()?;
                ids.push(entry.object.id);
                places.push((entry.object.id, entry.place));
            }
            let mut places = places.into_iter();
            for object in self.matches(&ids)? {
                let here = places.find(|(id, _)| *id == object.id);
                let here = here.map(|(_, place)| place.into_vec()).unwrap_or_default();
                if !page.add(object, here, wanted) {
                    return Ok(page);
                }
            }
            if ids.len() < PIECE_OBJECTS {
                return Ok(page);
            }
        }
    }

    fn count(&mut self, plan: &SearchPlan) -> Result<u64, SearchError> {
        if let Some(count) = self.minted(plan)? {
            return Ok(count);
        }
        let covers = match &plan.scope {
            PlanScope::Ids(ids) => return Ok(self.matches(ids)?.len() as u64),
            PlanScope::Covers(covers) => covers,
        };
        let mut count = 0;
        let mut candidates = self.choose(covers, &all(plan))?;
        if candidates.answers {
            while candidates.next(&mut self.budget)?.is_some() {
                count += 1;
            }
        } else {
            self.each_match(&mut candidates, |_| count += 1)?;
        }
        Ok(count)
    }

    /// A template's stored object count, which is final because objects never disappear.
    fn minted(&mut self, plan: &SearchPlan) -> Result<Option<u64>, SearchError> {
        let (PlanScope::Covers(covers), Some(seen)) = (&plan.scope, &plan.template) else {
            return Ok(None);
        };
        let template = &seen.0;
        let list = SearchSource::List(ObjectIndex::Template(template.id));
        // Without slots nothing matches.
        let is_whole = plan.created == (1..=u64::MAX)
            && covers.iter().all(|cover| !cover.slots.is_empty())
            && covers.iter().flat_map(|cover| &cover.slots).all(|slot| {
                slot.narrow.is_empty() && slot.list.answers && slot.list.source == list
            });
        if !is_whole || !sees_template(template, self.caller) {
            return Ok(None);
        }
        self.budget.entry()?;
        Ok(Some(self.snapshot.minted(template.id)?))
    }
}

fn all(plan: &SearchPlan) -> ListWindow {
    ListWindow {
        sequences: plan.created.clone(),
        descending: false,
    }
}

/// The first places after a given one, and one more to detect a next page.
struct FirstPlaces<'a> {
    wanted: &'a SearchPageRequest,
    places: BTreeMap<Vec<u8>, Id>,
}

impl<'a> FirstPlaces<'a> {
    fn new(wanted: &'a SearchPageRequest) -> Self {
        Self {
            wanted,
            places: BTreeMap::new(),
        }
    }

    fn add(&mut self, place: Vec<u8>, id: Id) {
        let descending = self.wanted.sort.descending;
        let is_seen = self.wanted.after.as_ref().is_some_and(|after| {
            if descending {
                place >= *after
            } else {
                place <= *after
            }
        });
        if is_seen {
            return;
        }
        self.places.insert(place, id);
        if self.places.len() > self.wanted.limit + 1 {
            if descending {
                self.places.pop_first();
            } else {
                self.places.pop_last();
            }
        }
    }
}
