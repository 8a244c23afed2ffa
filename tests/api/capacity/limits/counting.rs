//! The endpoints' own limits, what counts once or not at all, and what a crash loses.

use std::time::Duration;

use serde_json::{Value, json};

use super::{ON, free_port, me, metric, organization, reported, use_up};
use crate::harness::{Answer, Caller, Server};

async fn patch(server: &Server, caller: &Caller, object_id: &str) -> Answer {
    let path = format!("/objects/{object_id}");
    let signed = ("update", object_id);
    caller
        .change(
            server,
            ("PATCH", &path),
            signed,
            r#"{"properties":{"a":1}}"#,
        )
        .await
}

fn sent_today(view: &Value) -> u64 {
    view["usage"]["day"]["requests"].as_u64().unwrap()
}

// Holds invariant 21.
#[tokio::test]
async fn each_endpoint_has_its_limit() {
    let server = Server::start_with(&[ON]).await;
    let ann = Caller::register(&server, "ann@example.com").await;
    use_up(10, "template-writes", 0, async |number| {
        let body = json!({ "name": format!("t{number}") });
        ann.template(&server, &body).await
    })
    .await;

    // POST and PATCH share one limit. When it is used up, other requests are still allowed.
    let bob = Caller::register(&server, "bob@example.com").await;
    let template_id = bob.new_template(&server, "t").await;
    let object_id = bob.new_object(&server, &template_id).await;
    use_up(50, "object-writes", 1, async |number| {
        if number % 2 == 0 {
            let body = json!({ "template_id": template_id });
            bob.mint(&server, &body).await
        } else {
            patch(&server, &bob, &object_id).await
        }
    })
    .await;
    let lock = ("lock", object_id.as_str(), "{}");
    bob.action(&server, lock).await.expect(201);
    me(&server, &bob).await.expect(200);

    // A batch is one request, however many actions it has.
    let cid = Caller::register(&server, "cid@example.com").await;
    let template_id = cid.new_template(&server, "t").await;
    let mint = ("mint", template_id.as_str(), "{}");
    let before = organization(&server, &cid).await;
    cid.bus(&server, &[mint; 20], true).await.expect(200);
    let after = organization(&server, &cid).await;
    assert_eq!(
        sent_today(&after),
        sent_today(&before) + 2,
        "a batch and this"
    );
    use_up(10, "action-batches", 1, async |_| {
        cid.bus(&server, &[mint; 20], true).await
    })
    .await;
}

// Holds invariant 21.
#[tokio::test]
async fn a_page_with_proofs_counts_as_its_items_and_has_no_more_than_are_left() {
    let server = Server::start_with(&[ON]).await;
    let ann = Caller::register(&server, "ann@example.com").await;
    let template_id = ann.new_template(&server, "t").await;
    let mint = ("mint", template_id.as_str(), "{}");
    ann.bus(&server, &[mint; 12], true).await.expect(200);
    server.admin("anchor-now");
    let page = async |limit: u64| {
        let path = format!("/objects?prove=true&limit={limit}");
        server.get(&path, Some(&ann.token)).await.expect(200)
    };
    // A window may end in between.
    for _ in 0..3 {
        let begin = reported(&me(&server, &ann).await.expect(200));
        let some = page(5).await;
        assert_eq!(some.body["items"].as_array().unwrap().len(), 5);
        let all = page(100).await;
        assert_eq!(all.body["items"].as_array().unwrap().len(), 12);
        let (some, all) = (reported(&some), reported(&all));
        let mut left = all.remaining;
        while left > 4 {
            left = reported(&me(&server, &ann).await).remaining;
        }
        let last = page(100).await;
        let end = reported(&last);
        if begin.reset != end.reset {
            continue;
        }
        assert_eq!(some.remaining + 5, begin.remaining);
        assert_eq!(all.remaining + 12, some.remaining);
        assert_eq!(last.body["items"].as_array().unwrap().len() as u64, left);
        assert_eq!(last.body["has_more"], json!(true));
        assert_eq!(end.remaining, 0);
        return;
    }
    panic!("three windows ended within a few requests");
}

