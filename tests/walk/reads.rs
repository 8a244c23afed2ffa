//! Common features of reads: conditions, `min_sequence`, pages, cursors, the deprecated offset; and for every path:
//! unsupported methods, ids without a resource, unknown parameters.

use std::sync::Arc;
use std::time::Duration;

use hyper::Method;
use serde_json::Value;

use crate::ask::{Ask, Got};
use crate::check::{names, refused};
use crate::happy::good;
use crate::row::{Auth, Gives, Row, Signs};
use crate::table::{find, table, walk};
use crate::world::World;

/// Malformed ids. Some paths accept numbers too, which `nonsense` is not.
const MALFORMED: [&str; 3] = ["nonsense", "obj_1", "wal_5yrzzxc7r7qyrbt578rhejqh4m"];

async fn methods(world: &World, row: &Row) {
    let known: Vec<&str> = table()
        .iter()
        .filter(|other| other.path == row.path)
        .map(|other| other.method)
        .collect();
    let ask = Ask::get(row.nowhere());
    for method in ["GET", "POST", "PUT", "PATCH", "DELETE", "TRACE"] {
        if known.contains(&method) {
            continue;
        }
        let got = world.raw(method, &ask, &[world.ann.bearer()]).await;
        refused(&got, "METHOD_NOT_ALLOWED");
        let allow: Vec<&str> = got.header("allow").split(", ").collect();
        for method in &known {
            assert!(allow.contains(method), "{method}: {allow:?}");
        }
        assert_eq!(allow.contains(&"HEAD"), known.contains(&"GET"), "{allow:?}");
    }
}

/// Paths where `If-Match` has a meaning; others refuse it.
const CONDITIONAL: [(&str, &str); 7] = [
    ("PATCH", "/wallets/me"),
    ("PATCH", "/organizations/me/members/{id}"),
    ("PATCH", "/templates/{id}"),
    ("PATCH", "/objects/{id}"),
    ("POST", "/objects/{id}/transfer"),
    ("PATCH", "/webhooks/{id}"),
    ("DELETE", "/webhooks/{id}"),
];

async fn if_match(world: &World, row: &Row) {
    if CONDITIONAL.contains(&(row.method, row.path)) {
        return;
    }
    let ask = Ask::get(row.nowhere()).with("if-match", "\"1.0000000000000000\"");
    let got = world.raw(row.method, &ask, &[world.ann.bearer()]).await;
    refused(&got, "VALIDATION_ERROR");
    let message = got.json()["body"]["message"].to_string();
    assert!(message.contains("If-Match"), "{message}");
}

async fn nobody_there(world: &World, row: &Row) {
    let named: Value = Value::String(row.nowhere());
    let got = world
        .raw("GET", &Ask::get(row.nowhere()), &[world.ann.bearer()])
        .await;
    if row.proves_absence {
        assert_eq!(got.status, 200, "{}", got.reported());
        assert_eq!(got.json()["present"], false, "{}", got.reported());
        // An id of any kind is one of the state.
        let is_any = row.path.starts_with("/state/");
        let malformed = MALFORMED
            .iter()
            .filter(|id| !is_any || !id.starts_with("wal_"));
        for malformed in malformed {
            let path = row.path.replace("{id}", malformed);
            let ask = Ask::get(path);
            let got = world.raw("GET", &ask, &[world.ann.bearer()]).await;
            refused(&got, "STATE_VIOLATION");
        }
        return;
    }
    refused(&got, "RESOURCE_NOT_FOUND");
    let body = got.json();
    let id = body["body"]["id"].as_str().unwrap();
    assert!(named.as_str().unwrap().contains(id), "{body}");
    assert_eq!(
        names(&body["body"]),
        ["id", "message", "request_id", "resource"]
    );
    for malformed in MALFORMED {
        let path = row.path.replace("{id}", malformed);
        let got = world
            .raw("GET", &Ask::get(path), &[world.ann.bearer()])
            .await;
        refused(&got, "RESOURCE_NOT_FOUND");
        assert_eq!(got.json()["body"]["id"], malformed);
    }
}

