//! Events outside the log. The committer places each after every earlier event, in the commit of the fact that it
//! reports.

use std::collections::HashMap;

use kedge_protocol::Id;
use kedge_protocol::event::{EventPosition, EventType, event_id};
use kedge_protocol::limits::{EVENTS_KEPT_MAX, EVENTS_PRUNED_AT_ONCE};
use kedge_rules::Refusal;
use kedge_rules::event::RefusalEvent;
use kedge_storage::{EventRow, StoreReadError, StoreSnapshot, WriteGroup};

use crate::api::{ActionOutcome, Submission, SubmissionOutcome};

/// Numbers of the events kept for an organization: from `first` to below `next`.
#[derive(Clone, Copy)]
struct RetainedEvents {
    first: u64,
    next: u64,
}

/// Events that the committer stores outside the log.
pub(crate) struct SideEvents {
    /// Position of the newest event of either kind.
    last: EventPosition,
    kept: HashMap<Option<Id>, RetainedEvents>,
    /// Events of the open group.
    waiting: Vec<EventRow>,
}

impl SideEvents {
    /// Continues after the store's newest event.
    pub(crate) fn load(snapshot: &StoreSnapshot) -> Result<Self, StoreReadError> {
        Ok(Self {
            last: snapshot.last_position()?,
            kept: HashMap::new(),
            waiting: Vec::new(),
        })
    }

    /// Adds events to the open group.
    pub(crate) fn add(&mut self, events: impl IntoIterator<Item = EventRow>) {
        self.waiting.extend(events);
    }

    /// Adds an event for each refused action of an organization.
    pub(crate) fn add_refused<'a>(
        &mut self,
        organization: Id,
        submission: &Submission,
        refused: impl Iterator<Item = (u16, &'a Refusal)>,
        timestamp_ms: u64,
    ) {
        for (index, refusal) in refused {
            let Some(action) = submission.actions.get(usize::from(index)) else {
                continue;
            };
            let failed = RefusalEvent {
                kind: &action.kind,
                target: submission.text(&action.target),
                index,
                request_actions: submission.actions.len(),
                atomic: submission.head.atomic,
                action_hash: action.action_hash,
                refusal,
            };
            self.waiting.push(EventRow {
                id: event_id(&action.content, 0),
                event_type: EventType::ActionFailed,
                timestamp_ms,
                organization_id: Some(organization),
                object_id: failed.object_id(),
                template_id: failed.template_id(),
                data: failed.data(),
            });
        }
    }

    /// Adds the events of an organization's request that failed as a whole: if it was atomic, one for the action that
    /// failed it; otherwise one for each action.
    pub(crate) fn add_failed(
        &mut self,
        organization: Id,
        submission: &Submission,
        outcome: &SubmissionOutcome,
        timestamp_ms: u64,
    ) {
        let blamed = outcome.failed_index.filter(|_| submission.head.atomic);
        let refused = outcome.actions.iter().enumerate();
        let refused = refused.filter_map(|(index, action)| match action {
            ActionOutcome::Refused(refusal) if blamed.is_none_or(|blamed| blamed == index) => {
                Some((index as u16, refusal))
            }
            _ => None,
        });
        self.add_refused(organization, submission, refused, timestamp_ms);
    }

    /// Writes the waiting events into the group after which the log ends at `sequence`; `snapshot` is the store before
    /// it. Returns the organizations to notify; `None` stands for all.
    pub(crate) fn write(
        &mut self,
        group: &mut WriteGroup,
        snapshot: &StoreSnapshot,
        sequence: u64,
    ) -> Result<Vec<Option<Id>>, StoreReadError> {
        let events = std::mem::take(&mut self.waiting);
        let mut reported: Vec<Option<Id>> = Vec::new();
        for event in &events {
            let Some(position) = next_position(self.last, sequence) else {
                tracing::warn!(
                    sequence,
                    "events are dropped: the sequence has no position left for them"
                );
                break;
            };
            let scope = event.organization_id;
            let kept = kept(&mut self.kept, snapshot, scope)?;
            group.put_event(position, kept.next, event);
            kept.next += 1;
            self.last = position;
            reported.push(scope);
        }
        reported.sort_unstable();
        reported.dedup();
        if !reported.is_empty() {
            group.put_last_event(self.last);
        }
        Ok(reported)
    }

    /// Whether one of these organizations has more events than are kept.
    pub(crate) fn is_too_many(&self, scopes: &[Option<Id>]) -> bool {
        let mut kept = scopes.iter().filter_map(|scope| self.kept.get(scope));
        kept.any(|kept| kept.next - kept.first > EVENTS_KEPT_MAX)
    }

    /// Deletes the oldest surplus events; `snapshot` is the store with every group before this one.
    pub(crate) fn prune(
        &mut self,
        group: &mut WriteGroup,
        snapshot: &StoreSnapshot,
        scopes: &[Option<Id>],
    ) -> Result<(), StoreReadError> {
        for scope in scopes {
            let kept = kept(&mut self.kept, snapshot, *scope)?;
            prune(kept, group, snapshot, *scope)?;
        }
        Ok(())
    }

    /// Number of organizations with cached ranges.
    pub(crate) fn remembered(&self) -> usize {
        self.kept.len()
    }

    /// Clears the cached ranges. Every event must be in the published snapshot.
    pub(crate) fn forget(&mut self) {
        self.kept.clear();
    }
}

/// The position after `last` and after the log's events at its end.
fn next_position(last: EventPosition, sequence: u64) -> Option<EventPosition> {
    let index = if last.sequence < sequence {
        EventPosition::SIDE
    } else {
        last.index.checked_add(1)?.max(EventPosition::SIDE)
    };
    (index < u32::MAX).then_some(EventPosition { sequence, index })
}

