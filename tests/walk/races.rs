//! Lost races, and changes that invalidate earlier state.

use serde_json::{Value, json};

use crate::ask::Ask;
use crate::check::refused;
use crate::harness::PASSWORD;
use crate::row::Row;
use crate::table::find;
use crate::world::{BLIND, RECEIVER, World, text};

/// Reads, changes with the tag that was read, and tries another change with it.
async fn conditional(
    world: &World,
    path: &str,
    template: &str,
    kind: (&str, &str),
    bodies: [Value; 2],
) {
    let read = find("GET", template);
    let write: Row = find("PATCH", template);
    let tag = world
        .by_ann(&read, &Ask::get(path))
        .await
        .header("etag")
        .to_owned();
    let [first, second] = bodies.map(|body| {
        Ask::json(path, &body)
            .signing(kind.0, kind.1)
            .with("if-match", tag.clone())
    });
    let done = world.by_ann(&write, &first).await;
    assert_eq!(done.status, 200, "{}", done.reported());
    refused(&world.by_ann(&write, &second).await, "PRECONDITION_FAILED");
    // A newly read tag, or any state, is accepted.
    let tag = world
        .by_ann(&read, &Ask::get(path))
        .await
        .header("etag")
        .to_owned();
    for condition in [tag.as_str(), "*"] {
        let again = world
            .by_ann(&write, &second.clone().with("if-match", condition))
            .await;
        assert_eq!(again.status, 200, "{}", again.reported());
    }
    let weak = second.with("if-match", format!("W/{tag}"));
    refused(&world.by_ann(&write, &weak).await, "PRECONDITION_FAILED");
}

// Holds invariants 54, 139.
#[tokio::test]
async fn a_lost_race_is_told() {
    let world = World::new(&[]).await;
    let texts = || ["one", "two"].map(|text| json!({ "description": text }));
    let id = world.new_template().await;
    let kind = ("template.update", id.as_str());
    conditional(
        &world,
        &format!("/templates/{id}"),
        "/templates/{id}",
        kind,
        texts(),
    )
    .await;
    let id = world.new_webhook().await;
    let kind = ("webhook.update", id.as_str());
    conditional(
        &world,
        &format!("/webhooks/{id}"),
        "/webhooks/{id}",
        kind,
        texts(),
    )
    .await;
    let names = ["Ann", "Anna"].map(|name| json!({ "nickname": name }));
    let kind = ("wallet.update", world.ann.wallet_id.as_str());
    conditional(&world, "/wallets/me", "/wallets/me", kind, names).await;
    let id = world.new_object().await;
    let numbers = [1, 2].map(|n| json!({ "properties": { "n": n } }));
    let kind = ("update", id.as_str());
    conditional(
        &world,
        &format!("/objects/{id}"),
        "/objects/{id}",
        kind,
        numbers,
    )
    .await;
    crate::coverage::finished("a_lost_race_is_told");
}

// Holds invariants 52, 139.
#[tokio::test]
async fn a_new_password_ends_every_login_before_it() {
    let world = World::new(&[]).await;
    let new = "seven slow green turtles";
    let login = async |password: &str| {
        let body = json!({ "email": "ann@example.com", "password": password });
        let row = find("POST", "/wallets/login");
        world
            .by_ann(&row, &Ask::json("/wallets/login", &body))
            .await
    };
    let refresh = async |token: &str| {
        let row = find("POST", "/wallets/token/refresh");
        let body = json!({ "refresh_token": token });
        world
            .by_ann(&row, &Ask::json("/wallets/token/refresh", &body))
            .await
    };
    let change = async |current: &str| {
        let body = json!({ "password": new, "current_password": current, "blind": BLIND });
        let row = Row {
            signs: crate::row::Signs::Digest,
            ..find("PATCH", "/wallets/me")
        };
        let ask = Ask::json("/wallets/me", &body).signing("wallet.update", &world.ann.wallet_id);
        world.by_ann(&row, &ask).await
    };
    let one = text(&login(PASSWORD).await.json(), "refresh_token");
    let two = text(&login(PASSWORD).await.json(), "refresh_token");
    // A refused change invalidates nothing.
    refused(
        &change("not the password at all").await,
        "CREDENTIALS_INVALID",
    );
    let one = text(&refresh(&one).await.json(), "refresh_token");
    let changed = change(PASSWORD).await;
    assert_eq!(changed.status, 200, "{}", changed.reported());
    for token in [&one, &two] {
        refused(&refresh(token).await, "CREDENTIALS_INVALID");
    }
    refused(&login(PASSWORD).await, "CREDENTIALS_INVALID");
    let three = text(&login(new).await.json(), "refresh_token");
    let three = text(&refresh(&three).await.json(), "refresh_token");
    assert_eq!(refresh(&three).await.status, 200);
    crate::coverage::finished("a_new_password_ends_every_login_before_it");
}

// Holds invariant 53.
/// Many concurrent requests create the last webhook that the limit allows: one of them succeeds.
#[tokio::test]
async fn the_last_place_is_taken_once() {
    const MOST: usize = 100;
    const AT_ONCE: usize = 8;
    let world = World::new(&[]).await;
    let row = find("POST", "/webhooks");
    let ask = || {
        let body = json!({ "url": RECEIVER, "events": ["wallet.registered"], "active": false });
        Ask::json("/webhooks", &body).signing("webhook.create", "")
    };
    // One was created with the world.
    let mut made = 1;
    while made < MOST - 1 {
        let four = [ask(), ask(), ask(), ask()];
        let wanted = four.iter().take(MOST - 1 - made);
        let sent: Vec<_> = wanted.map(|ask| world.by_ann(&row, ask)).collect();
        for got in together(sent).await {
            assert_eq!(got.status, 201, "{}", got.reported());
            made += 1;
        }
    }
    let last: Vec<Ask> = (0..AT_ONCE).map(|_| ask()).collect();
    let sent = last.iter().map(|ask| world.by_ann(&row, ask)).collect();
    let (done, full): (Vec<_>, Vec<_>) = together(sent)
        .await
        .into_iter()
        .partition(|got| got.status == 201);
    assert_eq!((done.len(), full.len()), (1, AT_ONCE - 1));
    for got in &full {
        refused(got, "STATE_VIOLATION");
    }
    // Deleting one makes room.
    let id = text(&done[0].json(), "id");
    let end = find("DELETE", "/webhooks/{id}");
    let end_it = Ask::get(format!("/webhooks/{id}")).signing("webhook.delete", &id);
    assert_eq!(world.by_ann(&end, &end_it).await.status, 200);
    assert_eq!(world.by_ann(&row, &ask()).await.status, 201);
}

/// Runs futures concurrently, and returns their results in order.
async fn together<T>(futures: Vec<impl Future<Output = T>>) -> Vec<T> {
    let mut futures: Vec<_> = futures.into_iter().map(Box::pin).collect();
    let mut results: Vec<Option<T>> = futures.iter().map(|_| None).collect();
    std::future::poll_fn(move |context| {
        for (future, result) in futures.iter_mut().zip(&mut results) {
            if result.is_none()
                && let std::task::Poll::Ready(value) = future.as_mut().poll(context)
            {
                *result = Some(value);
            }
        }
        if results.iter().any(Option::is_none) {
            return std::task::Poll::Pending;
        }
        std::task::Poll::Ready(results.iter_mut().filter_map(Option::take).collect())
    })
    .await
}
