//! The rows of the tier table, and changes of an organization's tier.

use serde_json::{Value, json};

use super::{ON, me, organization, policy, reported, set_tier, use_up};
use crate::harness::{Caller, Server};

#[tokio::test]
async fn a_free_organization_has_a_hundred_requests_a_minute() {
    let server = Server::start_with(&[ON]).await;
    let ann = Caller::register(&server, "ann@example.com").await;
    let bob = Caller::register(&server, "bob@example.com").await;
    // Every request that names the organization counts, even one refused for another reason.
    let refused = use_up(100, "tier-minute", 0, async |number| {
        let path = match number % 4 {
            0 => "/wallets/me",
            1 => "/objects/obj_5yrzzxc7r7qyrbt578rhejqh4m",
            2 => "/objects?limit=0",
            _ => "/ebus/actions",
        };
        server.get(path, Some(&ann.token)).await
    })
    .await;
    let message = refused.body["body"]["message"].as_str().unwrap();
    assert!(
        message.contains("tier-minute of 100 requests a minute"),
        "{message}"
    );
    // Others have their own limits, and free requests stay free.
    me(&server, &bob).await.expect(200);
    server.get("/healthz", Some(&ann.token)).await.expect(200);
}

// Holds invariant 21.
#[tokio::test]
async fn larger_tiers_have_more_and_take_force_at_once() {
    let server = Server::start_with(&[ON]).await;
    let ann = Caller::register(&server, "ann@example.com").await;
    set_tier(&server, &ann, "developer", json!({})).await;
    let view = organization(&server, &ann).await;
    let named = |view: &Value| (view["tier"].clone(), view["price"].clone());
    assert_eq!(
        named(&view),
        (json!("developer"), json!("99 USD per month"))
    );
    assert_eq!(view["limits"]["requests_per_day"], 50_000);
    use_up(500, "tier-minute", 1, async |_| me(&server, &ann).await).await;

    // The rest of the larger tier is available in the same minute.
    set_tier(&server, &ann, "enterprise", json!({})).await;
    let view = organization(&server, &ann).await;
    assert_eq!(named(&view), (json!("enterprise"), json!("Custom")));
    assert_eq!(view["limits"]["requests_per_day"], Value::Null);
    assert_eq!(view["forecast"]["requests_per_day"], Value::Null);

    // The three lists share one limit, on which no other list counts. GET /batches needs no token,
    // but with one it counts on the organization.
    let lists = ["/objects", "/templates", "/batches"];
    use_up(1_000, "list-reads", 0, async |number| {
        let path = lists[number as usize % lists.len()];
        server.get(path, Some(&ann.token)).await
    })
    .await;
    let other = server.get("/ebus/actions", Some(&ann.token)).await;
    assert_eq!(reported(&other.expect(200)).limit, 5_000);
}

#[tokio::test]
async fn an_enterprise_has_five_thousand_requests_a_minute() {
    let server = Server::start_with(&[ON]).await;
    let ann = Caller::register(&server, "ann@example.com").await;
    set_tier(&server, &ann, "enterprise", json!({})).await;
    use_up(5_000, "tier-minute", 0, async |_| me(&server, &ann).await).await;
}

#[tokio::test]
async fn limits_can_be_agreed_upon() {
    let server = Server::start_with(&[ON]).await;
    let ann = Caller::register(&server, "ann@example.com").await;
    let limits = json!({ "requests_per_day": 8, "template_writes_per_minute": 2 });
    set_tier(&server, &ann, "custom", limits).await;
    let view = organization(&server, &ann).await;
    assert_eq!(
        (&view["tier"], &view["price"]),
        (&json!("custom"), &json!("Custom"))
    );
    assert_eq!(view["limits"]["requests_per_day"], 8);
    assert_eq!(view["limits"]["template_writes_per_minute"], 2);
    assert_eq!(view["limits"]["requests_per_minute"], Value::Null);
    let refused = use_up(8, "tier-day", 1, async |_| me(&server, &ann).await).await;
    assert_eq!(
        reported(&refused).reset % (24 * 60 * 60),
        0,
        "days are UTC's"
    );
    // Limits can fall as well as rise; without limits, answers state the counters' maximum.
    set_tier(&server, &ann, "custom", json!({ "requests_per_day": 3 })).await;
    assert_eq!(policy(&me(&server, &ann).await), "tier-day");
    set_tier(&server, &ann, "custom", json!({})).await;
    let answer = me(&server, &ann).await.expect(200);
    assert_eq!(reported(&answer).limit, u64::from(u32::MAX));
}
