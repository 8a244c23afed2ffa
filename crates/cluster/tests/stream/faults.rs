//! Servers that are killed, paused and restarted while a leader writes.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use kedge_cluster::ClusterOptions;
use kedge_log::{Log as _, LogPosition, SyncError};
use kedge_protocol::Hash;

use super::nats::{Servers, Settings, wait_for};
use super::node::{Follower, Node, frames_of, options, runtime};

/// Number of kills.
const KILLS: usize = 4;

/// A node connected to one server, which finds the others after its loss.
fn node_at(
    runtime: &Arc<tokio::runtime::Runtime>,
    servers: &Servers,
    name: &str,
    at: usize,
) -> Node {
    let mut options = options(servers, name);
    options.servers = vec![servers.urls()[at].clone()];
    Node::open(runtime, options)
}

/// A leader at the first server, a follower at another one, and two frames: the term's opening frame, and one more.
fn leader_and_follower(servers: &Servers, follows_at: usize) -> (Node, Follower) {
    let runtime = Arc::new(runtime());
    let mut leader = node_at(&runtime, servers, "one", 0);
    let follower = Follower::start(node_at(&runtime, servers, "two", follows_at));
    leader.lead(1);
    leader.write(1).unwrap();
    (leader, follower)
}

// Holds invariants 179, 180.
#[test]
fn killed_servers_lose_and_double_nothing() {
    let mut servers = Servers::start(3);
    let runtime = Arc::new(runtime());
    let mut leader = node_at(&runtime, &servers, "one", 0);
    let follower = Follower::start(node_at(&runtime, &servers, "two", 1));
    leader.lead(1);
    let enough = Arc::new(AtomicBool::new(false));
    let is_enough = Arc::clone(&enough);
    let written = std::thread::spawn(move || {
        let mut round = 0;
        while !is_enough.load(Ordering::Relaxed) {
            // Some alone, some in groups.
            for number in 0..=round % 4 {
                leader.append(round * 4 + number).unwrap();
            }
            leader.durability.sync().unwrap();
            std::thread::sleep(Duration::from_millis(20));
            round += 1;
        }
        leader
    });
    // First the leader's server, then the stream's leader.
    let mut killed = 0;
    while killed < KILLS && !written.is_finished() {
        std::thread::sleep(Duration::from_millis(300));
        let index = match killed {
            0 => 0,
            _ => servers.leader_of("KEDGE_test").unwrap_or(killed % 3),
        };
        servers.server(index).kill();
        std::thread::sleep(Duration::from_millis(700));
        servers.server(index).start();
        servers.wait_until_ready();
        killed += 1;
    }
    enough.store(true, Ordering::Relaxed);
    let leader = written.join().unwrap();
    assert_eq!(killed, KILLS, "while the leader wrote");
    let last = leader.log.position().frame;
    let mut follower = follower.stop();
    follower.follow_to(last).unwrap();
    let frames = frames_of(&leader.reader);
    assert_eq!(frames.len() as u64, last);
    assert!(frames == leader.stream());
    assert!(frames == frames_of(&follower.reader));
}

// Holds invariant 206.
#[test]
fn questions_that_servers_drop_while_they_elect_a_leader_hold_no_frame_up() {
    let mut servers = Servers::start(3);
    let runtime = Arc::new(runtime());
    // It creates the stream.
    drop(node_at(&runtime, &servers, "two", 0));
    let mut leads = None;
    wait_for("the stream is led", || {
        leads = servers.leader_of("KEDGE_test");
        leads.is_some()
    });
    let leads = leads.unwrap();
    let mut leader = Node::open(
        &runtime,
        ClusterOptions {
            servers: vec![servers.urls()[(leads + 1) % 3].clone()],
            // An unanswered read would take that long.
            publish_timeout: Duration::from_mins(10),
            replicas_synced: 0,
            ..options(&servers, "one")
        },
    );
    leader.lead(1);
    leader.write(1).unwrap();
    servers.server(leads).kill();
    // Messages sent before the others notice are lost with it.
    std::thread::sleep(Duration::from_secs(1));
    let (done, written) = std::sync::mpsc::channel();
    std::thread::spawn(move || done.send(leader.write(2).is_ok()));
    let written = written.recv_timeout(Duration::from_mins(2));
    assert_eq!(written, Ok(true));
}

