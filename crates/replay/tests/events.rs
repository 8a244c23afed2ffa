//! Event reads from a store with a random log: any part, in any pieces, equals that part of a plain list of all events.

#![allow(clippy::unwrap_used, reason = "a test file: a panic is the failure")]

use std::path::Path;

use kedge_protocol::action::{Kind, RequestHead};
use kedge_protocol::batch::BatchHeader;
use kedge_protocol::eip712::Domain;
use kedge_protocol::event::{EventPosition, EventType, event_id};
use kedge_protocol::hash::keccak;
use kedge_protocol::record::{ActionRecord, RequestRecord};
use kedge_protocol::resource::{Object, ObjectStatus, ResourceTrace};
use kedge_protocol::signature::{Signature, SigningKey};
use kedge_protocol::{Address, Hash, Id, Prefix};
use kedge_replay::events::{EventFilter, EventSpan, read};
use kedge_storage::{EventRow, LogHead, Store, StoreSnapshot, WriteGroup};
use serde_json::json;

const DOMAIN: Domain = Domain {
    chain_id: 31_337,
    verifying_contract: Address([7; 20]),
};
const ORGANIZATIONS: u64 = 3;
const OBJECTS: u64 = 6;
const BATCHES: u64 = 12;

fn id(prefix: Prefix, number: u64) -> Id {
    Id::of_hash(prefix, &keccak(&number.to_be_bytes()))
}

fn organization(number: u64) -> Id {
    id(Prefix::Organization, number)
}

/// Random numbers from a seed (splitmix64).
struct Rng(u64);

impl Rng {
    fn below(&mut self, end: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)) % end
    }
}

/// An expected event: position, type, object number, viewers.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Expected {
    position: EventPosition,
    event_type: EventType,
    object: Option<u64>,
    seen_by: Vec<u64>,
}

struct Log {
    _directory: tempfile::TempDir,
    store: Store,
    head: LogHead,
    all: Vec<Expected>,
    /// Number of events outside the log, by organization; the last counts public ones.
    numbers: [u64; ORGANIZATIONS as usize + 1],
    last: EventPosition,
}

fn open(path: &Path) -> Store {
    let options = kedge_storage::StoreOptions {
        side_keys: kedge_storage::SideKeys::one(1, [1; 32]),
        ..kedge_storage::StoreOptions::of_store(&path.join("store"), DOMAIN, Address::ZERO)
    };
    Store::open(options).unwrap()
}

/// Objects belong to the organizations in turn, and each organization has one template.
fn issuer(object: u64) -> u64 {
    object % ORGANIZATIONS
}

fn template(organization: u64) -> Id {
    id(Prefix::Template, organization)
}

