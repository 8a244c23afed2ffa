//! Mutated bytes of whole HTTP/1.1 and HTTP/2 connections to a real server: it sends only documented answers to broken
//! requests, ends each connection after its caller does, and keeps serving other callers.

use std::io::{ErrorKind, Read as _, Write as _};
use std::net::{Shutdown, TcpStream};
use std::path::Path;
use std::time::Duration;

use kedge_fuzz::FuzzTarget;

use crate::harness::Server;

/// Longest time until a connection ends after its caller ended it: a complete request is answered first.
const END_LIMIT: Duration = Duration::from_secs(20);
/// After this silence the server has usually answered everything.
const SILENCE: Duration = Duration::from_millis(40);
/// After this silence it has always answered everything.
const LONG_SILENCE: Duration = Duration::from_secs(2);
/// Longer answers are cut off here.
const ANSWER_MAX: u64 = 1 << 20;
/// RFC 9113, 3.4.
const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
/// Another caller asks after this many inputs.
const ASK_EVERY: u64 = 50;

const DATA: u8 = 0;
const HEADERS: u8 = 1;
const PRIORITY: u8 = 2;
const RESET: u8 = 3;
const SETTINGS: u8 = 4;
const PUSH: u8 = 5;
const PING: u8 = 6;
const GOAWAY: u8 = 7;
const WINDOW: u8 = 8;
const CONTINUATION: u8 = 9;
const END_STREAM: u8 = 1;
const END_HEADERS: u8 = 4;

/// A frame (RFC 9113, 4.1).
fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let mut frame = (payload.len() as u32).to_be_bytes()[1..].to_vec();
    frame.extend_from_slice(&[kind, flags]);
    frame.extend_from_slice(&stream.to_be_bytes());
    frame.extend_from_slice(payload);
    frame
}

/// A header block, with names of the static table and literal values (RFC 7541, appendix A).
fn block(method: u8, path: &str) -> Vec<u8> {
    // The method, `:scheme: http`, `:path`, `:authority`.
    let mut block = vec![method, 0x86, 0x04, path.len() as u8];
    block.extend_from_slice(path.as_bytes());
    block.extend_from_slice(&[0x01, 1, b'k']);
    block
}

const GET: u8 = 0x82;
const POST: u8 = 0x83;

/// Seeds of conversations: each kind of frame in its place.
fn conversations() -> Vec<Vec<u8>> {
    let settings = frame(SETTINGS, 0, 0, &[0, 4, 0, 1, 0, 0]);
    let get = |stream| {
        frame(
            HEADERS,
            END_STREAM | END_HEADERS,
            stream,
            &block(GET, "/readyz"),
        )
    };
    let post = frame(HEADERS, END_HEADERS, 1, &block(POST, "/ebus/actions"));
    let body = frame(DATA, END_STREAM, 1, b"{\"kind\":\"mint\"}");
    let long = block(GET, "/batches?limit=2");
    let (first, rest) = long.split_at(5);
    let split = [
        frame(HEADERS, END_STREAM, 1, first),
        frame(CONTINUATION, END_HEADERS, 1, rest),
    ];
    let talk = |frames: &[Vec<u8>]| [PREFACE.to_vec(), settings.clone(), frames.concat()].concat();
    vec![
        talk(&[get(1)]),
        talk(&[get(1), get(3), get(5), frame(WINDOW, 0, 0, &[0, 0, 64, 0])]),
        talk(&[post.clone(), body.clone()]),
        talk(&[post.clone(), frame(RESET, 0, 1, &[0, 0, 0, 8])]),
        talk(&[post, body, frame(PING, 0, 0, b"pingpong"), get(3)]),
        talk(&split),
        talk(&[
            frame(PRIORITY, 0, 3, &[0, 0, 0, 1, 15]),
            get(3),
            frame(SETTINGS, 1, 0, &[]),
            frame(GOAWAY, 0, 0, &[0; 8]),
        ]),
        talk(&[get(1), frame(PUSH, END_HEADERS, 1, &[0, 0, 0, 2, 0x82])]),
    ]
}

