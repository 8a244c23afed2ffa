//! Every endpoint that changes something: unsigned, signed wrongly, and sent twice.

use std::sync::Arc;

use kedge_client::sign::unix_now_s;
use kedge_protocol::Address;
use serde_json::Value;

use crate::ask::{Ask, Got, send};
use crate::check::{every_answer, refused};
use crate::happy::good;
use crate::harness::Terms;
use crate::row::{Auth, Row, Signs, Takes};
use crate::table::walk;
use crate::world::{World, upload};

type Header = (&'static str, String);

/// Members outside of the log, made for one answer only: a replayed answer does not contain them.
const SHOWN_ONCE: [&str; 2] = ["access_token", "refresh_token"];

async fn sent(world: &World, row: &Row, ask: &Ask, mut headers: Vec<Header>) -> Got {
    if row.auth != Auth::Public {
        headers.push(world.ann.bearer());
    }
    let got = send(&world.server, row.method, ask, &headers).await;
    every_answer(&got);
    got
}

/// The same request with different content.
pub(crate) fn another(row: &Row, ask: &Ask) -> Option<Ask> {
    let text = || String::from_utf8(ask.body.clone()).unwrap();
    match (row.takes, row.signs) {
        (Takes::Form, _) => Some(upload(&ask.actions[0].1, b"something else")),
        (Takes::Json, Signs::Actions) => {
            let mut other = ask.clone().with_body(text().replace("hello", "howdy"));
            for (_, _, payload) in &mut other.actions {
                *payload = payload.replace("hello", "howdy");
            }
            Some(other)
        }
        (Takes::Json, _) => Some(ask.clone().with_body(text() + " ")),
        _ => None,
    }
}

async fn bad_headers(world: &World, row: &Row, ask: &Ask) {
    let good = ask.sign(row, &world.ann, &ask.terms(&world.server, &world.ann));
    refused(
        &sent(world, row, ask, Vec::new()).await,
        "SIGNATURE_REQUIRED",
    );
    for (name, _) in &good {
        let mut headers = good.clone();
        headers.retain(|(known, _)| known != name);
        refused(&sent(world, row, ask, headers).await, "SIGNATURE_REQUIRED");
    }
    let bobs = world.bob.key.address().to_string();
    let cases = [
        ("x-signature", "0x1234".to_owned(), "SIGNATURE_INVALID"),
        ("x-signature-address", bobs, "SIGNATURE_INVALID"),
        ("x-signature-nonce", "many".to_owned(), "SIGNATURE_INVALID"),
        (
            "x-signature-deadline",
            "1700000000".to_owned(),
            "DEADLINE_EXPIRED",
        ),
        (
            "x-signature-deadline",
            (unix_now_s() + 90_000).to_string(),
            "VALIDATION_ERROR",
        ),
        ("x-signature-salt", "0x00".to_owned(), "SIGNATURE_INVALID"),
    ];
    for (name, value, code) in cases {
        let mut headers = good.clone();
        headers.retain(|(known, _)| *known != name);
        headers.push((name, value));
        refused(&sent(world, row, ask, headers).await, code);
    }
}

async fn bad_terms(world: &World, row: &Row, ask: &Ask) {
    let terms = |bend: fn(&mut Terms)| {
        let mut terms = ask.terms(&world.server, &world.ann);
        bend(&mut terms);
        ask.sign(row, &world.ann, &terms)
    };
    let other_chain = terms(|terms| terms.domain.chain_id += 1);
    refused(
        &sent(world, row, ask, other_chain).await,
        "SIGNATURE_INVALID",
    );
    let contract = terms(|terms| terms.domain.verifying_contract = Address::ZERO);
    refused(&sent(world, row, ask, contract).await, "SIGNATURE_INVALID");
    // The signed request differs from the one that is sent.
    let mut changed = ask.clone();
    match another(row, ask) {
        Some(other) => changed = other,
        None => changed.actions[0].2.push('x'),
    }
    let other = changed.sign(row, &world.ann, &ask.terms(&world.server, &world.ann));
    refused(&sent(world, row, ask, other).await, "SIGNATURE_INVALID");
    if row.auth == Auth::Public {
        return;
    }
    let bobs = ask.sign(row, &world.bob, &world.bob.terms(&world.server));
    refused(&sent(world, row, ask, bobs).await, "FORBIDDEN");
    let spent = terms(|terms| terms.nonce = 1);
    refused(&sent(world, row, ask, spent).await, "NONCE_REUSED");
    let far = terms(|terms| terms.nonce = u64::MAX);
    refused(&sent(world, row, ask, far).await, "NONCE_REUSED");
}

/// An answer without the members that are shown only once.
fn reported(got: &Got) -> Value {
    let mut body = got.json();
    for name in SHOWN_ONCE {
        body.as_object_mut().unwrap().remove(name);
    }
    body
}

async fn again(world: &World, row: &Row) {
    let key = format!("walk-{}", world.fresh());
    let ask = (row.ask)(world).await;
    let bad = ask.clone().with("idempotency-key", "x".repeat(256));
    refused(&world.by_ann(row, &bad).await, "VALIDATION_ERROR");
    let ask = ask.with("idempotency-key", key.clone());
    let first = world.by_ann(row, &ask).await;
    good(row, &first);
    assert_eq!(
        first.header("idempotent-replayed"),
        "",
        "{}",
        first.reported()
    );
    let second = world.by_ann(row, &ask).await;
    good_again(&first, &second);
    if let Some(other) = another(row, &ask) {
        let other = other.with("idempotency-key", key);
        let other = world.by_ann(row, &other).await;
        refused(&other, "IDEMPOTENCY_MISMATCH");
    }
}

#[track_caller]
fn good_again(first: &Got, second: &Got) {
    assert_eq!(
        second.header("idempotent-replayed"),
        "true",
        "{}",
        second.reported()
    );
    assert_eq!(
        (first.status, reported(first)),
        (second.status, reported(second)),
        "{}",
        second.reported()
    );
}

/// Requests that send or record something without a signature: an `Idempotency-Key` works there too.
const KEPT: [&str; 3] = [
    "/disputes",
    "/webhooks/{id}/test",
    "/webhooks/{id}/deliveries/{delivery_id}/redeliver",
];

fn is_kept(row: &Row) -> bool {
    row.method == "POST" && KEPT.contains(&row.path)
}

async fn step(world: Arc<World>, row: Arc<Row>) {
    if is_kept(&row) {
        return again(&world, &row).await;
    }
    let ask = (row.ask)(&world).await;
    bad_headers(&world, &row, &ask).await;
    bad_terms(&world, &row, &ask).await;
    again(&world, &row).await;
}

// Holds invariants 50, 137, 139.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_change_signed_wrongly_and_sent_again() {
    let world = World::new(&[]).await;
    let wanted = |row: &Row| row.signs != Signs::Nothing || is_kept(row);
    walk(&world, wanted, step).await;
    crate::coverage::finished("every_change_signed_wrongly_and_sent_again");
}
