//! Leaders, their followers, and a fenced leader.

use std::sync::Arc;

use kedge_log::{AppendError, FrameHeader, Log as _, SyncError};

use super::nats::Servers;
use super::node::{Follower, Node, frames_of, options, runtime};

// Holds invariant 179.
#[test]
fn what_a_leader_writes_its_followers_hold_byte_for_byte() {
    let servers = Servers::start(3);
    let runtime = Arc::new(runtime());
    let mut leader = Node::open(&runtime, options(&servers, "one"));
    let follower = Node::open(&runtime, options(&servers, "two"));
    assert!(matches!(leader.append(1), Err(AppendError::Fenced(_))));
    leader.lead(1);
    let follower = Follower::start(follower);
    for number in 0..50 {
        let position = leader.write(number).unwrap();
        assert_eq!(position.frame, number as u64 + 2);
    }
    // Several in flight, and one sync.
    for number in 50..200 {
        leader.append(number).unwrap();
    }
    assert!(leader.leading.stalled().is_some());
    assert_eq!(leader.durability.sync().unwrap().frame, 201);
    assert_eq!(leader.leading.stalled(), None);
    let mut follower = follower.stop();
    follower.follow_to(201).unwrap();
    let written = frames_of(&leader.reader);
    assert_eq!(written.len(), 201);
    assert!(written == frames_of(&follower.reader));
    assert!(written == leader.stream());
    for bytes in &written {
        let header = FrameHeader::read(bytes).unwrap();
        assert_eq!((header.term, header.durable), (1, 0));
    }
}

// Holds invariants 178, 179.
#[test]
fn a_second_leader_fences_the_first() {
    let servers = Servers::start(3);
    let runtime = Arc::new(runtime());
    let mut first = Node::open(&runtime, options(&servers, "one"));
    let second = Node::open(&runtime, options(&servers, "two"));
    let second = Follower::start(second);
    first.lead(1);
    first.append(1).unwrap();
    first.append(2).unwrap();
    first.durability.sync().unwrap();
    let mut second = second.stop();
    second.follow_to(3).unwrap();
    second.lead(2);
    // The first leader's new frame gets no place, so its later frames follow nothing.
    first.append(3).unwrap();
    first.append(4).unwrap();
    let error = first.durability.sync().unwrap_err();
    assert!(
        matches!(&error, SyncError::Fenced(why) if why.contains("another node leads")),
        "{error}"
    );
    assert!(!first.leading.is_leading());
    let error = first.append(5).unwrap_err();
    assert!(matches!(error, AppendError::Fenced(_)), "{error}");
    assert_eq!(frames_of(&first.reader), second.stream()[..3]);
    assert_eq!(first.log.position().frame, 3);
    // It follows, and may lead again.
    first.follow_to(4).unwrap();
    first.lead(3);
    second.leading.end("the first leads again");
    let second = Follower::start(second);
    first.write(6).unwrap();
    let second = second.stop();
    assert!(frames_of(&first.reader) == second.stream());
    assert!(frames_of(&second.reader) == second.stream());
}

// Holds invariant 178.
/// Two nodes begin the same term at the same place: one wins, even at the first place of a stream.
#[test]
fn one_of_many_candidates_begins_a_term() {
    let servers = Servers::start(3);
    let runtime = Arc::new(runtime());
    let names = ["one", "two", "three", "four"];
    let mut nodes: Vec<Node> = names
        .iter()
        .map(|name| Node::open(&runtime, options(&servers, name)))
        .collect();
    for round in 0..8 {
        let after = nodes[0].log.position();
        let began: Vec<_> = nodes
            .iter()
            .map(|node| {
                let cluster = node.cluster.clone();
                runtime.spawn(async move { cluster.begin_term(&after, round + 1).await })
            })
            .collect();
        let results = began.into_iter().map(|one| runtime.block_on(one).unwrap());
        // All publish identical bytes.
        let won = results.flatten().count();
        assert_eq!(won, 1, "round {round}");
        for node in &mut nodes {
            node.follow_to(round + 1).unwrap();
        }
        assert_eq!(nodes[0].stream().len() as u64, round + 1);
    }
}
