//! A tampered stream: a follower stops at the first invalid frame.

use std::sync::Arc;

use async_nats::jetstream;
use kedge_cluster::StreamError;
use kedge_log::{FrameHeader, Log as _, LogFloor, LogPosition, encode_empty};
use kedge_protocol::Hash;
use tokio::runtime::Runtime;

use super::nats::Servers;
use super::node::{IDENTITY, Node, frames_of, next_of, open_log, options, runtime};

/// Reached position of a frame of this term.
fn of(term: u64) -> LogFloor {
    LogFloor {
        term,
        ..LogFloor::START
    }
}

/// A leader's stream from which messages can be deleted.
struct Changed {
    servers: Servers,
    runtime: Arc<Runtime>,
    leader: Node,
    context: jetstream::Context,
}

impl Changed {
    fn new(frames: usize) -> Self {
        let servers = Servers::start(1);
        let runtime = Arc::new(runtime());
        let context = runtime.block_on(async {
            let client = async_nats::connect(servers.urls()).await.unwrap();
            let context = jetstream::new(client);
            let config = jetstream::stream::Config {
                name: "KEDGE_test".to_owned(),
                description: Some(format!("Kedge log {IDENTITY}")),
                subjects: vec!["kedge.test.frames".to_owned()],
                ..Default::default()
            };
            context.create_stream(config).await.unwrap();
            context
        });
        let mut alone = options(&servers, "one");
        alone.replicas_synced = 0;
        let mut leader = Node::open(&runtime, alone);
        leader.lead(1);
        for number in 1..frames {
            leader.write(number).unwrap();
        }
        Self {
            servers,
            runtime,
            leader,
            context,
        }
    }

    fn delete(&self, place: u64) {
        self.runtime.block_on(async {
            let stream = self.context.get_stream("KEDGE_test").await.unwrap();
            assert!(stream.delete_message(place).await.unwrap());
        });
    }

    fn publish(&self, bytes: Vec<u8>) {
        self.runtime.block_on(async {
            let published = self
                .context
                .publish("kedge.test.frames", bytes.into())
                .await;
            published.unwrap().await.unwrap();
        });
    }

    /// The error of a new node after `good` valid frames.
    fn found(&self, good: u64, last: u64) -> String {
        let mut node = Node::open(&self.runtime, options(&self.servers, "new"));
        let error = node.follow_to(last).unwrap_err();
        assert_eq!(node.log.position().frame, good);
        assert!(frames_of(&node.reader) == frames_of(&self.leader.reader)[..good as usize]);
        // It stays stopped there.
        let again = node.follow_to(last).unwrap_err();
        assert_eq!(error, again);
        error.to_string()
    }
}

// Holds invariant 181.
#[test]
fn a_deleted_message_is_named_and_never_skipped() {
    let changed = Changed::new(12);
    changed.delete(7);
    changed.delete(8);
    let text = changed.found(6, 12);
    assert!(text.contains("frame 7 of the stream is broken"), "{text}");
    assert!(text.contains("no message at places 7 to 8"), "{text}");
    assert!(text.contains("frame 6 with hash"), "{text}");
}

// Holds invariant 181.
/// Servers may lose a message that they are about to acknowledge: its place is used, but empty.
#[test]
fn a_leader_whose_frames_place_is_taken_by_nothing_names_it() {
    let mut changed = Changed::new(5);
    changed.publish(b"lost".to_vec());
    changed.delete(6);
    let error = changed.leader.write(5).unwrap_err().to_string();
    assert!(error.contains("frame 6 of the stream is broken"), "{error}");
    assert!(
        error.contains("no message at place 6, although 6 were published"),
        "{error}"
    );
    assert!(!changed.leader.leading.is_leading());
    assert_eq!(changed.leader.log.position().frame, 5);
}

// Holds invariant 181.
#[test]
fn a_stream_that_begins_later_is_named() {
    let changed = Changed::new(12);
    changed.runtime.block_on(async {
        let stream = changed.context.get_stream("KEDGE_test").await.unwrap();
        stream.purge().sequence(5).await.unwrap();
    });
    let mut node = Node::open(&changed.runtime, options(&changed.servers, "new"));
    let error = node.follow_to(12).unwrap_err();
    assert_eq!(error, StreamError::Missing { frame: 1, first: 5 });
    let first = changed
        .runtime
        .block_on(node.cluster.first())
        .unwrap()
        .unwrap();
    assert_eq!((first.number, first.place), (5, 5));
    // A node that has the older ones follows.
    for bytes in &frames_of(&changed.leader.reader)[..4] {
        node.log.append_stored(bytes).unwrap();
    }
    node.follow_to(12).unwrap();
    assert!(frames_of(&node.reader) == frames_of(&changed.leader.reader));
}

