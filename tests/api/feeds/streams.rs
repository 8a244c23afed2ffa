//! Event streams: live, resumed, filtered and ended.

use std::time::Duration;

use bytes::Bytes;
use http_body_util::{BodyExt, Empty};
use hyper::Request;
use hyper::body::Incoming;
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use kedge_http::auth::bearer::AccessTokens;
use kedge_protocol::{Id, Prefix};
use serde_json::{Value, json};

use crate::access::privileges::{remove, two};
use crate::feeds::event_stream::{Ask, EventStream};
use crate::feeds::events::{items, list, types};
use crate::harness::{Caller, PASSWORD, Server, Signed};

fn ids(events: &[Value]) -> Vec<&str> {
    let ids = events.iter().map(|event| event["id"].as_str());
    ids.map(Option::unwrap).collect()
}

async fn caller_with_object(server: &Server) -> (Caller, String) {
    let ann = Caller::register(server, "ann@example.com").await;
    let template_id = ann.new_template(server, "ticket").await;
    let object_id = ann.new_object(server, &template_id).await;
    (ann, object_id)
}

fn after(position: &str) -> Ask<'_> {
    Ask {
        last_event_id: Some(position),
        ..Ask::default()
    }
}

/// From every position exactly the rest follows, by header or by parameter.
async fn resumes_anywhere(server: &Server, caller: &Caller, listed: &[Value]) {
    for (n, event) in listed.iter().enumerate().take(listed.len() - 1) {
        let position = event["position"].as_str().unwrap();
        let query = format!("?last_event_id={position}");
        for ask in [
            after(position),
            Ask {
                query: &query,
                ..Ask::default()
            },
        ] {
            let mut resumed = EventStream::begin(server, &caller.token, ask).await;
            let rest = &listed[n + 1..];
            assert_eq!(
                ids(&resumed.events(rest.len()).await),
                ids(rest),
                "after {position}"
            );
        }
    }
}

// Holds invariant 36.
#[tokio::test]
async fn a_stream_is_the_list_from_where_it_begins() {
    let server = Server::start().await;
    let (ann, object_id) = caller_with_object(&server).await;
    let bob = Caller::register(&server, "bob@example.com").await;
    let emit: Signed<'_> = ("emit", &object_id, "{\"a\":\n\"\\n\"}");
    let mut live = EventStream::begin(&server, &ann.token, Ask::default()).await;
    let mut of_bob = EventStream::begin(&server, &bob.token, Ask::default()).await;
    let head = live.head.to_ascii_lowercase();
    for expected in [
        "content-type: text/event-stream",
        "cache-control: no-store",
        "x-accel-buffering: no",
        "x-sequence: 4",
    ] {
        assert!(head.contains(expected), "{expected} in {head}");
    }
    ann.bus(&server, &[emit; 3], false).await.expect(200);
    ann.action(&server, ("unlock", &object_id, "{}"))
        .await
        .refused(422, "STATE_VIOLATION");
    ann.action(&server, ("lock", &object_id, "{}"))
        .await
        .expect(201);
    let seen = live.until("object.locked").await;
    let reported = ["action.executed"; 3];
    assert_eq!(types(&seen)[..3], reported);
    assert_eq!(
        types(&seen)[3..],
        ["batch.sealed", "action.failed", "object.locked"]
    );

    let listed = list(&server, &ann, "").await;
    let listed = items(&listed);
    let start = listed.len() - seen.len() - 1;
    assert_eq!(
        listed[start..listed.len() - 1],
        seen,
        "the same events in the same words"
    );
    resumes_anywhere(&server, &ann, listed).await;
    // `after_sequence` leaves out the whole sequence; the header takes precedence.
    let sequence = listed[start]["sequence"].as_u64().unwrap();
    let query = format!("?after_sequence={sequence}");
    let ask = Ask {
        query: &query,
        ..Ask::default()
    };
    let mut behind = EventStream::begin(&server, &ann.token, ask.clone()).await;
    assert_eq!(behind.event().await["sequence"], sequence + 1);
    let first = listed[0]["position"].as_str().unwrap();
    let ask = Ask {
        last_event_id: Some(first),
        ..ask
    };
    let mut resumed = EventStream::begin(&server, &ann.token, ask).await;
    assert_eq!(resumed.event().await["id"], listed[1]["id"]);
    // None of these events is Bob's.
    bob.new_template(&server, "his").await;
    assert_eq!(of_bob.event().await["type"], "template.created");
}

