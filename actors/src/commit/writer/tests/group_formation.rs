//! Formation of groups: what a group accepts and how long it stays open.

use std::sync::OnceLock;
use std::sync::atomic::Ordering;
use std::time::Duration;

use kedge_protocol::event::{EventType, event_id};
use kedge_protocol::{Hash, Id, Prefix};
use kedge_runtime::env::Env;
use kedge_runtime::env::simulated::SimulatedEnv;
use kedge_storage::{EventRow, WriteGroup};
use parking_lot::Mutex;
use tokio::sync::oneshot;

use super::bench::Bench;
use crate::api::IdempotencyClaim;
use crate::commit::committer::ClosedGroup;
use crate::commit::record::residue;
use crate::pipeline::sequenced_proposal::CommitterMessage;

/// A side write without a caller.
fn side() -> CommitterMessage {
    CommitterMessage::Side {
        writes: Vec::new(),
        events: Vec::new(),
        done: oneshot::channel().0,
    }
}

#[test]
fn a_group_is_full_with_its_last_action() {
    let place = tempfile::tempdir().unwrap();
    let mut bench = Bench::new(place.path(), &SimulatedEnv::new(), 0);
    let mut forming = bench.committer.begin(WriteGroup::new());
    for _ in 1..4_000 {
        bench.committer.add(&mut forming, side()).unwrap();
    }
    assert!(!forming.is_full());
    bench.committer.add(&mut forming, side()).unwrap();
    assert!(forming.is_full());
}

#[test]
fn a_group_is_full_with_the_last_byte_of_its_texts() {
    let place = tempfile::tempdir().unwrap();
    let mut bench = Bench::new(place.path(), &SimulatedEnv::new(), 0);
    let (first, _first_reply) = bench.registration(1);
    let (second, _second_reply) = bench.registration(2);
    bench.committer.group_bytes_max = first.bytes() + second.bytes();
    let mut forming = bench.committer.begin(WriteGroup::new());
    assert!(!forming.is_full());
    bench.committer.add(&mut forming, first).unwrap();
    assert!(!forming.is_full());
    bench.committer.add(&mut forming, second).unwrap();
    assert!(forming.is_full());
}

#[test]
fn a_group_stays_open_while_several_requests_are_missing_in_it() {
    let place = tempfile::tempdir().unwrap();
    let mut bench = Bench::new(place.path(), &SimulatedEnv::new(), 0);
    let until = bench.env.now() + Duration::from_millis(1);
    let (work, _replies): (Vec<_>, Vec<_>) =
        (1..=5).map(|number| bench.registration(number)).unzip();
    let mut forming = bench.committer.begin(WriteGroup::new());
    // A side write is no request.
    bench.committer.add(&mut forming, side()).unwrap();
    let held = work.into_iter().take(3).map(|work| {
        bench.committer.add(&mut forming, work).unwrap();
        bench.committer.held_until(&forming)
    });
    assert_eq!(held.collect::<Vec<_>>(), [Some(until), Some(until), None]);
}

#[test]
fn a_full_group_waits_for_nobody() {
    let place = tempfile::tempdir().unwrap();
    let mut bench = Bench::new(place.path(), &SimulatedEnv::new(), 0);
    let (work, _replies): (Vec<_>, Vec<_>) =
        (1..=5).map(|number| bench.registration(number)).unzip();
    let mut work = work.into_iter();
    bench.committer.group_bytes_max = 1;
    let mut forming = bench.committer.begin(WriteGroup::new());
    let first = work.next().unwrap();
    bench.committer.add(&mut forming, first).unwrap();
    assert_eq!(bench.committer.held_until(&forming), None);
}

/// Number and action count of each batch of the group.
fn batches(closed: ClosedGroup) -> Vec<(u64, u32)> {
    let ClosedGroup::Whole(formed) = closed else {
        panic!("requests make a group")
    };
    let placed = formed.afterwards.placed.iter();
    let headers = placed.map(|(_, placement)| placement.batch.signed.header);
    let mut batches: Vec<_> = headers
        .map(|header| (header.number, header.count))
        .collect();
    batches.dedup();
    batches
}

#[test]
fn a_batch_closes_with_its_last_action_and_the_next_one_follows_in_the_same_group() {
    let place = tempfile::tempdir().unwrap();
    let mut bench = Bench::new(place.path(), &SimulatedEnv::new(), 0);
    let (work, _replies): (Vec<_>, Vec<_>) =
        (1..=501).map(|number| bench.registration(number)).unzip();
    assert_eq!(batches(bench.form(work)), [(0, 500), (1, 1)]);
}

