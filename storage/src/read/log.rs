//! The log: requests, actions, batches, the tree over them.

use kedge_protocol::batch::SignedBatch;
use kedge_protocol::log_tree::Nodes;
use kedge_protocol::record::RequestRecord;
use kedge_protocol::resource::Object;
use kedge_protocol::{Hash, Id, Prefix};
use rocksdb::Direction;

use super::{Page, PlacedAction, place_of};
use crate::codec::{self, CodecError};
use crate::snapshot::{RawRow, ReadError, RowRef, Snapshot};
use crate::tables::Table;
use crate::tables::batches::{BatchRow, decode_leaves, node_key};
use crate::tables::meta::{HEAD_KEY, HeadRow, LogHead};
use kedge_log::packed::{PackedRequest, owned_record};

/// Reads a packed request and checks that it stands under its own key.
pub(crate) fn packed<'a>(key: &[u8], value: &'a [u8]) -> Result<PackedRequest<'a>, CodecError> {
    let request = PackedRequest::read(value)?;
    if codec::number(key)? == request.head().first_sequence {
        Ok(request)
    } else {
        Err(CodecError::bytes("the request stands under another's key"))
    }
}

fn owned_request((key, value): RowRef<'_>) -> Result<RequestRecord<'static>, ReadError> {
    packed(key, value)
        .and_then(PackedRequest::into_record)
        .map(owned_record)
        .map_err(ReadError::row(Table::Log, key))
}

fn batch(number: u64, bytes: &[u8]) -> Result<SignedBatch, CodecError> {
    let batch = codec::decode::<BatchRow>(bytes).map(SignedBatch::from)?;
    if batch.header.number == number {
        Ok(batch)
    } else {
        Err(CodecError::bytes("the batch stands under another's number"))
    }
}

/// The actions of a packed request whose sequences lie in a range, in order.
fn actions_within(
    (key, value): RowRef<'_>,
    first: u64,
    last: u64,
) -> Result<Vec<PlacedAction>, ReadError> {
    let read = || -> Result<Vec<_>, CodecError> {
        let request = packed(key, value)?;
        let start = request.head().first_sequence;
        (0..request.count())
            .filter(|&position| (first..=last).contains(&(start + position as u64)))
            .map(|position| PlacedAction::read(&request, position))
            .collect()
    };
    read().map_err(ReadError::row(Table::Log, key))
}

/// Reads single actions out of the log. The request that was read last is kept: the next action
/// wanted often stands in it too.
pub struct LogReader<'s> {
    snapshot: &'s Snapshot,
    row: Option<RawRow>,
}

impl LogReader<'_> {
    /// The action at `sequence`.
    pub fn action(&mut self, sequence: u64) -> Result<Option<PlacedAction>, ReadError> {
        if let Some(row) = &self.row
            && let Some(action) = actions_within((&row.0, &row.1), sequence, sequence)?.pop()
        {
            return Ok(Some(action));
        }
        self.row = self.snapshot.request_row(sequence)?;
        match &self.row {
            Some(row) => Ok(actions_within((&row.0, &row.1), sequence, sequence)?.pop()),
            None => Ok(None),
        }
    }
}

