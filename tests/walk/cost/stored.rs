//! Short requests about much stored data: large objects, templates and schemas, long histories and lists.

use std::sync::Arc;

use serde_json::json;
use tokio::sync::OnceCell;

use super::forms::{deep, deep_with, members, names};
use super::{AskOf, Dimension, making, searching};
use crate::ask::Ask;
use crate::row::Row;
use crate::world::{World, text};

/// Bytes of an object's properties, and of a patch.
pub(super) const BYTES: usize = 480 * 1024;
/// Items of a list, as many as a page may have.
const ITEMS: usize = 1_000;

/// Endpoints that read one row, or a bounded number, or write what they read piece by piece.
const BOUNDED: &[&str] = &[
    "POST /wallets/register",
    "POST /wallets/login",
    "POST /wallets/token/refresh",
    "POST /wallets/logout",
    "GET /wallets/me",
    "PATCH /wallets/me",
    "POST /wallets/me/keys",
    "DELETE /wallets/me/keys/{id}",
    "GET /ebus/actions/{id}",
    "GET /ebus/actions/{id}/proof",
    "GET /ebus/events/stream",
    "POST /disputes",
    "GET /disputes",
    "GET /disputes/{id}",
    "GET /files",
    "GET /files/{id}",
    "GET /files/{id}/content",
    "POST /api-keys",
    "GET /api-keys",
    "GET /api-keys/{id}",
    "DELETE /api-keys/{id}",
    "POST /api-keys/{id}/rotate",
    "GET /batches",
    "GET /batches/{id}",
    "GET /batches/{id}/leaves",
    "GET /batches/{id}/actions",
    "GET /anchors",
    "GET /anchors/{id}",
    "GET /checkpoint",
    "GET /objects/{id}/state-proof",
    "GET /templates/{id}/state-proof",
    "GET /state/{id}",
    "GET /sequencer-keys",
    "GET /consistency",
    "GET /export",
    "POST /objects/{id}/transfer",
    "DELETE /organizations/me/members/{id}",
    "DELETE /organizations/me/invitations/{id}",
    "GET /organizations/me",
    "GET /organizations/me/members",
    "PATCH /organizations/me/members/{id}",
    "POST /organizations/me/invitations",
    "GET /organizations/me/invitations",
    "GET /.well-known/eip712-domain.json",
    "GET /.well-known/jwks.json",
    "GET /healthz",
    "GET /readyz",
    "GET /version",
    "GET /docs",
    "GET /docs/reference.css",
    "GET /docs/reference.js",
    "GET /openapi.json",
    "GET /templates",
    "GET /templates/{id}",
    "POST /webhooks",
    "PATCH /webhooks/{id}",
    "DELETE /webhooks/{id}",
    "POST /webhooks/{id}/rotate",
    "POST /webhooks/{id}/test",
    "POST /webhooks/{id}/deliveries/{delivery_id}/redeliver",
    "GET /webhooks",
    "GET /webhooks/{id}",
    "GET /webhooks/{id}/deliveries",
];

pub(super) fn is_of_bounded_state(row: &Row) -> bool {
    BOUNDED.contains(&row.name().as_str())
}

pub(super) fn stored<A>(
    (method, path): (&'static str, &'static str),
    name: &str,
    most: usize,
    ask: impl Fn(Arc<World>, usize) -> A + Send + 'static,
) -> Dimension
where
    A: Future<Output = Ask> + Send + 'static,
{
    let ask: AskOf = Box::new(move |world, size| Box::pin(ask(world, size)));
    Dimension {
        method,
        path,
        name: name.to_owned(),
        most,
        is_refused: false,
        ask,
    }
}

pub(super) fn refused(dimension: Dimension) -> Dimension {
    Dimension {
        is_refused: true,
        ..dimension
    }
}

