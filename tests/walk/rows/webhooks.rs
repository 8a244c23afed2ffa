//! Webhooks and their deliveries.

use serde_json::{Value, json};

use crate::ask::Ask;
use crate::row::{Gives, NOBODY, Row, Signs, Takes, ask, case, row};
use crate::world::RECEIVER;

const WEBHOOK: [&str; 7] = [
    "id",
    "organization_id",
    "url",
    "events",
    "active",
    "description",
    "created_at",
];
const DELIVERY: [&str; 6] = [
    "id",
    "webhook_id",
    "event_id",
    "event_type",
    "status",
    "attempts",
];

fn create(bend: impl FnOnce(&mut Value)) -> Ask {
    let mut body = json!({ "url": RECEIVER, "events": ["wallet.registered"], "active": false });
    bend(&mut body);
    Ask::json("/webhooks", &body).signing("webhook.create", "")
}

fn patch(id: &str, body: &Value) -> Ask {
    Ask::json(format!("/webhooks/{id}"), body).signing("webhook.update", id)
}

fn rotate(id: &str, body: &Value) -> Ask {
    Ask::json(format!("/webhooks/{id}/rotate"), body).signing("webhook.rotate", id)
}

fn delete(id: &str) -> Ask {
    Ask::get(format!("/webhooks/{id}")).signing("webhook.delete", id)
}

fn redeliver(webhook: &str, delivery: &str) -> Ask {
    Ask::get(format!(
        "/webhooks/{webhook}/deliveries/{delivery}/redeliver"
    ))
}

fn making_and_changing() -> Vec<Row> {
    vec![
        Row {
            status: 201,
            right: ("webhooks", "create"),
            admin: true,
            signs: Signs::Body,
            takes: Takes::Json,
            gives: Gives::Json,
            keys: &["id", "url", "events", "secret", "action_id", "receipt"],
            cases: vec![
                case!("VALIDATION_ERROR" at "/url", _world => {
                    create(|body| body["url"] = json!("http://10.0.0.1/"))
                }),
                case!("VALIDATION_ERROR" at "/url", _world => create(|body| body["url"] = json!("ftp://a/"))),
                case!("VALIDATION_ERROR" at "/events", _world => create(|body| body["events"] = json!([]))),
                case!("VALIDATION_ERROR" at "/events/0", _world => {
                    create(|body| body["events"] = json!(["object.eaten"]))
                }),
            ],
            ..row("POST", "/webhooks", ask!(_world => create(|_| ())))
        },
        Row {
            right: ("webhooks", "update"),
            admin: true,
            signs: Signs::Body,
            takes: Takes::Json,
            gives: Gives::Json,
            keys: &["id", "url", "events", "active", "action_id", "receipt"],
            cases: vec![
                case!("RESOURCE_NOT_FOUND", _world => {
                    patch(&format!("whk_{NOBODY}"), &json!({ "active": false }))
                }),
                case!("VALIDATION_ERROR" at "/active", world => {
                    patch(&world.webhook, &json!({ "active": "no" }))
                }),
                case!("PRECONDITION_FAILED", world => {
                    let stale = "\"9.0000000000000000\"";
                    patch(&world.webhook, &json!({ "description": "x" })).with("if-match", stale)
                }),
            ],
            ..row(
                "PATCH",
                "/webhooks/{id}",
                ask!(world => {
                    patch(&world.new_webhook().await, &json!({ "description": "new" }))
                }),
            )
        },
    ]
}

fn ending_and_renewing() -> Vec<Row> {
    vec![
        Row {
            right: ("webhooks", "delete"),
            admin: true,
            signs: Signs::Actions,
            gives: Gives::Json,
            keys: &["id", "action_id", "receipt"],
            cases: vec![case!("RESOURCE_NOT_FOUND", _world => delete(&format!("whk_{NOBODY}")))],
            ..row(
                "DELETE",
                "/webhooks/{id}",
                ask!(world => delete(&world.new_webhook().await)),
            )
        },
        Row {
            right: ("webhooks", "update"),
            admin: true,
            signs: Signs::Body,
            takes: Takes::Json,
            gives: Gives::Json,
            keys: &["id", "secret", "action_id", "receipt"],
            cases: vec![
                case!("RESOURCE_NOT_FOUND", _world => rotate(&format!("whk_{NOBODY}"), &json!({}))),
                case!("VALIDATION_ERROR" at "/overlap_s", world => {
                    rotate(&world.webhook, &json!({ "overlap_s": -1 }))
                }),
            ],
            ..row(
                "POST",
                "/webhooks/{id}/rotate",
                ask!(world => {
                    rotate(&world.new_webhook().await, &json!({ "overlap_s": 60 }))
                }),
            )
        },
    ]
}

fn testing() -> Vec<Row> {
    vec![
        Row {
            right: ("webhooks", "update"),
            admin: true,
            gives: Gives::Json,
            keys: &DELIVERY,
            cases: vec![case!("RESOURCE_NOT_FOUND", _world => {
                Ask::get(format!("/webhooks/whk_{NOBODY}/test"))
            })],
            ..row(
                "POST",
                "/webhooks/{id}/test",
                ask!(world => {
                    Ask::get(format!("/webhooks/{}/test", world.webhook))
                }),
            )
        },
        Row {
            status: 202,
            right: ("webhooks", "update"),
            admin: true,
            gives: Gives::Json,
            keys: &DELIVERY,
            cases: vec![
                case!("RESOURCE_NOT_FOUND", world => redeliver(&world.webhook, &format!("dlv_{NOBODY}"))),
                case!("RESOURCE_NOT_FOUND", world => redeliver(&format!("whk_{NOBODY}"), &world.delivery)),
            ],
            ..row(
                "POST",
                "/webhooks/{id}/deliveries/{delivery_id}/redeliver",
                ask!(world => {
                    redeliver(&world.webhook, &world.delivery)
                }),
            )
        },
    ]
}

fn reads() -> Vec<Row> {
    vec![
        Row {
            right: ("webhooks", "read"),
            gives: Gives::List,
            keys: &WEBHOOK,
            ..row("GET", "/webhooks", ask!(_world => Ask::get("/webhooks")))
        },
        Row {
            right: ("webhooks", "read"),
            keys: &WEBHOOK,
            ..row(
                "GET",
                "/webhooks/{id}",
                ask!(world => {
                    Ask::get(format!("/webhooks/{}", world.webhook))
                }),
            )
        },
        Row {
            right: ("webhooks", "read"),
            gives: Gives::List,
            keys: &DELIVERY,
            ..row(
                "GET",
                "/webhooks/{id}/deliveries",
                ask!(world => {
                    Ask::get(format!("/webhooks/{}/deliveries", world.webhook))
                }),
            )
        },
    ]
}

pub(crate) fn rows() -> Vec<Row> {
    let mut rows = making_and_changing();
    rows.extend(ending_and_renewing());
    rows.extend(testing());
    rows.extend(reads());
    rows
}