fn kept<'a>(
    known: &'a mut HashMap<Option<Id>, RetainedEvents>,
    snapshot: &StoreSnapshot,
    scope: Option<Id>,
) -> Result<&'a mut RetainedEvents, StoreReadError> {
    use std::collections::hash_map::Entry;
    Ok(match known.entry(scope) {
        Entry::Occupied(entry) => entry.into_mut(),
        Entry::Vacant(entry) => {
            let numbers = snapshot.stored_event_numbers(scope)?;
            entry.insert(
                numbers.map_or(RetainedEvents { first: 0, next: 0 }, |(first, last)| {
                    RetainedEvents {
                        first,
                        next: last + 1,
                    }
                }),
            )
        }
    })
}

/// Deletes the oldest events if there are too many. One commit never adds as many as are kept, so the snapshot holds
/// all the oldest.
fn prune(
    kept: &mut RetainedEvents,
    group: &mut WriteGroup,
    snapshot: &StoreSnapshot,
    scope: Option<Id>,
) -> Result<(), StoreReadError> {
    let count = kept.next - kept.first;
    if count <= EVENTS_KEPT_MAX {
        return Ok(());
    }
    let surplus = count - (EVENTS_KEPT_MAX - EVENTS_PRUNED_AT_ONCE);
    let oldest = snapshot.stored_events(scope, EventPosition::start_of(0), false);
    for row in oldest.take(surplus as usize) {
        let (position, _) = row?;
        group.delete_event(scope, position);
        kept.first += 1;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    use std::path::Path;

    use kedge_protocol::eip712::Domain;
    use kedge_protocol::{Address, Hash, Prefix};
    use kedge_storage::{LogHead, Store};

    fn row(organization: Option<Id>) -> EventRow {
        EventRow {
            id: event_id(&Hash::ZERO, 0),
            event_type: EventType::ActionFailed,
            timestamp_ms: 1,
            organization_id: organization,
            object_id: None,
            template_id: None,
            data: "{}".to_owned(),
        }
    }

    fn positions(snapshot: &StoreSnapshot, scope: Option<Id>) -> Vec<EventPosition> {
        let rows = snapshot.stored_events(scope, EventPosition::start_of(0), false);
        rows.map(|row| row.unwrap().0).collect()
    }

    const DOMAIN: Domain = Domain {
        chain_id: 1,
        verifying_contract: Address::ZERO,
    };

    fn open(folder: &Path) -> Store {
        let path = folder.join("store");
        Store::open(kedge_storage::StoreOptions {
            side_keys: kedge_storage::SideKeys::one(1, [1; 32]),
            ..kedge_storage::StoreOptions::of_store(&path, DOMAIN, Address::ZERO)
        })
        .unwrap()
    }

    #[test]
    fn the_oldest_go_and_a_restart_goes_on_behind_the_newest() {
        let directory = tempfile::tempdir().unwrap();
        let store = open(directory.path());
        let one = Some(Id {
            prefix: Prefix::Organization,
            bytes: [1; 16],
        });
        let commit =
            |side_events: &mut SideEvents, sequence: u64, scope: Option<Id>, count: usize| {
                let mut group = WriteGroup::new();
                side_events.add(std::iter::repeat_with(|| row(scope)).take(count));
                let reported = side_events
                    .write(&mut group, &store.snapshot(), sequence)
                    .unwrap();
                assert_eq!(reported, [scope]);
                if side_events.is_too_many(&reported) {
                    side_events
                        .prune(&mut group, &store.snapshot(), &reported)
                        .unwrap();
                }
                group.put_head(&LogHead {
                    sequence,
                    ..LogHead::empty(&DOMAIN)
                });
                store.commit(group).unwrap()
            };
        let mut side_events = SideEvents::load(&store.snapshot()).unwrap();
        commit(&mut side_events, 3, None, 1);
        for sequence in 5..8 {
            commit(&mut side_events, sequence, one, 4_000);
        }
        let snapshot = commit(&mut side_events, 8, one, 2);
        let kept = positions(&snapshot, one);
        let pruned_to = (EVENTS_KEPT_MAX - EVENTS_PRUNED_AT_ONCE) as usize;
        assert_eq!(
            kept.len(),
            pruned_to + 2,
            "12,000 are too many, and then 2 more"
        );
        assert!(kept.is_sorted_by(|a, b| a < b));
        assert_eq!(
            positions(&snapshot, None).len(),
            1,
            "what others keep stays"
        );
        let newest = snapshot.last_position().unwrap();
        assert_eq!(Some(&newest), kept.last());

        let mut side_events = SideEvents::load(&snapshot).unwrap();
        let snapshot = commit(&mut side_events, 8, one, 1_000);
        let kept = positions(&snapshot, one);
        assert_eq!(kept.len(), pruned_to, "counting went on where it was");
        assert!(kept.is_sorted_by(|a, b| a < b));
        assert!(
            kept[kept.len() - 1_000..]
                .iter()
                .all(|position| *position > newest)
        );
    }

    #[test]
    fn places_only_grow() {
        let at = |sequence, index| EventPosition { sequence, index };
        let end_of_log = at(7, EventPosition::BATCH);
        let first = next_position(end_of_log, 7).unwrap();
        assert_eq!(first, at(7, EventPosition::SIDE));
        assert_eq!(
            next_position(first, 7),
            Some(at(7, EventPosition::SIDE + 1))
        );
        assert_eq!(next_position(first, 9), Some(at(9, EventPosition::SIDE)));
        assert_eq!(next_position(at(7, u32::MAX - 1), 7), None);
    }
}
