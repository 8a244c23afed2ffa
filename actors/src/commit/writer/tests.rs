//! The steps from a formed group to its answer, on one thread and in chosen orders.

pub(crate) mod bench;
mod group_formation;
mod handover;
mod missing_keys;

use std::collections::VecDeque;
use std::io::ErrorKind;
use std::path::Path;
use std::sync::atomic::Ordering;
use std::time::Duration;

use kedge_runtime::env::simulated::{CrashLoss, DiskFault, SimulatedEnv};
use tokio::sync::oneshot;

use self::bench::{Bench, Reply, open};
use super::WriterStep;
use super::appender::WriterWait;
use super::publisher::PublishedGroup;
use crate::commit::committer::ClosedGroup;
use crate::commit::group::CommitGroup;
use crate::pipeline::sequenced_proposal::CommitterMessage;

const DONE: Option<WriterStep<(), WriterWait>> = Some(WriterStep::Done(()));

/// True once the caller has received the answer that its request is done.
fn is_answered(reply: &mut Reply) -> bool {
    match reply.try_recv() {
        Ok(answer) => answer.unwrap().placement.is_some(),
        Err(oneshot::error::TryRecvError::Empty) => false,
        Err(error) => panic!("{error}"),
    }
}

impl Bench {
    /// Takes a step of the writer, and gives the publisher the durable groups; also returns their number.
    fn write(&mut self) -> (Option<WriterStep<(), WriterWait>>, usize) {
        let step = self.writer.step().unwrap();
        let mut count = 0;
        for logged in self.writer.durable() {
            self.publisher.give(logged);
            count += 1;
        }
        (step, count)
    }

    /// Applies and publishes one group.
    fn release(&mut self) -> PublishedGroup {
        match self.publisher.step().unwrap() {
            Some(WriterStep::Done(released)) => released,
            Some(WriterStep::Blocked(_)) | None => panic!("there is a group to release"),
        }
    }
}

// Holds invariant 163.
#[test]
fn groups_are_appended_synced_applied_and_only_then_answered() {
    let place = tempfile::tempdir().unwrap();
    let mut bench = Bench::new(place.path(), &SimulatedEnv::new(), 0);
    // The second group is formed before anything of the first can be read.
    let (first, mut first_reply) = bench.group(1);
    let (second, mut second_reply) = bench.group(2);
    bench.writer.give(first);
    bench.writer.give(second);
    let syncs = bench.env.syncs();
    assert_eq!(bench.write(), (DONE, 0));
    assert_eq!(bench.write(), (DONE, 0));
    assert_eq!(bench.env.syncs(), syncs, "nothing is durable yet");
    assert!(bench.publisher.step().unwrap().is_none());
    assert_eq!(bench.write(), (DONE, 2), "one sync for both");
    assert_eq!(bench.env.syncs(), syncs + 1);
    assert_eq!(bench.write(), (None, 0));
    assert_eq!(bench.published_batches(), 0);
    assert!(!is_answered(&mut first_reply), "its rows are not written");

    let released = bench.release();
    assert_eq!(bench.published_batches(), 1);
    assert!(!is_answered(&mut first_reply));
    assert!(released.answer().is_some(), "the group's memory comes back");
    assert!(is_answered(&mut first_reply));
    assert!(!is_answered(&mut second_reply));
    bench.release().answer();
    assert!(is_answered(&mut second_reply));
    assert_eq!(bench.published_batches(), 2);
    assert!(bench.publisher.step().unwrap().is_none());
    bench.publisher.end().unwrap();
}

// Holds invariant 163.
#[test]
fn what_was_not_synced_is_lost_unanswered_and_what_was_is_applied_by_the_next_start() {
    let place = tempfile::tempdir().unwrap();
    let env = SimulatedEnv::new();
    let mut bench = Bench::new(place.path(), &env, 0);
    let (synced, mut synced_reply) = bench.group(1);
    bench.writer.give(synced);
    assert_eq!(bench.write(), (DONE, 0));
    assert_eq!(bench.write(), (DONE, 1));
    let (lost, mut lost_reply) = bench.group(2);
    bench.writer.give(lost);
    assert_eq!(bench.write(), (DONE, 0));
    env.crash(CrashLoss::All);
    assert!(bench.writer.step().is_err());
    assert!(!is_answered(&mut synced_reply) && !is_answered(&mut lost_reply));
    drop(bench);

    let mut bench = Bench::new(place.path(), &env, 0);
    assert_eq!(bench.published_batches(), 1);
    // The lost group leaves nothing that would stop its repetition.
    let (again, mut reply) = bench.group(2);
    bench.writer.give(again);
    assert_eq!((bench.write(), bench.write()), ((DONE, 0), (DONE, 1)));
    bench.release().answer();
    assert!(is_answered(&mut reply));
    assert_eq!(bench.published_batches(), 2);
}

