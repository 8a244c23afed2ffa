//! Choice among a plan's covers, by reading a little of each: the first to end wins. If none ends soon, one is read in
//! order of creation.

use std::iter::Peekable;
use std::vec::IntoIter;

use kedge_protocol::Id;
use kedge_storage::{ListWindow, ListedObject, StoreReadError, StoreSnapshot};

use super::budget::SearchBudget;
use super::plan::{PlanCover, PlanSlot, SearchSource, SourceChoice};
use crate::SearchError;

/// Entries to read of each source, in rounds. The first source to end is chosen, so choosing costs about as much as the
/// smallest source.
const ROUNDS: [usize; 4] = [64, 512, 4_096, 20_000];
/// Limit of entries read for the choice; larger sources are read in order of creation.
const CHOOSING_ROWS_MAX: usize = 20_000;

type CandidateRows<'s> = Box<dyn Iterator<Item = Result<ListedObject, StoreReadError>> + 's>;

/// A source's entries read so far, and the rest.
struct SearchSourceStream<'s> {
    rows: CandidateRows<'s>,
    read: usize,
    found: Vec<ListedObject>,
    ended: bool,
}

fn open<'s>(
    snapshot: &'s StoreSnapshot,
    source: &SearchSource,
    window: &ListWindow,
) -> SearchSourceStream<'s> {
    let rows: CandidateRows<'s> = match source {
        SearchSource::List(index) => Box::new(snapshot.listed_objects(*index, window)),
        SearchSource::Values {
            template_id,
            path,
            values,
        } => {
            let lists = values.iter().map(|value| {
                let rows = snapshot.objects_with_value(*template_id, *path, value, window);
                (Box::new(rows) as CandidateRows<'s>).peekable()
            });
            Box::new(MergedCandidates {
                lists: lists.collect(),
                descending: window.descending,
            })
        }
        SearchSource::Objects(ids) => listed(snapshot, ids, window),
        SearchSource::Ranges(ranges) => {
            let rows: Vec<_> = ranges
                .iter()
                .map(|range| snapshot.indexed_objects(range, None, false))
                .collect();
            let rows = rows.into_iter().flatten();
            Box::new(rows.map(|row| row.map(|indexed| indexed.object)))
        }
    };
    SearchSourceStream {
        rows,
        read: 0,
        found: Vec::new(),
        ended: false,
    }
}

/// Given objects in order of creation.
fn listed<'s>(snapshot: &StoreSnapshot, ids: &[Id], window: &ListWindow) -> CandidateRows<'s> {
    let objects = match snapshot.multi_objects(ids) {
        Ok(objects) => objects,
        Err(error) => return Box::new(std::iter::once(Err(error))),
    };
    let mut rows: Vec<ListedObject> = objects
        .into_iter()
        .flatten()
        .map(|object| ListedObject {
            created_sequence: object.trace.created_sequence,
            id: object.id,
        })
        .filter(|row| window.sequences.contains(&row.created_sequence))
        .collect();
    rows.sort_unstable();
    if window.descending {
        rows.reverse();
    }
    Box::new(rows.into_iter().map(Ok))
}

/// Merges lists in order of creation.
struct MergedCandidates<'s> {
    lists: Vec<Peekable<CandidateRows<'s>>>,
    descending: bool,
}

impl Iterator for MergedCandidates<'_> {
    type Item = Result<ListedObject, StoreReadError>;

    fn next(&mut self) -> Option<Self::Item> {
        let mut first: Option<(usize, ListedObject)> = None;
        for (i, list) in self.lists.iter_mut().enumerate() {
            match list.peek() {
                None => {}
                Some(Err(_)) => return list.next(),
                Some(Ok(next)) => {
                    let comes_first = |(_, first)| (*next < first) != self.descending;
                    first = first
                        .filter(|first| !comes_first(*first))
                        .or(Some((i, *next)));
                }
            }
        }
        first.and_then(|(i, _)| self.lists[i].next())
    }
}

impl SearchSourceStream<'_> {
    /// Reads up to a total of `read` entries.
    fn advance(
        &mut self,
        read: usize,
        window: &ListWindow,
        budget: &mut SearchBudget,
    ) -> Result<(), SearchError> {
        while !self.ended && self.read < read {
            match self.rows.next() {
                None => self.ended = true,
                Some(row) => {
                    budget.entry()?;
                    self.read += 1;
                    self.found.extend(row.map(|row| {
                        window
                            .sequences
                            .contains(&row.created_sequence)
                            .then_some(row)
                    })?);
                }
            }
        }
        Ok(())
    }
}

/// A slot whose sources are being read in turns.
struct SlotProbe<'p, 's> {
    slot: &'p PlanSlot,
    streams: Vec<(&'p SourceChoice, SearchSourceStream<'s>)>,
    /// Index of the source that ended first.
    done: Option<usize>,
}

impl<'p, 's> SlotProbe<'p, 's> {
    fn new(snapshot: &'s StoreSnapshot, slot: &'p PlanSlot, window: &ListWindow) -> Self {
        let choices = if slot.narrow.is_empty() {
            std::slice::from_ref(&slot.list)
        } else {
            slot.narrow.as_slice()
        };
        let streams = choices
            .iter()
            .map(|choice| (choice, open(snapshot, &choice.source, window)));
        Self {
            slot,
            streams: streams.collect(),
            done: None,
        }
    }