impl Log {
    fn random(seed: u64) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let mut log = Self {
            store: open(directory.path()),
            _directory: directory,
            head: LogHead::empty(&DOMAIN),
            all: Vec::new(),
            numbers: [0; ORGANIZATIONS as usize + 1],
            last: EventPosition::start_of(0),
        };
        let mut rng = Rng(seed);
        log.objects();
        log.side_event(&mut rng);
        for _ in 0..BATCHES {
            log.batch(&mut rng);
            for _ in 0..rng.below(3) {
                log.side_event(&mut rng);
            }
        }
        log
    }

    fn objects(&mut self) {
        let mut group = WriteGroup::new();
        for number in 0..OBJECTS {
            let object = Object {
                id: id(Prefix::Object, number),
                organization_id: organization(issuer(number)),
                template_id: template(issuer(number)),
                variation_id: None,
                owner_id: id(Prefix::Wallet, 1),
                owner_address: Address::ZERO,
                properties: "{}".to_owned(),
                status: ObjectStatus::Active,
                trace: ResourceTrace::NEW,
            };
            group.put_mint(&object, &object.trace, number);
        }
        self.store.commit(group).unwrap();
    }

    /// A commit with only events outside the log.
    fn side_event(&mut self, rng: &mut Rng) {
        let mut group = WriteGroup::new();
        for _ in 0..=rng.below(3) {
            let scope = rng.below(ORGANIZATIONS + 1);
            let index = if self.last.sequence == self.head.sequence {
                self.last.index.max(EventPosition::BATCH) + 1
            } else {
                EventPosition::SIDE
            };
            self.last = EventPosition {
                sequence: self.head.sequence,
                index,
            };
            let private = scope < ORGANIZATIONS;
            let object = private.then(|| rng.below(OBJECTS));
            let event_type = if private {
                EventType::ActionFailed
            } else {
                EventType::BatchAnchored
            };
            let first_batch = rng.below(self.head.batches.max(1));
            let anchored = json!({
                "first_batch": first_batch,
                "last_sequence": self.head.sequence,
            });
            let number = &mut self.numbers[scope as usize];
            let row = EventRow {
                id: event_id(&keccak(self.last.to_string().as_bytes()), 0),
                event_type,
                timestamp_ms: 1,
                organization_id: private.then(|| organization(scope)),
                object_id: object.map(|object| id(Prefix::Object, object)),
                template_id: None,
                data: anchored.to_string(),
            };
            group.put_event(self.last, *number, &row);
            *number += 1;
            self.all.push(Expected {
                position: self.last,
                event_type,
                object,
                seen_by: if private {
                    vec![scope]
                } else {
                    let sealed = self.all.iter();
                    let sealed = sealed.filter(|event| event.event_type == EventType::BatchSealed);
                    let anchored = sealed.skip(first_batch as usize);
                    anchored.flat_map(|event| event.seen_by.clone()).collect()
                },
            });
        }
        group.put_last_event(self.last);
        self.store.commit(group).unwrap();
    }

    fn batch(&mut self, rng: &mut Rng) {
        let mut group = WriteGroup::new();
        let first_sequence = self.head.sequence + 1;
        let mut sequence = self.head.sequence;
        let mut seen_by = Vec::new();
        for _ in 0..=rng.below(4) {
            seen_by.extend(self.request(rng, &mut group, &mut sequence));
        }
        let header = BatchHeader {
            number: self.head.batches,
            first_sequence,
            count: (sequence - self.head.sequence) as u32,
            previous_head: self.head.head,
            head: keccak(&sequence.to_be_bytes()),
            root: Hash::ZERO,
            history: Hash::ZERO,
            state: Hash::ZERO,
            sealed_at_ms: sequence,
        };
        let key = SigningKey::from_bytes(&[1; 32]).unwrap();
        let leaves = vec![Hash::ZERO; header.count as usize];
        group.put_batch(&header.sign(&Hash::ZERO, &key), &leaves);
        self.head = LogHead {
            batches: header.number + 1,
            sequence,
            head: header.head,
            last_sealed_at_ms: header.sealed_at_ms,
        };
        group.put_head(&self.head);
        self.store.commit(group).unwrap();
        self.all.push(Expected {
            position: EventPosition {
                sequence,
                index: EventPosition::BATCH,
            },
            event_type: EventType::BatchSealed,
            object: None,
            seen_by,
        });
    }

    /// Adds a request to a group after `sequence`. Returns the organizations that see its actions.
    fn request(&mut self, rng: &mut Rng, group: &mut WriteGroup, sequence: &mut u64) -> Vec<u64> {
        let asker = rng.below(ORGANIZATIONS);
        let actions: Vec<(Kind, u64, u64)> = (0..=rng.below(4))
            .map(|_| match rng.below(6) {
                0 => (Kind::TemplateVariations, 0, 1 + rng.below(3)),
                1 => (Kind::Emit, rng.below(OBJECTS), 1),
                _ => (Kind::Update, rng.below(OBJECTS), 1),
            })
            .collect();
        let record = self.record(asker, *sequence + 1, &actions);
        let contents: Vec<Hash> = record.actions.iter().map(|a| record.content(a)).collect();
        group.put_request(&record, &contents);
        let mut seen_by = Vec::new();
        for (kind, object, count) in &actions {
            *sequence += 1;
            let is_object = kind.is_bus();
            let mut sees = vec![asker];
            if is_object && issuer(*object) != asker {
                group.put_foreign_action(organization(issuer(*object)), *sequence);
                sees.push(issuer(*object));
            }
            for index in 0..*count {
                self.all.push(Expected {
                    position: EventPosition {
                        sequence: *sequence,
                        index: index as u32,
                    },
                    event_type: kind.spec().event,
                    object: is_object.then_some(*object),
                    seen_by: sees.clone(),
                });
            }
            seen_by.extend(sees);
        }
        seen_by
    }

    fn record(
        &self,
        asker: u64,
        first_sequence: u64,
        actions: &[(Kind, u64, u64)],
    ) -> RequestRecord<'static> {
        let action = |(index, (kind, object, count)): (usize, &(Kind, u64, u64))| {
            let resource = if kind.is_bus() {
                id(Prefix::Object, *object)
            } else {
                template(asker)
            };
            let names: Vec<String> = (0..*count)
                .map(|n| format!("{{\"name\":\"{n}\"}}"))
                .collect();
            ActionRecord {
                index: index as u16,
                kind: kind.clone(),
                target: resource.to_string().into(),
                payload: format!("{{\"variations\":[{}]}}", names.join(",")).into(),
                disclosed: None,
                resource,
                version: 1,
                previous_integrity: Hash::ZERO,
                previous_sequence: 0,
            }
        };
        RequestRecord {
            batch_number: self.head.batches,
            first_sequence,
            first_leaf_index: (first_sequence - self.head.sequence - 1) as u32,
            timestamp_ms: first_sequence,
            organization_id: organization(asker),
            wallet_id: id(Prefix::Wallet, asker),
            head: RequestHead {
                signer: Address::ZERO,
                nonce: first_sequence,
                deadline_s: 0,
                atomic: false,
            },
            signature: Signature([0; 65]),
            salt_seed: keccak(&first_sequence.to_be_bytes()),
            actions: actions.iter().enumerate().map(action).collect(),
            failed: Vec::new(),
        }
    }

    /// The events that an organization must see, in order.
    fn seen(&self, organization: u64) -> Vec<Expected> {
        let seen = |expected: &&Expected| expected.seen_by.contains(&organization);
        self.all.iter().filter(seen).cloned().collect()
    }
}

