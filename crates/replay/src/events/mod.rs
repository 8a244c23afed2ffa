//! Reading of events: an organization's own requests, actions of others on objects that it issued, the batches of both
//! with their anchors, and events outside the log, merged into one order.

mod anchors;

use std::iter::Peekable;

use kedge_protocol::batch::SignedBatch;
use kedge_protocol::event::{EventPosition, EventType};
use kedge_protocol::{Address, Id};
use kedge_rules::event::{self, Event, EventFacts, LoggedAction};
use kedge_storage::{EventRow, LoggedRequest, PlacedAction, StoreReadError, StoreSnapshot};

pub use anchors::anchor_events;

/// Approximate bytes of payloads read by one call.
const LOOKED_AT_BYTES_MAX: usize = 4 * 1024 * 1024;

/// A filter; the default accepts all.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct EventFilter {
    /// Empty: any type.
    pub types: Vec<EventType>,
    pub object_id: Option<Id>,
    /// This template or its objects.
    pub template_id: Option<Id>,
}

impl EventFilter {
    /// Whether an event with this type and these ids passes.
    pub fn accepts(
        &self,
        event_type: EventType,
        object_id: Option<Id>,
        template_id: Option<Id>,
    ) -> bool {
        self.wants(event_type, object_id) && self.wants_template(template_id)
    }

    fn wants(&self, event_type: EventType, object_id: Option<Id>) -> bool {
        (self.types.is_empty() || self.types.contains(&event_type))
            && self
                .object_id
                .is_none_or(|wanted| object_id == Some(wanted))
    }

    fn wants_template(&self, template_id: Option<Id>) -> bool {
        self.template_id
            .is_none_or(|wanted| template_id == Some(wanted))
    }

    fn matches(&self, event: &Event) -> bool {
        self.accepts(event.event_type, event.object_id, event.template_id)
    }
}

/// The requested part of all events, in reading direction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct EventSpan {
    /// Start after this position; `None`: at the very end.
    pub after: Option<EventPosition>,
    /// End before this position; `None`: at the other end.
    pub until: Option<EventPosition>,
    /// Newest first.
    pub descending: bool,
    /// Limit of returned events.
    pub events_max: usize,
    /// Limit of their data's bytes; the last event may exceed it.
    pub bytes_max: usize,
    /// Limit of events looked at.
    pub rows_max: usize,
}

/// Result of a read.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct EventPiece {
    /// The events that pass, in reading direction.
    pub events: Vec<Event>,
    /// Position of the last event looked at; `None` if there was none.
    pub reached: Option<EventPosition>,
    pub rows: usize,
    /// Bytes of the actions read.
    pub looked_at_bytes: usize,
    /// True at the end of the span; otherwise reading continues after `reached`.
    pub ended: bool,
}

/// Reads events that an organization may see.
pub fn read(
    snapshot: &StoreSnapshot,
    organization: Id,
    filter: &EventFilter,
    span: EventSpan,
) -> Result<EventPiece, StoreReadError> {
    let mut reading = EventReading {
        snapshot,
        filter,
        span,
        piece: EventPiece {
            events: Vec::new(),
            reached: None,
            rows: 0,
            looked_at_bytes: 0,
            ended: false,
        },
        listed_bytes: 0,
        request: None,
    };
    reading.piece.ended = reading.run(organization)? == ReadStep::Past;
    Ok(reading.piece)
}

/// Next step after an event.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum ReadStep {
    Next,
    /// Stop: a limit is reached.
    Full,
    /// Stop: the span has ended.
    Past,
}

/// A batch's actions that the organization sees: ranges of first sequence and count, in reading direction.
struct BatchRanges {
    batch: SignedBatch,
    ranges: Vec<(u64, u64)>,
}

struct EventReading<'a> {
    snapshot: &'a StoreSnapshot,
    filter: &'a EventFilter,
    span: EventSpan,
    piece: EventPiece,
    listed_bytes: usize,
    /// The last request read: its neighbours are usually needed too.
    request: Option<LoggedRequest>,
}