#[test]
fn a_request_that_has_no_room_in_the_open_batch_is_in_the_next_one() {
    let place = tempfile::tempdir().unwrap();
    let mut bench = Bench::new(place.path(), &SimulatedEnv::new(), 0);
    let (first, _first_reply) = bench.registration(1);
    let (mut second, _second_reply) = bench.registration(2);
    let CommitterMessage::Placed(unit) = &mut second else {
        panic!("a registration is placed")
    };
    // The most actions that a request can have.
    unit.placed = vec![unit.placed[0]; 500];
    assert_eq!(batches(bench.form([first, second])), [(0, 1), (1, 500)]);
}

/// The check of the store's health uses such a group.
#[test]
fn what_somebody_waits_for_makes_a_group_although_it_writes_nothing() {
    let place = tempfile::tempdir().unwrap();
    let mut bench = Bench::new(place.path(), &SimulatedEnv::new(), 0);
    let (done, mut acknowledged) = oneshot::channel();
    let attempt = CommitterMessage::Side {
        writes: Vec::new(),
        events: Vec::new(),
        done,
    };
    let ClosedGroup::Whole(formed) = bench.form([attempt]) else {
        panic!("somebody waits for it")
    };
    bench.writer.give(formed);
    while bench.write().0.is_some() {}
    assert!(acknowledged.try_recv().is_err());
    bench.release().answer();
    assert_eq!(acknowledged.try_recv(), Ok(()));
}

#[test]
fn of_large_groups_every_so_many_is_in_the_sample() {
    let place = tempfile::tempdir().unwrap();
    let mut bench = Bench::new(place.path(), &SimulatedEnv::new(), 2);
    let mut compared = Vec::new();
    for round in 0..4 {
        let numbers = round * 9 + 1..=round * 9 + 9;
        let (work, replies): (Vec<_>, Vec<_>) =
            numbers.map(|number| bench.registration(number)).unzip();
        let ClosedGroup::Whole(formed) = bench.form(work) else {
            panic!("registrations make a group")
        };
        bench.writer.give(formed);
        while bench.write().0.is_some() {}
        bench.release().answer();
        compared.push(bench.compared.load(Ordering::Relaxed));
        drop(replies);
    }
    assert_eq!(compared, [0, 1, 1, 2]);
}

/// The committer's caches of unpublished rows are emptied once they are large.
#[test]
fn more_than_a_hundred_thousand_entries_are_much() {
    let place = tempfile::tempdir().unwrap();
    let mut bench = Bench::new(place.path(), &SimulatedEnv::new(), 0);
    let event = |number: u128| EventRow {
        id: event_id(&Hash::ZERO, 0),
        event_type: EventType::ActionFailed,
        timestamp_ms: 1,
        organization_id: Some(Id {
            prefix: Prefix::Organization,
            bytes: number.to_be_bytes(),
        }),
        object_id: None,
        template_id: None,
        data: String::new(),
    };
    let events = |events: Vec<EventRow>| CommitterMessage::Side {
        writes: Vec::new(),
        events,
        done: oneshot::channel().0,
    };
    assert!(!bench.committer.remembers_much());
    bench.form([events((0..100_000).map(event).collect())]);
    assert!(!bench.committer.remembers_much());
    bench.form([events(vec![event(100_000)])]);
    assert!(bench.committer.remembers_much());
    bench.committer.forget();
    assert!(!bench.committer.remembers_much());
}

#[test]
fn what_a_repeated_answer_does_not_show_is_not_kept_for_it() {
    let place = tempfile::tempdir().unwrap();
    let mut bench = Bench::new(place.path(), &SimulatedEnv::new(), 0);
    let (work, _reply) = bench.registration(1);
    let CommitterMessage::Placed(unit) = work else {
        panic!("a registration is placed")
    };
    let kept = |shows_resources| {
        let keep = IdempotencyClaim {
            key: [0; 32],
            request: [0; 32],
            until_s: 0,
            request_id: "request".into(),
            minted: 0,
            shows_resources,
            sealed_secret: OnceLock::new(),
            in_progress: Mutex::default(),
        };
        residue(&keep, &unit.decisions).resources.len()
    };
    assert!(kept(true) > 0);
    assert_eq!(kept(false), 0);
}
