//! More load than the server can handle in time: some requests are refused for now, nothing is lost.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use serde_json::json;

use crate::harness::{Caller, Server};

const CALLERS: usize = 32;
/// Longest time until a request must have been refused.
const PATIENCE: Duration = Duration::from_mins(1);

// Holds invariant 76.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn lasting_overload_refuses_some_and_what_was_let_in_is_done() {
    // All callers belong to one organization here.
    let options = [
        "wait_target_ms=1",
        "requests_min=2",
        "organization_share_percent=100",
    ];
    let server = Arc::new(Server::start_with(&options).await);
    let ann = Arc::new(Caller::register(&server, "ann@example.com").await);
    let template = ann.new_template(&server, "ticket").await;
    let sequence = server.sequence().await;
    let refused = Arc::new(AtomicBool::new(false));
    let begun = Instant::now();
    let mut callers = tokio::task::JoinSet::new();
    for _ in 0..CALLERS {
        let (server, ann, refused) = (Arc::clone(&server), Arc::clone(&ann), Arc::clone(&refused));
        let body = json!({ "template_id": template });
        callers.spawn(async move {
            let mut done = 0;
            while !refused.load(Ordering::Relaxed) && begun.elapsed() < PATIENCE {
                let answer = ann.mint(&server, &body).await;
                if answer.status == 201 {
                    done += 1;
                } else {
                    answer.refused(503, "UNAVAILABLE");
                    assert_ne!(answer.header("retry-after"), "");
                    refused.store(true, Ordering::Relaxed);
                }
            }
            done
        });
    }
    let done: u64 = callers.join_all().await.into_iter().sum();
    assert!(refused.load(Ordering::Relaxed), "all {done} were let in");
    assert_eq!(server.sequence().await, sequence + done);

    // A single caller is soon admitted, whatever the load before. On a busy machine the server may mistake the other
    // load for its own for a while.
    let body = json!({ "template_id": template });
    let begun = Instant::now();
    loop {
        let answer = ann.mint(&server, &body).await;
        if answer.status == 201 {
            break;
        }
        answer.refused(503, "UNAVAILABLE");
        assert!(
            begun.elapsed() < PATIENCE,
            "one alone is refused all the time"
        );
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}
