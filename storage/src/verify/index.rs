//! Comparison of the action ids and of the request table with the log. They are in another order than the log, so
//! single look-ups would jump about in them. Instead a window of the log is kept during the walk, and then all of them
//! are read once, in their order.

use std::sync::Arc;
use std::thread;

use kedge_protocol::Hash;
use kedge_protocol::chain::LogLeaf;
use kedge_protocol::hash::to_hex;
use kedge_protocol::ids::IdMap;
use kedge_protocol::record::RequestRecord;

use crate::action_index::{IdFile, IdFileError};
use crate::check::StoreFault;
use crate::codec;
use crate::snapshot::{StoreReadError, StoreSnapshot};
use crate::tables::Table;

/// Target of an index row.
enum IndexTarget {
    /// The action or request at this place of the window.
    To(usize),
    /// A part of the log outside the window.
    Elsewhere,
    /// No target; the text describes the fault.
    Astray(String),
}

/// Check of the index rows of requests and actions, window by window.
pub(super) struct IndexCheck<'a> {
    snapshot: &'a StoreSnapshot,
    threads: usize,
    /// Approximate number of actions of a window, which ends with its last batch.
    window_actions: usize,
    /// The log's last sequence.
    last_sequence: u64,
    /// The files of action ids.
    id_files: Arc<Vec<Arc<IdFile>>>,
    window: IndexWindow,
    /// The first row that the log does not explain.
    astray: Option<StoreFault>,
}

/// Part of the log with the expected index rows.
#[derive(Default)]
struct IndexWindow {
    /// The sequence before the first one.
    before: u64,
    /// The ids of its actions, in order.
    ids: Vec<[u8; 16]>,
    /// Its requests, in order: place of the first action, and number of the organization.
    requests: Vec<(u32, u32)>,
    /// Organizations, numbered in order of appearance.
    organizations: IdMap<[u8; 16], u32>,
}

impl<'a> IndexCheck<'a> {
    pub(super) fn new(
        snapshot: &'a StoreSnapshot,
        threads: usize,
        window_actions: usize,
        last_sequence: u64,
    ) -> Self {
        Self {
            snapshot,
            threads: threads.clamp(1, 256),
            // Places in a window are stored in 32 bits.
            window_actions: window_actions.clamp(1, 1 << 31),
            last_sequence,
            id_files: snapshot.id_files(),
            window: IndexWindow::default(),
            astray: None,
        }
    }

    /// Adds the log's next request to the window.
    pub(super) fn request(&mut self, record: &RequestRecord<'_>, leaves: &[LogLeaf]) {
        let window = &mut self.window;
        let number = window.organizations.len() as u32;
        let organization = window.organizations.entry(record.organization_id.bytes);
        let organization = *organization.or_insert(number);
        window
            .requests
            .push((window.ids.len() as u32, organization));
        let ids = leaves.iter().map(|leaf| Hash::first_16(&leaf.content));
        window.ids.extend(ids);
    }

    /// Called after a batch: checks a full window.
    pub(super) fn batch_ends(&mut self) -> Result<(), StoreFault> {
        // An organization takes about as much of a window as three actions.
        let kept = self.window.ids.len() + 3 * self.window.organizations.len();
        if kept >= self.window_actions {
            self.check()?;
        }
        Ok(())
    }

    /// Checks the rest of the log. If the whole log was walked, returns the first row without a target.
    pub(super) fn finish(mut self) -> Result<Option<StoreFault>, StoreFault> {
        if !self.window.ids.is_empty() || self.last_sequence == 0 {
            self.check()?;
        }
        Ok(self.astray)
    }

    /// Walks the ids and the table, and begins the next window. Fails at the first sequence without a row.
    fn check(&mut self) -> Result<(), StoreFault> {
        let IndexWindow {
            before,
            ids,
            requests,
            ..
        } = &self.window;
        let actions = self.in_parts(|part| self.ids(part))?;
        let listed = self.in_parts(|part| self.listed(part))?;
        // A start finds later ones in the log.
        let indexed = self.id_files.last().map_or(0, |file| file.last);
        let must = usize::try_from(indexed.saturating_sub(*before)).unwrap_or(usize::MAX);
        let action = actions.found.first_missing(must.min(ids.len()));
        let request = listed.found.first_missing(requests.len());
        let request = request.map(|place| requests[place].0 as usize);
        let sequence = |place: usize| before + 1 + place as u64;
        match (action, request) {
            (Some(action), request) if request.is_none_or(|request| action <= request) => {
                return Err(StoreFault::wrong(
                    sequence(action),
                    "the action's id does not lead to its sequence",
                ));
            }
            (_, Some(request)) => {
                return Err(StoreFault::wrong(
                    sequence(request),
                    "the request is not in its organization's list",
                ));
            }
            _ => {}
        }
        let astray = actions.astray.or(listed.astray);
        self.astray = self.astray.take().or(astray);
        let next = &mut self.window;
        next.before += next.ids.len() as u64;
        next.ids.clear();
        next.requests.clear();
        next.organizations.clear();
        Ok(())
    }

    /// Walks one part of every file of ids.
    fn ids(&self, part: usize) -> Result<WindowCoverage, StoreReadError> {
        let mut seen = WindowCoverage::new(self.window.ids.len());
        let mut lead = |file: &IdFile| -> Result<(), IdFileError> {
            for entry in file.part(part, self.threads) {
                let (id, sequence) = entry?;
                match self.window.id(self.last_sequence, &id, sequence) {
                    IndexTarget::To(place) => seen.found.set(place),
                    IndexTarget::Elsewhere => {}
                    IndexTarget::Astray(what) => {
                        let what = format!("{} leads to {what}", to_hex(&id));
                        seen.astray.get_or_insert(StoreFault::Ids(what));
                    }
                }
            }
            Ok(())
        };
        for file in self.id_files.iter() {
            lead(file).map_err(|error| StoreReadError::Ids(error.to_string()))?;
        }
        Ok(seen)
    }