/// Peeks at the next item, which may be an error.
fn peek<T: Clone, I>(list: &mut Peekable<I>) -> Result<Option<T>, StoreReadError>
where
    I: Iterator<Item = Result<T, StoreReadError>>,
{
    list.peek().cloned().transpose()
}

/// Continues with the next statement unless reading has ended.
macro_rules! go_on {
    ($step:expr) => {
        match $step? {
            ReadStep::Next => {}
            over => return Ok(over),
        }
    };
}

impl EventReading<'_> {
    fn run(&mut self, organization: Id) -> Result<ReadStep, StoreReadError> {
        let (snapshot, descending) = (self.snapshot, self.span.descending);
        let from = self.first_sequence()?;
        let mut own = snapshot
            .request_ranges(organization, from, descending)
            .peekable();
        let mut foreign = snapshot
            .foreign_actions(organization, from, descending)
            .peekable();
        let beside_from = self.span.after.unwrap_or(if descending {
            EventPosition::end_of(u64::MAX)
        } else {
            EventPosition::start_of(0)
        });
        let mut private = snapshot
            .stored_events(Some(organization), beside_from, descending)
            .peekable();
        let mut public = snapshot
            .stored_events(None, beside_from, descending)
            .peekable();
        loop {
            let group = self.next_group(&mut own, &mut foreign)?;
            // Events outside the log come after the last action of a batch.
            while let Some((position, row)) = nearest(&mut private, &mut public, descending)? {
                let is_first = group.as_ref().is_none_or(|group| {
                    let header = &group.batch.header;
                    if descending {
                        position.sequence >= header.last_sequence()
                    } else {
                        position.sequence < header.first_sequence
                    }
                });
                if !is_first {
                    break;
                }
                if row.organization_id.is_some() {
                    private.next();
                } else {
                    public.next();
                }
                go_on!(self.offer(position, |filter, snapshot| {
                    let event = stored(filter, position, row);
                    event.map_or(Ok(None), |event| {
                        Ok(concerns(snapshot, organization, &event)?.then_some(event))
                    })
                }));
            }
            let Some(group) = group else {
                return Ok(ReadStep::Past);
            };
            go_on!(self.group(&group));
        }
    }

    /// Start of the lists of actions: the first sequence of the batch in which the span begins, because the batch's own
    /// event may come after its actions.
    fn first_sequence(&mut self) -> Result<u64, StoreReadError> {
        let Some(after) = self.span.after else {
            return Ok(if self.span.descending { u64::MAX } else { 0 });
        };
        if self.span.descending || after.sequence == 0 {
            return Ok(after.sequence);
        }
        let Some(request) = self.snapshot.logged_request(after.sequence)? else {
            return Ok(after.sequence);
        };
        let header = self.batch(request.batch_number())?.header;
        let sealed = sealed_at(header.last_sequence());
        Ok(if after < sealed {
            header.first_sequence
        } else {
            header.last_sequence() + 1
        })
    }

    fn batch(&self, number: u64) -> Result<SignedBatch, StoreReadError> {
        let batch = self.snapshot.batch(number)?;
        batch.ok_or_else(|| missing(&format!("batch {number}")))
    }

    /// The request that holds `sequence`.
    fn request(&mut self, sequence: u64) -> Result<&LoggedRequest, StoreReadError> {
        let known = self.request.take().filter(|known| known.holds(sequence));
        let request = match known {
            Some(known) => known,
            None => self
                .snapshot
                .logged_request(sequence)?
                .ok_or_else(|| missing(&format!("the request at sequence {sequence}")))?,
        };
        Ok(self.request.insert(request))
    }

    fn next_group(
        &mut self,
        own: &mut Peekable<impl Iterator<Item = Result<(u64, u64), StoreReadError>>>,
        foreign: &mut Peekable<impl Iterator<Item = Result<u64, StoreReadError>>>,
    ) -> Result<Option<BatchRanges>, StoreReadError> {
        let mut group: Option<BatchRanges> = None;
        loop {
            let next = match (peek(own)?, peek(foreign)?.map(|sequence| (sequence, 1))) {
                (None, None) => return Ok(group),
                (Some(one), None) | (None, Some(one)) => one,
                (Some(one), Some(other)) if self.span.descending => one.max(other),
                (Some(one), Some(other)) => one.min(other),
            };
            let fits = |group: &BatchRanges| {
                let header = &group.batch.header;
                (header.first_sequence..=header.last_sequence()).contains(&next.0)
            };
            match &mut group {
                None => {
                    let number = self.request(next.0)?.batch_number();
                    group = Some(BatchRanges {
                        batch: self.batch(number)?,
                        ranges: vec![next],
                    });
                }
                Some(group) if fits(group) => group.ranges.push(next),
                Some(_) => return Ok(group),
            }
            // A request is either its organization's own or foreign, never both.
            if peek(own)?.is_some_and(|(first, _)| first == next.0) {
                own.next();
            } else {
                foreign.next();
            }
        }
    }

    /// The events of a batch's actions, and of its sealing.
    fn group(&mut self, group: &BatchRanges) -> Result<ReadStep, StoreReadError> {
        if self.span.descending {
            go_on!(self.sealed(&group.batch));
        }
        for &(first, count) in &group.ranges {
            for step in 0..count {
                let sequence = if self.span.descending {
                    first + count - 1 - step
                } else {
                    first + step
                };
                go_on!(self.action(sequence));
            }
        }
        if !self.span.descending {
            go_on!(self.sealed(&group.batch));
        }
        Ok(ReadStep::Next)
    }

    fn sealed(&mut self, batch: &SignedBatch) -> Result<ReadStep, StoreReadError> {
        let position = sealed_at(batch.header.last_sequence());
        self.offer(position, |filter, _| {
            let event = event::batch_sealed(batch);
            Ok(filter.matches(&event).then_some(event))
        })
    }

    fn action(&mut self, sequence: u64) -> Result<ReadStep, StoreReadError> {
        let seen = self.span.after.is_some_and(|after| {
            if self.span.descending {
                sequence > after.sequence
            } else {
                sequence < after.sequence
            }
        });
        if seen {
            return Ok(ReadStep::Next);
        }
        let placed = self.request(sequence)?.action(sequence)?;
        self.piece.looked_at_bytes += placed.action.payload.len();
        let count = logged(&placed).event_count();
        for step in 0..count {
            let index = if self.span.descending {
                count - 1 - step
            } else {
                step
            };
            let position = EventPosition { sequence, index };
            go_on!(self.offer(position, |filter, snapshot| {
                reported(filter, snapshot, &placed, index)
            }));
        }
        Ok(ReadStep::Next)
    }

    /// Handles one event, if it lies in the span and the limits have room.
    fn offer(
        &mut self,
        position: EventPosition,
        make: impl FnOnce(&EventFilter, &StoreSnapshot) -> Result<Option<Event>, StoreReadError>,
    ) -> Result<ReadStep, StoreReadError> {
        let descending = self.span.descending;
        let is_before = |one: EventPosition, other: EventPosition| {
            if descending { one > other } else { one < other }
        };
        if self
            .span
            .after
            .is_some_and(|after| !is_before(after, position))
        {
            return Ok(ReadStep::Next);
        }
        if self
            .span
            .until
            .is_some_and(|until| !is_before(position, until))
        {
            return Ok(ReadStep::Past);
        }
        let piece = &mut self.piece;
        if piece.events.len() >= self.span.events_max
            || piece.rows >= self.span.rows_max
            || self.listed_bytes >= self.span.bytes_max
            || (piece.looked_at_bytes > LOOKED_AT_BYTES_MAX && piece.rows > 0)
        {
            return Ok(ReadStep::Full);
        }
        piece.rows += 1;
        piece.reached = Some(position);
        if let Some(event) = make(self.filter, self.snapshot)? {
            self.listed_bytes += event.data.len();
            piece.events.push(event);
        }
        Ok(ReadStep::Next)
    }
}