async fn conditions(world: &World, row: &Row, ask: &Ask) {
    // An organization shows its number of requests, and the other steps send Ann's all the time.
    let caller = match row.path {
        "/organizations/me" => &world.bob,
        _ => &world.ann,
    };
    let got_for = async |ask: &Ask| {
        let credentials = match row.auth {
            Auth::Public => vec![],
            _ => vec![caller.bearer()],
        };
        world.call(row, ask, caller, &credentials).await
    };
    // Others may change the resource meanwhile, or a new minute may begin; then its tag differs.
    for _ in 0..20 {
        let first = got_for(ask).await;
        let tag = first.header("etag").to_owned();
        let known = format!("\"other\", W/{tag}");
        let mut same = true;
        // The last one costs as much as any read, so a count of reads differs after it.
        for condition in [tag.as_str(), &known, "*"] {
            let got = got_for(&ask.clone().with("if-none-match", condition)).await;
            if got.status == 200 && got.header("etag") != tag {
                same = false;
                break;
            }
            assert_eq!(got.status, 304, "{condition} {}", got.reported());
            assert!(!got.header("etag").is_empty(), "{}", got.reported());
            assert_eq!(got.header("cache-control"), first.header("cache-control"));
            assert!(got.bytes.is_empty() && got.headers.get("content-type").is_none());
        }
        let other = got_for(&ask.clone().with("if-none-match", "\"other\"")).await;
        good(row, &other);
        if same {
            return;
        }
    }
    panic!("{} never stands still", row.name());
}

/// How often to come again for a checkpoint.
const AGAIN_MAX: usize = 5;

async fn waiting(world: &World, row: &Row, ask: &Ask) {
    let reached = world.server.sequence().await;
    let reached_now = ask.clone().query(&format!("min_sequence={reached}"));
    let mut got = world.by_ann(row, &reached_now).await;
    // What is read of a checkpoint is there once the next one is, which on a busy machine takes a while.
    for _ in 0..AGAIN_MAX {
        if got.status != 409 {
            break;
        }
        refused(&got, "SEQUENCE_NOT_REACHED");
        let again_s = got.header("retry-after").parse().unwrap();
        tokio::time::sleep(Duration::from_secs(again_s)).await;
        got = world.by_ann(row, &reached_now).await;
    }
    good(row, &got);
    assert!(got.header("x-sequence").parse::<u64>().unwrap() >= reached);
    let got = world
        .by_ann(row, &ask.clone().query("min_sequence=next"))
        .await;
    refused(&got, "VALIDATION_ERROR");
    let got = world
        .by_ann(row, &ask.clone().query("min_sequence=99999999"))
        .await;
    refused(&got, "SEQUENCE_NOT_REACHED");
}

async fn head(world: &World, row: &Row, ask: &Ask) {
    let credentials = match row.auth {
        Auth::Public => vec![],
        _ => vec![world.ann.bearer()],
    };
    let full = world.by_ann(row, ask).await;
    let got = world.raw("HEAD", ask, &credentials).await;
    assert_eq!(got.status, full.status, "{}", got.reported());
    assert!(got.bytes.is_empty(), "{}", got.reported());
    assert_eq!(got.header("content-type"), full.header("content-type"));
}

async fn pages(world: &World, row: &Row, ask: &Ask) {
    for bad in [
        "limit=0",
        "limit=1001",
        "limit=all",
        "offset=10001",
        "offset=-1",
    ] {
        let got = world.by_ann(row, &ask.clone().query(bad)).await;
        refused(&got, "VALIDATION_ERROR");
    }
    let one = world.by_ann(row, &ask.clone().query("limit=1")).await;
    let page = one.json();
    assert_eq!(
        page["items"].as_array().unwrap().len(),
        1,
        "{}",
        one.reported()
    );
    if let Some(cursor) = page["cursor"].as_str() {
        let next = ask.clone().query(&format!("limit=1&cursor={cursor}"));
        let next = world.by_ann(row, &next).await;
        good(row, &next);
        assert_ne!(
            next.json()["items"][0],
            page["items"][0],
            "{}",
            next.reported()
        );
        let both = ask.clone().query(&format!("offset=1&cursor={cursor}"));
        refused(&world.by_ann(row, &both).await, "VALIDATION_ERROR");
        let forged: String = match cursor.strip_prefix('A') {
            Some(rest) => format!("B{rest}"),
            None => format!("A{}", &cursor[1..]),
        };
        let forged = ask.clone().query(&format!("cursor={forged}"));
        refused(&world.by_ann(row, &forged).await, "CURSOR_INVALID");
    }
    // A cursor of another list.
    let (other, path) = match row.path {
        "/objects" => (find("GET", "/ebus/actions"), "/ebus/actions?limit=1"),
        _ => (find("GET", "/objects"), "/objects?limit=1"),
    };
    let other = world.by_ann(&other, &Ask::get(path)).await.json();
    let other = other["cursor"].as_str().unwrap();
    for foreign in [other, "7", "", "%00"] {
        let foreign = ask.clone().query(&format!("cursor={foreign}"));
        refused(&world.by_ann(row, &foreign).await, "CURSOR_INVALID");
    }
    offset(world, row, ask).await;
}