// Holds invariant 179.
#[test]
fn without_a_quorum_a_sync_waits_until_one_is_back() {
    let mut servers = Servers::start(3);
    let (mut leader, follower) = leader_and_follower(&servers, 0);
    servers.server(1).pause();
    servers.server(2).pause();
    let before = Instant::now();
    leader.append(2).unwrap();
    let durability = Arc::clone(&leader.durability);
    let waiting = std::thread::spawn(move || durability.sync());
    std::thread::sleep(Duration::from_secs(2));
    assert!(!waiting.is_finished());
    let since = leader.leading.stalled().unwrap();
    assert!(since.into_std() >= before && since.elapsed() >= Duration::from_secs(2));
    servers.server(1).resume();
    assert_eq!(waiting.join().unwrap().unwrap().frame, 3);
    assert_eq!(leader.leading.stalled(), None);
    leader.write(3).unwrap();

    // A deposed leader does not wait forever, and its log holds no frame that the stream lacks.
    servers.server(1).pause();
    leader.append(4).unwrap();
    let durability = Arc::clone(&leader.durability);
    let waiting = std::thread::spawn(move || durability.sync());
    std::thread::sleep(Duration::from_millis(500));
    leader.leading.end("it was asked to");
    let ended = Instant::now();
    let error = waiting.join().unwrap().unwrap_err();
    assert!(
        matches!(&error, SyncError::Fenced(why) if why.contains("asked to")),
        "{error}"
    );
    assert!(ended.elapsed() < Duration::from_millis(500));
    assert_eq!(leader.log.position().frame, 4);
    servers.server(1).resume();
    servers.server(2).resume();
    servers.wait_until_ready();
    // The published frame may or may not be there; both nodes agree with the stream.
    let last = leader.stream().len() as u64;
    assert!((4..=5).contains(&last), "{last}");
    leader.follow_to(last).unwrap();
    let mut follower = follower.stop();
    follower.follow_to(last).unwrap();
    assert!(frames_of(&leader.reader) == leader.stream());
    assert!(frames_of(&follower.reader) == leader.stream());
}

// Holds invariant 187.
#[test]
fn a_sync_after_the_term_shows_that_its_frames_were_given_up() {
    let servers = Servers::start(1);
    let runtime = Arc::new(runtime());
    let mut leader = node_at(&runtime, &servers, "one", 0);
    let follower = Follower::start(node_at(&runtime, &servers, "two", 0));
    leader.lead(1);
    let held = leader.write(1).unwrap();
    let appended = leader.append(2).unwrap();
    leader.leading.end("it was asked to");
    let durable = leader.durability.sync().unwrap();
    assert_eq!((durable.frame, durable.hash), (held.frame, held.hash));
    assert!(durable.frame < appended.frame);
    drop(follower.stop());
}

// Holds invariants 180, 251.
#[test]
fn a_frame_is_durable_once_another_node_has_synced_it() {
    let servers = Servers::start(1);
    let runtime = Arc::new(runtime());
    let mut leader = Node::open(&runtime, options(&servers, "one"));
    let follower = Node::open(&runtime, options(&servers, "two"));
    leader.lead(1);
    leader.append(1).unwrap();
    let durability = Arc::clone(&leader.durability);
    let waiting = std::thread::spawn(move || durability.sync());
    wait_for("the frame is in the leader's files", || {
        leader.durability.durable().frame == 2
    });
    std::thread::sleep(Duration::from_millis(300));
    assert!(!waiting.is_finished() && leader.leading.stalled().is_some());
    // The leader's own report does not count.
    let held = leader.durability.durable();
    leader.cluster.report_synced(&held);
    std::thread::sleep(Duration::from_millis(300));
    assert!(!waiting.is_finished());
    // Nor does a frame of another history, whatever its number, or an earlier frame of this one.
    let hash = Hash([7; 32]);
    for (frame, hash) in [(2, hash), (3, hash), (900, hash), (1, held.hash)] {
        let end = LogPosition {
            frame,
            hash,
            ..held
        };
        follower.cluster.report_synced(&end);
        std::thread::sleep(Duration::from_millis(300));
        assert!(!waiting.is_finished(), "{end:?}");
    }
    let _follower = Follower::start(follower);
    assert_eq!(waiting.join().unwrap().unwrap().frame, 2);
}