// Holds invariant 120.
#[tokio::test]
async fn what_has_not_changed_costs_nothing() {
    let server = Server::start_with(&[ON]).await;
    let ann = Caller::register(&server, "ann@example.com").await;
    // Twice, because a window may end in between.
    for _ in 0..2 {
        let first = me(&server, &ann).await.expect(200);
        let known = ("if-none-match", first.header("etag").to_owned());
        let mut left = Vec::new();
        for _ in 0..3 {
            let headers = [ann.bearer(), known.clone()];
            let same = server.call("GET", "/wallets/me", &headers, "").await;
            left.push(reported(&same.expect(304)));
        }
        let last = me(&server, &ann).await.expect(200);
        if reported(&last).reset == reported(&first).reset {
            assert_eq!(left, [reported(&first); 3]);
            assert_eq!(reported(&last).remaining + 1, reported(&first).remaining);
            return;
        }
    }
    panic!("two windows ended within a few requests");
}

/// Sends this `If-None-Match` until it is refused; returns how many requests were allowed.
async fn until_refused(server: &Server, ann: &Caller, known: &str, most: u64) -> u64 {
    let headers = [ann.bearer(), ("if-none-match", known.to_owned())];
    for number in 0..most {
        let answer = server.call("GET", "/wallets/me", &headers, "").await;
        if answer.status == 429 {
            return number;
        }
        answer.expect(304);
    }
    panic!("{most} requests with If-None-Match: {known} were let in");
}

// Holds invariant 120.
#[tokio::test]
async fn naming_every_state_costs_and_naming_the_right_one_is_free_a_bounded_number_of_times() {
    const MINUTE: u64 = 100;
    let server = Server::start_with(&[ON]).await;
    // A window may end in between.
    let bob = Caller::register(&server, "bob@example.com").await;
    let let_in = until_refused(&server, &bob, "*", 2 * MINUTE + 1).await;
    assert!(let_in >= MINUTE - 1, "{let_in}");
    let ann = Caller::register(&server, "ann@example.com").await;
    let tag = me(&server, &ann).await.expect(200);
    let let_in = until_refused(&server, &ann, tag.header("etag"), 4 * MINUTE + 1).await;
    assert!(let_in > 2 * MINUTE - 3, "{let_in}");
}

// Holds invariant 22.
#[tokio::test]
async fn a_days_count_survives_kill_9() {
    let port = free_port();
    let metrics = format!("metrics_listen=\"127.0.0.1:{port}\"");
    let options = [ON, metrics.as_str()];
    let mut server = Server::start_with(&options).await;
    let ann = Caller::register(&server, "ann@example.com").await;
    for _ in 0..20 {
        me(&server, &ann).await.expect(200);
    }
    let before = organization(&server, &ann).await;
    assert_eq!(sent_today(&before), 21);
    // Two more rows: the second one began after all of these requests.
    let rows = "kedge_usage_rows_written_total";
    let wanted = metric(port, rows).await + 2;
    let mut more = 0;
    while metric(port, rows).await < wanted {
        assert!(more < 50, "the count is not stored");
        me(&server, &ann).await.expect(200);
        more += 1;
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    server.kill();

    // The token names its issuer, and the port changes with each start.
    let issuer = format!("public_url=\"{}\"", server.url);
    let options = [ON, issuer.as_str()];
    let mut server = server.restart_with(&options).await;
    let after = organization(&server, &ann).await;
    let day = |view: &Value| view["forecast"]["requests_per_day"]["resets_at"].clone();
    if day(&after) == day(&before) {
        let sent = sent_today(&after);
        assert!((22..=22 + more).contains(&sent), "{sent} of {}", 22 + more);
    } else {
        assert_eq!(sent_today(&after), 1, "a new day has begun meanwhile");
    }
    // An orderly stop loses nothing.
    assert_eq!(server.terminate(), Some(0));
    let server = server.restart_with(&options).await;
    let last = organization(&server, &ann).await;
    if day(&last) == day(&after) {
        assert_eq!(sent_today(&last), sent_today(&after) + 1);
    }
}