fn missing(what: &str) -> StoreReadError {
    StoreReadError::Log(format!("{what} is missing"))
}

fn sealed_at(sequence: u64) -> EventPosition {
    EventPosition {
        sequence,
        index: EventPosition::BATCH,
    }
}

type PositionedRow = (EventPosition, EventRow);

/// The nearer of two lists' next events.
fn nearest(
    one: &mut Peekable<impl Iterator<Item = Result<PositionedRow, StoreReadError>>>,
    other: &mut Peekable<impl Iterator<Item = Result<PositionedRow, StoreReadError>>>,
    descending: bool,
) -> Result<Option<PositionedRow>, StoreReadError> {
    Ok(match (peek(one)?, peek(other)?) {
        (Some(one), Some(other)) if (one.0 < other.0) == descending => Some(other),
        (None, other) => other,
        (one, _) => one,
    })
}

/// An event outside the log, if it passes.
fn stored(filter: &EventFilter, position: EventPosition, row: EventRow) -> Option<Event> {
    let event = Event {
        id: row.id,
        event_type: row.event_type,
        position,
        timestamp_ms: row.timestamp_ms,
        organization_id: row.organization_id,
        object_id: row.object_id,
        template_id: row.template_id,
        action_id: None,
        data: row.data,
    };
    filter.matches(&event).then_some(event)
}

