//! Shares of scarce resources: an organization past its share is refused, and the others do not notice.

use std::time::{Duration, Instant};

use http_body_util::BodyExt;
use hyper::body::Bytes;
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpSocket, TcpStream};
use tokio::task::JoinSet;

use crate::feeds::event_stream::{Ask, EventStream};
use crate::harness::{Answer, Caller, Server, Signed};
use crate::resources::files::{id, upload};

/// A request that stays unanswered, because it waits for a sequence that is never reached.
async fn waiting(server: &Server, caller: &Caller) -> TcpStream {
    let mut stream = TcpStream::connect(server.address()).await.unwrap();
    let (name, value) = caller.bearer();
    let request =
        format!("GET /batches?min_sequence=1000000 HTTP/1.1\r\nHost: a\r\n{name}: {value}\r\n\r\n");
    stream.write_all(request.as_bytes()).await.unwrap();
    stream
}

/// Checks for a refusal because a share is used up.
#[track_caller]
fn share(answer: &Answer, name: &str, limit: &str) {
    answer.refused(429, "RATE_LIMITED");
    assert_eq!(answer.body["body"]["policy"], name);
    assert_eq!(answer.header("x-ratelimit-limit"), limit);
    assert_eq!(answer.header("x-ratelimit-remaining"), "0");
    let policy = format!(r#""{name}";q={limit};qu="concurrent-requests""#);
    assert_eq!(answer.header("ratelimit-policy"), policy);
    let wait_s: u64 = answer.header("retry-after").parse().unwrap();
    assert!(wait_s >= 1);
}

// Holds invariant 126.
#[tokio::test]
async fn requests_in_flight_have_a_share_for_each_organization() {
    let server = Server::start_with(&["requests_max=8"]).await;
    let ann = Caller::register(&server, "ann@example.com").await;
    let bob = Caller::register(&server, "bob@example.com").await;
    let template = bob.new_template(&server, "ticket").await;
    let _held = [waiting(&server, &ann).await, waiting(&server, &ann).await];
    tokio::time::sleep(Duration::from_millis(300)).await;
    let refused = server.get("/batches", Some(&ann.token)).await;
    share(&refused, "requests-in-flight", "2");
    // No other organization is affected, and callers without one use the share of their address.
    server.get("/batches", Some(&bob.token)).await.expect(200);
    server.get("/batches", None).await.expect(200);
    bob.new_object(&server, &template).await;
}

// Holds invariant 126.
#[tokio::test]
async fn reads_that_wait_leave_room_for_others_however_many_organizations_wait() {
    let server = Server::start_with(&["requests_max=8"]).await;
    let ann = Caller::register(&server, "ann@example.com").await;
    let mut held = Vec::new();
    for number in 0..4 {
        let other = Caller::register(&server, &format!("other-{number}@example.com")).await;
        held.push(waiting(&server, &other).await);
        held.push(waiting(&server, &other).await);
    }
    tokio::time::sleep(Duration::from_millis(300)).await;
    server.get("/batches", Some(&ann.token)).await.expect(200);
    ann.new_template(&server, "ticket").await;
    let late = server.get("/batches?min_sequence=1000000", Some(&ann.token));
    late.await.refused(503, "UNAVAILABLE");
}

// Holds invariant 126.
#[tokio::test]
async fn addresses_without_credentials_leave_the_organizations_their_places_for_waits() {
    let server = Server::start_with(&["requests_max=16"]).await;
    let ann = Caller::register(&server, "ann@example.com").await;
    let wait = b"GET /batches?min_sequence=1000000 HTTP/1.1\r\nHost: a\r\n\r\n";
    let mut held = Vec::new();
    for host in 2..14 {
        let socket = TcpSocket::new_v4().unwrap();
        socket.bind(([127, 0, 0, host], 0).into()).unwrap();
        let address = server.address().parse().unwrap();
        let mut stream = socket.connect(address).await.unwrap();
        stream.write_all(wait).await.unwrap();
        held.push(stream);
    }
    tokio::time::sleep(Duration::from_millis(300)).await;
    let late = server.get("/batches?min_sequence=1000000", None);
    late.await.refused(503, "UNAVAILABLE");
    let mut waits = waiting(&server, &ann).await;
    let answered = tokio::time::timeout(Duration::from_secs(1), waits.read_u8()).await;
    assert!(answered.is_err(), "an organization has no place to wait");
}

// Holds invariant 127.
#[tokio::test]
async fn a_body_that_comes_slowly_keeps_nobody_out() {
    let server = Server::start_with(&["requests_max=1"]).await;
    let mut slow = TcpStream::connect(server.address()).await.unwrap();
    let begun = "POST /wallets/login HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\n\
                 Content-Length: 99\r\n\r\n{";
    slow.write_all(begun.as_bytes()).await.unwrap();
    tokio::time::sleep(Duration::from_millis(300)).await;
    for _ in 0..5 {
        server.get("/batches", None).await.expect(200);
    }
}

// Holds invariant 126.
#[tokio::test]
async fn event_streams_have_a_share_for_each_organization() {
    let server = Server::start_with(&["streams_max=8"]).await;
    let ann = Caller::register(&server, "ann@example.com").await;
    let bob = Caller::register(&server, "bob@example.com").await;
    let open =
        async |caller: &Caller| EventStream::open(&server, &caller.token, Ask::default()).await;
    let held = [open(&ann).await, open(&ann).await];
    assert!(held.iter().all(|stream| stream.status == 200));
    let refused = server.get("/ebus/events/stream", Some(&ann.token)).await;
    share(&refused, "event-streams", "2");
    assert_eq!(refused.header("retry-after"), "30");
    for _ in 0..2 {
        assert_eq!(open(&bob).await.status, 200);
    }
    bob.new_template(&server, "ticket").await;
}

// Holds invariant 213.
#[tokio::test]
async fn organizations_that_hold_all_event_streams_make_room_for_another_one() {
    let server = Server::start_with(&["streams_max=8"]).await;
    let ann = Caller::register(&server, "ann@example.com").await;
    let mut held = Vec::new();
    for number in 0..4 {
        let other = Caller::register(&server, &format!("other-{number}@example.com")).await;
        for _ in 0..2 {
            held.push(EventStream::open(&server, &other.token, Ask::default()).await);
        }
    }
    let mut of_ann = EventStream::open(&server, &ann.token, Ask::default()).await;
    assert_eq!(of_ann.status, 200);
    ann.new_template(&server, "ticket").await;
    of_ann.until("template.created").await;
    let mut last_words = String::new();
    while let Some(block) = held[0].block().await {
        last_words = block.comment.unwrap_or_default();
    }
    assert!(last_words.contains("place"), "{last_words}");
}

/// Sends a request from 127.0.0.`host`, and returns the connection with the beginning of its answer.
async fn asked_from(server: &Server, host: u8, path: &str, caller: &Caller) -> (TcpStream, String) {
    let socket = TcpSocket::new_v4().unwrap();
    socket.bind(([127, 0, 0, host], 0).into()).unwrap();
    let address = server.address().parse().unwrap();
    let mut stream = socket.connect(address).await.unwrap();
    let (name, value) = caller.bearer();
    let request = format!("GET {path} HTTP/1.1\r\nHost: a\r\n{name}: {value}\r\n\r\n");
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut begin = [0; 12];
    stream.read_exact(&mut begin).await.unwrap();
    (stream, String::from_utf8(begin.to_vec()).unwrap())
}

// Holds invariant 213.
#[tokio::test]
async fn however_many_organizations_an_address_has_another_address_gets_a_stream() {
    let server = Server::start_with(&["streams_max=2"]).await;
    let ann = Caller::register(&server, "ann@example.com").await;
    let mut held = Vec::new();
    for number in 0..2 {
        let other = Caller::register(&server, &format!("other-{number}@example.com")).await;
        held.push(EventStream::open(&server, &other.token, Ask::default()).await);
        assert_eq!(held[number].status, 200);
    }
    let path = "/ebus/events/stream";
    let (_here, refused) = asked_from(&server, 1, path, &ann).await;
    assert_eq!(refused, "HTTP/1.1 503", "nobody at this address holds more");
    let (_there, begin) = asked_from(&server, 2, path, &ann).await;
    assert_eq!(begin, "HTTP/1.1 200");
}

// Holds invariant 213.
#[tokio::test]
async fn a_download_whose_place_another_address_gets_breaks_off_visibly() {
    let server = Server::start_with(&["downloads_max=2"]).await;
    let ann = Caller::register(&server, "ann@example.com").await;
    let mut held = Vec::new();
    for number in 0..2 {
        let other = Caller::register(&server, &format!("other-{number}@example.com")).await;
        large_log(&server, &other).await;
        held.push(unread_export(&server, &other).await);
    }
    let (_there, begin) = asked_from(&server, 2, "/export", &ann).await;
    assert_eq!(begin, "HTTP/1.1 200");
    let mut ends = Vec::new();
    for mut stream in held {
        let mut bytes = Vec::new();
        let reading = stream.read_to_end(&mut bytes);
        // A whole answer leaves the connection open.
        let is_open = tokio::time::timeout(Duration::from_secs(5), reading)
            .await
            .is_err();
        ends.push((is_open, bytes.ends_with(b"0\r\n\r\n")));
    }
    // The slower one broke off; the other completed.
    ends.sort_unstable();
    assert_eq!(ends, [(false, false), (true, true)]);
}

/// Begins an export with a small window and does not read it.
async fn unread_export(server: &Server, caller: &Caller) -> TcpStream {
    let socket = TcpSocket::new_v4().unwrap();
    socket.set_recv_buffer_size(4_096).unwrap();
    let address = server.address().parse().unwrap();
    let mut stream = socket.connect(address).await.unwrap();
    let (name, value) = caller.bearer();
    let request = format!("GET /export HTTP/1.1\r\nHost: a\r\n{name}: {value}\r\n\r\n");
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut begin = [0; 12];
    stream.read_exact(&mut begin).await.unwrap();
    assert_eq!(&begin, b"HTTP/1.1 200");
    stream
}

/// A log too large for the sockets' buffers.
async fn large_log(server: &Server, caller: &Caller) -> String {
    let template = caller.new_template(server, "large").await;
    for _ in 0..12 {
        let large = json!({ "filler": "x".repeat(900_000) });
        let body = json!({ "template_id": template, "properties": large });
        caller.mint(server, &body).await.expect(201);
    }
    // An export ends where a checkpoint leads.
    server.newest_checkpoint().await;
    template
}

// Holds invariant 129.
#[tokio::test]
async fn an_export_ends_where_its_first_line_said_whatever_comes_meanwhile() {
    let server = Server::start().await;
    let ann = Caller::register(&server, "ann@example.com").await;
    let template = large_log(&server, &ann).await;
    let sequence = server.sequence().await;
    let mut stream = unread_export(&server, &ann).await;
    for _ in 0..20 {
        ann.new_object(&server, &template).await;
    }
    assert!(server.sequence().await > sequence);
    let mut rest = Vec::new();
    let mut piece = vec![0; 1 << 16];
    while !rest.ends_with(b"0\r\n\r\n") {
        let count = stream.read(&mut piece).await.unwrap();
        assert_ne!(count, 0, "it broke off");
        rest.extend_from_slice(&piece[..count]);
    }
    let text = String::from_utf8_lossy(&rest);
    let last = text.rfind(r#""checkpoint""#).unwrap();
    let ends = [",", "}"].map(|end| format!(r#""sequence":{sequence}{end}"#));
    let holds = ends.iter().any(|end| text[last..].contains(end));
    assert!(holds, "{}", &text[last..]);
}

// Holds invariant 126.
#[tokio::test]
async fn exports_have_a_share_and_who_does_not_read_loses_it() {
    let options = ["downloads_max=4", "write_timeout_s=2"];
    let server = Server::start_with(&options).await;
    let ann = Caller::register(&server, "ann@example.com").await;
    let bob = Caller::register(&server, "bob@example.com").await;
    large_log(&server, &ann).await;
    let _held = unread_export(&server, &ann).await;
    share(
        &server.get("/export", Some(&ann.token)).await,
        "downloads",
        "1",
    );
    let (parts, _) = server
        .fetch(
            hyper::Request::get(format!("{}/export", server.url))
                .header("authorization", format!("Bearer {}", bob.token))
                .body(http_body_util::Full::default())
                .unwrap(),
        )
        .await;
    assert_eq!(parts.status, 200);
    // The server soon gives it up, which releases its share.
    for _ in 0..100 {
        let request = hyper::Request::get(format!("{}/export", server.url))
            .header("authorization", format!("Bearer {}", ann.token))
            .body(http_body_util::Full::default());
        let (parts, _) = server.fetch(request.unwrap()).await;
        if parts.status == 200 {
            return;
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    panic!("an export that nobody reads keeps its place");
}

/// Sends the same request over this many connections together; returns the answers. All connections are open before the
/// first request is sent, and answers are parsed after the last one arrived, because a slow client would never fill a
/// queue.
async fn at_once(server: &Server, caller: &Caller, path: &str, count: usize) -> Vec<Answer> {
    let mut senders = Vec::new();
    for _ in 0..count {
        let stream = TcpStream::connect(server.address()).await.unwrap();
        let (sender, connection) = http1::handshake(TokioIo::new(stream)).await.unwrap();
        tokio::spawn(connection);
        senders.push(sender);
    }
    let mut asked = JoinSet::new();
    for mut sender in senders {
        let request = hyper::Request::get(path)
            .header("host", "a")
            .header("authorization", format!("Bearer {}", caller.token))
            .body(http_body_util::Empty::<Bytes>::new())
            .unwrap();
        asked.spawn(async move {
            let (parts, body) = sender.send_request(request).await.unwrap().into_parts();
            (parts, body.collect().await.unwrap().to_bytes())
        });
    }
    let parsed = asked.join_all().await.into_iter();
    parsed
        .map(|(parts, bytes)| Answer {
            status: parts.status.as_u16(),
            headers: parts.headers,
            body: serde_json::from_slice(&bytes).unwrap(),
        })
        .collect()
}

/// One organization sends more requests than may wait, while another one sends a few. The first gets its share and is
/// refused the rest; the second is never refused and never waits for the first.
async fn others_have_their_turns(path: &str, others_path: &str, name: &str, line_max: usize) {
    // Every waiting request is served in the end, however slow the machine is.
    let options = [
        "requests_max=65536",
        "answer_bytes_per_caller=268435456",
        "request_timeout_s=300",
    ];
    let server = Server::start_with(&options).await;
    let ann = Caller::register(&server, "ann@example.com").await;
    let bob = Caller::register(&server, "bob@example.com").await;
    let object = long_history(&server, &ann).await;
    let of_bob = long_history(&server, &bob).await;
    let (path, others_path) = (
        path.replace("{id}", &object),
        others_path.replace("{id}", &of_bob),
    );
    let count = 2 * line_max;
    let asked = at_once(&server, &ann, &path, count);
    let others = async {
        let begun = Instant::now();
        for _ in 0..5 {
            server.get(&others_path, Some(&bob.token)).await.expect(200);
        }
        begun.elapsed()
    };
    let all = async {
        let begun = Instant::now();
        (asked.await, begun.elapsed())
    };
    let ((answers, all_took), others_took) = tokio::join!(all, others);
    let (served, refused): (Vec<&Answer>, Vec<&Answer>) =
        answers.iter().partition(|answer| answer.status == 200);
    assert!(
        served.len() >= line_max,
        "{} of {count} are served",
        served.len()
    );
    assert!(
        !refused.is_empty(),
        "all {count} are served, in {all_took:?}"
    );
    for answer in refused {
        share(answer, name, &line_max.to_string());
    }
    assert!(
        others_took < all_took,
        "five of another one took {others_took:?}, those before it {all_took:?}"
    );
}

/// Sends the same request over 80 connections together. Checks that the ones that fit the queue are served, and the
/// others refused.
async fn at_most_64_wait(server: &Server, caller: &Caller, path: &str, more: &str) {
    let (name, value) = caller.bearer();
    let request = format!("GET {path} HTTP/1.1\r\nHost: a\r\n{more}{name}: {value}\r\n\r\n");
    let mut streams = Vec::new();
    for _ in 0..80 {
        streams.push(TcpStream::connect(server.address()).await.unwrap());
    }
    for stream in &mut streams {
        stream.write_all(request.as_bytes()).await.unwrap();
    }
    let mut answers = JoinSet::new();
    for mut stream in streams {
        answers.spawn(async move {
            let mut begin = [0; 10];
            stream.read_exact(&mut begin).await.unwrap();
            String::from_utf8(begin.to_vec()).unwrap()
        });
    }
    let answers = answers.join_all().await;
    let count = |of: &str| answers.iter().filter(|begin| begin.ends_with(of)).count();
    let (served, refused) = (count(" 2"), count(" 4"));
    assert!(
        served >= 64 && refused > 0 && served + refused == 80,
        "{answers:?}"
    );
}

/// Options under which nothing else is refused, and every waiting request is served in the end.
const PATIENT: [&str; 3] = [
    "requests_max=65536",
    "downloads_max=65536",
    "request_timeout_s=300",
];

// Holds invariant 126.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn digests_of_parts_have_a_share_for_each_organization() {
    let server = Server::start_with(&PATIENT).await;
    let ann = Caller::register(&server, "ann@example.com").await;
    let made = upload(&server, &ann, "large", &vec![7; 20 << 20]).await;
    let path = format!("/files/{}/content", id(&made.expect(201)));
    at_most_64_wait(&server, &ann, &path, "Range: bytes=1-\r\n").await;
}

// Holds invariant 126.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn proofs_of_authorship_have_a_share_for_each_organization() {
    let server = Server::start_with(&PATIENT).await;
    let ann = Caller::register(&server, "ann@example.com").await;
    let template = ann.new_template(&server, "ticket").await;
    let object = ann.new_object(&server, &template).await;
    // One request of 14 MB.
    let payload = json!({ "properties": { "filler": "x".repeat(28_000) } }).to_string();
    let update: Signed<'_> = ("update", &object, &payload);
    ann.bus(&server, &vec![update; 499], false)
        .await
        .expect(200);
    let sequence = server.sequence().await;
    let path = format!("/ebus/actions/{sequence}/proof?form=authorship");
    at_most_64_wait(&server, &ann, &path, "").await;
}

/// An object that takes a while to rebuild.
async fn long_history(server: &Server, caller: &Caller) -> String {
    let template = caller.new_template(server, "ticket").await;
    let object = caller.new_object(server, &template).await;
    let update: Signed<'_> = ("update", &object, r#"{"properties":{"seat":"14C"}}"#);
    for _ in 0..2 {
        caller
            .bus(server, &vec![update; 499], false)
            .await
            .expect(200);
    }
    object
}

/// A sequence before the last update of [`long_history`]: all updates up to it are replayed.
const PAST: &str = "/objects/{id}?at_sequence=900";

// Holds invariant 126.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn long_reads_have_a_share_for_each_organization() {
    let others = "/objects/{id}?at_sequence=1900";
    others_have_their_turns(PAST, others, "long-reads", 64).await;
}

// Holds invariant 126.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn pages_have_a_share_for_each_organization() {
    let path = "/ebus/actions?limit=400";
    others_have_their_turns(path, "/ebus/actions?limit=10", "page-reads", 256).await;
}