    /// Walks one part of the request table's keys.
    fn listed(&self, part: usize) -> Result<WindowCoverage, StoreReadError> {
        let table = Table::RequestsByOrganization;
        // Keys begin with hashes, so their first bytes spread evenly.
        let [start, end] = [part, part + 1].map(|part| part * 256 / self.threads);
        let mut seen = WindowCoverage::new(self.window.requests.len());
        let mut rows = self.snapshot.cursor(table);
        match start {
            0 => rows.seek_to_first(),
            _ => rows.seek(&[start as u8]),
        }
        while let Some((key, value)) = rows.row()? {
            if key.first().is_some_and(|first| usize::from(*first) >= end) {
                break;
            }
            match self.window.request_row(self.last_sequence, key, value)? {
                IndexTarget::To(place) => seen.found.set(place),
                IndexTarget::Elsewhere => {}
                IndexTarget::Astray(what) => {
                    seen.astray.get_or_insert_with(|| StoreFault::Rows {
                        table,
                        what: format!("the row under key {} leads to {what}", to_hex(key)),
                    });
                }
            }
            rows.advance();
        }
        Ok(seen)
    }

    /// Walks all parts, each on a thread.
    fn in_parts(
        &self,
        part: impl Fn(usize) -> Result<WindowCoverage, StoreReadError> + Sync,
    ) -> Result<WindowCoverage, StoreReadError> {
        thread::scope(|scope| {
            let part = &part;
            let others: Vec<_> = (1..self.threads)
                .map(|number| scope.spawn(move || part(number)))
                .collect();
            let mut seen = part(0);
            for other in others {
                let other = other.join();
                let other = other.unwrap_or_else(|panic| std::panic::resume_unwind(panic));
                seen = seen.and_then(|seen| Ok(seen.with(other?)));
            }
            seen
        })
    }
}

impl IndexWindow {
    /// The place of a sequence in the window.
    fn place(&self, sequence: u64, last: u64) -> Result<usize, IndexTarget> {
        if !(1..=last).contains(&sequence) {
            let what = format!("sequence {sequence}, but the log ends at {last}");
            return Err(IndexTarget::Astray(what));
        }
        sequence
            .checked_sub(self.before + 1)
            .map(|place| place as usize)
            .filter(|place| *place < self.ids.len())
            .ok_or(IndexTarget::Elsewhere)
    }

    /// Action id → sequence.
    fn id(&self, last: u64, id: &[u8; 16], sequence: u64) -> IndexTarget {
        match self.place(sequence, last) {
            Ok(place) if self.ids[place] == *id => IndexTarget::To(place),
            Ok(_) => {
                IndexTarget::Astray(format!("sequence {sequence}, whose action has another id"))
            }
            Err(leads) => leads,
        }
    }

    /// Organization ‖ first sequence → count of actions.
    fn request_row(
        &self,
        last: u64,
        key: &[u8],
        value: &[u8],
    ) -> Result<IndexTarget, StoreReadError> {
        let table = Table::RequestsByOrganization;
        let count = codec::number(value).map_err(StoreReadError::row(table, key))?;
        let Some((organization, sequence)) = key.split_first_chunk::<16>() else {
            return Ok(IndexTarget::Astray("no request".to_owned()));
        };
        let sequence = codec::number(sequence).map_err(StoreReadError::row(table, key))?;
        let place = match self.place(sequence, last) {
            Ok(place) => place,
            Err(leads) => return Ok(leads),
        };
        let found = self
            .requests
            .binary_search_by_key(&place, |(first, _)| *first as usize);
        let right = found.is_ok_and(|request| {
            let end = self.requests.get(request + 1);
            let end = end.map_or(self.ids.len(), |(first, _)| *first as usize);
            let number = self.requests[request].1;
            self.organizations.get(organization) == Some(&number) && count == (end - place) as u64
        });
        Ok(match found {
            Ok(request) if right => IndexTarget::To(request),
            _ => IndexTarget::Astray(format!(
                "sequence {sequence}, where no request of {count} actions of this organization begins"
            )),
        })
    }
}

/// Result of walking a table.
struct WindowCoverage {
    found: WindowBits,
    astray: Option<StoreFault>,
}

impl WindowCoverage {
    fn new(places: usize) -> Self {
        Self {
            found: WindowBits(vec![0; places.div_ceil(64)]),
            astray: None,
        }
    }

    /// Adds the result of the next part.
    fn with(mut self, later: Self) -> Self {
        for (word, more) in self.found.0.iter_mut().zip(later.found.0) {
            *word |= more;
        }
        self.astray = self.astray.or(later.astray);
        self
    }
}

/// Bitmap of a window's places.
struct WindowBits(Vec<u64>);

impl WindowBits {
    fn set(&mut self, place: usize) {
        self.0[place / 64] |= 1 << (place % 64);
    }

    /// The first of `places` without a bit.
    fn first_missing(&self, places: usize) -> Option<usize> {
        let word = self.0.iter().position(|word| *word != u64::MAX)?;
        let place = word * 64 + self.0[word].trailing_ones() as usize;
        (place < places).then_some(place)
    }
}