// Holds invariant 163.
#[test]
fn a_step_that_found_no_room_is_taken_again_and_doubles_nothing() {
    let place = tempfile::tempdir().unwrap();
    let env = SimulatedEnv::new();
    let mut bench = Bench::new(place.path(), &env, 0);
    let (first, mut first_reply) = bench.group(1);
    let (second, mut second_reply) = bench.group(2);
    bench.writer.give(first);
    bench.writer.give(second);
    assert_eq!(bench.write(), (DONE, 0));
    let pause = Duration::from_millis(250);
    let blocked = || Some(WriterStep::Blocked(WriterWait::Passed(pause)));
    for fault in [
        DiskFault::Error(ErrorKind::StorageFull),
        DiskFault::Half(ErrorKind::QuotaExceeded),
    ] {
        assert!(!bench.is_disk_full());
        env.fail(1, fault);
        let (step, durable) = bench.write();
        assert_eq!(step, blocked());
        // Groups that were appended before do not wait with it.
        assert_eq!(
            durable,
            usize::from(fault == DiskFault::Error(ErrorKind::StorageFull))
        );
        assert!(bench.is_disk_full());
        bench.disk_full.store(false, Ordering::Relaxed);
        env.advance(pause);
    }
    bench.release().answer();
    assert!(is_answered(&mut first_reply));
    assert!(!is_answered(&mut second_reply));

    // A store that accepts no commits for a while also blocks.
    bench.store.set_read_only("the chain contradicts it");
    let suspended = Some(WriterStep::Blocked(WriterWait::Passed(
        Duration::from_secs(1),
    )));
    assert_eq!(bench.write(), (suspended, 0));
    bench.store.resume();
    assert_eq!((bench.write(), bench.write()), ((DONE, 0), (DONE, 1)));
    bench.release().answer();
    assert!(is_answered(&mut second_reply));
    assert_eq!(bench.published_batches(), 2);
    drop(bench);
    let snapshot = open(place.path(), &env).snapshot();
    assert_eq!(snapshot.head().unwrap().batches, 2);
    assert_eq!(snapshot.requests_from(1).count(), 2);
}

#[test]
fn what_the_chain_holds_up_is_given_up_once_the_server_ends() {
    let place = tempfile::tempdir().unwrap();
    let env = SimulatedEnv::new();
    let mut bench = Bench::new(place.path(), &env, 0);
    let (first, mut first_reply) = bench.group(1);
    let (second, mut second_reply) = bench.group(2);
    bench.writer.give(first);
    assert_eq!(bench.write(), (DONE, 0));
    bench.writer.give(second);
    bench.store.set_read_only("the chain contradicts it");
    let suspended = Some(WriterStep::Blocked(WriterWait::Passed(
        Duration::from_secs(1),
    )));
    assert_eq!(bench.write(), (suspended, 1));
    bench.ending.store(true, Ordering::Relaxed);
    let given_up = bench.writer.step().unwrap_err();
    assert!(given_up.to_string().contains("given up"), "{given_up}");
    // Durable groups are answered.
    bench.release().answer();
    assert!(is_answered(&mut first_reply) && !is_answered(&mut second_reply));
    drop(bench);
    let head = open(place.path(), &env).snapshot().head().unwrap();
    assert_eq!(head.batches, 1);
}

// Holds invariant 163.
#[test]
fn a_group_of_the_sample_is_compared_once_those_before_it_are_applied() {
    let place = tempfile::tempdir().unwrap();
    let mut bench = Bench::new(place.path(), &SimulatedEnv::new(), 1);
    let (first, _first_reply) = bench.group(1);
    let (second, mut second_reply) = bench.group(2);
    bench.writer.give(first);
    bench.writer.give(second);
    let settles = || Some(WriterStep::Blocked(WriterWait::Published));
    assert_eq!(bench.write(), (settles(), 0));
    assert_eq!(bench.write(), (DONE, 0));
    assert_eq!(bench.compared.load(Ordering::Relaxed), 1);
    assert_eq!(bench.write(), (settles(), 1), "the first is durable");
    bench.release().answer();
    assert_eq!(bench.write(), (DONE, 0));
    assert_eq!(bench.compared.load(Ordering::Relaxed), 2);
    assert_eq!(bench.write(), (DONE, 1));
    bench.release().answer();
    assert!(is_answered(&mut second_reply));
}