impl Snapshot {
    /// A reader of single actions.
    pub fn log_reader(&self) -> LogReader<'_> {
        LogReader {
            snapshot: self,
            row: None,
        }
    }

    /// Where the log ends.
    pub fn head(&self) -> Result<LogHead, ReadError> {
        let head = self.get(Table::Meta, HEAD_KEY, |bytes| {
            codec::decode::<HeadRow>(bytes).map(LogHead::from)
        })?;
        head.ok_or_else(|| ReadError::Missing {
            table: Table::Meta,
            what: "the log's head".to_owned(),
        })
    }

    /// The sequence of an action.
    pub fn action_sequence(&self, id: Id) -> Result<Option<u64>, ReadError> {
        if id.prefix != Prefix::Action {
            return Ok(None);
        }
        match self.indexed_action(id.bytes)? {
            Some(sequence) if sequence <= self.head()?.sequence => Ok(Some(sequence)),
            _ => Ok(None),
        }
    }

    /// Reads the packed request that `sequence` falls into, where it lies.
    fn request<T>(
        &self,
        sequence: u64,
        read: impl FnOnce(RowRef<'_>) -> Result<T, ReadError>,
    ) -> Result<Option<T>, ReadError> {
        let read = |(key, value): RowRef<'_>| {
            let count = packed(key, value)
                .map_err(ReadError::row(Table::Log, key))?
                .count() as u64;
            let first = place_of(key).map_err(ReadError::row(Table::Log, key))?;
            (sequence - first < count)
                .then(|| read((key, value)))
                .transpose()
        };
        let row = self.row_at_or_below(Table::Log, &sequence.to_be_bytes(), read)?;
        Ok(row.flatten())
    }

    /// A copy of the packed request that `sequence` falls into.
    pub(super) fn request_row(&self, sequence: u64) -> Result<Option<RawRow>, ReadError> {
        self.request(sequence, |(key, value)| Ok((key.into(), value.into())))
    }

    /// Of the request that `sequence` falls into: its first sequence, how many actions of it were
    /// done, and when they were placed.
    pub(super) fn request_times(&self, sequence: u64) -> Result<(u64, u64, u64), ReadError> {
        let times = self.request(sequence, |(key, value)| {
            let request = packed(key, value).map_err(ReadError::row(Table::Log, key))?;
            let head = request.head();
            Ok((
                head.first_sequence,
                request.count() as u64,
                head.timestamp_ms,
            ))
        })?;
        times.ok_or_else(|| ReadError::Missing {
            table: Table::Log,
            what: format!("the request at sequence {sequence}"),
        })
    }

    /// The request that the action at `sequence` belongs to.
    pub fn request_at(&self, sequence: u64) -> Result<Option<RequestRecord<'static>>, ReadError> {
        self.request(sequence, owned_request)
    }

    /// The action at `sequence`; the others of its request are not read.
    pub fn action_at(&self, sequence: u64) -> Result<Option<PlacedAction>, ReadError> {
        let actions = self.request(sequence, |row| actions_within(row, sequence, sequence))?;
        Ok(actions.and_then(|mut actions| actions.pop()))
    }

    /// The actions from one sequence to another, both included, in order: those of a batch, say.
    pub fn actions_between(&self, first: u64, last: u64) -> Result<Vec<PlacedAction>, ReadError> {
        let mut actions = Vec::new();
        let start = match self.request_row(first)? {
            Some((key, _)) => key.to_vec(),
            None => first.to_be_bytes().to_vec(),
        };
        for row in self.rows_from(Table::Log, &start, Direction::Forward) {
            let row = row?;
            if place_of(&row.0).map_err(ReadError::row(Table::Log, &row.0))? > last {
                break;
            }
            actions.extend(actions_within((&row.0, &row.1), first, last)?);
        }
        Ok(actions)
    }

    /// A page of the actions that an organization's wallets asked for; the cursor is the sequence.
    pub fn actions_of_organization(
        &self,
        organization: Id,
        page: Page,
    ) -> Result<Vec<PlacedAction>, ReadError> {
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
            Some((key, _)) => place_of(&key).map_err(ReadError::row(table, &key))?,
            None if page.descending => return Ok(Vec::new()),
            None => start,
        };
        let mut actions = Vec::new();
        for row in self.list_rows(table, &organization.bytes, from, page.direction()) {
            let (key, _) = row?;
            let first = place_of(&key).map_err(ReadError::row(table, &key))?;
            let request = self.request_row(first)?.ok_or_else(|| ReadError::Missing {
                table: Table::Log,
                what: format!("the request at sequence {first}"),
            })?;
            let mut found = actions_within((&request.0, &request.1), low, high)?;
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

    /// The sequences of an object's last actions, `limit` at the most, newest first.
    pub fn history_sequences(&self, object: &Object, limit: usize) -> Result<Vec<u64>, ReadError> {
        let mut sequences = Vec::new();
        let mut reader = self.log_reader();
        let mut here = object.trace.sequence;
        while here != 0 && sequences.len() < limit {
            let placed = reader.action(here)?.filter(|placed| {
                placed.action.resource == object.id && placed.action.previous_sequence < here
            });
            let placed = placed.ok_or_else(|| ReadError::Missing {
                table: Table::Log,
                what: format!("the action of {} at sequence {here}", object.id),
            })?;
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
    ) -> Result<Vec<PlacedAction>, ReadError> {
        let mut sequence = object.trace.sequence;
        // A cursor from an earlier page is itself an action of the object and knows the next.
        if let Some(before) = before
            && let Some(last_seen) = self.action_at(before)?
            && last_seen.action.resource == object.id
        {
            sequence = last_seen.action.previous_sequence;
        }
        let mut actions = Vec::new();
        let mut reader = self.log_reader();
        while sequence != 0 && actions.len() < limit {
            let placed = reader.action(sequence)?.filter(|placed| {
                placed.action.resource == object.id && placed.action.previous_sequence < sequence
            });
            let placed = placed.ok_or_else(|| ReadError::Missing {
                table: Table::Log,
                what: format!("the action of {} at sequence {sequence}", object.id),
            })?;
            sequence = placed.action.previous_sequence;
            if before.is_none_or(|before| placed.sequence < before) {
                actions.push(placed);
            }
        }
        Ok(actions)
    }

    /// A batch by number.
    pub fn batch(&self, number: u64) -> Result<Option<SignedBatch>, ReadError> {
        self.get(Table::Batches, &number.to_be_bytes(), |bytes| {
            batch(number, bytes)
        })
    }

    /// A batch's number by its id.
    pub fn batch_number(&self, id: Id) -> Result<Option<u64>, ReadError> {
        if id.prefix != Prefix::Batch {
            return Ok(None);
        }
        self.get_number(Table::BatchIds, &id.bytes)
    }

    /// A page of the batches; the cursor is the number.
    pub fn batches(&self, page: Page) -> Result<Vec<SignedBatch>, ReadError> {
        self.list(Table::Batches, &[], page, batch)
    }

    /// The leaf hashes of a batch, in order.
    pub fn leaves(&self, number: u64) -> Result<Option<Vec<Hash>>, ReadError> {
        self.get(Table::Leaves, &number.to_be_bytes(), decode_leaves)
    }

    /// The requests of an organization whose first sequences lie in a range, both ends included:
    /// those of a batch, say.
    pub fn requests_of_organization(
        &self,
        organization: Id,
        first: u64,
        last: u64,
    ) -> Result<Vec<RequestRecord<'static>>, ReadError> {
        let table = Table::RequestsByOrganization;
        let mut requests = Vec::new();
        for row in self.list_rows(table, &organization.bytes, first, Direction::Forward) {
            let (key, _) = row?;
            let sequence = place_of(&key).map_err(ReadError::row(table, &key))?;
            if sequence > last {
                break;
            }
            let request = self.request_at(sequence)?;
            requests.push(request.ok_or_else(|| ReadError::Missing {
                table: Table::Log,
                what: format!("the request at sequence {sequence}"),
            })?);
        }
        Ok(requests)
    }

    /// Every request from the one that holds `sequence`, in order.
    pub fn requests_from(
        &self,
        sequence: u64,
    ) -> impl Iterator<Item = Result<RequestRecord<'static>, ReadError>> {
        let start = match self.request_row(sequence) {
            Ok(Some((key, _))) => key.to_vec(),
            // What cannot be read shows again when the rows come.
            Ok(None) | Err(_) => sequence.to_be_bytes().to_vec(),
        };
        self.rows_from(Table::Log, &start, Direction::Forward)
            .map(|row| row.and_then(|(key, value)| owned_request((&key, &value))))
    }

    /// Every batch from `number` on, in order.
    pub fn batches_from(
        &self,
        number: u64,
    ) -> impl Iterator<Item = Result<SignedBatch, ReadError>> {
        self.list_rows(Table::Batches, &[], number, Direction::Forward)
            .map(|row| {
                let (key, value) = row?;
                place_of(&key)
                    .and_then(|number| batch(number, &value))
                    .map_err(ReadError::row(Table::Batches, &key))
            })
    }
}

impl Nodes for Snapshot {
    type Error = ReadError;

    fn node(&self, level: u32, index: u64) -> Result<Hash, ReadError> {
        let node = self.get(Table::Tree, &node_key(level, index), |bytes| {
            codec::array(bytes).map(Hash)
        })?;
        node.ok_or_else(|| ReadError::Missing {
            table: Table::Tree,
            what: format!("node {index} of level {level}"),
        })
    }
}
