//! How answers state the limits: in their headers with any status, and at `GET /organizations/me`.

use serde_json::{Value, json};
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;

use super::{ON, me, members, organization, reported};
use crate::harness::{Answer, Caller, Server};

/// The names of the limits that an answer states.
fn names(answer: &Answer) -> Vec<&str> {
    let policies = members(answer.header("ratelimit-policy"));
    policies.into_iter().map(|(name, ..)| name).collect()
}

const TIER: [&str; 2] = ["tier-minute", "tier-day"];
const ADDRESS: [&str; 1] = ["address"];

/// Checks that writes of objects and of templates have separate limits.
async fn writes_have_their_own(server: &Server, ann: &Caller, template_id: &str) {
    let taken = ann
        .template(server, &json!({ "name": "t" }))
        .await
        .expect(409);
    assert_eq!(
        names(&taken),
        ["template-writes", "tier-minute", "tier-day"]
    );
    let mint = json!({ "template_id": template_id });
    let minted = ann.mint(server, &mint).await.expect(201);
    assert_eq!(names(&minted), ["object-writes", "tier-minute", "tier-day"]);
    let large = json!({ "template_id": template_id, "properties": { "a": "x".repeat(4_096) } });
    let large = ann.mint(server, &large).await.expect(413);
    assert_eq!(names(&large), names(&minted));
}

