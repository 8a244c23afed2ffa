//! Thousands of streams on one server: the cost of each, that each gets everything, and that sending to them delays no
//! other request.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use serde_json::json;
use tokio::task::JoinSet;

use crate::feeds::event_stream::{Ask, EventStream};
use crate::feeds::events::types;
use crate::harness::{Caller, Server, Signed};

/// Streams that are open at the first measurement of memory, after one-time allocations.
const FIRST: usize = 500;
const ALL: usize = 5_000;
/// Files that the other tests of this process may have open.
const OTHER_FILES: u64 = 1_000;
/// Streams that are opened at one time.
const OPENING: usize = 50;
/// Memory that one stream may take, with its connection.
const STREAM_BYTES_MAX: u64 = 48 * 1024;
/// Memory per stream that sending to all of them may take.
const SENDING_BYTES_MAX: u64 = 24 * 1024;

/// All streams come from one address, and belong to one organization.
const OPTIONS: [&str; 2] = [
    "connections_per_address=16384",
    "organization_share_percent=100",
];
/// Events that are sent to every stream while a neighbour writes: each is a few hundred bytes, which the sockets hold
/// without being read.
const EVENTS: usize = 60;
/// The pause between two events, so that sending never ends meanwhile.
const PAUSE: Duration = Duration::from_millis(50);

/// The number of streams that this process can open: each is an open file, and shells often allow few until the limit
/// is raised.
fn room() -> usize {
    let limit = getrlimit(Resource::Nofile);
    let all = Rlimit {
        current: limit.maximum,
        maximum: limit.maximum,
    };
    setrlimit(Resource::Nofile, all).unwrap();
    let files = limit.maximum.unwrap_or(u64::MAX);
    ALL.min(usize::try_from(files.saturating_sub(OTHER_FILES)).unwrap())
}

async fn open(server: &Server, caller: &Caller, streams: &mut Vec<EventStream>, count: usize) {
    while streams.len() < count {
        let missing = OPENING.min(count - streams.len());
        let opening =
            (0..missing).map(|_| EventStream::begin(server, &caller.token, Ask::default()));
        for opened in opening.collect::<Vec<_>>() {
            streams.push(opened.await);
        }
    }
}

// Holds invariants 37, 167.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn five_thousand_streams_are_cheap_and_get_everything() {
    let all = room();
    assert!(all >= 2 * FIRST, "room for {all} streams tells nothing");
    let server = Server::start_with(&OPTIONS).await;
    let ann = Caller::register(&server, "ann@example.com").await;
    let template_id = ann.new_template(&server, "ticket").await;
    let object_id = ann.new_object(&server, &template_id).await;
    let mut streams = Vec::with_capacity(all);
    open(&server, &ann, &mut streams, FIRST).await;
    let first_bytes = server.memory_bytes();
    open(&server, &ann, &mut streams, all).await;
    let open_bytes = server.memory_bytes();
    let added = (all - FIRST) as u64;
    let each = open_bytes.saturating_sub(first_bytes) / added;
    assert!(each < STREAM_BYTES_MAX, "{each} bytes a stream");

    let emits: Vec<Signed<'_>> = vec![("emit", &object_id, "{}"); 20];
    for _ in 0..3 {
        ann.bus(&server, &emits, true).await.expect(200);
    }
    ann.action(&server, ("lock", &object_id, "{}"))
        .await
        .expect(201);
    let mut reading = JoinSet::new();
    for mut stream in streams {
        reading.spawn(async move {
            let seen = stream.until("object.locked").await;
            (types(&seen).join(" "), stream)
        });
    }
    let expected = ["action.executed "; 20].concat() + "batch.sealed ";
    let expected = expected.repeat(3) + "object.locked";
    let mut streams = Vec::with_capacity(all);
    while let Some(read) = reading.join_next().await {
        let (seen, stream) = read.unwrap();
        assert_eq!(seen, expected);
        streams.push(stream);
    }
    assert_eq!(streams.len(), all);
    let sent_bytes = server.memory_bytes();
    let each = sent_bytes.saturating_sub(open_bytes) / all as u64;
    assert!(
        each < SENDING_BYTES_MAX,
        "{each} bytes more a stream after sending"
    );
    eprintln!(
        "{} bytes a stream, {each} more after sending",
        open_bytes.saturating_sub(first_bytes) / added
    );
}

// Holds invariant 167.
/// The streams stay unread meanwhile, which leaves the processor to the server.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sending_to_thousands_of_streams_refuses_no_neighbours_request() {
    let all = room();
    assert!(all >= 2 * FIRST, "room for {all} streams tells nothing");
    let server = Server::start_with(&OPTIONS).await;
    let ann = Caller::register(&server, "ann@example.com").await;
    let bob = Caller::register(&server, "bob@example.com").await;
    let anns = ann.new_template(&server, "ticket").await;
    let object_id = ann.new_object(&server, &anns).await;
    let bobs = json!({ "template_id": bob.new_template(&server, "ticket").await });
    let mut streams = Vec::with_capacity(all);
    open(&server, &ann, &mut streams, all).await;

    let is_over = AtomicBool::new(false);
    let sending = async {
        for _ in 0..EVENTS {
            ann.action(&server, ("emit", &object_id, "{}"))
                .await
                .expect(201);
            tokio::time::sleep(PAUSE).await;
        }
        is_over.store(true, Ordering::Relaxed);
    };
    let writing = async {
        let (mut answers, mut slowest) = (Vec::new(), Duration::ZERO);
        while !is_over.load(Ordering::Relaxed) {
            let begun = Instant::now();
            answers.push(bob.mint(&server, &bobs).await.status);
            slowest = slowest.max(begun.elapsed());
        }
        (answers, slowest)
    };
    let ((), (answers, slowest)) = tokio::join!(sending, writing);
    eprintln!("{} requests, the slowest took {slowest:?}", answers.len());
    assert!(answers.iter().all(|status| *status == 201), "{answers:?}");
    assert!(slowest < Duration::from_secs(5), "{slowest:?}");
    ann.action(&server, ("lock", &object_id, "{}"))
        .await
        .expect(201);
    for index in [0, all - 1] {
        let seen = streams[index].until("object.locked").await;
        let seen = types(&seen);
        let sent = seen.iter().filter(|seen| **seen == "action.executed");
        assert_eq!(sent.count(), EVENTS);
    }
}
