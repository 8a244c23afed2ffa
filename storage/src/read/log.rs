//! Reads of the log: requests, actions, batches, the tree over them. Requests and batches come from the log's files, as
//! far as the snapshot's head reaches.

use kedge_log::StoredRequest;
use kedge_log::packed::{PackedRequest, owned_record};
use kedge_protocol::batch::SignedBatch;
use kedge_protocol::log_tree::TreeNodes;
use kedge_protocol::record::RequestRecord;
use kedge_protocol::resource::Object;
use kedge_protocol::{Hash, Id, Prefix};
use rocksdb::Direction;

use super::{PlacedAction, RowPage, place_of};
use crate::codec::{self, CodecError};
use crate::snapshot::{StoreReadError, StoreSnapshot};
use crate::tables::Table;
use crate::tables::batches::node_key;

/// Reads a packed request and checks that it belongs at its sequence.
pub(crate) fn packed(request: &StoredRequest) -> Result<PackedRequest<'_>, CodecError> {
    let packed = request.packed()?;
    if packed.head().first_sequence == request.first_sequence {
        Ok(packed)
    } else {
        Err(CodecError::bytes(
            "the request is at another request's place",
        ))
    }
}

/// The error for a bad request at a sequence.
pub(crate) fn bad_request(first_sequence: u64) -> impl Fn(CodecError) -> StoreReadError {
    move |error| StoreReadError::Log(format!("the request at sequence {first_sequence}: {error}"))
}

fn owned_request(request: &StoredRequest) -> Result<RequestRecord<'static>, StoreReadError> {
    packed(request)
        .and_then(PackedRequest::into_record)
        .map(owned_record)
        .map_err(bad_request(request.first_sequence))
}

/// The actions of a packed request whose sequences lie in a range, in order.
fn actions_within(
    request: &StoredRequest,
    first: u64,
    last: u64,
) -> Result<Vec<PlacedAction>, StoreReadError> {
    let read = || -> Result<Vec<_>, CodecError> {
        let packed = packed(request)?;
        let start = request.first_sequence;
        (0..packed.count())
            .filter(|&position| (first..=last).contains(&(start + position as u64)))
            .map(|position| PlacedAction::read(&packed, position))
            .collect()
    };
    read().map_err(bad_request(request.first_sequence))
}

/// Requests in order. The rest of a frame is kept until it is returned.
pub(crate) struct RequestScan<'s> {
    snapshot: &'s StoreSnapshot,
    /// The first sequence of the next request.
    next: u64,
    last: u64,
    read: std::vec::IntoIter<StoredRequest>,
}

impl Iterator for RequestScan<'_> {
    type Item = Result<StoredRequest, StoreReadError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.next > self.last {
            return None;
        }
        let found = self.following();
        match &found {
            Ok(request) => match packed(request) {
                Ok(packed) => self.next = request.first_sequence + packed.count().max(1) as u64,
                Err(error) => {
                    self.next = u64::MAX;
                    return Some(Err(bad_request(request.first_sequence)(error)));
                }
            },
            // Without its end the next request cannot be found.
            Err(_) => self.next = u64::MAX,
        }
        Some(found)
    }
}

impl RequestScan<'_> {
    fn following(&mut self) -> Result<StoredRequest, StoreReadError> {
        if let Some(request) = self.read.next() {
            return Ok(request);
        }
        let (first, last) = (self.next, self.last);
        let read = self.snapshot.in_log(|log| log.requests_from(first, last))?;
        self.read = read.into_iter();
        let found = self.read.next();
        found.ok_or_else(|| self.snapshot.no_request(first))
    }
}

/// Reader of single actions. It keeps the last request, which often holds the next action too.
pub struct ActionReader<'s> {
    snapshot: &'s StoreSnapshot,
    request: Option<StoredRequest>,
}