// Holds invariant 23.
#[tokio::test]
async fn every_answer_tells_of_the_limits() {
    let server = Server::start_with(&[ON, "body_bytes_max=2048"]).await;
    let ann = Caller::register(&server, "ann@example.com").await;
    let template_id = ann.new_template(&server, "t").await;
    let object_id = ann.new_object(&server, &template_id).await;
    let lock = ("lock", object_id.as_str(), "{}");
    let update = ("update", object_id.as_str(), r#"{"properties":{"a":1}}"#);

    // As soon as the organization is known, its limits.
    let tag = me(&server, &ann).await.header("etag").to_owned();
    let known = [ann.bearer(), ("if-none-match", tag)];
    let token = Some(ann.token.as_str());
    let with_token = [
        (200, me(&server, &ann).await),
        (
            200,
            server
                .call("HEAD", "/wallets/me", &[ann.bearer()], "")
                .await,
        ),
        (304, server.call("GET", "/wallets/me", &known, "").await),
        (201, ann.action(&server, lock).await),
        (400, server.get("/wallets/me?x=1", token).await),
        (
            401,
            server
                .call("POST", "/ebus/actions", &[ann.bearer()], "{}")
                .await,
        ),
        (404, server.get("/objects/obj_1", token).await),
        (422, ann.action(&server, update).await),
    ];
    for (status, answer) in with_token {
        assert_eq!(names(&answer), TIER, "{status}: {:?}", answer.headers);
        assert_eq!(reported(&answer).limit, 100);
        answer.expect(status);
    }
    writes_have_their_own(&server, &ann, &template_id).await;

    // Before that, the limit of the caller's address.
    let json_type = |text: &str| ("content-type", text.to_owned());
    let without = [
        (200, server.get("/healthz", None).await),
        (200, server.get("/.well-known/jwks.json", token).await),
        (400, server.call("POST", "/wallets/login", &[], "{").await),
        (401, server.get("/wallets/me", None).await),
        (404, server.get("/nothing", token).await),
        (405, server.call("DELETE", "/objects", &[], "").await),
        (
            413,
            server
                .call("POST", "/wallets/login", &[], &"x".repeat(4_096))
                .await,
        ),
        (
            415,
            server
                .call("POST", "/wallets/login", &[json_type("text/plain")], "")
                .await,
        ),
    ];
    for (status, answer) in without {
        assert_eq!(names(&answer), ADDRESS, "{status}: {:?}", answer.headers);
        answer.expect(status);
    }
}

#[tokio::test]
async fn an_overloaded_server_still_tells_of_the_limits_and_counts_nothing() {
    // The number of requests until the slow one has the permit is unpredictable.
    let many = "address_requests_per_minute=100000";
    let options = [ON, many, "requests_max=1"];
    let server = Server::start_with(&options).await;
    // It waits for a sequence that is never reached.
    let begun = "GET /batches?min_sequence=1000000 HTTP/1.1\r\nHost: a\r\n\r\n";
    let mut slow_ones = Vec::new();
    let mut refused = server.get("/checkpoint", None).await;
    for asked in 0..5_000 {
        // Refused as soon as a slow request holds the only permit. A slow one that arrived while another request held
        // it was refused itself, so more of them are sent.
        if refused.status != 200 {
            break;
        }
        if asked % 100 == 0 {
            let mut slow = TcpStream::connect(server.address()).await.unwrap();
            slow.write_all(begun.as_bytes()).await.unwrap();
            slow_ones.push(slow);
        }
        refused = server.get("/checkpoint", None).await;
    }
    refused.refused(503, "UNAVAILABLE");
    assert_eq!(names(&refused), ADDRESS);
    let again = server.get("/checkpoint", None).await;
    again.refused(503, "UNAVAILABLE");
    assert!(reported(&again).remaining >= reported(&refused).remaining);
}

#[tokio::test]
async fn an_organization_sees_its_limits_what_is_used_and_how_far_they_reach() {
    let server = Server::start_with(&[ON]).await;
    let ann = Caller::register(&server, "ann@example.com").await;
    let template_id = ann.new_template(&server, "t").await;
    ann.new_object(&server, &template_id).await;
    server.get("/objects", Some(&ann.token)).await.expect(200);
    let view = organization(&server, &ann).await;
    assert_eq!(view["id"], ann.organization_id.as_str());
    assert!(view["name"].is_string(), "{view}");
    assert_eq!(
        (&view["tier"], &view["price"]),
        (&json!("free"), &json!("Free"))
    );
    let limits = json!({
        "requests_per_minute": 100,
        "requests_per_day": 1_000,
        "object_writes_per_minute": 50,
        "action_batches_per_minute": 10,
        "file_uploads_per_minute": 20,
        "template_writes_per_minute": 10,
        "list_reads_per_minute": 1_000,
        "log_bytes": 1_073_741_824,
    });
    assert_eq!(view["limits"], limits);
    assert_eq!(view["usage"]["day"], json!({ "requests": 4 }));
    let minute = json!({
        "requests": 4,
        "object_writes": 1,
        "action_batches": 0,
        "file_uploads": 0,
        "template_writes": 1,
        "list_reads": 1,
    });
    let is_new_minute = view["usage"]["minute"]["requests"] != 4;
    assert!(is_new_minute || view["usage"]["minute"] == minute, "{view}");
    let forecast = &view["forecast"];
    assert_eq!(forecast["requests_per_day"]["policy"], "tier-day");
    assert_eq!(forecast["requests_per_day"]["remaining"], 996);
    let day = forecast["requests_per_day"]["resets_at"].as_str().unwrap();
    assert!(day.ends_with("T00:00:00.000Z"), "{day}");
    let minute = forecast["object_writes_per_minute"]["resets_at"]
        .as_str()
        .unwrap();
    assert!(minute.ends_with(":00.000Z"), "{minute}");
    assert_eq!(
        forecast["action_batches_per_minute"]["exhausted_at"],
        Value::Null
    );
    assert_eq!(forecast["log_bytes"]["policy"], "log-bytes");
    assert_eq!(forecast.as_object().unwrap().len(), 8);
    server
        .get("/organizations/me", None)
        .await
        .refused(401, "UNAUTHENTICATED");
}

#[tokio::test]
async fn where_limits_are_off_they_are_told_and_nothing_is_refused() {
    let server = Server::start_with(&["rate_limits=off"]).await;
    let ann = Caller::register(&server, "ann@example.com").await;
    let mut least = u64::MAX;
    for _ in 0..250 {
        let answer = me(&server, &ann).await.expect(200);
        assert_eq!(reported(&answer).limit, 100);
        least = least.min(reported(&answer).remaining);
    }
    assert_eq!(least, 0);
    let attempts = 12;
    for _ in 0..attempts {
        let body = json!({ "email": "ann@example.com", "password": "wrong horse battery" });
        let body = body.to_string();
        let wrong = server.call("POST", "/wallets/login", &[], &body).await;
        wrong.refused(401, "CREDENTIALS_INVALID");
    }
}