const ALL: EventSpan = EventSpan {
    after: None,
    until: None,
    descending: false,
    events_max: usize::MAX,
    bytes_max: usize::MAX,
    rows_max: usize::MAX,
};

fn positions(
    snapshot: &StoreSnapshot,
    viewer: u64,
    filter: &EventFilter,
    span: EventSpan,
) -> Vec<EventPosition> {
    let piece = read(snapshot, organization(viewer), filter, span).unwrap();
    assert!(piece.ended);
    piece.events.iter().map(|event| event.position).collect()
}

/// Reads in pieces, each continuing after the previous one.
fn in_pieces(
    snapshot: &StoreSnapshot,
    viewer: u64,
    span: EventSpan,
    rng: &mut Rng,
) -> Vec<EventPosition> {
    let mut found = Vec::new();
    let mut span = span;
    loop {
        span.events_max = 1 + rng.below(5) as usize;
        span.rows_max = 1 + rng.below(7) as usize;
        let piece = read(
            snapshot,
            organization(viewer),
            &EventFilter::default(),
            span,
        )
        .unwrap();
        found.extend(piece.events.iter().map(|event| event.position));
        if piece.ended {
            return found;
        }
        span.after = Some(piece.reached.expect("a piece that has not ended got on"));
    }
}

// Holds invariant 232.
#[test]
fn every_part_is_that_part_of_the_one_order() {
    for seed in 1..=3 {
        let log = Log::random(seed);
        let snapshot = log.store.snapshot();
        let mut rng = Rng(seed);
        assert!(
            log.all.is_sorted_by(|a, b| a.position < b.position),
            "the model is in order"
        );
        let last = log.all.last().unwrap().position;
        assert_eq!(snapshot.last_position().unwrap(), last);
        for viewer in 0..ORGANIZATIONS {
            let seen = log.seen(viewer);
            let piece = read(
                &snapshot,
                organization(viewer),
                &EventFilter::default(),
                ALL,
            )
            .unwrap();
            let found: Vec<(EventPosition, EventType)> = piece
                .events
                .iter()
                .map(|event| (event.position, event.event_type))
                .collect();
            let expected: Vec<(EventPosition, EventType)> = seen
                .iter()
                .map(|expected| (expected.position, expected.event_type))
                .collect();
            assert_eq!(found, expected, "seed {seed}, viewer {viewer}");
            let expected: Vec<EventPosition> = seen.iter().map(|event| event.position).collect();
            let mut backwards = expected.clone();
            backwards.reverse();
            let descending = EventSpan {
                descending: true,
                ..ALL
            };
            assert_eq!(in_pieces(&snapshot, viewer, ALL, &mut rng), expected);
            assert_eq!(
                in_pieces(&snapshot, viewer, descending, &mut rng),
                backwards
            );
            // From any position, seen or not, there are no gaps and no repetitions.
            for from in log.all.iter().map(|event| event.position) {
                let span = EventSpan {
                    after: Some(from),
                    ..ALL
                };
                let rest: Vec<EventPosition> =
                    expected.iter().copied().filter(|at| *at > from).collect();
                assert_eq!(
                    in_pieces(&snapshot, viewer, span, &mut rng),
                    rest,
                    "from {from}"
                );
                let span = EventSpan {
                    after: Some(from),
                    ..descending
                };
                let rest: Vec<EventPosition> =
                    backwards.iter().copied().filter(|at| *at < from).collect();
                assert_eq!(
                    in_pieces(&snapshot, viewer, span, &mut rng),
                    rest,
                    "back from {from}"
                );
            }
        }
    }
}

