//! Bodies that are not JSON, have the wrong type, or hold unknown members; and every endpoint's specific refusals.

use std::sync::Arc;

use serde_json::Value;

use crate::ask::{Ask, Got};
use crate::check::refused;
use crate::row::{Case, Row, Takes};
use crate::table::walk;
use crate::world::World;

#[track_caller]
fn points_at(got: &Got, pointer: &str) {
    let body = got.json();
    let errors = body["body"]["errors"].as_array();
    let errors = errors.unwrap_or_else(|| panic!("no errors: {}", got.reported()));
    let found = errors.iter().any(|error| error["pointer"] == pointer);
    assert!(found, "{pointer}: {}", got.reported());
}

async fn own(world: &World, row: &Row, case: &Case) {
    let ask = (case.ask)(world).await;
    let got = world.by_ann(row, &ask).await;
    refused(&got, case.code);
    if let Some(pointer) = case.pointer {
        points_at(&got, pointer);
    }
}

async fn no_json(world: &World, row: &Row) {
    let ask = (row.ask)(world).await;
    let text = String::from_utf8(ask.body.clone()).unwrap();
    let deep = format!("{{\"a\":{}1{}}}", "[".repeat(80), "]".repeat(80));
    let twice = format!("{},{}", &text[..text.len() - 1], &text[1..]);
    for bad in ["{", "nothing", "{\"a\":1} {}", "{\"a\":1,}", &deep, &twice] {
        let got = world.by_ann(row, &ask.clone().with_body(bad)).await;
        refused(&got, "MALFORMED_JSON");
    }
    let list = world.by_ann(row, &ask.clone().with_body("[1]")).await;
    refused(&list, "VALIDATION_ERROR");
    points_at(&list, "");
    let mut body: Value = serde_json::from_str(&text).unwrap();
    body["surplus"] = Value::Null;
    let unknown = ask.clone().with_body(body.to_string());
    let unknown = world.by_ann(row, &unknown).await;
    refused(&unknown, "VALIDATION_ERROR");
    points_at(&unknown, "/surplus");
}

async fn wrong_type(world: &World, row: &Row, ask: &Ask) {
    for wrong in [
        "text/plain",
        "application/json; charset=latin1",
        "application/x-www-form-urlencoded",
    ] {
        let ask = ask.clone().with("content-type", wrong);
        refused(&world.by_ann(row, &ask).await, "UNSUPPORTED_MEDIA_TYPE");
    }
    let zipped = ask.clone().with("content-encoding", "gzip");
    refused(&world.by_ann(row, &zipped).await, "UNSUPPORTED_MEDIA_TYPE");
}

async fn step(world: Arc<World>, row: Arc<Row>) {
    for case in &row.cases {
        own(&world, &row, case).await;
    }
    if row.takes == Takes::Nothing {
        return;
    }
    if row.takes == Takes::Json {
        no_json(&world, &row).await;
    }
    wrong_type(&world, &row, &(row.ask)(&world).await).await;
}

// Holds invariants 50, 139.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_refusal_of_an_endpoints_own() {
    let world = World::new(&[]).await;
    let wanted = |row: &Row| !row.cases.is_empty() || row.takes != Takes::Nothing;
    walk(&world, wanted, step).await;
    crate::coverage::finished("every_refusal_of_an_endpoints_own");
}