#[tokio::test]
async fn a_stream_may_begin_where_the_log_ends() {
    let server = Server::start().await;
    let (ann, object_id) = caller_with_object(&server).await;
    let head = server.sequence().await;
    let begin = async |sequence: u64| {
        let query = format!("?after_sequence={sequence}");
        let ask = Ask {
            query: &query,
            ..Ask::default()
        };
        EventStream::begin(&server, &ann.token, ask).await
    };
    let at_end = begin(head).await;
    let mut again = EventStream::begin(&server, &ann.token, after(&at_end.last_id)).await;
    for sequence in [head + 1, head + 2] {
        ann.action(&server, ("emit", &object_id, "{}"))
            .await
            .expect(201);
        assert_eq!(again.until("batch.sealed").await[0]["sequence"], sequence);
    }
    // A client that has seen nothing yet resumes where it began.
    let live = EventStream::begin(&server, &ann.token, Ask::default()).await;
    ann.action(&server, ("emit", &object_id, "{}"))
        .await
        .expect(201);
    let mut back = EventStream::begin(&server, &ann.token, after(&live.last_id)).await;
    assert_eq!(back.event().await["sequence"], head + 3);
}

#[tokio::test]
async fn what_is_not_a_place_is_refused() {
    let server = Server::start().await;
    let (ann, _) = caller_with_object(&server).await;
    let status = async |ask| EventStream::open(&server, &ann.token, ask).await.status;
    let query = |query| Ask {
        query,
        ..Ask::default()
    };
    for bad in ["x", "1.", "-1", "01", "1.0"] {
        assert_eq!(status(after(bad)).await, 400, "{bad}");
    }
    assert_eq!(status(after("9")).await, 409, "the log is not there yet");
    let head = server.sequence().await;
    for (sequence, expected) in [(head, 200), (head + 1, 409)] {
        let from = format!("?after_sequence={sequence}");
        let ask = Ask {
            query: &from,
            ..Ask::default()
        };
        let opened = EventStream::open(&server, &ann.token, ask).await;
        assert_eq!(opened.status, expected, "{sequence}");
    }
    assert_eq!(status(query("?type=object")).await, 400);
    assert_eq!(status(query("?limit=1")).await, 400);
    assert_eq!(
        EventStream::open(&server, "none", Ask::default())
            .await
            .status,
        401
    );
    let document = server.get("/openapi.json", None).await.expect(200).body;
    let answer = &document["paths"]["/ebus/events/stream"]["get"]["responses"]["200"]["content"];
    let event = &answer["text/event-stream"]["schema"];
    assert!(event.is_object(), "{answer}");
}

#[tokio::test]
async fn filters_and_signs_of_life() {
    let server = Server::start_with(&["stream_heartbeat_s=1"]).await;
    let (ann, object_id) = caller_with_object(&server).await;
    let query = format!("?type=object.locked&object_id={object_id}");
    let ask = Ask {
        query: &query,
        ..Ask::default()
    };
    let mut stream = EventStream::begin(&server, &ann.token, ask).await;
    let begun_at = stream.last_id.clone();
    ann.action(&server, ("emit", &object_id, "{}"))
        .await
        .expect(201);
    // Filtered-out events move only the position, which heartbeats carry.
    while stream.last_id == begun_at {
        let block = stream.block().await.unwrap();
        assert!(block.data.is_none() && block.comment.is_some(), "{block:?}");
    }
    ann.action(&server, ("lock", &object_id, "{}"))
        .await
        .expect(201);
    assert_eq!(stream.event().await["type"], "object.locked");
}

// Holds invariant 36.
#[tokio::test]
async fn nothing_is_lost_or_seen_twice_across_a_kill() {
    let mut server = Server::start().await;
    let (mut ann, object_id) = caller_with_object(&server).await;
    let emit: Signed<'_> = ("emit", &object_id, "{}");
    let mut seen: Vec<Value> = Vec::new();
    let mut position = "0".to_owned();
    for round in 0..3u32 {
        let mut stream = EventStream::begin(&server, &ann.token, after(&position)).await;
        // A failure comes last: it is not in the log, but its position must be remembered too.
        for _ in 0..=round {
            ann.bus(&server, &[emit; 20], false).await.expect(200);
            ann.action(&server, ("unlock", &object_id, "{}"))
                .await
                .refused(422, "STATE_VIOLATION");
        }
        // Not all of it is read before the server dies.
        seen.extend(stream.events(25).await);
        server.kill();
        while let Ok(Some(block)) = stream.try_block().await {
            if block.data.is_some() {
                seen.push(block.json());
            }
        }
        position = seen.last().unwrap()["position"]
            .as_str()
            .unwrap()
            .to_owned();
        server = server.restart().await;
        let login = json!({ "email": "ann@example.com", "password": PASSWORD }).to_string();
        let tokens = server
            .call("POST", "/wallets/login", &[], &login)
            .await
            .expect(200);
        ann.token = tokens.body["access_token"].as_str().unwrap().to_owned();
    }
    ann.action(&server, ("lock", &object_id, "{}"))
        .await
        .expect(201);
    let mut stream = EventStream::begin(&server, &ann.token, after(&position)).await;
    seen.extend(stream.until("object.locked").await);
    let listed = list(&server, &ann, "?limit=1000").await;
    let listed = items(&listed);
    assert_eq!(ids(&seen), ids(&listed[..listed.len() - 1]));
}