async fn offset(world: &World, row: &Row, ask: &Ask) {
    let got = world
        .by_ann(row, &ask.clone().query("offset=0&limit=5"))
        .await;
    good(row, &got);
    deprecated(&got, ask);
    let plain = world.by_ann(row, ask).await;
    assert!(plain.headers.get("deprecation").is_none() && plain.headers.get("link").is_none());
    let none = world.by_ann(row, &ask.clone().query("offset=10000")).await;
    assert_eq!(
        none.json()["items"],
        Value::Array(Vec::new()),
        "{}",
        none.reported()
    );
}

#[track_caller]
fn deprecated(got: &Got, ask: &Ask) {
    assert!(
        got.header("deprecation").starts_with('@'),
        "{}",
        got.reported()
    );
    let link = got.header("link");
    assert!(link.contains("rel=\"successor-version\""), "{link}");
    let path = ask.path.split('?').next().unwrap();
    assert!(link.contains(&format!("{path}?")), "{link} for {path}");
}

async fn step(world: Arc<World>, row: Arc<Row>) {
    let (world, row) = (&*world, &*row);
    methods(world, row).await;
    if_match(world, row).await;
    if !row.is_read() {
        if row.signs == Signs::Nothing && row.auth != Auth::Public && row.has_id() {
            let got = world
                .raw(row.method, &Ask::get(row.nowhere()), &[world.ann.bearer()])
                .await;
            refused(&got, "RESOURCE_NOT_FOUND");
        }
        return;
    }
    let ask = (row.ask)(world).await;
    let unknown = world.by_ann(row, &ask.clone().query("surplus=1")).await;
    refused(&unknown, "VALIDATION_ERROR");
    let twice = ask.clone().query("surplus=%zz");
    refused(&world.by_ann(row, &twice).await, "VALIDATION_ERROR");
    if row.has_id() {
        nobody_there(world, row).await;
    }
    if !row.free {
        waiting(world, row, &ask).await;
    }
    if row.gives != Gives::Other("text/event-stream") {
        head(world, row, &ask).await;
    }
    match row.gives {
        Gives::One => conditions(world, row, &ask).await,
        Gives::List => pages(world, row, &ask).await,
        _ => {}
    }
}

// Holds invariants 50, 137, 139.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_read_and_every_path() {
    let world = World::new(&[]).await;
    for _ in 0..3 {
        // Enough content for second pages.
        world.new_object().await;
        world.new_template().await;
        world.new_webhook().await;
    }
    walk(&world, |_| true, step).await;
    let got = world.raw("GET", &Ask::get("/moons"), &[]).await;
    refused(&got, "RESOURCE_NOT_FOUND");
    // A request id with unsafe characters is not adopted.
    let request = hyper::Request::builder()
        .method(Method::GET)
        .uri(format!("{}/healthz", world.server.url))
        .header("x-request-id", "a b\"c");
    let (parts, _) = world
        .server
        .fetch(request.body(http_body_util::Full::default()).unwrap())
        .await;
    let given = parts.headers["x-request-id"].to_str().unwrap();
    assert!(!given.is_empty() && !given.contains(' '), "{given}");
    crate::coverage::finished("every_read_and_every_path");
}

// Holds invariant 139.
/// Half of a file, more than all of it, and none of it.
#[tokio::test]
async fn a_part_of_a_file_that_is_not_there() {
    let world = World::new(&[]).await;
    let row = find("GET", "/files/{id}/content");
    let ask = (row.ask)(&world).await;
    let part = world
        .by_ann(&row, &ask.clone().with("range", "bytes=5-8"))
        .await;
    assert_eq!(
        (part.status, &part.bytes[..]),
        (206, &b"text"[..]),
        "{}",
        part.reported()
    );
    assert_eq!(part.header("content-range"), "bytes 5-8/9");
    let none = ask.with("range", "bytes=99-");
    for (accept, media_type) in [
        ("*/*", "application/json"),
        ("application/problem+json", "application/problem+json"),
    ] {
        let got = world
            .by_ann(&row, &none.clone().with("accept", accept))
            .await;
        assert_eq!(
            (got.status, got.header("content-type")),
            (416, media_type),
            "{}",
            got.reported()
        );
        assert_eq!(got.header("content-range"), "bytes */9");
        assert_eq!(got.json()["code"], "RANGE_NOT_SATISFIABLE");
    }
    crate::coverage::finished("a_part_of_a_file_that_is_not_there");
}