/// Sends bytes, reads the answer until it pauses for `silence`, closes, and reads the rest.
fn exchange(server: &Server, bytes: &[u8], silence: Duration) -> Vec<u8> {
    let address = server.url.strip_prefix("http://").unwrap();
    let mut stream = TcpStream::connect(address).unwrap();
    // The server may have ended the connection before it has read everything.
    let _ = stream.write_all(bytes);
    let mut answer = Vec::new();
    stream.set_read_timeout(Some(silence)).unwrap();
    if read(&mut stream, &mut answer) {
        return answer;
    }
    let _ = stream.shutdown(Shutdown::Write);
    stream.set_read_timeout(Some(END_LIMIT)).unwrap();
    assert!(
        read(&mut stream, &mut answer),
        "the connection does not end"
    );
    answer
}

/// Reads to the end of the connection; false after a silence longer than its time-out.
fn read(stream: &mut TcpStream, answer: &mut Vec<u8>) -> bool {
    match stream.take(ANSWER_MAX).read_to_end(answer) {
        Ok(_) => true,
        Err(error) if error.kind() == ErrorKind::ConnectionReset => true,
        Err(error) => {
            let is_silent = matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut);
            assert!(is_silent, "{error}");
            false
        }
    }
}

/// Checks that another caller is served.
fn is_served(server: &Server) {
    let answer = exchange(server, LAST, END_LIMIT);
    let answer = String::from_utf8_lossy(&answer);
    assert!(answer.starts_with("HTTP/1.1 200 "), "{answer}");
}

/// The frames of an answer: kinds and error codes. An incomplete frame was cut off by the end.
fn frames(mut answer: &[u8]) -> String {
    let mut seen: Vec<String> = Vec::new();
    while let [a, b, c, kind, _, _, _, _, _, rest @ ..] = answer {
        let length = u32::from_be_bytes([0, *a, *b, *c]) as usize;
        let Some((payload, rest)) = rest.split_at_checked(length) else {
            break;
        };
        let code = match (*kind, payload) {
            (RESET, [.., code]) | (GOAWAY, [_, _, _, _, _, _, _, code, ..]) => {
                format!(" {code}")
            }
            // `:status` by its index, or as a literal with that name.
            (HEADERS, [status, ..]) => format!(" {status:x}"),
            _ => String::new(),
        };
        // A server sends no other kinds.
        assert!(
            *kind != PUSH && *kind <= CONTINUATION,
            "a frame of kind {kind}"
        );
        let one = format!("{kind}{code}");
        if seen.last() != Some(&one) {
            seen.push(one);
        }
        answer = rest;
    }
    seen.join(",")
}

/// The first lines of answers.
fn statuses(answer: &[u8]) -> String {
    let text = String::from_utf8_lossy(answer);
    let lines = text.split("HTTP/1.1 ").skip(1);
    let statuses: Vec<&str> = lines
        .filter_map(|line| line.get(..3))
        .filter(|status| status.bytes().all(|byte| byte.is_ascii_digit()))
        .collect();
    for status in &statuses {
        // 505 and 501 refuse what is not implemented here; 503 needs load.
        let is_known =
            matches!(status.as_bytes()[0], b'1'..=b'4') || ["501", "505"].contains(status);
        assert!(is_known, "{text}");
    }
    let codes = text.split("\"code\":\"").skip(1);
    let codes: Vec<&str> = codes.filter_map(|code| code.split('"').next()).collect();
    format!("{} {}", statuses.join(","), codes.join(","))
}

/// A protocol to talk to the server.
struct Protocol<'a> {
    name: &'a str,
    words: &'a [&'a str],
    /// Sent after every input, so that the server ends an intact connection.
    last: &'a [u8],
    /// The summary of an answer.
    outcome: fn(&[u8]) -> String,
}