#[tokio::test]
async fn a_stream_ends_with_its_token() {
    let server = Server::start().await;
    let (ann, object_id) = caller_with_object(&server).await;
    // The server's own keys sign a token with a shorter life than configured.
    let keys = server.dir.path().join("data").join("keys");
    let tokens = AccessTokens::open(keys, server.url.clone(), 3, 1).unwrap();
    let me = server
        .get("/wallets/me", Some(&ann.token))
        .await
        .expect(200)
        .body;
    let id = |prefix, name: &str| Id::parse_as(prefix, me[name].as_str().unwrap()).unwrap();
    let (wallet, organization) = (
        id(Prefix::Wallet, "id"),
        id(Prefix::Organization, "organization_id"),
    );
    let now_s = kedge_http::clock::now_s();
    let token = tokens.issue(wallet, organization, now_s).unwrap();
    let mut stream = EventStream::begin(&server, &token, Ask::default()).await;
    ann.action(&server, ("lock", &object_id, "{}"))
        .await
        .expect(201);
    assert_eq!(stream.event().await["type"], "object.locked");
    let mut last_words = String::new();
    while let Some(block) = stream.block().await {
        last_words = block.comment.unwrap_or_default();
    }
    assert!(last_words.contains("token"), "{last_words}");
    assert!(kedge_http::clock::now_s() >= now_s + 3);
    let again = EventStream::open(&server, &token, Ask::default()).await;
    assert_eq!(again.status, 401);
}

// Holds invariant 133.
/// A member's stream ends with the membership; its last line states why, and later events are not sent.
#[tokio::test]
async fn a_stream_ends_with_its_readers_membership() {
    let server = Server::start().await;
    let (ann, bob, _) = two(&server).await;
    let mut of_ann = EventStream::begin(&server, &ann.token, Ask::default()).await;
    let mut of_bob = EventStream::begin(&server, &bob.token, Ask::default()).await;
    let template = ann.new_template(&server, "before").await;
    for stream in [&mut of_ann, &mut of_bob] {
        assert_eq!(stream.event().await["type"], "template.created");
    }
    remove(&server, &ann, &bob.wallet_id).await.expect(200);
    let removed_at = server.sequence().await;
    ann.new_object(&server, &template).await;
    let mut last = None;
    while let Some(block) = of_bob.block().await {
        let sent = block.data.as_ref().map(|_| block.json());
        let sequence = sent
            .as_ref()
            .map_or(0, |sent| sent["sequence"].as_u64().unwrap());
        assert!(sequence < removed_at, "a removed member is sent {sent:?}");
        last = block.comment.or(last);
    }
    let last = last.unwrap();
    assert!(last.contains("was removed from its organization"), "{last}");
    // The others' streams are not affected.
    of_ann.until("object.created").await;
    server
        .get("/ebus/events/stream", Some(&bob.token))
        .await
        .refused(401, "UNAUTHENTICATED");
}

#[tokio::test]
async fn streams_do_not_hold_up_the_end() {
    let mut server = Server::start().await;
    let (ann, _) = caller_with_object(&server).await;
    let mut streams = Vec::new();
    for _ in 0..20 {
        streams.push(EventStream::begin(&server, &ann.token, Ask::default()).await);
    }
    let ended = tokio::task::spawn_blocking(move || (server.terminate(), server));
    for stream in &mut streams {
        let mut last_words = String::new();
        while let Some(block) = stream.block().await {
            last_words = block.comment.unwrap_or_default();
        }
        assert!(last_words.contains("stopping"), "{last_words}");
    }
    let (code, _server) = ended.await.unwrap();
    assert_eq!(code, Some(0));
}

#[tokio::test]
async fn there_is_room_for_so_many_streams_and_other_requests_go_on() {
    let options = [
        "streams_max=2",
        "requests_max=2",
        "organization_share_percent=100",
    ];
    let server = Server::start_with(&options).await;
    let (ann, _) = caller_with_object(&server).await;
    let open = async || EventStream::open(&server, &ann.token, Ask::default()).await;
    let (one, other) = (open().await, open().await);
    assert_eq!((one.status, other.status), (200, 200));
    let refused = open().await;
    assert_eq!(refused.status, 503);
    assert!(refused.head.to_ascii_lowercase().contains("retry-after: "));
    // A stream does not count as a request in flight.
    list(&server, &ann, "").await;
    drop(one);
    until_open(&server, &ann).await;
    drop(other);
}

