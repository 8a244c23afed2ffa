//! Hand-over of groups: how many may be ahead, and the threads that take them.

use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use kedge_runtime::env::simulated::SimulatedEnv;
use kedge_runtime::executor::EngineRuntime;

use super::bench::{Bench, writing};
use super::is_answered;
use crate::commit::agreement::AgreementSampler;
use crate::commit::error::CommitterError;
use crate::commit::writer::start;

fn poll<F: Future>(future: F) -> Poll<F::Output> {
    pin!(future).poll(&mut Context::from_waker(Waker::noop()))
}

#[test]
fn two_groups_may_be_ahead_of_what_is_published() {
    let place = tempfile::tempdir().unwrap();
    let mut bench = Bench::new(place.path(), &SimulatedEnv::new(), 0);
    let (mut writing, _groups, published) = writing();
    for number in 1..=2 {
        assert!(writing.is_ready());
        writing.hand_over(bench.group(number).0).unwrap();
    }
    assert!(!writing.is_ready());
    assert!(poll(writing.ready()).is_pending());
    published.send_replace(1);
    assert!(writing.is_ready());
    assert!(matches!(poll(writing.ready()), Poll::Ready(Ok(()))));
    assert!(poll(writing.settled()).is_pending());
    published.send_replace(2);
    assert!(writing.is_ready());
    assert!(matches!(poll(writing.settled()), Poll::Ready(Ok(()))));
}

#[test]
fn who_waits_for_a_writer_that_has_ended_learns_that() {
    let place = tempfile::tempdir().unwrap();
    let mut bench = Bench::new(place.path(), &SimulatedEnv::new(), 0);
    let (mut writing, groups, published) = writing();
    writing.hand_over(bench.group(1).0).unwrap();
    drop((groups, published));
    let settled = poll(writing.settled());
    assert!(matches!(settled, Poll::Ready(Err(CommitterError::Writer))));
    let given = writing.hand_over(bench.group(2).0);
    assert!(matches!(given, Err(CommitterError::Writer)));
}

#[tokio::test]
async fn the_threads_end_once_all_that_they_were_given_is_answered() {
    let place = tempfile::tempdir().unwrap();
    let mut bench = Bench::new(place.path(), &SimulatedEnv::new(), 0);
    let running = EngineRuntime::Threads { actors: 1 };
    let sampler = AgreementSampler::new(0, Arc::default());
    let (mut writing, threads) = start(bench.outlet(), sampler, &running).unwrap();
    let (formed, mut reply) = bench.group(1);
    writing.hand_over(formed).unwrap();
    drop(writing);
    threads.ended().await;
    assert!(is_answered(&mut reply));
}