impl ActionReader<'_> {
    /// The action at `sequence`.
    pub fn action(&mut self, sequence: u64) -> Result<Option<PlacedAction>, StoreReadError> {
        if let Some(request) = &self.request
            && let Some(action) = actions_within(request, sequence, sequence)?.pop()
        {
            return Ok(Some(action));
        }
        self.request = self.snapshot.stored_request(sequence)?;
        match &self.request {
            Some(request) => Ok(actions_within(request, sequence, sequence)?.pop()),
            None => Ok(None),
        }
    }

    /// The action at `sequence`, if it is one on this resource: a step back along its actions, each of which states the
    /// previous one. An action that does not lead back is an error.
    pub fn action_on(
        &mut self,
        resource: Id,
        sequence: u64,
    ) -> Result<Option<PlacedAction>, StoreReadError> {
        let leads_back = |placed: &PlacedAction| {
            placed.action.resource == resource && placed.action.previous_sequence < sequence
        };
        Ok(self.action(sequence)?.filter(leads_back))
    }
}

impl StoreSnapshot {
    /// A reader of single actions.
    pub fn log_reader(&self) -> ActionReader<'_> {
        ActionReader {
            snapshot: self,
            request: None,
        }
    }

    pub fn action_sequence(&self, id: Id) -> Result<Option<u64>, StoreReadError> {
        if id.prefix != Prefix::Action {
            return Ok(None);
        }
        match self.indexed_action(id.bytes)? {
            Some(sequence) if sequence <= self.head()?.sequence => Ok(Some(sequence)),
            _ => Ok(None),
        }
    }

    /// The packed request that holds `sequence`.
    pub(super) fn stored_request(
        &self,
        sequence: u64,
    ) -> Result<Option<StoredRequest>, StoreReadError> {
        if sequence == 0 || sequence > self.head()?.sequence {
            return Ok(None);
        }
        let found = self.in_log(|log| log.request_at(sequence))?;
        let request = found.ok_or_else(|| self.no_request(sequence))?;
        let count = packed(&request)
            .map_err(bad_request(request.first_sequence))?
            .count() as u64;
        let holds = sequence
            .checked_sub(request.first_sequence)
            .is_some_and(|step| step < count);
        if holds {
            Ok(Some(request))
        } else {
            Err(self.no_request(sequence))
        }
    }

    /// The error for a sequence that the log once had.
    fn no_request(&self, sequence: u64) -> StoreReadError {
        let is_archived = |log: &kedge_log::LogReader| sequence < log.first_sequence();
        let missing = || format!("the request at sequence {sequence} is missing");
        self.not_here(is_archived, missing)
    }

    /// The error for a part of the log that is not here.
    fn not_here(
        &self,
        is_archived: impl FnOnce(&kedge_log::LogReader) -> bool,
        missing: impl FnOnce() -> String,
    ) -> StoreReadError {
        let archived = self.in_log(|log| {
            Ok(is_archived(log).then(|| StoreReadError::Archived {
                last_sequence: log.first_sequence() - 1,
                first_batch: log.first_batch(),
                place: log.archive(),
            }))
        });
        match archived {
            Ok(Some(archived)) => archived,
            _ => StoreReadError::Log(missing()),
        }
    }

    /// Packed requests in order, from the one that holds `first` to the one that holds `last`.
    pub(crate) fn stored_requests(
        &self,
        first: u64,
        last: u64,
    ) -> Result<RequestScan<'_>, StoreReadError> {
        Ok(RequestScan {
            snapshot: self,
            next: first.max(1),
            last: last.min(self.head()?.sequence),
            read: Vec::new().into_iter(),
        })
    }

    /// First sequence, number of done actions and time of the request that holds `sequence`.
    pub(super) fn request_times(&self, sequence: u64) -> Result<(u64, u64, u64), StoreReadError> {
        let request = self.stored_request(sequence)?;
        let request = request.ok_or_else(|| self.no_request(sequence))?;
        let packed = packed(&request).map_err(bad_request(request.first_sequence))?;
        let head = packed.head();
        Ok((
            head.first_sequence,
            packed.count() as u64,
            head.timestamp_ms,
        ))
    }

    /// The request that holds the action at `sequence`.
    pub fn request_at(
        &self,
        sequence: u64,
    ) -> Result<Option<RequestRecord<'static>>, StoreReadError> {
        let request = self.stored_request(sequence)?;
        request.as_ref().map(owned_request).transpose()
    }

    /// The action at `sequence`, without the others of its request.
    pub fn action_at(&self, sequence: u64) -> Result<Option<PlacedAction>, StoreReadError> {
        if sequence == 0 || sequence > self.head()?.sequence {
            return Ok(None);
        }
        let found = self.in_log(|log| log.action_at(sequence))?;
        let found = found.ok_or_else(|| self.no_request(sequence))?;
        let placed = PlacedAction::single(&found);
        placed
            .map(Some)
            .map_err(bad_request(found.request.first_sequence))
    }

    /// The actions between two sequences, both included, in order; for example those of a batch.
    pub fn actions_between(
        &self,
        first: u64,
        last: u64,
    ) -> Result<Vec<PlacedAction>, StoreReadError> {
        let mut actions = Vec::new();
        for request in self.stored_requests(first, last)? {
            actions.extend(actions_within(&request?, first, last)?);
        }
        Ok(actions)
    }

    /// A page of the actions that an organization's wallets requested; the cursor is the sequence.
    pub fn actions_of_organization(
        &self,
        organization: Id,
        page: RowPage,
    ) -> Result<Vec<PlacedAction>, StoreReadError> {
        let table = Table::RequestsByOrganization;
        let Some(start) = page.start() else {
            return Ok(Vec::new());
        };
        let (low, high) = if page.descending {
            (0, start)
        } else {
            (start, u64::MAX)
        };
        // A page may begin inside a request, whose key then lies before it.
        let holder = self
            .list_rows(table, &organization.bytes, start, Direction::Reverse)
            .next()
            .transpose()?;
        let from = match holder {
            Some((key, _)) => place_of(&key).map_err(StoreReadError::row(table, &key))?,
            None if page.descending => return Ok(Vec::new()),
            None => start,
        };
        let mut actions = Vec::new();
        for row in self.list_rows(table, &organization.bytes, from, page.direction()) {
            let (key, _) = row?;
            let first = place_of(&key).map_err(StoreReadError::row(table, &key))?;
            let request = self.stored_request(first)?;
            let request = request.ok_or_else(|| self.no_request(first))?;
            let mut found = actions_within(&request, low, high)?;
            if page.descending {
                found.reverse();
            }
            actions.extend(found);
            if actions.len() >= page.limit {
                break;
            }
        }
        actions.truncate(page.limit);
        Ok(actions)
    }

    /// The sequences of an object's last actions, at most `limit`, newest first.
    pub fn history_sequences(
        &self,
        object: &Object,
        limit: usize,
    ) -> Result<Vec<u64>, StoreReadError> {
        let mut sequences = Vec::new();
        let mut reader = self.log_reader();
        let mut here = object.trace.sequence;
        while here != 0 && sequences.len() < limit {
            let placed = reader.action_on(object.id, here)?;
            let placed = placed.ok_or_else(|| not_of(object, here))?;
            sequences.push(here);
            here = placed.action.previous_sequence;
        }
        Ok(sequences)
    }

    /// An object's actions below the sequence `before`, newest first.
    pub fn history(
        &self,
        object: &Object,
        before: Option<u64>,
        limit: usize,
    ) -> Result<Vec<PlacedAction>, StoreReadError> {
        let mut sequence = object.trace.sequence;
        // A cursor from an earlier page is an action of the object and leads to the next.
        if let Some(before) = before
            && let Some(last_seen) = self.action_at(before)?
            && last_seen.action.resource == object.id
        {
            sequence = last_seen.action.previous_sequence;
        }
        let mut actions = Vec::new();
        let mut reader = self.log_reader();
        while sequence != 0 && actions.len() < limit {
            let placed = reader.action_on(object.id, sequence)?;
            let placed = placed.ok_or_else(|| not_of(object, sequence))?;
            sequence = placed.action.previous_sequence;
            if before.is_none_or(|before| placed.sequence < before) {
                actions.push(placed);
            }
        }
        Ok(actions)
    }

    pub fn batch(&self, number: u64) -> Result<Option<SignedBatch>, StoreReadError> {
        if number >= self.head()?.batches {
            return Ok(None);
        }
        let found = self.in_log(|log| log.batch(number))?;
        found.ok_or_else(|| self.no_batch(number)).map(Some)
    }

    /// The error for a batch that the log once had.
    pub(crate) fn no_batch(&self, number: u64) -> StoreReadError {
        let is_archived = |log: &kedge_log::LogReader| number < log.first_batch();
        self.not_here(is_archived, || format!("batch {number} is missing"))
    }

    pub fn batch_number(&self, id: Id) -> Result<Option<u64>, StoreReadError> {
        if id.prefix != Prefix::Batch {
            return Ok(None);
        }
        self.get_number(Table::BatchIds, &id.bytes)
    }

    /// A page of the batches; the cursor is the number.
    pub fn batches(&self, page: RowPage) -> Result<Vec<SignedBatch>, StoreReadError> {
        let Some(start) = page.start() else {
            return Ok(Vec::new());
        };
        let count = self.head()?.batches;
        let Some(last) = count.checked_sub(1) else {
            return Ok(Vec::new());
        };
        let mut batches = Vec::new();
        let mut next = if page.descending {
            Some(start.min(last))
        } else {
            Some(start).filter(|start| *start < count)
        };
        while let Some(number) = next.filter(|_| batches.len() < page.limit) {
            let batch = self.batch(number)?;
            batches.push(batch.ok_or_else(|| self.no_batch(number))?);
            next = if page.descending {
                number.checked_sub(1)
            } else {
                number.checked_add(1).filter(|next| *next < count)
            };
        }
        Ok(batches)
    }

    /// The leaf hashes of a batch, in order.
    pub fn leaves(&self, number: u64) -> Result<Option<Vec<Hash>>, StoreReadError> {
        Ok(self.batch_with_leaves(number)?.map(|(_, leaves)| leaves))
    }

    /// A batch, and the leaf hashes of its actions in order.
    pub fn batch_with_leaves(
        &self,
        number: u64,
    ) -> Result<Option<(SignedBatch, Vec<Hash>)>, StoreReadError> {
        if number >= self.head()?.batches {
            return Ok(None);
        }
        let found = self.in_log(|log| log.batch_with_leaves(number))?;
        found.ok_or_else(|| self.no_batch(number)).map(Some)
    }

    /// The requests of an organization with first sequences in a range, both ends included; for example those of a
    /// batch.
    pub fn requests_of_organization(
        &self,
        organization: Id,
        first: u64,
        last: u64,
    ) -> Result<Vec<RequestRecord<'static>>, StoreReadError> {
        let table = Table::RequestsByOrganization;
        let mut requests = Vec::new();
        for row in self.list_rows(table, &organization.bytes, first, Direction::Forward) {
            let (key, _) = row?;
            let sequence = place_of(&key).map_err(StoreReadError::row(table, &key))?;
            if sequence > last {
                break;
            }
            let request = self.request_at(sequence)?;
            requests.push(request.ok_or_else(|| self.no_request(sequence))?);
        }
        Ok(requests)
    }

    /// Every request from the one that holds `sequence`, in order.
    pub fn requests_from(
        &self,
        sequence: u64,
    ) -> impl Iterator<Item = Result<RequestRecord<'static>, StoreReadError>> {
        let (requests, failed) = match self.stored_requests(sequence, u64::MAX) {
            Ok(requests) => (Some(requests), None),
            Err(error) => (None, Some(Err(error))),
        };
        let records = requests
            .into_iter()
            .flatten()
            .map(|request| request.and_then(|request| owned_request(&request)));
        failed.into_iter().chain(records)
    }

    /// Every batch from `number` on, in order.
    pub fn batches_from(
        &self,
        number: u64,
    ) -> impl Iterator<Item = Result<SignedBatch, StoreReadError>> {
        (number..).map_while(|number| self.batch(number).transpose())
    }
}

/// The error for an object whose history cannot be followed.
fn not_of(object: &Object, sequence: u64) -> StoreReadError {
    StoreReadError::Log(format!(
        "the action of {} at sequence {sequence} is missing",
        object.id
    ))
}

impl TreeNodes for StoreSnapshot {
    type Error = StoreReadError;

    fn node(&self, level: u32, index: u64) -> Result<Hash, StoreReadError> {
        let node = self.get(Table::Tree, &node_key(level, index), |bytes| {
            codec::array(bytes).map(Hash)
        })?;
        node.ok_or_else(|| StoreReadError::Missing {
            table: Table::Tree,
            what: format!("node {index} of level {level}"),
        })
    }
}
