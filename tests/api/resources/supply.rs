//! Two organizations that mint each other's bounded templates: neither waits forever, and no other organization waits
//! at all.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tokio::task::JoinSet;

use crate::harness::{Caller, Server, Signed};

const ROUNDS: usize = 25;
const SUPPLY: usize = 5;
/// A request that waits longer than this is in a deadlock.
const PATIENCE: Duration = Duration::from_secs(3);

async fn bounded(server: &Server, caller: &Caller, round: usize) -> String {
    let template = json!({
        "name": format!("round {round}"),
        "max_supply": SUPPLY,
        "public_access": true,
        "actions": [{ "kind": "mint", "who": "anyone" }],
    });
    let made = caller.template(server, &template).await.expect(201);
    made.body["id"].as_str().unwrap().to_owned()
}

/// Sends a batch that uses up both templates, the first one first; returns the number of mints that were done.
async fn use_up(server: &Server, caller: &Caller, first: &str, second: &str) -> usize {
    let mut mints: Vec<Signed<'_>> = vec![("mint", first, "{}"); SUPPLY];
    mints.extend(vec![("mint", second, "{}"); SUPPLY]);
    let begun = Instant::now();
    let answer = caller.bus(server, &mints, false).await;
    assert!(begun.elapsed() < PATIENCE, "{}", answer.body);
    let answer = answer.expect(200);
    let results = answer.body["results"].as_array().unwrap();
    let done = |result: &&Value| result["sequence"].is_u64();
    results.iter().filter(done).count()
}

// Holds invariant 124.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn mints_of_each_others_templates_end_and_nobody_else_waits() {
    let server = Arc::new(Server::start_with(&["request_timeout_s=6"]).await);
    let ann = Arc::new(Caller::register(&server, "ann@example.com").await);
    let bob = Arc::new(Caller::register(&server, "bob@example.com").await);
    let eve = Caller::register(&server, "eve@example.com").await;
    let plain = eve.new_template(&server, "plain").await;
    let over = Arc::new(AtomicBool::new(false));
    let others = {
        let (server, over) = (Arc::clone(&server), Arc::clone(&over));
        tokio::spawn(async move {
            let mut slowest = Duration::ZERO;
            while !over.load(Ordering::Relaxed) {
                let begun = Instant::now();
                eve.new_object(&server, &plain).await;
                slowest = slowest.max(begun.elapsed());
            }
            slowest
        })
    };
    for round in 0..ROUNDS {
        let of_ann = bounded(&server, &ann, round).await;
        let of_bob = bounded(&server, &bob, round).await;
        let mut batches = JoinSet::new();
        for (caller, first, second) in [
            (&ann, &of_ann, &of_bob),
            (&bob, &of_bob, &of_ann),
            (&ann, &of_bob, &of_ann),
            (&bob, &of_ann, &of_bob),
        ] {
            let (server, caller) = (Arc::clone(&server), Arc::clone(caller));
            let (first, second) = (first.clone(), second.clone());
            batches.spawn(async move { use_up(&server, &caller, &first, &second).await });
        }
        let made: usize = batches.join_all().await.into_iter().sum();
        assert_eq!(made, 2 * SUPPLY, "round {round}");
    }
    over.store(true, Ordering::Relaxed);
    let slowest = others.await.unwrap();
    assert!(slowest < PATIENCE, "{slowest:?}");
    let ready = server.get("/readyz", None).await.expect(200);
    assert_eq!(ready.body["requests_under_way"], 0, "{}", ready.body);
}