// Holds invariant 251.
/// A node may read two frames in one go, and then reports only the second. The leader publishes it while still waiting
/// for the first.
#[test]
fn a_node_that_holds_the_next_frame_holds_this_one() {
    let servers = Servers::start(1);
    let runtime = Arc::new(runtime());
    let mut leader = Node::open(&runtime, options(&servers, "one"));
    let follower = Node::open(&runtime, options(&servers, "two"));
    leader.lead(1);
    leader.append(1).unwrap();
    let durability = Arc::clone(&leader.durability);
    let waiting = std::thread::spawn(move || durability.sync());
    wait_for("the frame is in the leader's files", || {
        leader.durability.durable().frame == 2
    });
    let next = leader.append(2).unwrap();
    assert_eq!(next.frame, 3);
    std::thread::sleep(Duration::from_millis(300));
    assert!(!waiting.is_finished());
    follower.cluster.report_synced(&next);
    assert_eq!(waiting.join().unwrap().unwrap().frame, 2);
    // A node that reports nothing keeps its earlier report.
    follower.cluster.report_nothing();
    let durability = Arc::clone(&leader.durability);
    assert_eq!(durability.sync().unwrap().frame, 3);
}

// Holds invariant 208.
/// Uses new servers for each round: if one is paused just after another one has resumed, NATS 2.9 may elect no leader,
/// or one that lacks a frame.
#[test]
fn a_follower_reads_on_when_its_server_is_gone() {
    for index in [1, 2, 0] {
        let mut servers = Servers::start(3);
        let (mut leader, follower) = leader_and_follower(&servers, 1);
        servers.server(index).pause();
        leader.write(2).unwrap();
        let follower = follower.stop();
        assert!(frames_of(&follower.reader) == frames_of(&leader.reader));
    }
}

// Holds invariant 206.
#[test]
fn a_frame_is_published_again_while_nobody_answers_what_became_of_it() {
    let lines = "authorization { users: [ { user: node, password: secret, \
                 permissions: { publish: { deny: \"$JS.API.STREAM.MSG.GET.>\" } } } ] }\nno_auth_user: node";
    let mut servers = Servers::start_with_lines(1, Settings::default(), lines);
    let runtime = Arc::new(runtime());
    let mut leader = Node::open(
        &runtime,
        ClusterOptions {
            replicas_synced: 0,
            ..options(&servers, "one")
        },
    );
    leader.lead(1);
    leader.write(1).unwrap();
    servers.server(0).pause();
    leader.append(2).unwrap();
    let durability = Arc::clone(&leader.durability);
    let (done, synced) = std::sync::mpsc::channel();
    std::thread::spawn(move || done.send(durability.sync().map(|position| position.frame).ok()));
    // In flight, and lost with the server.
    std::thread::sleep(Duration::from_millis(300));
    servers.server(0).kill();
    servers.server(0).start();
    let synced = synced.recv_timeout(Duration::from_mins(1));
    assert_eq!(synced, Ok(Some(3)));
}

// Holds invariant 208.
#[test]
fn a_server_without_the_others_does_not_state_where_the_stream_ends() {
    let mut servers = Servers::start(3);
    let (leader, follower) = leader_and_follower(&servers, 0);
    drop(follower.stop());
    servers.server(1).kill();
    servers.server(2).kill();
    // The server answers once it has noticed.
    wait_for("the stream is known to have no leader", || {
        let tail = leader.runtime.block_on(leader.cluster.tail());
        let error = tail.err().map(|error| error.to_string());
        error.is_some_and(|error| error.contains("the stream has no leader"))
    });
}
