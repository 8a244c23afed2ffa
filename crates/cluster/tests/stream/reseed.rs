//! The stream recreated from a node's segments.

use std::sync::Arc;

use kedge_cluster::{LeadTermError, Lease, LeaseHolder, ReseedError, StreamError};
use kedge_log::{FrameHeader, Log as _};

use super::nats::Servers;
use super::node::{Node, frame, frames_of, open_log, options, runtime};

/// A single node's log, with local durability marks and compressed older segments.
fn single_log() -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    let mut alone = open_log(dir.path());
    for number in 0..150 {
        alone.append(&frame(number)).unwrap();
        alone.durability().sync().unwrap();
    }
    while alone.maintenance().seal_next().unwrap().is_some() {}
    let sealed = std::fs::read_dir(dir.path()).unwrap();
    let names = sealed.map(|file| file.unwrap().file_name().into_string().unwrap());
    assert!(names.filter(|name| name.contains(".seg")).count() > 0);
    dir
}

/// Compares both nodes' frames, which differ only in their durability marks.
fn have_same_hashes(leader: &Node, follower: &Node) {
    for (one, other) in frames_of(&leader.reader)
        .iter()
        .zip(frames_of(&follower.reader))
    {
        let (one, other) = (
            FrameHeader::read(one).unwrap(),
            FrameHeader::read(&other).unwrap(),
        );
        assert_eq!((one.hash(), other.durable), (other.hash(), 0));
    }
}

/// A node with an empty log cannot follow a stream that begins in the middle.
fn lacks_the_beginning(new: &mut Node) {
    let error = new.follow_to(154).unwrap_err();
    assert_eq!(
        error,
        StreamError::Missing {
            frame: 1,
            first: 101
        }
    );
}

/// Renews the lease forever.
async fn renew(lease: Lease) {
    let mut revision = 0;
    loop {
        let holder = LeaseHolder {
            node: "one".to_owned(),
            ..LeaseHolder::default()
        };
        revision = lease.take(revision, &holder).await.unwrap().unwrap();
        tokio::time::sleep(std::time::Duration::from_millis(100)).await;
    }
}

// Holds invariant 184.
#[test]
fn a_stream_is_made_again_from_a_log() {
    let servers = Servers::start(1);
    let runtime = Arc::new(runtime());
    let dir = single_log();
    let mut options_one = options(&servers, "one");
    options_one.replicas_synced = 0;
    let mut leader = Node::open_in(&runtime, options_one, dir);
    let began = runtime.block_on(leader.cluster.begin_term(&leader.log.position(), 1));
    assert_eq!(began, Err(LeadTermError::Empty { frames: 150 }));
    let reseed = |node: &Node, from: u64, force: bool| {
        let seed = node.cluster.reseed(&node.reader, from, force, |_| {});
        runtime.block_on(seed)
    };
    assert!(matches!(
        reseed(&leader, 151, false),
        Err(ReseedError::From { last: 150, .. })
    ));
    let seeded = reseed(&leader, 1, false).unwrap();
    assert_eq!((seeded.first, seeded.last), (1, 150));
    leader.lead(1);
    leader.write(150).unwrap();
    let mut follower = Node::open(&runtime, options(&servers, "two"));
    follower.follow_to(152).unwrap();
    have_same_hashes(&leader, &follower);

    // Reseeded from the middle, the offset between frames and places changes.
    leader.leading.end("reseed");
    reseed(&leader, 101, false).unwrap();
    let first = runtime.block_on(leader.cluster.first()).unwrap().unwrap();
    assert_eq!((first.number, first.place), (101, 1));
    let bytes = runtime
        .block_on(leader.cluster.frame(120))
        .unwrap()
        .unwrap();
    assert_eq!(FrameHeader::read(&bytes).unwrap().number, 120);
    assert_eq!(runtime.block_on(leader.cluster.frame(100)).unwrap(), None);
    leader.lead(2);
    leader.write(151).unwrap();
    let mut follower = Node::open_in(&runtime, options(&servers, "two"), follower.close());
    follower.follow_to(154).unwrap();
    let mut new = Node::open(&runtime, options(&servers, "new"));
    lacks_the_beginning(&mut new);
    leader.leading.end("reseed");

    // A log that lacks a frame of the stream, and a running node.
    for bytes in &frames_of(&follower.reader)[..130] {
        new.log.append_stored(bytes).unwrap();
    }
    new.durability.sync().unwrap();
    let error = reseed(&new, 1, false).unwrap_err();
    assert!(
        matches!(error, ReseedError::Lacks { frame: 154, .. }),
        "{error}"
    );
    let renewing = runtime.spawn(renew(leader.cluster.lease()));
    let error = reseed(&new, 1, true).unwrap_err();
    assert!(
        matches!(&error, ReseedError::Running { node } if node == "one"),
        "{error}"
    );
    renewing.abort();
    reseed(&new, 1, true).unwrap();
    assert_eq!(new.stream().len(), 130);
    // The longer log now belongs to another history, and says so.
    let mut follower = Node::open_in(&runtime, options(&servers, "two"), follower.close());
    let text = follower.follow_to(155).unwrap_err().to_string();
    assert!(text.contains("frame 131 of the stream is broken"), "{text}");
}
