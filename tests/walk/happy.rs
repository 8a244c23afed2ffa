//! Every endpoint called rightly: with a token, with a key that has only the right it needs, and with both.

use std::sync::Arc;

use serde_json::Value;

use crate::ask::Got;
use crate::check::{names, refused};
use crate::row::{Auth, Gives, Row, Signs};
use crate::table::walk;
use crate::world::{World, key_body, new_key};

/// Checks for a good answer of the endpoint.
#[track_caller]
pub(crate) fn good(row: &Row, got: &Got) {
    let reported = got.reported();
    assert_eq!(got.status, row.status, "{reported}");
    let media_type = match row.gives {
        Gives::Other(media_type) => media_type,
        _ => "application/json",
    };
    assert!(
        got.header("content-type").starts_with(media_type),
        "{reported}"
    );
    if row.signs != Signs::Nothing {
        let highest: u64 = got.header("x-nonce-highest").parse().unwrap();
        assert!(highest > 0, "{reported}");
    }
    match row.gives {
        Gives::One => {
            let tag = got.header("etag");
            assert!(
                tag.len() > 2 && tag.starts_with('"') && tag.ends_with('"'),
                "{tag:?} {reported}"
            );
            has(row, &got.json());
        }
        Gives::Json => has(row, &got.json()),
        Gives::List => {
            let page = got.json();
            for name in ["items", "cursor", "has_more"] {
                assert!(page.get(name).is_some(), "{reported}");
            }
            assert_eq!(
                page["cursor"].is_string(),
                page["has_more"] == true,
                "{reported}"
            );
            let items = page["items"].as_array().unwrap();
            assert!(!items.is_empty(), "{reported}");
            has(row, &items[0]);
        }
        Gives::Other(_) => assert!(!got.bytes.is_empty(), "{reported}"),
    }
}

#[track_caller]
fn has(row: &Row, value: &Value) {
    let there = names(value);
    for key in row.keys {
        assert!(there.contains(key), "{}: no {key} in {value}", row.name());
    }
    let sequence = value["sequence"].as_u64();
    assert!(sequence.is_none_or(|sequence| sequence > 0), "{value}");
}

/// The rights that a key needs for a row. A preview shows objects, so it needs to read them. Events of everything show
/// actions' contents, and so do the deliveries of a webhook, which its secret signs. A key can grant only its own
/// rights: the keys that the walk makes may read everything, those that it renews may do everything.
pub(crate) fn needs(row: &Row, area: &str, access: &str) -> bool {
    let also = match row.path {
        "/ebus/actions/preview" => (area, access) == ("objects", "read"),
        "/api-keys" => row.method == "POST" && access == "read",
        "/api-keys/{id}/rotate" => true,
        "/ebus/events"
        | "/webhooks/{id}/rotate"
        | "/webhooks/{id}/deliveries/{delivery_id}/redeliver" => {
            (area, access) == ("actions", "read")
        }
        "/webhooks" | "/webhooks/{id}" if matches!(row.method, "POST" | "PATCH") => {
            (area, access) == ("actions", "read")
        }
        _ => false,
    };
    (area, access) == row.right || also
}

async fn step(world: Arc<World>, row: Arc<Row>) {
    let (world, row) = (&*world, &*row);
    let bearer = world.ann.bearer();
    if row.auth == Auth::Public {
        let ask = (row.ask)(world).await;
        good(row, &world.call(row, &ask, &world.ann, &[]).await);
        let ask = (row.ask)(world).await;
        good(row, &world.call(row, &ask, &world.ann, &[bearer]).await);
        return;
    }
    let body = key_body(|area, access| needs(row, area, access));
    let key = ("x-api-key", new_key(&world.server, &world.ann, &body).await);
    for credentials in [vec![bearer.clone()], vec![key.clone(), bearer], vec![key]] {
        let ask = (row.ask)(world).await;
        let got = world.call(row, &ask, &world.ann, &credentials).await;
        if row.auth == Auth::Wallet && credentials.len() == 1 && credentials[0].0 == "x-api-key" {
            refused(&got, "FORBIDDEN");
        } else {
            good(row, &got);
        }
        if row.path == "/wallets/me/keys" && got.status == 201 {
            let body = got.json();
            let added = body["keys"].as_array().unwrap().last().unwrap();
            crate::rows::accounts::forget_key(world, added.as_str().unwrap()).await;
        }
    }
}

// Holds invariants 50, 139.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_endpoint_called_well() {
    let world = World::new(&[]).await;
    walk(&world, |_| true, step).await;
    crate::coverage::finished("every_endpoint_called_well");
}
