//! Every endpoint when a limit is used up, and with a body that is too large.

use std::sync::Arc;

use serde_json::json;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::net::UnixStream;

use crate::ask::{Ask, Got, send};
use crate::check::{every_answer, refused};
use crate::harness::{Caller, Server};
use crate::row::{Auth, Row, Signs, Takes};
use crate::table::{table, walk};
use crate::world::{World, form};

/// Gives the caller's organization one request a minute.
async fn set_limit(server: &Server, caller: &Caller) {
    let socket = server.dir.path().join("data/admin.sock");
    let mut socket = UnixStream::connect(socket).await.unwrap();
    let command = json!({
        "command": "tier",
        "organization_id": caller.organization_id,
        "tier": "custom",
        "limits": { "requests_per_minute": 1 },
    });
    socket
        .write_all(format!("{command}\n").as_bytes())
        .await
        .unwrap();
    let mut line = String::new();
    BufReader::new(socket).read_line(&mut line).await.unwrap();
    assert!(line.contains("\"ok\":true"), "{line}");
}

async fn limited(server: &Server, row: &Row, credentials: &[(&'static str, String)]) -> Got {
    let ask = Ask::get(row.nowhere());
    // A minute may end between two requests, but not between three.
    for _ in 0..3 {
        let got = send(server, row.method, &ask, credentials).await;
        every_answer(&got);
        if got.status == 429 {
            return got;
        }
    }
    panic!("{} has no limit", row.name());
}

// Holds invariants 50, 139.
#[tokio::test]
async fn every_endpoint_when_a_limit_is_used_up() {
    let options = ["rate_limits=on", "address_requests_per_minute=1"];
    let server = Server::start_with(&options).await;
    let ann = Caller::register(&server, "ann@example.com").await;
    set_limit(&server, &ann).await;
    for row in table() {
        if row.free {
            let got = send(&server, "GET", &Ask::get(row.path), &[]).await;
            every_answer(&got);
            assert_eq!(got.status, 200, "{}", got.reported());
            continue;
        }
        let nobody = limited(&server, &row, &[]).await;
        refused(&nobody, "RATE_LIMITED");
        let with_token = row.auth != Auth::Public || row.is_read();
        if with_token {
            let got = limited(&server, &row, &[ann.bearer()]).await;
            refused(&got, "RATE_LIMITED");
            assert_eq!(got.json()["body"]["policy"], "tier-minute");
            assert_ne!(nobody.json()["body"]["policy"], "tier-minute");
        }
    }
    crate::coverage::finished("every_endpoint_when_a_limit_is_used_up");
}

const BODY_BYTES_MAX: usize = 65_536;
/// The same for callers without credentials.
const PUBLIC_BYTES_MAX: usize = 16_384;

async fn too_large(world: Arc<World>, row: Arc<Row>) {
    let most = match row.auth {
        Auth::Public => PUBLIC_BYTES_MAX,
        _ => BODY_BYTES_MAX,
    };
    let ask = match row.takes {
        Takes::Form => (row.ask)(&world)
            .await
            .with_body(form("a", &vec![b'x'; most + 1])),
        _ => (row.ask)(&world).await.with_body(vec![b' '; most + 1]),
    };
    let got = world.by_ann(&row, &ask).await;
    refused(&got, "PAYLOAD_TOO_LARGE");
    let fits = match (row.takes, row.signs) {
        (Takes::Json, Signs::Nothing) => vec![b' '; most],
        _ => return,
    };
    let got = world.by_ann(&row, &ask.with_body(fits)).await;
    refused(&got, "MALFORMED_JSON");
}

// Holds invariant 139.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_body_that_is_too_large() {
    let body = format!("body_bytes_max={BODY_BYTES_MAX}");
    let file = format!("file_bytes_max={BODY_BYTES_MAX}");
    let world = World::new(&[&body, &file]).await;
    walk(&world, |row| row.takes != Takes::Nothing, too_large).await;
    crate::coverage::finished("every_body_that_is_too_large");
}