#[test]
fn filters_and_bounds_leave_out_the_rest() {
    let log = Log::random(9);
    let snapshot = log.store.snapshot();
    for viewer in 0..ORGANIZATIONS {
        let seen = log.seen(viewer);
        let kept = |keep: &dyn Fn(&Expected) -> bool| -> Vec<EventPosition> {
            let kept = seen.iter().filter(|expected| keep(expected));
            kept.map(|expected| expected.position).collect()
        };
        let types = vec![EventType::BatchSealed, EventType::VariationCreated];
        let filter = EventFilter {
            types: types.clone(),
            ..EventFilter::default()
        };
        let expected = kept(&|event| types.contains(&event.event_type));
        assert_eq!(positions(&snapshot, viewer, &filter, ALL), expected);
        for object in 0..OBJECTS {
            let filter = EventFilter {
                object_id: Some(id(Prefix::Object, object)),
                ..EventFilter::default()
            };
            let expected = kept(&|event| event.object == Some(object));
            assert_eq!(positions(&snapshot, viewer, &filter, ALL), expected);
        }
        let filter = EventFilter {
            template_id: Some(template(viewer)),
            ..EventFilter::default()
        };
        // A refusal names an object, but not whose it is.
        let expected = kept(&|event| {
            let of_object = event.object.is_some_and(|object| issuer(object) == viewer);
            let made_here = event.event_type == EventType::VariationCreated;
            (of_object && event.event_type != EventType::ActionFailed) || made_here
        });
        assert_eq!(positions(&snapshot, viewer, &filter, ALL), expected);
        let middle = log.head.sequence / 2;
        let (low, high) = (middle - 9, middle + 9);
        let expected =
            kept(&|event| event.position.sequence > low && event.position.sequence < high);
        let span = EventSpan {
            after: Some(EventPosition::end_of(low)),
            until: Some(EventPosition::start_of(high)),
            ..ALL
        };
        let filter = EventFilter::default();
        assert_eq!(positions(&snapshot, viewer, &filter, span), expected);
        let backwards = EventSpan {
            after: Some(EventPosition::start_of(high)),
            until: Some(EventPosition::end_of(low)),
            descending: true,
            ..ALL
        };
        let mut found = positions(&snapshot, viewer, &filter, backwards);
        found.reverse();
        assert_eq!(found, expected);
    }
}
