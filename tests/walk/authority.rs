//! Callers without authority: without credentials, with wrong, ended or contradicting ones, without the right, and
//! without the role.

use std::sync::Arc;
use std::time::Duration;

use kedge_client::sign::unix_now_s;
use kedge_protocol::time::rfc3339;
use serde_json::Value;
use tokio::sync::OnceCell;

use crate::ask::Ask;
use crate::check::refused;
use crate::row::{Auth, Row, Signs};
use crate::table::walk;
use crate::world::{World, key_body, new_key};

/// Credentials that were valid earlier.
struct Ended {
    token: String,
    expired: String,
    deleted: String,
    replaced: String,
}

static ENDED: OnceCell<Ended> = OnceCell::const_new();

async fn change_key(world: &World, (method, path): (&str, &str), kind: &str, body: &str) {
    let id = path.split('/').nth(2).unwrap();
    let changed = world
        .ann
        .change(&world.server, (method, path), (kind, id), body);
    changed.await.expect(200);
}

impl Ended {
    async fn new(world: &World) -> Self {
        let mut body = key_body(|_, _| true);
        body["expires_at"] = Value::String(rfc3339((unix_now_s() + 2) * 1_000));
        let expired = new_key(&world.server, &world.ann, &body).await;
        let (id, deleted) = world.new_key().await;
        change_key(
            world,
            ("DELETE", &format!("/api-keys/{id}")),
            "key.delete",
            "",
        )
        .await;
        let (id, replaced) = world.new_key().await;
        let path = format!("/api-keys/{id}/rotate");
        change_key(world, ("POST", &path), "key.rotate", r#"{"overlap_s":0}"#).await;
        let shown = [("x-api-key", expired.clone())];
        for _ in 0..200 {
            let got = world.raw("GET", &Ask::get("/objects"), &shown).await;
            if got.status == 401 {
                break;
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        Self {
            token: world.ann.token_until(&world.server, unix_now_s() - 1).await,
            expired,
            deleted,
            replaced,
        }
    }
}

async fn unknown(world: &World, row: &Row) {
    let ended = ENDED.get_or_init(|| Ended::new(world)).await;
    let path = Ask::get(row.nowhere());
    let got = world.raw(row.method, &path, &[]).await;
    refused(&got, "UNAUTHENTICATED");
    let problem = path.clone().with("accept", "application/problem+json");
    let got = world.raw(row.method, &problem, &[]).await;
    refused(&got, "UNAUTHENTICATED");
    assert_eq!(got.header("content-type"), "application/problem+json");

    let bearer = |token: &str| ("authorization", format!("Bearer {token}"));
    let key = |key: &str| ("x-api-key", key.to_owned());
    let good = world.ann.bearer();
    let cases = [
        (vec![bearer("made.up.token")], "UNAUTHENTICATED"),
        (
            vec![("authorization", "Basic YTpi".to_owned())],
            "UNAUTHENTICATED",
        ),
        (vec![bearer(&world.key)], "UNAUTHENTICATED"),
        (vec![bearer(&ended.token)], "TOKEN_EXPIRED"),
        (vec![key("kdg_live_nothing")], "UNAUTHENTICATED"),
        (vec![key(&ended.expired)], "UNAUTHENTICATED"),
        (vec![key(&ended.deleted)], "UNAUTHENTICATED"),
        (vec![key(&ended.replaced)], "UNAUTHENTICATED"),
        // One invalid credential of two is enough to refuse.
        (vec![good.clone(), key(&ended.deleted)], "UNAUTHENTICATED"),
        (vec![bearer(&ended.token), key(&world.key)], "TOKEN_EXPIRED"),
        // v2's credentials are never valid.
        (
            vec![("app-id", "1".to_owned()), ("app-secret", "2".to_owned())],
            "UNAUTHENTICATED",
        ),
        // Both are valid, but for different organizations.
        (vec![good, key(&world.bobs_key)], "FORBIDDEN"),
        (vec![world.bob.bearer(), key(&world.key)], "FORBIDDEN"),
    ];
    for (credentials, code) in cases {
        refused(&world.raw(row.method, &path, &credentials).await, code);
    }
}

async fn without_right(world: &World, row: &Row) {
    let body = key_body(|area, access| (area, access) != row.right);
    let key = ("x-api-key", new_key(&world.server, &world.ann, &body).await);
    let ask = (row.ask)(world).await;
    for credentials in [vec![key.clone()], vec![key, world.ann.bearer()]] {
        let got = world.call(row, &ask, &world.ann, &credentials).await;
        refused(&got, "FORBIDDEN");
        let right = format!("{}.{}", row.right.0, row.right.1);
        let message = got.json()["body"]["message"].to_string();
        assert!(message.contains(&right), "{message}");
    }
}

async fn without_role(world: &World, row: &Row) {
    let ask = (row.ask)(world).await;
    let got = world
        .call(row, &ask, &world.max, &[world.max.bearer()])
        .await;
    refused(&got, "FORBIDDEN");
    if row.signs != Signs::Nothing {
        // The key has all rights, but the signer does not.
        let key = [("x-api-key", world.key.clone())];
        let got = world.call(row, &ask, &world.max, &key).await;
        refused(&got, "FORBIDDEN");
    }
}

async fn step(world: Arc<World>, row: Arc<Row>) {
    unknown(&world, &row).await;
    without_right(&world, &row).await;
    if row.admin {
        without_role(&world, &row).await;
    }
}

// Holds invariants 50, 139.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_endpoint_without_authority() {
    let world = World::new(&[]).await;
    walk(&world, |row| row.auth != Auth::Public, step).await;
    crate::coverage::finished("every_endpoint_without_authority");
}