    fn advance(
        &mut self,
        read: usize,
        window: &ListWindow,
        budget: &mut SearchBudget,
    ) -> Result<(), SearchError> {
        for (i, (_, stream)) in self.streams.iter_mut().enumerate() {
            if self.done.is_none() && budget.rows() < CHOOSING_ROWS_MAX {
                stream.advance(read, window, budget)?;
                if stream.ended {
                    self.done = Some(i);
                }
            }
        }
        Ok(())
    }

    fn has_values(&self) -> bool {
        let is_values =
            |choice: &SourceChoice| matches!(choice.source, SearchSource::Values { .. });
        self.streams.iter().any(|(choice, _)| is_values(choice))
    }

    /// The slot's entries in order of creation: those of the source that ended, or else of the list.
    fn into_entries(
        mut self,
        snapshot: &'s StoreSnapshot,
        window: &ListWindow,
    ) -> (CandidateEntries<'s>, bool) {
        let in_order = |(choice, _): &(&SourceChoice, SearchSourceStream<'_>)| !is_ranges(choice);
        let place = self.done.or_else(|| self.streams.iter().position(in_order));
        let Some(place) = place else {
            let rows = open(snapshot, &self.slot.list.source, window);
            return (CandidateEntries::of(rows, window), self.slot.list.answers);
        };
        let (choice, stream) = self.streams.swap_remove(place);
        (CandidateEntries::of(stream, window), choice.answers)
    }
}

/// Entries in order of their values must be sorted, so they are useful only if they are few.
fn is_ranges(choice: &SourceChoice) -> bool {
    matches!(choice.source, SearchSource::Ranges(_))
}

/// Entries in order of creation: those already read, then the rest.
struct CandidateEntries<'s> {
    found: IntoIter<ListedObject>,
    rows: Option<CandidateRows<'s>>,
    head: Option<ListedObject>,
}

impl<'s> CandidateEntries<'s> {
    fn of(stream: SearchSourceStream<'s>, window: &ListWindow) -> Self {
        let mut found = stream.found;
        // A source in another order is read completely or not used.
        if stream.ended {
            found.sort_unstable();
            if window.descending {
                found.reverse();
            }
        }
        Self {
            found: found.into_iter(),
            rows: (!stream.ended).then_some(stream.rows),
            head: None,
        }
    }

    /// Peeks at the next entry.
    fn head(&mut self, budget: &mut SearchBudget) -> Result<Option<ListedObject>, SearchError> {
        if self.head.is_none() {
            self.head = self.found.next();
        }
        if self.head.is_none()
            && let Some(row) = self.rows.as_mut().and_then(Iterator::next)
        {
            budget.entry()?;
            self.head = Some(row?);
        }
        Ok(self.head)
    }
}

/// Objects that may match, in order of creation, without duplicates.
pub(super) struct Candidates<'s> {
    slots: Vec<CandidateEntries<'s>>,
    descending: bool,
    /// Every candidate is a match.
    pub(super) answers: bool,
    /// All candidates were read, and they are few.
    pub(super) few: bool,
}

impl<'s> Candidates<'s> {
    /// Chooses the cheapest cover.
    pub(super) fn choose(
        snapshot: &'s StoreSnapshot,
        covers: &[PlanCover],
        window: &ListWindow,
        budget: &mut SearchBudget,
    ) -> Result<Self, SearchError> {
        let mut probes: Vec<(&PlanCover, Vec<SlotProbe<'_, 's>>)> = covers
            .iter()
            .map(|cover| {
                let slots = cover.slots.iter();
                let probes = slots.map(|slot| SlotProbe::new(snapshot, slot, window));
                (cover, probes.collect())
            })
            .collect();
        let is_no_choice = match covers {
            [only] => only.slots.iter().all(|slot| slot.narrow.is_empty()),
            _ => false,
        };
        let rounds = if is_no_choice { &[][..] } else { &ROUNDS };
        for &read in rounds {
            for i in 0..probes.len() {
                for probe in &mut probes[i].1 {
                    probe.advance(read, window, budget)?;
                }
                if probes[i].1.iter().all(|probe| probe.done.is_some()) {
                    let (_, chosen) = probes.swap_remove(i);
                    return Ok(Self::of(snapshot, chosen, window, true));
                }
            }
        }
        let large = probes
            .into_iter()
            .filter(|(cover, _)| !cover.only_if_small)
            .map(|(_, probes)| probes)
            .max_by_key(|probes| probes.iter().any(SlotProbe::has_values));
        let chosen = large.unwrap_or_default();
        Ok(Self::of(snapshot, chosen, window, false))
    }

    fn of(
        snapshot: &'s StoreSnapshot,
        chosen: Vec<SlotProbe<'_, 's>>,
        window: &ListWindow,
        few: bool,
    ) -> Self {
        let mut answers = true;
        let slots = chosen.into_iter().map(|probe| {
            let (entries, is_answer) = probe.into_entries(snapshot, window);
            answers &= is_answer;
            entries
        });
        Self {
            slots: slots.collect(),
            descending: window.descending,
            answers,
            few,
        }
    }

    pub(super) fn next(
        &mut self,
        budget: &mut SearchBudget,
    ) -> Result<Option<ListedObject>, SearchError> {
        let mut first: Option<ListedObject> = None;
        for slot in &mut self.slots {
            let Some(head) = slot.head(budget)? else {
                continue;
            };
            if first.is_none_or(|first| (head < first) != self.descending) {
                first = Some(head);
            }
        }
        // An object may be in several slots.
        for slot in &mut self.slots {
            if slot.head == first {
                slot.head = None;
            }
        }
        Ok(first)
    }
}