/// Runs every input, with another caller in between, and checks the log at the end.
fn run(server: &Server, protocol: &Protocol<'_>, seeds: Vec<Vec<u8>>) {
    let cache = std::env::var_os("KEDGE_FUZZ_CACHE");
    let cache = cache.unwrap_or_else(|| Path::new(env!("CARGO_TARGET_TMPDIR")).join("fuzz").into());
    let tried = std::cell::Cell::new(0_u64);
    let fuzz = FuzzTarget::new(protocol.name, Path::new(&cache));
    let fuzz = fuzz.seeds(seeds).words(protocol.words);
    let report = fuzz.run(|input| {
        tried.set(tried.get() + 1);
        if tried.get().is_multiple_of(ASK_EVERY) {
            is_served(server);
        }
        let sent = [input, protocol.last].concat();
        let seen = (protocol.outcome)(&exchange(server, &sent, SILENCE));
        // A target's digits are ignored in its outcome, but here they are all that differs.
        let letter = |digit: u8| char::from(b'a' + digit - b'0');
        let letters = seen.bytes().map(|byte| match byte {
            b'0'..=b'9' => letter(byte),
            other => char::from(other),
        });
        letters.collect()
    });
    is_served(server);
    assert!(report.outcomes > 5, "{report:?}");
    let log = String::from_utf8_lossy(&server.log()).into_owned();
    assert!(!log.contains("panicked"), "{log}");
}

/// A request after which the server ends the connection.
const LAST: &[u8] = b"GET /readyz HTTP/1.1\r\nhost: k\r\nconnection: close\r\n\r\n";
const NO_LIMITS: &str = "address_requests_per_minute=1000000000";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn changed_http2_frames_harm_nobody_else() {
    let server = Server::start_with(&[NO_LIMITS]).await;
    let seeds = conversations();
    for seed in &seeds[..3] {
        let answered = frames(&exchange(&server, seed, LONG_SILENCE));
        assert!(
            answered.contains("1 "),
            "no headers in the answer: {answered}"
        );
    }
    let words = [
        "\u{0}\u{0}\u{0}\u{4}\u{0}",
        "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
        "/ebus/events/stream",
    ];
    tokio::task::block_in_place(|| {
        let last = frame(GOAWAY, 0, 0, &[0; 8]);
        let protocol = Protocol {
            name: "http2",
            words: &words,
            last: &last,
            outcome: frames,
        };
        run(&server, &protocol, seeds);
    });
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn changed_http1_connections_harm_nobody_else() {
    let server = Server::start_with(&[NO_LIMITS]).await;
    let seeds = [
        "GET /readyz HTTP/1.1\r\nhost: k\r\n\r\nGET /batches?limit=2 HTTP/1.1\r\nhost: k\r\n\r\n",
        "POST /ebus/actions HTTP/1.1\r\nhost: k\r\ncontent-type: application/json\r\ncontent-length: 15\r\n\r\n{\"kind\":\"mint\"}",
        "POST /ebus/actions HTTP/1.1\r\nhost: k\r\ntransfer-encoding: chunked\r\n\r\n5\r\n{\"kin\r\n0\r\n\r\n",
        "POST /login HTTP/1.1\r\nhost: k\r\nexpect: 100-continue\r\ncontent-length: 2\r\n\r\n{}",
        "HEAD / HTTP/1.0\r\nconnection: keep-alive\r\n\r\nOPTIONS * HTTP/1.1\r\nhost: k\r\n\r\n",
        "GET /openapi.json HTTP/1.1\r\nhost: k\r\naccept-encoding: gzip\r\nrange: bytes=0-1\r\nif-none-match: *\r\n\r\n",
        "GET / HTTP/1.1\r\nhost: k\r\nconnection: upgrade, http2-settings\r\nupgrade: h2c\r\nhttp2-settings: AAMAAABkAAQAAP__\r\n\r\n",
    ];
    let seeds: Vec<Vec<u8>> = seeds.iter().map(|seed| seed.as_bytes().to_vec()).collect();
    assert_eq!(
        statuses(&exchange(&server, &seeds[0], LONG_SILENCE)),
        "200,200 "
    );
    let words = [
        "\r\n",
        "\r\n\r\n",
        "content-length: ",
        "transfer-encoding: chunked",
        " HTTP/1.1",
        "\n",
        "\t",
        "%00",
        "host: ",
    ];
    tokio::task::block_in_place(|| {
        let protocol = Protocol {
            name: "http1",
            words: &words,
            last: LAST,
            outcome: statuses,
        };
        run(&server, &protocol, seeds);
    });
}