/// Mints an object of a template.
pub(super) async fn object_of(world: &World, template: &str, properties: &str) -> String {
    let body = format!(r#"{{"template_id":"{template}","properties":{properties}}}"#);
    let minted = world
        .ann
        .change(
            &world.server,
            ("POST", "/objects"),
            ("mint", template),
            &body,
        )
        .await;
    text(&minted.expect(201).body, "id")
}

async fn object(world: &World, properties: &str) -> String {
    object_of(world, &world.template, properties).await
}

pub(super) async fn template(world: &World, schema: &str, properties: &str) -> String {
    let name = format!("template {}", world.fresh());
    let body = format!(r#"{{"name":"{name}","schema":{schema},"properties":{properties}}}"#);
    let made = world
        .ann
        .change(
            &world.server,
            ("POST", "/templates"),
            ("template.create", ""),
            &body,
        )
        .await;
    text(&made.expect(201).body, "id")
}

fn action(kind: &str, object: &str, payload: &str) -> String {
    format!(r#"{{"action_type":"{kind}","object_id":"{object}","payload":{payload}}}"#)
}

fn bus(kind: &str, object: &str, payload: &str) -> Ask {
    Ask::get("/ebus/actions")
        .with_body(action(kind, object, payload))
        .signing_payload(kind, object, payload)
}

fn batch(object: &str, payload: &str, count: usize) -> Ask {
    let actions = vec![action("update", object, payload); count].join(",");
    let ask = Ask::get("/ebus/actions/batch").with_body(format!(r#"{{"actions":[{actions}]}}"#));
    (0..count).fold(ask, |ask, _| ask.signing_payload("update", object, payload))
}

fn preview(actions: &str) -> Ask {
    Ask::get("/ebus/actions/preview").with_body(actions)
}

/// A patch of members that do not exist.
fn nulls(bytes: usize) -> String {
    format!(r#"{{"properties":{}}}"#, members("x", bytes, "null"))
}

pub(super) fn dimensions() -> Vec<Dimension> {
    let mut dimensions = patches();
    dimensions.push(past());
    dimensions.extend(batches());
    dimensions.extend(previews());
    dimensions.extend(searching::dimensions());
    dimensions.extend(making::dimensions());
    dimensions.extend(lists());
    dimensions
}

fn patches() -> Vec<Dimension> {
    let patch = ("PATCH", "/objects/{id}");
    let action = ("POST", "/ebus/actions");
    vec![
        stored(
            patch,
            "members, and others that it removes",
            BYTES,
            |world, bytes| async move {
                let id = object(&world, &members("k", bytes, "1")).await;
                Ask::get(format!("/objects/{id}"))
                    .with_body(nulls(bytes))
                    .signing("update", &id)
            },
        ),
        stored(
            patch,
            "members deep inside",
            BYTES,
            |world, bytes| async move {
                let id = object(&world, &deep(bytes)).await;
                let patch = format!(r#"{{"properties":{}}}"#, deep_with(r#"{"n":1}"#));
                Ask::get(format!("/objects/{id}"))
                    .with_body(patch)
                    .signing("update", &id)
            },
        ),
        stored(
            action,
            "members, and others that it removes",
            BYTES,
            |world, bytes| async move {
                let id = object(&world, &members("k", bytes, "1")).await;
                bus("update", &id, &nulls(bytes))
            },
        ),
        stored(
            action,
            "attributes that it sets",
            BYTES,
            |world, bytes| async move {
                let id = object(&world, &members("k", bytes, "1")).await;
                let set = format!(r#"{{"attributes":{}}}"#, members("x", bytes, "1"));
                bus("set_attributes", &id, &set)
            },
        ),
        stored(
            action,
            "attributes that it deletes",
            BYTES,
            |world, bytes| async move {
                let id = object(&world, &members("k", bytes, "1")).await;
                let deleted = format!(r#"{{"attributes":{}}}"#, names("x", bytes));
                bus("delete_attributes", &id, &deleted)
            },
        ),
    ]
}

fn past() -> Dimension {
    stored(
        ("GET", "/objects/{id}"),
        "changes since then",
        BYTES,
        |world, bytes| async move {
            let id = object(&world, &members("k", bytes, "1")).await;
            let path = format!("/objects/{id}");
            for patch in [nulls(bytes), r#"{"properties":{"n":1}}"#.to_owned()] {
                let request = ("PATCH", path.as_str());
                let done = world
                    .ann
                    .change(&world.server, request, ("update", &id), &patch);
                done.await.expect(200);
            }
            let last = world.server.sequence().await;
            Ask::get(format!("{path}?at_sequence={}", last - 1))
        },
    )
}

fn batches() -> Vec<Dimension> {
    let path = ("POST", "/ebus/actions/batch");
    vec![
        stored(
            path,
            "members, and others that it removes",
            BYTES,
            |world, bytes| async move {
                let id = object(&world, &members("k", bytes, "1")).await;
                batch(&id, &nulls(bytes / 4), 4)
            },
        ),
        stored(
            path,
            "short actions on a large object",
            120,
            |world, count| async move {
                let id = object(&world, &members("k", BYTES, "1")).await;
                batch(&id, r#"{"properties":{"n":1}}"#, count)
            },
        ),
    ]
}

fn previews() -> Vec<Dimension> {
    let path = ("POST", "/ebus/actions/preview");
    vec![
        stored(
            path,
            "members, and others that it removes",
            BYTES,
            |world, bytes| async move {
                let id = object(&world, &members("k", bytes, "1")).await;
                preview(&action("update", &id, &nulls(bytes)))
            },
        ),
        stored(
            path,
            "short actions on a large object",
            12,
            |world, count| async move {
                let id = object(&world, &members("k", BYTES, "1")).await;
                let actions =
                    vec![action("update", &id, r#"{"properties":{"n":1}}"#); count].join(",");
                preview(&format!(r#"{{"actions":[{actions}]}}"#))
            },
        ),
        stored(
            path,
            "refused actions on a large object",
            500,
            |world, count| async move {
                let id = object(&world, &members("k", BYTES, "1")).await;
                let actions = vec![action("unlock", &id, "{}"); count].join(",");
                preview(&format!(r#"{{"actions":[{actions}]}}"#))
            },
        ),
    ]
}

/// A template with many variations and many objects, one of which has a long history.
struct Many {
    template: String,
    object: String,
}

async fn many(world: &World) -> Many {
    let template = world.new_template().await;
    let object = object_of(world, &template, "{}").await;
    let made = json!({ "variations": vec![json!({ "name": "v" }); ITEMS / 2] }).to_string();
    let path = format!("/templates/{template}/variations");
    for _ in 0..2 {
        for signed in [
            ("mint", template.as_str(), "{}"),
            ("emit", object.as_str(), "{}"),
        ] {
            let actions = vec![signed; ITEMS / 2];
            world
                .ann
                .bus(&world.server, &actions, true)
                .await
                .expect(200);
        }
        let kind = ("template.variations", template.as_str());
        let request = ("POST", path.as_str());
        world
            .ann
            .change(&world.server, request, kind, &made)
            .await
            .expect(201);
    }
    Many { template, object }
}

fn lists() -> Vec<Dimension> {
    type PathOf = fn(&Many) -> String;
    let lists: [(&'static str, PathOf); 5] = [
        ("/objects", |many| {
            format!("/objects?template_id={}", many.template)
        }),
        ("/objects/{id}/history", |many| {
            format!("/objects/{}/history?order=asc", many.object)
        }),
        ("/templates/{id}/variations", |many| {
            format!("/templates/{}/variations?order=asc", many.template)
        }),
        ("/ebus/actions", |_| "/ebus/actions?order=asc".to_owned()),
        ("/ebus/events", |many| {
            format!("/ebus/events?object_id={}", many.object)
        }),
    ];
    let made: Arc<OnceCell<Many>> = Arc::default();
    let of_list = lists.map(|(path, path_of)| {
        let made = Arc::clone(&made);
        stored(("GET", path), "the limit", ITEMS, move |world, limit| {
            let made = Arc::clone(&made);
            async move {
                let many = made.get_or_init(|| many(&world)).await;
                Ask::get(path_of(many)).query(&format!("limit={limit}"))
            }
        })
    });
    of_list.into()
}