/// Whether an organization sees an event outside the log. Anchoring concerns the organizations that see an action in
/// one of the batches, which two seeks decide.
fn concerns(
    snapshot: &StoreSnapshot,
    organization: Id,
    event: &Event,
) -> Result<bool, StoreReadError> {
    if event.event_type != EventType::BatchAnchored {
        return Ok(true);
    }
    let data: serde_json::Value =
        serde_json::from_str(&event.data).map_err(|_| missing("an event's data"))?;
    let number = |name: &str| data[name].as_u64();
    let (Some(first_batch), Some(last)) = (number("first_batch"), number("last_sequence")) else {
        return Err(missing("what an event is about"));
    };
    let first = match snapshot.batch(first_batch) {
        Ok(Some(batch)) => batch.header.first_sequence,
        Ok(None) => return Ok(false),
        // The anchor's first batch is archived, so every organization gets its event.
        Err(StoreReadError::Archived { .. }) => return Ok(true),
        Err(error) => return Err(error),
    };
    let mut own = snapshot.request_ranges(organization, first, false);
    if let Some((sequence, _)) = own.next().transpose()?
        && sequence <= last
    {
        return Ok(true);
    }
    let mut foreign = snapshot.foreign_actions(organization, first, false);
    Ok(foreign
        .next()
        .transpose()?
        .is_some_and(|sequence| sequence <= last))
}

/// An event of an action, if it passes. Hashing is most of the work, so it is done last.
fn reported(
    filter: &EventFilter,
    snapshot: &StoreSnapshot,
    placed: &PlacedAction,
    index: u32,
) -> Result<Option<Event>, StoreReadError> {
    let logged = logged(placed);
    let facts = SnapshotFacts(snapshot);
    let is_wanted = filter.wants(logged.event_type(), logged.object_id())
        && (filter.template_id.is_none() || filter.wants_template(logged.template_id(&facts)?));
    if !is_wanted {
        return Ok(None);
    }
    logged.event(&placed.content(), index, &facts).map(Some)
}

fn logged(placed: &PlacedAction) -> LoggedAction<'_> {
    LoggedAction {
        action: &placed.action,
        sequence: placed.sequence,
        timestamp_ms: placed.timestamp_ms,
        batch_number: placed.batch_number,
        organization_id: placed.organization_id,
        wallet_id: placed.wallet_id,
        signer: placed.head.signer,
    }
}

struct SnapshotFacts<'a>(&'a StoreSnapshot);

impl EventFacts for SnapshotFacts<'_> {
    type Error = StoreReadError;

    fn template_of(&self, object: Id) -> Result<Option<Id>, StoreReadError> {
        let origin = self.0.origin(object)?;
        Ok(origin.map(|origin| origin.template_id))
    }

    fn wallet_of(&self, address: Address) -> Result<Option<Id>, StoreReadError> {
        let wallet = self.0.wallet_by_address(address)?;
        Ok(wallet.map(|wallet| wallet.id))
    }
}
