//! Reads for events: an organization's requests, actions of others on its objects, and events outside the log.

use kedge_protocol::Id;
use kedge_protocol::event::EventPosition;
use kedge_protocol::resource::Object;
use rocksdb::Direction;

use kedge_log::StoredRequest;

use super::log::{bad_request, packed};
use super::{PlacedAction, place_of};
use crate::codec::{self, CodecError};
use crate::snapshot::{StoreReadError, StoreSnapshot};
use crate::tables::Table;
use crate::tables::events::{EventRow, event_key, position_of, read_position, scope};
use crate::tables::meta::EVENTS_KEY;
use crate::tables::objects::ObjectOrigin;
use crate::tables::row::BincodeRow;

fn direction(descending: bool) -> Direction {
    if descending {
        Direction::Reverse
    } else {
        Direction::Forward
    }
}

/// A request of the log whose actions are read one by one.
pub struct LoggedRequest {
    request: StoredRequest,
    batch_number: u64,
    count: u64,
}

impl LoggedRequest {
    pub(super) fn of(request: StoredRequest) -> Result<Self, StoreReadError> {
        let read = packed(&request).map(|packed| (packed.head().batch_number, packed.count()));
        let (batch_number, count) = read.map_err(bad_request(request.first_sequence))?;
        Ok(Self {
            request,
            batch_number,
            count: count as u64,
        })
    }

    /// The request's batch.
    pub fn batch_number(&self) -> u64 {
        self.batch_number
    }

    /// True if the request holds the action at `sequence`.
    pub fn holds(&self, sequence: u64) -> bool {
        let first = self.request.first_sequence;
        sequence >= first && sequence - first < self.count
    }

    /// The request's action at `sequence`.
    pub fn action(&self, sequence: u64) -> Result<PlacedAction, StoreReadError> {
        let read = || -> Result<PlacedAction, CodecError> {
            if !self.holds(sequence) {
                return Err(CodecError::bytes("the sequence belongs to another request"));
            }
            let position = (sequence - self.request.first_sequence) as usize;
            PlacedAction::read(&packed(&self.request)?, position)
        };
        read().map_err(bad_request(self.request.first_sequence))
    }
}

impl StoreSnapshot {
    /// The request that holds the action at `sequence`.
    pub fn logged_request(&self, sequence: u64) -> Result<Option<LoggedRequest>, StoreReadError> {
        self.stored_request(sequence)?
            .map(LoggedRequest::of)
            .transpose()
    }

    /// An organization's requests, as first sequence and number of actions, from the first sequence `from` on, in the
    /// direction of the list.
    pub fn request_ranges(
        &self,
        organization: Id,
        from: u64,
        descending: bool,
    ) -> impl Iterator<Item = Result<(u64, u64), StoreReadError>> {
        let table = Table::RequestsByOrganization;
        self.list_rows(table, &organization.bytes, from, direction(descending))
            .map(move |row| {
                let (key, value) = row?;
                let read = || Ok((place_of(&key)?, codec::number(&value)?));
                read().map_err(StoreReadError::row(table, &key))
            })
    }

    /// The sequences, from `from` on, of the actions of other organizations' wallets on an organization's objects.
    pub fn foreign_actions(
        &self,
        organization: Id,
        from: u64,
        descending: bool,
    ) -> impl Iterator<Item = Result<u64, StoreReadError>> {
        let table = Table::ForeignActions;
        self.list_rows(table, &organization.bytes, from, direction(descending))
            .map(move |row| {
                let (key, _) = row?;
                place_of(&key).map_err(StoreReadError::row(table, &key))
            })
    }

    /// An organization's events outside the log (`None`: the events for all), from a position on, inclusive.
    pub fn stored_events(
        &self,
        organization: Option<Id>,
        from: EventPosition,
        descending: bool,
    ) -> impl Iterator<Item = Result<(EventPosition, EventRow), StoreReadError>> {
        let scope = scope(organization);
        let from = event_key(organization, from);
        self.rows_from(Table::Events, &from, direction(descending))
            .take_while(move |row| {
                row.as_ref()
                    .map_or(true, |(key, _)| key.starts_with(&scope))
            })
            .map(move |row| {
                let (key, value) = row?;
                let read = || {
                    let (_, BincodeRow(event)) =
                        codec::decode::<(u64, BincodeRow<EventRow>)>(&value)?;
                    let event = EventRow {
                        organization_id: organization,
                        ..event
                    };
                    Ok((position_of(&key)?, event))
                };
                read().map_err(StoreReadError::row(Table::Events, &key))
            })
    }

    /// Numbers of the first and the last stored event outside the log, of an organization or for all.
    pub fn stored_event_numbers(
        &self,
        organization: Option<Id>,
    ) -> Result<Option<(u64, u64)>, StoreReadError> {
        let scope = scope(organization);
        let number = |sequence, direction| -> Result<Option<u64>, StoreReadError> {
            let from = event_key(organization, sequence);
            let row = self.rows_from(Table::Events, &from, direction).next();
            let Some((key, value)) = row.transpose()?.filter(|(key, _)| key.starts_with(&scope))
            else {
                return Ok(None);
            };
            codec::decode::<(u64, BincodeRow<EventRow>)>(&value)
                .map(|(number, _)| Some(number))
                .map_err(StoreReadError::row(Table::Events, &key))
        };
        let first = number(EventPosition::start_of(0), Direction::Forward)?;
        let last = number(EventPosition::end_of(u64::MAX), Direction::Reverse)?;
        Ok(first.zip(last))
    }

    /// Position of the last event of any kind: of the newest batch, or of a later event outside the log. New events get
    /// positions after it.
    pub fn last_position(&self) -> Result<EventPosition, StoreReadError> {
        let sequence = self.head()?.sequence;
        let of_log = EventPosition {
            sequence,
            index: EventPosition::BATCH,
        };
        let side_event = self.get(Table::Meta, EVENTS_KEY, |bytes| {
            codec::array(bytes).map(read_position)
        })?;
        Ok(side_event.map_or(of_log, |side_event| side_event.max(of_log)))
    }

    /// An object's organization and template.
    pub fn origin(&self, object: Id) -> Result<Option<ObjectOrigin>, StoreReadError> {
        let origin = |object: Object| ObjectOrigin {
            organization_id: object.organization_id,
            template_id: object.template_id,
        };
        Ok(self.object(object)?.map(origin))
    }
}
