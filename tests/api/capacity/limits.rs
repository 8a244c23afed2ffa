//! Rate limits over real sockets: every row of the two tables, which requests count, whom they count on, and that every
//! answer states the limits.
//!
//! Windows follow the wall clock, so one may end anywhere in a test. Assertions hold within a window; a step that needs
//! a whole one is repeated in the next.

mod answers;
mod callers;
mod counting;
#[path = "../../support/ports.rs"]
mod ports;
mod tiers;

use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpStream, UnixStream};

use crate::harness::{Answer, Caller, Server};
pub(crate) use ports::free_port;

const ON: &str = "rate_limits=on";

/// The state of the nearest limit in an answer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Stated {
    limit: u64,
    remaining: u64,
    reset: u64,
}

/// Parses `"name";a=1;b=2, "other";a=3;b=4`.
fn members(field: &str) -> Vec<(&str, u64, u64)> {
    let member = |text| {
        let mut parts = str::split(text, ';');
        let name = parts.next().unwrap().trim_matches('"');
        let mut number = || {
            parts
                .next()
                .unwrap()
                .split_once('=')
                .unwrap()
                .1
                .parse()
                .unwrap()
        };
        (name, number(), number())
    };
    field.split(", ").map(member).collect()
}

/// The limits stated in an answer; checks that both families of fields are present and agree.
#[track_caller]
fn reported(answer: &Answer) -> Stated {
    let number = |name| {
        answer
            .header(name)
            .parse()
            .unwrap_or_else(|_| panic!("{name}: {:?}", answer.headers))
    };
    let reported = Stated {
        limit: number("x-ratelimit-limit"),
        remaining: number("x-ratelimit-remaining"),
        reset: number("x-ratelimit-reset"),
    };
    let standings = members(answer.header("ratelimit"));
    let policies = members(answer.header("ratelimit-policy"));
    assert_eq!(standings.len(), policies.len(), "{:?}", answer.headers);
    assert!(
        standings.is_sorted_by_key(|(_, remaining, _)| *remaining),
        "{:?}",
        answer.headers
    );
    let (nearest, remaining, _) = standings[0];
    let quota = policies.iter().find(|(name, ..)| *name == nearest);
    let quota = quota.map(|(_, quota, _)| *quota);
    assert_eq!(
        (Some(reported.limit), reported.remaining),
        (quota, remaining)
    );
    reported
}

/// The name of the limit in a refusal.
#[track_caller]
fn policy(answer: &Answer) -> &str {
    answer.refused(429, "RATE_LIMITED");
    let wait_s: u64 = answer.header("retry-after").parse().unwrap();
    let policies = members(answer.header("ratelimit-policy"));
    let name = answer.body["body"]["policy"].as_str().unwrap();
    assert_eq!(policies.len(), 1);
    let (stated_name, _, window_s) = policies[0];
    assert_eq!(stated_name, name);
    assert!((1..=window_s).contains(&wait_s), "{wait_s}");
    assert_eq!(reported(answer).remaining, 0);
    name
}

/// Sends until a request is refused. Within a window each answer has one less left than the previous one, and the
/// refusal comes exactly when nothing is left. If a window ends meanwhile, a whole one follows. `used` requests were
/// counted before.
async fn use_up(
    limit: u64,
    name: &str,
    used: u64,
    mut send: impl AsyncFnMut(u64) -> Answer,
) -> Answer {
    let mut before: Option<Stated> = None;
    for number in 0..2 * limit + 2 {
        let answer = send(number).await;
        let now = reported(&answer);
        assert_eq!(now.limit, limit, "request {number}: {:?}", answer.headers);
        if answer.status == 429 {
            assert_eq!(policy(&answer), name);
            let full = before.expect("the first request is let in");
            assert_eq!(
                full,
                Stated {
                    remaining: 0,
                    ..now
                },
                "request {number}"
            );
            return answer;
        }
        match before {
            Some(before) if before.reset == now.reset => {
                assert_eq!(now.remaining + 1, before.remaining, "request {number}");
            }
            None if now.remaining + 1 + used == limit => {}
            // A request that was counted before the window ended may be answered after it.
            _ => assert!(
                now.remaining == limit || now.remaining + 1 == limit,
                "request {number} begins a window"
            ),
        }
        before = Some(now);
    }
    panic!("more than a window's requests were let in");
}

async fn me(server: &Server, caller: &Caller) -> Answer {
    server.get("/wallets/me", Some(&caller.token)).await
}

async fn organization(server: &Server, caller: &Caller) -> Value {
    let answer = server.get("/organizations/me", Some(&caller.token)).await;
    answer.expect(200).body
}

/// A sample of `/metrics`; 0 if there is none.
pub(crate) async fn metric(port: u16, series: &str) -> u64 {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).await.unwrap();
    let request = b"GET /metrics HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n";
    stream.write_all(request).await.unwrap();
    let mut page = String::new();
    stream.read_to_string(&mut page).await.unwrap();
    let value = |line: &str| line.strip_prefix(series)?.strip_prefix(' ')?.parse().ok();
    page.lines().find_map(value).unwrap_or(0)
}

/// Sets the tier of the caller's organization, as the server's operator does.
async fn set_tier(server: &Server, caller: &Caller, tier: &str, limits: Value) {
    let socket = server.dir.path().join("data/admin.sock");
    let mut socket = UnixStream::connect(socket).await.unwrap();
    let command = json!({
        "command": "tier",
        "organization_id": caller.organization_id,
        "tier": tier,
        "limits": limits,
    });
    let line = format!("{command}\n");
    socket.write_all(line.as_bytes()).await.unwrap();
    let mut line = String::new();
    BufReader::new(socket).read_line(&mut line).await.unwrap();
    let answer: Value = serde_json::from_str(&line).unwrap();
    assert_eq!(answer["ok"], true, "{answer}");
}