/// Opens a stream as soon as there is room.
async fn until_open(server: &Server, caller: &Caller) -> EventStream {
    for _ in 0..600 {
        let stream = EventStream::open(server, &caller.token, Ask::default()).await;
        if stream.status == 200 {
            return stream;
        }
        assert_eq!(stream.status, 503);
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    panic!("no room for a stream");
}

// Holds invariant 37.
#[tokio::test]
async fn who_does_not_read_is_cut_off_and_others_are_not() {
    const BATCHES: usize = 5;
    let options = [
        "write_timeout_s=1",
        "streams_max=2",
        "organization_share_percent=100",
    ];
    let server = Server::start_with(&options).await;
    let (ann, object_id) = caller_with_object(&server).await;
    let ask = Ask {
        receive_buffer: Some(4_096),
        ..Ask::default()
    };
    let mut slow = EventStream::begin(&server, &ann.token, ask).await;
    let mut quick = EventStream::begin(&server, &ann.token, Ask::default()).await;
    // More than the system's buffers on both sides hold.
    let payload = json!({ "text": "x".repeat(4_000) }).to_string();
    let emits: Vec<Signed<'_>> = vec![("emit", &object_id, &payload); 500];
    for _ in 0..BATCHES {
        ann.bus(&server, &emits, true).await.expect(200);
        assert_eq!(quick.until("batch.sealed").await.len(), 501);
    }
    let mut next = until_open(&server, &ann).await;
    ann.action(&server, ("lock", &object_id, "{}"))
        .await
        .expect(201);
    assert_eq!(quick.event().await["type"], "object.locked");
    assert_eq!(next.event().await["type"], "object.locked");
    // What the slow one received is complete up to where it was cut off, and it resumes from there.
    let mut seen = 0;
    while let Ok(Some(block)) = slow.try_block().await {
        seen += usize::from(block.data.is_some());
    }
    assert!(seen < 501 * BATCHES, "{seen}");
    let position = slow.last_id.clone();
    drop(next);
    let mut resumed = loop {
        let stream = EventStream::open(&server, &ann.token, after(&position)).await;
        if stream.status == 200 {
            break stream;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    };
    let rest = resumed.until("object.locked").await;
    assert_eq!(seen + rest.len(), 501 * BATCHES + 1);
}

type Http2 = Client<HttpConnector, Empty<Bytes>>;

/// One more stream on the client's only connection.
async fn open_http2(client: &Http2, server: &Server, caller: &Caller) -> (u16, Incoming) {
    let request = Request::get(format!("{}/ebus/events/stream", server.url))
        .header("authorization", format!("Bearer {}", caller.token))
        .body(Empty::new())
        .unwrap();
    let response = client.request(request).await.unwrap();
    (response.status().as_u16(), response.into_body())
}

/// Reads a stream until its text contains `wanted`.
async fn read_until(body: &mut Incoming, wanted: &str) {
    let mut text = String::new();
    while !text.contains(wanted) {
        let frame = body.frame().await.expect("the stream continues").unwrap();
        text.push_str(std::str::from_utf8(frame.data_ref().unwrap()).unwrap());
    }
}

#[tokio::test]
async fn streams_share_an_http2_connection_and_one_that_stalls_is_cut_off_alone() {
    const STREAMS: usize = 20;
    let server = Server::start_with(&[
        "write_timeout_s=1",
        "streams_max=21",
        "organization_share_percent=100",
    ])
    .await;
    let (ann, object_id) = caller_with_object(&server).await;
    let client: Http2 = Client::builder(TokioExecutor::new())
        .http2_only(true)
        .http2_initial_stream_window_size(65_535)
        .build_http();
    let mut streams = Vec::new();
    for _ in 0..STREAMS {
        let (status, body) = open_http2(&client, &server, &ann).await;
        assert_eq!(status, 200);
        streams.push(body);
    }
    let (_, stalled) = open_http2(&client, &server, &ann).await;
    let (status, _) = open_http2(&client, &server, &ann).await;
    assert_eq!(status, 503, "every stream counts");
    let payload = json!({ "text": "x".repeat(4_000) }).to_string();
    let emits: Vec<Signed<'_>> = vec![("emit", &object_id, &payload); 50];
    ann.bus(&server, &emits, true).await.expect(200);
    for stream in &mut streams {
        read_until(stream, "event: batch.sealed").await;
    }
    drop(until_open(&server, &ann).await);
    ann.action(&server, ("lock", &object_id, "{}"))
        .await
        .expect(201);
    for stream in &mut streams {
        read_until(stream, "event: object.locked").await;
    }
    drop(stalled);
}