/// Number of files with rows below a folder.
fn tables(folder: &Path) -> usize {
    let entries = std::fs::read_dir(folder).unwrap().map(Result::unwrap);
    let counts = entries.map(|entry| match entry.path() {
        path if path.is_dir() => tables(&path),
        path => usize::from(path.extension().is_some_and(|end| end == "sst")),
    });
    counts.sum()
}

#[test]
fn at_the_end_the_rows_are_brought_to_the_disk() {
    let place = tempfile::tempdir().unwrap();
    let mut bench = Bench::new(place.path(), &SimulatedEnv::new(), 0);
    let (formed, _reply) = bench.group(1);
    bench.writer.give(formed);
    while bench.write().0.is_some() {}
    bench.release().answer();
    let before = tables(place.path());
    bench.publisher.end().unwrap();
    assert!(tables(place.path()) > before);
}

#[test]
fn a_look_at_the_keys_alone_makes_no_group() {
    let place = tempfile::tempdir().unwrap();
    let mut bench = Bench::new(place.path(), &SimulatedEnv::new(), 0);
    let (done, mut looked) = oneshot::channel();
    let closed = bench.form([CommitterMessage::Keys { done }]);
    assert!(matches!(closed, ClosedGroup::Nothing));
    assert!(looked.try_recv().is_ok());
}

/// Steps in an order that a seed chooses, on a disk that fills up now and then and loses unsynced data at the end.
struct Run {
    bench: Bench,
    random: u64,
    /// Formed groups that the writer does not have yet.
    formed: VecDeque<CommitGroup>,
    released: VecDeque<PublishedGroup>,
    replies: Vec<Reply>,
    durable: u64,
    published: u64,
    answered: usize,
    /// Steps that found no room.
    blocked: usize,
}

impl Run {
    /// A number below `bound` (Knuth's MMIX generator).
    fn below(&mut self, bound: u64) -> u64 {
        self.random = self
            .random
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.random >> 33) % bound
    }

    /// Takes a step; false once one has failed, which ends the process.
    fn step(&mut self) -> bool {
        match self.below(8) {
            0 | 1 => {
                let (formed, reply) = self.bench.group(self.replies.len() as u16 + 1);
                self.formed.push_back(formed);
                self.replies.push(reply);
            }
            2 | 3 => {
                if let Some(formed) = self.formed.pop_front() {
                    self.bench.writer.give(formed);
                }
            }
            4 | 5 => {
                // It hits an append, which then waits, or a sync, or the mark of released headers.
                if self.below(12) == 0 {
                    self.bench
                        .env
                        .fail(1, DiskFault::Half(ErrorKind::StorageFull));
                }
                let step = self.bench.writer.step();
                for logged in self.bench.writer.durable() {
                    self.durable += 1;
                    self.bench.publisher.give(logged);
                }
                match step {
                    Ok(step) => {
                        self.blocked += usize::from(matches!(step, Some(WriterStep::Blocked(_))));
                    }
                    Err(_) => return false,
                }
            }
            6 => match self.bench.publisher.step() {
                Ok(Some(WriterStep::Done(released))) => {
                    self.published += 1;
                    self.released.push_back(released);
                }
                Ok(_) => {}
                Err(_) => return false,
            },
            _ => {
                if let Some(released) = self.released.pop_front() {
                    released.answer();
                }
            }
        }
        while self.replies.get_mut(self.answered).is_some_and(is_answered) {
            self.answered += 1;
        }
        assert!(self.answered as u64 <= self.published && self.published <= self.durable);
        true
    }
}

// Holds invariant 163.
#[test]
fn whatever_the_order_of_steps_what_was_answered_is_there_after_a_crash() {
    let (mut answered, mut blocked) = (0, 0);
    for seed in 0..12 {
        let place = tempfile::tempdir().unwrap();
        let env = SimulatedEnv::new();
        let mut run = Run {
            bench: Bench::new(place.path(), &env, 0),
            random: seed,
            formed: VecDeque::new(),
            released: VecDeque::new(),
            replies: Vec::new(),
            durable: 0,
            published: 0,
            answered: 0,
            blocked: 0,
        };
        for _ in 0..20 + seed * 20 {
            if !run.step() {
                break;
            }
        }
        let durable = run.durable;
        answered += run.answered;
        blocked += run.blocked;
        drop(run);
        env.crash(CrashLoss::Some(seed));
        let snapshot = open(place.path(), &env).snapshot();
        let batches = snapshot.head().unwrap().batches;
        assert!(batches >= durable, "seed {seed}: {batches} of {durable}");
        assert_eq!(snapshot.requests_from(1).count() as u64, batches);
    }
    assert!(
        answered > 40 && blocked > 4,
        "{answered} answered, {blocked} blocked"
    );
}