// Holds invariant 181.
#[test]
fn what_does_not_continue_the_log_is_named() {
    let changed = Changed::new(5);
    let frames = frames_of(&changed.leader.reader);
    // Published twice.
    changed.publish(frames[4].clone());
    let text = changed.found(5, 6);
    assert!(
        text.contains("frame 6 of the stream") && text.contains("frame 5 after"),
        "{text}"
    );

    let changed = Changed::new(5);
    changed.publish(b"no frame".to_vec());
    let text = changed.found(5, 6);
    assert!(
        text.contains("frame 6") && text.contains("not a whole frame"),
        "{text}"
    );

    // Another history, consistent in itself.
    let changed = Changed::new(5);
    let after = LogPosition::after(&FrameHeader::read(&frames[4]).unwrap());
    let elsewhere = LogPosition {
        hash: Hash([1; 32]),
        ..after
    };
    changed.publish(encode_empty(&elsewhere, of(9)).1);
    let text = changed.found(5, 6);
    let named = Hash([1; 32]).to_string();
    assert!(text.contains("frame 6") && text.contains(&named), "{text}");
}

// Holds invariant 181.
#[test]
fn a_log_of_another_history_is_named_at_once() {
    let changed = Changed::new(5);
    let mut node = Node::open(&changed.runtime, options(&changed.servers, "other"));
    let mut after = node.log.position();
    for term in 1..4 {
        let (position, bytes) = encode_empty(&after, of(term + 10));
        node.log.append_stored(&bytes).unwrap();
        after = position;
    }
    node.durability.sync().unwrap();
    let text = node.follow_to(5).unwrap_err().to_string();
    assert!(text.contains("frame 3 of the stream is broken"), "{text}");
    assert!(text.contains(&after.hash.to_string()), "{text}");
    let began = changed
        .runtime
        .block_on(node.cluster.begin_term(&after, 99));
    assert!(
        began
            .unwrap_err()
            .to_string()
            .contains("the stream ends at frame 5")
    );
}

// Holds invariant 179.
#[test]
fn a_follower_starts_again_from_any_prefix() {
    let changed = Changed::new(31);
    let frames = frames_of(&changed.leader.reader);
    for prefix in (0..=31).step_by(4).chain([1, 30, 31]) {
        let dir = tempfile::tempdir().unwrap();
        let mut log = open_log(dir.path());
        for bytes in &frames[..prefix] {
            log.append_stored(bytes).unwrap();
        }
        log.durability().sync().unwrap();
        drop(log);
        let mut node = Node::open_in(&changed.runtime, options(&changed.servers, "again"), dir);
        node.follow_to(31).unwrap();
        assert!(frames_of(&node.reader) == frames, "from {prefix}");
        // The same from its own files.
        let dir = node.close();
        assert!(frames_of(&open_log(dir.path()).reader()) == frames);
    }
}

// Holds invariant 181.
/// A new leader of the stream may not have applied everything yet, and may take long.
#[test]
fn a_stream_that_ends_early_for_a_while_is_followed_again() {
    let mut changed = Changed::new(9);
    for number in 9..12 {
        changed.leader.write(number).unwrap();
    }
    let frames = frames_of(&changed.leader.reader);
    let dir = tempfile::tempdir().unwrap();
    let mut log = open_log(dir.path());
    for bytes in &frames[..11] {
        log.append_stored(bytes).unwrap();
    }
    log.durability().sync().unwrap();
    drop(log);
    let node = Node::open_in(&changed.runtime, options(&changed.servers, "ahead"), dir);
    changed.runtime.block_on(async {
        let name = "KEDGE_test";
        let config = changed.context.get_stream(name).await.unwrap();
        let config = config.cached_info().config.clone();
        changed.context.delete_stream(name).await.unwrap();
        changed.context.create_stream(config).await.unwrap();
    });
    for bytes in &frames[..8] {
        changed.publish(bytes.clone());
    }
    let mut following = node.cluster.follow(&node.log.position());
    let broken = changed.runtime.block_on(following.connect()).unwrap_err();
    let text = broken.to_string();
    assert!(text.contains("frame 9 of the stream is broken"), "{text}");
    assert!(text.contains("frames up to 8 only"), "{text}");
    assert_eq!(
        changed.runtime.block_on(following.connect()),
        Err(broken),
        "nothing has changed"
    );
    for bytes in &frames[8..] {
        changed.publish(bytes.clone());
    }
    changed.runtime.block_on(following.connect()).unwrap();
    let next = changed.runtime.block_on(next_of(&mut following)).unwrap();
    assert!(next == frames[11]);
}
